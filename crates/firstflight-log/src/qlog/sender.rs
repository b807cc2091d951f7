//! The state of a QUIC sender, reconstructed from its log: outstanding and acknowledged packets,
//! and the news in each ACK.
//!
//! There are two kinds of logs. Most list the frames of received packets, including the
//! acknowledged ranges. quinn's log lists none: there an ACK shows as a decrease of bytes in
//! flight, and the oldest packets are assumed to be acknowledged.

use super::event::{Metrics, Packet, Parameters, Space};
use super::loose::{Frames, Number};
use crate::estimate::{Demand, Rtt};
use crate::step::{Id, Opening, Sink, Stated, Step};
use firstflight::event::Transport;
use firstflight::{Ack, Event, Nanos, Sent, Seq, SoFar, Time};
use std::collections::BTreeMap;

/// Maximum number of outstanding packets remembered: ten times the number that fills a path of 10
/// Gbit/s and 30 ms. A log with more is not of a working connection.
const MOST_PACKETS: usize = 1 << 18;
/// UDP and IPv4 headers, which a datagram adds to its payload on the wire.
const LOWER: u64 = 28;
/// Every QUIC path carries datagrams of this size (RFC 9000 section 14), so a full packet is at
/// least as large.
const LEAST_FULL: u64 = 1200;
/// Maximum number of ACKs that wait for the first full packet, which defines the packet size.
const MOST_HELD: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Out {
    at: Time,
    bytes: u64,
}

/// Representation of acknowledgements in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// None seen yet.
    Nothing,
    /// Packet numbers.
    Numbers,
    /// Decreases of bytes in flight.
    Bytes,
}

/// The last kind of packet event, where the order matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Sent,
    Received,
}

/// The state of one sender.
pub(crate) struct Sender {
    name: String,
    origin: String,
    id: Option<Id>,
    now: Time,
    out: BTreeMap<u64, Out>,
    handshake: BTreeMap<(u8, u64), Time>,
    /// The highest number sent in each space.
    highest: [Option<u64>; 3],
    /// This log writes the end of a range as the last packet plus one.
    ends_beyond: bool,
    /// Packets declared lost and not acknowledged since, with the time of the declaration.
    lost: BTreeMap<u64, Time>,
    pending: Option<Ack>,
    so_far: SoFar,
    told: Told,
    last: Last,
    reported: Option<u64>,
    since_report: Vec<u64>,
    lost_since_report: u64,
    largest: Option<u64>,
    next: u64,
    inflight: u64,
    sent: u64,
    rtt: Rtt,
    demand: Demand,
    handshake_rtt: Option<Nanos>,
    first: Option<(Time, u64)>,
    flight: (Time, u64),
    largest_packet: u64,
    mss: u64,
    ce: u64,
    cwnd: Option<u64>,
    initial: Option<u64>,
    /// ACKs that arrived before the first full packet.
    held: Vec<Ack>,
    /// Flow control blocks the sender.
    blocked: bool,
}

impl Sender {
    /// Creates a sender known only by its name and the program that wrote its log.
    pub(crate) fn new(name: String, origin: String) -> Sender {
        Sender {
            name,
            origin,
            id: None,
            now: Time(0),
            out: BTreeMap::new(),
            handshake: BTreeMap::new(),
            highest: [None; 3],
            ends_beyond: false,
            lost: BTreeMap::new(),
            pending: None,
            so_far: SoFar::default(),
            told: Told::Nothing,
            last: Last::Sent,
            reported: None,
            since_report: Vec::new(),
            lost_since_report: 0,
            largest: None,
            next: 0,
            inflight: 0,
            sent: 0,
            rtt: Rtt::default(),
            demand: Demand::default(),
            handshake_rtt: None,
            first: None,
            flight: (Time(0), 0),
            largest_packet: 0,
            mss: 0,
            ce: 0,
            cwnd: None,
            initial: None,
            held: Vec::new(),
            blocked: false,
        }
    }

