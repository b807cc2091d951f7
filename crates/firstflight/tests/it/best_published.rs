//! BEST as published: its arithmetic and corner cases by row, and what it does on the links of its
//! slides.

use crate::ack_clock;
use crate::hooks::{self, Alone};
use crate::told::Told;

use ack_clock::{CX, FIVE_G, FOUR_G, GEO, LEO, Link, MSS, Report, Return, run};
use firstflight::startup::best_published::{
    BestPublished, CAPACITY, Params, estimate, percentile_index, threshold_packets,
};
use firstflight::startup::{ExitReason, Leave, Startup, Verdict};
use firstflight::{Context, Nanos, Seq, Time, Timeout, UNSET_SSTHRESH, Window};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
const LIMIT: Nanos = Nanos::from_secs(60);

/// Position of an ACK in its round.
#[derive(Clone, Copy)]
enum Place {
    /// At or before the mark.
    Inside,
    /// Just past the mark: the round ends.
    Crossing,
}
use Place::{Crossing, Inside};

/// One ACK in its first round; `nxt` is the mark that ends the round.
type Rig = Alone<BestPublished>;

impl Rig {
    fn new(params: Params) -> Rig {
        let mut rig = Rig::of(BestPublished::new(params), 16 * MSS, CX).begun(7_000 * MS, 1000);
        rig.ack(1000, 0, 30_000, Inside);
        rig
    }

    /// An ACK `us` after the last, for `bytes`, through both hooks.
    fn ack(&mut self, us: u64, bytes: u64, rtt_us: u64, place: Place) -> Verdict {
        self.now += us * US;
        self.told.delivered += bytes;
        self.una = self.nxt + u64::from(matches!(place, Crossing));
        let ack = Told {
            acked: bytes,
            rtt: Some(Nanos::from_micros(rtt_us)),
            nxt: Seq(self.una + 1000),
            ..self.record()
        };
        let verdict = self.sample(&ack);
        let w = self.w;
        self.grow(&ack);
        self.w = w;
        if matches!(place, Crossing) && self.cx.limited {
            self.nxt = self.una + 1000;
        }
        verdict
    }

    /// Whole rounds of `samples` ACKs, one each `us` for `bytes`, until the count of rounds reads
    /// `count`; returns what the ACK that evaluated said. The ACKs that cross carry
    /// `crossing_rtt_us`, all others `rtt_us`.
    fn rounds(
        &mut self,
        count: u32,
        samples: u64,
        (us, bytes): (u64, u64),
        (crossing_rtt_us, rtt_us): (u64, u64),
    ) -> Verdict {
        loop {
            for _ in 2..samples {
                self.ack(us, bytes, rtt_us, Inside);
            }
            self.ack(us, bytes, crossing_rtt_us, Crossing);
            let verdict = self.ack(us, bytes, rtt_us, Inside);
            if self.alg.status().rounds == Some(count) {
                return verdict;
            }
        }
    }
}

fn mbps(rate: u64) -> (u64, u64) {
    // Bytes per millisecond.
    (1000, rate * 125)
}

/// Shows BESTPUB rate-1.
#[test]
fn rates_are_whole_megabits_in_sixteen_wrapping_bits() {
    #[rustfmt::skip]
    let table = [
        // bytes, us,     Mbit/s
        (2896,    160,    144),
        (1448,    40_000, 0),
        (2896,    0,      0),
        (65_160,  5,      38_720), // 104 256 wrapped
        (1,       8,      1),
        (1,       9,      0),
        (u32::MAX, 1,     65_528), // the product wraps first
    ];
    for (bytes, us, expected) in table {
        let rate = estimate(bytes, us);
        assert_eq!(rate, expected, "{bytes} bytes in {us} us are {expected} Mbit/s, not {rate}");
    }
}

/// Shows BESTPUB rate-2.
#[test]
fn the_percentile_is_the_lower_neighbour() {
    for (n, percentile, index) in [
        (1, 50, 0),
        (4, 50, 1),
        (5, 50, 2),
        (300, 50, 149),
        (0, 50, 0),
        (4, 0, 0),
        (4, 100, 3),
        (4, 25, 0),
        (4, 26, 1),
    ] {
        let found = percentile_index(n, percentile);
        assert_eq!(
            found, index,
            "percentile {percentile} of {n} samples is at {index}, not {found}"
        );
    }
}

