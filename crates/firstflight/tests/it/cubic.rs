//! CUBIC: RFC 9438, the hand-over from every startup, and what must never happen. Properties over
//! random input: `cubic_properties.rs`.

use crate::hooks::{self, avoiding};
use crate::told::Told;
use firstflight::avoidance::cubic::{Idle, Params};
use firstflight::avoidance::cubic_curve::{Curve, MAX_US, icbrt, k_us, rise};
use firstflight::avoidance::{Avoidance, Base, Cubic, Cut};
use firstflight::event::{Context, Signal, Transport, Window};
use firstflight::startup::Handover;
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Time, UNSET_SSTHRESH};

const MSS: u64 = 1448;
const START: Time = Time(5_000_000_000);
const BETA: Ratio = Ratio::new(7, 10);

const CX: Context = hooks::quic(MSS);

fn cut(signal: Signal) -> Cut {
    hooks::cut(START, signal, MAX_BYTES)
}

fn grow_at(
    cubic: &mut Cubic,
    w: &mut Window,
    now: Time,
    srtt: Nanos,
    acked: u64,
    cx: &Context,
) -> u64 {
    hooks::grow(cubic, w, &Told { now, acked, srtt: Some(srtt), ..Told::default() }, cx)
}

/// Cut from `before` bytes, with the epoch begun at `START` by an ACK that acknowledges nothing
/// that counts.
fn after_loss(before: u64, params: Params) -> (Cubic, Window) {
    let mut cubic = Cubic::new(params);
    let mut w = hooks::reduced(&mut cubic, &cut(Signal::Loss), avoiding(before), &CX);
    grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 0, &CX);
    (cubic, w)
}

fn handed_over(handover: Handover, cwnd: u64, params: Params) -> (Cubic, Window) {
    let (mut cubic, mut w) = (Cubic::new(params), avoiding(cwnd));
    cubic.hand_over(handover, w, &CX);
    grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 0, &CX);
    (cubic, w)
}

fn fly(cubic: &mut Cubic, w: &mut Window, rtt: Nanos, done: impl Fn(&Window) -> bool) -> Nanos {
    let grow = |now, w: &mut Window| _ = grow_at(cubic, w, now, rtt, 2 * MSS, &CX);
    hooks::fly(w, (START, MSS, rtt, Nanos::from_secs(100)), grow, done)
}

/// Something that happens to the controller.
type Congestion = fn(&mut Cubic);

/// Shows RFC9438 4.2-fig2.
#[test]
fn k_vectors() {
    for (w_max, cwnd_epoch, mss, expected) in [
        (1_448_000, 1_013_600, MSS, 9_085_602),
        (1_000_000, 700_000, MSS, 8_030_900),
        (144_800, 101_360, MSS, 4_217_163),
        (1_500_000, 525_000, MSS, 11_895_755),
        (750_000, 525_000, MSS, 7_296_557),
        (1_500_000, 525_000, 1500, 11_756_673),
        (750_000, 525_000, 1500, 7_211_247),
        (700_000, 700_000, MSS, 0),
        (600_000, 700_000, MSS, 0),
    ] {
        let k = k_us(w_max, cwnd_epoch, mss);
        assert_eq!(
            k, expected,
            "from {cwnd_epoch} to {w_max} with mss {mss} takes {expected} us, not {k}"
        );
    }
}

/// Shows RFC9438 4.2-fig1, RFC9438 5.1-c.
#[test]
fn distance_vectors() {
    for (dt_us, expected) in
        [(0, 0), (1_000_000, 579), (2_000_000, 4633), (5_000_000, 72_400), (6_300_000, 144_827)]
    {
        let d = rise(dt_us, MSS);
        assert_eq!(
            d, expected,
            "{dt_us} us away from the plateau the curve is {expected} bytes off, not {d}"
        );
    }
}

/// Shows RFC9438 4.2-fig1.
#[test]
fn curve_vectors() {
    let curve = Curve::new(1_000_000, 700_000, MSS);
    let k = curve.k_us();
    for (what, t_us, expected) in [
        ("t = 0", 0, 700_001),
        ("1 s", 1_000_000, 798_692),
        ("K", k, 1_000_000),
        ("K + 1 s", k + 1_000_000, 1_000_579),
        ("10 s", 10_000_000, 1_004_422),
    ] {
        assert_eq!(
            curve.at(t_us),
            expected,
            "at {what} the curve is at {expected}, not at {}",
            curve.at(t_us)
        );
    }
}

