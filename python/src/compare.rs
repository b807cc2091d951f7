//! Comparisons.

use crate::startup::{AnyArm, Fault, arms};
use crate::supervise::supervised;
use crate::table::{Batches, Growing, Holds};
use crate::{refuse, refused, refused_option};
use firstflight_lab as lab;
use firstflight_lab::Error;
use firstflight_lab::compare::{Keep, Watch};
use firstflight_lab::measures::Cell;
use firstflight_lab::repeat::SummaryRow;
use firstflight_lab::request::{Answer, Asked, CompareRequest, from_pairs};
use firstflight_lab::sharing::{SharedFlowRow, SharingRow};
use firstflight_lab::table::{FIRST_MEASURE, cell_words};
use firstflight_lab::trial::{EpisodeRow, TrialRow, ms};
use pyo3::prelude::*;

/// The requested comparison.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Plan {
    asked: Asked,
    fault: Fault,
}

#[pymethods]
impl Plan {
    /// Options and their values as text, parsed like those of the command line; `given` replaces
    /// their arms.
    #[new]
    #[pyo3(signature = (options, given = None))]
    fn new(options: Vec<(String, String)>, given: Option<Vec<AnyArm>>) -> PyResult<Plan> {
        let fault = Fault::default();
        let given = given.map(|given| arms(given, &fault)).transpose()?;
        let request = from_pairs::<CompareRequest>(&options);
        let asked = request
            .and_then(|request| request.asked_of(given.as_deref()))
            .map_err(|bad| refused_option(&bad))?;
        Ok(Plan { asked, fault })
    }

    /// Number of trials.
    #[getter]
    fn trials(&self) -> u64 {
        self.asked.trials()
    }

    /// Runs every trial.
    #[pyo3(signature = (threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Comparison> {
        let run = self.fault.run();
        let work = || self.asked.run(Keep::Rows, &|| run.tick(1), &run.stop);
        let inner = self.fault.or(supervised(py, &run, threads, progress.as_ref(), work))?;
        Ok(Comparison { inner, fault: self.fault.clone(), threads })
    }
}

/// Runs a comparison of one flow at a time again and records its events.
fn again(
    py: Python<'_>,
    plan: &lab::Plan,
    keep: Keep,
    fault: &Fault,
    threads: Option<usize>,
) -> PyResult<lab::Comparison> {
    let run = fault.run();
    fault.or(supervised(py, &run, threads, None, || {
        let tick = || run.tick(1);
        plan.run_with(keep, None, &Watch { tick: &tick, stop: &run.stop, partly: false })
    }))
}

/// A comparison that has run.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Comparison {
    inner: Answer,
    fault: Fault,
    threads: Option<usize>,
}

/// Label, unit and explanation of a column, as shown.
type Shown = (String, String, String);
/// An arm and its cells: text, and whether it is the best of its column.
type ShownRow = (String, Vec<(String, bool)>);

#[pymethods]
impl Comparison {
    /// The whole comparison as JSON, the same bytes as `--json`.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    /// The finding, in one or two sentences.
    #[getter]
    fn finding(&self) -> String {
        self.inner.finding()
    }

    /// One row per arm over all its trials.
    fn summary(&self) -> PyResult<Batches> {
        let repeats = match &self.inner {
            Answer::Alone(comparison) => comparison.repeats(),
            Answer::Together(sharing) => sharing.repeats(),
        };
        let mut table = Growing::of(SummaryRow::MEASURES);
        for row in repeats.summary() {
            table.row([], &row);
        }
        table.finish()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.inner.complete()
    }

    #[getter]
    fn arms(&self) -> Vec<String> {
        self.plan().arms.iter().map(|arm| arm.label.clone()).collect()
    }

    /// The comparison with all defaults filled in, as JSON.
    fn experiment(&self) -> PyResult<String> {
        match &self.inner {
            Answer::Alone(comparison) => json(&comparison.resolved()),
            Answer::Together(sharing) => json(&sharing.resolved()),
        }
    }

    /// One row per trial; with several flows, one row per flow, preceded by the arm of its trial.
    fn rows(&self) -> PyResult<Batches> {
        match &self.inner {
            Answer::Alone(_) => self.trials(),
            Answer::Together(sharing) => {
                let mut table =
                    Growing::beside([("trial_arm", Holds::Text)], SharedFlowRow::MEASURES);
                for trial in &sharing.rows {
                    for flow in &trial.flows {
                        table.row([Cell::from(&trial.arm)], flow);
                    }
                }
                table.finish()
            }
        }
    }

    /// One row per trial.
    fn trials(&self) -> PyResult<Batches> {
        match &self.inner {
            Answer::Alone(comparison) => {
                let mut table = Growing::of(TrialRow::MEASURES);
                for row in &comparison.rows {
                    table.row([], row);
                }
                table.finish()
            }
            Answer::Together(sharing) => {
                let mut table = Growing::of(SharingRow::MEASURES);
                for row in &sharing.rows {
                    table.row([], row);
                }
                table.finish()
            }
        }
    }

