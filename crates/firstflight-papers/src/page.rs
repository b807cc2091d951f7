//! Results as documents: the page of the documentation with a line per claim, the HTML page, and the
//! text of a terminal.

use crate::{Chapter, Count, Figure, Gate, Point, Reproduction, Row, Verdict, gate_words};
use firstflight_lab::report::html::{AGAIN, DOCUMENT_STYLE, Page, STILL_SCRIPTS, STILL_STYLE};
use firstflight_lab::stats::resample::RESAMPLES;
use firstflight_table::markdown::Dialect;
use firstflight_table::{Document, Kind, Marked, Span, Table, Text, Tone, html};
use serde::Serialize;

/// The page of reproductions; its body is generated from the rows.
const PAGE: Page<'_> = Page {
    kind: "reproduce",
    skip: "summary",
    styles: &[STILL_STYLE, DOCUMENT_STYLE, include_str!("page/reproduce.css")],
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/reproduce_charts.js"), include_str!("page/reproduce.js")],
};

/// Data for the scripts.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    finding: String,
    lead: String,
    chapters: Vec<Pictures<'a>>,
}

#[derive(Serialize)]
struct Pictures<'a> {
    name: &'static str,
    figures: &'a [Figure],
}

/// Columns for a document's table.
const COLUMNS: [(&str, Kind); 7] = [
    ("row", Kind::Name),
    ("check", Kind::Name),
    ("published", Kind::Prose),
    ("measured", Kind::Prose),
    ("ours [95 %]", Kind::Prose),
    ("accepted", Kind::Prose),
    ("verdict", Kind::Prose),
];

/// Columns of every row in data, as in `docs/results.csv`.
const RAW: [&str; 18] = [
    "document",
    "row",
    "gates",
    "claim",
    "measure",
    "case",
    "published",
    "measured",
    "low",
    "high",
    "unit",
    "ratio",
    "ours",
    "accepted",
    "verdict",
    "says",
    "assumptions",
    "note",
];

fn tone(verdict: Verdict) -> Option<Tone> {
    match verdict {
        Verdict::Confirmed | Verdict::WithinBound | Verdict::Exact => Some(Tone::Good),
        Verdict::NotSeen | Verdict::Opposite | Verdict::Fails => Some(Tone::Bad),
        Verdict::SizeOpen | Verdict::Smaller | Verdict::Larger | Verdict::SameDirection => {
            Some(Tone::Fair)
        }
        Verdict::Reported | Verdict::QuotedOnly | Verdict::NotReproducible | Verdict::NotRun => {
            None
        }
    }
}

impl Row {
    /// The measure and its case, or the reason why there is none.
    fn measured_in_words(&self) -> String {
        match (self.measure.as_str(), self.case.as_str()) {
            ("", _) => self.note.clone(),
            (measure, "") => measure.to_owned(),
            (measure, case) => format!("{measure} ({case})"),
        }
    }

    /// Its note and its other set-ups; `few` leaves out many of them, which would take too much
    /// space on a terminal.
    fn remark(&self, few: bool) -> String {
        let note = if self.note.is_empty() { String::new() } else { format!(": {}", self.note) };
        format!("{} {}: {}{note}{}", self.key, self.measure, self.says, tried(&self.sweep, few))
    }
}

fn tried(sweep: &[Point], few: bool) -> String {
    const FEW: usize = 2;
    if sweep.is_empty() {
        return String::new();
    }
    if sweep.len() > FEW && few {
        return format!(" [{} other set-ups: `--wide` or `--report`]", sweep.len());
    }
    let points: Vec<String> =
        sweep.iter().map(|point| format!("{}: {}", point.setting, point.ours)).collect();
    format!(" [{}]", points.join("; "))
}

/// Largest number of rows that are explained on one screen.
const MOST_OPEN: usize = 3;

