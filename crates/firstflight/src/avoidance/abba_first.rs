//! ABBA's first version: when growth is faster than CUBIC's, and when slow start measures again.
//!
//! The round trip with a full queue is measured where a slow start ended, the round trip with an
//! empty queue in the periods between cuts. Growth is faster while samples are at the bottom and
//! the two are more than 10 ms apart: per round trip it adds 2 ms of queue. If the queue does not
//! return within twice the time that CUBIC would take to fill it, slow start measures the top
//! again. Follows: draft-kazuho-ccwg-abba (author's copy of 7 September 2026; replaced by the
//! linear model of [`super::abba_model`] eleven days later), sections 4 and 5. State: 64 bytes.
//!
//! Round trips are whole microseconds below 2^31 as in the linear model.

use super::abba_model::micros;
use super::cubic_curve::{icbrt, k_us};
use crate::event::{Ack, Signal};
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

/// ABBA1 4-gate: least distance between top and bottom of the queue, in microseconds.
pub const APART_US: u32 = 10_000;

/// ABBA1 4-threshold: samples up to this far above the smallest count as the bottom; ABBA1 4-ratio:
/// queueing delay that a round trip of growth adds; in microseconds.
const STEP_US: u32 = 2_000;

/// ABBA1 5.2-update: the variance that the first period starts with, microseconds.
const FIRST_VARIANCE_US: u32 = 5_000;

/// The queue as observed by ABBA's first version. A round trip of zero means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// `last_high_queue_at`.
    last_high: Time,
    /// The last ACK.
    now: Time,
    /// The window at the start of the epoch, bytes; zero before its first growth.
    cwnd_epoch: u64,
    /// `full_rtt`.
    full_us: u32,
    /// `cur_period_min`.
    period_us: u32,
    /// `past_periods_min`.
    smoothed_us: u32,
    variance_us: u32,
    /// Smallest round trip of the connection.
    min_us: u32,
    latest_us: u32,
    /// The smoothed round trip with the last ACK, and before it.
    srtt_us: u32,
    prior_srtt_us: u32,
    /// Remainder of [`grow`](Self::grow).
    pub(super) carry: u32,
    /// Whether the open or the last recovery ended a slow start.
    from_slow_start: bool,
    /// Whether the last cut was for marks.
    pub(super) by_ecn: bool,
}

fn sooner(known: u32, sample: u32) -> u32 {
    if known == 0 { sample } else { known.min(sample) }
}

impl Queue {
    /// `full_rtt`: the smoothed round trip where the last slow start ended.
    pub fn full(&self) -> Option<u32> {
        (self.full_us > 0).then_some(self.full_us)
    }

    /// ABBA1 3-bottom: the round trip with an empty queue, estimated from recent periods and the
    /// current one.
    pub fn bottom(&self) -> u32 {
        let past = self.smoothed_us.saturating_sub(self.variance_us).max(self.min_us);
        sooner(self.period_us, past)
    }

    /// ABBA1 4-threshold: samples below it mean a drained queue; `None` before the first period is
    /// over, which excludes the first slow start.
    pub fn threshold(&self) -> Option<u32> {
        if self.smoothed_us == 0 {
            return None;
        }
        let estimated = self.smoothed_us.saturating_sub(self.variance_us / 2);
        let threshold = estimated.max(self.min_us.saturating_add(STEP_US));
        Some(match self.period_us {
            0 => threshold,
            period => threshold.min(period.saturating_add(STEP_US)),
        })
    }

    /// A raw sample.
    pub(super) fn on_rtt(&mut self, rtt: Nanos, in_recovery: bool) {
        self.latest_us = micros(rtt).max(1);
        self.min_us = sooner(self.min_us, self.latest_us);
        // ABBA1 5.2-sample: in recovery the window is still shrinking.
        if !in_recovery {
            self.period_us = sooner(self.period_us, self.latest_us);
        }
    }

