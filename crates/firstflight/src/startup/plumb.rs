//! Plumb: the first flight leaves as short trains whose ACKs sound the path. Growth is fast towards
//! a sounded depth, threefold while no depth is known, and slow once the depth is reached. A queue
//! is drained and observed before it ends startup.
//!
//! Follows: ours (`docs/plumb.md` has the design, its evaluation and its limits). Prior art: Rapid
//! Start (volume of the first flight, RTT floor, recovery), BEST and SUSS (spacing of ACKs in slow
//! start), paced chirping and packet trains, SEARCH (delivery compared with sending), BBR (pacing
//! at a rate, drain, tolerated loss share). State: 728 bytes.
//!
//! One idea per file: [`crate::signal::sounding`] reads a rate from the spacing of ACKs,
//! [`crate::signal::bunches`] says when that spacing means nothing,
//! [`crate::signal::drain_and_look`] finds out who caused a queue; the first flight, growth, rounds
//! and the response to loss are here. Two settings are arms of their own: `plumb` responds to every
//! loss; `plumb-tolerant` excuses a few losses of a startup round and keeps more of the window if
//! the RTT shows no queue. Without a pacer there is no first flight and no threefold growth: the
//! window grows as in slow start, by all bytes that an ACK newly delivers.

mod clocked;
mod first_flight;
mod growth;
mod loss;
mod params;
mod rounds;

pub use params::Params;

use super::careful;
use super::jump::GAIN_JUMP;
use super::rapid_start::Threshold;
use super::{
    ExitReason, GAIN_SLOW_START, Grown, Handover, Heeds, Leave, Pacing, SlowStart, Startup, Status,
    Train, Verdict,
};
use crate::event::{Ack, Context, Phase, Ready, Signal, Timeout, Window};
use crate::recovery::{OwnRecovery, RapidRecovery};
use crate::signal::bunches::Bunches;
use crate::signal::drain_and_look::{DrainAndLook, Finding};
use crate::signal::rtt_floor::RttFloor;
use crate::signal::sounding::{Arrival, Estimate, Sounding};
use crate::units::{MAX_BYTES, Nanos, Ratio, Seq, Time, mul_div};
use clocked::Clocked;
use first_flight::FirstFlight;
use growth::Growth;
use rounds::Rounds;

/// The least rise that counts as a raised RTT; less is the granularity of clocks.
const LEAST_RISE: Nanos = Nanos::from_micros(500);
/// This many packets lost at once indicate a policer or a tiny buffer.
const POLICED: u64 = 8;
/// Rounds after which bunches are forgotten.
const MEMORY: u32 = 4;
/// Share `K` of Rapid Start's recovery.
const K: Ratio = Ratio::new(2, 3);

/// Plumb of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Plumb {
    params: Params,
    /// Whether startup is active.
    on: bool,
    /// Whether data has been acknowledged.
    data: bool,
    /// Whether ACKs arrive in bunches, so that their spacing is ignored.
    bunched: bool,
    /// The last round in which ACKs arrived in bunches.
    bunched_in: Option<u32>,
    /// Whether a queue showed while ACKs arrived in bunches; growth is then twofold.
    gentle: bool,
    strikes: u8,
    srtt: Nanos,
    /// RTT above the minimum that the sender did not cause.
    noise: Nanos,
    first: FirstFlight,
    floor: RttFloor,
    rounds: Rounds,
    sounding: Sounding,
    bunches: Bunches,
    growth: Growth,
    landing: DrainAndLook,
    clocked: Clocked,
}

impl Plumb {
    /// Creates the startup with these parameters.
    pub fn new(params: Params) -> Plumb {
        Plumb {
            params,
            on: true,
            data: false,
            bunched: false,
            bunched_in: None,
            gentle: false,
            strikes: 0,
            srtt: Nanos::ZERO,
            noise: Nanos::ZERO,
            first: FirstFlight::default(),
            floor: RttFloor::default(),
            rounds: Rounds::default(),
            sounding: Sounding::default(),
            bunches: Bunches::default(),
            growth: Growth::new(params.growth),
            landing: DrainAndLook::default(),
            clocked: Clocked::new(),
        }
    }

