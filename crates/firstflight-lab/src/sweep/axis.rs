//! An axis of a sweep: a key of a path, or the object size, and its values as text.
//!
//! `rtt=10ms,50ms,100ms` is a list; `rtt=10ms..300ms:7` is a range of seven values (the default is
//! five). Values of a range grow by a constant factor, or by a constant step if the range starts at
//! zero, and are rounded to three digits. They are therefore the same text on every machine, and
//! people can type them.

use firstflight_path::{Base, known_key, typed};

/// The key for the object size; all other keys are keys of the path.
pub const BYTES: &str = "bytes";
/// Number of values of a range by default.
const POINTS: usize = 5;
/// Maximum number of values of a key.
const MOST: usize = 100;

/// A key with its values, in the order of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key: a key of the path, or [`BYTES`].
    pub key: String,
    /// The values, as typed.
    pub values: Vec<String>,
}

/// Units of one kind, with their size in the smallest unit.
type Units = &'static [(&'static str, f64)];

const TIMES: Units = &[("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const RATES: Units = &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];
const SIZES: Units = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6)];
const OBJECTS: Units = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const PACKETS: Units = &[("pkt", 1.0)];
const BDPS: Units = &[("bdp", 1.0)];
const PERCENT: Units = &[("%", 1.0)];
const BARE: Units = &[("", 1.0)];

impl Axis {
    /// Reads `KEY=VALUES`.
    ///
    /// # Errors
    /// The reason, worded to follow the option and its value.
    pub fn parse(text: &str) -> Result<Axis, String> {
        const FORM: &str = "allowed: KEY=FROM..TO, KEY=FROM..TO:POINTS or KEY=VALUE,VALUE, such as rtt=10ms..300ms:7";
        let Some((key, values)) = text.split_once('=') else {
            return Err(format!("has no values; {FORM}"));
        };
        let (key, values) = (key.trim(), values.trim());
        if key.is_empty() || values.is_empty() {
            return Err(format!("the key or its values are missing; {FORM}"));
        }
        let values = match range(key, values) {
            Some(values) => values?,
            None => values.split(',').map(|value| value.trim().to_owned()).collect(),
        };
        if values.iter().any(String::is_empty) {
            return Err(format!("a value is missing; {FORM}"));
        }
        if values.len() > MOST {
            return Err(format!("{} values; allowed: at most {MOST}", values.len()));
        }
        // The values are checked when the path is known.
        if key != BYTES {
            known_key(key, &values[0]).map_err(|error| error.to_string())?;
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return Err(format!("{value} comes twice; ask for fewer points or a wider range"));
            }
        }
        Ok(Axis { key: key.to_owned(), values })
    }
}

/// An end of a range: its number in the smallest unit.
struct End {
    number: f64,
    units: Units,
    whole: bool,
}

/// The values of a range; `None` if the text is not a range.
fn range(key: &str, text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, rest) = text.split_once("..")?;
    // A file name may also contain two dots.
    if !from.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return None;
    }
    let (to, points) = rest.split_once(':').unwrap_or((rest, ""));
    Some(spread(key, from.trim(), to.trim(), points.trim()))
}

fn spread(key: &str, from: &str, to: &str, points: &str) -> Result<Vec<String>, String> {
    let points = if points.is_empty() {
        POINTS
    } else {
        crate::size::count(points, 2..=MOST as u64, "points")
            .map_err(|what| format!("POINTS {what}"))? as usize
    };
    let last = end(key, to)?;
    let bare = from.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let shared = if bare { unit(to).to_owned() } else { String::new() };
    let from = format!("{from}{shared}");
    let first = end(key, &from)?;
    if first.units[0].0 != last.units[0].0 {
        return Err(format!("{from} and {to} have units of different kinds"));
    }
    if first.number >= last.number {
        return Err("is in descending order; allowed: the smaller value first".into());
    }
    let whole =
        first.units[0].0 == "pkt" || first.units[0].0.is_empty() && first.whole && last.whole;
    let inner = (1..points - 1).map(|point| {
        let share = point as f64 / (points - 1) as f64;
        let number = if first.number > 0.0 {
            first.number * (last.number / first.number).powf(share)
        } else {
            last.number * share
        };
        printed(number, first.units, whole)
    });
    Ok(std::iter::once(from.clone()).chain(inner).chain([to.to_owned()]).collect())
}

