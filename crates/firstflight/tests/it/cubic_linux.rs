//! CUBIC with Linux's arithmetic: whole segments and ticks of 1/1024 s.

use crate::hooks;
use crate::told::Told;
use firstflight::avoidance::cubic::Params;
use firstflight::avoidance::{Avoidance, Cubic};
use firstflight::event::{Context, Signal, Window};
use firstflight::startup::Handover;
use firstflight::units::{Nanos, Time};

const MSS: u64 = 1448;
const START: Time = Time(5_000_000_000);

const CX: Context = hooks::tcp(MSS);

fn segments(n: u64) -> Window {
    hooks::avoiding(n * MSS)
}

fn cut(cubic: &mut Cubic, from: u64) -> Window {
    let cut = hooks::cut(START, Signal::Loss, from * MSS);
    hooks::reduced(cubic, &cut, segments(from), &CX)
}

fn grow(cubic: &mut Cubic, w: &mut Window, now: Time, rtt: Nanos, acked: u64) -> u64 {
    let told = Told { now, acked, srtt: Some(rtt * 3), min_rtt: Some(rtt), ..Told::default() };
    hooks::grow(cubic, w, &told, &CX)
}

fn fly(cubic: &mut Cubic, w: &mut Window, rtt: Nanos, done: impl Fn(&Window) -> bool) -> Nanos {
    let grow = |now, w: &mut Window| _ = grow(cubic, w, now, rtt, 2 * MSS);
    hooks::fly(w, (START, MSS, rtt, Nanos::from_secs(60)), grow, done)
}

#[test]
fn cuts_are_in_whole_segments() {
    // from, last plateau -> window and plateau, in segments: floor(717/1024 n), at least 2;
    // floor(1741/2048 n) below the last plateau.
    for (last, from, window, w_max) in [
        (0, 5120, 3585, 5120),
        (0, 1000, 700, 1000),
        (0, 100, 70, 100),
        (0, 3, 2, 3),
        (0, 2, 2, 2),
        (200, 100, 70, 85),
    ] {
        let mut cubic = Cubic::new(Params::linux());
        if last > 0 {
            cut(&mut cubic, last);
        }
        let w = cut(&mut cubic, from);
        let got = (w.cwnd / MSS, cubic.w_max().unwrap_or_default() / MSS, w.cwnd % MSS);
        assert_eq!(
            got,
            (window, w_max, 0),
            "from {from} segments remain {window} with plateau {w_max}, not {got:?}"
        );
    }
}

/// Shows LINUX cubic-c, LINUX cubic-k.
#[test]
fn the_window_returns_to_its_plateau_as_the_curve_says() {
    let (mut cubic, rtt) = (Cubic::new(Params::linux()), Nanos::from_millis(50));
    let mut w = cut(&mut cubic, 1000);
    let took = fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 990 * MSS);
    // K = (300 / 0.4004)^(1/3) = 9.083 s, and ten segments below the plateau it is (10 /
    // 0.4004)^(1/3) = 2.920 s earlier: 6.163 s. At the soonest an RTT of look-ahead before
    // that, and a segment early, because a started segment of distance does not count: 6.016 s.
    assert!(
        (6_010..=6_170).contains(&(took.0 / 1_000_000)),
        "990 segments are reached between 6.016 and 6.163 s, not at {took:?}"
    );
}

/// Shows LINUX cubic-floor, LINUX cubic-credit.
#[test]
fn without_a_plateau_growth_is_a_segment_per_twenty() {
    let (mut cubic, mut w) = (Cubic::new(Params::linux()), segments(1033));
    cubic.hand_over(Handover::LossFree, w, &CX);
    let rtt = Nanos::from_millis(140);
    let took = fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 2066 * MSS);
    let rounds = took.0 / (rtt.0 / 10);
    assert!((139..=145).contains(&rounds), "doubling takes 14.2 round trips, not {rounds} tenths");
}

