//! One-line messages for requests that the system refuses.

use firstflight_path::Error;
use std::io;

/// The message that `what` failed with `error`; if privilege was missing, `need` names it.
pub(crate) fn refused(what: &str, need: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Error::new(format!("{what}: not permitted; needs {need}"))
        }
        _ => Error::new(format!("{what}: {error}")),
    }
}
