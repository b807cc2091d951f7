//! Student's t for a few paired differences (mean, interval and p-value), and a p-value for a difference in numbers
//! of seeds.

use firstflight_trial::statistics::student::{above, quantile};

/// Statistics of N paired differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paired {
    /// Their mean.
    pub(crate) mean: f64,
    /// Lower end of the 95 % interval; infinite with fewer than two differences.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Upper end of the one-sided 95 % interval.
    pub(crate) upper: f64,
    /// One-sided p-value: the probability of a mean this large if the true one were the margin.
    pub(crate) chance: f64,
}

impl Paired {
    /// Compares these differences with a margin; `None` without any. If all are equal, their value is compared
    /// directly.
    pub(crate) fn of(differences: &[f64], margin: f64) -> Option<Paired> {
        let first = *differences.first()?;
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        if differences.iter().all(|one| one.to_bits() == first.to_bits()) && differences.len() > 1 {
            let chance = if first > margin { 0.0 } else { 1.0 };
            return Some(Paired { mean: first, low: first, high: first, upper: first, chance });
        }
        if differences.len() < 2 {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            return Some(Paired { mean, low, high, upper: high, chance: 1.0 });
        }
        let squares: f64 = differences.iter().map(|one| (one - mean) * (one - mean)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        let degrees = n - 1.0;
        let half = error * quantile(0.975, degrees);
        Some(Paired {
            mean,
            low: mean - half,
            high: mean + half,
            upper: mean + error * quantile(0.95, degrees),
            chance: above((mean - margin) / error, degrees),
        })
    }
}

/// Upper bound of the probability that an event occurs in at least `more` seeds more with the algorithm than with the
/// baseline, of `seeds` each, if it is equally probable with both: P(B >= seeds + more) for 2 x `seeds` fair coins.
///
/// Each seed adds X - Y to `more`. If X and Y have the same distribution and are independent given the seed, or are
/// positively dependent, they differ in at most half of the cases. The sum of such differences is then nowhere wider
/// than if they differed in exactly half (symmetric and unimodal, by Birnbaum's order of peakedness), which is one fair
/// coin each. McNemar's test uses only the seeds that differ and needs no such assumption, but with ten seeds its
/// smallest value is 1/1024, which Holm's procedure over a report can never reject.
pub(crate) fn more_often(seeds: u32, more: i32) -> f64 {
    let half = f64::from(seeds);
    // The probability of as many heads as tails; then of one more head at each step.
    let mut term: f64 = (1..=seeds).map(|i| 1.0 - 0.5 / f64::from(i)).product();
    let (mut beyond, middle) = (0.0, term);
    for heads in 1..=seeds {
        term *= (half - f64::from(heads) + 1.0) / (half + f64::from(heads));
        if heads >= more.unsigned_abs() + u32::from(more < 0) {
            beyond += term;
        }
    }
    match more {
        0 => beyond + middle,
        1.. => beyond,
        _ => 1.0 - beyond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_differences_are_compared_as_they_are() {
        let equal = Paired::of(&[0.06; 5], 0.05).expect("differences");
        assert_eq!((equal.low, equal.high, equal.chance), (0.06, 0.06, 0.0));
        assert!(Paired::of(&[0.05; 5], 0.05).expect("differences").chance > 0.99);
        assert_eq!(Paired::of(&[], 0.0), None);
        let one = Paired::of(&[9.0], 0.0).expect("a difference");
        assert!(one.high.is_infinite() && one.chance >= 1.0, "one says nothing: {one:?}");
    }

    #[test]
    fn seeds_are_counted_as_two_coins_each() {
        let all = 2_f64.powi(20);
        for (seeds, more, right) in [
            (10, 10, 1.0 / all),
            (10, 9, 21.0 / all),
            (10, 0, 0.5 + 184_756.0 / all / 2.0),
            (10, 1, 0.5 - 184_756.0 / all / 2.0),
            (10, -1, 0.5 + 184_756.0 / all / 2.0 + 167_960.0 / all),
            (10, -10, 1.0),
            (5, 4, 11.0 / 1024.0),
            (1, 1, 0.25),
        ] {
            let ours = more_often(seeds, more);
            assert!((ours - right).abs() < 1e-12, "{more} of {seeds}: {ours}, not {right}");
        }
        assert!(more_often(3_000, 1_000) > 0.0, "nothing underflows");
    }

    /// The bound holds: a difference by chance is never found more often than it says, even if some seeds are more
    /// prone than others.
    #[test]
    fn what_is_alike_is_found_no_more_often_than_the_level() {
        let prone: [&[f64]; 4] = [&[0.5; 10], &[0.1; 10], &[0.9; 20], &[0.5, 0.0, 0.3, 1.0, 0.8]];
        for seeds in prone {
            // Distribution of the difference, seed by seed.
            let n = seeds.len();
            let mut at = vec![0.0; 2 * n + 1];
            at[n] = 1.0;
            for p in seeds {
                let apart = p * (1.0 - p);
                let old = at.clone();
                for (place, new) in at.iter_mut().enumerate() {
                    let beside = |step: isize| {
                        place.checked_add_signed(step).and_then(|k| old.get(k)).unwrap_or(&0.0)
                    };
                    *new = old[place] * (1.0 - 2.0 * apart) + (beside(-1) + beside(1)) * apart;
                }
            }
            for more in 1..=n {
                let really: f64 = at[n + more..].iter().sum();
                let said = more_often(n as u32, more as i32);
                assert!(really <= said * (1.0 + 1e-9), "{seeds:?}, {more}: {really} > {said}");
            }
        }
    }

    #[test]
    fn a_mean_at_the_margin_is_as_likely_as_not() {
        let at = Paired::of(&[0.04, 0.05, 0.06], 0.05).expect("differences");
        assert!((at.chance - 0.5).abs() < 1e-9, "{at:?}");
        let half = 4.303 * 0.01 / 3_f64.sqrt();
        assert!((at.high - at.mean - half).abs() < 1e-4, "{at:?}");
    }
}
