//! The scoreboard: the sender's record of each outstanding segment, in rings, and the order of
//! transmissions.
//!
//! The fields that every segment needs lie together in 32 bytes. Fields that only retransmissions
//! need lie in separate arrays, addressed by the same slot, and stay cold. All arrays grow by
//! doubling and are reused.
//!
//! Follows RFC 2018 and the traits of [`firstflight::detection::scoreboard`]. In addition to the
//! marks, the board records a fact that the sender itself cannot know: whether the path dropped the
//! latest transmission (for metrics only, no detector sees it). Departures: D1 runs of SACKed
//! segments are skipped through pointers that are shortened on the way, so that an ACK whose block
//! spans a thousand segments costs no more than one whose block spans two.

use crate::pool::{Array, Plain};
use crate::ring::Ring;
use core::ops::Range;
use firstflight::detection::scoreboard::{Id, Ledger, RepeatRule};
use firstflight::detection::{Flags, Scoreboard, SendOrder, Transmission};
use firstflight::{Seq, Time};

/// Stored in the byte of the four marks: the path dropped the latest transmission.
const DROPPED: u8 = 16;
/// The latest transmission has been declared lost and was counted.
const DECLARED: u8 = 32;
/// Shift from the truth about the latest transmission to the truth about the previous one.
const EARLIER: u8 = 2;

/// Transmissions that were declared lost, by their actual fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Transmissions that the path had dropped.
    pub dropped: u64,
    /// Transmissions that the path had delivered.
    pub delivered: u64,
}

/// Consecutive segments that were sent once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Ordinals of their transmissions.
    pub ordinals: Range<u64>,
    /// When the last of them left.
    pub sent: Time,
}

/// Fields that every outstanding segment needs, together: two segments to a cache line.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    start: u64,
    last_tx: u64,
    ordinal: u64,
    count: u16,
    marks: u8,
    /// Duplicates of the segment that the receiver reported.
    dsacks: u8,
}

/// The outstanding segments of one connection.
#[derive(Clone, Debug)]
pub struct Board {
    ledger: Ledger,
    base: u64,
    end: u64,
    mask: usize,
    /// The oldest unacknowledged byte: where the oldest segment starts.
    una: u64,
    /// The next never-sent byte: where the newest segment ends.
    nxt: u64,
    mss: u64,
    /// Segments from this one on have full size and were sent once each, in sequence.
    even_from: u64,
    segments: Array<Facts>,
    /// For segments sent more than once. For the others the first transmission is also the last,
    /// and the next byte at that time was their own end.
    first_tx: Array<u64>,
    nxt_at_last_tx: Array<u64>,
    /// For SACKed segments: the distance at which to look for the next one that is not SACKed.
    skip: Array<u32>,
    log: Ring<u64>,
    /// Retransmissions of outstanding segments that were not reported as duplicates.
    repeats_open: u64,
    /// Segments sent more than once and neither acknowledged nor SACKed.
    undelivered_repeated: u64,
    truth: Truth,
    /// The highest end of the data declared lost since the last call of `take_lost_end`; 0 if none.
    lost_end: u64,
    /// Ordinals of the transmissions declared lost since the last call of `take_losses`, if they
    /// are recorded.
    losses: Option<Vec<u64>>,
}

/// Copies the entries of `ids` to an array of `new + 1` places.
fn wider<T: Plain>(narrow: &mut Array<T>, ids: Range<u64>, old: usize, new: usize) {
    let mut wide = Array::new(new + 1);
    for id in ids {
        wide[id as usize & new] = narrow[id as usize & old];
    }
    *narrow = wide;
}

