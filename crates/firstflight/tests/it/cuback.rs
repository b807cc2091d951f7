//! Cuback: the draft's vectors, where it is CUBIC and where it is sooner, and what must not depend
//! on how ACKs come.

use crate::hooks::{self, avoiding, quic_at};
use crate::told::Told;
use firstflight::avoidance::cuback::{Alpha, Params};
use firstflight::avoidance::cuback_curve::AckCurve;
use firstflight::avoidance::cubic_curve::k_us;
use firstflight::avoidance::{Avoidance, Cuback, Cut};
use firstflight::event::{Context, Signal, Transport, Window};
use firstflight::startup::Handover;
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Time};
use proptest::prelude::*;

const MSS: u64 = 1448;
const ALPHA: Ratio = Ratio::new(9, 17);

fn cut(signal: Signal, flight: u64) -> Cut {
    hooks::cut(Time(0), signal, flight)
}

/// Cut from `before` bytes and begun by an ACK of nothing.
fn after_loss(before: u64, params: Params, cx: &Context) -> (Cuback, Window) {
    let mut cuback = Cuback::new(params);
    let mut w = hooks::reduced(&mut cuback, &cut(Signal::Loss, before), avoiding(before), cx);
    acked(&mut cuback, &mut w, 0, cx);
    (cuback, w)
}

fn acked(cuback: &mut Cuback, w: &mut Window, bytes: u64, cx: &Context) {
    hooks::grow(cuback, w, &Told { acked: bytes, ..Told::default() }, cx);
}

fn curve(epoch: u64, prior: u64, plateau: u64, srtt_ms: u64, mss: u64) -> AckCurve {
    AckCurve::new(epoch, prior, plateau, Nanos::from_millis(srtt_ms), mss, ALPHA)
}

/// Shows CUBACK 4-least, CUBACK 4-reno, CUBACK 4-cubic.
#[test]
fn amounts_of_the_drafts_appendix() {
    let reno = curve(7_000, 10_000, 10_000, 100, 1_000);
    let cubic = curve(600_000, 1_000_000, 1_000_000, 100, 1_000);
    for (what, curve, w, expected) in [
        ("Reno's side", reno, 8_000, 13_222),
        ("Reno's side", reno, 9_000, 28_333),
        ("Reno's side", reno, 10_000, 45_333),
        ("a segment per window beyond", reno, 11_000, 55_333),
        ("a segment per window beyond", reno, 12_000, 66_333),
        ("half of K", cubic, 950_000, 50_000_000),
        ("K", cubic, 1_000_000, 100_000_000),
        ("as far beyond", cubic, 1_050_000, 150_000_000),
        ("twice K", cubic, 1_400_000, 200_000_000),
    ] {
        assert_eq!(curve.amount(w), expected, "{what}: acknowledged until {w}");
    }
    assert_eq!(cubic.began(), -1_000_000_000, "10 s below its plateau");
}

/// Shows CUBACK 4-due, CUBACK 4-time.
#[test]
fn what_is_due_for_a_segment() {
    let reno = curve(7_000, 10_000, 10_000, 100, 1_000);
    let cubic = curve(600_000, 1_000_000, 1_000_000, 100, 1_000);
    let segments = curve(700_000, 1_000_000, 1_000_000, 100, MSS);
    let loss_free = curve(1_448_000, 1_448_000, 1_448_000, 60, MSS);
    for (what, curve, w, expected) in [
        ("Reno's side", reno, 7_000, 13_222),
        ("Reno's side", reno, 8_000, 15_111),
        ("Reno's side", reno, 9_000, 17_000),
        ("beyond the window before the cut", reno, 10_000, 10_000),
        ("beyond the window before the cut", reno, 11_000, 11_000),
        ("steep", cubic, 600_000, 83_402),
        ("steep", cubic, 601_000, 83_543),
        ("less steep", cubic, 800_000, 132_505),
        ("flat, up to the plateau", cubic, 999_000, 13_572_088),
        ("flat, from the plateau", cubic, 1_000_000, 13_572_088),
        ("1448", segments, 700_000, 129_416),
        ("half the RTT", curve(700_000, 1_000_000, 1_000_000, 50, MSS), 700_000, 258_833),
        ("twice the RTT", curve(700_000, 1_000_000, 1_000_000, 200, MSS), 700_000, 64_708),
        ("fast convergence", curve(700_000, 1_000_000, 850_000, 100, MSS), 700_000, 205_768),
        ("loss-free: a window", loss_free, 1_448_000, 1_448_000),
        ("loss-free: a window", loss_free, 1_449_448, 1_449_448),
        ("loss-free: a window", loss_free, 1_450_896, 1_450_896),
        ("17/9 of the window", curve(17_231, 24_616, 24_616, 40, MSS), 17_231, 32_547),
        (
            "no less than two segments",
            curve(70_000_000, 100_000_000, 100_000_000, 30_000, 1_000),
            70_000_000,
            2_000,
        ),
    ] {
        assert_eq!(curve.due(w), expected, "{what}: due at {w}");
    }
    assert_eq!(segments.began(), -803_090_029);
    assert_eq!(curve(700_000, 1_000_000, 850_000, 100, MSS).began(), -637_412_978);
    assert_eq!(segments.cubic(segments.time(800_000)), Some(10_152_626));
}