    /// Whether the connection has been opened in the sink.
    pub(crate) fn is_open(&self) -> bool {
        self.id.is_some()
    }

    /// Advances the clock, which never goes backwards, even if the log does.
    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Records a sent packet.
    pub(crate) fn on_sent(&mut self, now: Time, packet: &Packet, sink: &mut impl Sink) {
        let now = self.at(now);
        let Some(number) = packet.number else { return };
        let eliciting = packet.frames.eliciting || !packet.frames.listed;
        // No datagram is larger, whatever the log says.
        let bytes = packet.bytes.unwrap_or(0).min(u64::from(u16::MAX));
        self.blocked |= packet.frames.blocked;
        if let Some(highest) = self.highest.get_mut(packet.space as usize) {
            *highest = (*highest).max(Some(number));
        }
        if packet.space != Space::Data {
            if eliciting && packet.space != Space::None && self.handshake.len() < 64 {
                self.handshake.insert((packet.space as u8, number), now);
            }
            return;
        }
        self.flush(sink);
        self.last = Last::Sent;
        if !eliciting || bytes == 0 || self.next > number {
            return;
        }
        if !self.held.is_empty() && bytes >= LEAST_FULL {
            self.largest_packet = bytes;
            self.let_go(sink);
        }
        if self.out.len() >= MOST_PACKETS
            && let Some((_, oldest)) = self.out.pop_first()
        {
            self.inflight -= oldest.bytes;
        }
        self.out.insert(number, Out { at: now, bytes });
        if self.told != Told::Numbers && self.since_report.len() < MOST_PACKETS {
            self.since_report.push(number);
        }
        self.inflight += bytes;
        self.sent += bytes;
        self.next = number + 1;
        self.largest_packet = self.largest_packet.max(bytes);
        self.first.get_or_insert((now, number));
        if self.id.is_none() && self.held.is_empty() {
            self.flight = (now, self.flight.1 + bytes);
        }
        self.demand.see(now, self.inflight, self.rtt.srtt());
        if let Some(id) = self.id {
            let sent = Sent {
                now,
                bytes,
                nxt: Seq(self.next),
                inflight: self.inflight,
                srtt: self.rtt.srtt(),
            };
            sink.step(id, &Step::Event(Event::Sent(sent), bytes + LOWER));
        }
    }

    /// Records a received packet.
    pub(crate) fn on_received(&mut self, now: Time, packet: &Packet, sink: &mut impl Sink) {
        let now = self.at(now);
        self.last = Last::Received;
        self.blocked &= !packet.frames.raises;
        if packet.frames.acks == 0 {
            return;
        }
        // noq 1.4 writes ranges without their last packet. This shows once everything sent is
        // acknowledged, because no receiver acknowledges a packet that was never sent.
        let highest = self.highest.get(packet.space as usize).copied().flatten();
        self.ends_beyond |= highest.is_some_and(|highest| {
            packet.frames.acked.iter().any(|range| range.1 == highest + 1 && range.0 < range.1)
        });
        let mut frames = packet.frames.clone();
        if self.ends_beyond {
            frames
                .acked
                .iter_mut()
                .filter(|range| range.0 < range.1)
                .for_each(|range| range.1 -= 1);
        }
        if packet.space == Space::Data {
            self.on_acked(now, &frames, sink);
        } else if let Some(largest) = frames.acked.iter().map(|range| range.1).max()
            && let Some(at) = self.handshake.remove(&(packet.space as u8, largest))
        {
            self.handshake_rtt = Some(now.since(at));
        }
    }

