//! Counting detectors: duplicate ACKs without SACK (NewReno), the rules of RFC 3517 and 6675, and
//! FACK with adaptation to reordering.
//!
//! A segment is lost when enough data sent after it has arrived: three duplicate ACKs, three SACKed
//! ranges, a number of SACKed bytes, or a number of segments below the highest SACKed one. A lost
//! head opens an episode.
//!
//! Follows RFC 5681 section 3.2, RFC 6582, RFC 3517, RFC 6675 sections 3 to 5; FACK as in Linux
//! before RACK. State: 40 bytes. Departures: D1 under RFC 3517 nothing is marked before the third
//! duplicate ACK, although its IsLost may hold: that document uses IsLost only inside an episode.
//! D2 (Linux) FACK is off for the connection once reordering was seen; after that, SACKed segments
//! are counted.

use super::evidence::{Above, Evidence};
use super::reordering::Reordering;
use super::scoreboard::{Flags, Id, Scoreboard};
use super::{Episode, Losses, mark_head};
use crate::units::Seq;

/// RFC5681 3.2-third: duplicate ACKs that open an episode, and DupThresh of RFC 6675.
pub const DUP_THRESH: u32 = 3;

/// The rule that declares a segment lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// No SACK: the head, on the third duplicate ACK; inside an episode every new head (RFC 6582).
    Duplicates,
    /// Three SACKed ranges or at least `3 * mss` SACKed bytes above.
    Rfc3517,
    /// Three SACKed ranges or more than `2 * mss` SACKed bytes above.
    #[default]
    Rfc6675,
    /// At least `reordering` segments between it and the highest SACKed segment; after reordering
    /// was seen, `reordering` SACKed segments above it.
    Fack,
}

/// Fields of an ACK that decide whether it is a duplicate on a connection without SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The acknowledgement number.
    pub ack: Seq,
    /// The oldest unacknowledged byte before this ACK.
    pub una: Seq,
    /// Whether data is outstanding.
    pub outstanding: bool,
    /// Whether the ACK carries data, SYN or FIN.
    pub carries_data: bool,
    /// Whether the advertised window differs from the last one: a window update.
    pub window_changed: bool,
}

impl Header {
    /// RFC5681 2-dup: whether the ACK only repeats the last acknowledgement while data is
    /// outstanding.
    pub fn is_duplicate(&self) -> bool {
        self.outstanding && !self.carries_data && self.ack == self.una && !self.window_changed
    }
}

/// Result of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// Segments marked, the head included if an episode opens.
    pub losses: Losses,
    /// Whether an episode opens.
    pub enter: bool,
}

/// A counting detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DupAck {
    rule: Rule,
    dupacks: u32,
    evidence: Evidence,
}

impl DupAck {
    /// A detector with this rule.
    pub fn new(rule: Rule) -> DupAck {
        DupAck { rule, ..DupAck::default() }
    }

    /// Duplicate ACKs since `una` last moved.
    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// A segment was newly SACKed. Call right after [`Scoreboard::mark_sacked`].
    #[inline]
    pub fn on_sacked<B: Scoreboard + ?Sized>(&mut self, board: &B, id: Id) {
        self.evidence.on_sacked(board, id);
    }

    /// A segment is cumulatively acknowledged. Call before [`Scoreboard::acked`].
    #[inline]
    pub fn on_acked<B: Scoreboard + ?Sized>(&mut self, board: &B, id: Id) {
        self.evidence.on_acked(board, id);
    }

    /// Marks were removed or SACKs forgotten: judge everything again.
    pub fn rewind<B: Scoreboard + ?Sized>(&mut self, board: &B) {
        self.evidence.rewind(board);
    }

    /// Counts the ACK: `advanced` if it moved `una`, `duplicate` if [`Header::is_duplicate`] (no
    /// SACK) or if it SACKs at least one byte above `una` not SACKed before (SACK). An ACK that is
    /// both is a duplicate only with SACK (RFC6675 2-dup); a DSACK alone is never one.
    #[inline]
    pub fn count(&mut self, advanced: bool, duplicate: bool) {
        if advanced {
            self.dupacks = 0;
        }
        if duplicate && !(advanced && self.rule == Rule::Duplicates) {
            self.dupacks = self.dupacks.saturating_add(1);
        }
    }

    /// Marks segments that are lost after this ACK. `advanced`: the ACK moved `una`. Call after the
    /// scoreboard update and [`DupAck::count`].
    #[inline]
    pub fn detect<B: Scoreboard + ?Sized>(
        &mut self,
        board: &mut B,
        reordering: Reordering,
        mss: u64,
        episode: Episode,
        advanced: bool,
    ) -> Detection {
        let mut found = Detection::default();
        if board.is_empty() {
            return found;
        }
        let third = self.dupacks >= DUP_THRESH;
        match self.rule {
            Rule::Duplicates => {
                // RFC6582 3.2-3: an ACK that advances but does not complete the episode shows the
                // next hole.
                if episode == Episode::Fast && advanced {
                    mark_head(board, &mut found.losses);
                }
                found.enter = third;
            }
            Rule::Rfc3517 => {
                // RFC3517 5-entry: only by counting duplicates.
                found.enter = third;
                if third || episode != Episode::None {
                    self.mark(board, reordering, mss, &mut found.losses);
                }
            }
            Rule::Rfc6675 => {
                self.mark(board, reordering, mss, &mut found.losses);
                // RFC6675 5-entry: the third duplicate, or IsLost of the first byte at una.
                found.enter = third || head_is_lost(board);
            }
            Rule::Fack => {
                self.mark(board, reordering, mss, &mut found.losses);
                found.enter = head_is_lost(board);
            }
        }
        found.enter &= episode == Episode::None;
        if found.enter {
            mark_head(board, &mut found.losses);
        }
        found
    }

    fn mark<B: Scoreboard + ?Sized>(
        &mut self,
        board: &mut B,
        reordering: Reordering,
        mss: u64,
        losses: &mut Losses,
    ) {
        let ranges = |above: Above| above.ranges >= u64::from(DUP_THRESH);
        let degree = u64::from(reordering.degree());
        match self.rule {
            Rule::Duplicates => {}
            Rule::Rfc3517 => {
                // RFC3517 4-IsLost: at least three segments' worth.
                let bytes = mss.saturating_mul(u64::from(DUP_THRESH));
                self.evidence
                    .detect(board, losses, |_, above| ranges(above) || above.bytes >= bytes);
            }
            Rule::Rfc6675 => {
                // RFC6675 4-IsLost: strictly more than DupThresh - 1 segments' worth.
                let bytes = mss.saturating_mul(u64::from(DUP_THRESH - 1));
                self.evidence
                    .detect(board, losses, |_, above| ranges(above) || above.bytes > bytes);
            }
            // LINUX fack-off: once reordering was seen, SACKed segments count and holes do not.
            Rule::Fack if reordering.seen() => {
                self.evidence.detect(board, losses, |_, above| above.segments >= degree);
            }
            Rule::Fack => {
                // LINUX fack-mark: holes below the highest SACK count as evidence too, so only the
                // distance to it matters.
                let highest = board.ledger().highest_sacked().unwrap_or_default();
                self.evidence
                    .detect(board, losses, |id, _| id.0.saturating_add(degree) <= highest.0);
            }
        }
    }
}

fn head_is_lost<B: Scoreboard + ?Sized>(board: &B) -> bool {
    board.flags(board.first()).has(Flags::LOST)
}
