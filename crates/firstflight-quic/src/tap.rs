//! Listening to a controller: what a tap hears after each event. Nobody listens unless a factory
//! was given a tap.

use crate::plan::Plan;
use firstflight::arm::ArmController;
use firstflight::{Ack, Config, Event, Seq, Time};
use std::fmt::Debug;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// An ack-eliciting packet (quinn: a batch of packets) left.
    Sent {
        /// Its position in the order of sending; of a batch, the last.
        position: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The stack declared one packet lost; the ACK or timer that it belongs to is reported
    /// afterwards. noq and s2n-quic.
    Lost {
        /// Its position in the order of sending, if it belongs to the present packet number space.
        position: u64,
        /// Bytes.
        bytes: u64,
    },
    /// An ACK with everything that belongs to it was answered.
    Ack,
    /// A loss timer was answered.
    Timer,
    /// The stack took its last loss declarations back. noq only.
    Spurious,
    /// The handshake is behind: the controller started afresh.
    Restart,
    /// The controller was built. Only for a tap that [listens](Tap::listens), as everything that
    /// follows.
    Begin,
    /// The controller was told something ([`Moment::told`]).
    Told,
    /// A packet is newly acknowledged; the ACK that it belongs to is reported afterwards. Where the
    /// stack gives numbers.
    Acked {
        /// Its position in the order of sending.
        position: u64,
    },
}

/// What a controller was built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begin {
    /// The recipe.
    pub plan: Plan,
    /// The configuration, the arm's sender options applied.
    pub config: Config,
    /// The first position in the order of sending.
    pub nxt: Seq,
}

/// The state of one controller right after an event.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When, counted from the origin of the factory. An ACK is reported when the next event shows
    /// that it is complete, with the time of its arrival.
    pub now: Time,
    /// After what.
    pub event: Happened,
    /// The controller.
    pub controller: &'a ArmController,
    /// Bytes in flight.
    pub inflight: u64,
    /// Window just before, bytes.
    pub cwnd_before: u64,
    /// The record that the controller was given, for [`Happened::Ack`] and [`Happened::Timer`].
    pub ack: Option<&'a Ack>,
    /// What it was told, for [`Happened::Told`].
    pub told: Option<&'a Event>,
    /// What it was built from, for [`Happened::Begin`] and [`Happened::Restart`].
    pub begin: Option<Begin>,
}

/// Somebody who listens. Called from within the stack: must be quick and must not call back into
/// it.
pub trait Tap: Debug + Send + Sync {
    /// One event of one controller.
    fn on_event(&self, moment: &Moment<'_>);

    /// It wants to hear everything that the controller is told, for a trace. Asked once, when the
    /// controller is built.
    fn listens(&self) -> bool {
        false
    }
}
