//! The sending end: a server that answers one request with one object, whichever stack it is.

use super::Error;
use super::wire::{Ecn, Lane};
use bytes::BytesMut;
use firstflight_quic::Status;
use std::time::Instant;

/// Content of the object; written by reference, again and again.
pub(super) static CONTENT: [u8; 65_536] = [0x2a; 65_536];

/// A sender.
pub(super) trait Sender {
    /// The request is in and the object on its way.
    fn serving(&self) -> bool;
    /// The last byte was acknowledged.
    fn done(&self) -> bool;
    /// When the stack wants to be woken.
    fn timeout(&mut self) -> Option<Instant>;
    /// It is woken.
    fn handle_timeout(&mut self, now: Instant);
    /// A datagram arrives.
    fn handle(
        &mut self,
        now: Instant,
        at: u64,
        ecn: Ecn,
        bytes: BytesMut,
        down: &mut Lane<'_>,
    ) -> Result<(), Error>;
    /// Everything the stack and the application have to say to each other.
    fn drive(&mut self) -> Result<(), Error>;
    /// The next datagram that may leave.
    fn transmit(&mut self, now: Instant) -> Option<(Ecn, &[u8])>;
    /// What the controller says of itself, if it is one of ours.
    fn status(&self) -> Option<Status>;
    /// The trial is over: the recorder hears of the last ACK.
    fn close_log(&self);
}

/// How far the application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage<S> {
    /// No request yet.
    Listening,
    /// The request arrived on this stream; so many bytes of the object are still to be handed to
    /// the stack.
    Serving { stream: S, left: u64 },
    /// The last byte was acknowledged.
    Done,
}
