//! DeliveredData: how many bytes one ACK newly proves delivered, with SACK and without.
//! With SACK it is exact whatever happens to the ACKs, because it is the difference of two totals. Without SACK every duplicate ACK
//! counts as one segment, and what was counted that way is taken off again when the cumulative ACK passes it.
//!
//! Follows: RFC 9937 section 6.2 (and RFC 6937 section 3, which counts the same). State: 8 bytes without SACK, none with it.
//! QUIC needs neither: there it is the sum of newly acknowledged packets.
//!
//! Departures: none. The cap that RFC 9937 puts on forged duplicates needs the episode's totals and lives with
//! [`Prr`](crate::recovery::Prr).

use crate::units::Seq;

/// Bytes newly delivered on a connection with SACK: `una` and the bytes SACKed above it, before and after the ACK.
///
/// `None` if the totals went back: the receiver threw SACKed data away. The ACK then counts 0 and the scoreboard is to be dropped.
pub fn with_sack(una: (Seq, Seq), sacked: (u64, u64)) -> Option<u64> {
    let before = u128::from(una.0.0) + u128::from(sacked.0);
    let after = u128::from(una.1.0) + u128::from(sacked.1);
    // RFC9937 6.2: the SACK term is signed, so that bytes counted when they were SACKed cancel when `una` passes them.
    after.checked_sub(before).map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The account of a connection without SACK: bytes that duplicate ACKs stood for and that `una` has not passed yet. It belongs to
/// the connection and not to an episode: the duplicates before entry count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DupAckCredit {
    credit: u64,
}

impl DupAckCredit {
    /// A duplicate ACK: one segment has left the network, nobody knows which.
    pub fn duplicate(&mut self, mss: u64) -> u64 {
        self.credit = self.credit.saturating_add(mss);
        mss
    }

    /// `una` moved on by `bytes`: what duplicates already stood for is not counted twice.
    pub fn advance(&mut self, bytes: u64) -> u64 {
        let counted = self.credit.min(bytes);
        self.credit -= counted;
        bytes - counted
    }

    /// Bytes counted and not yet passed by `una`.
    pub fn credit(&self) -> u64 {
        self.credit
    }

    /// The pipe of a connection without SACK: `flight` less what duplicates stood for (never more than `recover_fs`, the flight at
    /// entry; outside an episode pass `flight`), less what is `lost`, plus what was `repeated`.
    pub fn pipe(&self, flight: u64, recover_fs: u64, lost: u64, repeated: u64) -> u64 {
        flight.saturating_sub(self.credit.min(recover_fs)).saturating_sub(lost).saturating_add(repeated)
    }
}