    /// The largest RTT that still counts as no queue: Rapid Start's threshold, and at least half a
    /// millisecond above the minimum.
    fn threshold(min: Nanos) -> Nanos {
        Threshold::Draft.of(min).max(min + LEAST_RISE)
    }

    /// PLUMB 4-sign: returns the rise if the whole last round trip was above the threshold and
    /// above the noise seen before.
    fn queue(&self) -> Option<Nanos> {
        let (floor, min) = (self.floor.floor()?, self.floor.min_rtt()?);
        (floor > Plumb::threshold(min).max(min + self.noise)).then_some(floor - min)
    }

    /// Whether the rise is at most a quarter of the rise that indicates a queue, or within the
    /// noise.
    fn calm(&self) -> bool {
        match (self.floor.floor(), self.floor.min_rtt()) {
            (Some(floor), Some(min)) => {
                let quarter = Nanos((Plumb::threshold(min).0 - min.0) / 4);
                floor <= min + quarter.max(self.noise)
            }
            _ => false,
        }
    }

    /// PLUMB 4-land: the amount that the path delivers in its smallest RTT plus two packets; at
    /// least two initial windows, at most the window. `None` if no rate is known.
    fn landing_window(&self, ack: &Ack, min: Nanos, cwnd: u64, cx: &Context) -> Option<u64> {
        let delivered = self.rounds.best(ack, min, &cx.so_far);
        let rate = match self.estimate() {
            Some(e) if e.sure => delivered.max(e.rate.0),
            // A single sounding may be wrong: it counts up to twice the delivered rate.
            Some(e) => delivered.max(e.rate.0.min(delivered.saturating_mul(2))),
            None => delivered,
        };
        let held = mul_div(rate, min.0, 1_000_000_000).saturating_add(2 * cx.mss);
        (rate > 0).then(|| held.max(cx.iw.saturating_mul(2)).min(cwnd))
    }

    /// Whether ACKs arrive in bunches and the receiver's clock is unusable.
    fn is_blind(&self) -> bool {
        self.bunched && !self.clocked.is_of_use()
    }

    /// The estimated rate. PLUMB 8-rate: from the receiver's clock if ACKs arrive in bunches.
    fn estimate(&self) -> Option<Estimate> {
        let round = self.rounds.number;
        if self.bunched { self.clocked.estimate(round) } else { self.sounding.estimate(round) }
    }

    /// One ACK of startup, up to the verdict: rounds, soundings, bunches.
    fn observe(&mut self, ack: &Ack, cx: &Context) -> Option<Nanos> {
        if let Some(srtt) = ack.srtt {
            self.srtt = srtt;
        }
        if let (false, Some(rtt)) = (self.data, ack.rtt) {
            // Packets of the handshake are shorter than data: the smallest RTT of data starts here.
            self.data = true;
            self.floor = RttFloor::default();
            self.floor.start(ack.now);
            self.floor.on_rtt(ack.now, rtt);
        }
        let min = self.floor.min_rtt().filter(|_| self.data)?;
        if self.rounds.on_ack(ack, min, &cx.so_far) {
            let calm = self.calm();
            self.growth.next_round(calm);
            // PLUMB 5-anew: each round is judged again.
            self.bunched = self.bunches.verdict().unwrap_or(self.bunched) && self.params.bunches;
            self.bunches.next_round();
            self.clocked.next_round();
        }
        if self.params.clock {
            self.clocked.on_ack(ack, min, self.rounds.number, cx);
            if let Some(rtt) = ack.rtt {
                self.floor.on_rtt(ack.now, self.clocked.forward(rtt, min));
            }
        }
        if let Some(arrival) = Arrival::of(ack, &cx.so_far) {
            let grain = Nanos::from_micros(100 * u64::from(self.params.grain));
            self.bunches.on_arrival_by(grain, arrival, Nanos(min.0 / 4), cx.mss);
            self.sounding.on_arrival(arrival, min, self.rounds.number, cx.mss);
        }
        if self.bunches.verdict() == Some(true) && self.params.bunches {
            self.bunched = true;
        }
        Some(min)
    }

