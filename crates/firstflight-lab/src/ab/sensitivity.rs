//! How far the effects of a test hang on what nobody measured.
//!
//! A population says which of its values were never measured and between which ends they may lie.
//! On one connection in [`super::Experiment::sensitivity_every`] all arms run again at both ends of
//! every such assumption, on the same draws; the sums are kept and joined like all others, so
//! shards and interruptions change nothing. The effects at the ends stand beside those of the same
//! connections as assumed.

use super::contrast::{LEAST_FLOWS, less, reduction, times};
use super::tally::{Cell, Mean};
use super::{Experiment, Tallies};
use crate::stats::{Interval, Z_95};
use serde::Serialize;

/// Less than this reduction of the mean completion time is no reason to change anything, percent.
pub const SMALLEST_TIME_PCT: f64 = 1.0;
/// Less difference in loss than this is no argument, percentage points.
pub const SMALLEST_LOSS_POINTS: f64 = 0.05;
/// An effect whose size differs by more than this factor between the ends hangs on the assumption.
pub const FACTOR: f64 = 2.0;

/// One assumption, and what the effects are at its ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// What nobody measured.
    pub value: String,
    /// The lower end.
    pub low: String,
    /// The upper end.
    pub high: String,
    /// Why this range.
    pub reference: String,
    /// One connection in so many ran at the ends.
    pub every: u64,
    /// Connections at each end.
    pub flows: u64,
    /// Every arm but the baseline.
    pub effects: Vec<Effect>,
}

/// An arm beside the baseline at the ends of an assumption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The arm.
    pub arm: String,
    /// Reduction of the mean completion time, percent.
    pub reduction_pct: Ends,
    /// Mean loss less the baseline's, percentage points.
    pub loss_points: Ends,
}

/// An effect at the ends of an assumption, and as assumed on the same connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ends {
    /// Smallest and largest of the effect on all connections as assumed, and of the same moved by
    /// what each end does to the connections that ran there.
    pub range: [f64; 2],
    /// At the lower end.
    pub low: Interval,
    /// As assumed, on the connections that ran at the ends.
    pub assumed: Interval,
    /// At the upper end.
    pub high: Interval,
    /// What hangs on the assumption.
    pub depends: Depends,
}

/// What of an effect hangs on an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Depends {
    /// Neither sign nor size.
    Nothing,
    /// Its size: by more than [`FACTOR`].
    Size,
    /// Its sign.
    Sign,
}

impl Depends {
    /// Of the same effect in several settings; what is smaller than `smallest` is none.
    fn new(values: [f64; 3], smallest: f64) -> Depends {
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        if low <= -smallest && high >= smallest {
            return Depends::Sign;
        }
        let sizes = values.map(f64::abs);
        let (least, most) = sizes
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
        if most >= smallest && most - least >= smallest && most > FACTOR * least {
            Depends::Size
        } else {
            Depends::Nothing
        }
    }
}

/// One effect in one cell.
type Read = fn(&Cell, usize) -> Interval;

fn time(cell: &Cell, arm: usize) -> Interval {
    reduction(times(cell, arm, 0, Mean::Ttlb, Z_95).interval)
}

fn loss(cell: &Cell, arm: usize) -> Interval {
    less(cell, arm, 0, Mean::Loss, Z_95).interval.map(|ppb| ppb / 1e7)
}

