//! Several arms on the same seeds: all pairwise differences, and the best arm.
//!
//! All intervals of a set hold simultaneously at 95 %: each covers `1 - 0.05 / pairs` by Student's
//! t (Bonferroni), which needs no assumption about the dependence of the pairs.

use super::interval::Interval;
use super::student::student_at;

/// Probability that at least one interval of a set misses.
const MISSES: f64 = 0.05;

/// Rank of an arm among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Better than every other arm.
    Best,
    /// Not distinguishable from the best.
    Near,
    /// Worse than the best.
    #[default]
    None,
}

/// Paired values of arms: one list per arm, with seeds in the same order in all lists.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    arms: &'a [Vec<f64>],
    level: f64,
}

impl Pairs<'_> {
    /// Pairs of these arms, which have equally many values.
    pub fn of(arms: &[Vec<f64>]) -> Pairs<'_> {
        Pairs { arms, level: 0.0 }.among(arms.len())
    }

    /// Treats the pairs as part of `count` arms, so that all intervals hold simultaneously.
    #[must_use]
    pub fn among(self, count: usize) -> Self {
        let pairs = count * count.saturating_sub(1) / 2;
        Pairs { level: 1.0 - MISSES / pairs.max(1) as f64, ..self }
    }

    /// The mean difference between the values of two arms, seed by seed.
    pub fn difference(&self, arm: usize, other: usize) -> Interval {
        let pairs = self.arms[arm].iter().zip(&self.arms[other]);
        let values: Vec<(f64, f64)> = pairs.map(|(a, b)| (1.0, a - b)).collect();
        student_at(&values, self.level)
    }

    /// The best of these arms, where less is better: the one with the smallest mean, if it is
    /// smaller than every other beyond its interval; otherwise all arms that cannot be
    /// distinguished from it.
    pub fn marks(&self, competing: &[bool]) -> Vec<Mark> {
        let mut marks = vec![Mark::None; self.arms.len()];
        let arms = || (0..self.arms.len()).filter(|arm| competing[*arm]);
        let mean = |arm: usize| self.arms[arm].iter().sum::<f64>();
        let Some(best) = arms().min_by(|a, b| mean(*a).total_cmp(&mean(*b))) else { return marks };
        let near = |arm: &usize| *arm != best && self.difference(*arm, best).low <= 0.0;
        let near: Vec<usize> = arms().filter(near).collect();
        // A single arm has no competitor.
        if near.is_empty() && arms().count() > 1 {
            marks[best] = Mark::Best;
        }
        if !near.is_empty() {
            near.into_iter().chain([best]).for_each(|arm| marks[arm] = Mark::Near);
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Pairs};

    #[test]
    fn a_pair_has_the_interval_of_student_and_several_have_wider_ones() {
        let two = [vec![10.0, 20.0, 30.0], vec![0.0, 0.0, 0.0]];
        let of = Pairs::of(&two).difference(0, 1);
        let half = 4.302_652_73 * 10.0 / 3_f64.sqrt();
        assert!((of.high - 20.0 - half).abs() < 1e-6, "{of:?} has ends {half} away");
        // Three pairs: t with two degrees of freedom at 1 - 0.05 / 6.
        let three = [two[0].clone(), two[1].clone(), two[1].clone()];
        let half = 7.648_803_94 * 10.0 / 3_f64.sqrt();
        let of = Pairs::of(&three).difference(0, 1);
        assert!((of.high - 20.0 - half).abs() < 1e-4, "{of:?} has ends {half} away");
        assert!(Pairs::of(&three).difference(1, 2).high.abs() < 1e-12, "alike on every seed");
    }

    #[test]
    fn only_one_that_is_better_than_all_gets_the_star() {
        let noise = [0.0, 0.3, -0.2, 0.1, -0.1, 0.2, -0.3, 0.0];
        let arm = |mean: f64, turn: usize| -> Vec<f64> {
            (0..8).map(|seed| mean + noise[(seed * turn + turn) % 8]).collect()
        };
        let all = [true; 3];
        let clear = [arm(5.0, 1), arm(1.0, 3), arm(4.0, 5)];
        assert_eq!(Pairs::of(&clear).marks(&all), [Mark::None, Mark::Best, Mark::None]);
        let close = [arm(5.0, 1), arm(1.0, 3), arm(1.05, 5)];
        assert_eq!(Pairs::of(&close).marks(&all), [Mark::None, Mark::Near, Mark::Near]);
        assert_eq!(
            Pairs::of(&clear).marks(&[true, false, true]),
            [Mark::None, Mark::None, Mark::Best],
            "who does not compete is no best"
        );
        assert_eq!(Pairs::of(&clear[..1]).marks(&all[..1]), [Mark::None]);
    }
}
