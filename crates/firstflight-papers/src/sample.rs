//! Intervals for rows: paired bootstrap over seeds or connections. The inner loops are in the lab crate, which
//! is optimised.

use firstflight_lab::stats::resample;

/// Number of resamples for every interval.
pub const RESAMPLES: usize = 2_000;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Estimate from the whole sample.
    pub estimate: f64,
    /// 2.5th percentile of the resamples.
    pub low: f64,
    /// 97.5th.
    pub high: f64,
}

impl From<f64> for Interval {
    /// A number without randomness.
    fn from(value: f64) -> Interval {
        Interval { estimate: value, low: value, high: value }
    }
}

impl Interval {
    /// Whether nothing varied.
    pub fn is_point(self) -> bool {
        self.low.to_bits() == self.high.to_bits()
    }

    /// Converts to another unit.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Interval {
        let (a, b) = (f(self.low), f(self.high));
        Interval { estimate: f(self.estimate), low: a.min(b), high: a.max(b) }
    }
}

/// A statistic of `n` units with its interval. The statistic receives the indices of a resample; an index is the
/// same seed or connection in every arm, so that differences are paired.
pub(crate) fn bootstrap(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Interval {
    let (estimate, low, high) = resample::resampled(n, RESAMPLES, &statistic);
    Interval { estimate, low, high }
}

/// Several statistics of `n` units, with their intervals.
pub(crate) fn bootstrap_each(n: usize, statistics: impl Fn(&[usize]) -> Vec<f64>) -> Vec<Interval> {
    let all = resample::resampled_each(n, RESAMPLES, &statistics).into_iter();
    all.map(|(estimate, low, high)| Interval { estimate, low, high }).collect()
}

/// The mean of `read` over these units.
pub(crate) fn mean(units: &[usize], read: impl Fn(usize) -> f64) -> f64 {
    units.iter().map(|&unit| read(unit)).sum::<f64>() / units.len().max(1) as f64
}

/// The sum of `read` over these units.
pub(crate) fn sum(units: &[usize], read: impl Fn(usize) -> f64) -> f64 {
    units.iter().map(|&unit| read(unit)).sum()
}

/// The quantile of `read` over these units, by nearest rank.
pub(crate) fn quantile(units: &[usize], share: f64, read: impl Fn(usize) -> f64) -> f64 {
    resample::quantile(units.iter().map(|&unit| read(unit)).collect(), share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_covers_the_mean_about_as_wide_as_the_normal_one() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let ours = bootstrap(100, |units| mean(units, |unit| values[unit]));
        let wide = 1.96 * 28.866 / 10.0;
        assert!((ours.estimate - 49.5).abs() < 1e-9, "the mean is {}", ours.estimate);
        assert!(
            (ours.high - 49.5 - wide).abs() < 0.8 && (49.5 - ours.low - wide).abs() < 0.8,
            "{ours:?} beside +-{wide}"
        );
    }

    #[test]
    fn the_same_sample_gives_the_same_interval() {
        let run = || bootstrap(30, |units| quantile(units, 0.9, |unit| (unit * unit) as f64));
        assert_eq!(run(), run());
    }

    #[test]
    fn one_unit_has_no_interval() {
        assert!(bootstrap(1, |units| mean(units, |_| 3.0)).is_point());
    }
}
