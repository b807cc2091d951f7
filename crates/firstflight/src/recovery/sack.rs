//! Cut once and fill: the window falls to the target at entry and every ACK fills the pipe up to
//! it, holes first. It repairs as fast as the estimate of the pipe allows; one ACK that reveals
//! many losses releases all the missing data at once. Under light loss the sender is silent until
//! the flight has drained to the target, about half a round.
//!
//! Follows: RFC 6675 section 5 (August 2012), and RFC 3517, which has the same sending rule. State:
//! 40 bytes. The endpoint decides which segments are lost, computes the pipe and picks the next
//! segment; this policy only decides how much may be sent.
//!
//! Departures:
//! * D1 (`fill`): the RFC sends while there is room for at least one full segment; sending into any
//!   room, as some stacks do, is an option.
//! * D2 (`inflate`): gVisor adds three segments to the target although SACK already accounts for
//!   delivered segments; this is an option, off by default.
//! * D3 (marks): the RFC covers only losses. If marks open the episode, the cut is the same, but no
//!   segment is retransmitted unconditionally.

use crate::named::named;
use crate::options::params;
use crate::recovery::{Cause, End, Entry, LostRepeat, Policy, Progress, Recovery};
use crate::units::MAX_BYTES;

named! {
    /// Room that a segment needs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Fill {
        /// A full segment, whatever the length of the segment to be sent (the RFC).
        #[default]
        FullSegment = "segment",
        /// One byte.
        AnyRoom = "any",
    }
}

params! {
    /// Parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Room that a segment needs.
        pub fill: Fill = Fill::FullSegment, "fill" [] "how much room a segment needs";
        /// Segments added to the target while the episode is open: 0 (RFC 6675) or 3 (gVisor).
        pub inflate: u32 = 0, "inflate" [0..=10 "segments"] "segments added to the target while recovering (gVisor: 3)";
        /// Effect of a lost retransmission, if the detector can find one; RFC 6675 leaves this to
        /// the timeout.
        pub lost_repeat: LostRepeat = LostRepeat::CutAgain, "lost" [] "effect of a lost retransmission";
    }
}

/// Cut once and fill; see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    params: Params,
    target: u64,
    cwnd: u64,
    mss: u64,
    /// Whether the first retransmission, which ignores the pipe, is still to be sent.
    first: bool,
}

impl Sack {
    /// A policy with these parameters.
    pub fn new(params: Params) -> Sack {
        Sack { params, ..Sack::default() }
    }

    /// The parameters.
    #[doc(hidden)]
    pub fn params(&self) -> &Params {
        &self.params
    }
}

impl Policy for Sack {
    type Settings = Params;

    fn settings(&self) -> Params {
        self.params
    }

    fn with(settings: Params) -> Sack {
        Sack::new(settings)
    }
}

impl Recovery for Sack {
    fn enter(&mut self, entry: &Entry) {
        self.mss = entry.mss.clamp(1, MAX_BYTES);
        self.target = entry.target.min(MAX_BYTES);
        // RFC6675 5-4.2: the window becomes the target; GVISOR sack-inflate: plus three segments.
        self.cwnd =
            self.target.saturating_add(self.mss.saturating_mul(u64::from(self.params.inflate)));
        // RFC6675 5-4.3: the first hole is retransmitted regardless of the pipe.
        self.first = entry.cause != Cause::Ecn;
    }

    fn on_ack(&mut self, progress: &Progress) {
        self.mss = progress.mss.clamp(1, MAX_BYTES);
    }

    #[inline]
    fn admits(&self, _len: u64, pipe: u64) -> bool {
        // RFC6675 5-C: send while the window exceeds the pipe by a full segment.
        let room = match self.params.fill {
            Fill::FullSegment => self.mss,
            Fill::AnyRoom => 1,
        };
        self.first || pipe.saturating_add(room) <= self.cwnd
    }

    #[inline]
    fn on_sent(&mut self, _len: u64) {
        self.first = false;
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn end(&mut self, _how: End, _pipe: u64) -> u64 {
        self.first = false;
        // RFC6675 5-end: the target stays the window.
        self.target
    }

    fn restarts_on_lost_repeat(&self) -> bool {
        self.params.lost_repeat == LostRepeat::CutAgain
    }
}
