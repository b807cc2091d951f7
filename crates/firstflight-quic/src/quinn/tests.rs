//! quinn's calls around its handshake, and the events that reach the arm.

use super::{Controller, Factory};
use crate::plan::Plan;
use firstflight::Nanos;
use quinn_proto::congestion::{Controller as _, ControllerFactory};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn the_handshake_gives_its_rtt_also_when_data_was_sent_before_it_was_acknowledged() {
    let origin = Instant::now();
    let factory = Arc::new(
        Factory::new(Plan::parse("rapid(jump=off)").unwrap()).unwrap().with_origin(origin),
    );
    let mut controller = factory.build(origin, 1200).into_any().downcast::<Controller>().unwrap();
    controller.on_sent(origin, 1200, 0);
    controller.on_sent(origin, 900, 0);
    controller.on_sent(origin + Duration::from_millis(1), 90, 0);
    let now = origin + Duration::from_millis(30);
    controller.acked(now, origin, 900, None, true, Duration::from_millis(333));
    controller.on_end_acks(now, 90, true, Some(0));
    assert_eq!(controller.status().handshake_rtt, Some(Nanos::from_millis(30)));
}
