//! The rates of one round that can still become its percentile.
//!
//! BESTPUB rate-4: the published code sorts up to 300 rates and picks one by its rank when the
//! round ends. The number of further rates is unknown, but limited by the array. A rate is only
//! counted if its rank is already above the highest possible one, or so low that even the maximum
//! number of larger rates could not make it the percentile. The remaining rates fit into half the
//! array and give exactly the same result.
//!
//! Follows: ours, in place of the array of the published code. State: 306 bytes. Departures: none.

/// BESTPUB rate-3: rates counted per round; later ones of the same round are dropped.
#[doc(hidden)]
pub const CAPACITY: usize = 300;

/// Maximum number of rates open at once: a percentile `p` of `n` is number `ceil(n p / 100)`, so
/// the highest possible rank is `3 p`, and at most `300 - 3 p + 1` ranks lie between the lowest
/// possible one and that.
const OPEN: usize = CAPACITY / 2;

/// BESTPUB rate-2: index of the percentile among `n` sorted samples; the lower one if two qualify.
#[doc(hidden)]
pub fn percentile_index(n: u16, percentile: u8) -> usize {
    let position = usize::from(n) * usize::from(percentile.min(100));
    if position.is_multiple_of(100) { (position / 100).saturating_sub(1) } else { position / 100 }
}

/// The rates of one round in ascending order; settled rates are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    kept: [u16; OPEN],
    held: u16,
    /// Number of dropped rates below `kept`.
    below: u16,
    /// Number of all rates of the round, at most [`CAPACITY`].
    offered: u16,
}

impl Samples {
    pub(super) const EMPTY: Samples = Samples { kept: [0; OPEN], held: 0, below: 0, offered: 0 };

    pub(super) fn offered(&self) -> u16 {
        self.offered
    }

    pub(super) fn kept(&self) -> &[u16] {
        &self.kept[..usize::from(self.held).min(OPEN)]
    }

    /// A new round.
    pub(super) fn clear(&mut self) {
        (self.held, self.below, self.offered) = (0, 0, 0);
    }

    /// The percentile of all rates of the round; 0 if there are none (D2 of [`super`]).
    pub(super) fn pick(&self, percentile: u8) -> u16 {
        let rank = percentile_index(self.offered, percentile);
        rank.checked_sub(usize::from(self.below))
            .and_then(|at| self.kept().get(at))
            .copied()
            .unwrap_or(0)
    }

    /// BESTPUB rate-3: one more rate; those after the 300th of a round are dropped.
    pub(super) fn insert(&mut self, rate: u16, percentile: u8) {
        if usize::from(self.offered) >= CAPACITY {
            return;
        }
        self.offered += 1;
        // The ranks that are still possible: from `lowest`, if only larger rates follow and the
        // array fills, to `highest`.
        let highest = percentile_index(CAPACITY as u16, percentile);
        let lowest = (highest + usize::from(self.offered)).saturating_sub(CAPACITY);
        let (held, below) = (usize::from(self.held).min(OPEN), usize::from(self.below));
        let at = self.kept[..held].partition_point(|&other| other <= rate);
        if below < lowest {
            // The smallest rate is settled: the kept one, or this one if it is even smaller.
            if at > 0 {
                self.kept.copy_within(1..at, 0);
                self.kept[at - 1] = rate;
            }
            self.below += 1;
            // The rates above have moved up a rank, and the largest may now be settled.
            self.held = held.min((highest + 1).saturating_sub(below + 1)) as u16;
        } else {
            // The largest makes room if it is settled; a rate beyond it is settled at once.
            let room = held.min(highest.saturating_sub(below)).min(OPEN - 1);
            if at <= room {
                self.kept.copy_within(at..room, at + 1);
                self.kept[at] = rate;
                self.held = room as u16 + 1;
            }
        }
    }
}