impl Chapter {
    /// Its rows; the published result is in the first row of each claim.
    pub fn table(&self) -> Table {
        let title = format!("{}: {}", self.name, self.document);
        let mut table = Table::new(title, COLUMNS).dropping(&["check", "accepted", "published"]);
        let mut before = "";
        for row in &self.rows {
            let published = if row.id == before { "" } else { row.claim };
            before = row.id;
            let asks = gate_words(&row.gates);
            let measured = row.measured_in_words();
            let cells = [&row.key, asks.as_str(), published, &measured, &row.ours, &row.accepted];
            let verdict = Marked::from(row.says.as_str()).tone(tone(row.verdict));
            table.row(cells.map(Marked::from).into_iter().chain([verdict]));
        }
        table
    }

    /// The row that decides a claim: the first one with a gate, otherwise the first.
    fn primary(&self, id: &str) -> Option<&Row> {
        let mut rows = self.rows.iter().filter(|row| row.id == id);
        let gated = rows.clone().find(|row| row.gate != Gate::Seen);
        gated.or_else(|| rows.next())
    }

    /// Numbers of the claims, in list order.
    fn claims(&self) -> Vec<&'static str> {
        let mut ids: Vec<&'static str> = self.rows.iter().map(|row| row.id).collect();
        ids.dedup();
        ids
    }

    /// Its table and remarks for a terminal; with `few` only the first remarks.
    fn shown(&self, out: &mut Document, few: bool) {
        out.heading(2, self.name, self.name);
        out.paragraph(self.document);
        if !few {
            out.note([self.stated]);
        }
        for finding in &self.findings {
            out.paragraph(finding.as_str());
        }
        if !few {
            out.table(self.table());
        }
        let is_open = |row: &&Row| {
            (!row.holds() || row.verdict == Verdict::NotReproducible) && !row.measure.is_empty()
        };
        let open: Vec<&Row> = self.rows.iter().filter(is_open).collect();
        if few {
            out.items(open.iter().take(MOST_OPEN).map(|row| row.remark(true)));
            return;
        }
        out.items(open.iter().map(|row| row.remark(false)));
        let assumed = self.assumptions.iter().map(|one| format!("  {}: {}", one.name, one.value));
        out.note(["assumed".to_owned()].into_iter().chain(assumed).chain([String::new()]));
    }

    /// Its section of the HTML page.
    fn section(&self, out: &mut Document) {
        out.heading(2, self.name, format!("{}: {}", self.name, self.document));
        out.note([format!("Stated: {}.", self.stated)]);
        out.paragraph(format!("{}.", Count::of(&self.rows).words()));
        for finding in &self.findings {
            out.paragraph(finding.as_str());
        }
        out.chart(format!("figures-{}", self.name));
        let mut all = Document::default();
        all.table(self.table().titled(""));
        out.folded(format!("All {} rows", self.rows.len()), all);
        let has_more = |row: &&Row| {
            !(row.note.is_empty() && row.sweep.is_empty() && row.assumptions.is_empty())
        };
        let more = |row: &Row| {
            let assumed = match row.assumptions.as_slice() {
                [] => String::new(),
                names => format!("; assumptions: {}", names.join(", ")),
            };
            row.remark(false) + &assumed
        };
        let mut remarks = Document::default();
        remarks.items(self.rows.iter().filter(has_more).map(more));
        out.folded("Remarks, other settings and assumptions of rows", remarks);
        let mut assumed = Document::default();
        assumed.items(self.assumptions.iter().map(|one| format!("{}: {}", one.name, one.value)));
        out.folded("Our assumptions where the document is silent", assumed);
    }

    /// Its section of the Markdown page: a line per claim.
    fn by_claim(&self, out: &mut Document) {
        let ids = self.claims();
        let count = Count::of(ids.iter().filter_map(|id| self.primary(id)));
        out.heading(2, self.name, format!("{}: {}", self.name, self.document));
        out.paragraph(format!("Stated: {}", self.stated));
        out.paragraph(format!(
            "Of {} claims, each by its first row: {}.",
            ids.len(),
            count.words()
        ));
        for finding in &self.findings {
            out.paragraph(finding.as_str());
        }
        let columns =
            ["claim", "check", "published", "measured", "ours [95 %]", "verdict", "other rows"];
        let mut table = Table::new("", columns.map(|name| (name, Kind::Prose)));
        for row in ids.iter().filter_map(|id| self.primary(id)) {
            let is_other = |other: &&Row| other.id == row.id && other.key != row.key;
            table.row([
                row.id.to_owned(),
                gate_words(&row.gates),
                row.claim.to_owned(),
                row.measured_in_words(),
                row.ours.clone(),
                row.says.clone(),
                Count::of(self.rows.iter().filter(is_other)).words(),
            ]);
        }
        out.table(table);
    }
}

