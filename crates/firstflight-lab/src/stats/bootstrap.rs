//! An additive Poisson bootstrap over connections: 200 replicates, in each of which every
//! connection counts 0, 1, 2, ... times.
//!
//! The count depends only on seed and connection and is the same for all arms. The replicates
//! therefore preserve pairs, do not depend on threads or shards, and need a row of sums instead of
//! the sample. The spread of a statistic over the replicates is its standard error; intervals are
//! normal ones around the value, on the logarithmic scale for ratios (with 200 replicates that is
//! more stable than the 5th smallest and largest).

use super::Interval;
use super::codec::{Reader, Writer};
use firstflight_path::random::{GOLDEN, mix};

/// Number of replicates.
pub const REPLICATES: usize = 200;

/// Weight of a connection in each replicate.
pub type Weights = [u8; REPLICATES];

/// Separates the draws of weights from every draw of a trial.
const SALT: u64 = 0x626f_6f74_7374_7261;

/// Of 2^16 draws, those below entry k count at most k times: the Poisson distribution with mean 1.
const AT_MOST: [u16; 7] = [24_109, 48_219, 60_273, 64_291, 65_296, 65_497, 65_531];

/// The weights of one connection.
pub fn weights(seed: u64, index: u64) -> Weights {
    let key = key(seed, index);
    let mut weights = [0; REPLICATES];
    for (block, four) in weights.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *four = block_of(key, block);
    }
    weights
}

/// The weights of four replicates, for callers that cannot hold all at once.
pub fn weights_of_block(seed: u64, index: u64, block: usize) -> [u8; 4] {
    block_of(key(seed, index), block)
}

fn key(seed: u64, index: u64) -> u64 {
    mix(mix(seed ^ SALT).wrapping_add(index))
}

fn block_of(key: u64, block: usize) -> [u8; 4] {
    let draw = mix(key.wrapping_add((block as u64).wrapping_mul(GOLDEN)));
    std::array::from_fn(|place| {
        let part = (draw >> (16 * place)) as u16;
        AT_MOST.iter().map(|limit| u8::from(part >= *limit)).sum()
    })
}

/// Sums of one quantity in every replicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicates(Box<[u64; REPLICATES]>);

impl Default for Replicates {
    fn default() -> Replicates {
        Replicates(Box::new([0; REPLICATES]))
    }
}

impl Replicates {
    /// Adds a connection's value. Values must be below 2^32, so that the sum of a billion of them
    /// fits in 64 bits.
    pub fn add(&mut self, weights: &Weights, value: u32) {
        for (sum, weight) in self.0.iter_mut().zip(weights) {
            *sum += u64::from(*weight) * u64::from(value);
        }
    }

    /// Adds the sums of another.
    pub fn merge(&mut self, other: &Replicates) {
        for (sum, more) in self.0.iter_mut().zip(other.0.iter()) {
            *sum += more;
        }
    }

    /// The sums.
    pub fn sums(&self) -> &[u64; REPLICATES] {
        &self.0
    }

    /// Appends the sums.
    pub fn write(&self, to: &mut Writer) {
        self.0.iter().for_each(|sum| to.put(*sum));
    }

    /// Reads sums that [`Replicates::write`] wrote.
    pub fn read(from: &mut Reader<'_>) -> Option<Replicates> {
        let mut sums = Replicates::default();
        for sum in &mut *sums.0 {
            *sum = from.get()?;
        }
        Some(sums)
    }
}

/// Standard deviation of a statistic over the replicates, leaving out replicates in which it does
/// not exist.
pub fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let n = values.len() as f64;
    if values.len() < 2 {
        return f64::NAN;
    }
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// A value with a normal interval, and the p-value of its distance from the null value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Value and interval.
    pub interval: Interval,
    /// Two-sided p-value.
    pub p: f64,
}

/// Estimate of `value` whose replicates are `values`, on a linear scale; the null value is 0.
pub fn plain(value: f64, values: impl Iterator<Item = f64>, z: f64) -> Estimate {
    let deviation = deviation(values);
    let interval = Interval { value, low: value - z * deviation, high: value + z * deviation };
    Estimate { interval, p: two_sided(value, deviation) }
}

/// Estimate of a ratio, on the logarithmic scale; the null value is 1.
pub fn ratio(value: f64, values: impl Iterator<Item = f64>, z: f64) -> Estimate {
    let log = plain(libm::log(value), values.map(libm::log), z);
    Estimate { interval: Interval { value, ..log.interval.map(libm::exp) }, p: log.p }
}

fn two_sided(value: f64, deviation: f64) -> f64 {
    if deviation > 0.0 {
        libm::erfc(value.abs() / deviation * std::f64::consts::FRAC_1_SQRT_2)
    } else if value == 0.0 {
        1.0
    } else {
        // All replicates are equal.
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_poisson_with_mean_1_and_keyed_by_connection() {
        let mut counts = [0u64; 8];
        for index in 0..5_000 {
            for weight in weights(1, index) {
                counts[usize::from(weight)] += 1;
            }
        }
        let shares = [0.3679, 0.3679, 0.1839, 0.0613, 0.0153, 0.0031, 0.0005, 0.0001];
        for (count, share) in counts.iter().zip(shares) {
            assert!((*count as f64 / 1e6 - share).abs() < 0.002, "{counts:?} of a million");
        }
        assert_eq!(weights(1, 7), weights(1, 7));
        assert_ne!(weights(1, 7), weights(1, 8));
        assert_ne!(weights(1, 7), weights(2, 7));
    }

    #[test]
    fn the_interval_of_a_mean_covers_nineteen_of_twenty_times() {
        let mut covered = 0;
        for trial in 0..300u64 {
            let (mut sums, mut counts) = (Replicates::default(), Replicates::default());
            let mut total = 0;
            for index in 0..200 {
                let value = (mix(trial * 77_777 + index) >> 44) as u32;
                let weights = weights(trial, index);
                sums.add(&weights, value);
                counts.add(&weights, 1);
                total += u64::from(value);
            }
            let replicates =
                sums.sums().iter().zip(counts.sums()).map(|(sum, n)| *sum as f64 / *n as f64);
            let estimate = plain(total as f64 / 200.0, replicates, super::super::Z_95);
            covered += u64::from(estimate.interval.covers(f64::from(1 << 19)));
        }
        assert!(
            (270..=298).contains(&covered),
            "{covered} of 300 intervals cover the truth; 285 are expected"
        );
    }
}
