//! HyStart++: slow start with an exit on delay that can be reversed.
//!
//! Each round's smallest RTT is compared with that of the previous round. When it has risen by an
//! eighth, RFC 9406 slows growth to a quarter (conservative slow start, CSS), returns to slow start
//! if the RTT falls again, and leaves for avoidance after five rounds. The earlier draft leaves at
//! once, and then makes the window grow by at least a quarter of its entry value per round trip
//! (limited slow start, LSS) until the first sign of congestion.
//!
//! Follows: RFC 9406 (May 2023), mode `Css`; draft-balasubramanian-tcpm-hystartplusplus-03 (April
//! 2020), mode `Lss`. Vectors and properties: `tests/it/hystart_plus_plus.rs`. State: 152 bytes, of
//! which 40 are options and 56 statistics.
//!
//! Departures from RFC 9406, each with the option that undoes it:
//! - D1 the test for returning needs eight samples of its own, and so does the next entry;
//!   otherwise the samples that led into CSS would lead out of it and in again on consecutive ACKs
//!   ([`Params::fresh_samples`]).
//! - D2 CSS keeps the remainder of its division, so that the window does not depend on how ACKs are
//!   batched.
//! - D3 marks end startup like a loss on every transport; a timeout ends it too.
//! - D5 `L` is 8 in TCP without a pacer, in all of its slow starts; with a pacer and in QUIC an ACK
//!   counts all bytes that it newly acknowledges ([`Params::l`]).
//!
//! Departure from the draft: D4 `K` is a fraction and remainders are kept ([`Params::int_k`]).

mod params;

pub use params::{Baseline, FreshSamples, Mode, Params, Rearm, RoundEnd};

use super::hystart::rise;
use super::limited_slow_start::{K, PerRoundTrip};
use super::{
    ExitReason, GAIN_AVOIDANCE, GAIN_SLOW_START, Grown, Handover, Heeds, Leave, Pacing, Startup,
    Status, Verdict,
};
use crate::event::{Ack, Context, Phase, Sent, Signal, Timeout, Transport, Window};
use crate::recovery::OwnRecovery;
use crate::units::{Nanos, Ratio, Seq, Time};

/// RTT samples that a test needs (RFC9406 4.3-3: N_RTT_SAMPLE).
const N_RTT_SAMPLE: u32 = 8;
/// RFC9406 4.2-1: segments that one ACK may count without a pacer.
const L: u64 = 8;
/// LSS divisor-1: LSS grows by a quarter of the threshold per round trip (LSS_DIVISOR 0.25).
const LSS_DIVISOR: u64 = 4;
/// NEQO 3506-limbo: the mark of a round that has not begun.
const NOT_BEGUN: Seq = Seq(u64::MAX);

/// Counters since the connection began. Entries into CSS plus resumptions equal returns plus exits
/// plus interruptions, plus one while in CSS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stats {
    /// Rounds that ended during the search.
    pub rounds: u32,
    /// Rounds that had no RTT sample.
    pub empty_rounds: u32,
    /// Number of times CSS was entered.
    pub css_entries: u32,
    /// Times CSS returned to slow start.
    pub css_returns: u32,
    /// Rounds counted in CSS.
    pub css_rounds: u32,
    /// Times CSS ran for all its rounds.
    pub css_exits: u32,
    /// Times congestion, a threshold, a timeout or idle time ended CSS.
    pub css_interrupted: u32,
    /// Number of times CSS was resumed because the congestion was a false alarm.
    pub css_resumed: u32,
    /// Times the RTT rose and startup ended at once, into LSS or without CSS.
    pub exits_on_rise: u32,
    /// The window at the latest rise, in bytes.
    pub rise_cwnd: u64,
    /// Bytes in flight after the ACK of the latest rise.
    pub rise_inflight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Slow start, looking for a rise.
    SlowStart,
    /// Conservative slow start.
    Css {
        /// An RTT below this means a false alarm.
        base: Nanos,
        /// Rounds counted.
        rounds: u8,
        /// Remainder of the division of acknowledged bytes, below the divisor.
        rem: u64,
        /// Whether the window was the limit in this round.
        limited: bool,
    },
    /// Limited slow start.
    Lss {
        growth: PerRoundTrip,
        /// Whether the window fell below the threshold by idling and doubles back to it.
        below: bool,
    },
    /// The search is over: classic slow start.
    Over,
}

