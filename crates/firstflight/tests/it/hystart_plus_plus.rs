//! HyStart++ of RFC 9406 and of the individual draft -03: the vectors of our specification (rows
//! numbered as there), both sides of each equality, every option, and the properties that must hold
//! on any history.

use crate::hooks::{self, Alone};
use crate::told::Told;
use firstflight::event::{Context, Phase, Sent, Signal, Timeout, Transport, Window};
use firstflight::startup::hystart::rise;
use firstflight::startup::hystart_plus_plus::{
    Baseline, FreshSamples, HyStartPlusPlus, Mode, Params, Rearm, RoundEnd, SavedStage,
};
use firstflight::startup::{
    ExitReason, GAIN_AVOIDANCE, GAIN_SLOW_START, Handover, Leave, Pacing, Startup, Verdict,
};
use firstflight::units::{Nanos, Ratio, Seq, Time, UNSET_SSTHRESH};
use proptest::prelude::*;

const MSS: u64 = 1448;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// Packets in flight in every round of the flow below: more than any test acknowledges in one.
const FLIGHT: u64 = 1_000;

const RFC: Params = Params::RFC9406;
const LITERAL: Params = firstflight::with!(Params { fresh_samples: FreshSamples::Never, ..RFC });

const CX: Context = firstflight::with!(Context { paced: true, ..hooks::tcp(MSS) });

/// Counts packets and ends rounds when told. Avoidance does nothing.
type Flow = Alone<HyStartPlusPlus>;

impl Flow {
    /// A window of 100 segments, nothing acknowledged, the first round not over.
    fn new(params: Params) -> Flow {
        let mut flow = Flow::of(HyStartPlusPlus::new(params), 100 * MSS, CX).begun(0, FLIGHT);
        flow.told.inflight = 7 * MSS;
        flow
    }

    /// As `new`, one round later; its smallest RTT was `rtt` ns.
    fn after_round(params: Params, rtt: u64) -> Flow {
        let mut f = Flow::new(params);
        f.end_round(Some(rtt));
        f
    }

    /// In conservative slow start, entered at 45 ms after a round of 40 ms, with nothing left of a
    /// division.
    fn in_css(params: Params) -> Flow {
        let mut f = Flow::after_round(params, 40 * MS);
        f.samples(&[45 * MS; 8]);
        assert_eq!(
            f.alg.status().phase,
            Phase::Css,
            "eight samples of 45 ms after a round of 40 ms"
        );
        f
    }

    /// In limited slow start of the draft, with this window as its threshold.
    fn in_lss(params: Params, mss: u64, window: u64) -> Flow {
        let mut f = Flow::after_round(params, 40 * MS);
        f.cx.mss = mss;
        f.w.cwnd = window;
        f.samples(&[45 * MS; 8]);
        let expected = Leave {
            reason: ExitReason::LssTrigger,
            ssthresh: window,
            cwnd: None,
            handover: Handover::LssEntry,
            estimate: Some(45 * MS),
        };
        assert_eq!(
            f.left,
            Some(expected),
            "the threshold becomes the window and avoidance runs beside"
        );
        f
    }

    fn deliver(&mut self, acked: u64, rtt: Option<u64>) -> Verdict {
        let ack = Told { acked, rtt: rtt.map(Nanos), ..self.record() };
        if !self.w.in_slow_start() {
            if let Some(window) = self.alg.beside_avoidance(&ack.ack(), acked, self.w, &self.cx) {
                self.w.cwnd = window;
            }
            return Verdict::Stay;
        }
        let (_, grown) = self.grow(&ack);
        if let Verdict::Leave(leave) = grown.verdict {
            assert_eq!(leave.cwnd, None, "no exit of HyStart++ changes the window");
        }
        grown.verdict
    }

    /// The ACK of one more packet of `acked` bytes within the round; the bytes by which the window
    /// grew.
    fn ack(&mut self, acked: u64, rtt: Option<u64>) -> u64 {
        let before = self.w.cwnd;
        self.una += 1;
        assert!(self.una < self.nxt, "the test runs out of its round");
        self.deliver(acked, rtt);
        self.w.cwnd - before
    }

    /// ACKs that carry a sample while the application is the limit, so that the window stays.
    fn samples(&mut self, rtts: &[u64]) {
        let limited = std::mem::replace(&mut self.cx.limited, false);
        for &rtt in rtts {
            self.ack(MSS, Some(rtt));
        }
        self.cx.limited = limited;
    }

    /// The ACK that ends the round; the next one is as long.
    fn end_round(&mut self, rtt: Option<u64>) -> Verdict {
        let limited = std::mem::replace(&mut self.cx.limited, false);
        self.una = self.nxt;
        self.nxt += FLIGHT;
        let verdict = self.deliver(MSS, rtt);
        self.cx.limited = limited;
        verdict
    }

    /// A loss or mark as the controller answers it: the algorithm hears of it, the window is cut by
    /// 7/10.
    fn congestion(&mut self, signal: Signal) {
        let ack = Told { nxt: Seq(self.nxt), ..Told::default() };
        let own = self.alg.on_congestion(signal, Ratio::new(7, 10), &ack.ack(), self.w, &self.cx);
        assert!(own.is_none(), "HyStart++ brings no recovery of its own");
        let cut = self.w.cwnd * 7 / 10;
        self.w = Window { cwnd: cut, ssthresh: cut };
    }

    /// Growth in the present phase per 4 mss acknowledged, in segments: 4 in slow start, 1 in
    /// conservative slow start.
    fn growth_per_four(&self) -> u64 {
        self.clone().ack(4 * MSS, None) / MSS
    }

    /// Entries and resumptions are returns, exits and interruptions, and one while in CSS.
    fn books_balance(&self) -> bool {
        let s = self.alg.stats();
        s.css_entries + s.css_resumed
            == s.css_returns
                + s.css_exits
                + s.css_interrupted
                + u32::from(self.alg.status().phase == Phase::Css)
    }
}

// RFC 9406: entry

/// Shows RFC9406 4.3-1, RFC9406 4.3-2.
#[test]
fn row_1_the_rise_is_an_eighth_between_4_and_16_ms() {
    let rows = [
        (1, 4_000),
        (10, 4_000),
        (25, 4_000),
        (32, 4_000),
        (40, 5_000),
        (50, 6_250),
        (80, 10_000),
        (100, 12_500),
        (128, 16_000),
        (140, 16_000),
        (200, 16_000),
        (600, 16_000),
    ];
    for (base_ms, rise_us) in rows {
        assert_eq!(rise(Nanos(base_ms * MS)), Nanos(rise_us * US), "the rise over {base_ms} ms");
        for (below, expected) in [(0, Phase::Css), (1, Phase::Startup)] {
            let mut f = Flow::after_round(RFC, base_ms * MS);
            f.samples(&[base_ms * MS + rise_us * US - below; 8]);
            assert_eq!(
                f.alg.status().phase,
                expected,
                "{base_ms} ms and {rise_us} us less {below} ns"
            );
        }
    }
}

