//! What the system does not let us do, as one clear line.

use firstflight_path::Error;
use std::io;

/// `what` failed with `error`; if privilege was the reason, `need` says which.
pub(crate) fn refused(what: &str, need: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Error::new(format!("{what}: not permitted; needs {need}"))
        }
        _ => Error::new(format!("{what}: {error}")),
    }
}