    /// Records packets acknowledged by number.
    pub(super) fn on_acked(&mut self, now: Time, frames: &Frames, sink: &mut impl Sink) {
        let now = self.at(now);
        if !frames.acked.is_empty() {
            self.told = Told::Numbers;
            self.since_report.clear();
        }
        let (mut bytes, mut largest, mut back) = (0, None, false);
        for &(low, high) in &frames.acked {
            while let Some((&number, &packet)) = self.out.range(low..=high).next() {
                self.out.remove(&number);
                bytes += packet.bytes;
                if largest.is_none_or(|(known, _)| number > known) {
                    largest = Some((number, packet.at));
                }
            }
            while let Some((&number, _)) = self.lost.range(low..=high).next() {
                self.lost.remove(&number);
                back = true;
            }
        }
        if let Some((number, at)) = largest {
            self.take(now, bytes, number, Some(now.since(at)), sink);
            if let (Some(ce), Some(ack)) = (frames.ce, &mut self.pending) {
                ack.ce |= ce > self.ce;
                self.ce = ce.max(self.ce);
            }
            self.give_up(now);
        }
        if back && self.lost.is_empty() {
            // Every packet declared lost was acknowledged after all: the episode was a false alarm.
            self.flush(sink);
            if let Some(id) = self.id {
                sink.step(id, &Step::Event(Event::Spurious { now }, 0));
            }
        }
    }

    /// Adds to the pending ACK.
    fn take(
        &mut self,
        now: Time,
        bytes: u64,
        number: u64,
        rtt: Option<Nanos>,
        sink: &mut impl Sink,
    ) {
        if self.pending.is_some_and(|ack| ack.acked > 0 || ack.now != now) {
            self.flush(sink);
        }
        let before = self.inflight;
        let ack = self.pending.get_or_insert(Ack { inflight_before: before, ..Ack::blank(now) });
        ack.acked += bytes;
        ack.acked_fresh += bytes;
        ack.tx_acked = Some(number);
        self.inflight -= bytes;
        if self.largest.is_none_or(|largest| number > largest) {
            self.largest = Some(number);
            ack.rtt = rtt;
            if let Some(rtt) = rtt {
                self.rtt.add(rtt);
            }
        }
    }

    /// Records a packet declared lost.
    pub(crate) fn on_lost(&mut self, now: Time, packet: &Packet, sink: &mut impl Sink) {
        let now = self.at(now);
        let Some(number) = packet.number.filter(|_| packet.space == Space::Data) else { return };
        if packet.is_probe {
            // The probe is no longer outstanding, and its loss is no sign of congestion.
            if let Some(out) = self.out.remove(&number) {
                self.inflight -= out.bytes;
            }
            return;
        }
        let out = match self.out.remove(&number) {
            // It was assumed to be acknowledged because it was the oldest. The next packet was
            // acknowledged instead, so that one is removed.
            None if self.told == Told::Bytes => self.out.pop_first().map(|(_, out)| out),
            found => found,
        };
        let Some(out) = out else { return };
        self.lose(now, number, out.bytes, sink);
    }

    fn lose(&mut self, now: Time, number: u64, bytes: u64, sink: &mut impl Sink) {
        if self.pending.is_some_and(|ack| ack.now != now) {
            self.flush(sink);
        }
        let before = self.inflight;
        let ack = self.pending.get_or_insert(Ack { inflight_before: before, ..Ack::blank(now) });
        ack.lost += bytes;
        ack.tx_lost = ack.tx_lost.max(Some(number));
        self.inflight -= bytes;
        self.lost_since_report += bytes;
        self.demand.lose(now);
        // Two probe timeouts later, an acknowledgement of a lost packet is no longer expected.
        let memory = self.rtt.srtt().unwrap_or(Nanos::from_millis(333)) * 6;
        self.lost.retain(|_, at| now.since(*at) <= memory);
        if self.lost.len() < 4096 {
            self.lost.insert(number, now);
        }
    }

    /// Some dialects log no losses. A packet far below the largest acknowledged one, and
    /// outstanding for more than three round trips, counts as lost whatever the log says; any
    /// sender declares it lost long before.
    fn give_up(&mut self, now: Time) {
        let (Some(largest), Some(srtt)) = (self.largest, self.rtt.srtt()) else { return };
        while let Some((&number, &out)) = self.out.first_key_value() {
            if number + 64 > largest || now.since(out.at) <= srtt * 3 {
                break;
            }
            self.out.remove(&number);
            let Some(ack) = &mut self.pending else { break };
            ack.lost += out.bytes;
            ack.tx_lost = ack.tx_lost.max(Some(number));
            self.inflight -= out.bytes;
            self.demand.lose(now);
        }
    }

