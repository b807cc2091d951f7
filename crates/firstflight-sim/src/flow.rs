//! One flow between two hosts: what is on the wire in each direction, and the single step that
//! moves it to its next event.
//!
//! The transport is a type parameter with both ends ([`Ends`]); everything here is the same for TCP
//! and QUIC. At one instant arrivals come before the application, the application before timers.

use crate::access::{Access, Counted, Lie, OnAccess};
use crate::ahead::{Ahead, Outgoing};
use crate::app::{App, Application};
use crate::audit::Audit;
use crate::back::{Back, Leaving, Nowhere};
use crate::instrumented::{Combined, Core};
use crate::observe::{Cause, Observer, Record, Snapshot};
use crate::outcome::{Drops, Outcome, Stop};
use crate::pool::Plain;
use crate::waits::Waits;
use crate::wire::{Arrives, NEVER, Wire};
use firstflight::account::{Account, Kept};
use firstflight::state::{Packet, State};
use firstflight::{Ack, Event, Exit, Nanos, Time};
use firstflight_path::{Codepoint, Error, Fate, Flight, Path, Purpose, Stream};

/// A sender and a receiver of one transport.
pub trait Ends {
    /// The startup of the sender's controller.
    type Startup: Combined;
    /// A data packet as it travels.
    type Data: Plain;
    /// An ACK as it travels.
    type Ack: Plain;
    /// A data packet as the sender knows it.
    type Sent: Copy;

