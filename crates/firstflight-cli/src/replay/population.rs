//! `firstflight populations from-traces`.

use super::{finish, follow};
use crate::done::Done;
use crate::run::command_line;
use crate::terminal::note;
use crate::terminal::say;
use clap::Args;
use firstflight_lab::Error;
use firstflight_replay::files::GroupBy;
use firstflight_replay::population::{Accept, Entries, to_toml};
use firstflight_replay::replay::Settings;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Traces: qlog (JSON, JSON-SEQ), pcap, pcapng or CSV, plain or compressed with gzip or zstd
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How connections are grouped
    #[arg(long, value_enum, default_value = "trace")]
    group_by: GroupBy,
    /// Also use connections whose capture is doubtful (docs/replay.md)
    #[arg(long, value_enum)]
    accept: Option<Accept>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let settings = Settings { entries: true, ..Settings::default() };
    let (replay, files) = follow(&options.files, settings, options.group_by)?;
    let names: Vec<String> = files.iter().map(|row| row.file.clone()).collect();
    let entries = Entries::of(&replay, options.accept);
    let text =
        to_toml(&entries.taken, &command_line()).ok_or_else(|| entries.refusal(&names, ""))?;
    say(&text)?;
    if entries.short > 0 {
        note(&format!(
            "{} connections are too short to show a rate and a round trip; they are left out",
            entries.short
        ));
    }
    if let Some(doubts) = entries.doubts() {
        note(&doubts);
    }
    Ok(finish(&files))
}
