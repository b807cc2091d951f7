//! Contents of a replay's page: the finding, verdicts over all connections, and for the first ones
//! RTT, delivery rate, windows, ACK spacing and internal signals over time, with the exit of every
//! startup.
//!
//! The frame, colours and tools are shared by all pages (`firstflight-lab`, `report::html`);
//! [`STYLE`], [`BODY`], [`SCRIPT`] and [`Data`] fill the frame.

use crate::course::Course;
use crate::results::{CapturedRow, Results, VerdictRow};
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE};
#[cfg(feature = "advice")]
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use serde::Serialize;

/// Styles in addition to those of all pages.
pub const STYLE: &str = include_str!("style.css");
/// Content below title and lead.
pub const BODY: &str = include_str!("body.html");
/// Draws the page from the data.
pub const SCRIPT: &str = include_str!("page.js");
/// Maximum number of rows in the table of connections.
pub const MOST_ROWS: usize = 500;

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
    verdicts: &'a [VerdictRow],
    captured: &'a [CapturedRow],
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

impl<'a> Data<'a> {
    /// The data of the results. `looks` has the style of each of [`Results::arms`].
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
    /// JSON for the page's script.
    pub fn to_json(&self) -> String {
        // Serialization fails only for maps whose keys are not strings, and there are none.
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

/// The page of a replay in the common frame; `command` is the command line that reproduces it.
#[cfg(feature = "advice")]
pub fn page(results: &Results, command: &str) -> String {
    let data = data(results, command);
    PAGE.fill(&data.title, &data.version, &data.to_json())
}

/// The data of that page, with the style of each startup as on every page.
#[cfg(feature = "advice")]
pub fn data<'a>(results: &'a Results, command: &'a str) -> Data<'a> {
    let looks = firstflight_lab::report::looks(results.arms.iter().map(String::as_str));
    Data::new(results, &looks, command)
}