    /// The sender's handshake is over at `now` and gave an RTT sample. `late`: that is not when its
    /// controller was made to start.
    fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool);
    /// The sender's controller.
    fn controller(&self) -> &Core<Self::Startup>;
    /// What that has been through.
    fn account(&self) -> &Account<Vec<Kept>>;
    /// The next thing that it was told since this was last asked, if somebody keeps that.
    fn next_record(&mut self) -> Option<Record>;
    /// The next packet that may leave now, if any; asked again until it returns `None`.
    fn poll(&mut self, now: Time) -> Option<Self::Sent>;
    /// How many packets may leave now, at most `most`, one like the other and each as [`Ends::poll`] would
    /// give it; `None` where that must be asked for each. They are taken one by one
    /// ([`Ends::next_of_burst`]), and then the burst is over ([`Ends::end_burst`]).
    fn burst(&mut self, now: Time, most: u64) -> Option<u64>;
    /// The next one.
    fn next_of_burst(&mut self, now: Time) -> Self::Sent;
    /// IP bytes of each.
    fn burst_len(&self) -> u32;
    /// If what leaves next is also what its receiver expects next, and that knows nothing but how many came:
    /// for how long it holds an ACK back at most. Then the burst may arrive in runs ([`Ends::on_run`]) and
    /// be taken at once ([`Ends::take_burst`]).
    fn runs(&self) -> Option<Nanos>;
    /// After how many more in order the receiver acknowledges at once; at least 1.
    fn until_ack(&self) -> u64;
    /// The next `count` packets, at most [`Ends::until_ack`], arrive in order, sent at `sent`, from `first`
    /// to `last`. Returns the ACK that leaves with the last, if one does.
    fn on_run(&mut self, sent: Time, count: u64, first: Time, last: Time) -> Option<Self::Ack>;
    /// Takes this many of a burst at once, as [`Ends::next_of_burst`] does one.
    fn take_burst(&mut self, now: Time, count: u64);
    /// So many have left.
    fn end_burst(&mut self, now: Time, count: u64);
    /// After [`Ends::burst`] and what it gave: whether nothing more may leave now, with everything done that
    /// [`Ends::poll`] does where it says so. `false` where that must be asked.
    fn is_blocked(&mut self, now: Time) -> bool;
    /// What travels of it.
    fn packet(&self, sent: &Self::Sent, marked: bool) -> Self::Data;
    /// Its IP bytes.
    fn data_len(&self, sent: &Self::Sent) -> u32;
    /// The place of its first byte in the stream.
    fn offset(&self, sent: &Self::Sent) -> u64;
    /// Bytes of the stream in it.
    fn payload(&self, sent: &Self::Sent) -> u64;
    /// Its packet number (QUIC) or the ordinal of the transmission (TCP).
    fn number(&self, sent: &Self::Sent) -> u64;
    /// It was sent before.
    fn is_repeat(&self, sent: &Self::Sent) -> bool;
    /// The path dropped what left at `left` (ground truth; the sender itself does not know).
    fn on_dropped(&mut self, sent: &Self::Sent, left: Time);
    /// A data packet arrives. Returns the ACK that leaves at once, if one does.
    fn on_data(&mut self, now: Time, data: &Self::Data) -> Option<Self::Ack>;
    /// The same of what travels of this packet.
    #[inline(always)]
    fn on_sent_data(&mut self, now: Time, sent: &Self::Sent, marked: bool) -> Option<Self::Ack> {
        let data = self.packet(sent, marked);
        self.on_data(now, &data)
    }
    /// When a held-back ACK must leave.
    fn ack_due(&self) -> Option<Time>;
    /// It leaves.
    fn acknowledge(&mut self, now: Time) -> Self::Ack;
    /// IP bytes of an ACK.
    fn ack_len(&self, ack: &Self::Ack) -> u32;
    /// A later ACK says everything this one says.
    fn is_pure(ack: &Self::Ack) -> bool;
    /// An ACK arrives. Returns whether a record was given to the controller: it is in `record`, which was
    /// as new.
    fn on_ack(&mut self, now: Time, ack: &Self::Ack, record: &mut Ack) -> bool;
    /// When the pacer releases the next packet, if that is what the sender waits for.
    fn release_at(&self) -> Option<Time>;
    /// When the sender's timer fires.
    fn timer_at(&self) -> Option<Time>;
    /// It fires.
    fn on_timer(&mut self, now: Time) -> Option<Ack>;
    /// Every byte of the object is acknowledged.
    fn complete(&self) -> bool;
    /// The whole object has reached the receiver.
    fn has_all(&self) -> bool;
    /// Bytes of the stream delivered in order at the receiver.
    fn delivered(&self) -> u64;
    /// Bytes of the stream acknowledged without a gap at the sender.
    fn acked(&self) -> u64;
    /// How far into the stream the sender's buffer lets the application write.
    fn accepts(&self) -> u64;
    /// The application has written the stream up to here.
    fn write(&mut self, written: u64);
    /// Bytes in flight.
    fn inflight(&self) -> u64;
    /// Smallest RTT.
    fn min_rtt(&self) -> Option<Nanos>;
    /// When the first packet left.
    fn first_sent(&self) -> Option<Time>;
    /// Its receiver misbehaves from now on.
    fn misbehave(&mut self, lie: Lie);
    /// Its sender skips packet numbers, one in so many on average, from the first on. A transport
    /// without them does not.
    fn skip_numbers(&mut self, mean: u64, draws: Stream) {
        _ = (mean, draws);
    }
    /// The sender has closed the connection before its end.
    fn is_closed(&self) -> bool {
        false
    }
    /// Packets that the sender knows to have arrived, as the receiver counts them; 0 of a transport
    /// that does not know.
    fn heard(&self) -> u64 {
        0
    }
    /// The number of a packet that arrives, and whether it is marked; `None` of a transport whose
    /// packets have no numbers.
    fn arriving(&self, data: &Self::Data) -> Option<(u64, bool)> {
        _ = data;
        None
    }
    /// Bytes of the stream in a full packet.
    fn room(&self) -> u64 {
        1
    }
    /// Fills in what the transport counted.
    fn count(&self, outcome: &mut Outcome);
    /// Panics if the two ends contradict each other: what the sender believes the receiver to have,
    /// it has. Called after every event of a build with debug assertions.
    fn verify(&self, now: Time) {
        _ = now;
    }
}

