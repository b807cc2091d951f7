//! Numbers as users write them: sizes with a unit, counts without.

use firstflight::Nanos;
use firstflight_path::{Base, no_unit, typed};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Reads `10MB`, `200kB`, `1GiB`, `1500B`: a positive number with its unit; `10M`, `100k` and
/// `1e5` are in bytes.
///
/// # Errors
/// The reason and what is allowed, worded to follow the option and its value.
pub fn parse(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, u64)] = &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    const LARGEST: u128 = 1 << 40;
    let wrong = |what: &str| {
        format!("{what}; allowed: 1B to 1024GiB, with the unit B, kB, MB, GB, KiB, MiB or GiB")
    };
    let bytes = quantity(&typed(text, Base::Size), UNITS, None).and_then(|bytes| match bytes {
        0 => Err("is less than a byte".into()),
        bytes if bytes <= LARGEST => Ok(bytes as u64),
        _ => Err("is too large".into()),
    });
    bytes.map_err(|what| wrong(&what))
}

/// A positive number with its unit, in multiples of the smallest unit; `bare` is the unit of an
/// integer without one.
fn quantity(
    text: &str,
    units: &[(&str, u64)],
    bare: Option<u64>,
) -> Result<u128, Cow<'static, str>> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err("is negative".into());
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, name) = (&text[..end], text[end..].trim_start());
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.contains('.') || number.ends_with('.') || part.len() > 9 {
        return Err("is not a number".into());
    }
    let known = units.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit);
    let unit = known
        .or(bare.filter(|_| name.is_empty() && part.is_empty()))
        .ok_or_else(|| no_unit(number, name, units.iter().map(|(name, _)| *name)))?;
    let digits = format!("{whole}{part}");
    if digits.bytes().all(|b| b == b'0') {
        return Err("is zero".into());
    }
    // A number with more digits than u64 holds is too large in any unit.
    let digits = digits.parse::<u64>().map_err(|_| "is too large")?;
    Ok(u128::from(digits) * u128::from(unit) / 10u128.pow(part.len() as u32))
}

/// Reads a whole number within a range.
///
/// # Errors
/// The reason and what is allowed, worded to follow the option and its value.
pub fn count(text: &str, range: RangeInclusive<u64>, unit: &str) -> Result<u64, String> {
    let wrong = |what: &str| {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{what}; allowed: {} to {}{unit}", range.start(), range.end())
    };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong("is not a whole number"));
    }
    if text.starts_with('-') {
        return Err(wrong("is negative"));
    }
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(0) => Err(wrong("is zero")),
        Ok(number) if number < *range.start() => Err(wrong("is too small")),
        _ => Err(wrong("is too large")),
    }
}

/// Reads a port number of at least `least`.
///
/// # Errors
/// The reason and what is allowed, worded to follow the option and its value.
pub fn port(text: &str, least: u16) -> Result<u16, String> {
    count(text, u64::from(least)..=u64::from(u16::MAX), "").map(|port| port as u16)
}