    /// PLUMB 5-blind: while ACKs arrive in bunches, no rate is known and no landing starts; a
    /// landing that they caused is undone.
    fn on_bunches(&mut self, w: Window) -> Verdict {
        self.bunched_in = Some(self.rounds.number);
        self.sounding.forget_rates();
        self.growth.forget();
        let before = self.landing.abort();
        self.gentle |= before.is_some() || (self.rounds.number > 1 && self.queue().is_some());
        match before {
            Some(cwnd) if cwnd > w.cwnd => Verdict::Hold { cwnd },
            _ => Verdict::Stay,
        }
    }

    fn on_finding(&mut self, finding: Finding, w: Window) -> Verdict {
        match finding {
            // PLUMB 4-others: the rise counts as noise afterwards; the window is restored.
            Finding::Others { before, rise } => {
                self.noise = self.noise.max(rise + Nanos(rise.0 / 4));
                if before > w.cwnd { Verdict::Hold { cwnd: before } } else { Verdict::Stay }
            }
            // PLUMB 4-strike: the path's capacity is found; grow slowly afterwards.
            Finding::Ours => {
                self.sounding.forget();
                self.clocked.forget();
                self.growth.struck();
                self.strikes = self.strikes.saturating_add(1);
                if self.strikes < self.params.strikes {
                    return Verdict::Stay;
                }
                // PLUMB 4-leave: without a loss.
                self.on = false;
                Verdict::Leave(Leave {
                    reason: ExitReason::Delay,
                    ssthresh: w.cwnd,
                    cwnd: None,
                    handover: Handover::LossFree,
                    estimate: Some(w.cwnd),
                })
            }
        }
    }

    /// Lands if a queue shows and a rate for the landing is known.
    fn land(&mut self, ack: &Ack, min: Nanos, w: Window, cx: &Context) -> Verdict {
        // Without a sure depth the rate must come from this round; otherwise the landing would use
        // the lower rate of the previous round.
        let sure = self.growth.depth().is_some_and(|(_, sure)| sure);
        let measured = sure || self.rounds.is_half_over(ack.now, min);
        if self.landing.is_active() || self.rounds.number <= 1 || !measured {
            return Verdict::Stay;
        }
        // PLUMB 5-sticky: a return path that has released ACKs in bunches will do so again, and an
        // RTT floor that it has raised is not a queue; neither is one while delivery still grows.
        if self.remembers_bunches() || !self.rounds.is_flat() {
            return Verdict::Stay;
        }
        let Some(rise) = self.queue() else { return Verdict::Stay };
        match self.landing_window(ack, min, w.cwnd, cx) {
            Some(cwnd) => {
                self.landing.begin(ack.nxt, w.cwnd, rise);
                Verdict::Hold { cwnd }
            }
            None => Verdict::Stay,
        }
    }

    /// Whether bunches were seen recently. They are forgotten because a receiver that acknowledges
    /// data that has not arrived produces a bunch or two, and then nothing would stop growth.
    fn remembers_bunches(&self) -> bool {
        self.bunched_in.is_some_and(|round| round.saturating_add(MEMORY) > self.rounds.number)
    }

    /// PLUMB 3-raised: whether the ACK's RTT is above the threshold.
    fn is_raised(&self, ack: &Ack) -> bool {
        let (Some(rtt), Some(min)) = (ack.rtt, self.floor.min_rtt()) else { return false };
        self.clocked.forward(rtt, min) > Plumb::threshold(min)
    }

    /// Spread of the RTTs that the trains of the first flight met.
    fn spread(&self) -> Nanos {
        self.sounding.spread().min(self.clocked.spread())
    }

    /// PLUMB 3-uneven: whether these RTTs differ by more than an eighth of the smallest RTT and
    /// more than the granularity of clocks.
    fn is_uneven(&self) -> bool {
        let min = self.floor.min_rtt().unwrap_or_default();
        self.spread() > Nanos(min.0 / 8).max(LEAST_RISE)
    }