/// Shows CUBACK 4-grow.
#[test]
fn a_megabyte_is_the_same_in_one_ack_or_ten() {
    let cx = quic_at(MSS, 100);
    for acks in [1, 10] {
        let (mut cuback, mut w) = after_loss(1_000_000, Params::default(), &cx);
        assert_eq!(w.cwnd, 700_000);
        for _ in 0..acks {
            acked(&mut cuback, &mut w, 1_000_000 / acks, &cx);
        }
        assert_eq!((w.cwnd, cuback.pending()), (710_136, 85_161), "in {acks} ACKs");
    }
}

/// Shows CUBACK 3-rate.
#[test]
fn the_rtt_that_counts_is_the_one_at_the_cut() {
    let (full, drained) = (quic_at(MSS, 100), quic_at(MSS, 50));
    let mut cuback = Cuback::default();
    cuback.reduce(&cut(Signal::Loss, MAX_BYTES), avoiding(1_000_000), &full);
    let mut w = avoiding(700_000);
    acked(&mut cuback, &mut w, 129_415, &drained);
    assert_eq!(w.cwnd, 700_000);
    acked(&mut cuback, &mut w, 1, &drained);
    assert_eq!(w.cwnd, 700_000 + MSS, "due as at 100 ms, not at 50");
}

/// Shows CUBACK 3-rate.
#[test]
fn without_an_rtt_growth_is_renos() {
    let (mut cuback, mut w) = after_loss(1_000_000, Params::default(), &quic_at(MSS, 0));
    acked(&mut cuback, &mut w, 700_000 * 17 / 9 - 1, &quic_at(MSS, 0));
    assert_eq!(w.cwnd, 700_000, "a byte short of 17/9 of the window");
    acked(&mut cuback, &mut w, 1, &quic_at(MSS, 0));
    assert_eq!(w.cwnd, 700_000 + MSS);
}

/// Shows CUBACK 3-rate: the base of the cut is the base of all.
#[test]
fn cut_from_the_flight_everything_is_computed_from_the_flight() {
    let params = firstflight::with!(Params {
        base: firstflight::avoidance::Base::Inflight,
        ..Params::default()
    });
    let mut cuback = Cuback::new(params);
    let left = cuback.reduce(&cut(Signal::Loss, 1_000_000), avoiding(2_000_000), &quic_at(MSS, 9));
    assert_eq!(
        (left.cwnd, cuback.cwnd_prior(), cuback.w_max()),
        (700_000, 1_000_000, Some(1_000_000))
    );
}

/// Shows CUBACK 3-lossfree.
#[test]
fn a_loss_free_exit_grows_a_segment_per_window() {
    let cx = quic_at(MSS, 60);
    for handover in
        [Handover::LossFree, Handover::AfterTimeout, Handover::LssEntry, Handover::Drained]
    {
        let (mut cuback, mut w) = (Cuback::default(), avoiding(1_448_000));
        cuback.hand_over(handover, w, &cx);
        acked(&mut cuback, &mut w, 1_447_999, &cx);
        assert_eq!(w.cwnd, 1_448_000, "{handover:?}: a byte short");
        acked(&mut cuback, &mut w, 1, &cx);
        assert_eq!(w.cwnd, 1_449_448, "{handover:?}");
        assert_eq!(cuback.w_max(), Some(1_448_000), "{handover:?}: the plateau is here");
    }
}

