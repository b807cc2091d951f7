//! Comparisons.

use crate::startup::{AnyArm, Fault, arms};
use crate::supervise::{Run, supervised};
use crate::table::{Batches, Growing, Holds};
use crate::{refuse, refused};
use firstflight::Nanos;
use firstflight_lab::compare::Keep;
use firstflight_lab::measures::Cell;
use firstflight_lab::report::Value;
use firstflight_lab::table::{figure, table};
use firstflight_lab::trial::{EpisodeRow, TrialRow, ms};
use firstflight_lab::{Bad, Hosts, Plan, Scenario, Testbeds, hosts_of_tcp, size};
use firstflight_path::Path;
use pyo3::prelude::*;
use std::ops::RangeInclusive;

/// A whole number of a range, refused in the words of the command line.
///
/// # Errors
/// One line that names the option.
pub fn count(option: &str, text: &str, range: RangeInclusive<u64>, unit: &str) -> PyResult<u64> {
    size::count(text, range, unit).map_err(|line| refuse(format!("{option} {text}: {line}")))
}

/// How long something may take, as the command line reads it.
///
/// # Errors
/// One line.
pub fn time_limit(text: &str, most: u64) -> PyResult<Nanos> {
    size::limit(text, most).map_err(|line| refuse(format!("limit {text}: {line}")))
}

/// The hosts that transport and loss detection name.
///
/// # Errors
/// One line.
pub fn hosts(transport: &str, detection: Option<&str>) -> PyResult<Hosts> {
    match (transport, detection) {
        ("quic", None) => Ok(Hosts::default()),
        ("quic", Some(_)) => Err(refuse("detection: QUIC has its own; it goes with transport `tcp`".into())),
        ("tcp", name) => hosts_of_tcp(name.unwrap_or("rack")).map_err(|bad| refused(&bad)),
        (other, _) => Err(refuse(format!("transport {other}: unknown value; allowed: quic, tcp"))),
    }
}

/// Compares arms on a path. Numbers come as text, as on the command line.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of a command")]
pub fn compare(
    py: Python<'_>,
    given: Vec<AnyArm>,
    path: &str,
    bytes: &str,
    seed: &str,
    repeat: &str,
    iw: &str,
    limit: &str,
    on: &str,
    transport: &str,
    detection: Option<&str>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let fault = Fault::default();
    let testbed = Testbeds::default().find(on).map_err(|bad| refused(&bad))?;
    let plan = Plan {
        arms: arms(given, &fault)?,
        testbed,
        scenario: Scenario {
            iw: count("iw", iw, 1..=1000, "packets")? as u32,
            limit: time_limit(limit, 86_400)?,
            host: testbed.info().only_hosts().map_or_else(|| hosts(transport, detection), Ok)?,
            ..Scenario::new(
                Path::parse(path).map_err(|error| refuse(error.to_string()))?,
                size::parse(bytes).map_err(|line| refuse(format!("bytes {bytes}: {line}")))?,
            )
        },
        seed: count("seed", seed, 0..=u64::MAX, "")?,
        repeat: count("repeat", repeat, 1..=100_000, "")? as u32,
    };
    let inner = run(py, &plan, Keep::Rows, &fault, threads, progress.as_ref())?;
    Ok(Comparison { inner, fault, threads })
}