    /// PLUMB 6-policed: many packets are lost without a queue and far below the depth that trains
    /// have shown, so only short trains pass: a token bucket or a tiny buffer. The delivered amount
    /// is then a better measure than the window.
    fn is_policed(&self, flight: u64, ack: &Ack, cx: &Context) -> bool {
        ack.lost >= POLICED * cx.mss
            && self.growth.depth().is_some_and(|(depth, _)| flight < depth / 4)
            && self.queue().is_none()
    }

    /// PLUMB 9-same: the window saved by an earlier connection, in bytes, if the RTT is compatible
    /// with the same path; zero if there is none.
    fn prior(&self, cx: &Context) -> u64 {
        let min = self.floor.min_rtt().unwrap_or_default();
        let rtt = self.params.rtt_ms.map(|ms| Nanos::from_millis(ms.into()));
        match self.params.saved {
            Some(packets) if rtt.is_none_or(|rtt| careful::is_same_path(rtt, min)) => {
                u64::from(packets).saturating_mul(cx.mss).min(MAX_BYTES)
            }
            _ => 0,
        }
    }

    /// The share of the window that a cut keeps at present.
    fn share(&self, beta: Ratio, ack: &Ack) -> Ratio {
        match (self.floor.floor(), self.floor.min_rtt()) {
            (Some(floor), Some(min)) => {
                let now = floor.max(ack.rtt.unwrap_or(self.srtt));
                loss::share(beta, self.params.keep, min, now)
            }
            _ => beta,
        }
    }
}

impl Startup for Plumb {
    /// Whether startup is active.
    type Saved = bool;

    fn start(&mut self, now: Time, nxt: Seq) {
        self.floor.start(now);
        self.rounds.start(now, nxt);
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, _cx: &Context) {
        if self.on || self.params.keep.is_some() {
            self.sounding.on_rtt(rtt);
            // With the receiver's clock, the floor gets the clock's RTT when the ACK is processed.
            if !(self.on && self.params.clock && self.data) {
                self.floor.on_rtt(now, rtt);
            }
        }
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        if self.on {
            self.first.before_send(ready, self.params.train, w, cx);
        }
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(self.on && self.first.heeds_sending())
    }

    fn train(&self) -> Option<Train> {
        self.first.train().filter(|_| self.on)
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        if !self.on {
            return Verdict::Stay;
        }
        let observed = self.observe(ack, cx);
        let Some(min) = observed.filter(|_| ack.acked > 0) else { return Verdict::Stay };
        if self.landing.is_active() {
            // The landing keeps two packets more than the path holds, plus rounding.
            let kept = mul_div(3 * cx.mss, 1_000_000_000, self.rounds.last());
            let slack = Nanos(kept.min(min.0 / 2));
            let rtt = ack.rtt.map(|rtt| self.clocked.forward(rtt, min));
            let found = self.landing.on_ack(ack, rtt, min, slack);
            let verdict = found.map_or(Verdict::Stay, |finding| self.on_finding(finding, w));
            if verdict != Verdict::Stay {
                return verdict;
            }
        }
        if self.is_blind() {
            return self.on_bunches(w);
        }
        if self.bunched {
            self.sounding.forget_rates();
        }
        let (estimate, fastest) = (self.estimate(), self.rounds.whole());
        let round = self.rounds.number;
        self.growth.know(estimate, fastest, min, round, ack.inflight_before, cx.mss);
        // PLUMB 3-verify: the capacity of the path is not its spare capacity.
        self.growth.room = self.sounding.is_drained();
        self.growth.unproven = self.params.verify && !self.growth.room;
        if round <= 1 {
            // PLUMB 4-noise: RTT variation of trains before the sender can have caused a queue is
            // noise.
            self.noise = self.noise.max(self.spread());
        }
        self.land(ack, min, w, cx)
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        if !self.on {
            return SlowStart.grow(ack, acked, w, cx);
        }
        self.first.on_ack(ack, w, cx);
        if self.landing.is_active() {
            // PLUMB 4-still: no growth while a landing drains and is observed.
            self.growth.stand();
        } else if !cx.limited {
            // No growth while the window is not used.
        } else if self.is_blind() {
            self.growth.blind(acked, self.gentle, w, cx);
        } else {
            self.growth.careful = self.strikes > 0;
            self.growth.uneven = self.is_uneven();
            let blind = self.growth.depth().is_none();
            self.growth.crowded = self.sounding.is_crowded() || (blind && self.is_raised(ack));
            let (round, prior) = (self.rounds.number, self.prior(cx));
            self.growth.grow(acked, round, self.srtt, prior, w, cx);
        }
        Grown::default()
    }

