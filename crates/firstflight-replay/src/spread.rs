//! Distributions of times and sizes in constant memory.

use hdrhistogram::Histogram;

/// A distribution of numbers.
///
/// Two digits are kept, so the relative width of a bin is at most 1/128. A quantile is the middle
/// of its bin, and its error is at most 0.4 %. A third digit would take eight times the memory for
/// every connection.
///
/// The first few values are kept as they are: most connections are short, and a table of their
/// times takes twenty times the memory.
#[derive(Clone, Debug)]
pub struct Spread {
    few: Vec<u64>,
    /// A table of all values, once there are more than a few.
    counts: Option<Box<Histogram<u32>>>,
    least: u64,
    most: u64,
}

const DIGITS: u8 = 2;
/// Number of values that are kept as they are.
const FEW: usize = 32;

impl Default for Spread {
    fn default() -> Spread {
        Spread { few: Vec::new(), counts: None, least: u64::MAX, most: 0 }
    }
}

fn table(values: &[u64]) -> Histogram<u32> {
    let mut counts = Histogram::new(DIGITS).expect("a constant number of digits");
    for value in values {
        // The table grows as needed, up to any value.
        let _ = counts.record(*value);
    }
    counts
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        if let Some(counts) = &mut self.counts {
            let _ = counts.record(value);
            return;
        }
        self.few.push(value);
        if self.few.len() > FEW {
            self.counts = Some(Box::new(table(&std::mem::take(&mut self.few))));
        }
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.counts.as_ref().map_or(self.few.len() as u64, |counts| counts.len())
    }

    /// Whether there are no values yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest value with at least this share of all values at or below it.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        if share <= 0.0 {
            return self.least().map(|least| least as f64);
        }
        let of =
            |counts: &Histogram<u32>| counts.median_equivalent(counts.value_at_quantile(share));
        let middle = self.counts.as_deref().map_or_else(|| of(&table(&self.few)), of);
        Some((middle as f64).clamp(self.least as f64, self.most as f64))
    }

    /// The largest.
    pub fn most(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.most)
    }

    /// The smallest.
    pub fn least(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_half_a_percent_of_the_truth() {
        // From microseconds to minutes, narrow and wide.
        for (first, step, count) in
            [(1_u64, 1_u64, 100_000_u64), (600_500_000, 1_000_000, 70), (30_000, 7, 5000)]
        {
            let mut spread = Spread::default();
            (0..count).for_each(|index| spread.add(first + index * step));
            for share in [0.01, 0.05, 0.5, 0.75, 0.95, 0.99] {
                let rank = ((count as f64 * share).ceil() as u64).max(1);
                let truth = (first + (rank - 1) * step) as f64;
                let found = spread.quantile(share).expect("there are values");
                assert!((found / truth - 1.0).abs() < 0.005, "{share}: {found}, not {truth}");
            }
            assert_eq!(spread.quantile(0.0), Some(first as f64), "the smallest");
            let last = first + (count - 1) * step;
            assert_eq!((spread.least(), spread.most()), (Some(first), Some(last)));
        }
    }

    #[test]
    fn a_few_values_have_the_quantiles_of_a_table_and_take_less_than_one() {
        let mut spread = Spread::default();
        for count in 1..=2 * FEW as u64 {
            spread.add(count * count * 1_000_003 % 77_000_000);
            let values: Vec<u64> =
                (1..=count).map(|count| count * count * 1_000_003 % 77_000_000).collect();
            let whole = table(&values);
            for share in [0.01, 0.25, 0.5, 0.95] {
                let middle = whole.median_equivalent(whole.value_at_quantile(share)) as f64;
                let bounds = (spread.least as f64, spread.most as f64);
                assert_eq!(spread.quantile(share), Some(middle.clamp(bounds.0, bounds.1)));
            }
            assert_eq!(spread.len(), count);
            assert!(
                spread.few.capacity() <= 2 * FEW && spread.counts.is_some() == (count > FEW as u64)
            );
        }
    }

    #[test]
    fn equal_values_have_themselves_as_every_quantile() {
        let mut spread = Spread::default();
        (0..10).for_each(|_| spread.add(777));
        assert_eq!(spread.quantile(0.5), Some(777.0));
    }

    #[test]
    fn any_number_is_taken() {
        let mut spread = Spread::default();
        for value in [0, 1, u64::MAX / 4] {
            spread.add(value);
        }
        assert_eq!((spread.len(), spread.quantile(0.1)), (3, Some(0.0)));
        assert!(Spread::default().quantile(0.5).is_none());
    }
}
