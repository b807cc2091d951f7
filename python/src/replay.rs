//! Recorded connections: their replay, and the startup to deploy on their paths.

use crate::supervise::{Run, supervised};
use crate::table::{Batches, Growing, Holds, Spec, of_json};
use crate::{refused, refused_option};
use firstflight_lab::Error;
use firstflight_lab::ab::analysis::Entry;
use firstflight_lab::ab::{Run as AbRun, Watch};
use firstflight_lab::request::from_pairs;
use firstflight_replay::advice::{AdviseRequest, Advised, named, tried};
use firstflight_replay::files::{GroupBy, OnBytes, follow};
use firstflight_replay::replay::Settings;
use firstflight_replay::report::page;
use firstflight_replay::results::Results;
use pyo3::prelude::*;
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of connections that a report plots over time, as in the command.
const LINES: usize = 24;

/// Stops reading when the run is to end.
fn watched(stop: &Arc<AtomicBool>) -> impl Fn(&str, u64) -> OnBytes + use<> {
    let stop = Arc::clone(stop);
    move |_, _| {
        let stop = Arc::clone(&stop);
        Box::new(move |_| {
            if stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("reading was interrupted"));
            }
            Ok(())
        })
    }
}

/// A finished replay of files.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Replayed {
    results: Results,
    files: Vec<PathBuf>,
    arms: String,
    paced: Option<bool>,
    iw: Option<u32>,
    identify: Option<String>,
}

fn settings(
    arms: &str,
    identify: Option<&str>,
    (paced, iw): (Option<bool>, Option<u32>),
    lines: usize,
) -> Result<Settings, Error> {
    let identify = identify.map(tried).transpose()?.unwrap_or_default();
    Ok(Settings { arms: named(arms)?, paced, iw, lines, identify, ..Settings::default() })
}

/// Replays recorded ACKs to startups. `paced` states whether the sender paced; `None` infers it
/// from the first flight. `iw` is its initial window in packets; `None` takes the amount sent
/// before the first ACK. `identify` lists the candidate startups of the sender.
#[pyfunction]
#[pyo3(signature = (files, arms, paced = None, iw = None, identify = None))]
pub(crate) fn replay(
    py: Python<'_>,
    files: Vec<PathBuf>,
    arms: String,
    paced: Option<bool>,
    iw: Option<u32>,
    identify: Option<String>,
) -> PyResult<Replayed> {
    let run = Run::default();
    let results = supervised(py, &run, None, None, || {
        let settings = settings(&arms, identify.as_deref(), (paced, iw), 0)?;
        let (replay, rows) = follow(&files, settings, GroupBy::Trace, &watched(&run.stop))?;
        Ok(Results::new(replay, rows))
    })?;
    Ok(Replayed { results, files, arms, paced, iw, identify })
}

#[pymethods]
impl Replayed {
    /// The same bytes as `replay --json -`.
    fn to_json(&self) -> PyResult<String> {
        self.results.to_json().map_err(|bad| refused(&bad))
    }

