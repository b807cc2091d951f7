//! Comparison of a candidate with the default on the same connections.
//!
//! The default costs 0, less is better, the unit is one percent of time. A candidate that breaks a
//! limit costs more than any that keeps it.

use crate::decision::{LOSS_POINTS, Limits, Sample};
use crate::stats::Interval;
use firstflight_trial::statistics::student::half_width;
use std::fmt;
use std::str::FromStr;

/// Groups of connections; the spread of the results without one of them gives the accuracy.
const GROUPS: usize = 20;
/// Added to the cost of a candidate that breaks a limit, per limit by which it is exceeded.
const BROKEN: f64 = 1_000.0;
/// Share of a limit that a candidate may use: the interval of the hold-out must fit below the rest.
const USABLE: f64 = 0.75;
/// Smallest queueing delay that counts, ms, and as a share of the default's, as in a decision.
const QUEUE_MS: f64 = 5.0;
const QUEUE_SHARE: f64 = 0.2;
/// Share of connections that may be over 5 % slower, percent, as in a decision.
const SLOWER_PCT: f64 = 5.0;

/// The objective, which is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Objective {
    /// Completion time: geometric mean of the ratios to the default's.
    #[default]
    Time,
    /// The 95th percentile of completion time.
    P95,
    /// Completion time, with a price per percentage point of loss, in percent of time.
    TimeAndLoss(f64),
}

impl Objective {
    /// Unit of the gains, in words.
    pub fn unit(self) -> &'static str {
        match self {
            Objective::Time => "% of time",
            Objective::P95 => "% of the 95th percentile of time",
            Objective::TimeAndLoss(_) => "% of time, less the price of loss",
        }
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let weight = text.strip_prefix("time+loss:").map(str::parse::<f64>);
        match (text, weight) {
            ("time", _) => Ok(Objective::Time),
            ("p95", _) => Ok(Objective::P95),
            (_, Some(Ok(weight))) if (0.0..=1_000.0).contains(&weight) => {
                Ok(Objective::TimeAndLoss(weight))
            }
            _ => Err("is not an objective; allowed: time, p95, or time+loss:W, where W from 0 to 1000 is the time in % that a point of loss costs".into()),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objective::Time => f.write_str("time"),
            Objective::P95 => f.write_str("p95"),
            Objective::TimeAndLoss(weight) => write!(f, "time+loss:{weight}"),
        }
    }
}

/// A candidate against the default on the same connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// The objective, which is minimised, with the penalty.
    pub(super) cost: f64,
    /// True if the candidate stays within the limits.
    pub(super) allowed: bool,
    /// Logarithm of the geometric mean of the time ratios, percent.
    pub(super) log_pct: f64,
    /// More loss, percentage points.
    pub(super) loss_points: f64,
}

/// Judges candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judge {
    pub(super) objective: Objective,
    pub(super) limits: Limits,
}

impl Judge {
    /// Compares the first connections of both, without those of group `without`.
    pub(super) fn of(&self, base: &[Sample], arm: &[Sample], without: Option<usize>) -> Measured {
        let kept = |index: &usize| without != Some(index % GROUPS);
        let of = || (0..arm.len().min(base.len())).filter(kept).map(|i| (&base[i], &arm[i]));
        let (mut n, mut log, mut loss, mut queue, mut queued, mut slower) =
            (0_u64, 0.0, 0_i64, 0_i64, 0_u64, 0_u64);
        for (base, arm) in of() {
            n += 1;
            if arm.ttlb_ns != base.ttlb_ns {
                log += libm::log(arm.ttlb_ns.max(1) as f64 / base.ttlb_ns.max(1) as f64);
            }
            loss += arm.loss_ppb as i64 - base.loss_ppb as i64;
            queue += arm.queue_p99_us as i64 - base.queue_p99_us as i64;
            queued += base.queue_p99_us;
            slower += u64::from(u128::from(arm.ttlb_ns) * 20 > u128::from(base.ttlb_ns) * 21);
        }
        let count = n.max(1) as f64;
        let log_pct = 100.0 * log / count;
        let loss_points = loss as f64 / count / 1e7;
        let queue_ms = queue as f64 / count / 1e3;
        let margin = QUEUE_MS.max(QUEUE_SHARE * queued as f64 / count / 1e3);
        let Limits { loss_points: most_loss, queue_ms: most_queue, slower_pct } = self.limits;
        // With a price of loss no limit is needed.
        let free = matches!(self.objective, Objective::TimeAndLoss(_));
        let most_loss = most_loss.or((!free).then_some(LOSS_POINTS));
        let most_queue = most_queue.or((!free).then_some(margin));
        let over = |value: f64, most: f64| {
            let most = USABLE * most;
            if value > most { (value - most) / most.max(0.01) } else { 0.0 }
        };
        let mut excess = over(100.0 * slower as f64 / count, slower_pct.unwrap_or(SLOWER_PCT));
        excess += most_loss.map_or(0.0, |most| over(loss_points, most));
        excess += most_queue.map_or(0.0, |most| over(queue_ms, most));
        let value = match self.objective {
            Objective::Time => log_pct,
            Objective::TimeAndLoss(weight) => log_pct + weight * loss_points,
            Objective::P95 => {
                let times = |read: fn((&Sample, &Sample)) -> u64| p95(of().map(read).collect());
                let (base, arm) = (times(|(base, _)| base.ttlb_ns), times(|(_, arm)| arm.ttlb_ns));
                100.0 * libm::log(arm.max(1) as f64 / base.max(1) as f64)
            }
        };
        let allowed = excess <= 0.0;
        let cost = if allowed { value } else { value + BROKEN * (1.0 + excess) };
        Measured { cost, allowed, log_pct, loss_points }
    }