#[test]
fn the_curve_saturates_instead_of_wrapping() {
    let curve = Curve::new(u64::MAX, 0, 0);
    assert_eq!(
        (curve.w_max(), curve.k_us()),
        (MAX_BYTES, MAX_US),
        "nonsense is cut to the bounds, not {curve:?}"
    );
    assert_eq!(
        Curve::new(MAX_BYTES, MAX_BYTES, MSS).at(u64::MAX),
        MAX_BYTES,
        "no window exceeds 1 TiB"
    );
    assert_eq!(
        Curve::new(1000, 0, 1 << 16).at(0),
        1000 - rise(k_us(1000, 0, 1 << 16), 1 << 16),
        "the largest segment fits"
    );
    assert_eq!(icbrt(u128::MAX), 6_981_463_658_331, "the cube root of 2^128 - 1");
}

/// Shows RFC9438 4.2-target.
#[test]
fn growth_follows_the_curve_one_rtt_ahead() {
    // | same epoch, t = 1 s, srtt 100 ms, cwnd 700 000, acked 2896 | target 807 160, +443 B |
    assert_eq!(
        Curve::new(1_000_000, 700_000, MSS).at(1_100_000),
        807_160,
        "the target lies at 1.1 s"
    );
    let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
    let gain = grow_at(
        &mut cubic,
        &mut w,
        START + Nanos::from_secs(1),
        Nanos::from_millis(100),
        2896,
        &CX,
    );
    assert_eq!(gain, 443, "2896 bytes acknowledged grow the window by 443 bytes, not by {gain}");
}

/// Shows RFC9438 4.3-fig4.
#[test]
fn reno_grows_nine_seventeenths_below_the_old_window_and_a_segment_above() {
    // | w_est gain for one window acked | 766 B (9/17 mss) before, 1448 after w_est >= cwnd_prior |
    for (what, (mut cubic, mut w), expected) in [
        ("below", after_loss(1_000_000, Params::default()), 766),
        ("at", handed_over(Handover::LossFree, 700_000, Params::default()), 1448),
    ] {
        let before = cubic.w_est();
        grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 700_000, &CX);
        assert_eq!(
            before,
            Some(700_000),
            "the Reno window starts at the window, not at {before:?}"
        );
        assert_eq!(
            cubic.w_est(),
            Some(700_000 + expected),
            "{what} the old window one window gives {expected}, not {:?}",
            cubic.w_est()
        );
    }
}

/// Shows RFC9438 4.3-fig4.
#[test]
fn alpha_follows_beta() {
    // 3(1-beta)/(1+beta) of one segment per window: beta, bytes.
    for (beta, expected) in [
        (Ratio::new(1, 2), 1448),
        (Ratio::new(7, 10), 766),
        (Ratio::new(4, 5), 482),
        (Ratio::new(17, 20), 352),
    ] {
        let mut cubic = Cubic::new(firstflight::with!(Params { beta, ..Params::default() }));
        let mut w = avoiding(cubic.reduce(&cut(Signal::Loss), avoiding(1_000_000), &CX).cwnd);
        let (cwnd, before) = (w.cwnd, w.cwnd);
        grow_at(&mut cubic, &mut w, START, Nanos::ZERO, cwnd, &CX);
        let gain = cubic.w_est().unwrap_or_default() - before;
        assert_eq!(
            gain, expected,
            "with beta {beta} one window gives {expected} bytes, not {gain}"
        );
    }
}

/// Shows RFC9438 4.6-fig5.
#[test]
fn a_loss_remembers_the_window_it_cut() {
    let mut cubic = Cubic::default();
    let left = cubic.reduce(&cut(Signal::Loss), avoiding(1_000_000), &CX);
    assert_eq!((left.ssthresh, left.cwnd), (700_000, 700_000), "seven tenths remain, not {left:?}");
    let kept = (cubic.w_max(), cubic.cwnd_prior());
    assert_eq!(
        kept,
        (Some(1_000_000), 1_000_000),
        "the plateau and the old window are 1000000, not {kept:?}"
    );
    assert_eq!(cubic.epoch_start(), None, "no epoch runs until the window grows again");
}

