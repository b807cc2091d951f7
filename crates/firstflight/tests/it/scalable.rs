//! DCTCP (RFC 8257) and Prague: the smoothed share of marks, cuts by it, growth, and what a
//! controller makes of marks that the avoidance answers itself.

use crate::hooks::{self, avoiding};
use crate::rig;
use crate::told::{Hear, Told};
use firstflight::AnyController;
use firstflight::avoidance::{Avoidance, Cut, Dctcp, Prague, dctcp, prague};
use firstflight::controller::Config;
use firstflight::event::{Context, Sent, Signal};
use firstflight::signal::mark_share::{MarkShare, ONE};
use firstflight::startup::Handover;
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Seq, Time};
use proptest::prelude::*;

const MSS: u64 = 1000;
const GAIN: Ratio = Ratio::new(1, 16);

fn context(srtt_ms: u64) -> Context {
    hooks::quic_at(MSS, srtt_ms)
}

fn cut(signal: Signal, from_slow_start: bool) -> Cut {
    Cut { from_slow_start, ..hooks::cut(Time(0), signal, MAX_BYTES) }
}

/// The ACK that ends a window of `packets`, of which `marked` arrived so; windows follow each other.
struct Windows {
    now: u64,
    packets: u64,
}

impl Windows {
    fn next(&mut self, after: Nanos, packets: u64, marked: u64) -> Told {
        self.now += after.0;
        self.packets += packets;
        Told {
            now: Time(self.now),
            acked: packets * MSS,
            ce: marked > 0,
            ce_bytes: (marked > 0).then_some(marked * MSS),
            una: Seq(self.packets),
            nxt: Seq(self.packets),
            delivered: self.packets * MSS,
            ..Told::default()
        }
    }
}

/// The share hears of an ACK; whether a period has ended.
fn moves(share: &mut MarkShare, told: &Told, least: Nanos) -> bool {
    share.on_ack(&told.ack(), least, GAIN, &told.within(&context(10)))
}

fn tell(avoidance: &mut impl Avoidance, told: &Told, cx: &Context) {
    avoidance.on_ack(&told.ack(), &told.within(cx));
}

fn windows() -> Windows {
    Windows { now: 0, packets: 0 }
}

/// Shows RFC8257 3.3-alpha, RFC8257 3.3-g.
#[test]
fn a_sixteenth_of_the_way_in_each_window() {
    // alpha * 15/16 + M / 16, in units of 2^-20, by hand.
    for (from, marked, expected) in [
        (ONE, 0, 983_040),
        (ONE, 10, ONE),
        (0, 10, 65_536),
        (0, 1, 6_553),
        (ONE / 2, 5, ONE / 2),
        (0, 0, 0),
    ] {
        let (mut share, mut acks) = (MarkShare::new(from), windows());
        assert!(moves(&mut share, &acks.next(Nanos::from_millis(10), 10, marked), Nanos::ZERO));
        assert_eq!(share.alpha(), expected, "from {from} with {marked} of 10 marked");
    }
}

/// Shows RFC8257 3.3-window, PRAGUE vrtt-25ms.
#[test]
fn a_period_is_a_window_and_no_shorter_than_asked() {
    let least = Nanos::from_millis(25);
    let (mut share, mut acks) = (MarkShare::new(0), windows());
    let mut ended = Vec::new();
    for _ in 0..10 {
        let ack = acks.next(Nanos::from_millis(10), 10, 10);
        ended.push(moves(&mut share, &ack, least));
    }
    // The first ACK ends the first period, whenever it comes.
    assert_eq!(ended, [vec![true], [false, false, true].repeat(3)].concat());
    // An ACK of the same window ends no second one.
    let mut share = MarkShare::new(0);
    let ack = Told { nxt: Seq(40), ..windows().next(Nanos::from_millis(10), 10, 10) };
    assert!(moves(&mut share, &ack, Nanos::ZERO));
    let within = Told { una: Seq(40), nxt: Seq(60), delivered: 40 * MSS, ..ack };
    assert!(!moves(&mut share, &within, Nanos::ZERO));
    let next = Told { una: Seq(41), nxt: Seq(61), delivered: 41 * MSS, ..ack };
    assert!(moves(&mut share, &next, Nanos::ZERO));
}

