//! The scoreboard: the sender's record of each outstanding segment, and running totals over it.
//!
//! The endpoint owns the storage (for example a ring of arrays) and implements [`Scoreboard`];
//! detectors mark segments through the provided methods, which keep a [`Ledger`] of totals
//! alongside the flags. With the ledger, `pipe`, "is anything lost" and "the highest SACK" cost a
//! few loads per ACK instead of a walk over a window of ten thousand segments.
//!
//! Follows RFC 6675 (pipe, `SetPipe`) and RFC 2018 (what a SACK may clear). State: a ledger of 88
//! bytes per connection and a byte of flags per segment, in addition to the segment's own times and
//! positions. Departures: D1 a segment is SACKed as a whole or not at all. Receivers acknowledge
//! arrived data, and segments arrive as they were sent; a range that covers part of a segment is
//! counted when the rest arrives. D2 pipe is kept as a sum of changes, not recomputed by a walk per
//! ACK: the sum is the same (a property test compares both), at a lower cost.

use crate::units::{Seq, Time};

/// A segment's position in the order of first sending: 0 for the first of the connection, never
/// reused, even after it is acknowledged. Segments never overlap, so this is the order of sequence
/// numbers too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

impl Id {
    /// The segment after this one.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Id {
        Id(self.0.saturating_add(1))
    }

    /// The segment before this one, if there is one.
    #[inline]
    pub fn previous(self) -> Option<Id> {
        self.0.checked_sub(1).map(Id)
    }
}

/// Bytes from `from` up to `to`; zero if `to` lies below.
#[inline]
pub const fn span(from: Seq, to: Seq) -> u64 {
    to.0.saturating_sub(from.0)
}

/// Marks of one segment: four flags in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No mark.
    pub const NONE: Flags = Flags(0);
    /// The receiver has it, above the cumulative acknowledgement.
    pub const SACKED: Flags = Flags(1);
    /// Declared lost by some detector: IsLost for `next_seg`.
    pub const LOST: Flags = Flags(2);
    /// A retransmission of it in this episode counts as being in the network, independently of
    /// [`Flags::LOST`] for the original.
    pub const REPEATED: Flags = Flags(8);

    /// Whether all marks of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags with the marks of `other` set.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Returns the flags with the marks of `other` cleared.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The four marks as a number from 0 to 15, for packed storage.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The marks in the low four bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits & 15)
    }
}

/// One transmission of a segment, as recorded by the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// When it left.
    pub now: Time,
    /// Its ordinal among all transmissions of the connection, new and retransmitted; grows by one
    /// each time.
    pub ordinal: u64,
    /// The next never-sent byte at that time (after this segment, if it is new).
    pub nxt: Seq,
}

/// Effect of a retransmission on the mark that caused it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RepeatRule {
    /// The mark is cleared: the retransmission may be declared lost in turn (RACK, QUIC).
    #[default]
    NewBet,
    /// The mark stays, and the retransmission counts separately (RFC 3517 and 6675, FACK, no SACK).
    KeepsMark,
}

/// Totals over the outstanding segments; changed only by the provided methods of [`Scoreboard`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Effect of a retransmission on its mark.
    rule: RepeatRule,
    outstanding: u64,
    sacked: u64,
    lost: u64,
    repeated: u64,
    sacked_segments: u64,
    /// Segments lost and not retransmitted since; `next_lost` searches only if this is not zero.
    waiting: u64,
    fack: Seq,
    highest_sacked: Option<Id>,
    /// No segment below this one waits for retransmission.
    lowest_waiting: Id,
}

impl Ledger {
    /// An empty ledger for detectors with this rule about retransmissions.
    pub const fn new(rule: RepeatRule) -> Ledger {
        Ledger {
            rule,
            outstanding: 0,
            sacked: 0,
            lost: 0,
            repeated: 0,
            sacked_segments: 0,
            waiting: 0,
            fack: Seq(0),
            highest_sacked: None,
            lowest_waiting: Id(0),
        }
    }

