//! Options of `firstflight ab`.

use crate::run::threads;
use clap::{Args, Subcommand, ValueEnum};
use firstflight_lab::request::{AbRequest, Typed};
use firstflight_lab::size;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) test: TestOptions,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Join the shards of one test
    Merge(MergeOptions),
}

#[derive(Args, Debug)]
pub(super) struct TestOptions {
    #[command(flatten)]
    pub(super) request: Typed<AbRequest>,
    #[command(flatten)]
    pub(super) outputs: Outputs,
    /// Write a row per connection and arm: a .csv file, or .parquet if built in; with `--engine ray`, a folder of Parquet files
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Run only part I of N (such as 1/4); needs --save or --resume
    #[arg(long, value_name = "I/N", value_parser = part)]
    pub(super) shard: Option<(u64, u64)>,
    /// Write the totals of this shard to a file for `firstflight ab merge`
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
    /// Keep finished blocks (with `--engine ray`: shards) in this folder and skip those already there
    #[arg(long, value_name = "FOLDER")]
    pub(super) resume: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<u16>,
    #[command(flatten)]
    pub(super) cluster: ClusterOptions,
}

#[derive(Args, Debug)]
pub(super) struct Outputs {
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct MergeOptions {
    /// Files written by --save, or folders of --resume
    #[arg(required = true, value_name = "SHARD")]
    pub(super) shards: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) outputs: Outputs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// This machine
    Local,
    /// A Ray cluster, through the Python package
    Ray,
}

#[derive(Args, Debug)]
pub(super) struct ClusterOptions {
    /// Where connections run
    #[arg(long, value_enum, default_value = "local")]
    engine: Engine,
    /// Ray: address of the cluster (`auto`, `ray://host:10001`); without it, a cluster is started on this machine and stopped afterwards
    #[arg(long)]
    pub(super) address: Option<String>,
    /// Ray: number of shards [default: four per core]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=1_000_000, ""), allow_negative_numbers = true)]
    pub(super) shards: Option<u64>,
}

impl ClusterOptions {
    /// Returns `true` if the test runs on a cluster.
    pub(super) fn is_ray(&self) -> bool {
        self.engine == Engine::Ray
    }
}

fn part(text: &str) -> Result<(u64, u64), String> {
    let wrong = || "is not a part; allowed: I/N with 1 <= I <= N <= 10000, such as 1/4".to_owned();
    let (i, n) = text.split_once('/').ok_or_else(wrong)?;
    let part: (u64, u64) = (i.parse().map_err(|_| wrong())?, n.parse().map_err(|_| wrong())?);
    if (1..=part.1).contains(&part.0) && part.1 <= 10_000 { Ok(part) } else { Err(wrong()) }
}
