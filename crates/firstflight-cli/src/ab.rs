//! `firstflight ab`.

use crate::done::Done;
use crate::files::{Growing, check_folder, check_outputs, write_bytes};
use crate::fit;
use crate::output::{Output, check_before, give};
use crate::progress::{Progress, Unit};
use crate::rows::{self, pretty};
use crate::run::{command_line, on_threads};
use crate::stop::graceful;
use crate::terminal::{CAUTION, QUIET, TITLE, note, whisper, width, wrap};
use firstflight_lab::ab::analysis::Entry;
use firstflight_lab::ab::rows::{Row, write_csv};
use firstflight_lab::ab::run::Sink as RowSink;
use firstflight_lab::ab::{Analysis, Experiment, Run, Tallies, Test, Watch, run as files, shard};
use firstflight_lab::decision::Decision;
use firstflight_lab::{Error, Population};
use firstflight_table::Table;
use firstflight_table::text::one_line;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

mod cluster;
mod options;
pub(crate) mod tables;

pub(crate) use options::Options;
use options::{Command, MergeOptions, Outputs, TestOptions};

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    match &options.command {
        Some(Command::Merge(options)) => merge(options),
        None => test(&options.test),
    }
}

impl Output for Analysis {
    fn text(&self) -> String {
        as_text(self)
    }

    fn sheets(&self) -> Vec<Table> {
        let worlds = tables::by_world(self);
        std::iter::once(tables::overall(self)).chain(worlds).chain(tables::by_part(self)).collect()
    }

    fn rows(&self) -> Table {
        rows::of(Entry::MEASURES, &self.results)
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// Names of all columns in the tables of a test of these arms.
fn shown_columns<'a>(arms: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = Table::of_numbers("", tables::OVERALL, 1).names();
    names.extend(tables::PARTS.iter().map(|(_, title)| title.to_lowercase()));
    names.push("connections".into());
    names.extend(arms.map(str::to_lowercase));
    names
}

/// A part of a test without connections.
struct Empty<'a>(&'a Experiment);

impl Output for Empty<'_> {
    fn text(&self) -> String {
        String::new()
    }

    fn sheets(&self) -> Vec<Table> {
        vec![Table::of_numbers("", tables::OVERALL, 1)]
    }

    fn rows(&self) -> Table {
        Table::of_data(rows::names_of(Entry::MEASURES))
    }

    fn json(&self) -> Result<String, Error> {
        let empty = serde_json::json!({
            "firstflight": env!("CARGO_PKG_VERSION"),
            "experiment": self.0,
            "complete": false,
            "flows": 0,
            "results": [],
        });
        pretty(serde_json::to_string_pretty(&empty))
    }
}

impl Outputs {
    fn check(&self, others: &[(&str, Option<&Path>)]) -> Result<(), Error> {
        let report = [("--report", self.report.as_deref())];
        check_outputs(self.json.as_ref(), &[&report[..], others].concat())
    }

    /// Checks that the requested columns exist in the tables of a test of these arms.
    fn check_columns<'a>(&self, arms: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        let raw = rows::names_of(Entry::MEASURES);
        check_before(self.json.as_ref(), &shown_columns(arms), &raw)
    }

    fn give(&self, analysis: &Analysis) -> Result<(), Error> {
        if let Some(file) = &self.report {
            let page = analysis.page(&command_line());
            write_bytes(file, page)?;
        }
        give(self.json.as_ref(), analysis)?;
        for warning in &analysis.warnings {
            note(warning);
        }
        Ok(())
    }
}

