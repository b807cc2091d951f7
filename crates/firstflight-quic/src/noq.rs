//! Controllers for noq 1.4: every arm.
//!
//! noq provides packet numbers, each lost packet and spurious losses, and accepts a pacing rate, so
//! only the points at the top of the driver's file are approximated. noq's own pacer remains: its
//! bucket is 2 ms of the rate (10 to 256 packets), so bursts after a pause are larger than the two
//! packets of our own pacer; `@(burst=n)` bounds a single send call, not the bucket.

mod beside;
#[cfg(feature = "trial")]
mod drawing;

pub use beside::{BesideFactory, Foreign, close_log};
#[cfg(feature = "trial")]
pub use drawing::Drawing;

use crate::driver::{AckedPacket, Damage, Driver, EndOfAcks, SharedRecorder, Status};
use crate::numbers::Numbers;
use crate::plan::{Plan, Refused, since};
use crate::resume::{Memory, Resuming};
use firstflight::{Nanos, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The rate reported for a sender without pacing, bytes per second: 256 packets leave at once, and
/// further ones at 8 Gbit/s. A byte per nanosecond is the highest rate at which a deficit of one
/// byte still takes a tick of the clock; at higher rates the stack's pacing timer does not advance.
const UNPACED: u64 = 1_000_000_000;

/// A factory for the arm that `text` names, ready for
/// `TransportConfig::congestion_controller_factory`.
///
/// # Errors
/// If the text is not an arm.
pub fn factory(text: &str) -> Result<Arc<Factory>, Refused> {
    Ok(Arc::new(Factory::new(Plan::parse(text)?)))
}

/// State of a connection's controller; `None` if it is not one of ours. It includes an ACK whose
/// losses may still follow.
pub fn status(controller: &dyn congestion::Controller) -> Option<Status> {
    controller.clone_box().into_any().downcast::<Controller>().ok().map(|ours| ours.driver.status())
}

/// Another arm for a connection that has started, chosen when its first request is answered. It
/// takes effect with the next packet sent, and only while the controller is
/// [pristine](Status::pristine).
#[derive(Clone, Debug, Default)]
pub struct Choice(Arc<OnceLock<Plan>>);

impl Choice {
    /// Makes the choice, once. Returns whether this was the first choice.
    pub fn choose(&self, plan: Plan) -> bool {
        self.0.set(plan).is_ok()
    }
}

/// Builds one controller per path.
#[derive(Clone, Debug)]
pub struct Factory {
    plan: Plan,
    origin: Instant,
    recorder: Option<SharedRecorder>,
    choice: Option<Choice>,
    resume: Option<Resuming>,
}

impl Factory {
    /// A factory for this plan. Times count from now.
    pub fn new(plan: Plan) -> Factory {
        Factory { plan, origin: Instant::now(), recorder: None, choice: None, resume: None }
    }

    /// Applies `choice`: for a factory that serves one connection.
    #[must_use]
    pub fn with_choice(self, choice: Choice) -> Factory {
        Factory { choice: Some(choice), ..self }
    }

    /// Starts from the client's entry in `memory`, and saves there what the connection learns: for
    /// a factory that serves one connection.
    #[must_use]
    pub fn with_resume(self, memory: &Memory, client: IpAddr) -> Factory {
        Factory { resume: Some(Resuming::new(memory, client)), ..self }
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

    fn controller(&self, now: Instant, current_mtu: u16) -> Controller {
        let chosen = self.choice.as_ref().and_then(|choice| choice.0.get());
        let now = since(self.origin, now);
        let plan = *chosen.unwrap_or(&self.plan);
        let recorder = self.recorder.clone();
        let (plan, recorder) = match &self.resume {
            Some(resume) => resume.first_path(plan, recorder),
            None => (plan, recorder),
        };
        Controller {
            origin: self.origin,
            now,
            driver: Driver::new(plan, current_mtu, now, recorder),
            numbers: Numbers::default(),
            present: false,
            older: None,
            choice: if chosen.is_none() { self.choice.clone() } else { None },
        }
    }
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(self.controller(now, current_mtu))
    }
}

/// An arm as a controller of noq.
#[derive(Clone, Debug)]
pub struct Controller {
    origin: Instant,
    /// Time of the last callback that contained a time.
    now: Time,
    driver: Driver,
    numbers: Numbers,
    /// Whether the last packet of the ACK being listed belongs to the current packet number space.
    present: bool,
    /// Its number, if it belongs to an older space.
    older: Option<u64>,
    /// Source of another arm.
    choice: Option<Choice>,
}

impl Controller {
    /// Reported state.
    pub fn status(&self) -> Status {
        self.driver.status()
    }

    /// `on_ack` with the values of the estimator, which only noq can construct.
    pub(crate) fn acked(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        srtt: Duration,
    ) {
        let now = self.at(now);
        let sent = since(self.origin, sent);
        let position = self.numbers.position(pn, sent);
        let fresh = position.is_some_and(|position| self.driver.is_fresh(position));
        let srtt = Nanos(u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX));
        self.present = position.is_some();
        self.older = position.is_none().then_some(pn);
        self.driver.acked(now, AckedPacket { bytes, sent, position, fresh }, app_limited, srtt);
    }

    fn at(&mut self, now: Instant) -> Time {
        self.now = since(self.origin, now);
        self.now
    }
}

impl congestion::Controller for Controller {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.at(now);
        let (position, new_space) = self.numbers.sent(pn, now, self.driver.next());
        if new_space {
            self.driver.new_space(now);
        }
        if let Some(plan) = self.choice.as_ref().and_then(|choice| choice.0.get().copied()) {
            self.driver.rearm(now, plan);
            self.choice = None;
        }
        self.driver.sent(now, u64::from(bytes), position);
    }

    fn on_sent(&mut self, _now: Instant, _bytes: u64, _largest_pn: u64) {
        self.driver.settle();
    }

    fn on_cwnd_limited(&mut self) {
        self.driver.settle();
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
        self.acked(now, sent, bytes, pn, app_limited, rtt.get());
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let now = self.at(now);
        // The number belongs to the acknowledged space, which only the previously listed packets
        // reveal.
        let older = self.older.take().is_some_and(|pn| largest == Some(pn));
        let largest =
            largest.filter(|_| std::mem::take(&mut self.present)).map(|pn| self.numbers.here(pn));
        self.driver.end_acks(now, EndOfAcks { inflight: in_flight, app_limited, largest, older });
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        self.at(now);
        if bytes > 0 {
            self.driver.lost(self.numbers.here(pn));
        }
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
        let now = self.at(now);
        let position = self.numbers.position(largest_lost, since(self.origin, sent));
        self.driver.damage(
            now,
            Damage { lost, ce: is_ecn, persistent, largest_lost: position.filter(|_| lost > 0) },
        );
    }

    fn on_spurious_congestion_event(&mut self) {
        self.driver.spurious(self.now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver.resize(new_mtu);
    }

    fn window(&self) -> u64 {
        self.driver.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver.window();
        metrics.ssthresh = self.driver.core().ssthresh();
        metrics.pacing_rate = Some(self.driver.rate().unwrap_or(UNPACED));
        metrics.send_quantum = self
            .driver
            .plan()
            .arm
            .sender
            .burst
            .map(|packets| u64::from(packets) * self.driver.mss());
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.driver.core().cwnd()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests;
