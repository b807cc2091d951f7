//! `firstflight replay`: recorded connections, fed to every startup.

pub(crate) mod population;
mod text;

use crate::Done;
use crate::files::{check_outputs, write_whole};
use crate::output::{check_before, give};
use crate::progress::{Progress, Unit};
use crate::rows::Rows;
use crate::run::command_line;
use crate::terminal::{CAUTION, whisper};
use clap::{Args, ValueEnum};
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use firstflight_lab::report::looks;
use firstflight_lab::size;
use firstflight_lab::{Error, NamedArm, parse_arms};
use firstflight_log::{Fault, Place, input, read};
use firstflight_path::input::open;
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::report;
use firstflight_replay::results::{FileRow, Results};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// Whether the sender paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pace {
    /// As its first flight left
    Auto,
    /// It did
    On,
    /// It did not
    Off,
}

/// What belongs to one group of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// What the trace says, else all together
    Trace,
    /// The folder a file lies in
    Folder,
    /// Each file
    File,
}

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Traces: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, each plain, gzip or zstd; `-` is standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Startups, separated by commas
    #[arg(
        long,
        default_value = "slowstart,hystart,hystart++,search,best,best-published,rapid-nojump"
    )]
    arms: String,
    /// The sender paced its packets
    #[arg(long, value_enum, default_value = "auto")]
    pace: Pace,
    /// Initial window in packets; left out, it is what was sent before the first ACK
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=1000, "packets"), allow_negative_numbers = true)]
    iw: Option<u64>,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Connections whose course over time a report shows.
const LINES: usize = 24;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    check_outputs(options.json.as_ref(), options.report.as_ref(), &[])?;
    let settings = Settings {
        arms: named(&options.arms)?,
        paced: match options.pace {
            Pace::Auto => None,
            Pace::On => Some(true),
            Pace::Off => Some(false),
        },
        iw: options.iw.map(|packets| packets as u32),
        lines: if options.report.is_some() { LINES } else { 0 },
    };
    let shown = text::columns(settings.arms.iter().map(|arm| arm.label.as_str()));
    check_before(options.json.as_ref(), &shown, &Rows::new(text::RAW).names)?;
    let (replay, files) = follow(&options.files, settings, GroupBy::Trace)?;
    let results = Results::new(&replay, files);
    if let Some(file) = &options.report {
        let page = page(&replay, &results, &command_line());
        write_whole(file, |out| out.write_all(page.as_bytes()))?;
    }
    give(options.json.as_ref(), &results)?;
    Ok(finish(&results.files))
}

/// What a replay has to show, in the frame of all pages.
fn page(replay: &Replay, results: &Results, command: &str) -> String {
    let looks = looks(results.arms.iter().map(String::as_str));
    let data = report::Data::new(replay, results, &looks, command);
    let frame = Page {
        kind: "replay",
        skip: "verdicts",
        styles: &[STILL_STYLE, report::STYLE],
        body: report::BODY,
        common: STILL_SCRIPTS,
        scripts: &[report::SCRIPT],
    };
    frame.fill(&data.title, &data.version, &data.to_json())
}

/// The arms, which must be arms of ours.
pub(crate) fn named(text: &str) -> Result<Vec<Named>, Error> {
    let outside = |arm: &NamedArm| {
        Error::new(format!(
            "arm `{}`: the kernel's own controllers cannot be replayed outside of it",
            arm.label
        ))
    };
    let ours = |named: NamedArm| match named.arm() {
        Ok(&arm) => Ok(Named { label: named.label, arm }),
        Err(_) => Err(outside(&named)),
    };
    parse_arms(text)?.into_iter().map(ours).collect()
}

/// Says what was wrong with files, and ends as they deserve.
pub(crate) fn finish(files: &[FileRow]) -> Done {
    for fault in files.iter().filter_map(|file| file.fault.as_ref()) {
        whisper(&format!("{CAUTION}partial:{CAUTION:#} {fault}"));
    }
    if files.iter().any(|file| file.fault.is_some()) { Done::Short } else { Done::Well }
}

