//! The page of an A/B test: which arm to deploy, where it gains, its costs, and how reliable the
//! result is.

use super::html::{AB, ADVICE, in_words};
use super::looks;
use crate::ab::Analysis;
use crate::advise::{Advice, Evidence};
use crate::population::{Population, Source};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Data of the page in addition to the analysis.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    about: String,
    /// Empty if the page has its own finding.
    finding: String,
    sources: Vec<SourceRow>,
    analysis: &'a Value,
    looks: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a Value>,
}

/// Source of a number of the population.
#[derive(Serialize)]
struct SourceRow {
    value: String,
    status: char,
    reference: String,
}

/// The parts of an analysis that are shown outside of its tables.
#[derive(Deserialize)]
struct Head {
    firstflight: String,
    experiment: Experiment,
    decision: Decision,
}

#[derive(Deserialize)]
struct Experiment {
    arms: Vec<String>,
    population: String,
    population_toml: String,
}

#[derive(Deserialize)]
struct Decision {
    sentence: String,
}

impl Analysis {
    /// The page; `command` is the command line that reproduces it.
    ///
    /// # Panics
    /// Never: an analysis has all that the page shows.
    pub fn page(&self, command: &str) -> String {
        page(&value(self), command).expect("an analysis is complete")
    }

    /// The page of an answer for recorded paths: the finding, this test, and the inputs and
    /// assumptions.
    ///
    /// # Panics
    /// Never: an analysis has all that the page shows.
    pub fn advice_page(&self, command: &str, advice: &Advice, evidence: &Evidence) -> String {
        advice_page(&value(self), &value(advice), &value(evidence), command)
            .expect("an analysis is complete")
    }
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// The page of an analysis as in `--json`.
pub(super) fn page(analysis: &Value, command: &str) -> Result<String, serde_json::Error> {
    let head = Head::deserialize(analysis)?;
    let experiment = &head.experiment;
    let (baseline, others) =
        experiment.arms.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let title = format!("{} against {baseline} on {}", in_words(others), experiment.population);
    let data = data(&head, analysis, command);
    Ok(AB.fill(&title, &data.version, &serde_json::to_string(&data)?))
}

/// The page of an answer for recorded paths, of its parts as in `--json`.
pub(super) fn advice_page(
    analysis: &Value,
    advice: &Value,
    evidence: &Value,
    command: &str,
) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    struct Advised {
        finding: String,
    }
    let head = Head::deserialize(analysis)?;
    let title = Advised::deserialize(advice)?.finding;
    let data = Data {
        advice: Some(advice),
        evidence: Some(evidence),
        // The title states the finding for these paths.
        finding: String::new(),
        ..data(&head, analysis, command)
    };
    Ok(ADVICE.fill(&title, &data.version, &serde_json::to_string(&data)?))
}

fn data<'a>(head: &Head, analysis: &'a Value, command: &'a str) -> Data<'a> {
    let experiment = &head.experiment;
    // Text written by this version can be read; a reader of another version gets a page without
    // sources.
    let population = Population::from_toml("population", &experiment.population_toml, None).ok();
    let row = |source: &Source| SourceRow {
        value: source.value.clone(),
        status: source.status,
        reference: source.reference.clone(),
    };
    Data {
        command,
        version: format!("firstflight {}", head.firstflight),
        about: population.as_ref().map_or(String::new(), |population| population.about.clone()),
        sources: population
            .map_or(Vec::new(), |population| population.sources.iter().map(row).collect()),
        finding: head.decision.sentence.clone(),
        analysis,
        looks: looks(experiment.arms.iter().map(String::as_str)),
        advice: None,
        evidence: None,
    }
}
