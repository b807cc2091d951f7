//! HyStart in its three profiles: the vectors of our specification (rows numbered as there), both
//! sides of each equality, and the properties that must hold on any history.

use crate::hooks::{self, Alone};
use crate::told::Told;
use firstflight::event::{Context, Signal, Timeout, Window};
use firstflight::startup::hystart::{
    HyStart, Looking, Params, Profile, RollAt, ack_delay, linux_rate, rise,
};
use firstflight::startup::{ExitReason, Handover, Leave, Startup, Verdict};
use firstflight::units::{Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH};
use proptest::prelude::*;

const MSS: u64 = 1448;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// Any point in time: nothing depends on where the clock began.
const T0: u64 = 5_000 * MS;

const DELAY_ONLY: Params = firstflight::with!(Params { train: false, ..Params::LINUX });
const TRAIN_ONLY: Params = firstflight::with!(Params { delay: false, ..Params::LINUX });

const CX: Context = hooks::tcp(MSS);

type Flow = Alone<HyStart>;

impl Flow {
    /// A window of 100 segments, a hundred packets in flight, nothing acknowledged.
    fn new(params: Params) -> Flow {
        let flow = Flow::of(HyStart::new(params), 100 * MSS, CX).begun(T0, 0);
        let told = Told { acked: MSS, inflight: 7 * MSS, advanced: true, ..Told::default() };
        Flow { nxt: 100, told, ..flow }
    }

    /// The ACK of one more packet, at `now` (ns), with an RTT of `rtt` (ns). The window is left
    /// alone: growth is not the subject.
    fn ack(&mut self, now: u64, rtt: u64) -> Option<Leave> {
        self.una += 1;
        self.deliver(now, rtt)
    }

    /// An ACK that ends the round: everything sent so far is acknowledged and as much as no test
    /// gets through is sent.
    fn roll(&mut self, now: u64, rtt: u64) -> Option<Leave> {
        self.una = self.nxt + 1;
        self.nxt += 1_000_000;
        self.deliver(now, rtt)
    }

    fn deliver(&mut self, now: u64, rtt: u64) -> Option<Leave> {
        self.now = now;
        let ack = Told { rtt: Some(Nanos(rtt)), ..self.record() };
        self.alg.on_rtt(ack.now, Nanos(rtt), &self.cx);
        match self.sample(&ack) {
            Verdict::Leave(leave) => Some(leave),
            other => {
                assert_eq!(other, Verdict::Stay, "HyStart either stays or leaves");
                None
            }
        }
    }

    /// One whole round whose smallest RTT is `rtt`, too short to decide anything, then the ACK that
    /// begins the round under test.
    fn after_round(params: Params, rtt: u64, first_rtt: u64) -> Flow {
        let mut f = Flow::new(params);
        f.roll(T0 - 1_000 * MS, rtt);
        assert_eq!(f.roll(T0, first_rtt), None, "one sample decides nothing");
        f
    }

    /// Back to back samples at `gap` from the ACK after the roll on; the number of the sample (the
    /// roll's is 1) that made it leave.
    fn samples(&mut self, rtts: &[u64], gap: u64) -> Option<(usize, Leave)> {
        for (i, &rtt) in rtts.iter().enumerate() {
            if let Some(leave) = self.ack(T0 + (i as u64 + 1) * gap, rtt) {
                return Some((i + 2, leave));
            }
        }
        None
    }
}

/// The smoothed RTT with which a window of 100 segments makes this rate at 200 %.
fn at_rate(rate: u64) -> Nanos {
    Nanos(2 * 100 * MSS * 1_000_000_000 / rate)
}

fn reason(leave: Option<(usize, Leave)>) -> Option<(usize, ExitReason)> {
    leave.map(|(n, l)| (n, l.reason))
}

// gVisor profile, rows 1 to 6

/// Shows GVISOR hystart-train.
#[test]
fn row_1_gvisor_leaves_on_a_train_longer_than_half_the_last_rounds_minimum() {
    let mut f = Flow::after_round(Params::GVISOR, 4 * MS, 5 * MS);
    assert_eq!(f.ack(T0 + MS, 5 * MS), None, "1 ms is not longer than 2 ms");
    assert_eq!(f.ack(T0 + 2 * MS, 5 * MS), None, "2 ms is not longer than 2 ms");
    let leave = f.ack(T0 + 3 * MS, 5 * MS).expect("3 ms is longer than 2 ms");
    let expected = Leave {
        reason: ExitReason::Train,
        ssthresh: 100 * MSS,
        cwnd: None,
        handover: Handover::LossFree,
        estimate: Some(3 * MS),
    };
    assert_eq!(
        leave, expected,
        "the threshold becomes the window, which stays; the estimate is the length of the train"
    );
}

