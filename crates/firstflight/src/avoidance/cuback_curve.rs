//! CUBIC's growth counted in acknowledged bytes instead of time: how many bytes must arrive before
//! the window may reach a given size.
//!
//! A full bottleneck delivers at a constant rate `B`, so time is bytes over `B`. `A(w)` is the
//! number of bytes acknowledged since the start of the epoch when the window reaches `w`: the
//! smaller of Reno's number and that of CUBIC's curve, inverted to give the time for a window.
//! Follows: draft-kazuho-ccwg-cuback-00 (25 September 2026), the increase and its appendix. State:
//! 48 bytes.
//!
//! All values are floors in integers. Time is counted in units of 10 ns: with whole microseconds a
//! curve of 100 s would be 1 % off near its plateau.

use super::MAX_MSS;
use super::cubic_curve::icbrt;
use crate::units::{MAX_BYTES, Nanos, Ratio, div_floor};

/// `10^25`: ten of `C = 4/10`, and the cube of `10^8` units of time in a second.
const TEN_25: u128 = 10_000_000_000_000_000_000_000_000;

/// One epoch: its initial window, the window before the cut, and the plateau of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckCurve {
    epoch: u64,
    prior: u64,
    plateau: u64,
    /// Smoothed RTT in units of 10 ns; zero if no RTT was known.
    srtt: u64,
    mss: u32,
    alpha: Ratio,
    /// [`AckCurve::time`] of the window where the epoch began.
    began: i64,
}

impl AckCurve {
    /// A curve from a window of `epoch` bytes; `prior` is the window before the cut and `srtt` the
    /// round trip at that time (zero without an RTT sample), which together give the rate.
    /// `plateau` is CUBIC's `W_max`, `alpha` Reno's growth below `prior`, in segments per window.
    pub fn new(
        epoch: u64,
        prior: u64,
        plateau: u64,
        srtt: Nanos,
        mss: u64,
        alpha: Ratio,
    ) -> AckCurve {
        let mut curve = AckCurve::resumed([epoch, prior, plateau], srtt, mss, alpha, 0);
        curve.began = curve.time(curve.epoch);
        curve
    }

    /// Rebuilds an earlier curve with its [`AckCurve::began`].
    pub(super) fn resumed(
        windows: [u64; 3],
        srtt: Nanos,
        mss: u64,
        alpha: Ratio,
        began: i64,
    ) -> AckCurve {
        let [epoch, prior, plateau] = windows.map(|bytes| bytes.min(MAX_BYTES));
        let srtt = if srtt == Nanos::ZERO { 0 } else { (srtt.0 / 10).max(1) };
        let mss = mss.clamp(1, MAX_MSS) as u32;
        AckCurve { epoch, prior, plateau, srtt, mss, alpha, began }
    }

    /// When the epoch began, in units of 10 ns from the plateau; negative below it.
    pub fn began(&self) -> i64 {
        self.began
    }

    /// CUBACK 4-time: when CUBIC's curve is at `w` bytes, in units of 10 ns from its plateau.
    pub fn time(&self, w: u64) -> i64 {
        let away = u128::from(w.min(2 * MAX_BYTES).abs_diff(self.plateau));
        let away = icbrt(away * TEN_25 / (4 * u128::from(self.mss))) as i64;
        if w < self.plateau { -away } else { away }
    }

    /// CUBACK 4-cubic: bytes from the start of the epoch until CUBIC's curve is at the window of
    /// which this is the [`AckCurve::time`]; `None` if no RTT was known at the cut.
    pub fn cubic(&self, time: i64) -> Option<i128> {
        let since = i128::from(time) - i128::from(self.began);
        (self.srtt > 0).then(|| {
            let bytes = i128::from(self.prior) * since;
            div_floor(bytes, self.srtt.into())
        })
    }

    /// CUBACK 4-reno: bytes from the start of the epoch until Reno is at `w` bytes: `alpha` of a
    /// segment per window acknowledged up to the window before the cut, a segment beyond.
    pub fn reno(&self, w: u64) -> i128 {
        let (w, prior) = (i128::from(w), i128::from(self.prior));
        let mss = i128::from(self.mss);
        let (num, den) = (u128::from(self.alpha.num().max(1)), i128::from(self.alpha.den()));
        let per_window = 2 * u128::from(self.mss);
        // Bytes for growth from one window to another at one segment per window.
        let sum = |from: i128, to: i128| (to - from) * (to + from - mss);
        let epoch = i128::from(self.epoch);
        if w <= prior {
            div_floor(sum(epoch, w) * den, num * per_window)
        } else {
            div_floor(sum(epoch, prior) * den, num * per_window)
                + div_floor(sum(prior, w), per_window)
        }
    }

    /// CUBACK 4-least: bytes from the start of the epoch until the window may be `w`.
    pub fn amount(&self, w: u64) -> i128 {
        let reno = self.reno(w);
        self.cubic(self.time(w)).map_or(reno, |cubic| cubic.min(reno))
    }

    /// CUBACK 4-due: bytes to be acknowledged before a window of `w` bytes grows by a segment: at
    /// least two segments, so that a round trip grows it by half at most.
    pub fn due(&self, w: u64) -> u64 {
        let mss = u64::from(self.mss);
        let bytes = self.amount(w.saturating_add(mss)) - self.amount(w);
        u64::try_from(bytes.max(0)).unwrap_or(u64::MAX).max(2 * mss)
    }
}