/// Reads a time limit: `30s`, `500ms`, `2min`, `1.5h`, or a bare whole number of seconds; at least
/// a microsecond and at most `most` seconds.
///
/// # Errors
/// The reason and what is allowed, worded to follow the option and its value.
pub fn limit(text: &str, most: u64) -> Result<Nanos, String> {
    const UNITS: &[(&str, u64)] = &[
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let wrong = |what: &str| {
        format!(
            "{what}; allowed: 1us to {most}s, with the unit us, ms, s, min or h, or 1 to {most} seconds"
        )
    };
    let nanos = quantity(text, UNITS, Some(1_000_000_000)).and_then(|nanos| match nanos {
        0..1_000 => Err("is less than a microsecond".into()),
        nanos if nanos <= u128::from(most) * 1_000_000_000 => Ok(Nanos(nanos as u64)),
        _ => Err("is too large".into()),
    });
    nanos.map_err(|what| wrong(&what))
}

/// Reads `0s`, `500ms`, `1.5s`, `20us`: a time with its unit, at most a day.
///
/// # Errors
/// The reason and what is allowed, worded to follow the option and its value.
pub fn time(text: &str) -> Result<Nanos, String> {
    const UNITS: &[(&str, f64)] = &[("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    const DAY: f64 = 86_400e9;
    let wrong = |what: &str| format!("{what}; allowed: 0s to 86400s, with the unit us, ms or s");
    let text = text.trim();
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (written, unit) = (&text[..end], text[end..].trim_start());
    let number: f64 = written.parse().map_err(|_| wrong("is not a number"))?;
    let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(wrong(&no_unit(written, unit, UNITS.iter().map(|(name, _)| *name))));
    };
    match number * scale {
        nanos if nanos < 0.0 => Err(wrong("is negative")),
        nanos if nanos > DAY => Err(wrong("is too large")),
        nanos => Ok(Nanos(nanos.round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, limit, parse};
    use firstflight::Nanos;

    #[test]
    fn a_limit_has_a_unit_or_is_seconds() {
        let rows = [
            ("30s", 30_000_000_000),
            ("500ms", 500_000_000),
            ("2min", 120_000_000_000),
            ("1.5 h", 5_400_000_000_000),
            ("20us", 20_000),
            ("0.5s", 500_000_000),
            ("600", 600_000_000_000),
            ("86400", 86_400_000_000_000),
        ];
        for (text, nanos) in rows {
            assert_eq!(limit(text, 86_400), Ok(Nanos(nanos)), "{text}");
        }
        let rows = [
            ("0", "is zero"),
            ("0ms", "is zero"),
            ("0.0001us", "is less than a microsecond"),
            ("-1", "is negative"),
            ("1.5", "the unit is missing"),
            ("x", "is not a number"),
            ("", "is not a number"),
            ("3 weeks", "unknown unit"),
            ("25h", "is too large"),
            ("86401", "is too large"),
            ("99999999999999999999", "is too large"),
        ];
        for (text, what) in rows {
            let line = limit(text, 86_400).expect_err(text);
            assert!(
                line.starts_with(what) && line.contains("allowed: 1us to 86400s"),
                "{text:?} should hear that it {what}, not `{line}`"
            );
        }
    }

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        let rows = [
            ("10MB", 10_000_000),
            ("200kB", 200_000),
            ("1.5 MB", 1_500_000),
            ("1MiB", 1_048_576),
            ("1B", 1),
            ("2GB", 2_000_000_000),
            ("1024GiB", 1 << 40),
            ("0.000001MB", 1),
            ("10M", 10_000_000),
            ("100k", 100_000),
            ("1e5", 100_000),
            ("1e3kB", 1_000_000),
        ];
        for (text, bytes) in rows {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_wrong_size_is_told_what_is_wrong_with_it() {
        let rows = [
            ("10", "the unit is missing"),
            ("MB", "is not a number"),
            ("-5MB", "is negative"),
            ("0B", "is zero"),
            ("0.0GB", "is zero"),
            ("0.1B", "is less than a byte"),
            ("10 bananas", "unknown unit"),
            ("10mb", "unknown unit"),
            ("1e-3kB", "unknown unit"),
            ("99999999999999999999B", "is too large"),
            ("1025GiB", "is too large"),
            ("1.2.3MB", "is not a number"),
            ("1.MB", "is not a number"),
            ("\u{661}MB", "is not a number"),
            ("", "is not a number"),
        ];
        for (text, what) in rows {
            let line = parse(text).expect_err(text);
            assert!(
                line.starts_with(what) && line.contains("allowed: "),
                "{text:?} should hear that it {what}, not `{line}`"
            );
        }
    }

    #[test]
    fn counts_have_a_range() {
        assert_eq!(count("1", 1..=9, ""), Ok(1));
        assert_eq!(count("9", 1..=9, ""), Ok(9));
        let rows = [
            ("0", "is zero"),
            ("10", "is too large"),
            ("-1", "is negative"),
            ("x", "is not a whole number"),
            ("", "is not a whole number"),
        ];
        for (text, what) in rows {
            assert_eq!(
                count(text, 1..=9, "packets"),
                Err(format!("{what}; allowed: 1 to 9 packets")),
                "{text:?}"
            );
        }
        assert_eq!(
            count("99999999999999999999", 0..=u64::MAX, ""),
            Err(format!("is too large; allowed: 0 to {}", u64::MAX))
        );
    }
}
