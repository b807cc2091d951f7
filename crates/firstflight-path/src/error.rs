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

/// The known name nearest to `name` in any case, if one is near enough to have been meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No name of ours is that long, and comparing takes as long as both are together.
    if name.len() > 100 {
        return None;
    }
    let name = name.to_lowercase();
    let best = known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&name, &known.to_lowercase()), known))
        .min()?;
    // A third of the letters wrong is still a typing error; more is another word.
    (best.0 <= 1 + name.chars().count() / 3).then_some(best.1)
}

/// ` (did you mean ...?)` when one of `known` is close to `word`, else nothing.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}
