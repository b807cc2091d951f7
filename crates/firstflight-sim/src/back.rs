//! The return path for acknowledgements: a link that knows each arrival at once, or a terminal that
//! decides later.

use crate::pool::Plain;
use crate::ring::Ring;
use crate::wire::NEVER;
use firstflight_path::{Ack, Fate, Link, Return, ReturnPath, Reverse};

/// An acknowledgement that leaves its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leaving<A> {
    /// The flow it belongs to.
    pub flow: u32,
    /// IP bytes.
    pub len: u32,
    /// Whether a later acknowledgement contains all of its information.
    pub pure: bool,
    /// Whether it only answers the handshake.
    pub opens: bool,
    /// The acknowledgement.
    pub packet: A,
}

/// A return path for acknowledgements.
pub trait Back<A> {
    /// An ACK leaves at `now`; `arrives` is called for each arrival that is known already.
    fn send(&mut self, now: u64, ack: Leaving<A>, arrives: impl FnMut(u64));
}

/// No return path, for flows from which nothing has arrived yet.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl<A> Back<A> for Nowhere {
    fn send(&mut self, _now: u64, _ack: Leaving<A>, _arrives: impl FnMut(u64)) {
        debug_assert!(false, "something arrived before anything was sent");
    }
}

impl<A> Back<A> for Link {
    #[inline(always)]
    fn send(&mut self, now: u64, ack: Leaving<A>, mut arrives: impl FnMut(u64)) {
        match self.offer(now, ack.len) {
            Fate::Deliver { at, .. } => arrives(at),
            Fate::Duplicate { at, again, .. } => {
                arrives(at);
                arrives(again);
            }
            Fate::Drop(_) => {}
        }
    }
}

/// A terminal with the waiting ACKs of all flows of a trial.
#[derive(Debug)]
pub struct Terminal<A: Plain> {
    path: ReturnPath,
    /// ACKs by number; they are released in order, so everything before a released one is settled.
    held: Ring<Leaving<A>>,
}

impl<A: Plain> Terminal<A> {
    /// A terminal in front of this path.
    pub fn new(path: ReturnPath) -> Terminal<A> {
        Terminal { path, held: Ring::default() }
    }

    /// The time of the next poll.
    #[inline]
    pub fn next_event(&self) -> u64 {
        self.path.next_event().unwrap_or(NEVER)
    }

    /// The next ACK released up to `now`, with its arrival time at the sender.
    pub fn poll(&mut self, now: u64) -> Option<(u64, Leaving<A>)> {
        loop {
            if let Return::Deliver { id, at } = self.path.poll(now)? {
                while self.held.base() < id {
                    self.held.pop();
                }
                return Some((at, *self.held.get(id)));
            }
        }
    }
}

impl<A: Plain> Back<A> for Terminal<A> {
    fn send(&mut self, now: u64, ack: Leaving<A>, _arrives: impl FnMut(u64)) {
        let id = self.held.end();
        if self.path.offer(now, Ack { id, len: ack.len, flow: ack.flow, pure: ack.pure }).is_ok() {
            self.held.push(ack);
        }
    }
}

/// Either kind of return path.
#[derive(Debug)]
pub enum Way<A: Plain> {
    /// Every arrival is known at once.
    Link(Link),
    /// Releases are decided later.
    Driven(Box<Terminal<A>>),
}

impl<A: Plain> From<Reverse> for Way<A> {
    fn from(reverse: Reverse) -> Way<A> {
        match reverse {
            Reverse::Link(link) => Way::Link(link),
            Reverse::Driven(path) => Way::Driven(Box::new(Terminal::new(*path))),
        }
    }
}

impl<A: Plain> Way<A> {
    /// Whether it has events of its own.
    pub(crate) fn decides_later(&self) -> bool {
        matches!(self, Way::Driven(_))
    }

    /// The time of the next poll.
    #[inline]
    pub fn next_event(&self) -> u64 {
        match self {
            Way::Link(_) => NEVER,
            Way::Driven(terminal) => terminal.next_event(),
        }
    }

    /// The next ACK released up to `now`, with its arrival time at the sender.
    pub fn poll(&mut self, now: u64) -> Option<(u64, Leaving<A>)> {
        match self {
            Way::Link(_) => None,
            Way::Driven(terminal) => terminal.poll(now),
        }
    }
}

impl<A: Plain> Back<A> for Way<A> {
    #[inline(always)]
    fn send(&mut self, now: u64, ack: Leaving<A>, arrives: impl FnMut(u64)) {
        match self {
            Way::Link(link) => link.send(now, ack, arrives),
            Way::Driven(terminal) => terminal.send(now, ack, arrives),
        }
    }
}
