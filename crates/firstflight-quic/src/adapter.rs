//! The adapter of a QUIC stack of quinn's family. This file is compiled once per stack:
//! `super::stack` names the stack's interface and what may change an arm before data is sent. The
//! stack's own `congestion::Controller` is implemented next to this module, since noq's passes on
//! more than quinn's.

use super::stack::{self, Changes, Controller as Stacks, ControllerFactory};
use crate::driver::{AckedPacket, Driver, EndOfAcks, SharedRecorder, SharedState, Status, locked};
use crate::numbers::Numbers;
use crate::plan::{Plan, since};
#[cfg(feature = "trial")]
use crate::trial::{Drawn, Trial};
use firstflight::{Nanos, State, Time};
use std::fmt;
#[cfg(feature = "trial")]
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// State of a connection's controller; `None` if it is not one of ours. It includes an ACK whose
/// losses may still follow.
pub fn status(controller: &dyn Stacks) -> Option<Status> {
    controller.clone_box().into_any().downcast::<Controller>().ok().map(|ours| ours.driver.status())
}

/// Builds one controller per path.
#[derive(Clone, Debug)]
pub struct Factory {
    plan: Plan,
    origin: Instant,
    recorder: Option<SharedRecorder>,
    pub(super) changes: Changes,
}

impl Factory {
    /// A factory for a plan that the stack supports. Times count from now.
    pub(super) fn of(plan: Plan) -> Factory {
        Factory { plan, origin: Instant::now(), recorder: None, changes: Changes::default() }
    }

    /// Counts times from `origin`.
    #[must_use]
    pub fn with_origin(self, origin: Instant) -> Factory {
        Factory { origin, ..self }
    }

    /// Reports every event of every controller to `recorder`.
    #[must_use]
    pub fn with_recorder(self, recorder: SharedRecorder) -> Factory {
        Factory { recorder: Some(recorder), ..self }
    }

    /// A factory of `foreign` controllers, which control the sender, with this factory's
    /// controllers alongside. This factory's recorder receives the events of ours; `state` holds
    /// the state of the foreign one, for one connection at a time.
    pub fn beside(self, foreign: Foreign, state: SharedState) -> BesideFactory {
        BesideFactory { foreign, ours: self, state }
    }

    fn controller(&self, now: Instant, current_mtu: u16) -> Controller {
        let now = since(self.origin, now);
        let mut changes = self.changes.clone();
        let (plan, recorder) = changes.begin(self.plan, self.recorder.clone());
        Controller {
            origin: self.origin,
            now,
            driver: Driver::new(plan, current_mtu, now, recorder),
            numbers: Numbers::default(),
            listed: None,
            changes,
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Stacks> {
        Box::new(self.controller(now, current_mtu))
    }
}

/// An arm as a controller of the stack.
#[derive(Clone, Debug)]
pub struct Controller {
    pub(super) origin: Instant,
    /// Time of the last callback that contained a time.
    pub(super) now: Time,
    pub(super) driver: Driver,
    pub(super) numbers: Numbers,
    listed: Option<Listed>,
    changes: Changes,
}

/// The last packet of the ACK being listed.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// The packet is in the current packet number space.
    present: bool,
    /// The packet's number, if the stack passes it on.
    pn: Option<u64>,
}

impl Controller {
    /// Reported state.
    pub fn status(&self) -> Status {
        self.driver.status()
    }

    pub(super) fn at(&mut self, now: Instant) -> Time {
        self.now = since(self.origin, now);
        self.now
    }

    /// Packet `pn`, or a batch that ends with it, left.
    pub(super) fn sent(&mut self, now: Instant, bytes: u64, pn: u64) {
        let now = self.at(now);
        let (position, new_space) = self.numbers.sent(pn, now, self.driver.next());
        if new_space {
            self.driver.new_space(now);
        }
        if let Some(plan) = self.changes.chosen() {
            self.driver.rearm(now, plan);
        }
        self.driver.sent(now, bytes, position);
    }

    /// `on_ack` with the values of the estimator, which only the stack can construct, and the
    /// packet's number, if the stack passes it on.
    pub(crate) fn acked(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: Option<u64>,
        app_limited: bool,
        srtt: Duration,
    ) {
        let now = self.at(now);
        let sent = since(self.origin, sent);
        let present = self.numbers.is_present(sent);
        let position = pn.filter(|_| present).map(|pn| self.numbers.here(pn));
        let fresh = match pn {
            Some(_) => position.is_some_and(|position| self.driver.is_fresh(position)),
            None => sent >= self.driver.recovery_began(),
        };
        let srtt = Nanos(u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX));
        self.listed = Some(Listed { present, pn });
        self.driver.acked(now, AckedPacket { bytes, sent, position, fresh }, app_limited, srtt);
    }

