//! BEST, robust mode: estimates the bottleneck's rate from the ACKs of slow start and aims at rate
//! times RTT before the window reaches it.
//!
//! Every round gives up to three rates: the median spacing of ACKs, the best longer chunk, and, if
//! ACKs carry the receiver's clock, the rate on that clock. Only if they agree with each other and
//! with the previous round does the product with the smallest RTT become the threshold,
//! provisionally, and only above the current window. In all other cases BEST does nothing and the
//! fallback startup that runs in parallel decides. The window grows as in the fallback, or as in
//! slow start without one: an ACK counts all bytes that it newly delivers, paced or not.
//!
//! Follows: ours, after the idea of the BEST slides (NetDev 0x16, October 2022); the published
//! algorithm is [`super::BestPublished`]. State: 552 bytes at most, the fallback's included. Tests:
//! `tests/it/best.rs`.
//!
//! Departures from the published algorithm: all of it (estimators, guards, RTT, provisional
//! threshold). From our own design notes:
//! * D1: no probe trains; they need a transport that can exempt packets from its pacer.
//! * D2: the RTT minimum forgets a sample after 7.5 to 10 s, not after exactly 10.
//! * D3: a threshold set by a loss is never raised, only lowered.
//! * D4: a step of the RTT restarts the estimation but not the RTT minimum: a rise cannot be
//!   distinguished from a standing queue, and a minimum that is too small only makes the estimate
//!   too small.

mod estimators;
mod params;

use estimators::{Arrivals, KeptRate, ReceiverClock, RttFloor, ShortRtt};
pub use params::{Counts, FallbackParams, Outcome, Params, Why};

use super::hystart_plus_plus::{HyStartPlusPlus, SavedStage};
use super::search::{self, Search};
use super::slow_start::SlowStart;
use super::{ExitReason, Grown, Heeds, Pacing, Startup, Status, Verdict};
use crate::event::{Ack, Context, Signal, Timeout, Window};
use crate::recovery::OwnRecovery;
use crate::signal::rate_histogram::{FineRate, RateHistogram};
use crate::units::{Nanos, Ratio, Seq, Time, UNSET_SSTHRESH};

/// BEST off-1: below this RTT the rounds are too short to measure anything (`RTT_OFF`).
const RTT_OFF: Nanos = Nanos::from_millis(2);
/// BEST judge-1: the smallest rise of the RTT that counts as a standing queue (`RTT_GUARD`: the
/// larger of this and an eighth).
const GUARD: Nanos = Nanos::from_millis(4);
/// BEST skip-1: an ACK for more segments than this filled a hole; it shows when the hole was
/// filled, not the rate of the path.
const HOLE_SEGMENTS: u64 = 64;
/// BEST judge-2: the smallest threshold, in segments, unless twice the initial window is larger
/// (`FLOOR`).
const FLOOR_SEGMENTS: u64 = 16;
/// BEST path-1: a step of the RTT from one round to the next that means another path (low orbits).
const RTT_STEP: Nanos = Nanos::from_millis(8);
/// BEST path-2: the path counts as changed after the chunk rate was off by more than a factor of
/// two for this many rounds.
const LEVEL_ROUNDS: u8 = 3;
/// BEST path-3: low orbits reassign their links on a grid of this period,
const REASSIGN_PERIOD: Nanos = Nanos::from_secs(15);
/// and disturb measurements for this long before and after.
const REASSIGN_MARGIN: Nanos = Nanos::from_millis(150);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fallback {
    Search(Search),
    HyStartPlusPlus(HyStartPlusPlus),
    /// Classic slow start, ended only by loss.
    None(SlowStart),
}

macro_rules! beside {
    ($fallback:expr, $startup:ident => $call:expr) => {
        match $fallback {
            Fallback::Search($startup) => $call,
            Fallback::HyStartPlusPlus($startup) => $call,
            Fallback::None($startup) => $call,
        }
    };
}

