//! Units: points in time, lengths of time, rates, ratios and sequence numbers, each a type of its
//! own so that a mix-up does not compile.
//!
//! Windows and amounts of data are plain `u64` bytes throughout the crate: there is no other unit
//! of data here to confuse them with. All arithmetic saturates. A controller must survive clock
//! jumps and nonsensical counters (see `tests/` and `fuzz/`), and a saturated value gives a
//! harmless window where a wrapped value would be a disaster.

use core::fmt;
use core::num::NonZero;
use core::ops::{Add, AddAssign, Mul, Sub};

/// The largest window and the largest amount of data in one event that the crate computes with: 1
/// TiB. Larger inputs are capped to it, which keeps every product of two amounts inside `u128`.
pub const MAX_BYTES: u64 = 1 << 40;

/// A slow-start threshold that was never set (RFC5681 3.1-ssthresh: as high as can be).
pub const UNSET_SSTHRESH: u64 = u64::MAX;

/// A point in time on the host's monotonic clock, in nanoseconds since an arbitrary origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A data rate in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A position in the order of sending: a packet number in QUIC, an unwrapped byte sequence number
/// in TCP. Positions are only compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// A fraction `num / den`; the denominator is never zero. Two 16-bit terms hold every factor used
/// by the documents (the longest is Linux's 717/1024) in four bytes; a controller stores up to ten
/// ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    num: u16,
    den: NonZero<u16>,
}

impl Time {
    /// The time from `earlier` to `self`; zero if the clock went backwards.
    #[inline]
    pub const fn since(self, earlier: Time) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Nanos) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Nanos> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Nanos) {
        *self = *self + rhs;
    }
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// Longer than anything measured: the minimum of no samples.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// One tick of a clock with unknown resolution: a millisecond.
    pub const TICK: Nanos = Nanos::from_millis(1);

    /// The effective RTT: a zero RTT is below one tick of the clock and counts as one tick, which
    /// is the smallest known RTT or, without one, [`Nanos::TICK`].
    #[inline]
    pub(crate) fn in_ticks(self, min_rtt: Option<Nanos>) -> Nanos {
        if self > Nanos::ZERO {
            return self;
        }
        min_rtt.filter(|&min| min > Nanos::ZERO).unwrap_or(Nanos::TICK)
    }

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }
    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s.saturating_mul(1_000_000_000))
    }
    /// Whole microseconds, rounded down.
    #[inline]
    pub const fn micros(self) -> u64 {
        self.0 / 1_000
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn mul(self, rhs: u64) -> Nanos {
        Nanos(self.0.saturating_mul(rhs))
    }
}

impl Rate {
    /// `bytes` per `span`, rounded down; `None` for an empty span.
    #[inline]
    pub fn from_bytes_over(bytes: u64, span: Nanos) -> Option<Rate> {
        if span.0 == 0 {
            return None;
        }
        Some(Rate(mul_div(bytes, 1_000_000_000, span.0)))
    }

    /// Bytes that pass at this rate within `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Nanos) -> u64 {
        mul_div(self.0, span.0, 1_000_000_000)
    }
}

impl Ratio {
    /// `num / den`.
    ///
    /// # Panics
    /// If `den` is zero; ratios are constants and parsed options, never measurements.
    pub const fn new(num: u16, den: u16) -> Ratio {
        Ratio { num, den: NonZero::new(den).expect("a ratio needs a denominator") }
    }
    /// The numerator.
    pub const fn num(self) -> u64 {
        self.num as u64
    }
    /// The denominator, never zero.
    pub const fn den(self) -> u64 {
        self.den.get() as u64
    }
    /// `value * self`, rounded down.
    #[inline]
    pub fn of(self, value: u64) -> u64 {
        mul_div(value, self.num(), self.den())
    }
}

/// Prints the fraction as it was given, for example `1/2`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// `a * b / c` rounded down, computed without overflow and saturated to `u64`; a zero divisor
/// counts as one.
#[inline]
pub fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    // One 64-bit division is several times cheaper than a 128-bit one, and almost every product of
    // a window and a ratio fits.
    if let Some(product) = a.checked_mul(b) {
        return product / if c == 0 { 1 } else { c };
    }
    let wide = u128::from(a) * u128::from(b) / u128::from(c.max(1));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// `a / b`, rounded down also below zero; a divisor of zero counts as one.
///
/// Uses unsigned division internally: without the standard library, the compiler's routine for
/// signed division requires an unwinder on some targets.
pub(crate) fn div_floor(a: i128, b: u128) -> i128 {
    let b = b.max(1);
    let whole = |amount: u128| i128::try_from(amount / b).unwrap_or(i128::MAX);
    if a < 0 { -whole(a.unsigned_abs().saturating_add(b - 1)) } else { whole(a.unsigned_abs()) }
}