/// Shows GVISOR hystart-gap.
#[test]
fn row_2_gvisor_a_gap_breaks_the_train() {
    for (gap, alive) in [(3 * MS, false), (2 * MS, false), (2 * MS - 1, true)] {
        let mut f = Flow::after_round(Params::GVISOR, 4 * MS, 5 * MS);
        f.ack(T0 + gap, 5 * MS);
        let moved = f.signal("hystart_last_ack_ns") == Some(T0 + gap);
        assert_eq!(
            moved,
            alive,
            "a gap of {gap} ns must {} the train: gVisor asks for strictly less than 2 ms",
            if alive { "keep" } else { "end" }
        );
        let next = f.ack(T0 + gap + MS, 5 * MS);
        assert_eq!(next.is_some(), alive, "after a gap of {gap} ns the next ACK found {next:?}");
    }
}

/// Shows GVISOR hystart-delay.
#[test]
fn rows_3_and_4_gvisor_decides_by_delay_on_the_eighth_sample() {
    // Row 3: 8 >= 4 + 4. One below it is no rise. Row 4: one low sample keeps the round's minimum
    // down.
    let rows: [(&str, [u64; 8], Option<usize>); 3] = [
        ("row 3", [8 * MS; 8], Some(8)),
        ("row 3, just below", [8 * MS - 1; 8], None),
        ("row 4", [8 * MS, 8 * MS, 8 * MS, 8 * MS, 8 * MS, 8 * MS, 8 * MS, 7 * MS], None),
    ];
    for (row, rtts, expected) in rows {
        let mut f = Flow::after_round(
            firstflight::with!(Params { train: false, ..Params::GVISOR }),
            4 * MS,
            rtts[0],
        );
        let left = f.samples(&rtts[1..], MS);
        assert_eq!(reason(left), expected.map(|n| (n, ExitReason::Delay)), "{row}");
        assert_eq!(
            left.and_then(|(_, l)| l.estimate),
            expected.map(|_| 8 * MS),
            "{row}: the estimate is the minimum of the round"
        );
    }
}

/// Shows OURS ack-arrival.
#[test]
fn row_5_gvisor_goes_by_arrival_times() {
    // The ACKs are processed in one go but arrived 3 ms apart: the transport reports arrivals, and
    // no train is seen.
    let mut f = Flow::after_round(Params::GVISOR, 4 * MS, 5 * MS);
    assert_eq!(f.samples(&[5 * MS; 50], 3 * MS), None, "ACKs that arrived 3 ms apart are no train");
}

/// Shows GVISOR hystart-roll.
#[test]
fn row_6_gvisor_finds_nothing_in_the_first_round() {
    let mut f = Flow::new(Params::GVISOR);
    f.nxt = 1_000_000;
    f.ack(T0 + 4 * MS, 4 * MS);
    for i in 1..=60 {
        assert_eq!(
            f.ack(T0 + 4 * MS + i * MS, (4 + i) * MS),
            None,
            "sample {i} of the first round must not decide: nothing to compare with"
        );
    }
    assert_eq!(
        f.signal("hystart_last_ack_ns"),
        Some(T0 + 4 * MS),
        "while no round has ended the train does not move"
    );
}

/// Shows RFC5681 3.1-ssthresh, GVISOR hystart-armed.
#[test]
fn gvisor_is_off_once_the_threshold_was_set_and_stays_off_after_a_timeout() {
    let mut f = Flow::after_round(Params::GVISOR, 4 * MS, 8 * MS);
    f.w.ssthresh = 1_000 * MSS;
    assert_eq!(
        f.samples(&[8 * MS; 20], MS),
        None,
        "a threshold that was set switches gVisor's HyStart off"
    );
    f.alg.on_timeout(Timeout::Rto, Time(T0 + 100 * MS), Seq(f.nxt));
    assert_eq!(f.samples(&[8 * MS; 20], MS), None, "a timeout does not switch it on again");
}

// Linux profile, rows 7 to 16

/// Shows LINUX hystart-ninth, LINUX hystart-delay.
#[test]
fn rows_7_to_9_linux_decides_by_delay_on_the_ninth_sample() {
    let mut dip = [46 * MS; 20];
    dip[6] = 44 * MS;
    let rows: [(&str, &[u64], Option<usize>); 3] = [
        ("row 7", &[45 * MS; 9], None),
        ("row 8", &[45_001 * US; 9], Some(9)),
        ("row 9", &dip, None),
    ];
    for (row, rtts, expected) in rows {
        let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, rtts[0]);
        let left = f.samples(&rtts[1..], MS);
        assert_eq!(reason(left), expected.map(|n| (n, ExitReason::Delay)), "{row}");
    }
}

/// Shows LINUX hystart-minimum, NS3 hystart-first-eight.
#[test]
fn linux_lets_every_sample_lower_the_minimum_and_ns3_only_the_first_eight() {
    // The ninth sample is low. Linux takes it into the minimum before it compares, ns-3 compares
    // the first eight.
    for (profile, expected) in
        [(Profile::Linux, None), (Profile::Ns3, Some((9, ExitReason::Delay)))]
    {
        let rtts = [81 * MS, 81 * MS, 81 * MS, 81 * MS, 81 * MS, 81 * MS, 81 * MS, 40 * MS];
        let mut f = Flow::after_round(
            firstflight::with!(Params { profile, ..DELAY_ONLY }),
            40 * MS,
            81 * MS,
        );
        assert_eq!(reason(f.samples(&rtts, MS)), expected, "{profile:?} with a low ninth sample");
    }
}

