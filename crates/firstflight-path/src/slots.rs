//! A link that delivers at opportunities instead of at a rate.
//!
//! An opportunity carries 1500 bytes and serves what arrived before it: small packets share one, a packet may span several, and what nobody
//! uses is lost. A packet leaves the queue at the first opportunity that carries a byte of it and is delivered at the one that carries its
//! last. Packets at one opportunity arrive at the same instant: pacing inside a millisecond is invisible unless the slots are spread.

use crate::link::{DropCause, Fate};
use crate::queue::Waiting;
use crate::random::{Coin, Purpose, Stream};
use crate::trace::{OPPORTUNITY_BYTES, Schedule, TraceStart};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Walks the opportunities of a schedule. Times are times of the trace, in ns.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    schedule: Arc<Schedule>,
    spread: bool,
    once: bool,
    /// Start of the current repetition.
    base: u64,
    /// The next opportunity: entry, and number within the entry.
    entry: usize,
    within: u64,
}

impl Cursor {
    pub(crate) fn new(schedule: Arc<Schedule>, spread: bool, once: bool) -> Self {
        Self { schedule, spread, once, base: 0, entry: 0, within: 0 }
    }

    fn period(&self) -> u64 {
        self.schedule.period_ms * MS
    }

    fn rewind(&mut self) {
        (self.base, self.entry, self.within) = (0, 0, 0);
    }

    /// Time of the next opportunity, if there is one.
    fn peek(&self) -> Option<u64> {
        if self.once && self.base > 0 {
            return None;
        }
        let (ms, count) = self.schedule.slots[self.entry];
        // Spread: the slots of millisecond `ms` lie evenly in (ms - 1, ms], the last one at its end.
        let at = if self.spread { (ms - 1) * MS + (self.within + 1) * MS / count } else { ms * MS };
        Some(self.base.saturating_add(at))
    }

    /// Takes the next opportunity.
    fn step(&mut self) -> Option<u64> {
        let at = self.peek()?;
        self.within += 1;
        if self.within == self.schedule.slots[self.entry].1 {
            (self.within, self.entry) = (0, self.entry + 1);
            if self.entry == self.schedule.slots.len() {
                (self.entry, self.base) = (0, self.base.saturating_add(self.period()));
            }
        }
        Some(at)
    }

    /// Takes the first opportunity after `t` that is not yet taken.
    fn step_beyond(&mut self, t: u64) -> Option<u64> {
        if self.peek()? <= t {
            self.seek(t);
        }
        self.step()
    }

    /// Moves to the first opportunity after `t`; only ever called when the next one is not after `t`.
    fn seek(&mut self, t: u64) {
        let period = self.period();
        (self.base, self.within) = (t - t % period, 0);
        let inside = t % period;
        self.entry = self.schedule.slots.partition_point(|(ms, _)| ms * MS <= inside);
        if self.entry == self.schedule.slots.len() {
            (self.entry, self.base) = (0, self.base.saturating_add(period));
            return;
        }
        let (ms, count) = self.schedule.slots[self.entry];
        let from = (ms - 1) * MS;
        if self.spread && inside >= from {
            // Smallest `within` with (within + 1) * MS / count > inside - from.
            self.within = ((inside - from + 1) * count).div_ceil(MS) - 1;
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) start: TraceStart,
    pub(crate) start_purpose: Purpose,
    pub(crate) propagation: u64,
    pub(crate) capacity: u64,
    pub(crate) loss_ppb: u64,
    pub(crate) loss_purpose: Purpose,
}

#[derive(Clone, Debug)]
pub(crate) struct Slotted {
    settings: Settings,
    cursor: Cursor,
    /// Time of the trace at time zero of the link.
    offset: u64,
    /// The opportunity in use, and what it can still carry.
    at: u64,
    left: u32,
    loss: Coin,
    losses: Stream,
    ordinal: u64,
    waiting: Waiting,
}

impl Slotted {
    pub(crate) fn new(settings: Settings, cursor: Cursor, seed: u64, path_index: u64) -> Self {
        let losses = Stream::new(seed, path_index, settings.loss_purpose);
        let loss = Coin::new(settings.loss_ppb);
        let waiting = Waiting::new(settings.capacity);
        let mut link = Self { settings, cursor, offset: 0, at: 0, left: 0, loss, losses, ordinal: 0, waiting };
        link.reset(seed, path_index);
        link
    }

    pub(crate) fn reset(&mut self, seed: u64, path_index: u64) {
        self.losses = Stream::new(seed, path_index, self.settings.loss_purpose);
        (self.at, self.left, self.ordinal) = (0, 0, 0);
        self.waiting.restart(self.settings.capacity);
        self.cursor.rewind();
        self.offset = match self.settings.start {
            TraceStart::At(ns) => ns,
            TraceStart::Random => {
                let x = Stream::new(seed, path_index, self.settings.start_purpose).value(0);
                ((u128::from(x) * u128::from(self.cursor.schedule.period_ms)) >> 64) as u64 * MS
            }
        };
    }

    pub(crate) fn offer(&mut self, now: u64, len: u32) -> Fate {
        let ordinal = self.ordinal;
        self.ordinal += 1;
        self.waiting.leave(now);
        if !self.waiting.has_room(len) {
            return Fate::Drop(DropCause::Queue);
        }
        let arrival = now.saturating_add(self.offset);
        // The current opportunity still serves this packet if it has room and lies after the arrival.
        if (self.left == 0 || self.at <= arrival) && !self.take(arrival) {
            self.waiting.join(u64::MAX, len);
            return Fate::Drop(DropCause::TraceEnd);
        }
        let start = self.at - self.offset;
        self.waiting.join(start, len);
        let mut need = len;
        while need > self.left {
            need -= self.left;
            let Some(at) = self.cursor.step() else {
                (self.left, self.at) = (0, u64::MAX);
                return Fate::Drop(DropCause::TraceEnd);
            };
            (self.at, self.left) = (at, OPPORTUNITY_BYTES);
        }
        self.left -= need;
        if self.loss.falls(self.losses.value(ordinal)) {
            return Fate::Drop(DropCause::Random);
        }
        let at = (self.at - self.offset).saturating_add(self.settings.propagation);
        Fate::Deliver { at, waited: start - now, marked: false }
    }

    /// Takes the first free opportunity after the arrival; false if there is none any more.
    fn take(&mut self, arrival: u64) -> bool {
        let next = self.cursor.step_beyond(arrival);
        (self.at, self.left) = next.map_or((u64::MAX, 0), |at| (at, OPPORTUNITY_BYTES));
        self.left > 0
    }

    pub(crate) fn queued_bytes(&mut self, now: u64) -> u64 {
        self.waiting.leave(now);
        self.waiting.bytes()
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.settings.capacity
    }

    pub(crate) fn propagation(&self) -> u64 {
        self.settings.propagation
    }
}