    /// Bytes believed to be in the network: un-SACKed and not lost, plus retransmissions of this
    /// episode.
    ///
    /// RFC6675 4-SetPipe: an un-SACKed byte counts once unless it is lost, and once more if it was
    /// retransmitted. Under [`RepeatRule::NewBet`] the retransmission of a lost segment has cleared
    /// the mark, so the segment counts once, and a probe of a segment that was never lost counts
    /// twice. For QUIC this is bytes in flight: sent, not acknowledged, not lost.
    #[inline]
    pub fn pipe(&self) -> u64 {
        // Usually nothing is marked.
        if self.sacked | self.lost | self.repeated == 0 {
            return self.outstanding;
        }
        self.outstanding
            .saturating_sub(self.sacked)
            .saturating_sub(self.lost)
            .saturating_add(self.repeated)
    }

    /// Bytes of segments not cumulatively acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// SACKed bytes among the outstanding ones.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Un-SACKed bytes marked lost.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Un-SACKed bytes with a retransmission of this episode in the network.
    #[inline]
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// SACKed segments above the cumulative acknowledgement.
    #[inline]
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// The end of the highest data known to be delivered, by SACK or cumulatively.
    #[inline]
    pub fn fack(&self) -> Seq {
        self.fack
    }

    /// The highest SACKed segment, if any outstanding one is.
    pub fn highest_sacked(&self) -> Option<Id> {
        if self.sacked_segments == 0 { None } else { self.highest_sacked }
    }

    /// Whether no segment is SACKed, lost or retransmitted.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked_segments == 0 && self.lost == 0 && self.repeated == 0
    }

    /// A new segment of `bytes` bytes is outstanding; called by [`Scoreboard::sent`].
    #[inline]
    pub fn sent_more(&mut self, bytes: u64) {
        self.outstanding = self.outstanding.saturating_add(bytes);
    }

    /// All segments up to `end`, `bytes` in total, are cumulatively acknowledged and removed.
    /// Equivalent to [`Scoreboard::acked`] for each of them if the ledger [is
    /// clean](Ledger::is_clean).
    #[inline]
    pub fn acked_run(&mut self, bytes: u64, end: Seq) {
        debug_assert!(self.is_clean() && bytes <= self.outstanding, "{bytes} of {self:?}");
        self.outstanding = self.outstanding.saturating_sub(bytes);
        self.fack = self.fack.max(end);
    }

    /// Segments that are lost and wait for retransmission.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Pipe without SACK: duplicate ACKs count as delivered segments, but for at most the flight
    /// at entry (`entry_flight`; before an episode the current flight), so that a receiver that
    /// forges them gains nothing.
    pub fn pipe_without_sack(&self, entry_flight: u64, credit: u64) -> u64 {
        self.outstanding
            .saturating_sub(entry_flight.min(credit))
            .saturating_sub(self.lost)
            .saturating_add(self.repeated)
    }

    /// Whether every counted byte is outstanding and no SACKed byte counts as lost or
    /// retransmitted.
    fn is_sound(&self) -> bool {
        let marked = self.lost.max(self.repeated);
        self.sacked.saturating_add(marked) <= self.outstanding
            && (self.sacked_segments > 0 || self.sacked == 0)
    }

    /// Removes the contribution of an un-SACKed segment's marks from the totals.
    #[inline]
    fn forget_marks(&mut self, flags: Flags, len: u64) {
        debug_assert!(!flags.has(Flags::LOST) || self.lost >= len, "more lost than was marked");
        debug_assert!(
            !flags.has(Flags::REPEATED) || self.repeated >= len,
            "more repeats gone than were sent"
        );
        if flags.has(Flags::LOST) {
            self.lost = self.lost.saturating_sub(len);
            if !flags.has(Flags::REPEATED) {
                self.waiting = self.waiting.saturating_sub(1);
            }
        }
        if flags.has(Flags::REPEATED) {
            self.repeated = self.repeated.saturating_sub(len);
        }
    }

    /// Counts the marks of an un-SACKed segment.
    #[inline]
    fn count_marks(&mut self, id: Id, flags: Flags, len: u64) {
        if flags.has(Flags::LOST) {
            self.lost = self.lost.saturating_add(len);
            if !flags.has(Flags::REPEATED) {
                self.waiting = self.waiting.saturating_add(1);
                self.lowest_waiting = self.lowest_waiting.min(id);
            }
        }
        if flags.has(Flags::REPEATED) {
            self.repeated = self.repeated.saturating_add(len);
        }
    }
}

