//! What the system does not let us do, as one clear line.

use std::fmt;
use std::io;

/// Why something cannot run here: one line that names what is missing and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in its own words.
    pub fn new(line: impl Into<String>) -> Refusal {
        Refusal(line.into())
    }

    /// `what` failed with `error`; if privilege was the reason, `need` says which.
    pub(crate) fn from_io(what: &str, need: &str, error: &io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Refusal(format!("{what}: not permitted; needs {need}"))
            }
            _ => Refusal(format!("{what}: {error}")),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<firstflight_path::PathError> for Refusal {
    fn from(error: firstflight_path::PathError) -> Refusal {
        Refusal(error.to_string())
    }
}
