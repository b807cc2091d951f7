//! ABBA's first version: what its periods remember, when growth is faster and by how much, and when
//! slow start has to look for the full queue again.

use crate::hooks::{self, Avoiding};
use crate::told::Told;
use firstflight::avoidance::abba::{Abba, Over, Params, Version};
use firstflight::avoidance::abba_first::Queue;
use firstflight::avoidance::{Avoidance, Cubic, Cut};
use firstflight::event::{Context, Signal, Window};
use firstflight::units::{MAX_BYTES, Nanos, Ratio, UNSET_SSTHRESH};
use proptest::prelude::*;

const MSS: u64 = 1000;
/// CUBIC's growth of a window of 100 000 bytes for 1000 acknowledged bytes.
const CUBICS: u64 = 10;

fn millis(ms: f64) -> Nanos {
    Nanos((ms * 1e6) as u64)
}

type Rig = Avoiding<Abba>;

impl Rig {
    fn first(params: Params) -> Rig {
        let params = firstflight::with!(Params { version: Version::First, ..params });
        Rig::of(Abba::new(params), 100_000, hooks::quic(MSS))
    }

    fn queue(&self) -> &Queue {
        self.alg.queue().expect("the first version")
    }

    /// An ACK with a sample, and the smoothed RTT after it.
    fn ack(&mut self, rtt_ms: f64, srtt_ms: f64, in_recovery: bool) -> Told {
        let told = self.sampled(millis(rtt_ms), millis(srtt_ms), in_recovery);
        self.alg.on_ack(&told.ack(), &self.cx);
        told
    }

    fn seen(&mut self, rtt_ms: f64) {
        self.ack(rtt_ms, rtt_ms, false);
    }

    /// Growth by so many bytes on an ACK that brings this sample.
    fn grows(&mut self, acked: u64, rtt_ms: f64) -> u64 {
        let told = Told { acked, ..self.ack(rtt_ms, rtt_ms, false) };
        self.grown(&told)
    }

    /// A first slow start that lost at 100 ms; the emptiest round trip was `bottom_ms`.
    fn full(params: Params, bottom_ms: f64) -> Rig {
        let mut rig = Rig::first(params);
        rig.seen(bottom_ms);
        rig.reduce(Signal::Loss, true);
        rig.ack(100.0, 100.0, true);
        rig.ack(90.0, 95.0, true);
        rig.alg.on_recovery_end(rig.w);
        rig
    }
}

/// Shows ABBA1 3-bottom, ABBA1 4-threshold, ABBA1 5.2-sample, ABBA1 5.2-update.
#[test]
fn periods_between_cuts_say_where_the_bottom_is() {
    let mut rig = Rig::first(Params::default());
    rig.seen(70.0);
    rig.seen(60.0);
    assert_eq!((rig.queue().bottom(), rig.queue().threshold()), (60_000, None), "no period over");
    rig.reduce(Signal::Loss, false);
    // 60 with a variance of 5: 60 - 5 is below the smallest sample, 60 - 2.5 below that and 2.
    assert_eq!((rig.queue().bottom(), rig.queue().threshold()), (60_000, Some(62_000)));
    rig.ack(50.0, 60.0, true);
    // The sample of a recovery is one of the connection and of no period.
    assert_eq!((rig.queue().bottom(), rig.queue().threshold()), (55_000, Some(57_500)));
    rig.seen(54.0);
    assert_eq!((rig.queue().bottom(), rig.queue().threshold()), (54_000, Some(56_000)));
    rig.reduce(Signal::Loss, false);
    // 59.25 with a variance of 5.25.
    assert_eq!((rig.queue().bottom(), rig.queue().threshold()), (54_000, Some(56_625)));
    rig.reduce(Signal::Loss, false);
    assert_eq!(rig.queue().threshold(), Some(56_625), "a period without a sample changes nothing");
}

/// Shows ABBA1 5.1-full.
#[test]
fn the_top_is_the_smoothed_round_trip_before_the_ack_that_ends_slow_starts_recovery() {
    assert_eq!(Rig::full(Params::default(), 60.0).queue().full(), Some(100_000));
    let mut rig = Rig::full(Params::default(), 60.0);
    rig.reduce(Signal::Loss, false);
    rig.ack(200.0, 200.0, true);
    rig.ack(200.0, 200.0, true);
    rig.alg.on_recovery_end(rig.w);
    assert_eq!(rig.queue().full(), Some(100_000), "a cut in avoidance says nothing of the top");
}

