//! A foreign controller of noq with one of ours alongside.

use super::adapter::Beside;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::time::{Duration, Instant};

impl Controller for Beside {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.both(|each| each.on_sent(now, bytes, largest_pn));
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.both(|each| each.on_packet_sent(now, bytes, pn));
    }

    fn on_cwnd_limited(&mut self) {
        self.both(|each| each.on_cwnd_limited());
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.both(|each| each.on_ack(now, sent, bytes, pn, app_limited, rtt));
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

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        self.both(|each| each.on_packet_lost(bytes, pn, now));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost: u64,
        largest_lost: u64,
    ) {
        self.both(|each| {
            each.on_congestion_event(now, sent, persistent, is_ecn, lost, largest_lost);
        });
    }

    fn on_spurious_congestion_event(&mut self) {
        // Ours records this event at once, with the foreign controller's state after it.
        self.ours.driver.settle();
        self.foreign.on_spurious_congestion_event();
        self.say();
        self.ours.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.both(|each| each.on_mtu_update(new_mtu));
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.both(|each| each.on_ack_frequency_update(threshold, max_ack_delay));
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