/// The sensitivities of a test; none of a population without assumptions, or with too few
/// connections at the ends.
pub(super) fn of(experiment: &Experiment, tallies: &Tallies) -> Vec<Sensitivity> {
    let Some((assumed, ends)) = tallies.settings.split_first() else { return Vec::new() };
    let all = tallies.all();
    let assumptions = experiment.assumptions.iter().zip(ends.chunks(2));
    let known = assumptions.filter_map(|(assumption, cells)| match cells {
        [low, high] if low.flows >= LEAST_FLOWS => Some((assumption, low, high)),
        _ => None,
    });
    known
        .map(|(assumption, low, high)| {
            let ends = |read: Read, arm: usize, smallest: f64| {
                let [whole, low, assumed, high] =
                    [&all, low, assumed, high].map(|cell| read(cell, arm));
                // The shift is that of the same connections; a part of them alone would bring its
                // chance along.
                let shifted = |end: Interval| whole.value + end.value - assumed.value;
                let values = [whole.value, shifted(low), shifted(high)];
                let range = [
                    values.iter().copied().fold(f64::INFINITY, f64::min),
                    values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ];
                Ends {
                    range,
                    low,
                    assumed,
                    high,
                    depends: Depends::new([low.value, assumed.value, high.value], smallest),
                }
            };
            Sensitivity {
                value: assumption.value.clone(),
                low: assumption.low.clone(),
                high: assumption.high.clone(),
                reference: assumption.reference.clone(),
                every: experiment.sensitivity_every,
                flows: low.flows,
                effects: (1..experiment.arms.len())
                    .map(|arm| Effect {
                        arm: experiment.arms[arm].clone(),
                        reduction_pct: ends(time, arm, SMALLEST_TIME_PCT),
                        loss_points: ends(loss, arm, SMALLEST_LOSS_POINTS),
                    })
                    .collect(),
            }
        })
        .collect()
}

impl Sensitivity {
    /// The effects of an arm.
    pub fn effect(&self, arm: &str) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.arm == arm)
    }

    /// An arm that is faster than `arm` at an end by more than the smallest effect; the baseline
    /// has a reduction of 0.
    pub fn overtaken(&self, arm: &str, baseline: &str) -> Option<String> {
        let at = |name: &str, read: fn(&Ends) -> f64| {
            self.effect(name).map_or(0.0, |effect| read(&effect.reduction_pct))
        };
        let ends: [fn(&Ends) -> f64; 2] = [|ends| ends.low.value, |ends| ends.high.value];
        let mut others = self
            .effects
            .iter()
            .map(|effect| effect.arm.as_str())
            .chain([baseline])
            .filter(|other| *other != arm);
        others
            .find(|other| {
                ends.iter().any(|end| at(other, *end) - at(arm, *end) >= SMALLEST_TIME_PCT)
            })
            .map(str::to_owned)
    }
}

impl Effect {
    /// `+0.1 to +1.2 points of loss and 17.2 to 24.9 % less time depending on buffers nobody
    /// measured`.
    pub fn sentence(&self, value: &str) -> String {
        let [least, most] = self.reduction_pct.range;
        let time = if most <= 0.0 {
            format!("{:.1} to {:.1} % more time", -most, -least)
        } else if least < 0.0 {
            format!("{:.1} % more to {most:.1} % less time", -least)
        } else {
            format!("{least:.1} to {most:.1} % less time")
        };
        let [low, high] = self.loss_points.range;
        if format!("{least:.1} {low:.2}") == format!("{most:.1} {high:.2}") {
            return format!("the same over the whole range of {value} that nobody measured");
        }
        let digits = if low.abs().max(high.abs()) >= 0.1 { 1 } else { 2 };
        format!(
            "{low:+.digits$} to {high:+.digits$} points of loss and {time} depending on {value} nobody measured"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Depends;

    #[test]
    fn what_hangs_on_an_assumption_is_told_by_sign_and_by_a_factor_of_two() {
        for (values, depends) in [
            ([1.2, 0.5, 0.15], Depends::Size),
            ([0.5, 0.45, 0.3], Depends::Nothing),
            ([0.5, -0.2, -0.3], Depends::Sign),
            ([-0.5, -0.4, -0.2], Depends::Size),
            // Less than the smallest effect has neither sign nor size.
            ([0.01, -0.04, 0.03], Depends::Nothing),
            ([0.06, 0.04, 0.02], Depends::Nothing),
            ([0.2, 0.0, -0.01], Depends::Size),
        ] {
            assert_eq!(Depends::new(values, 0.05), depends, "{values:?}");
        }
    }
}
