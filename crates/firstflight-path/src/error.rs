//! The one error of this crate: a line that names the key, the value that was given and what is
//! allowed.

use std::fmt;

/// Why a path is refused. Displayed as one line without a final full stop, ready to follow `error:
/// `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError(String);

impl PathError {
    /// An error in its own words; line breaks are flattened so that it stays one line.
    pub fn new(line: impl Into<String>) -> Self {
        let line: String = line.into();
        Self(if line.contains('\n') {
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            line
        })
    }

    /// `key=value: what is wrong; allowed: what would be right`.
    pub(crate) fn at(
        key: impl fmt::Display,
        value: &str,
        wrong: impl fmt::Display,
        allowed: impl fmt::Display,
    ) -> Self {
        Self::new(format!("{key}={value}: {wrong}; allowed: {allowed}"))
    }

    /// The same error with the place it stands in (a file, or a file and a line) in front.
    pub(crate) fn within(self, place: impl fmt::Display) -> Self {
        Self::new(format!("{place}: {}", self.0))
    }

    /// The error line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PathError {}

/// The name of a key, with the prefix of its direction; text only when an error needs it.
#[derive(Clone, Copy)]
pub(crate) struct Key(pub(crate) &'static str, pub(crate) &'static str);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

/// ` (did you mean ...?)` when one of `known` is close to `word`, else nothing.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // No name of ours is that long, and comparing takes as long as both are together.
    if word.len() > 100 {
        return String::new();
    }
    let nearest =
        known.into_iter().map(|name| (strsim::damerau_levenshtein(word, name), name)).min();
    match nearest {
        // More than half of the letters wrong is no longer a slip of the finger.
        Some((distance, name)) if distance * 2 <= name.len().max(word.len()) => {
            format!(" (did you mean `{name}`?)")
        }
        _ => String::new(),
    }
}