/// The outstanding segments in sequence order, `first() .. next()`, and their marks.
///
/// An endpoint implements the required methods over its storage and calls
/// [`sent`](Scoreboard::sent), [`repeat`](Scoreboard::repeat),
/// [`mark_sacked`](Scoreboard::mark_sacked) and [`acked`](Scoreboard::acked) as events occur.
/// Detectors query only segments inside `first() .. next()`; values outside that range have no
/// effect.
pub trait Scoreboard {
    /// The totals.
    fn ledger(&self) -> &Ledger;
    /// The totals, for the provided methods.
    fn ledger_mut(&mut self) -> &mut Ledger;

    /// The oldest segment not cumulatively acknowledged; equal to [`Scoreboard::next`] if none is
    /// outstanding.
    fn first(&self) -> Id;
    /// The id of the next new segment.
    fn next(&self) -> Id;

    /// First byte.
    fn start(&self, id: Id) -> Seq;
    /// One past the last byte.
    fn end(&self, id: Id) -> Seq;
    /// When the segment was first sent.
    fn first_tx(&self, id: Id) -> Time;
    /// When the segment was last sent.
    fn last_tx(&self, id: Id) -> Time;
    /// Number of transmissions of the segment.
    fn tx_count(&self, id: Id) -> u32;
    /// The next never-sent byte when the segment was last sent.
    fn nxt_at_last_tx(&self, id: Id) -> Seq;
    /// The ordinal of the segment's last transmission.
    fn ordinal(&self, id: Id) -> u64;
    /// The segment's marks.
    fn flags(&self, id: Id) -> Flags;

    /// Stores new marks. Storage only: to change a mark, use the provided methods.
    fn set_flags(&mut self, id: Id, flags: Flags);
    /// Stores a retransmission: updates the last transmission and increments the count. Storage
    /// only: to retransmit, use [`Scoreboard::repeat`].
    fn record_repeat(&mut self, id: Id, transmission: Transmission);

    /// Bytes in the segment.
    #[inline]
    fn len(&self, id: Id) -> u64 {
        span(self.start(id), self.end(id))
    }

    /// Whether nothing is outstanding.
    #[inline]
    fn is_empty(&self) -> bool {
        self.first() >= self.next()
    }

    /// Whether the segment is outstanding.
    #[inline]
    fn holds(&self, id: Id) -> bool {
        self.first() <= id && id < self.next()
    }

    /// The first outstanding segment that ends above `at`, by bisection; [`Scoreboard::next`] if
    /// none does.
    fn find(&self, at: Seq) -> Id {
        let (mut low, mut high) = (self.first().0, self.next().0);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.end(Id(middle)) <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Id(low)
    }

    /// A new segment was stored under the id that [`Scoreboard::next`] returned before.
    #[inline]
    fn sent(&mut self, id: Id) {
        let len = self.len(id);
        let ledger = self.ledger_mut();
        ledger.outstanding = ledger.outstanding.saturating_add(len);
        debug_assert!(self.ledger().is_sound(), "after {id:?} was sent: {:?}", self.ledger());
    }

    /// A segment is cumulatively acknowledged: call before it leaves the storage, in ascending
    /// order.
    #[inline]
    fn acked(&mut self, id: Id) {
        let (flags, len, end) = (self.flags(id), self.len(id), self.end(id));
        debug_assert!(self.holds(id), "{id:?} is acknowledged and not outstanding");
        let ledger = self.ledger_mut();
        debug_assert!(ledger.outstanding >= len, "{id:?} was never counted: {ledger:?}");
        ledger.outstanding = ledger.outstanding.saturating_sub(len);
        ledger.fack = ledger.fack.max(end);
        if flags.has(Flags::SACKED) {
            ledger.sacked = ledger.sacked.saturating_sub(len);
            ledger.sacked_segments = ledger.sacked_segments.saturating_sub(1);
        } else {
            ledger.forget_marks(flags, len);
        }
        // An acknowledgement clears `lost`; the remaining marks only say whether the bytes were
        // known to have arrived before.
        self.set_flags(id, flags.without(Flags::LOST.with(Flags::REPEATED)));
        debug_assert!(
            self.ledger().is_sound(),
            "after {id:?} was acknowledged: {:?}",
            self.ledger()
        );
    }

