//! The state of a TCP sender, reconstructed from its packets: outstanding data, newly delivered
//! data, and data the sender took for lost.
//!
//! Data counts as lost when the sender retransmits it. The loss is reported with the ACK that
//! immediately precedes the retransmission.

use crate::estimate::{Demand, Rtt};
use crate::marks::{Covered, MarkReader, Marks};
use crate::segment::{MOST_SCALE, Sacks, Segment};
use crate::sizes::Sizes;
use crate::step::{Id, Opening, Sink, Stated, Step, Unsure};
use firstflight::event::{Timeout, Transport};
use firstflight::{Ack, AckDetail, Congestion, Event, Nanos, Sent, Seq, SoFar, Time};
use std::collections::BTreeMap;

/// Maximum number of outstanding pieces remembered.
const MOST_PIECES: usize = 1 << 17;
/// A retransmission this soon after an ACK is a response to it.
const AT_ONCE: Nanos = Nanos::from_millis(1);
/// No retransmission timer of a TCP in use fires earlier.
const LEAST_TIMEOUT: Nanos = Nanos::from_millis(190);
/// Sequence numbers this far from the sent data belong to another connection.
const FAR: u64 = 1 << 30;
const USUAL_MSS: u64 = 1448;
/// Maximum number of steps that wait for the size of a full segment.
const MOST_HELD: usize = 256;
/// A hole that is filled this soon is not a loss, if no RTT is known.
const HOLE_WITHIN: Nanos = Nanos::from_millis(100);
/// Start of the extended sequence numbers.
const ORIGIN: u64 = 1 << 32;

/// A range of bytes that were sent together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    at: Time,
    /// Ordinal of its last transmission.
    transmission: u64,
    repeats: u32,
    sacked: bool,
    /// It precedes captured data and was not captured itself.
    unseen: bool,
    stamp: Option<u32>,
}

/// Data sent as a probe of a closed window, which the receiver may have accepted or not.
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    at: Time,
    stamp: Option<u32>,
}

/// Output to the sink. Steps wait here until the size of a full segment is known.
#[derive(Default)]
struct Out {
    id: Option<Id>,
    held: Option<(Opening, Vec<Step>)>,
}

impl Out {
    fn is_open(&self) -> bool {
        self.id.is_some() || self.held.is_some()
    }

    fn step(&mut self, step: Step, sink: &mut impl Sink) {
        if let Some(id) = self.id {
            sink.step(id, &step);
        } else if let Some((_, steps)) = &mut self.held {
            steps.push(step);
        }
    }

    /// Releases the waiting steps with the size that was found; `inferred` if no option stated it.
    fn release(&mut self, mss: u64, inferred: bool, sink: &mut impl Sink) {
        let Some((opening, steps)) = self.held.take() else { return };
        let id = sink.open(Opening { mss, ..opening });
        // The ID is set before the first step, so that a sink that fails there receives `abandon`.
        self.id = Some(id);
        if inferred {
            sink.step(id, &Step::Unsure(Unsure::SegmentSize));
        }
        for step in &steps {
            sink.step(id, step);
        }
    }
}

