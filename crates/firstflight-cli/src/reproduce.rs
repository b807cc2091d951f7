//! `firstflight reproduce`.

use crate::done::Done;
use crate::files::{check_outputs, write_bytes};
use crate::fit::{asked, fitted};
use crate::output::{Output, check_before, give, names};
use crate::progress::{Progress, Unit};
use crate::rows::Rows;
use crate::run::{command_line, on_threads, threads};
use crate::sheet::{Field, Sheet, Side};
use crate::stop::graceful;
use crate::terminal::{CAUTION, QUIET, TITLE, whisper, width, wrap};
use clap::Args;
use comfy_table::Color;
use firstflight_lab::Error;
use firstflight_papers::{
    Chapter, Effort, Item, Point, Reproduction, SOURCES, Scale, Source, Verdict, gate_words,
    reproduce,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Documents: `--list` names them
    names: Vec<String>,
    /// List every document with its rows
    #[arg(long)]
    list: bool,
    /// Every document
    #[arg(long)]
    all: bool,
    /// Fewer seeds and connections: under three minutes on two cores
    #[arg(long)]
    quick: bool,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a Markdown page with one line per claim
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every row as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let sources = chosen(options)?;
    check_outputs(
        options.json.as_ref(),
        options.report.as_ref(),
        &[("--markdown", options.markdown.as_deref()), ("--csv", options.csv.as_deref())],
    )?;
    if options.list {
        if options.markdown.is_some() || options.csv.is_some() || options.report.is_some() {
            return Err(Error::new("--list: goes only with --json, because there are no results"));
        }
        let list = List(sources);
        check_before(options.json.as_ref(), &names(&list.sheets()), &list.rows().names)?;
        return give(options.json.as_ref(), &list).map(|()| Done::Well);
    }
    let shown = Sheet::new("", COLUMNS).names();
    check_before(options.json.as_ref(), &shown, &Rows::new(&RAW).names)?;
    let scale = if options.quick { Scale::Quick } else { Scale::Full };
    // A measurement is reported when it starts, so the first report does not advance the bar.
    let progress = Progress::begin(
        "{bar:20} {pos}/{len} measurements, about {eta} left: {msg}",
        Unit::Count("measurements"),
        Some(sources.iter().map(|source| source.steps).sum()),
    );
    let begun = AtomicBool::new(false);
    let tell = |what: &str| {
        progress.inc(u64::from(begun.swap(true, Ordering::Relaxed)));
        progress.tell(what);
    };
    let effort = Effort::new(scale, &tell);
    let stop = graceful("stopping with the results so far").flag();
    let all = on_threads(options.threads, || reproduce(&sources, &effort, stop));
    drop(progress);
    let all = all?;
    if let Some(file) = &options.markdown {
        let page = all.to_markdown(&command_line());
        write_bytes(file, page)?;
    }
    if let Some(file) = &options.csv {
        let rows = all.rows();
        let table = rows.to_csv(&(0..rows.names.len()).collect::<Vec<_>>());
        write_bytes(file, table)?;
    }
    if let Some(file) = &options.report {
        let page = all.to_html(&command_line());
        write_bytes(file, page)?;
    }
    give(options.json.as_ref(), &all)?;
    if let Some(partial) = all.partial {
        return Ok(Done::Because(partial.words()));
    }
    if all.sound() {
        return Ok(Done::Well);
    }
    whisper(&format!(
        "{CAUTION}note:{CAUTION:#} {} rows that follow from the algebra do not hold",
        all.count.number(Verdict::Fails)
    ));
    Ok(Done::Short)
}

/// The requested documents, in the order of the list.
fn chosen(options: &Options) -> Result<Vec<&'static Source>, Error> {
    let named = options
        .names
        .iter()
        .map(|name| firstflight_papers::source(name))
        .collect::<Result<Vec<_>, Error>>()?;
    if options.all && !named.is_empty() {
        return Err(Error::new("--all: does not go with names"));
    }
    if named.is_empty() && !options.all && !options.list {
        let all: Vec<&str> = SOURCES.iter().map(|source| source.name).collect();
        return Err(Error::new(format!("what to reproduce: --all, or some of {}", all.join(", "))));
    }
    Ok(SOURCES
        .iter()
        .filter(|source| named.is_empty() || named.iter().any(|name| name.name == source.name))
        .collect())
}

