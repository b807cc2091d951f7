//! `firstflight evaluate`.

use crate::done::{Done, failed};
use crate::files::{check_outputs, write_bytes};
use crate::fit::fitted;
use crate::output::{Output, check_before, give, names};
use crate::progress::{Progress, Unit};
use crate::rows::Rows;
use crate::run::{command_line, on_threads, threads};
use crate::sheet::{Field, Sheet, Side};
use crate::stop::graceful;
use crate::terminal::{CAUTION, QUIET, TITLE, width, wrap};
use clap::{Args, ValueEnum};
use comfy_table::Color;
use firstflight_evaluate::{
    Basis, Battery, Cell, CellRow, Change, DEFAULT_BASELINE, Declaration, Effort, Evaluation,
    Older, Place, Report, Verdict, cells, evaluate, evidence, figure, junit, markdown, place,
};
use firstflight_lab::arms::NamedArm;
use firstflight_lab::request::seed;
use firstflight_lab::{Error, Testbeds, parse_arms};
use firstflight_path::input::{MOST_TEXT, read_text};
use serde_json::{Value, json};
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
    let others = [
        ("--annex", options.annex.as_deref()),
        ("--junit", options.junit.as_deref()),
        ("--markdown", options.markdown.as_deref()),
    ];
    check_outputs(options.json.as_ref(), options.report.as_ref(), &others)?;
    let battery = options.battery.as_deref().map_or_else(Battery::builtin, Battery::read)?;
    if options.list {
        let criteria = battery.select(&options.criteria)?;
        let cells = cells(&battery, &criteria, options.effort())?;
        return shown(options, &List { battery, criteria, cells });
    }
    let evaluation = options.evaluation(battery)?;
    if let Some(cell) = &options.cell {
        let place = on_threads(options.threads, || place(&evaluation, cell, options.seed))?;
        let one = OneCell(place);
        // Invalid options for the output are refused here.
        let done = shown(options, &one)?;
        if let Some(file) = &options.report {
            let page = one.0.page(&command_line());
            write_bytes(file, page)?;
        }
        return Ok(done);
    }
    let job = evaluation.job()?;
    if options.dry_run {
        return shown(options, &Dry { evaluation: &evaluation, job });
    }
    let older = options.against.as_deref().map(older).transpose()?;
    check_before(options.json.as_ref(), &Sheet::new("", COLUMNS).names(), &Rows::new(&RAW).names)?;
    let progress = Progress::begin(
        "{bar:20} {percent} %, about {eta} left",
        Unit::Thousands("packets"),
        Some(job.packets / 1_000),
    );
    let stop = graceful("stopping with the results so far").flag();
    let tick = |packets: u64| progress.inc(packets / 1_000);
    let report = on_threads(options.threads, || evaluate(&evaluation, &tick, stop));
    drop(progress);
    let report = report?;
    if let Some(file) = &options.annex {
        let is_xml = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("xml"));
        write_bytes(file, if is_xml { report.annex_xml() } else { report.annex() })?;
    }
    if let Some(file) = &options.report {
        let places = on_threads(options.threads, || {
            evidence(&evaluation, &report, &AtomicBool::new(false))
        })?;
        let page = report.page(&command_line(), &places);
        write_bytes(file, page)?;
    }
    let worse = older.map_or(Ok(Vec::new()), |older| compared(options, &report, &older))?;
    give(options.json.as_ref(), &Shown(&report))?;
    Ok(ended(options, &report, &worse))
}

fn older(file: &Path) -> Result<Older, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| failed(file, &error))?;
    Older::parse(&file.display().to_string(), &text)
}

/// Compares the report with an earlier one and writes the requested files. Returns the sections
/// that have become worse.
fn compared(options: &Options, report: &Report, older: &Older) -> Result<Vec<String>, Error> {
    let changes = report.against(older, options.tolerance)?;
    if let Some(file) = &options.junit {
        let text = junit(&changes, report);
        write_bytes(file, text)?;
    }
    if let Some(file) = &options.markdown {
        let text = markdown(&changes, older, report);
        write_bytes(file, text)?;
    }
    let fell = |change: Change| {
        change.worse.first().map(|line| format!("{} has become worse: {line}", change.section))
    };
    Ok(changes.into_iter().filter_map(fell).collect())
}

fn ended(options: &Options, report: &Report, worse: &[String]) -> Done {
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

/// Shows a result that is available at once.
fn shown(options: &Options, output: &dyn Output) -> Result<Done, Error> {
    let page = options.report.is_some() && options.cell.is_none();
    let given = [("annex", options.annex.is_some()), ("report", page)];
    let given = given.into_iter().chain([("against", options.against.is_some())]);
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::new(format!("--{option}: this run has no results")));
    }
    check_before(options.json.as_ref(), &names(&output.sheets()), &output.rows().names)?;
    give(options.json.as_ref(), output).map(|()| Done::Well)
}

/// Criteria and their cells.
struct List {
    battery: Battery,
    criteria: Vec<usize>,
    cells: Vec<Cell>,
}

impl Output for List {
    fn text(&self) -> String {
        let sheets: String = self.sheets().iter().map(fitted).collect();
        let Battery { version, sha256, .. } = &self.battery;
        let line = format!("battery rfc9743 {version}, SHA-256 {sha256}");
        format!("{sheets}\n{QUIET}{}{QUIET:#}\n", wrap(&line, 0, width()))
    }

