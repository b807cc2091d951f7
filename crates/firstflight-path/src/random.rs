//! Random values by key instead of by sequence: every draw is a function of (seed, path, purpose,
//! ordinal).
//!
//! Two arms that send different packets therefore still see the same loss at the same packet
//! ordinal, and a new purpose changes no value of an existing one. The mixing function is the step
//! of SplitMix64 (Steele, Lea, Flood 2014).

pub use crate::draw::{inverse_normal, normal, uniform};

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Purpose of a random value. The numbers are part of the result format: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Choice of a class or row of a population.
    Class = 1,
    /// Idle round-trip time.
    Rtt = 2,
    /// Rate of the bottleneck.
    Rate = 3,
    /// Size of the buffer.
    Buffer = 4,
    /// Object size.
    Size = 5,
    /// Parameters of the loss process.
    LossParameters = 6,
    /// Start of a flow.
    FlowStart = 7,
    /// Variation of the forward rate, and start time of a trace.
    ForwardRate = 8,
    /// Variation of the reverse rate; state of the release engines.
    ReverseRate = 9,
    /// Forward loss, by packet ordinal.
    ForwardLoss = 10,
    /// Reverse loss, by packet ordinal.
    ReverseLoss = 11,
    /// Jitter, reordering and duplication.
    Jitter = 12,
    /// Active queue management.
    Aqm = 13,
    /// The receiver.
    Receiver = 14,
}

/// One step of SplitMix64 from state `x`: add the increment, then mix.
#[inline]
pub const fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The values of one purpose on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(u64);

impl Stream {
    /// The stream of `purpose` for path number `path_index` under `seed`.
    pub const fn new(seed: u64, path_index: u64, purpose: Purpose) -> Self {
        Self(mix(mix(mix(seed).wrapping_add(path_index)).wrapping_add(purpose as u64)))
    }

    /// The key itself: initial state for generators with their own SplitMix64 state.
    pub const fn key(self) -> u64 {
        self.0
    }

    /// The `k`-th value. Calls may come in any order and any number of times.
    #[inline]
    pub const fn value(self, k: u64) -> u64 {
        mix(self.0.wrapping_add(k.wrapping_mul(GOLDEN)))
    }
}

impl Stream {
    /// An independent stream of the same purpose, for the second direction or the second variable.
    /// Its key is a value of this stream that no packet ordinal uses.
    #[must_use]
    pub const fn branch(self, tag: u64) -> Self {
        Self(self.value(u64::MAX - tag))
    }
}

/// A SplitMix64 generator with its own state, for callers that do not number their draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence(u64);

impl Sequence {
    /// Starts from `state`; the first draw is `mix(state)`.
    pub const fn new(state: u64) -> Self {
        Self(state)
    }

    /// The next 64 bits.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        let value = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        value
    }

    /// A whole number from `low` to `high`, inclusive.
    #[inline]
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        between(self.draw(), low, high)
    }
}

/// The whole number from `low` to `high`, inclusive, for a 64-bit draw.
#[inline]
pub const fn between(x: u64, low: u64, high: u64) -> u64 {
    low.saturating_add(((x as u128 * (high.saturating_sub(low) as u128 + 1)) >> 64) as u64)
}

/// A coin that hits with a given probability, decided in integers.
///
/// A 64-bit value `x` stands for `u = ((x >> 11) + 0.5) / 2^53`; the coin hits when `u` is below
/// the probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coin {
    /// Number of the 2^53 values of `x >> 11` that hit.
    hits: u64,
}

impl Coin {
    /// `ppb`: probability in units of 1e-9, at most one.
    pub(crate) fn new(ppb: u64) -> Self {
        // u < p  <=>  (2m + 1) * 1e9 < ppb * 2^54. The first m that fails is half of the quotient,
        // rounded up before and down after halving.
        let edge = (u128::from(ppb.min(1_000_000_000)) << 54).div_ceil(1_000_000_000);
        Self { hits: (edge / 2) as u64 }
    }

    #[inline]
    pub(crate) fn never(self) -> bool {
        self.hits == 0
    }

    #[inline]
    pub(crate) fn falls(self, x: u64) -> bool {
        (x >> 11) < self.hits
    }
}
