//! `firstflight link`.

use crate::Done;
use crate::size;
use crate::terminal::{CAUTION, QUIET, whisper};
use clap::Args;
use firstflight_lab::Bad;
use firstflight_linux::supervise::{self, Job};
use firstflight_linux::{LinkOptions, Refusal};
use firstflight_path::{DEFAULT, Path};
use std::ffi::OsString;

#[derive(Args, Debug)]
pub struct Options {
    /// Path: a built-in name, inline text such as `rate=100Mbit,rtt=30ms,queue=30ms`, or a TOML file
    #[arg(long, default_value = DEFAULT)]
    path: String,
    /// A line for the shell, run at the other end of the link; the command starts once it listens
    #[arg(long, value_name = "LINE")]
    server: Option<String>,
    /// The command sends: the path's forward direction leads away from it instead of to it
    #[arg(long)]
    upload: bool,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// Largest IP packet in bytes
    #[arg(long, default_value_t = 1500, value_parser = |text: &str| size::count(text, 576..=9000, "bytes").map(|mtu| mtu as u16), allow_negative_numbers = true)]
    mtu: u16,
    /// Do not print what the link did
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments. It finds the address of the other end in $FIRSTFLIGHT_PEER, of its own in $FIRSTFLIGHT_LOCAL, and
    /// starts something at the other end with `nsenter --net=$FIRSTFLIGHT_PEER_NS ...`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(options: Options) -> Result<Done, Bad> {
    let path = Path::parse(&options.path)?;
    let settings = LinkOptions { mtu: options.mtu, seed: options.seed, ..LinkOptions::default() };
    let job = Job { command: options.command, server: options.server, uploads: options.upload };
    let ended = supervise::run(&path, settings, &job).map_err(|refusal: Refusal| Bad(refusal.to_string()))?;
    if !options.quiet {
        for line in ended.report.to_string().lines() {
            whisper(&format!("{QUIET}{line}{QUIET:#}"));
        }
        for doubt in ended.report.doubts() {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {doubt}"));
        }
    }
    Ok(Done::With(ended.code))
}
