//! The sending end: a server that answers one request with one object, on either stack.

use super::Error;
use super::wire::{Ecn, Lane};
use bytes::BytesMut;
use firstflight_quic::Status;
use std::time::Instant;

/// Content of the object; sent repeatedly, by reference.
pub(super) static CONTENT: [u8; 65_536] = [0x2a; 65_536];

pub(super) trait Sender {
    /// Whether the request has arrived and the object is being sent.
    fn serving(&self) -> bool;
    /// Whether the last byte was acknowledged.
    fn done(&self) -> bool;
    /// When the stack's next timer is due.
    fn timeout(&mut self) -> Option<Instant>;
    /// Runs the stack's timer.
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
    /// Exchanges all pending events between the stack and the application.
    fn drive(&mut self) -> Result<(), Error>;
    /// The next datagram that may leave.
    fn transmit(&mut self, now: Instant) -> Option<(Ecn, &[u8])>;
    /// The status that the controller reports, if it is one of ours.
    fn status(&self) -> Option<Status>;
    /// The trial is over: reports the last ACK to the recorder.
    fn close_log(&self);
}

/// Progress of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage<S> {
    /// No request yet.
    Listening,
    /// The request arrived on this stream; `left` bytes of the object have not been passed to the
    /// stack yet.
    Serving { stream: S, left: u64 },
    /// The last byte was acknowledged.
    Done,
}
