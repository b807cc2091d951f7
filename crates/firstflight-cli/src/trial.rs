//! `firstflight trial`: assigns arms at random to live connections, and analyses the results.

#[cfg(all(target_os = "linux", feature = "bpf"))]
mod folder;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod metrics;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod run;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod running;
#[cfg(target_os = "linux")]
mod start;
mod tables;
mod verdict;

use crate::done::Done;
use crate::output::{Columns, Files, produce};
use crate::run::command_line;
use clap::{Args, Subcommand};
use firstflight_lab::Error;
use firstflight_lab::field::FieldRequest;
use std::path::PathBuf;
use tables::Shown;
use verdict::ended;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Assign arms at random to new TCP connections of a service, until Ctrl-C; write a row per
    /// connection
    #[cfg(target_os = "linux")]
    #[command(after_help = crate::examples::TRIAL_START)]
    Start(Box<start::StartOptions>),
    /// Show the status of a trial: connections per arm, effect, counters
    #[cfg(all(target_os = "linux", feature = "bpf"))]
    Status(running::InFolder),
    /// Stop a trial
    #[cfg(all(target_os = "linux", feature = "bpf"))]
    Stop(running::InFolder),
    /// Change the shares of a running trial, which starts a new epoch
    #[cfg(all(target_os = "linux", feature = "bpf"))]
    Shares(running::SharesOptions),
    /// Compare the arms of a trial, over connections that are old enough
    #[cfg(all(target_os = "linux", feature = "bpf"))]
    Report(running::ReportOptions),
    /// Compare arms in a table of connections with a column for the arm: CSV, JSON lines or
    /// Parquet
    #[command(after_help = crate::examples::TRIAL_ANALYSE)]
    Analyse(Box<AnalyseOptions>),
}

#[derive(Args, Debug)]
struct AnalyseOptions {
    /// Tables with the same columns, one row per connection; each may be gzip or zstd
    #[arg(required = true, value_name = "TABLE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    request: FieldRequest,
    /// Write the result as JSON to a file, or to standard output (`-`) instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    match &options.action {
        #[cfg(all(target_os = "linux", feature = "bpf"))]
        Action::Start(options) => run::start(options),
        #[cfg(all(target_os = "linux", not(feature = "bpf")))]
        Action::Start(options) => start::start(options),
        #[cfg(all(target_os = "linux", feature = "bpf"))]
        Action::Status(folder) => running::status(folder),
        #[cfg(all(target_os = "linux", feature = "bpf"))]
        Action::Stop(folder) => running::stop(folder),
        #[cfg(all(target_os = "linux", feature = "bpf"))]
        Action::Shares(options) => running::reshare(options),
        #[cfg(all(target_os = "linux", feature = "bpf"))]
        Action::Report(options) => running::report(options),
        Action::Analyse(options) => analyse(options),
    }
}

fn analyse(options: &AnalyseOptions) -> Result<Done, Error> {
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    let run = || options.request.answer(&options.files).map(Shown);
    let page = |shown: &Shown, _: &str| Ok(shown.0.page(&command_line()));
    let Shown(answer) = produce(&files, Columns::OfResult, run, page)?;
    Ok(ended(&answer))
}
