//! Published numbers compared with ours.

use crate::refused;
use crate::supervise::{Run, supervised};
use crate::table::{Batches, Holds, Spec, of_json};
use firstflight_lab::Error;
use firstflight_papers::{Effort, SOURCES, Scale, reproduce as reproduce_all, source};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Runs the named documents, all if there are none: JSON as `--json -` prints it, and the rows.
/// `tell` hears what is being measured.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    quick: bool,
    threads: Option<usize>,
    tell: Option<Py<PyAny>>,
) -> PyResult<(String, Batches)> {
    let named = names
        .iter()
        .map(|name| source(name))
        .collect::<Result<Vec<_>, Error>>()
        .map_err(|bad| refused(&bad))?;
    let chosen: Vec<_> = SOURCES
        .iter()
        .filter(|source| named.is_empty() || named.iter().any(|name| name.name == source.name))
        .collect();
    let scale = if quick { Scale::Quick } else { Scale::Full };
    let run = Run::default();
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let result = supervised(py, &run, threads, None, || {
        let tell = |what: &str| {
            if let Some(tell) = &tell {
                let error = run.inside.call(|py| tell.call1(py, (what,)).map(|_| ())).err();
                if error.is_some() {
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = error;
                    run.stop.store(true, Ordering::Relaxed);
                }
            }
        };
        reproduce_all(&chosen, &Effort::new(scale, &tell), &run.stop)
    });
    if let Some(error) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let all = result?;
    let rows = all.sources.iter().flat_map(|chapter| {
        chapter.rows.iter().map(|row| {
            let mut row = serde_json::to_value(row).unwrap_or_default();
            if let Some(row) = row.as_object_mut() {
                row.insert("document".into(), chapter.name.into());
            }
            row
        })
    });
    Ok((all.to_json(), of_json(ROWS, rows)?))
}

/// How many measurements it takes, for a bar.
#[pyfunction]
pub(crate) fn reproduce_steps(names: Vec<String>) -> u64 {
    let named = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    SOURCES.iter().filter(|source| named(source.name)).map(|source| source.steps).sum()
}

const ROWS: &[Spec] = &[
    ("document", "/document", Holds::Text),
    ("id", "/id", Holds::Text),
    ("key", "/key", Holds::Text),
    ("gates", "/gates", Holds::Text),
    ("case", "/case", Holds::Text),
    ("claim", "/claim", Holds::Text),
    ("published", "/published/value", Holds::Real),
    ("measure", "/measure", Holds::Text),
    ("ours", "/ours", Holds::Text),
    ("measured", "/measured", Holds::Real),
    ("unit", "/unit", Holds::Text),
    ("low", "/interval/0", Holds::Real),
    ("high", "/interval/1", Holds::Real),
    ("accepted", "/accepted", Holds::Text),
    ("ratio", "/ratio", Holds::Real),
    ("verdict", "/verdict", Holds::Text),
    ("says", "/says", Holds::Text),
    ("note", "/note", Holds::Text),
];
