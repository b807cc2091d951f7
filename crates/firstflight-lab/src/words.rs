//! Command lines as text.

/// The command `firstflight` with these words, quoted where a shell needs it.
pub fn command_line(words: impl Iterator<Item = String>) -> String {
    let quote = |word: String| {
        let plain = !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,/+:%@".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    std::iter::once("firstflight".to_owned()).chain(words.map(quote)).collect::<Vec<_>>().join(" ")
}