    /// One row per recovery episode.
    fn episodes(&self) -> PyResult<Batches> {
        let mut table =
            Growing::beside([("arm", Holds::Text), ("seed", Holds::Whole)], EpisodeRow::MEASURES);
        let flows: Vec<&TrialRow> = match &self.inner {
            Answer::Alone(comparison) => comparison.rows.iter().collect(),
            Answer::Together(sharing) => {
                sharing.rows.iter().flat_map(|trial| &trial.flows).map(|flow| &flow.flow).collect()
            }
        };
        for row in flows {
            for episode in row.episodes.iter().flatten() {
                table.row([Cell::from(&row.arm), row.seed.into()], episode);
            }
        }
        table.finish()
    }

    /// The printed table: columns, and rows of cells.
    fn shown(&self) -> (Vec<Shown>, Vec<ShownRow>) {
        let table = self.inner.table();
        let columns = table.columns().iter().skip(FIRST_MEASURE);
        let columns =
            columns.map(|column| (column.name.clone(), column.unit.clone(), column.doc.clone()));
        let rows = (0..table.len()).map(|row| {
            let cells = (FIRST_MEASURE..table.columns().len()).map(|at| {
                let look = table.look(row, at);
                let near = if look.near { " ≈" } else { "" };
                (cell_words(&table, row, at) + near, look.bold)
            });
            (cell_words(&table, row, 0), cells.collect())
        });
        (columns.collect(), rows.collect())
    }

    /// The report, one self-contained HTML page; it names `command` as its source.
    fn report(&self, py: Python<'_>, command: &str) -> PyResult<String> {
        let plan = &self.alone("report")?.plan;
        let kept = again(py, plan, Keep::Events, &self.fault, self.threads)?;
        Ok(kept.report(command).to_html())
    }

    /// Every event of each arm's first trial, with the algorithms' internal signals.
    fn trace(&self, py: Python<'_>) -> PyResult<Batches> {
        let plan = lab::Plan { repeat: 1, stages: None, ..self.alone("trace")?.plan.clone() };
        let kept = again(py, &plan, Keep::Signals, &self.fault, self.threads)?;
        let mut names: Vec<&'static str> = Vec::new();
        for record in &kept.records {
            names.extend(
                record
                    .names()
                    .iter()
                    .filter(|name| !names.contains(name))
                    .copied()
                    .collect::<Vec<_>>(),
            );
        }
        let mut spec = vec![
            ("arm", Holds::Name),
            ("time_ms", Holds::Real),
            ("event", Holds::Name),
            ("phase", Holds::Name),
        ];
        spec.extend(["cwnd", "ssthresh", "inflight"].map(|name| (name, Holds::Whole)));
        spec.extend(["pacing_mbps", "rtt_ms", "min_rtt_ms"].map(|name| (name, Holds::Real)));
        spec.extend(
            ["delivered_bytes", "lost_bytes", "queue_bytes"].map(|name| (name, Holds::Whole)),
        );
        spec.extend(names.iter().map(|name| (*name, Holds::Whole)));
        let fixed = spec.len() - names.len();
        let mut table = Growing::new(spec);
        for (arm, record) in kept.plan.arms.iter().zip(&kept.records) {
            for moment in record.moments() {
                let state = &moment.state;
                let (own, signals) = table.columns.split_at_mut(fixed);
                let [
                    label,
                    time,
                    event,
                    phase,
                    cwnd,
                    ssthresh,
                    inflight,
                    pacing,
                    rtt,
                    min_rtt,
                    delivered,
                    lost,
                    queue,
                ] = own
                else {
                    break;
                };
                label.text(Some(&arm.label));
                time.real(Some(ms(state.now.0)));
                event.text(Some(state.event.name()));
                phase.text(Some(state.phase.name()));
                cwnd.whole(Some(state.cwnd));
                ssthresh.whole(state.ssthresh);
                inflight.whole(Some(state.inflight));
                pacing.real(state.pacing_rate.map(|rate| rate as f64 * 8e-6));
                rtt.real(state.rtt.map(|rtt| ms(rtt.0)));
                min_rtt.real(state.min_rtt.map(|rtt| ms(rtt.0)));
                delivered.whole(Some(state.delivered));
                lost.whole(Some(state.lost));
                queue.whole(Some(state.queue));
                for (name, column) in names.iter().zip(signals) {
                    let index = record.names().iter().position(|known| known == name);
                    column.whole(
                        index.and_then(|index| moment.signals.get(index).copied().flatten()),
                    );
                }
            }
        }
        table.finish()
    }

    /// The bound: when the first byte can arrive, in ms, and the rate of the rest, in Mbit/s;
    /// `None` for a rate that varies.
    fn ideal(&self) -> Option<(f64, f64)> {
        let Answer::Alone(comparison) = &self.inner else { return None };
        comparison.ideal().map(|(start, rate)| (ms(start.0), rate as f64 / 1e6))
    }
}

impl Comparison {
    fn plan(&self) -> &lab::Plan {
        match &self.inner {
            Answer::Alone(comparison) => &comparison.plan,
            Answer::Together(sharing) => &sharing.plan.plan,
        }
    }

    /// The comparison, for functions that handle only one flow.
    fn alone(&self, what: &str) -> PyResult<&lab::Comparison> {
        match &self.inner {
            Answer::Alone(comparison) => Ok(comparison),
            Answer::Together(_) => Err(refuse(format!(
                "{what}: shows one flow alone; leave out flows, apart, cross and app"
            ))),
        }
    }
}

/// A lab object as JSON text, for objects that contain only numbers and strings.
///
/// # Errors
/// Never for objects of the lab.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| refused(&Error::new(error.to_string())))
}