impl Stage {
    const fn css(base: Nanos, rounds: u8) -> Stage {
        Stage::Css { base, rounds, rem: 0, limited: false }
    }
}

/// Slow start with HyStart++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartPlusPlus {
    params: Params,
    stage: Stage,
    /// windowEnd: the mark that ends the round ([`RoundEnd`]).
    window_end: Seq,
    /// lastRoundMinRTT; [`Nanos::MAX`] for none.
    last_min: Nanos,
    /// currentRoundMinRTT; [`Nanos::MAX`] for none.
    cur_min: Nanos,
    /// Samples since the round or the stage began.
    samples: u32,
    /// Rounds ended since the search began; saturates, only "fewer than two" matters.
    rolls: u8,
    stats: Stats,
}

impl HyStartPlusPlus {
    /// Creates the state of a connection that has sent nothing yet.
    pub fn new(params: Params) -> HyStartPlusPlus {
        HyStartPlusPlus {
            params,
            stage: Stage::SlowStart,
            window_end: Seq::default(),
            last_min: Nanos::MAX,
            cur_min: Nanos::MAX,
            samples: 0,
            rolls: 0,
            stats: Stats::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.stage {
            Stage::Css { .. } => Phase::Css,
            Stage::Lss { below: false, .. } => Phase::Lss,
            Stage::SlowStart | Stage::Lss { below: true, .. } | Stage::Over => Phase::Startup,
        }
    }

    /// Counters since the connection began; nothing resets them.
    #[doc(hidden)]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// RFC9406 4.2-1: an ACK counts at most `L` segments; 4.3-9: all of it when paced. QUIC has a
    /// pacer or other bounds on bursts (RFC 9002 section 7.7).
    #[inline]
    fn cap(&self, acked: u64, cx: &Context) -> u64 {
        let most = self.params.l.or((cx.transport == Transport::Tcp).then_some(L));
        match most {
            Some(most) if !cx.paced => cx.cap(acked).min(most.saturating_mul(cx.mss)),
            _ => cx.cap(acked),
        }
    }

    /// Opens the window as the stage allows; returns the acknowledged bytes left over at the
    /// threshold.
    #[inline]
    fn open(&mut self, acked: u64, w: &mut Window, cx: &Context) -> u64 {
        if !cx.limited {
            return 0;
        }
        let n = self.cap(acked, cx);
        match &mut self.stage {
            Stage::Css { rem, limited, .. } => {
                *limited = true;
                // RFC9406 4.2-15: a quarter of the capped bytes. Capped first, divided second.
                let divisor = u64::from(self.params.css_divisor.max(1));
                let sum = rem.saturating_add(n);
                *rem = sum % divisor;
                w.open(sum / divisor).saturating_mul(divisor).min(n)
            }
            // RFC9406 4.2-8: all of the capped bytes.
            Stage::SlowStart | Stage::Lss { .. } | Stage::Over => w.open(n),
        }
    }

    /// Runs the two tests on the samples so far. This ACK has still grown the window by the rule of
    /// the old stage, in the order of the text.
    fn judge(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let too_small = w.cwnd < self.params.low_cwnd.saturating_mul(cx.mss);
        let first_flight = self.params.skip_first_flight && self.rolls < 2;
        if self.samples < N_RTT_SAMPLE || self.cur_min == Nanos::MAX {
            return Verdict::Stay;
        }
        match self.stage {
            Stage::SlowStart if self.last_min != Nanos::MAX && !too_small && !first_flight => {
                // RFC9406 4.2-13: both minima are known and the current one is higher by the
                // threshold or more.
                let entry = self.last_min + rise(self.last_min);
                if self.cur_min >= entry { self.rose(entry, ack, w) } else { Verdict::Stay }
            }
            Stage::Css { base, .. } if self.cur_min < base => {
                // RFC9406 4.2-20: strictly below the baseline, so the rise was jitter: return to
                // slow start with the search armed.
                self.stats.css_returns = self.stats.css_returns.saturating_add(1);
                self.change(Stage::SlowStart);
                Verdict::Stay
            }
            _ => Verdict::Stay,
        }
    }

    fn rose(&mut self, entry: Nanos, ack: &Ack, w: Window) -> Verdict {
        self.stats.rise_cwnd = w.cwnd;
        self.stats.rise_inflight = ack.inflight;
        let (reason, handover, next) = match self.params {
            Params { mode: Mode::Lss, .. } => {
                // LSS trigger-1: the threshold becomes the window, and limited slow start then runs
                // alongside avoidance.
                let lss = Stage::Lss { growth: PerRoundTrip::default(), below: false };
                (ExitReason::LssTrigger, Handover::LssEntry, lss)
            }
            Params { css_rounds: 0, .. } => (ExitReason::Delay, Handover::LossFree, Stage::Over),
            Params { baseline, .. } => {
                self.stats.css_entries = self.stats.css_entries.saturating_add(1);
                let base = match baseline {
                    Baseline::CurrentRoundMin => self.cur_min,
                    Baseline::EntryThreshold => entry,
                };
                self.change(Stage::css(base, 0));
                return Verdict::Stay;
            }
        };
        self.stats.exits_on_rise = self.stats.exits_on_rise.saturating_add(1);
        self.stage = next;
        leave(reason, handover, self.cur_min, w)
    }

    /// Changes between slow start and CSS, in either direction. The round continues and keeps its
    /// minimum, with which the next one is compared.
    fn change(&mut self, stage: Stage) {
        self.stage = stage;
        // OURS css-fresh: the samples that led into CSS do not lead out of it (D1).
        let into_css = matches!(self.stage, Stage::Css { .. });
        if self.params.fresh_samples == FreshSamples::Always
            || (self.params.fresh_samples == FreshSamples::OnEntry && into_css)
        {
            self.samples = 0;
        }
    }

    /// The round ends. The sample of the ACK that ends it belongs to it: its packet was sent before
    /// the mark (if the round ends there).
    fn roll(&mut self, ack: &Ack, w: Window) -> Verdict {
        self.window_end = match self.params.round_end {
            RoundEnd::Limbo => NOT_BEGUN,
            RoundEnd::Reached | RoundEnd::Passed => ack.nxt,
        };
        if self.cur_min == Nanos::MAX {
            self.stats.empty_rounds = self.stats.empty_rounds.saturating_add(1);
        }
        // RFC9406 4.2-6: the minimum becomes the last round's, and the new round starts without
        // one.
        if self.cur_min != Nanos::MAX || !self.params.keep_last_min {
            self.last_min = self.cur_min;
        }
        self.cur_min = Nanos::MAX;
        self.samples = 0;
        self.rolls = self.rolls.saturating_add(1);
        self.stats.rounds = self.stats.rounds.saturating_add(1);
        let Stage::Css { base, rounds, limited, .. } = &mut self.stage else {
            return Verdict::Stay;
        };
        if self.params.css_count_limited && !*limited {
            return Verdict::Stay;
        }
        *limited = false;
        // RFC9406 4.2-22: the round in which CSS was entered counts.
        *rounds = rounds.saturating_add(1);
        self.stats.css_rounds = self.stats.css_rounds.saturating_add(1);
        if *rounds < self.params.css_rounds {
            return Verdict::Stay;
        }
        // RFC9406 4.2-23: after CSS_ROUNDS the threshold becomes the window.
        let base = *base;
        self.stats.css_exits = self.stats.css_exits.saturating_add(1);
        self.stage = Stage::Over;
        leave(ExitReason::CssDone, Handover::LossFree, base, w)
    }

    /// Leaves the current stage for an external reason.
    fn interrupt(&mut self, next: Stage) {
        if let Stage::Css { .. } = self.stage {
            self.stats.css_interrupted = self.stats.css_interrupted.saturating_add(1);
        }
        self.stage = next;
    }

    /// Restarts the search without any samples.
    fn rearm(&mut self, nxt: Seq) {
        self.interrupt(Stage::SlowStart);
        self.window_end = nxt;
        self.last_min = Nanos::MAX;
        self.cur_min = Nanos::MAX;
        self.samples = 0;
        self.rolls = 0;
    }

    /// Congestion or a timeout: ends the search, or rearms it for the slow start that may follow.
    // LSS end-1: the draft's limited slow start never resumes after a sign of congestion.
    fn congested(&mut self, rearms: bool, nxt: Seq) {
        if rearms && self.params.mode == Mode::Css {
            self.rearm(nxt);
        } else {
            self.interrupt(Stage::Over);
        }
    }
}

fn leave(reason: ExitReason, handover: Handover, estimate: Nanos, w: Window) -> Verdict {
    Verdict::Leave(Leave {
        reason,
        ssthresh: w.cwnd,
        cwnd: None,
        handover,
        estimate: Some(estimate.0),
    })
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus::new(Params::default())
    }
}

