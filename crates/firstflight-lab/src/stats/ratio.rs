//! Ratios of pairs: an arm's time over the baseline's on the same path with the same object.

use super::Interval;
use super::codec::{Reader, Writer};
use super::sketch::{Sketch, ranks};

/// Distribution of the ratio arm / baseline over the pairs. Pairs that are exactly equal are
/// counted separately, so that ties are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratios {
    below: Sketch,
    above: Sketch,
    same: u64,
    worse: u64,
    better: u64,
    /// Sum of the binary logarithms, 2^-32.
    log_sum: i128,
}

/// Unit of the sketch, which holds ratios from 2^-12 to 2^12 as multiples of 2^-20.
const ONE: u64 = 1 << 20;
const LEAST: u64 = ONE >> 12;
const MOST: u64 = ONE << 12;

impl Ratios {
    /// Adds a pair of nonzero values.
    pub fn add(&mut self, arm: u64, baseline: u64) {
        let (arm, baseline) = (arm.max(1), baseline.max(1));
        if arm == baseline {
            self.same += 1;
            return;
        }
        let ratio = (u128::from(arm) * u128::from(ONE) / u128::from(baseline))
            .clamp(u128::from(LEAST), u128::from(MOST)) as u64;
        if arm < baseline {
            self.below.add(ratio.min(ONE - 1));
        } else {
            self.above.add(ratio.max(ONE));
        }
        // Worse or better by more than 5 %.
        self.worse += u64::from(u128::from(arm) * 20 > u128::from(baseline) * 21);
        self.better += u64::from(u128::from(arm) * 20 < u128::from(baseline) * 19);
        self.log_sum += (libm::log2(arm as f64 / baseline as f64) * 4_294_967_296.0) as i128;
    }

    /// Adds the pairs of another.
    pub fn merge(&mut self, other: &Ratios) {
        self.below.merge(&other.below);
        self.above.merge(&other.above);
        self.same += other.same;
        self.worse += other.worse;
        self.better += other.better;
        self.log_sum += other.log_sum;
    }

    /// Number of pairs.
    pub fn total(&self) -> u64 {
        self.below.total() + self.same + self.above.total()
    }

    /// Number of pairs that are exactly equal.
    pub fn same(&self) -> u64 {
        self.same
    }

    /// Share of pairs in which the arm takes more than 5 % longer.
    pub fn worse_share(&self) -> f64 {
        self.worse as f64 / self.total().max(1) as f64
    }

    /// Share of pairs in which the arm takes more than 5 % less.
    pub fn better_share(&self) -> f64 {
        self.better as f64 / self.total().max(1) as f64
    }

    /// Geometric mean of the ratio.
    pub fn geometric_mean(&self) -> f64 {
        libm::exp2(self.log_sum as f64 / 4_294_967_296.0 / self.total().max(1) as f64)
    }

    fn at_rank(&self, rank: f64) -> f64 {
        let (below, same) = (self.below.total() as f64, self.same as f64);
        if rank < below {
            (self.below.at_rank(rank) / ONE as f64).min(1.0)
        } else if rank < below + same || self.above.total() == 0 {
            1.0
        } else {
            (self.above.at_rank(rank - below - same) / ONE as f64).max(1.0)
        }
    }

    /// Quantile `p` of the ratio, with the interval from its rank.
    pub fn quantile_interval(&self, p: f64, z: f64) -> Interval {
        let [value, low, high] = ranks(self.total(), p, z).map(|rank| self.at_rank(rank));
        Interval { value, low, high }
    }

    /// Appends the distribution.
    pub fn write(&self, to: &mut Writer) {
        self.below.write(to);
        self.above.write(to);
        for count in [self.same, self.worse, self.better] {
            to.put(count);
        }
        to.put_signed(self.log_sum);
    }

    /// Reads a distribution that [`Ratios::write`] wrote.
    pub fn read(from: &mut Reader<'_>) -> Option<Ratios> {
        Some(Ratios {
            below: Sketch::read(from)?,
            above: Sketch::read(from)?,
            same: from.get()?,
            worse: from.get()?,
            better: from.get()?,
            log_sum: from.signed()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_exactly_one_and_the_middle_is_where_it_belongs() {
        let mut ratios = Ratios::default();
        for k in 0..100u64 {
            ratios.add(if k < 30 { 900 } else { 1000 }, 1000);
        }
        let median = ratios.quantile_interval(0.5, 1.96);
        assert_eq!(
            (median.value, median.low, median.high),
            (1.0, 1.0, 1.0),
            "seven of ten are equal"
        );
        let low = ratios.quantile_interval(0.1, 0.0);
        assert!((low.value - 0.9).abs() < 0.004, "the rest is a tenth faster: {}", low.value);
        assert!((ratios.better_share() - 0.3).abs() < 1e-12 && ratios.worse_share() == 0.0);
        assert!(
            (ratios.geometric_mean() - 0.9_f64.powf(0.3)).abs() < 1e-6,
            "{}",
            ratios.geometric_mean()
        );
    }
}
