//! Selection of the next flow among many.

use crate::wire::NEVER;

/// The earliest of many times, of which one is replaced at a time: a tree of groups of four, in
/// which each node is the minimum of its group.
#[derive(Clone, Debug)]
pub(crate) struct Earliest {
    /// The children of node `n` are `4 n + 1` and the next three nodes; their values are group `n`,
    /// and the leaves come last. Each word has the time in its upper bits and the place in its
    /// lower bits: the order of two flows is a coin toss that no branch predictor wins, and the
    /// smaller of two words is found without a branch.
    groups: Vec<[u64; 4]>,
    /// The smallest value of all.
    root: u64,
    /// Number of bits of the place.
    bits: u32,
}

impl Earliest {
    /// For this many places, none of which is due.
    pub(crate) fn new(places: usize) -> Earliest {
        let (mut leaves, mut groups) = (1, 0);
        while leaves < places {
            groups += leaves;
            leaves *= 4;
        }
        Earliest {
            groups: vec![[u64::MAX; 4]; groups],
            root: u64::MAX,
            bits: places.next_power_of_two().trailing_zeros(),
        }
    }

    /// Times from here on count as [`NEVER`]: four and a half years with a hundred flows, five
    /// hours with a million.
    fn horizon(&self) -> u64 {
        u64::MAX >> self.bits
    }

    /// The earliest due time and its place; at equal times the lowest place.
    #[inline]
    pub(crate) fn first(&self) -> (u64, usize) {
        let (first, horizon) = (self.root, self.horizon());
        let (at, place) = (first >> self.bits, first & !(horizon << self.bits));
        (if at == horizon { NEVER } else { at }, place as usize)
    }

    /// This place is due at `at`.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, at: u64) {
        let mut earliest = at.min(self.horizon()) << self.bits | place as u64;
        if self.groups.is_empty() {
            self.root = earliest;
            return;
        }
        // The number of inner nodes equals the number of groups, and only the root belongs to no
        // group.
        let mut value = self.groups.len() + place - 1;
        if self.groups[value / 4][value % 4] == earliest {
            // Usually the flow's own next event comes before an ACK that is in transit.
            return;
        }
        loop {
            let node = value / 4;
            let group = &mut self.groups[node];
            group[value % 4] = earliest;
            let [a, b, c, d] = *group;
            earliest = a.min(b).min(c.min(d));
            if node == 0 {
                break;
            }
            value = node - 1;
        }
        self.root = earliest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_equals_the_lower_place() {
        for places in [1_usize, 2, 3, 4, 5, 16, 17, 100] {
            let (mut tree, mut plain) = (Earliest::new(places), vec![NEVER; places]);
            let mut x = 5u64;
            for _ in 0..5_000 {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let (place, at) = ((x >> 33) as usize % places, (x >> 20) % 50);
                tree.set(place, at);
                plain[place] = at;
                let first =
                    plain.iter().zip(0..).map(|(at, place)| (*at, place)).min().expect("places");
                assert_eq!(tree.first(), first, "with {places} places");
            }
        }
    }

    #[test]
    fn what_never_happens_comes_after_everything() {
        let mut tree = Earliest::new(100);
        assert_eq!(tree.first().0, NEVER, "nothing is due");
        tree.set(70, tree.horizon() - 1);
        assert_eq!(tree.first(), ((u64::MAX >> 7) - 1, 70), "the last moment that counts");
        tree.set(70, NEVER);
        assert_eq!(tree.first().0, NEVER, "nothing is due any more");
    }
}