impl Board {
    /// An empty scoreboard for segments of mostly `mss` bytes.
    pub fn new(rule: RepeatRule, mss: u64) -> Board {
        const LEN: usize = 64;
        Board {
            ledger: Ledger::new(rule),
            base: 0,
            end: 0,
            mask: LEN - 1,
            una: 0,
            nxt: 0,
            mss: mss.max(1),
            even_from: 0,
            segments: Array::new(LEN),
            first_tx: Array::new(LEN),
            nxt_at_last_tx: Array::new(LEN),
            skip: Array::new(LEN),
            log: Ring::default(),
            repeats_open: 0,
            undelivered_repeated: 0,
            truth: Truth::default(),
            lost_end: 0,
            losses: None,
        }
    }

    /// Records the ordinals of lost transmissions, for a trace.
    #[must_use]
    pub fn naming_losses(self, names: bool) -> Board {
        Board { losses: names.then(Vec::new), ..self }
    }

    /// Ordinals of the transmissions declared lost since the last call, if they are recorded. If a
    /// retransmission was sent before its original was declared lost, the original is omitted.
    pub fn take_losses(&mut self) -> Vec<u64> {
        self.losses.as_mut().map_or_else(Vec::new, core::mem::take)
    }

    #[inline]
    fn slot(&self, id: Id) -> usize {
        id.0 as usize & self.mask
    }

    /// The oldest unacknowledged byte.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The next never-sent byte.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Outstanding segments.
    #[inline]
    pub fn segments(&self) -> u64 {
        self.end - self.base
    }

    /// Packets declared lost so far, by their actual fate.
    pub fn truth(&self) -> Truth {
        self.truth
    }

    /// The highest end of the data declared lost since the last [`Board::take_lost_end`]; 0 if
    /// none.
    #[inline]
    pub fn lost_end(&self) -> u64 {
        self.lost_end
    }

    /// The highest end of the data declared lost since the last call; 0 if none.
    #[inline]
    pub fn take_lost_end(&mut self) -> u64 {
        core::mem::take(&mut self.lost_end)
    }

    /// A new segment with the next `len` bytes leaves.
    #[inline(always)]
    pub fn push(&mut self, now: Time, len: u64) -> Id {
        if self.end - self.base > self.mask as u64 {
            self.grow();
        }
        let id = Id(self.end);
        let slot = self.slot(id);
        let (start, last_tx, ordinal) = (self.nxt, now.0, self.log.end());
        self.segments[slot] = Facts { start, last_tx, ordinal, count: 1, ..Facts::default() };
        self.log.push(id.0);
        self.nxt += len;
        self.end += 1;
        if len != self.mss {
            self.even_from = self.end;
        }
        self.ledger.sent_more(len);
        debug_assert_eq!(self.len(id), len, "{id:?}");
        id
    }

    /// The next `count` new segments of full size leave together. Equivalent to [`Board::push`] for
    /// each.
    #[inline(always)]
    pub fn push_run(&mut self, now: Time, count: u64) {
        while self.end - self.base + count > self.mask as u64 + 1 {
            self.grow();
        }
        let (id, mut start, last_tx, mut ordinal) = (self.end, self.nxt, now.0, self.log.end());
        let mask = self.segments.len() - 1;
        let segments: &mut [Facts] = &mut self.segments;
        for id in id..id + count {
            segments[id as usize & mask] =
                Facts { start, last_tx, ordinal, count: 1, ..Facts::default() };
            start += self.mss;
            ordinal += 1;
        }
        self.log.extend(count, |at| id + at);
        self.ledger.sent_more(start - self.nxt);
        self.nxt = start;
        self.end += count;
    }

    /// Segment `id` leaves again.
    pub fn push_again(&mut self, now: Time, id: Id) {
        let transmission = Transmission { now, ordinal: self.log.end(), nxt: Seq(self.nxt) };
        self.log.push(id.0);
        self.even_from = self.end;
        let before = self.tx_count(id);
        self.repeat(id, transmission);
        self.repeats_open += u64::from(self.tx_count(id) - before);
        if before == 1 && !self.flags(id).has(Flags::SACKED) {
            self.undelivered_repeated += 1;
        }
    }

