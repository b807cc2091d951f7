//! The choice of what to send next while losses are being repaired.
//!
//! RFC 6675 gives four rules: first lost data, then new data, then un-SACKed data not yet judged
//! lost, then once per episode a "rescue" of the highest un-SACKed segment. RFC 3517 has the first
//! three, RACK and QUIC the first two. The detector makes this choice; the recovery policy decides
//! how much may be sent.
//!
//! Follows RFC 6675 section 4 (NextSeg), RFC 3517. State: 48 bytes. A call costs a few loads: rule
//! 1 has a hint in the ledger, rule 3 a cursor that never goes back. Departures: D1 rule 1 does not
//! test "below the highest SACK": a segment lost by the rules of section 4 always is, and a segment
//! marked by a timeout must be retransmitted although nothing above it is SACKed. D2 rule 1 does
//! not compare with HighRxt but picks a segment not retransmitted in this episode. This is
//! equivalent, except that a lost retransmission (not covered by RFC 6675) is sent again.

use super::scoreboard::{Flags, Id, Scoreboard};
use crate::units::Seq;

/// The rules that apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Lowest lost segment not yet retransmitted, otherwise new data: RACK, QUIC, NewReno.
    #[default]
    LostFirst,
    /// Rules 1 to 3.
    Rfc3517,
    /// Rules 1 to 4.
    Rfc6675,
}

/// The next segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Rule 1: this segment is lost.
    Lost(Id),
    /// Rule 2: new data.
    New,
    /// Rule 3: this segment is below the highest SACK and may be lost.
    Unsure(Id),
    /// Rule 4: the highest un-SACKed segment ([`Scoreboard::highest_unsacked`]).
    Rescue,
    /// Nothing.
    Nothing,
}

/// The cursors of `next_seg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextSeg {
    rules: Rules,
    /// HighRxt as an id: rules 1 and 3 have retransmitted nothing at or above it.
    high_rxt: Id,
    /// Rule 3 finds nothing below this one.
    unsure: Id,
    rescue_rxt: Option<Seq>,
    recover_end: Seq,
}

impl NextSeg {
    /// Creates cursors for these rules, outside any episode.
    pub fn new(rules: Rules) -> NextSeg {
        NextSeg { rules, ..NextSeg::default() }
    }

    /// An episode opens, and the head is about to be retransmitted unconditionally; `recover_end`
    /// is `nxt`.
    pub fn open<B: Scoreboard + ?Sized>(&mut self, board: &B, recover_end: Seq) {
        (self.high_rxt, self.unsure) = (board.first(), board.first());
        // RFC6675 5-4.3: the first retransmission sets HighRxt and RescueRxt to its end; HighRxt
        // follows when it is sent.
        self.rescue_rxt = (!board.is_empty()).then(|| board.end(board.first()));
        self.recover_end = recover_end;
    }

    /// HighRxt: the lowest segment that rules 1 and 3 have not reached in this episode.
    pub fn high_rxt(&self) -> Id {
        self.high_rxt
    }

    /// Returns the next segment to send. `new_data`: whether there is new data that the receiver's window allows.
    #[inline]
    pub fn choose<B: Scoreboard>(&mut self, board: &mut B, new_data: bool) -> Choice {
        // RFC6675 4-NextSeg1: the lowest lost segment that was not retransmitted.
        if let Some(id) = board.next_lost() {
            return Choice::Lost(id);
        }
        // RFC6675 4-NextSeg2: then new data.
        if new_data {
            return Choice::New;
        }
        if self.rules == Rules::LostFirst {
            return Choice::Nothing;
        }
        if let Some(id) = self.next_unsure(board) {
            return Choice::Unsure(id);
        }
        if self.may_rescue(board) { Choice::Rescue } else { Choice::Nothing }
    }

    /// RFC6675 4-NextSeg3: un-SACKed, above HighRxt, below the highest SACK, not judged lost.
    fn next_unsure<B: Scoreboard>(&mut self, board: &B) -> Option<Id> {
        let highest = board.ledger().highest_sacked()?;
        let mut id = self.unsure.max(self.high_rxt).max(board.first());
        while id < highest {
            let flags = board.flags(id);
            if !flags.has(Flags::SACKED) && !flags.has(Flags::LOST) && !flags.has(Flags::REPEATED) {
                break;
            }
            id = id.next();
        }
        self.unsure = id;
        (id < highest).then_some(id)
    }

    /// RFC6675 4-NextSeg4: once per episode, when `una` has passed the last rescue (initially: the
    /// first retransmission).
    fn may_rescue<B: Scoreboard>(&self, board: &B) -> bool {
        let unsacked = board.ledger().outstanding() > board.ledger().sacked();
        let una_passed =
            || self.rescue_rxt.is_none_or(|rescued| board.start(board.first()) > rescued);
        self.rules == Rules::Rfc6675 && !board.is_empty() && unsacked && una_passed()
    }

    /// The choice was sent (and reported to [`Scoreboard::repeat`]).
    #[inline]
    pub fn on_sent(&mut self, choice: Choice) {
        match choice {
            // RFC6675 4-HighRxt: a retransmission by rule 1 or 3 moves HighRxt to its end.
            Choice::Lost(id) | Choice::Unsure(id) => self.high_rxt = self.high_rxt.max(id.next()),
            // The rescue does not change HighRxt, so that later repairs keep their order.
            Choice::Rescue => self.rescue_rxt = Some(self.recover_end),
            Choice::New | Choice::Nothing => {}
        }
    }

    /// Whether the next send would be the rescue, which indicates further loss for SafeACK (RFC
    /// 9937).
    pub fn rescue_next<B: Scoreboard>(&mut self, board: &mut B, new_data: bool) -> bool {
        self.choose(board, new_data) == Choice::Rescue
    }
}