/// Shows ABBA1 4-ratio.
#[test]
fn a_round_trip_of_growth_is_two_milliseconds_of_queue_within_bounds() {
    let abe = Some(Ratio::new(17, 20));
    for (what, bottom_ms, signal, acked, grown) in [
        ("2 of 62 ms", 60.0, Signal::Loss, 62_000, 2_000),
        ("2 of 17 ms, less than 3/14", 15.0, Signal::Loss, 17_000, 2_000),
        ("a fortieth at least", 85.0, Signal::Loss, 40_000, 1_000),
        ("3/14 at most after a loss", 1.0, Signal::Loss, 14_000, 3_000),
        ("3/34 after marks, if they cut to 0.85", 1.0, Signal::Ecn, 34_000, 3_000),
    ] {
        let mut rig = Rig::full(firstflight::with!(Params { abe, ..Params::default() }), bottom_ms);
        if signal == Signal::Ecn {
            rig.reduce(signal, false);
            rig.alg.on_recovery_end(rig.w);
        }
        // CUBIC itself adds nothing yet.
        rig.w = Window { cwnd: 100_000, ssthresh: 50_000 };
        assert_eq!(rig.grows(acked, bottom_ms), grown, "{what}");
    }
}

/// Shows ABBA1 4-gate, ABBA 4-larger, ABBA 4-carry.
#[test]
fn growth_is_faster_only_at_the_bottom_of_a_queue_that_can_be_told_from_full() {
    for (what, bottom_ms, rtt_ms, faster) in [
        ("at the bottom", 60.0, 60.0, true),
        ("just below the threshold", 60.0, 61.9, true),
        ("at the threshold", 60.0, 62.0, false),
        ("10 ms apart", 90.0, 90.0, false),
        ("just more than 10 ms apart", 89.9, 89.9, true),
    ] {
        let mut rig = Rig::full(Params::default(), bottom_ms);
        rig.w = Window { cwnd: 100_000, ssthresh: 50_000 };
        assert_eq!(rig.grows(1_000, rtt_ms) > CUBICS, faster, "{what}");
    }
    // 21/20 of the latest sample have to be below the full queue's round trip: 380.95 ms of 400.
    for (bottom_ms, faster) in [(380.9, true), (381.0, false), (385.0, false)] {
        let mut rig = Rig::first(Params::default());
        rig.seen(bottom_ms);
        rig.reduce(Signal::Loss, true);
        rig.ack(400.0, 400.0, true);
        rig.ack(390.0, 395.0, true);
        rig.alg.on_recovery_end(rig.w);
        rig.w = Window { cwnd: 100_000, ssthresh: 50_000 };
        assert_eq!(rig.grows(1_000, bottom_ms) > CUBICS, faster, "{bottom_ms} ms of 400");
    }
    let mut unseen = Rig::first(Params::default());
    unseen.seen(60.0);
    unseen.reduce(Signal::Loss, false);
    unseen.w = Window { cwnd: 100_000, ssthresh: 50_000 };
    assert_eq!(unseen.grows(1_000, 60.0), CUBICS, "no top is known");
    let mut rig = Rig::full(Params::default(), 60.0);
    rig.w = Window { cwnd: 100_000, ssthresh: 50_000 };
    // 2/62 byte each, kept to the part.
    assert_eq!((0..310).map(|_| rig.grows(1, 60.0)).sum::<u64>(), 10);
}

/// Shows ABBA1 5.3-interval, ABBA1 5.3-twice, ABBA1 5.3-anew.
#[test]
fn a_queue_that_stays_away_for_twice_the_time_to_fill_it_is_looked_for_anew() {
    // From 70 to 100 segments: CUBIC takes 4.217 s, Reno 30 of 9/17 a round trip of 100 ms, 5.667 s; the
    // cube root of 100/60 is 1.1856: 5.000 s, twice.
    for (after_s, anew) in [(9.99, false), (10.01, true)] {
        for over in [Over::Cubic, Over::Cuback] {
            let mut rig = Rig::full(firstflight::with!(Params { over, ..Params::default() }), 60.0);
            let since = rig.now;
            assert_eq!(rig.w.cwnd, 70_000);
            // The epoch begins with this window.
            rig.grows(0, 65.0);
            rig.now = since + millis(after_s * 1e3);
            rig.w.cwnd = 80_000;
            rig.grows(1_000, 65.0);
            assert_eq!(rig.w.ssthresh == UNSET_SSTHRESH, anew, "after {after_s} s");
            if anew {
                assert_eq!(rig.w.cwnd, 80_000, "with the window as it is");
                // The loss that ends this slow start finds no plateau: no fast convergence.
                rig.reduce(Signal::Loss, true);
                let plateau = |name| hooks::signal(name, |visit| rig.alg.signals(visit));
                assert_eq!(plateau("w_max"), Some(80_000), "{over:?}");
            }
        }
    }
}

