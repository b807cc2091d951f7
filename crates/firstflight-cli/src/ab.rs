//! `firstflight ab`.

use crate::done::Done;
use crate::files::{Growing, check_folder, write_bytes};
use crate::fit;
use crate::output::{Columns, Files, Output, produce_beside};
use crate::progress::{Progress, Unit};
use crate::rows::{self, pretty};
use crate::run::{command_line, on_threads};
use crate::stop::graceful;
use crate::terminal::{CAUTION, note, whisper};
use firstflight_lab::ab::analysis::Entry;
use firstflight_lab::ab::rows::{Row, write_csv};
use firstflight_lab::ab::run::Sink as RowSink;
use firstflight_lab::ab::{Analysis, Experiment, Run, Tallies, Test, Watch, run as files, shard};
use firstflight_lab::decision::Decision;
use firstflight_lab::{Error, Population};
use firstflight_table::text::one_line;
use firstflight_table::{Document, Table};
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

/// A test, or a part of one.
struct Tested {
    experiment: Experiment,
    /// `None` for a part without connections.
    analysis: Option<Analysis>,
}

/// The data of a test: one row per arm and part of its connections.
pub(crate) fn entries<'a>(tests: impl IntoIterator<Item = &'a Analysis>) -> Table {
    rows::of(Entry::MEASURES, tests.into_iter().flat_map(|test| &test.results))
}

impl Output for Tested {
    fn document(&self) -> Document {
        self.analysis.as_ref().map_or_else(Document::default, for_people)
    }

    fn sheets(&self) -> Vec<Table> {
        let Some(analysis) = &self.analysis else {
            return vec![Table::of_numbers("", tables::OVERALL, 1)];
        };
        let worlds = tables::by_world(analysis);
        let parts = tables::by_part(analysis);
        std::iter::once(tables::overall(analysis)).chain(worlds).chain(parts).collect()
    }

    fn rows(&self) -> Table {
        entries(&self.analysis)
    }

    fn columns(&self) -> (Vec<String>, Vec<String>) {
        columns(self.experiment.arms.iter().map(String::as_str))
    }

    fn has_files(&self) -> bool {
        self.analysis.is_some()
    }

    fn json(&self) -> Result<String, Error> {
        if let Some(analysis) = &self.analysis {
            return Ok(analysis.to_json());
        }
        let empty = serde_json::json!({
            "firstflight": env!("CARGO_PKG_VERSION"),
            "experiment": self.experiment,
            "complete": false,
            "flows": 0,
            "results": [],
        });
        pretty(serde_json::to_string_pretty(&empty))
    }
}

/// Names of all columns of a test of these arms, for people and in data.
fn columns<'a>(arms: impl Iterator<Item = &'a str>) -> (Vec<String>, Vec<String>) {
    let mut names = Table::of_numbers("", tables::OVERALL, 1).names();
    names.extend(tables::PARTS.iter().map(|(_, title)| title.to_lowercase()));
    names.push("connections".into());
    names.extend(arms.map(str::to_lowercase));
    (names, rows::names_of(Entry::MEASURES))
}

