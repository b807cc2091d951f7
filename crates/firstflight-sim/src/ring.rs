//! Storage that grows to the flight and is then reused: rings indexed by an ever-growing number,
//! and a bit set of the same kind.

use crate::pool::{Array, Plain};

/// Values of consecutive numbers `base..end`, addressed by their number. Grows by doubling, never
/// shrinks, so a flow allocates a few times in its life and its memory is bounded by its flight,
/// not by what it sent.
#[derive(Clone, Debug)]
pub struct Ring<T: Plain> {
    slots: Array<T>,
    base: u64,
    end: u64,
}

impl<T: Plain> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Array::new(64), base: 0, end: 0 }
    }
}

impl<T: Plain> Ring<T> {
    /// First number held.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// One past the last number held.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the ring is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.base == self.end
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Appends the value of number `end`.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.end - self.base == self.slots.len() as u64 {
            self.grow();
        }
        let slot = self.slot(self.end);
        self.slots[slot] = value;
        self.end += 1;
    }

    /// Appends the next `count` values; `value` computes each from its index among them.
    #[inline(always)]
    pub fn extend(&mut self, count: u64, value: impl Fn(u64) -> T) {
        while self.end - self.base + count > self.slots.len() as u64 {
            self.grow();
        }
        let (end, mask) = (self.end as usize, self.slots.len() - 1);
        let slots: &mut [T] = &mut self.slots;
        for at in 0..count {
            slots[(end + at as usize) & mask] = value(at);
        }
        self.end += count;
    }

    /// The value of `number`, which must be held.
    #[inline]
    pub fn get(&self, number: u64) -> &T {
        debug_assert!(number >= self.base && number < self.end);
        &self.slots[self.slot(number)]
    }

    /// The value of `number`, which must be held.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> &mut T {
        debug_assert!(number >= self.base && number < self.end);
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// The first value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.get(self.base))
    }

    /// Whether `value` is among the values held. Walks all of them.
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        (self.base..self.end).any(|number| self.get(number) == value)
    }

    /// Removes and returns the first value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.base += 1;
        Some(value)
    }

    /// Removes the first `count` values, which must be held.
    #[inline]
    pub fn skip(&mut self, count: u64) {
        debug_assert!(count <= self.end - self.base, "{count} of fewer");
        self.base += count;
    }

    /// Removes all values and restarts at number zero; the memory is kept.
    pub fn clear(&mut self) {
        self.base = 0;
        self.end = 0;
    }

    #[cold]
    fn grow(&mut self) {
        let mut wider = Array::new(self.slots.len() * 2);
        let mask = wider.len() - 1;
        for number in self.base..self.end {
            wider[number as usize & mask] = *self.get(number);
        }
        self.slots = wider;
    }
}

/// A set of numbers that contains every number below `low`, such as received or acknowledged
/// chunks. Memory is bounded by the distance between the lowest gap and the highest member.
#[derive(Clone, Debug)]
pub struct GapSet {
    words: Box<[u64]>,
    low: u64,
    high: u64,
}

impl Default for GapSet {
    fn default() -> Self {
        GapSet { words: vec![0; 4].into_boxed_slice(), low: 0, high: 0 }
    }
}

impl GapSet {
    /// The lowest number that is not a member.
    #[inline]
    pub fn low(&self) -> u64 {
        self.low
    }

    #[inline]
    fn word(&self, number: u64) -> usize {
        (number >> 6) as usize & (self.words.len() - 1)
    }

    /// Whether `number` is a member.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        number < self.low
            || (number < self.high && self.words[self.word(number)] >> (number & 63) & 1 == 1)
    }

    /// Whether the set has no gaps: everything up to its highest member is a member.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.high <= self.low
    }

    /// Adds the next `count` numbers to a set [without gaps](GapSet::is_whole).
    #[inline]
    pub fn extend(&mut self, count: u64) {
        debug_assert!(self.is_whole(), "{} is a member above the gap at {}", self.high, self.low);
        self.low += count;
        self.high = self.low;
    }

    /// Adds `number`; returns whether it is new.
    #[inline(always)]
    pub fn insert(&mut self, number: u64) -> bool {
        if number == self.low && self.is_whole() {
            // In order, nothing waiting: the common case touches no memory.
            self.extend(1);
            return true;
        }
        self.insert_apart(number)
    }

    fn insert_apart(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        while (number >> 6) - (self.low >> 6) >= self.words.len() as u64 {
            self.grow();
        }
        let word = self.word(number);
        self.words[word] |= 1 << (number & 63);
        debug_assert!(number >= self.low, "{number} is a member");
        self.high = self.high.max(number + 1);
        while self.low < self.high {
            let word = self.word(self.low);
            let bit = 1 << (self.low & 63);
            if self.words[word] & bit == 0 {
                break;
            }
            self.words[word] &= !bit;
            self.low += 1;
        }
        debug_assert!(!self.contains(self.low), "the lowest gap at {} is none", self.low);
        true
    }

    /// Empties the set; the memory is kept.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.low = 0;
        self.high = 0;
    }

    #[cold]
    fn grow(&mut self) {
        let mut wider = vec![0; self.words.len() * 2].into_boxed_slice();
        let mask = wider.len() as u64 - 1;
        // Up to the word of the last member: one word further, and a full ring would wrap around to
        // its own first word.
        for word in (self.low >> 6)..self.high.div_ceil(64) {
            wider[(word & mask) as usize] = self.words[word as usize & (self.words.len() - 1)];
        }
        self.words = wider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_its_values_while_it_grows_and_wraps() {
        let mut ring = Ring::default();
        for number in 0..1000u64 {
            ring.push(number);
            if number % 3 == 0 {
                assert_eq!(ring.pop(), Some(ring.base() - 1), "values leave in order");
            }
        }
        assert!(
            (ring.base()..ring.end()).all(|number| *ring.get(number) == number),
            "each number keeps its value"
        );
    }

    #[test]
    fn a_full_gap_set_grows_without_inventing_members() {
        let mut set = GapSet::default();
        for number in (0..256).filter(|number| number % 3 == 1) {
            set.insert(number);
        }
        set.insert(255);
        set.insert(256);
        assert!(
            !set.contains(258),
            "258 is no member though 2 is in the word that the ring would wrap to"
        );
        assert!(
            (257..600).all(|number| !set.contains(number)),
            "nothing above the highest member is one"
        );
        set.insert(600);
        for number in 0..600 {
            let member = number <= 256 && (number % 3 == 1 || number >= 255);
            assert_eq!(set.contains(number), member, "number {number}");
        }
    }

    #[test]
    fn a_gap_set_agrees_with_a_plain_set() {
        let (mut set, mut plain) = (GapSet::default(), std::collections::BTreeSet::new());
        let mut x = 1u64;
        for round in 0..20_000u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = set.low() + (x >> 40) % (1 + round % 700);
            assert_eq!(
                set.insert(number),
                plain.insert(number),
                "number {number} in round {round}"
            );
            assert!(
                (0..set.low() + 800)
                    .all(|n| round % 997 != 0 || set.contains(n) == plain.contains(&n)),
                "membership in round {round}"
            );
        }
    }
}
