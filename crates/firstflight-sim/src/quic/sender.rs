//! The data sender: packets, bytes in flight, loss detection and probes around one controller.

mod ack;
mod fast;
mod send;

use super::ecn::Using;
use super::frequency::{Asking, Request};
use super::loss::{Carries, SentPacket, State};
use super::{Host, Receiver};
use crate::audit::walk_is_due;
use crate::counters::Counters;
use crate::instrumented::{Combined, Company, Core, Instrumented};
use crate::limited::{Limit, Limited, Meter};
use crate::observe::Nobody;
use crate::ring::{GapSet, Ring};
use firstflight::account::{Account, Kept};
use firstflight::detection::ecn::Failure;
use firstflight::detection::undo::LateAcks;
use firstflight::signal::rtt::{INITIAL_RTT, Rfc9002Rtt};
use firstflight::{Nanos, Pacer, Rate, Time};
use firstflight_path::{Ect, Stream};

/// A data packet that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Packet number.
    pub number: u64,
    /// The index of the chunk that it carries.
    pub chunk: u64,
    /// Datagram bytes.
    pub bytes: u32,
}

/// Selects the packet numbers to skip: the distance between two is uniform from 2 to twice the
/// mean, so that a receiver cannot predict them.
#[derive(Clone, Debug)]
struct Skips {
    mean: u64,
    draws: Stream,
    count: u64,
    next: u64,
}

impl Skips {
    fn on_skip(&mut self, number: u64) {
        self.count += 1;
        let span = u128::from(2 * self.mean - 1);
        let draw = (u128::from(self.draws.value(self.count)) * span) >> 64;
        self.next = number + 2 + draw as u64;
    }
}

/// Why the sender is not sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Window,
    Pacer(Time),
    NoData,
}

/// The division of the object into packets.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    chunks: u64,
    /// Object bytes of a whole chunk, and of the last chunk.
    payload: u64,
    last: u64,
    /// Bytes that a datagram adds to its chunk, and bytes of a datagram with a whole chunk.
    overhead: u64,
    whole: u64,
}

impl Pieces {
    fn new(host: &Host, object: u64) -> Pieces {
        let (payload, chunks) = (host.payload(), object.div_ceil(host.payload()));
        Pieces {
            chunks,
            payload,
            last: object - chunks.saturating_sub(1) * payload,
            overhead: u64::from(host.overhead),
            whole: payload + u64::from(host.overhead),
        }
    }

    /// Object bytes of this chunk.
    #[inline]
    fn chunk(&self, chunk: u64) -> u64 {
        if chunk + 1 == self.chunks { self.last } else { self.payload }
    }

    #[inline]
    fn whole(&self) -> u64 {
        self.whole
    }

    /// Bytes of the datagrams that carry `count` chunks, starting at `first`.
    #[inline]
    fn datagrams(&self, first: u64, count: u64) -> u64 {
        let all = count * self.whole();
        if first + count == self.chunks { all - (self.payload - self.last) } else { all }
    }

    /// Bytes of the datagram that carries this chunk.
    #[inline]
    fn datagram(&self, chunk: u64) -> u64 {
        self.chunk(chunk) + self.overhead
    }
}

