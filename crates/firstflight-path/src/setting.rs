//! One key of a path: how its value is parsed and printed.

use crate::error::{Error, Key};
use std::fmt::{self, Formatter};

/// A key whose value becomes part of a `T`.
pub(crate) struct Setting<T> {
    pub(crate) name: &'static str,
    /// Whether it may stand without a value, which is then `true`.
    pub(crate) alone: bool,
    /// Sets the value.
    pub(crate) read: fn(T, Key, &str) -> Result<T, Error>,
    /// The value in the format that `read` accepts; `None` for the default, empty if the key stands
    /// alone.
    pub(crate) show: fn(&T) -> Option<String>,
    /// Whether the value makes packets depend on the seed.
    pub(crate) draws: fn(&T) -> bool,
}

/// Prints the settings of `value` that differ from the defaults, with a comma before each key and
/// `prefix` before its name.
pub(crate) fn print<T>(
    f: &mut Formatter<'_>,
    prefix: &str,
    table: &[Setting<T>],
    value: &T,
) -> fmt::Result {
    for setting in table {
        match (setting.show)(value) {
            None => {}
            Some(text) if text.is_empty() => write!(f, ",{prefix}{}", setting.name)?,
            Some(text) => write!(f, ",{prefix}{}={text}", setting.name)?,
        }
    }
    Ok(())
}