    /// One ACK, before it is processed.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        (self.now, self.prior_srtt_us) = (ack.now, self.srtt_us);
        if let Some(srtt) = ack.srtt {
            self.srtt_us = micros(srtt);
        }
        // ABBA1 5.3-marks: also in recovery; losses do not indicate a queue.
        if ack.ce {
            self.last_high = ack.now;
        }
    }

    /// A congestion event, timeouts included.
    pub(super) fn on_cut(&mut self, signal: Signal, from_slow_start: bool) {
        // ABBA1 5.2-update.
        let sample = core::mem::take(&mut self.period_us);
        if sample > 0 && self.smoothed_us == 0 {
            (self.smoothed_us, self.variance_us) = (sample, FIRST_VARIANCE_US);
        } else if sample > 0 {
            let part = |kept: u32, parts: u64, new: u32, of: u64| {
                ((u64::from(kept) * parts + u64::from(new)) / of) as u32
            };
            self.variance_us = part(self.variance_us, 3, self.smoothed_us.abs_diff(sample), 4);
            self.smoothed_us = part(self.smoothed_us, 7, sample, 8).max(1);
        }
        (self.from_slow_start, self.by_ecn) = (from_slow_start, signal == Signal::Ecn);
        self.begin_epoch();
    }

    /// Growth restarts.
    pub(super) fn begin_epoch(&mut self) {
        (self.cwnd_epoch, self.carry) = (0, 0);
    }

    /// A recovery is over; its last ACK has just been reported.
    pub(super) fn on_recovery_end(&mut self) {
        // ABBA1 5.1-full: that ACK is for a packet sent with the smaller window; the smoothed round
        // trip before it is that of the full queue.
        if core::mem::take(&mut self.from_slow_start) && self.prior_srtt_us > 0 {
            (self.full_us, self.last_high) = (self.prior_srtt_us, self.now);
        }
    }

    /// ABBA1 3-undo: the state after a false alarm: `saved`, except for the time a queue was last
    /// seen and current measurements.
    pub(super) fn restored(&self, saved: Queue) -> Queue {
        let Queue { last_high, now, min_us, latest_us, srtt_us, prior_srtt_us, .. } = *self;
        Queue { last_high, now, min_us, latest_us, srtt_us, prior_srtt_us, ..saved }
    }

    /// Whether the queue has been absent for so long that its top must be measured again. Called
    /// for a sample in congestion avoidance with the window as the limit. `beta` is the factor for
    /// losses.
    pub(super) fn is_stale(&mut self, cwnd: u64, mss: u64, beta: Ratio) -> bool {
        if self.cwnd_epoch == 0 {
            self.cwnd_epoch = cwnd;
        }
        // ABBA1 5.3-high.
        if self.srtt_us >= self.bottom().saturating_add(APART_US) {
            self.last_high = self.now;
            return false;
        }
        let Some(interval) = self.interval_us(mss, beta) else { return false };
        // ABBA1 5.3-twice.
        u128::from(self.now.since(self.last_high).micros()) >= 2 * interval
    }

    /// ABBA1 5.3-interval: time that a flow takes to fill the queue again, growing like CUBIC or
    /// Reno, in microseconds; `None` while no top is known.
    fn interval_us(&self, mss: u64, beta: Ratio) -> Option<u128> {
        let (full, bottom) = (self.full()?, self.bottom().max(1));
        let epoch = self.cwnd_epoch.min(MAX_BYTES);
        let prior = (u128::from(epoch) * u128::from(beta.den()) / u128::from(beta.num().max(1)))
            .min(u128::from(MAX_BYTES)) as u64;
        let cubic = u128::from(k_us(prior, epoch, mss));
        // The distance in segments, with alpha = 3(1 - beta)/(1 + beta) segments per round trip.
        let away = u128::from(prior.saturating_sub(epoch)) * u128::from(beta.den() + beta.num());
        let per_rtt =
            u128::from(mss.max(1)) * 3 * u128::from(beta.den().saturating_sub(beta.num()).max(1));
        let reno = away * u128::from(full) / per_rtt;
        // The cube root of their ratio, in parts of 2^20.
        let root = u128::from(icbrt((u128::from(full) << 60) / u128::from(bottom)));
        Some((cubic.min(reno) * root) >> 20)
    }

    /// Bytes by which the window grows when `acked` bytes are acknowledged; `None` if growth is not
    /// faster. `beta` is the factor for the signal of the last cut.
    pub(super) fn grow(&self, acked: u64, beta: Ratio, carry: &mut u32) -> Option<u64> {
        let (full, threshold) = (u64::from(self.full()?), self.threshold()?);
        // ABBA1 4-gate: top and bottom of the queue are distinguishable, there is room below the
        // top, and the queue is drained.
        let apart = full > u64::from(self.bottom()) + u64::from(APART_US);
        let room = 20 * full > 21 * u64::from(self.latest_us);
        if !(apart && room && self.latest_us < threshold) {
            return None;
        }
        // ABBA1 4-ratio: 2 ms of queue per round trip, at least a fortieth of the window, at most
        // half of the growth that would undo the cut.
        let (num, den) = if threshold <= 40 * STEP_US {
            (u64::from(STEP_US), u64::from(threshold.max(1)))
        } else {
            (1, 40)
        };
        let most = (beta.den().saturating_sub(beta.num()), 2 * beta.num().max(1));
        let (num, den) = if num * most.1 > most.0 * den { most } else { (num, den) };
        let sum = u128::from(acked.min(MAX_BYTES)) * u128::from(num) + u128::from(*carry);
        *carry = (sum % u128::from(den)) as u32;
        Some((sum / u128::from(den)) as u64)
    }
}
