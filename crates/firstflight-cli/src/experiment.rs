//! `firstflight run`: runs an experiment from a file.
//!
//! [`Experiment`] interprets the file; this module runs it and shows the results.

use crate::ab;
use crate::compare;
use crate::done::Done;
use crate::files::{check_folder_of_ours, check_outputs, make_folder, tame, write_bytes};
use crate::fit::{brief, fitted};
use crate::output::{Output, give, is_for_people};
use crate::results::sheet;
use crate::run::{command_line, on_threads, quoted, threads};
use crate::terminal::{QUIET, TITLE, note, say, width, wrap};
use clap::{Args, Parser};
use firstflight_lab::compare::Keep;
use firstflight_lab::request::{
    AbRequest, Answer, Asked, CompareRequest, Experiment, ExperimentCell, line, testbeds, words,
};
use firstflight_lab::table::figure;
use firstflight_lab::{Error, Testbed};
use firstflight_table::text::one_line;
use firstflight_table::{Column, Table};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The experiment: a TOML file whose keys are the options of `compare`, or of `ab` if it has a `population`
    file: PathBuf,
    /// Testbed, instead of the file's
    #[arg(long, value_parser = testbeds())]
    on: Option<&'static dyn Testbed>,
    /// Short for `--on quic-real`
    #[arg(long, requires = "on")]
    real: bool,
    /// Print the commands of the experiment without running them
    #[arg(long)]
    dry_run: bool,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report: a file, or a folder for a page per path and size
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// The test that the file describes, parsed as if it had been typed.
#[derive(Debug, Parser)]
#[command(name = "ab", no_binary_name = true)]
struct TypedTest {
    #[command(flatten)]
    options: ab::Options,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let mut file = Experiment::read(&options.file)?;
    if file.is_test() {
        return test(&file, options);
    }
    if let Some(on) = options.on {
        file.set("on", on.info().name);
        file.set("real", &options.real.to_string());
    }
    let cells = file.cells()?;
    if options.dry_run {
        let commands = cells
            .iter()
            .map(|cell| Ok(command("compare", &words::<CompareRequest>(&cell.options)?)));
        return say(&commands.collect::<Result<String, Error>>()?).map(|()| Done::Well);
    }
    cells.iter().try_for_each(|cell| compare::check_columns(options.json.as_ref(), &cell.asked))?;
    check_places(options, &cells)?;
    let answers = on_threads(options.threads, || {
        cells
            .iter()
            .map(|cell| run_cell(cell, options.report.is_some()))
            .collect::<Result<Vec<Answer>, Error>>()
    })
    .map_err(|bad| file.at(&bad))?;
    if let Some(report) = &options.report {
        write_reports(report, &cells, &answers)?;
    }
    let done = Finished { file: &file, cells: &cells, answers: &answers };
    give(options.json.as_ref(), &done)?;
    let mut notes = Vec::new();
    for (cell, answer) in cells.iter().zip(&answers) {
        let whose = if cells.len() > 1 { format!("{}: ", name(cell)) } else { String::new() };
        notes.extend(answer.warnings().iter().map(|warning| format!("{whose}{warning}")));
    }
    let most = if brief() && cells.len() > 1 && notes.len() > MOST_NOTES { 1 } else { notes.len() };
    notes.iter().take(most).for_each(|text| note(text));
    if notes.len() > most {
        note(&format!("{} more notes; `--wide` shows all", notes.len() - most));
    }
    Ok(if answers.iter().all(Answer::complete) { Done::Well } else { Done::Short })
}

/// Longer names of paths would make the overview wider than a screen.
const WIDEST: usize = 24;

/// Largest number of notes that are shown without `--wide`.
const MOST_NOTES: usize = 3;

