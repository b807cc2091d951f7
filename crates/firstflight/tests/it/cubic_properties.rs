//! Invariants of CUBIC over any history, and the known exceptions.

use crate::hooks::{self, avoiding};
use crate::told::Told;
use firstflight::avoidance::cubic::{Params, Profile};
use firstflight::avoidance::cubic_curve::{MAX_US, icbrt, rise};
use firstflight::avoidance::{Avoidance, Base, Cubic, Cut};
use firstflight::event::{Context, Signal, Transport, Window};
use firstflight::startup::Handover;
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Time, UNSET_SSTHRESH};
use proptest::prelude::*;

const MSS: u64 = 1448;
const START: Time = Time(5_000_000_000);

const CX: Context = firstflight::with!(Context { transport: Transport::Tcp, ..hooks::quic(MSS) });

fn grow(cubic: &mut Cubic, w: &mut Window, now: Time, srtt: Nanos, acked: u64) -> u64 {
    let told = Told { now, acked, srtt: Some(srtt), min_rtt: Some(srtt), ..Told::default() };
    hooks::grow(cubic, w, &told, &CX)
}

/// Cut from `before` bytes by this signal, the epoch begun at `START`.
fn cut(before: u64, signal: Signal) -> (Cubic, Window) {
    let mut cubic = Cubic::default();
    let cut = hooks::cut(START, signal, before);
    let mut w = avoiding(cubic.reduce(&cut, avoiding(before), &CX).cwnd);
    grow(&mut cubic, &mut w, START, Nanos::ZERO, 0);
    (cubic, w)
}

/// One round trip: the whole window acknowledged in `acks` equal ACKs.
fn round(cubic: &mut Cubic, w: &mut Window, start: Time, rtt: Nanos, acks: u64) -> u64 {
    let window = w.cwnd;
    (0..acks).map(|n| grow(cubic, w, start + Nanos(rtt.0 * n / acks), rtt, window / acks)).sum()
}