/// A stored time without alignment, which would cost every controller eight bytes.
#[repr(C, packed(4))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct SavedRtt(Nanos);

impl From<Nanos> for SavedRtt {
    fn from(rtt: Nanos) -> SavedRtt {
        SavedRtt(rtt)
    }
}

/// OURS undo-phase: the phase that a false alarm restores, with baseline and rounds of CSS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum SavedStage {
    /// Slow start.
    SlowStart,
    /// Conservative slow start.
    Css {
        /// The baseline RTT.
        base: SavedRtt,
        /// Rounds spent in it.
        rounds: u8,
    },
    /// Limited slow start (draft-03).
    Lss,
    /// The search has ended.
    #[default]
    Over,
}

impl SavedStage {
    /// Whether the search was still running.
    #[doc(hidden)]
    pub fn looks(self) -> bool {
        matches!(self, SavedStage::SlowStart | SavedStage::Css { .. })
    }
}

impl Startup for HyStartPlusPlus {
    type Saved = SavedStage;

    #[inline]
    fn heeds(&self) -> Heeds {
        // See its `on_sent`.
        Heeds::sending(self.params.round_end == RoundEnd::Limbo && self.window_end == NOT_BEGUN)
    }

    fn start(&mut self, _now: Time, nxt: Seq) {
        // RFC9406 4.2-5: windowEnd starts at SND.NXT, so the first data ACK ends a round of one
        // sample (see skip_first_flight).
        self.window_end = nxt;
    }

