//! The page of a tuning: the answer, the effect of each parameter, time against loss.

use super::html::TUNE;
use crate::tune::{Objective, Tuned};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    unit: &'static str,
    tuned: &'a Value,
}

/// The parts of a tuning that are shown outside of its tables.
#[derive(Deserialize)]
struct Head {
    firstflight: String,
    default: String,
    experiment: Experiment,
}

#[derive(Deserialize)]
struct Experiment {
    population: String,
    objective: String,
}

impl Tuned {
    /// The page; `command` is the command line that reproduces it.
    ///
    /// # Panics
    /// Never: a tuning has all that the page shows.
    pub fn page(&self, command: &str) -> String {
        let tuned = serde_json::to_value(self).unwrap_or_default();
        page(&tuned, command).expect("a tuning is complete")
    }
}

/// The page of a tuning as in `--json`.
pub(super) fn page(tuned: &Value, command: &str) -> Result<String, serde_json::Error> {
    let head = Head::deserialize(tuned)?;
    let version = format!("firstflight {}", head.firstflight);
    let title = format!("{} tuned for {}", head.default, head.experiment.population);
    let objective: Objective = head.experiment.objective.parse().unwrap_or_default();
    let unit = objective.unit();
    let data = Data { command, version, unit, tuned };
    Ok(TUNE.fill(&title, &data.version, &serde_json::to_string(&data)?))
}
