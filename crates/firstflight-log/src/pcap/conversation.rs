//! A TCP connection of a capture: two ends, either of which may send data, and the record of its
//! capture quality.

use super::evidence::{Evidence, Steps};
use super::frame::{Endpoint, Frame};
use super::order::{Held, SKEW};
use super::tally::{LEAST_BYTES, Tally};
use super::verdict::{self, Seen};
use crate::quality::Trust;
use crate::segment::Segment;
use crate::sender::Sender;
use crate::step::Sink;
use firstflight::{Nanos, Time};

/// The format's name for people.
const FORMAT: &str = "capture of TCP";
/// A sender with outstanding data is not silent longer than this plus three round trips, because
/// its timer fires.
const LONGEST_REST: Nanos = Nanos::from_millis(1_200);

const FIRST_TIMER: Nanos = Nanos::from_secs(1);
/// Maximum number of SYNs of other connections that wait for their answer.
const MOST_RIVALS: usize = 16;
/// Longer than any timer of a TCP in use; those are capped at two minutes.
const LONGEST_TIMER: Nanos = Nanos::from_secs(300);

pub(super) struct Conversation {
    senders: [Sender; 2],
    ends: [Endpoint; 2],
    opening: Opening,
    /// The end at which the capture was taken, if the handshake leaves no doubt.
    local: Option<usize>,
    evidence: Evidence,
    /// The time of the last frame, with clock steps removed.
    pub(super) last: Time,
    /// Correction of the file's times for clock steps, ns.
    shift: i64,
    steps: Steps,
    /// The near half of the RTT that was added to the RTTs of each sender.
    added: [Nanos; 2],
    /// ACKs captured before the data they acknowledge, by the end that sent them.
    early: [Option<Segment>; 2],
    /// Data bytes of each end that are not tracked.
    passed: [u64; 2],
    reset: bool,
    finished: [bool; 2],
    /// SYNs with other sequence numbers: of the next connection between these ports, or blind ones
    /// that a live connection ignores (RFC 9293 section 3.10.7.4).
    rivals: Vec<Held>,
    /// Given up because of an internal error; further frames are ignored.
    pub(super) given_up: bool,
}

#[derive(Clone, Copy, Default)]
struct Opening {
    syn: Option<(Time, usize, u32)>,
    answer: Option<Time>,
    /// The acknowledgement number of a SYN/ACK that precedes its SYN in the capture.
    early: Option<u32>,
    /// The SYN, or the SYN/ACK, was retransmitted, so it is unknown which copy was answered.
    is_ambiguous: [bool; 2],
    is_over: bool,
}

impl Conversation {
    pub(super) fn new(file: &str, first: &Frame) -> Conversation {
        let (here, there) = (first.from, first.to);
        Conversation {
            senders: [
                Sender::new(format!("{file} {here} > {there}"), FORMAT),
                Sender::new(format!("{file} {there} > {here}"), FORMAT),
            ],
            ends: [here, there],
            opening: Opening::default(),
            local: None,
            evidence: Evidence::default(),
            last: first.segment.now,
            shift: 0,
            steps: Steps::default(),
            added: [Nanos::ZERO; 2],
            early: [None, None],
            passed: [0; 2],
            reset: false,
            finished: [false; 2],
            rivals: Vec::new(),
            given_up: false,
        }
    }

    /// Stops reading the connection and withdraws what was reported of it.
    pub(super) fn give_up(&mut self, sink: &mut impl Sink) {
        self.given_up = true;
        self.senders.iter_mut().for_each(|sender| sender.abandon(sink));
    }

    /// Whether the segment is a SYN, but not the one that started this connection.
    pub(super) fn began_otherwise(&self, segment: &Segment) -> bool {
        let is_answered = self.opening.early == Some(segment.seq.wrapping_add(1));
        segment.syn
            && !segment.has_ack
            && self.opening.syn.map_or(!is_answered, |(_, _, seq)| seq != segment.seq)
    }

    /// Keeps a SYN of another connection until its answer shows that it started one.
    pub(super) fn keep_rival(&mut self, held: Held) {
        if self.rivals.len() >= MOST_RIVALS {
            self.rivals.remove(0);
        }
        self.rivals.push(held);
    }