impl Reproduction {
    /// For a terminal: each document with its table and its remarks.
    pub fn document(&self, few: bool) -> Document {
        let quick = if self.quick { " A quick run: wider intervals." } else { "" };
        let mut out = Document::titled("", format!("{}{quick}", self.finding()));
        if let Some(partial) = self.partial {
            out.warning(partial.words());
        }
        for chapter in &self.sources {
            if few && self.sources.len() > 1 {
                let counts = Count::of(&chapter.rows).words();
                out.paragraph(format!("{}: {counts}", chapter.name));
            } else {
                chapter.shown(&mut out, few);
            }
        }
        if few {
            out.note(["`--wide` shows every row"]);
        }
        out
    }

    /// Names of the columns of its tables, and of its rows as data.
    pub fn columns() -> (Vec<String>, Vec<String>) {
        (Table::new("", COLUMNS).names(), RAW.map(str::to_owned).into())
    }

    /// Every row as data.
    pub fn rows(&self) -> Table {
        let mut rows = Table::of_data(RAW);
        for chapter in &self.sources {
            for row in &chapter.rows {
                let [low, high] = row.interval.map_or([None; 2], |ends| ends.map(Some));
                rows.row([
                    chapter.name.into(),
                    row.key.as_str().into(),
                    row.gates.as_str().into(),
                    row.claim.into(),
                    row.measure.as_str().into(),
                    row.case.as_str().into(),
                    row.published.map(|published| published.value).into(),
                    row.measured.into(),
                    low.into(),
                    high.into(),
                    row.unit.into(),
                    row.ratio.into(),
                    row.ours.as_str().into(),
                    row.accepted.as_str().into(),
                    row.verdict.key().into(),
                    row.says.as_str().into(),
                    row.assumptions.join(" ").into(),
                    firstflight_table::Cell::from(row.note.as_str()),
                ]);
            }
        }
        rows
    }

    /// The page for the documentation, with a line per claim; `command` is the command that wrote it.
    pub fn to_markdown(&self, command: &str) -> String {
        let mut out = Document::titled("", "Published results compared with ours");
        if let Some(partial) = self.partial {
            let words = format!(" ({}).", partial.words());
            out.paragraph(
                Text::default().and(Span::Strong("Incomplete".into())).and(Span::Plain(words)),
            );
        }
        out.paragraph(format!(
            "Written by `{command}` with firstflight {}{}. One line per claim: its first row with a gate, and the verdicts of the claim's other\n\
             rows. The CSV (`--csv`) and the report (`--report`) have all {} rows, with accepted bands, assumptions and remarks;\n\
             `crates/firstflight-papers/papers` has the published claims and our assumptions.",
            self.firstflight,
            if self.quick { ", a quick run with fewer seeds and connections" } else { "" },
            self.sources.iter().map(|chapter| chapter.rows.len()).sum::<usize>(),
        ));
        out.paragraph(format!(
            "A claim is checked for a value that follows from the algebra (*exact*), a *direction*, the published *size*, or nothing\n\
             (*-*); *quoted* claims are not measured. Verdicts state size: *confirmed in size* is a significant effect inside the\n\
             accepted band (without a band: two thirds to one and a half times the published effect); *same direction, smaller* or *larger*\n\
             gives both numbers; *not seen* is an effect whose 95 % interval includes no effect, or a condition that is not met;\n\
             *opposite* is significant in the other direction. Intervals are from a paired bootstrap with {RESAMPLES} resamples over seeds (laboratory)\n\
             or connections (populations), each row on its own: of a hundred directions without a real effect, two or three would\n\
             be seen by chance."
        ));
        out.paragraph("Rows by verdict:");
        out.table(self.counts());
        for chapter in &self.sources {
            chapter.by_claim(&mut out);
        }
        format!("<!-- Written by `{command}`; do not edit. -->\n{}", Dialect::AS_IS.document(&out))
    }

