//! `firstflight vectors`: the outputs of algorithms, event by event, for tests in other languages.

use crate::done::Done;
use crate::files::{check_outputs, to_stdout, write_bytes};
use crate::terminal::say;
use clap::{Args, ValueEnum};
use firstflight_lab::vectors::{Rules, make, standard, to_json};
use firstflight_lab::{Error, parse_arms};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Arms, separated by commas [default: every algorithm]
    #[arg(long)]
    arms: Option<String>,
    /// Transport whose rules apply where TCP and QUIC differ
    #[arg(long, value_enum, default_value = "both")]
    transport: Transport,
    /// Write the vectors to a file; `-` or nothing is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// QUIC's
    Quic,
    /// TCP's
    Tcp,
    /// A vector for each
    Both,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    check_outputs(options.json.as_ref(), &[])?;
    let rules = match options.transport {
        Transport::Quic => Rules::Quic,
        Transport::Tcp => Rules::Tcp,
        Transport::Both => Rules::Both,
    };
    let vectors = match &options.arms {
        Some(arms) => make(&parse_arms(arms)?, rules)?,
        None => standard(rules)?,
    };
    let text = to_json(&vectors)?;
    match options.json.as_ref().filter(|_| !to_stdout(options.json.as_ref())) {
        Some(file) => write_bytes(file, text)?,
        None => say(&text)?,
    }
    Ok(Done::Well)
}