/// Shows CUBACK 3-lossfree.
#[test]
fn after_a_timeout_the_next_epoch_begins_where_slow_start_ended() {
    let cx = quic_at(MSS, 60);
    let mut cuback = Cuback::default();
    let ssthresh = cuback.on_rto(
        &hooks::timeout(Time(0), MAX_BYTES, avoiding(1_000_000)),
        avoiding(1_000_000),
        &cx,
    );
    assert_eq!(ssthresh, 700_000);
    let mut w = avoiding(700_000);
    acked(&mut cuback, &mut w, 0, &cx);
    assert_eq!((cuback.w_max(), cuback.cwnd_prior()), (Some(700_000), 700_000));
}

/// Shows RFC9438 4.7-1.
#[test]
fn below_the_last_plateau_it_yields() {
    let cx = quic_at(MSS, 100);
    let (mut cuback, _) = after_loss(1_000_000, Params::default(), &cx);
    for (before, plateau) in [(1_000_000, 1_000_000), (999_999, 849_999), (849_999, 849_999)] {
        cuback.reduce(&cut(Signal::Loss, MAX_BYTES), avoiding(before), &cx);
        assert_eq!((cuback.cwnd_prior(), cuback.w_max()), (before, Some(plateau)));
    }
    let params = firstflight::with!(Params { fast_convergence: false, ..Params::default() });
    let (mut cuback, _) = after_loss(1_000_000, params, &cx);
    cuback.reduce(&cut(Signal::Loss, MAX_BYTES), avoiding(900_000), &cx);
    assert_eq!(cuback.w_max(), Some(900_000));
}

/// Shows CUBACK 3-rate: D2, and Rapid Start's plateau as in CUBIC.
#[test]
fn rapid_start_hands_over_an_estimate() {
    let cx = quic_at(MSS, 50);
    let mut cuback = Cuback::default();
    cuback.reduce(&cut(Signal::Loss, MAX_BYTES), avoiding(3_000_000), &quic_at(MSS, 100));
    let mut w = avoiding(700_000);
    cuback.hand_over(Handover::RapidDone { beta: Ratio::new(7, 10) }, w, &cx);
    assert_eq!((cuback.cwnd_prior(), cuback.w_max()), (1_000_000, Some(2_000_000)));
    let due = AckCurve::new(700_000, 1_000_000, 2_000_000, cx.srtt, MSS, ALPHA).due(700_000);
    acked(&mut cuback, &mut w, due, &cx);
    assert_eq!((w.cwnd, cuback.pending()), (700_000 + MSS, 0));
}

/// Signals: the plateau and the window before the cut; during growth also the pending and the due amount.
/// Persistent congestion leaves nothing to climb back to.
#[test]
fn signals_say_what_is_due_while_it_grows() {
    let cx = quic_at(MSS, 50);
    let shown = |cuback: &Cuback| {
        let mut all = Vec::new();
        cuback.signals(&mut |name, value| all.push((name, value)));
        all
    };
    let mut cuback = Cuback::new(Params::default());
    assert_eq!(shown(&cuback).iter().filter(|(name, _)| *name == "due").count(), 0);
    cuback.reduce(&cut(Signal::Loss, 100 * MSS), avoiding(100 * MSS), &cx);
    assert_eq!(shown(&cuback), [("w_max", 100 * MSS), ("cwnd_prior", 100 * MSS)]);
    let mut w = avoiding(70 * MSS);
    acked(&mut cuback, &mut w, MSS, &cx);
    let due = curve(70 * MSS, 100 * MSS, 100 * MSS, 50, MSS).due(70 * MSS);
    assert_eq!(
        shown(&cuback),
        [("w_max", 100 * MSS), ("cwnd_prior", 100 * MSS), ("pending", MSS), ("due", due)]
    );
    cuback.on_persistent_congestion(Time(0));
    acked(&mut cuback, &mut w, 0, &cx);
    assert_eq!(shown(&cuback)[..2], [("w_max", w.cwnd), ("cwnd_prior", w.cwnd)]);
    assert_eq!(curve(70 * MSS, 100 * MSS, 100 * MSS, 0, MSS).cubic(0), None, "no RTT, no curve");
}

