//! CUBIC's curve in integers: bytes over microseconds.
//!
//! `W(t) = w_max + C * (t - K)^3` is flat near the window of the last congestion, steep far from
//! it, and independent of the RTT. `K` is the time from the start of the epoch to `w_max`. All
//! values are exact floors, so every machine computes the same curve. Follows: RFC 9438 section
//! 4.2, figures 1 and 2 (August 2023). State: 24 bytes.
//!
//! With C = 4/10 segment/s^3, seconds cubed in microseconds cubed and segments in bytes, `C * x^3`
//! is `4 * mss * x^3 / 10^19`.
//!
//! Departures:
//! * D1 (RFC9438 4.2-fig1): time is capped at 2^33 us (2.4 hours) and the window at 1 TiB, so that
//!   nothing can overflow.

use super::MAX_MSS;
use crate::units::MAX_BYTES;

/// The longest time the curve computes with, in microseconds: 2 hours 23 minutes. Its cube times
/// four segments stays below 2^117.
pub const MAX_US: u64 = 1 << 33;

/// `10^19 = 2^19 * 5^19`: ten of C, 10^18 of the microseconds.
const TEN_19: u128 = 10_000_000_000_000_000_000;
const FIVE_19: u64 = 19_073_486_328_125;

/// One epoch's curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve {
    w_max: u64,
    k_us: u64,
    mss: u64,
}

impl Curve {
    /// The curve that passes through `cwnd_epoch` now and levels out at `w_max` (bytes). If the
    /// window is already there, `K` is zero and the curve only rises.
    pub fn new(w_max: u64, cwnd_epoch: u64, mss: u64) -> Curve {
        let w_max = w_max.min(MAX_BYTES);
        Curve { w_max, k_us: k_us(w_max, cwnd_epoch, mss), mss: mss.clamp(1, MAX_MSS) }
    }

    /// Rebuilds a curve from its stored values, which are within the bounds that [`Curve::new`]
    /// set.
    #[inline]
    pub(super) fn resumed(w_max: u64, k_us: u64, mss: u64) -> Curve {
        Curve { w_max, k_us, mss }
    }

    /// The plateau in bytes.
    pub fn w_max(&self) -> u64 {
        self.w_max
    }

    /// `K`: microseconds from the start of the epoch to the plateau.
    pub fn k_us(&self) -> u64 {
        self.k_us
    }

    /// `W_cubic(t)`: the window in bytes, `t_us` microseconds into the epoch.
    // RFC9438 4.2-fig1: concave below the plateau, convex above it.
    #[inline(always)]
    pub fn at(&self, t_us: u64) -> u64 {
        let t_us = t_us.min(MAX_US);
        let away = cubed(t_us.abs_diff(self.k_us), self.mss);
        if t_us < self.k_us {
            self.w_max.saturating_sub(away)
        } else {
            (self.w_max + away).min(MAX_BYTES)
        }
    }
}

/// `K` in microseconds for a curve from `cwnd_epoch` up to `w_max` (bytes); zero if the window is
/// not below it.
// RFC9438 4.2-fig2: the cube root of the distance over C. Once per epoch, hence with a plain
// division.
pub fn k_us(w_max: u64, cwnd_epoch: u64, mss: u64) -> u64 {
    let distance = w_max.min(MAX_BYTES).saturating_sub(cwnd_epoch);
    icbrt(u128::from(distance) * TEN_19 / (4 * u128::from(mss.clamp(1, MAX_MSS)))).min(MAX_US)
}

/// `C * dt^3` in bytes: how far the curve is from its plateau, `dt_us` microseconds away from it.
/// At most 2^54.
pub fn rise(dt_us: u64, mss: u64) -> u64 {
    cubed(dt_us.min(MAX_US), mss.clamp(1, MAX_MSS))
}

/// [`rise`] within bounds: `floor(4 * mss * dt^3 / 10^19)`.
///
/// Called twice per ACK, so without a 128-bit division: the power of two of `10^19` is a shift, and
/// `5^19` is divided by through its reciprocal, which the last line makes exact.
#[inline]
fn cubed(dt: u64, mss: u64) -> u64 {
    const RECIPROCAL: u64 = ((1u128 << 108) / FIVE_19 as u128) as u64;
    let n = (u128::from(4 * mss * dt) * u128::from(dt) * u128::from(dt)) >> 19;
    // n < 2^98. Its upper bits times 2^108 / 5^19 are short of the quotient by less than 0.93 for
    // the bits cut off n (2^44 / 5^19), 0.001 for those cut off the reciprocal and 1 for the
    // floor: by 0 or 1 in whole numbers.
    let top = (n >> 44) as u64;
    let short = ((u128::from(top) * u128::from(RECIPROCAL)) >> 64) as u64;
    // The rest is below 2 * 5^19 < 2^64, so the low halves determine it; wrapping is intended.
    let rest = (n as u64).wrapping_sub(short.wrapping_mul(FIVE_19));
    short + u64::from(rest >= FIVE_19)
}

/// The integer cube root: the largest `r` with `r^3 <= n`. Digit by digit in base two, at most 43
/// steps, no division.
pub fn icbrt(n: u128) -> u64 {
    let mut rest = n;
    let mut root: u128 = 0;
    // The first digit sits at the highest multiple of three bits that n reaches.
    let mut shift = (n | 1).ilog2() / 3 * 3;
    loop {
        root *= 2;
        // (root + 1)^3 - root^3: what a digit of one would take away.
        let step = 3 * root * (root + 1) + 1;
        if rest >> shift >= step {
            rest -= step << shift;
            root += 1;
        }
        if shift == 0 {
            return root as u64;
        }
        shift -= 3;
    }
}
