//! The data sender: packets, bytes in flight, loss detection and probes around one controller.

use super::loss::{Carries, SentPacket, State, detect};
use super::{AckPacket, Host, Receiver};
use crate::ledger::Ledger;
use crate::outcome::Episode;
use crate::pacer::Pacer;
use crate::ring::{GapSet, Ring};
use crate::told::{Core, Driven, Listener, Silent};
use firstflight::signal::rtt::{INITIAL_RTT, Rfc9002Rtt};
use firstflight::startup::Startup;
use firstflight::{Ack, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout};

/// A data packet that wants to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Packet number.
    pub number: u64,
    /// Which chunk of the object it carries.
    pub chunk: u64,
    /// Datagram bytes.
    pub bytes: u32,
}

/// Why the sender is not sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Window,
    Pacer(Time),
    NoData,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Data packets sent, repeats and probes included.
    pub packets_sent: u64,
    /// Packets declared lost and truly dropped.
    pub packets_lost: u64,
    /// Packets the path dropped.
    pub packets_dropped: u64,
    /// Packets declared lost and acknowledged later.
    pub spurious_losses: u64,
    /// Packets that carried a repeat.
    pub retransmissions: u64,
    /// Object bytes sent again.
    pub retransmitted_bytes: u64,
    /// Repeats that the path dropped.
    pub lost_retransmissions: u64,
    /// Probe timeouts.
    pub rtos: u64,
    /// Loss episodes with no more in flight at entry than the threshold allows, in whole datagrams.
    pub recoveries_below_ssthresh: u64,
    /// Largest window, bytes.
    pub cwnd_max: u64,
}

/// How the object is cut into packets.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    chunks: u64,
    /// Object bytes of a chunk, and of the last one.
    payload: u64,
    last: u64,
    /// What a datagram adds to them.
    overhead: u64,
}

impl Pieces {
    fn new(host: &Host, object: u64) -> Pieces {
        let (payload, chunks) = (host.payload(), object.div_ceil(host.payload()));
        Pieces { chunks, payload, last: object - chunks.saturating_sub(1) * payload, overhead: u64::from(host.overhead) }
    }

    /// Object bytes of a chunk.
    #[inline]
    fn chunk(&self, chunk: u64) -> u64 {
        if chunk + 1 == self.chunks { self.last } else { self.payload }
    }

    /// Bytes of the datagram that carries it.
    #[inline]
    fn datagram(&self, chunk: u64) -> u64 {
        self.chunk(chunk) + self.overhead
    }
}

/// The sending end of one QUIC flow that carries one object.
///
/// Laid out by hand: what choosing and sending a packet needs, what an acknowledgement needs beside it, then the rest.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender<S: Startup, L = Silent> {
    inflight: u64,
    next_chunk: u64,
    /// Chunks that the application has written.
    written: u64,
    pieces: Pieces,
    repeats: Ring<u64>,
    sent: Ring<SentPacket>,
    pacer: Pacer,
    blocked: Blocked,
    last_sent_at: Time,
    bytes_sent: u64,
    rtt: Rfc9002Rtt,
    idle_since: Option<Time>,
    first_sent: Option<Time>,
    probes_owed: u32,
    probe_count: u32,
    app_limited: bool,
    ledger: Ledger,

    acked: GapSet,
    log_seen: u64,
    largest_acked: Option<u64>,
    loss_time: Option<Time>,
    /// Lowest packet number that may still be in flight.
    oldest: u64,
    delivered: u64,
    first_sample_at: Time,
    /// Packets declared lost so far, and before the present episode.
    losses: u64,
    losses_before_episode: u64,
    /// Packets declared lost in the present episode and acknowledged later.
    proven_in_episode: u64,
    lost_this_pass: u64,
    /// One past the highest chunk that this pass declared lost; 0 if there is none.
    hole_this_pass: u64,
    counters: Counters,
    controller: Driven<S, L>,

    host: Host,
    object: u64,
    /// Packets below this have been considered for the probes that are owed.
    probed: u64,
}