/// Shows RFC9438 4.7-1.
#[test]
fn fast_convergence_lowers_the_plateau_only_below_the_last_one() {
    let on = Params::default();
    let off = firstflight::with!(Params { fast_convergence: false, ..on });
    for (what, params, last, cwnd, expected) in [
        ("below", on, 1_200_000, 1_000_000, 850_000),
        ("a byte below", on, 1_000_001, 1_000_000, 850_000),
        ("equal", on, 1_000_000, 1_000_000, 1_000_000),
        ("above", on, 900_000, 1_000_000, 1_000_000),
        ("below, switched off", off, 1_200_000, 1_000_000, 1_000_000),
    ] {
        let mut cubic = Cubic::new(params);
        cubic.reduce(&cut(Signal::Loss), avoiding(last), &CX);
        cubic.reduce(&cut(Signal::Loss), avoiding(cwnd), &CX);
        assert_eq!(
            cubic.w_max(),
            Some(expected),
            "{what}: the plateau is {expected}, not {:?}",
            cubic.w_max()
        );
        assert_eq!(cubic.cwnd_prior(), cwnd, "{what}: the old window is the one before the cut");
    }
}

/// Shows OURS first-beta, RFC9438 4.6-beta, RFC8511 3.1-2.
#[test]
fn a_reduction_multiplies_by_the_beta_of_its_signal() {
    let plain = Params::default();
    let abe = firstflight::with!(Params { abe: Some(Params::ABE), ..plain });
    let first = firstflight::with!(Params { first_beta: Some(Ratio::new(1, 2)), ..abe });
    let window = firstflight::with!(Params { base: Base::Cwnd, ..plain });
    // params, signal, from slow start, in flight -> threshold = window, from 100 000
    for (what, params, signal, from_slow_start, inflight_before, expected) in [
        ("loss", plain, Signal::Loss, false, 100_000, 70_000),
        ("marks without ABE", plain, Signal::Ecn, false, 100_000, 70_000),
        ("marks with ABE", abe, Signal::Ecn, false, 100_000, 85_000),
        ("loss with ABE", abe, Signal::Loss, false, 100_000, 70_000),
        ("first cut, loss", first, Signal::Loss, true, 100_000, 50_000),
        ("first cut, marks", first, Signal::Ecn, true, 100_000, 50_000),
        ("later cut", first, Signal::Loss, false, 100_000, 70_000),
        ("base is the flight", plain, Signal::Loss, false, 90_000, 63_000),
        ("base is the window", window, Signal::Loss, false, 90_000, 70_000),
        ("base is never above the window", plain, Signal::Loss, false, 190_000, 70_000),
    ] {
        let mut cubic = Cubic::new(params);
        let left = cubic.reduce(
            &Cut { from_slow_start, ..hooks::cut(START, signal, inflight_before) },
            avoiding(100_000),
            &CX,
        );
        assert_eq!(
            (left.ssthresh, left.cwnd),
            (expected, expected),
            "{what}: {expected} remain, not {left:?}"
        );
    }
}

/// Shows RFC9438 4.6-fig5.
#[test]
fn the_minimum_is_two_segments_and_one_after_marks_in_tcp() {
    for (what, transport, signal, cwnd, ssthresh) in [
        ("loss in QUIC", Transport::Quic, Signal::Loss, 2 * MSS, 2 * MSS),
        ("loss in TCP", Transport::Tcp, Signal::Loss, 2 * MSS, 2 * MSS),
        ("marks in QUIC", Transport::Quic, Signal::Ecn, 2 * MSS, 2 * MSS),
        ("marks in TCP", Transport::Tcp, Signal::Ecn, 7 * MSS / 5, 2 * MSS),
    ] {
        let left = Cubic::default().reduce(
            &cut(signal),
            avoiding(2 * MSS),
            &firstflight::with!(Context { transport, ..CX }),
        );
        assert_eq!(
            (left.cwnd, left.ssthresh),
            (cwnd, ssthresh),
            "{what}: {cwnd} and {ssthresh} remain, not {left:?}"
        );
    }
    let left = Cubic::default().reduce(
        &cut(Signal::Ecn),
        avoiding(MSS),
        &firstflight::with!(Context { transport: Transport::Tcp, ..CX }),
    );
    assert_eq!(left.cwnd, MSS, "marks leave at least one segment in TCP, not {}", left.cwnd);
}

