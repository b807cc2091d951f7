//! `firstflight reproduce`.

use crate::Done;
use crate::files::{check_outputs, to_stdout, write_whole};
use crate::progress::{Progress, Unit};
use crate::run::{command_line, on_threads, threads};
use crate::terminal::{CAUTION, QUIET, RULES, TITLE, say, whisper, width};
use clap::Args;
use comfy_table::{Cell, Color, ContentArrangement, Table as Grid};
use firstflight_lab::Error;
use firstflight_papers::{Chapter, Effort, Item, Reproduction, SOURCES, Scale, Source, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    /// Write a Markdown page with a line per claim
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every row as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let sources = chosen(options)?;
    let to_stdout = to_stdout(options.json.as_ref());
    check_outputs(
        options.json.as_ref(),
        options.report.as_ref(),
        &[("--markdown", options.markdown.as_deref()), ("--csv", options.csv.as_deref())],
    )?;
    if options.list {
        if options.markdown.is_some() || options.csv.is_some() || options.report.is_some() {
            return Err(Error::new("--list: goes with --json only; there are no results to show"));
        }
        return list(&sources, options.json.as_deref().filter(|_| !to_stdout), to_stdout);
    }
    let progress = Progress::begin("{spinner} {elapsed} {msg}", Unit::Words, None);
    let effort = Effort {
        scale: if options.quick { Scale::Quick } else { Scale::Full },
        tell: &|what| progress.tell(what),
    };
    let done = on_threads(options.threads, || {
        sources.iter().map(|source| source.run(&effort)).collect::<Result<Vec<Chapter>, Error>>()
    });
    drop(progress);
    let all = Reproduction::new(options.quick, done?);
    if let Some(file) = &options.markdown {
        let page = all.to_markdown(&command_line());
        write_whole(file, |out| out.write_all(page.as_bytes()))?;
    }
    if let Some(file) = &options.csv {
        let table = all.to_csv();
        write_whole(file, |out| out.write_all(table.as_bytes()))?;
    }
    if let Some(file) = &options.report {
        let page = all.to_html(&command_line());
        write_whole(file, |out| out.write_all(page.as_bytes()))?;
    }
    match &options.json {
        Some(_) if to_stdout => say(&all.to_json())?,
        Some(file) => write_whole(file, |out| out.write_all(all.to_json().as_bytes()))?,
        None => {}
    }
    if !to_stdout {
        say(&all.sources.iter().map(table).collect::<String>())?;
        say(&format!("{}\n", summary(&all)))?;
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

/// The documents that were asked for, in the order of the list.
fn chosen(options: &Options) -> Result<Vec<&'static Source>, Error> {
    let named = options
        .names
        .iter()
        .map(|name| firstflight_papers::source(name))
        .collect::<Result<Vec<_>, Error>>()?;
    if options.all && !named.is_empty() {
        return Err(Error::new("--all: goes without names"));
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

/// The list as it stands in JSON.
fn as_json(sources: &[&Source]) -> String {
    let item =
        |item: &Item| json!({ "id": item.id, "gates": item.gates, "published": item.published });
    let source = |source: &&Source| {
        let items: Vec<Value> = source.items.iter().map(item).collect();
        json!({ "name": source.name, "document": source.document, "stated": source.stated, "items": items })
    };
    let document = json!({ "firstflight": env!("CARGO_PKG_VERSION"), "sources": sources.iter().map(source).collect::<Vec<_>>() });
    format!("{document:#}\n")
}

fn list(sources: &[&Source], file: Option<&Path>, to_stdout: bool) -> Result<Done, Error> {
    if let Some(file) = file {
        write_whole(file, |out| out.write_all(as_json(sources).as_bytes()))?;
    }
    if to_stdout {
        return say(&as_json(sources)).map(|()| Done::Well);
    }
    let lines = |source: &&Source| {
        let items = source
            .items
            .iter()
            .map(|item| format!("  {:<12} {:<4} {}\n", item.id, item.gates, item.published));
        format!(
            "{TITLE}{:<18}{TITLE:#} {}\n{}",
            source.name,
            source.document,
            items.collect::<String>()
        )
    };
    say(&format!(
        "{}\n{QUIET}U must hold by algebra, G a direction, B a band around the published size, Q quoted only{QUIET:#}\n",
        sources.iter().map(lines).collect::<Vec<_>>().join("\n")
    ))?;
    Ok(Done::Well)
}

fn table(chapter: &Chapter) -> String {
    let mut grid = Grid::new();
    grid.load_style(RULES).set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width(width().and_then(|width| u16::try_from(width).ok()).unwrap_or(180));
    grid.set_header(["row", "", "published", "measured", "ours [95 %]", "accepted", "verdict"]);
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
            Verdict::Confirmed | Verdict::WithinBound | Verdict::Exact => Color::Green,
            Verdict::NotSeen | Verdict::Opposite | Verdict::Fails => Color::Red,
            Verdict::Smaller | Verdict::Larger | Verdict::SameDirection => Color::Yellow,
            Verdict::Reported
            | Verdict::QuotedOnly
            | Verdict::NotReproducible
            | Verdict::NotRun => Color::Reset,
        };
        let verdict = Cell::new(&row.says).fg(colour);
        let cells = [row.key.as_str(), &row.gates, published, &measured, &row.ours, &row.accepted]
            .map(Cell::new);
        grid.add_row(cells.into_iter().chain([verdict]));
    }
    let remarks: Vec<String> = chapter
        .rows
        .iter()
        .filter(|row| {
            (!row.holds() || row.verdict == Verdict::NotReproducible) && !row.measure.is_empty()
        })
        .map(|row| {
            let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
            let points: Vec<String> = row
                .sweep
                .iter()
                .map(|point| format!("{}: {}", point.setting, point.ours))
                .collect();
            let sweep =
                if points.is_empty() { String::new() } else { format!(" [{}]", points.join("; ")) };
            format!("  {} {}: {}{note}{sweep}\n", row.key, row.measure, row.says)
        })
        .collect();
    let assumed: Vec<String> = chapter
        .assumptions
        .iter()
        .map(|assumed| format!("  {}: {}\n", assumed.name, assumed.value))
        .collect();
    let findings = chapter
        .findings
        .iter()
        .map(|finding| [finding, "\n"].concat())
        .collect::<Vec<_>>()
        .concat();
    format!(
        "{TITLE}{}{TITLE:#} {}\n{QUIET}{}{QUIET:#}\n{findings}{grid}\n{}{QUIET}assumed\n{}{QUIET:#}\n",
        chapter.name,
        chapter.document,
        chapter.stated,
        remarks.concat(),
        assumed.concat()
    )
}

fn summary(all: &Reproduction) -> String {
    let quick =
        if all.quick { "; a quick run: fewer seeds and connections, wider intervals" } else { "" };
    format!("{}{quick}", all.count.words())
}
