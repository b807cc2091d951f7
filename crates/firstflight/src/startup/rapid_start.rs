//! Rapid Start: a first window spread over a whole round trip, threefold growth until a queue
//! shows, then twofold, and a recovery of its own that ends at `beta` times the delivered amount.
//!
//! Follows: draft-kazuho-ccwg-rapid-start-02 (2026-03-16, individual); from the authors' working
//! copy of 2026-09-26 the hand-over to CUBIC and, as an option, the spread of later rounds
//! (`docs/explain/rapid-start.md` has the differences). Rules and tests:
//! `docs/conformance.md`. State: 280 bytes, 152 of them HyStart++'s. The recovery rule is in
//! [`crate::recovery::rapid_recovery`], the jump in [`super::jump`], the floor in
//! [`crate::signal::rtt_floor`].
//!
//! Departures:
//! * D1 (threshold): the smaller of `min_rtt + 4 ms` and `1.10 * min_rtt`, as the text says; the
//!   reference implementation uses the larger of two similar terms (`threshold=quicly`).
//! * D2 (undo): after a false alarm the window is restored but the algorithm stays off: its only
//!   recovery is used up.
//! * D3 (unpaced): without a pacer it grows twofold, not threefold; an ACK counts all bytes that it
//!   newly delivers, as in slow start ([`Context::cap`]).

use super::hystart_plus_plus::{self, HyStartPlusPlus, SavedStage};
use super::jump::{GAIN_JUMP, Jump, JumpWindow};
use super::slow_start::double;
use super::{
    GAIN_RAPID, GAIN_SLOW_START, Grown, Heeds, Pacing, SlowStart, Startup, Status, Verdict,
};
use crate::event::{Ack, Context, Phase, Ready, Signal, Timeout, Window};
use crate::hint::Hint;
use crate::named::named;
use crate::options::{Range, params};
use crate::recovery::{OwnRecovery, RapidRecovery};
use crate::signal::rtt_floor::RttFloor;
use crate::units::{Nanos, Ratio, Seq, Time};

named! {
    /// RTT above the minimum that counts as a queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Threshold {
        /// RAPID 3.2-3: `min(min_rtt + 4 ms, 1.10 * min_rtt)`.
        #[default]
        Draft = "draft",
        /// The reference implementation: `max(min_rtt + 4 ms, min_rtt * 35/32)`.
        Quicly = "quicly",
    }
}

impl Threshold {
    /// The largest RTT that still counts as no queue.
    #[doc(hidden)]
    pub fn of(self, min_rtt: Nanos) -> Nanos {
        let plus = min_rtt + Nanos::from_millis(4);
        match self {
            Threshold::Draft => plus.min(Nanos(Ratio::new(11, 10).of(min_rtt.0))),
            Threshold::Quicly => plus.max(Nanos(Ratio::new(35, 32).of(min_rtt.0))),
        }
    }
}

params! {
    /// Every constant of the draft.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Share `K` of the reduction that is charged to acknowledged bytes: 2/3; 11/18 in older
        /// texts.
        pub k: Ratio = Ratio::new(2, 3),
            "k" ["a fraction below 1" if |k: Ratio| k.num() < k.den(); Range::Fraction { off: false, low: "0.05", high: "0.95" }] "share of the reduction charged to acknowledged bytes";
        /// The jump window, `None` for no jump. 2 x IW in the draft.
        pub jump: Option<JumpWindow> = Some(JumpWindow::Initial(2)),
            "jump" ["off, 2iw or packets"; Range::Whole { off: true, low: 1, high: 100_000 }] "first window, spread over a whole round trip";
        /// The build-up threshold.
        pub threshold: Threshold = Threshold::Draft, "threshold" [] "RTT rise that ends threefold growth";
        /// Pace at 1.65 in every round instead of 3 and 2, so that later rounds fill their RTT too.
        pub full_rtt_pacing: bool = false, "spread" [] "pace every round over its full RTT (gain 1.65)";
        /// Whether to use the smooth recovery; otherwise the arm's ordinary recovery runs (to
        /// measure the benefit of the recovery alone).
        pub own_recovery: bool = true, "recovery" [] "the smooth first recovery";
        /// Whether HyStart++ runs as well: threefold growth, then twofold, then conservative slow
        /// start, then avoidance without a loss.
        pub then_hystart: bool = false, "hystart" [] "HyStart++ runs as well and may exit before a loss";
        /// Whether the jump is larger than usual where earlier connections measured the path's rate.
        pub hint: bool = false, "hint" [] "jump to half of what a hint promises, up to 8 initial windows";
    }
}

/// RAPID 3.1.2-1: the pacing gain that spreads a tripled window over its round trip, `ln 3 / (1 -
/// 1/3)`.
const GAIN_FULL_RTT: Ratio = Ratio::new(33, 20);

/// Rapid Start of one connection.
#[derive(Clone, Copy, Debug)]
pub struct RapidStart {
    params: Params,
    probing: bool,
    jump: Jump,
    floor: RttFloor,
    hystart: Option<HyStartPlusPlus>,
}

impl RapidStart {
    /// Creates the startup with these parameters.
    pub fn new(params: Params) -> RapidStart {
        let hystart =
            params.then_hystart.then(|| HyStartPlusPlus::new(hystart_plus_plus::Params::RFC9406));
        RapidStart {
            params,
            probing: true,
            jump: Jump::new(params.jump),
            floor: RttFloor::default(),
            hystart,
        }
    }

