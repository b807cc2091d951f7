//! A foreign controller of quinn with one of ours alongside: the foreign one controls the sender;
//! ours receives the same calls and controls nothing.

use super::{Controller, Factory};
use crate::driver::{SharedState, locked};
use firstflight::State;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

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
struct Beside {
    foreign: Box<dyn congestion::Controller>,
    ours: Controller,
    state: SharedState,
}

/// Stores the foreign controller's state. A threshold of `u64::MAX` means that it was never set.
/// quinn's pacer never asks its controllers for a rate.
fn say(state: &SharedState, foreign: &dyn congestion::Controller) {
    let ssthresh = foreign.metrics().ssthresh.filter(|ssthresh| *ssthresh < u64::MAX);
    *locked(state) = State { cwnd: foreign.window(), ssthresh, ..State::default() };
}

/// Ours receives each call first: it then records the previous ACK, and the foreign controller must
/// still be in its state after that ACK.
impl congestion::Controller for Beside {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.ours.on_sent(now, bytes, last_packet_number);
        self.foreign.on_sent(now, bytes, last_packet_number);
        say(&self.state, &*self.foreign);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.ours.on_ack(now, sent, bytes, app_limited, rtt);
        self.foreign.on_ack(now, sent, bytes, app_limited, rtt);
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

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.ours.on_congestion_event(now, sent, persistent, lost);
        self.foreign.on_congestion_event(now, sent, persistent, lost);
        say(&self.state, &*self.foreign);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.ours.on_mtu_update(new_mtu);
        self.foreign.on_mtu_update(new_mtu);
        say(&self.state, &*self.foreign);
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
