//! A link with all effects of a direction: policer, queue management, varying rate or
//! opportunities, losses, jitter, reordering, duplication, handovers.
//!
//! A packet passes, in this order: the delay in front of the bottleneck (if the path has it there),
//! the policer, the limit of the queue, the queue management, the server, the losses, the delay
//! behind. A packet's fate is known at the offer: each stage except the last is first in, first
//! out, and no later packet influences the last.

use crate::aqm::Manager;
use crate::capacity::{PACKET, Queue};
use crate::direction::{Ecn, Effects, Jitter, Rate, Reorder};
use crate::draw;
use crate::fate::{DropCause, Fate, Verdict};
use crate::handover::{BURST_LOSS_PPB, Boundaries};
use crate::losses::Losses;
use crate::packet::Ect;
use crate::policer::Policer;
use crate::queue::Waiting;
use crate::random::{Coin, Purpose, Stream, between};
use crate::release::HandoverSettings;
use crate::server::Server;

/// The direction of a link, which determines its draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Forward,
    Reverse,
}

impl Way {
    /// Purposes of the draws of the rate and of the losses.
    pub(crate) fn purposes(self) -> (Purpose, Purpose) {
        match self {
            Way::Forward => (Purpose::ForwardRate, Purpose::ForwardLoss),
            Way::Reverse => (Purpose::ReverseRate, Purpose::ReverseLoss),
        }
    }

    /// The stream of a purpose that both directions share; the reverse direction uses a branch of
    /// it.
    pub(crate) fn stream(self, seed: u64, path_index: u64, purpose: Purpose) -> Stream {
        let stream = Stream::new(seed, path_index, purpose);
        if self == Way::Forward { stream } else { stream.branch(0) }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) way: Way,
    pub(crate) rate: Rate,
    pub(crate) before: u64,
    pub(crate) propagation: u64,
    pub(crate) overhead: u32,
    pub(crate) capacity: u64,
    pub(crate) loss_ppb: u64,
    pub(crate) effects: Effects,
    pub(crate) handover: Option<HandoverSettings>,
    /// The threshold of `ecn=`, if it is in bytes.
    pub(crate) mark_bytes: Option<u64>,
}

/// The delay behind the bottleneck.
#[derive(Clone, Debug)]
struct Behind {
    propagation: u64,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    handover: Option<(Boundaries, u64)>,
    draws: Stream,
    /// Latest arrival among the packets that keep the order.
    latest: u64,
}

impl Behind {
    /// Arrival time of a packet that departs at `departed`.
    fn arrival(&mut self, departed: u64, ordinal: u64) -> u64 {
        let mut at = departed.saturating_add(self.propagation);
        if let Some((boundaries, extra)) = &mut self.handover {
            at = departed.saturating_add(boundaries.delay(self.propagation, departed));
            if boundaries.disturbed(departed) {
                at = at.saturating_add(between(self.draws.branch(3).value(ordinal), 0, *extra));
            }
        }
        at = at.saturating_add(match self.jitter {
            None => 0,
            Some(Jitter::Uniform(low, high)) => between(self.draws.value(ordinal), low, high),
            Some(Jitter::Normal(mean, sigma)) => {
                draw::normal_above_zero(self.draws.value(ordinal), mean, sigma)
            }
        });
        at = at.max(self.latest);
        debug_assert!(at >= departed, "arrives at {at} ns, before it departs at {departed} ns");
        if let Some(extra) = self.reorder.and_then(|one| overtaken(one, self.draws, ordinal)) {
            return at.saturating_add(extra);
        }
        self.latest = at;
        at
    }
}

/// The extra delay of a packet that others overtake; `draws` is the stream for the delay behind the
/// bottleneck.
pub(crate) fn overtaken(reorder: Reorder, draws: Stream, ordinal: u64) -> Option<u64> {
    let choice = draws.branch(1).value(ordinal);
    let (first, mean) = reorder.first;
    let size = || draws.branch(2).value(ordinal);
    if Coin::new(first).falls(choice) {
        return Some(draw::exponential(size(), mean));
    }
    let (second, mean) = reorder.second?;
    Coin::new(first.saturating_add(second)).falls(choice).then(|| draw::exponential(size(), mean))
}

