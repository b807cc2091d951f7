//! Careful Resume's safe retreat: the response to loss or marks before a jump is validated.
//!
//! Follows: RFC 9959 (May 2026; read as draft-ietf-tsvwg-careful-resume-24), Safe Retreat. State:
//! 32 bytes. The window falls to half of what the path has proven to carry and stays there until
//! all of the jump is acknowledged; then the threshold is set from the total delivered.
//! [`super::safe_retreat`] is the older rule.

use crate::units::{MAX_BYTES, Ratio, Seq};

/// The window rule of one retreat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarefulRetreat {
    beta: Ratio,
    pipe: u64,
    end: Seq,
    cwnd: u64,
}

impl CarefulRetreat {
    /// Starts a retreat from `pipe` bytes (PipeSize), the triggering ACK included. It ends when everything
    /// before `end` is acknowledged, and the window stays at two segments or more.
    pub fn new(beta: Ratio, pipe: u64, end: Seq, mss: u64) -> CarefulRetreat {
        // CR9959 retreat-window: half of PipeSize.
        let cwnd = (pipe / 2).max(mss.saturating_mul(2));
        CarefulRetreat { beta, pipe: pipe.min(MAX_BYTES), end, cwnd }
    }

    /// The window, in bytes; constant during the retreat (CR9959 retreat-still).
    #[doc(hidden)]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// `acked` more bytes arrived.
    #[doc(hidden)]
    pub fn account(&mut self, acked: u64) {
        // CR9959 retreat-pipe: PipeSize keeps counting.
        self.pipe = self.pipe.saturating_add(acked).min(MAX_BYTES);
    }

    /// Whether all of the jump is acknowledged.
    #[doc(hidden)]
    pub fn is_over(&self, una: Seq) -> bool {
        una >= self.end
    }

    /// The threshold to leave with, in bytes; not below the window.
    #[doc(hidden)]
    pub fn ssthresh(&self) -> u64 {
        // CR9959 retreat-exit: Beta times PipeSize.
        self.beta.of(self.pipe).max(self.cwnd)
    }
}