/// Shows RFC9406 4.2-13, RFC9406 4.3-3.
#[test]
fn rows_2_to_4_eight_samples_above_the_threshold_lead_into_css() {
    let mut low_last = [60 * MS; 8];
    low_last[7] = 44 * MS;
    let rows: [(&str, &[u64], Phase); 4] = [
        ("row 2", &[44_999 * US; 8], Phase::Startup),
        ("row 3, 7 samples", &[45 * MS; 7], Phase::Startup),
        ("row 3, 8 samples", &[45 * MS; 8], Phase::Css),
        ("row 4", &low_last, Phase::Startup),
    ];
    for (row, rtts, expected) in rows {
        let mut f = Flow::after_round(RFC, 40 * MS);
        f.samples(rtts);
        assert_eq!(f.alg.status().phase, expected, "{row}");
        assert_eq!(
            f.signal("hspp_css_base_ns"),
            (expected == Phase::Css).then_some(45 * MS),
            "{row}: the baseline of CSS"
        );
    }
}

/// Shows RFC9406 4.2-13.
#[test]
fn row_5_without_a_round_before_nothing_is_judged() {
    let mut f = Flow::new(RFC);
    for i in 1..=20 {
        f.samples(&[i * i * MS]);
    }
    assert_eq!(f.alg.status().phase, Phase::Startup, "20 samples of the first round");
    assert_eq!(f.alg.status().rounds, Some(0), "no round has ended");
}

// RFC 9406: growth

/// A flight whose ACKs all come makes a window twice as large, a quarter larger in CSS, and in limited slow
/// start larger by a quarter of the threshold.
#[test]
fn how_far_a_flight_gets_depends_on_the_stage() {
    let reach = |f: &Flow| {
        [f.w.cwnd, f.w.ssthresh].map(|cwnd| f.alg.reach(80_000, Window { cwnd, ..f.w }, &f.cx))
    };
    assert_eq!(reach(&Flow::after_round(RFC, 40 * MS)), [160_000, 0]);
    assert_eq!(reach(&Flow::in_css(RFC)), [100_000, 0]);
    let lss = Flow::in_lss(Params::DRAFT03, 1_200, 24_000);
    assert_eq!(reach(&lss)[1], 86_000);
}

/// Shows RFC9406 4.2-15.
#[test]
fn rows_6_and_7_css_grows_by_a_quarter_and_keeps_the_remainder() {
    for (acked, rem) in [(1_448, 0), (1_449, 1), (1_450, 2), (1_451, 3)] {
        let mut f = Flow::in_css(RFC);
        assert_eq!(
            (f.ack(acked, None), f.signal("hspp_css_rem")),
            (362, Some(rem)),
            "row 6: {acked} bytes"
        );
    }
    let mut f = Flow::in_css(RFC);
    for (acked, grown, rem) in [(1_448, 362, 0), (1_449, 362, 1), (1_450, 362, 3), (1_451, 363, 2)]
    {
        assert_eq!(
            (f.ack(acked, None), f.signal("hspp_css_rem")),
            (grown, Some(rem)),
            "row 7: {acked} bytes"
        );
    }
}

/// Shows RFC9406 4.2-1, RFC9406 4.2-8.
#[test]
fn rows_8_and_9_an_ack_counts_eight_segments_unpaced_and_all_when_paced() {
    for (row, transport, paced, slow_start, css) in [
        ("row 8", Transport::Tcp, false, 11_584, 2_896),
        ("row 9", Transport::Tcp, true, 28_960, 7_240),
        ("QUIC", Transport::Quic, false, 28_960, 7_240),
    ] {
        for (mut f, expected) in
            [(Flow::after_round(RFC, 40 * MS), slow_start), (Flow::in_css(RFC), css)]
        {
            (f.cx.transport, f.cx.paced) = (transport, paced);
            assert_eq!(f.ack(20 * MSS, None), expected, "{row} in {:?}", f.alg.status().phase);
        }
    }
}

/// Shows RFC9406 4.2-15.
#[test]
fn row_17_in_css_one_ack_of_ten_segments_equals_ten_of_one() {
    let (mut one, mut ten) = (Flow::in_css(RFC), Flow::in_css(RFC));
    one.ack(10 * MSS, None);
    for _ in 0..10 {
        ten.ack(MSS, None);
    }
    assert_eq!(one.w, ten.w, "one ACK against ten");
}

// RFC 9406: back to slow start

/// Shows RFC9406 4.2-20.
#[test]
fn row_10_a_lower_rtt_leads_back_with_the_eighth_sample() {
    for (low, back) in [(44 * MS, true), (45 * MS - 1, true), (45 * MS, false)] {
        let mut f = Flow::in_css(RFC);
        f.end_round(Some(60 * MS));
        f.samples(&[low; 7]);
        assert_eq!(f.alg.status().phase, Phase::Css, "seven samples of {low} ns");
        f.samples(&[50 * MS]);
        let expected = if back { Phase::Startup } else { Phase::Css };
        assert_eq!(
            f.alg.status().phase,
            expected,
            "the minimum {low} ns at the eighth sample, the baseline being 45 ms"
        );
    }
}

/// Shows OURS css-fresh.
#[test]
fn row_11_the_samples_that_led_into_css_do_not_lead_out() {
    let mut f = Flow::in_css(RFC);
    f.samples(&[44 * MS; 7]);
    assert_eq!(f.alg.status().phase, Phase::Css, "seven fresh samples");
    f.samples(&[44 * MS]);
    assert_eq!(f.alg.status().phase, Phase::Startup, "eight fresh samples");
    let mut f = Flow::in_css(LITERAL);
    f.samples(&[44 * MS]);
    assert_eq!(
        f.alg.status().phase,
        Phase::Startup,
        "read literally the samples of the round count on"
    );
}

