//! The best arm at each point, and its margin.

use super::Sweep;
use crate::compare::Comparison;
use crate::repeat::{SAME, logs};
use crate::stats::Summary;
use crate::stats::pairs::{Mark, Pairs};
use crate::trial::TrialRow;

/// Converts the values of each arm to another scale.
type Scale = fn(&[Vec<f64>]) -> Vec<Vec<f64>>;

/// A measure by which arms are compared; less is better.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// Key of the measure in JSON and CSV.
    pub key: &'static str,
    /// Display name.
    pub label: &'static str,
    /// Unit of the value as it is shown.
    pub unit: &'static str,
    /// Unit of a margin: `%` of the other arm's value, or `points`.
    pub margin_unit: &'static str,
    /// Margins at which a difference starts to be small, noticeable, large and very large.
    pub steps: [f64; 4],
    /// Two single trials whose margin is smaller than this are equal.
    same: f64,
    /// The value of a trial that ended within this limit, ms, or was stopped by it.
    read: fn(&TrialRow, limit: f64) -> Option<f64>,
    margin: fn(best: f64, other: f64) -> f64,
    /// The scale on which repeated trials are compared.
    scale: Scale,
    /// The margin for a mean difference on that scale.
    repeated: fn(f64) -> f64,
}

/// Completion time and loss.
pub const JUDGED: [Judged; 2] = [
    Judged {
        key: "ttlb_ms",
        label: "completion time",
        unit: "ms",
        margin_unit: "%",
        steps: [1.0, 5.0, 10.0, 25.0],
        same: SAME,
        read: |trial, limit| Some(trial.ttlb_ms.unwrap_or(limit)),
        margin: |best, other| 100.0 * (1.0 - best / other),
        scale: logs,
        repeated: |difference| 100.0 * (1.0 - libm::exp(-difference)),
    },
    Judged {
        key: "loss_ratio",
        label: "loss",
        unit: "%",
        margin_unit: "points",
        steps: [0.5, 1.0, 5.0, 10.0],
        same: 0.05,
        read: |trial, _| trial.loss_ratio.map(|ratio| 100.0 * ratio),
        margin: |best, other| other - best,
        scale: <[Vec<f64>]>::to_vec,
        repeated: |difference| difference,
    },
];

/// An arm and its value.
type Valued = (usize, f64);

/// Best arms at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The arms with the smallest value, or a value equal to it, in the order of the arms.
    pub arms: Vec<usize>,
    /// Margin over the best of the other arms; `None` without other arms.
    pub margin: Option<f64>,
}

impl Judged {
    /// The values of an arm in its trials; `None` if one of them has no value.
    fn values(&self, comparison: &Comparison, arm: usize) -> Option<Vec<f64>> {
        let limit = comparison.plan.scenario.limit.0 as f64 / 1e6;
        comparison.trials(arm).iter().map(|trial| (self.read)(trial, limit)).collect()
    }

    /// Median and extremes of an arm over its trials; `None` if one of them has no value.
    pub fn value(&self, comparison: &Comparison, arm: usize) -> Option<Summary> {
        Summary::of(self.values(comparison, arm)?)
    }

    /// The best arms. Arms that know what no sender can know (`oracle`) are left out, because they
    /// are bounds for the others. Arms with unfinished trials are never the best; their times count
    /// with the limit, and their other values do not count. `None` if the values of at most one of
    /// several arms count.
    fn best(&self, comparison: &Comparison) -> Option<Best> {
        let finished = |index| comparison.trials(index).iter().all(|trial| trial.complete);
        let arms = comparison.plan.arms.iter().enumerate();
        let candidates: Vec<usize> =
            arms.filter(|(_, arm)| !arm.is_reference()).map(|(index, _)| index).collect();
        let is_time = self.key == JUDGED[0].key;
        let values: Vec<(usize, Vec<f64>)> = candidates
            .iter()
            .filter(|index| is_time || finished(**index))
            .filter_map(|index| Some((*index, self.values(comparison, *index)?)))
            .collect();
        let competes: Vec<bool> = values.iter().map(|(index, _)| finished(*index)).collect();
        if !competes.contains(&true) || values.len() < candidates.len().min(2) {
            return None;
        }
        if comparison.plan.repeat > 1 {
            return self.best_of_repeats(comparison.plan.arms.len(), values, &competes);
        }
        let values: Vec<Valued> =
            values.iter().map(|(index, values)| (*index, values[0])).collect();
        self.of(&values, &competes)
    }