/// BEST, robust mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    min_samples: u8,
    percentile: u8,
    /// Whether startup was decided or abandoned; only a draining fallback still runs.
    ended: bool,
    off_level_rounds: u8,
    /// Upper bound of the threshold, in bytes: twice the queue, if known.
    cap: u64,
    /// Offset in the reassignment period at which the path changes, in ms.
    reassignment_ms: Option<u16>,
    fallback: Fallback,

    floor: RttFloor,
    /// The current round ends with the first ACK at or above this.
    mark: Seq,
    /// Whether a round has begun, so that `mark` is valid.
    begun: bool,
    rounds: u32,
    counts: Counts,
    last: Option<Outcome>,
    /// The threshold this algorithm set last; [`UNSET_SSTHRESH`] if none.
    aim: u64,
    /// The threshold set from outside; [`UNSET_SSTHRESH`] if none.
    ceiling: u64,

    pairs: RateHistogram,
    arrivals: Arrivals,
    clock: ReceiverClock,
    /// Smallest RTT of this round and the last.
    round_min: ShortRtt,
    round_min_prev: ShortRtt,
    /// Rates of the last round; zero if it had none.
    median_prev: KeptRate,
    clock_prev: KeptRate,
    chunk_prev: KeptRate,
    /// The chunk rate once it stopped growing; zero before.
    level: KeptRate,
}

impl Fallback {
    fn new(params: FallbackParams) -> Fallback {
        match params {
            FallbackParams::Search(params) => Fallback::Search(Search::new(params)),
            FallbackParams::HyStartPlusPlus(params) => {
                Fallback::HyStartPlusPlus(HyStartPlusPlus::new(params))
            }
            FallbackParams::None => Fallback::None(SlowStart),
        }
    }
}

impl Best {
    /// Armed.
    pub fn new(params: Params) -> Best {
        Best {
            min_samples: params.min_samples,
            percentile: params.percentile,
            ended: false,
            off_level_rounds: 0,
            cap: match params.queue_hint {
                Some(queue) => queue.saturating_mul(2),
                None => u64::MAX,
            },
            reassignment_ms: params
                .reassigned_at
                .map(|at| (at.0 % REASSIGN_PERIOD.0 / 1_000_000) as u16),
            fallback: Fallback::new(params.fallback),
            floor: RttFloor::EMPTY,
            mark: Seq(0),
            begun: false,
            rounds: 0,
            counts: Counts {
                set: 0,
                late: 0,
                inflated: 0,
                pacer: 0,
                few: 0,
                ambiguous: 0,
                unstable: 0,
                disagree: 0,
                restarts: 0,
                skipped_acks: 0,
            },
            last: None,
            aim: UNSET_SSTHRESH,
            ceiling: UNSET_SSTHRESH,
            pairs: RateHistogram::EMPTY,
            arrivals: Arrivals::EMPTY,
            clock: ReceiverClock::EMPTY,
            round_min: ShortRtt::NONE,
            round_min_prev: ShortRtt::NONE,
            median_prev: KeptRate::ZERO,
            clock_prev: KeptRate::ZERO,
            chunk_prev: KeptRate::ZERO,
            level: KeptRate::ZERO,
        }
    }

    /// The counts.
    #[doc(hidden)]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Outcome of the last round.
    #[doc(hidden)]
    pub fn last_outcome(&self) -> Option<Outcome> {
        self.last
    }

    /// The threshold that BEST set last, in bytes.
    #[doc(hidden)]
    pub fn aim(&self) -> Option<u64> {
        (self.aim != UNSET_SSTHRESH).then_some(self.aim)
    }

    /// Whether it is still estimating.
    #[doc(hidden)]
    pub fn armed(&self) -> bool {
        !self.ended
    }

    /// The spacing rates of the round so far.
    #[doc(hidden)]
    pub fn pairs(&self) -> &RateHistogram {
        &self.pairs
    }

    /// The largest chunk rate of the round so far.
    #[doc(hidden)]
    pub fn chunk(&self) -> FineRate {
        self.arrivals.chunk
    }

    /// The rates of the last round on the receiver's clock, by spacing (zero if it had no clear
    /// median) and by chunks.
    #[doc(hidden)]
    pub fn last_round(&self) -> (FineRate, FineRate, FineRate) {
        (self.clock_prev.get(), self.median_prev.get(), self.chunk_prev.get())
    }

    /// The length of the receiver's tick in milliseconds, once ten round trips have confirmed that
    /// it is a length that stacks use.
    #[doc(hidden)]
    pub fn checked_tick_ms(&self) -> Option<u64> {
        self.clock.checked_tick_ms()
    }

    /// Resets and rearms; only the options and the counts stay.
    fn rearm(&mut self) {
        *self = Best {
            min_samples: self.min_samples,
            percentile: self.percentile,
            cap: self.cap,
            reassignment_ms: self.reassignment_ms,
            fallback: self.fallback,
            counts: self.counts,
            ..Best::new(Params { fallback: FallbackParams::None, ..Params::DEFAULT })
        };
    }