    /// Records the sender's constants.
    pub(super) fn on_parameters(&mut self, parameters: &Parameters) {
        let count = |number: Number| number.count().filter(|bytes| (1..1 << 40).contains(bytes));
        self.initial = count(parameters.initial_congestion_window).or(self.initial);
        if let Some(size) = count(parameters.max_datagram_size).filter(|size| *size <= 65_535) {
            self.largest_packet = self.largest_packet.max(size);
        }
    }

    /// Records whether flow control blocks the sender.
    pub(super) fn on_blocked(&mut self, blocked: bool) {
        self.blocked = blocked;
    }

    /// Records the sender's own metrics.
    pub(super) fn on_metrics(&mut self, now: Time, metrics: &Metrics, sink: &mut impl Sink) {
        let now = self.at(now);
        if let Some(cwnd) = metrics.congestion_window.count().filter(|cwnd| *cwnd > 0) {
            self.cwnd = Some(cwnd);
            if self.largest.is_none() && self.initial.is_none() {
                // Before the first ACK, the window is the initial window.
                self.initial = Some(cwnd);
            }
            if let Some(id) = self.id {
                let ssthresh = metrics.ssthresh.count().filter(|threshold| *threshold < 1 << 60);
                sink.step(id, &Step::Window { now, cwnd, ssthresh });
            }
        }
        let rate = |number: Number| number.count().filter(|rate| *rate > 0);
        let (pacing, bandwidth) = (rate(metrics.pacing_rate), rate(metrics.bandwidth_estimate));
        if let Some(id) = self.id
            && pacing.or(bandwidth).is_some()
        {
            sink.step(id, &Step::Rates { pacing, bandwidth });
        }
        let Some(inflight) = metrics.bytes_in_flight.count() else { return };
        let before = self.reported.replace(inflight).unwrap_or(0);
        if self.told == Told::Numbers {
            return;
        }
        if self.last == Last::Sent {
            self.reconcile(inflight.saturating_sub(before));
        } else {
            let gone = before.saturating_sub(inflight).saturating_sub(self.lost_since_report);
            if gone > 0 {
                self.acked_bytes(now, gone, sink);
            }
        }
        self.lost_since_report = 0;
    }

    /// Removes the small packets that were sent since the last report but are not counted in
    /// flight: they carried only an ACK.
    fn reconcile(&mut self, risen: u64) {
        let numbers = std::mem::take(&mut self.since_report);
        let mut left: u64 =
            numbers.iter().filter_map(|number| self.out.get(number)).map(|out| out.bytes).sum();
        for number in numbers {
            if left <= risen {
                return;
            }
            if let Some(out) = self.out.get(&number).copied().filter(|out| out.bytes < 100) {
                self.out.remove(&number);
                self.inflight -= out.bytes;
                left -= out.bytes;
            }
        }
    }

    /// Treats the oldest packets as acknowledged, for `gone` bytes that left flight without being
    /// lost.
    fn acked_bytes(&mut self, now: Time, gone: u64, sink: &mut impl Sink) {
        self.told = Told::Bytes;
        let (mut bytes, mut last) = (0, None);
        while bytes < gone
            && let Some((&number, &out)) = self.out.first_key_value()
        {
            // If more than half of the packet exceeds `gone`, the packet is not acknowledged.
            if bytes + out.bytes / 2 > gone {
                break;
            }
            self.out.remove(&number);
            bytes += out.bytes;
            last = Some((number, out.at));
        }
        if let Some((number, at)) = last {
            self.take(now, bytes, number, Some(now.since(at)), sink);
        }
    }