/// A factor of reduction of many digits grows the window as the short one next to it.
#[test]
fn a_factor_of_five_digits_grows_like_seven_tenths() {
    let cx = quic_at(MSS, 20);
    let windows = [Ratio::new(7, 10), Ratio::new(45_874, 65_535)].map(|beta| {
        let params = firstflight::with!(Params { beta, ..Params::default() });
        let (mut cuback, mut w) = after_loss(30 * MSS, params, &cx);
        for _ in 0..100 {
            let window = w.cwnd;
            acked(&mut cuback, &mut w, window, &cx);
        }
        w.cwnd / MSS
    });
    assert!(windows[0] > 60 && windows[0].abs_diff(windows[1]) <= 1, "{windows:?} packets");
}

/// Of a window that something else has set `reach` says what it says once growth has seen it.
#[test]
fn how_far_growth_gets_is_asked_of_any_window() {
    let cx = quic_at(MSS, 50);
    let (mut cuback, mut w) = after_loss(100 * MSS, Params::default(), &cx);
    acked(&mut cuback, &mut w, 20 * MSS, &cx);
    let flight = 1_000 * MSS;
    let reach = |cuback: &Cuback, w: Window| cuback.reach(&Told::default().ack(), flight, w, &cx);
    for packets in [75, 90, 99, 150] {
        let mut other = avoiding(packets * MSS);
        let (asked, mut seen) = (reach(&cuback, other), cuback);
        acked(&mut seen, &mut other, 0, &cx);
        assert_eq!(asked, reach(&seen, other), "{packets} packets");
        assert_ne!(asked, reach(&cuback, w), "{packets} packets are not {}", w.cwnd / MSS);
    }
}

/// Shows CUBACK 688-alpha, CUBACK 3-marks.
#[test]
fn a_whole_segment_per_window_only_after_losses() {
    let (params, cx) =
        (firstflight::with!(Params { alpha: Alpha::One, ..Params::default() }), quic_at(MSS, 0));
    for (signal, due) in [(Signal::Loss, 700_000), (Signal::Ecn, 700_000 * 17 / 9)] {
        let mut cuback = Cuback::new(params);
        let mut w = avoiding(cuback.reduce(&cut(signal, MAX_BYTES), avoiding(1_000_000), &cx).cwnd);
        acked(&mut cuback, &mut w, due - 1, &cx);
        assert_eq!(w.cwnd, 700_000, "{signal:?}: a byte short");
        acked(&mut cuback, &mut w, 1, &cx);
        assert_eq!(w.cwnd, 700_000 + MSS, "{signal:?}");
    }
}

/// Shows CUBACK 3-marks: D3.
#[test]
fn marks_cut_less_if_asked_and_keep_the_plateau_of_loss() {
    let (params, cx) = (
        firstflight::with!(Params { abe: Some(Ratio::new(17, 20)), ..Params::default() }),
        quic_at(MSS, 100),
    );
    let (mut cuback, _) = after_loss(1_000_000, params, &cx);
    let left = cuback.reduce(&cut(Signal::Ecn, MAX_BYTES), avoiding(900_000), &cx);
    assert_eq!((left.cwnd, cuback.w_max()), (765_000, Some(765_000)));
    let tiny = firstflight::with!(Context { transport: Transport::Tcp, ..cx });
    assert_eq!(cuback.reduce(&cut(Signal::Ecn, MAX_BYTES), avoiding(MSS), &tiny).cwnd, MSS);
    assert_eq!(cuback.reduce(&cut(Signal::Ecn, MAX_BYTES), avoiding(MSS), &cx).cwnd, 2 * MSS);
}

/// Shows RFC9002 7.8-1, RFC9438 4.9-2.
#[test]
fn an_unused_window_counts_nothing_and_a_false_alarm_gives_all_back() {
    let cx = quic_at(MSS, 100);
    let (mut cuback, mut w) = after_loss(1_000_000, Params::default(), &cx);
    acked(&mut cuback, &mut w, 300_000, &cx);
    let before = cuback;
    acked(&mut cuback, &mut w, 10_000_000, &firstflight::with!(Context { limited: false, ..cx }));
    assert_eq!(cuback, before);
    let saved = cuback.save();
    cuback.reduce(&cut(Signal::Loss, MAX_BYTES), w, &quic_at(MSS, 10));
    acked(&mut cuback, &mut w, 10_000_000, &cx);
    cuback.restore(saved);
    assert_eq!(cuback, before);
}

