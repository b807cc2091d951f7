//! Everything a controller can be told, as one type: what a log keeps and a replay gives back.

use crate::avoidance::Avoidance;
use crate::controller::Controller;
use crate::event::{Ack, Congestion, Ready, Sent};
use crate::recovery::Policy;
use crate::startup::Startup;
use crate::units::{Nanos, Time};

/// One thing that a controller is told. A controller built anew and told the same things in the
/// same order is the same controller.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// [`Controller::on_handshake_rtt`].
    HandshakeRtt {
        /// The moment.
        now: Time,
        /// The sample.
        rtt: Nanos,
    },
    /// [`Controller::before_send`].
    Ready(Ready),
    /// [`Controller::on_sent`].
    Sent(Sent),
    /// [`Controller::on_ack`]: an ACK or a loss timer.
    Ack(Ack),
    /// [`Controller::on_congestion`].
    Congestion(Congestion),
    /// [`Controller::on_spurious`].
    Spurious {
        /// The moment; the controller itself does not ask for it.
        now: Time,
    },
    /// [`Controller::set_mss`].
    Mss {
        /// The moment; the controller itself does not ask for it.
        now: Time,
        /// The largest packet, bytes.
        mss: u64,
    },
}

impl Told {
    /// When.
    pub const fn now(&self) -> Time {
        match self {
            Told::HandshakeRtt { now, .. } | Told::Spurious { now } | Told::Mss { now, .. } => *now,
            Told::Ready(ready) => ready.now,
            Told::Sent(sent) => sent.now,
            Told::Ack(ack) => ack.now,
            Told::Congestion(congestion) => congestion.now,
        }
    }
}

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// Tells it one thing.
    pub fn tell(&mut self, told: &Told) {
        match told {
            Told::HandshakeRtt { now, rtt } => self.on_handshake_rtt(*now, *rtt),
            Told::Ready(ready) => self.before_send(ready),
            Told::Sent(sent) => self.on_sent(sent),
            Told::Ack(ack) => self.on_ack(ack),
            Told::Congestion(congestion) => self.on_congestion(congestion),
            Told::Spurious { .. } => self.on_spurious(),
            Told::Mss { mss, .. } => self.set_mss(*mss),
        }
    }
}