impl<S: Startup> Sender<S> {
    /// A sender of an object of `object` bytes whose handshake just gave an RTT sample.
    pub fn new(host: Host, controller: Core<S>, pacer_burst: u64, object: u64, handshake_rtt: Nanos, now: Time) -> Sender<S> {
        Sender::heard(host, controller, pacer_burst, object, handshake_rtt, now)
    }
}

impl<S: Startup, L: Listener<S>> Sender<S, L> {
    /// The same with somebody who hears what its controller is told.
    pub fn heard(host: Host, controller: Core<S>, pacer_burst: u64, object: u64, handshake_rtt: Nanos, now: Time) -> Sender<S, L> {
        let pieces = Pieces::new(&host, object);
        let mut sender = Sender {
            host,
            controller: Driven::new(controller),
            rtt: Rfc9002Rtt::new(INITIAL_RTT),
            pacer: Pacer::new(pacer_burst, now),
            sent: Ring::default(),
            oldest: 0,
            inflight: 0,
            log_seen: 0,
            largest_acked: None,
            first_sample_at: now,
            loss_time: None,
            last_sent_at: now,
            probe_count: 0,
            probes_owed: 0,
            probed: 0,
            blocked: Blocked::NoData,
            app_limited: false,
            object,
            pieces,
            written: pieces.chunks,
            next_chunk: 0,
            repeats: Ring::default(),
            acked: GapSet::default(),
            delivered: 0,
            bytes_sent: 0,
            first_sent: None,
            idle_since: None,
            losses: 0,
            losses_before_episode: 0,
            proven_in_episode: 0,
            ledger: Ledger::default(),
            lost_this_pass: 0,
            hole_this_pass: 0,
            counters: Counters::default(),
        };
        sender.rtt.on_sample(handshake_rtt, Nanos::ZERO, None);
        sender.controller.on_handshake_rtt(now, handshake_rtt);
        sender
    }

    /// The controller.
    pub fn controller(&self) -> &Core<S> {
        &self.controller
    }

    /// Who hears what it is told.
    pub fn listener(&mut self) -> &mut L {
        self.controller.listener()
    }

    /// What a datagram adds to the object bytes in it.
    pub(crate) fn overhead(&self) -> u32 {
        self.host.overhead
    }

    /// Packet `number` carries what was sent before.
    pub fn is_repeat(&self, number: u64) -> bool {
        self.sent.get(number).carries() != Carries::New
    }

    /// Counters so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Recovery episodes so far.
    pub fn episodes(&self) -> &[Episode] {
        self.ledger.episodes()
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

    /// Every byte of the object is acknowledged.
    #[inline]
    pub fn complete(&self) -> bool {
        self.acked.low() >= self.pieces.chunks
    }

    /// Object bytes acknowledged without a gap.
    pub fn acked(&self) -> u64 {
        (self.acked.low() * self.pieces.payload).min(self.object)
    }

    /// The application has written the object up to here: whole chunks, or its end. What was sent stays sent.
    pub fn write(&mut self, written: u64) {
        self.written = written.div_ceil(self.pieces.payload).clamp(self.next_chunk, self.pieces.chunks);
    }

    /// When the pacer releases the next packet, if that is what the sender waits for.
    #[inline]
    pub fn release_at(&self) -> Option<Time> {
        match self.blocked {
            Blocked::Pacer(at) => Some(at),
            _ => None,
        }
    }

    /// When the loss or probe timer fires. One timer: a pending time-threshold loss comes before the probe (RFC 9002 section 6.2.1).
    #[inline]
    pub fn timer_at(&self) -> Option<Time> {
        if self.loss_time.is_some() {
            return self.loss_time;
        }
        (self.inflight > 0).then(|| self.last_sent_at + self.probe_timeout())
    }

    fn probe_timeout(&self) -> Nanos {
        self.rtt.pto_after(Nanos(self.host.max_ack_delay), self.probe_count)
    }

    fn backlog(&self) -> u64 {
        let waiting = (self.repeats.end() - self.repeats.base()) + (self.written - self.next_chunk);
        waiting * u64::from(self.host.datagram)
    }

    /// The next packet that may leave now, if any; asked again until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Transmit> {
        let Some((chunk, carries)) = self.next() else {
            // RFC9002 7.8-1: the application, not the window, ends the burst.
            self.app_limited = self.controller.admits(u64::from(self.host.datagram), self.inflight);
            self.blocked = Blocked::NoData;
            return None;
        };
        let bytes = self.pieces.datagram(chunk) as u32;
        if self.probes_owed > 0 {
            // RFC9002 6.2.4-1: a probe is not blocked by the window or the pacer.
            self.probes_owed -= 1;
        } else if !self.admits(now, u64::from(bytes)) {
            return None;
        }
        match carries {
            Carries::New => self.next_chunk += 1,
            Carries::Repeat => _ = self.repeats.pop(),
            Carries::Probe => {}
        }
        Some(self.send(now, chunk, bytes, carries))
    }