fn test(options: &TestOptions) -> Result<Done, Error> {
    // A cluster writes rows to a folder, or to an address that only the cluster knows.
    let rows = options.out.as_deref().filter(|_| !options.cluster.is_ray());
    options.outputs.check(&[("--out", rows), ("--save", options.save.as_deref())])?;
    cluster::check(options)?;
    let mut test = options.request.request.test()?;
    options.outputs.check_columns(test.arms.iter().map(|arm| arm.label.as_str()))?;
    if options.shard.is_some() && options.save.is_none() && options.resume.is_none() {
        return Err(Error::new("--shard: needs --save FILE or --resume FOLDER to keep its result"));
    }
    rows.map_or(Ok(()), Sink::check)?;
    if let Some(folder) = &options.resume {
        prepare(folder)?;
    }
    let mut experiment = test.experiment();
    let (mut tallies, lost) = if options.cluster.is_ray() {
        (cluster::run(options, &experiment)?, None)
    } else {
        let open = |file| Sink::open(file, &test, options.shard);
        let sink = options.out.as_deref().map(open).transpose()?;
        run_with_rows(&test, options, sink)?
    };
    // A test whose rows or blocks are kept in files, or that is a part, is not extended
    // automatically.
    let kept = options.out.is_some() || options.resume.is_some() || options.shard.is_some();
    if !kept
        && !options.cluster.is_ray()
        && let Some(more) = test.doubled(&tallies)
    {
        tallies = run_with_progress(&more, &Run::default(), options.threads, None)?;
        experiment = more.experiment();
        test = more;
    }
    if let Some(file) = &options.save {
        write_bytes(file, shard::encode(&experiment, &tallies))?;
    }
    if tallies.flows() == 0 {
        return match options.shard {
            // A small test may be split into more parts than it has blocks; the other parts are
            // empty.
            Some((i, n)) if i > test.blocks() => {
                let parts = test.blocks();
                whisper(&format!(
                    "{CAUTION}note:{CAUTION:#} part {i}/{n} is empty: the test has only {parts} blocks to divide into parts"
                ));
                // Writes a result without connections, so that programs find valid output.
                give(options.outputs.json.as_ref(), &Empty(&experiment))?;
                Ok(Done::Well)
            }
            _ => Err(Error::new("no connection ran, so there is no result")),
        };
    }
    let done = finish(&options.outputs, &experiment, &tallies, options.shard.is_some())?;
    Ok(match lost {
        Some(why) if done == Done::Well => Done::Because(why),
        _ => done,
    })
}

/// Checks that the folder exists, or creates it if its parent exists.
fn prepare(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return check_folder(folder);
    }
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => check_folder(parent)?,
        _ => {}
    }
    fs::create_dir(folder).map_err(|error| Error::new(format!("{}: {error}", folder.display())))
}

fn finish(
    outputs: &Outputs,
    experiment: &Experiment,
    tallies: &Tallies,
    part_wanted: bool,
) -> Result<Done, Error> {
    // The population is read from the result itself, so a shard needs no other file.
    let population =
        Population::from_toml("population of the test", &experiment.population_toml, None);
    let warnings = population.map(|population| population.warnings()).unwrap_or_default();
    let analysis = Analysis::new(experiment, tallies, &warnings);
    outputs.give(&analysis)?;
    let differed = analysis.decision.check.differed;
    if differed > 0 {
        return Ok(Done::Because(format!(
            "the baseline differs from itself in {differed} connections: do not trust the numbers above"
        )));
    }
    if analysis.complete || part_wanted {
        return Ok(Done::Well);
    }
    Ok(Done::Because(format!("incomplete: {} of {} connections", analysis.flows, experiment.flows)))
}

fn merge(options: &MergeOptions) -> Result<Done, Error> {
    options.outputs.check(&[])?;
    let mut shards = Vec::new();
    for path in &options.shards {
        for file in shard_files(path)? {
            let (experiment, tallies) = files::read(&file)?;
            shards.push((file.display().to_string(), experiment, tallies));
        }
    }
    let (experiment, tallies) = shard::join(shards)?;
    options.outputs.check_columns(experiment.arms.iter().map(String::as_str))?;
    if tallies.flows() == 0 {
        return Err(Error::new("the shards are empty: there is no result"));
    }
    finish(&options.outputs, &experiment, &tallies, false)
}

/// The file itself, or the shards in a folder.
fn shard_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let bad = |error: std::io::Error| Error::new(format!("{}: {error}", path.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(bad)? {
        let file = entry.map_err(bad)?.path();
        if file.extension().is_some_and(|extension| extension == "ffab") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        Err(Error::new(format!("{}: contains no shards", path.display())))
    } else {
        Ok(files)
    }
}

/// Destination of the rows.
enum Sink {
    Csv(Growing),
    #[cfg(feature = "parquet")]
    Parquet(Box<firstflight_lab::ab::parquet::Rows<Growing>>),
}

impl Sink {
    /// Checks that the kind of the file is known and can be written.
    fn check(file: &Path) -> Result<(), Error> {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(()),
            Some("parquet") if cfg!(feature = "parquet") => Ok(()),
            Some("parquet") => Err(Error::new(format!(
                "--out {}: this build writes no Parquet (`--features parquet` does); allowed: a .csv file",
                file.display()
            ))),
            _ => Err(Error::new(format!(
                "--out {}: unknown kind of file; allowed: .csv or .parquet",
                file.display()
            ))),
        }
    }

    #[cfg_attr(
        not(feature = "parquet"),
        expect(unused_variables, reason = "a CSV file has no place to say what it belongs to")
    )]
    fn open(file: &Path, test: &Test, shard: Option<(u64, u64)>) -> Result<Sink, Error> {
        Sink::check(file)?;
        let out = Growing::open(file)?;
        #[cfg(feature = "parquet")]
        if file.extension().is_some_and(|extension| extension == "parquet") {
            let rows = firstflight_lab::ab::parquet::Rows::new(test, shard, out)?;
            return Ok(Sink::Parquet(Box::new(rows)));
        }
        Ok(Sink::Csv(out))
    }

    fn write(&mut self, test: &Test, rows: &[Row], first: bool) -> Result<(), Error> {
        match self {
            Sink::Csv(file) => file.more(|out| write_csv(test, rows, first, out)),
            #[cfg(feature = "parquet")]
            Sink::Parquet(file) => file.write(test, rows),
        }
    }

    fn finish(self) -> Result<(), Error> {
        match self {
            Sink::Csv(file) => file.finish(),
            #[cfg(feature = "parquet")]
            Sink::Parquet(file) => file.finish()?.finish(),
        }
    }
}

