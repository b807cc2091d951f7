//! Statistics over repeated trials, and those of an A/B test, which are sums of integers and
//! therefore the same for any order, number of threads or division into shards.
//!
//! Means have intervals from a Poisson bootstrap ([`bootstrap`]), quantiles from the ranks of a
//! sketch ([`sketch`]); cells are tested together ([`holm`]).

pub mod bootstrap;
pub mod codec;
pub mod front;
pub mod holm;
mod interval;
pub mod pairs;
pub mod ratio;
pub mod resample;
pub mod sketch;
mod student;
mod summary;

pub use interval::Interval;
#[cfg(feature = "field")]
pub(crate) use interval::or_nan;
pub(crate) use student::student;
pub use summary::{Summary, jain};

/// The smallest and the largest of some values; infinity and minus infinity if there are none.
pub fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// The 97.5 % quantile of the standard normal distribution: half the width of a 95 % interval in
/// standard deviations.
pub const Z_95: f64 = 1.959_963_984_540_054;
/// Half the width of a 99 % interval in standard deviations.
pub const Z_99: f64 = 2.575_829_303_548_901;
