//! The page of a diff: the changes between two results, their directions, and the settings that
//! differ.

use super::html::DIFF;
use super::looks;
use crate::diff::{Change, Diff, Sense};
use crate::measures::columns;
use crate::stats::Interval;
use crate::trial::TrialRow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Names of the completion time, in comparisons and in tests.
const COMPLETION: [&str; 2] = ["ttlb_ms", "ttlb_ms_p50"];
/// Maximum number of arms that the finding names.
const MOST_ARMS: usize = 4;

/// All data of the page.
#[derive(Serialize)]
struct Data<'a> {
    finding: String,
    command: &'a str,
    version: String,
    before: &'a str,
    after: &'a str,
    diff: &'a Diff,
    /// Later minus earlier value with its interval, for each change.
    differences: Vec<Option<Interval>>,
    /// Looks of the arms, in order of appearance.
    arms: Vec<(&'a str, usize)>,
    /// Display names of the measures.
    labels: BTreeMap<&'a str, String>,
}

impl Diff {
    /// The changes in one or two sentences: completion times first, then the number of changed
    /// values, then changed settings.
    pub fn finding(&self) -> String {
        if self.changes.is_empty() {
            let equal = format!("Nothing differs: {} numbers are equal.", self.equal);
            return equal + &self.told_settings();
        }
        let times = self.changes.iter().filter(|change| {
            // A test has many parts; only the whole is reported.
            change.measure == COMPLETION[0] || change.measure == COMPLETION[1] && change.of == "all"
        });
        let told: Vec<String> = times.clone().take(MOST_ARMS).filter_map(completion).collect();
        let more = times.count().saturating_sub(MOST_ARMS);
        let mut words = match told.as_slice() {
            [] => "Completion times are equal".to_owned(),
            told => format!("Completion time: {}", told.join(", ")),
        };
        if more > 0 {
            let _ = write!(words, " and {more} more");
        }
        let count = |sense| self.changes.iter().filter(|change| change.sense == sense).count();
        let (better, worse) = (count(Sense::Better), count(Sense::Worse));
        let (all, of) = (self.changes.len(), self.changes.len() + self.equal);
        let differ = format!(". {all} of {of} numbers differ: {better} better, {worse} worse.");
        words + &differ + &self.told_settings()
    }

    fn told_settings(&self) -> String {
        let told = |one: &crate::diff::Setting| {
            let short = one.before.len() + one.after.len() < 60;
            let values = format!(" {} → {}", one.before, one.after);
            format!("{}{}", one.name, if short { &values } else { "" })
        };
        match self.settings.iter().map(told).collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            list => format!(" Set differently: {}.", list.join(", ")),
        }
    }

    /// The page; `before` and `after` name the results, `command` reproduces the page.
    pub fn page(&self, before: &str, after: &str, command: &str) -> String {
        let mut names: Vec<&str> = Vec::new();
        for change in &self.changes {
            if !names.contains(&change.arm.as_str()) {
                names.push(&change.arm);
            }
        }
        let version = format!("firstflight {}", env!("CARGO_PKG_VERSION"));
        let data = Data {
            finding: self.finding(),
            command,
            version: version.clone(),
            before,
            after,
            diff: self,
            differences: self.changes.iter().map(|change| change.difference).collect(),
            labels: self
                .changes
                .iter()
                .map(|change| (change.measure.as_str(), label(change)))
                .collect(),
            arms: names.iter().copied().zip(looks(names.iter().copied())).collect(),
        };
        let title = format!("{after} against {before}");
        DIFF.fill(&title, &version, &serde_json::to_string(&data).unwrap_or_default())
    }
}

/// Display name of a measure with its unit: that of the tables, or else the words of its name.
fn label(change: &Change) -> String {
    let of_tables = columns(TrialRow::MEASURES)
        .into_iter()
        .find(|column| column.name == change.measure)
        .and_then(|column| Some(column.measure.shown?.label));
    let words = of_tables.map_or_else(
        || change.measure.replace("ttlb", "completion time").replace('_', " "),
        str::to_owned,
    );
    let unit = format!(" {}", change.unit);
    let words = words.strip_suffix(&unit).unwrap_or(&words);
    if change.unit.is_empty() { words.to_owned() } else { format!("{words}, {}", change.unit) }
}

/// `rapid 3.1 % shorter`.
fn completion(change: &Change) -> Option<String> {
    let percent = change.change_pct?;
    let longer = if percent > 0.0 { "longer" } else { "shorter" };
    let unclear = if change.sense == Sense::Unclear { " (intervals overlap)" } else { "" };
    Some(format!("{} {:.1} % {longer}{unclear}", change.arm, percent.abs()))
}