    /// Problems with files.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.results.files.iter().filter_map(|file| file.fault.clone()).collect()
    }

    /// Parts of files that were left out, and problems with captured connections.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let files = self.results.files.iter().flat_map(|file| file.notes.clone());
        files.chain(self.results.capture_lines()).collect()
    }

    /// One row per captured connection: the quality of the capture.
    fn captures(&self) -> PyResult<Batches> {
        let rows = self.results.connections.iter().filter_map(|connection| {
            let capture = connection.capture.as_ref()?;
            let mut row = serde_json::to_value(capture).unwrap_or_default();
            if let Some(row) = row.as_object_mut() {
                row.insert("connection".into(), connection.name.as_str().into());
                row.insert("remarks".into(), capture.remarks.join("; ").into());
            }
            Some(row)
        });
        of_json(CAPTURES, rows)
    }

    /// One row per connection and startup.
    fn rows(&self) -> PyResult<Batches> {
        let rows = self.results.connections.iter().flat_map(|connection| {
            let of = serde_json::to_value(connection).unwrap_or_default();
            connection.startups.iter().map(move |startup| {
                let mut row = serde_json::to_value(startup).unwrap_or_default();
                if let Some(row) = row.as_object_mut() {
                    row.insert("of".into(), of.clone());
                }
                row
            })
        });
        of_json(ROWS, rows)
    }

    /// The distribution of the verdicts on each startup over the connections.
    fn verdicts(&self) -> PyResult<Batches> {
        let row = |row| serde_json::to_value(row).unwrap_or_default();
        of_json(VERDICTS, self.results.verdicts.iter().map(row))
    }

    /// One row per connection: the startup that its sender used; no rows without `identify`.
    fn identified(&self) -> PyResult<Batches> {
        let rows = self.results.connections.iter().filter_map(|connection| {
            let identity = connection.identified.as_ref()?;
            let mut row = serde_json::to_value(identity).unwrap_or_default();
            if let Some(row) = row.as_object_mut() {
                row.insert("connection".into(), connection.name.as_str().into());
                row.insert("alike".into(), identity.alike.join(",").into());
            }
            Some(row)
        });
        of_json(IDENTIFIED, rows)
    }

    /// The report, one self-contained HTML page; it names `command` as its source. It reads the
    /// files again.
    fn report(&self, py: Python<'_>, command: &str) -> PyResult<String> {
        let run = Run::default();
        supervised(py, &run, None, None, || {
            let identify = self.identify.as_deref();
            let settings = settings(&self.arms, identify, (self.paced, self.iw), LINES)?;
            let (replay, rows) =
                follow(&self.files, settings, GroupBy::Trace, &watched(&run.stop))?;
            Ok(page(&Results::new(replay, rows), command))
        })
    }
}

/// Columns of identified startups, from `identified` in the JSON.
const IDENTIFIED: &[Spec] = &[
    ("connection", "/connection", Holds::Text),
    ("startup", "/startup", Holds::Text),
    ("alike", "/alike", Holds::Text),
    ("cut", "/cut", Holds::Real),
    ("rounds", "/rounds", Holds::Whole),
    ("idle_rounds", "/idle_rounds", Holds::Whole),
    ("why", "/why", Holds::Text),
];

/// Columns of capture quality, from `capture` in the JSON.
const CAPTURES: &[Spec] = &[
    ("connection", "/connection", Holds::Text),
    ("trust", "/trust", Holds::Text),
    ("vantage", "/vantage", Holds::Text),
    ("share", "/share", Holds::Real),
    ("near_ms", "/near_ms", Holds::Real),
    ("far_ms", "/far_ms", Holds::Real),
    ("added_ms", "/added_ms", Holds::Real),
    ("begins", "/begins", Holds::Flag),
    ("shows_exits", "/shows_exits", Holds::Flag),
    ("doubled", "/doubled", Holds::Whole),
    ("doubled_unsure", "/doubled_unsure", Holds::Whole),
    ("out_of_order", "/out_of_order", Holds::Whole),
    ("unseen_bytes", "/unseen_bytes", Holds::Whole),
    ("options_cut", "/options_cut", Holds::Whole),
    ("tick_ms", "/tick_ms", Holds::Real),
    ("clock_steps", "/clock_steps", Holds::Whole),
    ("largest_step_ms", "/largest_step_ms", Holds::Real),
    ("proxy_ms", "/proxy_ms", Holds::Real),
    ("left_out_bytes", "/left_out_bytes", Holds::Whole),
    ("remarks", "/remarks", Holds::Text),
];

/// The columns of the command's `--format csv`.
const ROWS: &[Spec] = &[
    ("connection", "/of/name", Holds::Text),
    ("transport", "/of/transport", Holds::Text),
    ("min_rtt_ms", "/of/min_rtt_ms", Holds::Real),
    ("best_rate_mbps", "/of/best_rate_mbps", Holds::Real),
    ("bdp_bytes", "/of/bdp_bytes", Holds::Whole),
    ("loss_ratio", "/of/loss_ratio", Holds::Real),
    ("arm", "/arm", Holds::Text),
    ("arm_full", "/arm_full", Holds::Text),
    ("verdict", "/verdict", Holds::Text),
    ("exact", "/exact", Holds::Flag),
    ("reason", "/reason", Holds::Text),
    ("time_ms", "/time_ms", Holds::Real),
    ("ack", "/ack", Holds::Whole),
    ("rounds", "/rounds", Holds::Whole),
    ("cwnd", "/cwnd", Holds::Whole),
    ("bdp_ratio", "/bdp_ratio", Holds::Real),
    ("inflight", "/inflight", Holds::Whole),
    ("used_ratio", "/used_ratio", Holds::Real),
    ("estimate", "/estimate", Holds::Real),
    ("estimate_unit", "/estimate_unit", Holds::Text),
    ("rate_then_mbps", "/rate_then_mbps", Holds::Real),
    ("rate_ratio", "/rate_ratio", Holds::Real),
    ("aim_bytes", "/aim_bytes", Holds::Whole),
    ("aim_ratio", "/aim_ratio", Holds::Real),
    ("aim_ms", "/aim_ms", Holds::Real),
    ("cwnd_end", "/cwnd_end", Holds::Whole),
];

