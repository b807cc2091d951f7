//! BBR, the whole of it: Startup, Drain, ProbeBW and ProbeRTT. It models the path by its bandwidth,
//! its RTT and the volume that it carries without loss, paces at the measured rate, and goes on to
//! probe for more; no congestion avoidance follows it and no recovery cuts its window.
//!
//! Follows: draft-ietf-ccwg-bbr (3 August 2026), which others call BBRv3; cases of its appendix by
//! name in `tests/it/bbr3.rs`. State: 752 bytes, 408 of them samples.
//!
//! Departures:
//! * D1 (BBR3 samples-1): of a flight six to twelve packets are sampled and not each; losses between two
//!   count from the earlier one. The last three that were reached are kept for losses found later.
//! * D2 (BBR3 batch-1): what one ACK declares lost is one packet of that size to `HandleLostPacket`, as
//!   an offload burst is to the draft. Lost ranges are ACKs that declare losses, as in Linux.
//! * D3 (BBR3 ce-1): marks count as congestion, for which the draft has no form: marked bytes are lost
//!   ones, a packet for a marked ACK where nobody counts them.
//! * D4 (BBR3 random-1): what the draft draws at random comes from a hash of the connection's age and of the bytes
//!   delivered, since no algorithm here has a random source.
//! * D5 (BBR3 full-window): a window or a volume counts as reached if a further packet had not fitted
//!   in just before the ACK; after it there is always room.
//! * D6 (BBR3 aggregation-1): ten rounds of `extra_acked` are two windows of five, as in Linux.
//! * D7 (BBR3 recovery-1): fast recovery changes no window of the draft, so only timeouts save one; QUIC's
//!   persistent congestion is one. Selective ACKs are taken for granted.

mod control;
mod loss;
mod model;
mod probe;

use super::{ExitReason, Grown, Heeds, Pacing, Startup, Status, Verdict};
use crate::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use crate::options::{Range, params};
use crate::signal::delivery::{Delivery, Remembered, Sample};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time};

params! {
    /// The constants of BBR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// `LossThresh`.
        pub loss: Ratio = Ratio::new(1, 50),
            "loss" ["0.001 to 0.5" if |loss: Ratio| 1_000 * loss.num() >= loss.den() && 2 * loss.num() <= loss.den(); Range::Fraction { off: false, low: "0.001", high: "0.5" }]
            "share lost in a round trip above which a probe went too far";
        /// `Beta`.
        pub beta: Ratio = Ratio::new(7, 10),
            "beta" ["0.3 to 1" if |beta: Ratio| 10 * beta.num() >= 3 * beta.den() && beta.num() <= beta.den(); Range::Fraction { off: false, low: "0.3", high: "1" }]
            "the least that a round trip with losses leaves of the short-term model";
        /// `Headroom`.
        pub headroom: Ratio = Ratio::new(3, 20),
            "headroom" ["above 0 to 0.5" if |room: Ratio| 2 * room.num() <= room.den(); Range::Fraction { off: false, low: "0.01", high: "0.5" }]
            "share of the long-term volume left to others while cruising";
        /// Precautionary bandwidth probing.
        pub precaution: bool = true, "precaution" [] "after a probe that lost too much only touch its volume, then try again";
        /// Whether it enters ProbeRTT.
        pub probe_rtt: bool = true, "probertt" [] "drain for 200 ms after 5 s without a smaller RTT";
    }
}

/// State of the algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum State {
    /// Doubles its rate each round.
    #[default]
    Startup,
    /// Lets the queue of Startup drain.
    Drain,
    /// ProbeBW: slower than the path.
    Down,
    /// ProbeBW: as fast as the path.
    Cruise,
    /// ProbeBW: as fast, to fill the pipe before it probes.
    Refill,
    /// ProbeBW: faster than the path.
    Up,
    /// Half a BDP for 200 ms.
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// `ack_phase`: what ACKs say of the last probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    #[default]
    Init,
    Refilling,
    Starting,
    Coming,
    Stopping,
}

/// State kept per packet besides its delivery: bytes in flight, and bytes lost until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flight {
    inflight: Rounded,
    lost: u32,
}

/// An amount of bytes in 27 bits and five for a power of two: exact below 128 MiB, to 15 parts in a
/// thousand million above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rounded(u32);

impl Rounded {
    #[inline]
    fn down(bytes: u64) -> Rounded {
        let bytes = bytes.min(MAX_BYTES);
        let power = (64 - bytes.leading_zeros()).saturating_sub(27);
        Rounded((((bytes >> power) as u32) << 5) | power)
    }

    fn bytes(self) -> u64 {
        u64::from(self.0 >> 5) << (self.0 & 31)
    }
}

/// No bound.
const NONE: u64 = u64::MAX;
/// No time yet.
const NOT_SET: Time = Time(u64::MAX);
/// Most packets of a flight that are sampled.
const MARKS: usize = 12;
/// Reached samples that are kept for losses.
const KEPT: usize = 3;