/// Shows OURS css-fresh.
#[test]
fn exception_read_literally_one_round_can_swing_in_and_out() {
    // 50, then 49, 48, 47, 46 ms: each sample is below the baseline and yet above the way in, so
    // each changes the phase.
    let falling =
        [50, 50, 50, 50, 50, 50, 50, 50, 49, 49, 48, 48, 47, 47, 46, 46].map(|ms| ms * MS);
    for (params, entries) in [
        (LITERAL, 5),
        (RFC, 1),
        (firstflight::with!(Params { baseline: Baseline::EntryThreshold, ..LITERAL }), 1),
    ] {
        let mut f = Flow::after_round(params, 40 * MS);
        f.samples(&falling);
        assert_eq!(
            f.alg.stats().css_entries,
            entries,
            "entries with fresh samples {:?} and {:?}",
            params.fresh_samples,
            params.baseline
        );
        assert!(f.books_balance(), "the counters of {:?}", f.alg.stats());
    }
}

/// Shows RFC9406 4.2-20.
#[test]
fn a_baseline_at_the_way_in_lets_out_only_what_cannot_come_in() {
    // Entered at 50 ms with the way in at 45: 46 ms is lower than on entry, but would lead in
    // again.
    for (baseline, low, phase) in [
        (Baseline::CurrentRoundMin, 46 * MS, Phase::Startup),
        (Baseline::EntryThreshold, 46 * MS, Phase::Css),
        (Baseline::EntryThreshold, 45 * MS, Phase::Css),
        (Baseline::EntryThreshold, 45 * MS - 1, Phase::Startup),
    ] {
        let mut f = Flow::after_round(firstflight::with!(Params { baseline, ..RFC }), 40 * MS);
        f.samples(&[50 * MS; 8]);
        f.samples(&[low; 8]);
        assert_eq!(f.alg.status().phase, phase, "{baseline:?} with {low} ns");
    }
}

/// Shows RFC9406 4.2-22.
#[test]
fn row_13_after_a_return_the_rounds_count_from_zero() {
    let mut f = Flow::in_css(RFC);
    for _ in 0..3 {
        f.end_round(Some(46 * MS));
    }
    assert_eq!(f.signal("hspp_css_rounds"), Some(3), "rounds before the return");
    f.samples(&[41 * MS; 8]);
    assert_eq!(f.alg.status().phase, Phase::Startup, "41 ms is below the baseline");
    f.end_round(Some(41 * MS));
    f.samples(&[60 * MS; 8]);
    assert_eq!(
        (f.alg.status().phase, f.signal("hspp_css_rounds")),
        (Phase::Css, Some(0)),
        "after the second rise"
    );
    assert_eq!(
        (f.alg.stats().css_entries, f.alg.stats().css_returns, f.alg.stats().css_rounds),
        (2, 1, 3),
        "entries, returns, rounds"
    );
}

/// Shows RFC9406 4.2-11.
#[test]
fn row_23_the_application_limit_stops_growth_and_nothing_else() {
    let mut f = Flow::in_css(RFC);
    let before = f.w;
    f.samples(&[44 * MS; 8]);
    assert_eq!(
        (f.alg.status().phase, f.w),
        (Phase::Startup, before),
        "back in slow start with the window unchanged"
    );
}

// RFC 9406: rounds and exit

/// Shows RFC9406 4.2-22, RFC9406 4.2-23.
#[test]
fn row_12_css_ends_with_its_fifth_round_the_round_of_the_entry_included() {
    let mut f = Flow::in_css(RFC);
    f.ack(400 * MSS, None);
    for round in 1..5 {
        assert_eq!(f.end_round(Some(46 * MS)), Verdict::Stay, "round {round} of five");
    }
    let expected = Leave {
        reason: ExitReason::CssDone,
        ssthresh: 200 * MSS,
        cwnd: None,
        handover: Handover::LossFree,
        estimate: Some(45 * MS),
    };
    assert_eq!(f.end_round(Some(46 * MS)), Verdict::Leave(expected), "the fifth round");
    assert_eq!(
        (f.alg.save().looks(), f.alg.status().phase),
        (false, Phase::Startup),
        "afterwards it looks for nothing"
    );
}

/// Shows RFC9406 4.2-6, RFC9406 4.2-end.
#[test]
fn row_14_a_round_ends_when_its_mark_is_reached() {
    for (una, rolls) in [(2 * FLIGHT - 1, 0), (2 * FLIGHT, 1)] {
        let mut f = Flow::after_round(RFC, 40 * MS);
        (f.una, f.nxt) = (una, 3 * FLIGHT);
        f.deliver(MSS, None);
        assert_eq!(f.alg.status().rounds, Some(1 + rolls), "una {una}, windowEnd {}", 2 * FLIGHT);
        assert_eq!(
            f.signal("hspp_window_end"),
            Some((2 + u64::from(rolls)) * FLIGHT),
            "windowEnd afterwards"
        );
    }
}

/// Shows RFC9406 4.2-5.
#[test]
fn the_first_data_ack_ends_a_round_of_one_sample() {
    // Literally the mark stands before the first packet. The rest of the first flight is judged by
    // that one sample, unless told to wait.
    for (skip_first_flight, phase) in [(false, Phase::Css), (true, Phase::Startup)] {
        let mut alg = HyStartPlusPlus::new(firstflight::with!(Params { skip_first_flight, ..RFC }));
        alg.start(Time(0), Seq(0));
        let mut f = Flow { alg, una: 1, nxt: 10, ..Flow::new(RFC) };
        f.deliver(MSS, Some(40 * MS));
        assert_eq!(f.alg.status().rounds, Some(1), "the first data ACK ends a round");
        f.samples(&[45 * MS; 8]);
        assert_eq!(
            f.alg.status().phase,
            phase,
            "packets of the first flight queue behind each other, skip_first_flight {skip_first_flight}"
        );
        f.end_round(Some(45 * MS));
        f.samples(&[51 * MS; 8]);
        assert_eq!(f.alg.status().phase, Phase::Css, "the second flight is judged either way");
    }
}

/// Shows RFC9406 4.2-6.
#[test]
fn a_round_without_a_sample_blinds_the_next_one_unless_the_minimum_is_kept() {
    for (keep_last_min, phase) in [(false, Phase::Startup), (true, Phase::Css)] {
        let mut f = Flow::after_round(firstflight::with!(Params { keep_last_min, ..RFC }), 40 * MS);
        f.end_round(None);
        f.samples(&[60 * MS; 8]);
        assert_eq!(
            (f.alg.status().phase, f.alg.stats().empty_rounds),
            (phase, 1),
            "keep_last_min {keep_last_min}"
        );
    }
}