    /// The best arm over several trials, and the arms that cannot be distinguished from it.
    fn best_of_repeats(
        &self,
        arms: usize,
        of: Vec<(usize, Vec<f64>)>,
        competes: &[bool],
    ) -> Option<Best> {
        let (places, values): (Vec<usize>, Vec<Vec<f64>>) = of.into_iter().unzip();
        let values = (self.scale)(&values);
        let pairs = Pairs::of(&values).among(arms);
        let marks = pairs.marks(competes);
        let alone = competes.iter().filter(|competes| **competes).count() == 1;
        let is_best = |arm: &usize| competes[*arm] && (alone || marks[*arm] != Mark::None);
        let (best, others): (Vec<usize>, Vec<usize>) = (0..marks.len()).partition(is_best);
        let first = *best.first()?;
        let mean = |arm: usize| pairs.difference(arm, first).value;
        let least = |arms: &[usize]| arms.iter().map(|arm| mean(*arm)).min_by(f64::total_cmp);
        let margin = least(&others)
            .zip(least(&best))
            .map(|(other, best)| (self.repeated)((other - best).max(0.0)));
        Some(Best { arms: best.into_iter().map(|arm| places[arm]).collect(), margin })
    }

    /// The best of single values; only arms that compete can be the best.
    fn of(&self, values: &[Valued], competes: &[bool]) -> Option<Best> {
        let all = || values.iter().zip(competes);
        let best = all().filter(|(_, competes)| **competes).map(|((_, value), _)| *value);
        let best = best.min_by(f64::total_cmp)?;
        // Avoids a division by zero if both values are 0.
        let margin = |other: f64| if other > best { (self.margin)(best, other) } else { 0.0 };
        let is_best =
            |(value, competes): &(&Valued, &bool)| **competes && margin(value.1) < self.same;
        let (same, others): (Vec<_>, Vec<_>) = all().partition(is_best);
        let margin = others.iter().map(|(value, _)| margin(value.1)).min_by(f64::total_cmp);
        Some(Best { arms: same.into_iter().map(|(value, _)| value.0).collect(), margin })
    }

    /// Size of a margin, from 0 (negligible) to 4.
    pub fn level(&self, margin: f64) -> usize {
        self.steps.iter().filter(|step| margin >= **step).count()
    }
}

impl Sweep {
    /// The best arms at each point by this measure; `None` where unknown.
    pub fn best(&self, judged: &Judged) -> Vec<Option<Best>> {
        let of = |point: &Option<Comparison>| judged.best(point.as_ref()?);
        self.points.iter().map(of).collect()
    }

    /// Finding of the sweep, one sentence per measure.
    pub fn finding(&self) -> String {
        let arms: Vec<&str> = self.arms().collect();
        let of_arms = self.plan.points.first().map_or(&[][..], |point| &point.arms);
        if of_arms.iter().filter(|arm| !arm.is_reference()).count() < 2 {
            return self.alone();
        }
        let lines = JUDGED.iter().filter_map(|judged| told(judged, &arms, &self.best(judged)));
        lines.collect::<Vec<_>>().join(" ")
    }

    /// The times of the first arm, if it has no other to compete with.
    fn alone(&self) -> String {
        let points = self.points.iter().flatten();
        let times = points.filter_map(|point| Some(JUDGED[0].value(point, 0)?.median));
        let times = Summary::of(times).map(|all| [all.low, all.high].map(|ms| format!("{ms:.1}")));
        match (self.arms().next(), times) {
            (Some(arm), Some([low, high])) if low == high => format!("{arm} takes {low} ms."),
            (Some(arm), Some([low, high])) => format!("{arm} takes {low} to {high} ms."),
            _ => String::new(),
        }
    }
}

