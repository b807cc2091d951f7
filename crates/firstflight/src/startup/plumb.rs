//! Plumb: the first flight leaves as short trains whose ACKs sound the path; growth is fast towards
//! a depth that was sounded, threefold while none is known, slow where it has been reached; a queue
//! is drained and looked at before it ends anything.
//!
//! Follows: ours (`docs/plumb.md` has the design, its evaluation and its limits). Prior art: Rapid
//! Start (volume of the first flight, RTT floor, recovery), BEST and SUSS (spacing of ACKs in slow
//! start), paced chirping and packet trains, SEARCH (delivery against sending), BBR (a rate to pace
//! by, drain, loss below a share). State: 728 bytes.
//!
//! One idea per file: [`crate::signal::sounding`] reads a rate from the spacing of ACKs,
//! [`crate::signal::bunches`] says when that spacing means nothing,
//! [`crate::signal::drain_and_look`] finds out whose a queue is; the first flight, growth, rounds
//! and the answer to loss are here. Two settings are arms of their own: `plumb` answers every loss,
//! `plumb-tolerant` excuses few losses of a startup round and keeps more of the window where the RTT
//! shows no queue. Without a pacer there is no first flight and no threefold growth: it grows as slow
//! start does, by all that an ACK newly delivers.

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
    ExitReason, GAIN_SLOW_START, Grown, Handover, Leave, SlowStart, Startup, Train, Verdict,
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

/// A raised RTT is at least this much: less is the grain of clocks.
const LEAST_RISE: Nanos = Nanos::from_micros(500);
/// So many packets lost at once are no accident.
const POLICED: u64 = 8;
/// Rounds after which bunches are forgotten.
const MEMORY: u32 = 4;
/// Share `K` of Rapid Start's recovery.
const K: Ratio = Ratio::new(2, 3);

