//! The page of an evaluation: one self-contained file, with the parts of all other reports.

use crate::report::Report;
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use serde::Serialize;

const PAGE: Page<'_> = Page {
    kind: "evaluation",
    skip: "matrix",
    styles: &[STILL_STYLE, include_str!("page/evaluate.css")],
    body: include_str!("page/evaluate.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/evaluate.js")],
};

#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    summary: String,
    method: String,
    sentences: Vec<(String, String)>,
    decided: Vec<String>,
    evaluation: &'a Report,
}

impl Report {
    /// The page; `command` makes it again.
    pub fn page(&self, command: &str) -> String {
        let data = Data {
            command,
            summary: self.summary(),
            method: self.method(),
            sentences: self.sentences(),
            decided: self.criteria.iter().map(crate::report::CriterionRow::decided).collect(),
            evaluation: self,
        };
        let title = format!("{} and the criteria of RFC 9743", self.algorithm);
        let version = format!("firstflight {}", self.firstflight);
        PAGE.fill(&title, &version, &serde_json::to_string(&data).unwrap_or_default())
    }
}
