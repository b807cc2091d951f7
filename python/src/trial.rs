//! Field tests: the analysis of a table of connections.

use crate::supervise::{Run, supervised};
use crate::table::{Batches, Holds, Spec, of_json};
use crate::{refused, refused_option};
use firstflight_lab::field::{Answer, FieldRequest};
use firstflight_lab::request::from_pairs;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

/// Result of a field test.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct TrialAnswer {
    inner: Answer,
}

/// Computes effects from tables; options and their values are text, parsed like those of the
/// command line.
#[pyfunction]
pub(crate) fn trial_analyse(
    py: Python<'_>,
    files: Vec<PathBuf>,
    options: Vec<(String, String)>,
) -> PyResult<TrialAnswer> {
    let request = from_pairs::<FieldRequest>(&options).map_err(|bad| refused_option(&bad))?;
    let run = Run::default();
    let inner = supervised(py, &run, None, None, || request.answer_until(&files, &run.stop))?;
    Ok(TrialAnswer { inner })
}

fn table<R: Serialize>(spec: &'static [Spec], rows: &[R]) -> PyResult<Batches> {
    of_json(spec, rows.iter().map(|row| serde_json::to_value(row).unwrap_or_default()))
}

#[pymethods]
impl TrialAnswer {
    /// The same bytes as `trial analyse --json -`.
    fn to_json(&self) -> PyResult<String> {
        self.inner.to_json().map_err(|bad| refused(&bad))
    }

    /// The finding, in a sentence.
    #[getter]
    fn finding(&self) -> String {
        self.inner.finding.clone()
    }

    /// Reasons to doubt the result.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    /// One row per arm except the baseline.
    fn results(&self) -> PyResult<Batches> {
        table(RESULTS, &self.inner.results)
    }

    /// Effects by size and by round trip.
    fn parts(&self) -> PyResult<Batches> {
        table(PARTS, &self.inner.parts)
    }

    /// The report; it names `command` as its source.
    fn report(&self, command: &str) -> String {
        self.inner.page(command)
    }
}

const RESULTS: &[Spec] = &[
    ("arm", "/arm", Holds::Text),
    ("reduction_pct", "/reduction_pct/value", Holds::Real),
    ("reduction_pct_low", "/reduction_pct/low", Holds::Real),
    ("reduction_pct_high", "/reduction_pct/high", Holds::Real),
    ("always_valid_pct_low", "/always_valid_pct/low", Holds::Real),
    ("always_valid_pct_high", "/always_valid_pct/high", Holds::Real),
    ("p", "/p", Holds::Real),
    ("stands", "/stands", Holds::Flag),
    ("rows", "/rows", Holds::Whole),
    ("units", "/units", Holds::Whole),
    ("strata", "/strata", Holds::Whole),
    ("rows_left_out", "/rows_left_out", Holds::Whole),
    ("stopped_by", "/stopped_by", Holds::Text),
];

const PARTS: &[Spec] = &[
    ("part", "/part", Holds::Text),
    ("name", "/name", Holds::Text),
    ("arm", "/arm", Holds::Text),
    ("reduction_pct", "/reduction_pct/value", Holds::Real),
    ("reduction_pct_low", "/reduction_pct/low", Holds::Real),
    ("reduction_pct_high", "/reduction_pct/high", Holds::Real),
    ("rows", "/rows", Holds::Whole),
    ("p", "/p", Holds::Real),
    ("stands", "/stands", Holds::Flag),
];
