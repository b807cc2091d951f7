//! Reno: RFC 5681 section 3, RFC 9002 section 7, RFC 8511.

use crate::hooks::{self, avoiding};
use crate::told::Told;
use firstflight::avoidance::reno::{Params, Profile};
use firstflight::avoidance::{Avoidance, Base, Cut, Reno};
use firstflight::event::{Context, Signal, Window};
use firstflight::startup::Handover;
use firstflight::units::{Nanos, Ratio, Time, UNSET_SSTHRESH};
use proptest::prelude::*;

const MSS: u64 = 1448;

const CX: Context = hooks::quic(MSS);

fn loss(flight: u64) -> Cut {
    hooks::cut(Time(0), Signal::Loss, flight)
}

fn grow(reno: &mut Reno, w: &mut Window, acked: u64) -> u64 {
    hooks::grow(reno, w, &Told { acked, ..Told::default() }, &CX)
}

/// Something that happens to the controller.
type Interruption = fn(&mut Reno);

/// Shows RFC5681 3.1-eq3.
#[test]
fn growth_keeps_the_remainder_of_every_division() {
    // | cwnd 14480, five ACKs of 2896 | +289, +284, +279, +273, +269 -> 15 874 (remainder after the first: 8688) |
    let (mut reno, mut w) = (Reno::default(), avoiding(14_480));
    for (n, expected) in [289, 284, 279, 273, 269].into_iter().enumerate() {
        let gain = grow(&mut reno, &mut w, 2896);
        assert_eq!(gain, expected, "ACK {n} grows the window by {expected} bytes, not by {gain}");
        if n == 0 {
            assert_eq!(
                reno.save(),
                8688,
                "the first ACK leaves a remainder of 8688, not of {}",
                reno.save()
            );
        }
    }
    assert_eq!(w.cwnd, 15_874, "the window ends at 15874, not at {}", w.cwnd);
}

/// Shows RFC5681 3.1-eq3, RFC9002 7.3.3-1.
#[test]
fn one_window_acknowledged_is_one_segment_of_growth() {
    for segments in [2, 10, 100, 863] {
        let (mut reno, mut w) = (Reno::default(), avoiding(segments * MSS));
        let gain = grow(&mut reno, &mut w, segments * MSS);
        assert_eq!(
            gain, MSS,
            "{segments} segments acknowledged grow {segments} by {MSS} bytes, not by {gain}"
        );
    }
}

/// Shows RFC5681 3.1-eq3.
#[test]
fn small_acks_on_a_large_window_still_grow_it() {
    // One segment in 2000 is less than a byte per ACK of one byte: with truncation the window would
    // stand still for ever.
    let (mut reno, mut w) = (Reno::default(), avoiding(2000 * MSS));
    let gain: u64 = (0..2000 * MSS / 100).map(|_| grow(&mut reno, &mut w, 100)).sum();
    assert!(
        (MSS - 2..=MSS).contains(&gain),
        "a window acknowledged in ACKs of 100 bytes gives about {MSS} bytes, not {gain}"
    );
}

/// Shows RFC9002 7.8-1.
#[test]
fn an_unused_window_does_not_grow() {
    let (mut reno, mut w) = (Reno::default(), avoiding(14_480));
    reno.grow(
        &Told::default().ack(),
        2896,
        &mut w,
        &firstflight::with!(Context { limited: false, ..CX }),
    );
    assert_eq!(
        w.cwnd, 14_480,
        "the window stays at 14480 while it is not the limit, but is {}",
        w.cwnd
    );
}

