//! `firstflight evaluate`.

use crate::done::{Done, failed};
use crate::output::{Columns, Files, Output, produce};
use crate::progress::{Progress, Unit};
use crate::run::{command_line, on_threads, threads};
use crate::stop::graceful;
use crate::terminal::{width, wrap};
use clap::{Args, ValueEnum};
use firstflight_evaluate::{
    Basis, Battery, Cell, CellRow, Change, DEFAULT_BASELINE, Declaration, Effort, Evaluation,
    Older, Place, Report, Verdict, cells, evaluate, evidence, figure, junit, markdown, place,
};
use firstflight_lab::arms::NamedArm;
use firstflight_lab::request::seed;
use firstflight_lab::{Error, Testbeds, parse_arms};
use firstflight_path::input::{MOST_TEXT, read_text};
use firstflight_table::{Cell as Datum, Document, Kind, Table};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The algorithm: an arm
    #[arg(required_unless_present = "list")]
    arm: Option<String>,
    /// Only these sections of the RFC, separated by commas; `5.1` is all of its parts
    #[arg(long, value_name = "SECTIONS", value_delimiter = ',')]
    criteria: Vec<String>,
    /// Five seeds and fewer cells: under three minutes on two cores
    #[arg(long)]
    quick: bool,
    /// A hundred seeds
    #[arg(long)]
    full: bool,
    /// Arm to compare it with, in the same position
    #[arg(long, value_name = "ARM", default_value = DEFAULT_BASELINE)]
    baseline: String,
    /// Testbed; real stacks leave out what they do not support and take far longer
    #[arg(long, value_name = "TESTBED", default_value = "sim")]
    on: String,
    /// Sections that the algorithm is not designed for, separated by commas
    #[arg(long, value_name = "SECTIONS", value_delimiter = ',')]
    exclude: Vec<String>,
    /// TOML file with the author's declarations about the algorithm: `ecn`, `delay_based`, `receiver_change`, `multipath`, `controlled_environment`, `excludes`
    #[arg(long, value_name = "FILE")]
    declare: Option<PathBuf>,
    /// Criteria and scenarios of your own: a directory like `experiments/rfc9743`
    #[arg(long, value_name = "DIR")]
    battery: Option<PathBuf>,
    /// The first seed; with `--cell` the only one
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// One cell with one seed, with every number: a name from `--list` or from a concern
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// List criteria and cells
    #[arg(long)]
    list: bool,
    /// Print the number of cells, runs and packets without running them
    #[arg(long)]
    dry_run: bool,
    /// Write everything as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write an annex for an Internet-Draft: Markdown for kramdown-rfc, or the vocabulary of xml2rfc if
    /// the file ends with `.xml`
    #[arg(long, value_name = "FILE")]
    annex: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Exit with code 1 if a criterion is worse than in this JSON of an earlier run
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// How much worse a comparison may become, beyond both intervals, in its own unit
    #[arg(long, value_name = "X", default_value_t = 0.02, requires = "against", value_parser = tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Exit with code 1 if a criterion gets this verdict
    #[arg(long, value_name = "VERDICT")]
    fail_on: Option<FailOn>,
    /// Write regressions as JUnit XML, one case per criterion
    #[arg(long, value_name = "FILE", requires = "against")]
    junit: Option<PathBuf>,
    /// Write regressions as Markdown, for a pull request
    #[arg(long, value_name = "FILE", requires = "against")]
    markdown: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// A verdict that makes the command exit with code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A rule found something
    Concern,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "allowed: 0 or more, such as 0.02".into())
}

impl Options {
    /// The files that it writes, beside JSON.
    fn outputs(&self) -> [(&'static str, Option<&Path>); 4] {
        [
            ("--report", self.report.as_deref()),
            ("--annex", self.annex.as_deref()),
            ("--junit", self.junit.as_deref()),
            ("--markdown", self.markdown.as_deref()),
        ]
    }

    fn wants_xml(&self) -> bool {
        let end = self.annex.as_deref().and_then(Path::extension);
        end.is_some_and(|end| end.eq_ignore_ascii_case("xml"))
    }

    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Standard,
        }
    }

    fn evaluation(&self, battery: Battery) -> Result<Evaluation, Error> {
        let criteria = battery.select(&self.criteria)?;
        let declared = self.declare.as_deref().map(|file| declared(file, &battery)).transpose()?;
        let declaration = declared.unwrap_or_default().excluding(&self.exclude, &battery)?;
        let arm = self.arm.as_deref().unwrap_or(DEFAULT_BASELINE);
        Ok(Evaluation {
            criteria,
            algorithm: one_arm("ARM", arm)?,
            baseline: one_arm("--baseline", &self.baseline)?,
            effort: self.effort(),
            seed: self.seed,
            declaration,
            testbed: Testbeds::default().find(&self.on)?,
            battery,
        })
    }
}

