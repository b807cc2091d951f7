//! The stack's reports, and the events that reach the arm.

use super::{Controller, PacketInfo, endpoint};
use s2n_quic_core::recovery::CongestionController;
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration;

const PACKET: u64 = 1200;

fn at(millis: u64) -> Timestamp {
    NoopClock.get_time() + Duration::from_millis(millis)
}

/// Ten packets of application data in flight since time 0.
fn ten_sent(arm: &str) -> (Controller, Vec<PacketInfo>) {
    let mut controller = endpoint(arm).unwrap().build(1200);
    let sent = (0..10).map(|_| controller.sent(at(0), PACKET, Some(false))).collect();
    (controller, sent)
}

#[test]
fn an_ack_with_losses_reaches_the_arm_once() {
    let (mut controller, sent) = ten_sent("slowstart/reno/immediate");
    controller.acked(at(30), at(0), PACKET, sent[0], Duration::from_millis(30));
    let before = controller.status();
    controller.lost(at(40), PACKET, sent[1], false);
    controller.lost(at(40), PACKET, sent[2], false);
    controller.acked(at(40), at(0), 3 * PACKET, sent[5], Duration::from_millis(31));
    let after = controller.status();
    assert_eq!(
        (after.acks, after.timers),
        (before.acks + 1, before.timers),
        "one ACK and no timer: {after:?}"
    );
    assert_eq!(after.stats.loss_episodes, 1, "two losses of one ACK are one episode");
    assert_eq!((after.bytes_lost, after.bytes_acked), (2 * PACKET, 4 * PACKET), "{after:?}");
    assert_eq!(
        u64::from(controller.bytes_in_flight()),
        4 * PACKET,
        "what is neither acknowledged nor lost stays in flight"
    );
}

#[test]
fn losses_without_an_ack_are_answered_at_once() {
    let (mut controller, sent) = ten_sent("slowstart/reno/immediate");
    controller.acked(at(30), at(0), PACKET, sent[0], Duration::from_millis(30));
    let window = controller.status().cwnd;
    controller.lost(at(90), PACKET, sent[1], false);
    let account = controller.status();
    assert_eq!((account.timers, account.stats.loss_episodes), (1, 1), "{account:?}");
    assert!(account.cwnd < window, "a loss shrinks the window of {window}: {}", account.cwnd);
}

#[test]
fn discarded_packets_leave_the_flight_without_a_reaction() {
    let (mut controller, _) = ten_sent("slowstart/reno/immediate");
    let window = controller.congestion_window();
    assert!(controller.is_congestion_limited(), "ten packets fill the initial window of {window}");
    controller.discarded(4 * PACKET);
    assert_eq!(u64::from(controller.bytes_in_flight()), 6 * PACKET);
    assert_eq!(
        controller.congestion_window(),
        window,
        "a discarded packet says nothing of the path"
    );
    assert!(!controller.is_congestion_limited(), "there is room again");
}

#[test]
fn packets_that_carry_only_acks_are_not_counted() {
    let (mut controller, _) = ten_sent("slowstart");
    let info = controller.sent(at(1), 0, Some(true));
    assert_eq!(info.position, 10, "they have a place in the order of sending");
    assert_eq!(
        (u64::from(controller.bytes_in_flight()), controller.status().bytes_sent),
        (10 * PACKET, 10 * PACKET)
    );
}

#[test]
fn departures_follow_the_rate_of_the_arm() {
    let (mut controller, sent) = ten_sent("slowstart");
    controller.acked(at(30), at(0), 10 * PACKET, sent[9], Duration::from_millis(30));
    let rate = controller.driver.rate().expect("a paced arm has a rate once it has an RTT");
    for _ in 0..20 {
        controller.sent(at(30), PACKET, Some(false));
    }
    let ahead = controller.earliest_departure_time().unwrap().saturating_duration_since(at(30));
    // The time for twenty packets at the rate, minus the time that the pacer lets a late sender
    // catch up.
    let whole = Duration::from_nanos(20 * PACKET * 1_000_000_000 / rate);
    assert!(
        ahead < whole && ahead + Duration::from_millis(3) > whole,
        "{ahead:?} ahead, twenty packets at {rate} B/s last {whole:?}"
    );
}

#[test]
fn a_largest_rate_holds_the_packets_of_a_train() {
    for (arm, holds) in [("plumb@(maxrate=4Mbit,burst=2)", true), ("plumb@(burst=2)", false)] {
        let mut controller = endpoint(arm).unwrap().build(1200);
        let handshake = controller.sent(at(10), PACKET, None);
        controller.sent(at(11), 90, Some(true));
        controller.acked(at(40), at(10), PACKET, handshake, Duration::from_millis(30));
        let (mut now, mut trains, mut most) = (at(50), 0, 0);
        for count in 1..=20 {
            now = now.max(controller.earliest_departure_time().unwrap_or(now));
            controller.sent(now, PACKET, Some(false));
            trains += u32::from(controller.driver.core().train().is_some());
            let allowed = 2 * PACKET + now.saturating_duration_since(at(50)).as_micros() as u64 / 2;
            most = (count * PACKET).saturating_sub(allowed).max(most);
        }
        assert!(trains > 5, "{arm}: {trains} packets left in trains");
        assert_eq!(most <= 2, holds, "{arm}: {most} bytes more than bucket and rate allow");
    }
}

#[test]
fn an_arm_without_pacing_departs_at_once() {
    let (controller, _) = ten_sent("slowstart@(pace=off)");
    assert_eq!(controller.earliest_departure_time(), None);
}

#[test]
fn the_handshake_gives_its_rtt_also_when_data_was_sent_before_it_was_acknowledged() {
    let mut controller = endpoint("rapid").unwrap().build(1200);
    let handshake = controller.sent(at(10), PACKET, None);
    controller.sent(at(11), 90, Some(true));
    controller.acked(at(40), at(10), PACKET, handshake, Duration::from_millis(30));
    let rtt = controller.status().handshake_rtt.expect("a sample of the handshake");
    assert!(
        rtt.0.abs_diff(30_000_000) <= 1_000,
        "{} ns, times of this stack are whole microseconds",
        rtt.0
    );
    for _ in 0..9 {
        controller.sent(at(50), PACKET, Some(false));
    }
    assert_eq!(
        controller.status().phase,
        firstflight::Phase::Jump,
        "the jump takes off with the first flight"
    );
}
