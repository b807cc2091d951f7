//! A foreign controller of quinn with one of ours alongside.

use super::adapter::Beside;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::time::Instant;

impl Controller for Beside {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.both(|each| each.on_sent(now, bytes, last_packet_number));
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.both(|each| each.on_ack(now, sent, bytes, app_limited, rtt));
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.both(|each| each.on_end_acks(now, in_flight, app_limited, largest));
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.both(|each| each.on_congestion_event(now, sent, persistent, lost));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.both(|each| each.on_mtu_update(new_mtu));
    }

    fn window(&self) -> u64 {
        self.foreign.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.foreign.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.foreign.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