/// The stages behind the server: losses at handovers, delay, duplication.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    bursts: Option<(Boundaries, Stream)>,
    behind: Behind,
    duplicates: (Coin, Stream),
}

/// A packet that the server finishes at `end`, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) end: u64,
    pub(crate) ordinal: u64,
    pub(crate) waited: u64,
    pub(crate) marked: bool,
    pub(crate) lost: bool,
}

impl Tail {
    pub(crate) fn new(settings: &Settings, seed: u64, path_index: u64) -> Self {
        let effects = settings.effects;
        let losses = settings.losses(seed, path_index);
        let draws = settings.delays(seed, path_index);
        let boundaries =
            || settings.handover.map(|handover| Boundaries::new(handover, seed, path_index));
        let extra = |handover: HandoverSettings| {
            if settings.way == Way::Forward { handover.data_extra } else { handover.ack_extra }
        };
        Self {
            bursts: boundaries().map(|boundaries| (boundaries, losses.branch(3))),
            behind: Behind {
                propagation: settings.propagation,
                jitter: effects.jitter,
                reorder: effects.reorder,
                handover: boundaries().zip(settings.handover.map(extra)),
                draws,
                latest: 0,
            },
            duplicates: (Coin::new(effects.dup_ppb), draws.branch(4)),
        }
    }

    /// The fate of a packet that was served.
    pub(crate) fn fate(&mut self, served: Served) -> Fate {
        let Served { end, ordinal, waited, marked, mut lost } = served;
        if let Some((boundaries, draws)) = &mut self.bursts {
            lost |=
                boundaries.in_burst(end) && Coin::new(BURST_LOSS_PPB).falls(draws.value(ordinal));
        }
        if lost {
            return Fate::Drop(DropCause::Random);
        }
        let at = self.behind.arrival(end, ordinal);
        let (coin, draws) = self.duplicates;
        if !coin.never() && coin.falls(draws.value(ordinal)) {
            return Fate::Duplicate { at, again: at, waited, marked };
        }
        Fate::Deliver { at, waited, marked }
    }
}

impl Settings {
    /// Stream of the losses.
    pub(crate) fn losses(&self, seed: u64, path_index: u64) -> Stream {
        Stream::new(seed, path_index, self.way.purposes().1)
    }

