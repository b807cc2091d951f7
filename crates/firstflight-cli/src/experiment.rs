//! `firstflight run`: an experiment in a file.
//!
//! Its keys are the options of `compare`, or of `ab` where it names a `population`: the file is
//! read by the same parser, so that both mean the same and refuse the same. `path` and `bytes` may
//! be lists; then every path meets every size.

use crate::compare;
use crate::files::{check_folder_of_ours, check_outputs, make_folder, tame, write_whole};
use crate::output::{Output, give, is_for_people};
use crate::rows::Rows;
use crate::run::{command_line, on_threads, quoted, threads};
use crate::sheet::Sheet;
use crate::terminal::{CAUTION, QUIET, TITLE, lay_out, say, sheet, whisper};
use crate::{Done, ab, failed};
use clap::{Args, Parser};
use firstflight_lab::compare::Keep;
use firstflight_lab::report::{Column, Row, Table};
use firstflight_lab::request::{
    AbRequest, Answer, Asked, CompareRequest, Key, keys, line, parse, testbeds,
};
use firstflight_lab::table::figure;
use firstflight_lab::{Error, Testbed};
use firstflight_path::input::{self, MOST_TEXT};
use firstflight_path::suggestion;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The experiment: a TOML file whose keys are the options of `compare`, or with a `population`
    /// those of `ab`
    file: PathBuf,
    /// Testbed, in place of the file's
    #[arg(long, value_parser = testbeds())]
    on: Option<&'static dyn Testbed>,
    /// With --on quic: over real sockets and a relay, in real time, one trial after the other:
    /// `--on quic-real`
    #[arg(long, requires = "on")]
    real: bool,
    /// Print the commands that the experiment stands for, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report: a file, or a folder for a page per path and size
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// A test as the file asks for it, parsed as if it had been typed.
#[derive(Debug, Parser)]
#[command(name = "ab", no_binary_name = true)]
struct TypedTest {
    #[command(flatten)]
    options: ab::Options,
}

const TITLE_KEY: &str = "title";
/// Keys that may be lists, of which every combination is run.
const GRID: [&str; 2] = ["path", "bytes"];
/// Lists of arms are what the command line has with commas.
const ARM_LISTS: [&str; 2] = ["arms", "cross"];

/// One key with its value or values.
#[derive(Clone, Debug)]
struct Entry {
    key: String,
    line: usize,
    values: Vec<String>,
}

/// An experiment as it was written.
struct File {
    name: PathBuf,
    entries: Vec<Entry>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let mut file = File::read(&options.file)?;
    if file.entry("population").is_some() {
        return file.test(options);
    }
    if let Some(on) = options.on {
        file.entries.retain(|entry| entry.key != "on" && entry.key != "real");
        file.entries.push(Entry { key: "on".into(), line: 0, values: vec![on.info().name.into()] });
        file.entries.push(Entry {
            key: "real".into(),
            line: 0,
            values: vec![options.real.to_string()],
        });
    }
    let cells = file.cells()?;
    if options.dry_run {
        return say(&cells.iter().map(|cell| command("compare", &cell.words)).collect::<String>())
            .map(|()| Done::Well);
    }
    check_places(options, &cells)?;
    cells.iter().try_for_each(|cell| compare::check_columns(options.json.as_ref(), &cell.asked))?;
    let answers = on_threads(options.threads, || {
        cells
            .iter()
            .map(|cell| cell.run(options.report.is_some()))
            .collect::<Result<Vec<Answer>, Error>>()
    })
    .map_err(|bad| file.at(&bad))?;
    if let Some(report) = &options.report {
        write_reports(report, &cells, &answers)?;
    }
    let done = Experiment { title: file.title(), cells: &cells, answers: &answers };
    give(options.json.as_ref(), &done)?;
    for (cell, answer) in cells.iter().zip(&answers) {
        let whose = if cells.len() > 1 { format!("{}: ", cell.name()) } else { String::new() };
        for warning in answer.warnings() {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {whose}{warning}"));
        }
    }
    Ok(if answers.iter().all(Answer::complete) { Done::Well } else { Done::Short })
}

