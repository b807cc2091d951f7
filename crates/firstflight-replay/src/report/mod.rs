//! What the page of a replay shows: the finding, verdicts over all connections, and for the first
//! ones RTT, delivery rate, windows, ACK spacing and inner signals over time, with the exit of
//! every startup.
//!
//! Frame, colours and tools are those of all pages (`firstflight-lab`, `report::html`); that
//! frame is filled with [`STYLE`], [`BODY`], [`SCRIPT`] and [`Data`].

use crate::course::Course;
use crate::results::{CapturedRow, Results, VerdictRow};
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE};
#[cfg(feature = "advice")]
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use serde::Serialize;

/// Styles besides those of all pages.
pub const STYLE: &str = include_str!("style.css");
/// Content below title and lead.
pub const BODY: &str = include_str!("body.html");
/// Draws the page from the data.
pub const SCRIPT: &str = include_str!("page.js");
/// Rows of the table of connections.
pub const MOST_ROWS: usize = 500;

/// Everything the page shows.
#[derive(Clone, Debug, Serialize)]
pub struct Data<'a> {
    /// The heading.
    pub title: String,
    /// Result in a sentence or two.
    pub finding: String,
    /// The command line that makes the page again.
    pub command: &'a str,
    /// Version of the program that wrote it.
    pub version: String,
    /// A window at exit between these two shares of the BDP is right.
    right_bdp: [f64; 2],
    arms: Vec<ArmData<'a>>,
    faults: Vec<&'a str>,
    /// What was left out of files, and what is wrong with captures.
    notes: Vec<String>,
    verdicts: &'a [VerdictRow],
    captured: &'a [CapturedRow],
    connections: &'a [ConnectionRow],
    /// Connections in all.
    count: usize,
    lines: &'a [Course],
}

/// A startup and how it is drawn on every page.
#[derive(Clone, Debug, Serialize)]
struct ArmData<'a> {
    arm: &'a str,
    look: usize,
}

impl<'a> Data<'a> {
    /// Of the results. `looks` says how each of [`Results::arms`] is drawn.
    pub fn new(results: &'a Results, looks: &[usize], command: &'a str) -> Data<'a> {
        let title = match &results.connections[..] {
            [one] => format!("Replay of {}", one.name),
            all => format!("Replay of {} connections", all.len()),
        };
        let look = |index: usize| looks.get(index).copied().unwrap_or(index);
        let arms = results.arms.iter().enumerate();
        Data {
            title,
            finding: results.finding(),
            command,
            version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
            right_bdp: [EARLY_BELOW, LATE_ABOVE],
            arms: arms.map(|(index, arm)| ArmData { arm, look: look(index) }).collect(),
            faults: results.files.iter().filter_map(|file| file.fault.as_deref()).collect(),
            notes: results
                .files
                .iter()
                .flat_map(|file| file.notes.iter().cloned())
                .chain(results.capture_lines())
                .collect(),
            verdicts: &results.verdicts,
            captured: &results.captured,
            connections: &results.connections[..results.connections.len().min(MOST_ROWS)],
            count: results.connections.len(),
            lines: &results.lines,
        }
    }
}

impl Data<'_> {
    /// As the page's script reads it.
    pub fn to_json(&self) -> String {
        // Only maps with keys other than strings can fail here, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Parts of a replay's page.
#[cfg(feature = "advice")]
pub const PAGE: Page<'_> = Page {
    kind: "replay",
    skip: "verdicts",
    styles: &[STILL_STYLE, STYLE],
    body: BODY,
    common: STILL_SCRIPTS,
    scripts: &[SCRIPT],
};

/// The page: what a replay has to show, in the frame of all pages; `command` made it.
#[cfg(feature = "advice")]
pub fn page(results: &Results, command: &str) -> String {
    let data = data(results, command);
    PAGE.fill(&data.title, &data.version, &data.to_json())
}

/// Data of that page, with each startup drawn as on every page.
#[cfg(feature = "advice")]
pub fn data<'a>(results: &'a Results, command: &'a str) -> Data<'a> {
    let looks = firstflight_lab::report::looks(results.arms.iter().map(String::as_str));
    Data::new(results, &looks, command)
}