    /// The SYNs of the connection to which the frame belongs, if that is the next one: the frame
    /// acknowledges a SYN, or follows it.
    pub(super) fn take_rivals(&mut self, frame: &Frame) -> Option<Vec<Held>> {
        let segment = &frame.segment;
        let agrees = |rival: &Frame| {
            let first = rival.segment.seq.wrapping_add(1);
            let (number, is_there) = if frame.from == rival.from {
                (segment.seq, !segment.syn)
            } else {
                (segment.ack, segment.has_ack)
            };
            is_there && number.wrapping_sub(first) <= rival.segment.payload
        };
        let seq = self.rivals.iter().find(|rival| agrees(&rival.frame))?.frame.segment.seq;
        let rivals = std::mem::take(&mut self.rivals).into_iter();
        Some(rivals.filter(|rival| rival.frame.segment.seq == seq).collect())
    }

    pub(super) fn is_over(&self) -> bool {
        self.reset || (self.finished == [true; 2] && self.senders.iter().all(Sender::is_settled))
    }

    pub(super) fn take(&mut self, held: Held, sink: &mut impl Sink) {
        let Held { mut frame, late } = held;
        let from = usize::from(frame.from != self.ends[0]);
        self.evidence.stamp(frame.segment.now);
        frame.segment.now = self.steady(&frame.segment, from);
        if frame.segment.rst && !self.evidence.resets(from, &frame.segment) {
            return;
        }
        if self.evidence.is_copy(from, &frame, self.least_rtt()) {
            return;
        }
        self.evidence.late += u64::from(late);
        self.evidence.see(from, &frame);
        let segment = &frame.segment;
        self.last = segment.now;
        self.reset |= segment.rst;
        self.finished[from] |= segment.fin;
        self.place(segment, from);
        self.senders[from].learn(segment);
        self.senders[1 - from].learn_of_peer(segment);
        if self.local.is_some_and(|local| local != from) {
            self.passed[from] += u64::from(segment.payload);
        } else {
            self.senders[from].on_sent(segment, sink);
            self.catch_up(1 - from, segment.now, sink);
        }
        if segment.has_ack && self.local.is_none_or(|local| local != from) {
            if segment.payload == 0 && self.senders[1 - from].is_ahead(segment) {
                self.early[from] = Some(*segment);
            }
            self.senders[1 - from].on_ack(segment, sink);
        }
    }

    /// An ACK of end `from` that precedes its data in the capture is processed once the data is
    /// there.
    fn catch_up(&mut self, from: usize, now: Time, sink: &mut impl Sink) {
        let Some(ack) = &self.early[from] else { return };
        if self.senders[1 - from].is_ahead(ack) && now.since(ack.now) <= SKEW {
            return;
        }
        let Some(ack) = self.early[from].take() else { return };
        self.senders[1 - from].on_ack(&Segment { now, ..ack }, sink);
    }

    fn least_rtt(&self) -> Option<Nanos> {
        let rtts = self.senders.iter().filter_map(Sender::rtts).map(|(_, least)| least);
        rtts.min().or_else(|| self.evidence.turn())
    }

    /// The time of a segment on a clock without steps.
    fn steady(&mut self, segment: &Segment, from: usize) -> Time {
        let now = Time(segment.now.0.saturating_add_signed(self.shift));
        if now < self.last {
            let back = self.last.since(now);
            if back > SKEW {
                self.step(back.0.cast_signed());
            }
            return self.last;
        }
        let rest = now.since(self.last);
        if rest > LONGEST_REST && self.is_stalled(segment, from, rest) {
            self.step(-rest.0.cast_signed());
            return self.last;
        }
        now
    }

    fn step(&mut self, shift: i64) {
        self.shift = self.shift.saturating_add(shift);
        self.steps.count += 1;
        if self.steps.largest.unsigned_abs() < shift.unsigned_abs() {
            self.steps.largest = -shift;
        }
    }

    /// Whether data was outstanding during a silence that no sender's timer allows and that neither
    /// a backed-off timer nor a hole explains.
    fn is_stalled(&self, segment: &Segment, from: usize, rest: Nanos) -> bool {
        (0..2).any(|index| {
            let sender = &self.senders[index];
            // Before the first RTT sample, timers wait one second; some wait three.
            let smooth = sender.rtts().map_or(FIRST_TIMER, |(smooth, _)| smooth);
            let longest = LONGEST_REST.0.saturating_add(smooth.0.saturating_mul(3));
            let goes_on = if index == from {
                // A backed-off timer waits for minutes.
                let is_late = rest > LONGEST_TIMER && sender.is_repeat(segment);
                segment.payload > 0 && (sender.is_next(segment) || is_late)
            } else {
                segment.has_ack && !segment.rst && !sender.is_ahead(segment)
            };
            !sender.is_settled() && goes_on && rest.0 > longest
        })
    }

