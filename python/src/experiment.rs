//! Experiments from TOML files.

use crate::refused;
use firstflight_lab::request::{self, Pairs};
use pyo3::prelude::*;
use std::path::PathBuf;

/// An experiment in a file, and the options that it contains.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Experiment {
    inner: request::Experiment,
}

#[pymethods]
impl Experiment {
    /// Reads a file and checks all its options.
    #[new]
    fn new(file: PathBuf) -> PyResult<Experiment> {
        let inner = request::Experiment::read(&file).map_err(|bad| refused(&bad))?;
        Ok(Experiment { inner })
    }

    /// The title in the file.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.inner.title()
    }

    /// Whether it is an A/B test on a population.
    #[getter]
    fn is_test(&self) -> bool {
        self.inner.is_test()
    }

    /// The options of each part: of the test, or of every path with every size.
    fn parts(&self) -> PyResult<Vec<Pairs>> {
        if self.inner.is_test() {
            return Ok(vec![self.inner.options()]);
        }
        let cells = self.inner.cells().map_err(|bad| refused(&bad))?;
        Ok(cells.into_iter().map(|cell| cell.options).collect())
    }

    /// The whole result as JSON, built from the JSON of each comparison; the same bytes as `run
    /// --json -`.
    fn to_json(&self, comparisons: Vec<String>) -> String {
        self.inner.to_json(comparisons.into_iter())
    }
}
