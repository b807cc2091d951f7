//! A value and its interval.

use crate::measures::record;

record! {
    /// A value and the interval around it.
    #[derive(Copy)]
    Interval of ((value, low, high) = (f64, f64, f64));

    /// the value itself
    value: f64, "", None as "" = value;
    /// lower end of the interval
    low: f64, "", None = low;
    /// upper end
    high: f64, "", None = high;
}

impl Interval {
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