    /// Discards all measurements.
    fn forget(&mut self) {
        self.pairs = RateHistogram::EMPTY;
        self.arrivals.forget();
        self.clock.forget();
        self.forget_rounds();
    }

    /// Discards the previous rounds, which belong to another path.
    fn forget_rounds(&mut self) {
        self.median_prev = KeptRate::ZERO;
        self.clock_prev = KeptRate::ZERO;
        self.chunk_prev = KeptRate::ZERO;
        self.level = KeptRate::ZERO;
        self.off_level_rounds = 0;
    }

    fn near_reassignment(&self, now: Time) -> bool {
        self.reassignment_ms.is_some_and(|at| {
            let distance =
                (now + REASSIGN_PERIOD).since(Time(0) + Nanos::from_millis(u64::from(at))).0
                    % REASSIGN_PERIOD.0;
            distance <= REASSIGN_MARGIN.0 || distance >= REASSIGN_PERIOD.0 - REASSIGN_MARGIN.0
        })
    }

    /// Every ACK while armed.
    fn measure(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        if let Some(rtt) = ack.rtt {
            self.floor.update(ack.now, rtt);
        }
        let Some(rtt_min) = self.floor.get().filter(|&rtt| rtt >= RTT_OFF) else {
            self.skip();
            return Verdict::Stay;
        };

        // BEST round-1: the old round is evaluated first; the ACK that ends it belongs to the new
        // one.
        let mut verdict = Verdict::Stay;
        if !self.begun || ack.una >= self.mark {
            if self.begun {
                verdict = self.roll(rtt_min, w, cx);
            }
            (self.begun, self.mark) = (true, ack.nxt);
        }
        self.round_min =
            ack.rtt.map_or(self.round_min, |rtt| self.round_min.min(ShortRtt::new(rtt)));
        if let Some(ts) = ack.detail.receiver_ts {
            self.clock.check_tick(ack.now, ts, rtt_min);
        }
        let reassigned = self.near_reassignment(ack.now);
        if reassigned {
            self.forget();
        }
        if reassigned
            || ack.app_limited
            || ack.sacked > 0
            || ack.acked > cx.mss.saturating_mul(HOLE_SEGMENTS)
        {
            self.skip();
            self.arrivals.skip(ack.now);
            self.clock.close();
            return verdict;
        }
        self.arrivals.on_ack(ack.now, ack.acked, rtt_min, &mut self.pairs);
        if let Some(ts) = ack.detail.receiver_ts {
            self.clock.on_ack(ts, ack.acked);
        }
        verdict
    }

    fn skip(&mut self) {
        self.counts.skipped_acks = self.counts.skipped_acks.saturating_add(1);
    }

    /// Ends a round: counts one outcome and may set a threshold.
    fn roll(&mut self, rtt_min: Nanos, w: Window, cx: &Context) -> Verdict {
        self.clock.close();
        if self.path_changed() {
            self.counts.restarts = self.counts.restarts.saturating_add(1);
            self.forget_rounds();
        }
        if w.ssthresh != self.aim {
            self.ceiling = w.ssthresh;
        }
        let median = self.clear_median();
        let judged = self.estimate(median).and_then(|(rate, why)| {
            self.judge(rate, rtt_min, w, cx).map(|ssthresh| (ssthresh, why))
        });
        let outcome = match judged {
            Ok((_, why)) => Outcome::Set { why },
            Err(silent) => silent,
        };
        self.count(outcome);

        self.median_prev = KeptRate::new(median.unwrap_or(FineRate::ZERO));
        self.clock_prev = KeptRate::new(self.clock.best);
        self.chunk_prev = KeptRate::new(self.arrivals.chunk);
        self.round_min_prev = self.round_min;
        self.pairs = RateHistogram::EMPTY;
        self.clock.best = FineRate::ZERO;
        self.arrivals.chunk = FineRate::ZERO;
        self.round_min = ShortRtt::NONE;

        match judged {
            Ok((ssthresh, _)) => {
                self.aim = ssthresh;
                Verdict::Aim { ssthresh }
            }
            Err(_) => Verdict::Stay,
        }
    }