    fn reach(&self, max_fs: u64, w: Window, _cx: &Context) -> u64 {
        let most = u64::from(self.params.growth).max(growth::BLIND);
        if w.in_slow_start() { max_fs.saturating_mul(most) } else { 0 }
    }

    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        // PLUMB 6-marks: marks are never excused.
        if !self.on || signal != Signal::Loss || ack.ce {
            return false;
        }
        if cx.so_far.is_timer(ack) {
            self.rounds.on_loss(ack.lost);
        }
        let (lost, flight) = (self.rounds.lost(), ack.inflight_before);
        loss::is_excused(lost, self.params.tolerate, flight, cx.mss)
    }

    fn on_congestion(
        &mut self,
        _signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.first.cancel();
        let startup = core::mem::replace(&mut self.on, false);
        let share = self.share(beta, ack);
        // PLUMB 6-one-answer: packets lost while a landing drains were sent with the window before
        // it.
        let landed = self.landing.draining_from().filter(|_| startup);
        let pre = landed.unwrap_or(0).max(w.cwnd).min(ack.inflight_before);
        if startup && (self.params.own_recovery || self.is_policed(pre, ack, cx)) {
            // PLUMB 6-rapid: ends at that share of the delivered amount.
            let mut recovery = RapidRecovery::new(share, K, pre, cx.iw, cx.mss);
            recovery.account(ack.acked, ack.lost);
            return Some(OwnRecovery::Rapid(recovery));
        }
        // PLUMB 6-policy: the arm's own recovery, unless the path holds more than its factor keeps
        // or the window has already been cut.
        let own = loss::is_less(beta, share) || landed.is_some_and(|before| before > w.cwnd);
        own.then(|| OwnRecovery::standing(share.of(pre).min(w.cwnd).max(cx.minimum_window())))
    }

    // PLUMB 7-timeout: a timeout ends Plumb for good.
    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.on = false;
        self.first.cancel();
    }

    // PLUMB 7-idle: soundings from before a long pause no longer count.
    fn on_idle(&mut self, _now: Time, _nxt: Seq) {
        self.first.cancel();
        self.sounding.forget();
        self.clocked.forget();
        self.growth.forget();
    }

    fn save(&self) -> bool {
        self.on
    }

    // PLUMB 7-undo: after a false alarm startup continues where it was; the round contains recovery
    // time.
    fn restore(&mut self, on: bool) {
        self.on = on;
        self.rounds.interrupt();
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(match (self.on, self.first.train()) {
            (false, _) => GAIN_SLOW_START,
            // For a stack without trains: the mean pace of the flight.
            (true, Some(_)) => GAIN_JUMP,
            (true, None) => self.growth.gain,
        })
    }

    fn status(&self) -> Status {
        let phase = if !self.on {
            Phase::Startup
        } else if self.first.train().is_some() {
            Phase::Jump
        } else if self.landing.is_active() {
            Phase::Drain
        } else if self.strikes > 0 {
            Phase::Css
        } else {
            Phase::Rapid
        };
        Status { phase, ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let (true, Some(floor), Some(min)) = (self.on, self.floor.floor(), self.floor.min_rtt())
        else {
            return;
        };
        visit("rtt_floor_ns", floor.0);
        visit("rtt_threshold_ns", Plumb::threshold(min).max(min + self.noise).0);
        if let Some((depth, sure)) = self.growth.depth() {
            visit("depth_bytes", depth);
            visit("depth_sure", u64::from(sure));
            visit("sounded_rate", self.growth.rate().0);
        }
        visit("calm_rounds", u64::from(self.growth.calm_rounds()));
        visit("bunched", u64::from(self.bunched));
        visit("strikes", u64::from(self.strikes));
    }
}
