//! Growth: fast towards a depth that was sounded, threefold while none is known, slow where it has
//! been reached.

use crate::event::{Context, Window};
use crate::signal::sounding::Estimate;
use crate::startup::{GAIN_AVOIDANCE, GAIN_RAPID, GAIN_SLOW_START};
use crate::units::{Nanos, Rate, Ratio, mul_div};

/// PLUMB 3-blind: growth per round trip while nothing is known, Rapid Start's.
pub(super) const BLIND: u64 = 3;
/// PLUMB 3-cruise: growth at the depth, in parts of what is acknowledged.
const CRUISE: u64 = 8;
/// PLUMB 3-calm: rounds of slow growth without a sign of a queue before it doubles.
const CALM: u8 = 2;
/// Doublings beyond this change nothing any more.
const MOST_CALM: u8 = CALM + 8;

/// How one connection grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// Growth per round trip towards a known depth.
    factor: u8,
    /// No growth above two towards a depth yet.
    pub(super) unproven: bool,
    /// A queue of its own was found: always slowly from there.
    pub(super) careful: bool,
    /// Others fill the path: as slow start while nothing is known.
    pub(super) crowded: bool,
    /// Pacing gain until the next growth.
    pub(super) gain: Ratio,
    /// Rate times smallest RTT and two packets, in bytes; zero while unknown.
    depth: u64,
    rate: Rate,
    /// Two soundings agree.
    sure: bool,
    /// The round in which a depth was first known, and the bytes in flight then.
    sounded: Option<u32>,
    base: u64,
    /// This round grew slowly.
    cruised: bool,
    /// Calm rounds of slow growth in a row.
    calm: u8,
}

impl Growth {
    /// Towards a known depth by `factor` per round trip.
    pub(super) fn new(factor: u8) -> Growth {
        Growth {
            factor,
            unproven: false,
            careful: false,
            crowded: false,
            gain: GAIN_RAPID,
            depth: 0,
            rate: Rate(0),
            sure: false,
            sounded: None,
            base: 0,
            cruised: false,
            calm: 0,
        }
    }

    /// Takes what the soundings say; `fastest` is what whole rounds delivered, `flight` what is
    /// outstanding.
    pub(super) fn know(
        &mut self,
        estimate: Option<Estimate>,
        fastest: u64,
        min: Nanos,
        round: u32,
        flight: u64,
        mss: u64,
    ) {
        // PLUMB 3-refuted: a rate that a whole round has exceeded by a twentieth is none.
        let holds = |e: &Estimate| e.rate.0.saturating_mul(20) >= fastest.saturating_mul(19);
        let Some(Estimate { rate, sure }) = estimate.filter(holds) else {
            (self.depth, self.sure, self.rate) = (0, false, Rate(0));
            return;
        };
        // PLUMB 3-depth: what the path holds without a queue, and two packets.
        self.depth = rate.bytes_in(min).saturating_add(2 * mss);
        (self.rate, self.sure) = (rate, sure);
        if self.sounded.is_none() {
            (self.sounded, self.base) = (Some(round), flight);
        }
    }

    pub(super) fn forget(&mut self) {
        (self.depth, self.sure, self.rate) = (0, false, Rate(0));
    }

    /// A round begins; `calm` if nothing of a queue was seen in the one that ended.
    pub(super) fn next_round(&mut self, calm: bool) {
        if core::mem::take(&mut self.cruised) && calm {
            self.calm = (self.calm + 1).min(MOST_CALM);
        }
    }

    /// A queue of its own was found.
    pub(super) fn struck(&mut self) {
        self.calm = 0;
    }

    /// Grows by `acked` in round `round` and sets the pace. `prior` is the window of an earlier
    /// connection, zero if there is none.
    pub(super) fn grow(
        &mut self,
        acked: u64,
        round: u32,
        srtt: Nanos,
        prior: u64,
        w: &mut Window,
        cx: &Context,
    ) {
        if self.careful || (self.depth > 0 && w.cwnd >= self.depth) {
            self.cruise(acked, srtt, w);
        } else if self.depth > 0 {
            // PLUMB 3-known: by the factor, not beyond the depth. Without a pacer it would be a
            // burst of that many times the window: there as slow start does.
            let fast = cx.paced && !self.unproven;
            let factor = if fast { u64::from(self.factor) } else { 2 };
            let more = cx.cap(acked).saturating_mul(factor.saturating_sub(1));
            w.open(more.min(self.depth - w.cwnd));
            // PLUMB 3-once: what blind growth would allow within this round trip may leave at once,
            // at the pace of the path.
            if self.sounded == Some(round) && fast {
                let at_once = self.base.saturating_mul(BLIND).min(self.depth);
                w.open(at_once.saturating_sub(w.cwnd));
            }
            // PLUMB 9-prior: what an earlier connection had, once two soundings agree and confirm
            // half of it.
            if fast && self.sure && self.depth >= prior / 2 {
                w.open(prior.min(self.depth).saturating_sub(w.cwnd));
            }
            self.pace(self.rate, srtt, w.cwnd);
        } else {
            // PLUMB 3-crowded: as slow start where others fill the path.
            self.blind(acked, self.crowded, w, cx);
        }
    }

    /// Rapid Start's growth, or slow start's: without a pacer and where it must be `gentle`.
    pub(super) fn blind(&mut self, acked: u64, gentle: bool, w: &mut Window, cx: &Context) {
        let more = if !cx.paced || gentle { 1 } else { BLIND - 1 };
        w.open(cx.cap(acked).saturating_mul(more));
        self.gain = if more > 1 { GAIN_RAPID } else { GAIN_SLOW_START };
    }

    fn cruise(&mut self, acked: u64, srtt: Nanos, w: &mut Window) {
        self.cruised = true;
        let doublings = self.calm.saturating_sub(CALM);
        let step = (acked / CRUISE) << doublings;
        // PLUMB 3-bound: a depth that two soundings agree on is passed by a quarter at most, until
        // calm rounds have refuted it.
        let bound =
            if self.sure && doublings == 0 { self.depth + self.depth / 4 } else { u64::MAX };
        w.open(step.min(acked.saturating_mul(BLIND - 1)).min(bound.saturating_sub(w.cwnd)));
        self.gain = match doublings {
            0..=1 => GAIN_AVOIDANCE,
            2..=3 => GAIN_SLOW_START,
            _ => GAIN_RAPID,
        };
        if self.depth > 0 && doublings == 0 {
            // A shallow buffer holds no burst above the pace of the path; a sixteenth more finds
            // what the sounding missed.
            self.pace(Rate(self.rate.0.saturating_add(self.rate.0 / 16)), srtt, w.cwnd);
        }
    }

    /// Nothing grows while a landing is judged.
    pub(super) fn stand(&mut self) {
        self.gain = GAIN_AVOIDANCE;
    }

    /// The gain that makes `rate` of the window per smoothed RTT; between 1 and 1023.
    fn pace(&mut self, rate: Rate, srtt: Nanos, cwnd: u64) {
        let gain = mul_div(rate.bytes_in(srtt), 64, cwnd).clamp(64, u64::from(u16::MAX));
        self.gain = Ratio::new(u16::try_from(gain).unwrap_or(u16::MAX), 64);
    }

    /// Depth in bytes and whether two soundings agree; `None` while unknown.
    pub(super) fn depth(&self) -> Option<(u64, bool)> {
        (self.depth > 0).then_some((self.depth, self.sure))
    }

    /// Calm rounds of slow growth in a row, at most ten.
    pub(super) fn calm_rounds(&self) -> u8 {
        self.calm
    }

    /// The rate in force.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }
}