/// Shows LINUX hystart-gap, LINUX hystart-train, LINUX hystart-limit.
#[test]
fn rows_10_to_12_linux_leaves_on_a_train_longer_than_the_limit() {
    /// Name, paced, smoothed RTT, one gap, length of the train.
    type Row = (&'static str, bool, Option<Nanos>, Option<u64>, Option<u64>);
    // Unpaced half the path counts, paced all of it, and 1 ms for batching in either, 210 us at 10
    // Gbit/s. The number is the length at which it leaves.
    let (slow, fast) = (Some(at_rate(100_000_000)), Some(at_rate(1_250_000_000)));
    let rows: [Row; 7] = [
        ("row 10, no RTT yet", false, None, None, Some(51 * MS)),
        ("row 10, (100 + 1) / 2", false, slow, Some(MS / 2), Some(51_500 * US)),
        ("row 10, (100 + 0.21) / 2", false, fast, Some(MS / 2), Some(50_500 * US)),
        ("row 11", true, slow, None, Some(102 * MS)),
        ("row 12, gap 2.001 ms", false, slow, Some(2_001 * US), None),
        ("row 12, gap 2 ms", false, slow, Some(2 * MS), Some(51 * MS)),
        ("row 12, gap 2 ms + 1 ns", false, slow, Some(2 * MS + 1), None),
    ];
    for (row, paced, srtt, gap, expected) in rows {
        let mut f = Flow::new(TRAIN_ONLY);
        (f.cx.paced, f.told.srtt) = (paced, srtt);
        f.roll(T0, 100 * MS);
        let mut now = T0;
        let mut left = None;
        while left.is_none() && now < T0 + 300 * MS {
            now += if now == T0 + 20 * MS { gap.unwrap_or(MS) } else { MS };
            left = f.ack(now, 100 * MS).map(|l| (now - T0, l.reason));
        }
        assert_eq!(left, expected.map(|at| (at, ExitReason::Train)), "{row}");
    }
}

/// Shows LINUX hystart-gate.
#[test]
fn row_13_linux_looks_at_nothing_below_the_low_window_but_ends_rounds() {
    for (segments, left) in [(15, None), (16, Some((9, ExitReason::Delay)))] {
        let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 45_001 * US);
        f = Flow { w: Window { cwnd: segments * MSS, ..f.w }, ..f };
        // The round under test begins anew at this window.
        let mark = f.nxt;
        f.roll(T0, 45_001 * US);
        assert_eq!(
            f.signal("hystart_end_mark"),
            Some(mark + 1_000_000),
            "the round ends at {segments} segments too"
        );
        assert_eq!(
            reason(f.samples(&[45_001 * US; 8], MS)),
            left,
            "at {segments} segments, the limit being 16"
        );
    }
}

/// Shows LINUX hystart-roll, GVISOR hystart-roll.
#[test]
fn row_14_a_round_ends_strictly_beyond_its_mark() {
    for (beyond, rolls) in [(0, false), (1, true)] {
        let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 40 * MS);
        let rounds = f.alg.status().rounds;
        f.una = f.nxt + beyond - 1;
        f.nxt += 50;
        f.ack(T0 + MS, 40 * MS);
        assert_eq!(f.alg.status().rounds != rounds, rolls, "una = mark + {beyond}");
    }
}

/// Shows LINUX hystart-discard.
#[test]
fn row_15_linux_ignores_samples_of_the_first_second_of_an_epoch() {
    for (age, used) in [(999 * MS, false), (1_000 * MS, true)] {
        let mut f = Flow::after_round(Params::LINUX, 40 * MS, 40 * MS);
        f.cx.young_epoch = Context::is_young(Some(Nanos(age)));
        let before = f.alg;
        f.roll(T0 + MS, 30 * MS);
        assert_eq!(
            f.signal("hystart_min_rtt_ns"),
            Some(if used { 30 * MS } else { 40 * MS }),
            "the smallest RTT, epoch {age} ns old"
        );
        assert_eq!(
            f.alg.status().rounds != before.status().rounds,
            used,
            "the end of a round, epoch {age} ns old"
        );
        assert_eq!(
            f.alg.stats().discarded,
            u32::from(!used),
            "the count of discarded samples, epoch {age} ns old"
        );
    }
}

/// Shows LINUX hystart-discard.
#[test]
fn reno_has_no_epoch_and_gvisor_discards_nothing() {
    let mut f = Flow::after_round(Params::GVISOR, 40 * MS, 40 * MS);
    (f.cx.young_epoch, f.cx.newborn_epoch) =
        (Context::is_young(Some(Nanos(0))), Context::is_newborn(Some(Nanos(0))));
    f.roll(T0 + MS, 30 * MS);
    assert_eq!(f.signal("hystart_min_rtt_ns"), Some(30 * MS), "every sample is taken");
}