/// Runs the test on a population in the same way as `ab`, with all its outputs.
fn test(file: &Experiment, options: &Options) -> Result<Done, Error> {
    if options.on.is_some_and(|on| on.info().name != "sim") {
        return Err(Error::new(
            "--on: a population is met in the simulator; choose paths for the other testbeds",
        ));
    }
    let mut words = words::<AbRequest>(&file.options()).map_err(|bad| file.at(&bad))?;
    if options.dry_run {
        return say(&command("ab", &words)).map(|()| Done::Well);
    }
    words.extend(options.threads.map(|threads| format!("--threads={threads}")));
    for (option, file) in [("json", &options.json), ("report", &options.report)] {
        words.extend(file.as_ref().map(|file| format!("--{option}={}", file.display())));
    }
    let typed =
        TypedTest::try_parse_from(&words).map_err(|error| file.at(&Error::new(line(&error))))?;
    if let Some(title) = file.title().filter(|_| is_for_people(options.json.as_ref())) {
        say(&format!("{TITLE}{}{TITLE:#}\n\n", one_line(title)))?;
    }
    ab::run(&typed.options).map_err(|bad| file.at(&bad))
}

/// A command line that can be typed.
fn command(name: &str, words: &[String]) -> String {
    quoted(std::iter::once(name.to_owned()).chain(words.iter().cloned())) + "\n"
}

fn run_cell(cell: &ExperimentCell, events: bool) -> Result<Answer, Error> {
    match &cell.asked {
        Asked::Alone(plan) => {
            compare::run_with_progress(plan, if events { Keep::Events } else { Keep::Rows }, None)
                .map(Answer::Alone)
        }
        Asked::Together(plan) => {
            compare::run_sharing(plan, &|_, _, _| Ok(())).map(Answer::Together)
        }
    }
}

/// The path, by its name or as it was written, and the size.
fn name(cell: &ExperimentCell) -> String {
    let plan = cell.asked.plan();
    let path = &plan.scenario.path;
    let path = if path.name().is_empty() { path.to_string() } else { path.name().to_owned() };
    format!("{path}, {}", figure(plan.scenario.bytes as f64, "bytes"))
}

/// Checks before the run that every output can be written.
fn check_places(options: &Options, cells: &[ExperimentCell]) -> Result<(), Error> {
    let page = options.report.as_deref().filter(|_| cells.len() == 1);
    check_outputs(options.json.as_ref(), &[("--report", page)])?;
    let Some(report) = &options.report else { return Ok(()) };
    if cells.iter().any(|cell| matches!(cell.asked, Asked::Together(_))) {
        return Err(Error::new(
            "--report: shows one flow alone; leave out flows, apart, cross and app",
        ));
    }
    if page.is_some() {
        return Ok(());
    }
    if report.is_dir() || report.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return check_folder_of_ours(report).and_then(|()| make_folder(report));
    }
    let pages = cells.len();
    Err(Error::new(format!(
        "--report {}: {pages} paths and sizes make {pages} pages; name a folder that exists",
        report.display()
    )))
}

fn write_reports(report: &Path, cells: &[ExperimentCell], answers: &[Answer]) -> Result<(), Error> {
    for (number, (cell, answer)) in cells.iter().zip(answers).enumerate() {
        let Answer::Alone(comparison) = answer else { continue };
        let file = if cells.len() == 1 {
            report.to_owned()
        } else {
            report.join(format!("{:02}-{}.html", number + 1, tame(&name(cell))))
        };
        let page = comparison.report(&command_line()).to_html();
        write_bytes(&file, page)?;
    }
    Ok(())
}

/// The results for all paths and sizes.
struct Finished<'a> {
    file: &'a Experiment,
    cells: &'a [ExperimentCell],
    answers: &'a [Answer],
}

fn output_of(answer: &Answer) -> &dyn Output {
    match answer {
        Answer::Alone(comparison) => comparison,
        Answer::Together(sharing) => sharing,
    }
}

impl Output for Finished<'_> {
    fn text(&self) -> String {
        as_text(self.file.title(), self.cells, self.answers)
    }

    fn sheets(&self) -> Vec<Table> {
        let of_cell = |(cell, answer): (&ExperimentCell, &Answer)| {
            let name = name(cell);
            let titled = move |sheet: Table| sheet.titled(&name);
            output_of(answer).sheets().into_iter().map(titled).collect::<Vec<_>>()
        };
        let mut sheets: Vec<Table> =
            self.cells.iter().zip(self.answers).flat_map(of_cell).collect();
        if self.answers.len() > 1 {
            sheets.push(overview(self.cells, self.answers));
        }
        sheets
    }

    /// The rows for all paths and sizes; their own columns name the path.
    fn rows(&self) -> Table {
        let mut rows = Table::default();
        for (cell, answer) in self.cells.iter().zip(self.answers) {
            let bytes = cell.asked.plan().scenario.bytes;
            rows.extend(&[("object_bytes", bytes.into())], &output_of(answer).rows());
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.file.to_json(self.answers.iter().map(Answer::to_json)))
    }
}