/// Shows RFC5681 3.1-eq4, RFC9002 7.3.2-2, RFC8511 3.1-1, OURS first-beta.
#[test]
fn a_reduction_multiplies_by_beta_and_respects_two_segments() {
    let half = Params::default();
    let abe = firstflight::with!(Params { abe: Some(Params::ABE), ..half });
    let first = firstflight::with!(Params { first_beta: Some(Ratio::new(2, 5)), ..half });
    let window = firstflight::with!(Params { base: Base::Cwnd, ..half });
    // params, signal, from slow start, cwnd, in flight -> threshold = window
    let rows = [
        ("loss", half, Signal::Loss, false, 100_000, 100_000, 50_000),
        ("marks without ABE", half, Signal::Ecn, false, 100_000, 100_000, 50_000),
        ("marks with ABE", abe, Signal::Ecn, false, 100_000, 100_000, 80_000),
        ("loss with ABE", abe, Signal::Loss, false, 100_000, 100_000, 50_000),
        ("first cut", first, Signal::Loss, true, 100_000, 100_000, 40_000),
        ("later cut", first, Signal::Loss, false, 100_000, 100_000, 50_000),
        ("base is the flight", half, Signal::Loss, false, 100_000, 90_000, 45_000),
        ("base is the window", window, Signal::Loss, false, 100_000, 90_000, 50_000),
        ("base is never above the window", half, Signal::Loss, false, 100_000, 190_000, 50_000),
        ("just above two segments", window, Signal::Loss, false, 4 * MSS + 2, 0, 2 * MSS + 1),
        ("at two segments", window, Signal::Loss, false, 4 * MSS, 0, 2 * MSS),
        ("below two segments", half, Signal::Loss, false, 3 * MSS, 0, 2 * MSS),
        ("marks below two segments", half, Signal::Ecn, false, 3 * MSS, 0, 2 * MSS),
    ];
    for (what, params, signal, from_slow_start, cwnd, inflight_before, expected) in rows {
        let cut = Cut { from_slow_start, ..hooks::cut(Time(0), signal, inflight_before) };
        let left = Reno::new(params).reduce(&cut, avoiding(cwnd), &CX);
        assert_eq!(
            (left.cwnd, left.ssthresh),
            (expected, expected),
            "{what}: {expected} remain, not {left:?}"
        );
    }
}

/// Shows RFC5681 3.1-eq4.
#[test]
fn a_timeout_halves_the_flight_not_the_window() {
    for (flight, expected) in [(100_000, 50_000), (4 * MSS, 2 * MSS), (0, 2 * MSS)] {
        let got = Reno::default().on_rto(
            &hooks::timeout(Time(0), flight, avoiding(200_000)),
            avoiding(200_000),
            &CX,
        );
        assert_eq!(
            got, expected,
            "a timeout with {flight} in flight sets the threshold to {expected}, not to {got}"
        );
    }
}

#[test]
fn every_interruption_drops_the_remainder() {
    let interruptions: [(&str, Interruption); 4] = [
        ("loss", |r| _ = r.reduce(&loss(0), avoiding(14_480), &CX)),
        ("timeout", |r| {
            _ = r.on_rto(&hooks::timeout(Time(0), 0, avoiding(14_480)), avoiding(14_480), &CX);
        }),
        ("persistent congestion", |r| r.on_persistent_congestion(Time(0))),
        ("hand-over", |r| r.hand_over(Handover::LossFree, avoiding(14_480), &CX)),
    ];
    for (what, interrupt) in interruptions {
        let (mut reno, mut w) = (Reno::default(), avoiding(14_480));
        grow(&mut reno, &mut w, 2896);
        interrupt(&mut reno);
        assert_eq!(reno.save(), 0, "{what} leaves no remainder, but {} is left", reno.save());
    }
}

#[test]
fn a_false_alarm_gives_everything_back() {
    let (mut reno, mut w) = (Reno::default(), avoiding(14_480));
    grow(&mut reno, &mut w, 2896);
    let (before, saved) = (reno, reno.save());
    reno.reduce(&loss(0), w, &CX);
    reno.restore(saved);
    assert_eq!(reno, before, "restored {reno:?} equals {before:?}");
}

#[test]
fn reno_has_no_epochs() {
    let (mut reno, mut w) = (Reno::default(), avoiding(14_480));
    grow(&mut reno, &mut w, 2896);
    reno.on_idle(Time(1), Nanos(1), Nanos(1));
    assert_eq!(reno.epoch_start(), None, "Reno has no epoch, but names one");
}

