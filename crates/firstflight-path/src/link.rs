//! One direction of a path: a rate, a queue in front of it, a delay behind it.
//!
//! A link is first in, first out, so the fate of a packet is known when it is offered:
//! [`Link::offer`] returns its [`Fate`] and the caller needs no further event from the link. Time
//! is an argument; the link has no clock.
//!
//! Conventions of this project's experiments: rates count IP bytes; a packet is dropped if the
//! waiting bytes plus its own exceed the capacity, not counting the packet in service; at any
//! instant, departures come before offers; random loss is
//! decided behind the queue, so a lost packet has used the bottleneck.

use crate::fate::Fate;
use crate::packet::Ect;
use crate::plain::{Flight, Plain};
use crate::rich::Rich;

/// One direction of a path, made by [`crate::Path::links`].
#[derive(Clone, Debug)]
pub struct Link {
    kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Constant rate, drop-tail, independent loss: the hot loop of the simulator.
    Plain(Plain),
    /// Everything else.
    Rich(Box<Rich>),
}

impl Link {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind }
    }

    pub(crate) fn into_kind(self) -> Kind {
        self.kind
    }

    pub(crate) fn kind_mut(&mut self) -> &mut Kind {
        &mut self.kind
    }

    /// Offers a packet of `len` bytes (at most 1 GiB) to the link at `now` (ns). Calls must be in
    /// order of time.
    #[inline(always)]
    pub fn offer(&mut self, now: u64, len: u32) -> Fate {
        self.offer_as(now, len, || Ect::AsThePath)
    }

    /// Offers a packet as [`Link::offer`] does; `ect` tells whether it can be marked, and is called
    /// only by links to which this makes a difference.
    #[inline(always)]
    pub fn offer_as(&mut self, now: u64, len: u32, ect: impl FnOnce() -> Ect) -> Fate {
        match &mut self.kind {
            Kind::Plain(link) => link.offer(now, len),
            Kind::Rich(link) => link.offer(now, len, ect()),
        }
    }

    /// Whether packets lose their ECN field (`ecn=bleach`).
    pub fn clears_ecn(&self) -> bool {
        matches!(&self.kind, Kind::Rich(link) if link.clears_ecn())
    }

    /// Offers a packet as [`Link::offer`] does, if it arrives once and unmarked and the link knows
    /// so at once, and returns its arrival time and its wait. Otherwise nothing happens. This is
    /// the case for most packets of most links, and two numbers in registers cost less than a
    /// [`Fate`] in memory.
    #[inline(always)]
    pub fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)> {
        match &mut self.kind {
            Kind::Plain(link) => link.carry(now, len),
            Kind::Rich(_) => None,
        }
    }

    /// Computes the arrivals of `count` packets of `len` bytes offered together at `now`, if each
    /// arrives once and unmarked and the link knows so at once. Only [`Link::take_off`] offers the
    /// packets.
    #[inline(always)]
    pub fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight> {
        match &mut self.kind {
            Kind::Plain(link) => link.flight(now, len, count),
            Kind::Rich(_) => None,
        }
    }

    /// Offers all `count` packets of this flight, after [`Flight::next_arrival`] was called for
    /// each.
    #[inline(always)]
    pub fn take_off(&mut self, flight: &Flight, count: u64) {
        if let Kind::Plain(link) = &mut self.kind {
            link.take_off(flight, count);
        }
    }

    /// Bytes waiting at `now`, not counting the packet in service.
    #[inline]
    pub fn queued_bytes(&mut self, now: u64) -> u64 {
        match &mut self.kind {
            Kind::Plain(link) => link.queued_bytes(now),
            Kind::Rich(link) => link.queued_bytes(now),
        }
    }

    /// Maximum number of bytes that may wait; `u64::MAX` if the queue is unlimited.
    pub fn capacity(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.capacity(),
            Kind::Rich(link) => link.capacity(),
        }
    }

    /// Nominal delay behind the bottleneck, in ns, from the end of a packet's service to its
    /// arrival.
    pub fn propagation(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.propagation(),
            Kind::Rich(link) => link.propagation(),
        }
    }

    /// Smallest delay from a packet's offer to its arrival, in ns; 0 if unknown.
    pub fn least_delay(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.propagation(),
            Kind::Rich(_) => 0,
        }
    }

    /// Whether packets arrive in the order of their offers, each at most once.
    #[inline]
    pub fn keeps_order(&self) -> bool {
        match &self.kind {
            Kind::Plain(_) => true,
            Kind::Rich(link) => link.keeps_order(),
        }
    }

    /// Returns to time zero with the draws of another trial.
    pub fn reset(&mut self, seed: u64, path_index: u64) {
        match &mut self.kind {
            Kind::Plain(link) => link.reset(seed, path_index),
            Kind::Rich(link) => link.reset(seed, path_index),
        }
    }
}