    /// What to send next: lost bytes, then new ones, then, if probes are owed, a copy of what is outstanding (RFC9002 6.2.4-2).
    #[inline]
    fn next(&mut self) -> Option<(u64, Carries)> {
        // A chunk whose first copy turned up after all needs no repeat.
        while self.repeats.front().is_some_and(|&chunk| self.acked.contains(chunk)) {
            self.repeats.pop();
        }
        if let Some(&chunk) = self.repeats.front() {
            return Some((chunk, Carries::Repeat));
        }
        if self.next_chunk < self.written {
            return Some((self.next_chunk, Carries::New));
        }
        if self.probes_owed == 0 {
            return None;
        }
        let chunk = self.unprobed_chunk();
        if chunk.is_none() {
            self.probes_owed = 0;
        }
        chunk.map(|chunk| (chunk, Carries::Probe))
    }

    /// The oldest outstanding chunk that this probe timeout has not copied yet: two probes with the same bytes would tell no more
    /// than one.
    fn unprobed_chunk(&mut self) -> Option<u64> {
        for number in self.probed.max(self.oldest)..self.sent.end() {
            let packet = self.sent.get(number);
            let chunk = packet.chunk(self.next_chunk);
            if packet.state() == State::InFlight && packet.carries() != Carries::Probe && !self.acked.contains(chunk) {
                self.probed = number + 1;
                return Some(chunk);
            }
        }
        None
    }