/// Plumb of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Plumb {
    params: Params,
    /// Startup goes on.
    on: bool,
    /// Data has been acknowledged.
    data: bool,
    /// ACKs come in bunches: nothing is read from them.
    bunched: bool,
    /// The last round in which they did.
    bunched_in: Option<u32>,
    /// A queue showed where they do: twofold growth from here.
    gentle: bool,
    strikes: u8,
    srtt: Nanos,
    /// RTT above the smallest that is not the sender's doing.
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
    /// With these parameters.
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
            sounding: Sounding::of_version(params.version),
            bunches: Bunches::default(),
            growth: Growth::new(params.growth),
            landing: DrainAndLook::default(),
            clocked: Clocked::new(params.version),
        }
    }

    /// The largest RTT that still counts as no queue: Rapid Start's, and never less than half a
    /// millisecond above the smallest.
    fn threshold(min: Nanos) -> Nanos {
        Threshold::Draft.of(min).max(min + LEAST_RISE)
    }

    /// PLUMB 4-sign: the whole last round trip was above the threshold, and above what was noise
    /// before.
    fn queue(&self) -> Option<Nanos> {
        let (floor, min) = (self.floor.floor()?, self.floor.min_rtt()?);
        (floor > Plumb::threshold(min).max(min + self.noise)).then_some(floor - min)
    }

    /// Not even a quarter of what would be a sign of a queue.
    fn calm(&self) -> bool {
        match (self.floor.floor(), self.floor.min_rtt()) {
            (Some(floor), Some(min)) => {
                let quarter = Nanos((Plumb::threshold(min).0 - min.0) / 4);
                floor <= min + quarter.max(self.noise)
            }
            _ => false,
        }
    }

    /// PLUMB 4-land: what the path delivers in its smallest RTT, and two packets; not below two
    /// initial windows, never above the window. `None` if no rate is known.
    fn landing_window(&self, ack: &Ack, min: Nanos, cwnd: u64, cx: &Context) -> Option<u64> {
        let delivered = self.rounds.best(ack, min, &cx.so_far);
        let rate = match self.estimate() {
            Some(e) if e.sure => delivered.max(e.rate.0),
            // One sounding may be a false one: it counts up to twice what was delivered.
            Some(e) => delivered.max(e.rate.0.min(delivered.saturating_mul(2))),
            None => delivered,
        };
        let held = mul_div(rate, min.0, 1_000_000_000).saturating_add(2 * cx.mss);
        (rate > 0).then(|| held.max(cx.iw.saturating_mul(2)).min(cwnd))
    }

    /// ACKs come in bunches, and no clock says how the packets came.
    fn is_blind(&self) -> bool {
        self.bunched && !self.clocked.is_of_use()
    }

    /// What is known of the rate. PLUMB 8-rate: by the receiver's clock where ACKs come in bunches.
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
            // PLUMB 5-anew: each round is judged anew.
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

    /// PLUMB 5-blind: where ACKs come in bunches nothing is known and nothing lands; a landing that
    /// they called for is taken back.
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
            // PLUMB 4-others: noise from here on; the window comes back.
            Finding::Others { before, rise } => {
                self.noise = self.noise.max(rise + Nanos(rise.0 / 4));
                if before > w.cwnd { Verdict::Hold { cwnd: before } } else { Verdict::Stay }
            }
            // PLUMB 4-strike: what the path holds is found; grow slowly from here.
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

    /// Lands if a queue shows and a rate is known to land by.
    fn land(&mut self, ack: &Ack, min: Nanos, w: Window, cx: &Context) -> Verdict {
        // Without a sure depth the rate must be one of this round, or the landing would fall back
        // to what the round before could show.
        let sure = self.growth.depth().is_some_and(|(_, sure)| sure);
        let measured = sure || self.rounds.is_half_over(ack.now, min);
        if self.landing.is_active() || self.rounds.number <= 1 || !measured {
            return Verdict::Stay;
        }
        // PLUMB 5-sticky: a return path that has released ACKs in bunches does so again, and a floor
        // that it has raised is no queue; nor is one under which delivery still grows.
        let doubtful = self.remembers_bunches() || !self.rounds.is_flat();
        if doubtful && self.params.version > 1 {
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

    /// In version 2 for good: a receiver that acknowledges what has not arrived makes a bunch or two,
    /// and then nothing is left that would stop growth.
    fn remembers_bunches(&self) -> bool {
        let memory = if self.params.version > 2 { MEMORY } else { u32::MAX };
        self.bunched_in.is_some_and(|round| round.saturating_add(memory) > self.rounds.number)
    }

    /// PLUMB 6-policed: many packets are lost without a queue and far below the depth that trains
    /// have shown. Something lets short trains through and no more: a bucket, or a tiny buffer. What
    /// is delivered says more than the window then.
    fn is_policed(&self, flight: u64, ack: &Ack, cx: &Context) -> bool {
        self.params.version > 1
            && ack.lost >= POLICED * cx.mss
            && self.growth.depth().is_some_and(|(depth, _)| flight < depth / 4)
            && self.queue().is_none()
    }

    /// PLUMB 9-same: what an earlier connection has saved, in bytes, if this RTT may be the same
    /// path's; zero if there is nothing.
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

    /// The share of the window that a cut keeps now.
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
    /// Whether startup goes on.
    type Saved = bool;

    fn start(&mut self, now: Time, nxt: Seq) {
        self.floor.start(now);
        self.rounds.start(now, nxt);
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, _cx: &Context) {
        if self.on || self.params.keep.is_some() {
            self.sounding.on_rtt(rtt);
            // With the receiver's clock it is told what that says, with the ACK.
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
    fn heeds_sending(&self) -> bool {
        self.on && self.first.heeds_sending()
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
            // The landing keeps two packets more than the path holds, and rounding.
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
        self.growth.crowded = self.params.version > 2 && self.sounding.is_crowded();
        // PLUMB 3-verify: what the path carries is not what it has left.
        self.growth.unproven = self.params.verify && !self.sounding.is_drained();
        if round <= 1 {
            // PLUMB 4-noise: what trains meet before there can be a queue of ours is noise.
            self.noise = self.noise.max(self.sounding.spread().min(self.clocked.spread()));
        }
        self.land(ack, min, w, cx)
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        if !self.on {
            return SlowStart.grow(ack, acked, w, cx);
        }
        self.first.on_ack(ack, w, cx);
        if self.landing.is_active() {
            // PLUMB 4-still: no growth while it drains and looks.
            self.growth.stand();
        } else if !cx.limited {
            // No growth while the window is not used.
        } else if self.is_blind() {
            self.growth.blind(acked, self.gentle, w, cx);
        } else {
            self.growth.careful = self.strikes > 0;
            let (round, prior) = (self.rounds.number, self.prior(cx));
            self.growth.grow(acked, round, self.srtt, prior, w, cx);
        }
        Grown::default()
    }

    fn reach(&self, max_fs: u64, _w: Window, _cx: &Context) -> u64 {
        max_fs.saturating_mul(u64::from(self.params.growth).max(growth::BLIND))
    }

    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        // PLUMB 6-marks: marks are no accident.
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
        // PLUMB 6-one-answer: what is lost while a landing drains was sent by the window before it.
        let landed = self.landing.draining_from().filter(|_| startup);
        let pre = landed.unwrap_or(0).max(w.cwnd).min(ack.inflight_before);
        if startup && (self.params.own_recovery || self.is_policed(pre, ack, cx)) {
            // PLUMB 6-rapid: lands on that share of what was delivered.
            let mut recovery = RapidRecovery::new(share, K, pre, cx.iw, cx.mss);
            recovery.account(ack.acked, ack.lost);
            return Some(OwnRecovery::Rapid(recovery));
        }
        // PLUMB 6-policy: the arm's own answer, unless the path holds more than its factor keeps, or
        // the window has been cut already.
        let own = loss::is_less(beta, share) || landed.is_some_and(|before| before > w.cwnd);
        own.then(|| OwnRecovery::standing(share.of(pre).min(w.cwnd).max(cx.minimum_window())))
    }

    // PLUMB 7-timeout: a timeout ends it for good.
    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.on = false;
        self.first.cancel();
    }

    // PLUMB 7-idle: what was sounded before a long pause no longer counts.
    fn on_idle(&mut self, _now: Time, _nxt: Seq) {
        self.first.cancel();
        self.sounding.forget();
        self.clocked.forget();
        self.growth.forget();
    }

    fn save(&self) -> bool {
        self.on
    }

    // PLUMB 7-undo: after a false alarm it goes on where it was; the round holds time of recovery.
    fn restore(&mut self, on: bool) {
        self.on = on;
        self.rounds.interrupt();
    }

    fn pacing_gain(&self) -> Ratio {
        match (self.on, self.first.train()) {
            (false, _) => GAIN_SLOW_START,
            // For a stack that knows no trains: the mean pace of the flight.
            (true, Some(_)) => GAIN_JUMP,
            (true, None) => self.growth.gain,
        }
    }

    fn phase(&self) -> Phase {
        if !self.on {
            Phase::Startup
        } else if self.first.train().is_some() {
            Phase::Jump
        } else if self.landing.is_active() {
            Phase::Drain
        } else if self.strikes > 0 {
            Phase::Css
        } else {
            Phase::Rapid
        }
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
