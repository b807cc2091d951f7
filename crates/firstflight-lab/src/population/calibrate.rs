//! Fits a population to the only public distribution of losses in production startup, that of the
//! Rapid Start slides (IETF 125).
//!
//! Three parameters are free: q (factor on every buffer), k (median of the random loss over
//! connections) and s (spread of that loss). k and s are fitted on slow start alone, for each q of
//! [`GRID`]: least squares on ln(measured / published) over its four columns of loss, by the
//! simplex method of Nelder and Mead (1965) over ln k and s from the best point of a coarse grid.
//! These columns do not determine q: they hardly change above twice the assumed buffers. Two more
//! criteria therefore choose among the fits: the range of measured buffers ([`MEASURED_MS`]), and
//! one result of a treatment, the excess of Rapid Start's mean loss over slow start's, which falls
//! steeply with q. **All other published numbers are held out**: Rapid Start's quantiles, both
//! other arms, all times. [`Point::held_out`] has those rows, including the ones that miss.
//!
//! The misfit of a q is the sum over columns of (ln(measured / published) / half the accepted band
//! in the logarithm) squared, plus the same for the median buffer within the measured range. The
//! bands were set before the fit. A q whose misfit is at most [`NEARLY`] above the least fits
//! nearly as well: the excess is no more than that of one column that moves from its target to the
//! edge of its band. A population file keeps the lowest and the highest such q as its range. Every
//! evaluation uses the same draws, so the same command gives the same table.

use super::describe::quantile;
use super::{Population, builtin};
use crate::ab::analysis::{Entry, Part};
use crate::ab::{Analysis, Clock, Run, Test, Watch};
use crate::arms::{NamedArm, parse_arms};
use crate::decision::Limits;
use crate::scenario::{Hosts, Scenario};
use firstflight::Nanos;
use firstflight_path::Error;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// The four groups of the production experiment, the baseline first; all with the same congestion
/// avoidance and paced.
pub const ARMS: &[&str] = &[
    "slowstart/reno(beta=0.7)",
    "jumpstart/reno(beta=0.7)",
    "rapid(jump=off)/reno(beta=0.7)",
    "rapid/reno(beta=0.7)",
];
const RAPID: usize = 3;

/// A published number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Name of the statistic.
    pub name: &'static str,
    /// Published value.
    pub target: f64,
    /// Lower end of the accepted band.
    pub low: f64,
    /// Upper end of the accepted band.
    pub high: f64,
}

/// The fitted columns: loss per connection under paced slow start in percent, and Rapid Start's
/// mean loss over slow start's.
pub const TARGETS: [Target; 5] = [
    Target { name: "slow start, mean %", target: 1.52, low: 1.32, high: 1.72 },
    Target { name: "slow start, P50 %", target: 0.62, low: 0.3, high: 1.0 },
    Target { name: "slow start, P90 %", target: 4.36, low: 3.3, high: 5.5 },
    Target { name: "slow start, P99 %", target: 13.80, low: 10.0, high: 18.0 },
    Target { name: "rapidstart / slow start, mean", target: 1.98 / 1.52, low: 1.1, high: 1.7 },
];

/// Published numbers that are not fitted: loss relative to slow start's by arm and column, and
/// times; with the bands of the experiment's list where it has one.
const HELD_OUT: [Target; 15] = [
    Target { name: "jumpstart / slow start, mean", target: 1.61 / 1.52, low: 0.95, high: 1.3 },
    Target { name: "jumpstart / slow start, P50", target: 1.0, low: 0.9, high: 1.1 },
    Target { name: "jumpstart / slow start, P90", target: 4.57 / 4.36, low: 0.95, high: 1.2 },
    Target { name: "jumpstart / slow start, P99", target: 14.22 / 13.80, low: 0.95, high: 1.2 },
    Target { name: "rapid-no-jump / slow start, mean", target: 1.92 / 1.52, low: 1.1, high: 1.7 },
    Target { name: "rapid-no-jump / slow start, P50", target: 0.90 / 0.62, low: 1.1, high: 1.8 },
    Target { name: "rapid-no-jump / slow start, P90", target: 4.99 / 4.36, low: 1.0, high: 1.4 },
    Target { name: "rapid-no-jump / slow start, P99", target: 14.97 / 13.80, low: 1.0, high: 1.3 },
    Target { name: "rapidstart / slow start, P50", target: 0.85 / 0.62, low: 1.1, high: 1.7 },
    Target { name: "rapidstart / slow start, P90", target: 5.06 / 4.36, low: 1.0, high: 1.4 },
    Target { name: "rapidstart / slow start, P99", target: 15.55 / 13.80, low: 1.0, high: 1.3 },
    Target {
        name: "worst POP, rapidstart / slow start, P99",
        target: 21.65 / 19.60,
        low: 1.0,
        high: 1.25,
    },
    Target { name: "rapidstart: less time, mean %", target: 14.7, low: 8.0, high: 22.0 },
    Target { name: "rapidstart: less time, 200 to 400 kB, %", target: 14.9, low: 6.0, high: 25.0 },
    Target { name: "rapidstart: less time, 1.6 to 3.2 MB, %", target: 10.6, low: 6.0, high: 25.0 },
];