/// Shows RFC9406 4.2-24.
#[test]
fn rows_15_and_16_congestion_ends_it_for_good() {
    for signal in [Signal::Loss, Signal::Ecn] {
        for (row, mut f) in
            [("row 15", Flow::after_round(RFC, 40 * MS)), ("row 16", Flow::in_css(RFC))]
        {
            f.w.cwnd = 100_000;
            f.congestion(signal);
            assert_eq!(f.w.cwnd, 70_000, "{row}: the reduction is the controller's");
            f.alg.on_timeout(Timeout::Rto, Time(0), Seq(f.nxt));
            f.alg.on_idle(Time(0), Seq(f.nxt));
            f.w.cwnd = 10 * MSS;
            f.end_round(Some(40 * MS));
            f.samples(&[90 * MS; 20]);
            assert_eq!(
                (f.alg.status().phase, f.growth_per_four()),
                (Phase::Startup, 4),
                "{row}: a later slow start is classic, {signal:?}"
            );
            assert!(f.books_balance(), "{row}: the counters of {:?}", f.alg.stats());
        }
    }
}

// Draft -03: limited slow start

/// Shows LSS trigger-1, LSS growth-1.
#[test]
fn row_18_lss_grows_by_a_quarter_of_its_threshold_per_window() {
    let mut f = Flow::in_lss(Params::DRAFT03, 1_200, 24_000);
    for (grown, rest) in [(300, 0), (296, 28_800), (293, 2_288), (289, 30_604)] {
        let remainder = |f: &Flow| f.signal("hspp_lss_rest");
        assert_eq!(
            (f.ack(1_200, None), remainder(&f)),
            (grown, Some(rest)),
            "growth and remainder, in bytes times threshold"
        );
    }
    assert_eq!(f.w.cwnd, 25_178, "after four ACKs");
}

/// Shows LSS growth-1.
#[test]
fn row_19_lss_with_an_integer_k_is_faster_at_first() {
    let mut f =
        Flow::in_lss(firstflight::with!(Params { int_k: true, ..Params::DRAFT03 }), 1_200, 24_000);
    assert_eq!(
        [f.ack(1_200, None), f.ack(1_200, None)],
        [300, 300],
        "K stays 4 until the window has grown by a quarter"
    );
    f.w.cwnd = 29_999;
    assert_eq!(f.ack(1_200, None), 300, "K just below 1.25 times the threshold");
    f.w.cwnd = 30_000;
    assert_eq!(f.ack(1_200, None), 240, "K at 1.25 times the threshold");
}

/// Shows LSS growth-1.
#[test]
fn row_20_a_faster_avoidance_wins_and_the_remainder_moves_on() {
    let mut f = Flow::in_lss(Params::DRAFT03, 1_200, 24_000);
    f.ack(1_200, None);
    let beside = f.alg.beside_avoidance(&Told::default().ack(), 1_200, f.w, &f.cx);
    assert_eq!(beside, Some(24_300 + 296), "limited slow start alone");
    f.w.cwnd = beside.unwrap_or(0).max(24_300 + 400);
    assert_eq!((f.w.cwnd, f.signal("hspp_lss_rest")), (24_700, Some(28_800)), "avoidance adds 400");
}

/// Shows LSS low-cwnd.
#[test]
fn row_21_the_draft_judges_nothing_below_16_segments() {
    for (params, segments, phase) in [
        (Params::DRAFT03, 15, Phase::Startup),
        (Params::DRAFT03, 16, Phase::Lss),
        (firstflight::with!(Params { low_cwnd: 16, ..RFC }), 15, Phase::Startup),
        (firstflight::with!(Params { low_cwnd: 16, ..RFC }), 16, Phase::Css),
        (RFC, 2, Phase::Css),
    ] {
        let mut f = Flow::after_round(params, 40 * MS);
        f.w.cwnd = segments * MSS;
        f.samples(&[45 * MS; 8]);
        assert_eq!(f.alg.status().phase, phase, "{segments} segments, limit {}", params.low_cwnd);
    }
}

/// Shows LSS end-1.
#[test]
fn row_22_congestion_ends_lss_for_good() {
    for rearm in [Rearm::Never, Rearm::Idle, Rearm::Rto, Rearm::Always] {
        let mut f =
            Flow::in_lss(firstflight::with!(Params { rearm, ..Params::DRAFT03 }), MSS, 100 * MSS);
        f.congestion(Signal::Ecn);
        assert_eq!(
            f.alg.beside_avoidance(&Told::default().ack(), MSS, f.w, &f.cx),
            None,
            "no limited slow start after a mark"
        );
        f.alg.on_timeout(Timeout::Rto, Time(0), Seq(f.nxt));
        f.alg.on_idle(Time(0), Seq(f.nxt));
        f.w.cwnd = 20 * MSS;
        f.end_round(Some(40 * MS));
        f.samples(&[90 * MS; 20]);
        assert_eq!(
            (f.alg.status().phase, f.growth_per_four()),
            (Phase::Startup, 4),
            "a later slow start is classic with {rearm:?}"
        );
    }
}

#[test]
fn lss_stands_still_while_the_window_is_not_the_limit() {
    let mut f = Flow::in_lss(Params::DRAFT03, 1_200, 24_000);
    f.ack(1_200, None);
    let before = f.alg;
    f.cx.limited = false;
    assert_eq!(f.ack(1_200, None), 0, "not limited by the window");
    assert_eq!(f.alg, before, "and nothing is remembered of it");
}

#[test]
fn lss_counts_eight_segments_per_ack_unpaced() {
    for (paced, l, segments) in
        [(true, None, 20), (false, None, 8), (false, Some(2), 2), (true, Some(2), 20)]
    {
        let mut f =
            Flow::in_lss(firstflight::with!(Params { l, ..Params::DRAFT03 }), MSS, 100 * MSS);
        f.cx.paced = paced;
        assert_eq!(
            f.ack(20 * MSS, None),
            segments * MSS / 4,
            "an ACK of 20 segments, paced {paced}, L {l:?}"
        );
    }
}

#[test]
fn after_idling_lss_doubles_back_to_its_threshold_at_the_gain_of_slow_start() {
    let mut f = Flow::in_lss(Params::DRAFT03, MSS, 100 * MSS);
    assert_eq!(
        (f.alg.pacing(), f.alg.status().phase),
        (Pacing::Gain(GAIN_AVOIDANCE), Phase::Lss),
        "above the threshold"
    );
    f.w.cwnd = 10 * MSS;
    assert_eq!(f.ack(10 * MSS, None), 10 * MSS, "below it the window doubles");
    assert_eq!(
        (f.alg.pacing(), f.alg.status().phase),
        (Pacing::default(), Phase::Startup),
        "below the threshold"
    );
    f.w.cwnd = 100 * MSS;
    assert_eq!(f.alg.reached(), ExitReason::Threshold, "its own threshold is no end");
    f.ack(MSS, None);
    assert_eq!(
        (f.alg.pacing(), f.alg.status().phase),
        (Pacing::Gain(GAIN_AVOIDANCE), Phase::Lss),
        "above it again"
    );
}