/// Shows BESTPUB threshold-1.
#[test]
fn thresholds_are_packets_in_sixteen_wrapping_bits() {
    #[rustfmt::skip]
    let table = [
        // Mbit/s, RTT in us, packets
        (144,      600_000,   7458),
        (3000,     10_000,    2589),
        (100,      30_000,    258),
        (2000,     600_000,   38_055), // 103 591 wrapped
        (7200,     600_000,   2160),   // the product wraps to 25 032 704
        (1,        5_000,     0),
    ];
    for (rate, rtt_us, expected) in table {
        let packets = threshold_packets(rate, rtt_us, 1448);
        assert_eq!(
            packets, expected,
            "{rate} Mbit/s times {rtt_us} us are {expected} packets, not {packets}"
        );
    }
    assert_eq!(
        threshold_packets(100, 30_000, 0),
        0xc6c0,
        "without a segment size nothing divides by zero"
    );
}

/// Shows BESTPUB round-3, BESTPUB round-4.
#[test]
fn it_decides_when_round_four_is_over_and_once_only() {
    let mut rig = Rig::new(Params::PUBLISHED);
    for round in 2..=4 {
        let verdict = rig.rounds(round, 20, mbps(144), (600_000, 600_000));
        assert_eq!(verdict, Verdict::Stay, "after round {} it says nothing", round - 1);
    }
    let verdict = rig.rounds(5, 20, mbps(144), (600_000, 600_000));
    assert_eq!(
        verdict,
        Verdict::Aim { ssthresh: 7458 * MSS },
        "after round 4 the median times the RTT becomes the threshold"
    );
    for round in 6..=9 {
        let verdict = rig.rounds(round, 20, mbps(100), (300_000, 300_000));
        assert_eq!(verdict, Verdict::Stay, "the decision is sticky, round {round}");
    }
    let counts = rig.alg.counts();
    assert_eq!(
        (counts.decided, counts.not_due, counts.sticky),
        (1, 4, 4),
        "every round end is counted: {counts:?}"
    );
}

/// Shows BESTPUB round-2.
#[test]
fn the_rtt_is_the_sample_of_the_ack_after_the_crossing() {
    let mut rig = Rig::new(Params::PUBLISHED);
    let verdict = rig.rounds(5, 20, mbps(144), (650_000, 1_100_000));
    let packets = u64::from(threshold_packets(144, 1_100_000, 1448));
    assert_eq!(
        verdict,
        Verdict::Aim { ssthresh: packets * MSS },
        "the crossing's 650 ms were wiped, 1100 ms are used"
    );
}

/// Shows BESTPUB round-4.
#[test]
fn a_median_of_zero_decides_nothing_and_is_asked_again_until_round_seven() {
    let mut rig = Rig::new(Params::PUBLISHED);
    assert_eq!(
        rig.rounds(12, 20, (40_000, 1448), (600_000, 600_000)),
        Verdict::Stay,
        "one ACK per 40 ms is below 1 Mbit/s"
    );
    let counts = rig.alg.counts();
    assert_eq!(
        (counts.decided, counts.zero_median),
        (0, 4),
        "rounds 4 to 7 were asked, in vain: {counts:?}"
    );
    assert_eq!(
        rig.rounds(13, 20, mbps(144), (600_000, 600_000)),
        Verdict::Stay,
        "later rounds are not asked"
    );
}

/// Shows BESTPUB round-3.
#[test]
fn the_last_round_it_decides_after_is_the_seventh() {
    for (zero_rounds, decides) in [(7, true), (8, false)] {
        let mut rig = Rig::new(Params::PUBLISHED);
        rig.rounds(zero_rounds, 20, (40_000, 1448), (600_000, 600_000));
        rig.rounds(zero_rounds + 1, 40, mbps(144), (600_000, 600_000));
        let decided = rig.alg.counts().decided == 1;
        assert_eq!(
            decided, decides,
            "{zero_rounds} rounds counted, then a clear one: decides = {decides}"
        );
    }
}