#[test]
fn marks_without_a_number_count_as_one_packet() {
    let (mut share, mut acks) = (MarkShare::new(0), windows());
    let ack = Told { ce_bytes: None, ..acks.next(Nanos::from_millis(10), 10, 10) };
    assert!(moves(&mut share, &ack, Nanos::ZERO));
    assert_eq!(share.alpha(), ONE / 10 / 16);
}

/// Shows RFC8257 3.3-cut, RFC8257 3.3-init, RFC8257 3.5-loss.
#[test]
fn dctcp_cuts_by_half_of_alpha_and_halves_after_a_loss() {
    for (alpha, expected) in [
        (Some(Ratio::new(1, 1)), 50_000),
        (Some(Ratio::new(1, 2)), 75_000),
        (Some(Ratio::new(1, 16)), 96_875),
        (None, 100_000),
    ] {
        let mut dctcp =
            Dctcp::new(firstflight::with!(dctcp::Params { alpha, ..dctcp::Params::default() }));
        let share = alpha.map_or(0, |alpha| u64::from(ONE) * alpha.num() / alpha.den());
        assert_eq!(u64::from(dctcp.alpha()), share, "what is assumed, {alpha:?}");
        let left = dctcp.reduce(&cut(Signal::Ecn, false), avoiding(100_000), &context(10));
        assert_eq!((left.cwnd, left.ssthresh), (expected, expected), "alpha {alpha:?}");
        let left = dctcp.reduce(&cut(Signal::Loss, false), avoiding(100_000), &context(10));
        assert_eq!(left.cwnd, 50_000, "after a loss, alpha {alpha:?}");
    }
    let mut dctcp = Dctcp::new(dctcp::Params::default());
    let left = dctcp.reduce(&cut(Signal::Ecn, false), avoiding(2_500), &context(10));
    assert_eq!(left.cwnd, 2_000, "two segments stay");
}

/// Shows RFC8257 3.3-growth.
#[test]
fn dctcp_grows_like_reno() {
    let mut dctcp = Dctcp::new(dctcp::Params::default());
    let mut w = avoiding(20_000);
    dctcp.grow(&Told::default().ack(), 20_000, &mut w, &context(10));
    assert_eq!(w.cwnd, 21_000);
    let unused = firstflight::with!(Context { limited: false, ..context(10) });
    dctcp.grow(&Told::default().ack(), 20_000, &mut w, &unused);
    assert_eq!(w.cwnd, 21_000, "an unused window does not grow");
}

fn prague() -> Prague {
    Prague::new(prague::Params::default())
}

/// A window's worth of ACKs without marks.
fn grown(prague: &mut Prague, cwnd: u64, cx: &Context) -> u64 {
    let mut w = avoiding(cwnd);
    for _ in 0..cwnd / MSS {
        prague.grow(&Told { acked: MSS, ..Told::default() }.ack(), MSS, &mut w, cx);
    }
    w.cwnd - cwnd
}

/// Shows PRAGUE ack-increase, PRAGUE vrtt-25ms.
#[test]
fn prague_grows_as_if_the_round_trip_were_25_ms() {
    // mss * (srtt / vrtt)^2 per window; a window that grows meanwhile takes a little of it.
    for (srtt, expected) in [(25, 1000), (50, 1000), (5, 40), (10, 160)] {
        let gain = grown(&mut prague(), 100 * MSS, &context(srtt));
        assert!(
            expected - expected / 100 - 6 <= gain && gain <= expected,
            "{srtt} ms: {gain} bytes instead of {expected}"
        );
    }
    let mut real = Prague::new(firstflight::with!(prague::Params {
        reference_ms: 0,
        ..prague::Params::default()
    }));
    assert!(grown(&mut real, 100 * MSS, &context(5)) > 985, "without a reference the real one");
}