    /// Marks the segment as SACKed. Returns `false` if it was SACKed before.
    #[inline]
    fn mark_sacked(&mut self, id: Id) -> bool {
        debug_assert!(self.holds(id), "{id:?} is SACKed and not outstanding");
        let flags = self.flags(id);
        if flags.has(Flags::SACKED) {
            return false;
        }
        let (len, end) = (self.len(id), self.end(id));
        let ledger = self.ledger_mut();
        ledger.forget_marks(flags, len);
        ledger.sacked = ledger.sacked.saturating_add(len);
        ledger.fack = ledger.fack.max(end);
        ledger.highest_sacked = Some(ledger.highest_sacked().map_or(id, |highest| highest.max(id)));
        ledger.sacked_segments = ledger.sacked_segments.saturating_add(1);
        self.set_flags(id, flags.without(Flags::LOST.with(Flags::REPEATED)).with(Flags::SACKED));
        debug_assert!(self.ledger().is_sound(), "after {id:?} was SACKed: {:?}", self.ledger());
        true
    }

    /// Marks the segment as lost. Returns `false` if it is SACKed or already marked.
    #[inline]
    fn mark_lost(&mut self, id: Id) -> bool {
        let flags = self.flags(id);
        if flags.has(Flags::SACKED) || flags.has(Flags::LOST) {
            return false;
        }
        // Under `NewBet` both copies of a probed segment are given up together: "a repeat marked
        // lost again counts 0".
        let kept = if self.ledger().rule == RepeatRule::NewBet {
            flags.without(Flags::REPEATED)
        } else {
            flags
        };
        self.change(id, kept.with(Flags::LOST));
        true
    }

    /// Marks the segment's retransmission as lost too, so that it waits for another one. Returns
    /// `false` if it is SACKed.
    #[inline]
    fn mark_lost_again(&mut self, id: Id) -> bool {
        let flags = self.flags(id);
        if flags.has(Flags::SACKED) {
            return false;
        }
        self.change(id, flags.with(Flags::LOST).without(Flags::REPEATED));
        true
    }

    /// Records a retransmission of the segment.
    #[inline]
    fn repeat(&mut self, id: Id, transmission: Transmission) {
        self.record_repeat(id, transmission);
        let flags = self.flags(id);
        if flags.has(Flags::SACKED) {
            return;
        }
        let new_bet = self.ledger().rule == RepeatRule::NewBet && flags.has(Flags::LOST);
        self.change(
            id,
            if new_bet { flags.without(Flags::LOST) } else { flags.with(Flags::REPEATED) },
        );
    }

    /// Changes the marks of an un-SACKed segment, totals included.
    #[inline]
    fn change(&mut self, id: Id, flags: Flags) {
        let (before, len) = (self.flags(id), self.len(id));
        debug_assert!(self.holds(id), "{id:?} is marked and not outstanding");
        debug_assert!(
            !before.has(Flags::SACKED) && !flags.has(Flags::SACKED),
            "{id:?} is SACKed: nothing is believed about it"
        );
        let ledger = self.ledger_mut();
        ledger.forget_marks(before, len);
        ledger.count_marks(id, flags, len);
        self.set_flags(id, flags);
        debug_assert!(self.ledger().is_sound(), "after {id:?} was marked: {:?}", self.ledger());
    }