/// Runs the test and keeps its rows. If the rows cannot be written, the test continues without
/// them. The file then does not exist, and the result includes the reason.
fn run_with_rows(
    test: &Test,
    options: &TestOptions,
    mut sink: Option<Sink>,
) -> Result<(Tallies, Option<String>), Error> {
    let (mut first, mut lost) = (true, None);
    let mut keep = |rows: &[Row]| {
        let first = std::mem::take(&mut first) || rows.is_empty();
        if let Some(open) = &mut sink
            && let Err(error) = open.write(test, rows, first)
        {
            whisper(&format!(
                "{CAUTION}note:{CAUTION:#} {error}; the test continues without its rows"
            ));
            lost = Some(format!("no rows: {error}"));
            sink = None;
        }
        Ok(())
    };
    let run = Run { shard: options.shard, resume: options.resume.clone(), ..Run::default() };
    let rows: Option<&mut RowSink<'_>> = if options.out.is_some() { Some(&mut keep) } else { None };
    let tallies = run_with_progress(test, &run, options.threads, rows)?;
    if let Some(sink) = sink
        && let Err(error) = sink.finish()
    {
        lost = Some(format!("no rows: {error}"));
    }
    Ok((tallies, lost))
}

/// Runs the test with a progress bar, which appears after a second. The first Ctrl-C stops the test
/// with its results so far, the second one at once.
pub(crate) fn run_with_progress(
    test: &Test,
    run: &Run,
    threads: Option<u16>,
    rows: Option<&mut RowSink<'_>>,
) -> Result<Tallies, Error> {
    let stop = graceful("stopping with the results so far").flag();
    let total = run.shard.map_or(test.flows, |(_, n)| test.flows.div_ceil(n));
    let style = "{bar:40} {human_pos}/{human_len} connections, {per_sec}, {eta} left";
    let progress = Progress::begin(style, Unit::Count("connections"), Some(total));
    let tick = |done| progress.inc(done);
    on_threads(threads, move || {
        let rows = rows.map(|rows| -> &mut RowSink<'_> { rows });
        test.run(run, &mut Watch { tick: &tick, stop, rows })
    })
}

fn as_text(analysis: &Analysis) -> String {
    let experiment = &analysis.experiment;
    let decision = &analysis.decision;
    let state = if analysis.complete {
        String::new()
    } else {
        format!(" {CAUTION}incomplete: {} of {}{CAUTION:#}", analysis.flows, experiment.flows)
    };
    let about = format!(
        "{}: {} connections, baseline {}, initial window {} packets, seed {}",
        one_line(&experiment.population),
        analysis.flows,
        decision.baseline,
        experiment.iw,
        experiment.seed
    );
    let quiet = |line: &str| format!("{QUIET}{}{QUIET:#}\n", wrap(line, 0, width()));
    let mut text = answer(decision);
    let _ = writeln!(text, "{TITLE}{}{TITLE:#}{state}", wrap(&about, 0, width()));
    text += &fit::fitted(&tables::overall(analysis));
    text += "\n";
    text += &quiet(tables::LEGEND);
    if !fit::asked().wide {
        return text;
    }
    text += &tables::worlds(analysis).map_or(String::new(), |line| quiet(&line));
    if let Some(sheet) = tables::by_world(analysis) {
        let _ = writeln!(text, "\n{TITLE}{}{TITLE:#}\n{}", sheet.title, fit::fitted(&sheet));
    }
    text += &tables::by_part_text(analysis);
    text += &quiet(
        "intervals are 95 %; ° not significant when all cells are judged together; · Pareto-optimal: no other arm is better in time or loss without being worse in the other",
    );
    for line in &analysis.advice {
        text += &(wrap(line, 0, width()) + "\n");
    }
    text + &quiet(&tables::self_check(analysis))
}

/// The sentence of a decision, with its notes.
pub(crate) fn answer(decision: &Decision) -> String {
    let sentence = wrap(&decision.sentence, 0, width());
    let notes = decision.notes.iter().map(|note| wrap(note, 0, width()) + "\n");
    format!("{TITLE}{sentence}{TITLE:#}\n{}", notes.collect::<String>())
}
