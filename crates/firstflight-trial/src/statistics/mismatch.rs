//! Sample-ratio mismatch: checks that the arms got the planned numbers of units. If not, rows were
//! lost or arms changed which clients arrive, and no effect is meaningful (Fabijan et al., KDD
//! 2019).
//!
//! Units are counted, never rows, which a client with many connections would distort. A chi-square
//! test repeated at every look does not keep its level; the Bayes factor of a Dirichlet alternative
//! around the plan is valid at any time (Lindon, Malek 2022).

/// Concentration of the alternative around the plan; a larger value detects smaller deviations.
const CONCENTRATION: f64 = 100.0;
/// Bayes factor above which a verdict is withheld.
pub const LIMIT: f64 = 1000.0;

/// The natural logarithm of the Bayes factor against the planned shares, which are positive and add
/// up to 1. With correct shares, the probability that it ever exceeds [`LIMIT`] is below one in a
/// thousand.
pub fn ln_bayes_factor(units: &[u64], shares: &[f64]) -> f64 {
    let n: u64 = units.iter().sum();
    let k = CONCENTRATION;
    let each = units.iter().zip(shares).filter(|(_, share)| **share > 0.0).map(|(units, share)| {
        let units = *units as f64;
        libm::lgamma(k * share + units) - libm::lgamma(k * share) - units * libm::log(*share)
    });
    libm::lgamma(k) - libm::lgamma(k + n as f64) + each.sum::<f64>()
}

/// Whether the arms' units deviate from the plan.
pub fn is_mismatch(units: &[u64], shares: &[f64]) -> bool {
    ln_bayes_factor(units, shares) > libm::log(LIMIT)
}

#[cfg(test)]
mod tests {
    use super::{is_mismatch, ln_bayes_factor};
    use proptest::prelude::*;

    #[test]
    fn a_tenth_of_an_arm_that_is_missing_is_found() {
        // Detected after about 6 000 units with equal arms, or 24 000 with an arm of 10 %.
        assert!(is_mismatch(&[3_500, 3_150], &[0.5, 0.5]));
        assert!(!is_mismatch(&[1_000, 900], &[0.5, 0.5]));
        assert!(is_mismatch(&[25_200, 2_520], &[0.9, 0.1]));
        assert!(!is_mismatch(&[9_000, 905], &[0.9, 0.1]));
    }

    #[test]
    fn nothing_seen_says_nothing() {
        assert!(ln_bayes_factor(&[0, 0, 0], &[0.5, 0.25, 0.25]).abs() < 1e-9);
    }

    #[test]
    fn of_two_arms_it_is_the_beta_binomial() {
        // K = 100 and equal shares: B(50 + 1, 50) / B(50, 50) / (1/2) = 1 for a single unit.
        assert!(ln_bayes_factor(&[1, 0], &[0.5, 0.5]).abs() < 1e-9);
        // Two units in the same arm: 2 * (50 * 51) / (100 * 101) * 2 = 1.0099.
        let two = ln_bayes_factor(&[2, 0], &[0.5, 0.5]).exp();
        assert!((two - 4.0 * 50.0 * 51.0 / (100.0 * 101.0)).abs() < 1e-9, "{two}");
    }

    proptest! {
        #[test]
        fn exact_shares_speak_for_the_plan(n in 10_u64..1_000_000, arms in 2_usize..6) {
            let shares = vec![1.0 / arms as f64; arms];
            prop_assert!(ln_bayes_factor(&vec![n; arms], &shares) < 0.0);
        }
    }
}