    pub(super) fn end_acks(
        &mut self,
        now: Instant,
        inflight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let now = self.at(now);
        // The number belongs to the acknowledged space, which only the previously listed packets
        // reveal.
        let listed = self.listed.take();
        let present = listed.is_some_and(|packet| packet.present);
        let older = listed.is_some_and(|Listed { present, pn }| {
            !present && pn.is_none_or(|pn| largest == Some(pn))
        });
        let largest = largest.filter(|_| present).map(|pn| self.numbers.here(pn));
        self.driver.end_acks(now, EndOfAcks { inflight, app_limited, largest, older });
    }
}

/// A factory of foreign controllers.
pub type Foreign = Arc<dyn ControllerFactory + Send + Sync>;

/// Builds foreign controllers, each with one of ours alongside.
#[derive(Clone)]
pub struct BesideFactory {
    foreign: Foreign,
    ours: Factory,
    state: SharedState,
}

impl ControllerFactory for BesideFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Stacks> {
        let foreign = self.foreign.clone().build(now, current_mtu);
        say(&self.state, &*foreign);
        let ours = self.ours.controller(now, current_mtu);
        Box::new(Beside { foreign, ours, state: self.state.clone() })
    }
}

/// Reports the ACK that is still open to the recorder, for a log that ends here.
pub fn close_log(controller: &dyn Stacks) {
    match controller.clone_box().into_any().downcast::<Controller>() {
        Ok(ours) => ours.driver.record_open(),
        Err(other) => {
            if let Ok(both) = other.downcast::<Beside>() {
                both.ours.driver.record_open();
            }
        }
    }
}

/// A foreign controller, which controls the sender, and one of ours alongside, which receives the
/// same calls and controls nothing.
pub(super) struct Beside {
    pub(super) foreign: Box<dyn Stacks>,
    pub(super) ours: Controller,
    state: SharedState,
}

impl Beside {
    /// Ours receives each call first: it then records the previous ACK, and the foreign controller
    /// must still be in its state after that ACK.
    pub(super) fn both(&mut self, call: impl Fn(&mut dyn Stacks)) {
        call(&mut self.ours);
        call(&mut *self.foreign);
        self.say();
    }

    pub(super) fn say(&self) {
        say(&self.state, &*self.foreign);
    }
}

/// Stores the foreign controller's state. A threshold of `u64::MAX` means that it was never set.
fn say(state: &SharedState, foreign: &dyn Stacks) {
    let metrics = foreign.metrics();
    *locked(state) = State {
        cwnd: foreign.window(),
        ssthresh: metrics.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX),
        pacing_rate: metrics.pacing_rate.filter(|_| stack::ASKS_FOR_A_RATE),
        ..State::default()
    };
}

impl Clone for Beside {
    fn clone(&self) -> Beside {
        Beside {
            foreign: self.foreign.clone_box(),
            ours: self.ours.clone(),
            state: self.state.clone(),
        }
    }
}

/// noq asks for it; quinn's controllers have none of their own.
impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").field("ours", &self.ours).finish_non_exhaustive()
    }
}

/// Builds controllers, each with an arm drawn at random for a [`Trial`].
#[cfg(feature = "trial")]
#[derive(Clone, Debug)]
pub struct Drawing {
    trial: Trial,
    client: Option<IpAddr>,
    origin: Instant,
}

#[cfg(feature = "trial")]
impl Drawing {
    pub(super) fn of(trial: &Trial, client: Option<IpAddr>) -> Arc<Drawing> {
        Arc::new(Drawing { trial: trial.clone(), client, origin: Instant::now() })
    }
}

#[cfg(feature = "trial")]
impl ControllerFactory for Drawing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Stacks> {
        let Drawn { plan, recorder } = self.trial.draw_in(self.client, stack::BATCHES);
        // Only the controller holds the recorder: the row is written when the controller is
        // dropped.
        let factory = Factory::of(plan).with_origin(self.origin).with_recorder(recorder);
        Box::new(factory.controller(now, current_mtu))
    }
}
