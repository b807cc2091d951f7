//! How a command ends: well, short of what it should, or with a file that failed.

use firstflight_lab::Error;

/// How a command ended when it ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything came out.
    Well,
    /// A result fell short, and lines on standard error have said so: exit code 1.
    Short,
    /// A result fell short, and this is why: exit code 1.
    Because(String),
    /// With this code: that of what was run for the user, or one of the command's own.
    #[cfg(any(target_os = "linux", feature = "field"))]
    With(u8),
}

/// An operation on a file that failed.
pub(crate) fn failed(file: &std::path::Path, error: &std::io::Error) -> Error {
    Error::new(format!("{}: {error}", file.display()))
}

/// Says that half a row was removed.
#[cfg(any(feature = "quic", all(target_os = "linux", feature = "bpf")))]
pub(crate) fn tell_of_cut(file: &std::path::Path, bytes: u64) {
    use crate::terminal::CAUTION;
    if bytes > 0 {
        crate::terminal::whisper(&format!(
            "{CAUTION}note:{CAUTION:#} {}: the last row was torn; its {bytes} bytes are removed",
            file.display()
        ));
    }
}
