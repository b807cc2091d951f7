//! BEST, robust mode: its histogram and estimators by row, the links it has to get right, the
//! return paths on which it has to be silent, and its properties.

use crate::ack_clock;
use crate::hooks::{self, Alone};
use crate::told::Told;

use ack_clock::{CX, FIVE_G, FOUR_G, GEO, LEO, Link, MSS, Return, run};
use firstflight::signal::rate_histogram::{BINS, FineRate, RateHistogram};
use firstflight::startup::best::{Best, Counts, FallbackParams, Outcome, Params, Why};
use firstflight::startup::{ExitReason, Pacing, Startup, Verdict, hystart_plus_plus, search};
use firstflight::{Context, Nanos, Phase, Rate, Ratio, Seq, Time, Timeout, UNSET_SSTHRESH, Window};
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const LIMIT: Nanos = Nanos::from_secs(60);
const ALONE: Params =
    firstflight::with!(Params { fallback: FallbackParams::None, ..Params::DEFAULT });

/// `mbps` in hundredths, as bytes per time need not come out even.
fn rate(hundredth_mbps: u64) -> FineRate {
    FineRate::from_bytes_over(hundredth_mbps * 1250, Nanos::from_secs(1))
}

fn histogram(samples: impl IntoIterator<Item = FineRate>) -> RateHistogram {
    let mut histogram = RateHistogram::default();
    for sample in samples {
        histogram.add(sample);
    }
    histogram
}

type Rig = Alone<Best>;

impl Rig {
    fn new(params: Params, cwnd_segments: u64) -> Rig {
        let rig = Rig::of(Best::new(params), cwnd_segments * MSS, CX);
        Rig { now: 9_000 * MS, ..rig }
    }

    fn ack(&mut self, gap: u64, bytes: u64, rtt: u64, nxt: u64) -> Verdict {
        (self.now, self.una, self.nxt) = (self.now + gap, self.una + 1, nxt);
        self.sample(&Told { acked: bytes, rtt: Some(Nanos(rtt)), ..self.record() })
    }

    /// One round: a silence, then these gaps, `bytes` each. Its first ACK ends the round before;
    /// returns what that concluded.
    fn round(&mut self, rtt: u64, bytes: u64, gaps: &[u64]) -> (Verdict, Option<Outcome>) {
        let nxt = self.una + gaps.len() as u64 + 2;
        let verdict = self.ack(rtt, bytes, rtt, nxt);
        let outcome = self.alg.last_outcome();
        for &gap in gaps {
            assert_eq!(
                self.ack(gap, bytes, rtt, nxt),
                Verdict::Stay,
                "nothing is decided inside a round"
            );
        }
        (verdict, outcome)
    }

    /// The same round `n` times; returns what the last complete one concluded.
    fn rounds(
        &mut self,
        n: usize,
        rtt: u64,
        bytes: u64,
        gaps: &[u64],
    ) -> (Verdict, Option<Outcome>) {
        for _ in 0..n {
            self.round(rtt, bytes, gaps);
        }
        self.round(rtt, bytes, gaps)
    }
}

/// Gap between full segments at this rate.
fn gap_at(hundredth_mbps: u64) -> u64 {
    MSS * 800_000 / hundredth_mbps
}

fn silent(outcome: Option<Outcome>) -> bool {
    !matches!(outcome, Some(Outcome::Set { .. }))
}

fn total(counts: &Counts) -> u32 {
    let Counts { set, late, inflated, pacer, few, ambiguous, unstable, disagree, .. } = *counts;
    [set, late, inflated, pacer, few, ambiguous, unstable, disagree]
        .into_iter()
        .map(u32::from)
        .sum()
}

#[test]
fn the_state_stays_small() {
    assert!(
        size_of::<Best>() <= 640,
        "BEST with its fallback takes {} bytes; with CUBIC and a recovery it must stay below 1 KiB",
        size_of::<Best>()
    );
    assert!(
        size_of::<RateHistogram>() <= 104,
        "its histogram takes {} bytes",
        size_of::<RateHistogram>()
    );
}

/// Shows BEST histogram-1.
#[test]
fn row_1_bins_are_quarter_octaves_from_a_sixteenth_megabit() {
    #[rustfmt::skip]
    let table = [
        // X in 2^-20 Mbit/s,  bin
        (0,                    0),
        (65_535,               0),
        (65_536,               0),  // 1/16 Mbit/s
        (77_935,               0),
        (77_936,               1),
        (1 << 20,              16), // 1
        (100 << 20,            42),
        (1_000 << 20,          55),
        (65_000 << 20,         79),
        (u64::MAX,             79),
    ];
    for (x, bin) in table {
        let found = FineRate(x).bin();
        assert_eq!(found, bin, "{x} belongs into bin {bin}, not {found}");
    }
}

/// Shows BEST histogram-4.
#[test]
fn row_2_a_pair_of_segments_in_160_us_reads_144_8_megabits() {
    let pair = FineRate::from_bytes_over(2 * MSS, Nanos::from_micros(160));
    assert_eq!((pair, pair.bin()), (FineRate(151_833_804), 44), "2896 bytes in 160 us");
    let per_edge = |mbps_tenths: u64| rate(mbps_tenths * 10).bin();
    assert_eq!(
        (per_edge(1281), per_edge(1521), per_edge(1523)),
        (44, 44, 45),
        "bin 44 reaches from 128.0 to 152.2 Mbit/s"
    );
}

/// Shows BEST histogram-3.
#[test]
fn row_3_equal_samples_give_themselves() {
    for x in [1, 65_535, 151_833_804, u64::MAX] {
        let median = histogram([FineRate(x); 40]).quantile(50);
        assert_eq!(median, Some(FineRate(x)), "the median of 40 times {x}");
    }
    assert_eq!(RateHistogram::default().quantile(50), None, "no samples, no median");
}

