//! The books of a TCP sender, kept again from its packets: what is out, what each ACK newly
//! delivered, what was taken for lost.
//!
//! A loss is what the sender took for one: it shows by being sent again. That is told together with
//! the ACK it followed at once.

use crate::estimate::{Demand, Rtt};
use crate::segment::Segment;
use crate::step::{Id, Opening, Sink, Step};
use firstflight::event::{Timeout, Transport};
use firstflight::{Ack, Congestion, Event, Nanos, Sent, Seq, Time};
use std::collections::BTreeMap;

/// Pieces that are remembered while they are out.
const MOST_PIECES: usize = 1 << 17;
/// A repeat this soon after an ACK is an answer to it.
const AT_ONCE: Nanos = Nanos::from_millis(1);
/// No timer of a TCP in use fires earlier.
const LEAST_TIMEOUT: Nanos = Nanos::from_millis(190);
/// Sequence numbers this far ahead of what was sent are of another connection.
const FAR: u64 = 1 << 30;
const USUAL_MSS: u64 = 1448;
/// What fits into this many segments is no startup.
const LEAST_SEGMENTS: u64 = 4;

/// Bytes that left together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    at: Time,
    /// Ordinal of its last transmission.
    transmission: u64,
    repeats: u32,
    sacked: bool,
    stamp: Option<u32>,
}

/// The books of one sender.
pub(crate) struct Sender {
    name: String,
    origin: &'static str,
    id: Option<Id>,
    pieces: BTreeMap<u64, Piece>,
    pending: Option<Ack>,
    /// Sequence numbers without wrapping: the last one seen, and the same as it stood in the
    /// packet.
    anchor: Option<(u64, u32)>,
    una: u64,
    nxt: u64,
    inflight: u64,
    sacked: u64,
    delivered: u64,
    sent: u64,
    transmissions: u64,
    last_ack: Option<Time>,
    last_sent: Time,
    timeouts_in_a_row: u32,
    /// Bytes sent again since the last episode began, and those that the receiver then reported as
    /// having had already.
    repeated: u64,
    needless: u64,
    episode_end: u64,
    rtt: Rtt,
    demand: Demand,
    handshake: Option<Nanos>,
    first: Option<(Time, u64)>,
    flight: (Time, u64),
    mss_option: Option<u16>,
    /// Payload of a full segment, where the stack itself has said it.
    mss_told: Option<u64>,
    stamps: bool,
    largest: u64,
    header: u64,
    mss: u64,
    scale: u8,
    scaling: bool,
    window: u64,
    /// What the receiver takes: nothing at or beyond it, and what was told of that.
    edge: u64,
    told_edge: u64,
    echo: bool,
    missed: u64,
    wire_before: u64,
}

impl Sender {
    /// Nothing is known yet.
    pub(crate) fn new(name: String, origin: &'static str) -> Sender {
        Sender {
            name,
            origin,
            id: None,
            pieces: BTreeMap::new(),
            pending: None,
            anchor: None,
            una: 0,
            nxt: 0,
            inflight: 0,
            sacked: 0,
            delivered: 0,
            sent: 0,
            transmissions: 0,
            last_ack: None,
            last_sent: Time(0),
            timeouts_in_a_row: 0,
            repeated: 0,
            needless: 0,
            episode_end: 0,
            rtt: Rtt::default(),
            demand: Demand::default(),
            handshake: None,
            first: None,
            flight: (Time(0), 0),
            mss_option: None,
            mss_told: None,
            stamps: false,
            largest: 0,
            header: 40,
            mss: USUAL_MSS,
            scale: 0,
            scaling: false,
            window: u64::MAX,
            edge: 0,
            told_edge: 0,
            echo: false,
            missed: 0,
            wire_before: 0,
        }
    }

    /// It has sent data that was acknowledged, and more than a request.
    pub(crate) fn is_open(&self) -> bool {
        self.id.is_some() && self.delivered > LEAST_SEGMENTS * self.mss
    }

