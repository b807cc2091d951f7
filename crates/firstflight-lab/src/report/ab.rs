//! The page of an A/B test: which arm to deploy, where it gains, its costs, and how reliable the
//! result is.

use super::html::{AB, ADVICE};
use super::looks;
use crate::ab::Analysis;
use crate::advise::{Advice, Evidence};
use crate::population::Population;
use serde::Serialize;

/// Data of the page in addition to the analysis.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    about: String,
    /// Empty if the page has its own finding.
    finding: String,
    sources: Vec<SourceRow>,
    analysis: &'a Analysis,
    looks: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'a Advice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a Evidence>,
}

/// Source of a number of the population.
#[derive(Serialize)]
struct SourceRow {
    value: String,
    status: char,
    reference: String,
}

impl Analysis {
    /// The page; `command` is the command line that reproduces it.
    pub fn page(&self, command: &str) -> String {
        let experiment = &self.experiment;
        let others = match &experiment.arms[1..] {
            few if few.len() <= 3 => few.join(", "),
            many => format!("{} arms", many.len()),
        };
        let title = format!("{others} against {} on {}", experiment.arms[0], experiment.population);
        let data = self.data(command);
        AB.fill(&title, &data.version, &serde_json::to_string(&data).unwrap_or_default())
    }

    /// The page of an answer for recorded paths: the finding, this test, and the inputs and
    /// assumptions.
    pub fn advice_page(&self, command: &str, advice: &Advice, evidence: &Evidence) -> String {
        let data = Data {
            advice: Some(advice),
            evidence: Some(evidence),
            // The title states the finding for these paths.
            finding: String::new(),
            ..self.data(command)
        };
        let json = serde_json::to_string(&data).unwrap_or_default();
        ADVICE.fill(&advice.finding, &data.version, &json)
    }

    fn data<'a>(&'a self, command: &'a str) -> Data<'a> {
        let experiment = &self.experiment;
        // Text written by this version can be read; a reader of another version gets a page without
        // sources.
        let population =
            Population::from_toml("population", &experiment.population_toml, None).ok();
        let row = |source: &crate::population::Source| SourceRow {
            value: source.value.clone(),
            status: source.status,
            reference: source.reference.clone(),
        };
        Data {
            command,
            version: format!("firstflight {}", self.firstflight),
            about: population.as_ref().map_or(String::new(), |population| population.about.clone()),
            sources: population
                .map_or(Vec::new(), |population| population.sources.iter().map(row).collect()),
            finding: self.decision.sentence.clone(),
            analysis: self,
            looks: looks(experiment.arms.iter().map(String::as_str)),
            advice: None,
            evidence: None,
        }
    }
}
