//! The effects of an arm in a world, compared with the baseline on the same connections.
//!
//! Means have intervals from the Poisson bootstrap, the 95th percentile from the spread over
//! batches (Student). Worlds other than the central one run on a part of the connections. Their
//! effects are shifted by the difference between that part and the whole under the central
//! assumptions, in proportion to their correlation.

use super::limits::Limits;
use super::sums::{BATCHES, LEAST_OF_BATCH, LOG_UNIT, LOG_ZERO, Mean, Sums};
use crate::stats::{Interval, Z_95};
use serde::Serialize;

/// Smallest difference in time that counts, percent.
pub const TIME_PCT: f64 = 1.0;
/// Smallest difference in the 95th percentile of time that counts, percent.
pub(super) const P95_PCT: f64 = 2.0;
/// Smallest difference in loss that counts, percentage points.
pub const LOSS_POINTS: f64 = 0.1;
/// Smallest difference in queueing delay that counts, ms.
pub(super) const QUEUE_MS: f64 = 5.0;
/// Smallest difference in queueing delay that counts, as a share of the baseline's.
pub(super) const QUEUE_SHARE: f64 = 0.2;
/// Share of connections that may be over 5 % slower, percent.
pub(super) const SLOWER_PCT: f64 = 5.0;
/// Student's t at 97.5 %, with one degree of freedom less than the number of batches.
const T_BATCHES: f64 = 2.131_449_545_559_323;

/// Classification of an effect by its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// Better: entirely beyond the margin.
    Better,
    /// No worse: not beyond the margin in the bad direction.
    NoWorse,
    /// Worse: entirely beyond the margin in the bad direction.
    Worse,
    /// None of these.
    Open,
}

/// An effect with its 95 % interval and classification.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Differences smaller than this do not count.
    pub margin: f64,
    /// Classification.
    pub is: Is,
    /// Whether the interval extends beyond the margin in the good direction.
    #[serde(skip)]
    pub(super) reaches: bool,
    /// Whether the whole interval is better than zero.
    #[serde(skip)]
    pub(super) gains: bool,
    /// Whether the interval lies within the margin on both sides.
    #[serde(skip)]
    pub(super) within: bool,
    /// Factor on the number of connections that would settle it; 1 if it is settled.
    #[serde(skip)]
    pub(super) settle: f64,
}

impl Effect {
    /// Classifies an effect. `sign` is 1 if more is better, -1 if less is better. A change of up to
    /// `accepted` on the bad side counts as no worse.
    fn new(of: Interval, sign: f64, margin: f64, accepted: f64) -> Effect {
        let Interval { value, low, high } = of;
        let (worst, best) = if sign > 0.0 { (low, high) } else { (-high, -low) };
        let accepted = accepted.max(margin);
        let is = if worst > margin {
            Is::Better
        } else if worst >= -accepted {
            Is::NoWorse
        } else if best < -accepted {
            Is::Worse
        } else {
            Is::Open
        };
        let within = worst >= -margin && best <= margin;
        // Whether the interval contains this edge of the margin.
        let across = |edge: f64| worst <= edge && best > edge;
        let factor = |edge: f64| clear_of(of, sign * edge);
        let settle = match is {
            Is::Open => factor(-accepted),
            Is::NoWorse if across(margin) => factor(margin),
            _ => 1.0,
        };
        let (reaches, gains) = (best > margin, worst > 0.0);
        Effect { value, low, high, margin, is, reaches, gains, within, settle }
    }

    /// Whether it is better or no worse.
    pub(super) fn holds(&self) -> bool {
        matches!(self.is, Is::Better | Is::NoWorse)
    }
}

/// The multiple of the connections that would take the interval to one side of an edge.
pub(super) fn clear_of(of: Interval, edge: f64) -> f64 {
    let half = (of.high - of.low) / 2.0;
    (half / (of.value - edge).abs().max(f64::MIN_POSITIVE)).powi(2)
}

/// All effects of an arm in a world.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effects {
    /// Reduction of completion time against the baseline, by the geometric mean of ratios, percent;
    /// the decision uses this one.
    pub time_pct: Effect,
    /// Reduction of the mean completion time, percent.
    pub mean_pct: Effect,
    /// Reduction of the 95th percentile of time, percent.
    pub p95_pct: Effect,
    /// Share of connections that are over 5 % slower, percent.
    pub slower_pct: Effect,
    /// Increase of loss, percentage points.
    pub loss_points: Effect,
    /// Increase of queueing delay, mean of per-connection p99, ms.
    pub queue_ms: Effect,
}

impl Effects {
    /// All effects except the time that the decision uses.
    pub(super) fn others(&self) -> [Effect; 5] {
        [self.mean_pct, self.p95_pct, self.slower_pct, self.loss_points, self.queue_ms]
    }

    /// Whether it is faster, and no other effect is worse.
    pub(super) fn is_clean(&self) -> bool {
        self.time_pct.is == Is::Better && self.others().iter().all(Effect::holds)
    }

    /// Whether it may still come out as clean.
    pub(super) fn may_be_clean(&self) -> bool {
        self.time_pct.reaches && !self.has_worse()
    }