fn handover() -> impl Strategy<Value = Handover> {
    prop_oneof![
        Just(Handover::LossFree),
        Just(Handover::AfterLoss),
        Just(Handover::AfterTimeout),
        Just(Handover::LssEntry),
        Just(Handover::Drained),
        (any::<u16>(), 1u16..)
            .prop_map(|(num, den)| Handover::RapidDone { beta: Ratio::new(num, den) }),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Grow { now: u64, acked: u64, srtt: Option<u64>, limited: bool },
    Reduce { signal: bool, inflight: u64, from_slow_start: bool },
    Rto { inflight: u64 },
    Persistent,
    HandOver(Handover),
    Idle { now: u64, idle: u64 },
    Save,
    Restore,
    Window(u64),
    Segment(u64),
}

/// Numbers as they come and as nobody would send them.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(MAX_BYTES),
        1u64..10_000,
        1u64..100_000_000,
        any::<u64>()
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let grow = (amount(), amount(), prop::option::of(amount()), prop::bool::weighted(0.8));
    prop_oneof![
        8 => grow.prop_map(|(now, acked, srtt, limited)| Step::Grow { now, acked, srtt, limited }),
        2 => (any::<bool>(), amount(), any::<bool>())
            .prop_map(|(signal, inflight, from_slow_start)| Step::Reduce { signal, inflight, from_slow_start }),
        1 => amount().prop_map(|inflight| Step::Rto { inflight }),
        1 => Just(Step::Persistent),
        1 => handover().prop_map(Step::HandOver),
        1 => (amount(), amount()).prop_map(|(now, idle)| Step::Idle { now, idle }),
        1 => Just(Step::Save),
        1 => Just(Step::Restore),
        1 => amount().prop_map(Step::Window),
        1 => amount().prop_map(Step::Segment),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The reciprocal gives exactly what the division gives.
    /// Shows RFC9438 4.2-fig1.
    #[test]
    fn the_distance_is_the_exact_floor(dt in prop_oneof![0..=MAX_US, 0u64..100_000_000, any::<u64>()], mss in 1u64..=1 << 16) {
        let x = u128::from(dt.min(MAX_US));
        let exact = 4 * u128::from(mss) * x * x * x / 10u128.pow(19);
        prop_assert_eq!(u128::from(rise(dt, mss)), exact);
    }

    /// And at the places where a quotient changes.
    #[test]
    fn the_distance_is_exact_where_it_steps(bytes in 1u64..1 << 40, mss in 1u64..=1 << 16) {
        let dt = icbrt(u128::from(bytes) * 10u128.pow(19) / (4 * u128::from(mss)));
        for dt in [dt.saturating_sub(1), dt, dt + 1] {
            let x = u128::from(dt.min(MAX_US));
            prop_assert_eq!(u128::from(rise(dt, mss)), 4 * u128::from(mss) * x * x * x / 10u128.pow(19));
        }
    }

    /// Shows RFC9438 4.2-fig2.
    #[test]
    fn the_cube_root_is_the_floor(n in prop_oneof![any::<u128>(), (any::<u64>(), 0u32..128).prop_map(|(n, s)| u128::from(n) << s >> 40)]) {
        let root = u128::from(icbrt(n));
        prop_assert!(root * root * root <= n);
        prop_assert!((root + 1).checked_pow(3).is_none_or(|cube| cube > n), "{root} + 1 still fits into {n}");
    }

    #[test]
    fn cubes_have_their_roots(root in 0u64..1 << 42) {
        prop_assert_eq!(icbrt(u128::from(root).pow(3)), root);
    }

    /// Avoidance 11-1: any history at all: no panic, growth never lowers, a cut never raises nor goes below its minimum.
    #[test]
    fn nonsense_is_survived(
        steps in prop::collection::vec(step(), 1..80), num in any::<u16>(), den in 1u16.., plain in any::<bool>(), linux in any::<bool>(),
        fast_convergence in any::<bool>(), ca_floor_20 in any::<bool>(), quic in any::<bool>(),
    ) {
        let beta = if plain { Ratio::new(7, 10) } else { Ratio::new(num, den) };
        let profile = if linux { Profile::Linux } else { Profile::Rfc9438 };
        let base = if quic { Base::Inflight } else { Base::Cwnd };
        let mut cubic = Cubic::new(firstflight::with!(Params { beta, fast_convergence, ca_floor_20, profile, base, ..Params::default() }));
        let transport = if quic { Transport::Quic } else { Transport::Tcp };
        let mut cx = firstflight::with!(Context { transport, ..CX });
        let mut w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
        let mut saved = cubic.save();
        for step in steps {
            let (before, mss) = (w.cwnd, cx.mss.clamp(1, 1 << 16));
            match step {
                Step::Grow { now, acked, srtt, limited } => {
                    cx.limited = limited;
                    let rtt = srtt.map(Nanos);
                    cubic.grow(&Told { now: Time(now), acked, srtt: rtt, min_rtt: rtt, ..Told::default() }.ack(), acked, &mut w, &cx);
                    prop_assert!(w.cwnd >= before, "growth lowers {before} to {}", w.cwnd);
                    prop_assert!(limited || w.cwnd == before.max(1), "an unused window grows from {before} to {}", w.cwnd);
                }
                Step::Reduce { signal, inflight, from_slow_start } => {
                    let signal = if signal { Signal::Loss } else { Signal::Ecn };
                    let cut = Cut { from_slow_start, ..hooks::cut(START, signal, inflight) };
                    let left = cubic.reduce(&cut, w, &cx);
                    let least = if signal == Signal::Ecn && !quic { mss } else { 2 * mss };
                    prop_assert!(left.ssthresh >= 2 * mss && left.cwnd >= least, "{left:?} is below the minimum of {least}");
                    prop_assert!(left.cwnd <= before.max(least), "a cut raises {before} to {}", left.cwnd);
                    w = Window { cwnd: left.cwnd, ssthresh: left.ssthresh };
                }
                Step::Rto { inflight } => {
                    w.ssthresh = cubic.on_rto(&hooks::timeout(START, inflight, w), w, &cx);
                    w.cwnd = mss;
                    prop_assert!(w.ssthresh >= 2 * mss && w.ssthresh <= MAX_BYTES);
                }
                Step::Persistent => cubic.on_persistent_congestion(START),
                Step::HandOver(how) => cubic.hand_over(how, w, &cx),
                Step::Idle { now, idle } => cubic.on_idle(Time(now), Nanos(idle), Nanos(idle)),
                Step::Save => saved = cubic.save(),
                Step::Restore => cubic.restore(saved),
                Step::Window(cwnd) => w.cwnd = cwnd,
                Step::Segment(mss) => cx.mss = mss,
            }
        }
    }

    /// Avoidance 11-2 in the region of Reno: splitting one ACK into k changes the window by at most I^2/cwnd + k bytes.
    #[test]
    fn splitting_an_ack_hardly_matters_to_reno(segments in 2u64..10_000, share in 1u64..=1000, k in 1u64..20) {
        let w = avoiding(segments * MSS);
        let acked = (w.cwnd * share / 1000).max(k);
        let (whole, parts) = split(Cubic::default(), w, START, Nanos::ZERO, acked, k);
        let gain = whole - w.cwnd;
        let bound = gain * gain / w.cwnd + k;
        prop_assert!(whole.abs_diff(parts) <= bound, "whole {whole} and split {parts} differ by more than {bound}");
    }

    /// The same on the curve, where what is left to the target shrinks with every part: at most I * acked/cwnd + k bytes.
    #[test]
    fn splitting_an_ack_on_the_curve_matters_little(segments in 100u64..10_000, t_ms in 0u64..20_000, share in 1u64..=1000, k in 1u64..20) {
        let (mut cubic, mut w) = cut(segments * MSS, Signal::Loss);
        let now = START + Nanos::from_millis(t_ms);
        let srtt = Nanos::from_millis(100);
        grow(&mut cubic, &mut w, now, srtt, 2 * MSS);
        let acked = (w.cwnd * share / 1000).max(k);
        let (whole, parts) = split(cubic, w, now, srtt, acked, k);
        let gain = whole - w.cwnd;
        // No such bound holds if the parts cross from one region into the other; see the exception below.
        let mut end = cubic;
        grow(&mut end, &mut w.clone(), now, srtt, acked);
        if end.w_est().is_some_and(|w_est| w_est >= w.cwnd) {
            return Ok(());
        }
        let bound = gain * acked / w.cwnd + k;
        prop_assert!(whole.abs_diff(parts) <= bound, "whole {whole} and split {parts} differ by more than {bound}");
    }

    /// Avoidance 11-3: no more than half of the window per round trip, and never less than nothing.
    /// Shows RFC9438 4.2-target.
    #[test]
    fn a_round_trip_grows_by_at_most_half(
        segments in 3u64..20_000, rtt_ms in 1u64..1000, rounds in 1usize..40, acks in 1u64..40, loss_free in any::<bool>(), pause_ms in 0u64..60_000,
    ) {
        let (mut cubic, mut w) =
            if loss_free { (Cubic::default(), avoiding(segments * MSS)) } else { cut(segments * MSS, Signal::Loss) };
        let rtt = Nanos::from_millis(rtt_ms);
        let mut start = START + Nanos::from_millis(pause_ms);
        for _ in 0..rounds {
            let before = w.cwnd;
            let gain = round(&mut cubic, &mut w, start, rtt, acks.min(before / MSS));
            prop_assert!(gain <= before / 2 + 1, "a window of {before} grows by {gain} in one round trip");
            start += rtt;
        }
    }

    /// Avoidance 11-4: ACKs in an unused window leave the age of the epoch where it was.
    /// Shows RFC9438 5.8-1.
    #[test]
    fn an_unused_window_does_not_age(gaps in prop::collection::vec(0u64..10_000_000_000, 1..50)) {
        let (mut cubic, mut w) = cut(1_000_000, Signal::Loss);
        let age = Nanos::from_secs(1);
        let mut now = START + age;
        grow(&mut cubic, &mut w, now, Nanos::ZERO, MSS);
        for gap in gaps {
            now += Nanos(gap);
            cubic.grow(&Told { now, ..Told::default() }.ack(), MSS, &mut w, &firstflight::with!(Context { limited: false, ..CX }));
            let got = cubic.epoch_start().map(|start| now.since(start));
            prop_assert_eq!(got, Some(age), "the epoch is as old as before");
        }
    }

    /// Avoidance 11-5: after a loss-free hand-over the first growth is less than a segment.
    #[test]
    fn a_loss_free_exit_neither_jumps_nor_shrinks(segments in 2u64..10_000, srtt_ms in 1u64..1000, acked in 1u64..10) {
        let (mut cubic, mut w) = (Cubic::default(), avoiding(segments * MSS));
        cubic.hand_over(Handover::LossFree, w, &CX);
        let gain = grow(&mut cubic, &mut w, START, Nanos::from_millis(srtt_ms), acked.min(segments - 1) * MSS);
        prop_assert!(gain < MSS, "the first ACK grows {segments} segments by {gain} bytes");
    }

    /// Avoidance 11-7: undo(cut(x)) is x, twice as once; the kernel's keeps what the cut made of it.
    /// Shows RFC9438 4.9-2.
    #[test]
    fn undo_of_a_cut_is_nothing(segments in 2u64..10_000, times in prop::collection::vec(0u64..20_000, 0..20), linux in any::<bool>()) {
        let mut cubic = Cubic::new(if linux { Params::linux() } else { Params::default() });
        let mut w = avoiding(segments * MSS);
        for ms in times {
            grow(&mut cubic, &mut w, START + Nanos::from_millis(ms), Nanos::from_millis(50), 2 * MSS);
        }
        let (before, saved) = (cubic, cubic.save());
        cubic.reduce(&hooks::cut(START, Signal::Loss, w.cwnd), w, &CX);
        let left = if linux { cubic } else { before };
        for _ in 0..2 {
            cubic.restore(saved);
            prop_assert_eq!(cubic, left);
        }
    }
}

fn split(cubic: Cubic, w: Window, now: Time, srtt: Nanos, acked: u64, k: u64) -> (u64, u64) {
    let (mut whole, mut parts) = (w, w);
    grow(&mut cubic.clone(), &mut whole, now, srtt, acked);
    let mut cubic = cubic;
    for n in 0..k {
        grow(&mut cubic, &mut parts, now, srtt, acked / k + u64::from(n < acked % k));
    }
    (whole.cwnd, parts.cwnd)
}

// Known exceptions.

#[test]
fn a_window_of_one_segment_grows_by_more_than_half_in_a_round_trip() {
    // Exception to 11-3: Reno's segment per round trip is all of a window of one, which only marks
    // in TCP leave.
    let (mut cubic, mut w) = cut(MSS, Signal::Ecn);
    assert_eq!(w.cwnd, MSS, "marks leave one segment, not {}", w.cwnd);
    let gain = round(&mut cubic, &mut w, START, Nanos::from_millis(100), 1);
    assert_eq!(
        gain, MSS,
        "at the old window alpha is 1 and a round trip gives {MSS} bytes, not {gain}"
    );
}

#[test]
fn parts_of_an_ack_that_cross_into_the_region_of_reno_grow_more_than_the_whole() {
    // Exception to 11-2: the whole ACK lifts Reno's window above the curve at once and takes it;
    // its parts are still below and take the curve's steeper growth towards one RTT ahead.
    let (mut cubic, mut w) = cut(40 * MSS, Signal::Loss);
    let now = START + Nanos::from_millis(400);
    let srtt = Nanos::from_millis(400);
    grow(&mut cubic, &mut w, now, srtt, MSS);
    let (whole, parts) = split(cubic, w, now, srtt, w.cwnd * 8, 16);
    assert!(parts > whole + 16, "in parts the window ends at {parts}, higher than {whole} in one");
}
