//! `firstflight reproduce`.

use crate::Done;
use crate::files::{check_file, write_whole};
use crate::run::{command_line, on_threads, threads};
use crate::terminal::{CAUTION, QUIET, RULES, TITLE, say, whisper};
use clap::Args;
use comfy_table::{Cell, Color, ContentArrangement, Table as Grid};
use firstflight_lab::Bad;
use firstflight_lab::reproduce::{self, Chapter, Count, Effort, Reproduction, SOURCES, Scale, Source, Verdict};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct Options {
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
    /// Write the results as a Markdown page
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

pub fn run(options: &Options) -> Result<Done, Bad> {
    let sources = chosen(options)?;
    if options.list {
        return list(&sources);
    }
    let to_stdout = options.json.as_ref().is_some_and(|file| file.as_os_str() == "-");
    for file in options.json.iter().filter(|_| !to_stdout).chain(&options.markdown).chain(&options.report) {
        check_file(file)?;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let effort = Effort { scale: if options.quick { Scale::Quick } else { Scale::Full }, tell: &|what| bar.set_message(what.to_owned()) };
    let done = on_threads(options.threads, || sources.iter().map(|source| source.run(&effort)).collect::<Result<Vec<Chapter>, Bad>>());
    bar.finish_and_clear();
    let all = Reproduction::new(options.quick, done?);
    if let Some(file) = &options.markdown {
        let page = all.to_markdown(&command_line());
        write_whole(file, |out| out.write_all(page.as_bytes()))?;
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
    whisper(&format!("{CAUTION}note:{CAUTION:#} {} rows that follow from the algebra do not hold", all.count.fails));
    Ok(Done::Short)
}

/// The documents that were asked for, in the order of the list.
fn chosen(options: &Options) -> Result<Vec<&'static Source>, Bad> {
    let named = options.names.iter().map(|name| reproduce::source(name)).collect::<Result<Vec<_>, Bad>>()?;
    if options.all && !named.is_empty() {
        return Err(Bad("--all: goes without names".into()));
    }
    if named.is_empty() && !options.all && !options.list {
        let all: Vec<&str> = SOURCES.iter().map(|source| source.name).collect();
        return Err(Bad(format!("what to reproduce: --all, or some of {}", all.join(", "))));
    }
    Ok(SOURCES.iter().filter(|source| named.is_empty() || named.iter().any(|name| name.name == source.name)).collect())
}

fn list(sources: &[&Source]) -> Result<Done, Bad> {
    let lines = |source: &&Source| {
        let items = source.items.iter().map(|item| format!("  {:<12} {:<4} {}\n", item.id, item.gates, item.published));
        format!("{TITLE}{:<18}{TITLE:#} {}\n{}", source.name, source.document, items.collect::<String>())
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
    if grid.width().is_none() {
        grid.set_width(180);
    }
    grid.set_header(["row", "", "published", "measured", "ours [95 %]", "accepted", "verdict"]);
    let mut before = "";
    for row in &chapter.rows {
        let published = if row.id == before { "" } else { row.published };
        before = row.id;
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        let measured = if row.measure.is_empty() { row.note.clone() } else { format!("{}{case}", row.measure) };
        let colour = match row.verdict {
            Verdict::Holds => Color::Green,
            Verdict::Fails => Color::Red,
            Verdict::NotReproduced | Verdict::Misses => Color::Yellow,
            Verdict::Reported | Verdict::QuotedOnly | Verdict::NotRun => Color::Reset,
        };
        let verdict = Cell::new(row.verdict.words()).fg(colour);
        let cells = [row.id, row.gate.letter(), published, &measured, &row.ours, &row.accepted].map(Cell::new);
        grid.add_row(cells.into_iter().chain([verdict]));
    }
    let remarks: Vec<String> = chapter
        .rows
        .iter()
        .filter(|row| !row.holds() && !row.measure.is_empty())
        .map(|row| {
            let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
            let points: Vec<String> = row.sweep.iter().map(|point| format!("{}: {}", point.setting, point.ours)).collect();
            let sweep = if points.is_empty() { String::new() } else { format!(" [{}]", points.join("; ")) };
            format!("  {} {} {}{note}{sweep}\n", row.id, row.measure, row.verdict.words())
        })
        .collect();
    let assumed: Vec<String> = chapter.assumptions.iter().map(|assumed| format!("  {}: {}\n", assumed.name, assumed.value)).collect();
    format!(
        "{TITLE}{}{TITLE:#} {}\n{QUIET}{}{QUIET:#}\n{grid}\n{}{QUIET}assumed\n{}{QUIET:#}\n",
        chapter.name,
        chapter.document,
        chapter.stated,
        remarks.concat(),
        assumed.concat()
    )
}

fn summary(all: &Reproduction) -> String {
    let Count { holds, fails, not_reproduced, misses, reported, quoted, not_run } = all.count;
    let quick = if all.quick { "; a quick run: fewer seeds and connections, wider intervals" } else { "" };
    format!(
        "{holds} hold, {not_reproduced} not reproduced, {misses} miss their band, {fails} fail, {reported} reported, {quoted} quoted only, {not_run} not run{quick}"
    )
}