/// Shows ABBA1 5.3-interval: of CUBIC's time and Reno's the shorter. From 7 to 10 segments CUBIC takes
/// 1.957 s, Reno 3 of 9/17 a round trip of 100 ms, 0.567 s; times the cube root of 100/60 and twice 1.344 s. The
/// epoch that counts is the one that the last cut began.
#[test]
fn a_small_window_is_back_in_renos_time() {
    for (after_ms, anew) in [(1_335.0, false), (1_350.0, true)] {
        let mut rig = Rig::full(Params::default(), 60.0);
        // An epoch with a window ten times as large, which another cut ends.
        rig.grows(0, 65.0);
        rig.w.cwnd = 10_000;
        rig.reduce(Signal::Loss, false);
        rig.alg.on_recovery_end(rig.w);
        assert_eq!(rig.w.cwnd, 7_000);
        let marked = Told { now: rig.now, ce: true, ..Told::default() };
        rig.alg.on_ack(&marked.ack(), &hooks::quic(MSS));
        let since = rig.now;
        rig.grows(0, 65.0);
        rig.now = since + millis(after_ms);
        rig.grows(0, 65.0);
        assert_eq!(rig.w.ssthresh == UNSET_SSTHRESH, anew, "after {after_ms} ms");
    }
}

/// Shows ABBA1 5.3-high, ABBA1 5.3-marks.
#[test]
fn a_queue_that_was_seen_or_marked_starts_the_time_anew_and_a_loss_does_not() {
    #[derive(Clone, Copy, Debug)]
    enum Seen {
        Nothing,
        Queue,
        Marks,
        Loss,
    }
    for (seen, anew) in
        [(Seen::Nothing, true), (Seen::Queue, false), (Seen::Marks, false), (Seen::Loss, true)]
    {
        let mut rig = Rig::full(Params::default(), 60.0);
        let since = rig.now;
        rig.grows(0, 65.0);
        rig.now = since + Nanos::from_secs(5);
        match seen {
            Seen::Nothing => {}
            // 10 ms above the bottom.
            Seen::Queue => {
                rig.grows(0, 70.0);
            }
            Seen::Marks => {
                let ack = Told { now: rig.now, ce: true, ..Told::default() };
                rig.alg.on_ack(&ack.ack(), &hooks::quic(MSS));
            }
            Seen::Loss => {
                rig.w.cwnd = 100_000;
                rig.reduce(Signal::Loss, false);
                rig.alg.on_recovery_end(rig.w);
                rig.grows(0, 65.0);
            }
        }
        rig.now = since + millis(10_010.0);
        rig.grows(0, 65.0);
        assert_eq!(rig.w.ssthresh == UNSET_SSTHRESH, anew, "{seen:?}");
    }
}

/// Shows ABBA1 3-undo.
#[test]
fn a_false_alarm_gives_back_all_but_the_time_of_the_last_queue() {
    let mut rig = Rig::full(Params::default(), 60.0);
    rig.seen(50.0);
    let (saved, before) = (rig.alg.save(), *rig.queue());
    let marked = Told { now: rig.now + Nanos::from_secs(3), ce: true, ..Told::default() };
    rig.alg.on_ack(&marked.ack(), &hooks::quic(MSS));
    rig.reduce(Signal::Loss, false);
    assert_ne!(rig.queue().threshold(), before.threshold());
    rig.alg.restore(saved);
    let after = *rig.queue();
    assert_eq!(
        (after.full(), after.bottom(), after.threshold()),
        (before.full(), before.bottom(), before.threshold())
    );
    assert_ne!(after, before, "when the queue was seen stays");
}

