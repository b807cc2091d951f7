//! A value and its interval.

use crate::measures::record;
use serde::{Deserialize, Deserializer};

/// Reads a number, which JSON has as null if it is not finite.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

record! {
    /// A value and the interval around it.
    #[derive(Copy, serde::Deserialize)]
    Interval of ((value, low, high) = (f64, f64, f64));

    /// the value itself
    #[serde(deserialize_with = "or_nan")]
    value: f64, "", None as "" = value;
    /// lower end of the interval
    #[serde(deserialize_with = "or_nan")]
    low: f64, "", None = low;
    /// upper end
    #[serde(deserialize_with = "or_nan")]
    high: f64, "", None = high;
}

impl From<f64> for Interval {
    /// A number without randomness.
    fn from(value: f64) -> Interval {
        Interval { value, low: value, high: value }
    }
}

impl Interval {
    /// True if both ends are equal.
    pub fn is_point(self) -> bool {
        self.low.to_bits() == self.high.to_bits()
    }

    /// The interval on another scale; a decreasing scale swaps the ends.
    #[must_use]
    pub fn map(self, scale: impl Fn(f64) -> f64) -> Interval {
        let (a, b) = (scale(self.low), scale(self.high));
        Interval { value: scale(self.value), low: a.min(b), high: a.max(b) }
    }

    /// Whether `value` lies inside, ends included.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}