/// The state of one sender.
pub(crate) struct Sender {
    name: String,
    format: &'static str,
    out: Out,
    pieces: BTreeMap<u64, Piece>,
    pending: Option<Ack>,
    so_far: SoFar,
    /// Reference for extending sequence numbers: the last one, extended and as in the packet.
    anchor: Option<(u64, u32)>,
    una: u64,
    nxt: u64,
    inflight: u64,
    sacked: u64,
    sent: u64,
    transmissions: u64,
    last_ack: Option<Time>,
    last_sent: Time,
    timeouts_in_a_row: u32,
    /// Bytes retransmitted since the last episode began, and those that the receiver then reported
    /// as duplicates.
    repeated: u64,
    needless: u64,
    episode_end: u64,
    rtt: Rtt,
    /// Round trip between the capture and this end, which RTTs lack.
    near: Nanos,
    /// An ACK had the same clock tick as its data.
    instant: bool,
    demand: Demand,
    handshake: Option<Nanos>,
    /// Sequence number of the first byte, if the capture shows it.
    origin: Option<u64>,
    first: Option<(Time, u64)>,
    flight: (Time, u64),
    mss_option: Option<u16>,
    /// Payload of a full segment, if the stack itself stated it.
    mss_told: Option<u64>,
    stamps: bool,
    sizes: Sizes,
    header: u64,
    options: u64,
    mss: u64,
    /// The window scale options in the SYNs of this end and of the other end, and whether the other
    /// end's was a SYN/ACK.
    scale: Scale,
    peer_scale: Scale,
    peer_answered: bool,
    /// Smallest window scale compatible with the bytes in flight.
    least_scale: u8,
    window: u64,
    /// The receiver's window is closed, and the probe sent beyond it.
    closed: bool,
    probe: Option<Probe>,
    /// The records come from the stack itself.
    live: bool,
    /// The receiver's right window edge, and the edge last reported to the sink.
    edge: u64,
    told_edge: u64,
    marks: MarkReader,
    /// Number of marks that the pending ACK reports.
    marked: u64,
    missed: u64,
    /// Number of segments that filled a hole: they were out of order in the capture.
    filled: u64,
    /// The largest number acknowledged before its data was captured.
    beyond: u64,
    wire_before: u64,
}

impl Sender {
    /// Creates a sender without any packets.
    pub(crate) fn new(name: String, format: &'static str) -> Sender {
        Sender {
            name,
            format,
            out: Out::default(),
            pieces: BTreeMap::new(),
            pending: None,
            so_far: SoFar::default(),
            anchor: None,
            una: 0,
            nxt: 0,
            inflight: 0,
            sacked: 0,
            sent: 0,
            transmissions: 0,
            last_ack: None,
            last_sent: Time(0),
            timeouts_in_a_row: 0,
            repeated: 0,
            needless: 0,
            episode_end: 0,
            rtt: Rtt::default(),
            near: Nanos::ZERO,
            instant: false,
            demand: Demand::default(),
            handshake: None,
            origin: None,
            first: None,
            flight: (Time(0), 0),
            mss_option: None,
            mss_told: None,
            stamps: false,
            sizes: Sizes::default(),
            header: 40,
            options: 0,
            mss: USUAL_MSS,
            scale: Scale::Unseen,
            peer_scale: Scale::Unseen,
            peer_answered: false,
            least_scale: 0,
            window: u64::MAX,
            closed: false,
            probe: None,
            live: false,
            edge: 0,
            told_edge: 0,
            marks: MarkReader::default(),
            marked: 0,
            missed: 0,
            filled: 0,
            beyond: 0,
            wire_before: 0,
        }
    }

    /// The ID of the connection, if any of its data was acknowledged. A size that is still unknown
    /// is inferred now.
    pub(crate) fn settle(&mut self, sink: &mut impl Sink) -> Option<Id> {
        self.release(true, sink);
        self.out.id
    }

    /// Whether everything sent was acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Number of bytes that must have been sent but are not in the capture.
    pub(crate) fn missed(&self) -> u64 {
        self.missed + self.beyond.saturating_sub(self.nxt.saturating_add(1))
    }

    /// Number of segments that filled a hole of the capture.
    pub(crate) fn filled(&self) -> u64 {
        self.filled
    }

    /// Number of bytes sent, retransmissions included.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether its first byte was captured.
    pub(crate) fn begins(&self) -> bool {
        self.origin.is_some() && self.first.map(|(_, start)| start) == self.origin
    }

    /// Smoothed and minimum RTT; before the first sample, both are the RTT of the handshake.
    pub(crate) fn rtts(&self) -> Option<(Nanos, Nanos)> {
        self.rtt.srtt().zip(self.rtt.min()).or(self.handshake.map(|rtt| (rtt, rtt)))
    }

    /// Whether an ACK had the same clock tick as its data.
    pub(crate) fn is_instant(&self) -> bool {
        self.instant
    }

