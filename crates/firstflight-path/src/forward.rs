//! The forward direction with a queue that decides about packets after they were offered: flow
//! queues, priorities, drops at the head.
//!
//! The caller drives it: [`ForwardPath::offer`] hands in a packet, [`ForwardPath::next_event`]
//! returns the time of the next decision, and [`ForwardPath::poll`] returns the decisions taken so
//! far. A packet is decided about when its service starts or when it is dropped; its arrival may
//! lie after the poll. At any instant a service starts before a packet is offered, as in a
//! [`Link`].

use crate::direction::{Aqm, Ecn};
use crate::dual_pi2::DualPi2;
use crate::fate::{DropCause, Fate};
use crate::fq_codel::FqCodel;
use crate::link::Link;
use crate::losses::Losses;
use crate::packet::{Codepoint, Offered, Waiting};
use crate::policer::Policer;
use crate::random::{Purpose, Stream};
use crate::rich::{Served, Settings, Tail};
use crate::server::Server;
use std::collections::VecDeque;

/// Decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Identifier of the packet, chosen by the caller.
    pub id: u64,
    /// Fate of the packet.
    pub fate: Fate,
}

/// The forward direction: a link that knows each fate at the offer, or a queue that must be driven.
#[derive(Clone, Debug)]
pub enum Forward {
    /// Every fate is known at the offer.
    Link(Link),
    /// Fates depend on what arrives later.
    Driven(Box<ForwardPath>),
}

#[derive(Clone, Debug)]
enum Scheduler {
    FqCodel(Box<FqCodel>),
    DualPi2(Box<DualPi2>),
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct ForwardPath {
    settings: Settings,
    policer: Option<Policer>,
    /// Packets on their way to the bottleneck.
    entering: VecDeque<Waiting>,
    scheduler: Scheduler,
    server: Server,
    losses: Losses,
    tail: Tail,
    decided: VecDeque<Departure>,
    /// Time of the last decision; then the time of the last queue event.
    decided_at: u64,
    clock: u64,
    ordinal: u64,
    /// Packets in the queue.
    waiting: u64,
    books: Books,
}

/// Counts of packets in and out, kept only in builds with debug assertions.
#[derive(Clone, Copy, Debug, Default)]
struct Books {
    came: u64,
    named: u64,
}

impl ForwardPath {
    /// `None` if the management of the queue decides at the offer.
    pub(crate) fn new(settings: Settings, seed: u64, path_index: u64) -> Option<Self> {
        let (effects, capacity) = (settings.effects, settings.capacity);
        let scheduler = match effects.aqm? {
            Aqm::FqCodel(fq) => {
                Scheduler::FqCodel(Box::new(FqCodel::new(fq, capacity, seed, path_index)))
            }
            Aqm::DualPi2(dual) => {
                let draws = settings.way.stream(seed, path_index, Purpose::Aqm);
                Scheduler::DualPi2(Box::new(DualPi2::new(dual, capacity, draws)))
            }
            Aqm::Codel { target, interval } => {
                Scheduler::FqCodel(Box::new(FqCodel::codel(target, interval, capacity)))
            }
            Aqm::Pie { .. } | Aqm::Red(_) => return None,
        };
        let rates = Stream::new(seed, path_index, settings.way.purposes().0);
        let handover = settings.handover.map(|handover| (handover, seed, path_index));
        let losses = settings.losses(seed, path_index);
        Some(Self {
            policer: effects.policer.map(Policer::new),
            entering: VecDeque::new(),
            scheduler,
            server: Server::new(&settings.rate, rates, handover),
            losses: Losses::new(settings.loss_ppb, &effects, losses),
            tail: Tail::new(&settings, seed, path_index),
            decided: VecDeque::new(),
            decided_at: 0,
            clock: 0,
            ordinal: 0,
            waiting: 0,
            books: Books::default(),
            settings,
        })
    }

    /// The ECN field of packets whose sender specifies none: ECT(0) where the path has `ecn`.
    pub fn usual_codepoint(&self) -> Codepoint {
        if self.settings.effects.ecn == Some(Ecn::InsteadOfDrop) {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        }
    }

    /// Hands in a packet at `now` (ns); [`ForwardPath::poll`] will return its id. Calls must be in
    /// order of time.
    pub fn offer(&mut self, now: u64, packet: Offered) {
        self.run(now);
        let ordinal = self.ordinal;
        self.ordinal += 1;
        self.books.came += 1;
        let lost = self.losses.falls(now, ordinal);
        let Offered { id, len, flow, codepoint } = packet;
        let len = len.saturating_add(self.settings.overhead);
        let since = now.saturating_add(self.settings.before);
        let waiting = Waiting { id, len, flow, codepoint, since, ordinal, lost };
        self.entering.push_back(waiting);
        self.run(now);
    }