/// Shows BEST histogram-2.
#[test]
fn row_4_a_full_counter_halves_all_and_every_second_sample_counts() {
    let mut histogram = histogram([rate(14_480); 254]);
    let bin = rate(14_480).bin();
    assert_eq!((histogram.count(bin), histogram.stride()), (254, 1), "254 samples fit");
    for (nth, count, stride) in [(255, 127, 2), (256, 127, 2), (257, 128, 2)] {
        histogram.add(rate(14_480));
        assert_eq!(
            (histogram.count(bin), histogram.stride()),
            (count, stride),
            "after sample {nth}"
        );
        assert_eq!(histogram.offered(), nth, "all samples are offered");
    }
}

/// Shows BEST pair-1.
#[test]
fn row_5_acks_closer_than_20_us_are_merged() {
    let mut rig = Rig::new(ALONE, 100);
    for gap in [0].into_iter().chain([4 * US; 25]) {
        rig.ack(gap, MSS, 10 * MS, 1000);
    }
    let pairs = rig.alg.pairs();
    assert_eq!(pairs.offered(), 5, "25 gaps of 4 us are five samples");
    let median = pairs.quantile(50).unwrap();
    assert_eq!(median, rate(289_600), "5 x 1448 bytes in 20 us are 2896 Mbit/s, not {median:?}");
    rig.ack(20 * US - 1, MSS, 10 * MS, 1000);
    assert_eq!(rig.alg.pairs().offered(), 5, "19.999 us are too short");
    rig.ack(1, MSS, 10 * MS, 1000);
    assert_eq!(rig.alg.pairs().offered(), 6, "20 us are enough");
}

/// Shows BEST rtt-1.
#[test]
fn row_6_rate_times_rtt_is_the_threshold() {
    let bytes = FineRate(151_833_804).bytes_in(Nanos::from_millis(600));
    // 10 860 000 = 7500 segments; the rate was rounded down already, so one byte is missing.
    assert_eq!(bytes, 10_859_999, "144.8 Mbit/s for 600 ms");
}

/// Shows BEST pair-2.
#[test]
fn row_7_one_ack_per_frame_is_late_or_inflated() {
    for (grown_rtt, expected) in [(600 * MS, Outcome::Late), (676 * MS, Outcome::Inflated)] {
        let mut rig = Rig::new(ALONE, 73);
        rig.rounds(3, 600 * MS, MSS, &[40 * MS; 14]);
        rig.round(grown_rtt, MSS, &[40 * MS; 14]);
        rig.round(grown_rtt, MSS, &[40 * MS; 14]);
        let (_, outcome) = rig.round(grown_rtt, MSS, &[40 * MS; 14]);
        let (_, median, chunk) = rig.alg.last_round();
        assert!(
            median.within_quarter(chunk),
            "spacing and chunks agree on the frame's rate: {median:?} and {chunk:?}"
        );
        assert_eq!(
            outcome,
            Some(expected),
            "an RTT of {grown_rtt} ns: agreement alone is no reason to set the threshold"
        );
    }
}

/// Shows BEST chunk-1, BEST agree-4.
#[test]
fn row_8_compressed_acks_disagree_with_chunks() {
    // Frames of 40 ms, each a burst at 400 Mbit/s of as many segments as 30 Mbit/s give.
    let mut gaps = vec![gap_at(40_000); 102];
    gaps.push(40 * MS - 102 * gap_at(40_000));
    let frames: Vec<u64> = gaps.iter().copied().cycle().take(103 * 12).collect();
    let mut rig = Rig::new(ALONE, 100);
    let (_, outcome) = rig.rounds(3, 600 * MS, MSS, &frames);
    let (_, median, chunk) = rig.alg.last_round();
    assert_eq!(outcome, Some(Outcome::Disagree), "spacing {median:?}, chunks {chunk:?}");
    assert!(
        chunk < rate(3_200) && median > rate(36_000),
        "chunks read 30 Mbit/s, spacing 400 within a tenth: {chunk:?}, {median:?}"
    );
}

/// Shows BEST agree-3.
#[test]
fn row_9_a_rate_that_doubles_is_unstable() {
    let mut rig = Rig::new(ALONE, 100);
    rig.round(600 * MS, MSS, &vec![gap_at(710); 40]);
    rig.round(600 * MS, MSS, &vec![gap_at(1430); 40]);
    let (_, outcome) = rig.round(600 * MS, MSS, &[]);
    assert_eq!(outcome, Some(Outcome::Unstable), "7.1 Mbit/s, then 14.3");
}

/// Shows BEST agree-1.
#[test]
fn row_10_two_modes_are_ambiguous() {
    let gaps: Vec<u64> =
        (0..40).map(|i| if i % 2 == 0 { gap_at(100) } else { gap_at(40_000) }).collect();
    let mut rig = Rig::new(ALONE, 100);
    let (_, outcome) = rig.rounds(2, 600 * MS, MSS, &gaps);
    assert_eq!(outcome, Some(Outcome::Ambiguous), "half the samples at 1, half at 400 Mbit/s");
}

/// Bursts of six at 40 Mbit/s, so far apart that chunks read `hundredth_mbps`.
fn bursts(hundredth_mbps: u64) -> Vec<u64> {
    let (short, six) = (gap_at(4_000), 6 * gap_at(hundredth_mbps));
    [short, short, short, short, short, six - 5 * short].repeat(10)
}