/// The number of points at which each arm is best, and its margins, as a sentence.
fn told(judged: &Judged, arms: &[&str], best: &[Option<Best>]) -> Option<String> {
    let known: Vec<&Best> = best.iter().flatten().collect();
    let points = best.len();
    let unknown = points - known.len();
    let decided: Vec<&Best> = known.into_iter().filter(|best| best.margin.is_some()).collect();
    if unknown == points {
        return None;
    }
    let label = capital(judged.label);
    let unknown = match unknown {
        0 => String::new(),
        some => format!("; unknown at {some}"),
    };
    let same = best.iter().flatten().count() - decided.len();
    if decided.is_empty() {
        let share = if same == points { "all".to_owned() } else { format!("{same} of") };
        return Some(format!(
            "{label}: the same for all arms at {share} {points} points{unknown}."
        ));
    }
    let mut counts: Vec<(usize, usize)> = (0..arms.len())
        .map(|arm| (arm, decided.iter().filter(|best| best.arms.contains(&arm)).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let (first, count) = counts[0];
    let margins =
        decided.iter().filter(|best| best.arms.contains(&first)).filter_map(|best| best.margin);
    let margin = Summary::of(margins).map_or(String::new(), |summary| {
        let Summary { median, low, high } = summary;
        let unit = judged.margin_unit;
        if (high - low).abs() < 0.05 {
            format!(", by {median:.1} {unit}")
        } else {
            format!(", by {low:.1} to {high:.1} {unit} (median {median:.1})")
        }
    });
    let others: Vec<String> = counts[1..]
        .iter()
        .take(2)
        .map(|(arm, count)| format!("{} at {count}", arms[*arm]))
        .collect();
    let others =
        if others.is_empty() { others.concat() } else { format!("; {}", others.join(", ")) };
    let same = if same > 0 { format!("; the same for all arms at {same}") } else { String::new() };
    let arm = arms[first];
    Some(format!(
        "{label}: {arm} is best at {count} of {points} points{margin}{others}{same}{unknown}."
    ))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::{Best, JUDGED, Valued, told};

    const TIME: usize = 0;
    const LOSS: usize = 1;

    #[test]
    fn the_best_are_all_that_are_equal_to_it() {
        /// Measure, values of the arms, the best arms and their margin.
        type Case<'a> = (usize, &'a [f64], &'a [usize], Option<f64>);
        let rows: &[Case<'_>] = &[
            (TIME, &[1000.0, 900.0, 950.0], &[1], Some(100.0 * (1.0 - 900.0 / 950.0))),
            (TIME, &[900.0, 901.0, 1000.0], &[0, 1], Some(10.0)),
            (TIME, &[900.0, 901.0], &[0, 1], None),
            (LOSS, &[0.0, 0.0, 9.0], &[0, 1], Some(9.0)),
            (LOSS, &[0.0, 0.0], &[0, 1], None),
        ];
        for (judged, values, arms, margin) in rows {
            let values: Vec<Valued> = values.iter().copied().enumerate().collect();
            let best = JUDGED[*judged].of(&values, &[true; 3][..values.len()]).expect("values");
            assert_eq!(best.arms, *arms, "{values:?}");
            match (best.margin, margin) {
                (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() < 1e-9, "{values:?}"),
                (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{values:?}"),
            }
        }
        assert_eq!(JUDGED[TIME].of(&[], &[]), None);
        // An unfinished arm counts with the limit and is not the best, even at the limit.
        let at_limit =
            JUDGED[TIME].of(&[(0, 1500.0), (1, 1200.0)], &[false, true]).expect("values");
        assert_eq!(at_limit.arms, [1]);
        assert!((at_limit.margin.expect("another arm") - 20.0).abs() < 1e-9, "{at_limit:?}");
        let tie = JUDGED[TIME].of(&[(0, 1500.0), (1, 1500.0)], &[false, true]).expect("values");
        assert_eq!((tie.arms, tie.margin), (vec![1], Some(0.0)));
        assert_eq!(JUDGED[TIME].of(&[(0, 1500.0)], &[false]), None);
    }

    #[test]
    fn a_sweep_is_told_in_a_sentence_for_each_measure() {
        let best = |arms: &[usize], margin| Some(Best { arms: arms.to_vec(), margin });
        let all = [best(&[1], Some(10.0)), best(&[1], Some(20.0)), best(&[0], Some(1.0)), None];
        assert_eq!(
            told(&JUDGED[TIME], &["a", "b"], &all).as_deref(),
            Some(
                "Completion time: b is best at 2 of 4 points, by 10.0 to 20.0 % (median 15.0); a at 1; unknown at 1."
            )
        );
        let all = [best(&[0, 1], None), best(&[0], Some(2.0))];
        assert_eq!(
            told(&JUDGED[LOSS], &["a", "b"], &all).as_deref(),
            Some("Loss: a is best at 1 of 2 points, by 2.0 points; the same for all arms at 1.")
        );
        assert_eq!(
            told(&JUDGED[LOSS], &["a", "b"], &all[..1]).as_deref(),
            Some("Loss: the same for all arms at all 1 points.")
        );
        assert_eq!(
            told(&JUDGED[LOSS], &["a", "b"], &[best(&[0, 1], None), None]).as_deref(),
            Some("Loss: the same for all arms at 1 of 2 points; unknown at 1.")
        );
        assert_eq!(told(&JUDGED[LOSS], &["a"], &[None]), None);
    }
}