    fn on_sent(&mut self, sent: &Sent, _w: Window, _cx: &Context) {
        if self.params.round_end == RoundEnd::Limbo && self.window_end == NOT_BEGUN {
            self.window_end = sent.nxt;
        }
    }

    /// [`Leave::estimate`] is CSS's baseline, or the minimum of the round that rose, in ns.
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let leftover = self.open(acked, w, cx);
        match &mut self.stage {
            Stage::SlowStart | Stage::Css { .. } => {}
            Stage::Lss { below, .. } => {
                *below = true;
                return Grown { leftover, verdict: Verdict::Stay };
            }
            Stage::Over => return Grown { leftover, verdict: Verdict::Stay },
        }
        // NEQO 3506-limbo.
        if self.params.round_end == RoundEnd::Limbo && self.window_end == NOT_BEGUN {
            return Grown { leftover, verdict: Verdict::Stay };
        }
        // RFC9406 4.2-11: one sample per ACK. Samples and rounds continue when the application is
        // the limit; only growth stops.
        if let Some(rtt) = ack.rtt {
            self.cur_min = self.cur_min.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        let mut verdict = self.judge(ack, *w, cx);
        // RFC9406 4.2-end: the round ends when windowEnd is acknowledged.
        let over = match self.params.round_end {
            RoundEnd::Reached => ack.una >= self.window_end,
            RoundEnd::Passed | RoundEnd::Limbo => ack.una > self.window_end,
        };
        if verdict == Verdict::Stay && over {
            verdict = self.roll(ack, *w);
        }
        Grown { leftover, verdict }
    }