/// Ends that are made around a controller.
pub trait Hosted<L>: Ends + Sized {
    /// Sizes and timers of both hosts.
    type Host: Copy;

    /// Between hosts of this kind on this path, with a handshake that is not over, for `object`
    /// bytes; `company` goes along with the controller.
    fn between(
        host: Self::Host,
        path: &Path,
        controller: Core<Self::Startup>,
        pacer_burst: u64,
        object: u64,
        company: L,
    ) -> Self;
    /// The hosts of a flow with this application, whose packets may have a size of their own.
    ///
    /// # Errors
    /// If this transport does not carry it.
    fn carrying(host: Self::Host, app: &App) -> Result<Self::Host, Error>;
    /// What the application writes, as this transport sends it.
    fn fit(host: Self::Host, app: App) -> App;
    /// Those that go along with the controller.
    fn company(&mut self) -> &mut L;
}

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
                let mut record = Ack::default();
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

    /// What the network delivers by `now` reaches the receiver.
    #[inline(always)]
    fn take_data<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        back: &mut B,
        observer: &mut O,
    ) {
        while let Some(data) = self.data.arrive(now) {
            self.audit.on_arrived(now, data.at);
            if let Some(app) = self.app.as_mut().filter(|app| app.is_media())
                && let Some((number, marked)) = self.ends.arriving(&data.what)
            {
                app.on_arrived(Time(now), number, marked);
            }
            let ack = self.ends.on_data(Time(now), &data.what);
            self.taken(now, ack, back, observer);
        }
        self.due.data = self.data.next();
        self.due.held_ack = due(self.ends.ack_due());
    }

    /// One packet has reached the receiver.
    #[inline(always)]
    fn taken<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        ack: Option<E::Ack>,
        back: &mut B,
        observer: &mut O,
    ) {
        if self.due.missing && self.ends.has_all() {
            (self.due.missing, self.delivered_at) = (false, Some(Time(now)));
        }
        if let Some(app) = &mut self.app {
            app.on_delivered(Time(now), self.ends.delivered());
        }
        if let Some(packet) = ack {
            self.return_ack(now, packet, back, observer);
        }
    }

    /// What is on the wire is taken before its time, see [`Flow::goes_ahead_until`].
    #[cold]
    fn take_ahead<B: Back<E::Ack>, O: Observer>(&mut self, back: &mut B, observer: &mut O) {
        while self.due.data < self.ahead {
            if let Some(data) = self.data.arrive(self.due.data) {
                self.until(data.at, back, observer);
                let ack = self.ends.on_data(Time(data.at), &data.what);
                self.taken(data.at, ack, back, observer);
                self.due.held_ack = due(self.ends.ack_due());
            }
            self.due.data = self.data.next();
        }
    }

    /// What the receiver does before a packet arrives ahead of its time, at `now`. Of one instant
    /// data come first.
    #[inline(always)]
    fn until<B: Back<E::Ack>, O: Observer>(&mut self, now: u64, back: &mut B, observer: &mut O) {
        if self.due.held_ack < now {
            self.acknowledge_held(back, observer);
        }
        self.audit.on_arrived(now, now);
    }

    #[inline(never)]
    fn acknowledge_held<B: Back<E::Ack>, O: Observer>(&mut self, back: &mut B, observer: &mut O) {
        let held = self.due.held_ack;
        let packet = self.ends.acknowledge(Time(held));
        self.return_ack(held, packet, back, observer);
    }

    #[inline]
    fn note_sender(&mut self) {
        (self.due.release, self.due.timer) =
            (due(self.ends.release_at()), self.late.of(due(self.ends.timer_at())));
        if self.sent >= self.most_sent {
            // Whatever its sender waits for, it will not come: nobody asks it for packets any more.
            (self.due.release, self.due.timer) = (NEVER, NEVER);
        }
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

    /// Sends whatever window, pacer and data allow.
    #[inline(never)]
    pub fn pump<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) {
        self.send_out(now, forward, back, observer);
    }

    #[inline(always)]
    fn send_out<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) {
        if !observer.watches()
            && let Some(burst) = self.ends.burst(Time(now), self.most_sent - self.sent)
        {
            if burst > 0 {
                if !self.fly(now, burst, forward, back, observer) {
                    for _ in 0..burst {
                        let sent = self.ends.next_of_burst(Time(now));
                        self.leave(now, &sent, forward, back, observer);
                    }
                }
                self.ends.end_burst(Time(now), burst);
            }
            if self.sent < self.most_sent && self.ends.is_blocked(Time(now)) {
                return self.note_sender();
            }
        }
        while self.sent < self.most_sent {
            let Some(sent) = self.ends.poll(Time(now)) else { break };
            let fate = self.leave(now, &sent, forward, back, observer);
            if observer.listens() {
                let arrives = match fate {
                    Some(Fate::Deliver { at, .. }) => [Some(at), None],
                    Some(Fate::Duplicate { at, again, .. }) => [Some(at), Some(again)],
                    Some(Fate::Drop(_)) | None => [None; 2],
                };
                let arrives = arrives.map(|at| at.map(|at| Time(at.saturating_add(self.extra.0))));
                let ends = &self.ends;
                let packet = Packet {
                    number: ends.number(&sent),
                    bytes: u64::from(ends.data_len(&sent)),
                    stream: Some((ends.offset(&sent), ends.payload(&sent))),
                    repeat: Some(ends.is_repeat(&sent)),
                    dropped: matches!(fate, Some(Fate::Drop(_))),
                };
                self.pass_on(Time(now), Some((packet, arrives)), forward, observer);
            }
            self.watch(Time(now), Cause::Sent, None, forward, observer);
        }
        if observer.listens() {
            self.pass_on(Time(now), None, forward, observer);
        }
        self.note_sender();
    }

    /// A burst leaves, and is taken by a receiver ahead of the clock, as runs of packets that are acknowledged
    /// together. Whether it was: where anything can come between two of them nothing has happened.
    #[inline(always)]
    fn fly<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        burst: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> bool {
        if self.app.is_some() || self.ahead <= now {
            return false;
        }
        let Some(hold) = self.ends.runs() else { return false };
        let Some(mut flight) = forward.flight(now, self.ends.burst_len(), burst) else {
            return false;
        };
        let serving = flight.serving(burst);
        let latest = flight.latest(serving).saturating_add(self.extra.0);
        // No ACK that is held back, or will be, leaves before the last of them has arrived.
        if latest >= self.ahead.min(self.due.held_ack) || serving >= hold.0 {
            return false;
        }
        self.sent += burst;
        let mut left = burst;
        let (mut waited, mut at) = self.next_arrival(&mut flight);
        let shortest = waited;
        loop {
            let run = left.min(self.ends.until_ack());
            let first = at;
            for _ in 1..run {
                (waited, at) = self.next_arrival(&mut flight);
            }
            if let Some(packet) = self.ends.on_run(Time(now), run, Time(first), Time(at)) {
                self.give_back(at, packet, back, observer);
            }
            left -= run;
            if left == 0 {
                break;
            }
            (waited, at) = self.next_arrival(&mut flight);
        }
        self.waits.bound(shortest, waited);
        forward.take_off(&flight, burst);
        self.ends.take_burst(Time(now), burst);
        if self.due.missing && self.ends.has_all() {
            (self.due.missing, self.delivered_at) = (false, Some(Time(at)));
        }
        self.due.held_ack = due(self.ends.ack_due());
        true
    }

    /// How long the next packet of a flight waits, us, and when it arrives.
    #[inline(always)]
    fn next_arrival(&mut self, flight: &mut Flight) -> (u64, u64) {
        let (waited, at) = flight.next_arrival();
        let at = at + self.extra.0;
        self.audit.on_taken(at);
        self.audit.on_arrived(at, at);
        (self.waits.count(waited), at)
    }

    /// A packet leaves. Returns what becomes of it, if that is known.
    #[inline(always)]
    fn leave<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        sent: &E::Sent,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> Option<Fate> {
        self.sent += 1;
        let len = self.ends.data_len(sent);
        let Some((at, waited)) = forward.carry(now, len) else {
            return self.leave_as_it_may(now, sent, forward, back, observer);
        };
        self.note_left(now, sent);
        if at.saturating_add(self.extra.0) < self.ahead {
            self.take_one_ahead(sent, (at, waited, false), back, observer);
        } else {
            self.waits.add(waited);
            self.send(sent, at, false);
        }
        Some(Fate::Deliver { at, waited, marked: false })
    }

    /// The same of a packet of which nothing is known yet.
    #[inline(never)]
    fn leave_as_it_may<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        sent: &E::Sent,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> Option<Fate> {
        let len = self.ends.data_len(sent);
        let fate = forward.send(now, len, || Outgoing {
            flow: self.id,
            bucket: self.bucket,
            len,
            codepoint: self.codepoint,
            l4s: self.l4s,
            sent: *sent,
        });
        self.note_left(now, sent);
        match fate {
            Some(Fate::Deliver { at, waited, marked })
                if at.saturating_add(self.extra.0) < self.ahead =>
            {
                self.take_one_ahead(sent, (at, waited, marked), back, observer);
            }
            Some(fate) => self.land(sent, Time(now), fate),
            None => {}
        }
        fate
    }

    /// The application hears that a packet left.
    #[inline(always)]
    fn note_left(&mut self, now: u64, sent: &E::Sent) {
        if let Some(app) = &mut self.app {
            app.on_sent(Time(now), self.ends.offset(sent));
            app.on_left(Time(now), self.ends.number(sent));
        }
    }

    /// The receiver takes a packet ahead of the clock, which arrives then, after it waited so long, with a
    /// mark or not.
    #[inline(always)]
    fn take_one_ahead<O: Observer, B: Back<E::Ack>>(
        &mut self,
        sent: &E::Sent,
        (at, waited, marked): (u64, u64, bool),
        back: &mut B,
        observer: &mut O,
    ) {
        let at = at.saturating_add(self.extra.0);
        self.waits.add(waited);
        self.audit.on_taken(at);
        let marked = marked && !self.hides_marks;
        self.until(at, back, observer);
        let ack = self.ends.on_sent_data(Time(at), sent, marked);
        self.taken(at, ack, back, observer);
        self.due.held_ack = due(self.ends.ack_due());
    }

    /// What becomes of a packet that left at `left` is known.
    #[inline]
    pub(crate) fn land(&mut self, sent: &E::Sent, left: Time, fate: Fate) {
        match fate {
            Fate::Deliver { at, waited, marked } => {
                self.waits.add(waited);
                self.send(sent, at, marked);
            }
            Fate::Duplicate { at, again, waited, marked } => {
                self.waits.add(waited);
                self.send(sent, at, marked);
                self.send(sent, again, marked);
            }
            Fate::Drop(cause) => {
                self.drops.add(cause);
                if let Some(app) = &mut self.app {
                    app.on_dropped(self.ends.offset(sent));
                }
                self.ends.on_dropped(sent, left);
            }
        }
    }

    /// The observer hears what the controller was told since it last did.
    #[cold]
    fn pass_on<O: Observer, F: Ahead<E::Sent>>(
        &mut self,
        now: Time,
        left: Option<(Packet, [Option<Time>; 2])>,
        forward: &mut F,
        observer: &mut O,
    ) {
        while let Some(mut record) = self.ends.next_record() {
            let inflight = match record.event {
                Event::Congestion(_) | Event::Spurious { .. } | Event::Mss { .. } => {
                    self.ends.inflight()
                }
                _ => record.state.inflight,
            };
            record.state = State {
                inflight,
                queue: forward.queued_bytes(now.0),
                min_rtt: self.ends.min_rtt(),
                delivered: self.delivered(),
                ..record.state
            };
            if let (Some((packet, arrives)), Event::Sent(_)) = (left, &record.event) {
                (record.packet, record.arrives) = (Some(packet), arrives);
            }
            observer.on_told(record);
        }
    }

    #[inline]
    fn send(&mut self, sent: &E::Sent, at: u64, marked: bool) {
        let mut at = at.saturating_add(self.extra.0);
        if let Some(access) = &mut self.access {
            at = access.data(at);
        }
        self.audit.on_taken(at);
        self.due.data = self.due.data.min(at);
        let marked = marked && !self.hides_marks;
        self.data.send(Timed { at, what: self.ends.packet(sent, marked) });
    }

    #[inline(never)]
    fn return_ack<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        packet: E::Ack,
        back: &mut B,
        observer: &mut O,
    ) {
        self.give_back(now, packet, back, observer);
    }

    /// The receiver sends an ACK.
    #[inline(always)]
    fn give_back<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        packet: E::Ack,
        back: &mut B,
        observer: &mut O,
    ) {
        if observer.listens() {
            observer.on_acknowledgement(self.id, Time(now), self.ends.ack_len(&packet));
        }
        let leaving = self.leaving(packet);
        back.send(now, leaving, |at| self.hear(at, packet));
        if self.copies > 0 {
            self.copy_ack(now, packet, back);
        }
    }

    #[inline(always)]
    fn leaving(&self, packet: E::Ack) -> Leaving<E::Ack> {
        let (len, pure) = (self.ends.ack_len(&packet), E::is_pure(&packet));
        Leaving { flow: self.id, len, pure, opens: false, packet }
    }

    // Made anew: the usual ACK, which has no copies, need not be in memory for them.
    #[cold]
    fn copy_ack<B: Back<E::Ack>>(&mut self, now: u64, packet: E::Ack, back: &mut B) {
        for _ in 0..self.copies {
            let leaving = self.leaving(packet);
            back.send(now, leaving, |at| self.hear(at, packet));
        }
    }

    /// An ACK is to arrive at `at`, as far as the path knows.
    #[inline(always)]
    pub fn hear(&mut self, at: u64, packet: E::Ack) {
        let mut at = at.saturating_add(self.extra.1);
        if let Some(access) = &mut self.access {
            at = access.ack(at);
        }
        self.due.acks = self.due.acks.min(at);
        self.acks.send(Timed { at, what: packet });
    }

    #[inline]
    fn watch<O: Observer, F: Ahead<E::Sent>>(
        &mut self,
        now: Time,
        event: Cause,
        ack: Option<&Ack>,
        forward: &mut F,
        observer: &mut O,
    ) {
        if !observer.watches() {
            return;
        }
        if observer.listens() {
            self.pass_on(now, None, forward, observer);
        }
        let controller = self.ends.controller();
        let state = State {
            inflight: self.ends.inflight(),
            queue: forward.queued_bytes(now.0),
            ..State::of(controller, ack)
        };
        let snapshot = self.snapshot(now, event, controller.exit(), state);
        observer.on_event(&snapshot, &|visit| controller.signals(visit));
    }

    /// With what the flow knows beside its controller.
    #[inline]
    fn snapshot(&self, now: Time, event: Cause, exit: Option<Exit>, state: State) -> Snapshot {
        let (min_rtt, delivered) = (self.ends.min_rtt(), self.delivered());
        Snapshot { flow: self.id, now, event, state: State { min_rtt, delivered, ..state }, exit }
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