/// The factors on buffers to try.
pub const GRID: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 6.0];
/// A fit counts as near-best if its misfit exceeds the smallest by no more than this.
pub const NEARLY: f64 = 1.0;

/// Range of measured median buffers over paths, ms: the geometric means of three wired paths (24.2
/// ms) and of seven cellular ones (282.8 ms), which are the wired and the cellular model of the
/// other populations.
pub const MEASURED_MS: (f64, f64) = (24.2, 282.8);

/// Minimum number of connections; with fewer, P99 rests on very few of them.
pub const LEAST_FLOWS: u64 = 20_000;

/// Value used in place of a statistic of zero, which has no logarithm.
const FLOOR: f64 = 0.01;
/// Populations for which the target is not suitable, because it comes from a terrestrial content
/// network.
const NOT_FITTED: [&str; 7] =
    ["leo-starlink", "geo", "dc-adjacent", "best-links", "us-web", "us-small", "in-video"];

/// The knobs that a fit varies in addition to q.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The same random loss on all paths.
    Common,
    /// A random loss that differs from path to path: lognormal with median k and standard deviation
    /// s of its logarithm.
    Spread,
}

/// The fits of all factors on buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Knobs that were varied in addition to q.
    pub family: Family,
    /// Connections behind each number in the table.
    pub flows: u64,
    /// Points by ascending q.
    pub points: Vec<Point>,
    /// The point with the least misfit.
    pub best: usize,
    /// Lowest and highest q that fit nearly as well as the best.
    pub range: (f64, f64),
}

/// The best fit with one factor on buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Factor on every buffer.
    pub q: f64,
    /// Median of the random loss over the paths.
    pub k: f64,
    /// Standard deviation of the logarithm of the random loss over the paths.
    pub s: f64,
    /// Median queue capacity at the bottleneck over the paths, ms.
    pub buffer_ms: f64,
    /// Median queue capacity in BDP.
    pub buffer_bdp: f64,
    /// Rapid Start's mean loss minus slow start's, percentage points; the slides state +0.46.
    pub more_loss_points: f64,
    /// Fitted values, column by column.
    pub columns: Vec<Fitted>,
    /// Sum over the fitted columns and the median buffer of (ln(measured / published) / half the
    /// band in the logarithm) squared.
    pub misfit: f64,
    /// Whether every fitted column lies in its band, and the median buffer in the measured range.
    pub inside: bool,
    /// Whether the misfit is at most [`NEARLY`] above the least.
    pub accepted: bool,
    /// Published values that were held out.
    pub held_out: Vec<Fitted>,
}

/// A published number and the result of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The target.
    pub target: Target,
    /// Fitted value.
    pub measured: f64,
    /// ln(measured / target).
    pub residual: f64,
    /// Whether it is inside the accepted band.
    pub inside: bool,
}

impl Fitted {
    fn new(target: Target, measured: f64) -> Fitted {
        let residual = libm::log(measured.max(FLOOR) / target.target);
        Fitted {
            target,
            measured,
            residual,
            inside: (target.low..=target.high).contains(&measured),
        }
    }

    fn square(&self) -> f64 {
        (2.0 * self.residual / libm::log(self.target.high / self.target.low)).powi(2)
    }
}

/// Input of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The population whose knobs are varied.
    pub population: Population,
    /// Connections per evaluation; the coarse grid uses a fifth of them.
    pub flows: u64,
    /// Seed.
    pub seed: u64,
    /// Parameters that may change.
    pub family: Family,
    /// The only factor on buffers to try; `None` tries [`GRID`].
    pub held_q: Option<f64>,
}

