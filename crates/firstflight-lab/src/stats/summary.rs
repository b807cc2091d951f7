//! Simple statistics over repeated trials.

/// Median and extremes of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Median; the mean of the two middle values if their number is even.
    pub median: f64,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

impl Summary {
    /// Summary of these values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&low, &high) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Summary { median, low, high })
    }
}

/// Jain's fairness index: 1 if all shares are equal, 1/n if one has everything. `None` without a
/// positive value.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_1_for_equals_and_1_over_n_for_one_who_has_all() {
        for (shares, index) in
            [(&[2.0, 2.0, 2.0][..], 1.0), (&[1.0, 0.0, 0.0, 0.0], 0.25), (&[3.0, 1.0], 0.8)]
        {
            let ours = jain(shares).unwrap();
            assert!((ours - index).abs() < 1e-12, "{shares:?} has {ours}, not {index}");
        }
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn a_summary_is_median_and_extremes() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::of([3.0]), Some(Summary { median: 3.0, low: 3.0, high: 3.0 }));
        assert_eq!(
            Summary::of([4.0, 1.0, 2.0]),
            Some(Summary { median: 2.0, low: 1.0, high: 4.0 })
        );
        assert_eq!(
            Summary::of([4.0, 1.0, 2.0, 3.0]),
            Some(Summary { median: 2.5, low: 1.0, high: 4.0 })
        );
    }
}
