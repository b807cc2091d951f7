//! Recording a controller: the transport passes each [`Event`] that the controller received to a
//! [`Recorder`], with the controller's state right after it. The simulator, the QUIC adapters and
//! other transports all do this the same way; [`Account`](crate::Account) is a recorder that
//! counts.

use crate::AnyController;
use crate::arm::Arm;
use crate::controller::Config;
use crate::detection::undo::Proof;
use crate::event::Event;
use crate::units::{Seq, Time};
use core::fmt::Debug;

/// The inputs a controller was built from; together with the events that follow they determine its
/// state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begin {
    /// Time on the controller's clock.
    pub now: Time,
    /// The arm.
    pub arm: Arm,
    /// The configuration, the arm's sender options applied.
    pub config: Config,
    /// The first packet or sequence number.
    pub nxt: Seq,
    /// Exit window in bytes for an oracle without one.
    pub oracle_exit: u64,
}

impl Begin {
    /// Builds the same controller again.
    pub fn controller(&self) -> AnyController {
        self.arm.with_oracle(self.oracle_exit).controller(self.config, self.now, self.nxt)
    }
}

/// A recorder of controllers of type `C`. It is called from within the transport, so it must be
/// quick and must not call back into the transport.
pub trait Recorder<C>: Debug {
    /// Whether it records at all; `false` removes all recording code at compile time if the
    /// recorder is a type parameter.
    #[inline]
    fn records() -> bool
    where
        Self: Sized,
    {
        true
    }

    /// The controller was built, or rebuilt once the handshake was over; earlier events then do not
    /// count. Called by transports that build their controllers themselves.
    fn on_begin(&mut self, begin: &Begin) {
        let _ = begin;
    }

    /// The controller processed `event`; `after` is its state now.
    fn on_event(&mut self, event: &Event, after: &C);

    /// Packet `number` was newly acknowledged; the event that it belongs to follows. Only called by
    /// transports with packet numbers: the position in the order of sending (QUIC), the ordinal of
    /// the transmission (TCP).
    #[inline]
    fn on_acked(&mut self, number: u64) {
        let _ = number;
    }

    /// Packet `number` was declared lost; the event that it belongs to follows, as for
    /// [`Recorder::on_acked`].
    #[inline]
    fn on_lost(&mut self, number: u64) {
        let _ = number;
    }

    /// `proof` showed that the last episode was a false alarm; the event that it belongs to
    /// follows. Only called by transports that report proofs.
    #[inline]
    fn on_proof(&mut self, proof: Proof) {
        let _ = proof;
    }
}
