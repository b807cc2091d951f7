//! The page of a field test.

use super::html::{TRIAL, in_words};
use super::looks;
use crate::field::Answer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All data of the page.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    answer: &'a Value,
    /// Looks of the arms.
    arms: Vec<(&'a str, usize)>,
}

/// The parts of an answer that are shown outside of its tables.
#[derive(Deserialize)]
struct Head {
    firstflight: String,
    experiment: Experiment,
    arms: Vec<Arm>,
}

#[derive(Deserialize)]
struct Experiment {
    baseline: String,
}

#[derive(Deserialize)]
struct Arm {
    arm: String,
}

impl Answer {
    /// The page; `command` reproduces it.
    ///
    /// # Panics
    /// Never: an answer has all that the page shows.
    pub fn page(&self, command: &str) -> String {
        let answer = serde_json::to_value(self).unwrap_or_default();
        page(&answer, command).expect("an answer is complete")
    }
}

/// The page of an answer as in `--json`.
pub(super) fn page(answer: &Value, command: &str) -> Result<String, serde_json::Error> {
    let Head { firstflight, experiment: Experiment { baseline }, arms } =
        Head::deserialize(answer)?;
    let names = || arms.iter().map(|arm| arm.arm.as_str());
    let version = format!("firstflight {firstflight}");
    let arms = names().zip(looks(names())).collect();
    let data = Data { command, version: version.clone(), answer, arms };
    let others: Vec<&str> = names().skip(1).collect();
    let title = match others.as_slice() {
        [] => format!("A field test of {baseline}"),
        others => format!("{} against {baseline} in the field", in_words(others)),
    };
    Ok(TRIAL.fill(&title, &version, &serde_json::to_string(&data)?))
}