    /// The receiver reported a duplicate of the segment that starts at `start`.
    pub fn on_duplicate(&mut self, start: Seq) {
        let id = self.find(start);
        if !self.holds(id) || self.start(id) != start {
            return;
        }
        let slot = self.slot(id);
        let Facts { count, dsacks, .. } = &mut self.segments[slot];
        if u16::from(*dsacks) + 1 < *count && *dsacks < u8::MAX {
            *dsacks += 1;
            self.repeats_open -= 1;
        }
    }

    /// Retransmissions of outstanding segments that were not reported as duplicates.
    pub fn repeats_open(&self) -> u64 {
        self.repeats_open
    }

    /// Whether a segment that was sent more than once is neither acknowledged nor SACKed.
    pub fn has_undelivered_repeat(&self) -> bool {
        self.undelivered_repeated > 0
    }

    /// Whether a segment that was declared lost is neither acknowledged nor SACKed, even if its
    /// retransmission is in flight.
    #[inline]
    pub fn is_unrepaired(&self) -> bool {
        self.ledger.lost() > 0 || self.undelivered_repeated > 0
    }

    /// The oldest segment is cumulatively acknowledged and leaves the board.
    #[inline]
    pub fn pop(&mut self) {
        let head = Id(self.base);
        self.una = self.end(head).0;
        let Facts { count, dsacks, marks, .. } = self.segments[self.slot(head)];
        if count > 1 {
            self.repeats_open -= u64::from(count - 1) - u64::from(dsacks);
            self.undelivered_repeated -= u64::from(marks & Flags::SACKED.bits() == 0);
        }
        self.acked(head);
        self.base += 1;
    }

    /// The oldest segments, up to the end at `ack`, if each was sent once. Only for a board whose
    /// ledger is clean.
    #[inline(always)]
    pub fn run(&self, ack: u64) -> Option<Run> {
        let bytes = ack.saturating_sub(self.una);
        if self.base >= self.even_from && bytes > 0 && ack <= self.nxt {
            let (count, rest) = (bytes / self.mss, bytes % self.mss);
            let first = self.segments[self.base as usize & self.mask].ordinal;
            let whole = rest == 0 && first == self.log.base();
            let last = (self.base + count - 1) as usize & self.mask;
            let sent = Time(self.segments[last].last_tx);
            return whole.then_some(Run { ordinals: first..first + count, sent });
        }
        self.walk(ack)
    }

    #[inline(never)]
    fn walk(&self, ack: u64) -> Option<Run> {
        let mut id = self.base;
        while id < self.end {
            let slot = id as usize & self.mask;
            if self.segments[slot].count != 1 {
                return None;
            }
            id += 1;
            let end =
                if id < self.end { self.segments[id as usize & self.mask].start } else { self.nxt };
            if end >= ack {
                let first = self.segments[self.base as usize & self.mask].ordinal;
                let last = self.segments[slot].ordinal;
                // In the order of the log, without a retransmission of another segment in between.
                let whole =
                    end == ack && first == self.log.base() && last - first == id - 1 - self.base;
                let sent = Time(self.segments[slot].last_tx);
                return whole.then_some(Run { ordinals: first..last + 1, sent });
            }
        }
        None
    }

    /// The segments of `run` are cumulatively acknowledged and leave the board. Returns their
    /// bytes.
    #[inline(always)]
    pub fn pop_run(&mut self, ack: u64, run: &Run) -> u64 {
        let (bytes, count) = (ack - self.una, run.ordinals.end - run.ordinals.start);
        let even = self.base >= self.even_from;
        self.ledger.acked_run(bytes, Seq(ack));
        self.log.skip(count);
        self.base += count;
        self.una = ack;
        if !even {
            self.forget_old();
        }
        bytes
    }