    /// Factor by which the connections must grow to settle whether it is clean.
    pub(super) fn settle_clean(&self) -> f64 {
        let Effect { value, low, high, margin, is, .. } = self.time_pct;
        let time = match is {
            Is::Better => 1.0,
            _ => clear_of(Interval { value, low, high }, margin),
        };
        let open = self.others().into_iter().filter(|effect| !effect.holds());
        open.map(|effect| effect.settle).fold(time, f64::max)
    }

    /// Factor by which the connections must grow to settle all that is open.
    pub(super) fn settle(&self) -> f64 {
        self.all().iter().map(|effect| effect.settle).fold(1.0, f64::max)
    }

    /// Whether any effect is worse beyond its margin.
    pub(super) fn has_worse(&self) -> bool {
        self.all().iter().any(|effect| effect.is == Is::Worse)
    }

    pub(super) fn all(&self) -> [Effect; 6] {
        let [mean, p95, slower, loss, queue] = self.others();
        [self.time_pct, mean, p95, slower, loss, queue]
    }
}

/// A statistic and its replicates.
#[derive(Clone)]
pub(super) struct Drawn {
    value: f64,
    replicates: Vec<f64>,
}

impl Drawn {
    fn of(value: f64, replicates: impl Iterator<Item = f64>) -> Drawn {
        Drawn { value, replicates: replicates.collect() }
    }

    /// Shifts this statistic by the difference between the same statistic of a part (`part`) and of
    /// the whole (`whole`), in proportion to its correlation with the part's.
    fn shifted(self, part: &Drawn, whole: &Drawn) -> Drawn {
        let middle = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
        let (own, other) = (middle(&self.replicates), middle(&part.replicates));
        let pairs = || self.replicates.iter().zip(&part.replicates);
        let both: f64 = pairs().map(|(a, b)| (a - own) * (b - other)).sum();
        let alone: f64 = part.replicates.iter().map(|b| (b - other).powi(2)).sum();
        let slope = if alone > 0.0 { (both / alone).clamp(0.0, 1.0) } else { 0.0 };
        let replicates = pairs().zip(&whole.replicates);
        let replicates = replicates.map(|((a, b), w)| a + slope * (w - b));
        Drawn::of(self.value + slope * (whole.value - part.value), replicates)
    }

    /// The difference from another statistic.
    pub(super) fn less(&self, other: &Drawn) -> Drawn {
        let replicates = self.replicates.iter().zip(&other.replicates).map(|(a, b)| a - b);
        Drawn::of(self.value - other.value, replicates)
    }

    fn deviation(&self) -> f64 {
        crate::stats::bootstrap::deviation(self.replicates.iter().copied())
    }

    pub(super) fn interval(&self, z: f64) -> Interval {
        let half = z * self.deviation();
        Interval { value: self.value, low: self.value - half, high: self.value + half }
    }

    /// The interval of a quantile, from the spread of its batches. Next to a gap in the
    /// distribution, the quantile of all may fall on one side by chance, while the batches fall on
    /// both. If it is far from the mean of the batches, the interval contains both.
    fn of_batches(&self) -> Interval {
        let n = self.replicates.len() as f64;
        let mean = self.replicates.iter().sum::<f64>() / n;
        let known = self.replicates.iter().all(|value| value.is_finite());
        let half = T_BATCHES * self.deviation() / n.sqrt();
        let half = if known { half } else { f64::INFINITY };
        let value = self.value;
        let other = if (value - mean).abs() > half { mean } else { value };
        Interval { value, low: value.min(other) - half, high: value.max(other) + half }
    }
}

/// A world's sums: on the connections that ran in it, on the same ones under the central
/// assumptions, and on all under the central assumptions.
#[derive(Clone, Copy)]
pub(super) struct World<'a> {
    all: &'a Sums,
    end: Option<(&'a Sums, &'a Sums)>,
}

