//! Quantities with units: exact decimal text to integers and back.
//!
//! Every value of a path is an integer in its smallest unit (bit/s, ns, bytes, 1e-9 parts, 1e-6
//! multiples). Text is decimal with a unit; fractions of the smallest unit are rounded to the
//! nearest, so that printing and parsing again changes nothing.

use crate::error::Error;
use crate::typed::{Base, typed};
use std::fmt::Display;

/// One way to write a quantity: its units and its allowed range.
pub(crate) struct Quantity {
    /// Unit and its size in the smallest unit; "" allows a bare number.
    units: &'static [(&'static str, u64)],
    min: u64,
    max: u64,
    allowed: &'static str,
}

const PPB: u64 = 1_000_000_000;
const RATES: &[(&str, u64)] =
    &[("bit", 1), ("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)];
const TIMES: &[(&str, u64)] = &[("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const SIZES: &[(&str, u64)] = &[("B", 1), ("kB", 1_000), ("MB", 1_000_000)];
const PERCENT: &[(&str, u64)] = &[("%", PPB / 100)];

/// Bits per second.
pub(crate) const RATE: Quantity = Quantity {
    units: RATES,
    min: 1_000,
    max: 1_000_000_000_000,
    allowed: "1kbit to 1000Gbit, with the unit bit, kbit, Mbit or Gbit",
};
/// Nanoseconds, greater than zero.
pub(crate) const TIME: Quantity = Quantity {
    units: TIMES,
    min: 1,
    max: 100_000_000_000,
    allowed: "more than 0 and at most 100s, with the unit us, ms or s",
};
/// Nanoseconds of a round trip, up to an hour: Jupiter is 33 to 54 light minutes away.
pub(crate) const ROUND_TRIP: Quantity = Quantity {
    units: TIMES,
    min: 1,
    max: 3_600_000_000_000,
    allowed: "more than 0 and at most 3600s, with the unit us, ms or s",
};
/// Nanoseconds, zero allowed.
pub(crate) const TIME_OR_ZERO: Quantity = Quantity {
    units: TIMES,
    min: 0,
    max: u64::MAX / 4,
    allowed: "0s or more, with the unit us, ms or s",
};
/// Bytes.
pub(crate) const SIZE: Quantity = Quantity {
    units: SIZES,
    min: 1,
    max: 1_000_000_000_000,
    allowed: "1B to 1000000MB, with the unit B, kB or MB",
};
/// IP bytes of a path's largest packet: the least that IPv4 asks for, to jumbo frames.
pub(crate) const MTU: Quantity = Quantity {
    units: SIZES,
    min: 576,
    max: 9_000,
    allowed: "576B to 9000B, with the unit B or kB",
};
/// Bytes of handshake data in a server's first flight, which ten packets carry.
pub(crate) const HELLO: Quantity = Quantity {
    units: SIZES,
    min: 500,
    max: 11_000,
    allowed: "500B to 11kB, with the unit B or kB",
};
/// Bytes of data that a receiver takes ahead of its application.
pub(crate) const RWND: Quantity = Quantity {
    units: SIZES,
    min: 1_500,
    max: 1_000_000_000,
    allowed: "1500B to 1000MB, with the unit B, kB or MB, or auto, or auto:MAX",
};
/// Bytes of the largest buffer to which a receiver tunes itself; the smallest is where Linux starts.
pub(crate) const RMEM: Quantity = Quantity {
    units: SIZES,
    min: 131_072,
    max: 1_000_000_000,
    allowed: "auto, or auto:MAX with MAX from 131072B to 1000MB",
};
/// Parts of 1e-9, less than one.
pub(crate) const LOSS: Quantity = Quantity {
    units: PERCENT,
    min: 0,
    max: PPB - 1,
    allowed: "0% up to but not including 100%, such as 0.1%",
};
/// Parts of 1e-9, in percent.
pub(crate) const CHANCE: Quantity =
    Quantity { units: PERCENT, min: 0, max: PPB, allowed: "0% to 100%, such as 0.1%" };
/// Nanoseconds, zero allowed, for extra delays.
pub(crate) const EXTRA: Quantity = Quantity {
    units: TIMES,
    min: 0,
    max: 100_000_000_000,
    allowed: "0s to 100s, with the unit us, ms or s",
};
/// Multiples in 1e-6.
pub(crate) const FACTOR: Quantity =
    plain_number(1_000, 1_000_000_000, "a plain number from 0.001 to 1000");
/// Mean length of a burst of losses in packets, in 1e-6.
pub(crate) const BURST: Quantity =
    plain_number(1_000_000, 1_000_000_000_000, "1 to 1000000 packets");
/// Standard deviation of a logarithm, in 1e-6.
pub(crate) const SPREAD: Quantity =
    plain_number(1_000, 2_000_000, "a plain number from 0.001 to 2");
/// Growth per second, in 1e-6.
pub(crate) const GROWTH: Quantity =
    plain_number(1_000_000, 10_000_000, "a plain number from 1 to 10");
/// ACKs per frame, in 1e-3.
pub(crate) const GRANT: Quantity = Quantity {
    units: &[("", 1_000)],
    min: 1_000,
    max: 160_000,
    allowed: "1 to 160 ACKs per frame",
};
/// Bytes added to every packet.
pub(crate) const OVERHEAD: Quantity =
    Quantity { units: SIZES, min: 0, max: 1500, allowed: "0B to 1500B" };
/// Multiples of the BDP in 1e-6.
pub(crate) const BDP: Quantity = Quantity {
    units: &[("bdp", 1_000_000)],
    min: 1_000,
    max: 1_000_000_000,
    allowed: "0.001bdp to 1000bdp",
};

const fn plain_number(min: u64, max: u64, allowed: &'static str) -> Quantity {
    Quantity { units: &[("", 1_000_000)], min, max, allowed }
}

impl Quantity {
    /// Refuses a value that was set by hand and is out of range; `print` is called only for the
    /// error.
    pub(crate) fn check(
        &self,
        key: impl Display,
        value: u64,
        print: impl Fn(u64) -> String,
    ) -> Result<(), Error> {
        if (self.min..=self.max).contains(&value) {
            return Ok(());
        }
        let wrong = if value < self.min { "is too small" } else { "is too large" };
        Err(Error::at(key, &print(value), wrong, self.allowed))
    }

    /// The value of `text` in the smallest unit.
    pub(crate) fn parse(&self, key: impl Display, text: &str) -> Result<u64, Error> {
        let wrong = |what: &str| Error::at(&key, text, what, self.allowed);
        if text.starts_with('-') {
            return Err(wrong("is negative"));
        }
        let plain = match self.units[0].0 {
            "bit" => typed(text, Base::Rate),
            "B" => typed(text, Base::Size),
            _ => text.into(),
        };
        let (number, unit) = split(&plain);
        if number.is_empty() {
            return Err(wrong("is not a number"));
        }
        // Nothing needs no unit.
        if self.min == 0 && unit.is_empty() && nothing_but_zeros(number) {
            return Ok(0);
        }
        // A fraction to the program, a percentage to many people.
        if unit.is_empty() && self.units == PERCENT {
            let fraction = scaled(number, PPB).and_then(|ppb| u64::try_from(ppb).ok());
            let fraction = fraction.filter(|ppb| *ppb < PPB).map(print_percent);
            let or = fraction.map_or(String::new(), |percent| format!(" or `{percent}`"));
            return Err(wrong(&format!("the unit is missing (did you mean `{number}%`{or}?)")));
        }
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong(&no_unit(number, unit, self.units.iter().map(|(name, _)| *name))));
        };
        let value = scaled(number, scale).ok_or_else(|| wrong("is not a number"))?;
        match u64::try_from(value) {
            Ok(0) if self.min > 0 && nothing_but_zeros(number) => Err(wrong("is zero")),
            Ok(0) if !nothing_but_zeros(number) => Err(wrong("is too small")),
            Ok(value) if value < self.min => Err(wrong("is too small")),
            Ok(value) if value <= self.max => Ok(value),
            _ => Err(wrong("is too large")),
        }
    }
}

/// Describes a number with an unknown unit: `unknown unit (did you mean `10MB`?)`.
pub fn no_unit<'a>(number: &str, unit: &str, units: impl Iterator<Item = &'a str>) -> String {
    if unit.is_empty() {
        return "the unit is missing".to_owned();
    }
    let lower = unit.to_lowercase();
    let word = ["econds", "econd", "ecs", "ec"].iter().find_map(|end| lower.strip_suffix(end));
    let word = word.unwrap_or(&lower);
    let apart = |name: &str| strsim::damerau_levenshtein(word, &name.to_lowercase());
    // A different first letter is a different power of 1000.
    let meant = units
        .filter(|name| name.to_lowercase().chars().next() == word.chars().next())
        .map(|name| (apart(name), name))
        .filter(|(apart, _)| *apart <= 1)
        .min();
    meant.map_or_else(
        || "unknown unit".to_owned(),
        |(_, name)| format!("unknown unit (did you mean `{number}{name}`?)"),
    )
}

/// Number and unit of a text such as `12.5ms`.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn nothing_but_zeros(number: &str) -> bool {
    number.bytes().all(|b| b == b'0' || b == b'.')
}

