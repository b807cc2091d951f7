//! Foreign text: shown but never interpreted.
//!
//! An escape is `\u` with four hexadecimal digits, so escaped JSON is still the same JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that control a terminal or reorder the visible text: controls (C0, DEL, C1), line and
/// paragraph separators, bidirectional marks, embeddings and isolates (Unicode TR 36), interlinear
/// annotation, the byte order mark and invisible tags.
fn steers(c: char) -> bool {
    c.is_control()
        || c == STYLE
        || matches!(c,
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
            // Bytes of a file name that are not text: `firstflight_path::input`.
            | '\u{10ff80}'..='\u{10ffff}')
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let escapes = |c: char| steers(c) && !stays(c);
    if !text.chars().any(escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escapes(c) {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A name or other foreign text on one line, for a message or a title.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Like [`one_line`], for a cell that may have several lines.
pub fn cell(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

/// JSON for a page that shows its strings: control characters become visible text, including those
/// that JSON itself escapes. Line breaks and tabs stay.
pub fn readable_json(json: &str) -> Cow<'_, str> {
    let visible = |c: char| steers(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.chars().any(|c| visible(c) || c == '\\') {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        if visible(c) {
            let mut escaped = String::new();
            escape(c, &mut escaped);
            out.push_str(&escaped.replace('\\', "\\\\"));
        } else if c == '\\' {
            let digits = rest.as_str().strip_prefix('u').and_then(|after| after.get(..4));
            let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let steers = unit.and_then(char::from_u32).is_some_and(visible)
                || rest.as_str().starts_with(['b', 'f']);
            out.push_str(if steers { "\\\\" } else { "\\" });
            out.extend(rest.next());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Text as an attribute of XML. Control characters, which XML does not allow, become spaces.
pub fn xml(text: &str) -> String {
    xml_body(text).replace('"', "&quot;").replace('\n', " ")
}

/// Escapes text between tags, where quotes and line breaks need no escaping.
pub fn xml_body(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Represents the escape character of our own styles. It is a noncharacter of Unicode, so no text
/// contains it.
pub const STYLE: char = '\u{fddf}';

/// A whole text for a terminal, a pipe or a log. Line breaks and tabs stay, and our own weights and
/// colours become escape sequences: [`STYLE`], `[`, parameters of a style and `m`. Any other escape
/// sequence is shown as text.
pub fn shown(text: &str) -> Cow<'_, str> {
    let plain = |c: char| !steers(c) || c == '\n' || c == '\t';
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let style = style_of(rest);
        if let Some(length) = style {
            out.push('\u{1b}');
            out.push_str(&rest[STYLE.len_utf8()..length]);
            rest = &rest[length..];
            continue;
        }
        if plain(c) {
            out.push(c);
        } else {
            escape(c, &mut out);
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// The length of the style at the start of a text.
fn style_of(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix(STYLE)?.strip_prefix('[')?;
    let end = parameters.bytes().take(12).position(|byte| byte == b'm')?;
    is_style(&parameters[..end]).then_some(STYLE.len_utf8() + 1 + end + 1)
}

/// Weight and foreground colour only: nothing that hides text, moves the cursor or makes the
/// terminal answer.
fn is_style(parameters: &str) -> bool {
    let colour = parameters.strip_prefix("38;5;").and_then(|number| number.parse::<u8>().ok());
    matches!(parameters, "0" | "1" | "2" | "22" | "33" | "39") || colour.is_some_and(|one| one < 16)
}

/// Breaks a text into lines of `room` columns: of the first line and of all others, which begin
/// with `indent` spaces. Each piece of the text says whether a space stands before it; a longer
/// piece has a line of its own.
pub fn fold<'a>(
    pieces: impl Iterator<Item = (&'a str, bool)>,
    [mut room, others]: [usize; 2],
    indent: usize,
) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (piece, begins) in pieces {
        let length = piece.chars().count();
        if used > 0 && used + usize::from(begins) + length > room {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            (used, room) = (0, others);
        } else if used > 0 && begins {
            out.push(' ');
            used += 1;
        }
        out.push_str(piece);
        used += length;
    }
    out
}

/// A number rounded to so many decimals; zero has no sign.
pub fn rounded(value: f64, decimals: usize) -> f64 {
    let unit = 10_f64.powi(decimals as i32);
    (value * unit).round() / unit + 0.0
}

/// A CSV cell (RFC 4180) that contains text: quoted if necessary. A spreadsheet treats text that
/// starts with `=`, `+`, `-`, `@`, a tab or a carriage return as a formula; a leading quote makes
/// it text.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quoted = text.contains([',', '"', '\n', '\r']);
    match (formula, quoted) {
        (false, false) => Cow::Borrowed(text),
        (true, false) => Cow::Owned(format!("'{text}")),
        (formula, true) => {
            let mark = if formula { "'" } else { "" };
            Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
        }
    }
}

/// A number with as many digits as are meaningful; sizes in bytes have a suitable unit.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => "-".to_owned(),
        "bytes" if value >= 1e6 => format!("{:.2} MB", value / 1e6),
        "bytes" if value >= 1e3 => format!("{:.1} kB", value / 1e3),
        "bytes" => format!("{value:.0} B"),
        "ms" if value >= 10_000.0 => format!("{value:.0}"),
        "ms" | "Mbit/s" => format!("{value:.1}"),
        "RPM" => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Controls, separators and bidirectional characters among letters, and whole sequences.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            proptest::char::range('\u{0}', '\u{9f}').prop_map(String::from),
            proptest::char::range('\u{2000}', '\u{206f}').prop_map(String::from),
            "\u{1b}\\[[0-9;]{0,8}[a-zA-Z]",
            "\u{1b}\\][0-9];[a-z]{0,4}\u{7}",
            "\u{9b}[0-9]{0,3}[a-zA-Z]",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_that_steers_is_left(text in hostile()) {
            let line = one_line(&text);
            prop_assert!(!line.chars().any(steers), "{line:?}");
            let lines = cell(&text);
            prop_assert!(!lines.chars().any(|c| steers(c) && c != '\n'), "{lines:?}");
            // It contains none of our styles, so nothing may remain that a terminal interprets.
            let out = shown(&text);
            prop_assert!(!out.chars().any(|c| steers(c) && c != '\n' && c != '\t'), "{out:?}");
            // A name that was escaped before passes unchanged.
            prop_assert_eq!(shown(&line), line.as_ref());
        }

        #[test]
        fn json_stays_the_same_json(text in hostile()) {
            let json = serde_json::to_string(&text).expect("JSON");
            let read: String = serde_json::from_str(&shown(&json)).expect("still JSON");
            prop_assert_eq!(read, text);
        }

        #[test]
        fn a_page_shows_what_steers_in_json(text in hostile()) {
            for json in [serde_json::to_string(&text).expect("JSON"), format!("[{}]", serde_json::json!(text))] {
                let read: serde_json::Value =
                    serde_json::from_str(&readable_json(&json)).expect("still JSON");
                let read = read.as_str().or_else(|| read[0].as_str()).expect("a text");
                let left: Vec<char> =
                    read.chars().filter(|c| steers(*c) && !matches!(c, '\n' | '\r' | '\t')).collect();
                prop_assert!(left.is_empty(), "{left:?}");
            }
            // Nothing else changes.
            if !text.chars().any(steers) {
                let json = serde_json::to_string(&text).expect("JSON");
                prop_assert_eq!(readable_json(&json), json.as_str());
            }
        }

        #[test]
        fn no_cell_of_csv_is_a_formula_and_none_breaks_a_row(text in hostile()) {
            let cell = csv_cell(&text);
            let inner = cell.strip_prefix('"').unwrap_or(&cell);
            prop_assert!(!inner.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell:?}");
            let quotes = cell.matches('"').count();
            prop_assert!(quotes.is_multiple_of(2) && (quotes > 0 || !cell.contains([',', '\n', '\r'])));
        }
    }

    #[test]
    fn lines_have_their_room_unless_a_word_is_longer() {
        let text = "some words ".repeat(40) + &"x".repeat(90);
        let lines = fold(text.split_whitespace().map(|word| (word, true)), [72, 70], 2);
        for line in lines.lines().filter(|line| !line.contains("xxx")) {
            assert!(line.chars().count() <= 72, "{line}");
        }
        assert!(lines.lines().skip(1).all(|line| line.starts_with("  ")), "{lines}");
        let words = lines.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words, text, "no word is lost");
    }

    #[test]
    fn styles_of_ours_become_sequences_and_others_are_shown() {
        for (ours, expected) in [
            ("\u{fddf}[1mx\u{fddf}[0m", "\u{1b}[1mx\u{1b}[0m"),
            ("\u{fddf}[33mx\u{fddf}[38;5;10my", "\u{1b}[33mx\u{1b}[38;5;10my"),
            ("a\tb\nc", "a\tb\nc"),
        ] {
            assert_eq!(shown(ours), expected);
            assert!(!one_line(ours).contains(STYLE), "no name has a style");
        }
        for (theirs, expected) in [
            ("\u{1b}[1m", r"\u001b[1m"),
            ("\u{1b}[2J", r"\u001b[2J"),
            ("\u{fddf}[8mhidden", r"\ufddf[8mhidden"),
            ("\u{fddf}[38;5;200m", r"\ufddf[38;5;200m"),
            ("\u{1b}]0;title\u{7}", r"\u001b]0;title\u0007"),
            ("\u{9b}31m\r", r"\u009b31m\r"),
            ("\u{202e}evil\u{2028}", r"\u202eevil\u2028"),
            ("\u{e0041}", r"\udb40\udc41"),
        ] {
            assert_eq!(shown(theirs), expected);
        }
    }

    #[test]
    fn letters_of_any_script_stay() {
        let text = "Größe, שלום, مرحبا, 日本, 👩\u{200d}👩";
        assert_eq!((one_line(text), shown(text)), (text.into(), text.into()));
    }
}
