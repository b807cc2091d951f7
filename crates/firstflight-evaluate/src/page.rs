//! The HTML pages of an evaluation and of a single cell: self-contained files that share scripts and styles with
//! the other reports.

use crate::annex::criterion_words;
use crate::metrics::METRICS;
use crate::place::Place;
use crate::report::{CellRow, CriterionRow, Report, Verdict};
use crate::words::figure;
use firstflight_lab::report::html::{AGAIN, DOCUMENT_STYLE, Page, STILL_SCRIPTS, STILL_STYLE};
use firstflight_table::{Document, Kind, Marked, Span, Table, Text, Tone, html};
use serde::Serialize;
use std::collections::BTreeMap;

const STYLES: &[&str] = &[STILL_STYLE, DOCUMENT_STYLE, include_str!("page/evaluate.css")];

const PAGE: Page<'_> = Page {
    kind: "evaluation",
    skip: "matrix",
    styles: STYLES,
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/places.js"), include_str!("page/evaluate.js")],
};

const CELL: Page<'_> = Page {
    kind: "cell of an evaluation",
    skip: "numbers",
    styles: STYLES,
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/places.js"), include_str!("page/cell.js")],
};

/// Columns of the table of criteria.
const COLUMNS: [(&str, Kind); 5] = [
    ("section", Kind::Name),
    ("criterion", Kind::Prose),
    ("RFC", Kind::Prose),
    ("verdict", Kind::Name),
    ("decided by", Kind::Prose),
];

#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    summary: String,
    /// Metrics in words, by name.
    names: BTreeMap<&'static str, &'static str>,
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
    /// Names of the columns of [`Self::table`].
    pub fn columns() -> Vec<String> {
        Table::new("", COLUMNS).names()
    }

    /// The criteria with their verdicts, and the values that decided.
    pub fn table(&self) -> Table {
        let mut table = Table::new(self.summary(), COLUMNS).dropping(&["RFC"]);
        for row in &self.criteria {
            let verdict = Marked::from(row.verdict.name()).tone(tone(row.verdict));
            let words = [&row.section, &row.title, &row.strength].map(Marked::from);
            table.row(words.into_iter().chain([verdict, row.decided().into()]));
        }
        table
    }

    /// Every rule in every cell of a criterion.
    fn rules(&self, judges: &[CellRow]) -> Table {
        let columns = [
            ("cell", Kind::Prose),
            ("measure", Kind::Prose),
            (&self.algorithm, Kind::Number),
            (&self.baseline, Kind::Number),
            ("difference [95 %]", Kind::Number),
            ("margin or limit", Kind::Number),
            ("seeds", Kind::Number),
            ("verdict", Kind::Name),
        ];
        let mut table = Table::new("", columns);
        for row in judges {
            let bound = row.margin.or(row.limit).map(figure);
            table.row([
                Marked::from(format!("{}\n{}", row.place, row.cell)),
                row.what().into(),
                row.ours().into(),
                row.theirs().into(),
                row.worse().into(),
                bound.into(),
                row.seeds.into(),
                Marked::from(row.verdict.name()).tone(tone(row.verdict)),
            ]);
        }
        table
    }

    /// The section of a criterion; its charts are drawn by the script.
    fn section(&self, out: &mut Document, criterion: &CriterionRow, places: &[(String, Place)]) {
        criterion_words(out, criterion);
        out.items(criterion.author.iter().map(|line| format!("For the author: {line}")));
        if criterion.judges.is_empty() {
            return;
        }
        out.chart(format!("rules-{}", criterion.section));
        let mut rules = Document::default();
        rules.table(self.rules(&criterion.judges));
        out.folded(format!("All {} rules in cells", criterion.judges.len()), rules);
        let mut drawn = places.iter().filter(|(section, _)| *section == criterion.section);
        if let Some((_, first)) = drawn.next() {
            let others = drawn.map(|(_, place)| format!("; {}", place.about));
            let summary = format!("Over time: {}{}", first.about, others.collect::<String>());
            let mut courses = Document::default();
            courses.chart(format!("over-time-{}", criterion.section));
            out.folded(summary, courses);
        }
    }

    fn sections(&self, places: &[(String, Place)]) -> Document {
        let mut out = Document::default();
        out.heading(2, "matrix", "Criteria");
        out.note([
            "concern: a finding to explain; pass: every comparison excludes a deterioration beyond its margin; \
             undecided: the intervals are too wide. No verdict means that an algorithm is compliant.",
        ]);
        let links = self
            .criteria
            .iter()
            .flat_map(|criterion| [Span::Link(criterion.section.clone()), Span::Plain(" ".into())]);
        out.paragraph(Text(links.collect()));
        out.table(self.table().titled(""));
        let concerns = self.sentences();
        if !concerns.is_empty() {
            out.heading(2, "concerns", "Concerns");
        }
        for (sentence, command) in concerns {
            out.paragraph(sentence);
            out.code(command);
        }
        for criterion in &self.criteria {
            self.section(&mut out, criterion, places);
        }
        out.heading(2, "method", "Method");
        out.paragraph(self.method());
        out.items(self.broken.iter().chain(&self.partial).chain(&self.notes).cloned());
        out
    }

    /// The HTML page. `command` reproduces it; `places` are cells to plot over time, each with its section
    /// ([`evidence`](crate::evidence)).
    pub fn page(&self, command: &str, places: &[(String, Place)]) -> String {
        let data = Data {
            command,
            summary: self.summary(),
            names: METRICS.iter().map(|metric| (metric.name, metric.words)).collect(),
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
        let body = html::document(&self.sections(places)) + AGAIN;
        let page = Page { body: &body, ..PAGE };
        page.fill(&title, &version(), &serde_json::to_string(&data).unwrap_or_default())
    }
}

fn tone(verdict: Verdict) -> Option<Tone> {
    match verdict {
        Verdict::Concern => Some(Tone::Bad),
        Verdict::Undecided => Some(Tone::Fair),
        Verdict::Pass => Some(Tone::Good),
        _ => None,
    }
}

impl Place {
    /// The values, with the algorithm and with the baseline.
    pub fn table(&self) -> Table {
        let names = ["metric", "of", "window"].map(|name| (name, Kind::Name));
        let seats = self.runs.iter().map(|run| (run.seat.as_str(), Kind::Number));
        let mut table = Table::new("", names.into_iter().chain(seats));
        for number in &self.figures {
            let shown = |value: Option<f64>| {
                value.map_or("-".to_owned(), |value| format!("{} {}", figure(value), number.unit))
            };
            table.row([
                number.metric.clone(),
                number.of.clone(),
                number.window.to_owned(),
                shown(number.value).trim().to_owned(),
                shown(number.baseline).trim().to_owned(),
            ]);
        }
        table
    }

    /// The HTML page of one cell; `command` reproduces it.
    pub fn page(&self, command: &str) -> String {
        let data = OneCell { command, place: self };
        let title = format!("{}, seed {}", self.cell, self.seed);
        let mut sections = Document::default();
        sections.heading(2, "numbers", "Numbers");
        sections.table(self.table());
        sections.heading(2, "over-time", "Over time");
        sections.chart("courses");
        let body = html::document(&sections) + AGAIN;
        let page = Page { body: &body, ..CELL };
        page.fill(&title, &version(), &serde_json::to_string(&data).unwrap_or_default())
    }
}

fn version() -> String {
    format!("firstflight {}", env!("CARGO_PKG_VERSION"))
}