/// Shows NS3 hystart-discard.
#[test]
fn ns3_ignores_samples_of_the_first_ten_milliseconds_of_an_epoch() {
    for (age, taken) in [
        (Some(0), false),
        (Some(10 * MS - 1), false),
        (Some(10 * MS), true),
        (Some(999 * MS), true),
        (None, true),
    ] {
        let mut f = Flow::after_round(Params::NS3, 40 * MS, 40 * MS);
        let age = age.map(Nanos);
        (f.cx.young_epoch, f.cx.newborn_epoch) = (Context::is_young(age), Context::is_newborn(age));
        f.roll(T0 + MS, 30 * MS);
        let least = if taken { 30 * MS } else { 40 * MS };
        assert_eq!(f.signal("hystart_min_rtt_ns"), Some(least), "an epoch of {age:?}");
    }
}

/// Shows LINUX hystart-timeout.
#[test]
fn row_16_a_timeout_makes_linux_forget_what_it_found() {
    for timeout in [Timeout::Rto, Timeout::RtoAgain, Timeout::PersistentCongestion] {
        let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 50 * MS);
        assert!(f.samples(&[50 * MS; 8], MS).is_some(), "the first exit");
        f.w.ssthresh = UNSET_SSTHRESH;
        assert_eq!(f.samples(&[50 * MS; 30], MS), None, "at most one exit per armed period");
        f.alg.on_timeout(timeout, Time(T0 + 500 * MS), Seq(f.nxt));
        assert_eq!(f.signal("hystart_min_rtt_ns"), None, "{timeout:?} clears the smallest RTT");
        assert_eq!(f.signal("hystart_found"), Some(0), "{timeout:?} clears the finding");
        f.roll(T0 + 600 * MS, 60 * MS);
        assert_eq!(
            f.samples(&[70 * MS; 8], MS),
            None,
            "60 ms is now the smallest RTT and the sample of the roll"
        );
        f.roll(T0 + 700 * MS, 70 * MS);
        assert_eq!(
            reason(f.samples(&[70 * MS; 8], MS)),
            Some((9, ExitReason::Delay)),
            "it looks again after {timeout:?}"
        );
    }
}

/// Shows LINUX hystart-recovery.
#[test]
fn inside_a_recovery_linux_finds_the_threshold_to_end_it_with() {
    let gvisor = firstflight::with!(Params { train: false, ..Params::GVISOR });
    for (params, expected) in [(DELAY_ONLY, Some((8, 100 * MSS))), (gvisor, None)] {
        let mut f = Flow::after_round(params, 40 * MS, 50 * MS);
        f.w.ssthresh = 200 * MSS;
        let found = (1..=20).find_map(|count| {
            f.una += 1;
            f.now = T0 + count * MS;
            let ack = Told { rtt: Some(Nanos(50 * MS)), ..f.record() };
            Some((count, f.alg.sample_in_recovery(&ack.ack(), f.w, &f.cx)?))
        });
        assert_eq!(found, expected, "{:?}", params.profile);
    }
}

// Rows 17 to 19: thresholds

/// Shows LINUX hystart-rise.
#[test]
fn rows_17_and_18_the_rise_is_an_eighth_between_4_and_16_ms() {
    let rows = [
        (MS, 4_000 * US),
        (10 * MS, 4_000 * US),
        (25 * MS, 4_000 * US),
        (32 * MS, 4_000 * US),
        (40 * MS, 5_000 * US),
        (50 * MS, 6_250 * US),
        (80 * MS, 10_000 * US),
        (100 * MS, 12_500 * US),
        (128 * MS, 16_000 * US),
        (140 * MS, 16_000 * US),
        (200 * MS, 16_000 * US),
        (600 * MS, 16_000 * US),
    ];
    for (base, expected) in rows {
        assert_eq!(rise(Nanos(base)), Nanos(expected), "the rise over {base} ns");
    }
}

/// Shows LINUX hystart-ack-delay.
#[test]
fn row_19_the_allowance_for_batching_is_four_bursts_at_most_1_ms() {
    for (rate, expected) in [(1_250_000_000, 209_715), (100_000_000, 1_000_000), (0, 0)] {
        assert_eq!(ack_delay(65_536, Rate(rate)), Nanos(expected), "the allowance at {rate} B/s");
    }
}

/// Shows LINUX hystart-rate.
#[test]
fn the_rate_that_linux_keeps_is_twice_or_six_fifths_of_a_window_per_rtt() {
    // Window, threshold, outstanding in segments; RTT in us; bytes per second as the kernel's
    // integers give them.
    let rows = [
        ("slow start", 10, None, 10, 100_000, 289_600),
        ("more outstanding than the window", 10, None, 12, 100_000, 347_520),
        ("just below half of the threshold", 10, Some(22), 10, 100_000, 289_600),
        ("half of the threshold", 10, Some(20), 10, 100_000, 173_760),
        ("half of an odd threshold, rounded down", 10, Some(21), 10, 100_000, 173_760),
        ("rounded down to a byte", 11, None, 0, 30_001, 1_061_831),
    ];
    for (row, cwnd, ssthresh, outstanding, us, expected) in rows {
        let w = Window {
            cwnd: cwnd * MSS,
            ssthresh: ssthresh.map_or(UNSET_SSTHRESH, |segments: u64| segments * MSS),
        };
        assert_eq!(
            linux_rate(w, outstanding * MSS, Nanos::from_micros(us), MSS),
            Rate(expected),
            "{row}"
        );
    }
    let w = Window { cwnd: MSS, ssthresh: UNSET_SSTHRESH };
    assert_eq!(linux_rate(w, 0, Nanos::ZERO, MSS), Rate(0), "no RTT, no rate");
}