/// Shows BESTPUB round-3.
#[test]
fn an_undecided_flow_decides_again_after_256_rounds() {
    let mut rig = Rig::new(Params::PUBLISHED);
    rig.rounds(255, 3, (40_000, 1448), (600_000, 600_000));
    rig.rounds(5, 20, mbps(144), (600_000, 600_000));
    assert_eq!(
        rig.alg.counts().decided,
        1,
        "the counter of rounds wraps to 0 and passes 4 once more"
    );
}

/// Shows BESTPUB threshold-2.
#[test]
fn an_estimate_below_the_window_ends_slow_start_without_lowering_it() {
    #[rustfmt::skip]
    let table = [
        // Mbit/s, RTT in us, cwnd in packets, aims
        (100,      30_000,    257,             true),
        (100,      30_000,    258,             false),
        (1,        5_000,     16,              false), // 0 packets: no floor
    ];
    for (rate, rtt_us, cwnd, aims) in table {
        let mut rig = Rig::new(Params::PUBLISHED);
        rig.w.cwnd = cwnd * MSS;
        let ssthresh = u64::from(threshold_packets(rate as u16, rtt_us as u32, 1448)) * MSS;
        match rig.rounds(5, 20, mbps(rate), (rtt_us, rtt_us)) {
            Verdict::Aim { ssthresh: found } => {
                assert_eq!((true, ssthresh), (aims, found), "a window of {cwnd} may grow on");
            }
            Verdict::Leave(Leave { reason, ssthresh: found, cwnd: set, .. }) => {
                assert_eq!(
                    (false, ssthresh, None),
                    (aims, found, set),
                    "a window of {cwnd} stays, slow start is over"
                );
                assert_eq!(reason, ExitReason::Estimate);
            }
            other => panic!("round 4 decides, it said {other:?}"),
        }
    }
}

/// Shows BESTPUB rate-3.
#[test]
fn only_the_first_300_samples_of_a_round_count() {
    let mut rig = Rig::new(Params::PUBLISHED);
    rig.rounds(2, 400, mbps(100), (30_000, 30_000));
    for _ in 0..CAPACITY + 50 {
        rig.ack(1000, 200 * 125, 30_000, Inside);
    }
    assert_eq!(usize::from(rig.alg.samples()), CAPACITY, "no more are counted");
    assert_eq!(rig.alg.percentile(), 200, "and the median is one of those that are");
}

/// Shows BESTPUB gate-1, BESTPUB gate-2.
#[test]
fn sampling_waits_for_sixteen_segments_and_for_an_old_epoch() {
    #[rustfmt::skip]
    let table = [
        // cwnd,          epoch,                           samples
        (16 * MSS,        None,                            true),
        (16 * MSS - 1,    None,                            false),
        (16 * MSS,        Some(Nanos::from_millis(999)),   false),
        (16 * MSS,        Some(Nanos::from_millis(1000)),  true),
    ];
    for (cwnd, epoch_age, samples) in table {
        let mut rig = Rig::new(Params::PUBLISHED);
        let before = rig.alg.samples();
        rig.w.cwnd = cwnd;
        rig.cx.young_epoch = Context::is_young(epoch_age);
        rig.ack(1000, MSS, 30_000, Inside);
        assert_eq!(
            rig.alg.samples() > before,
            samples,
            "cwnd {cwnd}, epoch {epoch_age:?}: samples = {samples}"
        );
    }
}

/// Shows BESTPUB round-1.
#[test]
fn rounds_end_strictly_after_the_mark_and_only_while_the_window_is_the_limit() {
    let mut rig = Rig::new(Params::PUBLISHED);
    rig.rounds(2, 10, mbps(10), (30_000, 20_000));
    rig.ack(1000, MSS, 20_000, Inside);
    assert_eq!(rig.alg.round_rtt_us(), Some(20_000), "at the mark the round goes on");
    rig.cx.limited = false;
    rig.ack(1000, MSS, 20_000, Crossing);
    assert_eq!(
        rig.alg.round_rtt_us(),
        Some(20_000),
        "and past it while the window is not the limit"
    );
    rig.cx.limited = true;
    rig.ack(1000, MSS, 20_000, Crossing);
    assert_eq!(rig.alg.round_rtt_us(), None, "past it, a round ends and its RTT is wiped");
}