/// The hand-over table: exit, window, fast convergence -> plateau, old window, K.
/// Shows RAPID 3.3.3-1, RFC9438 4.10-1.
#[test]
fn every_startup_hands_over_what_its_row_says() {
    let rapid = Handover::RapidDone { beta: BETA };
    for (handover, cwnd, fast_convergence, w_max, prior, k) in [
        (Handover::LossFree, 525_000, true, 525_000, 525_000, 0),
        (Handover::Drained, 525_000, true, 525_000, 525_000, 0),
        (Handover::LssEntry, 525_000, true, 525_000, 525_000, 0),
        (Handover::AfterTimeout, 525_000, true, 525_000, 525_000, 0),
        (rapid, 525_000, true, 1_500_000, 750_000, 11_895_755),
        (rapid, 525_000, false, 750_000, 750_000, 7_296_557),
    ] {
        let (cubic, w) = handed_over(
            handover,
            cwnd,
            firstflight::with!(Params { fast_convergence, ..Params::default() }),
        );
        let got = (cubic.w_max(), cubic.cwnd_prior(), cubic.k_us());
        assert_eq!(
            got,
            (Some(w_max), prior, Some(k)),
            "{handover:?}: plateau, old window and K are {:?}, not {got:?}",
            (w_max, prior, k)
        );
        assert_eq!(w.cwnd, cwnd, "{handover:?}: the window stays at {cwnd}, but is {}", w.cwnd);
        assert_eq!(
            cubic.epoch_start(),
            Some(START),
            "{handover:?}: the epoch begins with the first growth"
        );
    }
}

#[test]
fn a_loss_in_slow_start_is_an_ordinary_reduction() {
    let mut cubic = Cubic::default();
    let w = Window { cwnd: 1_000_000, ssthresh: UNSET_SSTHRESH };
    let first = Cut { from_slow_start: true, ..cut(Signal::Loss) };
    let mut w = hooks::reduced(&mut cubic, &first, w, &CX);
    grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 0, &CX);
    let got = (cubic.w_max(), cubic.cwnd_prior(), cubic.k_us());
    assert_eq!(
        got,
        (Some(1_000_000), 1_000_000, Some(8_030_900)),
        "the curve leads back to the window before the cut, not {got:?}"
    );
}

/// Shows RFC9438 4.8-1.
#[test]
fn a_timeout_cuts_like_a_loss_and_the_next_epoch_begins_flat() {
    let (mut cubic, w) = after_loss(1_000_000, Params::default());
    let ssthresh = cubic.on_rto(&hooks::timeout(START, 700_000, w), w, &CX);
    assert_eq!(ssthresh, 490_000, "the threshold is seven tenths of the window, not {ssthresh}");
    assert_eq!(
        cubic.w_max(),
        Some(595_000),
        "below the last plateau fast convergence applies, not {:?}",
        cubic.w_max()
    );
    let mut w = avoiding(490_000);
    grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 0, &CX);
    let got = (cubic.w_max(), cubic.cwnd_prior(), cubic.k_us());
    assert_eq!(
        got,
        (Some(490_000), 490_000, Some(0)),
        "where slow start met the threshold the curve is flat, not {got:?}"
    );
}

#[test]
fn persistent_congestion_ends_the_epoch_and_the_next_begins_flat() {
    let (mut cubic, _) = after_loss(1_000_000, Params::default());
    cubic.on_persistent_congestion(START);
    assert_eq!(cubic.epoch_start(), None, "no epoch survives persistent congestion");
    let mut w = avoiding(700_000);
    grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 0, &CX);
    assert_eq!(
        cubic.k_us(),
        Some(0),
        "K is zero after the slow start that follows, not {:?}",
        cubic.k_us()
    );
}

/// Shows RFC9438 4.9-1.
#[test]
fn a_false_alarm_gives_everything_back() {
    let (mut cubic, mut w) = after_loss(
        1_000_000,
        firstflight::with!(Params { ca_floor_20: true, ..Params::default() }),
    );
    grow_at(&mut cubic, &mut w, START + Nanos::from_secs(1), Nanos::from_millis(100), 2896, &CX);
    let (before, saved) = (cubic, cubic.save());
    cubic.reduce(&cut(Signal::Loss), w, &CX);
    assert_ne!(cubic, before, "the reduction changes the state");
    cubic.restore(saved);
    assert_eq!(cubic, before, "undoing the cut restores everything");
    cubic.restore(saved);
    assert_eq!(cubic, before, "undoing twice is undoing once");
}