/// BBR of one connection. Names are those of the draft, but for what stands beside them.
#[derive(Clone, Copy, Debug)]
pub struct Bbr3 {
    params: Params,
    delivery: Delivery<Flight, MARKS>,
    kept: [Remembered<Flight>; KEPT],
    state: State,
    feedback: Feedback,
    /// Loss filled the pipe, not a plateau.
    by_loss: bool,
    /// The end of the first Drain was reported.
    told: bool,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw_count: u8,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    is_loss_in_round: bool,
    /// `loss_events_in_round` of Linux.
    loss_events: u8,
    bw_probe_up_rounds: u8,
    idle_restart: bool,
    probe_rtt_expired: bool,
    probe_rtt_round_done: bool,
    /// A recovery after a timeout lasts until `recover` is acknowledged.
    recovering: bool,
    /// Input of `pacing_rate` besides `bw`, see [`Bbr3::pacing_input`]; 0 is nothing.
    paced_for: u8,
    undo: Undo,
    /// `C.lost`, the lower 32 bits.
    lost: u32,
    round_count: u32,
    drain_start_round: u32,
    rounds_since_probe_up: u32,
    next_round_delivered: u64,
    loss_round_delivered: u64,
    full_bw: u64,
    /// `max_bw_filter`: the last probing cycle and this one.
    bw_filter: [u64; 2],
    bw: u64,
    bw_latest: u64,
    bw_shortterm: u64,
    inflight_latest: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    cycle_stamp: Time,
    bw_probe_wait: Nanos,
    min_rtt: Nanos,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Nanos,
    probe_rtt_min_stamp: Time,
    /// Bytes that `bw` delivers in `min_rtt`.
    volume: u64,
    /// [`NOT_SET`] before half a BDP is in flight.
    probe_rtt_done_stamp: Time,
    recover: Seq,
    /// The window as of the last ACK.
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: u64,
    extra: Extra,
}

/// State that a false alarm restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Undo {
    saved: bool,
    state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

/// `extra_acked`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extra {
    since: Time,
    delivered: u64,
    /// Largest of this window of rounds and of the one before.
    most: [u32; 2],
    rounds: u8,
}

/// One ACK on its way through the steps.
#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    ack: &'a Ack,
    cx: &'a Context,
    sample: Option<Sample>,
    /// The window, as the steps change it.
    cwnd: u64,
    /// `round_start`.
    round_start: bool,
    loss_round_start: bool,
}

impl Step<'_> {
    /// `RS.delivery_rate`, zero if there is none.
    fn rate(&self) -> u64 {
        self.sample.and_then(|sample| sample.rate).map_or(0, |rate| rate.0.min(MAX_RATE))
    }

    fn delivered(&self) -> u64 {
        self.sample.map_or(0, |sample| sample.delivered)
    }
}

/// Beyond any link, so that no product of it with a gain overflows.
const MAX_RATE: u64 = 1 << 50;

impl Bbr3 {
    /// Creates the state of a connection that has sent nothing yet.
    pub fn new(params: Params) -> Bbr3 {
        Bbr3 {
            params,
            delivery: Delivery::default(),
            kept: [Remembered::default(); KEPT],
            state: State::Startup,
            feedback: Feedback::Init,
            by_loss: false,
            told: false,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw_count: 0,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            is_loss_in_round: false,
            loss_events: 0,
            bw_probe_up_rounds: 0,
            idle_restart: false,
            probe_rtt_expired: false,
            probe_rtt_round_done: false,
            recovering: false,
            paced_for: 0,
            undo: Undo::default(),
            lost: 0,
            round_count: 0,
            drain_start_round: 0,
            rounds_since_probe_up: 0,
            next_round_delivered: 0,
            loss_round_delivered: 0,
            full_bw: 0,
            bw_filter: [0; 2],
            bw: 0,
            bw_latest: 0,
            bw_shortterm: NONE,
            inflight_latest: 0,
            inflight_shortterm: NONE,
            inflight_longterm: NONE,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: NONE,
            cycle_stamp: Time(0),
            bw_probe_wait: Nanos::ZERO,
            min_rtt: Nanos::MAX,
            min_rtt_stamp: Time(0),
            probe_rtt_min_delay: Nanos::MAX,
            probe_rtt_min_stamp: Time(0),
            volume: 0,
            probe_rtt_done_stamp: NOT_SET,
            recover: Seq(0),
            cwnd: 0,
            prior_cwnd: 0,
            pacing_rate: 0,
            extra: Extra::default(),
        }
    }

    /// Current state.
    #[doc(hidden)]
    pub fn state(&self) -> State {
        self.state
    }

    /// `max_bw`, bytes per second.
    fn max_bw(&self) -> u64 {
        self.bw_filter[0].max(self.bw_filter[1])
    }

