//! Converts units as people type them to the units of the grammar: `100Mbps`, `100mbit`, `10M`,
//! `1e5`.

use std::borrow::Cow;

/// Meaning of a number without unit, or with a prefix only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Bits per second: `10M` is 10 Mbit.
    Rate,
    /// Bytes: `10M` is 10 MB.
    Size,
}

/// Other spellings of a rate. Ambiguous spellings that could mean bytes or thousandths (`MBps`,
/// `m`) remain unknown units.
const RATES: &[(&str, &str)] = &[
    ("bps", "bit"),
    ("bit/s", "bit"),
    ("k", "kbit"),
    ("K", "kbit"),
    ("Kbit", "kbit"),
    ("kbps", "kbit"),
    ("Kbps", "kbit"),
    ("kbit/s", "kbit"),
    ("M", "Mbit"),
    ("mbit", "Mbit"),
    ("mbps", "Mbit"),
    ("Mbps", "Mbit"),
    ("mbit/s", "Mbit"),
    ("Mbit/s", "Mbit"),
    ("G", "Gbit"),
    ("gbit", "Gbit"),
    ("gbps", "Gbit"),
    ("Gbps", "Gbit"),
    ("gbit/s", "Gbit"),
    ("Gbit/s", "Gbit"),
];
/// Other spellings of a size; `Mb` and `mb` may mean bits and remain unknown.
const SIZES: &[(&str, &str)] = &[("k", "kB"), ("K", "kB"), ("KB", "kB"), ("M", "MB"), ("G", "GB")];

/// Largest exponent: a larger one is out of range in any unit.
const MOST_EXPONENT: usize = 18;

/// `text` with the unit in its canonical spelling and the number without an exponent. A number with
/// an exponent and no unit is in bits per second or bytes. Any other text is returned unchanged.
pub fn typed(text: &str, base: Base) -> Cow<'_, str> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if number.is_empty() {
        return Cow::Borrowed(text);
    }
    let (exponent, unit) = exponent(rest);
    let (others, own) = match base {
        Base::Rate => (RATES, "bit"),
        Base::Size => (SIZES, "B"),
    };
    let unit = unit.trim_start();
    let known = others.iter().find(|(other, _)| *other == unit).map(|(_, name)| *name);
    match (exponent, known) {
        (None, None) => Cow::Borrowed(text),
        (None, Some(name)) => Cow::Owned(format!("{number}{name}")),
        (Some(exponent), known) => {
            let name = known.unwrap_or(if unit.is_empty() { own } else { unit });
            match shifted(number, exponent) {
                Some(number) => Cow::Owned(format!("{number}{name}")),
                None => Cow::Borrowed(text),
            }
        }
    }
}

/// The exponent at the start of `rest`, if there is one, and the remaining text.
fn exponent(rest: &str) -> (Option<usize>, &str) {
    let Some(tail) = rest.strip_prefix(['e', 'E']) else { return (None, rest) };
    let tail = tail.strip_prefix('+').unwrap_or(tail);
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    match tail[..end].parse() {
        Ok(exponent) if exponent <= MOST_EXPONENT => (Some(exponent), &tail[end..]),
        _ => (None, rest),
    }
}

/// The number times ten to the power of `exponent`, as decimal text.
fn shifted(number: &str, exponent: usize) -> Option<String> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.contains('.') || number.ends_with('.') {
        return None;
    }
    let cut = part.len().min(exponent);
    let zeros = "0".repeat(exponent - cut);
    let (moved, left) = part.split_at(cut);
    let point = if left.is_empty() { "" } else { "." };
    Some(format!("{whole}{moved}{zeros}{point}{left}"))
}

#[cfg(test)]
mod tests {
    use super::{Base, typed};

    #[test]
    fn rates_and_sizes_are_understood_as_people_type_them() {
        let rows = [
            ("100Mbps", "100Mbit", "100Mbps"),
            ("100mbit", "100Mbit", "100mbit"),
            ("10M", "10Mbit", "10MB"),
            ("100k", "100kbit", "100kB"),
            ("1e5", "100000bit", "100000B"),
            ("2.5e6", "2500000bit", "2500000B"),
            ("1.25e1", "12.5bit", "12.5B"),
            ("1e3kB", "1000kB", "1000kB"),
            ("2 Gbit/s", "2Gbit", "2 Gbit/s"),
        ];
        for (text, rate, size) in rows {
            assert_eq!(
                (&*typed(text, Base::Rate), &*typed(text, Base::Size)),
                (rate, size),
                "{text}"
            );
        }
    }

    #[test]
    fn what_could_mean_two_things_stays_as_it_is() {
        for text in
            ["10MBps", "10m", "10mb", "10Mb", "10", "M", "", "e5", "1e", "1e-5", "1e99", "1.e3"]
        {
            assert_eq!(typed(text, Base::Rate), text);
            assert_eq!(typed(text, Base::Size), text);
        }
    }
}
