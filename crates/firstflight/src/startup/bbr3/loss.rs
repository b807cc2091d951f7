//! The response to losses and marks: the upper bound on the volume while probing, short-term bounds
//! otherwise, and undo after a false alarm.

use super::{Bbr3, Flight, NONE, State, Step, Undo};
use crate::event::{Ack, Context, Window};
use crate::signal::delivery::Remembered;
use crate::units::{MAX_BYTES, Ratio, Seq};

/// `BBRStartupFullLossCnt`.
const LOSS_EVENTS: u8 = 6;

/// A loss rate, and the state of the packet that it is looked at from.
#[derive(Clone, Copy, Debug)]
struct Seen {
    tx_in_flight: u64,
    /// Lost since that packet left.
    lost: u64,
    app_limited: bool,
}

impl Seen {
    /// BBR3 too-high: more than the threshold; equality is not.
    fn is_too_high(&self, threshold: Ratio) -> bool {
        // No more than 41 bits each, and a ratio's part has 16.
        self.lost.saturating_mul(threshold.den())
            > self.tx_in_flight.saturating_mul(threshold.num())
    }

    /// `InflightAtLoss`: where, within the last `size` lost bytes, the loss rate went past the
    /// threshold.
    fn inflight_at_loss(&self, size: u64, threshold: Ratio) -> u64 {
        let before = self.tx_in_flight.saturating_sub(size);
        let lost_before = self.lost.saturating_sub(size);
        // (threshold * inflight - lost) / (1 - threshold), not below zero.
        let (num, den) = (threshold.num(), threshold.den());
        let room = (before * num).saturating_sub(lost_before * den);
        before + room / (den - num).max(1)
    }
}

impl Bbr3 {
    fn seen(&self, packet: Remembered<Flight>) -> Seen {
        Seen {
            tx_in_flight: packet.more.inflight.bytes(),
            lost: u64::from(self.lost.wrapping_sub(packet.more.lost)),
            app_limited: packet.app_limited,
        }
    }

    /// State when the packet acknowledged last was sent.
    fn latest(&self) -> Seen {
        self.seen(self.kept[0])
    }

    /// D1: what packet `tx` remembers, or the nearest one that remembers.
    fn remembered(&self, tx: u64) -> Remembered<Flight> {
        let kept = self.kept.iter().find(|mark| mark.is_until(tx)).copied();
        self.delivery.in_flight(tx).or(kept).unwrap_or(self.kept[self.kept.len() - 1])
    }

    /// `HandleLostPacket` for what an ACK or a timer declares lost (D2), and for marks (D3).
    #[inline]
    pub(super) fn note_losses(&mut self, ack: &Ack, cwnd: u64, cx: &Context) {
        if ack.lost > 0 || ack.ce {
            self.count_losses(ack, cwnd, cx);
        }
    }

    fn count_losses(&mut self, ack: &Ack, cwnd: u64, cx: &Context) {
        let unknown = if ack.ce { ack.acked.min(cx.mss) } else { 0 };
        let marked = ack.detail.ce_bytes.filter(|_| ack.ce).unwrap_or(unknown).min(MAX_BYTES);
        let size = ack.lost.min(MAX_BYTES) + marked;
        if size == 0 {
            return;
        }
        // `NoteLoss`: the round of losses begins with the first.
        if !self.is_loss_in_round {
            self.start_loss_round();
            self.save_state_upon_loss(cwnd);
        }
        self.is_loss_in_round = true;
        self.loss_events = self.loss_events.saturating_add(1);
        self.lost = self.lost.wrapping_add(u32::try_from(size).unwrap_or(u32::MAX));
        if !self.is_bw_probe_sample {
            return;
        }
        let packet = self.remembered(ack.tx_lost.or(ack.tx_acked).unwrap_or(0));
        let mut seen = self.seen(packet);
        if seen.is_too_high(self.params.loss) {
            seen.tx_in_flight = seen.inflight_at_loss(size, self.params.loss);
            self.handle_too_high(seen, ack, cwnd, cx);
        }
    }

