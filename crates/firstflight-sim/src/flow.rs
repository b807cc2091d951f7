//! One flow between two hosts: what is on the wire in each direction, and the single step that
//! moves it to its next event.
//!
//! The transport is a type parameter with both ends ([`Ends`]); everything here is the same for TCP
//! and QUIC. At one instant arrivals come before the application, the application before timers.

mod arriving;
mod ends;
mod sending;
mod watching;

pub use ends::{Ends, Hosted};

use crate::access::{Access, Counted, OnAccess};
use crate::ahead::Ahead;
use crate::app::{App, Application};
use crate::audit::Audit;
use crate::back::{Back, Nowhere};
use crate::observe::{Cause, Observer};
use crate::outcome::{Drops, Outcome, Stop};
use crate::pool::Plain;
use crate::waits::Waits;
use crate::wire::{Arrives, NEVER, Wire};
use firstflight::{Ack, Nanos, Time};
use firstflight_path::{Codepoint, Purpose, Stream};

/// Something under way, with its time of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timed<T> {
    at: u64,
    what: T,
}

impl<T: Plain> Arrives for Timed<T> {
    #[inline]
    fn at(&self) -> u64 {
        self.at
    }
}

/// What decides a flow's next turn, in one cache line: of many flows that take turns this is all
/// that is looked at between two turns. Times in ns.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Due {
    data: u64,
    acks: u64,
    held_ack: u64,
    release: u64,
    timer: u64,
    app: u64,
    /// Something of the object has not reached the receiver yet.
    missing: bool,
}

fn due(time: Option<Time>) -> u64 {
    time.map_or(NEVER, |time| time.0)
}

/// How late a host's timers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    draws: Stream,
    /// ns.
    most: u64,
}

impl Late {
    /// By up to `most`, by these draws.
    pub(crate) const fn new(draws: Stream, most: Nanos) -> Late {
        Late { draws, most: most.0 }
    }

    /// When what is due at `at` happens: the same however often that is asked.
    #[inline]
    pub(crate) fn of(&self, at: u64) -> u64 {
        if self.most == 0 || at == NEVER {
            return at;
        }
        let late = (u128::from(self.draws.value(at)) * (u128::from(self.most) + 1)) >> 64;
        at.saturating_add(late as u64)
    }
}

/// One flow that carries one object, or what an application writes.
///
/// Laid out by hand: first what every event touches, then what only some do.
#[repr(C)]
pub struct Flow<E: Ends> {
    due: Due,
    data: Wire<Timed<E::Data>>,
    acks: Wire<Timed<E::Ack>>,
    pub(crate) ends: E,
    /// How long each delivered packet waited.
    waits: Waits,
    app: Option<Box<Application>>,
    /// What this flow's way is longer than the path, ns: there and back.
    extra: (u64, u64),
    /// How late its timers are, of which none fires early.
    late: Late,
    id: u32,
    delivered_at: Option<Time>,
    drops: Drops,
    /// What arrives before this is taken as soon as it has left, ns; see [`Flow::goes_ahead_until`].
    ahead: u64,
    /// Until then it has its path for itself, ns; see [`Flow::is_alone_until`].
    alone: u64,
    /// What its way has of its own.
    access: Option<Box<OnAccess>>,
    /// What queues that look at it see: its ECN field, and what it is hashed as.
    codepoint: Option<Codepoint>,
    bucket: u32,
    /// Its receiver reports no mark.
    hides_marks: bool,
    /// Its ends agree about what has arrived.
    agrees: bool,
    /// Copies of each ACK beside the first.
    copies: u8,
    /// Its packets ask for L4S.
    l4s: bool,
    /// Data packets sent, and how many there may be.
    sent: u64,
    most_sent: u64,
    /// Bytes of the object; of an endless one, more than there is time for.
    object: u64,
    audit: Audit,
}

impl<E: Ends> Flow<E> {
    /// A flow of `object` bytes.
    pub fn between(id: u32, ends: E, object: u64) -> Flow<E> {
        let (data, acks) = (Wire::default(), Wire::default());
        let due = Due {
            data: NEVER,
            acks: NEVER,
            held_ack: NEVER,
            release: NEVER,
            timer: NEVER,
            app: NEVER,
            missing: true,
        };
        let (app, delivered_at, drops) = (None, None, Drops::default());
        let late = Late::new(Stream::new(0, 0, Purpose::FlowStart), Nanos::ZERO);
        let l4s = ends.controller().is_l4s();
        Flow {
            due,
            data,
            acks,
            ends,
            waits: Waits::default(),
            app,
            extra: (0, 0),
            late,
            id,
            delivered_at,
            drops,
            ahead: 0,
            alone: 0,
            access: None,
            codepoint: None,
            bucket: id,
            hides_marks: false,
            agrees: true,
            copies: 0,
            l4s,
            sent: 0,
            most_sent: u64::MAX,
            object,
            audit: Audit::default(),
        }
    }

