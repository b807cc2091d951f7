//! `firstflight reproduce`.

use crate::done::Done;
use crate::fit::{self, brief, fitted};
use crate::output::{Columns, Files, Output, produce, show_with};
use crate::progress::{Progress, Unit};
use crate::run::{command_line, on_threads, threads};
use crate::stop::graceful;
use crate::terminal::{CAUTION, whisper};
use clap::Args;
use firstflight_lab::Error;
use firstflight_papers::{
    Effort, Item, Reproduction, SOURCES, Scale, Source, Verdict, gate_words, reproduce,
};
use firstflight_table::{Document, Kind, Table};
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
    let files = Files {
        json: options.json.as_ref(),
        others: &[
            ("--report", options.report.as_deref()),
            ("--markdown", options.markdown.as_deref()),
            ("--csv", options.csv.as_deref()),
        ],
    };
    if options.list {
        if options.markdown.is_some() || options.csv.is_some() || options.report.is_some() {
            return Err(Error::new(
                "--list: can be combined only with --json, because there are no results",
            ));
        }
        return show_with(options.json.as_ref(), &List(sources)).map(|()| Done::Well);
    }
    let columns = Columns::Known(Reproduction::columns());
    let all = produce(
        &files,
        columns,
        || measured(options, &sources),
        |all, option| {
            Ok(match option {
                "--markdown" => all.to_markdown(&command_line()),
                "--csv" => {
                    let rows = all.rows();
                    rows.to_csv(&rows.every_column())
                }
                _ => all.to_html(&command_line()),
            })
        },
    )?;
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

fn measured(options: &Options, sources: &[&'static Source]) -> Result<Reproduction, Error> {
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
    on_threads(options.threads, || reproduce(sources, &effort, stop))
}

/// The requested documents, in the order of the list.
fn chosen(options: &Options) -> Result<Vec<&'static Source>, Error> {
    let named = options
        .names
        .iter()
        .map(|name| firstflight_papers::source(name))
        .collect::<Result<Vec<_>, Error>>()?;
    if options.all && !named.is_empty() {
        return Err(Error::new("--all: cannot be combined with names"));
    }
    if named.is_empty() && !options.all && !options.list {
        let all: Vec<&str> = SOURCES.iter().map(|source| source.name).collect();
        return Err(Error::new(format!(
            "name the documents to reproduce, or --all; there are {}",
            all.join(", ")
        )));
    }
    Ok(SOURCES
        .iter()
        .filter(|source| named.is_empty() || named.iter().any(|name| name.name == source.name))
        .collect())
}

/// Documents with their items, which are not run.
struct List(Vec<&'static Source>);

impl Output for List {
    fn document(&self) -> Document {
        let mut out = Document::default();
        for (at, source) in self.0.iter().enumerate() {
            if at > 0 {
                out.paragraph("");
            }
            out.heading(2, source.name, source.name);
            out.paragraph(source.document);
            let title = format!("{}: {}", source.name, source.document);
            let columns = [("row", Kind::Name), ("check", Kind::Name), ("published", Kind::Prose)];
            let mut table = Table::new(title, columns);
            for item in &source.items {
                table.row([item.id, &gate_words(item.gates), item.published]);
            }
            out.table(table);
        }
        out
    }

    /// On a screen, one line per document unless only one is asked for.
    fn text(&self) -> String {
        if !brief() || self.0.len() == 1 {
            return fit::document(&self.document());
        }
        let columns = [("name", Kind::Name), ("rows", Kind::Number), ("document", Kind::Prose)];
        let mut table = Table::new("documents", columns);
        for source in &self.0 {
            // Only the first words; `--list NAME` prints the whole text.
            let document = source.document.split([',', ';', '(']).next().unwrap_or_default();
            table.row([source.name, &source.items.len().to_string(), document.trim()]);
        }
        fitted(&table) + "\n`reproduce --list NAME` shows the claims of a document\n"
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data(["name", "document", "id", "gates", "published"]);
        for source in &self.0 {
            for item in &source.items {
                let cells = [source.name, source.document, item.id, item.gates, item.published];
                rows.row(cells);
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
    fn document(&self) -> Document {
        self.document(false)
    }

    fn text(&self) -> String {
        fit::document(&self.document(brief()))
    }

    fn rows(&self) -> Table {
        self.rows()
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}