fn declared(file: &Path, battery: &Battery) -> Result<Declaration, Error> {
    let text = read_text(file, MOST_TEXT).map_err(|error| failed(file, &error))?;
    Declaration::parse(&file.display().to_string(), &text, battery)
}

fn one_arm(option: &str, text: &str) -> Result<NamedArm, Error> {
    let mut arms = parse_arms(text)?;
    if arms.len() == 1 {
        return Ok(arms.remove(0));
    }
    Err(Error::new(format!("{option}: {} arms; allowed: one", arms.len())))
}

/// Refuses options that exclude each other.
fn check(options: &Options) -> Result<(), Error> {
    let Options { list, dry_run, quick, full, cell, .. } = options;
    let given = |pairs: &[(&'static str, bool)]| -> Vec<&'static str> {
        pairs.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect()
    };
    let effort = [("--quick", *quick), ("--full", *full), ("--cell", cell.is_some())];
    let answer = [("--list", *list), ("--dry-run", *dry_run), ("--cell", cell.is_some())];
    match [given(&effort), given(&answer)].iter().find(|names| names.len() > 1) {
        Some(names) => Err(Error::new(format!("{}: allowed: one of them", names.join(" and ")))),
        None => Ok(()),
    }
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    check(options)?;
    let battery = options.battery.as_deref().map_or_else(Battery::builtin, Battery::read)?;
    if options.list {
        let criteria = battery.select(&options.criteria)?;
        let cells = cells(&battery, &criteria, options.effort())?;
        return shown(options, || Ok(List { battery, criteria, cells }), |_| String::new());
    }
    let evaluation = options.evaluation(battery)?;
    if let Some(cell) = &options.cell {
        let run = || on_threads(options.threads, || place(&evaluation, cell, options.seed));
        return shown(options, || run().map(OneCell), |one| one.0.page(&command_line()));
    }
    let job = evaluation.job()?;
    if options.dry_run {
        return shown(options, || Ok(Dry { evaluation: &evaluation, job }), |_| String::new());
    }
    let older = options.against.as_deref().map(older).transpose()?;
    let files = Files { json: options.json.as_ref(), others: &options.outputs() };
    let columns = Columns::Known((Report::columns(), RAW.map(str::to_owned).into()));
    let run = || measured(options, &evaluation, job.packets, older.as_ref());
    let done = produce(&files, columns, run, |done, option| {
        let Shown { report, places, changes } = done;
        Ok(match (option, &older) {
            ("--annex", _) if options.wants_xml() => report.annex_xml(),
            ("--annex", _) => report.annex(),
            ("--junit", _) => junit(changes, report),
            ("--markdown", Some(older)) => markdown(changes, older, report),
            _ => report.page(&command_line(), places),
        })
    })?;
    Ok(ended(options, &done))
}

/// Runs the evaluation, and the cells that its page plots.
fn measured(
    options: &Options,
    evaluation: &Evaluation,
    packets: u64,
    older: Option<&Older>,
) -> Result<Shown, Error> {
    let progress = Progress::begin(
        "{bar:20} {percent} %, about {eta} left",
        Unit::Thousands("packets"),
        Some(packets / 1_000),
    );
    let stop = graceful("stopping with the results so far").flag();
    let tick = |packets: u64| progress.inc(packets / 1_000);
    let report = on_threads(options.threads, || evaluate(evaluation, &tick, stop));
    drop(progress);
    let report = report?;
    let places = match options.report {
        Some(_) => {
            on_threads(options.threads, || evidence(evaluation, &report, &AtomicBool::new(false)))?
        }
        None => Vec::new(),
    };
    let changes = match older {
        Some(older) => report.against(older, options.tolerance)?,
        None => Vec::new(),
    };
    Ok(Shown { report, places, changes })
}

fn older(file: &Path) -> Result<Older, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| failed(file, &error))?;
    Older::parse(&file.display().to_string(), &text)
}