    /// Everything sent was acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that must have been sent but are not in the capture.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// The RTT that the handshake showed.
    pub(crate) fn handshake(&mut self, rtt: Nanos) {
        self.handshake = Some(rtt);
    }

    /// What the stack says of an established connection whose SYN nobody saw: sequence number of
    /// the first byte, payload of a full segment, scale of the windows it is told, if there is one.
    pub(crate) fn established(&mut self, first: u32, mss: u64, scale: Option<u8>) {
        self.anchor = Some((1 << 32, first.wrapping_sub(1)));
        self.mss_told = Some(mss.max(64));
        (self.scaling, self.scale) = (scale.is_some(), scale.unwrap_or(0).min(14));
    }

    /// Bytes that were acknowledged.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// What this end says of itself.
    pub(crate) fn learn(&mut self, segment: &Segment) {
        self.stamps |= segment.stamps.is_some() && !segment.syn;
        if segment.payload > 0 {
            self.header = u64::from(segment.headers);
            self.largest = self.largest.max(u64::from(segment.payload));
        }
        if segment.syn {
            self.take_option(segment.mss);
            self.scaling = segment.scale.is_some();
            self.anchor = Some((1 << 32, segment.seq));
        }
    }

    /// What the other end says that matters here.
    pub(crate) fn learn_of_peer(&mut self, segment: &Segment) {
        if segment.syn {
            self.take_option(segment.mss);
            self.scale = segment.scale.unwrap_or(0);
        }
    }

    fn take_option(&mut self, mss: Option<u16>) {
        self.mss_option = match (self.mss_option, mss) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
    }

    /// Payload of a full segment.
    fn find_mss(&self) -> u64 {
        if let Some(mss) = self.mss_told {
            return mss;
        }
        let stamps = if self.stamps { 12 } else { 0 };
        if let Some(mss) = self.mss_option {
            return u64::from(mss).saturating_sub(stamps).max(64);
        }
        // Captured before the network card cut it up, a piece is many segments; the usual size has
        // to do.
        if self.largest <= 9000 && self.largest > 0 { self.largest } else { USUAL_MSS }
    }

    /// The sequence number without wrapping, near the one before.
    fn unwrap(&mut self, seq: u32) -> u64 {
        let (wide, narrow) = *self.anchor.get_or_insert((1 << 32, seq));
        let step = i64::from(seq.wrapping_sub(narrow) as i32);
        wide.saturating_add_signed(step)
    }

    fn rto(&self) -> Nanos {
        self.rtt
            .srtt()
            .map_or(Nanos::from_secs(1), |srtt| Nanos(srtt.0.saturating_add(srtt.0 / 2)))
            .max(LEAST_TIMEOUT)
    }

    /// This end sent something.
    pub(crate) fn on_sent(&mut self, segment: &Segment, sink: &mut impl Sink) {
        if segment.payload == 0 || segment.syn {
            return;
        }
        let start = self.unwrap(segment.seq);
        let end = start + u64::from(segment.payload);
        if self.first.is_none() {
            self.first = Some((segment.now, start));
            (self.una, self.nxt) = (start, start);
        }
        if end > self.nxt.saturating_add(FAR) || end.saturating_add(FAR) < self.nxt {
            return;
        }
        self.mss = self.find_mss();
        if start < self.nxt {
            self.repeat(segment, start, end.min(self.nxt), sink);
        }
        if end > self.nxt {
            self.new_data(segment, start.max(self.nxt), end, sink);
        }
        self.last_sent = segment.now;
    }

    fn new_data(&mut self, segment: &Segment, start: u64, end: u64, sink: &mut impl Sink) {
        self.flush(sink);
        if start > self.nxt {
            self.missed += start - self.nxt;
            self.put(self.nxt, start, segment.now, None);
        }
        self.put(start, end, segment.now, segment.stamps.map(|stamps| stamps.0));
        self.anchor = Some((end, segment.seq.wrapping_add(segment.payload)));
        let bytes = end - self.nxt.min(start);
        self.nxt = end;
        if self.id.is_none() {
            self.flight = (segment.now, self.flight.1 + bytes);
        }
        self.demand.see(segment.now, self.inflight, self.rtt.srtt());
        self.tell_sent(segment.now, bytes, sink);
    }

