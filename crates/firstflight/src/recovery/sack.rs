//! Cut once and fill: the window falls to the target at entry and every ACK fills the pipe up to
//! it, holes first. It repairs as fast as the estimate of the pipe allows; one ACK that reveals
//! many losses releases all the missing data at once. Under light loss it is silent until the
//! flight has drained to the target, about half a round.
//!
//! Follows: RFC 6675 section 5 (August 2012), and RFC 3517, whose sending rule is the same. State:
//! 40 bytes. What is lost, what the pipe is and which segment is next belong to the endpoint; this
//! file only says how much.
//!
//! Departures:
//! * D1 (`fill`): the text sends while at least one full segment of room is left; stacks that send
//!   into any room are an option.
//! * D2 (`inflate`): gVisor adds three segments to the target although SACK already counts what
//!   left; an option, off by default.
//! * D3 (marks): the text knows only losses. Entered by marks it makes the same cut but has no
//!   segment to repeat unconditionally.

use crate::named::named;
use crate::options::params;
use crate::recovery::{Cause, End, Entry, LostRepeat, Policy, Progress, Recovery};
use crate::units::MAX_BYTES;

named! {
    /// How much room a segment needs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Fill {
        /// A full segment, whatever the length of the one to be sent (the text).
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
        /// How much room a segment needs.
        pub fill: Fill = Fill::FullSegment, "fill" [] "how much room a segment needs";
        /// Segments added to the target while the episode is open: 0 (RFC 6675) or 3 (gVisor).
        pub inflate: u32 = 0, "inflate" [0..=10 "segments"] "segments added to the target while recovering (gVisor: 3)";
        /// What a lost repeat does, if the detector can see one; RFC 6675 leaves it to the timeout.
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
    /// The first repeat, sent whatever the pipe, is still to come.
    first: bool,
}

impl Sack {
    /// A policy with these parameters.
    pub fn new(params: Params) -> Sack {
        Sack { params, ..Sack::default() }
    }

    /// The parameters.
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
        // RFC6675 5-4.2: the window is the target from here on; GVISOR sack-inflate: and three
        // segments more.
        self.cwnd =
            self.target.saturating_add(self.mss.saturating_mul(u64::from(self.params.inflate)));
        // RFC6675 5-4.3: the first hole is repeated without looking at the pipe.
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