/// Shows LINUX cubic-above.
#[test]
fn above_its_target_the_window_stands() {
    let rtt = Nanos::from_millis(100);
    // Cut from 1000 to 700 segments the curve is back at 789 after a second; growth from below,
    // none from above.
    for (from, grows) in [(700, true), (1200, false)] {
        let mut cubic = Cubic::new(Params::linux());
        let mut w = cut(&mut cubic, 1000);
        grow(&mut cubic, &mut w, START, rtt, 2 * MSS);
        w.cwnd = from * MSS;
        for round in 0..10 {
            for ack in 0..from / 2 {
                let now = START + Nanos(rtt.0 * round + rtt.0 * 2 * ack / from);
                grow(&mut cubic, &mut w, now, rtt, 2 * MSS);
            }
        }
        let gained = w.cwnd / MSS - from;
        assert_eq!(gained > 0, grows, "from {from} segments it gained {gained} in ten round trips");
    }
    // One in a hundred windows acknowledged: the kernel has no number for never.
    let mut cubic = Cubic::new(Params::linux());
    let mut w = cut(&mut cubic, 1000);
    grow(&mut cubic, &mut w, START, rtt, 2 * MSS);
    w.cwnd = 1200 * MSS;
    grow(&mut cubic, &mut w, START + rtt, rtt, 2 * MSS);
    let rest = 100 * 1200 - 5;
    assert_eq!(
        grow(&mut cubic, &mut w, START + rtt, rtt, rest * MSS),
        0,
        "{rest} segments acknowledged are not enough"
    );
    assert_eq!(grow(&mut cubic, &mut w, START + rtt, rtt, 5 * MSS), MSS, "a hundred windows are");
}

/// Shows LINUX cubic-reno.
#[test]
fn on_short_paths_reno_sets_the_pace() {
    let (mut cubic, rtt) = (Cubic::new(Params::linux()), Nanos::from_millis(10));
    let mut w = cut(&mut cubic, 20);
    let took = fly(&mut cubic, &mut w, rtt, |w| w.cwnd >= 20 * MSS);
    // The curve alone takes K = (6 / 0.4004)^(1/3) = 2.466 s. Reno with this beta adds 8/15 of a
    // segment per round trip: 6 segments take 11.25 of them, and each started segment and look
    // at the clock at most one more.
    assert!(
        (112..=200).contains(&(took.0 / 1_000_000)),
        "from 14 to 20 segments in 11.25 to 20 round trips of 10 ms, not {took:?}"
    );
}

#[test]
fn a_timeout_forgets_the_plateau() {
    let mut cubic = Cubic::new(Params::linux());
    cut(&mut cubic, 1000);
    let ssthresh = cubic.on_rto(&hooks::timeout(START, 0, segments(700)), segments(700), &CX);
    assert_eq!(ssthresh, 490 * MSS, "717/1024 of 700 segments are 490, not {}", ssthresh / MSS);
    assert_eq!(cubic.w_max(), None, "no plateau survives a timeout, but {:?} does", cubic.w_max());
}

/// Shows LINUX cubic-ceiling.
#[test]
fn growth_is_at_most_a_segment_per_two() {
    // Long after the plateau the curve asks for far more.
    let mut cubic = Cubic::new(Params::linux());
    let mut w = cut(&mut cubic, 100);
    grow(&mut cubic, &mut w, START, Nanos::from_millis(100), 2 * MSS);
    let before = w.cwnd;
    let late = START + Nanos::from_secs(40);
    let gain: u64 = (0..50)
        .map(|n| {
            grow(
                &mut cubic,
                &mut w,
                late + Nanos::from_millis(2 * n),
                Nanos::from_millis(100),
                2 * MSS,
            )
        })
        .sum();
    assert!(
        gain <= 51 * MSS,
        "a hundred segments acknowledged grow {before} by at most 51 segments, not by {}",
        gain / MSS
    );
    assert!(gain >= 48 * MSS, "and the cap is what limits: {} segments", gain / MSS);
}

/// Shows LINUX cubic-standstill.
#[test]
fn a_standing_window_looks_at_the_curve_every_thirty_second_of_a_second() {
    // The first ACK asks for 70 segments per segment (99 segments/s, a tenth of a second ahead, of
    // 700). An RTT of 20 s would ask for 2, which 39 segments pay for, but not before somebody
    // looks.
    for (ticks, looks) in [(1, false), (32, false), (33, true)] {
        let mut cubic = Cubic::new(Params::linux());
        let mut w = cut(&mut cubic, 1000);
        grow(&mut cubic, &mut w, START, Nanos::from_millis(100), MSS);
        let now = START + Nanos((ticks * 1_000_000_000_u64).div_ceil(1024)) + Nanos::from_micros(1);
        let gain = grow(&mut cubic, &mut w, now, Nanos::from_secs(20), 38 * MSS);
        assert_eq!(
            gain > 0,
            looks,
            "after {ticks} ticks the window grows by {} segments",
            gain / MSS
        );
    }
}

