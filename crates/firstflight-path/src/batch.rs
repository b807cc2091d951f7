//! Release in batches: at each instant all waiting ACKs leave, up to a cap, with small gaps between
//! them.
//!
//! LTE and Wi-Fi have instants one period apart, starting at time zero; interrupt moderation has
//! one some microseconds after the first ACK that finds an empty queue. ACKs beyond the cap wait
//! for the next instant.

use crate::held::Held;
use crate::random::Sequence;
use crate::release::BatchSettings;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Batch {
    settings: BatchSettings,
    draws: Sequence,
    /// The next instant; `None` while nothing waits in the variant that starts with the first ACK.
    next: Option<u64>,
    free: u64,
}

impl Batch {
    pub(crate) fn new(settings: BatchSettings, state: u64) -> Self {
        let mut batch = Self { settings, draws: Sequence::new(state), next: None, free: 0 };
        if !settings.on_first {
            batch.schedule(0);
        }
        batch
    }

    fn schedule(&mut self, from: u64) {
        let (low, high) = self.settings.period;
        // A constant period costs no draw.
        let period = if low == high { low } else { self.draws.between(low, high) };
        self.next = Some(from.saturating_add(period.max(1)));
    }

    /// An ACK joins `waiting` others at `t`.
    pub(crate) fn enter(&mut self, t: u64, waiting: usize) {
        if self.settings.on_first && waiting == 0 {
            self.schedule(t);
        }
    }

    pub(crate) fn next_time(&self) -> Option<u64> {
        self.next
    }

    /// Skips a long time without ACKs, up to shortly before `t`.
    pub(crate) fn rest(&mut self, t: u64) {
        let (low, high) = self.settings.period;
        if let Some(next) = self.next
            && low == high
            && t > next
        {
            self.next = Some(next + (t - next) / low * low);
        }
    }

    pub(crate) fn fire(&mut self, queue: &mut VecDeque<Held>, mut release: impl FnMut(Held, u64)) {
        let Some(t) = self.next.take() else { return };
        let (low, high) = self.settings.spacing;
        let mut at = t.max(self.free);
        for _ in 0..self.settings.cap.min(queue.len() as u64) {
            if let Some(ack) = queue.pop_front() {
                release(ack, at);
            }
            self.free = at;
            at += if low == high { low } else { self.draws.between(low, high) };
        }
        if !self.settings.on_first || !queue.is_empty() {
            self.schedule(t);
        }
    }
}
