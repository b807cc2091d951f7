//! Shared by commands that run trials: threads, and the command line that was typed.

pub(crate) use firstflight_lab::request::command_line as quoted;
use firstflight_lab::{Error, size};

/// Parses `--threads`.
pub(crate) fn threads(text: &str) -> Result<u16, String> {
    size::count(text, 1..=1024, "").map(|count| count as u16)
}

/// Runs on a separate thread pool if a size is given, otherwise on the process-wide pool.
pub(crate) fn on_threads<T: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let Some(threads) = threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(usize::from(threads))
        .build()
        .map_err(|error| Error::new(format!("cannot start {threads} threads: {error}")))?;
    pool.install(work)
}

/// The command as typed, quoted for a shell where needed.
pub(crate) fn command_line() -> String {
    // A file name need not be valid text.
    quoted(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}