#[test]
fn a_loss_free_exit_grows_slowly_by_the_curve_alone() {
    // | segments | +10 % after | doubled after | in ms
    for (segments, tenth_ms, double_ms) in
        [(100, 2924, 6300), (863, 5998, 12_921), (1033, 6368, 13_719)]
    {
        let w = segments * MSS;
        let curve = Curve::new(w, w, MSS);
        for (goal, ms) in [(w + w / 10, tenth_ms), (2 * w, double_ms)] {
            assert!(
                curve.at((ms - 1) * 1000) < goal,
                "{segments} segments have not reached {goal} 1 ms before {ms} ms"
            );
            assert!(
                curve.at((ms + 1) * 1000) >= goal,
                "{segments} segments have reached {goal} 1 ms after {ms} ms"
            );
        }
    }
}

/// Shows RFC9438 4.3-1.
#[test]
fn a_loss_free_exit_grows_a_segment_per_rtt_from_the_start() {
    let rtt = Nanos::from_millis(100);
    // Ten round trips are one second, where the curve has 0.4 segments to offer.
    let (mut cubic, mut w) = handed_over(Handover::LossFree, 100 * MSS, Params::default());
    let took = fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 109 * MSS);
    assert!(
        (9..=11).contains(&(took.0 / rtt.0)),
        "nine segments take about nine round trips, not {:.1}",
        took.0 as f64 / rtt.0 as f64
    );
}

/// Shows LINUX cubic-floor.
#[test]
fn with_the_floor_a_loss_free_exit_doubles_in_fourteen_round_trips() {
    let rtt = Nanos::from_millis(140);
    let doubling = |params| {
        let (mut cubic, mut w) = handed_over(Handover::LossFree, 1033 * MSS, params);
        fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 2066 * MSS).0 as f64 / rtt.0 as f64
    };
    let (with, without) = (
        doubling(firstflight::with!(Params { ca_floor_20: true, ..Params::default() })),
        doubling(Params::default()),
    );
    assert!((with - 14.2).abs() < 0.3, "1.05^n = 2 at 14.2 round trips, not {with:.2}");
    // 13.72 s by the curve alone, less what the look-ahead of one RTT gives.
    assert!(
        (90.0..=98.0).contains(&without),
        "without the floor it takes about 97 round trips, not {without:.1}"
    );
}

/// Shows LINUX cubic-floor.
#[test]
fn the_floor_ends_with_the_first_congestion_event() {
    let params = firstflight::with!(Params { ca_floor_20: true, ..Params::default() });
    let (mut cubic, mut w) = handed_over(Handover::LossFree, 1000 * MSS, params);
    let gain = grow_at(&mut cubic, &mut w, START, Nanos::ZERO, 2900, &CX);
    assert_eq!(gain, 145, "before it a twentieth of 2900 is 145 bytes, not {gain}");
    let congestion: [(&str, Congestion); 3] = [
        ("marks", |c| _ = c.reduce(&cut(Signal::Ecn), avoiding(1000 * MSS), &CX)),
        ("timeout", |c| {
            _ = c.on_rto(
                &hooks::timeout(START, 0, avoiding(1000 * MSS)),
                avoiding(1000 * MSS),
                &CX,
            );
        }),
        ("persistent congestion", |c| c.on_persistent_congestion(START)),
    ];
    for (what, happens) in congestion {
        let mut after = cubic;
        happens(&mut after);
        after.hand_over(Handover::LossFree, avoiding(1000 * MSS), &CX);
        let mut w = avoiding(1000 * MSS);
        let gain = grow_at(&mut after, &mut w, START, Nanos::ZERO, 2900, &CX);
        assert_eq!(gain, 2, "after {what} only Reno's two bytes are left, not {gain}");
    }
}

/// Shows RFC9438 4.2-fig2.
#[test]
fn the_curve_returns_to_the_old_window_after_k() {
    let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
    let took = fly(&mut cubic, &mut w, Nanos::from_millis(50), |w| w.cwnd >= 999_000);
    // d(x) = 1000 bytes where x = 1.2 s before K = 8.03 s.
    assert!(
        (6_700..=7_000).contains(&(took.0 / 1_000_000)),
        "the window is back 1.2 s before K, at 6.83 s, not at {took:?}"
    );
}