    /// Records that the log declares a loss spurious.
    pub(super) fn on_spurious(&mut self, now: Time, sink: &mut impl Sink) {
        self.flush(sink);
        self.lost.clear();
        if let Some(id) = self.id {
            sink.step(id, &Step::Event(Event::Spurious { now }, 0));
        }
    }

    /// Sends the pending ACK to the sink once its losses are known.
    pub(super) fn flush(&mut self, sink: &mut impl Sink) {
        let Some(mut ack) = self.pending.take() else { return };
        if self.id.is_none() && ack.acked == 0 {
            return;
        }
        ack.una = Seq(self.largest.map_or(0, |largest| largest + 1));
        ack.nxt = Seq(self.next);
        ack.tx_next = self.next;
        ack.inflight = self.inflight;
        ack.flight = self.inflight + ack.lost;
        ack.srtt = self.rtt.srtt();
        ack.sent = self.sent;
        ack.app_limited = match self.cwnd {
            Some(cwnd) => ack.inflight_before < cwnd / 2,
            None => self.demand.is_missing(ack.now, ack.inflight_before, ack.srtt),
        };
        if self.id.is_none() && self.largest_packet < LEAST_FULL && self.held.len() < MOST_HELD {
            self.held.push(ack);
            return;
        }
        self.let_go(sink);
        self.tell(ack, sink);
    }

    /// Sends the held ACKs to the sink once the size of a full packet is known.
    fn let_go(&mut self, sink: &mut impl Sink) {
        for ack in std::mem::take(&mut self.held) {
            self.tell(ack, sink);
        }
    }

    fn tell(&mut self, ack: Ack, sink: &mut impl Sink) {
        let id = self.opened(sink);
        if self.largest_packet > self.mss {
            self.mss = self.largest_packet;
            sink.step(id, &Step::Event(Event::Mss { now: ack.now, mss: self.mss }, 0));
        }
        if self.blocked {
            sink.step(id, &Step::ReceiverLimited(ack.now));
        }
        self.so_far.on_ack(&ack);
        sink.step(id, &Step::Event(Event::Ack(ack, self.so_far), 0));
    }

    fn opened(&mut self, sink: &mut impl Sink) -> Id {
        if let Some(id) = self.id {
            return id;
        }
        let (start, nxt) = self.first.unwrap_or((self.now, 0));
        self.mss = self.largest_packet;
        // A flight spread over more than an eighth of a round trip is paced.
        let round = self.rtt.min().or(self.handshake_rtt);
        let enough = self.flight.1 >= 6 * self.mss;
        let paced = round.filter(|_| enough).map(|round| self.flight.0.since(start) * 8 > round);
        let id = sink.open(Opening {
            name: self.name.clone(),
            group: None,
            origin: self.origin.clone(),
            transport: Transport::Quic,
            made: start,
            start,
            mss: self.mss,
            first_flight: self.flight.1,
            first_flight_span: Some(self.flight.0.since(start)),
            nxt: Seq(nxt),
            paced,
            handshake_rtt: self.handshake_rtt,
            ran: None,
            stated: Stated { initial_window: self.initial, ..Stated::default() },
        });
        let sent = Sent {
            now: start,
            bytes: self.sent,
            nxt: Seq(self.next),
            inflight: self.inflight,
            srtt: self.handshake_rtt,
        };
        let packets = self.sent.div_ceil(self.mss.max(1));
        sink.step(id, &Step::Event(Event::Sent(sent), self.sent + packets * LOWER));
        self.id = Some(id);
        id
    }

    /// Forgets the connection.
    #[cfg(feature = "keylog")]
    pub(crate) fn abandon(&mut self, sink: &mut impl Sink) {
        self.pending = None;
        if let Some(id) = self.id.take() {
            sink.abandon(id);
        }
    }

    /// Ends the log.
    pub(crate) fn close(&mut self, sink: &mut impl Sink) {
        self.flush(sink);
        self.let_go(sink);
        if let Some(id) = self.id {
            sink.close(id);
        }
    }
}
