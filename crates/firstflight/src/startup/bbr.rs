//! BBR's startup: pace at 2.77 times the measured delivery rate until it stops growing or too much
//! is lost, drain the queue, and leave with the estimated BDP.
//!
//! Follows: draft-ietf-ccwg-bbr (3 August 2026), Startup and Drain with the parts of the model that
//! they need; the tests of its appendix are in `tests/it/bbr.rs` by name. After Drain the arm's
//! congestion avoidance follows, not ProbeBW. State: 512 bytes, 376 of them samples.
//!
//! Departures:
//! * D1 (BBR loss-ranges): lost ranges are counted as ACKs that declare losses, as Linux does;
//!   transports report bytes, not ranges.
//! * D2 (BBR ce-1): the draft requires that marks count as congestion but does not specify how: a
//!   marked ACK counts as one lost packet.
//! * D3 (BBR rto-1): a timeout ends BBR's startup; the controller runs the slow start that follows.
//! * D4 (BBR no-sample): a round whose first ACK gives no rate counts neither for nor against a
//!   plateau.
//! * D5 (BBR off-1): no short-term bounds and no ProbeRTT before it leaves, no offload budget; the
//!   window grows to the minimum of four packets instead of being raised to it.

use super::{ExitReason, Grown, Handover, Heeds, Leave, Pacing, Startup, Status, Verdict};
use crate::event::{Ack, Context, Phase, Sent, Signal, Timeout, Window};
use crate::named::named;
use crate::options::{Range, params};
use crate::signal::delivery::{Delivery, Sample};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time};

named! {
    /// The window that congestion avoidance takes over.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum HandOver {
        /// The estimated BDP.
        #[default]
        Bdp = "bdp",
        /// After an exit by loss, the amount that the path delivered in a round, if that is more
        /// (`inflight_longterm`).
        LongTerm = "longterm",
    }
}

params! {
    /// The constants of BBR's startup.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// `StartupPacingGain`, 4 ln 2.
        pub gain: Ratio = Ratio::new(277, 100),
            "gain" ["1.5 to 4" if |gain: Ratio| 2 * gain.num() >= 3 * gain.den() && gain.num() <= 4 * gain.den(); Range::Fraction { off: false, low: "1.5", high: "4" }]
            "pacing gain while looking for the rate";
        /// `DrainPacingGain`.
        pub drain: Ratio = Ratio::new(1, 2),
            "drain" ["0.1 to 1" if |gain: Ratio| 10 * gain.num() >= gain.den() && gain.num() <= gain.den(); Range::Fraction { off: false, low: "0.1", high: "1" }]
            "pacing gain while the queue drains";
        /// Rounds without growth by a quarter after which the pipe is full.
        pub rounds: u8 = 3, "rounds" [1..=10] "rounds without growth that indicate a full pipe";
        /// `BBRStartupFullLossCnt`.
        pub ranges: u8 = 6, "ranges" [1..=64] "lost ranges per round at which loss ends Startup";
        /// `LossThresh`.
        pub loss: Ratio = Ratio::new(1, 50),
            "loss" ["0.001 to 0.5" if |loss: Ratio| 1_000 * loss.num() >= loss.den() && 2 * loss.num() <= loss.den(); Range::Fraction { off: false, low: "0.001", high: "0.5" }]
            "loss rate per round above which loss ends Startup";
        /// Whether a rate limited by the peer's window is not a plateau. The draft treats the
        /// peer's window like any other bottleneck.
        pub rwnd: bool = false, "rwnd" [] "a rate limited by the peer's window is not a plateau";
        /// The window that avoidance starts with.
        pub handover: HandOver = HandOver::Bdp, "handover" [] "window that avoidance starts with after an exit on loss";
        /// Whether to allow for ACKs that arrive in bursts (`extra_acked`).
        pub aggregation: bool = false, "aggregation" [] "widen the window by the ACK aggregation seen";
    }
}

/// `PacingMarginPercent`: pace at 99 % of the computed rate.
const MARGIN: Ratio = Ratio::new(99, 100);
/// `MinPipeCwnd` in packets.
const MIN_PIPE: u64 = 4;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Over,
}

/// BBR's startup of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Bbr {
    params: Params,
    state: State,
    /// Whether loss, not a plateau, ended Startup.
    by_loss: bool,
    delivery: Delivery,
    min_rtt: Nanos,
    max_bw: u64,
    full_bw: u64,
    full_count: u8,
    rounds: u32,
    next_round: u64,
    drain_start: u32,
    rate: u64,
    loss: LossRound,
    extra: Aggregation,
}

/// The round in which losses are counted; consecutive rounds run starting at the first loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LossRound {
    running: bool,
    events: u8,
    lost: u64,
    /// Bytes in flight when the round began.
    flight: u64,
    /// The round ends with a packet sent after this many bytes were delivered.
    until: u64,
    /// Largest delivered amount in a sample of this round.
    latest: u64,
}

/// `extra_acked`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Aggregation {
    since: Time,
    acked: u64,
    /// Maximum of this round and of the previous one.
    most: [u32; 2],
}

