//! Statistics: small ones over repeats, and those of an A/B test, which are sums of integers and
//! therefore the same for any order, number of threads or cut into shards.
//!
//! What is averaged has intervals from a Poisson bootstrap ([`bootstrap`]); quantiles have
//! intervals from the ranks of a sketch ([`sketch`]); many cells at once are judged together
//! ([`holm`]).

pub mod bootstrap;
pub mod codec;
pub mod front;
pub mod holm;
pub mod ratio;
pub mod sketch;
mod student;
mod summary;

pub(crate) use student::student;
pub use summary::{Summary, jain};

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
    /// The same on another scale; a falling one swaps the ends.
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

/// Of the standard normal distribution, 97.5 % lie below: half the width of a 95 % interval in
/// standard deviations.
pub const Z_95: f64 = 1.959_963_984_540_054;
/// The same for 99 %.
pub const Z_99: f64 = 2.575_829_303_548_901;