/// Every table, followed by an overview if there are several; on a screen, the overview alone.
fn as_text(title: Option<&str>, cells: &[ExperimentCell], answers: &[Answer]) -> String {
    let mut text =
        title.map_or_else(String::new, |title| format!("{TITLE}{}{TITLE:#}\n\n", one_line(title)));
    if answers.len() > 1 && brief() {
        let overview = overview(cells, answers);
        let finding = leaders(&overview, answers.len());
        let _ = write!(
            text,
            "{}\n{}\n{QUIET}{}* best in its column, ≈ not significantly different from the best (95 %)\n`--wide` shows the table of each path and size{QUIET:#}\n",
            wrap(&finding, 0, width()),
            fitted(&overview),
            numbered(cells)
        );
        return text;
    }
    let texts = answers.iter().map(|answer| output_of(answer).text());
    text.push_str(&texts.collect::<Vec<_>>().join("\n"));
    if answers.len() > 1 {
        let overview = overview(cells, answers);
        let _ = write!(
            text,
            "\n{TITLE}{}{TITLE:#}\n{}\n{QUIET}* best in its column, ≈ not significantly different from the best (95 %){QUIET:#}\n",
            overview.title,
            fitted(&overview)
        );
    }
    text
}

/// The paths to which an overview gives a number, one line each.
fn numbered(cells: &[ExperimentCell]) -> String {
    let mut paths: Vec<(String, Vec<String>)> = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let name = name(cell);
        let path = name.rsplit_once(", ").map_or(name.as_str(), |(path, _)| path);
        if path.chars().count() <= WIDEST {
            continue;
        }
        let number = (number + 1).to_string();
        match paths.iter_mut().find(|(known, _)| known == path) {
            Some((_, numbers)) => numbers.push(number),
            None => paths.push((path.to_owned(), vec![number])),
        }
    }
    let line = |(path, numbers): &(String, Vec<String>)| {
        wrap(&format!("path {}: {path}", numbers.join(", ")), 2, width()) + "\n"
    };
    paths.iter().map(line).collect()
}

/// Names the arms that are best, or not distinguishable from the best, in the most columns.
fn leaders(overview: &Table, cells: usize) -> String {
    let led = |row: usize| {
        let looks = (1..=cells).map(|cell| overview.look(row, cell));
        looks.filter(|look| look.bold || look.near).count()
    };
    let counts: Vec<usize> = (0..overview.len()).map(led).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return "No arm is fastest in any case.".to_owned();
    }
    let first = (0..overview.len()).filter(|row| counts[*row] == most);
    let names: Vec<String> =
        first.map(|row| overview.marked_cell(row, 0).text().to_owned()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let names = names.join(", ");
    format!("{names} {verb} fastest, or as fast as the fastest, in {most} of {cells} cases.")
}

/// The first measure of every table, with the marks of its own table.
fn overview(cells: &[ExperimentCell], answers: &[Answer]) -> Table {
    let tables: Vec<Table> = answers.iter().map(|answer| sheet("", &answer.table())).collect();
    let first = &tables[0].columns()[1];
    let columns = cells.iter().enumerate().map(|(number, cell)| {
        let name = name(cell);
        let (path, bytes) = name.rsplit_once(", ").unwrap_or((&name, ""));
        let path = if path.chars().count() > WIDEST {
            format!("path {}", number + 1)
        } else {
            path.to_owned()
        };
        Column { name: format!("{path}\n{bytes}"), ..first.clone() }
    });
    let columns = std::iter::once(tables[0].columns()[0].clone()).chain(columns);
    let mut overview = Table::new(format!("{} of all", first.name), columns).marked();
    for row in 0..tables[0].len() {
        let values = tables.iter().map(|table| table.marked_cell(row, 1));
        overview.row(std::iter::once(tables[0].marked_cell(row, 0)).chain(values));
    }
    overview
}