impl<'a> World<'a> {
    pub(super) fn assumed(all: &'a Sums) -> World<'a> {
        World { all, end: None }
    }

    pub(super) fn end(all: &'a Sums, part: &'a Sums, end: &'a Sums) -> World<'a> {
        World { all, end: Some((end, part)) }
    }

    pub(super) fn flows(&self) -> u64 {
        self.end.map_or(self.all, |(end, _)| end).flows()
    }

    fn drawn(&self, read: impl Fn(&Sums) -> Drawn) -> Drawn {
        let all = read(self.all);
        match self.end {
            None => all,
            Some((end, part)) => read(end).shifted(&read(part), &all),
        }
    }

    /// Logarithm of the geometric mean of the time ratios.
    pub(super) fn log(&self, arm: usize) -> Drawn {
        let nats = |mean: f64| (mean / LOG_UNIT - LOG_ZERO) * std::f64::consts::LN_2;
        self.drawn(|sums| {
            Drawn::of(nats(sums.mean(arm, Mean::Log)), sums.means(arm, Mean::Log).map(nats))
        })
    }

    fn log_of_means(&self, arm: usize) -> Drawn {
        self.drawn(|sums| {
            let both = sums.means(arm, Mean::Time).zip(sums.means(0, Mean::Time));
            let value = sums.mean(arm, Mean::Time) / sums.mean(0, Mean::Time);
            Drawn::of(libm::log(value), both.map(|(a, b)| libm::log(a / b)))
        })
    }

    fn p95(&self, arm: usize) -> Interval {
        let read = |sums: &Sums| Drawn::of(sums.p95(arm), sums.p95s(arm).into_iter());
        self.drawn(read).of_batches()
    }

    /// The arm's mean minus the baseline's.
    fn more(&self, arm: usize, what: Mean) -> Drawn {
        self.drawn(|sums| {
            let both = sums.means(arm, what).zip(sums.means(0, what));
            Drawn::of(sums.mean(arm, what) - sums.mean(0, what), both.map(|(a, b)| a - b))
        })
    }

    /// The mean of the baseline.
    fn baseline(&self, what: Mean) -> f64 {
        self.drawn(|sums| Drawn::of(sums.mean(0, what), sums.means(0, what))).value
    }

    pub(super) fn loss(&self, arm: usize, z: f64) -> Interval {
        self.more(arm, Mean::Loss).interval(z).map(|ppb| ppb / 1e7)
    }

    pub(super) fn time(&self, arm: usize, z: f64) -> Interval {
        less_time(self.log(arm).interval(z))
    }

    /// All effects of an arm.
    pub(super) fn effects(&self, arm: usize, limits: &Limits) -> Effects {
        let slower = self
            .drawn(|sums| Drawn::of(sums.mean(arm, Mean::Slower), sums.means(arm, Mean::Slower)));
        // Zero observed cases do not prove a share of zero.
        let rule_of_three = 3.0 / self.flows().max(1) as f64;
        let Interval { value, low, high } = slower.interval(Z_95);
        let slower = Interval {
            value: value.clamp(0.0, 1.0),
            low: low.clamp(0.0, 1.0),
            high: high.max(rule_of_three).min(1.0),
        };
        let queue = self.more(arm, Mean::Queue).interval(Z_95).map(|us| us / 1e3);
        let baseline = self.baseline(Mean::Queue) / 1e3;
        let margin = QUEUE_MS.max(QUEUE_SHARE * baseline);
        let most = limits.slower_pct.unwrap_or(SLOWER_PCT);
        let mut p95 = Effect::new(less_time(self.p95(arm)), 1.0, P95_PCT, P95_PCT);
        if !p95.low.is_finite() {
            // A batch is too small. Twice the fewest connections give every batch its percentile.
            let enough = (2 * BATCHES as u64 * LEAST_OF_BATCH) as f64;
            p95.settle = (enough / self.flows() as f64).max(2.0);
        }
        Effects {
            time_pct: Effect::new(self.time(arm, Z_95), 1.0, TIME_PCT, TIME_PCT),
            mean_pct: Effect::new(
                less_time(self.log_of_means(arm).interval(Z_95)),
                1.0,
                TIME_PCT,
                TIME_PCT,
            ),
            p95_pct: p95,
            slower_pct: Effect::new(slower.map(|share| share * 100.0), -1.0, most, most),
            loss_points: Effect::new(
                self.loss(arm, Z_95),
                -1.0,
                LOSS_POINTS,
                limits.loss_points.unwrap_or(LOSS_POINTS),
            ),
            queue_ms: Effect::new(queue, -1.0, margin, limits.queue_ms.unwrap_or(margin)),
        }
    }
}

/// Reduction of time, percent, from the logarithm of a ratio.
pub(super) fn less_time(log: Interval) -> Interval {
    log.map(|log| (1.0 - libm::exp(log)) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Sample;
    use crate::stats::bootstrap::weights;
    use firstflight_path::random::mix;

    /// Two arms have the same distribution: 4.9 % of the times lie above a gap of a factor of two,
    /// next to the 95th percentile.
    #[test]
    fn beside_a_gap_an_arm_is_not_called_worse_by_chance() {
        let (draws, flows) = (200, 1_000);
        let (mut covered, mut worse) = (0, 0);
        for seed in 0..draws {
            let mut sums = Sums::new(2);
            for index in 0..flows {
                let unit = |salt: u64| mix(mix(mix(seed) ^ index) ^ salt) as f64 / u64::MAX as f64;
                let time = |salt: u64| {
                    let above = unit(salt) < 0.049;
                    let ms = if above { 2_000.0 } else { 1_000.0 } + 20.0 * unit(salt + 1);
                    Sample { ttlb_ns: (ms * 1e6) as u64, loss_ppb: 0, queue_p99_us: 0 }
                };
                sums.add(index, [time(0), time(2)].into_iter(), &weights(seed, index));
            }
            let effects = World::assumed(&sums).effects(1, &Limits::default());
            covered += u64::from(effects.p95_pct.low <= 0.0 && effects.p95_pct.high >= 0.0);
            worse += u64::from(effects.p95_pct.is == Is::Worse);
        }
        assert!(100 * covered >= 93 * draws, "{covered} of {draws} cover no difference");
        assert!(40 * worse <= draws, "{worse} of {draws} are called worse");
    }
}
