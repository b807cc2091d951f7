//! Lists of arms, paths, populations and published documents, and facts about single texts.

use crate::{refuse, refused};
use firstflight::arm::SenderParams;
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, SHORT_NAMES, STARTUPS, split_list};
use firstflight_lab::{Population, STACK_ARMS, parse_arms};
use firstflight_papers::SOURCES;
use firstflight_path::{Path, builtins};
use pyo3::prelude::*;

use crate::table::{Batches, Growing, Holds};

/// One arm in full: every part, and the options that differ from their defaults.
#[pyfunction]
pub(crate) fn arm_full(text: &str) -> PyResult<String> {
    let arms = parse_arms(text).map_err(|bad| refused(&bad))?;
    match arms.as_slice() {
        [arm] => Ok(arm.full()),
        many => Err(refuse(format!("`{text}`: {} arms; allowed: one", many.len()))),
    }
}

/// The arms of a list separated by commas outside parentheses.
#[pyfunction]
pub(crate) fn split_arms(text: &str) -> Vec<String> {
    split_list(text).map(|arm| arm.trim().to_owned()).collect()
}

/// Colour (modulo six) and shape (modulo eight) of each arm, the same as on every report page.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the form in which a list arrives from Python")]
pub(crate) fn looks(arms: Vec<String>) -> Vec<usize> {
    firstflight_lab::report::looks(arms.iter().map(String::as_str))
}

/// A path's canonical text, name, source, rate in bit/s, idle round trip in ns, queue in bytes, and
/// bandwidth-delay product in bytes.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "seven facts, named where Python unpacks them")]
pub(crate) fn path_facts(
    text: &str,
) -> PyResult<(String, String, String, u64, u64, Option<u64>, u64)> {
    let path = Path::parse(text).map_err(|error| refuse(error.to_string()))?;
    let (name, source) = (path.name().to_owned(), path.source().to_owned());
    Ok((
        path.to_string(),
        name,
        source,
        path.rate_bps(),
        path.rtt(),
        path.queue_bytes(),
        path.bdp_bytes(),
    ))
}

/// All parts of arms.
#[pyfunction]
pub(crate) fn list_arms() -> PyResult<Batches> {
    let names = ["kind", "name", "summary", "source", "options"].map(|name| (name, Holds::Text));
    let mut table = Growing::new(names);
    let mut row = |cells: [&str; 5]| {
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.text(Some(cell));
        }
    };
    let options = |part: &Part| {
        part.options
            .iter()
            .map(|doc| format!("{}={}", doc.key, doc.values))
            .collect::<Vec<_>>()
            .join("; ")
    };
    for (kind, parts) in
        [("startup", STARTUPS), ("avoidance", AVOIDANCES), ("recovery", RECOVERIES)]
    {
        for part in parts {
            row([kind, part.name, part.summary, part.source, &options(part)]);
        }
    }
    for doc in SenderParams::DOCS {
        row(["sender", doc.key, doc.meaning, "", doc.values]);
    }
    for short in SHORT_NAMES {
        row(["short name", short.name, short.summary, short.arm, ""]);
    }
    for arm in STACK_ARMS {
        row(["stack", arm.name, arm.summary, arm.source, ""]);
    }
    table.finish()
}

/// The built-in paths.
#[pyfunction]
pub(crate) fn list_paths() -> PyResult<Batches> {
    let mut table =
        Growing::new(["name", "path", "about", "source"].map(|name| (name, Holds::Text)));
    for path in builtins() {
        for (column, cell) in
            table.columns.iter_mut().zip([path.name, path.text, path.about, path.source])
        {
            column.text(Some(cell));
        }
    }
    table.finish()
}

/// The built-in populations.
#[pyfunction]
pub(crate) fn list_populations() -> PyResult<Batches> {
    let mut table =
        Growing::new(["name", "about", "groups", "calibration"].map(|name| (name, Holds::Text)));
    for name in firstflight_lab::population::builtin::names() {
        let population = Population::parse(name).map_err(|bad| refused(&bad))?;
        let groups = population
            .groups
            .iter()
            .map(|group| group.name.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        for (column, cell) in table.columns.iter_mut().zip([
            name,
            &population.about,
            &groups,
            &population.knobs.status,
        ]) {
            column.text(Some(cell));
        }
    }
    table.finish()
}

/// The published documents and their rows.
#[pyfunction]
pub(crate) fn list_sources() -> PyResult<Batches> {
    let mut table = Growing::new(
        ["document", "reference", "row", "gates", "published"].map(|name| (name, Holds::Text)),
    );
    for source in SOURCES.iter() {
        for item in &source.items {
            for (column, cell) in table.columns.iter_mut().zip([
                source.name,
                source.document,
                item.id,
                item.gates,
                item.published,
            ]) {
                column.text(Some(cell));
            }
        }
    }
    table.finish()
}