    /// Stream of the stages behind the server.
    pub(crate) fn delays(&self, seed: u64, path_index: u64) -> Stream {
        self.way.stream(seed, path_index, Purpose::Jitter)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Rich {
    settings: Settings,
    policer: Option<Policer>,
    manager: Option<Manager>,
    server: Server,
    waiting: Waiting,
    losses: Losses,
    tail: Tail,
    /// Random marks.
    marks: Option<(Coin, Stream)>,
    ordinal: u64,
}

impl Rich {
    pub(crate) fn new(settings: Settings, seed: u64, path_index: u64) -> Self {
        let effects = settings.effects;
        let (rate_purpose, _) = settings.way.purposes();
        let losses = settings.losses(seed, path_index);
        let marks = effects.ecn == Some(Ecn::InsteadOfDrop);
        let packet_time = settings.rate.serialization(PACKET);
        let aqm_draws = settings.way.stream(seed, path_index, Purpose::Aqm);
        let handover = settings.handover.map(|handover| (handover, seed, path_index));
        Self {
            policer: effects.policer.map(Policer::new),
            manager: effects.aqm.and_then(|aqm| Manager::new(aqm, marks, packet_time, aqm_draws)),
            server: Server::new(
                &settings.rate,
                Stream::new(seed, path_index, rate_purpose),
                handover,
            ),
            waiting: Waiting::new(settings.capacity),
            losses: Losses::new(settings.loss_ppb, &effects, losses),
            tail: Tail::new(&settings, seed, path_index),
            marks: match effects.ecn {
                Some(Ecn::Chance(share)) => Some((Coin::new(share), aqm_draws)),
                _ => None,
            },
            ordinal: 0,
            settings,
        }
    }

    pub(crate) fn reset(&mut self, seed: u64, path_index: u64) {
        let waiting = std::mem::replace(&mut self.waiting, Waiting::empty());
        *self = Self::new(self.settings.clone(), seed, path_index);
        self.waiting = waiting;
        self.waiting.restart(self.settings.capacity);
    }

    pub(crate) fn offer(&mut self, now: u64, len: u32, ect: Ect) -> Fate {
        let ordinal = self.ordinal;
        self.ordinal += 1;
        let unwanted = ect == Ect::Set && self.settings.effects.ecn == Some(Ecn::Drop);
        let lost = self.losses.falls(now, ordinal) || unwanted;
        let now = now.saturating_add(self.settings.before);
        let len = len.saturating_add(self.settings.overhead);
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, len)) {
            return Fate::Drop(DropCause::Policer);
        }
        self.waiting.leave(now);
        if !self.waiting.has_room(len) {
            return Fate::Drop(DropCause::Queue);
        }
        let Some(start) = self.server.begin(now) else {
            self.waiting.join(u64::MAX, len);
            return Fate::Drop(DropCause::TraceEnd);
        };
        debug_assert!(start >= now, "served at {start} ns, before it came at {now} ns");
        let waited = start - now;
        let verdict = match &mut self.manager {
            None => Verdict::Pass,
            Some(Manager::Codel(codel)) => codel.dequeue(start, waited),
            Some(Manager::Pie(pie)) => {
                pie.enqueue(now, ordinal, self.waiting.bytes(), self.server.busy_until())
            }
            Some(Manager::Red(red)) => {
                red.enqueue(now, ordinal, self.waiting.bytes(), self.server.busy_until())
            }
        };
        // RFC 3168 section 5: packets that cannot be marked are dropped.
        if verdict == Verdict::Drop || (verdict == Verdict::Mark && ect == Ect::Unset) {
            if matches!(self.manager, Some(Manager::Codel(_))) {
                // The dropped packet occupies the queue until it would have been sent.
                self.waiting.join(start, len);
            }
            return Fate::Drop(DropCause::Aqm);
        }
        let by_chance = self.marks.is_some_and(|(coin, draws)| coin.falls(draws.value(ordinal)));
        let marked = ect != Ect::Unset
            && (verdict == Verdict::Mark || by_chance || self.above_threshold(waited));
        let end = self.server.serve(now, len);
        if start > now {
            self.waiting.join(start, len);
        }
        let Some(end) = end else { return Fate::Drop(DropCause::TraceEnd) };
        debug_assert!(end >= start, "departs at {end} ns, before its service at {start} ns");
        self.tail.fate(Served { end, ordinal, waited, marked, lost })
    }

    /// Step marking: a packet is marked when it finds at least the threshold in the queue.
    fn above_threshold(&self, waited: u64) -> bool {
        match self.settings.effects.ecn {
            Some(Ecn::Above(Queue::Time(ns))) => waited >= ns,
            Some(Ecn::Above(_)) => {
                self.settings.mark_bytes.is_some_and(|bytes| self.waiting.bytes() >= bytes)
            }
            _ => false,
        }
    }

    /// Waiting bytes that a packet offered at `now` would find after the delay in front of the
    /// bottleneck.
    pub(crate) fn queued_bytes(&mut self, now: u64) -> u64 {
        self.waiting.leave(now.saturating_add(self.settings.before));
        self.waiting.bytes()
    }

    pub(crate) fn clears_ecn(&self) -> bool {
        self.settings.effects.ecn == Some(Ecn::Bleach)
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.settings.capacity
    }

    pub(crate) fn propagation(&self) -> u64 {
        self.settings.propagation
    }

    /// Whether nothing is overtaken or duplicated; jitter and handovers keep the order.
    pub(crate) fn keeps_order(&self) -> bool {
        self.tail.behind.reorder.is_none() && self.tail.duplicates.0.never()
    }
}
