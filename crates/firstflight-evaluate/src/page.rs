//! The HTML pages of an evaluation and of a single cell: self-contained files that share scripts and styles with
//! the other reports.

use crate::metrics::METRICS;
use crate::place::Place;
use crate::report::Report;
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use serde::Serialize;
use std::collections::BTreeMap;

const STYLES: &[&str] = &[STILL_STYLE, include_str!("page/evaluate.css")];

const PAGE: Page<'_> = Page {
    kind: "evaluation",
    skip: "matrix",
    styles: STYLES,
    body: include_str!("page/evaluate.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/places.js"), include_str!("page/evaluate.js")],
};

const CELL: Page<'_> = Page {
    kind: "cell of an evaluation",
    skip: "numbers",
    styles: STYLES,
    body: include_str!("page/cell.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/places.js"), include_str!("page/cell.js")],
};

#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    summary: String,
    method: String,
    sentences: Vec<(String, String)>,
    /// Metrics in words, by name.
    names: BTreeMap<&'static str, &'static str>,
    decided: Vec<String>,
    places: Vec<Shown<'a>>,
    evaluation: &'a Report,
}

/// A cell that is plotted over time in the section of its criterion.
#[derive(Serialize)]
struct Shown<'a> {
    section: &'a str,
    command: String,
    place: &'a Place,
}

#[derive(Serialize)]
struct OneCell<'a> {
    command: &'a str,
    place: &'a Place,
}

impl Report {
    /// The HTML page. `command` reproduces it; `places` are cells to plot over time, each with its section
    /// ([`evidence`](crate::evidence)).
    pub fn page(&self, command: &str, places: &[(String, Place)]) -> String {
        let data = Data {
            command,
            summary: self.summary(),
            method: self.method(),
            sentences: self.sentences(),
            names: METRICS.iter().map(|metric| (metric.name, metric.words)).collect(),
            decided: self.criteria.iter().map(crate::report::CriterionRow::decided).collect(),
            places: places
                .iter()
                .map(|(section, place)| Shown {
                    section,
                    command: self.command_of(&place.cell, Some(place.seed)),
                    place,
                })
                .collect(),
            evaluation: self,
        };
        let title = format!("{} and the criteria of RFC 9743", self.algorithm);
        PAGE.fill(&title, &version(), &serde_json::to_string(&data).unwrap_or_default())
    }
}

impl Place {
    /// The HTML page of one cell; `command` reproduces it.
    pub fn page(&self, command: &str) -> String {
        let data = OneCell { command, place: self };
        let title = format!("{}, seed {}", self.cell, self.seed);
        CELL.fill(&title, &version(), &serde_json::to_string(&data).unwrap_or_default())
    }
}

fn version() -> String {
    format!("firstflight {}", env!("CARGO_PKG_VERSION"))
}