    /// Whether the segment acknowledges data that was not captured yet.
    pub(crate) fn is_ahead(&self, segment: &Segment) -> bool {
        self.first.is_some() && self.wide(segment.ack) > self.nxt.saturating_add(1)
    }

    /// Whether the segment retransmits data that this end has already sent.
    pub(crate) fn is_repeat(&self, segment: &Segment) -> bool {
        self.first.is_some() && self.wide(segment.seq) < self.nxt
    }

    /// Whether the segment is the next that this end sends, with nothing missed in between.
    pub(crate) fn is_next(&self, segment: &Segment) -> bool {
        self.first.is_none() || self.wide(segment.seq) == self.nxt
    }

    /// Sets the RTT of the handshake.
    pub(crate) fn handshake(&mut self, rtt: Nanos) {
        self.handshake = Some(rtt);
    }

    /// Sets the round trip between the capture and this end, which RTTs lack.
    pub(crate) fn add_near(&mut self, near: Nanos) {
        self.near = near;
    }

    /// Sets the stack's values of an established connection whose SYN was not seen: sequence number
    /// of the first byte, payload of a full segment, and scale of the windows it receives, if any.
    pub(crate) fn established(&mut self, first: u32, mss: u64, scale: Option<u8>) {
        self.anchor = Some((ORIGIN, first.wrapping_sub(1)));
        self.origin = Some(ORIGIN + 1);
        self.mss_told = Some(mss.max(64));
        let scale = Scale::of(scale);
        (self.scale, self.peer_scale) = (scale, scale);
        self.live = true;
        self.marks.begin();
    }

    /// Number of bytes acknowledged.
    pub(crate) fn delivered(&self) -> u64 {
        self.so_far.delivered + self.pending.map_or(0, |ack| ack.acked)
    }

    /// Takes the options of a segment of this end.
    pub(crate) fn learn(&mut self, segment: &Segment) {
        self.stamps |= segment.stamps.is_some() && !segment.syn;
        self.marks.see_own(segment);
        if segment.payload > 0 {
            self.header = u64::from(segment.headers);
            self.options = u64::from(segment.options);
            if self.infers_mss() || segment.options > 12 {
                self.sizes.see(segment.payload);
            }
        }
        if segment.syn {
            self.take_option(segment.mss);
            self.scale = Scale::of_syn(segment);
            self.anchor = Some((ORIGIN, segment.seq));
            // The first byte follows any data in the SYN.
            self.origin = Some(ORIGIN + 1 + u64::from(segment.payload));
        }
    }

    /// Takes the options of a segment of the other end.
    pub(crate) fn learn_of_peer(&mut self, segment: &Segment) {
        self.marks.see_peer(segment);
        if segment.syn {
            self.take_option(segment.mss);
            self.peer_scale = Scale::of_syn(segment);
            self.peer_answered = segment.has_ack;
            // It acknowledges a SYN that is not in the capture.
            if segment.has_ack && self.anchor.is_none() {
                self.anchor = Some((ORIGIN, segment.ack.wrapping_sub(1)));
                self.origin = Some(ORIGIN + 1);
            }
        }
    }