/// `number * scale`, rounded half up; `None` if `number` is not a decimal number of at most 24
/// digits.
fn scaled(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty()
        || fraction.is_empty()
        || fraction.contains('.')
        || whole.len() + fraction.len() > 24
    {
        return None;
    }
    let digits = |text: &str| text.bytes().fold(0_u128, |sum, b| sum * 10 + u128::from(b - b'0'));
    let power = 10_u128.pow(fraction.len() as u32);
    let mantissa = digits(whole) * power + digits(fraction);
    Some((mantissa * u128::from(scale) + power / 2) / power)
}

/// Exact decimal text of `value / scale`, without trailing zeros.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// Text in the largest unit of which the value is at least one.
fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    format!("{}{unit}", decimal(value, *scale))
}

pub(crate) fn print_rate(bps: u64) -> String {
    in_largest(bps, RATES)
}

pub(crate) fn print_time(ns: u64) -> String {
    in_largest(ns, TIMES)
}

pub(crate) fn print_size(bytes: u64) -> String {
    in_largest(bytes, SIZES)
}

pub(crate) fn print_percent(ppb: u64) -> String {
    format!("{}%", decimal(ppb, PPB / 100))
}

pub(crate) fn print_factor(millionths: u64) -> String {
    decimal(millionths, 1_000_000)
}

