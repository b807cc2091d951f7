//! A/B tests, complete or for ranges of their connections.

use crate::compare::json;
use crate::population::Population;
use crate::startup::{AnyArm, Fault, arms};
use crate::supervise::supervised;
use crate::table::{Batches, Growing};
use crate::{refuse, refused, refused_option};
use firstflight_lab::Error;
use firstflight_lab::ab::analysis::{Entry, PercentileRow};
use firstflight_lab::ab::rows::{ConnectionRow, Row};
use firstflight_lab::ab::{self, Analysis, Experiment, Run as AbRun, Tallies, Watch, shard};
use firstflight_lab::request::{AbRequest, from_pairs};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// An A/B test.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Test {
    inner: ab::Test,
    fault: Fault,
}

#[pymethods]
impl Test {
    /// Options and their values as text, parsed like those of the command line; `baseline` and
    /// `given` replace their arms.
    #[new]
    #[pyo3(signature = (population, options, baseline = None, given = None))]
    fn new(
        population: &Population,
        options: Vec<(String, String)>,
        baseline: Option<AnyArm>,
        given: Option<Vec<AnyArm>>,
    ) -> PyResult<Test> {
        let fault = Fault::default();
        let baseline = baseline
            .map(|arm| arms(vec![arm], &fault))
            .transpose()?
            .and_then(|mut arms| arms.pop());
        let given = given.map(|given| arms(given, &fault)).transpose()?;
        let population = Some(population.inner.clone());
        let request = from_pairs::<AbRequest>(&options);
        let inner = request
            .and_then(|request| request.test_of(population, baseline, given))
            .map_err(|bad| refused_option(&bad))?;
        Ok(Test { inner, fault })
    }

    /// Number of blocks of connections.
    #[getter]
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    /// Connections per block; the last block may have fewer.
    #[getter]
    fn block(&self) -> u64 {
        self.inner.block()
    }

    #[getter]
    fn flows(&self) -> u64 {
        self.inner.flows
    }

    /// Hash, as text, of everything that affects results.
    #[getter]
    fn hash(&self) -> String {
        format!("{:016x}", self.inner.experiment().hash())
    }

    /// The test with all defaults filled in, as JSON.
    fn experiment(&self) -> PyResult<String> {
        json(&self.inner.experiment())
    }

    /// Runs some blocks, or all if `blocks` is `None`. `rows` receives a table of every connection
    /// and arm after each block; `resume` is a folder with a file for every finished block.
    #[pyo3(signature = (blocks = None, threads = None, progress = None, rows = None, resume = None))]
    fn run(
        &self,
        py: Python<'_>,
        blocks: Option<Vec<u64>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        rows: Option<Py<PyAny>>,
        resume: Option<PathBuf>,
    ) -> PyResult<Shard> {
        let run = self.fault.run();
        let test = &self.inner;
        let raised: Mutex<Option<PyErr>> = Mutex::new(None);
        let mut sink = |batch: &[Row]| -> Result<(), Error> {
            let Some(rows) = &rows else { return Ok(()) };
            let told = run.inside.call(|py| rows.call1(py, (table(test, batch)?,)).map(|_| ()));
            told.map_err(|error| {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Error::new("the receiver of the rows failed")
            })
        };
        let with_rows = rows.is_some();
        let result = supervised(py, &run, threads, progress.as_ref(), || {
            let tick = |steps| run.tick(steps);
            let mut watch = Watch {
                tick: &tick,
                stop: &run.stop,
                rows: if with_rows { Some(&mut sink) } else { None },
            };
            test.run(&AbRun { blocks, resume, ..AbRun::default() }, &mut watch)
        });
        let result = self.fault.or(result);
        if let Some(error) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(Shard { experiment: self.inner.experiment(), tallies: result? })
    }
}

/// Collects the rows of a block.
fn table(test: &ab::Test, rows: &[Row]) -> PyResult<Batches> {
    let mut table = Growing::of(ConnectionRow::MEASURES);
    for row in rows {
        table.row([], &ConnectionRow::of((test, row)));
    }
    table.finish()
}

/// The sums of some blocks of a test.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Shard {
    experiment: Experiment,
    tallies: Tallies,
}

#[pymethods]
impl Shard {
    /// Reads a file of `ab --save`, `ab --resume` or [`Shard::to_bytes`]; error messages use
    /// `name`.
    #[staticmethod]
    fn from_bytes(name: &str, bytes: &[u8]) -> PyResult<Shard> {
        let (experiment, tallies) = shard::decode(name, bytes).map_err(|bad| refused(&bad))?;
        Ok(Shard { experiment, tallies })
    }

    /// The content of a file that `ab merge` reads.
    fn to_bytes(&self) -> Vec<u8> {
        shard::encode(&self.experiment, &self.tallies)
    }

    #[getter]
    fn flows(&self) -> u64 {
        self.tallies.flows()
    }

    /// The blocks of this shard, in order.
    #[getter]
    fn blocks(&self) -> Vec<u64> {
        self.tallies.blocks.clone()
    }

    #[getter]
    fn experiment(&self) -> PyResult<String> {
        json(&self.experiment)
    }

    /// Whether the shard belongs to this test.
    fn is_of(&self, test: &Test) -> bool {
        self.experiment == test.inner.experiment()
    }

    /// The analysis as JSON, the same bytes as `ab --json`.
    fn to_json(&self) -> PyResult<String> {
        Ok(self.analysis()?.to_json())
    }

    /// The report, one self-contained HTML page; it names `command` as its source.
    fn report(&self, command: &str) -> PyResult<String> {
        Ok(self.analysis()?.page(command))
    }

    /// One row per part of the connections and arm.
    fn results(&self) -> PyResult<Batches> {
        let mut table = Growing::of(Entry::MEASURES);
        for entry in self.analysis()?.results {
            table.row([], &entry);
        }
        table.finish()
    }

    /// One row per percentile and arm.
    fn percentiles(&self) -> PyResult<Batches> {
        let mut table = Growing::of(PercentileRow::MEASURES);
        for curves in self.analysis()?.percentiles {
            for row in curves.rows() {
                table.row([], &row);
            }
        }
        table.finish()
    }
}

impl Shard {
    fn analysis(&self) -> PyResult<Analysis> {
        if self.tallies.flows() == 0 {
            return Err(refuse("no connection ran, so there is no result".into()));
        }
        // As the command does it: a shard needs no file but its own, and one whose population names
        // files says less about them.
        let toml = &self.experiment.population_toml;
        let population =
            firstflight_lab::Population::from_toml("population of the test", toml, None);
        let warnings = population.map(|population| population.warnings()).unwrap_or_default();
        Ok(Analysis::new(&self.experiment, &self.tallies, &warnings))
    }
}

/// Joins shards of one test, in any order.
#[pyfunction]
pub(crate) fn join(shards: Vec<(String, PyRef<'_, Shard>)>) -> PyResult<Shard> {
    let parts = shards
        .iter()
        .map(|(name, shard)| (name.clone(), shard.experiment.clone(), shard.tallies.clone()))
        .collect();
    let (experiment, tallies) = shard::join(parts).map_err(|bad| refused(&bad))?;
    Ok(Shard { experiment, tallies })
}
