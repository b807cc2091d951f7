//! Fitting a population to the only public distribution of losses in production start-up: the knobs q (buffers) and k (random loss)
//! are turned until the baseline, paced slow start, loses what the Rapid Start slides (IETF 125) say it lost there.
//!
//! Only the baseline is run, so that whatever other arms do is a prediction. The fit is least squares on the logarithm of
//! target / measured over four columns, by the simplex method of Nelder and Mead (1965) over ln q and ln k from the best point of a
//! coarse grid; every evaluation meets the same draws, so the same command gives the same fit.

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
const NOT_FITTED: [&str; 3] = ["leo-starlink", "geo", "dc-adjacent"];

/// A fitted population.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Factor on every buffer.
    pub q: f64,
    /// Random loss.
    pub k: f64,
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
}

impl Calibration {
    /// The loss columns at one setting of the knobs, percent.
    ///
    /// # Errors
    /// If a path cannot be simulated.
    pub fn measure(&self, q: f64, k: f64) -> Result<[f64; 4], Bad> {
        let mut population = self.population.clone();
        (population.knobs.q, population.knobs.k) = (q, k);
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

    /// Fits q and k. `tick` is called once per evaluation.
    ///
    /// # Errors
    /// If the population is none that the target fits, or too few connections were asked for.
    pub fn fit(&self, tick: &mut dyn FnMut(f64, f64, f64)) -> Result<Fit, Bad> {
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
        let mut best = ([0.0, 0.0], f64::INFINITY);
        for q in [0.5, 1.0, 2.0, 4.0, 8.0] {
            for k in [0.001, 0.003, 0.006, 0.01] {
                let point = [libm::log(q), libm::log(k)];
                let cost = cost(&coarse.measure(q, k)?);
                tick(q, k, cost);
                if cost < best.1 {
                    best = (point, cost);
                }
            }
        }
        let mut failed = None;
        let value = |point: [f64; 2]| {
            let (q, k) = knobs(point);
            evaluations += 1;
            match self.measure(q, k) {
                Ok(columns) => {
                    let cost = cost(&columns);
                    tick(q, k, cost);
                    cost
                }
                Err(bad) => {
                    failed = Some(bad);
                    f64::INFINITY
                }
            }
        };
        let point = simplex(best.0, 0.3, 40, value);
        if let Some(bad) = failed {
            return Err(bad);
        }
        // Four digits of a knob are more than the sample carries.
        let (q, k) = knobs(point);
        let rounded = |x: f64| format!("{x:.3e}").parse::<f64>().unwrap_or(x);
        let (q, k) = (rounded(q), rounded(k));
        let columns = self.measure(q, k)?;
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
            cost: cost(&columns),
            accepted: fitted.iter().all(|one| one.inside),
            columns: fitted,
            flows: self.flows,
            evaluations,
        })
    }
}

/// Bounds of the knobs, as a file may state them.
fn knobs([q, k]: [f64; 2]) -> (f64, f64) {
    (libm::exp(q).clamp(0.05, 50.0), libm::exp(k).clamp(1e-6, 0.1))
}

fn cost(columns: &[f64; 4]) -> f64 {
    TARGETS.iter().zip(columns).map(|(target, measured)| libm::log(target.target / measured.max(FLOOR)).powi(2)).sum()
}

/// The lowest point that `value` has near `start`, by a simplex of this size and at most so many evaluations.
fn simplex(start: [f64; 2], size: f64, evaluations: u32, mut value: impl FnMut([f64; 2]) -> f64) -> [f64; 2] {
    let corners = [start, [start[0] + size, start[1]], [start[0], start[1] + size]];
    let mut points = corners.map(|point| (point, value(point)));
    let mut left = evaluations.saturating_sub(3);
    let along = |from: [f64; 2], to: [f64; 2], t: f64| [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t];
    while left > 0 {
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [best, middle, worst] = points;
        if (0..2).all(|axis| (worst.0[axis] - best.0[axis]).abs() < 0.002) {
            break;
        }
        let centre = along(best.0, middle.0, 0.5);
        let mut ask = |point: [f64; 2]| {
            left = left.saturating_sub(1);
            (point, value(point))
        };
        let mirrored = ask(along(worst.0, centre, 2.0));
        points[2] = if mirrored.1 < best.1 {
            let further = ask(along(worst.0, centre, 3.0));
            if further.1 < mirrored.1 { further } else { mirrored }
        } else if mirrored.1 < middle.1 {
            mirrored
        } else {
            let nearer = ask(along(worst.0, centre, if mirrored.1 < worst.1 { 1.5 } else { 0.5 }));
            if nearer.1 < worst.1.min(mirrored.1) {
                nearer
            } else {
                points[1] = ask(along(middle.0, best.0, 0.5));
                ask(along(worst.0, best.0, 0.5))
            }
        };
    }
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    points[0].0
}

#[cfg(test)]
mod tests {
    use super::simplex;

    #[test]
    fn the_simplex_finds_the_bottom_of_a_bent_valley() {
        let valley = |[x, y]: [f64; 2]| (1.0 - x).powi(2) + 5.0 * (y - x * x).powi(2);
        let [x, y] = simplex([-0.5, 0.8], 0.3, 200, valley);
        assert!((x - 1.0).abs() < 0.02 && (y - 1.0).abs() < 0.04, "found ({x}, {y}), the bottom is at (1, 1)");
    }
}
