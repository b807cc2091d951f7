//! The interval for the end of a test: Student's t.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value t below which the part `p` of the distribution with these degrees of freedom lies.
/// Infinite below one degree, where nothing is known.
pub fn quantile(p: f64, degrees: f64) -> f64 {
    let found = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| degrees >= 1.0);
    // The last digits depend on the machine's logarithm.
    found.map_or(f64::INFINITY, |t| (t.inverse_cdf(p) * 1e9).round() / 1e9)
}

/// Half-width of the interval with coverage `level`, e.g. 0.95.
pub fn half_width(variance: f64, degrees: f64, level: f64) -> f64 {
    quantile(0.5 + level / 2.0, degrees) * libm::sqrt(variance)
}

/// Two-sided p-value: the probability of a value at least as far from 0 if the true value is 0.
pub fn two_sided(value: f64, variance: f64, degrees: f64) -> f64 {
    if variance <= 0.0 {
        return if value == 0.0 { 1.0 } else { 0.0 };
    }
    tails(2.0, value.abs() / libm::sqrt(variance), degrees).unwrap_or(1.0)
}

/// One-sided p-value: the probability of a value above `t`; one half below one degree, where
/// nothing is known.
pub fn above(t: f64, degrees: f64) -> f64 {
    tails(1.0, t, degrees).unwrap_or(0.5)
}

/// The probability in `tails` tails beyond `t`.
fn tails(tails: f64, t: f64, degrees: f64) -> Option<f64> {
    let found = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| degrees >= 1.0)?;
    Some(((tails * found.sf(t)).min(1.0) * 1e12).round() / 1e12)
}

#[cfg(test)]
mod tests {
    use super::{above, half_width, quantile, two_sided};

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, t) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (10.0, 2.228),
            (30.0, 2.042),
            (120.0, 1.980),
            (1e6, 1.960),
        ] {
            let ours = quantile(0.975, degrees);
            assert!((ours - t).abs() < 5e-4, "t of {degrees} degrees is {t}, not {ours}");
        }
        for (degrees, two_sided, one_sided) in [
            (1.0, 12.706, 6.314),
            (2.0, 4.303, 2.920),
            (4.0, 2.776, 2.132),
            (9.0, 2.262, 1.833),
            (19.0, 2.093, 1.729),
            (30.0, 2.042, 1.697),
            (99.0, 1.984, 1.660),
        ] {
            for (p, table) in [(0.975, two_sided), (0.95, one_sided)] {
                let ours = quantile(p, degrees);
                assert!((ours - table).abs() < 6e-4, "{degrees} degrees: {ours}, not {table}");
            }
        }
        assert!(quantile(0.975, 0.5).is_infinite());
        assert!((half_width(4.0, 10.0, 0.95) - 2.0 * 2.228).abs() < 2e-3);
    }

    #[test]
    fn probabilities_belong_to_the_quantiles() {
        assert!((two_sided(2.228_139, 1.0, 10.0) - 0.05).abs() < 1e-6);
        assert!((two_sided(0.0, 1.0, 10.0) - 1.0).abs() < 1e-9);
        assert!(two_sided(1.0, 0.0, 10.0).abs() < 1e-9);
    }

    /// One and two degrees of freedom have tails in closed form (Abramowitz and Stegun 26.7.3 and
    /// 26.7.4).
    #[test]
    fn tails_of_one_and_two_degrees_are_what_can_be_written_down() {
        for t in [-30.0, -1.0, -0.01, 0.0, 0.3, 2.0, 12.706, 400.0] {
            let one = 0.5 - libm::atan(t) / std::f64::consts::PI;
            let two = 0.5 - t / libm::sqrt(2.0 + t * t) / 2.0;
            for (degrees, right) in [(1.0, one), (2.0, two)] {
                let ours = above(t, degrees);
                assert!((ours - right).abs() < 2e-12, "{t}, {degrees}: {ours}, not {right}");
            }
        }
        assert!((above(3.0, 0.0) - 0.5).abs() < f64::EPSILON, "nothing is known");
    }
}
