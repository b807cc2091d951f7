//! Lost retransmissions without RACK: a retransmission is lost when data sent after it was SACKed.
//!
//! When a segment is retransmitted, the next never-sent byte is recorded. A SACK beyond that byte
//! means that data sent after the retransmission arrived, so the retransmission should have arrived
//! earlier. With reordering on the path the SACK must be that much further. Follows Linux 2.6
//! (`tcp_mark_lost_retrans`) as we understand it, which all arms of the 2011 experiments used. RFC
//! 6675 has no such rule: there only the timeout detects a lost retransmission. State: a cursor of
//! 8 bytes over the order of sending. Departures: D1 with FACK off we interpret "beyond" as one
//! byte further than the kernel does, which also accepts equality.

use super::scoreboard::{Flags, SendOrder};
use super::{Losses, reordering::Reordering};
use crate::units::Seq;

/// The walk over retransmissions in the order they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRepeats {
    /// Every transmission before this ordinal is settled: not a retransmission, delivered,
    /// retransmitted again, or marked here.
    cursor: u64,
}

impl LostRepeats {
    /// LINUX lost-repeat-1: marks retransmissions overtaken by data sent after them.
    /// `highest_sacked` is the highest SACKed end, `fack` whether FACK is on.
    ///
    /// Positions recorded at retransmissions never decrease, so the walk stops at the first one
    /// that is not far enough below.
    #[inline]
    pub fn detect<B: SendOrder>(
        &mut self,
        board: &mut B,
        highest_sacked: Seq,
        fack: bool,
        reordering: Reordering,
        mss: u64,
    ) -> Losses {
        // LINUX lost-repeat-2: with reordering on the path, further by its degree.
        let margin = if fack { 0 } else { u64::from(reordering.degree()).saturating_mul(mss) };
        let mut losses = Losses::default();
        self.cursor = self.cursor.max(board.oldest_sent());
        while self.cursor < board.next_sent() {
            if let Some(id) = board
                .live(self.cursor)
                .filter(|&id| board.tx_count(id) > 1 && !board.flags(id).has(Flags::SACKED))
            {
                if highest_sacked.0 <= board.nxt_at_last_tx(id).0.saturating_add(margin) {
                    break;
                }
                board.mark_lost_again(id);
                losses.add(board, id);
            }
            self.cursor += 1;
        }
        losses
    }
}
