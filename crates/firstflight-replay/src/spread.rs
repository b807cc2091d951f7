//! Distributions of times and sizes in constant memory: eight bins per octave, so a quantile is off
//! by 4.4 % at most.

/// A distribution of positive numbers.
#[derive(Clone, Debug)]
pub struct Spread {
    counts: Vec<u64>,
    total: u64,
    least: u64,
    most: u64,
}

const PER_OCTAVE: f64 = 8.0;

impl Default for Spread {
    fn default() -> Spread {
        Spread { counts: Vec::new(), total: 0, least: u64::MAX, most: 0 }
    }
}

impl Spread {
    /// One more.
    pub fn add(&mut self, value: u64) {
        let bin = if value == 0 { 0 } else { ((value as f64).log2() * PER_OCTAVE) as usize + 1 };
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.total += 1;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// None yet.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The value that this share of all lies at or below.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (bin, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let middle = if bin == 0 { 0.0 } else { ((bin as f64 - 0.5) / PER_OCTAVE).exp2() };
                return Some(middle.clamp(self.least as f64, self.most as f64));
            }
        }
        None
    }

    /// The largest.
    pub fn most(&self) -> Option<u64> {
        (self.total > 0).then_some(self.most)
    }

    /// The smallest.
    pub fn least(&self) -> Option<u64> {
        (self.total > 0).then_some(self.least)
    }

    /// The share of values at or below `value`, to the width of a bin.
    pub fn share_up_to(&self, value: u64) -> f64 {
        let bin = if value == 0 { 0 } else { ((value as f64).log2() * PER_OCTAVE) as usize + 1 };
        self.counts.iter().take(bin + 1).sum::<u64>() as f64 / self.total.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bin_of_the_truth() {
        let mut spread = Spread::default();
        (1..=100_000).for_each(|value| spread.add(value));
        for (share, truth) in [(0.01, 1000.0), (0.5, 50_000.0), (0.99, 99_000.0)] {
            let found = spread.quantile(share).expect("there are values");
            assert!(
                (found / truth - 1.0_f64).abs() < 0.045,
                "share {share}: {found} and not {truth}"
            );
        }
        assert!(
            spread.quantile(0.0).is_some_and(|least| least < 1.05),
            "the smallest is 1: {:?}",
            spread.quantile(0.0)
        );
        assert_eq!((spread.least(), spread.most()), (Some(1), Some(100_000)));
    }

    #[test]
    fn equal_values_have_themselves_as_every_quantile() {
        let mut spread = Spread::default();
        (0..10).for_each(|_| spread.add(777));
        assert_eq!(spread.quantile(0.5), Some(777.0));
    }
}
