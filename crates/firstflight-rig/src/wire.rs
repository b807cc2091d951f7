//! One direction of the path: a link, or a return path that decides later, and what is on its way
//! behind it.
//!
//! The handshake crosses the path without its random loss and without what its return path does to
//! ACKs; with the first byte of the object fresh links take over, so that loss, traces, slots and
//! draws begin where a trial begins, as in the simulator.

use crate::audit;
use bytes::BytesMut;
use firstflight_path::{Ack, Fate, Link, Return, ReturnPath, Reverse};
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
    /// It will arrive at these times, twice if it is duplicated, after waiting this long in the
    /// queue, ns.
    Sent { waited: u64, at: [Option<u64>; 2] },
    /// The return path decides later.
    Later,
    /// It never arrives.
    Dropped,
}

#[derive(Clone)]
struct Datagram {
    at: u64,
    ecn: Ecn,
    bytes: BytesMut,
}

/// Who decides what becomes of a datagram.
enum Way {
    /// Everything is known when it is offered.
    Link(Link),
    /// Datagrams wait, by number, until the return path has decided. It lets them go in order.
    Driven { path: Box<ReturnPath>, held: VecDeque<(u64, Datagram)>, next: u64 },
}

impl From<Reverse> for Way {
    fn from(reverse: Reverse) -> Way {
        match reverse {
            Reverse::Link(link) => Way::Link(link),
            Reverse::Driven(path) => Way::Driven { path, held: VecDeque::new(), next: 0 },
        }
    }
}

/// One direction.
pub(super) struct Wire {
    way: Way,
    /// Virtual time at which the clock of link or return path started.
    origin: u64,
    flying: VecDeque<Datagram>,
    books: audit::Way,
}

impl Wire {
    pub(super) fn new(link: Link) -> Wire {
        Wire {
            way: Way::Link(link),
            origin: 0,
            flying: VecDeque::new(),
            books: audit::Way::default(),
        }
    }

    /// Replaces the link of the handshake by one way that starts now; what is on its way still
    /// arrives.
    pub(super) fn replace(&mut self, way: Reverse, now: u64) {
        self.way = way.into();
        self.origin = now;
    }

    /// Fates depend on what is offered later: at one instant everything is to be offered before
    /// anything is asked for.
    pub(super) fn is_driven(&self) -> bool {
        matches!(self.way, Way::Driven { .. })
    }

    /// Bytes that wait in the link; a return path does not say.
    pub(super) fn queued(&mut self, now: u64) -> u64 {
        match &mut self.way {
            Way::Link(link) => link.queued_bytes(now.saturating_sub(self.origin)),
            Way::Driven { .. } => 0,
        }
    }

    /// When the next datagram arrives, or the return path decides.
    pub(super) fn next(&self) -> Option<u64> {
        let decision = match &self.way {
            Way::Link(_) => None,
            Way::Driven { path, .. } => path.next_event().map(|at| at.saturating_add(self.origin)),
        };
        self.flying.front().map(|datagram| datagram.at).into_iter().chain(decision).min()
    }

    /// A datagram that has arrived by `now`.
    pub(super) fn arrive(&mut self, now: u64) -> Option<(Ecn, BytesMut)> {
        self.books.at(now);
        self.decide(now);
        if self.flying.front()?.at > now {
            return None;
        }
        let datagram = self.flying.pop_front()?;
        self.books.on_arrived(datagram.at, self.flying.len());
        Some((datagram.ecn, datagram.bytes))
    }

    /// Learns what the return path has decided by now.
    fn decide(&mut self, now: u64) {
        let now = now.saturating_sub(self.origin);
        while let Way::Driven { path, held, .. } = &mut self.way
            && let Some(decision) = path.poll(now)
        {
            // What lies before a released one is settled; one that the link duplicates is released
            // twice.
            if let Return::Deliver { id, at } = decision {
                while held.front().is_some_and(|(first, _)| *first < id) {
                    held.pop_front();
                }
                if let Some((_, datagram)) = held.front().filter(|(first, _)| *first == id) {
                    let Datagram { ecn, bytes, .. } = datagram.clone();
                    self.fly(at, ecn, bytes);
                }
            }
        }
    }

    /// A datagram leaves. Of one whose fate is decided later nothing is known yet.
    pub(super) fn offer(&mut self, now: u64, ecn: Ecn, bytes: &[u8]) -> Offered {
        self.books.at(now);
        let len = bytes.len() as u32 + LOWER;
        let now = now.saturating_sub(self.origin);
        let fate = match &mut self.way {
            Way::Link(link) => link.offer(now, len),
            Way::Driven { path, held, next } => {
                // Ranges are told until they are known to have arrived: a later ACK says what an
                // earlier one says.
                if path.offer(now, Ack { id: *next, len, flow: 0, pure: true }).is_err() {
                    return Offered::Dropped;
                }
                held.push_back((*next, Datagram { at: 0, ecn, bytes: BytesMut::from(bytes) }));
                *next += 1;
                return Offered::Later;
            }
        };
        let mark = |marked: bool| if marked && ecn != 0 { CE } else { ecn };
        match fate {
            Fate::Deliver { at, waited, marked } => Offered::Sent {
                waited,
                at: [Some(self.fly(at, mark(marked), BytesMut::from(bytes))), None],
            },
            Fate::Duplicate { at, again, waited, marked } => {
                let first = self.fly(at, mark(marked), BytesMut::from(bytes));
                Offered::Sent {
                    waited,
                    at: [Some(first), Some(self.fly(again, mark(marked), BytesMut::from(bytes)))],
                }
            }
            Fate::Drop(_) => Offered::Dropped,
        }
    }

    /// Returns when it arrives.
    fn fly(&mut self, at: u64, ecn: Ecn, bytes: BytesMut) -> u64 {
        let at = at.saturating_add(self.origin);
        // Links deliver in order unless the path reorders: look from the end.
        let place = self
            .flying
            .iter()
            .rposition(|datagram| datagram.at <= at)
            .map_or(0, |before| before + 1);
        let neighbour = |place: Option<usize>| Some(self.flying.get(place?)?.at);
        self.books.on_taken(at, neighbour(place.checked_sub(1)), neighbour(Some(place)));
        self.flying.insert(place, Datagram { at, ecn, bytes });
        at
    }
}
