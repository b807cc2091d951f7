//! The mean of a few values with Student's t interval.

use super::interval::Interval;
use firstflight_trial::statistics::student::half_width;

/// The weighted mean of values with its 95 % interval, which is infinite with fewer than two
/// values.
pub(crate) fn student(values: &[(f64, f64)]) -> Interval {
    student_at(values, 0.95)
}

/// The weighted mean with an interval of coverage `level`.
pub(super) fn student_at(values: &[(f64, f64)], level: f64) -> Interval {
    let whole: f64 = values.iter().map(|(weight, _)| weight).sum();
    let share = |weight: f64| weight / whole.max(f64::MIN_POSITIVE);
    let value: f64 = values.iter().map(|(weight, value)| share(*weight) * value).sum();
    let degrees = values.len().saturating_sub(1);
    if degrees == 0 {
        return Interval { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
    }
    let squares: f64 =
        values.iter().map(|(weight, x)| (share(*weight) * (x - value)).powi(2)).sum();
    let variance = squares * (degrees + 1) as f64 / degrees as f64;
    let half = half_width(variance, degrees as f64, level);
    Interval { value, low: value - half, high: value + half }
}

#[cfg(test)]
mod tests {
    use super::student;

    #[test]
    fn an_interval_over_connections_is_students_and_one_connection_has_none() {
        let of = student(&[(1.0, 10.0), (1.0, 20.0), (1.0, 30.0)]);
        let half = 4.302_652_73 * 10.0 / 3_f64.sqrt();
        assert!((of.value - 20.0).abs() < 1e-9, "{of:?}");
        assert!((of.high - of.value - half).abs() < 1e-9, "{of:?} has ends {half} away");
        assert!(
            student(&[(1.0, 10.0)]).low.is_infinite(),
            "nothing is known beside one connection"
        );
        let weighted = student(&[(3.0, 10.0), (1.0, 20.0)]);
        assert!((weighted.value - 12.5).abs() < 1e-9, "connections count by their share");
    }
}
