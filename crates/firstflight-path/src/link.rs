//! One direction of a path: a rate, a queue in front of it, a delay behind it.
//!
//! A link is first in, first out, so everything that will happen to a packet is known the moment it
//! is offered: [`Link::offer`] answers with its [`Fate`] and the caller needs no further event from
//! the link. Time is an argument; the link has no clock.
//!
//! Conventions, as the experiments of this project state them: rates count IP bytes; a packet is
//! dropped if the waiting bytes plus its own exceed the capacity, the packet in service not
//! counted; departures at an instant come before offers at that instant; random loss is
//! decided behind the queue, so a lost packet has used the bottleneck.

use crate::fate::Fate;
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
    /// Anything beyond that.
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

    /// Hands a packet of `len` bytes (at most 1 GiB) to the link at `now` (ns). Calls come in order
    /// of time.
    #[inline(always)]
    pub fn offer(&mut self, now: u64, len: u32) -> Fate {
        match &mut self.kind {
            Kind::Plain(link) => link.offer(now, len),
            Kind::Rich(link) => link.offer(now, len),
        }
    }

    /// Hands in a packet as [`Link::offer`] does, if it arrives, once and unmarked, and the link can tell so at
    /// once: when, and how long it waits. Otherwise nothing has happened. Most packets of most links are so,
    /// and two numbers in registers cost less than a [`Fate`] in memory.
    #[inline(always)]
    pub fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)> {
        match &mut self.kind {
            Kind::Plain(link) => link.carry(now, len),
            Kind::Rich(_) => None,
        }
    }

    /// Offers `count` packets of `len` bytes together at `now`, if each of them arrives, once and
    /// unmarked, and the link can tell so at once. They are handed in when [`Link::take_off`] says
    /// so, and not before; otherwise nothing has happened.
    #[inline(always)]
    pub fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight> {
        match &mut self.kind {
            Kind::Plain(link) => link.flight(now, len, count),
            Kind::Rich(_) => None,
        }
    }

    /// All `count` packets of this flight are handed in, and [asked for](Flight::next_arrival).
    #[inline(always)]
    pub fn take_off(&mut self, flight: &Flight, count: u64) {
        if let Kind::Plain(link) = &mut self.kind {
            link.take_off(flight, count);
        }
    }

    /// Bytes that wait at `now`; the packet in service is not counted.
    #[inline]
    pub fn queued_bytes(&mut self, now: u64) -> u64 {
        match &mut self.kind {
            Kind::Plain(link) => link.queued_bytes(now),
            Kind::Rich(link) => link.queued_bytes(now),
        }
    }

    /// Most bytes that may wait; `u64::MAX` if the queue is unlimited.
    pub fn capacity(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.capacity(),
            Kind::Rich(link) => link.capacity(),
        }
    }

    /// Nominal delay behind the bottleneck, in ns: what an arrival adds to the end of its service.
    pub fn propagation(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.propagation(),
            Kind::Rich(link) => link.propagation(),
        }
    }

    /// No packet arrives earlier than so long after its offer, ns; 0 where that is not known.
    pub fn least_delay(&self) -> u64 {
        match &self.kind {
            Kind::Plain(link) => link.propagation(),
            Kind::Rich(_) => 0,
        }
    }

    /// Packets arrive in the order of their offers, each at most once.
    #[inline]
    pub fn keeps_order(&self) -> bool {
        match &self.kind {
            Kind::Plain(_) => true,
            Kind::Rich(link) => link.keeps_order(),
        }
    }

    /// Back to time zero with the draws of another trial.
    pub fn reset(&mut self, seed: u64, path_index: u64) {
        match &mut self.kind {
            Kind::Plain(link) => link.reset(seed, path_index),
            Kind::Rich(link) => link.reset(seed, path_index),
        }
    }
}
