//! One flow between two hosts: the packets on the wire in each direction, and the step that
//! advances the flow to its next event.
//!
//! The transport is a type parameter that provides both ends ([`Ends`]); everything here is the
//! same for TCP and QUIC. At one instant, arrivals come before the application and the application
//! before timers.

mod arriving;
mod ends;
mod fast;
mod sending;
mod watching;

pub use ends::{Bursts, Ends, Hosted};
pub(crate) use ends::{forward_bursts_to_sender, forward_to_sender};
pub(crate) use fast::goes_ahead;

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

/// An item in transit, with its time of arrival.
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

/// The times that decide a flow's next turn, in one cache line: when many flows take turns, nothing
/// else is read between two turns. Times in ns.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Due {
    data: u64,
    acks: u64,
    held_ack: u64,
    release: u64,
    timer: u64,
    app: u64,
    /// Whether part of the object has not reached the receiver yet.
    missing: bool,
}

fn due(time: Option<Time>) -> u64 {
    time.map_or(NEVER, |time| time.0)
}

/// The lateness of a host's timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    draws: Stream,
    /// ns.
    most: u64,
}

impl Late {
    /// Up to `most` late, by these draws.
    pub(crate) const fn new(draws: Stream, most: Nanos) -> Late {
        Late { draws, most: most.0 }
    }

    /// The time at which a timer due at `at` fires; always the same for the same `at`.
    #[inline]
    pub(crate) fn of(&self, at: u64) -> u64 {
        if self.most == 0 || at == NEVER {
            return at;
        }
        let late = (u128::from(self.draws.value(at)) * (u128::from(self.most) + 1)) >> 64;
        at.saturating_add(late as u64)
    }
}

/// One flow that carries one object or the data of an application.
///
/// The fields are ordered by hand: first those that every event touches, then the others.
#[repr(C)]
pub struct Flow<E: Ends> {
    due: Due,
    data: Wire<Timed<E::Data>>,
    acks: Wire<Timed<E::Ack>>,
    pub(crate) ends: E,
    /// Waiting time of each delivered packet.
    waits: Waits,
    app: Option<Box<Application>>,
    /// Extra one-way delays of this flow, forward and return, ns.
    extra: (u64, u64),
    /// Lateness of its timers; none fires early.
    late: Late,
    id: u32,
    delivered_at: Option<Time>,
    drops: Drops,
    /// The receiver takes packets that arrive before this time as soon as they have left, ns; see
    /// [`Flow::goes_ahead_until`].
    ahead: u64,
    /// The flow has its path to itself until this time, ns; see [`Flow::is_alone_until`].
    alone: u64,
    /// Its own delays behind the path.
    access: Option<Box<OnAccess>>,
    /// Seen by queues that inspect packets: the ECN field, and the identity for flow hashing.
    codepoint: Option<Codepoint>,
    bucket: u32,
    /// Whether its receiver reports no ECN marks.
    hides_marks: bool,
    /// Whether its ends agree about which data has arrived.
    agrees: bool,
    /// Extra copies of each ACK.
    copies: u8,
    /// Whether its packets ask for L4S.
    l4s: bool,
    /// Data packets sent, and their maximum.
    sent: u64,
    most_sent: u64,
    /// Bytes of the object; for an endless one, more than any trial can transfer.
    object: u64,
    audit: Audit,
}

impl<E: Bursts> Flow<E> {
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

    /// Adds an access of its own and a maximum number of data packets.
    #[must_use]
    pub(crate) fn behind(mut self, access: Option<OnAccess>, most_sent: u64) -> Flow<E> {
        (self.access, self.most_sent) = (access.map(Box::new), most_sent);
        self
    }

    /// Sets the fields that queues see in its packets, and the behaviour of its receiver.
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

    /// Makes its sender skip packet numbers, see [`Access::skips`].
    #[must_use]
    pub(crate) fn skipping(mut self, mean: Option<u64>, draws: Stream) -> Flow<E> {
        if let Some(mean) = mean {
            self.ends.skip_numbers(mean, draws);
        }
        self
    }

    /// Packets sent and lost so far.
    pub(crate) fn counted(&self) -> Counted {
        Counted { sent: self.sent, dropped: self.drops.total() }
    }

    /// Makes this flow's round trip longer than the path's by `rtt`.
    #[must_use]
    pub fn farther(mut self, rtt: Nanos) -> Flow<E> {
        self.extra = (rtt.0 / 2, rtt.0 - rtt.0 / 2);
        self
    }

    /// Delays its loss and probe timers.
    #[must_use]
    pub(crate) fn late(mut self, late: Late) -> Flow<E> {
        self.late = late;
        self
    }

    /// Takes its data from this application, which starts at `start`.
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

    /// Whether every byte is acknowledged and the application has no more to write.
    #[inline]
    pub fn complete(&self) -> bool {
        self.app.as_ref().map_or_else(|| self.ends.complete(), |app| app.is_done())
    }

    /// Whether its sender has closed the connection, see [`Stop::Closed`].
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ends.is_closed()
    }

    /// Bytes delivered in order at the receiver.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.ends.delivered()
    }

    /// The time of this flow's next event, ns.
    #[inline]
    pub fn next_event(&self) -> u64 {
        let Due { data, acks, held_ack, release, timer, app, .. } = self.due;
        data.min(acks).min(held_ack).min(release).min(timer).min(app)
    }

    /// The time at which its sender receives the next ACK, as far as that is known, ns.
    #[inline]
    pub(crate) fn next_ack(&self) -> u64 {
        self.due.acks
    }

    /// Extra one-way delays of this flow, forward and return, ns.
    pub(crate) fn extra(&self) -> (u64, u64) {
        self.extra
    }

    /// Completes its handshake, see [`Ends::establish`]. Only for flows between senders that were
    /// created unopened, and before anything else.
    pub(crate) fn open(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        self.ends.establish(now, handshake_rtt, late);
        if let Some(app) = self.app.as_mut().filter(|_| late) {
            app.restart(now);
            self.due.app = due(app.next_write());
        }
    }

    /// Sends the first packets.
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

    /// Processes everything that is due at `now`, then sends the packets that may leave.
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
            // The packets that the ACKs release leave before a timer of the same instant is
            // checked. Sending may postpone that timer, so its due time is read afterwards.
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

    /// Checks the invariants after every event, in builds with debug assertions.
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

    /// Tells the application how much was accepted and acknowledged. Returns whether it wrote.
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

    /// The result of a trial that stopped at `now`.
    pub fn finish(self, now: u64, stop: Stop) -> Outcome {
        let first = self.ends.first_sent().unwrap_or_default();
        let controller = self.ends.controller();
        let mut outcome = Outcome::empty(stop, self.waits.histogram());
        outcome.acked_after = Time(now).since(first);
        outcome.delivered_after = self.delivered_at.map(|at| at.since(first));
        outcome.delivered = self.ends.delivered();
        outcome.drops = self.drops;
        outcome.counters = self.ends.counters();
        outcome.limited = self.ends.limited(Time(now));
        outcome.ecn_failure = self.ends.ecn_failure();
        outcome.say(controller, self.ends.account());
        outcome.parts = self.app.map_or_else(Vec::new, |app| app.into_parts());
        let counters = &outcome.counters;
        debug_assert_eq!(
            counters.packets_dropped,
            outcome.drops.total(),
            "the sender's drops on the left, the path's on the right"
        );
        debug_assert!(
            counters.packets_lost <= counters.packets_dropped
                && counters.packets_dropped <= counters.packets_sent
                && counters.lost_retransmissions <= counters.retransmissions
                && counters.retransmissions <= counters.packets_sent,
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