/// Shows BEST agree-5: while chunks grow by a quarter spacing is believed, and once they do not a quarter more
/// than chunks at most.
#[test]
fn spacing_is_believed_while_chunks_grow() {
    // Rates that chunks would read of the round before and of this one in hundredths of Mbit/s, if they began and
    // ended with a burst; which rate counts.
    for (before, now, spacing) in
        [(1_700, 2_700, true), (2_500, 2_700, false), (2_700, 2_700, false), (2_700, 2_500, false)]
    {
        let mut rig = Rig::new(ALONE, 20);
        rig.round(100 * MS, MSS, &bursts(before));
        rig.round(100 * MS, MSS, &bursts(now));
        let (_, _, chunk_before) = rig.alg.last_round();
        let (verdict, outcome) = rig.round(100 * MS, MSS, &[]);
        let (_, median, chunk) = rig.alg.last_round();
        assert_eq!(outcome, Some(Outcome::Set { why: Why::Pair }), "{before}, {now}");
        let Verdict::Aim { ssthresh } = verdict else { panic!("no threshold: {verdict:?}") };
        assert_eq!(4 * chunk.0 >= 5 * chunk_before.0, spacing, "{chunk_before:?}, then {chunk:?}");
        assert!(median.0 > chunk.0 * 5 / 4, "spacing says more: {median:?}");
        let due = if spacing { median } else { FineRate(chunk.0 * 5 / 4) };
        let bytes = due.bytes_in(Nanos::from_millis(100));
        assert!(ssthresh.abs_diff(bytes) <= 1, "{before}, {now}: {ssthresh}, not {bytes}");
    }
}

/// Shows BEST agree-2: the receiver's clock is believed if two rounds agree and chunks do not say more than a
/// quarter more.
#[test]
fn the_receivers_clock_is_believed_if_rounds_agree_and_chunks_do_not_say_more() {
    // Each round's ticks per millisecond in hundredths: a path of 20 Mbit/s reads as that over them.
    for (ticks, why, due) in [
        ([100, 100], Why::ReceiverClock, 2_000),
        ([50, 50], Why::ReceiverClock, 4_000),
        ([120, 120], Why::ReceiverClock, 1_667),
        ([135, 135], Why::Pair, 2_000),
        ([100, 70], Why::Pair, 2_000),
        ([0, 100], Why::Pair, 2_000),
        ([100, 0], Why::Pair, 2_000),
    ] {
        let mut rig = Rig::new(ALONE, 20);
        for rate in ticks {
            let (gap, nxt, began) = (gap_at(2_000), rig.una + 82, rig.now);
            for k in 0..=80 {
                let gap = if k == 0 { 100 * MS } else { gap };
                let passed = rig.now + gap - began;
                rig.told.receiver_ts =
                    (rate > 0).then(|| 5_000 + (passed * rate / 100 / MS) as u32);
                rig.ack(gap, MSS, 100 * MS, nxt);
            }
        }
        rig.told.receiver_ts = None;
        let (verdict, outcome) = rig.round(100 * MS, MSS, &[]);
        assert_eq!(outcome, Some(Outcome::Set { why }), "{ticks:?}");
        let Verdict::Aim { ssthresh } = verdict else { panic!("no threshold: {verdict:?}") };
        let bytes = due * 125;
        assert!(ssthresh.abs_diff(bytes) <= bytes / 12, "{ticks:?}: {ssthresh}, not {bytes}");
    }
}

/// Shows BEST agree-3.
#[test]
fn stability_is_a_quarter_and_equality_counts() {
    assert!(
        FineRate(500).within_quarter(FineRate(400)) && FineRate(400).within_quarter(FineRate(500)),
        "1.25 is within"
    );
    assert!(!FineRate(501).within_quarter(FineRate(400)), "more is not");
    assert!(
        FineRate(110).near_tenth(FineRate(100)) && FineRate(90).near_tenth(FineRate(100)),
        "a tenth is near"
    );
    assert!(!FineRate(111).near_tenth(FineRate(100)), "more is not");
}

/// Two clear rounds at 20 Mbit/s and 100 ms: a BDP of 250 000 bytes.
fn clear(params: Params, cwnd_segments: u64) -> Rig {
    let mut rig = Rig::new(params, cwnd_segments);
    rig.round(100 * MS, MSS, &vec![gap_at(2_000); 30]);
    rig.round(100 * MS, MSS, &vec![gap_at(2_000); 30]);
    rig
}

/// Shows BEST judge-3.
#[test]
fn two_rounds_that_agree_set_the_threshold_above_the_window_only() {
    let bdp = 250_000;
    #[rustfmt::skip]
    let table = [
        // cwnd in segments, paced at (Mbit/s / 100), outcome
        (100,                None,                    Outcome::Set { why: Why::Pair }),
        (172,                None,                    Outcome::Set { why: Why::Pair }), // 249 056
        (173,                None,                    Outcome::Late),                   // 250 504
        (100,                Some(2_000),             Outcome::Pacer),
        (100,                Some(1_819),             Outcome::Pacer),
        (100,                Some(2_230),             Outcome::Set { why: Why::Pair }),
        (100,                Some(1_817),             Outcome::Set { why: Why::Pair }),
    ];
    for (cwnd, pacing, expected) in table {
        let mut rig = clear(ALONE, cwnd);
        rig.cx.paced = pacing.is_some();
        rig.cx.pacing_rate = pacing.map(|hundredths| Rate(hundredths * 1250));
        let (verdict, outcome) = rig.round(100 * MS, MSS, &[]);
        assert_eq!(outcome, Some(expected), "window {cwnd} segments, pacing {pacing:?}");
        if let Verdict::Aim { ssthresh } = verdict {
            assert!(
                ssthresh.abs_diff(bdp) <= 2,
                "the threshold is the BDP of {bdp}, not {ssthresh}"
            );
            assert_eq!(rig.alg.aim(), Some(ssthresh), "and it is on record");
        } else {
            assert!(silent(outcome), "what sets the threshold says so: {verdict:?}");
        }
    }
}

/// Shows BEST judge-1.
#[test]
fn a_standing_queue_silences_it() {
    for (rtt, inflated) in [(100 * MS, false), (112_500_000, false), (112_500_001, true)] {
        let mut rig = Rig::new(ALONE, 100);
        rig.round(105 * MS, MSS, &vec![gap_at(2_000); 30]);
        rig.round(100 * MS, MSS, &vec![gap_at(2_000); 30]);
        rig.round(107 * MS, MSS, &vec![gap_at(2_000); 30]);
        rig.round(rtt, MSS, &vec![gap_at(2_000); 30]);
        let (_, outcome) = rig.round(100 * MS, MSS, &[]);
        assert_eq!(
            outcome == Some(Outcome::Inflated),
            inflated,
            "round minimum {rtt} ns over 100 ms: inflated = {inflated}, it said {outcome:?}"
        );
    }
}