/// The sending end of one QUIC flow that carries one object.
///
/// The fields are ordered by hand: those for choosing and sending a packet, then those that an
/// acknowledgement needs in addition, then the rest.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender<S: Combined, L = Nobody> {
    inflight: u64,
    next_chunk: u64,
    /// Chunks that may be sent: those that the application has written and the receiver allows; and
    /// how many of them precede the object's last chunk.
    open: u64,
    open_whole: u64,
    pieces: Pieces,
    repeats: Ring<u64>,
    sent: Ring<SentPacket>,
    pacer: Pacer,
    blocked: Blocked,
    meter: Meter,
    /// The largest pacing rate.
    max_rate: Option<Rate>,
    /// Whether the last burst filled the window.
    filled: bool,
    last_sent_at: Time,
    bytes_sent: u64,
    rtt: Rfc9002Rtt,
    /// The timeout that follows from `rtt` and `probe_count`: read with every packet, changed only
    /// by ACKs and probes.
    probe_timeout: Nanos,
    idle_since: Option<Time>,
    first_sent: Option<Time>,
    probes_owed: u32,
    probe_count: u32,
    /// The last burst ended although the window had room, because nothing more was written, or
    /// because of that or the receiver.
    app_limited: bool,
    unfilled: bool,

    acked: GapSet,
    log_seen: u64,
    largest_acked: Option<u64>,
    loss_time: Option<Time>,
    /// Lowest packet number that may still be in flight.
    oldest: u64,
    /// From this number on, each packet was sent with the next chunk and is in flight, except for
    /// the oldest ones, which were acknowledged in order.
    plain_from: u64,
    first_sample_at: Time,
    /// The shortest time from the arrival of a packet to that of its ACK, us.
    least_back: u32,
    late: LateAcks,
    lost_this_pass: u64,
    /// One past the highest chunk that this pass declared lost; 0 if there is none.
    hole_this_pass: u64,
    counters: Counters,
    controller: Instrumented<S, L>,

    host: Host,
    object: u64,
    /// Chunks that the application has written, and that the receiver allows.
    written: u64,
    allowed: u64,
    /// Packets below this number have been considered for the owed probes.
    probed: u64,
    asking: Option<Asking>,
    skips: Option<Box<Skips>>,
    ecn: Option<Box<Using>>,
    /// Whether a skipped packet number was acknowledged.
    caught: bool,
}

