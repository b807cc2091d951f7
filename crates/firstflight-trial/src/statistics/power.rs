//! The required duration of a test: the number of units until the interval that holds at every look
//! is as narrow as the effect to be detected.

use super::{sequence, student};

/// Sample size for an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Units of both arms until the sequence's half-width equals the effect.
    pub units: f64,
    /// The number of units for a 95 % interval at an end that was fixed in advance.
    pub units_fixed: f64,
}

/// The sample size for an effect on the logarithmic scale, if `units` units gave an estimate with
/// this `variance`. Variances fall as 1/units.
pub fn need(effect: f64, variance: f64, units: f64, tau: f64, alpha: f64) -> Need {
    let wanted = variance_of(effect, tau, alpha);
    let fixed = (effect / student::quantile(1.0 - alpha / 2.0, 1e6)).powi(2);
    Need { units: units * variance / wanted, units_fixed: units * variance / fixed }
}

/// The variance at which the sequence's half-width is `half`.
fn variance_of(half: f64, tau: f64, alpha: f64) -> f64 {
    // Half-widths grow with the variance; both bounds are far outside the range.
    let (mut low, mut high) = (1e-18_f64, 1e6_f64);
    for _ in 0..200 {
        let middle = libm::sqrt(low * high);
        if sequence::half_width(middle, tau, alpha) < half { low = middle } else { high = middle }
    }
    libm::sqrt(low * high)
}

#[cfg(test)]
mod tests {
    use super::need;
    use crate::statistics::sequence;

    #[test]
    fn with_what_is_needed_the_interval_is_the_effect() {
        let found = need(0.02, 0.04, 1_000.0, 0.05, 0.05);
        let variance = 0.04 * 1_000.0 / found.units;
        assert!((sequence::half_width(variance, 0.05, 0.05) - 0.02).abs() < 1e-9);
        let ratio = found.units / found.units_fixed;
        assert!((2.0..3.5).contains(&ratio), "{ratio} times the units of a fixed end");
        assert!(need(0.01, 0.04, 1_000.0, 0.05, 0.05).units > 3.0 * found.units);
    }
}