    /// Time of the next poll, in ns; `None` while no packet waits.
    pub fn next_event(&mut self) -> Option<u64> {
        if !self.decided.is_empty() {
            return Some(self.decided_at);
        }
        let entering = self.entering.front().map(|packet| packet.since);
        match (entering, self.service()) {
            (Some(entering), Some(service)) => Some(entering.min(service)),
            (entering, service) => entering.or(service),
        }
    }

    /// The next decision taken up to `now`, in order; `None` when there is none left.
    pub fn poll(&mut self, now: u64) -> Option<Departure> {
        if self.decided.is_empty() {
            self.run(now);
        }
        let decided = self.decided.pop_front();
        self.books.named += u64::from(decided.is_some());
        if cfg!(debug_assertions) {
            self.verify();
        }
        decided
    }

    /// Every packet that came in has gone out or is still here.
    fn verify(&self) {
        let here = self.waiting + (self.entering.len() + self.decided.len()) as u64;
        let Books { came, named } = self.books;
        assert_eq!(came, named + here, "{came} came, {named} were named, {here} are here");
    }

    /// Bytes that wait at `now`; the packet in service is not counted.
    pub fn queued_bytes(&mut self, now: u64) -> u64 {
        self.run(now);
        match &self.scheduler {
            Scheduler::FqCodel(fq) => fq.bytes(),
            Scheduler::DualPi2(dual) => dual.bytes(),
        }
    }

    /// Start of the next service; `None` if no packet waits, or the link has ended.
    fn service(&mut self) -> Option<u64> {
        if self.waiting == 0 { None } else { self.server.begin(self.clock) }
    }

    /// Processes everything up to `now`: at any instant a service starts before a packet joins.
    fn run(&mut self, now: u64) {
        loop {
            let entering = self.entering.front().map(|packet| packet.since);
            let service = self.service();
            match (service, entering) {
                (Some(at), entering) if at <= now && entering.is_none_or(|join| at <= join) => {
                    self.serve(at);
                }
                (_, Some(at)) if at <= now => self.join(at),
                _ => return,
            }
        }
    }

    /// Moves the first packet on its way into the queue.
    fn join(&mut self, at: u64) {
        let Some(packet) = self.entering.pop_front() else { return };
        self.clock = self.clock.max(at);
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(at, packet.len)) {
            return self.decide(at, packet.id, Fate::Drop(DropCause::Policer));
        }
        if self.server.begin(at).is_none() {
            return self.decide(at, packet.id, Fate::Drop(DropCause::TraceEnd));
        }
        if self.waiting == 0 && self.server.busy_until() <= at {
            match &mut self.scheduler {
                Scheduler::FqCodel(fq) => fq.rest(at),
                Scheduler::DualPi2(dual) => dual.rest(),
            }
        }
        self.waiting += 1;
        let (decided, waiting) = (&mut self.decided, &mut self.waiting);
        let mut any = false;
        let mut dropped = |packet: Waiting, cause| {
            (*waiting, any) = (*waiting - 1, true);
            decided.push_back(Departure { id: packet.id, fate: Fate::Drop(cause) });
        };
        match &mut self.scheduler {
            Scheduler::FqCodel(fq) => fq.enqueue(packet, &mut dropped),
            Scheduler::DualPi2(dual) => dual.enqueue(at, packet, &mut dropped),
        }
        if any {
            self.decided_at = at;
        }
    }

    /// Serves the next packet of a link that is free at `at`.
    fn serve(&mut self, at: u64) {
        self.clock = at;
        let (decided, waiting) = (&mut self.decided, &mut self.waiting);
        let mut dropped = |packet: Waiting, cause| {
            *waiting -= 1;
            decided.push_back(Departure { id: packet.id, fate: Fate::Drop(cause) });
        };
        let next = match &mut self.scheduler {
            Scheduler::FqCodel(fq) => fq.dequeue(at, &mut dropped),
            Scheduler::DualPi2(dual) => dual.dequeue(at, &mut dropped),
        };
        self.decided_at = at;
        let Some((packet, marked)) = next else { return };
        self.waiting -= 1;
        let fate = match self.server.serve(at, packet.len) {
            Some(end) => self.tail.fate(Served {
                end,
                ordinal: packet.ordinal,
                waited: at - packet.since,
                marked,
                lost: packet.lost,
            }),
            None => Fate::Drop(DropCause::TraceEnd),
        };
        self.decide(at, packet.id, fate);
    }

    fn decide(&mut self, at: u64, id: u64, fate: Fate) {
        self.decided.push_back(Departure { id, fate });
        self.decided_at = at;
    }
}