    /// Its way has something of its own, and it may send so many packets.
    #[must_use]
    pub(crate) fn behind(mut self, access: Option<OnAccess>, most_sent: u64) -> Flow<E> {
        (self.access, self.most_sent) = (access.map(Box::new), most_sent);
        self
    }

    /// Its receiver goes ahead of the clock: what will arrive before `limit` is taken as soon as it
    /// has left, at the time of its arrival. What a receiver does depends on what arrives and when, and
    /// the sender learns nothing of it before the acknowledgement arrives; so nothing changes, and a
    /// packet is neither put on the wire nor an event of its own. Only on a way there that keeps
    /// the order, and if nobody looks at the receiver meanwhile.
    pub(crate) fn goes_ahead_until(&mut self, limit: u64) {
        debug_assert!(self.access.is_none(), "a way of its own keeps no order");
        self.ahead = limit;
    }

    /// No other flow shares its path before `limit`, and every fate is known when a packet leaves: what
    /// its pacer releases before anything else happens to it leaves in one step.
    pub(crate) fn is_alone_until(&mut self, limit: u64) {
        self.alone = limit;
    }

    /// Whether its receiver does.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// What queues see of its packets, and what its receiver says of their marks.
    #[must_use]
    pub(crate) fn seen_as(mut self, access: Option<&Access>) -> Flow<E> {
        if let Some(Access { ecn, bucket, hides_marks, lie, .. }) = access {
            (self.codepoint, self.bucket) = (*ecn, bucket.unwrap_or(self.id));
            self.hides_marks = *hides_marks;
            if let Some(lie) = *lie {
                (self.agrees, self.copies) = (lie.keeps_the_books(), lie.copies());
                self.ends.misbehave(lie);
            }
        }
        self
    }

    /// Its sender skips packet numbers, see [`Access::skips`].
    #[must_use]
    pub(crate) fn skipping(mut self, mean: Option<u64>, draws: Stream) -> Flow<E> {
        if let Some(mean) = mean {
            self.ends.skip_numbers(mean, draws);
        }
        self
    }

    /// What it has sent and lost so far.
    pub(crate) fn counted(&self) -> Counted {
        Counted { sent: self.sent, dropped: self.drops.total() }
    }

    /// This flow's round trip is so much longer than the path's.
    #[must_use]
    pub fn farther(mut self, rtt: Nanos) -> Flow<E> {
        self.extra = (rtt.0 / 2, rtt.0 - rtt.0 / 2);
        self
    }

    /// Its loss and probe timers fire so late.
    #[must_use]
    pub(crate) fn late(mut self, late: Late) -> Flow<E> {
        self.late = late;
        self
    }

    /// Its bytes come from this application, which starts at `start`.
    #[must_use]
    pub fn written_by(mut self, app: &App, start: Time) -> Flow<E> {
        if !matches!(app, App::Bulk(_) | App::Endless) {
            self.ends.write(0);
            let app = Application::new(app.clone(), start, self.ends.room());
            self.due.app = due(app.next_write());
            self.app = Some(Box::new(app));
        }
        self
    }

    /// When its first data left.
    pub(crate) fn first_sent(&self) -> Option<Time> {
        self.ends.first_sent()
    }

    /// Data packets that are neither dropped nor at the receiver yet.
    pub fn data_under_way(&self) -> u64 {
        self.data.len()
    }

    /// Every byte is acknowledged, and the application has no more to write.
    #[inline]
    pub fn complete(&self) -> bool {
        self.app.as_ref().map_or_else(|| self.ends.complete(), |app| app.is_done())
    }

