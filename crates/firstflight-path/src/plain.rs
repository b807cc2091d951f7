//! A link of constant rate with a drop-tail queue and independent loss.
//!
//! Within a busy period that started at `s` the k-th departure is at exactly
//! `s + floor(bits so far * 1e9 / rate)` ns: the remainder of each division is carried to the next packet in units of
//! 1/rate ns, so nothing drifts however long the period is. This is the hot loop of the simulator:
//! no allocation once the ring has grown, a division only when the packet length changes.

use crate::fate::{DropCause, Fate};
use crate::queue::Waiting;
use crate::random::{Coin, Purpose, Stream};

/// Packets longer than this are served as if they were this long: 2^30 bytes * 8e9 still fits into
/// `u64`.
const MAX_LEN: u32 = 1 << 30;

/// The serialization of one packet length: whole nanoseconds and the remainder in 1/rate ns.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    len: u32,
    ns: u64,
    remainder: u64,
}

impl Service {
    #[cold]
    fn of(len: u32, rate: u64) -> Self {
        let scaled = u64::from(len.min(MAX_LEN)) * 8_000_000_000;
        Self { len, ns: scaled / rate, remainder: scaled % rate }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Bits per second, not zero.
    pub(crate) rate: u64,
    pub(crate) propagation: u64,
    pub(crate) capacity: u64,
    pub(crate) loss_ppb: u64,
    pub(crate) loss_purpose: Purpose,
}

#[derive(Clone, Debug)]
pub(crate) struct Plain {
    rate: u64,
    propagation: u64,
    /// End of the last service, whole nanoseconds, and the fraction beyond them in 1/rate ns.
    busy: u64,
    beyond: u64,
    service: Service,
    loss: Coin,
    losses: Stream,
    purpose: Purpose,
    /// Packets offered so far: the key of their loss.
    ordinal: u64,
    waiting: Waiting,
}

impl Plain {
    pub(crate) fn new(settings: Settings, seed: u64, path_index: u64) -> Self {
        let Settings { rate, propagation, capacity, loss_ppb, loss_purpose } = settings;
        Self {
            rate,
            propagation,
            busy: 0,
            beyond: 0,
            service: Service::default(),
            loss: Coin::new(loss_ppb),
            losses: Stream::new(seed, path_index, loss_purpose),
            purpose: loss_purpose,
            ordinal: 0,
            waiting: Waiting::new(capacity),
        }
    }

    /// Becomes another link at time zero; the ring keeps its memory.
    pub(crate) fn rebuild(&mut self, settings: Settings, seed: u64, path_index: u64) {
        let Settings { rate, propagation, capacity, loss_ppb, loss_purpose } = settings;
        (self.rate, self.propagation, self.loss, self.purpose) =
            (rate, propagation, Coin::new(loss_ppb), loss_purpose);
        self.service = Service::default();
        self.waiting.restart(capacity);
        self.reset(seed, path_index);
    }

    pub(crate) fn reset(&mut self, seed: u64, path_index: u64) {
        (self.busy, self.beyond, self.ordinal) = (0, 0, 0);
        self.losses = Stream::new(seed, path_index, self.purpose);
        let capacity = self.waiting.capacity();
        self.waiting.restart(capacity);
    }

    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64, len: u32) -> Fate {
        let ordinal = self.ordinal;
        self.ordinal += 1;
        // Who has left is only asked where it matters: if even with them there is room, there is.
        if now > self.busy {
            self.waiting.clear(now);
        }
        if !self.waiting.has_room(len) {
            self.waiting.leave(now);
            if !self.waiting.has_room(len) {
                return Fate::Drop(DropCause::Queue);
            }
        }
        // A fraction beyond `busy == now` keeps the period alive: the link is still sending the
        // last bit.
        let (start, carried) = if now > self.busy { (now, 0) } else { (self.busy, self.beyond) };
        if len != self.service.len {
            self.service = Service::of(len, self.rate);
        }
        let mut end = start.saturating_add(self.service.ns);
        let mut beyond = carried + self.service.remainder;
        if beyond >= self.rate {
            beyond -= self.rate;
            end = end.saturating_add(1);
        }
        debug_assert!(start >= now && end >= self.busy, "departs at {end} ns out of order");
        debug_assert!(beyond < self.rate, "{beyond} of 1/{} ns is a nanosecond", self.rate);
        (self.busy, self.beyond) = (end, beyond);
        if start > now {
            if self.waiting.is_full() {
                self.waiting.leave(now);
            }
            self.waiting.join(start, len);
        }
        if !self.loss.never() && self.loss.falls(self.losses.value(ordinal)) {
            return Fate::Drop(DropCause::Random);
        }
        Fate::Deliver {
            at: end.saturating_add(self.propagation),
            waited: start - now,
            marked: false,
        }
    }

    #[inline]
    pub(crate) fn queued_bytes(&mut self, now: u64) -> u64 {
        self.waiting.leave(now);
        self.waiting.bytes()
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.waiting.capacity()
    }

    pub(crate) fn propagation(&self) -> u64 {
        self.propagation
    }
}
