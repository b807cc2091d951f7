//! One direction of an emulated link: packets enter, and leave when their time has come. Contains
//! no clock and no descriptor.
//!
//! A packet's departure time is decided when it arrives and derives from the ideal end of the
//! previous packet, never from its actual departure: the emulator's lateness does not accumulate.

use super::packet::{self, Packet, Pool};
use super::report::Tally;
use firstflight_path::Error;
use firstflight_path::{Ack, Ect, Effects, Fate, Link, Return, ReturnPath, Reverse};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// A packet and the time at which it reaches the far end. The order makes a heap return the
/// earliest first.
struct Due {
    at: u64,
    seq: u64,
    packet: Packet,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.at, self.seq) == (other.at, other.seq)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        (other.at, other.seq).cmp(&(self.at, self.seq))
    }
}

/// The component that decides the fate of packets.
enum Way {
    /// Every fate is known when the packet is offered.
    Link(Link),
    /// Packets wait, each under a number, until the return path has decided.
    Driven { path: Box<ReturnPath>, parked: HashMap<u64, Packet>, id: u64 },
}

/// One direction.
pub(crate) struct Wire {
    way: Way,
    waiting: BinaryHeap<Due>,
    seq: u64,
    /// Start of the path's time.
    origin: u64,
    /// Counters so far.
    pub(crate) tally: Tally,
}

impl Wire {
    /// The forward direction.
    pub(crate) fn forward(link: Link) -> Wire {
        Wire::new(Way::Link(link))
    }

    /// The return direction.
    pub(crate) fn reverse(reverse: Reverse, effects: &Effects) -> Result<Wire, Error> {
        let way = match reverse {
            Reverse::Link(link) => Way::Link(link),
            Reverse::Driven(_) if effects.dup_ppb > 0 => {
                return Err(Error::new(
                    "up_dup: a return path with a release engine does not duplicate on emulated links",
                ));
            }
            Reverse::Driven(path) => Way::Driven { path, parked: HashMap::new(), id: 0 },
        };
        Ok(Wire::new(way))
    }

    fn new(way: Way) -> Wire {
        Wire { way, waiting: BinaryHeap::new(), seq: 0, origin: 0, tally: Tally::default() }
    }

    /// Replaces the path by `fresh` at `now`, its time zero. Packets whose arrival time is already
    /// known still arrive at that time. A return path with undecided packets stays as it is.
    pub(crate) fn replace(&mut self, fresh: Wire, now: u64) {
        if !matches!(&self.way, Way::Driven { parked, .. } if !parked.is_empty()) {
            self.way = fresh.way;
            self.origin = now;
        }
        self.tally = fresh.tally;
    }

    /// A packet arrives at `now`.
    pub(crate) fn offer(&mut self, now: u64, mut packet: Packet, pool: &mut Pool) {
        let now = now.saturating_sub(self.origin);
        let len = packet.bytes().len() as u32;
        self.tally.arrived(now, len);
        match &mut self.way {
            Way::Link(link) => {
                let ect = || if packet::is_ect(packet.bytes()) { Ect::Set } else { Ect::Unset };
                let fate = link.offer_as(now, len, ect);
                if link.clears_ecn() {
                    packet::set_ecn(packet.bytes_mut(), 0);
                }
                self.tally.backlog(link.queued_bytes(now));
                self.meet(fate, now, packet, pool);
            }
            Way::Driven { path, parked, id } => {
                *id += 1;
                let ack = Ack {
                    id: *id,
                    len,
                    flow: packet::flow(packet.bytes()),
                    pure: packet::is_pure_ack(packet.bytes()),
                };
                match path.offer(now, ack) {
                    Ok(()) => drop(parked.insert(*id, packet)),
                    Err(cause) => {
                        self.tally.dropped(now, cause);
                        pool.give_back(packet);
                    }
                }
            }
        }
    }

    fn meet(&mut self, fate: Fate, now: u64, mut packet: Packet, pool: &mut Pool) {
        let (at, again, waited, marked) = match fate {
            Fate::Drop(cause) => {
                self.tally.dropped(now, cause);
                return pool.give_back(packet);
            }
            Fate::Deliver { at, waited, marked } => (at, None, waited, marked),
            Fate::Duplicate { at, again, waited, marked } => (at, Some(again), waited, marked),
        };
        self.tally.waited(waited);
        if marked {
            packet::set_ecn(packet.bytes_mut(), packet::CE);
            self.tally.marked += 1;
        }
        if let Some(again) = again {
            self.tally.duplicated += 1;
            let copy = pool.copy(&packet);
            self.schedule(again, copy);
        }
        self.schedule(at, packet);
    }

    fn schedule(&mut self, at: u64, packet: Packet) {
        self.seq += 1;
        self.waiting.push(Due { at: at.saturating_add(self.origin), seq: self.seq, packet });
    }

    /// Time of the next event; `None` while no packet is in transit.
    pub(crate) fn next(&self) -> Option<u64> {
        let due = self.waiting.peek().map(|due| due.at);
        let decision = match &self.way {
            Way::Link(_) => None,
            Way::Driven { path, .. } => path.next_event().map(|at| at.saturating_add(self.origin)),
        };
        due.into_iter().chain(decision).min()
    }

    /// The next packet that is due by `now`, and its due time.
    pub(crate) fn take(&mut self, now: u64, pool: &mut Pool) -> Option<(u64, Packet)> {
        self.decide(now, pool);
        if self.waiting.peek()?.at > now {
            return None;
        }
        self.waiting.pop().map(|due| (due.at, due.packet))
    }

    /// Takes the decisions that the return path has made by now.
    fn decide(&mut self, now: u64, pool: &mut Pool) {
        let Way::Driven { path, parked, .. } = &mut self.way else { return };
        let now = now.saturating_sub(self.origin);
        if path.next_event().is_none_or(|at| at > now) {
            return;
        }
        let mut decided = Vec::new();
        while let Some(decision) = path.poll(now) {
            match decision {
                Return::Deliver { id, at } => {
                    decided.extend(parked.remove(&id).map(|packet| (at, packet)));
                }
                Return::Drop { id, cause } => {
                    self.tally.dropped(now, cause);
                    if let Some(packet) = parked.remove(&id) {
                        pool.give_back(packet);
                    }
                }
            }
        }
        for (at, packet) in decided {
            self.schedule(at, packet);
        }
    }

    /// Number of packets inside.
    pub(crate) fn inside(&self) -> u64 {
        let parked = if let Way::Driven { parked, .. } = &self.way { parked.len() } else { 0 };
        (self.waiting.len() + parked) as u64
    }
}
