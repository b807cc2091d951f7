//! The return path of acknowledgements whose fate is decided after they were sent.
//!
//! An ACK passes the reverse link (rate, queue, losses), thinning, the release engine, and the
//! propagation delay. The caller drives it: [`ReturnPath::offer`] hands in an ACK,
//! [`ReturnPath::next_event`] returns the time of the next decision, and [`ReturnPath::poll`]
//! returns the decisions taken so far. At any instant, ACKs are handed in before the path is
//! polled. ACKs are delayed, never reordered.

use crate::batch::Batch;
use crate::direction::Effects;
use crate::fate::{DropCause, Fate};
use crate::grant::Grant;
use crate::held::{Ack, Held};
use crate::link::Link;
use crate::losses::Losses;
use crate::path::Path;
use crate::random::{Purpose, Stream};
use crate::release::Release;
use crate::serial::Serial;
use std::collections::VecDeque;

/// Decision about an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// The ACK reaches the sender.
    Deliver {
        /// The caller's id for it.
        id: u64,
        /// Arrival time, in ns; may lie after the poll.
        at: u64,
    },
    /// The ACK is dropped.
    Drop {
        /// The caller's id for it.
        id: u64,
        /// Reason for the drop.
        cause: DropCause,
    },
}

#[derive(Clone, Debug)]
enum Engine {
    Grant(Box<Grant>),
    Batch(Batch),
    Serial(Box<Serial>),
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct ReturnPath {
    /// The link in front of the engine; `None` if the engine is the link.
    link: Option<Link>,
    /// ACKs behind the link that have not yet reached the engine.
    entering: VecDeque<(u64, Ack)>,
    queue: VecDeque<Held>,
    engine: Engine,
    decided: VecDeque<Return>,
    propagation: u64,
    thin: Option<u64>,
    /// Time of the last decision.
    decided_at: u64,
    books: Books,
}

/// Counts of ACKs in and out, kept only in builds with debug assertions.
#[derive(Clone, Copy, Debug, Default)]
struct Books {
    /// ACKs that came in, each copy counted; the next field counts those that a poll returned.
    came: usize,
    named: usize,
    /// Arrival time of the last delivered ACK.
    arrival: u64,
}

impl ReturnPath {
    /// The return path of `path` behind `link`; the caller has set the propagation of `link` to 0.
    pub(crate) fn new(
        path: &Path,
        link: Link,
        rate: u64,
        propagation: u64,
        seed: u64,
        path_index: u64,
    ) -> Self {
        let stream = Stream::new(seed, path_index, Purpose::ReverseRate);
        let engine = match path.release() {
            Release::Grant(settings) => {
                Engine::Grant(Box::new(Grant::new(*settings, stream.key(), stream.branch(2))))
            }
            Release::Batch(settings) => Engine::Batch(Batch::new(*settings, stream.key())),
            Release::Plain | Release::Handover(_) => {
                let losses = Losses::new(
                    path.up_loss_ppb(),
                    // Thinning admits no other effect.
                    &Effects::default(),
                    Stream::new(seed, path_index, Purpose::ReverseLoss),
                );
                let capacity = path.up_queue_bytes().unwrap_or(u64::MAX);
                Engine::Serial(Box::new(Serial::new(
                    rate,
                    capacity,
                    path.overhead() as u32,
                    losses,
                )))
            }
        };
        let link = (!matches!(engine, Engine::Serial(_))).then_some(link);
        Self::around(engine, link, propagation, path.thin())
    }

    /// A release engine alone: nothing in front of it, no propagation behind it. `state` is the
    /// initial state of its SplitMix64 generator. `None` for releases that need no engine.
    pub fn engine(release: &Release, state: u64) -> Option<Self> {
        let engine = match release {
            Release::Grant(settings) => {
                let outages = Stream::new(state, 0, Purpose::ReverseRate).branch(2);
                Engine::Grant(Box::new(Grant::new(*settings, state, outages)))
            }
            Release::Batch(settings) => Engine::Batch(Batch::new(*settings, state)),
            Release::Plain | Release::Handover(_) => return None,
        };
        Some(Self::around(engine, None, 0, None))
    }

    fn around(engine: Engine, link: Option<Link>, propagation: u64, thin: Option<u64>) -> Self {
        let (entering, queue, decided) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Self {
            link,
            entering,
            queue,
            engine,
            decided,
            propagation,
            thin,
            decided_at: 0,
            books: Books::default(),
        }
    }

    /// Every ACK that came in has gone out or is still here.
    fn verify(&mut self, named: Option<Return>) {
        self.books.named += usize::from(named.is_some());
        if let Some(Return::Deliver { at, .. }) = named {
            let before = std::mem::replace(&mut self.books.arrival, at);
            assert!(at >= before, "an ACK arrives at {at} ns, overtaking one of {before} ns");
        }
        let here = self.entering.len() + self.queue.len() + self.decided.len();
        let Books { came, named, .. } = self.books;
        assert_eq!(came, named + here, "{came} ACKs came, {named} were named, {here} are here");
    }