/// Documents with their items, which are not run.
struct List(Vec<&'static Source>);

impl Output for List {
    fn text(&self) -> String {
        let sheets = self.sheets();
        let about = |(source, sheet): (&&Source, &Sheet)| {
            let document = wrap(source.document, 0, width());
            format!("{TITLE}{}{TITLE:#}\n{document}\n{}\n", source.name, fitted(sheet))
        };
        let all: Vec<String> = self.0.iter().zip(&sheets).map(about).collect();
        all.join("\n")
    }

    fn sheets(&self) -> Vec<Sheet> {
        let sheet = |source: &&Source| {
            let title = format!("{}: {}", source.name, source.document);
            let columns = [("row", Side::Left), ("check", Side::Left), ("published", Side::Prose)];
            let mut sheet = Sheet::new(title, columns);
            for item in &source.items {
                sheet.row([item.id, &gate_words(item.gates), item.published]);
            }
            sheet
        };
        self.0.iter().map(sheet).collect()
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&["name", "document", "id", "gates", "published"]);
        for source in &self.0 {
            for item in &source.items {
                let cells = [source.name, source.document, item.id, item.gates, item.published];
                rows.row(cells.map(Value::from));
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        let item = |item: &Item| json!({ "id": item.id, "gates": item.gates, "published": item.published });
        let source = |source: &&Source| {
            let items: Vec<Value> = source.items.iter().map(item).collect();
            json!({ "name": source.name, "document": source.document, "stated": source.stated, "items": items })
        };
        let sources = self.0.iter().map(source).collect::<Vec<_>>();
        let document = json!({ "firstflight": env!("CARGO_PKG_VERSION"), "sources": sources });
        Ok(format!("{document:#}\n"))
    }
}

impl Output for Reproduction {
    fn text(&self) -> String {
        let chapters: String = self.sources.iter().map(chapter_text).collect();
        let partial = self.partial.map_or(String::new(), |partial| {
            format!("{CAUTION}{}{CAUTION:#}\n", wrap(&partial.words(), 0, width()))
        });
        let quick = if self.quick { " A quick run: wider intervals." } else { "" };
        let answer = wrap(&format!("{}{quick}", self.finding()), 0, width());
        format!("{TITLE}{answer}{TITLE:#}\n{partial}{chapters}")
    }

    fn sheets(&self) -> Vec<Sheet> {
        self.sources.iter().map(sheet).collect()
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&RAW);
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
                    row.note.as_str().into(),
                ]);
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// Columns for a document's table.
const COLUMNS: [(&str, Side); 7] = [
    ("row", Side::Left),
    ("check", Side::Left),
    ("published", Side::Prose),
    ("measured", Side::Prose),
    ("ours [95 %]", Side::Prose),
    ("accepted", Side::Prose),
    ("verdict", Side::Prose),
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

/// The table of a document.
fn sheet(chapter: &Chapter) -> Sheet {
    let title = format!("{}: {}", chapter.name, chapter.document);
    let mut sheet = Sheet::new(title, COLUMNS).dropping(&["check", "accepted", "published"]);
    let mut before = "";
    for row in &chapter.rows {
        let published = if row.id == before { "" } else { row.claim };
        before = row.id;
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        let measured = if row.measure.is_empty() {
            row.note.clone()
        } else {
            format!("{}{case}", row.measure)
        };
        let colour = match row.verdict {
            Verdict::Confirmed | Verdict::WithinBound | Verdict::Exact => Some(Color::Green),
            Verdict::NotSeen | Verdict::Opposite | Verdict::Fails => Some(Color::Red),
            Verdict::SizeOpen | Verdict::Smaller | Verdict::Larger | Verdict::SameDirection => {
                Some(Color::Yellow)
            }
            Verdict::Reported
            | Verdict::QuotedOnly
            | Verdict::NotReproducible
            | Verdict::NotRun => None,
        };
        let verdict = Field { colour, ..Field::from(row.says.as_str()) };
        let asks = gate_words(&row.gates);
        let cells = [row.key.as_str(), &asks, published, &measured, &row.ours, &row.accepted];
        sheet.row(cells.map(Field::from).into_iter().chain([verdict]));
    }
    sheet
}

/// A document for people: its table, and remarks on rows that were not reproduced.
fn chapter_text(chapter: &Chapter) -> String {
    let wrapped = |indent, text: &str| wrap(text, indent, width());
    let remarks: Vec<String> = chapter
        .rows
        .iter()
        .filter(|row| {
            (!row.holds() || row.verdict == Verdict::NotReproducible) && !row.measure.is_empty()
        })
        .map(|row| {
            let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
            let remark =
                format!("{} {}: {}{note}{}", row.key, row.measure, row.says, tried(&row.sweep));
            format!("  {}\n", wrapped(2, &remark))
        })
        .collect();
    let assumed: Vec<String> = chapter
        .assumptions
        .iter()
        .map(|assumed| {
            format!("  {}\n", wrapped(2, &format!("{}: {}", assumed.name, assumed.value)))
        })
        .collect();
    let findings =
        chapter.findings.iter().map(|finding| wrapped(0, finding) + "\n").collect::<String>();
    format!(
        "{TITLE}{}{TITLE:#}\n{}\n{QUIET}{}{QUIET:#}\n{findings}{}\n{}{QUIET}assumed\n{}{QUIET:#}\n",
        chapter.name,
        wrapped(0, chapter.document),
        wrapped(0, chapter.stated),
        fitted(&sheet(chapter)),
        remarks.concat(),
        assumed.concat()
    )
}

/// Other set-ups of a row, which would take too much space on a terminal.
fn tried(sweep: &[Point]) -> String {
    const FEW: usize = 2;
    if sweep.is_empty() {
        return String::new();
    }
    if sweep.len() > FEW && !asked().wide && width().is_some() {
        return format!(" [{} other set-ups: `--wide` or `--report`]", sweep.len());
    }
    let points: Vec<String> =
        sweep.iter().map(|point| format!("{}: {}", point.setting, point.ours)).collect();
    format!(" [{}]", points.join("; "))
}
