//! Multiple tests: Holm's step-down procedure keeps the probability of any false claim in the whole
//! table below 5 %.

/// Whether each of these p-values is significant when all are tested together at `level`. NaN never
/// is.
pub fn holm(probabilities: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    let key = |index: usize| {
        if probabilities[index].is_nan() { f64::INFINITY } else { probabilities[index] }
    };
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    let mut stands = vec![false; probabilities.len()];
    for (rank, index) in order.into_iter().enumerate() {
        // The first failure ends the procedure: all larger p-values fail too.
        if key(index) > level / (probabilities.len() - rank) as f64 {
            break;
        }
        stands[index] = true;
    }
    stands
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn the_first_that_fails_ends_it() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(holm(&[0.001, 0.02, 0.04], 0.05), [true, true, true]);
        assert_eq!(holm(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }
}
