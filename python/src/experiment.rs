//! Experiments in files.

use crate::refused;
use firstflight_lab::request::{self, Pairs};
use pyo3::prelude::*;
use std::path::PathBuf;

/// An experiment in a file: which options it stands for.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Experiment {
    inner: request::Experiment,
}

#[pymethods]
impl Experiment {
    /// Reads a file; every option of it is checked.
    #[new]
    fn new(file: PathBuf) -> PyResult<Experiment> {
        let inner = request::Experiment::read(&file).map_err(|bad| refused(&bad))?;
        Ok(Experiment { inner })
    }

    /// What the file calls itself.
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

    /// All of it as JSON, out of what each comparison gives, the same bytes as `run --json -`.
    fn to_json(&self, comparisons: Vec<String>) -> String {
        self.inner.to_json(comparisons.into_iter())
    }
}