/// Reads all files. Those of which nothing could be told are named as they fail.
///
/// # Errors
/// The first fault if nothing could be told from any file.
pub(crate) fn follow(
    files: &[String],
    settings: Settings,
    group_by: GroupBy,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let mut replay = Replay::new(settings);
    let mut rows = Vec::new();
    let mut first = None;
    for file in files {
        replay.group = match group_by {
            GroupBy::Trace => None,
            GroupBy::File => Some(file.clone()),
            GroupBy::Folder => {
                let folder = Path::new(file).parent().and_then(|folder| folder.file_name());
                folder.map(|folder| folder.to_string_lossy().into_owned())
            }
        };
        let remarks = replay.remarks.len();
        let row = match read_one(file, &mut replay) {
            Ok(extent) => {
                let fault = replay.remarks.get(remarks).map(ToString::to_string);
                FileRow {
                    file: file.clone(),
                    bytes: extent.bytes,
                    records: extent.records,
                    connections: extent.connections,
                    fault,
                }
            }
            Err(fault) => {
                let row = FileRow {
                    file: file.clone(),
                    bytes: 0,
                    records: 0,
                    connections: 0,
                    fault: Some(fault.to_string()),
                };
                first.get_or_insert(fault);
                row
            }
        };
        rows.push(row);
    }
    match first {
        Some(fault) if rows.iter().all(|row| row.connections == 0) => {
            Err(Error::new(fault.to_string()))
        }
        _ if replay.done.is_empty() => Err(Error::new(format!(
            "{}: {} connections, none of them with the 10 ACKs that a replay needs",
            files.join(", "),
            replay.short
        ))),
        _ => Ok((replay, rows)),
    }
}

/// Reads a file, with a progress bar once that has taken a second.
fn read_one(file: &str, replay: &mut Replay) -> Result<firstflight_log::Extent, Fault> {
    if file == "-" {
        return read::read(file, replay);
    }
    let fault =
        |error: std::io::Error| Fault::new(file, Place::File, format!("cannot be read: {error}"));
    if Path::new(file).is_dir() {
        return read::read(file, replay);
    }
    let mut opened = open(Path::new(file)).map_err(fault)?;
    let size = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    // A pipe cannot be looked at twice, and may take its time once somebody writes to it.
    let Some(size) = size else {
        let bytes = input::decompress(BufReader::with_capacity(1 << 16, opened)).map_err(fault)?;
        return read::from(file, bytes, replay);
    };
    let mut magic = [0; 4];
    if opened.read(&mut magic).map_err(fault)? == 4 && magic == *b"PAR1" {
        return parquet(file, opened, replay);
    }
    opened.rewind().map_err(fault)?;
    let style = "{msg} {bar:40} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    let progress = Progress::begin(style, Unit::Bytes, Some(size));
    progress.tell(file);
    let watched = Watched { from: opened, progress };
    input::decompress(BufReader::with_capacity(1 << 16, watched))
        .map_err(fault)
        .and_then(|bytes| read::from(file, bytes, replay))
}

/// A Parquet trace of ours: the same table in other clothes. It is read whole, as the lab reads it.
#[cfg(feature = "parquet")]
fn parquet(
    file: &str,
    opened: File,
    replay: &mut Replay,
) -> Result<firstflight_log::Extent, Fault> {
    use firstflight_log::trace;
    let fault = |what: String| Fault::new(file, Place::File, what);
    let traces = trace::parquet::read(opened).map_err(|why| fault(why.to_string()))?;
    let mut table = Vec::new();
    trace::csv::write(&traces.iter().collect::<Vec<_>>(), &mut table)
        .map_err(|error| fault(error.to_string()))?;
    read::from(file, Box::new(std::io::Cursor::new(table)), replay)
}

/// A Parquet trace, which this build cannot read.
#[cfg(not(feature = "parquet"))]
fn parquet(file: &str, _: File, _: &mut Replay) -> Result<firstflight_log::Extent, Fault> {
    let what = "a Parquet file; this build reads none (`--features parquet`), but the same trace as .csv or .sqlog";
    Err(Fault::new(file, Place::File, what))
}

/// Tells how far reading is.
struct Watched {
    from: File,
    progress: Progress,
}

impl Read for Watched {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(to)?;
        self.progress.inc(read as u64);
        Ok(read)
    }
}
