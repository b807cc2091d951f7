//! One key of a path: how its value is read, and how it is printed again.

use crate::error::{Error, Key};
use std::fmt::{self, Formatter};

/// A key whose value becomes a part of a `T`.
pub(crate) struct Setting<T> {
    pub(crate) name: &'static str,
    /// It may stand without a value, which is then `true`.
    pub(crate) alone: bool,
    /// Puts the value in.
    pub(crate) read: fn(T, Key, &str) -> Result<T, Error>,
    /// The value if it is not the default, as `read` takes it; empty where the key stands alone.
    pub(crate) show: fn(&T) -> Option<String>,
    /// Whether the value makes packets depend on the seed.
    pub(crate) draws: fn(&T) -> bool,
}

/// What `value` has beside its defaults: a comma before each key, `prefix` before its name.
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