/// Shows BEST agree-1.
#[test]
fn too_few_samples_say_nothing() {
    for (gaps, few) in [(7, true), (8, false)] {
        let mut rig = Rig::new(ALONE, 20);
        let (_, outcome) = rig.rounds(2, 100 * MS, MSS, &vec![gap_at(2_000); gaps]);
        assert_eq!(
            outcome == Some(Outcome::Few),
            few,
            "{gaps} samples: too few = {few}, it said {outcome:?}"
        );
    }
}

/// Shows BEST judge-2.
#[test]
fn the_threshold_has_a_floor_and_a_hint_caps_it() {
    #[rustfmt::skip]
    let table = [
        // queue known,  threshold
        (None,           250_000),
        (Some(100_000),  200_000),
        (Some(10_000),   20 * MSS), // twice the initial window
    ];
    for (queue_hint, expected) in table {
        let mut rig = clear(firstflight::with!(Params { queue_hint, ..ALONE }), 20);
        let (verdict, _) = rig.round(100 * MS, MSS, &[]);
        let Verdict::Aim { ssthresh } = verdict else {
            panic!("it sets the threshold, it said {verdict:?}")
        };
        assert!(
            ssthresh.abs_diff(expected) <= 2,
            "queue {queue_hint:?}: {expected}, not {ssthresh}"
        );
    }
}

/// Shows BEST judge-5.
#[test]
fn a_threshold_left_by_a_loss_is_never_raised() {
    let mut rig = clear(ALONE, 20);
    rig.w.ssthresh = 100 * MSS;
    for _ in 0..3 {
        rig.round(100 * MS, MSS, &vec![gap_at(2_000); 30]);
        assert_eq!(rig.w.ssthresh, 100 * MSS, "the estimate lies above it and changes nothing");
    }
    assert_eq!(rig.alg.reached(), ExitReason::Threshold, "nor does it take the credit");
}

#[test]
fn the_threshold_follows_later_rounds_until_slow_start_ends() {
    let mut rig = clear(ALONE, 20);
    rig.round(100 * MS, MSS, &vec![gap_at(2_400); 30]);
    rig.round(100 * MS, MSS, &vec![gap_at(2_400); 30]);
    rig.round(100 * MS, MSS, &[]);
    assert!(
        rig.w.ssthresh.abs_diff(300_000) <= 2,
        "at 24 Mbit/s the BDP is 300 000, not {}",
        rig.w.ssthresh
    );
    assert_eq!(rig.alg.reached(), ExitReason::Estimate, "meeting it is BEST's exit");
    assert!(!rig.alg.armed(), "after which it is done");
}

/// Shows BEST skip-1.
#[test]
fn holes_application_limits_and_sacks_give_no_samples() {
    let plain = Told {
        now: Time(9_001 * MS),
        acked: MSS,
        rtt: Some(Nanos(100 * MS)),
        nxt: Seq(1000),
        ..Told::default()
    };
    #[rustfmt::skip]
    let table = [
        ("64 segments",      true,  Told { acked: 64 * MSS, ..plain }),
        ("more, a hole",     false, Told { acked: 64 * MSS + 1, ..plain }),
        ("application",      false, Told { app_limited: true, ..plain }),
        ("SACK outstanding", false, Told { sacked: 1, ..plain }),
    ];
    for (name, counts, ack) in table {
        let mut rig = Rig::new(ALONE, 100);
        rig.ack(0, MSS, 100 * MS, 1000);
        rig.alg.sample(&ack.ack(), rig.w, &rig.cx);
        assert_eq!(rig.alg.pairs().offered() == 1, counts, "{name}: counts = {counts}");
        assert_eq!(
            rig.alg.counts().skipped_acks,
            u16::from(!counts),
            "{name}: skipped ACKs are counted"
        );
    }
}

/// The memory of the smallest RTT ends after the same time wherever the clock began.
/// Shows BEST rtt-1.
#[test]
fn the_smallest_rtt_is_forgotten_at_an_age_and_not_at_an_hour() {
    let course = |origin: u64| {
        let mut flow = Rig { now: origin, ..Rig::new(ALONE, 10) };
        let gaps = [gap_at(10_000); 20];
        flow.round(20 * MS, MSS, &gaps);
        (0..300).map(|_| flow.round(40 * MS, MSS, &gaps).1).collect::<Vec<_>>()
    };
    let reference = course(0);
    let inflated = reference.iter().filter(|outcome| **outcome == Some(Outcome::Inflated)).count();
    assert!(
        (100..250).contains(&inflated),
        "the old minimum counts for 7.5 to 10 s of 12 s: {inflated} of 300 rounds"
    );
    for origin in (0..25).map(|i| i * 100 * MS + 7) {
        assert_eq!(course(origin), reference, "from {origin} ns on");
    }
}

/// Shows BEST off-1.
#[test]
fn below_two_milliseconds_it_does_nothing() {
    for (rtt, off) in [(2 * MS - 1, true), (2 * MS, false)] {
        let mut rig = Rig::new(ALONE, 100);
        rig.rounds(3, rtt, MSS, &[30 * US; 20]);
        assert_eq!(rig.alg.status().rounds == Some(0), off, "RTT {rtt} ns: off = {off}");
    }
}