/// Shows PRAGUE ack-increase.
#[test]
fn marked_bytes_grow_nothing() {
    let mut w = avoiding(10 * MSS);
    let ack = Told { ce: true, ce_bytes: Some(10 * MSS), ..Told::default() };
    prague().grow(&ack.ack(), 10 * MSS, &mut w, &context(50));
    assert_eq!(w.cwnd, 10 * MSS);
    let ack = Told { ce_bytes: Some(5 * MSS), ..ack };
    prague().grow(&ack.ack(), 10 * MSS, &mut w, &context(50));
    assert_eq!(w.cwnd, 10 * MSS + MSS / 2);
}

/// Shows PRAGUE growth-wait.
#[test]
fn long_without_marks_a_round_trip_adds_a_millisecond() {
    let cx = context(50);
    let (mut prague, mut acks) = (prague(), windows());
    let mut w = avoiding(250 * MSS);
    // 5 MB/s: 7 + 5 / 1.92 virtual round trips.
    prague.hand_over(Handover::LossFree, w, &cx);
    assert_eq!(prague.wait(), 9);
    for left in (0..9).rev() {
        tell(&mut prague, &acks.next(cx.srtt, 10, 0), &cx);
        assert_eq!(prague.wait(), left);
    }
    let ack = Told { acked: 250 * MSS, ..Told::default() };
    prague.grow(&ack.ack(), 250 * MSS, &mut w, &ack.within(&cx));
    assert_eq!(w.cwnd, 255 * MSS, "a fiftieth of the window");
    let mut slow = Prague::new(firstflight::with!(prague::Params {
        fast: false,
        ..prague::Params::default()
    }));
    let mut w = avoiding(250 * MSS);
    for _ in 0..20 {
        tell(&mut slow, &acks.next(cx.srtt, 10, 0), &cx);
    }
    slow.grow(&ack.ack(), 250 * MSS, &mut w, &ack.within(&cx));
    assert_eq!(w.cwnd, 251 * MSS);
}

/// Shows PRAGUE ce-cut, PRAGUE loss-half, PRAGUE alpha-once.
#[test]
fn prague_cuts_once_per_virtual_round_trip() {
    let cx = context(10);
    let (mut prague, mut acks) = (prague(), windows());
    // Eight virtual round trips with everything marked: 1 - (15/16)^8.
    for _ in 0..8 {
        tell(&mut prague, &acks.next(Nanos::from_millis(25), 10, 10), &cx);
    }
    let alpha = prague.alpha();
    assert!((422_800..=422_900).contains(&alpha), "{alpha}");
    let marked = acks.next(Nanos::from_millis(10), 10, 10);
    let left = prague
        .answer_marks(&marked.ack(), avoiding(100_000), &marked.within(&cx))
        .map(|left| left.cwnd);
    assert_eq!(left, Some(100_000 - 100_000 * u64::from(alpha) / u64::from(2 * ONE)));
    for after in [10, 20, 24] {
        let ack = Told {
            now: Time(marked.now.0 + Nanos::from_millis(after).0),
            una: Seq(marked.nxt.0 + 1),
            ..marked
        };
        let left = prague
            .answer_marks(&ack.ack(), avoiding(80_000), &ack.within(&cx))
            .map(|left| left.cwnd);
        assert_eq!(left, Some(80_000), "{after} ms after a cut");
    }
    let late = Told { now: Time(marked.now.0 + Nanos::from_millis(25).0), ..marked };
    let same_window =
        prague.answer_marks(&late.ack(), avoiding(80_000), &late.within(&cx)).map(|left| left.cwnd);
    assert_eq!(same_window, Some(80_000), "of the window that was cut already");
    let due = Told { una: Seq(marked.nxt.0 + 1), ..late };
    let left =
        prague.answer_marks(&due.ack(), avoiding(80_000), &due.within(&cx)).map(|left| left.cwnd);
    assert!(left.is_some_and(|left| left < 80_000), "{left:?}");
    let left = prague.reduce(&cut(Signal::Loss, false), avoiding(100_000), &cx);
    assert_eq!(left.cwnd, 50_000, "after a loss half");
}

