//! `firstflight trial start`: assigns arms at random to the new TCP connections of a cgroup.

use crate::drawing::Drawing;
use clap::Args;
use firstflight::Nanos;
use firstflight_lab::size;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct StartOptions {
    /// Cgroup (version 2) of the service; connections of its processes take part
    #[arg(long, value_name = "FOLDER")]
    cgroup: PathBuf,
    /// Arms with their shares, the baseline first: kernel:cubic,hystart++=20%. `kernel:NAME` is one of the kernel's own controllers, `kernel
    /// list` lists ours; kernel:cubic#2 is a second copy
    #[arg(long, value_name = "SHARES")]
    arms: String,
    /// Append a row per connection to this file, for `trial analyse`: JSON lines, or a folder with one Parquet file per minute if the name ends
    /// in .parquet
    #[arg(long, value_name = "FILE", required_unless_present = "out", conflicts_with = "out")]
    rows: Option<PathBuf>,
    /// Keep rows, state and counters in this folder, for `trial status`, `stop`, `report` and
    /// `shares`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Run in the background until `trial stop`; messages go to `log` in the folder
    #[arg(long, requires = "out")]
    detach: bool,
    /// Save the key of the pseudonyms in this file, or reuse the key in it, as `watch --keep-key` does, so that clients have the same pseudonyms
    /// in both
    #[arg(long, value_name = "FILE")]
    keep_key: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
    /// Stop after this time: 30s, 10min, 24h [default: Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| size::limit(text, 366 * 86_400))]
    duration: Option<Nanos>,
    /// Limits for an arm, separated by commas, such as 'retransmitted > 2x'; the trial exits with code 3 if an arm exceeds one
    #[arg(long, value_name = "RULES")]
    stop_if: Option<String>,
    /// Exit with code 3, without statistics, if an arm with at least 100 clients retransmits this many times the baseline's share of segments:
    /// 5x
    #[arg(long, value_name = "RATIO", value_parser = times)]
    stop_hard: Option<f64>,
}

/// Parses a ratio: `5x` or `5`.
fn times(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('x').parse::<f64>().ok();
    let number = number.filter(|times| (1.0..=1e6).contains(times));
    number.ok_or_else(|| "allowed: 1x to 1000000x".to_owned())
}

#[cfg(not(feature = "bpf"))]
pub(super) fn start(_options: &StartOptions) -> Result<crate::done::Done, firstflight_lab::Error> {
    Err(firstflight_lab::Error::new(
        "`trial start` is not part of this build: `cargo build --release --features bpf` has it (Debian: clang libelf-dev zlib1g-dev)",
    ))
}

#[cfg(feature = "bpf")]
impl StartOptions {
    pub(super) fn cgroup(&self) -> &std::path::Path {
        &self.cgroup
    }

    pub(super) fn arms(&self) -> &str {
        &self.arms
    }

    pub(super) fn rows(&self) -> Option<&std::path::Path> {
        self.rows.as_deref()
    }

    pub(super) fn out(&self) -> Option<&std::path::Path> {
        self.out.as_deref()
    }

    pub(super) fn keep_key(&self) -> Option<&std::path::Path> {
        self.keep_key.as_deref()
    }

    pub(super) fn detach(&self) -> bool {
        self.detach
    }

    pub(super) fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    pub(super) fn most(&self) -> Option<std::time::Duration> {
        self.duration.map(|most| std::time::Duration::from_nanos(most.0))
    }

    pub(super) fn stop_if(&self) -> &str {
        self.stop_if.as_deref().unwrap_or_default()
    }

    pub(super) fn stop_hard(&self) -> Option<f64> {
        self.stop_hard
    }
}