    /// Whether the totals equal those of a walk over all outstanding segments, no segment is both
    /// SACKed and lost, and the ledger's highest and lowest segments are correct bounds. For
    /// assertions and tests, because it walks the window.
    fn is_consistent(&self) -> bool {
        let (mut walk, ledger) = (Ledger::new(self.ledger().rule), self.ledger());
        let mut bounded = true;
        let mut id = self.first();
        while id < self.next() {
            let (flags, len) = (self.flags(id), self.len(id));
            walk.outstanding = walk.outstanding.saturating_add(len);
            let marked = flags.has(Flags::LOST) || flags.has(Flags::REPEATED);
            if flags.has(Flags::SACKED) {
                walk.sacked = walk.sacked.saturating_add(len);
                walk.sacked_segments = walk.sacked_segments.saturating_add(1);
                bounded &=
                    !marked && ledger.highest_sacked >= Some(id) && ledger.fack >= self.end(id);
            } else if marked {
                let waits = flags.has(Flags::LOST) && !flags.has(Flags::REPEATED);
                bounded &= !waits || ledger.lowest_waiting <= id;
                walk.count_marks(id, flags, len);
            }
            id = id.next();
        }
        let totals = |of: &Ledger| {
            (of.outstanding, of.sacked, of.sacked_segments, of.lost, of.repeated, of.waiting)
        };
        bounded && totals(&walk) == totals(ledger)
    }

    /// The lowest segment that is lost and was not retransmitted since.
    #[inline]
    fn next_lost(&mut self) -> Option<Id> {
        if self.ledger().waiting == 0 {
            return None;
        }
        let mut id = self.ledger().lowest_waiting.max(self.first());
        let next = self.next();
        while id < next {
            let flags = self.flags(id);
            if flags.has(Flags::LOST) && !flags.has(Flags::REPEATED) {
                self.ledger_mut().lowest_waiting = id;
                return Some(id);
            }
            id = id.next();
        }
        debug_assert!(false, "something waits for its repeat and is not found");
        self.ledger_mut().lowest_waiting = next;
        None
    }

    /// The highest segment not known to have arrived. Walks down from the newest; used once per
    /// episode.
    fn highest_unsacked(&self) -> Option<Id> {
        let mut id = self.next();
        while let Some(below) = id.previous().filter(|&below| below >= self.first()) {
            if !self.flags(below).has(Flags::SACKED) {
                return Some(below);
            }
            id = below;
        }
        None
    }

    /// Applies `to` to the marks of every un-SACKed segment. It walks the window, so only timeouts
    /// and undo use it. If it removes lost marks, the cursors of detectors over this scoreboard
    /// must be rewound afterwards.
    fn remark(&mut self, to: impl Fn(Flags) -> Flags)
    where
        Self: Sized,
    {
        let mut id = self.first();
        while id < self.next() {
            let flags = self.flags(id);
            if !flags.has(Flags::SACKED) {
                self.change(id, to(flags).without(Flags::SACKED));
            }
            id = id.next();
        }
    }

    /// Forgets every SACK (RFC 2018 section 8 requires this at a timeout; also when a receiver
    /// discarded data it had reported). The cursors of detectors over this scoreboard must be
    /// rewound afterwards.
    fn forget_sacks(&mut self) {
        let mut id = self.first();
        while id < self.next() {
            let flags = self.flags(id);
            self.set_flags(id, flags.without(Flags::SACKED));
            id = id.next();
        }
        let una = if self.is_empty() { self.ledger().fack } else { self.start(self.first()) };
        let ledger = self.ledger_mut();
        (ledger.sacked, ledger.sacked_segments, ledger.highest_sacked, ledger.fack) =
            (0, 0, None, una);
    }
}

/// A scoreboard that also remembers the order of transmissions: RACK and the rule for lost
/// retransmissions walk it once, front to back.
///
/// A log of ids indexed by ordinal is enough; entries may be stale (the segment was acknowledged or
/// retransmitted since).
pub trait SendOrder: Scoreboard {
    /// The oldest ordinal still in the log.
    fn oldest_sent(&self) -> u64;
    /// The ordinal of the next transmission.
    fn next_sent(&self) -> u64;
    /// The segment sent as `ordinal`; `None` if the ordinal is not in the log.
    fn sent_as(&self, ordinal: u64) -> Option<Id>;

    /// The outstanding segment whose last transmission is `ordinal`.
    #[inline]
    fn live(&self, ordinal: u64) -> Option<Id> {
        self.sent_as(ordinal).filter(|&id| self.holds(id) && self.ordinal(id) == ordinal)
    }
}