impl Calibration {
    fn turned(&self, [q, k, s]: [f64; 3]) -> Population {
        let mut population = self.population.clone();
        (population.knobs.q, population.knobs.k, population.knobs.s) = (q, k, s);
        population.assumptions.clear();
        population
    }

    /// Sum of the squared residuals of slow start's four columns for these knobs, on `flows`
    /// connections.
    fn squares(&self, knobs: [f64; 3], arm: &NamedArm, flows: u64) -> Result<f64, Error> {
        let population = self.turned(knobs);
        let iw = population.window_or(None);
        let trial = |index: u64| -> Result<f64, Error> {
            let drawn = population.draw(self.seed, index);
            let scenario = Scenario {
                iw,
                path_index: index,
                ..Scenario::new(population.path(&drawn)?, drawn.bytes)
            };
            let outcome = scenario.simulate(arm, self.seed, None)?;
            Ok(100.0 * outcome.counters.packets_lost as f64
                / outcome.counters.packets_sent.max(1) as f64)
        };
        let mut losses =
            (0..flows).into_par_iter().map(trial).collect::<Result<Vec<f64>, Error>>()?;
        losses.sort_unstable_by(f64::total_cmp);
        let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
        let measured =
            [mean, quantile(&losses, 0.5), quantile(&losses, 0.9), quantile(&losses, 0.99)];
        Ok(TARGETS
            .iter()
            .zip(measured)
            .map(|(target, measured)| Fitted::new(*target, measured).residual.powi(2))
            .sum())
    }

    /// The coordinates of k and s in the search space.
    fn point(&self, k: f64, s: f64) -> Vec<f64> {
        if self.family == Family::Spread { vec![libm::log(k), s] } else { vec![libm::log(k)] }
    }

    /// The knobs for a point of the search space, within the bounds of a file.
    fn knobs(q: f64, point: &[f64]) -> [f64; 3] {
        let k = libm::exp(point.first().copied().unwrap_or(0.0)).clamp(1e-6, 0.1);
        [q, k, point.get(1).copied().unwrap_or(0.0).clamp(0.0, 3.0)]
    }

    /// k and s for one factor on buffers, from slow start alone.
    fn fit_loss(&self, q: f64, tick: &mut dyn FnMut([f64; 3], f64)) -> Result<[f64; 3], Error> {
        let slow_start = parse_arms("slowstart")?.swap_remove(0);
        // The coarse grid only needs to find the valley.
        let mut best = (Vec::new(), f64::INFINITY);
        for k in [0.001, 0.003, 0.006, 0.01] {
            for &s in if self.family == Family::Spread { &[0.7, 1.5][..] } else { &[0.0] } {
                let squares = self.squares([q, k, s], &slow_start, self.flows / 5)?;
                tick([q, k, s], squares);
                if squares < best.1 {
                    best = (self.point(k, s), squares);
                }
            }
        }
        let mut failed = None;
        let value = |point: &[f64]| {
            let knobs = Calibration::knobs(q, point);
            match self.squares(knobs, &slow_start, self.flows) {
                Ok(squares) => {
                    tick(knobs, squares);
                    squares
                }
                Err(bad) => {
                    failed = Some(bad);
                    f64::INFINITY
                }
            }
        };
        let point = simplex(&best.0, 0.3, 20 * best.0.len() as u32, value);
        if let Some(bad) = failed {
            return Err(bad);
        }
        // The sample does not support more than four digits of a knob.
        Ok(Calibration::knobs(q, &point).map(|x| format!("{x:.3e}").parse::<f64>().unwrap_or(x)))
    }

    /// Fits k and s for every q, and measures all published numbers. `tick` is called once per
    /// evaluation with the knobs and the squares of slow start's columns.
    ///
    /// # Errors
    /// If the target is not suitable for the population, or if there are too few connections.
    pub fn fit(&self, tick: &mut dyn FnMut([f64; 3], f64)) -> Result<Profile, Error> {
        if NOT_FITTED.contains(&self.population.name.as_str()) {
            let name = &self.population.name;
            let fitted: Vec<&str> =
                builtin::names().filter(|name| !NOT_FITTED.contains(name)).collect();
            return Err(Error::new(format!(
                "population {name}: is not fitted, the target is a terrestrial content network's; allowed: {}",
                fitted.join(", ")
            )));
        }
        if self.flows < LEAST_FLOWS {
            return Err(Error::new(format!(
                "{} flows; allowed: at least {LEAST_FLOWS}, or P99 rests on a handful",
                self.flows
            )));
        }
        let mut points = Vec::new();
        for q in self.held_q.map_or(GRID.to_vec(), |q| vec![q]) {
            let knobs = self.fit_loss(q, tick)?;
            points.push(self.measure(knobs)?);
        }
        let best = (0..points.len())
            .min_by(|a, b| points[*a].misfit.total_cmp(&points[*b].misfit))
            .unwrap_or(0);
        let most = points.get(best).map_or(0.0, |point| point.misfit) + NEARLY;
        for point in &mut points {
            point.accepted = point.misfit <= most;
        }
        let fitting = || points.iter().filter(|point| point.accepted).map(|point| point.q);
        let range = (fitting().fold(f64::INFINITY, f64::min), fitting().fold(0.0, f64::max));
        Ok(Profile { family: self.family, flows: self.flows, points, best, range })
    }

