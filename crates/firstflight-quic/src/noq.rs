//! Controllers for noq 1.4: every arm.
//!
//! noq provides packet numbers, each lost packet and spurious losses, and accepts a pacing rate, so
//! only the points at the top of the driver's file are approximated. noq's own pacer remains: its
//! bucket is 2 ms of the rate (10 to 256 packets), so bursts after a pause are larger than the two
//! packets of our own pacer; `@(burst=n)` bounds a single send call, not the bucket.

#[path = "adapter.rs"]
mod adapter;
mod beside;

#[cfg(feature = "trial")]
pub use adapter::Drawing;
pub use adapter::{BesideFactory, Controller, Factory, Foreign, close_log, status};

use crate::driver::{Damage, SharedRecorder};
use crate::plan::{Plan, Refused, since};
use crate::resume::{Memory, Resuming};
#[cfg(feature = "trial")]
use crate::trial::Trial;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// noq for the adapter.
mod stack {
    pub(super) use super::Changes;
    pub(super) use noq_proto::congestion::{Controller, ControllerFactory};

    /// noq reports each packet that it sends or declares lost.
    #[cfg(feature = "trial")]
    pub(super) const BATCHES: bool = false;
    /// noq's pacer asks the controller for a pacing rate.
    pub(super) const ASKS_FOR_A_RATE: bool = true;
}

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

/// Another arm for a connection that has started, chosen when its first request is answered. It
/// takes effect with the next packet sent, and only while the controller is
/// [pristine](crate::Status::pristine).
#[derive(Clone, Debug, Default)]
pub struct Choice(Arc<OnceLock<Plan>>);

impl Choice {
    /// Makes the choice, once. Returns whether this was the first choice.
    pub fn choose(&self, plan: Plan) -> bool {
        self.0.set(plan).is_ok()
    }
}

/// Settings that can replace the arm before the connection sends data.
#[derive(Clone, Debug, Default)]
struct Changes {
    choice: Option<Choice>,
    resume: Option<Resuming>,
}

impl Changes {
    /// The plan and the recorder that a path starts with.
    fn begin(
        &mut self,
        plan: Plan,
        recorder: Option<SharedRecorder>,
    ) -> (Plan, Option<SharedRecorder>) {
        let plan = self.chosen().unwrap_or(plan);
        match self.resume.take() {
            Some(resume) => resume.first_path(plan, recorder),
            None => (plan, recorder),
        }
    }

    /// The arm chosen since the last call.
    fn chosen(&mut self) -> Option<Plan> {
        let plan = self.choice.as_ref()?.0.get().copied();
        self.choice.take_if(|_| plan.is_some());
        plan
    }
}

impl Factory {
    /// A factory for this plan. Times count from now.
    pub fn new(plan: Plan) -> Factory {
        Factory::of(plan)
    }

    /// Applies `choice`: for a factory that serves one connection.
    #[must_use]
    pub fn with_choice(mut self, choice: Choice) -> Factory {
        self.changes.choice = Some(choice);
        self
    }

    /// Starts from the client's entry in `memory`, and saves there what the connection learns: for
    /// a factory that serves one connection.
    #[must_use]
    pub fn with_resume(mut self, memory: &Memory, client: IpAddr) -> Factory {
        self.changes.resume = Some(Resuming::new(memory, client));
        self
    }
}

#[cfg(feature = "trial")]
impl Trial {
    /// A factory for noq that draws for every connection.
    pub fn noq(&self) -> Arc<Drawing> {
        Drawing::of(self, None)
    }

    /// A factory for the connections of one client.
    pub fn noq_for(&self, client: IpAddr) -> Arc<Drawing> {
        Drawing::of(self, Some(client))
    }
}

impl congestion::Controller for Controller {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.sent(now, u64::from(bytes), pn);
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
        self.acked(now, sent, bytes, Some(pn), app_limited, rtt.get());
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.end_acks(now, in_flight, app_limited, largest);
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