/// Shows BEST path-1, BEST path-2.
#[test]
fn a_step_of_the_rtt_and_a_new_level_restart_the_estimation() {
    let restarts = |rig: &Rig| rig.alg.counts().restarts;
    let gaps = vec![gap_at(2_000); 30];
    for (step, restart) in [(8 * MS, 0), (8 * MS + 1, 1)] {
        let mut rig = clear(ALONE, 20);
        rig.round(100 * MS - step, MSS, &gaps);
        rig.round(100 * MS - step, MSS, &[]);
        assert_eq!(restarts(&rig), restart, "a step of {step} ns");
        assert_eq!(
            rig.alg.last_outcome() == Some(Outcome::Unstable),
            restart == 1,
            "after a restart nothing supports the round"
        );
    }
    // The level is known once chunks stop growing; then a third of it, for three rounds.
    let mut rig = clear(ALONE, 20);
    // Three chunks of eleven gaps, so that none reaches into the next round.
    let gaps = vec![gap_at(2_000); 33];
    rig.rounds(2, 100 * MS, MSS, &gaps);
    for (round, expected) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
        rig.round(100 * MS, MSS / 3, &gaps);
        assert_eq!(
            restarts(&rig),
            expected,
            "{} complete rounds at a third of the rate",
            round - 1
        );
    }
}

/// Shows BEST path-3.
#[test]
fn around_a_known_reassignment_nothing_is_measured() {
    for (offset_ms, measured) in
        [(0, false), (150, false), (151, true), (14_849, true), (14_850, false), (15_000, false)]
    {
        let mut rig = Rig::new(
            firstflight::with!(Params { reassigned_at: Some(Time(9_000 * MS)), ..ALONE }),
            100,
        );
        rig.now = rig.now + offset_ms * MS - 100 * US;
        rig.ack(0, MSS, 100 * MS, 1000);
        rig.ack(100 * US, MSS, 100 * MS, 1000);
        assert_eq!(
            rig.alg.pairs().offered() > 0,
            measured,
            "{offset_ms} ms after it: measured = {measured}"
        );
    }
}

#[test]
fn what_was_measured_before_a_known_reassignment_is_forgotten() {
    let mut rig = Rig::new(
        firstflight::with!(Params { reassigned_at: Some(Time(9_000 * MS)), ..ALONE }),
        100,
    );
    rig.now += 7_500 * MS;
    for _ in 0..3 {
        rig.ack(100 * US, MSS, 100 * MS, 1000);
    }
    assert!(rig.alg.pairs().offered() > 0, "half a period away it measures");
    rig.ack(7_400 * MS, MSS, 100 * MS, 1000);
    assert_eq!(rig.alg.pairs().offered(), 0, "100 ms before the next one nothing is left");
    rig.alg.on_timeout(Timeout::Rto, Time(0), Seq(0));
    rig.ack(100 * US, MSS, 100 * MS, 1000);
    rig.ack(100 * US, MSS, 100 * MS, 1000);
    assert_eq!(rig.alg.pairs().offered(), 0, "and who starts afresh still knows of it");
}

/// Whatever runs beside it.
#[test]
fn a_false_alarm_gives_back_what_a_loss_took() {
    let beside = hystart_plus_plus::Params::RFC9406;
    for fallback in [
        FallbackParams::None,
        FallbackParams::HyStartPlusPlus(beside),
        FallbackParams::Search(search::Params::default()),
    ] {
        let mut rig = clear(firstflight::with!(Params { fallback, ..Params::DEFAULT }), 20);
        let saved = rig.alg.save();
        rig.lose();
        assert_ne!(rig.alg.save(), saved, "a loss ends it, with {fallback:?}");
        rig.alg.restore(saved);
        assert_eq!(rig.alg.save(), saved, "and a false alarm does not, with {fallback:?}");
    }
}

type Event = fn(&mut Best);

/// Shows BEST rearm-1.
#[test]
fn a_loss_ends_it_timeouts_and_idle_start_it_afresh_and_a_false_alarm_resumes_it() {
    let mut rig = clear(Params::DEFAULT, 20);
    let saved = rig.alg.save();
    rig.lose();
    let rounds = rig.alg.status().rounds;
    rig.round(100 * MS, MSS, &[]);
    assert_eq!(
        (rig.alg.armed(), rig.alg.status().rounds),
        (false, rounds),
        "after a loss no round is evaluated"
    );
    rig.alg.restore(saved);
    assert!(rig.alg.armed(), "a false alarm resumes it");

    let table: [(&str, Event); 3] = [
        ("RTO", |b| b.on_timeout(Timeout::Rto, Time(0), Seq(0))),
        ("idle", |b| b.on_idle(Time(0), Seq(0))),
        ("start", |b| b.start(Time(0), Seq(0))),
    ];
    for (name, event) in table {
        rig.lose();
        event(&mut rig.alg);
        let state =
            (rig.alg.armed(), rig.alg.status().rounds, rig.alg.aim(), rig.alg.pairs().offered());
        assert_eq!(state, (true, Some(0), None, 0), "{name} re-arms it with nothing measured");
    }
}

/// Shows BEST fallback-1.
#[test]
fn the_fallback_decides_where_best_is_silent() {
    // Three packets per round: never enough samples. Sent bytes double, delivered ones do not.
    let mut best = Best::default();
    let mut w = Window { cwnd: 1000 * MSS, ssthresh: UNSET_SSTHRESH };
    let mut verdict = Verdict::Stay;
    for i in 0..40u64 {
        let ack = Told {
            now: Time(9_000 * MS + i * 35 * MS),
            acked: MSS,
            rtt: Some(Nanos(100 * MS)),
            una: Seq(i),
            nxt: Seq(i + 3),
            delivered: i * MSS,
            sent: 2 * i * i * MSS,
            inflight: 900 * MSS,
            ..Told::default()
        };
        verdict = best.sample(&ack.ack(), w, &CX);
        if verdict != Verdict::Stay {
            break;
        }
    }
    assert_eq!(verdict, Verdict::Hold { cwnd: 1000 * MSS }, "SEARCH begins to drain");
    assert_eq!(
        (best.armed(), best.status().phase, best.pacing()),
        (false, Phase::Drain, Pacing::Gain(Ratio::new(5, 4))),
        "BEST is over, its fallback is not"
    );
    let ack = Told { acked: MSS, inflight: 800 * MSS, ..Told::default() };
    let Verdict::Hold { cwnd } = best.sample(&ack.ack(), w, &CX) else {
        panic!("draining goes on")
    };
    w.cwnd = cwnd;
    let grown = best.grow(&ack.ack(), MSS, &mut w, &CX);
    assert_eq!((w.cwnd, grown.leftover), (800 * MSS, 0), "and nothing grows meanwhile");
}