// ns-3 profile

/// Shows NS3 hystart-train.
#[test]
fn ns3_leaves_on_a_train_longer_than_the_whole_path() {
    for paced in [false, true] {
        let mut f = Flow::new(firstflight::with!(Params { delay: false, ..Params::NS3 }));
        (f.cx.paced, f.told.srtt) = (paced, Some(at_rate(100_000_000)));
        f.roll(T0, 30 * MS);
        let left = f.samples(&[30 * MS; 60], MS);
        assert_eq!(
            reason(left),
            Some((32, ExitReason::Train)),
            "at 31 ms (sample 32), paced or not: {paced}"
        );
    }
}

/// Shows NS3 hystart-rise.
#[test]
fn ns3_wants_the_rtt_to_double() {
    // The rise is the path itself, at least 4 ms and at most 1 s; strictly more is needed.
    for (base, rise) in [(30 * MS, 30 * MS), (2 * MS, 4 * MS), (1_500 * MS, 1_000 * MS)] {
        for (extra, expected) in [(0, None), (1, Some((9, ExitReason::Delay)))] {
            let rtt = base + rise + extra;
            let mut f = Flow::after_round(
                firstflight::with!(Params { profile: Profile::Ns3, ..DELAY_ONLY }),
                base,
                rtt,
            );
            assert_eq!(
                reason(f.samples(&[rtt; 8], 3 * MS)),
                expected,
                "RTT {rtt} ns on a path of {base} ns"
            );
        }
    }
}

// Options

#[test]
fn each_detector_can_be_switched_off() {
    // Sample 9 comes 16 ms after the roll, longer than half of 30 ms, and is the first on which the
    // delay detector decides.
    for (train, delay, expected) in [
        (true, true, Some((9, ExitReason::Train))),
        (true, false, Some((9, ExitReason::Train))),
        (false, true, Some((9, ExitReason::Delay))),
        (false, false, None),
    ] {
        let mut f = Flow::after_round(
            firstflight::with!(Params { train, delay, ..Params::LINUX }),
            30 * MS,
            35 * MS,
        );
        assert_eq!(
            reason(f.samples(&[35 * MS; 8], 2 * MS)),
            expected,
            "train {train}, delay {delay}"
        );
    }
}

/// Shows GVISOR hystart-train.
#[test]
fn gvisors_train_knows_the_last_round_with_the_delay_detector_off() {
    let mut f = Flow::after_round(
        firstflight::with!(Params { delay: false, ..Params::GVISOR }),
        4 * MS,
        5 * MS,
    );
    assert_eq!(
        reason(f.samples(&[5 * MS; 3], MS)),
        Some((4, ExitReason::Train)),
        "3 ms is longer than half of 4 ms"
    );
}

/// Shows LINUX hystart-gate, LINUX hystart-unlimited.
#[test]
fn the_older_gates_notice_the_end_of_a_round_later() {
    // (where rounds end, window in segments, limited) -> does an ACK beyond the mark end the round?
    for (roll_at, segments, limited, rolls) in [
        (RollAt::Sample, 15, false, true),
        (RollAt::Sample, 16, true, true),
        (RollAt::BehindGate, 15, true, false),
        (RollAt::BehindGate, 16, false, true),
        (RollAt::Growth, 15, true, true),
        (RollAt::Growth, 100, false, false),
    ] {
        let mut f = Flow::new(firstflight::with!(Params { roll_at, ..Params::LINUX }));
        f.w.cwnd = segments * MSS;
        f.cx.limited = limited;
        f.roll(T0, 40 * MS);
        f.grow(&f.record());
        assert_eq!(
            f.alg.status().rounds,
            Some(u32::from(rolls)),
            "{roll_at:?}, {segments} segments, limited: {limited}"
        );
    }
}

/// Shows LINUX hystart-idle.
#[test]
fn idling_changes_nothing_whether_something_was_found_or_not() {
    let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 50 * MS);
    for found in [false, true] {
        if found {
            f.samples(&[50 * MS; 8], MS).expect("the delay rose");
        }
        let before = f.alg;
        f.alg.on_idle(Time(T0 + 60_000 * MS), Seq(f.nxt));
        assert_eq!(f.alg, before, "found: {found}; the state before and after a minute of silence");
    }
}

