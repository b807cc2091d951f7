//! Immediate cut: the window falls to its reduced value at once, and nothing is sent until the
//! flight has shrunk below it. One packet may exceed the window at entry, so that the repair starts
//! without waiting for the flight to drain. The cost is about half a round of silence whenever the
//! window is halved.
//!
//! Follows: RFC 9002 sections 7.3.2 and B.6 (May 2021). State: 16 bytes.
//!
//! Departures:
//! * D1 (when to cut): the controller and the transport decide which packets open and end a period;
//!   this policy sets only the window.

use crate::recovery::{End, Entry, Policy, Progress, Recovery};
use crate::units::MAX_BYTES;

/// The immediate cut of QUIC; see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Immediate {
    cwnd: u64,
    /// The one packet above the window has not been sent yet.
    free: bool,
}

impl Policy for Immediate {
    type Settings = ();

    fn settings(&self) {}

    fn with((): ()) -> Immediate {
        Immediate::default()
    }
}

impl Recovery for Immediate {
    fn enter(&mut self, entry: &Entry) {
        self.cwnd = entry.reduced.min(MAX_BYTES);
        // RFC9002 7.3.2-3: one packet may leave as if before the reduction; section B.6 grants it
        // for losses and for marks alike.
        self.free = true;
    }

    fn on_ack(&mut self, _progress: &Progress) {}

    #[inline]
    fn admits(&self, len: u64, pipe: u64) -> bool {
        // RFC9002 7-6: a packet that would take the flight past the window must wait.
        self.free || pipe.saturating_add(len) <= self.cwnd
    }

    #[inline]
    fn on_sent(&mut self, _len: u64) {
        self.free = false;
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn end(&mut self, _how: End, _pipe: u64) -> u64 {
        self.free = false;
        self.cwnd
    }
}