    fn put(&mut self, start: u64, end: u64, at: Time, stamp: Option<u32>) {
        self.transmissions += 1;
        self.pieces.insert(
            start,
            Piece { end, at, transmission: self.transmissions, repeats: 0, sacked: false, stamp },
        );
        self.inflight += end - start;
        if self.pieces.len() > MOST_PIECES
            && let Some((start, piece)) = self.pieces.pop_first()
        {
            let bytes = piece.end - start;
            if piece.sacked { self.sacked -= bytes } else { self.inflight -= bytes }
        }
    }

    fn tell_sent(&mut self, now: Time, bytes: u64, sink: &mut impl Sink) {
        self.sent += bytes;
        let wire = bytes + bytes.div_ceil(self.mss) * self.header;
        let Some(id) = self.id else {
            self.wire_before += wire;
            return;
        };
        let sent =
            Sent { now, bytes, nxt: Seq(self.nxt), inflight: self.inflight, srtt: self.rtt.srtt() };
        sink.step(id, &Step::Event(Event::Sent(sent), wire));
    }

    /// Makes a piece begin at `at`, if one goes across.
    fn split(&mut self, at: u64) {
        if let Some((&start, &piece)) = self.pieces.range(..at).next_back()
            && piece.end > at
        {
            self.pieces.insert(start, Piece { end: at, ..piece });
            self.pieces.insert(at, piece);
        }
    }

    /// Bytes left again.
    fn repeat(&mut self, segment: &Segment, start: u64, end: u64, sink: &mut impl Sink) {
        let now = segment.now;
        let start = start.max(self.una);
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        self.transmissions += 1;
        let transmission = self.transmissions;
        let (mut lost, mut again, mut last_lost) = (0, false, None);
        for (from, piece) in self.pieces.range_mut(start..end).filter(|(_, piece)| !piece.sacked) {
            lost += piece.end - from;
            again |= piece.repeats > 0;
            last_lost = last_lost.max(Some(piece.transmission));
            piece.repeats += 1;
            piece.at = now;
            piece.transmission = transmission;
            piece.stamp = segment.stamps.map(|stamps| stamps.0);
        }
        if lost == 0 {
            return;
        }
        let since_heard = self.last_ack.map_or(Nanos::MAX, |at| now.since(at));
        let quiet = since_heard.min(now.since(self.last_sent));
        // RFC 8985 section 7: a probe repeats the last segment when nothing was heard; it says
        // nothing about a loss.
        let probe = self.sacked == 0
            && end == self.nxt
            && end - start <= self.mss
            && !again
            && quiet > AT_ONCE * 2
            && start > self.una;
        if !probe && start == self.una && quiet >= self.rto() {
            self.time_out(now, sink);
        } else if !probe {
            self.lose(now, lost, again, last_lost, since_heard <= AT_ONCE, sink);
        }
        self.tell_sent(now, lost, sink);
    }

    fn time_out(&mut self, now: Time, sink: &mut impl Sink) {
        self.flush(sink);
        self.timeouts_in_a_row += 1;
        self.demand.lose(now);
        (self.repeated, self.needless, self.episode_end) = (0, 0, self.nxt);
        let timeout = if self.timeouts_in_a_row > 1 { Timeout::RtoAgain } else { Timeout::Rto };
        if let Some(id) = self.id {
            let timeout =
                Congestion { now, timeout, nxt: Seq(self.nxt), inflight_before: self.inflight };
            sink.step(id, &Step::Event(Event::Congestion(timeout), 0));
        }
    }

