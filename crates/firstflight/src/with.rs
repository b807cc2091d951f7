//! Values of structs that may gain fields.

/// A value of a `#[non_exhaustive]` struct: some fields named, the rest from another value. It reads like
/// Rust's own form, which such structs do not allow outside their crate.
///
/// ```
/// use firstflight::{Config, with};
///
/// let config = with!(Config { paced: false, ..Config::quic(1200) });
/// assert_eq!((config.paced, config.mss), (false, 1200));
/// ```
#[macro_export]
macro_rules! with {
    ($type:path { $($field:ident $(: $value:expr)?,)* ..$rest:expr $(,)? }) => {{
        let mut new: $type = $rest;
        $(new.$field = $crate::with!(@ $field $($value)?);)*
        new
    }};
    (@ $field:ident) => { $field };
    (@ $field:ident $value:expr) => { $value };
}