/// Shows BESTPUB reset-1.
#[test]
fn a_timeout_forgets_the_decision_and_nothing_else_does() {
    let decided = || {
        let mut rig = Rig::new(Params::PUBLISHED);
        rig.rounds(5, 20, mbps(144), (600_000, 600_000));
        assert_eq!(rig.alg.reached(), ExitReason::Estimate, "it set the threshold");
        rig
    };
    let mut rig = decided();
    rig.alg.on_timeout(Timeout::Rto, Time(rig.now), Seq(rig.nxt));
    assert_eq!(
        (rig.alg.reached(), rig.alg.status().rounds),
        (ExitReason::Threshold, Some(0)),
        "after an RTO it starts over"
    );
    let mut rig = decided();
    rig.lose();
    rig.alg.on_idle(Time(rig.now), Seq(rig.nxt));
    assert_eq!(
        (rig.alg.reached(), rig.alg.status().rounds),
        (ExitReason::Estimate, Some(5)),
        "loss and idle change nothing"
    );
}

#[test]
fn the_clock_wraps_after_71_minutes() {
    let mut best = BestPublished::default();
    let wrap = (1u64 << 32) * US;
    let w = Window { cwnd: 16 * MSS, ssthresh: UNSET_SSTHRESH };
    let ack = |now: u64, delivered: u64| Told {
        now: Time(now),
        rtt: Some(Nanos(MS)),
        delivered,
        ..Told::default()
    };
    best.start(Time(wrap - 100 * US), Seq(0));
    for ack in [ack(wrap - 80 * US, 10_000), ack(wrap + 80 * US, 12_896)] {
        best.sample(&ack.ack(), w, &ack.within(&CX));
    }
    assert_eq!(best.rates().last(), Some(&4000), "10 000 bytes in the first 20 us");
    assert_eq!(best.rates().first(), Some(&144), "2896 bytes in the 160 us across the wrap");
}

#[test]
fn bytes_sacked_out_of_order_count_when_the_hole_is_filled() {
    let mut rig = Rig::new(Params::PUBLISHED);
    let ack = |now: u64, delivered: u64, sacked: u64| Told {
        now: Time(now),
        rtt: Some(Nanos(30 * MS)),
        delivered,
        sacked,
        ..Told::default()
    };
    let (now, delivered) = (rig.now, rig.told.delivered);
    let hole = ack(now + MS, delivered + 9 * MSS, 9 * MSS);
    for ack in [hole, ack(now + 2 * MS, delivered + 10 * MSS, 0)] {
        rig.alg.sample(&ack.ack(), rig.w, &ack.within(&rig.cx));
    }
    // 10 x 1448 x 8 / 1000 us.
    assert_eq!(
        rig.alg.rates(),
        [0, 0, 115],
        "nothing while the hole is open, then one giant sample"
    );
}