    /// Scale of the receiver's windows in bits, if known (RFC 7323 section 2.2: both ends must send
    /// the option, and a SYN/ACK has it only if the SYN had it).
    fn window_scale(&self) -> Option<u8> {
        match (self.scale, self.peer_scale) {
            (Scale::Without, _) | (_, Scale::Without) => Some(0),
            (Scale::With(_), Scale::With(scale)) => Some(scale),
            (Scale::Unseen, Scale::With(scale)) if self.peer_answered => Some(scale),
            _ => None,
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
        let Some(mss) = self.mss_option.map(u64::from) else {
            return self.sizes.full().unwrap_or(USUAL_MSS);
        };
        // RFC 6691: options reduce a segment's payload. Options that only some segments have do not
        // reduce the size of a full segment.
        let usual = mss.saturating_sub(if self.stamps { 12 } else { 0 }).max(64);
        let less = mss.saturating_sub(self.options).max(64);
        if less < usual && !self.sizes.hold(usual) && self.sizes.hold(less) { less } else { usual }
    }

    /// Whether neither the stack nor a SYN has stated the size of a full segment.
    fn infers_mss(&self) -> bool {
        self.mss_told.is_none() && self.mss_option.is_none()
    }

    /// Releases the steps to the sink: if `now` is set, or once the size of a full segment is
    /// known.
    fn release(&mut self, now: bool, sink: &mut impl Sink) {
        let inferred = self.infers_mss();
        let full = self.out.held.as_ref().is_some_and(|(_, steps)| steps.len() >= MOST_HELD);
        if now || full || !inferred || self.sizes.is_settled() {
            self.out.release(self.mss, inferred, sink);
        }
    }

    /// Extends a sequence number, choosing the value nearest to the last one.
    fn unwrap(&mut self, seq: u32) -> u64 {
        self.anchor.get_or_insert((ORIGIN, seq));
        self.wide(seq)
    }

    fn wide(&self, seq: u32) -> u64 {
        let (wide, narrow) = self.anchor.unwrap_or((ORIGIN, seq));
        let step = i64::from(seq.wrapping_sub(narrow) as i32);
        wide.saturating_add_signed(step)
    }

    fn rto(&self) -> Nanos {
        self.rtt
            .srtt()
            .map_or(Nanos::from_secs(1), |srtt| Nanos(srtt.0.saturating_add(srtt.0 / 2)))
            .max(LEAST_TIMEOUT)
    }

    /// Takes a segment that this end sent.
    pub(crate) fn on_sent(&mut self, segment: &Segment, sink: &mut impl Sink) {
        if segment.syn || self.reminds(segment, sink) || segment.payload == 0 {
            return;
        }
        let start = self.unwrap(segment.seq);
        let end = start + u64::from(segment.payload);
        if self.first.is_none() {
            // Data in the SYN that the receiver did not take is sent again (RFC 7413).
            self.origin = self.origin.map(|origin| origin.min(start.max(ORIGIN + 1)));
            self.first = Some((segment.now, start));
            (self.una, self.nxt) = (start, start);
        }
        if end > self.nxt.saturating_add(FAR) || end.saturating_add(FAR) < self.nxt {
            return;
        }
        // An inferred size stays once steps have been released.
        if self.out.id.is_none() || !self.infers_mss() {
            self.mss = self.find_mss();
        }
        self.release(false, sink);
        let start = self.precede(segment, start, end);
        if start >= end {
            return;
        }
        if start < self.nxt && !self.fill(segment, start, end.min(self.nxt)) {
            self.repeat(segment, start, end.min(self.nxt), sink);
        }
        if end > self.nxt {
            self.new_data(segment, start.max(self.nxt), end, sink);
        }
        self.last_sent = segment.now;
    }

    /// Recognizes segments that are not data: a probe of a closed window (RFC 9293 section
    /// 3.8.6.1), which either has at most one byte and an old sequence number or carries the bytes
    /// after the acknowledged ones, and a keep-alive (section 3.8.4), which follows a silence.
    /// Neither can be lost.
    fn reminds(&mut self, segment: &Segment, sink: &mut impl Sink) -> bool {
        // A program that watches a socket does not see a window open while nothing is outstanding,
        // and the stacks that can be watched probe without data.
        let idle = self.first.is_some() && self.una == self.nxt && !self.live;
        if !idle || segment.fin || segment.rst {
            return false;
        }
        let (now, start) = (segment.now, self.unwrap(segment.seq));
        let below = start + 1 == self.nxt && segment.payload <= 1;
        let quiet = now.since(self.last_ack.unwrap_or(now).max(self.last_sent));
        let step = if self.closed && start == self.nxt && segment.payload > 0 {
            let end = start + u64::from(segment.payload);
            let stamp = segment.stamps.map(|stamps| stamps.0);
            self.probe = Some(Probe { end, at: now, stamp });
            Step::WindowProbe(now)
        } else if self.closed && below {
            Step::WindowProbe(now)
        } else if below && quiet >= self.rto() {
            Step::KeepAlive(now)
        } else {
            return false;
        };
        self.flush(sink);
        self.out.step(step, sink);
        true
    }

    /// The receiver accepted the bytes of a probe up to `end`, so they count as data.
    fn take_probe(&mut self, probe: Probe, end: u64, now: Time, sink: &mut impl Sink) {
        self.flush(sink);
        let bytes = end - self.nxt;
        self.put(self.nxt, end, probe.at, probe.stamp);
        self.nxt = end;
        self.probe = None;
        self.tell_sent(now, bytes, sink);
    }

    /// Takes data that follows later data in the capture, before anything was acknowledged: it is
    /// the start of the connection. Returns where the rest of the segment starts.
    fn precede(&mut self, segment: &Segment, start: u64, end: u64) -> u64 {
        let is_own = self.origin.is_some_and(|origin| start >= origin);
        let first = self.first.map_or(0, |(_, first)| first);
        if start >= self.una || !is_own || self.out.is_open() || self.una != first {
            return start;
        }
        let bytes = self.una - start;
        self.put(start, self.una, segment.now, segment.stamps.map(|stamps| stamps.0));
        let hole = end.min(self.una);
        self.split(hole);
        if let Some(piece) = self.pieces.range_mut(hole..self.una).next().map(|(_, piece)| piece) {
            piece.unseen = true;
            self.missed += self.una - hole;
        }
        let at = self.first.map_or(segment.now, |(at, _)| at.min(segment.now));
        let rest = self.una;
        self.first = Some((at, start));
        self.una = start;
        self.flight.1 += bytes;
        self.sent += bytes;
        self.wire_before += bytes + bytes.div_ceil(self.mss) * self.header;
        self.filled += 1;
        rest
    }

    /// Data that fills a hole sooner than any retransmission could was out of order in the capture,
    /// not lost. Returns whether this applies to all of it.
    fn fill(&mut self, segment: &Segment, start: u64, end: u64) -> bool {
        let within = self.rtt.min().or(self.handshake).unwrap_or(HOLE_WITHIN);
        let is_hole = |piece: &Piece| piece.unseen && segment.now.since(piece.at) < within;
        let (first, last) = (start.max(self.una), end);
        let covers = self.pieces.range(..=first).next_back().filter(|(_, piece)| piece.end > first);
        if first >= last || !covers.is_some_and(|(_, piece)| is_hole(piece)) {
            return false;
        }
        self.split(first);
        self.split(last);
        let mut all = true;
        for (from, piece) in self.pieces.range_mut(first..last) {
            if is_hole(piece) {
                piece.unseen = false;
                piece.stamp = segment.stamps.map(|stamps| stamps.0);
                self.missed -= piece.end - from;
            } else {
                all = false;
            }
        }
        self.filled += 1;
        all
    }

    fn new_data(&mut self, segment: &Segment, start: u64, end: u64, sink: &mut impl Sink) {
        self.flush(sink);
        if let Some(probe) = self.probe.take().filter(|probe| probe.end == start) {
            self.take_probe(probe, start, segment.now, sink);
        }
        if start > self.nxt {
            self.missed += start - self.nxt;
            self.put(self.nxt, start, segment.now, None);
            if let Some(mut hole) = self.pieces.last_entry() {
                hole.get_mut().unseen = true;
            }
        }
        self.put(start, end, segment.now, segment.stamps.map(|stamps| stamps.0));
        self.anchor = Some((end, segment.seq.wrapping_add(segment.payload)));
        let bytes = end - self.nxt.min(start);
        self.nxt = end;
        if !self.out.is_open() {
            self.flight = (segment.now, self.flight.1 + bytes);
        }
        self.demand.see(segment.now, self.inflight, self.rtt.srtt());
        self.tell_sent(segment.now, bytes, sink);
    }

    fn put(&mut self, start: u64, end: u64, at: Time, stamp: Option<u32>) {
        self.transmissions += 1;
        self.pieces.insert(
            start,
            Piece {
                end,
                at,
                transmission: self.transmissions,
                repeats: 0,
                sacked: false,
                unseen: false,
                stamp,
            },
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
        if !self.out.is_open() {
            self.wire_before += wire;
            return;
        }
        let sent =
            Sent { now, bytes, nxt: Seq(self.nxt), inflight: self.inflight, srtt: self.rtt.srtt() };
        self.out.step(Step::Event(Event::Sent(sent), wire), sink);
    }

    /// Splits the piece that contains `at`, so that a piece starts there.
    fn split(&mut self, at: u64) {
        if let Some((&start, &piece)) = self.pieces.range(..at).next_back()
            && piece.end > at
        {
            self.pieces.insert(start, Piece { end: at, ..piece });
            self.pieces.insert(at, piece);
        }
    }

    /// Records a retransmission.
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
        let stamp = segment.stamps.map(|stamps| stamps.0);
        for (from, piece) in self.pieces.range_mut(start..end).filter(|(_, piece)| !piece.sacked) {
            lost += piece.end - from;
            again |= piece.repeats > 0;
            last_lost = last_lost.max(Some(piece.transmission));
            // Within one tick of the sender's clock, all copies have the same timestamp, and an
            // echo does not tell them apart.
            let tells = piece.stamp.is_some() && piece.stamp != stamp;
            piece.stamp = stamp.filter(|_| tells);
            piece.repeats += 1;
            piece.at = now;
            piece.transmission = transmission;
        }
        if lost == 0 {
            return;
        }
        let since_heard = self.last_ack.map_or(Nanos::MAX, |at| now.since(at));
        let quiet = since_heard.min(now.since(self.last_sent));
        // RFC 8985 section 7: a tail loss probe retransmits the last segment after a silence; it is
        // no sign of a loss.
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
        let timeout =
            Congestion { now, timeout, nxt: Seq(self.nxt), inflight_before: self.inflight };
        self.out.step(Step::Event(Event::Congestion(timeout), 0), sink);
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
        let blank = Ack { inflight_before: self.inflight, ..Ack::blank(now) };
        let ack = self.pending.get_or_insert(blank);
        ack.lost += lost;
        ack.detail.lost_again |= again;
        ack.tx_lost = ack.tx_lost.max(last_lost);
        self.flush(sink);
    }

    /// Takes an ACK of the other end.
    pub(crate) fn on_ack(&mut self, segment: &Segment, sink: &mut impl Sink) {
        if segment.syn || self.first.is_none() {
            return;
        }
        // Acknowledgement numbers refer to this end's sequence numbers.
        let number = self.unwrap(segment.ack);
        if number > self.nxt
            && let Some(probe) = self.probe.filter(|probe| number <= probe.end)
        {
            self.take_probe(probe, number, segment.now, sink);
        }
        if number > self.nxt.saturating_add(1) {
            if number < self.nxt.saturating_add(FAR) {
                self.beyond = self.beyond.max(number);
            }
            return;
        }
        if number.saturating_add(FAR) < self.una {
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
                    news.add(start, &piece, segment, self.mss);
                }
            }
        }
        let duplicate = self.sack(number, segment, &mut news);
        let (advanced, overtaken) = (number > self.una, number < self.una);
        self.una = self.una.max(number);
        self.inflight -= news.bytes;
        let covered = Covered { bytes: news.bytes, packets: news.packets, advanced, overtaken };
        let marks = self.marks.on_ack(segment, &covered);
        let marked = marks.packets > 0;
        if advanced {
            self.timeouts_in_a_row = 0;
        }
        self.last_ack = Some(now);
        let rtt = news.rtt.map(|at| now.since(at));
        self.instant |= rtt == Some(Nanos::ZERO);
        let rtt = rtt.filter(|rtt| rtt.0 > 0).map(|rtt| rtt + self.near);
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        let limit = self.window;
        // With nothing outstanding, a program that watches a socket does not see the window.
        if news.bytes > 0 || marked || !self.is_settled() {
            self.take_window(number, segment.window);
        }
        if !overtaken && !segment.rst {
            self.closed = segment.window == 0;
        }
        if news.bytes == 0 && !marked {
            self.tell_edge(sink);
            self.see_needless(now, duplicate, sink);
            return;
        }
        let mut detail = AckDetail::default();
        detail.ce_bytes = self.marked_bytes(&marks, news.bytes);
        detail.receiver_ts = segment.stamps.map(|stamps| stamps.0);
        self.pending = Some(Ack {
            acked: news.bytes,
            acked_fresh: news.bytes,
            ce: marked,
            rtt,
            inflight_before: before,
            tx_acked: news.transmission,
            detail,
            ..Ack::blank(now)
        });
        self.marked = marks.packets;
        self.open(sink);
        if self.nxt - self.una + news.bytes + self.mss > limit {
            self.out.step(Step::ReceiverLimited(now), sink);
        }
        self.see_needless(now, duplicate, sink);
    }

    /// Payload of the marked packets: as the receiver counts it, or as many full segments.
    fn marked_bytes(&self, marks: &Marks, acked: u64) -> Option<u64> {
        let counted = marks
            .bytes
            .or_else(|| self.marks.counts().then(|| marks.packets.saturating_mul(self.mss)));
        counted.filter(|_| marks.packets > 0).map(|bytes| bytes.min(acked))
    }

    /// A window of unknown scale only gives a minimum of the scale, from the bytes in flight: right
    /// edges do not move back (RFC 9293 section 3.8.6).
    fn take_window(&mut self, number: u64, window: u16) {
        if let Some(scale) = self.window_scale() {
            self.window = u64::from(window) << scale;
            self.edge = self.edge.max(number.saturating_add(self.window));
            return;
        }
        let out = self.nxt.saturating_sub(number);
        while window > 0
            && self.least_scale < MOST_SCALE
            && u64::from(window) << self.least_scale < out
        {
            self.least_scale += 1;
        }
    }

    /// Processes the SACK blocks. Returns the number of bytes that the receiver reports as
    /// duplicates (RFC 2883).
    fn sack(&mut self, number: u64, segment: &Segment, news: &mut News) -> u64 {
        let blocks = segment.sacks.map(|block| {
            let (left, right) = block?;
            Some((self.unwrap(left), self.unwrap(right)))
        });
        let first = self.first.map_or(self.una, |(_, first)| first);
        let sacks = Sacks::judge(blocks, number, first..self.nxt);
        for (left, right) in sacks.blocks.into_iter().flatten() {
            // An overtaken ACK may report data that is acknowledged by now.
            let left = left.max(self.una);
            if left >= right {
                continue;
            }
            self.split(left);
            self.split(right);
            // Blocks are repeated in every ACK, so only new ones are processed.
            let mut at = left;
            while let Some((&start, piece)) =
                self.pieces.range_mut(at..right).find(|(_, piece)| !piece.sacked)
            {
                piece.sacked = true;
                at = piece.end;
                self.sacked += piece.end - start;
                let piece = *piece;
                news.add(start, &piece, segment, self.mss);
            }
        }
        sacks.duplicate.map_or(0, |(left, right)| right - left)
    }

    /// All retransmitted data proved unnecessary: the episode was a false alarm.
    fn see_needless(&mut self, now: Time, duplicate: u64, sink: &mut impl Sink) {
        self.needless += duplicate;
        if duplicate > 0 && self.repeated > 0 && self.needless >= self.repeated {
            (self.repeated, self.needless) = (0, 0);
            self.flush(sink);
            self.out.step(Step::Event(Event::Spurious { now }, 0), sink);
        }
    }

    fn flush(&mut self, sink: &mut impl Sink) {
        let Some(mut ack) = self.pending.take() else { return };
        let marks = std::mem::take(&mut self.marked);
        if !self.out.is_open() {
            return;
        }
        ack.una = Seq(self.una);
        ack.nxt = Seq(self.nxt);
        ack.tx_next = self.transmissions + 1;
        ack.flight = self.nxt - self.una;
        ack.sacked = self.sacked;
        ack.inflight = self.inflight.saturating_sub(ack.lost);
        ack.srtt = self.rtt.srtt();
        ack.sent = self.sent;
        ack.app_limited = self.demand.is_missing(ack.now, ack.inflight_before, ack.srtt);
        if marks > 1 {
            self.out.step(Step::Marks(marks), sink);
        }
        self.so_far.on_ack(&ack);
        self.out.step(Step::Event(Event::Ack(ack, self.so_far), 0), sink);
        self.tell_edge(sink);
    }

    /// Reports an advance of the receiver's right window edge.
    fn tell_edge(&mut self, sink: &mut impl Sink) {
        if self.out.is_open() && self.edge > self.told_edge {
            self.told_edge = self.edge;
            self.out.step(Step::ReceiverEdge(Seq(self.edge)), sink);
        }
    }

    fn open(&mut self, sink: &mut impl Sink) {
        if self.out.is_open() {
            return;
        }
        let (start, first) = self.first.unwrap_or((self.last_ack.unwrap_or(self.last_sent), 0));
        let round = self.rtt.min().or(self.handshake);
        let enough = self.begins() && self.flight.1 >= 6 * self.mss;
        let opening = Opening {
            name: self.name.clone(),
            group: None,
            origin: self.format.into(),
            transport: Transport::Tcp,
            made: start,
            start,
            mss: self.mss,
            first_flight: if self.begins() { self.flight.1 } else { 0 },
            first_flight_span: self.begins().then(|| self.flight.0.since(start)),
            nxt: Seq(first),
            paced: round.filter(|_| enough).map(|round| self.flight.0.since(start) * 8 > round),
            handshake_rtt: self.handshake,
            ran: None,
            stated: Stated::default(),
        };
        let sent = Sent {
            now: start,
            bytes: self.sent,
            nxt: Seq(self.nxt),
            inflight: self.inflight,
            srtt: self.handshake,
        };
        self.so_far.una = Seq(first);
        self.out.held = Some((opening, vec![Step::Event(Event::Sent(sent), self.wire_before)]));
        self.release(false, sink);
    }

    /// Withdraws what was reported.
    pub(crate) fn abandon(&mut self, sink: &mut impl Sink) {
        self.pending = None;
        if let Some(id) = self.out.id {
            sink.abandon(id);
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&mut self, sink: &mut impl Sink) {
        self.flush(sink);
        self.release(true, sink);
        if self.window_scale().is_none() {
            let unsure = Unsure::WindowScale { least: self.least_scale };
            self.out.step(Step::Unsure(unsure), sink);
        }
        if let Some(id) = self.out.id {
            sink.close(id);
        }
    }
}