    #[inline]
    fn beside_avoidance(&mut self, _ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        // Runs on every ACK of a connection and nearly always returns here.
        if !matches!(self.stage, Stage::Lss { .. }) {
            return None;
        }
        let n = self.cap(acked, cx);
        let Stage::Lss { growth, below } = &mut self.stage else { return None };
        *below = false;
        if !cx.limited {
            return None;
        }
        // LSS growth-1: at least as fast as growth by ssthresh/4 per round trip, until congestion.
        let k = if self.params.int_k { K::Floor } else { K::Exact };
        Some(w.cwnd.saturating_add(growth.step(n, w.ssthresh, LSS_DIVISOR, w.cwnd, k)))
    }

    fn reach(&self, max_fs: u64, w: Window, _cx: &Context) -> u64 {
        let grows = match self.stage {
            Stage::Lss { .. } if !w.in_slow_start() => w.ssthresh / LSS_DIVISOR,
            _ if !w.in_slow_start() => return 0,
            Stage::Css { .. } => max_fs / u64::from(self.params.css_divisor.max(1)),
            Stage::SlowStart | Stage::Lss { .. } | Stage::Over => max_fs,
        };
        max_fs.saturating_add(grows)
    }

    fn reached(&mut self) -> ExitReason {
        // A threshold set from outside ends the search; LSS runs above its own threshold.
        if let Stage::SlowStart | Stage::Css { .. } = self.stage {
            self.interrupt(Stage::Over);
        }
        ExitReason::Threshold
    }

    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        // RFC9406 4.2-24: loss or marks at any time end it.
        self.congested(self.params.rearm == Rearm::Always, ack.nxt);
        None
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, nxt: Seq) {
        // RFC9406 4.3-11: only in the initial slow start, because later ones have a threshold to
        // stop at.
        self.congested(matches!(self.params.rearm, Rearm::Rto | Rearm::Always), nxt);
    }

    fn on_idle(&mut self, _now: Time, nxt: Seq) {
        // RFC9406 4.3-12: it may run again in the slow start after a long idle time.
        let rearms = matches!(self.params.rearm, Rearm::Idle | Rearm::Always);
        // The draft's search runs once; if it is still running, its samples are as stale after
        // idling as those of CSS.
        if rearms && (self.params.mode == Mode::Css || self.stage == Stage::SlowStart) {
            self.rearm(nxt);
        }
    }

    fn save(&self) -> SavedStage {
        match self.stage {
            Stage::SlowStart => SavedStage::SlowStart,
            Stage::Css { base, rounds, .. } => SavedStage::Css { base: base.into(), rounds },
            Stage::Lss { .. } => SavedStage::Lss,
            Stage::Over => SavedStage::Over,
        }
    }

    fn restore(&mut self, saved: SavedStage) {
        let stage = match saved {
            SavedStage::SlowStart => Stage::SlowStart,
            SavedStage::Css { base, rounds } => {
                self.stats.css_resumed = self.stats.css_resumed.saturating_add(1);
                Stage::css(base.0, rounds)
            }
            SavedStage::Lss => Stage::Lss { growth: PerRoundTrip::default(), below: false },
            SavedStage::Over => Stage::Over,
        };
        self.interrupt(stage);
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(match self.stage {
            Stage::Css { .. } | Stage::Lss { below: false, .. } => GAIN_AVOIDANCE,
            Stage::SlowStart | Stage::Lss { below: true, .. } | Stage::Over => GAIN_SLOW_START,
        })
    }

    fn status(&self) -> Status {
        Status { phase: self.phase(), rounds: Some(self.stats.rounds), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        for (name, min) in
            [("hspp_last_min_ns", self.last_min), ("hspp_round_min_ns", self.cur_min)]
        {
            if min != Nanos::MAX {
                visit(name, min.0);
            }
        }
        visit("hspp_samples", u64::from(self.samples));
        visit("hspp_window_end", self.window_end.0);
        match self.stage {
            Stage::Css { base, rounds, rem, .. } => {
                visit("hspp_css_base_ns", base.0);
                visit("hspp_css_rounds", u64::from(rounds));
                visit("hspp_css_rem", rem);
            }
            Stage::Lss { growth, .. } => visit("hspp_lss_rest", growth.rest()),
            Stage::SlowStart | Stage::Over => {}
        }
        visit("hspp_css_entries", u64::from(self.stats.css_entries));
        visit("hspp_css_returns", u64::from(self.stats.css_returns));
    }
}