    /// BBR3 too-high-answer: once per probe, the volume that carried too much is the bound, but no
    /// cut is deeper than beta.
    fn handle_too_high(&mut self, seen: Seen, ack: &Ack, cwnd: u64, cx: &Context) {
        (self.prev_probe_too_high, self.is_bw_probe_sample) = (true, false);
        if !seen.app_limited {
            let least = self.params.beta.of(self.target_inflight(cwnd, cx));
            self.inflight_longterm = seen.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(ack.now);
        }
    }

    /// The loss rate of the last round trip is one that a probe may have.
    pub(super) fn is_safe(&self) -> bool {
        !self.latest().is_too_high(self.params.loss)
    }

    /// `RS.tx_in_flight`.
    pub(super) fn tx_in_flight(&self) -> u64 {
        self.latest().tx_in_flight
    }

    /// BBR3 startup-loss: a round of losses is over in which more than the threshold was lost, in
    /// six places at least.
    pub(super) fn check_startup_loss(&mut self, step: &Step<'_>) {
        let over = step.loss_round_start;
        let high = over && self.loss_events >= LOSS_EVENTS && !self.is_safe();
        if over {
            self.loss_events = 0;
        }
        if high && self.state == State::Startup && !self.full_bw_reached {
            self.undo.state = Some(State::Startup);
            (self.full_bw_reached, self.full_bw_now, self.by_loss) = (true, true, true);
            self.inflight_longterm = self.bdp(1, 1, step.cx).max(self.inflight_latest);
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, once a round.
    pub(super) fn adapt_lower_bounds(&mut self, cwnd: u64) {
        // BBR3 short-term: only while not probing, and never below beta of what it was.
        if core::mem::take(&mut self.is_loss_in_round) && !self.state.is_probing() {
            let bw = if self.bw_shortterm == NONE { self.max_bw() } else { self.bw_shortterm };
            let volume =
                if self.inflight_shortterm == NONE { cwnd } else { self.inflight_shortterm };
            self.bw_shortterm = self.bw_latest.max(self.params.beta.of(bw));
            self.inflight_shortterm = self.inflight_latest.max(self.params.beta.of(volume));
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (NONE, NONE);
    }

    fn save_state_upon_loss(&mut self, cwnd: u64) {
        self.save_cwnd(cwnd);
        self.undo = Undo {
            saved: true,
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// BBR3 rto-1: the controller sets the smallest window; what it was is remembered.
    pub(super) fn enter_timeout(&mut self, nxt: Seq) {
        self.save_state_upon_loss(self.cwnd);
        (self.recovering, self.recover) = (true, nxt);
    }

    /// BBR3 rto-end: everything sent before the timeout is acknowledged (TCP), or something sent
    /// after it (QUIC): the window is what it was, as far as the model allows.
    pub(super) fn end_timeout(&mut self, step: &mut Step<'_>) {
        use crate::event::Transport::{Quic, Tcp};
        if !self.recovering {
            return;
        }
        let una = step.ack.una;
        let over = match step.cx.transport {
            Quic => una > self.recover,
            Tcp => una >= self.recover,
        };
        if over {
            self.recovering = false;
            step.cwnd = step.cwnd.max(self.prior_cwnd);
        }
    }

    /// BBR3 undo-1: the loss was none. Whether there was anything to give back.
    pub(super) fn undo_losses(&mut self, w: &mut Window) -> bool {
        if !self.undo.saved {
            return false;
        }
        let undo = core::mem::take(&mut self.undo);
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        (self.recovering, self.is_loss_in_round) = (false, false);
        self.reset_full_bw(0);
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        let rtt = self.state == State::ProbeRtt;
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if !rtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && !rtt => self.start_refill(),
            _ => {}
        }
        true
    }
}
