//! Safe retreat: the response to a loss inside a jump that is not validated yet.
//!
//! Follows: Careful Resume (draft-ietf-tsvwg-careful-resume-04), section on the safe retreat phase.
//! State: 32 bytes. The window falls to half of what the path has proven to carry and rises with
//! every further packet of the jump that is acknowledged, up to `beta` times PipeSize.

use crate::units::{MAX_BYTES, Ratio, Seq};

/// The window rule of one safe retreat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SafeRetreat {
    beta: Ratio,
    pipe_size: u64,
    end: Seq,
    cwnd: u64,
}

impl SafeRetreat {
    /// Retreats after `pipe_size` bytes of the jump were acknowledged (the triggering ACK
    /// included); the jump ends before `end`.
    pub fn new(beta: Ratio, pipe_size: u64, end: Seq, iw: u64, mss: u64) -> SafeRetreat {
        // CR 3.5-2: half of the proven pipe, but at least half of the initial window.
        let cwnd = (pipe_size.max(iw) / 2).max(mss.saturating_mul(2));
        SafeRetreat { beta, pipe_size: pipe_size.min(MAX_BYTES), end, cwnd }
    }

    /// A constant window of `cwnd` bytes. A separate enum variant would take eight more bytes in
    /// every controller.
    pub(crate) fn standing(cwnd: u64) -> SafeRetreat {
        SafeRetreat { beta: Ratio::new(1, 1), pipe_size: 0, end: Seq(0), cwnd }
    }

    /// The window now, in bytes.
    #[doc(hidden)]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// `acked` more bytes arrived; bytes of the jump increase PipeSize.
    #[doc(hidden)]
    pub fn account(&mut self, acked: u64, una: Seq) {
        // CR 3.5-4: further packets of the jump count, up to beta times all of them.
        if una <= self.end {
            self.pipe_size = self.pipe_size.saturating_add(acked).min(MAX_BYTES);
            self.cwnd = self.cwnd.max(self.beta.of(self.pipe_size));
        }
    }
}