    /// Removes transmissions from the log that no longer matter. Called once per ACK.
    #[inline]
    pub fn forget_old(&mut self) {
        while let Some(&id) = self.log.front() {
            // It is still the latest transmission of an outstanding segment and may yet be declared
            // lost.
            if id >= self.base && self.segments[id as usize & self.mask].ordinal == self.log.base()
            {
                break;
            }
            self.log.pop();
        }
    }

    /// The first segment from `id` on that is not SACKed; [`Scoreboard::next`] if there is none.
    #[inline]
    pub fn unsacked_from(&mut self, id: Id) -> Id {
        let mut at = id.0;
        while at < self.end {
            let slot = at as usize & self.mask;
            if self.segments[slot].marks & Flags::SACKED.bits() == 0 {
                return Id(at);
            }
            let next = at + u64::from(self.skip[slot]);
            let beyond = next as usize & self.mask;
            if next < self.end && self.segments[beyond].marks & Flags::SACKED.bits() != 0 {
                self.skip[slot] = self.skip[slot].saturating_add(self.skip[beyond]);
            }
            at = next;
        }
        Id(self.end)
    }

    /// The path dropped the transmission of `id` that left at `left` (ground truth): usually the
    /// latest one, but an earlier one if a queue decides late. Counts that are already settled do
    /// not change.
    pub fn on_dropped(&mut self, id: Id, left: Time) {
        if !self.holds(id) {
            return;
        }
        let slot = self.slot(id);
        let shift = if self.segments[slot].last_tx == left.0 { 0 } else { EARLIER };
        let declared = self.segments[slot].marks & (DECLARED << shift) != 0;
        if declared && self.segments[slot].marks & (DROPPED << shift) == 0 {
            self.truth.delivered -= 1;
            self.truth.dropped += 1;
        }
        self.segments[slot].marks |= DROPPED << shift;
    }

    /// Whether the path dropped the latest transmission of `id`.
    pub fn was_dropped(&self, id: Id) -> bool {
        self.segments[self.slot(id)].marks & DROPPED != 0
    }

    /// A segment was just declared lost: determines which of its transmissions that concerns, and
    /// their actual fate.
    #[cold]
    fn declare(&mut self, id: Id, before: Flags, flags: Flags) {
        self.lost_end = self.lost_end.max(self.end(id).0);
        let repeat_given_up = !flags.has(Flags::REPEATED);
        // If the retransmission was sent before its original was marked lost, the mark concerns the
        // original.
        if before.has(Flags::REPEATED) && !before.has(Flags::LOST) {
            self.count_declared(id, EARLIER);
        }
        if repeat_given_up {
            self.count_declared(id, 0);
            let ordinal = self.segments[self.slot(id)].ordinal;
            if let Some(losses) = &mut self.losses {
                losses.push(ordinal);
            }
        }
    }

    /// Counts the latest transmission, or the previous one, as declared lost; each only once.
    fn count_declared(&mut self, id: Id, shift: u8) {
        let slot = self.slot(id);
        let (dropped, declared) = (DROPPED << shift, DECLARED << shift);
        if self.segments[slot].marks & declared == 0 {
            self.segments[slot].marks |= declared;
            if self.segments[slot].marks & dropped != 0 {
                self.truth.dropped += 1;
            } else {
                self.truth.delivered += 1;
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.mask + 1) * 2;
        let (old, new) = (self.mask, len - 1);
        let (from, to) = (self.base, self.end);
        wider(&mut self.segments, from..to, old, new);
        wider(&mut self.first_tx, from..to, old, new);
        wider(&mut self.nxt_at_last_tx, from..to, old, new);
        wider(&mut self.skip, from..to, old, new);
        self.mask = new;
    }
}

impl Scoreboard for Board {
    #[inline]
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    #[inline]
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
    #[inline]
    fn first(&self) -> Id {
        Id(self.base)
    }
    #[inline]
    fn next(&self) -> Id {
        Id(self.end)
    }
    #[inline]
    fn start(&self, id: Id) -> Seq {
        Seq(self.segments[self.slot(id)].start)
    }
    #[inline]
    fn end(&self, id: Id) -> Seq {
        Seq(if id.0 + 1 < self.end { self.segments[self.slot(id.next())].start } else { self.nxt })
    }
    fn first_tx(&self, id: Id) -> Time {
        let slot = self.slot(id);
        Time(if self.segments[slot].count > 1 {
            self.first_tx[slot]
        } else {
            self.segments[slot].last_tx
        })
    }
    #[inline]
    fn last_tx(&self, id: Id) -> Time {
        Time(self.segments[self.slot(id)].last_tx)
    }
    #[inline]
    fn tx_count(&self, id: Id) -> u32 {
        u32::from(self.segments[self.slot(id)].count)
    }
    fn nxt_at_last_tx(&self, id: Id) -> Seq {
        if self.segments[self.slot(id)].count > 1 {
            Seq(self.nxt_at_last_tx[self.slot(id)])
        } else {
            self.end(id)
        }
    }
    #[inline]
    fn ordinal(&self, id: Id) -> u64 {
        self.segments[self.slot(id)].ordinal
    }
    #[inline]
    fn flags(&self, id: Id) -> Flags {
        Flags::from_bits(self.segments[self.slot(id)].marks)
    }