fn ended(options: &Options, done: &Shown) -> Done {
    let Shown { report, changes, .. } = done;
    let fell = |change: &Change| {
        let line = change.worse.first()?;
        Some(format!("{} has become worse: {line}", change.section))
    };
    let worse: Vec<String> = changes.iter().filter_map(fell).collect();
    if !report.broken.is_empty() {
        return Done::Because(report.broken.join("; "));
    }
    if let Some(partial) = &report.partial {
        return Done::Because(partial.clone());
    }
    if !worse.is_empty() {
        return Done::Because(worse.join("; "));
    }
    let concerns = report.number(Verdict::Concern);
    if options.fail_on == Some(FailOn::Concern) && concerns > 0 {
        return Done::Because(format!("{concerns} criteria raise a concern"));
    }
    Done::Well
}

/// Shows a result that is available at once, which has no file but the page of a cell.
fn shown<T: Output>(
    options: &Options,
    run: impl FnOnce() -> Result<T, Error>,
    page: impl Fn(&T) -> String,
) -> Result<Done, Error> {
    let given = [
        ("annex", options.annex.is_some()),
        ("report", options.report.is_some() && options.cell.is_none()),
    ];
    let given = given.into_iter().chain([("against", options.against.is_some())]);
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::new(format!("--{option}: this run has no results")));
    }
    let files = Files { json: options.json.as_ref(), others: &options.outputs() };
    produce(&files, Columns::OfResult, run, |output, _| Ok(page(output))).map(|_| Done::Well)
}

/// Criteria and their cells.
struct List {
    battery: Battery,
    criteria: Vec<usize>,
    cells: Vec<Cell>,
}

impl Output for List {
    fn document(&self) -> Document {
        let columns = [
            ("section", Kind::Name),
            ("criterion", Kind::Prose),
            ("RFC", Kind::Prose),
            ("cells", Kind::Prose),
        ];
        let mut sheet = Table::new("", columns);
        for index in &self.criteria {
            let criterion = &self.battery.criteria[*index];
            let cells: Vec<&str> = self
                .cells
                .iter()
                .filter(|cell| cell.criterion == *index)
                .map(|cell| cell.id.as_str())
                .collect();
            let why = criterion.not_run.as_ref().or(criterion.not_applicable.as_ref());
            let cells = match (cells.first(), why) {
                (_, Some(why)) => why.clone(),
                (None, _) => criterion.about.clone(),
                (Some(first), _) => {
                    let seeds = self.cells.iter().filter(|cell| cell.criterion == *index);
                    let runs: u32 = seeds.map(|cell| cell.seeds).sum();
                    format!("{} cells, {runs} seeds, {first} ...", cells.len())
                }
            };
            let Words { section, title, strength } = Words::of(criterion);
            sheet.row([section, title, strength, &cells]);
        }
        let Battery { version, sha256, .. } = &self.battery;
        let mut out = Document::default();
        out.table(sheet);
        out.note([format!("battery rfc9743 {version}, SHA-256 {sha256}")]);
        out
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data(["cell", "path", "seconds", "flows", "seeds"]);
        for cell in &self.cells {
            rows.values([
                cell.id.as_str().into(),
                cell.path.to_string().into(),
                (cell.time.0 as f64 / 1e9).into(),
                cell.flows.len().into(),
                cell.seeds.into(),
            ]);
        }
        rows
    }
}

/// Texts of a criterion in tables.
struct Words<'a> {
    section: &'a str,
    title: &'a str,
    strength: &'a str,
}

impl Words<'_> {
    fn of(criterion: &firstflight_evaluate::Criterion) -> Words<'_> {
        Words {
            section: &criterion.criterion,
            title: &criterion.title,
            strength: &criterion.strength,
        }
    }
}

/// The amount of work of an evaluation, which is not run.
struct Dry<'a> {
    evaluation: &'a Evaluation,
    job: firstflight_evaluate::Job,
}

/// Simulated packets per second of one core: a round number below those of docs/performance.md
/// (comparison with ns-3), independent of this machine's speed.
const PACKETS_PER_SECOND: f64 = 2.5e6;
/// Packets per second of real QUIC stacks in virtual time.
const PACKETS_OF_STACKS: f64 = 1.5e5;

impl Dry<'_> {
    fn minutes(&self) -> f64 {
        let info = self.evaluation.testbed.info();
        if info.in_real_time {
            // In real time, one run follows the other.
            return self.job.seconds / 60.0;
        }
        let speed = if info.stacks.is_some() { PACKETS_OF_STACKS } else { PACKETS_PER_SECOND };
        self.job.packets as f64 / speed / 2.0 / 60.0
    }
}

