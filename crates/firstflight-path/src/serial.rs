//! A constant-rate reverse link whose waiting ACKs can still be thinned out, so that it must be
//! driven.

use crate::held::Held;
use crate::losses::Losses;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Serial {
    rate: u64,
    capacity: u64,
    overhead: u32,
    losses: Losses,
    ordinal: u64,
    /// End of the last service, and the fraction beyond in 1/rate ns.
    busy: u64,
    beyond: u64,
}

impl Serial {
    pub(crate) fn new(rate: u64, capacity: u64, overhead: u32, losses: Losses) -> Self {
        Self { rate: rate.max(1), capacity, overhead, losses, ordinal: 0, busy: 0, beyond: 0 }
    }

    /// Whether the queue has room for an ACK, and whether the ACK will be lost behind the link.
    pub(crate) fn admit(&mut self, queue: &VecDeque<Held>, len: u32) -> (bool, bool) {
        // Losses last: thinning admits no further effect.
        let lost = self.losses.falls(0, self.ordinal);
        self.ordinal += 1;
        let bytes = |len: u32| u64::from(len) + u64::from(self.overhead);
        let waiting: u64 = queue.iter().map(|waiting| bytes(waiting.ack.len)).sum();
        (waiting + bytes(len) <= self.capacity, lost)
    }

    /// Start of the service of the first waiting ACK.
    pub(crate) fn next_time(&self, queue: &VecDeque<Held>) -> Option<u64> {
        queue.front().map(|first| self.busy.max(first.since))
    }

    pub(crate) fn fire(&mut self, queue: &mut VecDeque<Held>, mut release: impl FnMut(Held, u64)) {
        let Some(first) = queue.pop_front() else { return };
        let (start, carried) =
            if first.since > self.busy { (first.since, 0) } else { (self.busy, self.beyond) };
        let work = (u128::from(first.ack.len) + u128::from(self.overhead)) * 8_000_000_000
            + u128::from(carried);
        let rate = u128::from(self.rate);
        (self.busy, self.beyond) =
            (start.saturating_add((work / rate) as u64), (work % rate) as u64);
        release(first, self.busy);
    }
}