    fn lose(
        &mut self,
        now: Time,
        lost: u64,
        again: bool,
        last_lost: Option<u64>,
        at_once: bool,
        sink: &mut impl Sink,
    ) {
        if self.una >= self.episode_end {
            (self.repeated, self.needless, self.episode_end) = (0, 0, self.nxt);
        }
        self.repeated += lost;
        self.demand.lose(now);
        if !at_once {
            self.flush(sink);
        }
        let blank = Ack { now, inflight_before: self.inflight, ..Ack::default() };
        let ack = self.pending.get_or_insert(blank);
        ack.lost += lost;
        ack.lost_again |= again;
        ack.tx_lost = ack.tx_lost.max(last_lost);
        self.flush(sink);
    }

    /// The other end acknowledges.
    pub(crate) fn on_ack(&mut self, segment: &Segment, sink: &mut impl Sink) {
        if segment.syn || self.first.is_none() {
            return;
        }
        // Acknowledgements count in this end's sequence numbers.
        let number = self.unwrap(segment.ack);
        if number > self.nxt.saturating_add(1) || number.saturating_add(FAR) < self.una {
            return;
        }
        let number = number.min(self.nxt);
        self.flush(sink);
        let now = segment.now;
        let before = self.inflight;
        let mut news = News::default();
        if number > self.una {
            self.split(number);
            while let Some(first) = self.pieces.first_entry().filter(|first| *first.key() < number)
            {
                let (start, piece) = first.remove_entry();
                if piece.sacked {
                    self.sacked -= piece.end - start;
                } else {
                    news.add(start, &piece, segment);
                }
            }
        }
        let duplicate = self.sack(number, segment, &mut news);
        let advanced = number > self.una;
        self.una = self.una.max(number);
        self.inflight -= news.bytes;
        self.delivered += news.bytes;
        let marked = segment.ece && !self.echo;
        self.echo = segment.ece;
        if advanced {
            self.timeouts_in_a_row = 0;
        }
        self.last_ack = Some(now);
        let rtt = news.rtt.map(|at| now.since(at)).filter(|rtt| rtt.0 > 0);
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        let limit = self.window;
        // With nothing outstanding whoever watches a socket is not told of it.
        if news.bytes > 0 || marked || !self.is_settled() {
            self.window = u64::from(segment.window) << if self.scaling { self.scale } else { 0 };
            self.edge = self.edge.max(number.saturating_add(self.window));
        }
        if news.bytes == 0 && !marked {
            self.tell_edge(sink);
            self.see_needless(now, duplicate, sink);
            return;
        }
        self.pending = Some(Ack {
            now,
            acked: news.bytes,
            acked_fresh: news.bytes,
            ce: marked,
            rtt,
            inflight_before: before,
            advanced,
            tx_acked: news.transmission,
            receiver_ts: segment.stamps.map(|stamps| stamps.0),
            ..Ack::default()
        });
        let id = self.opened(sink);
        if self.nxt - self.una + news.bytes + self.mss > limit {
            sink.step(id, &Step::ReceiverLimited(now));
        }
        self.see_needless(now, duplicate, sink);
    }

    /// Books the SACK blocks. Returns the bytes that the receiver reports as having had already
    /// (RFC 2883).
    fn sack(&mut self, number: u64, segment: &Segment, news: &mut News) -> u64 {
        let mut duplicate = 0;
        for (index, (left, right)) in segment.sacks.into_iter().flatten().enumerate() {
            let (left, right) = (self.unwrap(left), self.unwrap(right));
            if right <= left || right > self.nxt {
                continue;
            }
            if index == 0 && right <= number.max(self.una) {
                duplicate = right - left;
                continue;
            }
            let left = left.max(number);
            self.split(left);
            self.split(right);
            // Blocks come again with every ACK: only what is not booked yet is looked at.
            let mut at = left;
            while let Some((&start, piece)) =
                self.pieces.range_mut(at..right).find(|(_, piece)| !piece.sacked)
            {
                piece.sacked = true;
                at = piece.end;
                self.sacked += piece.end - start;
                let piece = *piece;
                news.add(start, &piece, segment);
            }
        }
        duplicate
    }