impl Output for Dry<'_> {
    fn text(&self) -> String {
        let job = self.job;
        let line = format!(
            "{}, {} effort: {} runs of {} cells ({} plans), at most {} million packets, about {} min on two cores",
            self.evaluation.algorithm.label,
            self.evaluation.effort.name(),
            job.runs,
            job.cells,
            job.plans,
            job.packets / 1_000_000,
            figure((self.minutes() * 10.0).ceil() / 10.0)
        );
        wrap(&line, 0, width()) + "\n"
    }

    fn sheets(&self) -> Vec<Table> {
        let headers = ["effort", "cells", "plans", "runs", "packets", "minutes"];
        let mut sheet = Table::of_numbers("", &headers, 1);
        let job = self.job;
        let cells = [job.cells.into(), job.plans.into(), job.runs, job.packets];
        let numbers = cells.map(|number| number.to_string());
        let effort = self.evaluation.effort.name().to_owned();
        let minutes = figure(self.minutes());
        sheet.row(std::iter::once(effort).chain(numbers).chain([minutes]));
        vec![sheet]
    }

    fn rows(&self) -> Table {
        let mut rows =
            Table::of_data(["effort", "cells", "plans", "runs", "packets", "minutes_on_two_cores"]);
        let job = self.job;
        rows.values([
            self.evaluation.effort.name().into(),
            job.cells.into(),
            job.plans.into(),
            job.runs.into(),
            job.packets.into(),
            self.minutes().into(),
        ]);
        rows
    }
}

/// One cell with one seed.
struct OneCell(Place);

impl Output for OneCell {
    fn document(&self) -> Document {
        let place = &self.0;
        let head = format!("{}: {}, seed {}", place.cell, place.about, place.seed);
        let mut out = Document::titled("", head);
        out.paragraph(place.path.as_str());
        out.table(place.table());
        out
    }

    fn rows(&self) -> Table {
        let names = ["cell", "seed", "metric", "of", "window", "unit", "value", "baseline"];
        let mut rows = Table::of_data(names);
        for number in &self.0.figures {
            rows.values([
                self.0.cell.as_str().into(),
                self.0.seed.into(),
                number.metric.as_str().into(),
                number.of.as_str().into(),
                number.window.into(),
                number.unit.into(),
                number.value.into(),
                number.baseline.into(),
            ]);
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        let document = json!({ "firstflight": env!("CARGO_PKG_VERSION"), "cell": self.0 });
        Ok(format!("{document:#}\n"))
    }
}

/// An evaluation, the cells that its page plots, and how it differs from an earlier one.
struct Shown {
    report: Report,
    places: Vec<(String, Place)>,
    changes: Vec<Change>,
}

/// Columns for every rule in every cell.
const RAW: [&str; 22] = [
    "section",
    "cell",
    "metric",
    "of",
    "window",
    "unit",
    "rule",
    "seeds",
    "value",
    "baseline",
    "difference",
    "low",
    "high",
    "upper",
    "margin",
    "limit",
    "beyond",
    "chance",
    "marked",
    "worst_seed",
    "verdict",
    "basis",
];

impl Output for Shown {
    fn document(&self) -> Document {
        let report = &self.report;
        let mut out = Document::titled("", report.summary());
        out.table(report.table());
        for (sentence, command) in report.sentences() {
            out.items([sentence]);
            out.code(command);
        }
        for line in report.broken.iter().chain(&report.partial) {
            out.warning(line.as_str());
        }
        out.note(report.notes.iter().cloned().chain([report.method()]));
        out
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data(RAW);
        for criterion in &self.report.criteria {
            for row in &criterion.judges {
                rows.values(values(&criterion.section, row));
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        self.report.to_json()
    }
}

fn values<'a>(section: &'a str, row: &'a CellRow) -> Vec<Datum<'a>> {
    let [low, high] = row.interval.map_or([None; 2], |ends| ends.map(Some));
    let rule = serde_json::to_value(row.rule).unwrap_or_default().into();
    vec![
        section.into(),
        row.cell.as_str().into(),
        row.metric.as_str().into(),
        row.of.as_str().into(),
        row.window.into(),
        row.unit.into(),
        rule,
        row.seeds.into(),
        row.value.into(),
        row.baseline.into(),
        row.difference.into(),
        low.into(),
        high.into(),
        row.upper.into(),
        row.margin.into(),
        row.limit.into(),
        row.beyond.into(),
        row.chance.into(),
        row.marked.into(),
        row.worst_seed.into(),
        row.verdict.name().into(),
        row.basis.map_or("", Basis::name).into(),
    ]
}