/// Refuses a range set by hand whose ends are reversed.
pub(crate) fn check_range(
    key: impl Display,
    (low, high): (u64, u64),
    print: impl Fn(u64) -> String,
) -> Result<(), Error> {
    if low <= high {
        return Ok(());
    }
    Err(Error::at(
        key,
        &print_range((low, high), print),
        "is in descending order",
        "the smaller value first",
    ))
}

/// A whole number from `min` to `max`.
pub(crate) fn count(key: impl Display, text: &str, min: u64, max: u64) -> Result<u64, Error> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::at(
            key,
            text,
            "is not a whole number",
            format!("a whole number from {min} to {max}"),
        ));
    }
    // A number that does not fit into 64 bits is too large in any case.
    let number = text.parse().unwrap_or(u64::MAX);
    check_count(key, number, min, max).map(|()| number)
}

/// Refuses a count outside its range.
pub(crate) fn check_count(key: impl Display, number: u64, min: u64, max: u64) -> Result<(), Error> {
    if (min..=max).contains(&number) {
        return Ok(());
    }
    let wrong = if number < min { "is too small" } else { "is too large" };
    Err(Error::at(key, &number.to_string(), wrong, format!("a whole number from {min} to {max}")))
}

/// One value, or two with a dash between them: `5ms`, `1ms-10ms`.
pub(crate) fn range(
    key: impl Display,
    text: &str,
    quantity: &Quantity,
) -> Result<(u64, u64), Error> {
    let Some((low, high)) = text.split_once('-').filter(|(low, _)| !low.is_empty()) else {
        return quantity.parse(key, text).map(|value| (value, value));
    };
    let (low, high) = (quantity.parse(&key, low)?, quantity.parse(&key, high)?);
    if low > high {
        Err(Error::at(key, text, "is in descending order", "the smaller value first"))
    } else {
        Ok((low, high))
    }
}

pub(crate) fn print_range((low, high): (u64, u64), print: impl Fn(u64) -> String) -> String {
    if low == high { print(low) } else { format!("{}-{}", print(low), print(high)) }
}

/// The parts of `text` between colons, each parsed by the field at the same position; trailing
/// fields may be omitted down to `required`.
pub(crate) fn fields<'a>(
    key: impl Display,
    text: &'a str,
    names: &[&str],
    required: usize,
) -> Result<Vec<&'a str>, Error> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    if (required..=names.len()).contains(&parts.len()) {
        return Ok(parts);
    }
    let form = |n: usize| format!("{key}={}", names[..n].join(":"));
    let allowed = if required < names.len() && required > 0 {
        format!("{} up to {}", form(required), form(names.len()))
    } else {
        form(names.len())
    };
    let example = match names[..required.max(1)] {
        ["TARGET", "INTERVAL"] => ", such as 5ms:100ms",
        ["RATE", "BUCKET"] => ", such as 12Mbit:10ms",
        _ => "",
    };
    let fields = if parts.len() == 1 { "field" } else { "fields" };
    let wrong = format!("has {} {fields}", parts.len());
    Err(Error::at(key, text, wrong, format!("{allowed}{example}")))
}

pub(crate) fn print_count_e3(thousandths: u64) -> String {
    decimal(thousandths, 1_000)
}