    /// The median spacing rate, if there are enough samples and they have one mode.
    fn clear_median(&self) -> Result<FineRate, Outcome> {
        // BEST agree-1: enough samples, and one mode: their middle tenth lies within a factor of
        // two.
        let few = self.pairs.offered() < u16::from(self.min_samples.max(1));
        match (
            self.pairs.quantile(self.percentile),
            self.pairs.quantile(45),
            self.pairs.quantile(55),
        ) {
            (Some(median), Some(low), Some(high)) if !few && low > FineRate::ZERO => {
                if high <= low.scaled(2, 1) { Ok(median) } else { Err(Outcome::Ambiguous) }
            }
            _ => Err(Outcome::Few),
        }
    }

    /// The rate that the estimators agree on, or the reason why they do not.
    fn estimate(&self, median: Result<FineRate, Outcome>) -> Result<(FineRate, Why), Outcome> {
        let (clock, chunk) = (self.clock.best, self.arrivals.chunk);
        let (clock_prev, median_prev, chunk_prev) = self.last_round();
        // BEST agree-2: the receiver's clock is trusted if two rounds agree and chunks do not give
        // a higher rate.
        let both = clock > FineRate::ZERO && clock_prev > FineRate::ZERO;
        if both && clock.within_quarter(clock_prev) && clock >= chunk.scaled(4, 5) {
            return Ok((clock, Why::ReceiverClock));
        }
        let median = median?;
        // BEST agree-3: two rounds within a quarter of each other.
        if median_prev == FineRate::ZERO || !median.within_quarter(median_prev) {
            return Err(Outcome::Unstable);
        }
        // BEST agree-4: the spacing rate may be at most twice the chunk rate.
        if median > chunk.scaled(2, 1) {
            return Err(Outcome::Disagree);
        }
        // BEST agree-5: chunk rates that still grow are limited by the window, so the spacing is
        // used. Once they stop growing, the chunk rate is close to the path's rate.
        let growing = chunk_prev == FineRate::ZERO || chunk >= chunk_prev.scaled(5, 4);
        Ok((if growing { median } else { median.min(chunk.scaled(5, 4)) }, Why::Pair))
    }

    /// The threshold for a rate, or the reason why there is none.
    fn judge(
        &self,
        rate: FineRate,
        rtt_min: Nanos,
        w: Window,
        cx: &Context,
    ) -> Result<u64, Outcome> {
        let floor = cx.iw.saturating_mul(2).max(cx.mss.saturating_mul(FLOOR_SEGMENTS));
        // BEST judge-5: capped by twice a known queue, and by a threshold set from outside (D3).
        let candidate = rate.bytes_in(rtt_min).min(self.cap).max(floor).min(self.ceiling);
        if self.round_min.get().is_none_or(|rtt| rtt > rtt_min + Nanos(rtt_min.0 / 8).max(GUARD)) {
            return Err(Outcome::Inflated);
        }
        // BEST judge-3: never below the window; the fallback decides whether to leave now.
        if candidate < w.cwnd {
            return Err(Outcome::Late);
        }
        // BEST judge-4: a rate that equals the pacing rate says nothing about the path.
        if cx.paced && cx.pacing_rate.is_some_and(|pacing| rate.near_tenth(pacing.into())) {
            return Err(Outcome::Pacer);
        }
        Ok(candidate)
    }

    fn count(&mut self, outcome: Outcome) {
        self.last = Some(outcome);
        self.rounds = self.rounds.saturating_add(1);
        let counts = &mut self.counts;
        let counter = match outcome {
            Outcome::Set { .. } => &mut counts.set,
            Outcome::Late => &mut counts.late,
            Outcome::Inflated => &mut counts.inflated,
            Outcome::Pacer => &mut counts.pacer,
            Outcome::Few => &mut counts.few,
            Outcome::Ambiguous => &mut counts.ambiguous,
            Outcome::Unstable => &mut counts.unstable,
            Outcome::Disagree => &mut counts.disagree,
        };
        *counter = counter.saturating_add(1);
    }

    /// Whether the path changed: in low orbits a handover to another satellite makes the RTT step
    /// or moves the rate to another level.
    fn path_changed(&mut self) -> bool {
        if let (Some(rtt), Some(before)) = (self.round_min.get(), self.round_min_prev.get())
            && rtt.0.abs_diff(before.0) > RTT_STEP.0
        {
            return true;
        }
        let (chunk, level) = (self.arrivals.chunk, self.level.get());
        if level == FineRate::ZERO {
            // While chunk rates grow from round to round, the window is the limit and there is no
            // level yet.
            if chunk < self.chunk_prev.get().scaled(5, 4) {
                self.level = KeptRate::new(chunk);
            }
            return false;
        }
        let off = chunk > level.scaled(2, 1) || chunk.scaled(2, 1) < level;
        self.off_level_rounds = if off { self.off_level_rounds.saturating_add(1) } else { 0 };
        self.off_level_rounds >= LEVEL_ROUNDS
    }
}