impl Bbr {
    /// Creates the state of a connection that has sent nothing yet.
    pub fn new(params: Params) -> Bbr {
        Bbr {
            params,
            state: State::Startup,
            by_loss: false,
            delivery: Delivery::default(),
            min_rtt: Nanos::ZERO,
            max_bw: 0,
            full_bw: 0,
            full_count: 0,
            rounds: 0,
            next_round: 0,
            drain_start: 0,
            rate: 0,
            loss: LossRound::default(),
            extra: Aggregation::default(),
        }
    }

    /// The estimated BDP, at least four packets.
    fn bdp(&self, cx: &Context) -> u64 {
        self.inflight(1, cx)
    }

    fn inflight(&self, gain: u64, cx: &Context) -> u64 {
        let bdp = Rate(self.max_bw).bytes_in(self.min_rtt).min(MAX_BYTES);
        (gain * bdp).max(MIN_PIPE * cx.mss)
    }

    /// The window that the model allows.
    fn most(&self, cx: &Context) -> u64 {
        self.inflight(2, cx) + u64::from(self.extra.most[0].max(self.extra.most[1]))
    }

    /// BBR round-1: a round begins with the first ACK of a packet sent after the last one began.
    fn round(&mut self, sample: Option<Sample>) -> bool {
        let begins = sample.is_some_and(|sample| sample.prior_delivered >= self.next_round);
        if begins {
            self.next_round = self.delivery.delivered();
            self.delivery.mark_next();
            self.rounds = self.rounds.saturating_add(1);
            self.extra.most = [0, self.extra.most[0]];
        }
        begins
    }

    /// BBR full-1: whether a rate not limited by the application has grown by less than a quarter
    /// for three rounds.
    fn plateau(&mut self, begins: bool, sample: Option<Sample>) -> bool {
        let Some(Sample { rate: Some(rate), app_limited: false, .. }) = sample else {
            return false;
        };
        if !begins {
            return false;
        }
        // BBR full-2: equality counts as growth.
        if u128::from(rate.0) * 4 >= u128::from(self.full_bw) * 5 {
            (self.full_bw, self.full_count) = (rate.0, 0);
        } else {
            self.full_count = self.full_count.saturating_add(1);
        }
        self.full_count >= self.params.rounds
    }

    /// BBR loss-1: whether more than 2 % was lost in a round of recovery, in at least six ranges.
    fn high_loss(&mut self, ack: &Ack, sample: Option<Sample>) -> bool {
        let round = &mut self.loss;
        let Some(sample) = sample.filter(|_| round.running) else { return false };
        round.latest = round.latest.max(sample.delivered);
        if sample.prior_delivered < round.until {
            return false;
        }
        let limit = u128::from(round.flight) * u128::from(self.params.loss.num());
        let high = round.events >= self.params.ranges
            && u128::from(round.lost) * u128::from(self.params.loss.den()) > limit;
        if !high {
            let again = round.events > 0;
            *round = LossRound::default();
            if again {
                self.watch_losses(ack);
            }
        }
        high
    }

    fn watch_losses(&mut self, ack: &Ack) {
        let until = self.delivery.delivered();
        self.delivery.mark_next();
        let flight = ack.inflight_before;
        self.loss = LossRound { running: true, flight, until, ..LossRound::default() };
    }

    fn count_losses(&mut self, ack: &Ack, cx: &Context) {
        let marked = if ack.ce { ack.acked.min(cx.mss) } else { 0 };
        let lost = ack.lost.saturating_add(marked);
        if lost == 0 {
            return;
        }
        if !self.loss.running {
            self.watch_losses(ack);
        }
        self.loss.lost = self.loss.lost.saturating_add(lost);
        self.loss.events = self.loss.events.saturating_add(1);
    }

    /// BBR aggregation-1: bytes acknowledged beyond the estimated bandwidth since ACKs last fell
    /// behind it.
    fn aggregate(&mut self, ack: &Ack, w: Window) {
        if !self.params.aggregation {
            return;
        }
        let mut expected = Rate(self.max_bw).bytes_in(ack.now.since(self.extra.since));
        if self.extra.acked <= expected {
            (self.extra.since, self.extra.acked, expected) = (ack.now, 0, 0);
        }
        self.extra.acked = self.extra.acked.saturating_add(ack.acked);
        let extra = self.extra.acked.saturating_sub(expected).min(w.cwnd);
        let extra = u32::try_from(extra).unwrap_or(u32::MAX);
        self.extra.most[0] = self.extra.most[0].max(extra);
    }

    fn pace(&mut self) {
        let rate = |gain: Ratio| MARGIN.of(gain.of(self.max_bw));
        self.rate = match self.state {
            // BBR pace-1: never slower before the pipe is full.
            State::Startup => self.rate.max(rate(self.params.gain)),
            State::Drain | State::Over => rate(self.params.drain),
        };
    }

    fn window(&self, ack: &Ack, w: Window, cx: &Context) -> u64 {
        let (most, grown) = (self.most(cx), w.cwnd.saturating_add(ack.acked));
        match self.state {
            // BBR cwnd-1: grows below the model's limit, or while the model has little data.
            State::Startup if w.cwnd < most || self.delivery.delivered() < cx.iw => grown,
            State::Startup => w.cwnd,
            State::Drain | State::Over => grown.min(most),
        }
    }

