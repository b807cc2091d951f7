//! Contents of a replay's page: the finding, verdicts over all connections, and for the first ones
//! RTT, delivery rate, windows, ACK spacing and internal signals over time, with the exit of every
//! startup.

use crate::course::Course;
use crate::results::Results;
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE};
use crate::tables;
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use firstflight_lab::report::looks;
use firstflight_table::{Table, html};
use serde::Serialize;

/// Maximum number of rows in the table of connections.
const MOST_ROWS: usize = 500;

/// The data of the page.
#[derive(Clone, Debug, Serialize)]
pub struct Data<'a> {
    /// The heading.
    pub title: String,
    /// Result in a sentence or two.
    pub finding: String,
    /// The command line that reproduces the page.
    pub command: &'a str,
    /// Version of the program that wrote it.
    pub version: String,
    /// An exit window between these two multiples of the BDP is right.
    right_bdp: [f64; 2],
    arms: Vec<ArmData<'a>>,
    faults: Vec<&'a str>,
    /// Parts of files that were left out, and faults of captures.
    notes: Vec<String>,
    /// Verdicts for the scripts that compute others beside them.
    verdicts: &'a [crate::results::VerdictRow],
    tables: Tables,
    connections: &'a [ConnectionRow],
    /// Total number of connections.
    count: usize,
    lines: &'a [Course],
}

/// A startup and its style on every page.
#[derive(Clone, Debug, Serialize)]
struct ArmData<'a> {
    arm: &'a str,
    look: usize,
}

/// Tables as HTML.
#[derive(Clone, Debug, Serialize)]
struct Tables {
    verdicts: String,
    connections: String,
    captured: String,
    /// The exits on each connection that is drawn.
    startups: Vec<String>,
}

impl Tables {
    fn of(results: &Results) -> Tables {
        let table = |table: Table| html::table(&table.titled(""));
        let startups =
            |line: &Course| table(tables::startups(&results.connections[line.connection]));
        Tables {
            verdicts: table(tables::shares(results)),
            connections: table(tables::connections(results, MOST_ROWS, true)),
            captured: table(tables::captured(results)),
            startups: results.lines.iter().map(startups).collect(),
        }
    }
}

/// Parts of a replay's page.
pub const PAGE: Page<'_> = Page {
    kind: "replay",
    skip: "verdicts",
    styles: &[STILL_STYLE, include_str!("style.css")],
    body: include_str!("body.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page.js")],
};

/// The page of a replay in the common frame; `command` is the command line that reproduces it.
pub fn page(results: &Results, command: &str) -> String {
    let data = data(results, command);
    PAGE.fill(&data.title, &data.version, &data.to_json())
}

/// The data of that page, with the style of each startup as on every page.
pub fn data<'a>(results: &'a Results, command: &'a str) -> Data<'a> {
    let title = match &results.connections[..] {
        [one] => format!("Replay of {}", one.name),
        all => format!("Replay of {} connections", all.len()),
    };
    let arms = || results.arms.iter().map(String::as_str);
    Data {
        title,
        finding: results.finding(),
        command,
        version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
        right_bdp: [EARLY_BELOW, LATE_ABOVE],
        arms: arms().zip(looks(arms())).map(|(arm, look)| ArmData { arm, look }).collect(),
        faults: results.files.iter().filter_map(|file| file.fault.as_deref()).collect(),
        notes: results
            .files
            .iter()
            .flat_map(|file| file.notes.iter().cloned())
            .chain(results.capture_lines())
            .collect(),
        verdicts: &results.verdicts,
        tables: Tables::of(results),
        connections: &results.connections[..results.connections.len().min(MOST_ROWS)],
        count: results.connections.len(),
        lines: &results.lines,
    }
}

impl Data<'_> {
    /// JSON for the page's script.
    pub fn to_json(&self) -> String {
        // Serialization fails only for maps whose keys are not strings, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }
}
