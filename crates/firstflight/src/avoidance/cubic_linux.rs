//! CUBIC as Linux computes it: whole segments, ticks of 1/1024 s, one more segment per number of
//! acknowledged segments.
//!
//! The curve gives how many segments must be acknowledged for the window to grow by one; that
//! number is updated once per tick, and every 1/32 s while the window does not change. The
//! Reno-friendly window can only lower the number. While no plateau is known it is at most 20, and
//! it is never below 2. Follows: the behaviour of Linux 6.x `tcp_cubic` as documented, without its
//! clock: a tick is 1/1024 s everywhere. State: 48 bytes. Windows have 32 bits, as in the kernel,
//! and saturate.
//!
//! Departures:
//! * D1: the cube root is exact; Linux's table with one Newton step is off by up to 0.2 %.
//! * D2: acknowledged bytes are accumulated into segments, and the rest is kept; in Linux the
//!   caller passes whole segments.

use super::cubic_curve::icbrt;
use crate::units::{Nanos, Ratio, Time, mul_div};
use core::num::NonZero;

/// LINUX cubic-c: C times 2^40 / 1024^3 per tick cubed, `41 * 10 / 1024` is 0.4004 segment/s^3
/// (41/1024 scaled by Linux's nominal RTT of 100 ms).
const C_2_40: u64 = 410;
/// The longest span computed with: 2^23 ticks, 2.3 hours. Its cube times `C_2_40` fits u128 with
/// room.
const MAX_TICKS: u64 = 1 << 23;
/// LINUX cubic-standstill: how long an unchanged window is not re-evaluated, 1/32 s.
const STANDSTILL_TICKS: u32 = 32;
/// LINUX cubic-floor: segments to be acknowledged per segment of growth, at most, while no plateau
/// is known; 5 % per RTT.
const FLOOR: u32 = 20;
/// LINUX cubic-ceiling: and at least, always.
const CEILING: u32 = 2;

/// An epoch of Linux's CUBIC. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinuxEpoch {
    start: Time,
    /// Window at which the curve is flat, and the ticks until then.
    origin: u32,
    k: u32,
    /// Tick and window of the last evaluation of the curve.
    looked: Option<(u32, NonZero<u32>)>,
    /// Segments acknowledged per segment of growth.
    per_segment: u32,
    /// Reno's window, and segments acknowledged since it last grew.
    reno: u32,
    reno_acked: u32,
    /// Segments acknowledged since the window last grew, and bytes that do not yet make a whole
    /// segment.
    credit: u32,
    part: u32,
    /// Whether a reduction has set a plateau.
    plateau_known: bool,
}

/// A window or a count in the kernel's 32 bits.
#[inline]
fn narrow(segments: u64) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX)
}

fn ticks(span: Nanos) -> u32 {
    (span.micros().min(1 << 40) * 1024 / 1_000_000).min(MAX_TICKS) as u32
}

impl LinuxEpoch {
    /// Starts at `now` with `cwnd` segments, towards `w_max` if there was a reduction.
    pub(super) fn new(now: Time, cwnd: u64, w_max: Option<u64>) -> LinuxEpoch {
        let cwnd = narrow(cwnd);
        let origin = narrow(w_max.unwrap_or(0)).max(cwnd);
        // LINUX cubic-k: 2^40 / C_2_40 is floored before the product, as Linux does.
        let k = icbrt(u128::from((1u64 << 40) / C_2_40) * u128::from(origin - cwnd)).min(MAX_TICKS)
            as u32;
        LinuxEpoch {
            start: now,
            origin,
            k,
            looked: None,
            per_segment: CEILING,
            reno: cwnd,
            reno_acked: 0,
            credit: 0,
            part: 0,
            plateau_known: w_max.is_some(),
        }
    }

    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// Excludes the last `span` up to `now`.
    pub(super) fn skip(&mut self, now: Time, span: Nanos) {
        self.start = (self.start + span).min(now.max(self.start));
        // The ticks of this epoch have moved with its start.
        self.looked = None;
    }

    /// Segments by which the window grows when `acked` more bytes are acknowledged.
    #[inline]
    pub(super) fn grow(
        &mut self,
        now: Time,
        cwnd: u64,
        acked: u64,
        min_rtt: Nanos,
        mss: u64,
        beta: Ratio,
    ) -> u64 {
        let cwnd = NonZero::new(narrow(cwnd)).unwrap_or(NonZero::<u32>::MIN);
        let bytes = u64::from(self.part) + acked;
        let acked = narrow(bytes / mss);
        self.part = (bytes % mss) as u32;
        if acked == 0 {
            return 0;
        }
        self.update(now, cwnd, acked, min_rtt, beta);

        let mut grown = 0;
        // LINUX cubic-credit: credit that already suffices, because the number has fallen, gives
        // one segment at most.
        if self.credit >= self.per_segment {
            self.credit = 0;
            grown = 1;
        }
        self.credit = self.credit.saturating_add(acked);
        if self.credit >= self.per_segment {
            grown += u64::from(self.credit / self.per_segment);
            self.credit %= self.per_segment;
        }
        grown
    }

    fn update(&mut self, now: Time, cwnd: NonZero<u32>, acked: u32, min_rtt: Nanos, beta: Ratio) {
        self.reno_acked = self.reno_acked.saturating_add(acked);
        let tick = ticks(now.since(self.start));
        let (age, at) =
            self.looked.map_or((u32::MAX, 0), |(last, at)| (tick.abs_diff(last), at.get()));
        if at == cwnd.get() && age <= STANDSTILL_TICKS {
            return;
        }
        // Within a tick the curve is unchanged, and only the comparison with Reno is repeated.
        if age > 0 {
            self.looked = Some((tick, cwnd));
            self.follow_curve(ticks(now.since(self.start) + min_rtt), cwnd.get());
        }
        self.keep_up_with_reno(cwnd.get(), beta);
        self.per_segment = self.per_segment.max(CEILING);
    }

    fn follow_curve(&mut self, t: u32, cwnd: u32) {
        let away = u128::from(t.abs_diff(self.k));
        let away = ((u128::from(C_2_40) * away * away * away) >> 40) as u64;
        let origin = u64::from(self.origin);
        let target = if t < self.k { origin.saturating_sub(away) } else { origin + away };
        // LINUX cubic-above: above the target the window grows by only 1 % per RTT.
        let cwnd = u64::from(cwnd);
        self.per_segment = narrow(if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd });
        if !self.plateau_known {
            self.per_segment = self.per_segment.min(FLOOR);
        }
    }

    fn keep_up_with_reno(&mut self, cwnd: u32, beta: Ratio) {
        // LINUX cubic-reno: Reno with this beta grows by one per cwnd / alpha; 1/alpha in eighths
        // is 15 for 717/1024.
        let eighths =
            8 * (beta.den() + beta.num()) / 3 / beta.den().saturating_sub(beta.num()).max(1);
        let per = narrow(mul_div(u64::from(cwnd), eighths, 8)).max(1);
        if self.reno_acked > per {
            let steps = (self.reno_acked - 1) / per;
            self.reno_acked -= steps * per;
            self.reno = self.reno.saturating_add(steps);
        }
        if self.reno > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.reno - cwnd));
        }
    }
}
