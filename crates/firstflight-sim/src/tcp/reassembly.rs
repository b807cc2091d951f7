//! Reassembly of the object: the data that has arrived in order, the data beyond a gap, and the
//! order in which SACK blocks are reported.
//!
//! Ranges beyond the first gap are kept in a queue in ascending order. The queue is short however
//! large the window is: its length is the number of gaps. Follows RFC 2018 section 4 (most recent
//! block first) and RFC 2883 (a duplicate is reported before anything else).

use std::collections::VecDeque;

/// Bytes `from .. to` of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

impl Range {
    /// Whether it contains every byte of `other`.
    #[inline]
    pub fn covers(&self, other: Range) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

/// Number of blocks for which an option with timestamps has room (RFC 2018 section 3).
pub const BLOCKS: usize = 3;

/// Classification of a segment by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next segment in order, with no data beyond a gap.
    InOrder,
    /// The segment filled a gap, completely or from its lower end.
    Fills,
    /// The segment lies beyond a gap.
    Ahead,
    /// Every byte of it had arrived before.
    Duplicate,
}

/// Data held by the receiver.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u64,
    ahead: VecDeque<Range>,
    /// Ranges of `ahead` in the order in which they last grew, latest first; one more than is
    /// reported, as a spare for when two merge.
    recent: [Range; BLOCKS + 1],
    recents: usize,
}