/// Shows OURS exit-scale.
#[test]
fn an_exit_may_keep_a_part_of_the_window() {
    for (scale, segments, expected) in [
        (Ratio::new(1, 2), 100, Some(50)),
        (Ratio::new(1, 100), 100, Some(2)),
        (Ratio::new(3, 2), 100, None),
    ] {
        let mut f = Flow::after_round(
            firstflight::with!(Params { exit_scale: scale, ..DELAY_ONLY }),
            40 * MS,
            50 * MS,
        );
        f.w.cwnd = segments * MSS;
        let (_, leave) = f.samples(&[50 * MS; 8], MS).expect("the delay rose");
        assert_eq!(leave.cwnd, expected.map(|n| n * MSS), "the window after an exit with {scale}");
        assert_eq!(
            leave.ssthresh, f.w.cwnd,
            "the threshold is the window that is left, with {scale}"
        );
    }
}

#[test]
fn a_false_alarm_restores_whether_it_looks_and_keeps_the_counters() {
    let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 50 * MS);
    let armed = f.alg.save();
    f.samples(&[50 * MS; 8], MS).expect("the delay rose");
    let (found, stats) = (f.alg.save(), *f.alg.stats());
    assert_eq!((armed.0, found.0), (true, false), "armed before and after the finding");
    f.alg.restore(armed);
    assert_eq!(f.signal("hystart_found"), Some(0), "the finding is taken back");
    assert_eq!(*f.alg.stats(), stats, "a false alarm changes no counter");
    f.alg.restore(found);
    assert_eq!(f.signal("hystart_found"), Some(1), "and given back");
}

/// Shows OURS hystart-both.
#[test]
fn every_sample_is_counted_under_what_it_came_to() {
    let mut f = Flow::after_round(DELAY_ONLY, 40 * MS, 50 * MS);
    f.samples(&[50 * MS; 8], MS).expect("the delay rose");
    let s = *f.alg.stats();
    assert_eq!(
        (s.rounds, s.quiet, s.delay_exits, s.train_exits),
        (2, 9, 1, 0),
        "rounds, quiet samples and exits of {s:?}"
    );
    assert_eq!(
        (s.delay_cwnd, s.train_cwnd, s.exit_inflight),
        (100 * MSS, 0, 7 * MSS),
        "amounts at the exit of {s:?}"
    );
}

/// Shows LINUX hystart-zero.
#[test]
fn a_sample_of_zero_is_not_taken_for_none() {
    let mut f = Flow::new(Params::LINUX);
    f.roll(T0, 0);
    assert_eq!(f.signal("hystart_min_rtt_ns"), Some(US), "Linux's smallest sample is 1 us");
}

// Properties

/// One ACK of a history: time since the last one, RTT, packets acknowledged, packets sent after it.
type Step = (u64, u64, u64, u64);

fn steps(max_gap: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..=max_gap, 1..200_u64).prop_map(|(gap, rtt)| (gap * 100 * US, rtt * MS));
    prop::collection::vec(
        (step, 1..4_u64, 0..8_u64).prop_map(|((gap, rtt), n, sent)| (gap, rtt, n, sent)),
        1..400,
    )
}

fn params() -> impl Strategy<Value = Params> {
    let base = prop_oneof![Just(Params::LINUX), Just(Params::GVISOR), Just(Params::NS3)];
    let roll_at = prop_oneof![Just(RollAt::Sample), Just(RollAt::BehindGate), Just(RollAt::Growth)];
    (base, any::<bool>(), any::<bool>(), roll_at).prop_map(|(base, train, delay, roll_at)| {
        firstflight::with!(Params { train, delay, roll_at, ..base })
    })
}

/// Runs a history; the ACKs on which it left.
fn replay(f: &mut Flow, history: &[Step]) -> Vec<(usize, Leave)> {
    let mut now = T0;
    let mut exits = Vec::new();
    for (i, &(gap, rtt, n, sent)) in history.iter().enumerate() {
        now += gap;
        f.una = (f.una + n).min(f.nxt);
        f.nxt += sent;
        exits.extend(f.deliver(now, rtt).map(|l| (i, l)));
    }
    exits
}