    /// Whether no queue shows: the RTT floor of the last round trip is at or below the threshold.
    /// An unknown floor counts as a queue.
    #[doc(hidden)]
    pub fn rapid(&self) -> bool {
        match (self.floor.floor(), self.floor.min_rtt()) {
            // RAPID 3.2-2: equality still allows threefold growth; not latched.
            (Some(floor), Some(min)) => floor <= self.params.threshold.of(min),
            _ => false,
        }
    }
}

impl Startup for RapidStart {
    type Saved = Option<SavedStage>;

    fn start(&mut self, now: Time, nxt: Seq) {
        self.floor.start(now);
        if let Some(hystart) = &mut self.hystart {
            hystart.start(now, nxt);
        }
    }

    fn on_hint(&mut self, hint: &Hint) {
        if self.params.hint {
            self.jump.know(hint.rate);
        }
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, _cx: &Context) {
        // Once inactive it stays inactive, and the floor is not used any more.
        if self.probing {
            self.floor.on_rtt(now, rtt);
        }
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        if self.probing {
            self.jump.before_send(ready, w, cx);
        }
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(self.probing && self.jump.heeds_sending())
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        if !self.probing {
            // This also applies after a false alarm: a restored conservative slow start must run to
            // its end.
            return match &mut self.hystart {
                Some(hystart) => hystart.grow(ack, acked, w, cx),
                None => Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay },
            };
        }
        self.jump.on_ack(ack, w, cx);
        let twice = self.rapid() && cx.paced && cx.limited;
        if let Some(hystart) = &mut self.hystart {
            // RAPID 3.2-4: HyStart++ grows and decides; the third part is added while it is in slow
            // start. After it has left for avoidance, losses are handled as usual.
            let third = if twice && hystart.phase() == Phase::Startup { acked } else { 0 };
            let grown = hystart.grow(ack, acked, w, cx);
            if grown.verdict == Verdict::Stay {
                w.open(third);
            } else {
                self.probing = false;
            }
            return grown;
        }
        if !cx.limited {
            return Grown::default();
        }
        // RAPID 3.2-1: two bytes per acknowledged byte while no queue shows, one afterwards.
        // Without a pacer, threefold growth would be a burst of three times the window, so it is
        // not used.
        let counted = cx.cap(acked);
        let left = w.open(counted * (1 + u64::from(twice)));
        Grown { leftover: left.min(counted), verdict: Verdict::Stay }
    }

    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let twice = match &self.hystart {
            Some(hystart) => hystart.reach(max_fs, w, cx),
            None => SlowStart.reach(max_fs, w, cx),
        };
        let slow_start = self.hystart.is_none_or(|hystart| hystart.phase() == Phase::Startup);
        let third = self.probing && slow_start && cx.paced && self.rapid();
        twice.saturating_add(if third && w.in_slow_start() { max_fs } else { 0 })
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.jump.cancel();
        if let Some(hystart) = &mut self.hystart {
            hystart.on_congestion(signal, beta, ack, w, cx);
        }
        // RAPID 3.3-1: the first congestion signal while probing, and never again.
        if !core::mem::replace(&mut self.probing, false) || !self.params.own_recovery {
            return None;
        }
        // OURS rapid-pre: the used part of the window; otherwise `s` times the unused part would
        // survive.
        let pre = w.cwnd.min(ack.inflight_before);
        let mut recovery = RapidRecovery::new(beta, self.params.k, pre, cx.iw, cx.mss);
        // RAPID 3.3-2: the ACK that reveals the first loss is charged like any other, that loss
        // included.
        recovery.account(ack.acked, ack.lost);
        Some(OwnRecovery::Rapid(recovery))
    }

    // OURS rapid-timeout: a timeout ends Rapid Start for good, in probing and in its recovery.
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.jump.cancel();
        self.probing = false;
        if let Some(hystart) = &mut self.hystart {
            hystart.on_timeout(timeout, now, nxt);
        }
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.jump.cancel();
        if let Some(hystart) = &mut self.hystart {
            hystart.on_idle(now, nxt);
        }
    }

    /// OURS rapid-undo: saves HyStart++'s state, if it runs; Rapid Start itself stays off after a
    /// false alarm (D2).
    fn save(&self) -> Option<SavedStage> {
        self.hystart.as_ref().map(Startup::save)
    }

    fn restore(&mut self, saved: Option<SavedStage>) {
        if let (Some(hystart), Some(saved)) = (&mut self.hystart, saved) {
            hystart.restore(saved);
        }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(if self.jump.spreading() {
            GAIN_JUMP
        } else if let Some(hystart) =
            self.hystart.as_ref().filter(|hystart| hystart.phase() != Phase::Startup)
        {
            return hystart.pacing();
        } else if !self.probing {
            GAIN_SLOW_START
        } else if self.params.full_rtt_pacing {
            GAIN_FULL_RTT
        } else if self.rapid() {
            GAIN_RAPID
        } else {
            GAIN_SLOW_START
        })
    }

    fn status(&self) -> Status {
        let phase = if self.jump.spreading() {
            Phase::Jump
        } else if let Some(hystart) =
            self.hystart.as_ref().filter(|hystart| hystart.phase() != Phase::Startup)
        {
            hystart.phase()
        } else if self.probing && self.rapid() {
            Phase::Rapid
        } else {
            Phase::Startup
        };
        Status { phase, ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if let (true, Some(floor), Some(min)) =
            (self.probing, self.floor.floor(), self.floor.min_rtt())
        {
            visit("rtt_floor_ns", floor.0);
            visit("rtt_threshold_ns", self.params.threshold.of(min).0);
        }
        if let Some(hystart) = &self.hystart {
            hystart.signals(visit);
        }
    }
}