const VERDICTS: &[Spec] = &[
    ("arm", "/arm", Holds::Text),
    ("connections", "/connections", Holds::Whole),
    ("early", "/early", Holds::Whole),
    ("right", "/right", Holds::Whole),
    ("late", "/late", Holds::Whole),
    ("silent", "/silent", Holds::Whole),
    ("bdp_ratio_p10", "/bdp_ratio_p10", Holds::Real),
    ("bdp_ratio_p50", "/bdp_ratio_p50", Holds::Real),
    ("bdp_ratio_p90", "/bdp_ratio_p90", Holds::Real),
];

/// A recommendation.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Advice {
    inner: Advised,
}

/// Recommends a startup from captures; options and their values are text, parsed like those of the
/// command line.
#[pyfunction]
#[pyo3(signature = (files, options, threads = None, progress = None))]
pub(crate) fn advise(
    py: Python<'_>,
    files: Vec<PathBuf>,
    options: Vec<(String, String)>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Advice> {
    let request = from_pairs::<AdviseRequest>(&options).map_err(|bad| refused_option(&bad))?;
    let run = Run::default();
    let result = supervised(py, &run, threads, progress.as_ref(), || {
        let asked = request.read(&files, &watched(&run.stop))?;
        let tick = |steps| run.tick(steps);
        let mut watch = Watch { tick: &tick, stop: &run.stop, rows: None };
        let tallies = asked.test.run(&AbRun::default(), &mut watch)?;
        Ok(asked.answer(&tallies))
    });
    Ok(Advice { inner: result? })
}

#[pymethods]
impl Advice {
    /// The same bytes as `advise --json -`.
    fn to_json(&self) -> PyResult<String> {
        self.inner.to_json().map_err(|bad| refused(&bad))
    }

    /// The recommended arm, in a sentence, or the reason why none is recommended.
    #[getter]
    fn finding(&self) -> String {
        self.inner.advice.finding.clone()
    }

    /// The lines of the command: topic and text of each.
    #[getter]
    fn lines(&self) -> Vec<(String, String)> {
        let lines = self.inner.advice.lines.iter();
        lines.map(|line| (line.about.to_string(), line.text.clone())).collect()
    }

    /// The A/B test: one row per part of the connections and arm.
    fn results(&self) -> PyResult<Batches> {
        let mut table = Growing::of(Entry::MEASURES);
        for entry in &self.inner.analysis.results {
            table.row([], entry);
        }
        table.finish()
    }

    /// The observed paths: one row per connection.
    fn paths(&self) -> PyResult<Batches> {
        let row = |row| serde_json::to_value(row).unwrap_or_default();
        let rows: Vec<Value> = self.inner.evidence.paths.iter().map(row).collect();
        of_json(PATHS, rows)
    }

    /// The report; it names `command` as its source.
    fn report(&self, command: &str) -> String {
        self.inner.page(command)
    }
}

const PATHS: &[Spec] = &[
    ("name", "/name", Holds::Text),
    ("origin", "/origin", Holds::Text),
    ("transport", "/transport", Holds::Text),
    ("bytes", "/bytes", Holds::Whole),
    ("rtt_ms", "/rtt_ms", Holds::Real),
    ("rate_mbps", "/rate_mbps", Holds::Real),
    ("rate_is_lower_bound", "/rate_is_lower_bound", Holds::Flag),
    ("buffer_ms", "/buffer_ms", Holds::Real),
    ("loss_pct", "/loss_pct", Holds::Real),
];