/// The acceptance table: end of round 4. The RTT sample contains its own packet's serialisation and
/// up to two packets of queue, which the table's fluid numbers leave out: up to five packets more,
/// never fewer. It is the second ACK of the sixth flight.
#[test]
fn on_the_links_of_the_slides_it_aims_at_the_bdp() {
    #[rustfmt::skip]
    let table = [
        // link, Mbit/s, packets, RTTs, window
        (GEO,    144,    7458,    5.00),
        (LEO,    96,     248,     5.08),
        (FIVE_G, 2896,   2500,    5.01),
        (FOUR_G, 193,    333,     5.06),
    ];
    for (link, rate, packets, rtts) in table {
        for ack_every in [1, 2] {
            let link = Link { ack_every, ..link };
            let mut best = BestPublished::default();
            let report = run(&mut best, &link, LIMIT, false);
            let decided = hooks::signal("best_decided_mbps", |visit| best.signals(visit));
            let decided = decided.unwrap_or(0);
            assert_eq!(decided, rate, "{}: the median is {rate} Mbit/s, not {decided}", link.name);
            let [(at, cwnd, aim)] = report.aims[..] else {
                panic!("{}: one decision, not {:?}", link.name, report.aims)
            };
            assert!(
                (packets..=packets + 5).contains(&aim),
                "{}: aims at {packets} packets, not {aim}",
                link.name
            );
            let at = Report::rtts(at, &link);
            assert!(
                at > 5.0 && at <= rtts + 0.01,
                "{}: decides at {rtts} RTT, not {at}",
                link.name
            );
            // 176 in the table; the rule gives the ACK after the one that crosses, when the sixth
            // flight has hardly begun.
            assert!(
                (160..=176).contains(&cwnd),
                "{}: with 160 to 176 packets of window, not {cwnd}",
                link.name
            );
            assert_eq!(
                report.first_drop, None,
                "{}: with a queue of one BDP nothing is lost",
                link.name
            );
            assert_eq!(
                report.exit.map(|exit| exit.3),
                Some(ExitReason::Estimate),
                "{}: it leaves on its estimate",
                link.name
            );
        }
    }
}

#[test]
fn without_it_slow_start_overflows_when_the_table_says() {
    #[rustfmt::skip]
    let table = [
        // link, queue %, first drop, window, learned
        (GEO,    320,     13.84,      31_501, 18.04),
        (GEO,    100,     11.64,      15_002, 13.64),
        (GEO,    50,      10.50,      8_871,  12.00),
        (GEO,    25,      9.25,       4_436,  10.50),
        (LEO,    100,     6.74,       501,    8.75),
        (FIVE_G, 100,     9.98,       5_001,  11.98),
        (FOUR_G, 100,     7.10,       668,    9.11),
    ];
    for (link, queue_percent, drop, window, learned) in table {
        let link = Link { queue_percent, ..link };
        let report = run(&mut firstflight::startup::SlowStart, &link, LIMIT, false);
        let (at, cwnd) = report.first_drop.expect("slow start overflows any queue");
        let (at, found) = (
            Report::rtts(at, &link),
            Report::rtts(report.learned.expect("and learns of it"), &link),
        );
        assert!(
            (at - drop).abs() < 0.012,
            "{} {queue_percent} %: first drop at {drop} RTT, not {at}",
            link.name
        );
        assert!(
            cwnd.abs_diff(window) <= 1,
            "{} {queue_percent} %: with {window} packets, not {cwnd}",
            link.name
        );
        assert!(
            (found - learned).abs() < 0.012,
            "{} {queue_percent} %: learned of at {learned} RTT, not {found}",
            link.name
        );
    }
}

#[test]
fn a_short_queue_overflows_below_the_bdp_all_the_same() {
    for (queue_percent, lost) in [(50, false), (25, true)] {
        let report =
            run(&mut BestPublished::default(), &Link { queue_percent, ..GEO }, LIMIT, false);
        assert_eq!(
            report.first_drop.is_some(),
            lost,
            "queue {queue_percent} % of the BDP: loss = {lost}"
        );
    }
}

/// Acceptance test number one, its published half: ACKs released every 40 ms, 30 us apart, read as
/// 386 Mbit/s.
#[test]
fn a_slotted_return_path_makes_it_overshoot() {
    for period in [40 * MS, 5 * MS] {
        let back = Return::Batch { period, cap: usize::MAX, lo: 30_000, hi: 30_000 };
        let mut best = BestPublished::default();
        let report = run(&mut best, &Link { back, ..GEO }, LIMIT, false);
        let [(_, _, aim)] = report.aims[..] else { panic!("one decision, not {:?}", report.aims) };
        // 19 993 packets for an RTT of 600 ms; the sample contains the wait for the slot.
        let longest = 19_993 * (600 * MS + period + MS) / (600 * MS) + 1;
        assert!((19_993..=longest).contains(&aim), "386 Mbit/s are 19 993 packets, not {aim}");
        let drop = report.first_drop.expect("a queue of one BDP overflows as without BEST").1;
        assert!(drop > 15_000, "at the same window as without BEST, not {drop}");
    }
}

