//! Values that a connection saves for the next one: amounts are packets of 1000 bytes.

use crate::rig::{MSS, RTT, Rig};
use crate::told::Told;

use firstflight::arm::Arm;
use firstflight::resume::{Observation, Saved, is_resumable, unsaved};
use firstflight::startup::Resumption;
use firstflight::{Congestion, Event, Nanos, Timeout, Transport};

/// A connection with somebody who observes it.
struct Observed {
    rig: Rig,
    observation: Observation,
}

impl Observed {
    fn new(arm: &str, transport: Transport) -> Observed {
        Observed { rig: Rig::new(arm, transport, 10 * MSS), observation: Observation::new(MSS) }
    }

    fn hear(&mut self, ack: &Told) {
        self.rig.deliver(ack);
        self.observation.take(&Event::Ack(ack.ack(), ack.so_far()), &self.rig.c);
    }

    /// All that is in flight arrives, `packets` together.
    fn round(&mut self, packets: u64, app_limited: bool) {
        while self.rig.inflight() > 0 {
            let bytes = (packets * MSS).min(self.rig.inflight());
            self.hear(&Told { app_limited, ..self.rig.record(bytes) });
        }
    }

    fn saved(&self) -> Option<(u64, bool)> {
        self.observation.saved().map(|saved| (saved.cwnd / MSS, saved.at_least))
    }
}

/// Shows CR9959 observe-startup, CR9959 observe-rtt.
#[test]
fn in_slow_start_half_of_the_window_is_saved() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut one = Observed::new("careful", transport);
        assert_eq!(one.saved(), None, "nothing was sent");
        one.rig.fill();
        assert_eq!(one.saved(), None, "and there is no RTT");
        one.round(2, false);
        assert_eq!(one.saved(), Some((10, true)), "the window is 20");
        assert_eq!(one.observation.saved().map(|saved| saved.rtt), Some(RTT));
    }
}

/// Shows CR9959 observe-1, CR9959 observe-over.
#[test]
fn after_startup_the_largest_round_is_saved_and_a_small_one_lowers_nothing() {
    let mut one = Observed::new("careful/reno", Transport::Quic);
    one.rig.grow_to(80 * MSS);
    let loss = Told { lost: MSS, tx_lost: Some(0), ..one.rig.record(20 * MSS) };
    one.hear(&loss);
    assert_eq!(one.saved(), Some((one.rig.c.cwnd() / 2 / MSS, false)), "no round is through");
    one.rig.complete_after_losses();
    let window = one.rig.inflight() / MSS;
    // The first ACK behind the recovery begins a round, and what was sent before ends it.
    one.round(1, false);
    one.rig.fill();
    one.round(1, false);
    let full = one.saved().expect("a round is through");
    assert!(full.0 + 1 >= window && !full.1, "{full:?} of a window of {window}");
    for _ in 0..3 {
        one.rig.send(2 * MSS);
        one.round(1, true);
    }
    assert_eq!(one.saved(), Some(full), "two packets from time to time say nothing");
}

/// Shows CR9959 observe-1.
#[test]
fn a_round_that_the_application_has_not_filled_is_a_lower_bound() {
    let mut one = Observed::new("careful/reno", Transport::Quic);
    one.rig.grow_to(80 * MSS);
    one.rig.loss(20 * MSS, MSS);
    one.rig.complete_after_losses();
    one.round(1, true);
    one.rig.send(5 * MSS);
    one.round(1, true);
    assert!(matches!(one.saved(), Some((1.., true))), "{:?}", one.saved());
}

/// Shows CR9959 observe-over, CR9959 retreat-forget.
#[test]
fn what_was_saved_is_confirmed_or_refuted_before_anything_else_is() {
    for lost in [0, MSS] {
        let mut one = Observed::new("careful(saved=300,rtt=30)", Transport::Quic);
        one.rig.fill();
        one.hear(&one.rig.record(MSS));
        assert_eq!(one.saved(), None, "reconnaissance");
        one.hear(&one.rig.record(9 * MSS));
        one.rig.fill();
        one.rig.fill();
        assert_eq!(one.rig.c.cwnd(), 150 * MSS, "the jump");
        let out = one.rig.inflight();
        one.hear(&one.rig.record(out / 2 / MSS * MSS));
        assert_eq!(one.observation.resumption(), Resumption::Underway);
        assert_eq!(one.saved(), None, "the jump is not validated");
        let hit = Told { lost, tx_lost: Some(70), ..one.rig.record(MSS) };
        one.hear(&hit);
        let stands = if lost > 0 { Resumption::Refuted } else { Resumption::Underway };
        assert_eq!(one.observation.resumption(), stands, "{lost} lost");
        if lost == 0 {
            one.round(1, false);
            assert_eq!(one.observation.resumption(), Resumption::Unused, "all of it arrived");
            assert_eq!(one.saved(), Some((one.rig.c.cwnd() / 2 / MSS, true)));
        }
        assert_eq!(one.rig.c.resumption(), one.observation.resumption());
    }
}

