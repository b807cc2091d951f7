//! Controllers for quinn 0.11: the arms that its interface supports.
//!
//! Features that quinn lacks, and the consequences:
//! * A pacing rate: its pacer always releases 5/4 of the window per smoothed RTT. Arms whose
//!   startup *is* a rate (the jump of `rapid` and of `jumpstart`, the trains of `plumb` and `suss`,
//!   the chirps of `chirping`), `pace=off`, `burst=`, `recgain=` and `maxrate=` are refused. Without
//!   its jump, Rapid Start runs, but its growth by 3 per round trip becomes 2.6 and growth by 2
//!   becomes 1.9, with 0.8 and 0.9 of the window in flight.
//! * Packet numbers of acknowledged and lost packets: whether a packet is fresh is decided by its
//!   time of sending. An RTT sample may be that of an older packet if the largest acknowledged one
//!   carried only an ACK: then it is too long.
//! * Individual sends: batches of up to ten packets are reported at once, packets that carry only
//!   ACKs included, so that recovery by delivered bytes (PRR) counts slightly too many bytes as
//!   sent.
//! * Spurious losses: no reduction is undone.

#[allow(
    clippy::duplicate_mod,
    reason = "once per stack: the names are the same, the types are not"
)]
#[path = "adapter.rs"]
mod adapter;
mod beside;

#[cfg(feature = "trial")]
pub use adapter::Drawing;
pub use adapter::{BesideFactory, Controller, Factory, Foreign, close_log, status};

use crate::driver::Damage;
use crate::plan::{Plan, Refused, since};
#[cfg(feature = "trial")]
use crate::trial::Trial;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
#[cfg(feature = "trial")]
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// quinn for the adapter.
mod stack {
    use crate::driver::SharedRecorder;
    use crate::plan::Plan;
    pub(super) use quinn_proto::congestion::{Controller, ControllerFactory};

    /// quinn reports sends and losses in batches.
    #[cfg(feature = "trial")]
    pub(super) const BATCHES: bool = true;
    /// quinn's pacer never asks the controller for a pacing rate.
    pub(super) const ASKS_FOR_A_RATE: bool = false;

    /// quinn has no settings that can replace an arm.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Changes {}

    #[expect(clippy::unused_self, reason = "noq's have something to change")]
    impl Changes {
        pub(super) fn begin(
            &mut self,
            plan: Plan,
            recorder: Option<SharedRecorder>,
        ) -> (Plan, Option<SharedRecorder>) {
            (plan, recorder)
        }

        pub(super) fn chosen(&mut self) -> Option<Plan> {
            None
        }
    }
}

/// A factory for the arm that `text` names, ready for
/// `TransportConfig::congestion_controller_factory`.
///
/// # Errors
/// If the text is not an arm, or names one that quinn does not support.
pub fn factory(text: &str) -> Result<Arc<Factory>, Refused> {
    Ok(Arc::new(Factory::new(Plan::parse(text)?)?))
}

impl Factory {
    /// A factory for this plan. Times count from now.
    ///
    /// # Errors
    /// If quinn does not support the arm.
    pub fn new(plan: Plan) -> Result<Factory, Refused> {
        plan.without_rate("quinn", "noq")?;
        Ok(Factory::of(plan))
    }
}

#[cfg(feature = "trial")]
impl Trial {
    /// A factory for quinn that draws for every connection.
    ///
    /// # Errors
    /// If quinn does not support one of the arms.
    pub fn quinn(&self) -> Result<Arc<Drawing>, Refused> {
        self.drawing(None)
    }

    /// A factory for the connections of one client.
    ///
    /// # Errors
    /// Like [`Trial::quinn`].
    pub fn quinn_for(&self, client: IpAddr) -> Result<Arc<Drawing>, Refused> {
        self.drawing(Some(client))
    }

    fn drawing(&self, client: Option<IpAddr>) -> Result<Arc<Drawing>, Refused> {
        self.plans().iter().try_for_each(|plan| Factory::new(*plan).map(drop))?;
        Ok(Drawing::of(self, client))
    }
}

impl congestion::Controller for Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.acked(now, sent, bytes, None, app_limited, rtt.get());
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

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        let now = self.at(now);
        // RFC9002 7.3.1-2 needs only whether the packet was sent before or after the last entry
        // into recovery; its number is not reported.
        let news = since(self.origin, sent) >= self.driver.recovery_began();
        let position = if news { self.driver.next().saturating_sub(1) } else { 0 };
        self.driver.damage(
            now,
            Damage {
                lost,
                ce: lost == 0,
                persistent,
                largest_lost: (lost > 0).then_some(position),
            },
        );
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver.resize(new_mtu);
    }

    fn window(&self) -> u64 {
        // quinn holds a packet back if it would *reach* the window.
        self.driver.window().saturating_add(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver.core().cwnd();
        metrics.ssthresh = self.driver.core().ssthresh();
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
