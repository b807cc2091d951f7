//! Following a controller: whoever drives one tells a [`Recorder`] each [`Event`] that it told the
//! controller, with the controller right after it. Simulator, QUIC adapters and whoever writes a
//! transport of his own do it the same way; [`Account`](crate::Account) is one that counts.

use crate::arm::{Arm, ArmController};
use crate::controller::Config;
use crate::detection::undo::Proof;
use crate::event::Event;
use crate::units::{Seq, Time};
use core::fmt::Debug;

/// What a controller was built from: with the events after it, all that there is to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begin {
    /// When, on the controller's clock.
    pub now: Time,
    /// The arm.
    pub arm: Arm,
    /// The configuration, the arm's sender options applied.
    pub config: Config,
    /// The first packet or sequence number.
    pub nxt: Seq,
    /// Exit window in bytes for an oracle that was not told one.
    pub oracle_exit: u64,
}

impl Begin {
    /// The same controller once more.
    pub fn controller(&self) -> ArmController {
        self.arm.controller(self.config, self.oracle_exit, self.now, self.nxt)
    }
}

/// Somebody who follows controllers of type `C`. Called from within the transport: must be quick and
/// must not call back into it.
pub trait Recorder<C>: Debug {
    /// False removes every trace of recording at compile time, where the recorder is a type
    /// parameter.
    #[inline]
    fn records() -> bool
    where
        Self: Sized,
    {
        true
    }

    /// The controller was built, or built anew once the handshake was over: what it was told before
    /// does not count. Called by transports that build their controllers themselves.
    fn on_begin(&mut self, begin: &Begin) {
        let _ = begin;
    }

    /// The controller was told `event` and is now like `after`.
    fn on_event(&mut self, event: &Event, after: &C);

    /// Packet `number` was newly acknowledged; the event that it belongs to follows. Only where the
    /// transport gives numbers: the position in the order of sending (QUIC), the ordinal of the
    /// transmission (TCP).
    #[inline]
    fn on_acked(&mut self, number: u64) {
        let _ = number;
    }

    /// Packet `number` was declared lost, likewise.
    #[inline]
    fn on_lost(&mut self, number: u64) {
        let _ = number;
    }

    /// This proved the last episode a false alarm; the event that it belongs to follows. Only where
    /// the transport says so.
    #[inline]
    fn on_proof(&mut self, proof: Proof) {
        let _ = proof;
    }
}