    /// Its sender has given it up, see [`Stop::Closed`].
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ends.is_closed()
    }

    /// Bytes delivered in order at the receiver.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.ends.delivered()
    }

    /// When something happens next in this flow, ns.
    #[inline]
    pub fn next_event(&self) -> u64 {
        let Due { data, acks, held_ack, release, timer, app, .. } = self.due;
        data.min(acks).min(held_ack).min(release).min(timer).min(app)
    }

    /// When its sender hears the next ACK, as far as that is known, ns.
    #[inline]
    pub(crate) fn next_ack(&self) -> u64 {
        self.due.acks
    }

    /// What its way is longer than the path, ns: there and back.
    pub(crate) fn extra(&self) -> (u64, u64) {
        self.extra
    }

    /// Its handshake is over, see [`Ends::establish`]. Only for flows between senders that were
    /// made unopened, and before anything else.
    pub(crate) fn open(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        self.ends.establish(now, handshake_rtt, late);
        if let Some(app) = self.app.as_mut().filter(|_| late) {
            app.restart(now);
            self.due.app = due(app.next_write());
        }
    }

    /// The first packets leave.
    pub fn begin<O: Observer, F: Ahead<E::Sent>>(
        &mut self,
        now: u64,
        forward: &mut F,
        observer: &mut O,
    ) {
        self.audit.on_event(now);
        self.consult_app(Time(now));
        self.pump(now, forward, &mut Nowhere, observer);
        self.verify(now);
    }

    /// Everything that is due at `now`, and then what may be sent.
    #[inline(always)]
    pub fn step<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) {
        let time = Time(now);
        self.audit.on_event(now);
        if self.due.data < self.ahead {
            self.take_ahead(back, observer);
        } else if self.due.data <= now {
            self.take_data(now, back, observer);
        }
        let mut heard = self.due.acks <= now;
        if heard {
            while let Some(ack) = self.acks.take(self.due.acks <= now) {
                self.due.acks = self.acks.next();
                let mut record = Ack::blank(Time(0));
                if self.ends.on_ack(time, &ack.what, &mut record) {
                    self.watch(time, Cause::Ack, Some(&record), forward, observer);
                }
            }
        }
        if self.due.held_ack <= now {
            let packet = self.ends.acknowledge(time);
            self.return_ack(now, packet, back, observer);
            self.due.held_ack = due(self.ends.ack_due());
        }
        if self.app.is_some() {
            heard |= self.consult_app(time);
        }
        if heard {
            // What the ACKs let go leaves before a timer of the same instant looks at it, and the
            // timer may have been put off: when it is due is noted after that.
            self.send_out(now, forward, back, observer);
        }
        let timer = self.due.timer <= now;
        if timer {
            let record = self.ends.on_timer(time);
            self.watch(time, Cause::Timer, record.as_ref(), forward, observer);
        }
        if timer || (!heard && self.due.release <= now) {
            self.pump(now, forward, back, observer);
        }
        self.verify(now);
    }

    /// What holds after every event, in builds with debug assertions.
    #[inline]
    fn verify(&mut self, now: u64) {
        if !cfg!(debug_assertions) || !self.agrees {
            return;
        }
        let (delivered, acked) = (self.ends.delivered(), self.ends.acked());
        self.audit.check(self.data.len(), delivered, acked, self.object);
        debug_assert_eq!(
            (self.due.data, self.due.acks),
            (self.data.next(), self.acks.next()),
            "what is due next is not what is first on the wire"
        );
        self.ends.verify(Time(now));
    }

    /// The application looks at what was accepted and acknowledged. Returns whether it wrote.
    fn consult_app(&mut self, now: Time) -> bool {
        let Some(app) = &mut self.app else { return false };
        if app.is_media() {
            app.on_heard(now, self.ends.heard());
        }
        let written = app.on_progress(now, self.ends.acked(), self.ends.accepts());
        self.due.app = due(app.next_write());
        if let Some(written) = written {
            self.ends.write(written);
        }
        written.is_some()
    }

    /// The result, when the trial stopped at `now`.
    pub fn finish(self, now: u64, stop: Stop) -> Outcome {
        let first = self.ends.first_sent().unwrap_or_default();
        let controller = self.ends.controller();
        let mut outcome = Outcome::empty(stop, self.waits.histogram());
        outcome.acked_after = Time(now).since(first);
        outcome.delivered_after = self.delivered_at.map(|at| at.since(first));
        outcome.delivered = self.ends.delivered();
        outcome.drops = self.drops;
        outcome.say(controller, self.ends.account());
        outcome.parts = self.app.map_or_else(Vec::new, |app| app.into_parts());
        self.ends.count(&mut outcome);
        debug_assert_eq!(
            outcome.packets_dropped,
            outcome.drops.total(),
            "the sender's drops on the left, the path's on the right"
        );
        debug_assert!(
            outcome.packets_lost <= outcome.packets_dropped
                && outcome.packets_dropped <= outcome.packets_sent
                && outcome.lost_retransmissions <= outcome.retransmissions
                && outcome.retransmissions <= outcome.packets_sent,
            "more packets were lost or repeated than there were: {outcome:?}"
        );
        debug_assert!(
            outcome.delivered_after.is_none_or(|at| at <= outcome.acked_after),
            "delivered after {:?}, acknowledged after {:?}",
            outcome.delivered_after,
            outcome.acked_after
        );
        outcome
    }
}
