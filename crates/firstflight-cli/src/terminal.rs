//! Text for people: styles, rules, width and line breaks of a terminal.

use firstflight_lab::Error;
use firstflight_path::without_numbers;
pub(crate) use firstflight_table::terminal::{CAUTION, QUIET, TITLE, wrap};
use firstflight_table::terminal::{LEAST_WIDTH, columns};
use firstflight_table::text::shown;
use std::io::{ErrorKind, Write};

/// Prints to standard output. As in all output, control characters are made visible. A reader that
/// closes the pipe early (`| head`) is not an error.
///
/// # Errors
/// A one-line message if the output cannot be written, for example because the disk is full.
pub(crate) fn say(text: &str) -> Result<(), Error> {
    let text = shown(text);
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// The available width in columns: `COLUMNS` if it is set, otherwise the width of the terminal.
/// `None` if standard output is a pipe or a file and `COLUMNS` is not set: lines may then have any
/// length, and shortened lines would only hide text from `grep`.
pub(crate) fn width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = told.or_else(columns);
    width.filter(|width| *width >= LEAST_WIDTH)
}

/// Prints a line to standard error, if it is open. A line break within a name is made visible; error
/// numbers of the operating system are left out.
pub(crate) fn whisper(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", shown(&without_numbers(line).replace('\n', "\\n")));
}

/// Prints a note below a result to standard error, with the same width as the result.
pub(crate) fn note(text: &str) {
    let text = wrap(&format!("note: {}", without_numbers(text)), 0, width());
    let text = text.strip_prefix("note:").unwrap_or_default();
    let _ = writeln!(anstream::stderr(), "{}", shown(&format!("{CAUTION}note:{CAUTION:#}{text}")));
}
