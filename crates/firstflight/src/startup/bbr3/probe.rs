//! Its states and when they change: Startup, Drain, the cycle of ProbeBW, ProbeRTT.

use super::{Bbr3, Feedback, NONE, NOT_SET, State, Step};
use crate::event::{Context, Window};
use crate::units::{MAX_BYTES, Nanos, Time};

/// Rounds after which Drain ends whatever is in flight.
const DRAIN_ROUNDS: u32 = 3;
/// `ProbeRTTDuration`.
const PROBE_RTT: Nanos = Nanos::from_millis(200);
/// The most rounds between two probes.
const RENO_ROUNDS: u64 = 63;

impl Bbr3 {
    /// BBR3 startup-done: the pipe is full, by a plateau or by losses.
    pub(super) fn check_startup_done(&mut self) {
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// BBR3 drain-done: the queue is gone, or three rounds are over.
    pub(super) fn check_drain_done(&mut self, step: &Step<'_>) {
        let long = self.round_count > self.drain_start_round.saturating_add(DRAIN_ROUNDS);
        if self.state == State::Drain && (step.ack.inflight <= self.inflight(step.cx) || long) {
            self.start_down(step.ack.now);
        }
    }

    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = NONE;
        self.pick_probe_wait(now);
        self.cycle_stamp = now;
        self.feedback = Feedback::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    /// BBR3 wait-1: two to three seconds, and none or one of the rounds is over already (D4).
    fn pick_probe_wait(&mut self, now: Time) {
        let hash = mix(self.delivery.age(now).0 ^ self.delivery.delivered().rotate_left(32));
        self.rounds_since_probe_up = (hash & 1) as u32;
        self.bw_probe_wait = Nanos::from_secs(2) + Nanos((hash >> 1) % 1_000_000_001);
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0);
        self.prev_probe_precautionary = false;
        self.feedback = Feedback::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, step: &Step<'_>) {
        self.feedback = Feedback::Starting;
        self.start_round();
        self.reset_full_bw(step.rate());
        self.state = State::Up;
        self.raise_slope(step);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, step: &Step<'_>) {
        if !self.full_bw_reached || self.adapt_long_term(step) {
            return;
        }
        if self.state == State::Up && self.is_time_to_go_down(step) {
            self.prev_probe_too_high = false;
            return self.start_down(step.ack.now);
        }
        match self.state {
            State::Down | State::Cruise => {
                if self.is_time_to_probe(step) {
                    self.start_refill();
                } else if self.state == State::Down && self.is_time_to_cruise(step) {
                    self.state = State::Cruise;
                }
            }
            // BBR3 refill-1: one round, so that the probe begins with a full pipe.
            State::Refill if step.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(step);
            }
            _ => {}
        }
    }

    /// BBR3 time-scale: after a time, or when Reno would have grown by the same amount.
    fn is_time_to_probe(&self, step: &Step<'_>) -> bool {
        let (rounds, mss) = (u64::from(self.rounds_since_probe_up), step.cx.mss.max(1));
        // As many rounds as whole packets fit into the target.
        step.ack.now.since(self.cycle_stamp) > self.bw_probe_wait
            || rounds >= RENO_ROUNDS
            || (rounds + 1) * mss > self.target_inflight(step.cwnd, step.cx)
    }

    /// BBR3 cruise-1: no queue is left, and there is room for others.
    fn is_time_to_cruise(&self, step: &Step<'_>) -> bool {
        let (inflight, cx) = (step.ack.inflight, step.cx);
        inflight <= self.inflight_with_headroom(cx)
            && inflight <= self.quantized(self.most_volume(cx), cx)
    }

    /// BBR3 down-1: the rate stays constant, or the volume that lost too much last time is reached
    /// (BBR3 precaution-1).
    fn is_time_to_go_down(&mut self, step: &Step<'_>) -> bool {
        let before = step.ack.inflight_before.saturating_add(step.cx.mss);
        let reached = before > self.inflight_longterm;
        if self.params.precaution && self.prev_probe_too_high && reached {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.fills_long_term(step) {
            self.reset_full_bw(step.rate().max(self.full_bw));
            return false;
        }
        self.full_bw_now
    }

    /// The window is full, and it is the long-term volume that bounds it (D5).
    fn fills_long_term(&self, step: &Step<'_>) -> bool {
        let full = step.ack.inflight_before.saturating_add(step.cx.mss) > step.cwnd;
        full && step.cwnd >= self.inflight_longterm
    }

    /// `RaiseInflightLongtermSlope`: twice as fast in each further round.
    fn raise_slope(&mut self, step: &Step<'_>) {
        let growth = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (step.cwnd / growth).max(step.cx.mss).max(1);
    }

    /// BBR3 grow-1: by a packet, then two, four, eight, spread over a round each.
    fn probe_upward(&mut self, step: &Step<'_>) {
        if !self.fills_long_term(step) {
            return;
        }
        self.bw_probe_up_acked = self.bw_probe_up_acked.saturating_add(step.ack.acked);
        let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked %= self.probe_up_acked_per_inc;
        let grown = self.inflight_longterm.saturating_add(delta.saturating_mul(step.cx.mss));
        self.inflight_longterm = grown.min(MAX_BYTES);
        if step.round_start {
            self.raise_slope(step);
        }
    }

    /// `AdaptLongTermModel`; whether it has chosen a state.
    fn adapt_long_term(&mut self, step: &Step<'_>) -> bool {
        if self.feedback == Feedback::Starting && step.round_start {
            self.feedback = Feedback::Coming;
        }
        if self.feedback == Feedback::Stopping && step.round_start {
            self.is_bw_probe_sample = false;
            self.feedback = Feedback::Init;
            if self.ends_probe_cycle(step) {
                self.advance_max_bw_filter();
            }
            // BBR3 precaution-again: the touch went well, so now the whole probe.
            let again = self.prev_probe_precautionary && !self.prev_probe_too_high;
            if self.state.is_probe_bw() && again {
                self.start_refill();
                return true;
            }
        }
        if self.inflight_longterm != NONE && self.is_safe() {
            // BBR3 long-term-up.
            self.inflight_longterm = self.inflight_longterm.max(self.tx_in_flight());
            if self.state == State::Up {
                self.probe_upward(step);
            }
        }
        false
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, step: &mut Step<'_>) {
        let due = self.probe_rtt_expired && !self.idle_restart && self.params.probe_rtt;
        if self.state != State::ProbeRtt && due {
            // BBR3 probe-rtt: five seconds without a smaller RTT.
            self.save_cwnd(step.cwnd);
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = NOT_SET;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(step);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, step: &mut Step<'_>) {
        // Rates of so small a flight say nothing of the path.
        self.delivery.limit(step.ack.inflight);
        if self.probe_rtt_done_stamp != NOT_SET {
            self.probe_rtt_round_done |= step.round_start;
            if self.probe_rtt_round_done && self.check_probe_rtt_done(step.ack.now) {
                step.cwnd = step.cwnd.max(self.prior_cwnd);
            }
        } else if step.ack.inflight <= self.probe_rtt_cwnd(step.cx) {
            self.probe_rtt_done_stamp = step.ack.now + PROBE_RTT;
            self.probe_rtt_round_done = false;
            self.start_round();
        }
    }

    /// BBR3 probe-rtt-done: 200 ms and a round with no more than half a BDP in flight.
    fn check_probe_rtt_done(&mut self, now: Time) -> bool {
        let done = now > self.probe_rtt_done_stamp;
        if done {
            self.probe_rtt_min_stamp = now;
            self.reset_short_term();
            if self.full_bw_reached {
                self.start_down(now);
                self.state = State::Cruise;
            } else {
                self.state = State::Startup;
            }
        }
        done
    }

    /// `HandleRestartFromIdle`.
    pub(super) fn restart_from_idle(&mut self, now: Time, w: &mut Window) {
        self.idle_restart = true;
        self.extra.since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate((1, 1));
            self.paced_for = 0;
        } else if self.state == State::ProbeRtt && self.check_probe_rtt_done(now) {
            w.cwnd = w.cwnd.max(self.prior_cwnd);
        }
    }

    /// `TargetInflight`: the BDP, unless the window is smaller.
    pub(super) fn target_inflight(&self, cwnd: u64, cx: &Context) -> u64 {
        self.bdp(1, 1, cx).min(cwnd)
    }
}

/// Bits that look random (the finalizer of SplitMix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