    /// The difference of what is minimised between two candidates, without penalties: `arm` minus
    /// `than`, with an interval of coverage `level` from the groups of connections (jackknife).
    pub(super) fn more(
        &self,
        base: &[Sample],
        arm: &[Sample],
        than: &[Sample],
        level: f64,
    ) -> Interval {
        let free = Judge {
            limits: Limits {
                loss_points: Some(f64::INFINITY),
                queue_ms: Some(f64::INFINITY),
                slower_pct: Some(f64::INFINITY),
            },
            ..*self
        };
        let of = |group| free.of(base, arm, group).cost - free.of(base, than, group).cost;
        let value = of(None);
        let without: Vec<f64> = (0..GROUPS).map(|group| of(Some(group))).collect();
        let n = GROUPS as f64;
        let mean = without.iter().sum::<f64>() / n;
        let squares: f64 = without.iter().map(|x| (x - mean).powi(2)).sum();
        let half = half_width(squares * (n - 1.0) / n, n - 1.0, level);
        Interval { value, low: value - half, high: value + half }
    }

    /// Saved time in percent, or in the unit of the objective, from a cost without a penalty.
    pub(super) fn gain(&self, cost: f64) -> f64 {
        match self.objective {
            // Avoids -0.
            Objective::TimeAndLoss(_) => 0.0 - cost,
            Objective::Time | Objective::P95 => saved(cost),
        }
    }
}

/// Time saved, percent, from the logarithm of a ratio in percent.
pub(super) fn saved(log_pct: f64) -> f64 {
    (1.0 - libm::exp(log_pct / 100.0)) * 100.0 + 0.0
}

