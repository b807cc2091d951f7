//! The model of the path: rounds, bandwidth, the full pipe, smallest RTT, aggregation.

use super::{Bbr3, State, Step};
use crate::event::Ack;
use crate::units::{MAX_BYTES, Nanos, Rate};

/// `MinRTTFilterLen`.
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
/// `ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Nanos = Nanos::from_secs(5);
/// Rounds in one of two windows of `extra_acked` once the pipe was full.
const EXTRA_ROUNDS: u8 = 5;

impl Bbr3 {
    /// `UpdateLatestDeliverySignals`: the most that one sample of this round delivered.
    pub(super) fn update_latest(&mut self, step: &mut Step<'_>) {
        self.bw_latest = self.bw_latest.max(step.rate());
        self.inflight_latest = self.inflight_latest.max(step.delivered());
        let begins =
            step.sample.is_some_and(|sample| sample.prior_delivered >= self.loss_round_delivered);
        if begins {
            self.start_loss_round();
            step.loss_round_start = true;
        }
    }

    /// It ends with the first packet that leaves from now on.
    pub(super) fn start_loss_round(&mut self) {
        self.loss_round_delivered = self.delivery.delivered();
        self.delivery.mark_next();
    }

    /// `UpdateCongestionSignals`: rounds and bandwidth on every ACK, losses once a round.
    pub(super) fn update_congestion(&mut self, step: &mut Step<'_>) {
        self.update_round(step);
        self.update_max_bw(step);
        if step.loss_round_start {
            self.adapt_lower_bounds(step.cwnd);
        }
    }

    /// BBR3 round-1: it begins with the first ACK of a packet sent after the last one began.
    fn update_round(&mut self, step: &mut Step<'_>) {
        let begins =
            step.sample.is_some_and(|sample| sample.prior_delivered >= self.next_round_delivered);
        if begins {
            self.start_round();
            self.round_count = self.round_count.saturating_add(1);
            self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1);
            step.round_start = true;
        }
    }

    /// BBR3 max-bw: what the application limited counts only if it is more.
    fn update_max_bw(&mut self, step: &Step<'_>) {
        let rate = step.rate();
        let limited = step.sample.is_none_or(|sample| sample.app_limited);
        if rate > 0 && (!limited || rate >= self.max_bw()) {
            self.bw_filter[1] = self.bw_filter[1].max(rate);
        }
    }

    /// BBR3 max-bw-window: two cycles of probing. A cycle without samples does not count.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.bw_filter[1] > 0 {
            self.bw_filter = [self.bw_filter[1], 0];
        }
    }

    /// `ResetFullBW`, with this as the rate to grow from.
    pub(super) fn reset_full_bw(&mut self, full_bw: u64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (full_bw, 0, false);
    }

    /// BBR3 full-1: three rounds that the application did not limit and in which the rate has not
    /// grown by a quarter.
    pub(super) fn check_full_bw(&mut self, step: &Step<'_>) {
        let limited = step.sample.is_none_or(|sample| sample.app_limited);
        let rate = step.rate();
        // A round whose first sample has no rate says nothing.
        if self.full_bw_now || !step.round_start || limited || rate == 0 {
            return;
        }
        if u128::from(rate) * 4 >= u128::from(self.full_bw) * 5 {
            return self.reset_full_bw(rate);
        }
        self.full_bw_count = self.full_bw_count.saturating_add(1);
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// BBR3 extra-1: what is acknowledged beyond the bandwidth since ACKs last fell behind it.
    pub(super) fn update_aggregation(&mut self, step: &Step<'_>) {
        let (extra, now) = (&mut self.extra, step.ack.now);
        if step.round_start {
            extra.rounds = extra.rounds.saturating_add(1);
            // D6.
            if extra.rounds >= if self.full_bw_reached { EXTRA_ROUNDS } else { 1 } {
                (extra.rounds, extra.most) = (0, [0, extra.most[0]]);
            }
        }
        let mut expected = Rate(self.bw).bytes_in(now.since(extra.since));
        if extra.delivered <= expected {
            (extra.since, extra.delivered, expected) = (now, 0, 0);
        }
        extra.delivered = extra.delivered.saturating_add(step.ack.acked);
        let beyond = extra.delivered.saturating_sub(expected).min(step.cwnd);
        extra.most[0] = extra.most[0].max(u32::try_from(beyond).unwrap_or(u32::MAX));
    }

    pub(super) fn extra_acked(&self) -> u64 {
        u64::from(self.extra.most[0].max(self.extra.most[1]))
    }

    /// BBR3 min-rtt: the smallest RTT of ten seconds, and the smallest of five seconds, which ProbeRTT uses.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        self.probe_rtt_expired = now.since(self.probe_rtt_min_stamp) > PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, now);
        }
        let expired = now.since(self.min_rtt_stamp) > MIN_RTT_WINDOW;
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) =
                (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
            self.note_volume();
        }
    }

    /// After every change of `bw` and `min_rtt`.
    pub(super) fn note_volume(&mut self) {
        self.volume = self.volume_at(self.bw);
    }

    /// The bytes that `bw` delivers in the smallest RTT.
    pub(super) fn volume_at(&self, bw: u64) -> u64 {
        Rate(bw).bytes_in(self.min_rtt).min(MAX_BYTES)
    }

    /// In a state of ProbeBW, and this ACK shows a round that is not the application's.
    pub(super) fn ends_probe_cycle(&self, step: &Step<'_>) -> bool {
        self.state.is_probe_bw() && step.sample.is_some_and(|sample| !sample.app_limited)
    }

    /// `EnterDrain`.
    pub(super) fn enter_drain(&mut self) {
        (self.state, self.drain_start_round) = (State::Drain, self.round_count);
    }
}