impl File {
    fn read(name: &Path) -> Result<File, Error> {
        let text = input::read_text(name, MOST_TEXT).map_err(|error| failed(name, &error))?;
        let line =
            |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
        let table = DeTable::parse(&text).map_err(|error| {
            Error::new(format!(
                "{}:{}: {}",
                name.display(),
                line(error.span().map_or(0, |span| span.start)),
                error.message()
            ))
        })?;
        let mut entries = Vec::new();
        for (key, value) in table.get_ref() {
            let line = line(key.span().start);
            let wrong = |found: &str| {
                Error::new(format!(
                    "{}:{line}: {}: found {found}; allowed: text, a number, true or false, or a list of those",
                    name.display(),
                    key.get_ref()
                ))
            };
            let values = match value.get_ref() {
                DeValue::Array(list) => {
                    let texts = list.iter().map(|value| {
                        text_of(value.get_ref()).ok_or_else(|| wrong(value.get_ref().type_str()))
                    });
                    texts.collect::<Result<Vec<String>, Error>>()?
                }
                value => vec![text_of(value).ok_or_else(|| wrong(value.type_str()))?],
            };
            entries.push(Entry { key: key.get_ref().to_string(), line, values });
        }
        let file = File { name: name.to_owned(), entries };
        file.check()?;
        Ok(file)
    }

    /// The keys that it may have: the options of what it stands for, so that a new one is a key
    /// without another word.
    fn keys(&self) -> Vec<Key> {
        if self.entry("population").is_some() {
            keys::<AbRequest>()
        } else {
            keys::<CompareRequest>()
        }
    }

    /// Every key is known, and only those are lists that may be.
    fn check(&self) -> Result<(), Error> {
        let known = self.keys();
        let known: Vec<&str> = known.iter().map(|key| key.name.as_str()).collect();
        for Entry { key, line, values } in &self.entries {
            let place = format!("{}:{line}: {key}", self.name.display());
            if key != TITLE_KEY && !known.contains(&key.as_str()) {
                let meant = suggestion(key, known.iter().copied());
                let known = known.join(", ");
                return Err(Error::new(format!(
                    "{place}: unknown key{meant}; allowed: {TITLE_KEY}, {known}"
                )));
            }
            let may_be_a_list = ARM_LISTS.contains(&key.as_str()) || GRID.contains(&key.as_str());
            if values.is_empty() || values.len() > 1 && !may_be_a_list {
                return Err(Error::new(format!(
                    "{place}: a list of {}; allowed: one value",
                    values.len()
                )));
            }
        }
        Ok(())
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn title(&self) -> Option<&str> {
        self.entry(TITLE_KEY).map(|entry| entry.values[0].as_str())
    }

    /// The same line, and which file it speaks of.
    fn at(&self, bad: &Error) -> Error {
        // What the parser says begins with the option, whose line in the file is known.
        let option = bad.as_str().strip_prefix("--").and_then(|rest| rest.split([' ', ':']).next());
        match option.and_then(|option| self.entry(option)).filter(|entry| entry.line > 0) {
            Some(entry) => Error::new(format!(
                "{}:{}: {}",
                self.name.display(),
                entry.line,
                &bad.as_str()[2..]
            )),
            None => Error::new(format!("{}: {}", self.name.display(), bad.as_str())),
        }
    }

    /// A name that is a file's is looked for beside the experiment.
    fn beside(&self, key: &str, value: &str) -> String {
        let (name, _) = value.split_once('(').unwrap_or((value, ""));
        let is_file = match key {
            "path" => !value.contains('=') && has_extension(name, &["toml"]),
            "population" => has_extension(name, &["toml", "csv"]),
            _ => false,
        };
        match self.name.parent() {
            Some(folder) if is_file && !Path::new(value).is_absolute() => {
                folder.join(value).to_string_lossy().into_owned()
            }
            _ => value.to_owned(),
        }
    }

    /// Words of a command line, with these values in place of the grid's lists.
    fn words(&self, chosen: &[(&str, &str)]) -> Result<Vec<String>, Error> {
        let keys = self.keys();
        let mut words = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.key != TITLE_KEY) {
            let key = entry.key.as_str();
            let chosen = chosen.iter().find(|(name, _)| *name == key);
            let value = chosen.map_or_else(|| entry.values.join(","), |(_, value)| (*value).into());
            let known = keys.iter().find(|known| known.name == key);
            let word = known.map(|known| known.word(&self.beside(key, &value))).transpose();
            words.extend(word.map_err(|bad| self.at(&bad))?.flatten());
        }
        Ok(words)
    }