    fn admits(&mut self, now: Time, len: u64) -> bool {
        self.controller.before_send(&Ready {
            now,
            nxt: Seq(self.sent.end()),
            inflight: self.inflight,
            backlog: self.backlog(),
            srtt: self.rtt.srtt(),
            idle: self.idle_since.take().map_or(Nanos::ZERO, |since| now.since(since)),
            timeout: self.probe_timeout(),
        });
        if !self.controller.admits(len, self.inflight) {
            self.blocked = Blocked::Window;
            self.app_limited = false;
            return false;
        }
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.fill(now, rate);
            let wait = self.pacer.wait(len, rate);
            if wait > Nanos::ZERO {
                self.blocked = Blocked::Pacer(now + wait);
                self.app_limited = false;
                return false;
            }
            self.pacer.take(len);
        }
        true
    }

    fn send(&mut self, now: Time, chunk: u64, bytes: u32, carries: Carries) -> Transmit {
        let number = self.sent.end();
        self.sent.push(SentPacket::new(now, chunk, carries));
        self.inflight += u64::from(bytes);
        self.bytes_sent += u64::from(bytes);
        self.first_sent.get_or_insert(now);
        self.counters.packets_sent += 1;
        if carries != Carries::New {
            self.counters.retransmissions += 1;
            self.counters.retransmitted_bytes += self.pieces.chunk(chunk);
        }
        self.ledger.on_sent(now, self.last_sent_at);
        self.last_sent_at = now;
        self.controller.on_sent(&Sent {
            now,
            bytes: u64::from(bytes),
            nxt: Seq(number + 1),
            inflight: self.inflight,
            srtt: self.rtt.srtt(),
        });
        Transmit { number, chunk, bytes }
    }

    /// The path dropped packet `number` (ground truth; the sender itself does not know).
    pub fn on_dropped(&mut self, number: u64) {
        let packet = self.sent.get_mut(number);
        packet.set_dropped();
        self.counters.packets_dropped += 1;
        if packet.carries() != Carries::New {
            self.counters.lost_retransmissions += 1;
        }
    }

    /// An ACK arrives. Returns the record given to the controller, or `None` if it said nothing new.
    pub fn on_ack(&mut self, now: Time, packet: AckPacket, receiver: &mut Receiver) -> Option<Ack> {
        // The position in the log that is nearest: ACKs may overtake each other, but not by 2^31 packets.
        let new = packet.log_end.wrapping_sub(self.log_seen as u32) as i32;
        if new <= 0 {
            return None;
        }
        let inflight_before = self.inflight;
        let mark = self.controller.recovery_mark().map_or(0, |mark| mark.0);
        let mut ack = Ack { now, inflight_before, ..Ack::default() };
        let mut largest: Option<u64> = None;
        for _ in 0..new {
            let Some(logged) = receiver.log.pop() else { break };
            let number = logged.number(self.sent.end());
            ack.ce |= logged.marked();
            self.acknowledge(number, mark, &mut ack);
            largest = largest.max(Some(number));
        }
        self.log_seen += u64::from(new.unsigned_abs());
        ack.tx_acked = largest;
        if let Some(number) = largest.filter(|&number| self.largest_acked.is_none_or(|before| number > before)) {
            // RFC9002 5.1-2: a sample only if the largest acknowledged is newly acknowledged.
            let rtt = now.since(self.sent.get(number).at);
            self.largest_acked = Some(number);
            ack.rtt = Some(rtt);
            ack.advanced = true;
            self.rtt.on_sample(rtt, Nanos(u64::from(packet.ack_delay)), Some(Nanos(self.host.max_ack_delay)));
        }
        self.delivered += ack.acked;
        if ack.acked > 0 {
            self.probe_count = 0;
        }
        ack.flight = self.inflight;
        self.settle(now, &mut ack);
        self.forget_settled(now);
        Some(ack)
    }

    /// Declares losses, tells the controller everything, and then of persistent congestion if that is what the losses add up to.
    fn settle(&mut self, now: Time, ack: &mut Ack) {
        let persistent = self.find_losses(now, ack);
        self.report(ack);
        if persistent {
            self.rtt.on_persistent_congestion();
            self.controller.on_congestion(&Congestion {
                now,
                timeout: Timeout::PersistentCongestion,
                nxt: Seq(self.sent.end()),
                inflight_before: self.inflight,
            });
        }
    }

    fn acknowledge(&mut self, number: u64, mark: u64, ack: &mut Ack) {
        if number < self.sent.base() {
            return;
        }
        let packet = self.sent.get_mut(number);
        let (chunk, state, of_this_episode) =
            (packet.chunk(self.next_chunk), packet.state(), packet.lost_after(self.losses_before_episode));
        packet.set_state(State::Acked);
        let bytes = self.pieces.datagram(chunk);
        match state {
            State::Acked => return,
            State::Lost => {
                // Too late for the loss, in time for the truth.
                self.counters.spurious_losses += 1;
                // A late packet of an earlier episode proves nothing about this one.
                self.proven_in_episode += u64::from(of_this_episode);
            }
            State::InFlight => {
                self.inflight -= bytes;
                ack.acked += bytes;
                if number >= mark {
                    ack.acked_fresh += bytes;
                }
            }
        }
        self.acked.insert(chunk);
        self.controller.listener().acked(number);
    }

    /// RFC 9002 section 6.1 over what is in flight below the largest acknowledged. Returns whether persistent congestion showed.
    fn find_losses(&mut self, now: Time, ack: &mut Ack) -> bool {
        let Some(largest) = self.largest_acked else { return false };
        let pieces = self.pieces;
        let end = self.next_chunk;
        let Sender { sent, repeats, acked, inflight, counters, losses, hole_this_pass, controller, .. } = self;
        *hole_this_pass = 0;
        let losses_before = *losses;
        let pass =
            detect(sent, self.oldest.max(sent.base()), largest, now, self.rtt.loss_delay(), self.first_sample_at, |number, packet| {
                let chunk = packet.chunk(end);
                let bytes = pieces.datagram(chunk);
                ack.lost += bytes;
                ack.tx_lost = Some(number);
                controller.listener().lost(number);
                *inflight -= bytes;
                packet.set_losses_before(*losses);
                *losses += 1;
                counters.packets_lost += u64::from(packet.dropped());
                // The original of a probe may be waiting for its repeat already: one repeat is enough.
                let waiting = packet.carries() == Carries::Probe && repeats.contains(&chunk);
                if !acked.contains(chunk) && !waiting {
                    repeats.push(chunk);
                    *hole_this_pass = (*hole_this_pass).max(chunk + 1);
                }
            });
        self.loss_time = pass.loss_time;
        self.lost_this_pass = self.losses - losses_before;
        while self.oldest < self.sent.end() && self.sent.get(self.oldest).state() != State::InFlight {
            self.oldest += 1;
        }
        if self.inflight == 0 {
            self.idle_since = Some(now);
        }
        // RFC9002 7.6.1: three probe timeouts without backoff.
        pass.span > self.rtt.persistent_duration(Nanos(self.host.max_ack_delay))
    }

    fn report(&mut self, ack: &mut Ack) {
        ack.una = Seq(self.largest_acked.map_or(0, |largest| largest + 1));
        ack.nxt = Seq(self.sent.end());
        ack.tx_next = self.sent.end();
        ack.inflight = self.inflight;
        ack.srtt = self.rtt.srtt();
        ack.min_rtt = self.rtt.min();
        ack.delivered = self.delivered;
        ack.sent = self.bytes_sent;
        ack.cwnd_limited = !self.app_limited;
        ack.app_limited = self.app_limited;
        let cwnd_before = self.controller.cwnd();
        self.controller.on_ack(ack);
        self.counters.cwnd_max = self.counters.cwnd_max.max(cwnd_before).max(self.controller.cwnd());
        self.keep_episodes(ack, cwnd_before);
        // RFC9438 4.9: all losses of the episode came back.
        if self.proven_in_episode > 0 && self.proven_in_episode >= self.losses - self.losses_before_episode {
            self.controller.on_spurious(ack.now);
            (self.proven_in_episode, self.losses_before_episode) = (0, self.losses);
        }
    }

    /// Brings the ledger up to date; the controller has just heard of `ack`.
    #[inline]
    fn keep_episodes(&mut self, ack: &Ack, cwnd_before: u64) {
        if self.ledger.on_ack(ack, cwnd_before, &self.controller) {
            if ack.lost > 0 {
                let (datagram, threshold) = (u64::from(self.host.datagram), self.controller.ssthresh().unwrap_or(u64::MAX));
                self.counters.recoveries_below_ssthresh += u64::from(ack.inflight.div_ceil(datagram) <= threshold / datagram);
            }
            (self.losses_before_episode, self.proven_in_episode) = (self.losses - self.lost_this_pass, 0);
        }
        self.ledger.add_hole(self.hole_this_pass);
        self.ledger.on_filled(ack.now, self.acked.low());
    }

    /// Drops settled packets from the front of the ring; lost ones are remembered for two probe timeouts, to recognise a false alarm.
    fn forget_settled(&mut self, now: Time) {
        let keep = self.rtt.pto(Nanos(self.host.max_ack_delay)) * 2;
        while let Some(packet) = self.sent.front() {
            let settled = match packet.state() {
                State::Acked => true,
                State::Lost => now.since(packet.at) > keep,
                State::InFlight => false,
            };
            if !settled {
                break;
            }
            self.sent.pop();
        }
        self.oldest = self.oldest.max(self.sent.base());
    }

    /// The timer fires: time-threshold losses are declared, or probes are owed.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.loss_time.is_some_and(|due| due <= now) {
            let mut ack = Ack { now, inflight_before: self.inflight, flight: self.inflight, ..Ack::default() };
            self.settle(now, &mut ack);
            return Some(ack);
        }
        // RFC9002 6.2: a probe timeout marks nothing lost.
        self.counters.rtos += 1;
        self.probe_count += 1;
        self.probes_owed = self.host.probes;
        self.probed = self.oldest;
        None
    }
}
