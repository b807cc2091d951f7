//! The page of a diff: the changes between two results, their directions, and the settings that
//! differ.

use super::html::{AGAIN, DIFF, Page};
use super::looks;
use crate::diff::{Change, Diff, Sense, change_table};
use crate::measures::columns;
use crate::trial::TrialRow;
use firstflight_table::{Document, Kind, Table, html};
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

    /// The settings and the changes: of a test with many parts the whole is open, the others on
    /// request.
    fn sections(&self) -> Document {
        let mut out = Document::default();
        if !self.settings.is_empty() {
            out.heading(2, "settings", "Set differently");
            out.note([
                "Check that these are the settings you meant to change; otherwise the numbers below do not compare what you intended.",
            ]);
            let columns = ["setting", "before", "after"].map(|name| (name, Kind::Prose));
            let mut table = Table::new("", columns);
            for one in &self.settings {
                table.row([one.name.as_str(), &one.before, &one.after]);
            }
            out.table(table);
        }
        out.heading(2, "changes", "What changed");
        out.note([
            "Pairs share arm and seed. Below each change is the difference, after minus before, with its 95 % interval \
             if there are several pairs or an A/B test; \u{201c}unclear\u{201d} means that intervals overlap.",
        ]);
        out.chart("picture");
        let mut parts: Vec<&str> = Vec::new();
        for change in &self.changes {
            if !parts.contains(&change.of.as_str()) {
                parts.push(&change.of);
            }
        }
        let first = if parts.contains(&"all") { Some("all") } else { parts.first().copied() };
        let of = |part: &str| {
            let changes: Vec<Change> = self
                .changes
                .iter()
                .filter(|change| change.of == part)
                .map(|change| Change { measure: label(change), ..change.clone() })
                .collect();
            change_table(changes.iter(), true)
        };
        if let Some(first) = first {
            out.table(of(first).titled(if parts.len() > 1 { first } else { "" }));
        }
        for part in parts.iter().filter(|part| Some(**part) != first) {
            let table = of(part);
            let summary = format!("{part} ({})", table.len());
            out.folded(summary, Document::from(vec![table]));
        }
        if !self.alone.is_empty() {
            let alone = self.alone.join(", ");
            out.paragraph(format!("Only in one of the results: {alone}"));
        }
        out
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
            labels: self
                .changes
                .iter()
                .map(|change| (change.measure.as_str(), label(change)))
                .collect(),
            arms: names.iter().copied().zip(looks(names.iter().copied())).collect(),
        };
        let title = format!("{after} against {before}");
        let body = html::document(&self.sections()) + AGAIN;
        Page { body: &body, ..DIFF }.fill(
            &title,
            &version,
            &serde_json::to_string(&data).unwrap_or_default(),
        )
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