    /// Everything that was repeated proved needless: the episode was a false alarm.
    fn see_needless(&mut self, now: Time, duplicate: u64, sink: &mut impl Sink) {
        self.needless += duplicate;
        if duplicate > 0 && self.repeated > 0 && self.needless >= self.repeated {
            (self.repeated, self.needless) = (0, 0);
            self.flush(sink);
            if let Some(id) = self.id {
                sink.step(id, &Step::Event(Event::Spurious { now }, 0));
            }
        }
    }

    fn flush(&mut self, sink: &mut impl Sink) {
        let Some(mut ack) = self.pending.take() else { return };
        let Some(id) = self.id else { return };
        ack.una = Seq(self.una);
        ack.nxt = Seq(self.nxt);
        ack.tx_next = self.transmissions + 1;
        ack.flight = self.nxt - self.una;
        ack.sacked = self.sacked;
        ack.inflight = self.inflight.saturating_sub(ack.lost);
        ack.srtt = self.rtt.srtt();
        ack.min_rtt = self.rtt.min();
        ack.delivered = self.delivered;
        ack.sent = self.sent;
        ack.app_limited = self.demand.is_missing(ack.now, ack.inflight_before, ack.srtt);
        sink.step(id, &Step::Event(Event::Ack(ack), 0));
        self.tell_edge(sink);
    }

    /// The receiver lets it go further than before.
    fn tell_edge(&mut self, sink: &mut impl Sink) {
        if let Some(id) = self.id.filter(|_| self.edge > self.told_edge) {
            self.told_edge = self.edge;
            sink.step(id, &Step::ReceiverEdge(Seq(self.edge)));
        }
    }

    fn opened(&mut self, sink: &mut impl Sink) -> Id {
        if let Some(id) = self.id {
            return id;
        }
        let (start, first) = self.first.unwrap_or((self.last_ack.unwrap_or(self.last_sent), 0));
        let round = self.rtt.min().or(self.handshake);
        let enough = self.flight.1 >= 6 * self.mss;
        let id = sink.open(Opening {
            name: self.name.clone(),
            group: None,
            origin: self.origin.into(),
            transport: Transport::Tcp,
            made: start,
            start,
            mss: self.mss,
            first_flight: self.flight.1,
            first_flight_span: Some(self.flight.0.since(start)),
            nxt: Seq(first),
            paced: round.filter(|_| enough).map(|round| self.flight.0.since(start) * 8 > round),
            handshake_rtt: self.handshake,
            ran: None,
        });
        // Known before its first step: a sink that fails there receives `abandon`.
        self.id = Some(id);
        let sent = Sent {
            now: start,
            bytes: self.sent,
            nxt: Seq(self.nxt),
            inflight: self.inflight,
            srtt: self.handshake,
        };
        sink.step(id, &Step::Event(Event::Sent(sent), self.wire_before));
        id
    }

    /// Something of it was not seen: what was told is given up.
    pub(crate) fn abandon(&mut self, sink: &mut impl Sink) {
        self.pending = None;
        if let Some(id) = self.id {
            sink.abandon(id);
        }
    }

    /// The capture, or the connection, is over.
    pub(crate) fn close(&mut self, sink: &mut impl Sink) {
        self.flush(sink);
        if let Some(id) = self.id {
            sink.close(id);
        }
    }
}

/// What one ACK newly delivered.
#[derive(Default)]
struct News {
    bytes: u64,
    transmission: Option<u64>,
    /// When the latest of it left, if that can be told.
    rtt: Option<Time>,
}

impl News {
    fn add(&mut self, start: u64, piece: &Piece, segment: &Segment) {
        self.bytes += piece.end - start;
        if self.transmission.is_some_and(|known| known >= piece.transmission) {
            return;
        }
        self.transmission = Some(piece.transmission);
        // RFC 6298 section 3: of bytes sent more than once only if the time stamp says which copy
        // is meant.
        let echoed = segment.stamps.map(|stamps| stamps.1);
        let told = piece.repeats == 0 || (piece.stamp.is_some() && piece.stamp == echoed);
        self.rtt = told.then_some(piece.at);
    }
}