fn run(
    py: Python<'_>,
    plan: &Plan,
    keep: Keep,
    fault: &Fault,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<firstflight_lab::Comparison> {
    let run = Run::default();
    fault.or(supervised(py, &run, threads, progress, || plan.run_until(keep, None, &|| run.tick(1), &run.stop)))
}

/// A comparison that has run.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Comparison {
    inner: firstflight_lab::Comparison,
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
        self.inner.warnings.clone()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.inner.complete()
    }

    #[getter]
    fn arms(&self) -> Vec<String> {
        self.inner.plan.arms.iter().map(|arm| arm.label.clone()).collect()
    }

    /// What was compared, as JSON.
    fn experiment(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.plan.resolved()).map_err(|error| refuse(error.to_string()))
    }

    /// One row per trial.
    fn rows(&self) -> PyResult<Batches> {
        let mut table = Growing::of(TrialRow::MEASURES);
        for row in &self.inner.rows {
            table.row([], row);
        }
        table.finish()
    }

    /// One row per recovery episode.
    fn episodes(&self) -> PyResult<Batches> {
        let mut table = Growing::beside([("arm", Holds::Text), ("seed", Holds::Whole)], EpisodeRow::MEASURES);
        for row in &self.inner.rows {
            for episode in row.episodes.iter().flatten() {
                table.row([Cell::Text(&row.arm), Cell::Whole(row.seed)], episode);
            }
        }
        table.finish()
    }

    /// The table for people: columns, and rows of cells.
    fn shown(&self) -> (Vec<Shown>, Vec<ShownRow>) {
        let table = table(&self.inner);
        let columns = table.columns.iter().map(|column| (column.label.clone(), column.unit.clone(), column.explanation.clone())).collect();
        let rows = table.rows.iter().map(|row| {
            let cells = table.columns.iter().enumerate().map(|(index, column)| {
                let text = match &row.values[index] {
                    Value::Number(value) => figure(*value, &column.unit),
                    Value::Text(text) => text.clone(),
                    Value::Missing => "-".into(),
                };
                (text, row.best.contains(&column.key))
            });
            (row.arm.clone(), cells.collect())
        });
        (columns, rows.collect())
    }

    /// The report, one self-contained HTML page; `command` is what it says made it.
    fn report(&self, py: Python<'_>, command: &str) -> PyResult<String> {
        let kept = run(py, &self.inner.plan, Keep::Events, &self.fault, self.threads, None)?;
        Ok(kept.report(command).to_html())
    }

    /// Every event of each arm's first trial, with the algorithms' inner signals.
    fn trace(&self, py: Python<'_>) -> PyResult<Batches> {
        let plan = Plan { repeat: 1, ..self.inner.plan.clone() };
        let kept = run(py, &plan, Keep::Signals, &self.fault, self.threads, None)?;
        let mut names: Vec<&'static str> = Vec::new();
        for record in &kept.records {
            names.extend(record.names().iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
        }
        let mut spec = vec![("arm", Holds::Name), ("time_ms", Holds::Real), ("event", Holds::Name), ("phase", Holds::Name)];
        spec.extend(["cwnd", "ssthresh", "inflight"].map(|name| (name, Holds::Whole)));
        spec.extend(["pacing_mbps", "rtt_ms", "min_rtt_ms"].map(|name| (name, Holds::Real)));
        spec.extend(["delivered_bytes", "lost_bytes", "queue_bytes"].map(|name| (name, Holds::Whole)));
        spec.extend(names.iter().map(|name| (*name, Holds::Whole)));
        let fixed = spec.len() - names.len();
        let mut table = Growing::new(spec);
        for (arm, record) in kept.plan.arms.iter().zip(&kept.records) {
            for moment in record.moments() {
                let state = &moment.state;
                let (own, signals) = table.columns.split_at_mut(fixed);
                let [label, time, event, phase, cwnd, ssthresh, inflight, pacing, rtt, min_rtt, delivered, lost, queue] = own else {
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
                    column.whole(index.and_then(|index| moment.signals.get(index).copied().flatten()));
                }
            }
        }
        table.finish()
    }

    /// What the bound is: when the first byte can arrive, ms, and how fast the rest follows,
    /// Mbit/s; nothing for a rate that varies.
    fn ideal(&self) -> Option<(f64, f64)> {
        self.inner.ideal().map(|(start, rate)| (ms(start.0), rate as f64 / 1e6))
    }
}

/// Something of the lab as JSON text; for what holds only numbers and strings.
///
/// # Errors
/// Never for objects of the lab.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| refused(&Bad(error.to_string())))
}