    fn sheets(&self) -> Vec<Sheet> {
        let columns = [
            ("section", Side::Left),
            ("criterion", Side::Prose),
            ("RFC", Side::Prose),
            ("cells", Side::Prose),
        ];
        let mut sheet = Sheet::new("", columns);
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
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&["cell", "path", "seconds", "flows", "seeds"]);
        for cell in &self.cells {
            rows.row([
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
            "{} {}: {} cells with {} plans, {} runs, at most {} million packets, about {} min on two cores",
            self.evaluation.effort.name(),
            self.evaluation.algorithm.label,
            job.cells,
            job.plans,
            job.runs,
            job.packets / 1_000_000,
            figure((self.minutes() * 10.0).ceil() / 10.0)
        );
        wrap(&line, 0, width()) + "\n"
    }

    fn sheets(&self) -> Vec<Sheet> {
        let headers = ["effort", "cells", "plans", "runs", "packets", "minutes"];
        let mut sheet = Sheet::of_numbers("", &headers, 1);
        let job = self.job;
        let cells = [job.cells.into(), job.plans.into(), job.runs, job.packets];
        let numbers = cells.map(|number| number.to_string());
        let effort = self.evaluation.effort.name().to_owned();
        let minutes = figure(self.minutes());
        sheet.row(std::iter::once(effort).chain(numbers).chain([minutes]));
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let mut rows =
            Rows::new(&["effort", "cells", "plans", "runs", "packets", "minutes_on_two_cores"]);
        let job = self.job;
        rows.row([
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
    fn text(&self) -> String {
        let place = &self.0;
        let head = format!("{}: {}, seed {}", place.cell, place.about, place.seed);
        let sheets: String = self.sheets().iter().map(fitted).collect();
        format!("{TITLE}{head}{TITLE:#}\n{}\n{sheets}\n", wrap(&place.path, 0, width()))
    }

    fn sheets(&self) -> Vec<Sheet> {
        let seats: Vec<String> = self.0.runs.iter().map(|run| run.seat.clone()).collect();
        let names = ["metric", "of", "window"].map(|name| (name.to_owned(), Side::Left));
        let columns = names.into_iter().chain(seats.into_iter().map(|seat| (seat, Side::Right)));
        let mut sheet = Sheet::new("", columns);
        for number in &self.0.figures {
            let shown = |value: Option<f64>| {
                value.map_or("-".to_owned(), |value| format!("{} {}", figure(value), number.unit))
            };
            sheet.row([
                number.metric.clone(),
                number.of.clone(),
                number.window.to_owned(),
                shown(number.value).trim().to_owned(),
                shown(number.baseline).trim().to_owned(),
            ]);
        }
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let names = ["cell", "seed", "metric", "of", "window", "unit", "value", "baseline"];
        let mut rows = Rows::new(&names);
        for number in &self.0.figures {
            rows.row([
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

struct Shown<'a>(&'a Report);

const COLUMNS: [(&str, Side); 5] = [
    ("section", Side::Left),
    ("criterion", Side::Prose),
    ("RFC", Side::Prose),
    ("verdict", Side::Left),
    ("decided by", Side::Prose),
];

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

fn colour(verdict: Verdict) -> Option<Color> {
    match verdict {
        Verdict::Concern => Some(Color::Red),
        Verdict::Undecided => Some(Color::Yellow),
        Verdict::Pass => Some(Color::Green),
        _ => None,
    }
}

impl Output for Shown<'_> {
    fn text(&self) -> String {
        let report = self.0;
        let wrapped = |text: &str| wrap(text, 0, width());
        let head = format!("{TITLE}{}{TITLE:#}\n", wrapped(&report.summary()));
        let sheets: String = self.sheets().iter().map(fitted).collect();
        let concern = |(sentence, command): &(String, String)| {
            format!("  {}\n    {command}\n", wrap(sentence, 2, width()))
        };
        let concerns: String = report.sentences().iter().map(concern).collect();
        let trouble = |line: &String| format!("{CAUTION}{}{CAUTION:#}\n", wrapped(line));
        let troubles: String = report.broken.iter().chain(&report.partial).map(trouble).collect();
        let notes: String = report.notes.iter().map(|note| wrapped(note) + "\n").collect();
        let method = wrapped(&report.method());
        format!("{head}{sheets}\n{concerns}{troubles}{QUIET}{notes}{method}{QUIET:#}\n")
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut sheet = Sheet::new(self.0.summary(), COLUMNS).dropping(&["RFC"]);
        for row in &self.0.criteria {
            let verdict = Field { colour: colour(row.verdict), ..row.verdict.name().into() };
            let [section, title, strength] = [&row.section, &row.title, &row.strength];
            let words = [section, title, strength].map(|text| Field::from(text.as_str()));
            sheet.row(words.into_iter().chain([verdict, Field::from(row.decided())]));
        }
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&RAW);
        for criterion in &self.0.criteria {
            for row in &criterion.judges {
                rows.row(values(&criterion.section, row));
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        self.0.to_json()
    }
}

fn values(section: &str, row: &CellRow) -> Vec<Value> {
    let [low, high] = row.interval.map_or([None; 2], |ends| ends.map(Some));
    let rule = serde_json::to_value(row.rule).unwrap_or_default();
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
