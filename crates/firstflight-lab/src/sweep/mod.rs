//! A sweep: one comparison at every point of one or two keys of a path, or of the object size.
//!
//! Arms and seeds are the same at every point, so that neighbouring points differ only in the path.
//! The result is one row per point and arm ([`SweepRow`]), and the best arm at each point by each
//! measure ([`Sweep::best`]).

mod axis;
mod best;
mod rows;

pub use axis::{Axis, BYTES};
pub use best::{Best, JUDGED, Judged};
pub use rows::SweepRow;

use crate::compare::{Comparison, Keep, Plan, Watch};
use crate::phase::PHASE;
use crate::size;
use firstflight_path::{Error, Path};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of keys of a sweep.
const MOST_AXES: usize = 2;
/// Maximum number of points of a sweep.
const MOST_POINTS: usize = 2_500;

/// Note on phase for several points.
const MOVES: &str = "loss, time or the fastest arm changes if the RTT changes by up to 0.5 ms";

/// Plan of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The keys with their values; one or two.
    pub axes: Vec<Axis>,
    /// The path as requested, before any swept value is set.
    pub base: String,
    /// The comparison at each point, with values of the last key adjacent.
    pub points: Vec<Plan>,
}

/// The keys of these axes with their values at a point; values of the last key are adjacent.
pub(crate) fn swept<'a>(axes: &[(&'a str, &'a [String])], point: usize) -> Vec<(&'a str, &'a str)> {
    let mut rest = point;
    let mut swept: Vec<(&str, &str)> = Vec::with_capacity(axes.len());
    for (key, values) in axes.iter().rev() {
        swept.push((key, &values[rest % values.len()]));
        rest /= values.len();
    }
    swept.reverse();
    swept
}

/// Result.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The plan of the sweep.
    pub plan: SweepPlan,
    /// The comparisons, in the order of the plan's points; `None` if the run was stopped earlier.
    pub points: Vec<Option<Comparison>>,
}

impl SweepPlan {
    /// The plan of these axes over the path `base`; `on` makes the comparison on a path, with
    /// another object size if one is given.
    ///
    /// # Errors
    /// A one-line message: no key or too many keys, too many points, or an error from `on` or from
    /// the path.
    pub fn new(
        axes: Vec<Axis>,
        base: &str,
        on: impl Fn(Path, Option<u64>) -> Result<Plan, Error>,
    ) -> Result<SweepPlan, Error> {
        if axes.is_empty() || axes.len() > MOST_AXES {
            let count = axes.len();
            return Err(Error::new(format!("--sweep: {count} keys; allowed: one or two")));
        }
        if axes.len() == 2 && axes[0].key == axes[1].key {
            return Err(Error::new(format!("--sweep {}: given twice", axes[0].key)));
        }
        let count: usize = axes.iter().map(|axis| axis.values.len()).product();
        if count > MOST_POINTS {
            return Err(Error::new(format!(
                "--sweep: {count} points; allowed: at most {MOST_POINTS}"
            )));
        }
        let mut plan = SweepPlan { axes, base: base.to_owned(), points: Vec::new() };
        let points = (0..count).map(|point| {
            let at = plan.point(point, &on)?;
            Ok(Plan { stages: at.stages.map(|stages| stages.shared_by(count)), ..at })
        });
        plan.points = points.collect::<Result<_, Error>>()?;
        Ok(plan)
    }

    fn point(
        &self,
        point: usize,
        on: &impl Fn(Path, Option<u64>) -> Result<Plan, Error>,
    ) -> Result<Plan, Error> {
        let (mut changes, mut bytes) = (Vec::new(), None);
        for (key, value) in self.swept(point) {
            if key == BYTES {
                let size = size::parse(value);
                let wrong = |what| Error::new(format!("--sweep {BYTES}: {value} {what}"));
                bytes = Some(size.map_err(wrong)?);
            } else {
                changes.push((key, value));
            }
        }
        on(Path::parse_with(&self.base, &changes)?, bytes)
    }

    /// The keys with their values at a point.
    pub fn swept(&self, point: usize) -> Vec<(&str, &str)> {
        let axes: Vec<(&str, &[String])> =
            self.axes.iter().map(|axis| (axis.key.as_str(), axis.values.as_slice())).collect();
        swept(&axes, point)
    }

    /// Largest number of trials.
    pub fn trials(&self) -> u64 {
        let of = |plan: &Plan| plan.arms.len() as u64 * u64::from(plan.repeat);
        self.points.iter().map(of).sum()
    }

    /// Runs every trial, in parallel on the current thread pool; the result does not depend on the
    /// number of threads. `tick` is called once per finished trial. If `stop` is set, the result
    /// has the points finished by then.
    ///
    /// # Errors
    /// Errors of [`Plan::run_with`] at any point; all plans are checked before the first trial.
    /// One line if it is stopped before the first point is finished.
    pub fn run(&self, tick: &(impl Fn() + Sync), stop: &AtomicBool) -> Result<Sweep, Error> {
        self.points.iter().try_for_each(Plan::check)?;
        let all = self.points.len();
        let watch = Watch { tick, stop, partly: false };
        let run = |plan: &Plan| match plan.run_stages(all, Keep::Rows, None, &watch) {
            Ok(comparison) => Ok(Some(comparison)),
            Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
            Err(error) => Err(error),
        };
        let points: Vec<Option<Comparison>> =
            self.points.par_iter().map(run).collect::<Result<_, Error>>()?;
        if points.iter().all(Option::is_none) {
            return Err(Error::new("stopped before any point of the sweep was complete"));
        }
        Ok(Sweep { plan: self.clone(), points })
    }
}

impl Sweep {
    /// The arms, as requested.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        self.plan.points.iter().take(1).flat_map(|plan| &plan.arms).map(|arm| arm.label.as_str())
    }

    /// The fewest and the most trials of an arm at a point.
    pub fn trials_of_each(&self) -> (u32, u32) {
        let trials = || self.points.iter().flatten().map(|point| point.plan.repeat);
        (trials().min().unwrap_or(1), trials().max().unwrap_or(1))
    }

    /// Number of finished points.
    pub fn through(&self) -> usize {
        self.points.iter().flatten().count()
    }

    /// Whether every point is finished, and every trial finished within the limit.
    pub fn complete(&self) -> bool {
        self.points.iter().all(|point| point.as_ref().is_some_and(Comparison::complete))
    }

    /// Caveats, with the number of points to which each applies.
    pub fn warnings(&self) -> Vec<String> {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for warning in self.points.iter().flatten().flat_map(|point| &point.warnings) {
            // The note's numbers differ from point to point.
            let warning = if warning.starts_with(PHASE) { MOVES } else { warning };
            match counted.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, count)) => *count += 1,
                None => counted.push((warning, 1)),
            }
        }
        let points = self.through();
        let line =
            |(warning, count): (&str, usize)| format!("at {count} of {points} points: {warning}");
        counted.into_iter().map(line).collect()
    }
}
