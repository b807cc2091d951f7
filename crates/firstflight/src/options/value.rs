//! Option values as text: parsing and printing are inverse, and equal values print the same.

use crate::named::Named;
use crate::units::{Nanos, Rate, Ratio};
use core::fmt;

/// The values of an option, as a program enumerates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Range {
    /// The words in [`OptionDoc::values`](super::OptionDoc::values), which commas separate.
    Words,
    /// Whole numbers.
    Whole {
        /// Whether `off` is allowed too.
        off: bool,
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// Fractions, as decimals.
    Fraction {
        /// Whether `off` is allowed too.
        off: bool,
        /// The smallest.
        low: &'static str,
        /// The largest worth trying, where the largest itself is not allowed.
        high: &'static str,
    },
    /// Values of another form, which only [`OptionDoc::values`](super::OptionDoc::values) describes.
    Described,
}

/// A value that an option can take.
pub trait OptionValue: Copy + PartialEq {
    /// Parses `text`; `None` if it is not a valid value.
    fn parse(text: &str) -> Option<Self>;
    /// Writes the value so that [`OptionValue::parse`] reads it back.
    ///
    /// # Errors
    /// Errors of the writer.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A type whose allowed values the help can list.
pub trait Listed: OptionValue {
    /// The allowed values, as shown in help and errors.
    const VALUES: &'static str;
    /// The same values for a program that tries them.
    const RANGE: Range = Range::Words;
}

impl<T: Named> OptionValue for T {
    fn parse(text: &str) -> Option<T> {
        T::of_name(text)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_name())
    }
}

impl<T: Named> Listed for T {
    const VALUES: &'static str = T::NAMES;
}

impl OptionValue for bool {
    fn parse(text: &str) -> Option<bool> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self { "on" } else { "off" })
    }
}

impl Listed for bool {
    const VALUES: &'static str = "on, off";
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl OptionValue for $type {
            fn parse(text: &str) -> Option<$type> {
                // `+5` would parse but not print back.
                text.starts_with(|c: char| c.is_ascii_digit()).then(|| text.parse().ok())?
            }
            fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        })*
    };
}

integers!(u8, u32, u64);

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A positive fraction in lowest terms whose terms fit into 16 bits: at most six digits on either
/// side of a decimal point or a slash.
impl OptionValue for Ratio {
    fn parse(text: &str) -> Option<Ratio> {
        let digits = |part: &str| {
            let plain =
                !part.is_empty() && part.len() <= 6 && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse::<u32>().ok())?
        };
        let (num, den) = if let Some((num, den)) = text.split_once('/') {
            (digits(num)?, digits(den)?)
        } else if let Some((whole, part)) = text.split_once('.') {
            let scale = 10u32.pow(u32::try_from(part.len()).ok().filter(|&len| len <= 6)?);
            (digits(whole)?.checked_mul(scale)?.checked_add(digits(part)?)?, scale)
        } else {
            (digits(text)?, 1)
        };
        if num == 0 || den == 0 {
            return None;
        }
        let common = gcd(num, den);
        let (num, den) = (u16::try_from(num / common).ok()?, u16::try_from(den / common).ok()?);
        Some(Ratio::new(num, den))
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Decimal if six digits hold the value exactly and reading it back does not overflow: 0.7,
        // not 7/10. Other fractions have at most six digits on either side of the slash, because
        // values read as decimals print as decimals.
        for digits in 0..=6 {
            let scale = 10u64.pow(digits);
            let scaled = self.num() * scale;
            if scaled.is_multiple_of(self.den()) && u32::try_from(scaled / self.den()).is_ok() {
                let value = scaled / self.den();
                return match digits {
                    0 => write!(f, "{value}"),
                    _ => write!(
                        f,
                        "{}.{:0width$}",
                        value / scale,
                        value % scale,
                        width = digits as usize
                    ),
                };
            }
        }
        write!(f, "{self}")
    }
}

/// Units of a rate, bit/s, the largest first.
const RATES: [(&str, u64); 4] =
    [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];

/// A rate in bit/s with its unit, such as `20Mbit` or `2.5Gbit`; a part of a byte per second is cut
/// off.
impl OptionValue for Rate {
    fn parse(text: &str) -> Option<Rate> {
        let (number, unit) =
            RATES.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        let digits = |part: &str| {
            let plain = (1..=12).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse::<u64>().ok())?
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let scale = 10u64.pow(u32::try_from(part.len()).ok().filter(|&len| len <= 9)?);
        let bits = digits(whole)?.checked_mul(unit)?;
        let fraction = digits(part)?.checked_mul(unit)?;
        fraction.is_multiple_of(scale).then_some(Rate(bits.checked_add(fraction / scale)? / 8))
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.saturating_mul(8);
        let &(name, unit) = RATES.iter().find(|(_, unit)| bits >= *unit).unwrap_or(&("bit", 1));
        let (mut part, mut width) = (bits % unit, unit.ilog10() as usize);
        write!(f, "{}", bits / unit)?;
        if part > 0 {
            while part.is_multiple_of(10) {
                (part, width) = (part / 10, width - 1);
            }
            write!(f, ".{part:0width$}")?;
        }
        f.write_str(name)
    }
}

/// A time in whole seconds or milliseconds, such as `300s` or `1500ms`.
impl OptionValue for Nanos {
    fn parse(text: &str) -> Option<Nanos> {
        let (number, unit) = match text.strip_suffix("ms") {
            Some(number) => (number, 1_000_000),
            None => (text.strip_suffix('s')?, 1_000_000_000),
        };
        u64::parse(number)?.checked_mul(unit).map(Nanos)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0 / 1_000_000;
        if ms.is_multiple_of(1_000) { write!(f, "{}s", ms / 1_000) } else { write!(f, "{ms}ms") }
    }
}

/// `off` or a value.
impl<T: OptionValue> OptionValue for Option<T> {
    fn parse(text: &str) -> Option<Option<T>> {
        if text == "off" { Some(None) } else { T::parse(text).map(Some) }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            None => f.write_str("off"),
            Some(value) => value.show(f),
        }
    }
}
