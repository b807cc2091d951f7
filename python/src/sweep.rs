//! Sweeps: one comparison at every point of one or two keys.

use crate::startup::{AnyArm, Fault, arms};
use crate::supervise::supervised;
use crate::table::{Batches, Growing, Holds};
use crate::{refuse, refused_option};
use firstflight_lab as lab;
use firstflight_lab::measures::Cell;
use firstflight_lab::request::{CompareRequest, from_pairs};
use firstflight_lab::sweep::{Axis, JUDGED, SweepRow};
use pyo3::prelude::*;

/// A planned sweep.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct SweepPlan {
    inner: lab::sweep::SweepPlan,
    fault: Fault,
}

#[pymethods]
impl SweepPlan {
    /// Keys with their values (`rtt=10ms..300ms:7`), and options with their values as text, parsed
    /// like those of the command line; `given` replaces their arms.
    #[new]
    #[pyo3(signature = (axes, options, given = None))]
    fn new(
        axes: Vec<String>,
        options: Vec<(String, String)>,
        given: Option<Vec<AnyArm>>,
    ) -> PyResult<SweepPlan> {
        let fault = Fault::default();
        let given = given.map(|given| arms(given, &fault)).transpose()?;
        let axis = |text: &String| {
            Axis::parse(text).map_err(|what| refuse(format!("sweep {text}: {what}")))
        };
        let axes = axes.iter().map(axis).collect::<PyResult<Vec<Axis>>>()?;
        let request = from_pairs::<CompareRequest>(&options);
        let inner = request
            .and_then(|request| request.sweep_of(axes, given.as_deref()))
            .map_err(|bad| refused_option(&bad))?;
        Ok(SweepPlan { inner, fault })
    }

    /// Number of trials.
    #[getter]
    fn trials(&self) -> u64 {
        self.inner.trials()
    }

    /// Runs every trial.
    #[pyo3(signature = (threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Sweep> {
        let run = self.fault.run();
        let work = || self.inner.run(&|| run.tick(1), &run.stop);
        let inner = self.fault.or(supervised(py, &run, threads, progress.as_ref(), work))?;
        Ok(Sweep { inner })
    }
}

/// A finished sweep.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Sweep {
    inner: lab::sweep::Sweep,
}

#[pymethods]
impl Sweep {
    /// The whole result as JSON, the same bytes as `compare --sweep ... --json -`.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.inner.complete()
    }

    #[getter]
    fn finding(&self) -> String {
        self.inner.finding()
    }

    #[getter]
    fn arms(&self) -> Vec<String> {
        self.inner.arms().map(str::to_owned).collect()
    }

    /// The keys with their values, in order.
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = &self.inner.plan.axes;
        axes.iter().map(|axis| (axis.key.clone(), axis.values.clone())).collect()
    }

    /// One row per point and arm, preceded by the swept values.
    fn rows(&self) -> PyResult<Batches> {
        let mut table = Growing::beside(self.keys(), SweepRow::MEASURES);
        for (swept, row) in self.inner.rows() {
            table.row(swept.iter().map(|(_, value)| Cell::from(*value)), &row);
        }
        table.finish()
    }

    /// The best arms at each point: one row per measure and point.
    fn best(&self) -> PyResult<Batches> {
        let own = [("measure", Holds::Text), ("arms", Holds::Text), ("margin", Holds::Real)];
        let unit = ("margin_unit", Holds::Text);
        let arms: Vec<&str> = self.inner.arms().collect();
        let mut table = Growing::new(self.keys().into_iter().chain(own).chain([unit]));
        for judged in &JUDGED {
            for (point, best) in self.inner.best(judged).into_iter().enumerate() {
                let Some(best) = best else { continue };
                let who: Vec<&str> = best.arms.iter().map(|arm| arms[*arm]).collect();
                let who = who.join(",");
                let swept = self.inner.plan.swept(point);
                let cells = swept.iter().map(|(_, value)| Cell::from(*value)).chain([
                    judged.key.into(),
                    who.as_str().into(),
                    best.margin.into(),
                    judged.margin_unit.into(),
                ]);
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

impl Sweep {
    fn keys(&self) -> Vec<(&str, Holds)> {
        self.inner.plan.axes.iter().map(|axis| (axis.key.as_str(), Holds::Text)).collect()
    }
}