impl Outputs {
    /// Runs a test, which writes the files `own` itself, and shows its result. A test of which only a
    /// part is wanted (`is_part`) need not be complete.
    fn produce(
        &self,
        own: &[(&'static str, Option<&Path>)],
        columns: Columns,
        is_part: bool,
        run: impl FnOnce() -> Result<Tested, Error>,
    ) -> Result<Done, Error> {
        let files =
            Files { json: self.json.as_ref(), others: &[("--report", self.report.as_deref())] };
        let page = |tested: &Tested, _: &str| {
            let page = |analysis: &Analysis| analysis.page(&command_line());
            Ok(tested.analysis.as_ref().map_or_else(String::new, page))
        };
        let Tested { experiment, analysis } = produce_beside(own, &files, columns, run, page)?;
        let Some(analysis) = analysis else { return Ok(Done::Well) };
        for warning in &analysis.warnings {
            note(warning);
        }
        let differed = analysis.decision.check.differed;
        if differed > 0 {
            return Ok(Done::Because(format!(
                "the baseline differs from itself in {differed} connections: do not trust the numbers above"
            )));
        }
        if analysis.complete || is_part {
            return Ok(Done::Well);
        }
        let (done, of) = (analysis.flows, experiment.flows);
        Ok(Done::Because(format!("incomplete: {done} of {of} connections")))
    }
}

fn test(options: &TestOptions) -> Result<Done, Error> {
    cluster::check(options)?;
    let test = options.request.request.test()?;
    if options.shard.is_some() && options.save.is_none() && options.resume.is_none() {
        return Err(Error::new("--shard: needs --save FILE or --resume FOLDER to keep its result"));
    }
    // A cluster writes rows to a folder, or to an address that only the cluster knows.
    let rows = options.out.as_deref().filter(|_| !options.cluster.is_ray());
    rows.map_or(Ok(()), Sink::check)?;
    let own = [("--out", rows), ("--save", options.save.as_deref())];
    let names = Columns::Known(columns(test.arms.iter().map(|arm| arm.label.as_str())));
    let mut lost = None;
    let run = || tested(options, test, &mut lost);
    let done = options.outputs.produce(&own, names, options.shard.is_some(), run)?;
    Ok(match lost {
        Some(why) if done == Done::Well => Done::Because(why),
        _ => done,
    })
}

/// Runs the test or its part. If rows are lost, `lost` becomes the reason.
fn tested(
    options: &TestOptions,
    mut test: Test,
    lost: &mut Option<String>,
) -> Result<Tested, Error> {
    if let Some(folder) = &options.resume {
        prepare(folder)?;
    }
    let mut experiment = test.experiment();
    let mut tallies = if options.cluster.is_ray() {
        cluster::run(options, &experiment)?
    } else {
        let open = |file| Sink::open(file, &test, options.shard);
        let sink = options.out.as_deref().map(open).transpose()?;
        let (tallies, why) = run_with_rows(&test, options, sink)?;
        *lost = why;
        tallies
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
                // A result without connections, so that programs find valid output.
                Ok(Tested { experiment, analysis: None })
            }
            _ => Err(Error::new("no connection ran, so there is no result")),
        };
    }
    Ok(analysed(experiment, &tallies))
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

fn analysed(experiment: Experiment, tallies: &Tallies) -> Tested {
    // The population is read from the result itself, so a shard needs no other file.
    let population =
        Population::from_toml("population of the test", &experiment.population_toml, None);
    let warnings = population.map(|population| population.warnings()).unwrap_or_default();
    let analysis = Some(Analysis::new(&experiment, tallies, &warnings));
    Tested { experiment, analysis }
}

fn merge(options: &MergeOptions) -> Result<Done, Error> {
    options.outputs.produce(&[], Columns::OfResult, false, || {
        let mut shards = Vec::new();
        for path in &options.shards {
            for file in shard_files(path)? {
                let (experiment, tallies) = files::read(&file)?;
                shards.push((file.display().to_string(), experiment, tallies));
            }
        }
        let (experiment, tallies) = shard::join(shards)?;
        if tallies.flows() == 0 {
            return Err(Error::new("the shards are empty: there is no result"));
        }
        Ok(analysed(experiment, &tallies))
    })
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

/// The answer and the table over all connections; with `--wide`, all tables.
fn for_people(analysis: &Analysis) -> Document {
    let experiment = &analysis.experiment;
    let decision = &analysis.decision;
    let about = format!(
        "{}: {} connections, baseline {}, initial window {} packets, seed {}",
        one_line(&experiment.population),
        analysis.flows,
        decision.baseline,
        experiment.iw,
        experiment.seed
    );
    let mut document = answer(decision);
    document.heading(
        2,
        "",
        if analysis.complete {
            about
        } else {
            format!("{about} incomplete: {} of {}", analysis.flows, experiment.flows)
        },
    );
    document.table(tables::overall(analysis));
    document.note([tables::LEGEND]);
    if !fit::asked().wide {
        return document;
    }
    document.note(tables::worlds(analysis));
    for sheet in tables::by_world(analysis).into_iter().chain(tables::by_part_fitted(analysis)) {
        document.note([""]);
        document.heading(2, "", sheet.title.as_str());
        document.table(sheet);
    }
    document.note([
        "intervals are 95 %; ° not significant when all cells are judged together; · Pareto-optimal: no other arm is better in time or loss without being worse in the other",
    ]);
    for line in &analysis.advice {
        document.paragraph(line.as_str());
    }
    document.note([tables::self_check(analysis)]);
    document
}

/// The sentence of a decision, with its notes.
pub(crate) fn answer(decision: &Decision) -> Document {
    let mut document = Document::titled("", decision.sentence.as_str());
    for note in &decision.notes {
        document.paragraph(note.as_str());
    }
    document
}