    #[inline]
    fn set_flags(&mut self, id: Id, flags: Flags) {
        let slot = self.slot(id);
        let before = Flags::from_bits(self.segments[slot].marks);
        self.segments[slot].marks =
            self.segments[slot].marks & !Flags::from_bits(u8::MAX).bits() | flags.bits();
        if flags.has(Flags::SACKED) && !before.has(Flags::SACKED) {
            self.skip[slot] = 1;
            self.undelivered_repeated -= u64::from(self.segments[slot].count > 1);
        } else if before.has(Flags::SACKED) && !flags.has(Flags::SACKED) {
            self.undelivered_repeated += u64::from(self.segments[slot].count > 1);
        }
        // Lost, or lost again: its retransmission no longer counts as being in the network.
        let repeat_given_up = before.has(Flags::REPEATED) && !flags.has(Flags::REPEATED);
        if flags.has(Flags::LOST) && (!before.has(Flags::LOST) || repeat_given_up) {
            self.declare(id, before, flags);
        }
    }

    fn record_repeat(&mut self, id: Id, transmission: Transmission) {
        let slot = self.slot(id);
        if self.segments[slot].count == 1 {
            self.first_tx[slot] = self.segments[slot].last_tx;
        }
        self.segments[slot].last_tx = transmission.now.0;
        self.segments[slot].count = self.segments[slot].count.saturating_add(1);
        self.nxt_at_last_tx[slot] = transmission.nxt.0;
        self.segments[slot].ordinal = transmission.ordinal;
        let truth = self.segments[slot].marks & (DROPPED | DECLARED);
        self.segments[slot].marks =
            Flags::from_bits(self.segments[slot].marks).bits() | truth << EARLIER;
    }

    /// All segments except the last of each write have full size, so a division finds the index;
    /// otherwise bisection does.
    fn find(&self, at: Seq) -> Id {
        if self.base == self.end || at.0 >= self.nxt {
            return Id(self.end);
        }
        if at.0 < self.una {
            return Id(self.base);
        }
        let guess = Id(self.base + (at.0 - self.una) / self.mss);
        if self.holds(guess) && self.start(guess) <= at && at < self.end(guess) {
            return guess;
        }
        let (mut low, mut high) = (self.base, self.end);
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
}

impl SendOrder for Board {
    #[inline]
    fn oldest_sent(&self) -> u64 {
        self.log.base()
    }
    #[inline]
    fn next_sent(&self) -> u64 {
        self.log.end()
    }
    #[inline]
    fn sent_as(&self, ordinal: u64) -> Option<Id> {
        (ordinal >= self.log.base() && ordinal < self.log.end()).then(|| Id(*self.log.get(ordinal)))
    }
}
