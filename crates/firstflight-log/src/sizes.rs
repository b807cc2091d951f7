//! Infers the size of a full segment from the segments, if no option states it.

use std::collections::BTreeMap;

/// Maximum number of sizes remembered.
const MOST: usize = 64;
/// A larger size is several segments that the network card will split or has merged.
const JUMBO: u32 = 9000;
/// Payload of a full Ethernet frame.
const ETHERNET: u32 = 1460;
/// Packets of 576 bytes pass anywhere (RFC 9293 section 3.7.1). A smaller payload is no full
/// segment, even with all options.
const USUAL_LEAST: u32 = 496;
/// Number of full segments that settle the size; twice as many for smaller sizes.
const ENOUGH: u64 = 4;

/// Payload sizes of data segments, and how often each was seen.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    counts: BTreeMap<u32, u64>,
    segments: u64,
    best: Option<(u32, u64)>,
}

impl Sizes {
    /// Adds a data segment.
    pub(crate) fn see(&mut self, payload: u32) {
        if self.counts.len() >= MOST && !self.counts.contains_key(&payload) {
            return;
        }
        *self.counts.entry(payload).or_default() += 1;
        self.segments += 1;
        // Searching costs more than counting.
        let looks = self.segments <= 32 || self.segments.is_power_of_two();
        if looks && !self.is_settled() {
            self.best = self.find();
        }
    }

    /// Whether a segment had this size or a multiple of it.
    pub(crate) fn hold(&self, size: u64) -> bool {
        size > 0 && self.counts.keys().any(|seen| u64::from(*seen).is_multiple_of(size))
    }

    /// The size of most full segments.
    pub(crate) fn full(&self) -> Option<u64> {
        let (size, segments) = self.best?;
        (size >= USUAL_LEAST || segments >= 2 * ENOUGH).then_some(u64::from(size))
    }

    /// Whether more segments would not change the size.
    pub(crate) fn is_settled(&self) -> bool {
        self.best.is_some_and(|(size, segments)| size >= USUAL_LEAST && segments >= ENOUGH)
    }

    /// The size of which most bytes are multiples, and the number of its segments. Ties go to a
    /// usual size, then to the larger one.
    fn find(&self) -> Option<(u32, u64)> {
        let least =
            if self.counts.keys().any(|size| *size >= USUAL_LEAST) { USUAL_LEAST } else { 1 };
        let parts = |size: u32| {
            (1..=45).filter(move |parts| size.is_multiple_of(*parts)).map(move |parts| size / parts)
        };
        let made_of = |size: u32| {
            parts(size).filter(move |part| {
                *part == size && size <= JUMBO
                    || size > ETHERNET && (1200..=ETHERNET).contains(part)
            })
        };
        let candidates = self.counts.keys().flat_map(|size| made_of(*size));
        let seen = |size: &u32| self.counts.get(size).copied().unwrap_or(0);
        // A fraction of a full segment is not itself a full size.
        let is_rest = |part: u32| {
            let larger = self.counts.range(part + 1..);
            let whole = larger.filter(|(size, _)| **size <= ETHERNET && size.is_multiple_of(part));
            whole.map(|(_, count)| *count).max().is_some_and(|count| 8 * seen(&part) < count)
        };
        let rated = candidates.filter(|size| *size >= least && !is_rest(*size)).map(|size| {
            let multiples = self.counts.iter().filter(|(seen, _)| seen.is_multiple_of(size));
            let (bytes, segments) = multiples.fold((0, 0), |(bytes, segments), (seen, count)| {
                (bytes + u64::from(*seen) * count, segments + count)
            });
            let usual = size <= ETHERNET || (8900..=JUMBO).contains(&size);
            ((bytes, usual, size), segments)
        });
        rated.max().map(|((_, _, size), segments)| (size, segments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(seen: &[(u32, u64)]) -> Option<u64> {
        let mut sizes = Sizes::default();
        for (size, count) in seen {
            (0..*count).for_each(|_| sizes.see(*size));
        }
        sizes.full()
    }

    #[test]
    fn the_size_is_that_of_most_full_segments() {
        for (seen, size) in [
            (&[(1448, 3)][..], 1448),
            (&[(18, 1), (1448, 5)], 1448),
            (&[(91, 20), (1200, 4), (33, 2)], 1200),
            // Merged pairs, merged triples, and remainders.
            (&[(2896, 30)], 1448),
            (&[(2896, 30), (1448, 2)], 1448),
            (&[(4344, 9), (2896, 4), (700, 1)], 1448),
            (&[(14_480, 3), (65_160, 5)], 1448),
            (&[(2720, 10), (1360, 1)], 1360),
            (&[(536, 9), (1072, 20)], 536),
            (&[(1448, 30), (724, 1)], 1448),
            (&[(8948, 10)], 8948),
            (&[(8960, 10), (1000, 1)], 8960),
            (&[(256, 9)], 256),
        ] {
            assert_eq!(full(seen), Some(size), "{seen:?}");
        }
    }

    #[test]
    fn a_few_small_segments_say_nothing() {
        assert_eq!(full(&[]), None);
        assert_eq!(full(&[(18, 3), (91, 2)]), None);
        assert_eq!(full(&[(0, 3)]), None);
    }
}
