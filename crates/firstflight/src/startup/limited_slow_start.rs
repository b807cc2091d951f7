//! Limited Slow Start: beyond a given window, slow start adds a fixed amount per round trip instead
//! of doubling.
//!
//! Up to `max_ssthresh` the window doubles as usual. Beyond it each acknowledged byte opens the
//! window by `1/K`, where `K` is the window in units of half of `max_ssthresh`, so that a round
//! trip adds at most that half: a flow on a very fast path no longer overshoots by thousands of
//! packets. It ends as slow start does, by loss or at a threshold.
//!
//! Follows: RFC 3742 section 2 (March 2004, experimental). Vectors:
//! `tests/it/limited_slow_start.rs`. State: 24 bytes, 16 of them options.
//!
//! Departures:
//! - D1 `K` is a fraction and the remainder of each division is kept, so growth does not depend on
//!   rounding or on how ACKs are batched. [`Params::rfc_int`] rounds `K` down as the RFC does,
//!   which adds up to half as much again.
//! - D2 an ACK counts all its bytes, paced or not, where the RFC adds one increment per ACK, so
//!   delayed or merged ACKs do not slow growth. `limited@(count=1)` counts at most a segment per
//!   ACK.
//!
//! HyStart++ draft-03 grows by the same law alongside avoidance, with a quarter of its own entry
//! window instead of half of `max_ssthresh`: `PerRoundTrip` serves both.

use super::{Grown, Heeds, Startup, Verdict, slow_start};
use crate::event::{Ack, Context, Window};
use crate::options::params;
use crate::units::mul_div;

params! {
    /// The options of Limited Slow Start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The window doubles up to this many segments; 100 is suggested (RFC3742 2-3). 0 counts as
        /// 1.
        pub max_ssthresh: u64 = 100, "max" [2..=100_000 "segments"] "window above which growth is limited (max_ssthresh)";
        /// `K` is rounded down to an integer, as the RFC writes it.
        pub rfc_int: bool = false, "int" [] "the RFC's integer K instead of the exact one";
    }
}

impl Params {
    /// The suggestion of RFC 3742, with an exact `K`.
    pub const RFC3742: Params = Params::DEFAULT;
}

/// Whether `K` is exact or rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum K {
    /// A fraction; remainders are kept.
    Exact,
    /// Rounded down, at least 1; the remainder of each division is dropped.
    Floor,
}

/// Growth by `base / divisor` bytes per round trip: `1/K` per acknowledged byte with `K = cwnd /
/// (base / divisor)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerRoundTrip {
    /// Remainder of the last exact division, in bytes times `base`; below `divisor * cwnd`.
    rest: u64,
}

impl PerRoundTrip {
    /// The bytes by which a window of `cwnd` opens when `acked` bytes are acknowledged; at most
    /// `acked`.
    #[inline]
    pub(crate) fn step(&mut self, acked: u64, base: u64, divisor: u64, cwnd: u64, k: K) -> u64 {
        let whole = divisor.saturating_mul(cwnd).max(1);
        if k == K::Floor {
            return acked / (whole / base.max(1)).max(1);
        }
        // Like mul_div, with the remainder; the 128-bit division is only needed for unrealistically
        // large windows.
        let short = acked.checked_mul(base).and_then(|product| product.checked_add(self.rest));
        let (step, rest) = if let Some(sum) = short {
            (sum / whole, sum % whole)
        } else {
            let sum = u128::from(acked) * u128::from(base) + u128::from(self.rest);
            (
                u64::try_from(sum / u128::from(whole)).unwrap_or(u64::MAX),
                (sum % u128::from(whole)) as u64,
            )
        };
        self.rest = rest;
        step.min(acked)
    }

    /// The remainder, for traces.
    pub(crate) fn rest(self) -> u64 {
        self.rest
    }
}

/// Slow start that is limited beyond `max_ssthresh`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedSlowStart {
    params: Params,
    growth: PerRoundTrip,
}

/// RFC 3742 grows by half of `max_ssthresh` per round trip.
const DIVISOR: u64 = 2;

impl LimitedSlowStart {
    /// Creates the state of a connection that has sent nothing yet.
    pub fn new(params: Params) -> LimitedSlowStart {
        LimitedSlowStart { params, growth: PerRoundTrip::default() }
    }
}

impl Startup for LimitedSlowStart {
    type Saved = ();

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(false)
    }

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let max_ssthresh = self.params.max_ssthresh.max(1).saturating_mul(cx.mss);
        // RFC3742 2-1: at or below max_ssthresh nothing changes. An ACK that crosses it counts in
        // full.
        if w.cwnd <= max_ssthresh {
            self.growth = PerRoundTrip::default();
            return Grown { leftover: slow_start::double(acked, w, cx), verdict: Verdict::Stay };
        }
        if !cx.limited {
            return Grown::default();
        }
        // RFC3742 2-2: beyond it, 1/K per byte with K = cwnd / (max_ssthresh / 2).
        let k = if self.params.rfc_int { K::Floor } else { K::Exact };
        let before = w.cwnd;
        let acked = cx.cap(acked);
        let unused = w.open(self.growth.step(acked, max_ssthresh, DIVISOR, before, k));
        // Bytes of window that did not fit below the threshold, turned back into the acknowledged
        // bytes that would have opened it.
        let leftover = mul_div(unused, DIVISOR.saturating_mul(before), max_ssthresh).min(acked);
        Grown { leftover, verdict: Verdict::Stay }
    }

    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let max_ssthresh = self.params.max_ssthresh.max(1).saturating_mul(cx.mss);
        let grows = if w.cwnd <= max_ssthresh { max_fs } else { max_ssthresh / DIVISOR };
        if w.in_slow_start() { max_fs.saturating_add(grows) } else { 0 }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("lss_rest", self.growth.rest());
    }
}