    /// All published numbers, for one setting of the knobs: all four groups on
    /// [`Calibration::flows`] connections, as `firstflight ab` runs them.
    ///
    /// # Errors
    /// If a path cannot be simulated.
    pub fn measure(&self, [q, k, s]: [f64; 3]) -> Result<Point, Error> {
        let population = self.turned([q, k, s]);
        let mut buffers: Vec<[f64; 2]> = (0..20_000)
            .map(|index| {
                let drawn = population.draw(self.seed, index);
                let bytes = drawn.queue_bytes as f64;
                [
                    bytes * 8.0 / drawn.rate_kbps.max(1) as f64,
                    bytes / drawn.bdp_bytes().max(1) as f64,
                ]
            })
            .collect();
        let mut median = |of: usize| {
            buffers.sort_unstable_by(|a, b| a[of].total_cmp(&b[of]));
            buffers[buffers.len() / 2][of]
        };
        let (buffer_ms, buffer_bdp) = (median(0), median(1));
        let test = Test {
            iw: population.window_or(None),
            population,
            arms: parse_arms(&ARMS.join(","))?,
            flows: self.flows,
            seed: self.seed,
            burst: 2,
            limit: Nanos::from_secs(300),
            // The published times were measured at the sender.
            clock: Clock::Sender,
            host: Hosts::default(),
            detection: None,
            limits: Limits::default(),
        };
        let stop = AtomicBool::new(false);
        let tallies =
            test.run(&Run::default(), &mut Watch { tick: &|_| {}, stop: &stop, rows: None })?;
        let found = Analysis::new(&test.experiment(), &tallies, &[]);
        let all: Vec<&Entry> = found.of(Part::All).collect();
        let [base, .., rapid] = all[..] else {
            return Err(Error::new("the four groups are not all there"));
        };
        let own = [
            base.loss_pct.mean,
            base.loss_pct.p50.value,
            base.loss_pct.p90.value,
            base.loss_pct.p99.value,
        ];
        let ratio = rapid.loss_pct.mean / base.loss_pct.mean.max(FLOOR);
        let columns: Vec<Fitted> = TARGETS
            .iter()
            .zip(own.into_iter().chain([ratio]))
            .map(|(target, measured)| Fitted::new(*target, measured))
            .collect();
        let (low, high) = MEASURED_MS;
        let buffer = Fitted::new(
            Target { name: "median buffer", target: (low * high).sqrt(), low, high },
            buffer_ms,
        );
        let misfit = columns.iter().chain([&buffer]).map(Fitted::square).sum();
        let inside = columns.iter().chain([&buffer]).all(|one| one.inside);
        Ok(Point {
            q,
            k,
            s,
            buffer_ms,
            buffer_bdp,
            more_loss_points: rapid.loss_pct.mean - base.loss_pct.mean,
            misfit,
            inside,
            accepted: true,
            columns,
            held_out: HELD_OUT
                .iter()
                .zip(held_out(&found))
                .map(|(target, measured)| Fitted::new(*target, measured))
                .collect(),
        })
    }
}

