//! The Pareto front: arms that no other arm beats in one quantity without being worse in another.

/// Comparison of `a` with `b` in one quantity where less is better, as far as the sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versus {
    /// Significantly better.
    Better,
    /// Significantly worse.
    Worse,
    /// No significant difference.
    Even,
}

/// Whether each of `n` candidates is on the front: no other candidate beats it in one quantity
/// without being worse in another. `versus(a, b)` compares all quantities.
pub fn front<const K: usize>(n: usize, versus: impl Fn(usize, usize) -> [Versus; K]) -> Vec<bool> {
    let beats = |a: usize, b: usize| {
        let all = versus(a, b);
        all.contains(&Versus::Better) && !all.contains(&Versus::Worse)
    };
    (0..n).map(|b| !(0..n).any(|a| a != b && beats(a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worse_in_one_and_better_in_none_falls_out() {
        let points: [(i32, i32); 4] = [(10, 1), (8, 2), (9, 3), (5, 9)];
        let side = |a: i32, b: i32| match a.cmp(&b) {
            std::cmp::Ordering::Less => Versus::Better,
            std::cmp::Ordering::Greater => Versus::Worse,
            std::cmp::Ordering::Equal => Versus::Even,
        };
        let kept =
            front(4, |a, b| [side(points[a].0, points[b].0), side(points[a].1, points[b].1)]);
        assert_eq!(kept, [true, true, false, true]);
        assert_eq!(
            front(2, |_, _| [Versus::Even, Versus::Even]),
            [true, true],
            "what cannot be told apart both stays"
        );
    }
}