/// Shows LSS divisor-1.
#[test]
fn property_8_lss_grows_by_a_quarter_of_the_threshold_per_round_trip() {
    // The specification's table for 100 segments, one ACK for each whole segment, in thousandths of
    // the threshold after n round trips.
    let mut f = Flow::in_lss(Params::DRAFT03, MSS, 100 * MSS);
    for (n, thousandths) in (1..).zip([1_225, 1_453, 1_684, 1_917, 2_152, 2_389, 2_626, 2_865]) {
        for _ in 0..f.w.cwnd / MSS {
            f.deliver(MSS, None);
        }
        let grown = f.w.cwnd * 1_000 / (100 * MSS);
        assert!(
            (1_000 + 200 * n..=1_000 + 250 * n).contains(&grown),
            "{grown}/1000 of the threshold after {n} round trips"
        );
        assert!(
            grown.abs_diff(thousandths) <= 1,
            "{grown}/1000 after {n} round trips, by the table {thousandths}"
        );
    }
}

// Options and the rest of the contract

/// Shows RFC9406 4.3-5.
#[test]
fn without_css_the_first_rise_ends_startup() {
    let mut f = Flow::after_round(firstflight::with!(Params { css_rounds: 0, ..RFC }), 40 * MS);
    f.samples(&[45 * MS; 8]);
    let expected = Leave {
        reason: ExitReason::Delay,
        ssthresh: 100 * MSS,
        cwnd: None,
        handover: Handover::LossFree,
        estimate: Some(45 * MS),
    };
    assert_eq!(f.left, Some(expected), "css=off leaves at the rise");
    assert_eq!(f.alg.stats().css_entries, 0, "and never enters CSS");
}

/// Shows RFC9406 4.3-4, RFC9406 4.3-5.
#[test]
fn rounds_and_divisor_of_css_are_options() {
    let mut f = Flow::in_css(firstflight::with!(Params { css_rounds: 2, css_divisor: 8, ..RFC }));
    assert_eq!(f.ack(16 * MSS, None), 2 * MSS, "an eighth of 16 segments");
    assert_eq!(f.end_round(Some(46 * MS)), Verdict::Stay, "the first of two rounds");
    assert!(matches!(f.end_round(Some(46 * MS)), Verdict::Leave(_)), "the second of two rounds");
}

#[test]
fn rounds_of_an_idle_application_need_not_count() {
    for (css_count_limited, rounds) in [(false, 3), (true, 1)] {
        let mut f = Flow::in_css(firstflight::with!(Params { css_count_limited, ..RFC }));
        f.end_round(Some(46 * MS));
        f.ack(MSS, Some(46 * MS));
        f.end_round(Some(46 * MS));
        f.end_round(Some(46 * MS));
        assert_eq!(
            f.signal("hspp_css_rounds"),
            Some(rounds),
            "of three rounds one was limited, css_count_limited {css_count_limited}"
        );
    }
}

/// Shows RFC9406 4.3-11, RFC9406 4.3-12.
#[test]
fn it_runs_again_only_when_told() {
    // After congestion: does it look again after idling, after a timeout, at once?
    for (rearm, idle, timeout, at_once) in [
        (Rearm::Never, false, false, false),
        (Rearm::Idle, true, false, false),
        (Rearm::Rto, false, true, false),
        (Rearm::Always, true, true, true),
    ] {
        let mut cut = Flow::in_css(firstflight::with!(Params { rearm, ..RFC }));
        cut.congestion(Signal::Loss);
        let looks = |alg: &HyStartPlusPlus| alg.save().looks();
        assert_eq!(looks(&cut.alg), at_once, "{rearm:?} right after congestion");
        let mut after_idle = cut.alg;
        after_idle.on_idle(Time(0), Seq(cut.nxt));
        assert_eq!(looks(&after_idle), idle, "{rearm:?} after idling");
        for kind in [Timeout::Rto, Timeout::PersistentCongestion] {
            let mut after = cut.alg;
            after.on_timeout(kind, Time(0), Seq(cut.nxt));
            assert_eq!(looks(&after), timeout, "{rearm:?} after {kind:?}");
        }
    }
}

/// Shows RFC9406 4.3-12.
#[test]
fn running_again_forgets_everything_but_the_counters() {
    let mut f = Flow::in_css(firstflight::with!(Params { rearm: Rearm::Rto, ..RFC }));
    f.alg.on_timeout(Timeout::Rto, Time(0), Seq(f.nxt));
    let mut fresh = HyStartPlusPlus::new(firstflight::with!(Params { rearm: Rearm::Rto, ..RFC }));
    fresh.start(Time(0), Seq(f.nxt));
    for name in [
        "hspp_last_min_ns",
        "hspp_round_min_ns",
        "hspp_samples",
        "hspp_window_end",
        "hspp_css_base_ns",
    ] {
        let of_fresh = hooks::signal(name, |visit| fresh.signals(visit));
        assert_eq!(f.signal(name), of_fresh, "{name} after running again and at the start");
    }
    assert_eq!(
        (f.alg.stats().css_entries, f.alg.stats().css_interrupted),
        (1, 1),
        "the timeout interrupted CSS"
    );
}

#[test]
fn a_threshold_set_by_somebody_else_ends_the_search() {
    let mut f = Flow::in_css(RFC);
    assert_eq!(f.alg.reached(), ExitReason::Threshold, "the reason");
    assert_eq!(
        (f.alg.save().looks(), f.alg.stats().css_interrupted),
        (false, 1),
        "CSS is interrupted"
    );
}

#[test]
fn growth_stops_at_a_threshold_and_hands_on_what_it_did_not_use() {
    for (mut f, leftover) in [(Flow::after_round(RFC, 40 * MS), 3 * MSS), (Flow::in_css(RFC), 0)] {
        f.w.ssthresh = 101 * MSS;
        let grown = f.alg.grow(&Told::default().ack(), 4 * MSS, &mut f.w, &f.cx);
        assert_eq!(
            (f.w.cwnd, grown.leftover),
            (101 * MSS, leftover),
            "room for one segment, four acknowledged, in {:?}",
            f.alg.status().phase
        );
    }
    let mut f = Flow::in_css(RFC);
    f.w.ssthresh = 101 * MSS;
    let grown = f.alg.grow(&Told::default().ack(), 12 * MSS, &mut f.w, &f.cx);
    assert_eq!(
        grown.leftover,
        8 * MSS,
        "in CSS the two segments that found no room stand for eight acknowledged"
    );
}