proptest! {
    /// Properties 1 and 2.
    /// Shows LINUX hystart-exit.
    #[test]
    fn an_exit_leaves_the_window_alone_and_happens_once(params in params(), segments in 2..64_u64, history in steps(40)) {
        let mut f = Flow::new(params);
        f.w.cwnd = segments * MSS;
        let exits = replay(&mut f, &history);
        prop_assert!(exits.len() <= 1, "{} exits without a timeout", exits.len());
        prop_assert_eq!(f.w.cwnd, segments * MSS, "an exit changed the window");
        if let Some((_, leave)) = exits.first() {
            prop_assert_eq!(leave.ssthresh, segments * MSS, "the threshold is the window");
            prop_assert!(segments >= params.low_window, "left at {} segments, below the low window", segments);
            prop_assert!(params.profile != Profile::Gvisor || f.alg.status().rounds >= Some(2), "gVisor left in its first round");
        } else {
            prop_assert_eq!(f.w.ssthresh, UNSET_SSTHRESH, "no exit, but a threshold");
        }
    }

    /// Property 3, within one round on a path of 40 ms.
    /// Shows LINUX hystart-delay.
    #[test]
    fn more_delay_never_removes_an_exit_and_one_low_sample_prevents_it(
        rtts in prop::collection::vec(40_000..60_000_u64, 9..40), raise in 0..20_000_u64, low in 0..9_usize, ns3 in any::<bool>(),
    ) {
        let params = if ns3 { firstflight::with!(Params { train: false, ..Params::NS3 }) } else { DELAY_ONLY };
        let run = |rtts: &[u64]| {
            let mut f = Flow::after_round(params, 40 * MS, rtts[0] * US);
            f.samples(&rtts[1..].iter().map(|r| r * US).collect::<Vec<_>>(), MS).map(|(n, _)| n)
        };
        let raised: Vec<u64> = rtts.iter().map(|r| r + raise).collect();
        if let Some(at) = run(&rtts) {
            let later = run(&raised);
            prop_assert!(later.is_some_and(|n| n <= at), "left at sample {at}, but with {raise} us more at {later:?}");
        }
        let mut lowered = raised;
        lowered[low.min(if ns3 { 7 } else { 8 })] = 45_000;
        prop_assert_eq!(run(&lowered), None, "a sample of 45 ms, the limit itself, keeps the minimum down");
    }

    /// Property 4.
    /// Shows LINUX hystart-train.
    #[test]
    fn the_train_depends_on_arrival_times_and_the_smallest_rtt_only(
        gaps in prop::collection::vec(0..25_u64, 1..200), rtts in prop::collection::vec(40..500_u64, 200),
    ) {
        let run = |rtt: &dyn Fn(usize) -> u64| {
            let mut f = Flow::after_round(TRAIN_ONLY, 40 * MS, 40 * MS);
            let mut now = T0;
            gaps.iter().enumerate().find_map(|(i, gap)| {
                now += gap * 100 * US;
                f.ack(now, rtt(i)).map(|_| i)
            })
        };
        prop_assert_eq!(run(&|_| 40 * MS), run(&|i| rtts[i] * MS), "the RTTs of the round moved the end of the train");
    }

    /// Property 5, within one round whose first ACK is kept (see the exception below).
    #[test]
    fn stretch_acks_can_only_delay_an_exit(acks in prop::collection::vec((0..22_u64, any::<bool>()), 1..300), gvisor in any::<bool>()) {
        let params = if gvisor { Params::GVISOR } else { Params::LINUX };
        let run = |all: bool| {
            let mut f = Flow::after_round(params, 20 * MS, 20 * MS);
            let mut now = T0;
            acks.iter().find_map(|&(gap, kept)| {
                now += gap * 100 * US;
                if all || kept { f.ack(now, 20 * MS).map(|_| now) } else { None }
            })
        };
        let (full, merged) = (run(true), run(false));
        prop_assert!(merged.is_none_or(|m| full.is_some_and(|f| f <= m)), "merged ACKs left at {merged:?}, all of them at {full:?}");
    }

    /// Property 7: an independent model that counts in whole microseconds leaves on the same ACK.
    #[test]
    fn nanoseconds_and_microseconds_leave_on_the_same_ack(
        history in prop::collection::vec((0..3_000_u64, 20_000..60_000_u64, 1..4_u64, 0..8_u64), 1..400), paced in any::<bool>(),
    ) {
        let mut f = Flow::new(Params::LINUX);
        (f.cx.paced, f.told.srtt) = (paced, Some(at_rate(1_250_000_000)));
        let ns: Vec<Step> = history.iter().map(|&(gap, rtt, n, sent)| (gap * US, rtt * US, n, sent)).collect();
        let ours = replay(&mut f, &ns).first().map(|&(i, l)| (i, l.reason));
        prop_assert_eq!(ours, microsecond_model(&history, paced), "the exit in ns and in us");
    }

    /// ns-3's delay rule cannot fire while the queue is at most one BDP.
    /// Shows NS3 hystart-rise.
    #[test]
    fn ns3_delay_never_fires_below_twice_the_path(
        base in 1..1_000_u64, queue in prop::collection::vec(0..=1_000_u64, 9..100),
    ) {
        let mut f = Flow::after_round(firstflight::with!(Params { train: false, ..Params::NS3 }), base * MS, base * MS);
        let rtts: Vec<u64> = queue.iter().map(|q| base * MS + base * q * US).collect();
        prop_assert_eq!(f.samples(&rtts, MS), None, "an RTT of at most twice {} ms", base);
    }

    /// Nonsense: clocks that jump, counters that are anything, hooks in any order.
    #[test]
    fn no_event_does_harm(
        params in params(),
        events in prop::collection::vec((0..8_u8, any::<[u64; 6]>(), any::<bool>()), 1..200),
    ) {
        let mut alg = HyStart::new(params);
        for (kind, [now, rtt, una, nxt, cwnd, acked], flag) in events {
            let cx = firstflight::with!(Context {
                mss: (acked >> 48) + 1, paced: flag, max_burst: nxt, limited: !flag,
                young_epoch: kind == 7 && Context::is_young(Some(Nanos(una))), ..CX
            });
            let mut w = Window { cwnd, ssthresh: UNSET_SSTHRESH };
            let ack = Told { now: Time(now), acked, rtt: (!flag).then_some(Nanos(rtt)), srtt: Some(Nanos(una)), flight: cwnd, una: Seq(una), nxt: Seq(nxt), ..Told::default() };
            match kind {
                0 => alg.start(Time(now), Seq(nxt)),
                1 => alg.on_timeout(Timeout::Rto, Time(now), Seq(nxt)),
                2 => alg.on_idle(Time(now), Seq(nxt)),
                3 => alg.restore(Looking(flag)),
                4 => { alg.grow(&ack.ack(), acked, &mut w, &cx); prop_assert!(w.cwnd >= cwnd, "the growth hook shrank the window"); }
                5 => { alg.on_congestion(Signal::Loss, Ratio::new(7, 10), &ack.ack(), w, &cx); }
                _ => {
                    alg.on_rtt(Time(now), Nanos(rtt), &cx);
                    if let Verdict::Leave(l) = alg.sample(&ack.ack(), w, &cx) {
                        prop_assert_eq!((l.cwnd, l.ssthresh), (None, cwnd), "an exit leaves the window and takes it as threshold");
                    }
                }
            }
            alg.signals(&mut |_, _| {});
        }
    }
}