/// The acceptance scenarios: exit at 0.98 to 1.03 BDP without loss, first threshold early enough.
/// Shows BEST agree-5.
#[test]
fn on_plain_links_it_leaves_at_the_bdp() {
    #[rustfmt::skip]
    let table = [
        // link, first threshold no later than this share of the BDP, in percent
        (GEO,    25),
        (FIVE_G, 25),
        (LEO,    55),
        (FOUR_G, 55),
    ];
    for (link, percent) in table {
        for ack_every in [1, 2] {
            let link = Link { ack_every, ..link };
            let bdp = link.bdp_packets();
            let mut best = Best::default();
            let report = run(&mut best, &link, LIMIT, false);
            let (_, cwnd, _) = *report.aims.first().expect("it sets a threshold");
            assert!(
                100 * cwnd <= percent * bdp,
                "{} ACK per {ack_every}: first set by {percent} % of {bdp}, not at {cwnd}",
                link.name
            );
            let (_, _, ssthresh, reason) = report.exit.expect("it leaves");
            assert_eq!(
                (report.first_drop, reason),
                (None, ExitReason::Estimate),
                "{} ACK per {ack_every}: without loss",
                link.name
            );
            let permille = ssthresh * 1000 / bdp;
            assert!(
                (980..=1030).contains(&permille),
                "{} ACK per {ack_every}: at {bdp} packets, not {ssthresh}",
                link.name
            );
        }
    }
}

/// Shows BEST judge-5.
#[test]
fn a_queue_of_a_quarter_bdp_needs_its_hint() {
    for (hint, lost) in [(false, true), (true, false)] {
        let link = Link { queue_percent: 25, ..GEO };
        let queue_hint = hint.then_some(link.queue_packets() * MSS);
        let report = run(
            &mut Best::new(firstflight::with!(Params { queue_hint, ..Params::DEFAULT })),
            &link,
            LIMIT,
            false,
        );
        assert_eq!(
            report.first_drop.is_some(),
            lost,
            "queue known = {hint}: loss = {lost}, exit {:?}",
            report.exit
        );
    }
}

/// Pacing at twice the window per RTT doubles the spacing rate every round.
/// Shows BEST judge-4.
#[test]
fn under_pacing_it_is_silent() {
    for link in [GEO, LEO, FIVE_G, FOUR_G] {
        let mut best = Best::new(ALONE);
        let report = run(&mut best, &Link { paced: true, ..link }, LIMIT, false);
        assert!(
            report.aims.is_empty(),
            "{}: paced, it sets nothing, not {:?}",
            link.name,
            report.aims
        );
        let counts = best.counts();
        assert!(
            counts.unstable >= 5 && counts.set == 0,
            "{}: because nothing is stable: {counts:?}",
            link.name
        );
    }
}

/// Shows BEST chunk-2: how often a return path releases ACKs, if that is within a quarter of the smallest RTT; on
/// a plain one it is not learned.
#[test]
fn the_release_period_of_a_return_path_is_learned() {
    for (period, learned) in [(Some(2), true), (Some(4), true), (Some(15), false), (None, false)] {
        let back = period.map_or(Return::Plain, |ms| Return::Batch {
            period: ms * MS,
            cap: usize::MAX,
            lo: 10_000,
            hi: 20_000,
        });
        let mut best = Best::new(ALONE);
        run(&mut best, &Link { back, ..LEO }, Nanos::from_millis(400), false);
        let found = hooks::signal("best_release_period_ns", |visit| best.signals(visit));
        let found = found.unwrap_or(0);
        let due = period.filter(|_| learned).unwrap_or(0) * MS;
        assert!(found.abs_diff(due) <= due / 10, "{found} ns of {period:?} ms");
    }
}

/// Acceptance test number one, its robust half: ACKs released every 40 or 5 ms, 30 us apart.
/// Shows BEST chunk-2.
#[test]
fn on_a_slotted_return_path_it_abstains() {
    for period in [40 * MS, 20 * MS, 10 * MS, 5 * MS] {
        let back = Return::Batch { period, cap: usize::MAX, lo: 30_000, hi: 30_000 };
        for ack_every in [1, 2] {
            let mut best = Best::new(ALONE);
            let report = run(&mut best, &Link { ack_every, back, ..GEO }, LIMIT, false);
            assert!(
                report.aims.is_empty(),
                "slots of {period} ns, ACK per {ack_every}: sets nothing, not {:?}",
                report.aims
            );
            assert!(best.counts().disagree >= 5, "because chunks disagree: {:?}", best.counts());
        }
    }
}

#[test]
fn on_the_cold_satellite_terminal_and_on_lte_it_never_sets() {
    let lte = |period| Return::Batch { period, cap: 24, lo: 9_000, hi: 30_000 };
    let terminals = if std::env::var_os("NIGHT").is_some() { 20 } else { 4 };
    let mut table: Vec<(&str, Link)> = (0..terminals)
        .map(|seed| {
            (
                "cold terminal",
                Link { back: Return::GeoCold { seed }, rtt: Nanos::from_millis(640), ..GEO },
            )
        })
        .collect();
    for period in [2_500_000, 5 * MS, 10 * MS] {
        for link in [FOUR_G, LEO, GEO] {
            table.push(("lte", Link { back: lte(period), ..link }));
        }
    }
    for (name, link) in table {
        for paced in [false, true] {
            let mut best = Best::new(ALONE);
            let report = run(&mut best, &Link { paced, ..link }, LIMIT, false);
            assert!(
                report.aims.is_empty(),
                "{name} {:?} paced {paced}: sets nothing, not {:?}",
                link.back,
                report.aims
            );
        }
    }
}

