//! Paired resampling of units that are few enough to draw one by one: seeds, connections. It has
//! its own generator, so that the same sample gives the same bytes.

use super::Interval;
use firstflight_path::random::Sequence;

/// Number of resamples for every interval.
pub const RESAMPLES: usize = 2_000;

/// A statistic of `n` units, with its 2.5th and 97.5th percentile over resamples; with fewer than
/// two units, or if no resample gives a number, both ends are the statistic itself. The statistic
/// gets the indices of a resample; the same index stands for the same unit in every arm, which
/// makes differences paired.
pub fn bootstrap(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Interval {
    bootstrap_each(n, |units| vec![statistic(units)])[0]
}

/// Like [`bootstrap`], for several statistics of the same resamples.
pub fn bootstrap_each(n: usize, statistics: impl Fn(&[usize]) -> Vec<f64>) -> Vec<Interval> {
    resampled(n, RESAMPLES, &statistics)
}

/// Not generic, so that it is compiled here, where the inner loops are optimised.
fn resampled(
    n: usize,
    resamples: usize,
    statistics: &dyn Fn(&[usize]) -> Vec<f64>,
) -> Vec<Interval> {
    let mut units: Vec<usize> = (0..n).collect();
    let estimates = statistics(&units);
    let mut draws = Sequence::new(n as u64);
    let drawn: Vec<Vec<f64>> = (0..if n < 2 { 0 } else { resamples })
        .map(|_| {
            for unit in &mut units {
                *unit = draws.between(0, n as u64 - 1) as usize;
            }
            statistics(&units)
        })
        .collect();
    let interval = |(which, &estimate): (usize, &f64)| {
        let values = drawn.iter().map(|drawn| drawn[which]).filter(|value| !value.is_nan());
        let mut values: Vec<f64> = values.collect();
        if values.is_empty() {
            return estimate.into();
        }
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        Interval { value: estimate, low: at(0.025), high: at(0.975) }
    };
    estimates.iter().enumerate().map(interval).collect()
}

/// The sum of these units' values.
pub fn sum(units: &[usize], values: &[f64]) -> f64 {
    units.iter().map(|&unit| values[unit]).sum()
}

/// The mean of these units' values.
pub fn mean(units: &[usize], values: &[f64]) -> f64 {
    sum(units, values) / units.len().max(1) as f64
}

/// The sum of the first values of these units' pairs over the sum of the second values.
pub fn pooled(units: &[usize], pairs: &[(f64, f64)]) -> f64 {
    let (part, whole) = sums(units, pairs);
    part / whole
}

/// The sums of these units' pairs.
pub fn sums(units: &[usize], pairs: &[(f64, f64)]) -> (f64, f64) {
    units.iter().fold((0.0, 0.0), |(a, b), &unit| (a + pairs[unit].0, b + pairs[unit].1))
}

/// The quantile of these values, by nearest rank; NaN if there are none.
pub fn quantile(values: Vec<f64>, share: f64) -> f64 {
    quantiles(values, &[share])[0]
}

/// Several quantiles of these values.
pub fn quantiles(mut values: Vec<f64>, shares: &[f64]) -> Vec<f64> {
    let one = |&share: &f64| {
        if values.is_empty() {
            return f64::NAN;
        }
        let rank = (values.len() as f64 * share).ceil() as usize;
        let place = rank.clamp(1, values.len()) - 1;
        // Numbers that compare as equal have equal bits.
        *values.select_nth_unstable_by(place, f64::total_cmp).1
    };
    shares.iter().map(one).collect()
}

/// Several quantiles of these units' values; unit numbers beyond the last value wrap around.
pub fn quantiles_of(units: &[usize], values: &[f64], shares: &[f64]) -> Vec<f64> {
    let many = values.len().max(1);
    let one = |&unit: &usize| values[if unit < many { unit } else { unit % many }];
    quantiles(units.iter().map(one).collect(), shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_covers_the_mean_about_as_wide_as_the_normal_one() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let ours = bootstrap(100, |units| mean(units, &values));
        let wide = 1.96 * 28.866 / 10.0;
        assert!((ours.value - 49.5).abs() < 1e-9, "the mean is {}", ours.value);
        assert!(
            (ours.high - 49.5 - wide).abs() < 0.8 && (49.5 - ours.low - wide).abs() < 0.8,
            "{ours:?} beside +-{wide}"
        );
    }

    #[test]
    fn the_same_sample_gives_the_same_interval() {
        let run = || {
            bootstrap(30, |units| {
                quantile(units.iter().map(|unit| (unit * unit) as f64).collect(), 0.9)
            })
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn one_unit_has_no_interval() {
        assert!(bootstrap(1, |units| mean(units, &[3.0])).is_point());
    }
}