/// Shows CUBACK 4-grow: D1.
#[test]
fn one_ack_grows_by_so_many_segments_and_the_rest_waits() {
    let cx = quic_at(1, 30_000);
    let (mut cuback, mut w) = after_loss(100_000_000, Params::default(), &cx);
    acked(&mut cuback, &mut w, MAX_BYTES, &cx);
    assert_eq!(w.cwnd, 70_000_000 + 1024);
    assert!(cuback.pending() > 0);
    acked(&mut cuback, &mut w, 0, &cx);
    assert_eq!(w.cwnd, 70_000_000 + 2048);
}

/// The rule in real numbers.
#[derive(Debug)]
struct Real {
    epoch: f64,
    prior: f64,
    plateau: f64,
    srtt: f64,
    mss: f64,
}

impl Real {
    fn amount(&self, w: f64) -> f64 {
        let Real { epoch, prior, plateau, srtt, mss } = *self;
        let sum = |from: f64, to: f64| (to - from) * (to + from - mss);
        let below = |to: f64| sum(epoch, to) * 17.0 / (18.0 * mss);
        let reno = if w <= prior { below(w) } else { below(prior) + sum(prior, w) / (2.0 * mss) };
        let time = |w: f64| ((w - plateau) / (0.4 * mss)).cbrt();
        reno.min(prior / srtt * (time(w) - time(epoch)))
    }

    /// The rule's units of 10 ns, of which each of two times is a floor, in bytes: much
    /// where the round trip is a few thousand of them.
    fn grain(&self) -> f64 {
        2.0 * self.prior / self.srtt * 1e-8
    }
}

