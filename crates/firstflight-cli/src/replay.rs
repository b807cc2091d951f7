//! `firstflight replay`: replays recorded connections with every startup.

mod identified;
pub(crate) mod population;
pub(crate) mod text;

use crate::done::Done;
use crate::engine;
use crate::files::Growing;
use crate::output::{Columns, Files, is_for_people, produce_beside};
use crate::progress::{Progress, Unit};
use crate::run::command_line;
use crate::terminal::{CAUTION, note, whisper};
use clap::{Args, ValueEnum};
use firstflight_lab::Error;
use firstflight_lab::size;
#[cfg(feature = "keylog")]
use firstflight_log::quic::KeyLog;
#[cfg(feature = "keylog")]
use firstflight_path::input::read_text;
use firstflight_replay::advice::{named, tried};
use firstflight_replay::files::{self, GroupBy, OnBytes};
use firstflight_replay::identify::DEFAULT_CANDIDATES;
use firstflight_replay::replay::{DEFAULT_ARMS, Named, Replay, Settings};
use firstflight_replay::report;
use firstflight_replay::results::{FileRow, Results};
use firstflight_table::whole::is_device;
use firstflight_web::inside;
use std::path::PathBuf;

/// Whether the sender paced its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pace {
    /// Inferred from the first flight
    Auto,
    /// Paced
    On,
    /// Not paced
    Off,
}

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Traces: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, output of tcp_probe or ss, or iperf3's JSON, plain or compressed with gzip or zstd; a
    /// folder stands for all traces in it, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Key log (SSLKEYLOGFILE) to decrypt QUIC in captures; QUIC is then read instead of TCP
    #[arg(long, value_name = "FILE")]
    keylog: Option<PathBuf>,
    /// Startups, separated by commas
    #[arg(long, default_value = DEFAULT_ARMS)]
    arms: String,
    /// Identify the startup of the recorded sender, among these or among a default list (docs/identify.md)
    #[arg(long, value_name = "STARTUPS", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_CANDIDATES)]
    identify: Option<String>,
    /// Whether the sender paced its packets
    #[arg(long, value_enum, default_value = "auto")]
    pace: Pace,
    /// Initial window in packets [default: what was sent before the first ACK]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=1000, "packets"), allow_negative_numbers = true)]
    iw: Option<u64>,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write what was read as CSV, a row per ACK: una, in flight, RTT, lost, spurious
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write the report, one self-contained HTML page; it can replay the file with other startups if this program includes the browser simulator
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Leave the simulator out of the report, which saves 1.1 MB
    #[arg(long, requires = "report")]
    plain_report: bool,
}

/// Number of connections whose course over time the report shows.
const LINES: usize = 24;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let arms = named(&options.arms)?;
    let shown = text::columns(arms.iter().map(|arm| arm.label.as_str()));
    let columns = Columns::Known((shown, text::RAW.map(str::to_owned).into()));
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    let own = [("--events", options.events.as_deref())];
    let page = |results: &Results, _: &str| Ok(page(results, options));
    let results = produce_beside(&own, &files, columns, || replayed(options, arms), page)?;
    // The table for people already contains these lines.
    if !is_for_people(options.json.as_ref()) {
        results.capture_lines().iter().for_each(|line| note(line));
    }
    Ok(finish(&results.files))
}

/// Replays the files with these arms, and writes the table of events.
fn replayed(options: &Options, arms: Vec<Named>) -> Result<Results, Error> {
    // The table of events is written only if the traces could be read.
    let events = options.events.as_deref().filter(|file| !is_device(file));
    let events = events.map(Growing::open).transpose()?;
    let settings = Settings {
        arms,
        paced: match options.pace {
            Pace::Auto => None,
            Pace::On => Some(true),
            Pace::Off => Some(false),
        },
        iw: options.iw.map(|packets| packets as u32),
        lines: if options.report.is_some() { LINES } else { 0 },
        identify: options.identify.as_deref().map(tried).transpose()?.unwrap_or_default(),
        entries: false,
        events: events
            .as_ref()
            .map(|growing| growing.beside().to_owned())
            .or_else(|| options.events.clone()),
        #[cfg(feature = "keylog")]
        keylog: options.keylog.as_deref().map(keylog).transpose()?,
    };
    #[cfg(not(feature = "keylog"))]
    if options.keylog.is_some() {
        return Err(Error::new("this build cannot decrypt QUIC (`--features keylog` can)"));
    }
    let (replay, files) = follow(&options.files, settings, GroupBy::Trace)?;
    events.map_or(Ok(()), Growing::finish)?;
    Ok(Results::new(replay, files))
}

/// Reads the secrets in a key log.
#[cfg(feature = "keylog")]
fn keylog(file: &std::path::Path) -> Result<std::sync::Arc<KeyLog>, Error> {
    const MOST: u64 = 1 << 28;
    let fault = |what: String| Error::new(format!("{}: {what}", file.display()));
    let text = read_text(file, MOST).map_err(|error| fault(format!("cannot be read: {error}")))?;
    KeyLog::parse(&text).map(std::sync::Arc::new).map_err(fault)
}

/// The report; it includes the replay if an engine is available that supports these options.
fn page(results: &Results, options: &Options) -> String {
    let plain = options.plain_report
        || options.pace != Pace::Auto
        || options.iw.is_some()
        || options.keylog.is_some();
    let module = if plain { None } else { engine::as_text() };
    match module {
        Some(module) => inside::replay_page(results, &command_line(), &module),
        None => report::page(results, &command_line()),
    }
}

/// Reports what was left out of files and their faults, and returns the outcome.
pub(crate) fn finish(files: &[FileRow]) -> Done {
    files.iter().flat_map(|file| &file.notes).for_each(|line| note(line));
    for fault in files.iter().filter_map(|file| file.fault.as_ref()) {
        whisper(&format!("{CAUTION}partial:{CAUTION:#} {fault}"));
    }
    if files.iter().any(|file| file.fault.is_some()) { Done::Short } else { Done::Well }
}

/// Reads all files, with a progress bar after a second.
pub(crate) fn follow(
    files: &[PathBuf],
    settings: Settings,
    group_by: GroupBy,
) -> Result<(Replay, Vec<FileRow>), Error> {
    files::follow(files, settings, group_by, &watch)
}

/// A progress bar over the bytes of a file.
pub(crate) fn watch(file: &str, bytes: u64) -> OnBytes {
    let style = "{msg} {bar:40} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    let progress = Progress::begin(style, Unit::Bytes, Some(bytes));
    progress.tell(file);
    Box::new(move |bytes| {
        progress.inc(bytes);
        Ok(())
    })
}
