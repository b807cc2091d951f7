//! Sums over the connections of one world, from which its effects are estimated. They are integers
//! that are added, so any order, number of threads and division into shards gives the same result.

use crate::stats::bootstrap::{Replicates, Weights};
use crate::stats::codec::{Reader, Writer};
use crate::stats::sketch::Counts;
use firstflight_path::random::mix;

/// One connection under one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Completion time, ns; the limit if it did not finish.
    pub ttlb_ns: u64,
    /// Share of packets lost, 1e-9.
    pub loss_ppb: u64,
    /// 99th percentile of its packets' waiting time at the bottleneck, us.
    pub queue_p99_us: u64,
}

/// Quantities with a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mean {
    /// Completion time, us.
    Time,
    /// Binary logarithm of the time over the baseline's, [`LOG_UNIT`] and [`LOG_ZERO`].
    Log,
    /// Loss ratio, 1e-9.
    Loss,
    /// 99th percentile of the waiting time, us.
    Queue,
    /// 1 if over 5 % slower than the baseline, 0 otherwise.
    Slower,
}

const MEANS: usize = Mean::Slower as usize + 1;
/// Scale of logarithms: the stored value of 1.
pub(super) const LOG_UNIT: f64 = 67_108_864.0;
/// Offset added to a logarithm, so that no sum is negative.
pub(super) const LOG_ZERO: f64 = 16.0;

/// Number of batches of connections; the spread of their quantiles gives the accuracy of a
/// quantile.
pub(super) const BATCHES: usize = 16;
/// With fewer connections a batch has no 95th percentile.
pub(super) const LEAST_OF_BATCH: u64 = 20;

/// Bins of 1.6 % of a value, which is finer than the accuracy that a sixteenth of the connections
/// allows.
type Times = Counts<6>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ArmSums {
    totals: [u64; MEANS],
    replicates: [Replicates; MEANS],
    times: [Times; BATCHES],
}

/// All arms on the same connections, the baseline first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    flows: u64,
    counts: Replicates,
    arms: Vec<ArmSums>,
}

impl Sums {
    /// Empty sums for this many arms.
    pub fn new(arms: usize) -> Sums {
        Sums { flows: 0, counts: Replicates::default(), arms: vec![ArmSums::default(); arms] }
    }

    /// Number of connections.
    pub fn flows(&self) -> u64 {
        self.flows
    }

    /// Adds connection number `index` under every arm.
    pub fn add(&mut self, index: u64, samples: impl Iterator<Item = Sample>, weights: &Weights) {
        self.flows += 1;
        self.counts.add(weights, 1);
        let batch = (mix(index) >> 32) as usize % BATCHES;
        let mut baseline = None;
        for (arm, sample) in self.arms.iter_mut().zip(samples) {
            let time = sample.ttlb_ns.max(1);
            let base = *baseline.get_or_insert(time);
            let log = libm::log2(time as f64 / base as f64) + LOG_ZERO;
            let slower = u128::from(time) * 20 > u128::from(base) * 21;
            let values = [
                time / 1_000,
                (log.clamp(0.0, 2.0 * LOG_ZERO - 0.1) * LOG_UNIT) as u64,
                sample.loss_ppb,
                sample.queue_p99_us,
                u64::from(slower),
            ];
            for ((total, replicates), value) in
                arm.totals.iter_mut().zip(&mut arm.replicates).zip(values)
            {
                let value = u32::try_from(value).unwrap_or(u32::MAX);
                *total += u64::from(value);
                replicates.add(weights, value);
            }
            arm.times[batch].add(time / 1_000);
        }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Sums) {
        self.flows += other.flows;
        self.counts.merge(&other.counts);
        for (arm, more) in self.arms.iter_mut().zip(&other.arms) {
            arm.totals.iter_mut().zip(more.totals).for_each(|(sum, more)| *sum += more);
            arm.replicates.iter_mut().zip(&more.replicates).for_each(|(sum, more)| sum.merge(more));
            arm.times.iter_mut().zip(&more.times).for_each(|(times, more)| times.merge(more));
        }
    }

    /// Appends the sums.
    pub fn write(&self, to: &mut Writer) {
        to.put(self.flows);
        if self.flows == 0 {
            return;
        }
        self.counts.write(to);
        for arm in &self.arms {
            arm.totals.iter().for_each(|total| to.put(*total));
            arm.replicates.iter().for_each(|replicates| replicates.write(to));
            arm.times.iter().for_each(|times| times.write(to));
        }
    }

    /// Reads sums that [`Sums::write`] wrote for this many arms.
    pub fn read(from: &mut Reader<'_>, arms: usize) -> Option<Sums> {
        let mut sums = Sums::new(arms);
        sums.flows = from.get()?;
        if sums.flows == 0 {
            return Some(sums);
        }
        sums.counts = Replicates::read(from)?;
        for arm in &mut sums.arms {
            for total in &mut arm.totals {
                *total = from.get()?;
            }
            for replicates in &mut arm.replicates {
                *replicates = Replicates::read(from)?;
            }
            for times in &mut arm.times {
                *times = Times::read(from)?;
            }
        }
        Some(sums)
    }

    /// The mean of a quantity.
    pub(super) fn mean(&self, arm: usize, what: Mean) -> f64 {
        self.arms[arm].totals[what as usize] as f64 / self.flows.max(1) as f64
    }

    /// Means in the replicates.
    pub(super) fn means(&self, arm: usize, what: Mean) -> impl Iterator<Item = f64> {
        let sums = self.arms[arm].replicates[what as usize].sums();
        sums.iter().zip(self.counts.sums()).map(|(sum, n)| *sum as f64 / *n as f64)
    }

    /// Logarithm of the ratio of the 95th percentiles of completion time, the arm's over the
    /// baseline's, of all connections.
    pub(super) fn p95(&self, arm: usize) -> f64 {
        let quantile = |arm: usize| {
            let mut all = Times::default();
            self.arms[arm].times.iter().for_each(|times| all.merge(times));
            all.quantile(0.95)
        };
        libm::log(quantile(arm) / quantile(0))
    }

    /// The same logarithm in each batch; NaN if a batch has too few connections for a 95th
    /// percentile.
    pub(super) fn p95s(&self, arm: usize) -> [f64; BATCHES] {
        std::array::from_fn(|batch| {
            let quantile = |arm: usize| {
                let times = &self.arms[arm].times[batch];
                if times.total() < LEAST_OF_BATCH { f64::NAN } else { times.quantile(0.95) }
            };
            libm::log(quantile(arm) / quantile(0))
        })
    }
}