#[test]
fn a_paced_sender_measures_its_pacer() {
    let back = Return::Batch { period: 5 * MS, cap: usize::MAX, lo: 30_000, hi: 30_000 };
    let report =
        run(&mut BestPublished::default(), &Link { paced: true, back, ..GEO }, LIMIT, false);
    let (_, cwnd, ssthresh, _) = report.exit.expect("it leaves at once");
    assert!(
        ssthresh < cwnd && cwnd < 200,
        "2 Mbit/s of pacing end slow start at {cwnd} packets, a fortieth of the BDP"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Shows BESTPUB rate-4. After every ACK, whatever the order of the rates and the percentile: what an array of the first 300 would give.
    #[test]
    fn the_percentile_is_that_of_the_sorted_round(
        samples in prop::collection::vec((0u64..100_000, 0u64..200_000), 1..400), order in 0u8..4, percentile in 0u8..=100,
    ) {
        let mut samples = samples;
        match order {
            0 => samples.sort_by_key(|&(us, bytes)| estimate(bytes as u32, us as u32)),
            1 => samples.sort_by_key(|&(us, bytes)| std::cmp::Reverse(estimate(bytes as u32, us as u32))),
            2 => samples.iter_mut().for_each(|sample| *sample = (sample.0 % 4, sample.1 % 4)),
            _ => {}
        }
        let mut rig = Rig::new(firstflight::with!(Params { percentile, set_ssthresh: false, ..Params::PUBLISHED }));
        rig.rounds(2, 10, mbps(100), (30_000, 30_000));
        let mut array: Vec<u16> = rig.alg.rates().to_vec();
        for &(us, bytes) in &samples {
            rig.ack(us, bytes, 30_000, Inside);
            if array.len() < CAPACITY {
                let rate = estimate(bytes as u32, us as u32);
                array.insert(array.partition_point(|&other| other <= rate), rate);
            }
            let expected = array[percentile_index(array.len() as u16, percentile)];
            prop_assert_eq!(rig.alg.percentile(), expected, "percentile {} of {} samples", percentile, array.len());
            prop_assert!(rig.alg.rates().is_sorted() && usize::from(rig.alg.samples()) == array.len(), "{} samples", array.len());
        }
    }

    /// Property 6: the same ACKs give the same rates.
    #[test]
    fn replays_are_identical(mbps in 5u64..500, rtt_ms in 5u64..300) {
        let link = Link { mbps, rtt: Nanos::from_millis(rtt_ms), ..LEO };
        let mut live = BestPublished::default();
        let log = run(&mut live, &link, LIMIT, true).log;
        let replay = || {
            let mut best = BestPublished::default();
            best.start(Time(1_000_000_000), Seq(0));
            for (ack, w) in &log {
                best.sample(&ack.ack(), *w, &ack.within(&CX));
                best.grow(&ack.ack(), ack.acked, &mut w.clone(), &ack.within(&CX));
            }
            best
        };
        let again = replay();
        prop_assert_eq!((again.rates(), again.counts()), (live.rates(), live.counts()), "the replay and the connection that was recorded");
    }

    #[test]
    fn no_input_makes_it_panic(
        rows in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 1..300),
        mss in prop_oneof![Just(0), Just(u64::MAX), 1u64..9000],
        percentile in any::<u8>(),
    ) {
        let mut best = BestPublished::new(firstflight::with!(Params { percentile, ..Params::PUBLISHED }));
        let cx = firstflight::with!(Context { mss, ..CX });
        for (now, rtt, una, nxt, delivered) in rows {
            let ack = Told { now: Time(now), rtt: Some(Nanos(rtt)), una: Seq(una), nxt: Seq(nxt), delivered, ..Told::default() };
            let mut w = Window { cwnd: delivered, ssthresh: UNSET_SSTHRESH };
            best.sample(&ack.ack(), w, &ack.within(&cx));
            best.grow(&ack.ack(), delivered % (1 << 30), &mut w, &ack.within(&CX));
        }
    }
}
