//! A controller of quinn that is not ours, with one of ours beside it: the first steers, the second
//! hears the same calls and steers nothing.

use super::{Controller, Factory};
use crate::driver::{SharedState, locked};
use firstflight::State;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A factory of somebody else's controllers.
pub type Foreign = Arc<dyn congestion::ControllerFactory + Send + Sync>;

/// Builds somebody else's controllers, each with one of ours beside it.
#[derive(Clone)]
pub struct BesideFactory {
    foreign: Foreign,
    ours: Arc<Factory>,
    state: SharedState,
}

impl Factory {
    /// A factory of `foreign` controllers that steer, with this factory's beside them: its recorder
    /// hears what ours is told, and `state` is what the foreign one made of it: that of one
    /// connection at a time.
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

/// Tells the recorder of the ACK that is still open, for a log that ends here.
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

/// A controller that is not ours, and ours beside it.
struct Beside {
    foreign: Box<dyn congestion::Controller>,
    ours: Controller,
    state: SharedState,
}

/// A threshold that was never set is the largest number. quinn's pacer asks its controllers for no
/// rate, whatever they say.
fn say(state: &SharedState, foreign: &dyn congestion::Controller) {
    let ssthresh = foreign.metrics().ssthresh.filter(|ssthresh| *ssthresh < u64::MAX);
    *locked(state) = State { cwnd: foreign.window(), ssthresh, ..State::default() };
}

/// Ours hears of each call first: what it records then is the ACK before, which the foreign
/// controller must not have gone past.
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
