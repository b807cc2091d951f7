//! The error type of every crate above the core: one line that states what is wrong and what is
//! allowed.

use std::fmt;

/// A mistake that the user can correct, or a refusal of the system: one line that names the
/// problem, its place and the allowed values. Displayed without a final full stop, ready to follow
/// `error: `.
///
/// Callers that must distinguish failures have their own types: `ArmError` in the core,
/// `FetchError` of the HTTP client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Makes an error from a message; line breaks are escaped, so that it stays one line, and error
    /// numbers of the operating system are removed ([`without_numbers`]).
    pub fn new(line: impl Into<String>) -> Self {
        Self(without_numbers(&line.into()).replace('\n', "\\n"))
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

    /// Puts the place of the error (a file, or a file and a line) in front.
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

/// Removes error numbers of the operating system, such as `(os error 2)`, from a message.
pub fn without_numbers(line: &str) -> String {
    let line = line.replace("Is a directory (os error 21)", "is a folder, and a file is needed");
    let mut parts = line.split(" (os error ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(rest.strip_prefix(')').unwrap_or(rest));
    }
    out
}

/// The name of a key, with the prefix of its direction; formatted only when an error needs it.
#[derive(Clone, Copy)]
pub(crate) struct Key(pub(crate) &'static str, pub(crate) &'static str);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

/// Words of papers, of other tools (iperf3, tc, Mahimahi, ns-3) and of every day, with our name for
/// the same key, option or command.
const SYNONYMS: &[(&str, &str)] = &[
    ("abtest", "ab"),
    ("algorithm", "arms"),
    ("analyse", "replay"),
    ("analyze", "replay"),
    ("bandwidth", "rate"),
    ("benchmark", "compare"),
    ("buffer", "queue"),
    ("bw", "rate"),
    ("cc", "arms"),
    ("count", "repeat"),
    ("delay", "rtt"),
    ("drop", "loss"),
    ("droprate", "loss"),
    ("emulate", "link"),
    ("gui", "ui"),
    ("latency", "rtt"),
    ("limit", "queue"),
    ("list", "arms"),
    ("optimise", "tune"),
    ("optimize", "tune"),
    ("pcap", "replay"),
    ("plr", "loss"),
    ("qdisc", "queue"),
    ("quantity", "bytes"),
    ("recommend", "advise"),
    ("runs", "repeat"),
    ("sim", "compare"),
    ("simulate", "compare"),
    ("size", "bytes"),
    ("speed", "rate"),
    ("streams", "flows"),
    ("tcpdump", "replay"),
    ("throughput", "rate"),
    ("trials", "repeat"),
    ("web", "ui"),
];

/// Our name for what other tools call `word`.
pub fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours)
}

/// The known name that a user most likely meant by `name`: the synonym of another tool's word, the
/// completion of an abbreviated name, or the nearest spelling regardless of case.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // None of our names is that long, and the comparison takes time in proportion to the length of
    // both.
    if name.len() > 100 {
        return None;
    }
    // `hystartpp` is `hystart++`.
    let folded = |name: &str| name.to_lowercase().replace('+', "p");
    let name = folded(name);
    let ours = synonym(name.trim_start_matches('-'));
    let letters = name.chars().count();
    let best = known
        .into_iter()
        .map(|known| {
            let spelled = folded(known);
            let rank = if ours.is_some_and(|ours| known.trim_start_matches('-') == ours) {
                (0, 0)
            } else if letters >= 3 && spelled.starts_with(&name) {
                (1, spelled.len())
            } else {
                (1 + strsim::damerau_levenshtein(&name, &spelled), spelled.len())
            };
            (rank, known)
        })
        .min()?;
    // Up to a third of the letters wrong is still a typing error; beyond that, or with two wrong of
    // three, it is another word.
    let most = if letters <= 3 { 1 } else { 1 + letters / 3 };
    (best.0.0 <= 1 + most).then_some(best.1)
}

/// ` (did you mean ...?)` when one of `known` is close to `word`, otherwise an empty string.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::{Error, without_numbers};
    use std::io;

    #[test]
    fn errors_of_the_system_lose_their_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert!(missing.to_string().contains("(os error 2)"), "{missing}");
        let error = Error::new(format!("a: b ({missing}); c: {missing}"));
        let line = error.as_str();
        assert!(!line.contains("os error") && line.contains("); c: "), "{line}");
        let folder = format!("x: {}", io::Error::from_raw_os_error(21));
        assert!(!without_numbers(&folder).contains("os error"), "{folder}");
        assert_eq!(without_numbers("no number here"), "no number here");
    }
}