/// Known exception: with one burst per round trip nothing shows that there is a slot, and a
/// sixteenth of the RTT as chunk lies inside the burst. Slots longer than a quarter of the RTT
/// therefore fool it, and the fallback has to catch that.
/// Shows BEST chunk-1.
#[test]
fn slots_longer_than_a_quarter_rtt_defeat_the_chunks() {
    let back = Return::Batch { period: 40 * MS, cap: usize::MAX, lo: 30_000, hi: 30_000 };
    let report = run(&mut Best::new(ALONE), &Link { back, ..LEO }, LIMIT, false);
    let (_, _, aim) = *report.aims.first().expect("it sets a threshold");
    assert!(aim > 4 * LEO.bdp_packets(), "386 Mbit/s instead of 97: {aim} packets");
}

/// The receiver's clock sees through the return path: where spacing disagrees, it still finds the
/// link.
/// Shows BEST agree-2.
#[test]
fn with_receiver_time_stamps_a_slotted_path_is_no_obstacle() {
    let back = Return::Batch { period: 40 * MS, cap: usize::MAX, lo: 30_000, hi: 30_000 };
    let mut best = Best::new(ALONE);
    let report = run(&mut best, &Link { back, tick: Some(MS), ..GEO }, LIMIT, false);
    let (_, cwnd, _) = *report.aims.first().expect("it sets a threshold");
    assert!(cwnd < 7500 / 2, "well before the BDP, not at {cwnd}");
    let (_, _, ssthresh, reason) = report.exit.expect("and leaves on it");
    assert_eq!((report.first_drop, reason), (None, ExitReason::Estimate));
    // A train of n packets has n - 1 gaps, and up to one tick of the span is rounded away; the RTT
    // contains part of a slot.
    assert!((7_000..=8_600).contains(&ssthresh), "near 7500 packets, not {ssthresh}");
}

/// Shows BEST clock-3.
#[test]
fn the_tick_is_checked_against_the_local_clock_once() {
    for (tick_us, expected) in [
        (1_000, Some(1)),
        (1_200, Some(1)),
        (4_000, Some(4)),
        (10_000, Some(10)),
        (2_000, None),
        (100_000, None),
    ] {
        let mut rig = Rig::new(ALONE, 100);
        let start = rig.now;
        while rig.now < start + 1_100 * MS {
            rig.told.receiver_ts =
                Some(0xffff_ff00_u32.wrapping_add(((rig.now - start) / (tick_us * US)) as u32));
            rig.ack(MS, MSS, 100 * MS, u64::MAX);
        }
        assert_eq!(rig.alg.checked_tick_ms(), expected, "ticks of {tick_us} us");
    }
}

/// A round's rate on the receiver's clock: packets one tick apart, released in whatever rhythm.
fn receiver_rate(gaps: &[u64], ticks: u32, packets_per_tick: u32) -> FineRate {
    let mut rig = Rig::new(ALONE, 100);
    let n = ticks * packets_per_tick;
    for i in 0..=n {
        rig.told.receiver_ts = Some(1000 + i / packets_per_tick);
        rig.ack(gaps[i as usize % gaps.len()], MSS, 600 * MS, u64::from(n) + 2);
    }
    rig.una = u64::from(n) + 10;
    rig.told.receiver_ts = Some(5000);
    rig.ack(600 * MS, MSS, 600 * MS, u64::MAX);
    rig.alg.last_round().0
}

/// Shows BEST clock-1, BEST clock-2.
#[test]
fn a_train_on_the_receivers_clock_needs_sixteen_ticks() {
    for (ticks, counts) in [(15, false), (16, true)] {
        let rate = receiver_rate(&[MS], ticks, 1);
        assert_eq!(rate > FineRate::ZERO, counts, "{ticks} ticks: counts = {counts}");
        if counts {
            assert_eq!(
                rate,
                FineRate::from_bytes_over(MSS, Nanos(MS)),
                "a packet per tick, the first one's bytes left out"
            );
        }
    }
}

