//! One cell with one seed: the value of every rule, and the flows over time.

use crate::battery::Battery;
use crate::cell::{Cell, cells};
use crate::effort::Effort;
use crate::evaluate::Evaluation;
use crate::metric::read;
use crate::metrics::metric_named;
use crate::report::{CriterionRow, Report};
use crate::run::{Run, Seat};
use firstflight_lab::NamedArm;
use firstflight_path::Error;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// One value of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The metric.
    pub metric: String,
    /// Role of the flows.
    pub of: String,
    /// Horizon.
    pub window: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// The algorithm's value.
    pub value: Option<f64>,
    /// The baseline's value.
    pub baseline: Option<f64>,
}

/// A flow over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// Role.
    pub role: String,
    /// Arm.
    pub arm: String,
    /// Goodput in each second, Mbit/s.
    pub x_mbps: Vec<f64>,
}

/// A run over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Courses {
    /// The arm under test in this run: the algorithm or the baseline.
    pub seat: String,
    /// Flows, at most eight.
    pub flows: Vec<Course>,
    /// Longest queueing delay in each second, ms; empty if unknown.
    pub queue_ms: Vec<f64>,
    /// Packets dropped in each second; empty if unknown.
    pub dropped: Vec<u64>,
}

/// One cell with one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// The cell.
    pub cell: String,
    /// Description.
    pub about: String,
    /// The path.
    pub path: String,
    /// The seed.
    pub seed: u64,
    /// Measured value of each of its rules.
    pub figures: Vec<Figure>,
    /// The algorithm's run and the baseline's.
    pub runs: Vec<Courses>,
}

/// Runs one cell with one seed.
///
/// # Errors
/// One line if there is no such cell (with the most similar name), or it cannot be run.
pub fn place(evaluation: &Evaluation, cell: &str, seed: u64) -> Result<Place, Error> {
    let (cell, about) = find(&evaluation.battery, cell)?;
    let draws = u64::from(evaluation.algorithm.full() == evaluation.baseline.full());
    let bed = evaluation.testbed;
    let run = |arm: &NamedArm, draws, only, honest| {
        Run::of(&cell, Seat { bed, arm, seed, draws, only, sends: true, honest })
    };
    let ours = run(&evaluation.algorithm, 0, None, false)?;
    let theirs = run(&evaluation.baseline, draws, None, false)?;
    let alone = cell.solo.as_deref();
    let alone = alone.map(|role| run(&evaluation.baseline, 0, Some(role), false)).transpose()?;
    let honest = |arm, draws| cell.is_paired().then(|| run(arm, draws, None, true)).transpose();
    let ours = (ours, honest(&evaluation.algorithm, 0)?);
    let theirs = (theirs, honest(&evaluation.baseline, draws)?);
    let figures = cell.judges.iter().map(|judge| {
        let read = |paired: &_| read(paired, alone.as_ref(), judge);
        Ok(Figure {
            metric: judge.metric.clone(),
            of: judge.of.clone(),
            window: judge.window.name(),
            unit: metric_named(&judge.metric)?.unit,
            value: read(&ours),
            baseline: read(&theirs),
        })
    });
    Ok(Place {
        cell: cell.id.clone(),
        about,
        path: cell.path.to_string(),
        seed,
        figures: figures.collect::<Result<_, Error>>()?,
        runs: vec![
            courses(&ours.0, &evaluation.algorithm),
            courses(&theirs.0, &evaluation.baseline),
        ],
    })
}

/// Runs the cells that decided a report's criteria or are concerns once more, to plot them over time, and returns
/// each with its section. Empty on testbeds other than the simulator and for a broken algorithm.
///
/// # Errors
/// Errors of [`place`], or one line if `stop` is set before the last run.
pub fn evidence(
    evaluation: &Evaluation,
    report: &Report,
    stop: &AtomicBool,
) -> Result<Vec<(String, Place)>, Error> {
    if !evaluation.is_simulated() || !report.broken.is_empty() {
        return Ok(Vec::new());
    }
    let drawn = |criterion: &'_ CriterionRow| -> Vec<(String, String, u64)> {
        let cells = criterion.drawn(report.seed).into_iter();
        cells.map(|(cell, seed)| (criterion.section.clone(), cell.to_owned(), seed)).collect()
    };
    let cells: Vec<_> = report.criteria.iter().flat_map(drawn).collect();
    let run = |(section, cell, seed): (String, String, u64)| {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::new("the report was interrupted"));
        }
        Ok((section, place(evaluation, &cell, seed)?))
    };
    cells.into_par_iter().map(run).collect()
}

fn find(battery: &Battery, name: &str) -> Result<(Cell, String), Error> {
    let all: Vec<usize> = (0..battery.criteria.len()).collect();
    let all = cells(battery, &all, Effort::Full)?;
    if let Some(cell) = all.iter().find(|cell| cell.id == name) {
        return Ok((cell.clone(), cell.about(battery).to_owned()));
    }
    let near = firstflight_lab::nearest(name, all.iter().map(|cell| cell.id.as_str()));
    let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    Err(Error::new(format!("no cell `{name}`{near}; `firstflight evaluate --list` lists all")))
}

/// Maximum number of flows shown.
const MOST_FLOWS: usize = 8;

fn courses(run: &Run<'_>, seat: &NamedArm) -> Courses {
    let per_second = (1_000_000_000 / run.every).max(1) as usize;
    let last = run.outcome.delivered.len().saturating_sub(1);
    let seconds =
        || (0..last / per_second).map(|second| (second * per_second, (second + 1) * per_second));
    let flow = |place: usize| {
        let planned = &run.cell.flows[run.flows[place]];
        let bytes = |(from, to): (usize, usize)| {
            run.outcome.delivered[to][place] - run.outcome.delivered[from][place]
        };
        Course {
            role: planned.role.clone(),
            arm: planned.arm.as_ref().unwrap_or(seat).label.clone(),
            x_mbps: seconds().map(|span| bytes(span) as f64 * 8e-6).collect(),
        }
    };
    let queue = |(from, to): (usize, usize)| {
        let [from, to] = [from, to].map(|at| at * (run.every / run.queue_every) as usize);
        let samples = from..to.min(run.outcome.queue.len());
        samples.map(|sample| run.queue_ms(sample)).fold(0.0, f64::max)
    };
    let dropped = |(from, to): (usize, usize)| {
        let sum = |at: usize| {
            let counted = run.outcome.counted.get(at);
            counted.map_or(0, |flows| flows.iter().map(|flow| flow.dropped).sum::<u64>())
        };
        sum(to) - sum(from)
    };
    let knows = !run.outcome.counted.is_empty();
    Courses {
        seat: seat.label.clone(),
        flows: (0..run.flows.len().min(MOST_FLOWS)).map(flow).collect(),
        queue_ms: if run.outcome.queue.is_empty() {
            Vec::new()
        } else {
            seconds().map(queue).collect()
        },
        dropped: if knows { seconds().map(dropped).collect() } else { Vec::new() },
    }
}