// Errors seen elsewhere.

/// Shows RFC9438 4.10-1.
#[test]
fn the_first_ack_after_an_exit_neither_shrinks_nor_jumps() {
    for handover in
        [Handover::LossFree, Handover::Drained, Handover::AfterTimeout, Handover::LssEntry]
    {
        let (mut cubic, mut w) = (Cubic::default(), avoiding(863 * MSS));
        cubic.hand_over(handover, w, &CX);
        let gain = grow_at(&mut cubic, &mut w, START, Nanos::from_millis(500), 2 * MSS, &CX);
        assert!(gain < MSS, "{handover:?}: the first ACK grows less than a segment, not {gain}");
        assert_eq!(
            cubic.epoch_start(),
            Some(START),
            "{handover:?}: time counts from the exit, not from the start of the connection"
        );
    }
}

/// Shows RFC9438 4.10-1.
#[test]
fn an_exit_without_any_hand_over_is_loss_free() {
    let (mut cubic, mut w) = (Cubic::default(), avoiding(863 * MSS));
    grow_at(&mut cubic, &mut w, START, Nanos::from_millis(500), 2 * MSS, &CX);
    let got = (cubic.w_max(), cubic.k_us());
    assert_eq!(got, (Some(863 * MSS), Some(0)), "the plateau is where the exit was, not {got:?}");
}

/// Shows RFC9438 4.4-1.
#[test]
fn two_segment_acks_do_not_leave_a_large_window_flat() {
    // With whole segments and truncation per ACK 1033 segments stood still for 12 to 16 s.
    let (mut cubic, mut w) = handed_over(Handover::LossFree, 1033 * MSS, Params::default());
    let rtt = Nanos::from_millis(140);
    let took = fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 1034 * MSS);
    assert!(took <= rtt * 2, "the first segment of growth takes a round trip or two, not {took:?}");
}

/// Shows RFC9438 4.4-1.
#[test]
fn growth_does_not_depend_on_how_often_acks_come() {
    let end = |per_ack: u64| {
        let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
        let mut acked = 0;
        // 100 Mbit/s for five seconds.
        while acked < 62_500_000 {
            acked += per_ack;
            grow_at(
                &mut cubic,
                &mut w,
                START + Nanos(acked * 80),
                Nanos::from_millis(50),
                per_ack,
                &CX,
            );
        }
        w.cwnd
    };
    let (one, two, ten) = (end(MSS), end(2 * MSS), end(10 * MSS));
    assert!(
        one.abs_diff(two) < MSS && one.abs_diff(ten) < 5 * MSS,
        "one, two and ten segments per ACK end alike: {one}, {two}, {ten}"
    );
}

/// Shows RFC9438 5.8-1.
#[test]
fn an_unused_window_neither_grows_nor_ages() {
    let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
    let ack = START + Nanos::from_secs(1);
    grow_at(&mut cubic, &mut w, ack, Nanos::ZERO, 2896, &CX);
    let idle = firstflight::with!(Context { limited: false, ..CX });
    for n in 1..=100 {
        let gain =
            grow_at(&mut cubic, &mut w, ack + Nanos::from_millis(37 * n), Nanos::ZERO, 2896, &idle);
        assert_eq!(gain, 0, "an unused window grows by nothing, not by {gain}");
    }
    let moved = cubic.epoch_start();
    assert_eq!(
        moved,
        Some(START + Nanos::from_millis(3700)),
        "3.7 s without a limit move the epoch by as much, not to {moved:?}"
    );
}

/// Shows RFC9438 5.8-1.
#[test]
fn idle_time_is_left_out_once() {
    let unlimited = firstflight::with!(Context { limited: false, ..CX });
    let s = Nanos::from_secs;
    // the ACK after the pause is limited or not; the epoch began at START, the last ACK came at 1
    // s, idle from 2 s to 5 s
    for (what, cx, expected) in [("limited", CX, s(3)), ("not limited", unlimited, s(5))] {
        let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
        grow_at(&mut cubic, &mut w, START + s(1), Nanos::ZERO, 0, &CX);
        cubic.on_idle(START + s(5), s(3), s(4));
        grow_at(&mut cubic, &mut w, START + s(6), Nanos::ZERO, 0, &cx);
        let moved = cubic.epoch_start();
        assert_eq!(
            moved,
            Some(START + expected),
            "{what}: the epoch moves by {expected:?}, not to {moved:?}"
        );
    }
}

