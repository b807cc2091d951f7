//! The forward path for data: a link that knows the fate of each packet at once, or a queue that
//! decides later ([`firstflight_path::ForwardPath`]).

use crate::back::{Back, Leaving};
use crate::pool::Plain;
use crate::wire::NEVER;
use firstflight_path::{Codepoint, Ect, Fate, Flight, Forward, ForwardPath, Link, Offered};

/// A data packet that leaves its sender.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<S> {
    /// The flow it belongs to.
    pub flow: u32,
    /// Identity in flow queues.
    pub bucket: u32,
    /// IP bytes.
    pub len: u32,
    /// The ECN field, if the sender sets one.
    pub codepoint: Option<Codepoint>,
    /// If `codepoint` is `None`: whether the packet asks for L4S with ECT(1) where the path can
    /// mark.
    pub l4s: bool,
    /// Whether the sender lets it be marked; `Unset` overrides `codepoint`.
    pub ect: Ect,
    /// The packet as its sender knows it.
    pub sent: S,
}

/// A forward path for data.
pub trait Ahead<S> {
    /// Sends a packet of `len` bytes at `now`. Returns its fate if that is known already.
    fn send(&mut self, now: u64, len: u32, packet: impl FnOnce() -> Outgoing<S>) -> Option<Fate>;
    /// Like [`Ahead::send`], if the packet arrives and its arrival is known at once: see
    /// [`Link::carry`].
    fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)>;
    /// Offers `count` packets of `len` bytes at `now`, if the fate of all is known at once: see
    /// [`Link::flight`].
    fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight>;
    /// Sends `count` packets of a flight.
    fn take_off(&mut self, flight: &Flight, count: u64);
    /// Sends the handshake packet of the flow at index `place`. Returns its fate if that is known
    /// already.
    fn open(&mut self, now: u64, place: usize, len: u32) -> Option<Fate>;
    /// Bytes queued at `now`; the packet in service is not counted.
    fn queued_bytes(&mut self, now: u64) -> u64;
}

impl<S> Ahead<S> for Link {
    #[inline]
    fn send(&mut self, now: u64, len: u32, packet: impl FnOnce() -> Outgoing<S>) -> Option<Fate> {
        Some(self.offer_as(now, len, || packet().ect))
    }
    #[inline(always)]
    fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)> {
        Link::carry(self, now, len)
    }
    #[inline(always)]
    fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight> {
        Link::flight(self, now, len, count)
    }
    #[inline(always)]
    fn take_off(&mut self, flight: &Flight, count: u64) {
        Link::take_off(self, flight, count);
    }
    fn open(&mut self, now: u64, _place: usize, len: u32) -> Option<Fate> {
        Some(self.offer(now, len))
    }
    #[inline]
    fn queued_bytes(&mut self, now: u64) -> u64 {
        Link::queued_bytes(self, now)
    }
}

/// An item in a queue that decides later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held<S, A> {
    /// A data packet of a flow, and its departure time, ns.
    Data { flow: u32, left: u64, sent: S },
    /// A handshake packet, and its departure time, ns.
    Open { place: usize, left: u64 },
    /// An acknowledgement of a flow whose data takes the return path.
    Ack(Leaving<A>),
}

/// A queue that decides later, with its packets.
#[derive(Debug)]
pub struct Gate<S, A> {
    path: ForwardPath,
    /// Items by identifier; identifiers of items that left are reused.
    held: Vec<Option<Held<S, A>>>,
    free: Vec<usize>,
}

impl<S: Copy, A: Copy> Gate<S, A> {
    fn hold(&mut self, now: u64, held: Held<S, A>, mut packet: Offered) {
        let name = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() - 1
        });
        self.held[name] = Some(held);
        packet.id = name as u64;
        self.path.offer(now, packet);
    }

    #[inline(never)]
    fn send(&mut self, now: u64, packet: Outgoing<S>) {
        let Outgoing { flow, bucket, len, codepoint, l4s, ect, sent } = packet;
        let codepoint = if ect == Ect::Unset { Some(Codepoint::NotEct) } else { codepoint };
        let codepoint = codepoint.unwrap_or_else(|| match self.path.usual_codepoint() {
            usual if l4s && usual.is_capable() => Codepoint::Ect1,
            usual => usual,
        });
        let offered = Offered { id: 0, len, flow: bucket, codepoint };
        self.hold(now, Held::Data { flow, left: now, sent }, offered);
    }

    fn poll(&mut self, now: u64) -> Option<(Held<S, A>, Fate)> {
        loop {
            let departure = self.path.poll(now)?;
            let name = departure.id as usize;
            self.free.push(name);
            if let Some(held) = self.held[name].take() {
                return Some((held, departure.fate));
            }
        }
    }
}