    /// Every path with every size.
    fn cells(&self) -> Result<Vec<Cell>, Error> {
        let values = |key| {
            self.entry(key).map_or(vec![None], |entry| entry.values.iter().map(Some).collect())
        };
        let mut cells = Vec::new();
        for path in values("path") {
            for bytes in values("bytes") {
                let chosen: Vec<(&str, &str)> = [("path", path), ("bytes", bytes)]
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value?.as_str())))
                    .collect();
                let words = self.words(&chosen)?;
                let asked = parse::<CompareRequest>(&words)
                    .and_then(|request| request.asked())
                    .map_err(|bad| self.at(&bad))?;
                cells.push(Cell { asked, words });
            }
        }
        Ok(cells)
    }

    /// Runs the test on a population: `ab` does, with everything that it writes.
    fn test(&self, options: &Options) -> Result<Done, Error> {
        if options.on.is_some_and(|on| on.info().name != "sim") {
            return Err(Error::new(
                "--on: a population is met in the simulator; choose paths for the other testbeds",
            ));
        }
        let mut words = self.words(&[])?;
        if options.dry_run {
            return say(&command("ab", &words)).map(|()| Done::Well);
        }
        words.extend(options.threads.map(|threads| format!("--threads={threads}")));
        for (option, file) in [("json", &options.json), ("report", &options.report)] {
            words.extend(file.as_ref().map(|file| format!("--{option}={}", file.display())));
        }
        let typed = TypedTest::try_parse_from(&words)
            .map_err(|error| self.at(&Error::new(line(&error))))?;
        if let Some(title) = self.title().filter(|_| is_for_people(options.json.as_ref())) {
            say(&format!("{TITLE}{title}{TITLE:#}\n\n"))?;
        }
        ab::run(&typed.options).map_err(|bad| self.at(&bad))
    }
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extensions.iter().any(|known| extension == *known))
}

/// A line that can be typed.
fn command(name: &str, words: &[String]) -> String {
    quoted(std::iter::once(name.to_owned()).chain(words.iter().cloned())) + "\n"
}

/// One path with one size.
struct Cell {
    asked: Asked,
    words: Vec<String>,
}

impl Cell {
    fn run(&self, events: bool) -> Result<Answer, Error> {
        match &self.asked {
            Asked::Alone(plan) => compare::run_with_progress(
                plan,
                if events { Keep::Events } else { Keep::Rows },
                None,
            )
            .map(Answer::Alone),
            Asked::Together(plan) => plan.run().map(Answer::Together),
        }
    }

    /// The path by its name, or as it was written, and the size.
    fn name(&self) -> String {
        let plan = self.asked.plan();
        let path = &plan.scenario.path;
        let path = if path.name().is_empty() { path.to_string() } else { path.name().to_owned() };
        format!("{path}, {}", figure(plan.scenario.bytes as f64, "bytes"))
    }
}

/// Every output has a place to go, before anything runs.
fn check_places(options: &Options, cells: &[Cell]) -> Result<(), Error> {
    let page = options.report.as_ref().filter(|_| cells.len() == 1);
    check_outputs(options.json.as_ref(), page, &[])?;
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

fn write_reports(report: &Path, cells: &[Cell], answers: &[Answer]) -> Result<(), Error> {
    for (number, (cell, answer)) in cells.iter().zip(answers).enumerate() {
        let Answer::Alone(comparison) = answer else { continue };
        let file = if cells.len() == 1 {
            report.to_owned()
        } else {
            report.join(format!("{:02}-{}.html", number + 1, tame(&cell.name())))
        };
        let page = comparison.report(&command_line()).to_html();
        write_whole(&file, |out| out.write_all(page.as_bytes()))?;
    }
    Ok(())
}

/// What became of all paths and sizes.
struct Experiment<'a> {
    title: Option<&'a str>,
    cells: &'a [Cell],
    answers: &'a [Answer],
}