    /// Hands in an ACK at `now`. An error is the cause of an immediate drop; otherwise
    /// [`ReturnPath::poll`] will return its id.
    pub fn offer(&mut self, now: u64, ack: Ack) -> Result<(), DropCause> {
        if let Some(link) = &mut self.link {
            match link.offer(now, ack.len) {
                Fate::Drop(cause) => return Err(cause),
                Fate::Deliver { at, .. } => self.come(at, ack),
                Fate::Duplicate { at, again, .. } => {
                    self.come(at, ack);
                    self.come(again, ack);
                }
            }
            return Ok(());
        }
        if let Engine::Serial(_) = self.engine {
            // A service that starts now frees its place in the queue before the offer.
            self.run(now);
        }
        if let Engine::Serial(serial) = &mut self.engine {
            let (room, lost) = serial.admit(&self.queue, ack.len);
            if !room {
                return Err(DropCause::Queue);
            }
            self.books.came += usize::from(cfg!(debug_assertions));
            self.enter(now, ack, lost);
        } else {
            self.come(now, ack);
        }
        Ok(())
    }

    /// Moves an ACK that leaves the link at `at` towards the engine.
    fn come(&mut self, at: u64, ack: Ack) {
        self.books.came += usize::from(cfg!(debug_assertions));
        self.entering.push_back((at, ack));
    }

    /// Time of the next poll; `None` while no ACK waits.
    pub fn next_event(&self) -> Option<u64> {
        if !self.decided.is_empty() {
            return Some(self.decided_at);
        }
        let entering = self.entering.front().map(|(at, _)| *at);
        if self.queue.is_empty() {
            let at = entering?;
            return Some(if let Engine::Grant(grant) = &self.engine {
                grant.frame_from(at)
            } else {
                at
            });
        }
        match &self.engine {
            // Requests between frames release nothing.
            Engine::Grant(grant) => Some(grant.frame_from(0)),
            Engine::Batch(batch) => batch.next_time(),
            Engine::Serial(serial) => serial.next_time(&self.queue),
        }
    }

    /// The next decision taken up to `now`, in order; `None` when there is none left.
    pub fn poll(&mut self, now: u64) -> Option<Return> {
        if self.decided.is_empty() {
            self.run(now);
        }
        let decided = self.decided.pop_front();
        if cfg!(debug_assertions) {
            self.verify(decided);
        }
        decided
    }

    /// Number of ACKs that wait for their release.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Processes everything up to `now`: at any instant ACKs enter before the engine acts.
    fn run(&mut self, now: u64) {
        loop {
            let entering = self.entering.front().map(|(at, _)| *at).filter(|at| *at <= now);
            if self.queue.is_empty() {
                // Nothing waits: the engine catches up when the next ACK comes.
                let Some(at) = entering else { return };
                match &mut self.engine {
                    Engine::Grant(grant) => grant.rest(at),
                    Engine::Batch(batch) => batch.rest(at),
                    Engine::Serial(_) => {}
                }
            }
            let engine = match &self.engine {
                Engine::Grant(grant) => Some(grant.next_time()),
                Engine::Batch(batch) => batch.next_time(),
                Engine::Serial(serial) => serial.next_time(&self.queue),
            };
            match (entering, engine) {
                (Some(at), engine) if engine.is_none_or(|engine| at <= engine) => {
                    if let Some((at, ack)) = self.entering.pop_front() {
                        self.enter(at, ack, false);
                    }
                }
                (_, Some(at)) if at <= now => self.fire(at),
                _ => return,
            }
        }
    }

    fn fire(&mut self, at: u64) {
        let (decided, propagation) = (&mut self.decided, self.propagation);
        let release = |waiting: Held, at: u64| {
            let id = waiting.ack.id;
            decided.push_back(if waiting.lost {
                Return::Drop { id, cause: DropCause::Random }
            } else {
                Return::Deliver { id, at: at.saturating_add(propagation) }
            });
        };
        match &mut self.engine {
            Engine::Grant(grant) => grant.fire(&mut self.queue, release),
            Engine::Batch(batch) => batch.fire(&mut self.queue, release),
            Engine::Serial(serial) => serial.fire(&mut self.queue, release),
        }
        self.decided_at = at;
    }

    fn enter(&mut self, at: u64, ack: Ack, lost: bool) {
        match &mut self.engine {
            Engine::Grant(grant) => grant.enter(at),
            Engine::Batch(batch) => batch.enter(at, self.queue.len()),
            Engine::Serial(_) => {}
        }
        self.queue.push_back(Held { ack, since: at, lost });
        if let Some(limit) = self.thin {
            self.thin_out(at, ack.flow, limit);
        }
    }

    /// Drops the oldest pure ACKs of a flow until no more than `limit` of its ACKs wait.
    fn thin_out(&mut self, at: u64, flow: u32, limit: u64) {
        let mut excess = (self.queue.iter().filter(|waiting| waiting.ack.flow == flow).count()
            as u64)
            .saturating_sub(limit);
        let mut index = 0;
        while excess > 0 && index + 1 < self.queue.len() {
            let Ack { id, flow: of, pure, .. } = self.queue[index].ack;
            if of == flow && pure {
                self.queue.remove(index);
                self.decided.push_back(Return::Drop { id, cause: DropCause::Thinned });
                self.decided_at = at;
                excess -= 1;
            } else {
                index += 1;
            }
        }
    }
}
