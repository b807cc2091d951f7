//! Fitting a population to the only public distribution of losses in production start-up: the knobs q (buffers), k (random loss, its
//! median over connections) and s (how far that loss spreads) are turned until the baseline, paced slow start, loses what the Rapid
//! Start slides (IETF 125) say it lost there.
//!
//! Only the baseline is run, so that whatever other arms do is a prediction. The fit is least squares on the logarithm of
//! target / measured over four columns, by the simplex method of Nelder and Mead (1965) over ln q, ln k and s from the best point of a
//! coarse grid; every evaluation meets the same draws, so the same command gives the same fit. Two families can be fitted: one random
//! loss for all paths, as the list of experiments has it, and a loss that differs from path to path.

use super::Population;
use super::describe::quantile;
use crate::arms::NamedArm;
use crate::error::Bad;
use crate::trial::Ground;
use rayon::prelude::*;
use serde::Serialize;

/// One column of the target: loss ratio per connection under paced slow start, percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Which statistic.
    pub name: &'static str,
    /// Published.
    pub target: f64,
    /// Accepted from.
    pub low: f64,
    /// Accepted to.
    pub high: f64,
}

/// The published columns.
pub const TARGETS: [Target; 4] = [
    Target { name: "avg", target: 1.52, low: 1.32, high: 1.72 },
    Target { name: "P50", target: 0.62, low: 0.3, high: 1.0 },
    Target { name: "P90", target: 4.36, low: 3.3, high: 5.5 },
    Target { name: "P99", target: 13.80, low: 10.0, high: 18.0 },
];

/// Fewer connections leave P99 to a handful.
pub const LEAST_FLOWS: u64 = 20_000;

/// A statistic of zero has no logarithm; it counts as this many percent.
const FLOOR: f64 = 0.01;

/// Populations that the target does not fit: it is a terrestrial content network's.
const NOT_FITTED: [&str; 7] = ["leo-starlink", "geo", "dc-adjacent", "best-links", "us-web", "us-small", "in-video"];

/// Which knobs a fit turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Buffers and one random loss that all paths have.
    Common,
    /// Buffers and a random loss that differs from path to path: lognormal with median k and standard deviation s of its logarithm.
    Spread,
}

/// A fitted population.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Factor on every buffer.
    pub q: f64,
    /// Random loss, its median over the paths.
    pub k: f64,
    /// Spread of its logarithm over the paths.
    pub s: f64,
    /// What was turned.
    pub family: Family,
    /// Column by column.
    pub columns: Vec<Fitted>,
    /// Sum of the squared residuals.
    pub cost: f64,
    /// Whether all columns lie in their bands.
    pub accepted: bool,
    /// Connections.
    pub flows: u64,
    /// Evaluations.
    pub evaluations: u32,
}

/// One column of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The target.
    pub target: Target,
    /// What the fit gives.
    pub measured: f64,
    /// ln(target / measured).
    pub residual: f64,
    /// Inside the accepted band.
    pub inside: bool,
}

/// What a calibration runs on.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The population; its knobs are turned.
    pub population: Population,
    /// Paced slow start.
    pub baseline: NamedArm,
    /// Connections per evaluation.
    pub flows: u64,
    /// Seed.
    pub seed: u64,
    /// What may be turned.
    pub family: Family,
    /// The factor on buffers, if it is held: what the other knobs make of it tells how far the target determines it.
    pub held_q: Option<f64>,
}

impl Calibration {
    /// The loss columns at one setting of the knobs, percent.
    ///
    /// # Errors
    /// If a path cannot be simulated.
    pub fn measure(&self, [q, k, s]: [f64; 3]) -> Result<[f64; 4], Bad> {
        let mut population = self.population.clone();
        (population.knobs.q, population.knobs.k, population.knobs.s) = (q, k, s);
        let iw = population.initial_window.unwrap_or(10);
        let trial = |index: u64| -> Result<f64, Bad> {
            let drawn = population.draw(self.seed, index);
            let ground = Ground { iw, path_index: index, ..Ground::new(population.path(&drawn)?, drawn.bytes) };
            let outcome = ground.run(&self.baseline, self.seed, None)?;
            Ok(100.0 * outcome.packets_lost as f64 / outcome.packets_sent.max(1) as f64)
        };
        let mut losses = (0..self.flows).into_par_iter().map(trial).collect::<Result<Vec<f64>, Bad>>()?;
        losses.sort_unstable_by(f64::total_cmp);
        let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
        Ok([mean, quantile(&losses, 0.5), quantile(&losses, 0.9), quantile(&losses, 0.99)])
    }

    /// Where the knobs lie in the space that is searched: ln q unless it is held, ln k, and s if it is turned.
    fn point(&self, [q, k, s]: [f64; 3]) -> Vec<f64> {
        let turned = [(self.held_q.is_none(), libm::log(q)), (true, libm::log(k)), (self.family == Family::Spread, s)];
        turned.into_iter().filter(|(turned, _)| *turned).map(|(_, x)| x).collect()
    }

    /// The knobs of such a point, within the bounds of a file.
    fn knobs(&self, point: &[f64]) -> [f64; 3] {
        let mut rest = point.iter().copied();
        let q = self.held_q.unwrap_or_else(|| libm::exp(rest.next().unwrap_or(0.0)));
        let k = libm::exp(rest.next().unwrap_or(0.0));
        [q.clamp(0.05, 50.0), k.clamp(1e-6, 0.1), rest.next().unwrap_or(0.0).clamp(0.0, 3.0)]
    }