prop_compose! {
    /// A curve as integers and as real numbers, and a window on it, all in segments of any size.
    fn case()(mss in 500u64..8948, segments in (3f64).ln()..(3e7f64).ln(), share in 0.0f64..1.3,
              srtt in (1e5f64).ln()..(2e10f64).ln(), fast in any::<bool>()) -> (AckCurve, Real, u64) {
        let prior = (segments.exp() * mss as f64) as u64;
        let epoch = (prior * 7 / 10).max(2 * mss);
        let plateau = if fast { prior * 17 / 20 } else { prior };
        let srtt = srtt.exp() as u64 / 10 * 10;
        let w = epoch + (share * (prior.max(epoch) as f64 - epoch as f64)) as u64;
        let real = Real {
            epoch: epoch as f64, prior: prior as f64, plateau: plateau as f64, srtt: srtt as f64 / 1e9, mss: mss as f64,
        };
        (AckCurve::new(epoch, prior, plateau, Nanos(srtt), mss, ALPHA), real, w)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Shows CUBACK 4-least, CUBACK 4-time.
    #[test]
    fn amounts_are_those_of_real_numbers((curve, real, w) in case()) {
        let (is, want) = (curve.amount(w) as f64, real.amount(w as f64));
        let most = 1.0 + real.grain() + 0.002 * want.abs();
        prop_assert!((is - want).abs() <= most, "A({w}) is {is}, not {want}: {curve:?}");
    }

    /// Shows CUBACK 4-due.
    #[test]
    fn what_is_due_is_that_of_real_numbers((curve, real, w) in case()) {
        let want = (real.amount(w as f64 + real.mss) - real.amount(w as f64)).max(2.0 * real.mss);
        let is = curve.due(w) as f64;
        let most = 2.0 + real.grain() + 0.002 * want;
        prop_assert!((is - want).abs() <= most, "D({w}) is {is}, not {want}: {curve:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Shows CUBACK 4-grow.
    #[test]
    fn how_acks_are_split_changes_nothing(
        before in 3u64..20_000, srtt in 1u64..2_000, parts in prop::collection::vec(0u64..400_000, 1..60),
    ) {
        let cx = quic_at(MSS, srtt);
        let (mut merged, mut one) = after_loss(before * MSS, Params::default(), &cx);
        let (mut split, mut many) = after_loss(before * MSS, Params::default(), &cx);
        // One ACK has a bound of its own (D1).
        let all: u64 = parts.iter().sum();
        prop_assume!(all < 2 * 1024 * MSS);
        acked(&mut merged, &mut one, all, &cx);
        for &part in &parts {
            acked(&mut split, &mut many, part, &cx);
        }
        prop_assert_eq!((one.cwnd, merged.pending()), (many.cwnd, split.pending()));
    }

    /// Shows CUBACK 4-due.
    #[test]
    fn a_round_trip_grows_by_at_most_half(before in 3u64..1_000, srtt in 1u64..100_000, acks in 1u64..50, one in any::<bool>()) {
        let cx = quic_at(MSS, srtt);
        let alpha = if one { Alpha::One } else { Alpha::Friendly };
        let (mut cuback, mut w) = after_loss(before * MSS, firstflight::with!(Params { alpha, ..Params::default() }), &cx);
        let window = w.cwnd;
        for _ in 0..acks {
            acked(&mut cuback, &mut w, window / acks, &cx);
        }
        prop_assert!(w.cwnd - window <= window / 2, "from {window} to {}", w.cwnd);
    }

    /// With CUBIC's curve ahead of Reno all the way, a bottleneck of constant rate is climbed in
    /// CUBIC's time.
    /// Shows CUBACK 4-cubic.
    #[test]
    fn at_a_constant_rate_it_is_cubic(segments in 100u64..4_000, srtt in 200u64..2_000) {
        let cx = quic_at(MSS, srtt);
        let prior = segments * MSS;
        let (mut cuback, mut w) = after_loss(prior, Params::default(), &cx);
        let curve = curve(w.cwnd, prior, prior, srtt, MSS);
        let ahead = (w.cwnd..=prior).step_by(MSS as usize).all(|w| curve.cubic(curve.time(w)).is_some_and(|cubic| cubic <= curve.reno(w)));
        prop_assume!(ahead);
        let mut bytes = 0u64;
        while w.cwnd + MSS <= prior {
            acked(&mut cuback, &mut w, MSS, &cx);
            bytes += MSS;
        }
        let (took, k) = (bytes as f64 * srtt as f64 / prior as f64, k_us(prior, prior * 7 / 10, MSS) as f64 / 1e3);
        // The window moves by whole segments, and the last of them below the plateau is the longest.
        let last = curve.due(w.cwnd) as f64 * srtt as f64 / prior as f64;
        prop_assert!(took <= k * 1.01 && took + last >= k * 0.99, "{took} ms instead of {k}");
    }

    /// Shows CUBACK 4-grow.
    #[test]
    fn nothing_ever_lowers_the_window_or_stops(
        steps in prop::collection::vec((0u8..6, prop_oneof![Just(0), Just(1), Just(u64::MAX), 1u64..100_000_000]), 1..60),
        mss in prop_oneof![Just(1u64), Just(MSS), Just(1 << 16)], srtt in prop_oneof![Just(0u64), Just(1), Just(1 << 30)],
        num in 1u16..=u16::MAX, den in 1u16..=u16::MAX, inflight in any::<bool>(),
    ) {
        let base = if inflight { firstflight::avoidance::Base::Inflight } else { firstflight::avoidance::Base::Cwnd };
        let mut cuback = Cuback::new(firstflight::with!(Params { beta: Ratio::new(num, den), base, ..Params::default() }));
        let (cx, mut w) = (quic_at(mss, srtt), avoiding(10 * mss));
        let saved = cuback.save();
        for (kind, amount) in steps {
            let before = w.cwnd;
            match kind {
                0..=2 => {
                    acked(&mut cuback, &mut w, amount, &cx);
                    prop_assert!((before..=MAX_BYTES.max(before)).contains(&w.cwnd));
                    cuback.reach(&Told::default().ack(), amount, w, &cx);
                }
                3 => {
                    let left = cuback.reduce(&cut(Signal::Loss, amount), w, &cx);
                    prop_assert!(left.cwnd >= 2 * mss && left.cwnd <= before.max(2 * mss));
                    w = avoiding(left.cwnd);
                }
                4 => cuback.hand_over(Handover::RapidDone { beta: Ratio::new(num, den) }, w, &cx),
                _ if amount == 0 => cuback.restore(saved),
                _ => w.cwnd = amount.clamp(2 * mss, MAX_BYTES),
            }
        }
    }
}
