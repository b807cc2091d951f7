//! A sketch of a distribution of whole numbers in constant memory: counts in bins that are 1 wide
//! at the bottom and 1/256 of their octave above.
//!
//! Sketches add up: any order of values and of merging gives the same counts. The error of a
//! quantile is at most one bin (0.4 % of the value), with linear interpolation within the bin. Its
//! interval needs no assumption about the distribution: the number of values below a quantile is
//! binomial, so the interval lies between the values at the ranks n p +- z sqrt(n p (1 - p)).

use super::Interval;
use super::codec::{Reader, Writer};

/// Counts of whole numbers, with `DIGITS` significant binary digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts<const DIGITS: u32> {
    counts: Vec<u32>,
    total: u64,
}

/// Counts in bins of 0.4 % of a value.
pub type Sketch = Counts<8>;

impl<const DIGITS: u32> Counts<DIGITS> {
    fn bin(value: u64) -> usize {
        let shift = (64 - value.leading_zeros()).saturating_sub(DIGITS + 1);
        ((u64::from(shift) << DIGITS) + (value >> shift)) as usize
    }

    /// First value of a bin, and the number of values in it.
    fn bounds(bin: usize) -> (u64, u64) {
        let shift = ((bin >> DIGITS) as u32).saturating_sub(1);
        let low = (bin as u64 - (u64::from(shift) << DIGITS)) << shift;
        (low, 1 << shift)
    }

    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        let bin = Self::bin(value);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] = self.counts[bin].saturating_add(1);
        self.total += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total += other.total;
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Resets all counts; the memory is kept.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    /// The value at a rank, counted from 0; fractions are allowed. 0 if there are no values.
    pub fn at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        let mut last = 0.0;
        for (bin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (low, width) = Self::bounds(bin);
            let count = f64::from(*count);
            if rank < below + count {
                // A bin of one value needs no interpolation.
                let inside = if width > 1 {
                    (rank - below + 0.5).clamp(0.0, count) / count * width as f64
                } else {
                    0.0
                };
                return low as f64 + inside;
            }
            below += count;
            last = (low + width - 1) as f64;
        }
        last
    }

    /// Quantile `p`.
    pub fn quantile(&self, p: f64) -> f64 {
        self.at_rank(p * self.total.saturating_sub(1) as f64)
    }

    /// Quantile `p` with the interval from its rank, `z` standard deviations to each side.
    pub fn quantile_interval(&self, p: f64, z: f64) -> Interval {
        let [value, low, high] = ranks(self.total, p, z).map(|rank| self.at_rank(rank));
        Interval { value, low, high }
    }

    /// Appends the counts.
    pub fn write(&self, to: &mut Writer) {
        let filled = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        to.put(filled().count() as u64);
        let mut last = 0;
        for (bin, count) in filled() {
            to.put((bin - last) as u64);
            to.put(*count);
            last = bin;
        }
    }

    /// Reads counts that [`Sketch::write`] wrote.
    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        let bins = (64 - u64::from(DIGITS) + 1) << DIGITS;
        let mut sketch = Self::default();
        let mut bin = 0u64;
        for _ in 0..from.get()? {
            bin = bin.checked_add(from.get()?).filter(|bin| *bin < bins)?;
            let count = u32::try_from(from.get()?).ok()?;
            sketch.counts.resize(bin as usize + 1, 0);
            sketch.counts[bin as usize] = count;
            sketch.total += u64::from(count);
        }
        Some(sketch)
    }
}

/// The rank of a quantile among `n` values, and the ranks `z` standard deviations of a binomial
/// count below and above.
pub fn ranks(n: u64, p: f64, z: f64) -> [f64; 3] {
    let last = n.saturating_sub(1) as f64;
    let spread = z * (n as f64 * p * (1.0 - p)).sqrt();
    [
        p * last,
        (p * n as f64 - spread - 0.5).clamp(0.0, last),
        (p * n as f64 + spread - 0.5).clamp(0.0, last),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other_without_gap() {
        let mut next = 0;
        for index in 0..3000 {
            let (low, width) = Sketch::bounds(index);
            assert_eq!(low, next, "bin {index} begins where the one before ends");
            assert_eq!(
                (Sketch::bin(low), Sketch::bin(low + width - 1)),
                (index, index),
                "its values fall into bin {index}"
            );
            next = low + width;
        }
        assert_eq!(
            Sketch::bounds(Sketch::bin(u64::MAX)).0 >> 56,
            0xff,
            "the largest number has a bin"
        );
    }

    #[test]
    fn quantiles_are_within_a_bin_and_merging_is_adding() {
        let (mut all, mut even, mut odd) =
            (Sketch::default(), Sketch::default(), Sketch::default());
        for value in 0..100_000u64 {
            all.add(value * 7);
            if value % 2 == 0 { even.add(value * 7) } else { odd.add(value * 7) }
        }
        for p in [0.01, 0.5, 0.9, 0.99] {
            let exact = p * 99_999.0 * 7.0;
            assert!(
                (all.quantile(p) / exact - 1.0).abs() < 0.004,
                "{p}: {} for {exact}",
                all.quantile(p)
            );
        }
        odd.merge(&even);
        assert_eq!(odd, all, "merged in any order");
        let mut writer = Writer::default();
        all.write(&mut writer);
        assert_eq!(Sketch::read(&mut Reader(&writer.0)), Some(all), "and back from bytes");
        assert_eq!(
            Sketch::read(&mut Reader(&writer.0[..writer.0.len() - 1])),
            None,
            "but not from some of them"
        );
    }

    #[test]
    fn intervals_of_quantiles_cover_nineteen_of_twenty_times() {
        let mut covered = 0;
        for trial in 0..400u64 {
            let mut sketch = Sketch::default();
            for k in 0..500 {
                sketch.add(firstflight_path::random::mix(trial * 1_000_003 + k) >> 40);
            }
            let truth = 0.9 * f64::from(1 << 24);
            covered += u64::from(sketch.quantile_interval(0.9, super::super::Z_95).covers(truth));
        }
        assert!(
            (365..=395).contains(&covered),
            "{covered} of 400 intervals cover the truth; 380 are expected"
        );
    }
}
