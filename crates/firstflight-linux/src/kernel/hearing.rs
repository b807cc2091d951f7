//! Messages of libbpf: the reasons behind its error codes.

use libbpf_rs::{Error, PrintLevel, set_print};
use std::cell::RefCell;

thread_local! {
    /// libbpf calls a plain function, on the thread that made the request.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// An error with the messages before it.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) error: Error,
    /// The warnings as they were printed.
    pub(super) said: String,
}

impl Heard {
    /// A one-line message why `what` is not possible: the verifier's log ends with its objection.
    pub(super) fn refusal(&self, what: &str) -> firstflight_path::Error {
        let lines: Vec<&str> = self.said.lines().map(str::trim).collect();
        let last = lines[lines.len().saturating_sub(12)..].join("; ");
        firstflight_path::Error::new(format!("{what} needs root: {}: {last}", self.error))
    }
}

/// Runs a request to libbpf and collects its messages.
///
/// # Errors
/// Errors of `work`.
pub(super) fn hearing<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Heard> {
    // The setting applies to the whole process and is always the same: each thread receives its own
    // lines.
    set_print(Some((PrintLevel::Warn, |_, line| LINES.with_borrow_mut(|lines| lines.push(line)))));
    LINES.take();
    work().map_err(|error| Heard { error, said: LINES.take().concat() })
}