/// Shows LINUX cubic-standstill: within a tick of 1/1024 s the curve stays, even if the window has moved.
#[test]
fn a_window_that_moved_looks_at_the_curve_once_per_tick() {
    for (micros, looks) in [(500, false), (1_000, true)] {
        let mut cubic = Cubic::new(Params::linux());
        let mut w = cut(&mut cubic, 1000);
        grow(&mut cubic, &mut w, START, Nanos::from_millis(100), MSS);
        w.cwnd += MSS;
        let now = START + Nanos::from_micros(micros);
        let gain = grow(&mut cubic, &mut w, now, Nanos::from_secs(20), 38 * MSS);
        assert_eq!(gain > 0, looks, "{micros} us later it grows by {} segments", gain / MSS);
    }
}

/// Shows LINUX cubic-reno: with 717/1024 Reno grows by a segment for each 15/8 of the window, which are 26
/// segments of 14; the last of them that are acknowledged wait for one more.
#[test]
fn reno_is_followed_segment_by_segment() {
    let (mut cubic, rtt) = (Cubic::new(Params::linux()), Nanos::from_millis(10));
    let mut w = cut(&mut cubic, 20);
    assert_eq!(w.cwnd, 14 * MSS);
    // Of 104 segments three times 26 are counted: three segments ahead, a segment for each 14 / 3.
    assert_eq!(grow(&mut cubic, &mut w, START, rtt, 104 * MSS), 26 * MSS);
    w.cwnd = 14 * MSS;
    // The next completes the fourth: a segment for each 14 / 4.
    let later = START + Nanos::from_millis(40);
    assert_eq!(grow(&mut cubic, &mut w, later, rtt, 12 * MSS), 4 * MSS);
}

/// Shows LINUX cubic-credit.
#[test]
fn parts_of_segments_add_up() {
    let run = |per_ack: u64| {
        let (mut cubic, mut w) = (Cubic::new(Params::linux()), segments(100));
        let mut acked = 0;
        while acked < 1000 * MSS {
            acked += per_ack;
            grow(&mut cubic, &mut w, START + Nanos(acked * 80), Nanos::from_millis(100), per_ack);
        }
        w.cwnd / MSS
    };
    let (halves, wholes) = (run(MSS / 2), run(MSS));
    assert!(
        halves.abs_diff(wholes) <= 1,
        "half and whole segments per ACK end alike: {halves} and {wholes}"
    );
    assert_eq!(
        run(MSS),
        150,
        "a thousand segments at one per twenty are fifty more, not {}",
        run(MSS) - 100
    );
}

/// Shows LINUX cubic-idle.
#[test]
fn an_unused_window_does_not_grow_and_idle_time_is_left_out() {
    let mut cubic = Cubic::new(Params::linux());
    let mut w = cut(&mut cubic, 1000);
    grow(&mut cubic, &mut w, START, Nanos::from_millis(100), MSS);
    let now = START + Nanos::from_secs(5);
    cubic.grow(
        &Told { now, ..Told::default() }.ack(),
        700 * MSS,
        &mut w,
        &firstflight::with!(Context { limited: false, ..CX }),
    );
    assert_eq!(w.cwnd, 700 * MSS, "an unused window stays at 700 segments, not {}", w.cwnd / MSS);
    cubic.on_idle(now, Nanos::from_secs(2), Nanos::from_secs(3));
    let moved = cubic.epoch_start();
    assert_eq!(
        moved,
        Some(START + Nanos::from_secs(3)),
        "3 s of idleness move the epoch by 3 s, not to {moved:?}"
    );
}

/// After a false alarm the kernel's CUBIC goes on from the plateau that the cut has set, as
/// `tcp_reno_undo_cwnd` leaves it; that of RFC 9438 gets its curve back.
#[test]
fn the_kernels_cubic_gets_no_curve_back() {
    let grown = |params| {
        let (mut cubic, mut w) = (Cubic::new(params), segments(100));
        let saved = cubic.save();
        cut(&mut cubic, 100);
        cubic.restore(saved);
        let rtt = Nanos::from_millis(50);
        (0..20).map(|ack| grow(&mut cubic, &mut w, START + rtt * ack, rtt, 10 * MSS)).sum::<u64>()
    };
    let untouched = {
        let (mut cubic, mut w) = (Cubic::new(Params::linux()), segments(100));
        let rtt = Nanos::from_millis(50);
        (0..20).map(|ack| grow(&mut cubic, &mut w, START + rtt * ack, rtt, 10 * MSS)).sum::<u64>()
    };
    assert!(grown(Params::linux()) < untouched, "{} of {untouched}", grown(Params::linux()));
}
