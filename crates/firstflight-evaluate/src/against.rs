//! Comparison of two evaluations with the same battery: finds deteriorations, for continuous integration.

use crate::report::{CellRow, CriterionRow, Report, Verdict};
use crate::words::figure;
use firstflight_path::Error;
use firstflight_table::markdown::Dialect;
use firstflight_table::text::{xml, xml_body};
use firstflight_table::{Document, Kind, Marked, Table};
use serde::Deserialize;
use std::fmt::Write as _;

/// The older report.
#[derive(Clone, Debug, Deserialize)]
pub struct Older {
    version: String,
    sha256: String,
    baseline_full: String,
    effort: String,
    seed: u64,
    algorithm: String,
    criteria: Vec<OlderCriterion>,
}

#[derive(Clone, Debug, Deserialize)]
struct OlderCriterion {
    section: String,
    verdict: Verdict,
    judges: Vec<OlderRow>,
}

#[derive(Clone, Debug, Deserialize)]
struct OlderRow {
    cell: String,
    metric: String,
    of: String,
    window: String,
    difference: Option<f64>,
    interval: Option<[f64; 2]>,
}

/// A criterion compared with the older report.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Section of the RFC.
    pub section: String,
    /// Name.
    pub title: String,
    /// Earlier verdict; `None` if it was not requested then.
    pub before: Option<Verdict>,
    /// Verdict now.
    pub now: Verdict,
    /// Deteriorations in sentences; empty if none.
    pub worse: Vec<String>,
}

impl Older {
    /// Reads the JSON that `evaluate --json` wrote.
    ///
    /// # Errors
    /// One line if the text is something else.
    pub fn parse(name: &str, json: &str) -> Result<Older, Error> {
        serde_json::from_str(json)
            .map_err(|error| Error::new(format!("{name}: not a result of `evaluate`: {error}")))
    }

    fn refuse(&self, now: &Report) -> Option<String> {
        let table = [
            ("battery", &self.sha256, &now.sha256),
            ("version of the battery", &self.version, &now.version),
            ("baseline", &self.baseline_full, &now.baseline_full),
            ("effort", &self.effort, &now.effort.to_owned()),
            ("first seed", &self.seed.to_string(), &now.seed.to_string()),
        ];
        let differs = |(_, old, new): &(&str, &String, &String)| old != new;
        table
            .into_iter()
            .find(differs)
            .map(|(what, old, new)| format!("different {what} ({old}, now {new})"))
    }
}

impl Report {
    /// Compares this report with an older one. A criterion has become worse if its verdict has, or if the
    /// interval of a comparison lies above the older interval by more than `tolerance`.
    ///
    /// # Errors
    /// One line if they cannot be compared because battery, baseline, effort or seed differ.
    pub fn against(&self, older: &Older, tolerance: f64) -> Result<Vec<Change>, Error> {
        if let Some(why) = older.refuse(self) {
            return Err(Error::new(format!("--against: {why}; nothing to compare")));
        }
        Ok(self.criteria.iter().map(|criterion| change(criterion, older, tolerance)).collect())
    }
}

fn change(now: &CriterionRow, older: &Older, tolerance: f64) -> Change {
    let before = older.criteria.iter().find(|criterion| criterion.section == now.section);
    let mut worse = Vec::new();
    if let Some(before) = before {
        if now.verdict.rank() > before.verdict.rank() {
            let said = now.decided();
            worse.push(format!(
                "{}, previously {}: {said}",
                now.verdict.name(),
                before.verdict.name()
            ));
        }
        for row in &now.judges {
            let same = |old: &&OlderRow| {
                (&old.cell, &old.metric, &old.of, old.window.as_str())
                    == (&row.cell, &row.metric, &row.of, row.window)
            };
            worse.extend(before.judges.iter().find(same).and_then(|old| fell(row, old, tolerance)));
        }
    }
    Change {
        section: now.section.clone(),
        title: now.title.clone(),
        before: before.map(|criterion| criterion.verdict),
        now: now.verdict,
        worse,
    }
}

/// Describes a comparison that has become worse: its interval lies above the older one by more than the tolerance.
fn fell(row: &CellRow, old: &OlderRow, tolerance: f64) -> Option<String> {
    row.margin?;
    let ([low, _], [_, high]) = (row.interval?, old.interval?);
    (low > high + tolerance).then(|| {
        let [was, is] =
            [old.difference, row.difference].map(|value| value.map_or("-".into(), figure));
        format!(
            "{} in {} is worse than the baseline's by {is}, previously {was}",
            row.what(),
            row.place
        )
    })
}

/// The changes as a Markdown table for a pull request.
pub fn markdown(changes: &[Change], older: &Older, now: &Report) -> String {
    let fallen = changes.iter().filter(|change| !change.worse.is_empty()).count();
    let mut out = Document::default();
    let found = match fallen {
        0 => "has not become worse".to_owned(),
        _ => format!("has become worse in {fallen} criteria"),
    };
    out.heading(3, "", format!("RFC 9743: {} {found}", now.algorithm));
    out.paragraph(format!(
        "{}, battery {} {}, {}; before: {}",
        now.summary(),
        now.battery,
        now.version,
        now.effort,
        older.algorithm
    ));
    let columns = ["section", "criterion", "before", "now"].map(|name| (name, Kind::Prose));
    let mut table = Table::new("", columns);
    for change in changes {
        let before = change.before.map_or("-", Verdict::name);
        let now = Marked::from(change.now.name()).bold(!change.worse.is_empty());
        let words = [&change.section, &change.title, before].map(Marked::from);
        table.row(words.into_iter().chain([now]));
    }
    out.table(table);
    let of = |change: &Change| {
        let line = |line: &String| format!("{}: {line}", change.section);
        change.worse.iter().map(line).collect::<Vec<_>>()
    };
    out.items(changes.iter().flat_map(of));
    Dialect::AS_IS.document(&out)
}

/// The changes as JUnit XML, with a test case per criterion.
pub fn junit(changes: &[Change], now: &Report) -> String {
    let fallen = changes.iter().filter(|change| !change.worse.is_empty()).count();
    let skipped = |change: &&Change| matches!(change.now, Verdict::NotRun | Verdict::NotApplicable);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"RFC 9743 {}\" tests=\"{}\" failures=\"{fallen}\" errors=\"0\" skipped=\"{}\">\n",
        xml(&now.algorithm),
        changes.len(),
        changes.iter().filter(skipped).filter(|change| change.worse.is_empty()).count()
    );
    for change in changes {
        let name = xml(&format!("{} {}", change.section, change.title));
        let _ = write!(out, "  <testcase classname=\"rfc9743\" name=\"{name}\"");
        if !change.worse.is_empty() {
            let text = xml_body(&change.worse.join("\n"));
            let what = xml(&format!("{}: worse than before", change.now.name()));
            let _ =
                writeln!(out, ">\n    <failure message=\"{what}\">{text}</failure>\n  </testcase>");
        } else if skipped(&change) {
            let _ =
                writeln!(out, ">\n    <skipped message=\"{}\"/>\n  </testcase>", change.now.name());
        } else {
            out.push_str("/>\n");
        }
    }
    out + "</testsuite>\n"
}