/// Shows CR9959 observe-arm.
#[test]
fn a_saved_set_is_an_arm() {
    let set = |cwnd, rtt, mss| Saved { cwnd, rtt, mss, at_least: false };
    for (saved, arm, then) in [
        (set(300_999, Nanos::from_millis(600), 1_000), "careful", "careful(saved=300,rtt=600)"),
        (set(1, Nanos(1), 1_000), "careful/reno", "careful(saved=1,rtt=1)/reno"),
        (
            set(u64::MAX, Nanos::MAX, 1),
            "careful(max=40,beta=1)@(iw=30)",
            "careful(saved=1000000,rtt=60000,max=40,beta=1)@(iw=30)",
        ),
        (set(99_000, Nanos(1_499_999), 1_000), "careful(saved=7)", "careful(saved=99,rtt=1)"),
        (set(99_000, RTT, 1_000), "plumb(train=4)", "plumb(train=4,saved=99,rtt=30)"),
    ] {
        let arm = Arm::parse(arm).expect("an arm");
        assert_eq!(saved.resume(arm), Some(Arm::parse(then).expect("an arm")), "{saved:?}");
    }
    let other = Arm::parse("slowstart").expect("an arm");
    assert_eq!(set(300_000, RTT, 1_000).resume(other), None, "nothing to put it into");
}

/// Shows CR9959 observe-arm: those that start by `careful` or `plumb`, whatever was saved.
#[test]
fn two_startups_can_use_what_was_saved() {
    for (text, without, can) in [
        ("careful(saved=7,rtt=30)/reno", "careful/reno", true),
        ("plumb(train=4,saved=7)", "plumb(train=4)", true),
        ("slowstart", "slowstart", false),
        ("rapid(jump=off)", "rapid(jump=off)", false),
    ] {
        let arm = Arm::parse(text).expect("an arm");
        assert_eq!(is_resumable(arm), can, "{text}");
        assert_eq!(unsaved(arm), Arm::parse(without).expect("an arm"), "{text}");
    }
}

/// Shows CR9959 observe-1: a round ends when what was sent before it began is acknowledged, and nothing
/// from before a timeout or a recovery belongs to it; of two rounds as large the first one's word counts.
#[test]
fn a_round_is_one_round_trip_and_begins_anew_after_a_timeout() {
    let mut one = Observed::new("careful/reno", Transport::Quic);
    one.rig.grow_to(80 * MSS);
    one.rig.loss(20 * MSS, MSS);
    one.rig.complete_after_losses();
    // Ten packets are out when the round begins behind an ACK of the eleventh.
    let left = one.rig.inflight() - 10 * MSS;
    one.hear(&one.rig.record(left));
    for packet in 1..=9 {
        one.hear(&Told { app_limited: true, ..one.rig.record(MSS) });
        assert_eq!(one.saved().map(|saved| saved.1), Some(false), "packet {packet} of ten");
    }
    one.hear(&one.rig.record(MSS));
    assert_eq!(one.saved(), Some((10, true)), "the application was the limit in it");
    // With nothing in flight the first ACK of the next flight is a round of its own.
    for _ in 0..2 {
        one.rig.send(11 * MSS);
        one.round(1, false);
        assert_eq!(one.saved(), Some((10, true)), "as large a round changes nothing");
    }
    // Of a round with twelve packets a timeout leaves six.
    one.rig.send(13 * MSS);
    for _ in 0..7 {
        one.hear(&one.rig.record(MSS));
    }
    let congestion = Congestion {
        now: one.rig.now,
        timeout: Timeout::Rto,
        nxt: one.rig.nxt(),
        inflight_before: one.rig.inflight(),
    };
    one.observation.take(&Event::Congestion(congestion), &one.rig.c);
    for _ in 0..6 {
        one.hear(&one.rig.record(MSS));
    }
    assert_eq!(one.saved(), Some((10, true)), "no round of twelve");
    one.rig.send(13 * MSS);
    one.round(1, false);
    assert_eq!(one.saved(), Some((12, false)), "and now one");
}

/// Packets that have become smaller are what the saved window is counted in.
#[test]
fn the_size_of_a_packet_is_the_last_one() {
    let mut one = Observed::new("careful", Transport::Quic);
    one.rig.fill();
    one.round(2, false);
    let size = |one: &Observed| one.observation.saved().map(|saved| saved.mss);
    assert_eq!(size(&one), Some(MSS));
    let event = Event::Mss { now: one.rig.now, mss: 600 };
    one.observation.take(&event, &one.rig.c);
    assert_eq!(size(&one), Some(600));
}
