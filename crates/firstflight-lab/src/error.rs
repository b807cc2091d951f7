//! What goes into an error line: the nearest known name, and text that is shown, not obeyed.

use firstflight_path::input::shortened;

/// The known name nearest to `name`, if one is near enough to have been meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No name of ours is that long, and comparing takes as long as both are together.
    if name.len() > 100 {
        return None;
    }
    let best = known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()?;
    // A third of the letters wrong is still a typing error; more is another word.
    (best.0 <= 1 + name.chars().count() / 3).then_some(best.1)
}

/// One line, whatever it quotes: line breaks and other control characters of a value are shown, not
/// obeyed, and long values are cut short.
pub fn printable(line: &str) -> String {
    shortened(line)
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}
