//! Parameters of an arm that suit a population.

use crate::population::Population;
use crate::refused_option;
use crate::supervise::{Run, supervised};
use crate::table::{Batches, Growing, Holds};
use firstflight_lab as lab;
use firstflight_lab::measures::Cell;
use firstflight_lab::request::{TuneRequest, from_pairs};
use firstflight_lab::tune::Watcher;
use pyo3::prelude::*;

/// A planned tuning.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct TunePlan {
    inner: lab::tune::Tune,
}

#[pymethods]
impl TunePlan {
    /// The arm with its ranges, and options with their values as text, parsed like those of the
    /// command line. `named` is the population as the command line names it.
    #[new]
    fn new(
        arm: &str,
        population: &Population,
        named: &str,
        options: Vec<(String, String)>,
    ) -> PyResult<TunePlan> {
        let mut options = options;
        options.insert(0, ("population".to_owned(), named.to_owned()));
        let request = from_pairs::<TuneRequest>(&options);
        let given = Some(population.inner.clone());
        let inner = request
            .and_then(|request| request.tune(arm, &options, given))
            .map_err(|bad| refused_option(&bad))?;
        Ok(TunePlan { inner })
    }

    /// Number of trials, about.
    #[getter]
    fn trials(&self) -> u64 {
        self.inner.trials()
    }

    /// Searches, checks and judges.
    #[pyo3(signature = (threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Tuned> {
        let run = Run::default();
        let work = || {
            let tick = |trials| run.tick(trials);
            self.inner.run(Watcher { tick: &tick, stop: &run.stop })
        };
        Ok(Tuned { inner: supervised(py, &run, threads, progress.as_ref(), work)? })
    }
}

/// A finished tuning.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Tuned {
    inner: lab::tune::Tuned,
}

#[pymethods]
impl Tuned {
    /// The whole result as JSON, the same bytes as `tune --json -`.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// One row per parameter and value of its profile.
    fn profile(&self) -> PyResult<Batches> {
        let texts = ["parameter", "default", "tuned", "value"].map(|name| (name, Holds::Text));
        let reals = ["gain_pct", "time_pct", "loss_points"].map(|name| (name, Holds::Real));
        let mut table = Growing::new(texts.into_iter().chain(reals));
        for of in &self.inner.parameters {
            for point in &of.profile {
                let cells = [
                    Cell::from(&of.name),
                    (&of.default).into(),
                    (&of.tuned).into(),
                    (&point.value).into(),
                    point.gain.into(),
                    point.time_pct.into(),
                    point.loss_points.into(),
                ];
                for (column, cell) in table.columns.iter_mut().zip(cells) {
                    column.cell(cell);
                }
            }
        }
        table.finish()
    }

    /// The report, one self-contained HTML page; it names `command` as its source.
    fn report(&self, command: &str) -> String {
        self.inner.page(command)
    }
}