impl Default for Best {
    fn default() -> Self {
        Best::new(Params::DEFAULT)
    }
}

/// State that a false alarm restores: whether BEST had ended, and the fallback's saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Saved {
    ended: bool,
    fallback: SavedFallback,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SavedFallback {
    Search(search::Looking),
    HyStartPlusPlus(SavedStage),
    #[default]
    None,
}

impl Startup for Best {
    type Saved = Saved;

    #[inline]
    fn heeds(&self) -> Heeds {
        match &self.fallback {
            Fallback::Search(search) => search.heeds(),
            _ => Heeds::sending(false),
        }
    }

    fn start(&mut self, now: Time, nxt: Seq) {
        self.rearm();
        beside!(&mut self.fallback, f => f.start(now, nxt));
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        // BEST fallback-1: the fallback always runs first, and decides whenever BEST does not.
        let verdict = beside!(&mut self.fallback, f => f.sample(ack, w, cx));
        if verdict != Verdict::Stay {
            self.ended = true;
        }
        if self.ended { verdict } else { self.measure(ack, w, cx) }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let grown = beside!(&mut self.fallback, f => f.grow(ack, acked, w, cx));
        if grown.verdict != Verdict::Stay {
            self.ended = true;
        }
        grown
    }

    #[inline]
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        beside!(&mut self.fallback, f => f.beside_avoidance(ack, acked, w, cx))
    }

    fn reached(&mut self) -> ExitReason {
        self.ended = true;
        if self.aim < self.ceiling { ExitReason::Estimate } else { ExitReason::Threshold }
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.ended = true;
        beside!(&mut self.fallback, f => f.on_congestion(signal, beta, ack, w, cx))
    }

    // BEST rearm-1: a timeout or idling restarts it; a loss ends it.
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.rearm();
        beside!(&mut self.fallback, f => f.on_timeout(timeout, now, nxt));
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.rearm();
        beside!(&mut self.fallback, f => f.on_idle(now, nxt));
    }

    fn save(&self) -> Saved {
        let fallback = match &self.fallback {
            Fallback::Search(search) => SavedFallback::Search(search.save()),
            Fallback::HyStartPlusPlus(hystart) => SavedFallback::HyStartPlusPlus(hystart.save()),
            Fallback::None(_) => SavedFallback::None,
        };
        Saved { ended: self.ended, fallback }
    }

    fn restore(&mut self, saved: Saved) {
        self.ended = saved.ended;
        match (&mut self.fallback, saved.fallback) {
            (Fallback::Search(search), SavedFallback::Search(saved)) => search.restore(saved),
            (Fallback::HyStartPlusPlus(hystart), SavedFallback::HyStartPlusPlus(saved)) => {
                hystart.restore(saved);
            }
            // The fallback is chosen once, with the options.
            _ => {}
        }
    }

    fn pacing(&self) -> Pacing {
        beside!(&self.fallback, f => f.pacing())
    }

    fn status(&self) -> Status {
        let phase = beside!(&self.fallback, f => f.status().phase);
        Status { phase, rounds: Some(self.rounds), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let kbps = |rate: FineRate| rate.bytes_in(Nanos::from_secs(1)) / 125;
        let counts = &self.counts;
        visit("best_clock_kbps", kbps(self.clock_prev.get()));
        visit("best_median_kbps", kbps(self.median_prev.get()));
        visit("best_chunk_kbps", kbps(self.chunk_prev.get()));
        visit("best_release_period_ns", self.arrivals.period().0);
        visit("best_aim_bytes", self.aim().unwrap_or(0));
        visit("best_set", u64::from(counts.set));
        visit("best_late", u64::from(counts.late));
        visit("best_inflated", u64::from(counts.inflated));
        visit("best_pacer", u64::from(counts.pacer));
        visit("best_few", u64::from(counts.few));
        visit("best_ambiguous", u64::from(counts.ambiguous));
        visit("best_unstable", u64::from(counts.unstable));
        visit("best_disagree", u64::from(counts.disagree));
        visit("best_restarts", u64::from(counts.restarts));
        visit("best_skipped_acks", u64::from(counts.skipped_acks));
        beside!(&self.fallback, f => f.signals(visit));
    }
}
