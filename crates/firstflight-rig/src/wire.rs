//! One direction of the path: a link, or a return path that decides later, and the datagrams in
//! transit behind it.
//!
//! A handshake that starts before any flow sends crosses a separate link: the path without its
//! random loss and without its return path's treatment of ACKs. With the first byte of its object a
//! flow joins the path that all flows share. That path starts with the first of them, so that loss,
//! traces, slots and draws start with the trial, as in the simulator.

use crate::audit;
use bytes::BytesMut;
use firstflight_path::{Ack, Ect, Fate, Link, Return, ReturnPath, Reverse};
use std::collections::VecDeque;

/// IP and UDP headers, bytes (IPv4).
pub(super) const LOWER: u32 = 28;

/// ECN codepoint of a datagram, as the two bits of the IP header.
pub(super) type Ecn = u8;

/// Congestion Experienced.
const CE: Ecn = 0b11;

/// The known fate of a datagram.
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
    flow: u32,
    ecn: Ecn,
    bytes: BytesMut,
}

/// The component that decides the fate of datagrams.
enum Way {
    /// Every fate is known when the datagram is offered.
    Link(Link),
    /// Datagrams wait, by number, until the return path has decided; it releases them in order.
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
#[derive(Default)]
pub(super) struct Wire {
    /// The path that all flows share, and the virtual time at which its clock started; from the
    /// first byte of the first object on.
    shared: Option<(Way, u64)>,
    /// The links of handshakes and their start times, by flow; `None` as soon as the flow has
    /// joined the shared path.
    openings: Vec<Option<(Link, u64)>>,
    flying: VecDeque<Datagram>,
    books: audit::Way,
}

/// A direction as used by one flow.
pub(super) struct Lane<'a> {
    pub(super) wire: &'a mut Wire,
    pub(super) flow: u32,
}

impl Lane<'_> {
    /// A datagram of this flow leaves.
    pub(super) fn offer(&mut self, now: u64, ecn: Ecn, bytes: &[u8]) -> Offered {
        self.wire.offer(now, self.flow, ecn, bytes)
    }
}

impl Wire {
    /// The handshake of a flow starts on this link.
    pub(super) fn open(&mut self, flow: u32, link: Link, now: u64) {
        let flow = flow as usize;
        self.openings.resize_with(self.openings.len().max(flow + 1), || None);
        self.openings[flow] = Some((link, now));
    }

    /// Whether the shared path has started.
    pub(super) fn has_begun(&self) -> bool {
        self.shared.is_some()
    }

    /// Starts the shared path.
    pub(super) fn begin(&mut self, way: Reverse, now: u64) {
        self.shared = Some((way.into(), now));
    }

    /// The handshake of a flow is complete; datagrams in transit still arrive.
    pub(super) fn join(&mut self, flow: u32) {
        if let Some(opening) = self.openings.get_mut(flow as usize) {
            *opening = None;
        }
    }

    /// Whether fates depend on later offers: at each instant everything must be offered before any
    /// decision is read.
    pub(super) fn is_driven(&self) -> bool {
        matches!(self.shared, Some((Way::Driven { .. }, _)))
    }

    /// Bytes waiting in the shared link; unknown, and so zero, for a return path.
    pub(super) fn queued(&mut self, now: u64) -> u64 {
        match &mut self.shared {
            Some((Way::Link(link), origin)) => link.queued_bytes(now.saturating_sub(*origin)),
            Some((Way::Driven { .. }, _)) | None => 0,
        }
    }

    /// When the next datagram arrives, or the return path decides.
    pub(super) fn next(&self) -> Option<u64> {
        let decision = match &self.shared {
            Some((Way::Driven { path, .. }, origin)) => {
                path.next_event().map(|at| at.saturating_add(*origin))
            }
            Some((Way::Link(_), _)) | None => None,
        };
        self.flying.front().map(|datagram| datagram.at).into_iter().chain(decision).min()
    }

