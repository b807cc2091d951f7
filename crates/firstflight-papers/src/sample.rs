//! Statistics of the units of a resample, by a reader of their values.

use firstflight_lab::stats::resample;

pub(crate) use firstflight_lab::stats::Interval;
pub(crate) use firstflight_lab::stats::resample::{bootstrap, bootstrap_each};

/// The mean of `read` over these units.
pub(crate) fn mean(units: &[usize], read: impl Fn(usize) -> f64) -> f64 {
    sum(units, read) / units.len().max(1) as f64
}

/// The sum of `read` over these units.
pub(crate) fn sum(units: &[usize], read: impl Fn(usize) -> f64) -> f64 {
    units.iter().map(|&unit| read(unit)).sum()
}

/// The quantile of `read` over these units, by nearest rank.
pub(crate) fn quantile(units: &[usize], share: f64, read: impl Fn(usize) -> f64) -> f64 {
    resample::quantile(units.iter().map(|&unit| read(unit)).collect(), share)
}
