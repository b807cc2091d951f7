//! The page of a tuning: the answer, the effect of each parameter, time against loss.

use super::html::TUNE;
use crate::tune::Tuned;
use serde::Serialize;

#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    unit: &'static str,
    tuned: &'a Tuned,
}

impl Tuned {
    /// The page; `command` is the command line that reproduces it.
    pub fn page(&self, command: &str) -> String {
        let version = format!("firstflight {}", self.firstflight);
        let title = format!("{} tuned for {}", self.default, self.experiment.population);
        let data = Data { command, version, unit: self.unit(), tuned: self };
        TUNE.fill(&title, &data.version, &serde_json::to_string(&data).unwrap_or_default())
    }
}