/// The measured values for [`HELD_OUT`], in the same order.
fn held_out(found: &Analysis) -> Vec<f64> {
    let all: Vec<&Entry> = found.of(Part::All).collect();
    let base = &all[0].loss_pct;
    let mut values = Vec::new();
    for (arm, entry) in all.iter().enumerate().skip(1) {
        let loss = &entry.loss_pct;
        let ratios = [
            loss.mean / base.mean,
            loss.p50.value / base.p50.value,
            loss.p90.value / base.p90.value,
            loss.p99.value / base.p99.value,
        ];
        values.extend(&ratios[usize::from(arm == RAPID)..]);
    }
    let rapid = &all[RAPID].arm;
    let pops: Vec<&Entry> = found.of(Part::Group).collect();
    let worst = pops
        .chunk_by(|a, b| a.name == b.name)
        .filter_map(|arms| {
            Some((arms.first()?.loss_pct.p99.value, arms.last()?.loss_pct.p99.value))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    values.push(worst.map_or(f64::NAN, |(base, rapid)| rapid / base));
    let gain = |entry: &Entry| {
        entry.versus_baseline.as_ref().map_or(f64::NAN, |versus| versus.reduction_pct.mean.value)
    };
    values.push(gain(all[RAPID]));
    let sizes: Vec<&Entry> = found.of(Part::Size).filter(|entry| entry.arm == *rapid).collect();
    for name in ["200 kB to 400 kB", "1.6 MB to 3.2 MB"] {
        values.push(
            sizes.iter().find(|entry| entry.name == name).map_or(f64::NAN, |entry| gain(entry)),
        );
    }
    values
}

/// The lowest point of `value` near `start`, by a simplex of this size and a limited number of
/// evaluations.
fn simplex(
    start: &[f64],
    size: f64,
    evaluations: u32,
    mut value: impl FnMut(&[f64]) -> f64,
) -> Vec<f64> {
    let n = start.len();
    let mut left = evaluations;
    let mut ask = |point: Vec<f64>| {
        left = left.saturating_sub(1);
        let cost = value(&point);
        ((point, cost), left)
    };
    let corner = |axis: Option<usize>| -> Vec<f64> {
        start
            .iter()
            .enumerate()
            .map(|(index, x)| if axis == Some(index) { x + size } else { *x })
            .collect()
    };
    let mut points: Vec<(Vec<f64>, f64)> =
        (0..=n).map(|index| ask(corner(index.checked_sub(1))).0).collect();
    let along = |from: &[f64], to: &[f64], t: f64| -> Vec<f64> {
        from.iter().zip(to).map(|(from, to)| from + (to - from) * t).collect()
    };
    loop {
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (points[0].clone(), points[n].clone());
        if (0..n).all(|axis| (worst.0[axis] - best.0[axis]).abs() < 0.002) {
            return best.0;
        }
        let centre: Vec<f64> = (0..n)
            .map(|axis| points[..n].iter().map(|point| point.0[axis]).sum::<f64>() / n as f64)
            .collect();
        let (mirrored, mut rest) = ask(along(&worst.0, &centre, 2.0));
        if mirrored.1 < best.1 {
            let further = ask(along(&worst.0, &centre, 3.0));
            rest = further.1;
            points[n] = if further.0.1 < mirrored.1 { further.0 } else { mirrored };
        } else if mirrored.1 < points[n - 1].1 {
            points[n] = mirrored;
        } else {
            let nearer =
                ask(along(&worst.0, &centre, if mirrored.1 < worst.1 { 1.5 } else { 0.5 }));
            rest = nearer.1;
            if nearer.0.1 < worst.1.min(mirrored.1) {
                points[n] = nearer.0;
            } else {
                for point in &mut points[1..] {
                    (*point, rest) = ask(along(&point.0, &best.0, 0.5));
                }
            }
        }
        if rest == 0 {
            points.sort_by(|a, b| a.1.total_cmp(&b.1));
            return points.swap_remove(0).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::simplex;

    #[test]
    fn the_simplex_finds_the_bottom_of_a_bent_valley() {
        let valley = |point: &[f64]| {
            (1.0 - point[0]).powi(2) + 5.0 * (point[1] - point[0] * point[0]).powi(2)
        };
        let found = simplex(&[-0.5, 0.8], 0.3, 200, valley);
        assert!(
            (found[0] - 1.0).abs() < 0.02 && (found[1] - 1.0).abs() < 0.04,
            "found {found:?}, the bottom is at (1, 1)"
        );
    }

    #[test]
    fn the_simplex_finds_the_bottom_of_a_bowl_in_three_dimensions() {
        let bowl = |point: &[f64]| {
            point.iter().zip([1.0, -2.0, 0.5]).map(|(x, at)| (x - at).powi(2)).sum::<f64>()
        };
        let found = simplex(&[0.0, 0.0, 0.0], 0.3, 200, bowl);
        for (x, at) in found.iter().zip([1.0, -2.0, 0.5]) {
            assert!((x - at).abs() < 0.02, "found {found:?}, the bottom is at (1, -2, 0.5)");
        }
    }
}
