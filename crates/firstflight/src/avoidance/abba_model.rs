//! ABBA's model of a path: the round trip expected for a window, as a line through the points where
//! the queue was fullest and emptiest since the last cut.
//!
//! With a queue that is never empty, the round trip grows with the window, by the reciprocal of the
//! bottleneck's rate. Samples below the line mean that the bottleneck has become faster or that
//! other flows have left. Follows: draft-kazuho-ccwg-abba (author's copy of September 2026, linear
//! model), sections 3 and 4. State: 24 bytes.
//!
//! Round trips are whole microseconds below 2^31, windows at most 1 TiB, so that every product
//! stays inside 128 bits; lines are kept as fractions and compared by products.

use crate::units::{MAX_BYTES, Nanos, Ratio, div_floor};

/// ABBA 3.3-span: least difference of round trips between the points of a line, in microseconds.
pub const SPAN_US: u32 = 5_000;

/// The largest round trip in the model, in microseconds: 35 minutes.
const MAX_US: u32 = (1 << 31) - 1;

/// A round trip as the model counts it.
pub fn micros(rtt: Nanos) -> u32 {
    rtt.micros().min(u64::from(MAX_US)) as u32
}

/// A window and the round trip observed with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Bytes.
    pub cwnd: u64,
    /// Microseconds.
    pub rtt_us: u32,
}

/// The round trip expected for a window, `rtt + (cwnd - w) * num / den`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    through: u64,
    /// Zero: no line.
    den: u64,
    rtt_us: u32,
    /// Zero: flat, which predicts nothing.
    num: u32,
}

impl Line {
    /// The line through both points, or `self` if they define none.
    #[must_use]
    pub fn fit(self, high: Point, low: Point) -> Line {
        // ABBA 3.3-keep: a lower round trip at a window as large as the one that was cut is the
        // case that the model detects.
        if high.cwnd <= low.cwnd {
            return self;
        }
        let (rise, run) = (high.rtt_us.saturating_sub(low.rtt_us), high.cwnd - low.cwnd);
        if rise < SPAN_US {
            return Line { through: low.cwnd, den: 1, rtt_us: low.rtt_us, num: 0 };
        }
        // ABBA 3.3-origin: not steeper than from the origin.
        let steep =
            u128::from(rise) * u128::from(low.cwnd) > u128::from(low.rtt_us) * u128::from(run);
        let (rise, run) = if steep { (low.rtt_us, low.cwnd) } else { (rise, run) };
        // ABBA 3.3-share: two thirds of it, as if the rate had risen by half already.
        Line {
            through: low.cwnd,
            den: 3 * run.clamp(1, MAX_BYTES),
            rtt_us: low.rtt_us,
            num: 2 * rise.min(MAX_US / 2),
        }
    }

    /// ABBA 3.4-redraw: the line from the origin through this window and round trip.
    pub fn from_origin(cwnd: u64, rtt_us: u32) -> Line {
        Line { through: 0, den: cwnd.clamp(1, MAX_BYTES), rtt_us: 0, num: rtt_us.min(MAX_US) }
    }

    /// Whether the line passes through the origin.
    pub fn is_from_origin(&self) -> bool {
        self.den > 0 && self.through == 0
    }

    /// Whether the line rises, so that it predicts round trips.
    pub fn is_fit(&self) -> bool {
        self.num > 0
    }

    /// The round trip expected for this window, in microseconds; `None` without a line.
    pub fn at(&self, cwnd: u64) -> Option<u32> {
        let away = i128::from(cwnd) - i128::from(self.through);
        let num = (self.den > 0).then_some(i128::from(self.num))?;
        let rise = div_floor(away * num, self.den.into());
        u32::try_from((i128::from(self.rtt_us) + rise).clamp(0, i128::from(MAX_US))).ok()
    }

    /// Excess of `cwnd` over the window expected for this round trip: the excess in bytes times
    /// the slope's numerator, and the numerator; `None` if there is no excess or no slope.
    fn excess(&self, cwnd: u64, rtt_us: u32) -> Option<(u128, u128)> {
        let away = i128::from(cwnd.min(MAX_BYTES)) - i128::from(self.through);
        let due = away * i128::from(self.num);
        let is = (i128::from(rtt_us) - i128::from(self.rtt_us)) * i128::from(self.den);
        let excess = u128::try_from(due - is).ok()?;
        (self.is_fit() && excess > 0).then_some((excess, u128::from(self.num)))
    }
}

/// Share of the unused capacity that growth uses per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// Share of the room per window acknowledged; both terms at most 1000.
    pub share: Ratio,
    /// Largest growth per byte acknowledged, in millionths; zero for no bound.
    pub most_ppm: u32,
}

impl Gain {
    /// ABBA 4-accel: bytes by which a window of `cwnd` grows when `acked` bytes are acknowledged
    /// and the round trip is `rtt_us`; `None` if the line shows no room. The fraction of a byte is
    /// kept in `carry`, in units of 2^-32.
    pub fn grow(
        self,
        line: Line,
        cwnd: u64,
        rtt_us: u32,
        acked: u64,
        carry: &mut u32,
    ) -> Option<u64> {
        let cwnd = cwnd.clamp(1, MAX_BYTES);
        let (excess, slope) = line.excess(cwnd, rtt_us)?;
        let acked = u128::from(acked.min(MAX_BYTES));
        let mut part = acked * u128::from(self.share.num()) * excess;
        let mut whole = u128::from(self.share.den()) * slope * u128::from(cwnd);
        // ABBA quicly-cap.
        let most = acked * u128::from(self.most_ppm);
        if self.most_ppm > 0 && part / whole >= most / 1_000_000 {
            // If the quotients are equal, the remainders decide; both products fit.
            let exact = part / whole > most / 1_000_000
                || (part % whole) * 1_000_000 > (most % 1_000_000) * whole;
            if exact {
                (part, whole) = (most, 1_000_000);
            }
        }
        let rest = (((part % whole) << 32).div_ceil(whole)) as u64 + u64::from(*carry);
        let bytes = u64::try_from(part / whole).unwrap_or(u64::MAX).saturating_add(rest >> 32);
        *carry = rest as u32;
        // ABBA 4-half.
        Some(bytes.min(cwnd / 2))
    }
}