    /// The number of rows by document and verdict, for verdicts on effects and levels.
    fn counts(&self) -> Table {
        let heads = Verdict::MEASURED.iter().map(|verdict| verdict.words());
        let columns = std::iter::once("document").chain(heads).map(|name| (name, Kind::Name));
        let mut table = Table::new("", columns);
        let mut line = |name: String, count: &Count| {
            let numbers = Verdict::MEASURED.iter().map(|of| count.number(*of).to_string());
            table.row(std::iter::once(name).chain(numbers));
        };
        for chapter in &self.sources {
            line(format!("[{0}](#{0})", chapter.name), &Count::of(&chapter.rows));
        }
        line("all".into(), &self.count);
        table
    }

    /// The sections of the HTML page.
    fn sections(&self) -> Document {
        let mut out = Document::default();
        out.heading(2, "summary", "Summary");
        let counted = self.count.each().filter(|(_, number)| *number > 0);
        out.items(counted.map(|(verdict, number)| {
            let words = format!(" {}", verdict.words());
            Text(vec![Span::Strong(number.to_string()), Span::Plain(words)])
        }));
        let links = self
            .sources
            .iter()
            .flat_map(|chapter| [Span::Link(chapter.name.into()), Span::Plain(" ".into())]);
        out.paragraph(Text(links.collect()));
        out.note([
            "All rows of our list of experiments follow, including those that were not reproduced. A row checks \
             a value that follows from the algebra (exact), a direction, the published size, or nothing (-). Verdicts state \
             size: a significant effect inside the accepted band is confirmed in size, one outside it is reported with both numbers, and \
             one whose interval includes no effect is not seen. Intervals are 95 %, from a paired bootstrap, each row on its own: of a hundred \
             directions without a real effect, two or three would be seen by chance.",
        ]);
        out.heading(3, "", "Results that were not seen or were opposite, with possible reasons");
        let open: Vec<Text> = self.sources.iter().flat_map(open).collect();
        if open.is_empty() {
            out.paragraph("No published result is missing or opposite.");
        }
        out.items(open);
        for chapter in &self.sources {
            chapter.section(&mut out);
        }
        out
    }

    /// One self-contained page that loads nothing from elsewhere.
    pub fn to_html(&self, command: &str) -> String {
        let claims = |chapter: &Chapter| {
            let source = crate::SOURCES.iter().find(|one| one.name == chapter.name);
            source.map_or(0, |one| one.items.len())
        };
        let lead = format!(
            "{}{} published numbers of {} documents, measured again.{}",
            self.partial
                .map_or(String::new(), |partial| format!("Incomplete ({}). ", partial.words())),
            self.sources.iter().map(claims).sum::<usize>(),
            self.sources.len(),
            if self.quick {
                " A quick run: fewer seeds and connections, wider intervals."
            } else {
                ""
            }
        );
        let mut chapters = Vec::new();
        for Chapter { name, figures, .. } in &self.sources {
            chapters.push(Pictures { name, figures });
        }
        let data = Data { command, finding: self.finding(), lead, chapters };
        let body = html::document(&self.sections()) + AGAIN;
        Page { body: &body, ..PAGE }.fill(
            "Published results compared with ours",
            &format!("firstflight {}", self.firstflight),
            &serde_json::to_string(&data).unwrap_or_default(),
        )
    }
}

/// The results of a document that were not reproduced, with their notes.
fn open(chapter: &Chapter) -> Vec<Text> {
    let is_open = |row: &&Row| {
        use Verdict::{Fails, NotRun, NotSeen, Opposite};
        matches!(row.verdict, NotSeen | Opposite | Fails | NotRun)
    };
    let item = |row: &Row| {
        let note = if row.note.is_empty() { String::new() } else { format!(" {}.", row.note) };
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        Text(vec![
            Span::Strong(row.key.clone()),
            Span::Plain(" ".into()),
            Span::Link(chapter.name.into()),
            Span::Plain(format!(": {}{case}: ", row.measure)),
            Span::Strong(row.says.clone()),
            Span::Plain(format!(" ({}). Published: {}.{note}", row.ours, row.claim)),
        ])
    };
    chapter.rows.iter().filter(is_open).map(item).collect()
}