/// Shows OURS undo-phase.
#[test]
fn a_false_alarm_restores_the_phase_with_its_baseline_and_rounds() {
    let mut f = Flow::in_css(RFC);
    f.end_round(Some(46 * MS));
    let (saved, window) = (f.alg.save(), f.w);
    assert_eq!(
        saved,
        SavedStage::Css { base: Nanos(45 * MS).into(), rounds: 1 },
        "what is kept of CSS"
    );
    f.congestion(Signal::Loss);
    f.alg.restore(saved);
    f.w = window;
    assert_eq!(f.alg.status().phase, Phase::Css, "the phase");
    assert_eq!(
        (f.signal("hspp_css_base_ns"), f.signal("hspp_css_rounds")),
        (Some(45 * MS), Some(1)),
        "baseline and rounds"
    );
    assert!(f.books_balance(), "the counters of {:?}", f.alg.stats());
    for flow in [Flow::after_round(RFC, 40 * MS), Flow::in_lss(Params::DRAFT03, MSS, 100 * MSS)] {
        let mut cut = flow;
        cut.congestion(Signal::Loss);
        cut.alg.restore(flow.alg.save());
        assert_eq!(
            (cut.alg.status().phase, cut.alg.save()),
            (flow.alg.status().phase, flow.alg.save()),
            "the phase restored"
        );
    }
}

/// Shows OURS gain-elsewhere.
#[test]
fn pacing_follows_the_phase() {
    for (f, gain) in [
        (Flow::new(RFC), GAIN_SLOW_START),
        (Flow::in_css(RFC), GAIN_AVOIDANCE),
        (Flow::in_lss(Params::DRAFT03, MSS, 100 * MSS), GAIN_AVOIDANCE),
    ] {
        assert_eq!(f.alg.pacing(), Pacing::Gain(gain), "in {:?}", f.alg.status().phase);
    }
}

// Properties

/// The algorithm read again from RFC 9406 section 4.2, for two questions that its words leave open:
/// which ACK ends a round, and when samples count anew. Only phases; RTTs in ns, a packet per
/// number.
struct Reading {
    passed: bool,
    fresh: (bool, bool),
    end: u64,
    last: Option<u64>,
    current: Option<u64>,
    samples: u32,
    css: Option<(u64, u32)>,
    over: bool,
}

impl Reading {
    fn ack(&mut self, una: u64, nxt: u64, rtt: u64) -> Phase {
        if self.over {
            return Phase::Startup;
        }
        let current = self.current.map_or(rtt, |current| current.min(rtt));
        self.current = Some(current);
        self.samples += 1;
        if self.samples >= 8 {
            match (self.css, self.last) {
                (Some((base, _)), _) if current < base => {
                    self.css = None;
                    self.samples = if self.fresh.1 { 0 } else { self.samples };
                }
                (None, Some(last)) if current >= last + (last / 8).clamp(4 * MS, 16 * MS) => {
                    self.css = Some((current, 0));
                    self.samples = if self.fresh.0 { 0 } else { self.samples };
                }
                _ => {}
            }
        }
        if una > self.end || (una == self.end && !self.passed) {
            self.end = nxt;
            self.last = self.current.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                self.over = *rounds == 5;
            }
        }
        if self.css.is_some() && !self.over { Phase::Css } else { Phase::Startup }
    }
}

/// Shows RFC9406 4.2-end, OURS css-fresh.
#[test]
fn each_reading_of_the_rounds_end_and_of_fresh_samples_is_that_of_an_independent_model() {
    let readings: Vec<(RoundEnd, FreshSamples)> = [RoundEnd::Reached, RoundEnd::Passed]
        .into_iter()
        .flat_map(|end| {
            [FreshSamples::Always, FreshSamples::OnEntry, FreshSamples::Never]
                .map(|fresh| (end, fresh))
        })
        .collect();
    // Number of courses in which each reading differs from the first.
    let mut differ = vec![0; readings.len()];
    for seed in 1..=2_000_u64 {
        let mut random = seed;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        // ACKs of one or two packets out of flights of up to 60; RTTs that rise for a while, and
        // fall again.
        let base = (10 + below(90)) * MS;
        let (mut una, mut nxt, mut offset) = (0, 6 + below(50), 0);
        let course: Vec<(u64, u64, u64)> = (0..400)
            .map(|_| {
                una = (una + 1 + below(2)).min(nxt);
                if una == nxt || below(3) > 0 {
                    nxt = (nxt + 1 + below(2))
                        .min(una + 60)
                        .max(nxt)
                        .max(una + 1 - below(2) * u64::from(below(8) == 0));
                }
                if below(12) == 0 {
                    offset = below(9) * base / 20;
                }
                (una, nxt, base + offset + below(base / 20))
            })
            .collect();
        let mut first = Vec::new();
        for (at, &(end, fresh)) in readings.iter().enumerate() {
            let mut alg = HyStartPlusPlus::new(firstflight::with!(Params {
                round_end: end,
                fresh_samples: fresh,
                ..RFC
            }));
            alg.start(Time(0), Seq(0));
            let mut w = Window { cwnd: 100 * MSS, ssthresh: UNSET_SSTHRESH };
            let mut model = Reading {
                passed: end == RoundEnd::Passed,
                fresh: (fresh != FreshSamples::Never, fresh == FreshSamples::Always),
                end: 0,
                last: None,
                current: None,
                samples: 0,
                css: None,
                over: false,
            };
            let phases: Vec<(Phase, bool)> = course
                .iter()
                .enumerate()
                .map(|(step, &(una, nxt, rtt))| {
                    let ack = Told { acked: MSS, rtt: Some(Nanos(rtt)), una: Seq(una), nxt: Seq(nxt), ..Told::default() };
                    alg.grow(&ack.ack(), MSS, &mut w, &CX);
                    let expected = (model.ack(una, nxt, rtt), model.over);
                    let found = (alg.status().phase, alg.stats().css_exits > 0);
                    assert_eq!(found, expected, "course {seed}, ACK {step}, {end:?}, {fresh:?}: phase, and whether startup is over");
                    found
                })
                .collect();
            if at == 0 {
                first = phases;
            } else {
                differ[at] += u32::from(phases != first);
            }
        }
    }
    assert!(
        differ[1..].iter().all(|&courses| courses >= 40),
        "the readings differ in so many of 2000 courses: {differ:?}"
    );
}