/// The unit after the number.
fn unit(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[end..].trim_start()
}

/// Reads one end of a range.
fn end(key: &str, text: &str) -> Result<End, String> {
    let plain = match key {
        "rate" | "up" => typed(text, Base::Rate),
        BYTES | "queue" | "up_queue" | "overhead" => typed(text, Base::Size),
        _ => text.into(),
    };
    let name = unit(&plain);
    let sizes = if key == BYTES { OBJECTS } else { SIZES };
    let known = [TIMES, RATES, sizes, PACKETS, BDPS, PERCENT, BARE];
    let found = known.into_iter().find_map(|units| {
        let (_, scale) = units.iter().find(|(known, _)| *known == name)?;
        Some((units, *scale))
    });
    let number = plain[..plain.len() - name.len()].trim().parse::<f64>();
    match (number, found) {
        (Ok(number), Some((units, scale))) if number >= 0.0 => {
            Ok(End { number: number * scale, units, whole: number.fract() == 0.0 })
        }
        (Err(_), _) => {
            Err(format!("{text} is not a number with a unit; a list may hold any value"))
        }
        _ => Err(format!("{text} has an unknown unit for a range; a list may hold any value")),
    }
}

/// Three digits in the largest unit of which the value is at least one; counts are whole.
fn printed(number: f64, units: Units, whole: bool) -> String {
    let fits = units.iter().rev().find(|(_, scale)| number >= *scale);
    let (name, scale) = fits.unwrap_or(&units[0]);
    let number = number / scale;
    if whole || matches!(*name, "B" | "bit") {
        return format!("{number:.0}{name}");
    }
    // Rounded as decimal text, so that the last bits of a power have no effect.
    let rounded: f64 = format!("{number:.2e}").parse().unwrap_or(number);
    format!("{rounded}{name}")
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn values(text: &str) -> String {
        Axis::parse(text).map_or_else(|what| what, |axis| axis.values.join(" "))
    }

    #[test]
    fn ranges_are_geometric_and_rounded_to_three_digits() {
        let rows = [
            ("rtt=10ms..300ms", "10ms 23.4ms 54.8ms 128ms 300ms"),
            ("rtt=10ms..300ms:2", "10ms 300ms"),
            ("rtt=10ms..1s:3", "10ms 100ms 1s"),
            ("queue=0.25..4bdp", "0.25bdp 0.5bdp 1bdp 2bdp 4bdp"),
            ("queue=10pkt..100pkt:3", "10pkt 32pkt 100pkt"),
            ("rate=1M..1G:4", "1M 10Mbit 100Mbit 1G"),
            ("bytes=100kB..10MB:3", "100kB 1MB 10MB"),
            ("loss=0..4%:3", "0% 2% 4%"),
            ("loss=0.1%..10%:3", "0.1% 1% 10%"),
            ("ack=1..16", "1 2 4 8 16"),
        ];
        for (text, expected) in rows {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_take_what_a_path_takes() {
        assert_eq!(values("rtt=10ms, 50ms,100ms"), "10ms 50ms 100ms");
        assert_eq!(values("return=plain,geo_cold,batch:5ms:10"), "plain geo_cold batch:5ms:10");
        assert_eq!(values("rate=trace:../a,trace:../b"), "trace:../a trace:../b");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let rows = [
            ("rtt", "has no values"),
            ("=1ms", "are missing"),
            ("rtt=", "are missing"),
            ("rtt=1ms,,2ms", "a value is missing"),
            ("rtt=1ms,1ms", "comes twice"),
            ("rtt=100ms..10ms", "descending order"),
            ("rtt=10ms..1Mbit", "different kinds"),
            ("rtt=10ms..3 weeks", "unknown unit"),
            ("rtt=10ms..x", "not a number"),
            ("rtt=-10ms..20ms", "not a number"),
            ("rtt=10ms..20ms:1", "is too small"),
            ("rtt=10ms..20ms:x", "POINTS is not a whole number"),
            ("ack=1..3:7", "comes twice"),
        ];
        for (text, what) in rows {
            let line = Axis::parse(text).expect_err(text);
            assert!(line.contains(what), "{text}: `{line}` should say `{what}`");
        }
    }
}
