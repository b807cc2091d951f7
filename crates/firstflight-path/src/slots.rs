//! A server that delivers at opportunities instead of at a rate, from a trace or at random.
//!
//! An opportunity carries 1500 bytes and serves packets that arrived before it: small packets share
//! one, a packet may span several, and unused capacity is lost. A packet leaves the queue at the
//! first opportunity that carries a byte of it and is delivered at the opportunity that carries its
//! last byte. Packets at one opportunity arrive at the same instant: pacing inside a millisecond is
//! invisible unless the slots are spread.

use crate::direction::{PlayedTrace, Poisson};
use crate::draw;
use crate::random::Stream;
use crate::trace::{OPPORTUNITY_BYTES, Schedule, TraceStart};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Opportunities in order of time.
#[derive(Clone, Debug)]
enum Source {
    Trace(Cursor),
    Poisson(Process),
}

/// Walks the opportunities of a schedule. Times are in ns of the trace.
#[derive(Clone, Debug)]
struct Cursor {
    schedule: Arc<Schedule>,
    spread: bool,
    once: bool,
    /// Start of the current repetition.
    base: u64,
    /// The next opportunity: its entry, then its number within the entry.
    entry: usize,
    within: u64,
}

impl Cursor {
    fn period(&self) -> u64 {
        self.schedule.period_ms * MS
    }

    /// Time of the next opportunity, if there is one.
    fn peek(&self) -> Option<u64> {
        if self.once && self.base > 0 {
            return None;
        }
        let (ms, count) = self.schedule.slots[self.entry];
        // Spread: the slots of millisecond `ms` lie evenly in (ms - 1, ms], the last one at its
        // end.
        let at = if self.spread { (ms - 1) * MS + (self.within + 1) * MS / count } else { ms * MS };
        Some(self.base.saturating_add(at))
    }

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

    /// Moves to the first opportunity after `t`. Call only when the next one is not after `t`.
    fn seek(&mut self, t: u64) {
        let period = self.period();
        let inside = t % period;
        (self.base, self.within) = (t - inside, 0);
        // The last entry lies at the end of the period and `inside` before it, so there always is
        // one.
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

/// A Poisson process with an optional lead-in of slots 100 ms apart.
#[derive(Clone, Debug)]
struct Process {
    settings: Poisson,
    draws: Stream,
    /// Opportunities taken so far; then the exact time of the next one.
    k: u64,
    next: u64,
}

impl Process {
    const LEAD_IN_GAP: u64 = 100 * MS;

    fn new(settings: Poisson, draws: Stream) -> Self {
        let mut process = Self { settings, draws, k: 0, next: 0 };
        process.draw();
        process
    }

    fn draw(&mut self) {
        let gap = if self.k < self.settings.lead_in {
            Self::LEAD_IN_GAP
        } else {
            let mean = u64::from(OPPORTUNITY_BYTES) * 8_000_000_000 / self.settings.bps.max(1);
            draw::exponential(self.draws.value(self.k), mean)
        };
        self.next = self.next.saturating_add(gap);
    }

    fn peek(&self) -> u64 {
        if self.settings.ms_slots { self.next.saturating_add(MS / 2) / MS * MS } else { self.next }
    }

    fn step(&mut self) -> u64 {
        let at = self.peek();
        self.k += 1;
        self.draw();
        at
    }
}

impl Source {
    /// Takes the next opportunity.
    fn step(&mut self) -> Option<u64> {
        match self {
            Source::Trace(cursor) => cursor.step(),
            Source::Poisson(process) => Some(process.step()),
        }
    }

    /// Takes the first remaining opportunity after `t`.
    fn step_beyond(&mut self, t: u64) -> Option<u64> {
        match self {
            Source::Trace(cursor) => {
                if cursor.peek()? <= t {
                    cursor.seek(t);
                }
                cursor.step()
            }
            Source::Poisson(process) => {
                while process.peek() <= t && process.next < u64::MAX {
                    process.step();
                }
                Some(process.step())
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Slotted {
    source: Source,
    /// Time in the trace at time zero of the link.
    offset: u64,
    /// The current opportunity; then the bytes it can still carry.
    at: u64,
    left: u32,
}

impl Slotted {
    pub(crate) fn trace(played: &PlayedTrace, draws: Stream) -> Self {
        let options = played.options();
        let schedule = Arc::clone(played.schedule());
        let offset = match options.start {
            TraceStart::At(ns) => ns,
            TraceStart::Random => {
                crate::random::between(draws.value(0), 0, schedule.period_ms - 1) * MS
            }
        };
        let cursor = Cursor {
            schedule,
            spread: options.spread,
            once: options.once,
            base: 0,
            entry: 0,
            within: 0,
        };
        Self { source: Source::Trace(cursor), offset, at: 0, left: 0 }
    }

    pub(crate) fn poisson(settings: Poisson, draws: Stream) -> Self {
        Self { source: Source::Poisson(Process::new(settings, draws)), offset: 0, at: 0, left: 0 }
    }

    /// Start of the service of a packet that arrives at `now`; `None` if never. Serves nothing.
    pub(crate) fn begin(&mut self, now: u64) -> Option<u64> {
        let arrival = now.saturating_add(self.offset);
        // The current opportunity still serves this packet if it has room and lies after the
        // arrival.
        if self.left == 0 || self.at <= arrival {
            let next = self.source.step_beyond(arrival);
            (self.at, self.left) = next.map_or((u64::MAX, 0), |at| (at, OPPORTUNITY_BYTES));
        }
        (self.left > 0).then(|| self.at - self.offset)
    }

    /// Serves a packet right after [`Slotted::begin`]; returns when its last byte is delivered, if
    /// ever.
    pub(crate) fn serve(&mut self, len: u32) -> Option<u64> {
        let mut need = len;
        while need > self.left {
            need -= self.left;
            let Some(at) = self.source.step() else {
                (self.at, self.left) = (u64::MAX, 0);
                return None;
            };
            (self.at, self.left) = (at, OPPORTUNITY_BYTES);
        }
        self.left -= need;
        Some(self.at - self.offset)
    }

    /// Time at which the server finishes the packets that it has accepted.
    pub(crate) fn busy_until(&self) -> u64 {
        self.at.saturating_sub(self.offset)
    }
}
