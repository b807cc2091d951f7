//! The pacing rate and the window that follow from the model.

use super::{Bbr3, NONE, State, Step};
use crate::event::{Context, Transport};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, mul_div};

/// `StartupPacingGain`, 4 ln 2.
const STARTUP_GAIN: (u64, u64) = (277, 100);
/// `PacingMarginPercent`: pace at 99 % of what was computed.
const MARGIN: Ratio = Ratio::new(99, 100);
/// `MinPipeCwnd` in packets.
const MIN_PIPE: u64 = 4;
/// The largest send quantum.
const MAX_QUANTUM: u64 = 65_536;

impl Bbr3 {
    /// BBR3 gains-1: of the pacing rate in each state.
    pub(super) fn pacing_gain(&self) -> (u64, u64) {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => (1, 2),
            State::Down => (9, 10),
            State::Cruise | State::Refill | State::ProbeRtt => (1, 1),
            State::Up => (5, 4),
        }
    }

    /// BBR3 gains-1: of the window.
    fn cwnd_gain(&self) -> (u64, u64) {
        match self.state {
            State::Up => (9, 4),
            State::ProbeRtt => (1, 2),
            _ => (2, 1),
        }
    }

    /// BBR3 pace-init: the initial window per round trip.
    pub(super) fn init_pacing_rate(&mut self, rtt: Nanos, cx: &Context) {
        let (num, den) = STARTUP_GAIN;
        let rate = Rate::from_bytes_over(cx.iw.saturating_mul(num), rtt * den);
        (self.pacing_rate, self.paced_for) = (rate.map_or(0, |rate| rate.0), 0);
    }

    /// The state, and whether the pipe was full: what the pacing rate follows beside the bandwidth.
    pub(super) fn pacing_input(&self) -> u8 {
        1 + 2 * self.state as u8 + u8::from(self.full_bw_reached)
    }

    /// BBR3 pace-1: never slower before the pipe was full.
    pub(super) fn set_pacing_rate(&mut self, (num, den): (u64, u64)) {
        if self.bw == 0 {
            // No sample had a rate.
            return;
        }
        let rate = MARGIN.of(mul_div(self.bw, num, den)).max(1);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Share `num / den` of the BDP, from the bandwidth in use.
    pub(super) fn bdp(&self, num: u64, den: u64, cx: &Context) -> u64 {
        if self.min_rtt == Nanos::MAX { cx.iw } else { mul_div(self.volume, num, den) }
    }

    /// The same of the largest bandwidth.
    pub(super) fn most_volume(&self, cx: &Context) -> u64 {
        if self.min_rtt == Nanos::MAX { cx.iw } else { self.volume_at(self.max_bw()) }
    }

    /// BBR3 budget-1: three send quanta in TCP, one in QUIC.
    fn offload_budget(&self, cx: &Context) -> u64 {
        let quantum = (self.pacing_rate / 1_000).min(MAX_QUANTUM).max(2 * cx.mss);
        match cx.transport {
            Transport::Tcp => 3 * quantum,
            Transport::Quic => quantum,
        }
    }

    fn least(cx: &Context) -> u64 {
        MIN_PIPE * cx.mss
    }

    /// `QuantizationBudget`.
    pub(super) fn quantized(&self, inflight: u64, cx: &Context) -> u64 {
        let more = if self.state == State::Up { 2 * cx.mss } else { 0 };
        inflight.max(self.offload_budget(cx)).max(Bbr3::least(cx)) + more
    }

    /// `Inflight(1.0)`.
    pub(super) fn inflight(&self, cx: &Context) -> u64 {
        self.quantized(self.bdp(1, 1, cx), cx)
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self, cx: &Context) -> u64 {
        self.bdp(1, 2, cx).max(Bbr3::least(cx))
    }

    /// BBR3 headroom-1: the long-term volume less what is left to others, a packet at least.
    pub(super) fn inflight_with_headroom(&self, cx: &Context) -> u64 {
        if self.inflight_longterm == NONE {
            return NONE;
        }
        let headroom = self.params.headroom.of(self.inflight_longterm).max(cx.mss);
        self.inflight_longterm.saturating_sub(headroom).max(Bbr3::least(cx))
    }

    /// BBR3 cwnd-1: by what is acknowledged up to what the model allows; not bounded by it while next
    /// to nothing is known.
    pub(super) fn set_cwnd(&self, step: &mut Step<'_>) {
        let (cx, (num, den)) = (step.cx, self.cwnd_gain());
        let most = self.quantized(self.bdp(num, den, cx) + self.extra_acked(), cx);
        let grown = step.cwnd.saturating_add(step.ack.acked);
        if self.full_bw_reached {
            step.cwnd = grown.min(most);
        } else if step.cwnd < most || self.delivery.delivered() < cx.iw {
            step.cwnd = grown;
        }
        let mut cwnd = step.cwnd.max(Bbr3::least(cx));
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd(cx));
        }
        step.cwnd = cwnd.min(self.cap(cx)).min(MAX_BYTES);
    }

    /// `BoundCwndForModel`: what losses allow, at long and at short term.
    fn cap(&self, cx: &Context) -> u64 {
        let long = match self.state {
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(cx),
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Startup | State::Drain => NONE,
        };
        long.min(self.inflight_shortterm).max(Bbr3::least(cx))
    }
}
