//! Quantiles of a stream of rates in 80 counters: a histogram whose bins are a quarter octave wide.
//!
//! Rates that differ by orders of magnitude (ACKs compressed by a slotted return path next to ACKs
//! spaced by the link) need bins of equal ratio, not of equal width. Four bins per octave over
//! twenty octaves, 1/16 Mbit/s to 65 Gbit/s, cover every path of interest. Interpolating inside a
//! bin and clipping its edges to the extremes seen makes the quantile exact when all samples agree,
//! and at most 9 % wrong otherwise.
//!
//! Ours; the published estimator sorts up to 300 rates instead
//! ([`BestPublished`](crate::startup::BestPublished)). State: 104 bytes. Departures: none.

use crate::units::{Nanos, Rate};

/// BEST histogram-4: a rate in units of 2^-20 Mbit/s (0.954 bit/s): 1/16 Mbit/s is 65 536. Fine
/// enough that one bit of rounding never moves a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FineRate(pub u64);

/// `FineRate` of one byte per nanosecond: 8000 Mbit/s times 2^20.
const PER_BYTE_PER_NS: u128 = 8_388_608_000;

/// Sixteen fractional bits: what 1/16 Mbit/s is in a [`FineRate`].
const ONE: u64 = 1 << 16;
/// BEST histogram-1: lower edges of the four bins of an octave, `2^16 * 2^(i/4)` rounded.
const EDGES: [u64; PER_OCTAVE] = [ONE, 77_936, 92_682, 110_218];
const PER_OCTAVE: usize = 4;
const OCTAVES: usize = 20;
/// Number of bins.
pub const BINS: usize = PER_OCTAVE * OCTAVES;

impl FineRate {
    /// No measurement: the maximum over an empty set.
    pub const ZERO: FineRate = FineRate(0);

    /// `bytes` per `span`, rounded down; an empty span counts as one nanosecond.
    #[inline]
    pub fn from_bytes_over(bytes: u64, span: Nanos) -> FineRate {
        saturate(u128::from(bytes) * PER_BYTE_PER_NS / u128::from(span.0.max(1)))
    }

    /// Bytes that pass within `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Nanos) -> u64 {
        saturate(u128::from(self.0) * u128::from(span.0) / PER_BYTE_PER_NS).0
    }

    /// `self * num / den`, rounded down; a zero denominator counts as one.
    #[inline]
    #[must_use]
    pub fn scaled(self, num: u64, den: u64) -> FineRate {
        saturate(u128::from(self.0) * u128::from(num) / u128::from(den.max(1)))
    }

    /// Whether the larger of the two exceeds the smaller by at most a quarter (inclusive).
    #[inline]
    pub fn within_quarter(self, other: FineRate) -> bool {
        u128::from(self.max(other).0) * 4 <= u128::from(self.min(other).0) * 5
    }

    /// Whether the two differ by at most a tenth of `other` (inclusive).
    #[inline]
    pub fn near_tenth(self, other: FineRate) -> bool {
        u128::from(self.0.abs_diff(other.0)) * 10 <= u128::from(other.0)
    }

    /// The bin this rate falls into.
    #[inline]
    pub fn bin(self) -> usize {
        if self.0 < ONE {
            return 0;
        }
        let octave = self.0.ilog2() as usize - 16;
        if octave >= OCTAVES {
            return BINS - 1;
        }
        let mantissa = self.0 >> octave;
        octave * PER_OCTAVE + EDGES[1..].iter().filter(|&&edge| edge <= mantissa).count()
    }
}

impl From<Rate> for FineRate {
    fn from(rate: Rate) -> FineRate {
        FineRate::from_bytes_over(rate.0, Nanos::from_secs(1))
    }
}

/// The histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateHistogram {
    counts: [u8; BINS],
    smallest: FineRate,
    largest: FineRate,
    offered: u16,
    stride: u16,
    skip: u16,
}

impl Default for RateHistogram {
    fn default() -> Self {
        RateHistogram::EMPTY
    }
}

impl RateHistogram {
    /// No samples.
    pub const EMPTY: RateHistogram = RateHistogram {
        counts: [0; BINS],
        smallest: FineRate(u64::MAX),
        largest: FineRate::ZERO,
        offered: 0,
        stride: 1,
        skip: 0,
    };

    /// BEST histogram-2: offers a sample. Once a counter is full, all counters are halved and only
    /// every second, fourth, ... sample counts afterwards, so that old and new samples keep the
    /// same weight.
    #[inline]
    pub fn add(&mut self, rate: FineRate) {
        self.offered = self.offered.saturating_add(1);
        self.smallest = self.smallest.min(rate);
        self.largest = self.largest.max(rate);
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let count = &mut self.counts[rate.bin()];
        *count = count.saturating_add(1);
        if *count == u8::MAX {
            self.halve();
        }
        self.skip = self.stride - 1;
    }

    #[cold]
    fn halve(&mut self) {
        for count in &mut self.counts {
            *count /= 2;
        }
        self.stride = self.stride.saturating_mul(2);
    }

    /// Samples offered, counted or skipped; saturates at 65 535.
    pub fn offered(&self) -> u16 {
        self.offered
    }

    /// The current stride: one sample in this many is counted.
    pub fn stride(&self) -> u16 {
        self.stride
    }

    /// The count of one bin; zero outside the range.
    pub fn count(&self, bin: usize) -> u8 {
        self.counts.get(bin).copied().unwrap_or(0)
    }

    /// BEST histogram-3: the rate below which `percent` of the samples lie (at most 100),
    /// interpolated inside its bin; `None` without samples.
    pub fn quantile(&self, percent: u8) -> Option<FineRate> {
        let sum: u32 = self.counts.iter().map(|&count| u32::from(count)).sum();
        if sum == 0 {
            return None;
        }
        let rank = (sum * u32::from(percent.min(100))).div_ceil(100).max(1);
        let mut before = 0;
        for (bin, &count) in self.counts.iter().enumerate() {
            let count = u32::from(count);
            if before + count >= rank {
                let (lo, hi) = self.edges(bin);
                let twice = u64::from(2 * (rank - before) - 1);
                return Some(FineRate(
                    lo.0.saturating_add(
                        FineRate(hi.0 - lo.0).scaled(twice, u64::from(2 * count)).0,
                    ),
                ));
            }
            before += count;
        }
        None
    }

    /// The edges of a bin, clipped to the extremes seen. The first bin is open below, the last
    /// above.
    fn edges(&self, bin: usize) -> (FineRate, FineRate) {
        let edge = |i: usize| EDGES[i % PER_OCTAVE] << (i / PER_OCTAVE);
        let lo = if bin == 0 { 0 } else { edge(bin) };
        let hi = if bin + 1 >= BINS { u64::MAX } else { edge(bin + 1) };
        (
            FineRate(lo).clamp(self.smallest, self.largest),
            FineRate(hi).clamp(self.smallest, self.largest),
        )
    }
}

fn saturate(wide: u128) -> FineRate {
    FineRate(u64::try_from(wide).unwrap_or(u64::MAX))
}