/// Shows PRAGUE growth-wait: 4 MB/s make 2000 packets of half a window per second; times 25 ms and
/// 25 ms over the virtual round trip.
#[test]
fn after_a_loss_larger_steps_wait_longer() {
    for (srtt, expected) in [(25, 50), (50, 25), (5, 50)] {
        let (mut prague, cx) = (prague(), context(srtt));
        let window = avoiding(4_000 * srtt);
        prague.reduce(&cut(Signal::Loss, false), window, &cx);
        assert_eq!(prague.wait(), expected, "{srtt} ms");
    }
}

/// After a timeout the threshold is half of what was in flight, two segments at
/// least, and Prague's larger steps wait as after a loss.
#[test]
fn a_timeout_halves_what_was_in_flight() {
    let (mut prague, cx) = (prague(), context(25));
    let mut dctcp = Dctcp::new(dctcp::Params::default());
    for (inflight, expected) in [(80_000, 40_000), (3_000, 2_000)] {
        let w = avoiding(100_000);
        assert_eq!(
            prague.on_rto(&hooks::timeout(Time(0), inflight, w), w, &cx),
            expected,
            "Prague of {inflight}"
        );
        assert_eq!(
            dctcp.on_rto(&hooks::timeout(Time(0), inflight, w), w, &cx),
            expected,
            "DCTCP of {inflight}"
        );
        assert_eq!(prague.wait(), 50, "4 MB/s, as after a loss");
    }
}

/// Shows PRAGUE ce-cut.
#[test]
fn marks_leave_two_packets() {
    let cx = context(10);
    let (mut prague, mut acks) = (prague(), windows());
    for _ in 0..40 {
        tell(&mut prague, &acks.next(Nanos::from_millis(25), 10, 10), &cx);
    }
    let marked = acks.next(Nanos::from_millis(25), 10, 10);
    for (cwnd, expected) in [(3_000, 2_000), (1_500, 1_500)] {
        let mut prague = prague;
        let left = prague
            .answer_marks(&marked.ack(), avoiding(cwnd), &marked.within(&cx))
            .map(|left| left.cwnd);
        assert_eq!(left, Some(expected), "of {cwnd} bytes, all marked");
    }
}

/// Shows PRAGUE init-rate.
#[test]
fn the_cut_that_ends_a_slow_start_is_a_half() {
    let mut prague = prague();
    assert_eq!(prague.beta(Signal::Ecn, true), Ratio::new(1, 2));
    let left = prague.reduce(&cut(Signal::Ecn, true), avoiding(100_000), &context(30));
    assert_eq!(left.cwnd, 50_000);
}

/// Drives the controller of an arm by windows of ten packets that arrive 30 ms apart.
struct Driven {
    controller: AnyController,
    acks: Windows,
}

impl Driven {
    fn new(arm: &str) -> Driven {
        let mut controller = rig::controller(arm, Config::quic(MSS));
        let sent = Sent { bytes: 10 * MSS, nxt: Seq(10), inflight: 10 * MSS, ..Sent::default() };
        controller.on_sent(&sent);
        Driven { controller, acks: windows() }
    }

    fn ack(&mut self, marked: u64, lost: u64) {
        let rtt = Nanos::from_millis(30);
        let ack = self.acks.next(rtt, 10, marked);
        let (cwnd, packets) = (self.controller.cwnd(), self.acks.packets);
        self.controller.hear(&Told {
            rtt: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            lost: lost * MSS,
            acked_fresh: ack.acked,
            nxt: Seq(packets + 8),
            inflight_before: cwnd,
            inflight: cwnd.saturating_sub(ack.acked),
            tx_acked: Some(packets - 1),
            tx_lost: (lost > 0).then(|| packets - 2),
            tx_next: packets + 8,
            cwnd_limited: true,
            advanced: true,
            ..ack
        });
    }
}

/// Shows RFC9331 4.3-scalable: marks open no episode; losses do.
#[test]
fn marks_are_answered_without_an_episode_and_growth_goes_on() {
    let mut sender = Driven::new("slowstart/prague");
    sender.ack(10, 0);
    assert!(sender.controller.in_recovery(), "the end of slow start is an episode");
    assert!(sender.controller.is_l4s());
    for _ in 0..4 {
        sender.ack(0, 0);
    }
    let (before, episodes) = (sender.controller.cwnd(), sender.controller.stats().ecn_episodes);
    sender.ack(5, 0);
    assert!(!sender.controller.in_recovery());
    assert_eq!(sender.controller.stats().ecn_episodes, episodes + 1);
    let after = sender.controller.cwnd();
    assert!(after < before + MSS / 2, "{before} -> {after}");
    sender.ack(0, 0);
    assert!(sender.controller.cwnd() > after, "the next window grows it again");
    sender.ack(0, 2);
    assert!(sender.controller.in_recovery(), "a loss is a loss");
}