impl<S: Combined> Sender<S> {
    /// A sender of an object of `object` bytes whose handshake just gave an RTT sample.
    pub fn new(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
        handshake_rtt: Nanos,
        now: Time,
    ) -> Sender<S> {
        Sender::recorded(host, controller, pacer_burst, object, handshake_rtt, now)
    }
}

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Like [`Sender::new`], with a recorder of the controller's events.
    pub fn recorded(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
        handshake_rtt: Nanos,
        now: Time,
    ) -> Sender<S, L> {
        let mut sender = Sender::unopened(host, controller, pacer_burst, object);
        sender.establish(now, handshake_rtt, false);
        sender
    }

    /// A sender whose handshake is not complete: it must not be used before [`Sender::establish`].
    pub fn unopened(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
    ) -> Sender<S, L> {
        let (pieces, now) = (Pieces::new(&host, object), Time(0));
        let max_rate = controller.max_rate();
        let allowed = host.receive.map_or(u64::MAX, |receive| receive.initial() / host.payload());
        Sender {
            probe_timeout: Nanos::ZERO,
            host,
            asking: host.asks_acks.map(Asking::new),
            skips: None,
            ecn: host.ecn.map(|rule| Box::new(Using::new(rule))),
            caught: false,
            controller: Instrumented::new(controller, u64::from(host.datagram)),
            rtt: Rfc9002Rtt::new(INITIAL_RTT),
            pacer: Pacer::new(pacer_burst, now),
            sent: Ring::default(),
            oldest: 0,
            plain_from: 0,
            inflight: 0,
            log_seen: 0,
            largest_acked: None,
            first_sample_at: now,
            least_back: u32::MAX,
            loss_time: None,
            last_sent_at: now,
            probe_count: 0,
            probes_owed: 0,
            probed: 0,
            blocked: Blocked::NoData,
            meter: Meter::new(),
            max_rate,
            filled: false,
            app_limited: false,
            unfilled: false,
            object,
            pieces,
            open: pieces.chunks.min(allowed),
            open_whole: pieces.chunks.saturating_sub(1).min(allowed),
            written: pieces.chunks,
            allowed,
            next_chunk: 0,
            repeats: Ring::default(),
            acked: GapSet::default(),
            bytes_sent: 0,
            first_sent: None,
            idle_since: None,
            late: LateAcks::default(),
            lost_this_pass: 0,
            hole_this_pass: 0,
            counters: Counters::default(),
        }
    }

    /// The path clears the ECN field of packets, if `bleached`.
    pub(super) fn expect_bleach(&mut self, bleached: bool) {
        if let Some(ecn) = &mut self.ecn {
            ecn.bleached = bleached;
        }
    }

    /// The ECN field of the packet that left last.
    #[inline]
    pub(super) fn ect(&self) -> Ect {
        self.ecn.as_ref().map_or(Ect::AsThePath, |ecn| ecn.field())
    }

    /// Why it stopped using ECN.
    pub fn ecn_failure(&self) -> Option<Failure> {
        self.ecn.as_ref().and_then(|ecn| ecn.failure())
    }

    /// Adds followers of the controller, before any query.
    pub(crate) fn in_company(self, company: L) -> Sender<S, L> {
        Sender { controller: self.controller.in_company(company), ..self }
    }

    /// The handshake is complete at `now` and gave an RTT sample. `late`: `now` differs from the
    /// start time that the controller was created for.
    pub fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        (self.first_sample_at, self.last_sent_at) = (now, now);
        self.rtt.on_sample(handshake_rtt, Nanos::ZERO, None);
        self.note_probe_timeout();
        if late {
            self.controller.restart(now);
        }
        self.controller.on_handshake_rtt(now, handshake_rtt);
    }

    /// The ACK_FREQUENCY frame that packets carry from now on, if it is new.
    #[inline]
    pub(super) fn ask(&mut self) -> Option<Request> {
        // Nothing to do for a sender that requests no ACK frequency.
        self.asking.as_ref()?;
        let request = self.request();
        self.note_probe_timeout();
        request
    }

    #[cold]
    fn request(&mut self) -> Option<Request> {
        let (asking, rtt) = (self.asking.as_mut()?, self.rtt.min()?);
        // draft-ietf-quic-ack-frequency 5: a probe timeout must allow for the longer of both delays
        // until the new one is known to apply.
        if let Some(granted) = self.largest_acked.and_then(|acked| asking.granted(acked)) {
            self.host.max_ack_delay = granted.hold.0;
        }
        let window = self.controller.cwnd() / u64::from(self.host.datagram);
        let request = asking.next(self.sent.end(), window, rtt)?;
        self.host.max_ack_delay = self.host.max_ack_delay.max(request.hold.0);
        Some(request)
    }

    /// The controller.
    pub fn controller(&self) -> &Core<S> {
        self.controller.core()
    }

    /// Recorder of the controller's events.
    pub fn recorder(&mut self) -> &mut L {
        self.controller.recorder()
    }

    /// Bytes that a datagram adds to its object bytes.
    pub(crate) fn overhead(&self) -> u32 {
        self.host.overhead
    }

    /// Bytes of the datagram that carries a whole chunk.
    #[inline]
    pub(super) fn whole_packet(&self) -> u64 {
        self.pieces.whole()
    }

    /// The next chunk that was never sent.
    #[inline]
    pub(super) fn next_chunk(&self) -> u64 {
        self.next_chunk
    }

    /// The number of the next packet.
    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        self.sent.end()
    }

    /// Skips packet numbers from now on, on average one in `mean`, by these draws (RFC 9000 section
    /// 21.4). Must be called before anything is sent.
    pub(super) fn skip_numbers(&mut self, mean: u64, draws: Stream) {
        let mut skips = Skips { mean: mean.max(1), draws, count: 0, next: 0 };
        skips.on_skip(0);
        self.skips = Some(Box::new(skips));
    }

    /// Whether a skipped number was acknowledged: the receiver lies, and the connection is closed.
    pub(super) fn caught(&self) -> bool {
        self.caught
    }

    /// Packets known to have arrived, in the receiver's count.
    pub(super) fn heard(&self) -> u64 {
        self.log_seen
    }

    /// Whether packet `number` carries data that was sent before.
    pub fn is_repeat(&self, number: u64) -> bool {
        self.sent.get(number).carries() != Carries::New
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// History of the controller.
    pub fn account(&self) -> &Account<Vec<Kept>> {
        self.controller.account()
    }

    /// Bytes in flight.
    #[inline]
    pub fn inflight(&self) -> u64 {
        self.inflight
    }

    /// Smallest RTT.
    pub fn min_rtt(&self) -> Option<Nanos> {
        self.rtt.min()
    }

    /// When the first packet left.
    pub fn first_sent(&self) -> Option<Time> {
        self.first_sent
    }

    /// Whether every byte of the object is acknowledged.
    #[inline]
    pub fn complete(&self) -> bool {
        self.acked.low() >= self.pieces.chunks
    }

    /// Object bytes acknowledged without a gap.
    pub fn acked(&self) -> u64 {
        (self.acked.low() * self.pieces.payload).min(self.object)
    }

    /// The application has written the object up to `written`: whole chunks, or up to the object's
    /// end. Never withdraws data that was sent.
    pub fn write(&mut self, written: u64) {
        self.written =
            written.div_ceil(self.pieces.payload).clamp(self.next_chunk, self.pieces.chunks);
        self.open_up();
    }

    /// The receiver allows chunks up to this one, whose low bits are given, at most 2^31 beyond what
    /// it allowed before. It never withdraws any.
    pub(super) fn allow(&mut self, limit: u32) {
        let more = limit.wrapping_sub(self.allowed as u32) as i32;
        if more > 0 {
            self.allowed += u64::from(more.unsigned_abs());
            self.open_up();
        }
    }

    fn open_up(&mut self) {
        self.open = self.written.min(self.allowed);
        self.open_whole = self.open.min(self.pieces.chunks.saturating_sub(1));
    }

    /// For how long each reason kept it from sending, up to `now`.
    pub(crate) fn limited(&self, now: Time) -> Limited {
        self.meter.until(now)
    }

    /// The burst that ended at `now` ended for this reason.
    #[inline(always)]
    fn note(&mut self, now: Time, by: Limit) {
        self.meter.note(now, by, self.first_sent.is_some());
    }

    /// The pacer releases the next packet only later, at this rate.
    #[inline(always)]
    fn note_paced(&mut self, now: Time, rate: Option<Rate>) {
        let capped = rate.is_some() && rate == self.max_rate;
        let by = if capped { Limit::MaxRate } else { Limit::Pacer };
        self.note(now, by);
    }

    /// When the pacer releases the next packet, if the sender is waiting for it.
    #[inline]
    pub fn release_at(&self) -> Option<Time> {
        match self.blocked {
            Blocked::Pacer(at) => Some(at),
            _ => None,
        }
    }

    /// When the loss or probe timer fires. There is a single timer: a pending time-threshold loss
    /// comes before the probe (RFC 9002 section 6.2.1).
    #[inline]
    pub fn timer_at(&self) -> Option<Time> {
        if self.loss_time.is_some() {
            return self.loss_time;
        }
        (self.inflight > 0).then(|| self.last_sent_at + self.probe_timeout)
    }

    /// Called after every change of the RTT, of the receiver's delay and of the number of
    /// unanswered probes.
    fn note_probe_timeout(&mut self) {
        let patience = Nanos(self.host.max_ack_delay);
        self.probe_timeout = self.rtt.pto_after(patience, self.probe_count);
    }

    /// Panics if the bytes in flight differ from the bytes sent that are neither acknowledged nor
    /// declared lost, or if the receiver lacks data that the sender believes it has.
    pub(super) fn verify(&self, receiver: &Receiver) {
        let (acked, arrived) = (self.acked.low(), receiver.in_order_chunks());
        assert!(
            acked <= arrived && arrived <= self.next_chunk && self.next_chunk <= self.written,
            "of {} written chunks {} were sent, {arrived} arrived, {acked} are acknowledged",
            self.written,
            self.next_chunk
        );
        let delivered = self.controller().so_far().delivered;
        assert!(
            self.inflight.saturating_add(delivered) <= self.bytes_sent,
            "{} bytes in flight and {delivered} delivered are more than {} sent",
            self.inflight,
            self.bytes_sent
        );
        let kept = self.sent.end() - self.oldest;
        if !walk_is_due(self.sent.end() + receiver.packets(), kept) {
            return;
        }
        let mut inflight = 0;
        for number in self.oldest..self.sent.end() {
            let packet = self.sent.get(number);
            let chunk = packet.chunk(self.next_chunk);
            match packet.state() {
                State::InFlight => inflight += self.pieces.datagram(chunk),
                State::Acked => {
                    assert!(receiver.has(chunk), "packet {number} is acknowledged and lost");
                    assert!(self.acked.contains(chunk), "chunk {chunk} is acknowledged");
                }
                State::Lost | State::Skipped => {}
            }
        }
        assert_eq!(self.inflight, inflight, "bytes in flight on the left, a walk's on the right");
    }

    /// The path dropped packet `number` (ground truth; the sender itself does not know).
    pub fn on_dropped(&mut self, number: u64) {
        self.counters.packets_dropped += 1;
        if number < self.sent.base() {
            // The packet was declared lost long before the queue decided about it.
            self.counters.packets_lost += 1;
            return;
        }
        let packet = self.sent.get_mut(number);
        packet.set_dropped();
        self.counters.packets_lost += u64::from(packet.state() == State::Lost);
        if packet.carries() != Carries::New {
            self.counters.lost_retransmissions += 1;
        }
    }
}
