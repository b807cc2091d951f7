//! The page of a field test.

use super::html::TRIAL;
use super::looks;
use crate::field::Answer;
use serde::Serialize;

/// All data of the page.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    answer: &'a Answer,
    /// Looks of the arms.
    arms: Vec<(&'a str, usize)>,
}

impl Answer {
    /// The page; `command` reproduces it.
    pub fn page(&self, command: &str) -> String {
        let names = || self.arms.iter().map(|arm| arm.arm.as_str());
        let version = format!("firstflight {}", self.firstflight);
        let data = Data {
            command,
            version: version.clone(),
            answer: self,
            arms: names().zip(looks(names())).collect(),
        };
        let others: Vec<&str> = names().skip(1).collect();
        let title = match others.as_slice() {
            [] => format!("A field test of {}", self.experiment.baseline),
            few if few.len() <= 3 => {
                format!("{} against {} in the field", few.join(", "), self.experiment.baseline)
            }
            many => {
                format!("{} arms against {} in the field", many.len(), self.experiment.baseline)
            }
        };
        TRIAL.fill(&title, &version, &serde_json::to_string(&data).unwrap_or_default())
    }
}