    /// A datagram that has arrived by `now`, and its flow.
    pub(super) fn arrive(&mut self, now: u64) -> Option<(u32, Ecn, BytesMut)> {
        self.books.at(now);
        self.decide(now);
        if self.flying.front()?.at > now {
            return None;
        }
        let datagram = self.flying.pop_front()?;
        self.books.on_arrived(datagram.at, self.flying.len());
        Some((datagram.flow, datagram.ecn, datagram.bytes))
    }

    /// Takes the decisions that the return path has made by now.
    fn decide(&mut self, now: u64) {
        while let Some((Way::Driven { path, held, .. }, origin)) = &mut self.shared
            && let Some(decision) = path.poll(now.saturating_sub(*origin))
        {
            // Everything before a released datagram is settled; a datagram that the link duplicates
            // is released twice.
            if let Return::Deliver { id, at } = decision {
                while held.front().is_some_and(|(first, _)| *first < id) {
                    held.pop_front();
                }
                if let Some((_, datagram)) = held.front().filter(|(first, _)| *first == id) {
                    let datagram = Datagram { at: at.saturating_add(*origin), ..datagram.clone() };
                    self.fly(datagram);
                }
            }
        }
    }

    /// A datagram leaves. If its fate is decided later, nothing is known yet.
    fn offer(&mut self, now: u64, flow: u32, ecn: Ecn, bytes: &[u8]) -> Offered {
        self.books.at(now);
        let len = bytes.len() as u32 + LOWER;
        let ect = if ecn == 0 { Ect::Unset } else { Ect::Set };
        let datagram = |at: u64, marked: bool, bleached: bool| {
            let ecn = match (marked, bleached) {
                (_, true) => 0,
                (true, false) => CE,
                (false, false) => ecn,
            };
            Datagram { at, flow, ecn, bytes: BytesMut::from(bytes) }
        };
        let opening = self.openings.get_mut(flow as usize).and_then(Option::as_mut);
        let (fate, origin, bleached) = match (opening, &mut self.shared) {
            (Some((link, origin)), _) | (None, Some((Way::Link(link), origin))) => {
                let fate = link.offer_as(now.saturating_sub(*origin), len, || ect);
                (fate, *origin, link.clears_ecn())
            }
            (None, Some((Way::Driven { path, held, next }, origin))) => {
                // Ranges are repeated until they are known to have arrived: a later ACK contains
                // the information of an earlier one.
                let ack = Ack { id: *next, len, flow, pure: true };
                if path.offer(now.saturating_sub(*origin), ack).is_err() {
                    return Offered::Dropped;
                }
                held.push_back((*next, datagram(0, false, false)));
                *next += 1;
                return Offered::Later;
            }
            (None, None) => unreachable!("a flow joins what has begun"),
        };
        match fate {
            Fate::Deliver { at, waited, marked } => {
                let at = self.fly(datagram(at.saturating_add(origin), marked, bleached));
                Offered::Sent { waited, at: [Some(at), None] }
            }
            Fate::Duplicate { at, again, waited, marked } => {
                let first = self.fly(datagram(at.saturating_add(origin), marked, bleached));
                let second = self.fly(datagram(again.saturating_add(origin), marked, bleached));
                Offered::Sent { waited, at: [Some(first), Some(second)] }
            }
            Fate::Drop(_) => Offered::Dropped,
        }
    }

    /// Puts the datagram in transit. Returns its arrival time.
    fn fly(&mut self, datagram: Datagram) -> u64 {
        let at = datagram.at;
        // Links deliver in order unless the path reorders, so search from the end.
        let place =
            self.flying.iter().rposition(|other| other.at <= at).map_or(0, |before| before + 1);
        let neighbour = |place: Option<usize>| Some(self.flying.get(place?)?.at);
        self.books.on_taken(at, neighbour(place.checked_sub(1)), neighbour(Some(place)));
        self.flying.insert(place, datagram);
        at
    }
}
