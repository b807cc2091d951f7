//! Controllers for quinn 0.11: the arms that its interface supports.
//!
//! Features that quinn lacks, and the consequences:
//! * A pacing rate: its pacer always releases 5/4 of the window per smoothed RTT. Arms whose
//!   startup *is* a rate (the jump of `rapid` and of `jumpstart`, the trains of `plumb`),
//!   `pace=off`, `burst=` and `recgain=` are refused. Without its jump, Rapid Start runs, but its
//!   growth by 3 per round trip becomes 2.6 and growth by 2 becomes 1.9, with 0.8 and 0.9 of the
//!   window in flight.
//! * Packet numbers of acknowledged and lost packets: whether a packet is fresh is decided by its
//!   time of sending. An RTT sample may be that of an older packet if the largest acknowledged one
//!   carried only an ACK: then it is too long.
//! * Individual sends: batches of up to ten packets are reported at once, packets that carry only
//!   ACKs included, so that recovery by delivered bytes (PRR) counts slightly too many bytes as
//!   sent.
//! * Spurious losses: no reduction is undone.

mod beside;
#[cfg(feature = "trial")]
mod drawing;

pub use beside::{BesideFactory, Foreign, close_log};
#[cfg(feature = "trial")]
pub use drawing::Drawing;

use crate::driver::{AckedPacket, Damage, Driver, EndOfAcks, SharedRecorder, Status};
use crate::numbers::Numbers;
use crate::plan::{Plan, Refused, since};
use firstflight::Nanos;
use firstflight::arm::StartupSpec;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A factory for the arm that `text` names, ready for
/// `TransportConfig::congestion_controller_factory`.
///
/// # Errors
/// If the text is not an arm, or names one that quinn does not support.
pub fn factory(text: &str) -> Result<Arc<Factory>, Refused> {
    Ok(Arc::new(Factory::new(Plan::parse(text)?)?))
}

/// State of a connection's controller; `None` if it is not one of ours. It includes an ACK whose
/// losses may still follow.
pub fn status(controller: &dyn congestion::Controller) -> Option<Status> {
    controller.clone_box().into_any().downcast::<Controller>().ok().map(|ours| ours.driver.status())
}

/// Why quinn does not support this arm, if it does not.
fn refusal(plan: &Plan) -> Option<&'static str> {
    let sender = &plan.arm.sender;
    match &plan.arm.startup {
        StartupSpec::Rapid(params) if params.jump.is_some() => {
            Some("quinn has no pacing rate to spread a jump with: use rapid(jump=off), or noq")
        }
        StartupSpec::Rapid(params) if params.full_rtt_pacing => Some(
            "quinn has no pacing rate to spread a round with: leave the pacing option out, or use noq",
        ),
        StartupSpec::Bbr(_) | StartupSpec::Bbr3(_) => {
            Some("quinn has no pacing rate for bbr to set: use noq")
        }
        StartupSpec::Careful(params) if params.saved.is_some() => {
            Some("quinn has no pacing rate to spread a jump with: use noq")
        }
        StartupSpec::Jump(_) => Some("quinn has no pacing rate to spread a jump with: use noq"),
        StartupSpec::Plumb(_) => Some("quinn has no pacing rate to send trains with: use noq"),
        _ if sender.pace.is_some() => {
            Some("quinn's pacer is always on: leave pace= out, or use noq")
        }
        _ if sender.burst.is_some() => {
            Some("quinn's pacer has a bucket of its own: leave burst= out, or use noq")
        }
        _ if sender.recovery_gain.is_some() => {
            Some("quinn's pacer has a gain of its own: leave recgain= out, or use noq")
        }
        _ => None,
    }
}

/// Builds one controller per connection.
#[derive(Clone, Debug)]
pub struct Factory {
    plan: Plan,
    origin: Instant,
    recorder: Option<SharedRecorder>,
}

impl Factory {
    /// A factory for this plan. Times count from now.
    ///
    /// # Errors
    /// If quinn does not support the arm.
    pub fn new(plan: Plan) -> Result<Factory, Refused> {
        match refusal(&plan) {
            Some(why) => Err(Refused(format!("arm `{}`: {why}", plan.arm))),
            None => Ok(Factory { plan, origin: Instant::now(), recorder: None }),
        }
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
        let now = since(self.origin, now);
        Controller {
            origin: self.origin,
            driver: Driver::new(self.plan, current_mtu, now, self.recorder.clone()),
            numbers: Numbers::default(),
            present: false,
            older: false,
        }
    }
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(self.controller(now, current_mtu))
    }
}

/// An arm as a controller of quinn.
#[derive(Clone, Debug)]
pub struct Controller {
    origin: Instant,
    driver: Driver,
    numbers: Numbers,
    /// Whether the last packet of the ACK being listed belongs to the current packet number space.
    present: bool,
    /// Whether it belongs to an older space.
    older: bool,
}

impl Controller {
    /// Reported state.
    pub fn status(&self) -> Status {
        self.driver.status()
    }

    /// `on_ack` with the values of the estimator, which only quinn can construct.
    pub(crate) fn acked(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        srtt: Duration,
    ) {
        let now = since(self.origin, now);
        let sent = since(self.origin, sent);
        self.present = self.numbers.is_present(sent);
        self.older = !self.present;
        let fresh = sent >= self.driver.recovery_began();
        let srtt = Nanos(u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX));
        self.driver.acked(
            now,
            AckedPacket { bytes, sent, position: None, fresh },
            app_limited,
            srtt,
        );
    }
}

impl congestion::Controller for Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let now = since(self.origin, now);
        let (position, new_space) = self.numbers.sent(last_packet_number, now, self.driver.next());
        if new_space {
            self.driver.new_space(now);
        }
        self.driver.sent(now, bytes, position);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.acked(now, sent, bytes, app_limited, rtt.get());
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let now = since(self.origin, now);
        // The number belongs to the acknowledged space, which only the previously listed packets
        // reveal.
        let older = std::mem::take(&mut self.older);
        let largest =
            largest.filter(|_| std::mem::take(&mut self.present)).map(|pn| self.numbers.here(pn));
        self.driver.end_acks(now, EndOfAcks { inflight: in_flight, app_limited, largest, older });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        let now = since(self.origin, now);
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
