//! Options of `firstflight watch`.

use crate::drawing::share;
use clap::Args;
use firstflight::Nanos;
use firstflight_lab::size;
use firstflight_replay::replay::DEFAULT_ARMS;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(super) who: Who,
    /// Share of connections to watch, drawn at random, such as 1/10, 10% or 0.1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = of_2_32)]
    pub(super) sample: u64,
    /// Startups, separated by commas
    #[arg(long, default_value = DEFAULT_ARMS)]
    pub(super) arms: String,
    /// Stop after this time: 30s, 10min, 24h [default: Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| size::limit(text, 366 * 86_400))]
    pub(super) duration: Option<Nanos>,
    /// Append a row for each finished connection, for `trial analyse`: JSON lines, or a folder with one Parquet file per minute if the name ends
    /// in .parquet
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Save the key of the pseudonyms in this file, or reuse the key in it, so that clients keep their pseudonyms in later runs, for `trial
    /// analyse --earlier`. Anyone who has the key can recover every client's prefix
    #[arg(long, value_name = "FILE")]
    pub(super) keep_key: Option<PathBuf>,
    /// Write a population of the observed paths, for `ab`
    #[arg(long, value_name = "FILE")]
    pub(super) population: Option<PathBuf>,
    /// Write the results as JSON to a file, `-` for standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

/// Connections to watch.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(super) struct Who {
    /// Watch connections of the processes in this cgroup (version 2) and below
    #[arg(long, value_name = "FOLDER")]
    pub(super) cgroup: Option<PathBuf>,
    /// Watch connections with this port at either end
    #[arg(long, value_name = "PORT", value_parser = |text: &str| size::port(text, 1), allow_negative_numbers = true)]
    pub(super) port: Option<u16>,
    /// Watch all connections of this machine
    #[arg(long, conflicts_with_all = ["cgroup", "port"])]
    pub(super) all: bool,
}

/// Converts a share to a number of connections out of 2^32.
fn of_2_32(text: &str) -> Result<u64, String> {
    share(text).map(|share| (share * 4_294_967_296.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::of_2_32;

    #[test]
    fn a_share_is_a_fraction_a_percentage_or_a_number() {
        let all = 1_u64 << 32;
        for (text, share) in [("1", all), ("1/2", all / 2), ("50%", all / 2), ("0.25", all / 4)] {
            assert_eq!(of_2_32(text), Ok(share), "{text}");
        }
        assert_eq!(of_2_32("1/10"), Ok(all.div_ceil(10)), "of ten one at least");
        for text in ["0", "2", "1/0", "-1", "0/0", "110%", "a", "1/", ""] {
            assert!(of_2_32(text).is_err(), "{text}");
        }
    }
}