/// The mark is the first packet not yet sent when the round began.
/// Shows RFC9406 4.2-end.
#[test]
fn a_round_ends_with_its_last_packet_or_with_the_first_of_the_next() {
    for (end, expected) in [(RoundEnd::Reached, [0, 1, 1, 1]), (RoundEnd::Passed, [0, 0, 0, 1])] {
        let mut alg = HyStartPlusPlus::new(firstflight::with!(Params { round_end: end, ..RFC }));
        alg.start(Time(0), Seq(10));
        let mut w = Window { cwnd: 100 * MSS, ssthresh: UNSET_SSTHRESH };
        // Nine of ten packets, the tenth, an ACK of nothing new while nothing more is sent, the
        // eleventh.
        let rounds = [9, 10, 10, 11].map(|una| {
            let ack = Told {
                acked: MSS,
                rtt: Some(Nanos(40 * MS)),
                una: Seq(una),
                nxt: Seq(una.max(10) + 10),
                ..Told::default()
            };
            alg.grow(&ack.ack(), MSS, &mut w, &CX);
            alg.stats().rounds
        });
        assert_eq!(rounds, expected, "{end:?}");
    }
}

/// One ACK of a history: bytes, RTT in units of 100 us if sampled, whether it ends the round,
/// whether the window is the limit.
type Step = (u64, Option<u64>, bool, bool);

fn history() -> impl Strategy<Value = Vec<Step>> {
    let rtt = prop::option::weighted(0.9, 400..600_u64);
    prop::collection::vec((1..100_000_u64, rtt, prop::bool::weighted(0.08), any::<bool>()), 1..300)
}

fn options() -> impl Strategy<Value = Params> {
    let baseline = prop_oneof![Just(Baseline::CurrentRoundMin), Just(Baseline::EntryThreshold)];
    (any::<[bool; 6]>(), baseline, 1..7_u8, 1..6_u32).prop_map(
        |([lss, fresh, keep, skip, int_k, count], baseline, css_rounds, css_divisor)| {
            firstflight::with!(Params {
                mode: if lss { Mode::Lss } else { Mode::Css },
                fresh_samples: if fresh { FreshSamples::Always } else { FreshSamples::Never },
                keep_last_min: keep,
                skip_first_flight: skip,
                int_k,
                css_count_limited: count,
                baseline,
                css_rounds,
                css_divisor,
                ..RFC
            })
        },
    )
}

impl Flow {
    fn step(&mut self, (acked, rtt, rolls, limited): Step) -> Verdict {
        self.cx.limited = limited;
        let rtt = rtt.map(|r| r * 100 * US);
        if rolls {
            (self.una, self.nxt) = (self.nxt, self.nxt + FLIGHT);
        }
        self.deliver(acked, rtt)
    }
}