    /// `StartRound`.
    fn start_round(&mut self) {
        self.next_round_delivered = self.delivery.delivered();
        self.delivery.mark_next();
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self, cwnd: u64) {
        let first = !self.recovering && self.state != State::ProbeRtt;
        self.prior_cwnd = if first { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `UpdateModelAndState` and `UpdateControlParameters` for one ACK.
    fn update(&mut self, step: &mut Step<'_>) {
        // Most ACKs reach no packet that is sampled and say nothing of rounds and rates.
        if step.sample.is_some() {
            self.update_latest(step);
            self.update_congestion(step);
            self.update_aggregation(step);
            self.check_full_bw(step);
            self.check_startup_loss(step);
        } else {
            self.update_aggregation(step);
        }
        self.check_startup_done();
        self.check_drain_done(step);
        self.update_cycle(step);
        self.update_min_rtt(step.ack);
        self.check_probe_rtt(step);
        if step.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (step.rate(), step.delivered());
        }
        // BBR3 bw-bound: no more than recent losses allow.
        let bw = self.max_bw().min(self.bw_shortterm);
        if bw != self.bw {
            (self.bw, self.paced_for) = (bw, 0);
            self.note_volume();
        }
        if self.paced_for != self.pacing_input() {
            self.paced_for = self.pacing_input();
            self.set_pacing_rate(self.pacing_gain());
        }
        self.set_cwnd(step);
        self.cwnd = step.cwnd;
    }
}

impl Startup for Bbr3 {
    type Saved = ();

    fn is_whole(&self) -> bool {
        true
    }

    fn start(&mut self, now: Time, _nxt: Seq) {
        self.delivery.start(now);
        self.extra.since = now;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (now, now);
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        if self.min_rtt == Nanos::MAX {
            (self.min_rtt, self.min_rtt_stamp) = (rtt, now);
            self.note_volume();
        }
        if self.pacing_rate == 0 {
            self.init_pacing_rate(rtt, cx);
        }
    }

    fn on_initial_window(&mut self, cx: &Context) {
        if cx.srtt > Nanos::ZERO {
            self.init_pacing_rate(cx.srtt, cx);
        }
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, _cx: &Context) {
        // BBR3 idle-1: nothing is in flight because the application had nothing, for however short a time.
        // After a timeout nothing is, either, and that is no idle period.
        if ready.inflight == 0 && self.delivery.is_limited() && !self.recovering {
            self.restart_from_idle(ready.now, w);
        }
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        // As in `before_send`.
        Heeds { packets: true, ..Heeds::sending(self.delivery.is_limited()) }
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent, _w: Window, cx: &Context) {
        let lost = self.lost;
        self.delivery.mark(sent, cx, || Flight { inflight: Rounded::down(sent.inflight), lost });
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let kept = &mut self.kept;
        let sample = self.delivery.reach(ack, ack.app_limited, &cx.so_far, |mark| {
            kept.rotate_right(1);
            kept[0] = mark;
        });
        let mut step =
            Step { ack, cx, sample, cwnd: w.cwnd, round_start: false, loss_round_start: false };
        self.note_losses(ack, w.cwnd, cx);
        if ack.acked == 0 {
            return Verdict::Stay;
        }
        self.end_timeout(&mut step);
        self.update(&mut step);
        let cwnd = step.cwnd;
        if self.full_bw_reached && self.state.is_probe_bw() && !self.told {
            self.told = true;
            let reason = if self.by_loss { ExitReason::HighLoss } else { ExitReason::Plateau };
            return Verdict::Settle { reason, cwnd, estimate: self.bdp(1, 1, cx) };
        }
        if cwnd == w.cwnd { Verdict::Stay } else { Verdict::Hold { cwnd } }
    }

    fn grow(&mut self, _ack: &Ack, _acked: u64, _w: &mut Window, _cx: &Context) -> Grown {
        // The sample hook has set the window.
        Grown::default()
    }

    fn absorbs(&mut self, _signal: Signal, ack: &Ack, cx: &Context) -> bool {
        // BBR3 loss-absorbed: the model answers. The sample hook has seen those of ACKs, and does not run for a timer.
        if cx.so_far.is_timer(ack) {
            self.note_losses(ack, self.cwnd, cx);
        }
        true
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, nxt: Seq) {
        self.enter_timeout(nxt);
    }

    fn false_alarm(&mut self, w: &mut Window) -> bool {
        self.undo_losses(w)
    }

    fn pacing(&self) -> Pacing {
        if self.pacing_rate > 0 { Pacing::Rate(Rate(self.pacing_rate)) } else { Pacing::default() }
    }

    fn status(&self) -> Status {
        let phase = match self.state {
            State::Drain => Phase::Drain,
            _ if self.full_bw_reached => Phase::Avoidance,
            _ => Phase::Startup,
        };
        Status { phase, rounds: Some(self.round_count), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("bbr_state", self.state as u64);
        visit("bbr_max_bw", self.max_bw());
        visit("bbr_bw", self.bw);
        visit("bbr_min_rtt", self.min_rtt.0);
        visit("bbr_rounds", u64::from(self.round_count));
        visit("bbr_full_count", u64::from(self.full_bw_count));
        visit("bbr_extra_acked", self.extra_acked());
        for (name, bound) in [
            ("bbr_bw_shortterm", self.bw_shortterm),
            ("bbr_inflight_shortterm", self.inflight_shortterm),
            ("bbr_inflight_longterm", self.inflight_longterm),
        ] {
            if bound != NONE {
                visit(name, bound);
            }
        }
    }
}
