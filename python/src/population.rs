//! Populations.

use crate::supervise::{Run, supervised};
use crate::table::{Batches, Growing, Holds};
use crate::{refuse, refused};
use firstflight_lab::population::describe::{SHARES, describe};
use firstflight_path::input::{self, MOST_DATA};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::Path as File;

/// A population with the text of every file of measured paths that it names, so that it can be sent
/// to machines without these files.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Population {
    /// The lab's population.
    pub inner: firstflight_lab::Population,
    files: BTreeMap<String, String>,
}

#[pymethods]
impl Population {
    /// Parses a value of `--population`.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Population> {
        let inner = firstflight_lab::Population::parse(text).map_err(|bad| refused(&bad))?;
        let name = text.trim().split('(').next().unwrap_or_default();
        let folder = File::new(name)
            .parent()
            .filter(|_| File::new(name).extension().is_some_and(|kind| kind == "toml"));
        let mut files = BTreeMap::new();
        for rows in inner.groups.iter().filter_map(|group| group.rows.as_ref()) {
            let file =
                folder.map_or_else(|| rows.file.clone().into(), |folder| folder.join(&rows.file));
            let text = input::read_text(&file, MOST_DATA)
                .map_err(|error| refuse(format!("{}: {error}", file.display())))?;
            files.insert(rows.file.clone(), text);
        }
        Ok(Population { inner, files })
    }

    /// Builds a population from a resolved file and the files that it names.
    #[staticmethod]
    fn from_parts(toml: &str, files: BTreeMap<String, String>) -> PyResult<Population> {
        let inner = firstflight_lab::Population::from_parts("population", toml, &files)
            .map_err(|bad| refused(&bad))?;
        Ok(Population { inner, files })
    }

    /// Builds a population from the text of a CSV file called `name`.
    #[staticmethod]
    fn from_csv(name: &str, text: &str) -> PyResult<Population> {
        let inner =
            firstflight_lab::Population::from_csv(name, text).map_err(|bad| refused(&bad))?;
        let measured = inner
            .groups
            .iter()
            .filter_map(|group| group.rows.as_ref())
            .map(|rows| (rows.file.clone(), text.to_owned()));
        let files = measured.collect();
        Ok(Population { inner, files })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn about(&self) -> &str {
        &self.inner.about
    }

    #[getter]
    fn initial_window(&self) -> Option<u32> {
        self.inner.initial_window
    }

    #[getter]
    fn groups(&self) -> Vec<(String, f64)> {
        self.inner.groups.iter().map(|group| (group.name.clone(), group.weight)).collect()
    }

    #[getter]
    fn sources(&self) -> Vec<(String, char, String)> {
        self.inner
            .sources
            .iter()
            .map(|source| (source.value.clone(), source.status, source.reference.clone()))
            .collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    #[getter]
    fn files(&self) -> BTreeMap<String, String> {
        self.files.clone()
    }

    /// The population as a file with all values filled in.
    fn to_toml(&self) -> String {
        self.inner.to_string()
    }

    /// Path and object of connections `first` to `first + count - 1`.
    fn draw(&self, py: Python<'_>, seed: u64, first: u64, count: u64) -> PyResult<Batches> {
        const MOST: u64 = 100_000_000;
        if count > MOST {
            return Err(refuse(format!("{count} connections; allowed: at most {MOST} at a time")));
        }
        let population = &self.inner;
        let run = Run::default();
        let drawn = supervised(py, &run, None, None, || {
            let mut drawn = Vec::new();
            for index in (first..).take(count as usize) {
                if run.stopped() {
                    break;
                }
                drawn.push(population.draw(seed, index));
            }
            Ok(drawn)
        })?;
        let whole = ["rtt_us", "rate_kbps", "queue_bytes", "bdp_bytes", "object_bytes"]
            .map(|name| (name, Holds::Whole));
        let columns = [("path_index", Holds::Whole), ("group", Holds::Name)]
            .into_iter()
            .chain(whole)
            .chain([("random_loss", Holds::Real)]);
        let mut table = Growing::new(columns);
        for one in drawn {
            let [index, group, rtt, rate, queue, bdp, object, loss] = &mut table.columns[..] else {
                break;
            };
            index.whole(Some(one.index));
            group.text(Some(&population.groups[one.group].name));
            rtt.whole(Some(one.rtt_us));
            rate.whole(Some(one.rate_kbps));
            queue.whole(Some(one.queue_bytes));
            bdp.whole(Some(one.bdp_bytes()));
            object.whole(Some(one.bytes));
            loss.real(Some(one.loss_ppb as f64 / 1e9));
        }
        table.finish()
    }

    /// Quantiles of all values, by group.
    fn describe(&self, py: Python<'_>, seed: u64, draws: u64) -> PyResult<Batches> {
        let run = Run::default();
        let description =
            supervised(py, &run, None, None, || Ok(describe(&self.inner, seed, draws, &run.stop)))?;
        let shares = SHARES.map(|share| format!("p{}", (share * 100.0).round()));
        let shares = shares.iter().map(|name| (name.as_str(), Holds::Real));
        let mut table = Growing::new(
            [("group", Holds::Text), ("share", Holds::Real), ("quantity", Holds::Text)]
                .into_iter()
                .chain(shares),
        );
        for group in description.groups {
            for quantity in group.quantities {
                table.columns[0].text(Some(&group.group));
                table.columns[1].real(Some(group.share));
                table.columns[2].text(Some(quantity.name));
                for (column, value) in table.columns[3..].iter_mut().zip(quantity.quantiles) {
                    column.real(Some(value));
                }
            }
        }
        table.finish()
    }
}