/// Shows ABBA1 3-undo: what belongs to the moment stays: the smallest and the latest sample, the smoothed
/// round trip, and when a queue was seen.
#[test]
fn a_false_alarm_takes_back_no_sample_and_no_queue() {
    // Twice the time to fill the queue is 10 s; marks after 5 s stay seen.
    let mut rig = Rig::full(Params::default(), 60.0);
    let since = rig.now;
    rig.grows(0, 65.0);
    let (saved, w) = (rig.alg.save(), rig.w);
    rig.now = since + Nanos::from_secs(5);
    let marked = Told { now: rig.now, ce: true, srtt: Some(millis(65.0)), ..Told::default() };
    rig.alg.on_ack(&marked.ack(), &hooks::quic(MSS));
    rig.reduce(Signal::Loss, false);
    rig.alg.restore(saved);
    rig.w = w;
    rig.now = since + millis(10_010.0);
    rig.grows(0, 65.0);
    assert_ne!(rig.w.ssthresh, UNSET_SSTHRESH, "marks of a false alarm are marks");

    // The smallest sample: 60 with a variance of 5 makes a bottom of 55, but none below what was seen.
    let mut rig = Rig::full(Params::default(), 60.0);
    assert_eq!(rig.queue().bottom(), 60_000);
    let saved = rig.alg.save();
    rig.ack(40.0, 60.0, true);
    rig.reduce(Signal::Loss, false);
    rig.alg.restore(saved);
    assert_eq!(rig.queue().bottom(), 55_000);

    // The latest sample: at 60 ms the queue is drained, at 70 ms it is not.
    for (rtt_ms, faster) in [(60.0, true), (70.0, false)] {
        let mut rig = Rig::full(Params::default(), 60.0);
        rig.seen(60.0);
        rig.w = Window { cwnd: 100_000, ssthresh: 50_000 };
        let saved = rig.alg.save();
        rig.ack(rtt_ms, 60.0, true);
        rig.alg.restore(saved);
        let ack = Told { now: rig.now, acked: 1_000, srtt: Some(millis(60.0)), ..Told::default() };
        rig.alg.grow(&ack.ack(), 1_000, &mut rig.w, &hooks::quic(MSS));
        assert_eq!(rig.w.cwnd - 100_000 > CUBICS, faster, "after {rtt_ms} ms");
    }

    // The smoothed round trip before the ACK that ends a slow start's recovery is the full queue's.
    let mut rig = Rig::first(Params::default());
    rig.seen(60.0);
    rig.reduce(Signal::Loss, true);
    let saved = rig.alg.save();
    rig.ack(100.0, 100.0, true);
    rig.alg.restore(saved);
    rig.ack(90.0, 95.0, true);
    rig.alg.on_recovery_end(rig.w);
    assert_eq!(rig.queue().full(), Some(100_000));
}

/// Shows ABBA1 5.2-update: a timeout ends a period (D4).
#[test]
fn a_timeout_ends_a_period_and_says_nothing_of_the_top() {
    let mut rig = Rig::first(Params::default());
    rig.seen(60.0);
    rig.alg.on_rto(&hooks::timeout(rig.now, 0, rig.w), rig.w, &hooks::quic(MSS));
    rig.alg.on_recovery_end(rig.w);
    assert_eq!((rig.queue().threshold(), rig.queue().full()), (Some(62_000), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever happens: cuts are CUBIC's, growth is never less than CUBIC's from the same window but for
    /// the ACK that looks anew, and an ACK grows by no more than half of what would take a cut back.
    /// Shows ABBA1 4-ratio, ABBA 4-larger.
    #[test]
    fn it_only_adds_growth(steps in prop::collection::vec((0u8..8, 1u64..200_000, 1.0f64..400.0, 0u64..3_000), 1..120)) {
        let mut rig = Rig::first(Params::default());
        let mut plain = Cubic::default();
        let cx: Context = hooks::quic(MSS);
        for (kind, amount, rtt_ms, passed_ms) in steps {
            rig.now += Nanos::from_millis(passed_ms);
            let before = rig.w;
            match kind {
                0 | 1 => {
                    let from_slow_start = before.in_slow_start();
                    rig.ack(rtt_ms, rtt_ms, true);
                    rig.reduce(Signal::Loss, from_slow_start);
                    let cut = Cut { from_slow_start, ..hooks::cut(rig.now, Signal::Loss, MAX_BYTES) };
                    prop_assert_eq!(rig.w.cwnd, plain.reduce(&cut, before, &cx).cwnd, "cuts are CUBIC's");
                    rig.alg.on_recovery_end(rig.w);
                }
                _ if before.in_slow_start() => {
                    rig.seen(rtt_ms);
                    rig.w.cwnd += amount;
                }
                _ => {
                    let mut beside = before;
                    rig.grows(amount, rtt_ms);
                    let srtt = Some(millis(rtt_ms));
                    let ack = Told { now: rig.now, acked: amount, srtt, ..Told::default() };
                    plain.grow(&ack.ack(), amount, &mut beside, &cx);
                    let anew = rig.w.in_slow_start();
                    if anew {
                        plain = Cubic::default();
                    }
                    prop_assert!(anew || rig.w.cwnd >= beside.cwnd, "{} below CUBIC's {}", rig.w.cwnd, beside.cwnd);
                    prop_assert!(rig.w.cwnd <= beside.cwnd.max(before.cwnd + amount * 3 / 14 + 1));
                    prop_assert!(!anew || rig.w.cwnd == before.cwnd);
                }
            }
        }
    }
}
