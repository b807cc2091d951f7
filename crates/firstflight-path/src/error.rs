//! The one error of everything above the core: a line that says what is wrong and what would be
//! right.

use std::fmt;

/// Something the user can mend, or that the system does not allow: one line that names what is
/// wrong, where, and what is allowed. Displayed without a final full stop, ready to follow
/// `error: `.
///
/// Callers that must tell failures apart have types of their own: `ArmError` in the core,
/// `FetchError` of the HTTP client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error in its own words; line breaks are shown, not obeyed, so that it stays one line.
    pub fn new(line: impl Into<String>) -> Self {
        let line: String = line.into();
        Self(if line.contains('\n') { line.replace('\n', "\\n") } else { line })
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

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