/// Shows QUICHE idle-sent.
#[test]
fn counted_from_the_last_send_a_window_of_two_packets_never_grows_again() {
    let rtt = Nanos::from_millis(10);
    let after_a_second = |idle: Idle| {
        let params = firstflight::with!(Params { idle, ..Params::default() });
        let (mut cubic, mut w) = after_loss(2 * MSS, params);
        for round in 1..=100 {
            // Everything is acknowledged at once, and sending resumes at that moment.
            let now = START + rtt * round;
            cubic.on_idle(START + rtt * (round - 1), Nanos::ZERO, rtt);
            let acked = w.cwnd;
            let ack = Told { now, acked, rtt: Some(rtt), srtt: Some(rtt), ..Told::default() };
            cubic.grow(&ack.ack(), acked, &mut w, &CX);
        }
        w.cwnd
    };
    let [kept, grown] = [Idle::Sent, Idle::Flight].map(after_a_second);
    assert_eq!(kept, 2 * MSS, "the epoch lies ahead of every packet: {kept} B");
    assert!(grown > 40 * MSS, "without idle time the window grows to {grown} B");
}

/// Shows QUICHE idle-sent.
#[test]
fn counted_from_the_last_send_packets_from_before_the_epoch_grow_nothing() {
    let params = firstflight::with!(Params { idle: Idle::Sent, ..Params::default() });
    let (mut cubic, mut w) = after_loss(1_000_000, params);
    let s = Nanos::from_secs;
    cubic.on_idle(START + s(5), s(3), s(4));
    assert_eq!(cubic.epoch_start(), Some(START + s(4)), "it moves by the time since the last send");
    for (what, at, rtt, srtt, grows) in [
        ("sent before", s(6), Some(s(3)), s(1), false),
        ("sent at its start", s(6), Some(s(2)), s(1), false),
        ("sent after it", s(6), Some(s(1)), s(1), true),
        ("without a sample", s(5), None, s(2), false),
    ] {
        let ack = Told { now: START + at, acked: 28_960, rtt, srtt: Some(srtt), ..Told::default() };
        let before = w.cwnd;
        cubic.grow(&ack.ack(), 28_960, &mut w, &CX);
        assert_eq!(w.cwnd > before, grows, "{what}: {} B more", w.cwnd - before);
    }
}

#[test]
fn no_pause_moves_an_epoch_beyond_now() {
    let (mut cubic, _) = after_loss(1_000_000, Params::default());
    let now = START + Nanos::from_secs(1);
    cubic.on_idle(now, Nanos::MAX, Nanos::MAX);
    cubic.on_idle(now, Nanos::MAX, Nanos::MAX);
    assert_eq!(
        cubic.epoch_start(),
        Some(now),
        "the epoch starts now at the latest, not at {:?}",
        cubic.epoch_start()
    );
}

#[test]
fn a_clock_that_runs_backwards_only_stops_the_curve() {
    let (mut cubic, mut w) = after_loss(1_000_000, Params::default());
    for now in [START + Nanos::from_secs(2), Time(0), START + Nanos::from_secs(3)] {
        let gain = grow_at(&mut cubic, &mut w, now, Nanos::ZERO, 2896, &CX);
        assert!(
            gain <= 2896 / 2,
            "at {now:?} the window grows by at most half of what is acknowledged, not by {gain}"
        );
    }
    assert_eq!(
        cubic.epoch_start(),
        Some(START),
        "the epoch stays where it began, not {:?}",
        cubic.epoch_start()
    );
}

#[test]
fn signals_are_named_and_current() {
    let (cubic, _) = after_loss(1_000_000, Params::default());
    let mut seen = Vec::new();
    cubic.signals(&mut |name, value| seen.push((name, value)));
    let expected =
        [("w_max", 1_000_000), ("cwnd_prior", 1_000_000), ("w_est", 700_000), ("k_us", 8_030_900)];
    assert_eq!(seen, expected, "the trace shows {expected:?}, not {seen:?}");
}

#[test]
fn the_state_is_as_large_as_documented() {
    let sizes = (size_of::<Cubic>(), size_of::<<Cubic as Avoidance>::Saved>());
    assert_eq!(sizes, (104, 80), "the header of the file says (104, 80) bytes, it is {sizes:?}");
}