/// The 95th percentile: the smallest value that at least 95 % do not exceed.
fn p95(mut values: Vec<u64>) -> u64 {
    let at = (values.len() * 95).div_ceil(100).saturating_sub(1);
    if values.is_empty() { 0 } else { *values.select_nth_unstable(at).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const NO_LIMITS: Limits = Limits { loss_points: None, queue_ms: None, slower_pct: None };

    fn judge(objective: Objective) -> Judge {
        Judge { objective, limits: NO_LIMITS }
    }

    /// Connections of 100 ms, 101 ms, ... without loss or queueing.
    fn base(count: u64) -> Vec<Sample> {
        (0..count)
            .map(|k| Sample { ttlb_ns: (100 + k) * MS, loss_ppb: 0, queue_p99_us: 0 })
            .collect()
    }

    fn changed(base: &[Sample], change: impl Fn(usize, &mut Sample)) -> Vec<Sample> {
        let mut arm = base.to_vec();
        arm.iter_mut().enumerate().for_each(|(index, sample)| change(index, sample));
        arm
    }

    #[test]
    fn the_default_costs_nothing() {
        let base = base(200);
        for objective in [Objective::Time, Objective::P95, Objective::TimeAndLoss(3.0)] {
            let of = judge(objective).of(&base, &base, None);
            let expected = Measured { cost: 0.0, allowed: true, log_pct: 0.0, loss_points: 0.0 };
            assert_eq!(of, expected, "{objective}");
            assert!(judge(objective).gain(of.cost).abs() < 1e-12, "{objective}");
        }
    }

    #[test]
    fn a_tenth_less_time_on_every_connection_is_a_gain_of_ten_percent() {
        let base = base(200);
        let arm = changed(&base, |_, sample| sample.ttlb_ns = sample.ttlb_ns * 9 / 10);
        for objective in [Objective::Time, Objective::P95] {
            let of = judge(objective).of(&base, &arm, None);
            let gain = judge(objective).gain(of.cost);
            assert!(of.allowed && (gain - 10.0).abs() < 1e-9, "{objective}: {gain} %");
        }
        let dear = judge(Objective::TimeAndLoss(2.0));
        let arm = changed(&arm, |_, sample| sample.loss_ppb = 5 * 10_000_000);
        let of = dear.of(&base, &arm, None);
        assert!((of.loss_points - 5.0).abs() < 1e-12, "{} points", of.loss_points);
        let expected = 100.0 * libm::log(0.9) + 10.0;
        assert!((of.cost - expected).abs() < 1e-9, "{} for five points at 2 %", of.cost);
    }

    #[test]
    fn a_candidate_that_breaks_a_limit_costs_more_than_any_that_keeps_it() {
        let base = base(200);
        let judge = judge(Objective::Time);
        let slow = changed(&base, |index, sample| {
            // Within the share of slower connections, and far slower.
            if index < 7 {
                sample.ttlb_ns *= 1_000;
            }
        });
        let keeps = judge.of(&base, &slow, None);
        assert!(keeps.allowed, "7 of 200 connections are slower: {keeps:?}");
        let lossy = |points: f64| {
            changed(&base, |_, sample| {
                sample.ttlb_ns /= 10;
                sample.loss_ppb = (points * 1e7) as u64;
            })
        };
        let usable = USABLE * LOSS_POINTS;
        assert!(judge.of(&base, &lossy(usable), None).allowed, "{usable} points are within");
        let costs = [1.1, 2.0, 4.0].map(|times| {
            let of = judge.of(&base, &lossy(times * usable), None);
            assert!(!of.allowed, "{times} times what may be used");
            of.cost
        });
        assert!(keeps.cost < costs[0] && costs.is_sorted(), "{} and {costs:?}", keeps.cost);
    }

    #[test]
    fn each_limit_can_be_moved() {
        let base = base(200);
        let limits = |limits: Limits| Judge { objective: Objective::Time, limits };
        let delayed = changed(&base, |_, sample| sample.queue_p99_us = 10_000);
        assert!(!limits(NO_LIMITS).of(&base, &delayed, None).allowed, "10 ms, 5 ms are allowed");
        let wide = Limits { queue_ms: Some(20.0), ..NO_LIMITS };
        assert!(limits(wide).of(&base, &delayed, None).allowed, "10 ms, 20 ms are allowed");
        let slower = changed(&base, |index, sample| {
            if index % 10 == 0 {
                sample.ttlb_ns = sample.ttlb_ns * 3 / 2;
            }
        });
        assert!(!limits(NO_LIMITS).of(&base, &slower, None).allowed, "10 % are slower");
        let wide = Limits { slower_pct: Some(20.0), ..NO_LIMITS };
        assert!(limits(wide).of(&base, &slower, None).allowed, "10 % are slower, 20 % are allowed");
    }

    #[test]
    fn the_95th_percentile_is_the_smallest_value_that_95_percent_do_not_exceed() {
        assert_eq!(p95((1..=100).rev().collect()), 95);
        assert_eq!(p95(vec![7]), 7);
        assert_eq!(p95(Vec::new()), 0);
        let base = base(100);
        // The five slowest connections are not in it.
        let arm = changed(&base, |index, sample| {
            if index >= 95 {
                sample.ttlb_ns /= 2;
            }
        });
        let p95 = judge(Objective::P95);
        assert!(p95.of(&base, &arm, None).cost < 0.0, "the five slowest are no longer the slowest");
        let arm = changed(&base, |index, sample| {
            if index >= 95 {
                sample.ttlb_ns *= 2;
            }
        });
        let free = Limits { slower_pct: Some(100.0), ..NO_LIMITS };
        let p95 = Judge { limits: free, ..p95 };
        assert!(p95.of(&base, &arm, None).cost.abs() < 1e-12, "the five slowest are even slower");
    }

    #[test]
    fn a_difference_has_an_interval_around_it() {
        let base = base(400);
        let judge = judge(Objective::Time);
        let arm = changed(&base, |index, sample| {
            sample.ttlb_ns = sample.ttlb_ns * (90 + index as u64 % 7) / 100;
        });
        let same = judge.more(&base, &arm, &arm, 0.99);
        assert_eq!((same.low, same.value, same.high), (0.0, 0.0, 0.0));
        let more = judge.more(&base, &base, &arm, 0.99);
        let less = judge.more(&base, &arm, &base, 0.99);
        assert!(more.low > 5.0 && more.high < 10.0, "{more:?}: from 4 to 10 % each");
        assert!((more.value + less.value).abs() < 1e-9, "{more:?} is not minus {less:?}");
        let narrow = judge.more(&base, &base, &arm, 0.5);
        assert!(narrow.high - narrow.low < more.high - more.low, "{narrow:?} in {more:?}");
    }

    #[test]
    fn an_objective_prints_as_it_parses() {
        for text in ["time", "p95", "time+loss:0.5"] {
            assert_eq!(text.parse::<Objective>().map(|of| of.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "Time", "time+loss:", "time+loss:-1", "time+loss:nan", "p99"] {
            let error = wrong.parse::<Objective>().expect_err(wrong);
            assert!(error.contains("allowed: time, p95, or time+loss:W"), "{wrong}: {error}");
        }
    }
}
