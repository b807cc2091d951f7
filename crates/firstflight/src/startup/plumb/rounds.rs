//! Rounds of startup: the bytes that each delivered and lost.

use crate::event::{Ack, SoFar};
use crate::units::{Nanos, Rate, Seq, Time};

/// The rounds of one connection. Rates are in bytes per second, zero while unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    /// Rounds completed; the first ACK completes the one before the first flight.
    pub(super) number: u32,
    end: Seq,
    began: Time,
    delivered: u64,
    last: u64,
    before_last: u64,
    lost: u64,
    /// Whether the round contains time outside startup, which invalidates its rate.
    spoilt: bool,
}

impl Rounds {
    pub(super) fn start(&mut self, now: Time, nxt: Seq) {
        *self = Rounds { end: nxt, began: now, ..Rounds::default() };
    }

    /// One ACK of startup; whether a round has begun with it.
    pub(super) fn on_ack(&mut self, ack: &Ack, min: Nanos, so_far: &SoFar) -> bool {
        self.lost = self.lost.saturating_add(ack.lost);
        if ack.una <= self.end {
            return false;
        }
        if self.number > 0 && !ack.app_limited && !self.spoilt {
            self.before_last = self.last;
            self.last = self.rate(ack, min, so_far).map_or(0, |rate| rate.0);
        }
        *self = Rounds {
            number: self.number.saturating_add(1),
            end: ack.nxt,
            began: ack.now,
            delivered: so_far.delivered,
            lost: ack.lost,
            spoilt: false,
            ..*self
        };
        true
    }

    /// Delivery of this round so far, over at least `least`.
    fn rate(&self, ack: &Ack, least: Nanos, so_far: &SoFar) -> Option<Rate> {
        let took = ack.now.since(self.began).max(least);
        Rate::from_bytes_over(so_far.delivered.saturating_sub(self.delivered), took)
    }

    /// The faster of the last two whole rounds, bytes per second.
    pub(super) fn whole(&self) -> u64 {
        self.last.max(self.before_last)
    }

    /// The last whole round, bytes per second.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// PLUMB 4-flat: the last whole round delivered at most a quarter faster than the one before.
    pub(super) fn is_flat(&self) -> bool {
        self.before_last > 0 && self.last.saturating_mul(4) <= self.before_last.saturating_mul(5)
    }

    /// Whether half a round trip of this round has passed, so that its rate is usable.
    pub(super) fn is_half_over(&self, now: Time, min: Nanos) -> bool {
        now.since(self.began).0 >= min.0 / 2
    }

    /// The fastest of this round, if half of it is behind, and the last two, bytes per second.
    pub(super) fn best(&self, ack: &Ack, min: Nanos, so_far: &SoFar) -> u64 {
        let readable = self.number > 0 && !self.spoilt && self.is_half_over(ack.now, min);
        let present = self.rate(ack, Nanos::ZERO, so_far).filter(|_| readable);
        self.whole().max(present.map_or(0, |rate| rate.0))
    }

    /// Bytes lost in this round.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// A loss that was declared without an ACK.
    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
    }

    /// Time outside startup has passed: the current round is invalid.
    pub(super) fn interrupt(&mut self) {
        (self.end, self.spoilt) = (Seq(0), true);
    }
}