    /// BBR drain-1: whether the queue is gone or three rounds are over.
    fn drained(&self, ack: &Ack, cx: &Context) -> bool {
        let long = self.rounds > self.drain_start.saturating_add(DRAIN_ROUNDS);
        ack.inflight <= self.bdp(cx) || long
    }

    fn leave(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        self.state = State::Over;
        let bdp = self.bdp(cx);
        let after_loss = self.by_loss && self.params.handover == HandOver::LongTerm;
        let (window, handover) = if after_loss {
            (w.cwnd.min(bdp.max(self.loss.latest)), Handover::AfterLoss)
        } else {
            (bdp, Handover::LossFree)
        };
        let window = window.min(w.cwnd.saturating_add(ack.acked));
        let reason = if self.by_loss { ExitReason::HighLoss } else { ExitReason::Plateau };
        Verdict::Leave(Leave {
            reason,
            ssthresh: window,
            cwnd: Some(window),
            handover,
            estimate: Some(bdp),
        })
    }
}

impl Startup for Bbr {
    type Saved = ();

    fn start(&mut self, now: Time, _nxt: Seq) {
        self.delivery.start(now);
        self.extra.since = now;
    }

    fn on_rtt(&mut self, _now: Time, rtt: Nanos, cx: &Context) {
        // BBR pace-init: the initial window per round trip, starting with the first sample.
        if self.rate == 0 && self.state == State::Startup {
            let gain = self.params.gain;
            let rate = Rate::from_bytes_over(cx.iw.saturating_mul(gain.num()), rtt * gain.den());
            self.rate = rate.map_or(0, |rate| rate.0);
        }
    }

    fn on_initial_window(&mut self, cx: &Context) {
        if cx.srtt > Nanos::ZERO {
            self.rate = 0;
            self.on_rtt(Time::default(), cx.srtt, cx);
        }
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds { packets: self.state != State::Over, ..Heeds::sending(false) }
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent, _w: Window, cx: &Context) {
        if self.state != State::Over {
            self.delivery.on_sent(sent, cx);
        }
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        if self.state == State::Over {
            return Verdict::Stay;
        }
        self.min_rtt = cx.so_far.min_rtt.unwrap_or(self.min_rtt);
        // BBR rate-rwnd: who is limited by neither window nor application is so by the peer.
        let by_peer = self.params.rwnd && ack.acked > 0 && !ack.cwnd_limited;
        let sample = self.delivery.on_ack(ack, ack.app_limited || by_peer, &cx.so_far);
        let begins = self.round(sample);
        // BBR bw-1: an application-limited rate counts only if it is higher. As no rate is
        // forgotten before BBR leaves, the same holds for all rates.
        if let Some(Sample { rate: Some(rate), .. }) = sample {
            self.max_bw = self.max_bw.max(rate.0);
        }
        let high_loss = self.high_loss(ack, sample);
        self.count_losses(ack, cx);
        self.aggregate(ack, w);
        if self.state == State::Startup {
            let full = self.plateau(begins, sample);
            if full || high_loss {
                (self.state, self.drain_start) = (State::Drain, self.rounds);
                self.by_loss = !full;
            }
        }
        if self.state == State::Drain && self.drained(ack, cx) {
            return self.leave(ack, w, cx);
        }
        self.pace();
        match self.window(ack, w, cx) {
            cwnd if cwnd == w.cwnd => Verdict::Stay,
            cwnd => Verdict::Hold { cwnd },
        }
    }

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        // The sample hook has set the window; only the slow start after a timeout grows as usual.
        if self.state == State::Over {
            return Grown { leftover: super::slow_start::double(acked, w, cx), ..Grown::default() };
        }
        Grown::default()
    }

    fn absorbs(&mut self, _signal: Signal, ack: &Ack, cx: &Context) -> bool {
        // BBR loss-absorbed: the model answers to losses, not the window. The sample hook has
        // counted those of ACKs, and does not run for a timer.
        if cx.so_far.is_timer(ack) && self.state != State::Over {
            self.count_losses(ack, cx);
        }
        self.state != State::Over
    }

    fn reached(&mut self) -> ExitReason {
        self.state = State::Over;
        ExitReason::Threshold
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.state = State::Over;
    }

    fn pacing(&self) -> Pacing {
        if self.state != State::Over && self.rate > 0 {
            Pacing::Rate(Rate(self.rate))
        } else {
            Pacing::default()
        }
    }

    fn status(&self) -> Status {
        let phase = if self.state == State::Drain { Phase::Drain } else { Phase::Startup };
        Status { phase, rounds: Some(self.rounds), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("bbr_max_bw", self.max_bw);
        visit("bbr_full_bw", self.full_bw);
        visit("bbr_full_count", u64::from(self.full_count));
        visit("bbr_rounds", u64::from(self.rounds));
        visit("bbr_lost_in_round", self.loss.lost);
        visit("bbr_loss_events", u64::from(self.loss.events));
    }
}