#[test]
fn dctcp_answers_marks_by_an_episode_and_asks_for_no_l4s() {
    let mut sender = Driven::new("slowstart/dctcp");
    for _ in 0..4 {
        sender.ack(0, 0);
    }
    sender.ack(10, 0);
    assert!(sender.controller.in_recovery());
    assert!(!sender.controller.is_l4s());
    let alpha = hooks::signal("alpha_millionths", |visit| sender.controller.signals(visit));
    let alpha = alpha.expect("a share of marks");
    // Four windows without marks and one full of them, from 1: (15/16)^4 * 15/16 + 1/16.
    assert!((786_000..=787_000).contains(&alpha), "{alpha}");
}

proptest! {
    /// Shows RFC8257 3.3-alpha: the smoothed share is that of real numbers.
    #[test]
    fn alpha_is_that_of_real_numbers(marks in prop::collection::vec(0_u64..=100, 1..200)) {
        let (mut share, mut acks, mut real) = (MarkShare::new(ONE), windows(), 1.0);
        for marked in marks {
            moves(&mut share, &acks.next(Nanos::from_millis(10), 100, marked), Nanos::ZERO);
            real += (marked as f64 / 100.0 - real) / 16.0;
            let got = f64::from(share.alpha()) / f64::from(ONE);
            // Every step rounds toward its start by less than a unit; 16 of them add up.
            prop_assert!((got - real).abs() < 34.0 / f64::from(ONE), "{got} instead of {real}");
        }
    }

    /// No cut is deeper than a half, none raises a window.
    #[test]
    fn cuts_are_between_nothing_and_a_half(alpha in 0_u32..=ONE, cwnd in 0_u64..=1 << 40) {
        let share = MarkShare::new(alpha);
        let left = share.cut(cwnd);
        prop_assert!(left <= cwnd && left >= cwnd / 2);
        let factor = share.factor();
        prop_assert!(factor.of(cwnd).abs_diff(left) <= cwnd / 8192 + 1);
    }

    /// Shows PRAGUE ack-increase: however the ACKs of a window are split, growth is the same to a part of a byte per ACK.
    #[test]
    fn growth_does_not_depend_on_how_acks_come(packets in 2_u64..500, each in 1_u64..50, srtt in 1_u64..200) {
        let cx = context(srtt);
        let whole = {
            let (mut prague, mut w) = (prague(), avoiding(packets * MSS));
            prague.grow(&Told::default().ack(), packets * MSS, &mut w, &cx);
            w.cwnd
        };
        let (mut prague, mut w) = (prague(), avoiding(packets * MSS));
        let mut left = packets;
        while left > 0 {
            let now = each.min(left);
            prague.grow(&Told::default().ack(), now * MSS, &mut w, &cx);
            left -= now;
        }
        // The window that grows meanwhile makes later ACKs count a little less.
        prop_assert!(w.cwnd <= whole && whole - w.cwnd <= MSS / packets + packets / 500 + 2, "{} {whole}", w.cwnd);
    }

    /// Nothing that a transport may say makes the window leave its bounds or stops it for good.
    #[test]
    fn marks_of_any_share_keep_the_window_within_bounds(
        arm in prop::sample::select(vec!["slowstart/prague", "slowstart/dctcp", "rapid/prague", "hystart++/dctcp(gain=1)"]),
        marks in prop::collection::vec((0_u64..=10, prop::bool::weighted(0.05)), 1..100),
    ) {
        let mut sender = Driven::new(arm);
        for (marked, lost) in marks {
            sender.ack(marked, u64::from(lost));
            prop_assert!(sender.controller.cwnd() >= 2 * MSS);
        }
    }
}