proptest! {
    /// Avoidance 11-2: splitting one ACK into k changes the window by at most I^2/cwnd + k bytes.
    #[test]
    fn splitting_an_ack_hardly_matters(cwnd in 2 * MSS..10_000 * MSS, share in 1u64..=1000, k in 1u64..20) {
        let acked = (cwnd * share / 1000).max(k);
        let (mut whole, mut parts) = (avoiding(cwnd), avoiding(cwnd));
        let gain = grow(&mut Reno::default(), &mut whole, acked);
        let mut reno = Reno::default();
        for n in 0..k {
            grow(&mut reno, &mut parts, acked / k + u64::from(n < acked % k));
        }
        let bound = gain * gain / cwnd + k;
        prop_assert!(whole.cwnd.abs_diff(parts.cwnd) <= bound, "whole {} and split {} differ by more than {bound}", whole.cwnd, parts.cwnd);
    }

    /// Any input: no panic, growth never lowers, a cut never leaves less than two segments.
    #[test]
    fn nonsense_is_survived(
        steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), 0u8..5, any::<bool>()), 1..50),
        num in any::<u16>(), den in 1u16.., mss in prop_oneof![Just(0), Just(u64::MAX), 1u64..70_000],
    ) {
        let params = firstflight::with!(Params { beta: Ratio::new(num, den), base: Base::Inflight, ..Params::default() });
        let mut reno = Reno::new(params);
        let cx = firstflight::with!(Context { mss, ..CX });
        let least = 2 * mss.clamp(1, 1 << 16);
        for (cwnd, a, b, what, flag) in steps {
            let mut w = Window { cwnd, ssthresh: if flag { UNSET_SSTHRESH } else { a } };
            match what {
                0 | 1 => {
                    reno.grow(&Told { now: Time(b), ..Told::default() }.ack(), a, &mut w, &cx);
                    prop_assert!(w.cwnd >= cwnd, "growth lowers {cwnd} to {}", w.cwnd);
                }
                2 => {
                    let cut = Cut { from_slow_start: flag, ..hooks::cut(Time(b), Signal::Loss, a) };
                    let left = reno.reduce(&cut, w, &cx);
                    prop_assert!(left.cwnd >= least && left.ssthresh >= least, "{left:?} is below {least}");
                    prop_assert!(left.cwnd <= cwnd.max(least), "a cut raises {cwnd} to {}", left.cwnd);
                }
                3 => prop_assert!(reno.on_rto(&hooks::timeout(Time(b), a, w), w, &cx) >= least),
                _ => reno.on_idle(Time(a), Nanos(b), Nanos(b)),
            }
        }
    }
}

/// The kernel's Reno grows by whole segments, once as many are acknowledged as the window has; a count
/// that exceeds a smaller window gives one segment at once.
#[test]
fn the_kernels_reno_counts_segments() {
    let mut reno = Reno::new(Params::LINUX);
    let mut w = avoiding(10 * MSS);
    assert_eq!(grow(&mut reno, &mut w, 9 * MSS), 0, "nine of ten");
    assert_eq!(grow(&mut reno, &mut w, 2 * MSS), MSS, "eleven of ten");
    assert_eq!(grow(&mut reno, &mut w, 9 * MSS), 0, "ten of eleven");
    let mut smaller = avoiding(4 * MSS);
    assert_eq!(grow(&mut reno, &mut smaller, MSS), MSS, "ten were counted before");
    assert_eq!(grow(&mut reno, &mut smaller, 13 * MSS), 2 * MSS, "fourteen of five");
}

/// The kernel's Reno halves the window in whole segments, also at a timeout with little in flight, and
/// gives back no count after a false alarm.
#[test]
fn the_kernels_reno_halves_the_window_whatever_is_in_flight() {
    let (mut reno, w) = (Reno::new(Params::LINUX), avoiding(15 * MSS));
    assert_eq!(reno.reduce(&loss(4 * MSS), w, &CX).ssthresh, 7 * MSS);
    assert_eq!(reno.on_rto(&loss(4 * MSS), w, &CX), 7 * MSS);
    assert_eq!(reno.on_rto(&loss(MSS), avoiding(3 * MSS), &CX), 2 * MSS, "at least two");
    let mut of_flight = Reno::new(Params::default());
    assert_eq!(of_flight.on_rto(&loss(4 * MSS), w, &CX), 2 * MSS);
    let (mut kernel, mut documents) = (reno, of_flight);
    for reno in [&mut kernel, &mut documents] {
        let mut w = avoiding(10 * MSS);
        grow(reno, &mut w, 9 * MSS);
        let saved = reno.save();
        reno.reduce(&loss(10 * MSS), w, &CX);
        reno.restore(saved);
    }
    let mut w = avoiding(10 * MSS);
    assert_eq!(grow(&mut kernel, &mut w, MSS), 0, "{:?}", Profile::Linux);
    let mut w = avoiding(10 * MSS);
    assert!(grow(&mut documents, &mut w, MSS) > 0);
}
