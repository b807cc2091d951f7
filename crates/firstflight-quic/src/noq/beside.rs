//! A foreign controller of noq with one of ours alongside: the foreign one controls the sender;
//! ours receives the same calls and controls nothing.

use super::{Controller, Factory};
use crate::driver::{SharedState, locked};
use firstflight::State;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A factory of foreign controllers.
pub type Foreign = Arc<dyn congestion::ControllerFactory + Send + Sync>;

/// Builds foreign controllers, each with one of ours alongside.
#[derive(Clone)]
pub struct BesideFactory {
    foreign: Foreign,
    ours: Arc<Factory>,
    state: SharedState,
}

impl Factory {
    /// A factory of `foreign` controllers, which control the sender, with this factory's
    /// controllers alongside. This factory's recorder receives the events of ours; `state` holds
    /// the state of the foreign one, for one connection at a time.
    pub fn beside(self, foreign: Foreign, state: SharedState) -> BesideFactory {
        BesideFactory { foreign, ours: Arc::new(self), state }
    }
}

impl congestion::ControllerFactory for BesideFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        let foreign = self.foreign.clone().build(now, current_mtu);
        say(&self.state, &*foreign);
        let ours = self.ours.controller(now, current_mtu);
        Box::new(Beside { foreign, ours, state: self.state.clone() })
    }
}

/// Reports the ACK that is still open to the recorder, for a log that ends here.
pub fn close_log(controller: &dyn congestion::Controller) {
    match controller.clone_box().into_any().downcast::<Controller>() {
        Ok(ours) => ours.driver.record_open(),
        Err(other) => {
            if let Ok(both) = other.downcast::<Beside>() {
                both.ours.driver.record_open();
            }
        }
    }
}

/// A foreign controller, and ours alongside.
#[derive(Debug)]
struct Beside {
    foreign: Box<dyn congestion::Controller>,
    ours: Controller,
    state: SharedState,
}

/// Stores the foreign controller's state. A threshold of `u64::MAX` means that it was never set.
fn say(state: &SharedState, foreign: &dyn congestion::Controller) {
    let metrics = foreign.metrics();
    let ssthresh = metrics.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX);
    let pacing_rate = metrics.pacing_rate;
    let cwnd = foreign.window();
    *locked(state) = State { cwnd, ssthresh, pacing_rate, ..State::default() };
}

/// Ours receives each call first: it then records the previous ACK, and the foreign controller must
/// still be in its state after that ACK.
impl congestion::Controller for Beside {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.ours.on_sent(now, bytes, largest_pn);
        self.foreign.on_sent(now, bytes, largest_pn);
        say(&self.state, &*self.foreign);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.ours.on_packet_sent(now, bytes, pn);
        self.foreign.on_packet_sent(now, bytes, pn);
        say(&self.state, &*self.foreign);
    }

    fn on_cwnd_limited(&mut self) {
        self.ours.on_cwnd_limited();
        self.foreign.on_cwnd_limited();
        say(&self.state, &*self.foreign);
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
        self.ours.on_ack(now, sent, bytes, pn, app_limited, rtt);
        self.foreign.on_ack(now, sent, bytes, pn, app_limited, rtt);
        say(&self.state, &*self.foreign);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.ours.on_end_acks(now, in_flight, app_limited, largest);
        self.foreign.on_end_acks(now, in_flight, app_limited, largest);
        say(&self.state, &*self.foreign);
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        self.ours.on_packet_lost(bytes, pn, now);
        self.foreign.on_packet_lost(bytes, pn, now);
        say(&self.state, &*self.foreign);
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
        self.ours.on_congestion_event(now, sent, persistent, is_ecn, lost, largest_lost);
        self.foreign.on_congestion_event(now, sent, persistent, is_ecn, lost, largest_lost);
        say(&self.state, &*self.foreign);
    }

    fn on_spurious_congestion_event(&mut self) {
        // Ours records this event at once, with the foreign controller's state after it.
        self.ours.driver.settle();
        self.foreign.on_spurious_congestion_event();
        say(&self.state, &*self.foreign);
        self.ours.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.ours.on_mtu_update(new_mtu);
        self.foreign.on_mtu_update(new_mtu);
        say(&self.state, &*self.foreign);
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.ours.on_ack_frequency_update(threshold, max_ack_delay);
        self.foreign.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.foreign.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.foreign.metrics()
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Beside {
            foreign: self.foreign.clone_box(),
            ours: self.ours.clone(),
            state: self.state.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.foreign.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