proptest! {
    /// Property 1: with everything counted, the window depends on the sum alone, per visit to a phase.
    #[test]
    fn order_and_batching_of_acks_do_not_matter(parts in prop::collection::vec(1..100_000_u64, 1..60), css in any::<bool>()) {
        let start = if css { Flow::in_css(RFC) } else { Flow::new(RFC) };
        let (mut split, mut backwards, sum) = (start, start, parts.iter().sum::<u64>());
        for (&forth, &back) in parts.iter().zip(parts.iter().rev()) {
            split.ack(forth, None);
            backwards.ack(back, None);
        }
        let expected = start.w.cwnd + if css { sum / 4 } else { sum };
        prop_assert_eq!((split.w.cwnd, backwards.w.cwnd), (expected, expected), "{} bytes in {} ACKs", sum, parts.len());
    }

    /// Properties 2, 3 and 4 on any history, with any options.
    #[test]
    fn phases_follow_their_graph_and_growth_its_bounds(params in options(), steps in history(), marks in any::<bool>()) {
        let mut f = Flow::new(params);
        let last = steps.len() - 1;
        for (i, &step) in steps.iter().enumerate() {
            let (phase, before, rounds) = (f.alg.status().phase, f.w.cwnd, f.alg.stats().css_rounds);
            let verdict = f.step(step);
            let (now, grown, acked) = (f.alg.status().phase, f.w.cwnd - before, step.0);
            match phase {
                Phase::Css => {
                    prop_assert!(grown <= acked.div_ceil(u64::from(params.css_divisor)), "CSS grew by {grown} for {acked}");
                    prop_assert!(matches!(now, Phase::Css | Phase::Startup), "from CSS to {now:?}");
                }
                Phase::Lss => {
                    prop_assert!(grown <= acked / 4 + 1, "LSS grew by {grown} for {acked}");
                    prop_assert_eq!(now, Phase::Lss, "LSS ends by congestion alone");
                }
                _ => {
                    prop_assert!(grown <= acked, "slow start grew by {grown} for {acked}");
                    let allowed = if params.mode == Mode::Css { Phase::Css } else { Phase::Lss };
                    prop_assert!(now == Phase::Startup || now == allowed, "from slow start to {now:?}");
                }
            }
            if let Verdict::Leave(leave) = verdict {
                prop_assert_eq!(leave.ssthresh, f.w.cwnd, "the threshold is the window");
                match leave.reason {
                    ExitReason::CssDone => {
                        prop_assert!(step.2, "avoidance was entered by a sample");
                        prop_assert_eq!(f.alg.stats().css_rounds, rounds + 1, "the round that ended counts");
                    }
                    reason => prop_assert_eq!((reason, params.mode), (ExitReason::LssTrigger, Mode::Lss), "the reason to leave"),
                }
                prop_assert!(f.alg.stats().css_exits + f.alg.stats().exits_on_rise == 1, "it left twice");
            }
            prop_assert!(f.books_balance(), "the counters of {:?} in {:?}", f.alg.stats(), now);
            if i == last && f.left.is_none() {
                f.congestion(if marks { Signal::Ecn } else { Signal::Loss });
                let s = f.alg.stats();
                prop_assert_eq!(s.css_entries, s.css_returns + u32::from(now == Phase::Css), "entries are returns and the one just cut");
                prop_assert!(!f.alg.save().looks() && f.books_balance(), "congestion ends it");
            }
        }
    }

    /// Property 5: arrival times are no input.
    #[test]
    fn arrival_times_change_nothing(params in options(), steps in history(), times in prop::collection::vec(any::<u64>(), 300)) {
        let mut f = Flow::new(params);
        let (mut alg, mut w) = (f.alg, f.w);
        for (&step, &now) in steps.iter().zip(&times) {
            if !f.w.in_slow_start() {
                break;
            }
            f.step(step);
            let ack = Told {
                now: Time(now), acked: step.0, rtt: step.1.map(|r| Nanos(r * 100 * US)), una: Seq(f.una), nxt: Seq(f.nxt),
                inflight: 7 * MSS, ..Told::default()
            };
            if let Verdict::Leave(leave) = alg.grow(&ack.ack(), step.0, &mut w, &f.cx).verdict {
                w.ssthresh = leave.ssthresh;
            }
            prop_assert_eq!((alg, w), (f.alg, f.w), "the same ACKs at other times");
        }
    }

    /// Property 6.
    #[test]
    fn a_constant_rtt_never_triggers(params in options(), rtt in 0..20_000_u64, steps in history()) {
        let mut f = Flow::new(params);
        for (acked, sampled, rolls, limited) in steps {
            f.step((acked, sampled.map(|_| rtt), rolls, limited));
        }
        prop_assert_eq!((f.alg.status().phase, f.alg.stats().css_entries, f.left), (Phase::Startup, 0, None), "an RTT of {} x 100 us", rtt);
    }

    /// Property 7: a step at the boundary of a round is seen in the first full round after it iff it is high enough, and taken back
    /// within one round when it reverts.
    /// Shows RFC9406 4.2-13.
    #[test]
    fn a_step_of_the_rtt_is_seen_and_taken_back(base in 1..300_000_u64, off in -2_000..2_000_i64, per_round in 8..40_usize) {
        let base = base * US;
        let high = base.saturating_add(rise(Nanos(base)).0).saturating_add_signed(off);
        let mut f = Flow::after_round(RFC, base);
        f.samples(&vec![base; per_round]);
        f.end_round(Some(base));
        f.samples(&vec![high; per_round - 1]);
        f.end_round(Some(high));
        let expected = if off >= 0 { Phase::Css } else { Phase::Startup };
        prop_assert_eq!(f.alg.status().phase, expected, "a step from {} to {} ns", base, high);
        f.samples(&vec![base; per_round - 1]);
        f.end_round(Some(base));
        prop_assert_eq!(f.alg.status().phase, Phase::Startup, "the step is gone for a round of {} samples", per_round);
        prop_assert_eq!(f.alg.stats().css_returns, f.alg.stats().css_entries, "every entry was taken back");
    }

    /// Nonsense: anything in any field and any order of hooks.
    #[test]
    fn no_event_does_harm(
        params in options(), rearm in prop_oneof![Just(Rearm::Never), Just(Rearm::Idle), Just(Rearm::Rto), Just(Rearm::Always)],
        l in any::<Option<u64>>(), css_divisor in any::<u32>(),
        events in prop::collection::vec((0..9_u8, any::<[u64; 6]>(), any::<[bool; 3]>()), 1..200),
    ) {
        let mut alg = HyStartPlusPlus::new(firstflight::with!(Params { rearm, l, css_divisor, ..params }));
        for (kind, [rtt, una, nxt, cwnd, acked, ssthresh], [paced, limited, sampled]) in events {
            let cx = firstflight::with!(Context { mss: rtt >> 48, paced, limited, ..CX });
            let mut w = Window { cwnd, ssthresh };
            let ack = Told { acked, rtt: sampled.then_some(Nanos(rtt)), una: Seq(una), nxt: Seq(nxt), ..Told::default() };
            match kind {
                0 => alg.start(Time(rtt), Seq(nxt)),
                1 => alg.on_timeout(Timeout::Rto, Time(rtt), Seq(nxt)),
                2 => alg.on_idle(Time(rtt), Seq(nxt)),
                3 => alg.restore(match una % 4 { 0 => SavedStage::SlowStart, 1 => SavedStage::Css { base: Nanos(rtt).into(), rounds: nxt as u8 }, 2 => SavedStage::Lss, _ => SavedStage::Over }),
                4 => { alg.on_congestion(Signal::Ecn, Ratio::new(1, 2), &ack.ack(), w, &cx); }
                5 => { let before = w.cwnd; let beside = alg.beside_avoidance(&ack.ack(), acked, w, &cx); prop_assert!(beside.is_none_or(|b| b >= before)); }
                _ => {
                    let grown = alg.grow(&ack.ack(), acked, &mut w, &cx);
                    prop_assert!(w.cwnd >= cwnd && w.cwnd <= cwnd.max(ssthresh), "window {cwnd} became {} below {ssthresh}", w.cwnd);
                    prop_assert!(grown.leftover <= acked, "{} left over of {acked}", grown.leftover);
                }
            }
            let s = alg.stats();
            let inside = u32::from(alg.status().phase == Phase::Css);
            prop_assert_eq!(s.css_entries + s.css_resumed, s.css_returns + s.css_exits + s.css_interrupted + inside, "counters {:?}", s);
            alg.signals(&mut |_, _| {});
        }
    }
}

#[test]
fn exception_to_property_1_an_unpaced_ack_beyond_eight_segments_is_cut() {
    let (mut one, mut two) = (Flow::new(RFC), Flow::new(RFC));
    (one.cx.paced, two.cx.paced) = (false, false);
    let grown = (one.ack(16 * MSS, None), two.ack(8 * MSS, None) + two.ack(8 * MSS, None));
    assert_eq!(grown, (8 * MSS, 16 * MSS), "16 segments in one ACK and in two");
}

/// Shows NEQO 3506-limbo.
#[test]
fn acks_between_rounds_belong_to_none_on_request() {
    for (round_end, samples) in [(RoundEnd::Passed, 3), (RoundEnd::Limbo, 1)] {
        let limbo = round_end == RoundEnd::Limbo;
        let mut f = Flow::after_round(firstflight::with!(Params { round_end, ..RFC }), 40 * MS);
        f.samples(&[41 * MS; 3]);
        let nxt = Seq(f.nxt + 10);
        f.alg.on_sent(&Sent { nxt, ..Sent::default() }, f.w, &f.cx);
        f.samples(&[41 * MS]);
        assert_eq!(f.signal("hspp_samples"), Some(samples), "limbo {limbo}");
        let mark = if limbo { nxt.0 } else { f.nxt };
        assert_eq!(f.signal("hspp_window_end"), Some(mark), "limbo {limbo}");
    }
}
