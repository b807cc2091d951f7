//! Two arms on the same connections: the difference of their means.

use super::tally::{Cell, Mean, Sum};
use crate::stats::Interval;
use crate::stats::bootstrap::{Estimate, plain, ratio};

/// Parts with fewer connections than this are left out.
pub const LEAST_FLOWS: u64 = 30;

/// Mean of `a` over that of `b`.
pub(super) fn times(cell: &Cell, a: usize, b: usize, what: Mean, z: f64) -> Estimate {
    let replicates = means(cell, a, what).zip(means(cell, b, what)).map(|(a, b)| a / b);
    ratio(mean(cell, a, what) / mean(cell, b, what), replicates, z)
}

/// Mean of `a` minus that of `b`.
pub(super) fn less(cell: &Cell, a: usize, b: usize, what: Mean, z: f64) -> Estimate {
    let replicates = means(cell, a, what).zip(means(cell, b, what)).map(|(a, b)| a - b);
    plain(mean(cell, a, what) - mean(cell, b, what), replicates, z)
}

/// Reduction in percent, from a ratio.
pub(super) fn reduction(ratio: Interval) -> Interval {
    ratio.map(|ratio| (1.0 - ratio) * 100.0)
}

/// Means of a quantity in every replicate.
fn means(cell: &Cell, arm: usize, mean: Mean) -> impl Iterator<Item = f64> {
    cell.arms[arm]
        .replicates(mean)
        .sums()
        .iter()
        .zip(cell.counts.sums())
        .map(|(sum, n)| *sum as f64 / *n as f64)
}

pub(super) fn mean(cell: &Cell, arm: usize, mean: Mean) -> f64 {
    let tally = &cell.arms[arm];
    match mean {
        Mean::Ttlb => of(tally.sum(Sum::Ttlb), cell.flows) / 1e3,
        Mean::Loss => of(tally.sum(Sum::Loss), cell.flows),
        Mean::QueueP99 => of(tally.sum(Sum::QueueP99), cell.flows),
    }
}

pub(super) fn of(sum: u128, n: u64) -> f64 {
    sum as f64 / n.max(1) as f64
}