/// Anything at all, in any order.
fn nonsense() -> impl Strategy<Value = Told> {
    let amount =
        || prop_oneof![Just(0), Just(u64::MAX), 0u64..1 << 20, 0u64..10_000_000_000, any::<u64>()];
    (
        (amount(), prop::option::of(amount()), amount(), amount(), amount()),
        (amount(), amount(), prop::option::of(any::<u32>()), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |((now, rtt, acked, una, nxt), (delivered, sent, receiver_ts, app_limited, sacked))| {
                Told {
                    now: Time(now),
                    rtt: rtt.map(Nanos),
                    acked,
                    una: Seq(una),
                    nxt: Seq(nxt),
                    delivered,
                    sent,
                    receiver_ts,
                    app_limited,
                    sacked: u64::from(sacked),
                    ..Told::default()
                }
            },
        )
}

/// Plausible rounds: numbers of ACKs, and gaps in us.
fn plausible() -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((1usize..60, 1u64..3000), 2..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Properties 1 and 5 on anything: thresholds only at or above the window, one outcome per round, no panic.
    /// Shows BEST judge-3.
    #[test]
    fn no_input_makes_it_aim_below_the_window_or_panic(
        acks in prop::collection::vec(nonsense(), 1..200),
        cwnd in 0u64..1 << 40,
        mss in prop_oneof![Just(0), Just(u64::MAX), 1u64..9000],
        iw in prop_oneof![Just(0), Just(u64::MAX), 1u64..90_000],
        pacing in prop::option::of(any::<u64>()),
        (percentile, min_samples, hint, at) in (any::<u8>(), any::<u8>(), prop::option::of(any::<u64>()), prop::option::of(any::<u64>())),
    ) {
        let params = firstflight::with!(Params { percentile, min_samples, queue_hint: hint, reassigned_at: at.map(Time), ..Params::DEFAULT });
        let mut best = Best::new(params);
        let cx = firstflight::with!(Context { mss, iw, paced: pacing.is_some(), pacing_rate: pacing.map(Rate), ..CX });
        let mut w = Window { cwnd, ssthresh: UNSET_SSTHRESH };
        for ack in &acks {
            match best.sample(&ack.ack(), w, &cx) {
                Verdict::Stay => {}
                Verdict::Aim { ssthresh } => {
                    prop_assert!(ssthresh >= w.cwnd, "a threshold of {ssthresh} below the window {}", w.cwnd);
                    prop_assert!(ssthresh >= iw.saturating_mul(2), "a threshold of {ssthresh} below twice the initial window {iw}");
                    w.ssthresh = ssthresh;
                }
                Verdict::Hold { .. } | Verdict::Settle { .. } | Verdict::Leave(_) => best.on_idle(ack.now, ack.nxt),
            }
        }
        best.signals(&mut |_, _| ());
    }

    /// Property 5.
    /// Shows BEST round-1.
    #[test]
    fn every_round_ends_in_exactly_one_outcome(rounds in plausible()) {
        let mut rig = Rig::new(ALONE, 100);
        for (i, (acks, gap)) in rounds.iter().enumerate() {
            rig.round(100 * MS, MSS, &vec![gap * US; *acks]);
            prop_assert_eq!(rig.alg.status().rounds, Some(i as u32), "the first ACK of a round ends the one before");
            prop_assert_eq!(total(rig.alg.counts()), i as u32, "and counts one outcome: {:?}", rig.alg.counts());
        }
    }

    /// Property 3.
    /// Shows BEST clock-2.
    #[test]
    fn the_receivers_clock_ignores_how_the_return_path_times_acks(gaps in prop::collection::vec(0u64..20_000_000, 1..50), ticks in 16u32..60, per_tick in 1u32..5) {
        prop_assert_eq!(receiver_rate(&gaps, ticks, per_tick), receiver_rate(&[MS / 4], ticks, per_tick));
    }

    /// Property 4: ACKs inside one coalescing interval may arrive as one.
    /// Shows BEST pair-1.
    #[test]
    fn merging_a_coalescing_interval_changes_neither_spacing_nor_chunks(groups in 20usize..200, rtt_ms in 2u64..100) {
        // Intervals of exactly 20 us, so that chunks close at their ends, too.
        let mut single = Rig::new(ALONE, 100);
        single.round(rtt_ms * MS, MSS, &vec![4 * US; 5 * groups]);
        let mut merged = Rig::new(ALONE, 100);
        let nxt = 5 * groups as u64 + 2;
        merged.ack(rtt_ms * MS, MSS, rtt_ms * MS, nxt);
        for _ in 0..groups {
            merged.ack(20 * US, 5 * MSS, rtt_ms * MS, nxt);
        }
        prop_assert_eq!(single.alg.pairs(), merged.alg.pairs(), "spacing");
        let (one, other) = (single.alg.chunk(), merged.alg.chunk());
        prop_assert!(one == other, "chunks: {one:?} and {other:?}");
    }

    /// Property 6.
    #[test]
    fn replays_conclude_the_same(mbps in 5u64..500, rtt_ms in 5u64..300, slotted in any::<bool>()) {
        let back = if slotted { Return::Batch { period: 5 * MS, cap: 64, lo: 2_000, hi: 20_000 } } else { Return::Plain };
        let link = Link { mbps, rtt: Nanos::from_millis(rtt_ms), back, ..LEO };
        let mut live = Best::default();
        let log = run(&mut live, &link, LIMIT, true).log;
        let replay = || {
            let mut best = Best::default();
            best.start(Time(1_000_000_000), Seq(0));
            let verdicts: Vec<_> = log.iter().map(|(ack, w)| (best.sample(&ack.ack(), *w, &ack.within(&CX)), best.last_outcome())).collect();
            (best, verdicts)
        };
        let (again, verdicts) = replay();
        prop_assert_eq!((again.counts(), again.last_outcome(), again.aim()), (live.counts(), live.last_outcome(), live.aim()), "the replay and the connection");
        prop_assert_eq!(verdicts, replay().1, "two replays");
    }

    /// On any plain link whose rounds are long enough to measure, the exit is the BDP.
    #[test]
    fn on_any_plain_link_it_leaves_near_the_bdp(mbps in 20u64..1000, rtt_ms in 10u64..300) {
        let link = Link { mbps, rtt: Nanos::from_millis(rtt_ms), ..LEO };
        prop_assume!(link.bdp_packets() >= 200);
        let report = run(&mut Best::default(), &link, LIMIT, false);
        let (_, _, ssthresh, _) = report.exit.expect("it leaves");
        let permille = ssthresh * 1000 / link.bdp_packets();
        prop_assert!((970..=1040).contains(&permille), "{mbps} Mbit/s, {rtt_ms} ms: {ssthresh} of {} packets", link.bdp_packets());
        prop_assert_eq!(report.first_drop, None);
    }

    /// The quantile lies within half a bin of the true one.
    /// Shows BEST histogram-3.
    #[test]
    fn a_quantile_is_at_most_a_bin_off(samples in prop::collection::vec(65_536u64..1 << 36, 1..200)) {
        let found = histogram(samples.iter().map(|&x| FineRate(x))).quantile(50).unwrap();
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        let exact = FineRate(sorted[sorted.len().div_ceil(2) - 1]);
        prop_assert!(found.bin().abs_diff(exact.bin()) <= 1 && found.bin() < BINS, "median {exact:?}, found {found:?}");
    }
}

/// Shows BEST fallback-1.
#[test]
fn the_default_fallback_is_search_4_0() {
    assert_eq!(Params::default().fallback, FallbackParams::Search(search::Params::V4_0));
}
