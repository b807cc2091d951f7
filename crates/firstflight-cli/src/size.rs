//! Numbers as users write them.

use firstflight::Nanos;
pub(crate) use firstflight_lab::size::{count, limit, parse};

/// Reads `0s`, `500ms`, `1.5s`, `20us`: a time with its unit, at most a day.
///
/// # Errors
/// What is wrong with it and what is allowed, to follow the option and its value.
pub(crate) fn time(text: &str) -> Result<Nanos, String> {
    const UNITS: &[(&str, f64)] = &[("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    const DAY: f64 = 86_400e9;
    let wrong = |what: &str| format!("{what}; allowed: 0s to 86400s, with the unit us, ms or s");
    let text = text.trim();
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let number: f64 = number.parse().map_err(|_| wrong("is not a number"))?;
    let Some(&(_, unit)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(wrong(if unit.is_empty() { "the unit is missing" } else { "unknown unit" }));
    };
    match number * unit {
        nanos if nanos < 0.0 => Err(wrong("is negative")),
        nanos if nanos > DAY => Err(wrong("is too large")),
        nanos => Ok(Nanos(nanos.round() as u64)),
    }
}
