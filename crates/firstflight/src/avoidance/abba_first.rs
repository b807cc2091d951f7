//! ABBA's first version: where growth is faster than CUBIC's, and when slow start measures anew.
//!
//! What a full queue makes of the round trip is seen where a slow start ended, what an empty one makes
//! of it in the periods between cuts. Growth is faster while samples are at the bottom and the two are
//! more than 10 ms apart: as much per round trip as queues 2 ms. If the queue does not come back in
//! twice the time that CUBIC would take to fill it, slow start looks for the top again. Follows:
//! draft-kazuho-ccwg-abba (author's copy of 7 September 2026; replaced by the linear model of
//! [`super::abba_model`] eleven days later), sections 4 and 5. State: 64 bytes.
//!
//! Round trips are whole microseconds below 2^31 as in the linear model.

use super::abba_model::micros;
use super::cubic_curve::{icbrt, k_us};
use crate::event::{Ack, Signal};
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

/// ABBA1 4-gate: how far top and bottom of the queue have to be apart, microseconds.
pub const APART_US: u32 = 10_000;

/// ABBA1 4-threshold: what counts as the bottom, above the smallest samples, and ABBA1 4-ratio: what a
/// round trip of growth queues; microseconds.
const STEP_US: u32 = 2_000;

/// ABBA1 5.2-update: the variance that the first period starts with, microseconds.
const FIRST_VARIANCE_US: u32 = 5_000;

/// What ABBA's first version has seen of the queue. A round trip of zero is none.
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
    /// The smallest of the connection.
    min_us: u32,
    latest_us: u32,
    /// The smoothed round trip with the last ACK, and before it.
    srtt_us: u32,
    prior_srtt_us: u32,
    /// What [`grow`](Self::grow) left over.
    pub(super) carry: u32,
    /// The open or the last recovery ended a slow start.
    from_slow_start: bool,
    /// The last cut was for marks.
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

    /// ABBA1 3-bottom: the round trip of an empty queue, as recent periods and this one show it.
    pub fn bottom(&self) -> u32 {
        let past = self.smoothed_us.saturating_sub(self.variance_us).max(self.min_us);
        sooner(self.period_us, past)
    }

    /// ABBA1 4-threshold: samples below it find the queue drained; `None` before the first period is
    /// over, which keeps the first slow start out.
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
        // ABBA1 5.2-sample: in recovery the window is on its way down.
        if !in_recovery {
            self.period_us = sooner(self.period_us, self.latest_us);
        }
    }

    /// One ACK, before it is acted on.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        (self.now, self.prior_srtt_us) = (ack.now, self.srtt_us);
        if let Some(srtt) = ack.srtt {
            self.srtt_us = micros(srtt);
        }
        // ABBA1 5.3-marks: also in recovery; losses are no sign of a queue.
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

    /// Growth begins anew.
    pub(super) fn begin_epoch(&mut self) {
        (self.cwnd_epoch, self.carry) = (0, 0);
    }

    /// A recovery is over, with the ACK of which was told just now.
    pub(super) fn on_recovery_end(&mut self) {
        // ABBA1 5.1-full: that ACK is of a packet sent with the smaller window; the smoothed round trip
        // before it is the full queue's.
        if core::mem::take(&mut self.from_slow_start) && self.prior_srtt_us > 0 {
            (self.full_us, self.last_high) = (self.prior_srtt_us, self.now);
        }
    }

    /// ABBA1 3-undo: what of `saved` a false alarm gives back: all but when a queue was seen, and what is
    /// of this moment.
    pub(super) fn restored(&self, saved: Queue) -> Queue {
        let Queue { last_high, now, min_us, latest_us, srtt_us, prior_srtt_us, .. } = *self;
        Queue { last_high, now, min_us, latest_us, srtt_us, prior_srtt_us, ..saved }
    }

    /// A sample in congestion avoidance whose window was the limit: whether the queue has stayed away
    /// for so long that its top has to be looked for again. `beta` is of losses.
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

    /// ABBA1 5.3-interval: how long a flow takes to fill the queue again, CUBIC's way or Reno's, in
    /// microseconds; `None` while no top is known.
    fn interval_us(&self, mss: u64, beta: Ratio) -> Option<u128> {
        let (full, bottom) = (self.full()?, self.bottom().max(1));
        let epoch = self.cwnd_epoch.min(MAX_BYTES);
        let prior = (u128::from(epoch) * u128::from(beta.den()) / u128::from(beta.num().max(1)))
            .min(u128::from(MAX_BYTES)) as u64;
        let cubic = u128::from(k_us(prior, epoch, mss));
        // So many segments, alpha = 3(1 - beta)/(1 + beta) of them per round trip.
        let away = u128::from(prior.saturating_sub(epoch)) * u128::from(beta.den() + beta.num());
        let per_rtt =
            u128::from(mss.max(1)) * 3 * u128::from(beta.den().saturating_sub(beta.num()).max(1));
        let reno = away * u128::from(full) / per_rtt;
        // The cube root of their ratio, in parts of 2^20.
        let root = u128::from(icbrt((u128::from(full) << 60) / u128::from(bottom)));
        Some((cubic.min(reno) * root) >> 20)
    }

    /// Bytes that `acked` of them grow the window by; `None` where growth is not faster. `beta` is of
    /// the signal that cut last.
    pub(super) fn grow(&self, acked: u64, beta: Ratio, carry: &mut u32) -> Option<u64> {
        let (full, threshold) = (u64::from(self.full()?), self.threshold()?);
        // ABBA1 4-gate: the ends of the queue can be told apart, there is room below the top, and the
        // queue is drained.
        let apart = full > u64::from(self.bottom()) + u64::from(APART_US);
        let room = 20 * full > 21 * u64::from(self.latest_us);
        if !(apart && room && self.latest_us < threshold) {
            return None;
        }
        // ABBA1 4-ratio: 2 ms of queue per round trip, at least a fortieth of the window, at most half
        // of what would take the cut back.
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
