//! Growth: fast towards a sounded depth, threefold while no depth is known, slow once the depth is
//! reached.

use crate::event::{Context, Window};
use crate::signal::sounding::Estimate;
use crate::startup::{GAIN_AVOIDANCE, GAIN_RAPID, GAIN_SLOW_START};
use crate::units::{Nanos, Rate, Ratio, mul_div};

/// PLUMB 3-blind: growth per round trip while no depth is known, as in Rapid Start.
pub(super) const BLIND: u64 = 3;
/// PLUMB 3-cruise: growth at the depth is one CRUISE-th of the acknowledged bytes.
const CRUISE: u64 = 8;
/// PLUMB 3-calm: rounds of slow growth without a sign of a queue before it doubles.
const CALM: u8 = 2;
/// Further doublings have no effect.
const MOST_CALM: u8 = CALM + 8;

/// Growth of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// Growth per round trip towards a known depth.
    factor: u8,
    /// Whether growth towards a depth is still limited to twofold.
    pub(super) unproven: bool,
    /// Whether a queue of the sender's own was found; growth is then always slow.
    pub(super) careful: bool,
    /// Whether other flows fill the path or the RTT is raised; growth is then as in slow start
    /// while no depth is known.
    pub(super) crowded: bool,
    /// Whether a train has been seen to drain, so the path has room for a window at once.
    pub(super) room: bool,
    /// Whether the trains of the first flight met different queues.
    pub(super) uneven: bool,
    /// Pacing gain until the next growth.
    pub(super) gain: Ratio,
    /// Rate times smallest RTT plus two packets, in bytes; zero while unknown.
    depth: u64,
    rate: Rate,
    /// Whether two soundings agree.
    sure: bool,
    /// The round in which a depth was first known, and the bytes in flight then.
    sounded: Option<u32>,
    base: u64,
    /// Whether this round grew slowly.
    cruised: bool,
    /// Calm rounds of slow growth in a row.
    calm: u8,
}

impl Growth {
    /// Grows towards a known depth by `factor` per round trip.
    pub(super) fn new(factor: u8) -> Growth {
        Growth {
            factor,
            unproven: false,
            careful: false,
            crowded: false,
            room: false,
            uneven: false,
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

    /// Updates depth and rate from the soundings; `fastest` is the highest rate of whole rounds,
    /// `flight` the outstanding bytes.
    pub(super) fn know(
        &mut self,
        estimate: Option<Estimate>,
        fastest: u64,
        min: Nanos,
        round: u32,
        flight: u64,
        mss: u64,
    ) {
        // PLUMB 3-refuted: a rate that a whole round has exceeded by a twentieth is discarded.
        let holds = |e: &Estimate| e.rate.0.saturating_mul(20) >= fastest.saturating_mul(19);
        let Some(Estimate { rate, sure }) = estimate.filter(holds) else {
            (self.depth, self.sure, self.rate) = (0, false, Rate(0));
            return;
        };
        // PLUMB 3-depth: the amount that the path holds without a queue, plus two packets.
        self.depth = rate.bytes_in(min).saturating_add(2 * mss);
        (self.rate, self.sure) = (rate, sure);
        if self.sounded.is_none() {
            (self.sounded, self.base) = (Some(round), flight);
        }
    }

    pub(super) fn forget(&mut self) {
        (self.depth, self.sure, self.rate) = (0, false, Rate(0));
    }

    /// A round begins; `calm` if the previous round showed no sign of a queue.
    pub(super) fn next_round(&mut self, calm: bool) {
        if core::mem::take(&mut self.cruised) && calm {
            self.calm = (self.calm + 1).min(MOST_CALM);
        }
    }

    /// A queue of the sender's own was found.
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
            return;
        }
        // PLUMB 3-uneven: one and a half per round trip if trains met different queues: others may
        // be starting too, and the spacing of ACKs says what the link carries, not what is free.
        let acked = if self.uneven { acked / 2 } else { acked };
        if self.depth > 0 {
            // PLUMB 3-known: by the factor, up to the depth. Without a pacer that would be a burst
            // of that many windows, so growth is as in slow start.
            let fast = cx.paced && !self.unproven && !self.uneven;
            let factor = if fast { u64::from(self.factor) } else { 2 };
            let more = cx.cap(acked).saturating_mul(factor.saturating_sub(1));
            w.open(more.min(self.depth - w.cwnd));
            // PLUMB 3-once: the amount that blind growth would allow within this round trip may
            // leave at once, at the pace of the path, if a train has left its queue empty.
            if self.sounded == Some(round) && fast && self.room {
                let at_once = self.base.saturating_mul(BLIND).min(self.depth);
                w.open(at_once.saturating_sub(w.cwnd));
            }
            // PLUMB 9-prior: the earlier connection's window, once two soundings agree and confirm
            // half of it.
            if fast && self.sure && self.depth >= prior / 2 {
                w.open(prior.min(self.depth).saturating_sub(w.cwnd));
            }
            self.pace(self.rate, srtt, w.cwnd);
        } else {
            // PLUMB 3-crowded, PLUMB 3-raised: as in slow start if the path is in use.
            self.blind(acked, self.crowded || self.uneven, w, cx);
        }
    }

    /// Rapid Start's growth; slow start's without a pacer or if `gentle`.
    pub(super) fn blind(&mut self, acked: u64, gentle: bool, w: &mut Window, cx: &Context) {
        let more = if !cx.paced || gentle { 1 } else { BLIND - 1 };
        w.open(cx.cap(acked).saturating_mul(more));
        self.gain = if more > 1 { GAIN_RAPID } else { GAIN_SLOW_START };
    }

    fn cruise(&mut self, acked: u64, srtt: Nanos, w: &mut Window) {
        self.cruised = true;
        let doublings = self.calm.saturating_sub(CALM);
        let step = (acked / CRUISE) << doublings;
        // PLUMB 3-bound: the window exceeds a depth that two soundings agree on by at most a
        // quarter, until calm rounds have refuted it.
        let bound =
            if self.sure && doublings == 0 { self.depth + self.depth / 4 } else { u64::MAX };
        w.open(step.min(acked.saturating_mul(BLIND - 1)).min(bound.saturating_sub(w.cwnd)));
        self.gain = match doublings {
            0..=1 => GAIN_AVOIDANCE,
            2..=3 => GAIN_SLOW_START,
            _ => GAIN_RAPID,
        };
        if self.depth > 0 && doublings == 0 {
            // A shallow buffer cannot hold a burst above the pace of the path; a sixteenth more
            // finds capacity that the sounding missed.
            self.pace(Rate(self.rate.0.saturating_add(self.rate.0 / 16)), srtt, w.cwnd);
        }
    }

    /// Stops growth while a landing is judged.
    pub(super) fn stand(&mut self) {
        self.gain = GAIN_AVOIDANCE;
    }

    /// Sets the gain that turns the window per smoothed RTT into `rate`; between 1 and 1023.
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

    /// The current rate.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }
}
