//! What libbpf says while it works: the reasons behind its error codes.

use libbpf_rs::{Error, PrintLevel, set_print};
use std::cell::RefCell;

thread_local! {
    /// libbpf calls a plain function, on the thread that asked it for something.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// An error with what was said before it.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) error: Error,
    /// Warnings, as they were printed.
    pub(super) said: String,
}

impl Heard {
    /// Why `what` cannot be, in one line: the verifier's log ends with what it did not like.
    pub(super) fn refusal(&self, what: &str) -> firstflight_path::Error {
        let lines: Vec<&str> = self.said.lines().map(str::trim).collect();
        let last = lines[lines.len().saturating_sub(12)..].join("; ");
        firstflight_path::Error::new(format!("{what} needs root: {}: {last}", self.error))
    }
}

/// Asks libbpf for something and listens meanwhile.
///
/// # Errors
/// Those of `work`.
pub(super) fn hearing<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Heard> {
    // Of the whole process, and the same for all: each thread hears its own lines.
    set_print(Some((PrintLevel::Warn, |_, line| LINES.with_borrow_mut(|lines| lines.push(line)))));
    LINES.take();
    work().map_err(|error| Heard { error, said: LINES.take().concat() })
}
