//! What commands that run trials share: transport, threads and the command line that was typed.

use crate::size;
use clap::{Args, ValueEnum};
use firstflight_lab::{Bad, Hosts, hosts_of_tcp};

/// What the senders speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// QUIC: packet numbers, paced
    Quic,
    /// TCP: SACK and time stamps, not paced
    Tcp,
}

/// Transport and loss detection.
#[derive(Args, Clone, Debug)]
pub(crate) struct Speech {
    /// Transport
    #[arg(long, value_enum, default_value = "quic")]
    pub transport: Transport,
    /// Loss detection of TCP: rack (default), linux26, sack6675, sack3517, reno, windows
    #[arg(long, value_name = "PRESET")]
    pub detection: Option<String>,
}

impl Speech {
    /// The hosts that the options name.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn hosts(&self) -> Result<Hosts, Bad> {
        match (self.transport, &self.detection) {
            (Transport::Quic, None) => Ok(Hosts::default()),
            (Transport::Quic, Some(_)) => {
                Err(Bad("--detection: QUIC has its own; it goes with `--transport tcp`".into()))
            }
            (Transport::Tcp, name) => hosts_of_tcp(name.as_deref().unwrap_or("rack")),
        }
    }
}

/// Reads `--threads`.
///
/// # Errors
/// One line.
pub(crate) fn threads(text: &str) -> Result<u16, String> {
    size::count(text, 1..=1024, "").map(|count| count as u16)
}

/// Runs on a pool of its own if a size was asked for, else on the process-wide one.
///
/// # Errors
/// Those of the work, or one line if there are no threads to be had.
pub(crate) fn on_threads<T: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> Result<T, Bad> + Send,
) -> Result<T, Bad> {
    let Some(threads) = threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(usize::from(threads))
        .build()
        .map_err(|error| Bad(format!("cannot start {threads} threads: {error}")))?;
    pool.install(work)
}

/// The command that was typed, quoted where a shell needs it.
pub(crate) fn command_line() -> String {
    // A file may have a name that is no text.
    quoted(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

/// The command with these words, quoted where a shell needs it.
pub(crate) fn quoted(words: impl Iterator<Item = String>) -> String {
    let quote = |word: String| {
        let plain = !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,/+:%@".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    std::iter::once("firstflight".to_owned()).chain(words.map(quote)).collect::<Vec<_>>().join(" ")
}
