//! Evidence: how much is SACKed above a segment, for every rule that counts.
//!
//! All counting rules are monotone: whatever is SACKed above a segment is also SACKed above every
//! lower one, and the count above a given segment never falls. So there is a boundary below which
//! everything un-SACKed has been judged lost, and it only rises. This file keeps that boundary and
//! the bytes, segments and ranges SACKed at or above it; each segment is passed once.
//!
//! Follows RFC 6675 section 4 (IsLost), RFC 3517. State: 32 bytes.
//! Departures: none; D1 of the scoreboard (whole segments) applies.

use super::Losses;
use super::scoreboard::{Flags, Id, Scoreboard};

/// Bytes and segments SACKed above a given segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Above {
    /// SACKed bytes.
    pub bytes: u64,
    /// SACKed segments.
    pub segments: u64,
    /// Runs of adjacent SACKed segments: discontiguous SACKed ranges.
    pub ranges: u64,
}

/// The boundary and the counts from it upward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    boundary: Id,
    above: Above,
}

impl Evidence {
    /// The lowest segment not yet judged.
    pub fn boundary(&self) -> Id {
        self.boundary
    }

    /// Bytes and segments SACKed at or above the boundary.
    pub fn above(&self) -> Above {
        self.above
    }

    /// The segment was newly SACKed. Call right after [`Scoreboard::mark_sacked`], before the next
    /// segment is marked: whether a range grew or began depends on the neighbours as they were.
    #[inline]
    pub fn on_sacked<B: Scoreboard + ?Sized>(&mut self, board: &B, id: Id) {
        if id < self.boundary {
            return;
        }
        let joins_below = id > self.boundary
            && id.previous().is_some_and(|below| board.holds(below) && sacked(board, below));
        let joins_above = board.holds(id.next()) && sacked(board, id.next());
        self.above.bytes = self.above.bytes.saturating_add(board.len(id));
        self.above.segments = self.above.segments.saturating_add(1);
        self.above.ranges = match (joins_below, joins_above) {
            (false, false) => self.above.ranges.saturating_add(1),
            (true, true) => self.above.ranges.saturating_sub(1),
            _ => self.above.ranges,
        };
    }

    /// The segment is cumulatively acknowledged. Call before [`Scoreboard::acked`] and before it
    /// leaves the storage.
    #[inline]
    pub fn on_acked<B: Scoreboard + ?Sized>(&mut self, board: &B, id: Id) {
        self.boundary = self.boundary.max(board.first());
        while self.boundary <= id && self.boundary < board.next() {
            self.pass(board);
        }
    }

    /// Moves the boundary over one segment and removes the segment from the counts if it was
    /// SACKed.
    #[inline]
    fn pass<B: Scoreboard + ?Sized>(&mut self, board: &B) {
        let id = self.boundary;
        self.boundary = id.next();
        if !sacked(board, id) {
            return;
        }
        self.above.bytes = self.above.bytes.saturating_sub(board.len(id));
        self.above.segments = self.above.segments.saturating_sub(1);
        if !(board.holds(id.next()) && sacked(board, id.next())) {
            self.above.ranges = self.above.ranges.saturating_sub(1);
        }
    }

    /// Raises the boundary as long as `lost` returns true, and marks the segments that it passes.
    /// `lost` is called for un-SACKed segments only, in ascending order, and must be monotone: if
    /// it returns false for a segment, it would return false for all above.
    #[inline]
    pub fn detect<B: Scoreboard + ?Sized>(
        &mut self,
        board: &mut B,
        losses: &mut Losses,
        lost: impl Fn(Id, Above) -> bool,
    ) {
        self.boundary = self.boundary.max(board.first());
        let Some(highest) = board.ledger().highest_sacked() else { return };
        while self.boundary < highest {
            let id = self.boundary;
            if sacked(board, id) {
                self.pass(board);
            } else if lost(id, self.above) {
                if board.mark_lost(id) {
                    losses.add(board, id);
                }
                self.boundary = id.next();
            } else {
                break;
            }
        }
    }

    /// Counts again from the head, after marks were removed or SACKs forgotten. This walks the
    /// window.
    pub fn rewind<B: Scoreboard + ?Sized>(&mut self, board: &B) {
        *self = Evidence { boundary: board.first(), above: Above::default() };
        let mut id = board.first();
        let mut joins = false;
        while id < board.next() {
            let here = sacked(board, id);
            if here {
                self.above.bytes = self.above.bytes.saturating_add(board.len(id));
                self.above.segments += 1;
                self.above.ranges += u64::from(!joins);
            }
            joins = here;
            id = id.next();
        }
    }
}

#[inline]
fn sacked<B: Scoreboard + ?Sized>(board: &B, id: Id) -> bool {
    board.flags(id).has(Flags::SACKED)
}
