//! `firstflight population from-traces`.

use super::{finish, follow};
use crate::done::Done;
use crate::run::command_line;
use crate::terminal::{CAUTION, say, whisper};
use clap::Args;
use firstflight_lab::Error;
use firstflight_replay::files::GroupBy;
use firstflight_replay::population::{Entry, to_toml};
use firstflight_replay::replay::Settings;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Traces: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, each plain, gzip or zstd
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What makes a group of connections
    #[arg(long, value_enum, default_value = "trace")]
    group_by: GroupBy,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let settings = Settings::default();
    let (replay, files) = follow(&options.files, settings, options.group_by)?;
    let entries: Vec<Entry> = replay.done.iter().filter_map(Entry::of).collect();
    let text = to_toml(&entries, &command_line()).ok_or_else(|| {
        Error::new(format!(
            "{}: no connection long enough to show a rate and a round trip",
            files.iter().map(|row| row.file.as_str()).collect::<Vec<_>>().join(", ")
        ))
    })?;
    say(&text)?;
    let left_out = replay.short + (replay.done.len() - entries.len()) as u64;
    if left_out > 0 {
        whisper(&format!(
            "{CAUTION}note:{CAUTION:#} {left_out} connections are too short to show a rate and a round trip; they are left out"
        ));
    }
    Ok(finish(&files))
}
