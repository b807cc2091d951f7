//! noq's calls around its handshake, and the events that reach the arm.

use super::{Controller, Factory};
use crate::plan::Plan;
use firstflight::{Nanos, Phase};
use noq_proto::congestion::{Controller as _, ControllerFactory};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PACKET: u16 = 1200;

/// A server that has sent its first flight of the handshake at 0 and its own data at 1 ms, before
/// anything was acknowledged.
fn served(arm: &str) -> (Box<Controller>, Instant) {
    let origin = Instant::now();
    let factory = Arc::new(Factory::new(Plan::parse(arm).unwrap()).with_origin(origin));
    let mut controller = factory.build(origin, PACKET).into_any().downcast::<Controller>().unwrap();
    controller.on_packet_sent(origin, PACKET, 0);
    controller.on_packet_sent(origin, 900, 0);
    controller.on_packet_sent(origin + Duration::from_millis(1), 90, 0);
    (controller, origin)
}

fn ack_of_the_handshake(controller: &mut Controller, origin: Instant, millis: u64, largest: u64) {
    let now = origin + Duration::from_millis(millis);
    controller.acked(now, origin, 900, Some(0), true, Duration::from_millis(333));
    controller.on_end_acks(now, 90, true, Some(largest));
    controller.on_sent(now, 0, 0);
}

#[test]
fn the_handshake_gives_its_rtt_also_when_data_was_sent_before_it_was_acknowledged() {
    let (mut controller, origin) = served("rapid");
    ack_of_the_handshake(&mut controller, origin, 30, 0);
    assert_eq!(controller.status().handshake_rtt, Some(Nanos::from_millis(30)));
    ack_of_the_handshake(&mut controller, origin, 35, 0);
    assert_eq!(
        controller.status().handshake_rtt,
        Some(Nanos::from_millis(30)),
        "the first sample only"
    );
    for pn in 1..=9 {
        controller.on_packet_sent(origin + Duration::from_millis(40), PACKET, pn);
    }
    let account = controller.status();
    assert_eq!(
        (account.phase, account.cwnd),
        (Phase::Jump, 20 * u64::from(PACKET)),
        "the jump takes off with the first flight"
    );
}

#[test]
fn a_packet_of_an_older_space_that_is_not_the_largest_acknowledged_gives_no_rtt() {
    let (mut controller, origin) = served("rapid");
    ack_of_the_handshake(&mut controller, origin, 30, 1);
    assert_eq!(controller.status().handshake_rtt, None, "RFC 9002 section 5.1");
}
