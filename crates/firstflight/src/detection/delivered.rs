//! Delivered data: how many bytes newly arrived according to an ACK, each counted once.
//!
//! With SACK the count is the advance of `una` plus the signed change of SACKed bytes, so it is
//! exact even if ACKs are lost, merged, split or reordered. Without SACK a duplicate ACK stands for
//! one segment and is set off against the next advance. Follows RFC 6937 section 2 and RFC 9937
//! section 6 (DeliveredData). State: one counter of 8 bytes without SACK, none with it. The cap of
//! RFC 9937 on forged duplicates needs the totals of the episode and is part of
//! [`Prr`](crate::recovery::Prr); the pipe without SACK is
//! [`Ledger::pipe_without_sack`](super::Ledger::pipe_without_sack). QUIC does not need this: there
//! the count is the sum of newly acknowledged packets. Departures: D1 a negative count (the
//! receiver discarded SACKed data) is reported as such instead of being used.

use super::scoreboard::span;
use crate::units::{MAX_BYTES, Seq};

/// Bytes newly delivered by an ACK on a connection with SACK: `sacked` are the SACKed bytes above
/// `una`, before and after. `None` if the sum is negative: the receiver reneged, and the caller
/// counts 0 and forgets its SACKs.
#[inline]
pub fn delivered(una_before: Seq, una: Seq, sacked_before: u64, sacked: u64) -> Option<u64> {
    let gained = span(una_before, una).saturating_add(sacked);
    // RFC6937 2-1, RFC9937 6-delivered: the second term is signed; bytes counted when they were
    // SACKed cancel when `una` passes them.
    gained.checked_sub(sacked_before)
}

/// Delivered data without SACK. There is one per connection, because duplicates before an episode
/// count too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DuplicateCredit {
    credit: u64,
}

impl DuplicateCredit {
    /// Bytes credited for duplicate ACKs and not yet set off.
    pub fn credit(&self) -> u64 {
        self.credit
    }

    /// RFC6937 2-2: a duplicate ACK, so somewhere a segment of `mss` bytes has arrived.
    #[inline]
    pub fn on_duplicate(&mut self, mss: u64) -> u64 {
        self.credit = self.credit.saturating_add(mss).min(MAX_BYTES);
        mss
    }

    /// An ACK moves `una` by `advance` bytes; bytes already credited for duplicates are not counted
    /// twice.
    #[inline]
    pub fn on_advance(&mut self, advance: u64) -> u64 {
        let fresh = advance.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(advance);
        fresh
    }
}
