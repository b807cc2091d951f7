//! Options of `firstflight compare`.

use crate::run::threads;
use clap::Args;
use firstflight_lab::request::CompareRequest;
use firstflight_lab::sweep::Axis;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(super) request: CompareRequest,
    /// Compare at each value of a path key or of `bytes`: a range such as `rtt=10ms..300ms:7` (seven values; five by default) or a list such as
    /// `queue=0.5bdp,1bdp`; give it twice for every combination
    #[arg(long, value_name = "KEY=VALUES", value_parser = Axis::parse)]
    pub(super) sweep: Vec<Axis>,
    /// Write the results as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page; it has sliders if this program includes the browser simulator
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Leave the simulator out of the report, which saves 1.1 MB
    #[arg(long, requires = "report")]
    pub(super) plain_report: bool,
    /// Write every event with the algorithm's internal signals: a file ending in .csv, .parquet,
    /// .qlog or .sqlog, or a folder for a CSV of every arm's first trial
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Write qlog into this folder, one file for each end of each trial; with a trailing slash, the folder is created
    #[arg(long, value_name = "FOLDER")]
    pub(super) qlog: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<u16>,
}