fn output_of(answer: &Answer) -> &dyn Output {
    match answer {
        Answer::Alone(comparison) => comparison,
        Answer::Together(sharing) => sharing,
    }
}

impl Output for Experiment<'_> {
    fn text(&self) -> String {
        as_text(self.title, self.cells, self.answers)
    }

    fn sheets(&self) -> Vec<Sheet> {
        let of_cell = |(cell, answer): (&Cell, &Answer)| {
            let name = cell.name();
            let titled = move |sheet: Sheet| sheet.titled(&name);
            output_of(answer).sheets().into_iter().map(titled).collect::<Vec<_>>()
        };
        let mut sheets: Vec<Sheet> =
            self.cells.iter().zip(self.answers).flat_map(of_cell).collect();
        if self.answers.len() > 1 {
            let (metric, table) = overview(self.cells, self.answers);
            sheets.push(sheet(&metric, &table));
        }
        sheets
    }

    /// Rows of all paths and sizes, one below the other; their own columns name the path.
    fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        for (cell, answer) in self.cells.iter().zip(self.answers) {
            let bytes = cell.asked.plan().scenario.bytes;
            rows.extend(&[("object_bytes", bytes.into())], output_of(answer).rows());
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        Ok(json(self.title, self.answers))
    }
}

/// One object: the title, and of each path and size the object that `compare --json` gives.
fn json(title: Option<&str>, answers: &[Answer]) -> String {
    let title = serde_json::Value::from(title);
    let comparisons: Vec<String> =
        answers.iter().map(|answer| answer.to_json().trim_end().replace('\n', "\n    ")).collect();
    format!(
        "{{\n  \"firstflight\": \"{}\",\n  \"title\": {title},\n  \"comparisons\": [\n    {}\n  ]\n}}\n",
        env!("CARGO_PKG_VERSION"),
        comparisons.join(",\n    ")
    )
}

/// Every table, and one over all of them.
fn as_text(title: Option<&str>, cells: &[Cell], answers: &[Answer]) -> String {
    let mut text = title.map_or_else(String::new, |title| format!("{TITLE}{title}{TITLE:#}\n\n"));
    let texts = answers.iter().map(|answer| output_of(answer).text());
    text.push_str(&texts.collect::<Vec<_>>().join("\n"));
    if answers.len() > 1 {
        let (metric, overview) = overview(cells, answers);
        let _ = write!(
            text,
            "\n{TITLE}{metric}{TITLE:#}\n{}\n{QUIET}* best of its column{QUIET:#}\n",
            lay_out(&overview)
        );
    }
    text
}

/// The first column of every table side by side, and what it is called.
fn overview(cells: &[Cell], answers: &[Answer]) -> (String, Table) {
    /// Names longer than this would make the table wider than a screen.
    const WIDEST: usize = 24;
    let tables: Vec<Table> = answers.iter().map(Answer::table).collect();
    let first = &tables[0].columns[0];
    let columns = cells.iter().enumerate().map(|(number, cell)| {
        let name = cell.name();
        let (path, bytes) = name.rsplit_once(", ").unwrap_or((&name, ""));
        let path = if path.chars().count() > WIDEST {
            format!("path {}", number + 1)
        } else {
            path.to_owned()
        };
        Column {
            key: number.to_string(),
            label: format!("{path}\n{bytes}"),
            unit: first.unit.clone(),
            better: first.better,
            explanation: String::new(),
        }
    });
    let rows = tables[0].rows.iter().enumerate().map(|(arm, row)| Row {
        values: tables.iter().map(|table| table.rows[arm].values[0].clone()).collect(),
        spread: tables
            .iter()
            .map(|table| table.rows[arm].spread.first().copied().flatten())
            .collect(),
        best: Vec::new(),
        ..row.clone()
    });
    let mut overview = Table { columns: columns.collect(), rows: rows.collect() };
    overview.mark_best();
    (format!("{} of all", first.label), overview)
}
