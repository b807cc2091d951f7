//! What commands that run trials share: threads and the command line that was typed.

pub(crate) use firstflight_lab::request::command_line as quoted;
use firstflight_lab::{Error, size};

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
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let Some(threads) = threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(usize::from(threads))
        .build()
        .map_err(|error| Error::new(format!("cannot start {threads} threads: {error}")))?;
    pool.install(work)
}

/// The command that was typed, quoted where a shell needs it.
pub(crate) fn command_line() -> String {
    // A file may have a name that is no text.
    quoted(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}
