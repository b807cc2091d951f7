//! The outcome of a command: complete, partial, or a file error; and the exit codes.

use firstflight_lab::Error;

/// A result fell short.
pub(crate) const EXIT_SHORT: u8 = 1;

/// The input is bad.
pub(crate) const EXIT_BAD_INPUT: u8 = 2;

/// An arm of a field test broke a stop rule.
#[cfg(feature = "field")]
pub(crate) const EXIT_STOPPED: u8 = 3;

/// Every exit code and its meaning; `--help`, the manual pages and `docs/commands.md` show them.
pub(crate) const CODES: [(&str, &str); 5] = [
    ("0", "the result is complete"),
    (
        "1",
        "the result falls short: a check failed, a file is incomplete, or you stopped the command",
    ),
    ("2", "the input is bad; one line on standard error names the place and the remedy"),
    ("3", "an arm of a `trial` broke a stop rule"),
    ("128+N", "signal N ended the command; `link -- COMMAND` passes on the code of COMMAND"),
];

/// Outcome of a command that ran without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The result is complete.
    Well,
    /// The result falls short, and lines on standard error have given the reason: exit code 1.
    Short,
    /// The result falls short for this reason: exit code 1.
    Because(String),
    /// Exit with this code: that of the user's command, or one of our own.
    #[cfg(any(target_os = "linux", feature = "field"))]
    With(u8),
}

/// The error for a file operation that failed.
pub(crate) fn failed(file: &std::path::Path, error: &std::io::Error) -> Error {
    Error::new(format!("{}: {error}", file.display()))
}

/// Reports that an incomplete row was removed.
#[cfg(any(feature = "quic", all(target_os = "linux", feature = "bpf")))]
pub(crate) fn tell_of_cut(file: &std::path::Path, bytes: u64) {
    use crate::terminal::CAUTION;
    if bytes > 0 {
        crate::terminal::whisper(&format!(
            "{CAUTION}note:{CAUTION:#} {}: the last row was incomplete; its {bytes} bytes were removed",
            file.display()
        ));
    }
}