/// Window scale option of a SYN.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// The SYN, or its options, are not in the capture.
    Unseen,
    Without,
    With(u8),
}

impl Scale {
    fn of(bits: Option<u8>) -> Scale {
        bits.map_or(Scale::Without, |bits| Scale::With(bits.min(MOST_SCALE)))
    }

    fn of_syn(syn: &Segment) -> Scale {
        if syn.cut && syn.scale.is_none() { Scale::Unseen } else { Scale::of(syn.scale) }
    }
}

/// Data newly delivered by one ACK.
#[derive(Default)]
struct News {
    bytes: u64,
    packets: u64,
    transmission: Option<u64>,
    /// Send time of the most recently sent data, if it is known which copy was delivered.
    rtt: Option<Time>,
}

impl News {
    fn add(&mut self, start: u64, piece: &Piece, segment: &Segment, mss: u64) {
        self.bytes += piece.end - start;
        self.packets += (piece.end - start).div_ceil(mss);
        if self.transmission.is_some_and(|known| known >= piece.transmission) {
            return;
        }
        self.transmission = Some(piece.transmission);
        // RFC 6298 section 3: retransmitted bytes give a sample only if the timestamp identifies
        // the copy.
        let echoed = segment.stamps.map(|stamps| stamps.1);
        let told = (piece.repeats == 0 && !piece.unseen)
            || (piece.stamp.is_some() && piece.stamp == echoed);
        self.rtt = told.then_some(piece.at);
    }
}