impl Reassembly {
    /// The next byte expected in order.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether no data lies beyond a gap.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.ahead.is_empty()
    }

    /// The blocks to report, latest first.
    pub fn blocks(&self) -> &[Range] {
        &self.recent[..self.recents.min(BLOCKS)]
    }

    /// A segment arrives.
    #[inline]
    pub fn insert(&mut self, segment: Range) -> Arrival {
        if segment.from == self.next && self.ahead.is_empty() {
            self.next = segment.to;
            return Arrival::InOrder;
        }
        self.insert_out_of_order(segment)
    }

    /// The next `bytes` bytes arrive in order, with no data beyond a gap.
    #[inline]
    pub fn extend(&mut self, bytes: u64) {
        debug_assert!(self.is_whole(), "something waits beyond a gap");
        self.next += bytes;
    }

    fn insert_out_of_order(&mut self, segment: Range) -> Arrival {
        if segment.to <= self.next {
            return Arrival::Duplicate;
        }
        if segment.from <= self.next {
            self.next = segment.to;
            while let Some(front) =
                self.ahead.front().copied().filter(|front| front.from <= self.next)
            {
                self.next = self.next.max(front.to);
                self.ahead.pop_front();
            }
            let next = self.next;
            self.forget(|range| range.to <= next);
            self.remember_lowest();
            debug_assert!(
                self.ahead.front().is_none_or(|front| front.from > next),
                "what is in order up to {next} waits beyond a gap"
            );
            return Arrival::Fills;
        }
        let Some(whole) = self.merge(segment) else {
            // RFC2883 4-2: the block behind the duplicate is the one that holds it.
            if let Some(holds) = self.holding(segment.from) {
                self.report_first(holds);
            }
            return Arrival::Duplicate;
        };
        self.report_first(whole);
        Arrival::Ahead
    }

    fn report_first(&mut self, whole: Range) {
        self.forget(|range| whole.covers(range));
        self.recent.copy_within(0..BLOCKS, 1);
        self.recent[0] = whole;
        self.recents = (self.recents + 1).min(BLOCKS + 1);
    }

    /// Adds a segment beyond the first gap. Returns the range that now contains it, or `None` if it
    /// had arrived before.
    fn merge(&mut self, segment: Range) -> Option<Range> {
        // Beyond everything else, as on a path that keeps the order.
        match self.ahead.back_mut() {
            Some(back) if back.to == segment.from => {
                back.to = segment.to;
                return Some(*back);
            }
            Some(back) if back.to > segment.from => {}
            _ => {
                self.ahead.push_back(segment);
                return Some(segment);
            }
        }
        let place = self.ahead.partition_point(|range| range.to < segment.from);
        if self.ahead[place].covers(segment) {
            return None;
        }
        let mut whole = segment;
        while let Some(range) =
            self.ahead.get(place).copied().filter(|range| range.from <= whole.to)
        {
            whole = Range { from: whole.from.min(range.from), to: whole.to.max(range.to) };
            self.ahead.remove(place);
        }
        debug_assert!(
            (place == 0 || self.ahead[place - 1].to < whole.from)
                && self.ahead.get(place).is_none_or(|above| whole.to < above.from),
            "ranges touch: {whole:?} among {:?}",
            self.ahead
        );
        self.ahead.insert(place, whole);
        Some(whole)
    }

    /// Blocks that were reported long ago are repeated where there is room: the ACKs that carried
    /// them may have been lost.
    fn remember_lowest(&mut self) {
        for at in 0..self.ahead.len().min(BLOCKS) {
            let range = self.ahead[at];
            if self.recents < BLOCKS && !self.recent[..self.recents].contains(&range) {
                self.recent[self.recents] = range;
                self.recents += 1;
            }
        }
    }

    fn forget(&mut self, gone: impl Fn(Range) -> bool) {
        let mut kept = 0;
        for at in 0..self.recents {
            if !gone(self.recent[at]) {
                self.recent[kept] = self.recent[at];
                kept += 1;
            }
        }
        self.recents = kept;
    }

    /// The range beyond the first gap that contains `at`, if any.
    pub fn holding(&self, at: u64) -> Option<Range> {
        let place = self.ahead.partition_point(|range| range.to <= at);
        self.ahead.get(place).copied().filter(|range| range.from <= at)
    }

    /// Discards the data beyond the first gap.
    pub fn discard_ahead(&mut self) {
        self.ahead.clear();
        self.recents = 0;
    }

    /// Empties it; the memory is kept.
    pub fn clear(&mut self) {
        self.ahead.clear();
        (self.next, self.recents) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn segment(index: u64) -> Range {
        Range { from: index * 10, to: index * 10 + 10 }
    }

    #[test]
    fn blocks_are_reported_latest_first_and_at_most_three() {
        let mut held = Reassembly::default();
        for index in [0, 2, 4, 6, 8] {
            held.insert(segment(index));
        }
        assert_eq!(
            held.blocks(),
            [segment(8), segment(6), segment(4)],
            "the latest three of four blocks"
        );
        assert_eq!(held.insert(segment(3)), Arrival::Ahead);
        let merged = Range { from: 20, to: 50 };
        assert_eq!(
            held.blocks(),
            [merged, segment(8), segment(6)],
            "the block that grew comes first, what it swallowed is gone"
        );
        assert_eq!(held.insert(segment(6)), Arrival::Duplicate);
        assert_eq!(
            held.blocks(),
            [segment(6), merged, segment(8)],
            "the block that holds the duplicate comes first"
        );
        assert_eq!(held.insert(segment(1)), Arrival::Fills);
        assert_eq!(
            (held.next(), held.blocks()),
            (50, &[segment(6), segment(8)][..]),
            "what was cumulatively received is no block"
        );
    }

    #[test]
    fn a_reassembly_agrees_with_a_plain_set() {
        let mut x = 7u64;
        let (mut held, mut plain) = (Reassembly::default(), std::collections::BTreeSet::new());
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let index = held.next() / 10 + (x >> 40) % 40;
            let index = index.saturating_sub((x >> 20) % 3);
            let arrival = held.insert(segment(index));
            assert_eq!(
                arrival == Arrival::Duplicate,
                !plain.insert(index),
                "segment {index} is a duplicate only if it came before"
            );
            assert!(
                (0..held.next() / 10).all(|index| plain.contains(&index)),
                "everything below {} has come",
                held.next()
            );
            assert!(
                !plain.contains(&(held.next() / 10)),
                "the segment at {} has not come",
                held.next()
            );
            for block in held.blocks() {
                assert!(
                    (block.from / 10..block.to / 10).all(|index| plain.contains(&index)),
                    "block {block:?} has come"
                );
                assert!(!plain.contains(&(block.to / 10)), "block {block:?} is all of its run");
                assert_eq!(
                    held.holding(block.from),
                    Some(*block),
                    "block {block:?} is a range that waits"
                );
            }
            assert_eq!(
                held.is_whole(),
                held.blocks().is_empty(),
                "there is a block as long as there is a gap"
            );
        }
    }
}