/// Either kind of forward path.
#[derive(Debug)]
pub enum Toward<S, A> {
    /// Every fate is known at once.
    Link(Link),
    /// Fates are decided later.
    Gate(Box<Gate<S, A>>),
}

impl<S, A> From<Forward> for Toward<S, A> {
    fn from(forward: Forward) -> Self {
        match forward {
            Forward::Link(link) => Toward::Link(link),
            Forward::Driven(path) => {
                Toward::Gate(Box::new(Gate { path: *path, held: Vec::new(), free: Vec::new() }))
            }
        }
    }
}

impl<S: Copy, A: Copy> Toward<S, A> {
    /// Whether it has events of its own.
    pub(crate) fn decides_later(&self) -> bool {
        matches!(self, Toward::Gate(_))
    }

    /// The time of the next poll.
    #[inline]
    pub fn next_event(&mut self) -> u64 {
        match self {
            Toward::Link(_) => NEVER,
            Toward::Gate(gate) => gate.path.next_event().unwrap_or(NEVER),
        }
    }

    /// The next packet whose fate is decided up to `now`.
    pub(crate) fn poll(&mut self, now: u64) -> Option<(Held<S, A>, Fate)> {
        match self {
            Toward::Link(_) => None,
            Toward::Gate(gate) => gate.poll(now),
        }
    }
}

impl<S: Copy, A: Copy> Ahead<S> for Toward<S, A> {
    #[inline(always)]
    fn send(&mut self, now: u64, len: u32, packet: impl FnOnce() -> Outgoing<S>) -> Option<Fate> {
        match self {
            Toward::Link(link) => Some(link.offer_as(now, len, || packet().ect)),
            Toward::Gate(gate) => {
                gate.send(now, packet());
                None
            }
        }
    }

    #[inline(always)]
    fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)> {
        match self {
            Toward::Link(link) => link.carry(now, len),
            Toward::Gate(_) => None,
        }
    }

    #[inline(always)]
    fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight> {
        match self {
            Toward::Link(link) => link.flight(now, len, count),
            Toward::Gate(_) => None,
        }
    }

    #[inline(always)]
    fn take_off(&mut self, flight: &Flight, count: u64) {
        if let Toward::Link(link) = self {
            link.take_off(flight, count);
        }
    }

    fn open(&mut self, now: u64, place: usize, len: u32) -> Option<Fate> {
        match self {
            Toward::Link(link) => Some(link.offer(now, len)),
            Toward::Gate(gate) => {
                // RFC 3168 section 6.1.1: packets that open a connection are not ECN-capable.
                let codepoint = Codepoint::NotEct;
                let offered = Offered { id: 0, len, flow: place as u32, codepoint };
                gate.hold(now, Held::Open { place, left: now }, offered);
                None
            }
        }
    }

    #[inline]
    fn queued_bytes(&mut self, now: u64) -> u64 {
        match self {
            Toward::Link(link) => link.queued_bytes(now),
            Toward::Gate(gate) => gate.path.queued_bytes(now),
        }
    }
}

/// The return path of flows whose data takes the return path.
impl<S: Copy, A: Plain> Back<A> for Toward<S, A> {
    fn send(&mut self, now: u64, ack: Leaving<A>, arrives: impl FnMut(u64)) {
        match self {
            Toward::Link(link) => Back::send(link, now, ack, arrives),
            Toward::Gate(gate) => {
                // RFC 3168 section 6.1.4: pure acknowledgements are not ECN-capable either.
                let codepoint = Codepoint::NotEct;
                let offered = Offered { id: 0, len: ack.len, flow: ack.flow, codepoint };
                gate.hold(now, Held::Ack(ack), offered);
            }
        }
    }
}