    /// Measures the handshake: which end answered at once, and which after a round trip.
    fn place(&mut self, segment: &Segment, from: usize) {
        let opening = &mut self.opening;
        match (segment.syn, segment.has_ack, opening.syn) {
            (true, false, known) => {
                opening.is_ambiguous[0] |= known.is_some();
                opening.syn = Some((segment.now, from, segment.seq));
                if opening.early.take().is_some() {
                    self.evidence.ends[1 - from].handshake = Some(Nanos::ZERO);
                    opening.answer = Some(segment.now);
                } else {
                    opening.answer = None;
                }
            }
            (true, true, None) => opening.early = Some(segment.ack),
            (true, true, Some((syn, opener, _))) if from != opener => {
                opening.is_ambiguous[1] |= opening.answer.is_some();
                if !opening.is_ambiguous[0] && opening.answer.is_none() {
                    self.evidence.ends[from].handshake = Some(segment.now.since(syn));
                }
                opening.answer = Some(segment.now);
            }
            (false, true, Some((_, opener, _))) if !opening.is_over && from == opener => {
                let Some(answer) = opening.answer else { return };
                opening.is_over = true;
                if !opening.is_ambiguous[1] {
                    self.evidence.ends[from].handshake = Some(segment.now.since(answer));
                }
                self.settle();
            }
            _ => {}
        }
    }

    /// Ends the handshake: decides which end is near and how much the RTTs lack.
    fn settle(&mut self) {
        let ends = &self.evidence.ends;
        let (Some(first), Some(second)) = (ends[0].handshake, ends[1].handshake) else { return };
        let rtt = first + second;
        let near = usize::from(second < first);
        if !verdict::is_near(ends[near].handshake.unwrap_or(rtt), rtt) {
            // The sender is far away, or the capture was taken in the middle: both directions are
            // tracked until the verdict.
            return;
        }
        self.local = Some(near);
        let half = [first, second][near];
        let added = if verdict::is_to_add(half, rtt) { half } else { Nanos::ZERO };
        self.senders[near].handshake([second, first][near] + added);
        self.senders[near].add_near(added);
        self.added[near] = added;
    }

    /// Makes the quality record and applies it.
    pub(super) fn finish(&mut self, tally: &mut Tally, sink: &mut impl Sink) {
        for index in 0..2 {
            self.catch_up(index, self.last, sink);
        }
        let bytes = [0, 1].map(|index| self.senders[index].delivered().max(self.passed[index]));
        let records = [0, 1].map(|index| {
            (bytes[index] >= LEAST_BYTES).then(|| verdict::judge(&self.evidence, &self.seen(index)))
        });
        let mut used = false;
        for (index, record) in records.iter().enumerate() {
            let sender = &mut self.senders[index];
            let believed = record.as_ref().filter(|record| record.trust != Trust::Refused);
            if let Some(record) = believed
                && let Some(id) = sender.settle(sink)
            {
                sink.judge(id, record);
                sender.close(sink);
                tally.used(record.unseen_bytes, record.left_out_bytes);
                used = true;
            } else {
                sender.abandon(sink);
            }
        }
        if used {
            return;
        }
        let refused =
            records.iter().zip(bytes).filter_map(|(record, bytes)| Some((record.as_ref()?, bytes)));
        if let Some((record, bytes)) = refused.max_by_key(|(_, bytes)| *bytes) {
            return tally.refused.add(bytes, record.vantage, || record.remarks.join("; "));
        }
        let sent = self.senders.iter().map(Sender::sent).max().unwrap_or(0);
        if bytes == [0; 2] && sent >= LEAST_BYTES {
            tally.one_way.add(sent);
        } else {
            tally.small(bytes[0].max(bytes[1]));
        }
    }

    /// The data of end `index` as its sender's state describes it.
    fn seen(&self, index: usize) -> Seen {
        let (sender, other) = (&self.senders[index], &self.senders[1 - index]);
        Seen {
            index,
            begins: sender.begins(),
            unseen: sender.missed(),
            out_of_order: self.evidence.late + sender.filled(),
            left_out: self.passed[1 - index].max(other.sent()),
            added: self.added[index],
            rtt: sender.rtts().map(|(_, least)| least),
            is_instant: sender.is_instant(),
            steps: self.steps,
            is_here: self.ends[0].is_loopback() || self.ends[0].is_host_of(&self.ends[1]),
        }
    }
}