/// Linux's rules in whole microseconds, written from the rules and not from the code under test.
/// Times count from the connection's start.
fn microsecond_model(history: &[Step], paced: bool) -> Option<(usize, ExitReason)> {
    let (mut una, mut nxt, mut now) = (0_u64, 100_u64, 0_u64);
    let (mut path, mut low, mut count) = (u64::MAX, u64::MAX, 0);
    let (mut start, mut last, mut mark) = (0_u64, 0_u64, 0_u64);
    for (i, &(gap, rtt, n, sent)) in history.iter().enumerate() {
        now += gap;
        una = (una + n).min(nxt);
        nxt += sent;
        path = path.min(rtt);
        if una > mark {
            (start, last, mark, low, count) = (now, now, nxt, u64::MAX, 0);
        }
        let mut train = false;
        if now - last <= 2_000 {
            last = now;
            // Four bursts of 64 KiB at 1.25 GB/s; below the cap of 1 ms.
            let limit = path + 4 * 65_536 * 1_000_000 / 1_250_000_000;
            train = now - start > if paced { limit } else { limit / 2 };
        }
        low = low.min(rtt);
        let delay = count == 8 && low > path + (path / 8).clamp(4_000, 16_000);
        count = 8.min(count + 1);
        if train || delay {
            return Some((i, if train { ExitReason::Train } else { ExitReason::Delay }));
        }
    }
    None
}

/// Slow start clocked by its own ACKs on a path without a queue: each round the ACKs arrive
/// `spacing` apart, the RTT never changes. Returns the window at the exit, in segments, or none up
/// to 4096.
fn clocked(params: Params, rtt: u64, spacing: u64) -> Option<u64> {
    let mut f = Flow::new(params);
    (f.w.cwnd, f.nxt) = (10 * MSS, 10);
    let mut begin = T0 + rtt;
    while f.w.cwnd < 4_096 * MSS {
        let flight = f.nxt - f.una;
        for i in 0..flight {
            f.nxt += 2;
            if f.ack(begin + i * spacing, rtt).is_some() {
                return Some(f.w.cwnd / MSS);
            }
            f.w.cwnd += MSS;
        }
        begin += rtt;
    }
    None
}

#[test]
fn property_6_without_a_queue_and_with_a_short_train_there_is_no_exit() {
    // At 1 us apart 4096 ACKs take 4 ms, less than half of 40 ms. At 10 us 2000 of them take 20 ms,
    // so it is in the flight of 2560 that a train is too long. The round begins inside a
    // flight, not with it: its mark is what the ACK that rolls has let go already.
    assert_eq!(clocked(Params::LINUX, 40 * MS, US), None, "a train shorter than the limit");
    let left = clocked(Params::LINUX, 40 * MS, 10 * US).expect("a train longer than the limit");
    assert!(
        (2_560 + 2_000..2 * 2_560).contains(&left),
        "left at {left} segments, expected at least 2000 ACKs into the flight of 2560"
    );
}

#[test]
fn exception_to_property_5_a_merged_first_ack_moves_the_start_of_the_round() {
    // Every ACK counted, the round starts at T0 and its train is too long at 11 ms; with the ACK
    // that ends the round merged into the next one, the same train starts 1 ms later. Later,
    // but by the start of the round and not by gaps.
    let run = |starts: u64| {
        let mut f = Flow::new(Params::LINUX);
        f.roll(T0 + starts, 20 * MS);
        (starts / MS + 1..40).find(|i| f.ack(T0 + i * MS, 20 * MS).is_some())
    };
    assert_eq!(
        (run(0), run(MS)),
        (Some(11), Some(12)),
        "exit after a round that starts at 0 and at 1 ms"
    );
}
