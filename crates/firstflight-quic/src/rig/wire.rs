//! One direction of the path: a link and what is on its way behind it.
//!
//! The handshake crosses the path without its random loss; with the first byte of the object fresh links take over, so that loss,
//! traces and draws begin where a trial begins, as in the simulator.

use bytes::BytesMut;
use firstflight_path::{Fate, Link};
use std::collections::VecDeque;

/// IP and UDP headers, bytes (IPv4).
pub(super) const LOWER: u32 = 28;

/// ECN codepoint of a datagram, as the two bits of the IP header.
pub(super) type Ecn = u8;

/// Congestion Experienced.
const CE: Ecn = 0b11;

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    /// It will arrive at these times, twice if it is duplicated, after waiting this long in the queue, ns.
    Sent { waited: u64, at: [Option<u64>; 2] },
    /// It never arrives.
    Dropped,
}

struct Datagram {
    at: u64,
    ecn: Ecn,
    bytes: BytesMut,
}

/// One direction.
pub(super) struct Wire {
    link: Link,
    /// Virtual time at which the link's clock started.
    origin: u64,
    flying: VecDeque<Datagram>,
}

impl Wire {
    pub(super) fn new(link: Link) -> Wire {
        Wire { link, origin: 0, flying: VecDeque::new() }
    }

    /// Replaces the link by one that starts now; what is on its way still arrives.
    pub(super) fn replace(&mut self, link: Link, now: u64) {
        self.link = link;
        self.origin = now;
    }

    pub(super) fn queued(&mut self, now: u64) -> u64 {
        self.link.queued_bytes(now.saturating_sub(self.origin))
    }

    /// When the next datagram arrives.
    pub(super) fn next(&self) -> Option<u64> {
        self.flying.front().map(|datagram| datagram.at)
    }

    /// A datagram that has arrived by `now`.
    pub(super) fn arrive(&mut self, now: u64) -> Option<(Ecn, BytesMut)> {
        if self.next()? > now {
            return None;
        }
        self.flying.pop_front().map(|datagram| (datagram.ecn, datagram.bytes))
    }

    pub(super) fn offer(&mut self, now: u64, ecn: Ecn, bytes: &[u8]) -> Offered {
        let len = bytes.len() as u32 + LOWER;
        let fate = self.link.offer(now.saturating_sub(self.origin), len);
        let mark = |marked: bool| if marked && ecn != 0 { CE } else { ecn };
        match fate {
            Fate::Deliver { at, waited, marked } => Offered::Sent { waited, at: [Some(self.fly(at, mark(marked), bytes)), None] },
            Fate::Duplicate { at, again, waited, marked } => {
                let first = self.fly(at, mark(marked), bytes);
                Offered::Sent { waited, at: [Some(first), Some(self.fly(again, mark(marked), bytes))] }
            }
            Fate::Drop(_) => Offered::Dropped,
        }
    }

    /// Returns when it arrives.
    fn fly(&mut self, at: u64, ecn: Ecn, bytes: &[u8]) -> u64 {
        let at = at.saturating_add(self.origin);
        // Links deliver in order unless the path reorders: look from the end.
        let place = self.flying.iter().rposition(|datagram| datagram.at <= at).map_or(0, |before| before + 1);
        self.flying.insert(place, Datagram { at, ecn, bytes: BytesMut::from(bytes) });
        at
    }
}
