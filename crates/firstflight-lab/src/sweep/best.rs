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
    /// are bounds for the others, and so are arms with unfinished trials.
    fn best(&self, comparison: &Comparison) -> Option<Best> {
        let arms = comparison.plan.arms.iter().enumerate();
        let competes = |index| comparison.trials(index).iter().all(|trial| trial.complete);
        let competing: Vec<(usize, Vec<f64>)> = arms
            .filter(|(index, arm)| !arm.is_reference() && competes(*index))
            .filter_map(|(index, _)| Some((index, self.values(comparison, index)?)))
            .collect();
        if comparison.plan.repeat > 1 {
            return self.best_of_repeats(comparison.plan.arms.len(), competing);
        }
        let values: Vec<Valued> =
            competing.iter().map(|(index, values)| (*index, values[0])).collect();
        self.of(&values)
    }

    /// The best arm over several trials, and the arms that cannot be distinguished from it.
    fn best_of_repeats(&self, arms: usize, competing: Vec<(usize, Vec<f64>)>) -> Option<Best> {
        let (places, values): (Vec<usize>, Vec<Vec<f64>>) = competing.into_iter().unzip();
        let values = (self.scale)(&values);
        let pairs = Pairs::of(&values).among(arms);
        let marks = pairs.marks(&vec![true; values.len()]);
        let (others, best): (Vec<usize>, Vec<usize>) =
            (0..marks.len()).partition(|arm| marks[*arm] == Mark::None);
        let Some(&first) = best.first() else {
            // There is at most one arm.
            return places.first().map(|only| Best { arms: vec![*only], margin: None });
        };
        let mean = |arm: usize| pairs.difference(arm, first).value;
        let least = |arms: &[usize]| arms.iter().map(|arm| mean(*arm)).min_by(f64::total_cmp);
        let margin =
            least(&others).zip(least(&best)).map(|(other, best)| (self.repeated)(other - best));
        Some(Best { arms: best.into_iter().map(|arm| places[arm]).collect(), margin })
    }

    fn of(&self, values: &[Valued]) -> Option<Best> {
        let best = values.iter().map(|(_, value)| *value).min_by(f64::total_cmp)?;
        // Avoids a division by zero if both values are 0.
        let margin = |other: f64| if other > best { (self.margin)(best, other) } else { 0.0 };
        let (same, others): (Vec<Valued>, Vec<Valued>) =
            values.iter().partition(|(_, value)| margin(*value) < self.same);
        let margin = others.iter().map(|(_, value)| margin(*value)).min_by(f64::total_cmp);
        Some(Best { arms: same.into_iter().map(|(arm, _)| arm).collect(), margin })
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
        let lines = JUDGED.iter().filter_map(|judged| told(judged, &arms, &self.best(judged)));
        lines.collect::<Vec<_>>().join(" ")
    }
}

/// The number of points at which each arm is best, and its margins, as a sentence.
fn told(judged: &Judged, arms: &[&str], best: &[Option<Best>]) -> Option<String> {
    let known: Vec<&Best> = best.iter().flatten().collect();
    let points = known.len();
    let decided: Vec<&Best> = known.into_iter().filter(|best| best.margin.is_some()).collect();
    if points == 0 {
        return None;
    }
    let label = capital(judged.label);
    if decided.is_empty() {
        return Some(format!("{label}: the same for all arms at all {points} points."));
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
    let same = points - decided.len();
    let same = if same > 0 { format!("; the same for all arms at {same}") } else { String::new() };
    let arm = arms[first];
    Some(format!("{label}: {arm} is best at {count} of {points} points{margin}{others}{same}."))
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
            let best = JUDGED[*judged].of(&values).expect("values");
            assert_eq!(best.arms, *arms, "{values:?}");
            match (best.margin, margin) {
                (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() < 1e-9, "{values:?}"),
                (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{values:?}"),
            }
        }
        assert_eq!(JUDGED[TIME].of(&[]), None);
    }

    #[test]
    fn a_sweep_is_told_in_a_sentence_for_each_measure() {
        let best = |arms: &[usize], margin| Some(Best { arms: arms.to_vec(), margin });
        let all = [best(&[1], Some(10.0)), best(&[1], Some(20.0)), best(&[0], Some(1.0)), None];
        assert_eq!(
            told(&JUDGED[TIME], &["a", "b"], &all).as_deref(),
            Some(
                "Completion time: b is best at 2 of 3 points, by 10.0 to 20.0 % (median 15.0); a at 1."
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
        assert_eq!(told(&JUDGED[LOSS], &["a"], &[None]), None);
    }
}