    /// Fits q, k and s, as far as they are turned. `tick` is called once per evaluation.
    ///
    /// # Errors
    /// If the population is none that the target fits, or too few connections were asked for.
    pub fn fit(&self, tick: &mut dyn FnMut([f64; 3], f64)) -> Result<Fit, Bad> {
        if NOT_FITTED.contains(&self.population.name.as_str()) {
            let name = &self.population.name;
            return Err(Bad(format!(
                "population {name}: is not fitted, the target is a terrestrial content network's; allowed: terrestrial ones"
            )));
        }
        if self.flows < LEAST_FLOWS {
            return Err(Bad(format!("{} flows; allowed: at least {LEAST_FLOWS}, or P99 rests on a handful", self.flows)));
        }
        let mut evaluations = 0;
        // The coarse grid only has to find the valley.
        let coarse = Calibration { flows: self.flows / 5, ..self.clone() };
        let mut best = (Vec::new(), f64::INFINITY);
        for q in self.held_q.map_or(vec![0.5, 1.0, 2.0, 4.0, 8.0], |q| vec![q]) {
            for k in [0.001, 0.003, 0.006, 0.01] {
                for &s in if self.family == Family::Spread { &[0.7, 1.5][..] } else { &[0.0] } {
                    let cost = cost(&coarse.measure([q, k, s])?);
                    evaluations += 1;
                    tick([q, k, s], cost);
                    if cost < best.1 {
                        best = (self.point([q, k, s]), cost);
                    }
                }
            }
        }
        let mut failed = None;
        let value = |point: &[f64]| {
            let knobs = self.knobs(point);
            evaluations += 1;
            match self.measure(knobs) {
                Ok(columns) => {
                    let cost = cost(&columns);
                    tick(knobs, cost);
                    cost
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
        // Four digits of a knob are more than the sample carries.
        let rounded = |x: f64| format!("{x:.3e}").parse::<f64>().unwrap_or(x);
        let [q, k, s] = self.knobs(&point).map(rounded);
        let columns = self.measure([q, k, s])?;
        let fitted: Vec<Fitted> = TARGETS
            .iter()
            .zip(columns)
            .map(|(target, measured)| Fitted {
                target: *target,
                measured,
                residual: libm::log(target.target / measured.max(FLOOR)),
                inside: (target.low..=target.high).contains(&measured),
            })
            .collect();
        Ok(Fit {
            q,
            k,
            s,
            family: self.family,
            cost: cost(&columns),
            accepted: fitted.iter().all(|one| one.inside),
            columns: fitted,
            flows: self.flows,
            evaluations,
        })
    }
}

fn cost(columns: &[f64; 4]) -> f64 {
    TARGETS.iter().zip(columns).map(|(target, measured)| libm::log(target.target / measured.max(FLOOR)).powi(2)).sum()
}

/// The lowest point that `value` has near `start`, by a simplex of this size and at most so many evaluations.
fn simplex(start: &[f64], size: f64, evaluations: u32, mut value: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let n = start.len();
    let mut left = evaluations;
    let mut ask = |point: Vec<f64>| {
        left = left.saturating_sub(1);
        let cost = value(&point);
        ((point, cost), left)
    };
    let corner = |axis: Option<usize>| -> Vec<f64> {
        start.iter().enumerate().map(|(index, x)| if axis == Some(index) { x + size } else { *x }).collect()
    };
    let mut points: Vec<(Vec<f64>, f64)> = (0..=n).map(|index| ask(corner(index.checked_sub(1))).0).collect();
    let along = |from: &[f64], to: &[f64], t: f64| -> Vec<f64> { from.iter().zip(to).map(|(from, to)| from + (to - from) * t).collect() };
    loop {
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (points[0].clone(), points[n].clone());
        if (0..n).all(|axis| (worst.0[axis] - best.0[axis]).abs() < 0.002) {
            return best.0;
        }
        let centre: Vec<f64> = (0..n).map(|axis| points[..n].iter().map(|point| point.0[axis]).sum::<f64>() / n as f64).collect();
        let (mirrored, mut rest) = ask(along(&worst.0, &centre, 2.0));
        if mirrored.1 < best.1 {
            let further = ask(along(&worst.0, &centre, 3.0));
            rest = further.1;
            points[n] = if further.0.1 < mirrored.1 { further.0 } else { mirrored };
        } else if mirrored.1 < points[n - 1].1 {
            points[n] = mirrored;
        } else {
            let nearer = ask(along(&worst.0, &centre, if mirrored.1 < worst.1 { 1.5 } else { 0.5 }));
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
        let valley = |point: &[f64]| (1.0 - point[0]).powi(2) + 5.0 * (point[1] - point[0] * point[0]).powi(2);
        let found = simplex(&[-0.5, 0.8], 0.3, 200, valley);
        assert!((found[0] - 1.0).abs() < 0.02 && (found[1] - 1.0).abs() < 0.04, "found {found:?}, the bottom is at (1, 1)");
    }

    #[test]
    fn the_simplex_finds_the_bottom_of_a_bowl_in_three_dimensions() {
        let bowl = |point: &[f64]| point.iter().zip([1.0, -2.0, 0.5]).map(|(x, at)| (x - at).powi(2)).sum::<f64>();
        let found = simplex(&[0.0, 0.0, 0.0], 0.3, 200, bowl);
        for (x, at) in found.iter().zip([1.0, -2.0, 0.5]) {
            assert!((x - at).abs() < 0.02, "found {found:?}, the bottom is at (1, -2, 0.5)");
        }
    }
}
