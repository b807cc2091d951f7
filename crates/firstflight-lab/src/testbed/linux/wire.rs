//! Makes a log from packets seen at both ends of a link: what the sender must have learned from each
//! ACK.
//!
//! The kernel's own state cannot be read once per ACK, but all of its inputs cross the link. Known
//! exactly are times, bytes, SACK blocks, RTT samples of data sent once, the receiver's clock, and
//! drops. Two things are inferred, which is why the log is marked as from the
//! [wire](firstflight_log::trace::Source::Wire):
//! * a segment counts as lost with the last ACK before its retransmission, which is the latest time
//!   at which the sender declared it lost;
//! * the window was the limit at an ACK if it had room for less than one more segment.

use firstflight::event::Transport;
use firstflight::signal::rtt::{Rfc6298Rtt, RtoParams};
use firstflight::{Ack, AckDetail, Event, Nanos, Sent, Seq, SoFar, Time};
use firstflight_linux::link::{Place, Sight};
use firstflight_log::Segment;
use firstflight_log::marks::{Covered, MarkReader};
use firstflight_log::segment::Sacks;
use firstflight_log::trace::{LogWriter, Packet, Ranges, Received, State, What, ranges};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Window and related state at a time, as far as known.
pub(crate) type Look<'a> = dyn Fn(Time) -> Option<State> + 'a;

/// One transmission.
#[derive(Clone, Copy)]
struct Sending {
    at: Time,
    len: u64,
    once: bool,
    /// Whether it is in the network, from the sender's view.
    out: bool,
}

/// A segment that is not yet acknowledged cumulatively.
#[derive(Clone, Copy)]
struct Piece {
    end: u64,
    sending: usize,
    sacked: bool,
}

struct Reader<'a> {
    mss: u64,
    look: &'a Look<'a>,
    /// Sequence number of the first data byte, if one was seen.
    first: Option<u32>,
    una: u64,
    nxt: u64,
    pieces: BTreeMap<u64, Piece>,
    sendings: Vec<Sending>,
    inflight: u64,
    so_far: SoFar,
    sent: u64,
    marks: MarkReader,
    rtt: Rfc6298Rtt,
    /// Object bytes at the receiver: in order, and then those behind holes.
    in_order: u64,
    waiting: BTreeMap<u64, u64>,
    entries: Vec<(What, State)>,
    last_ack: Option<usize>,
}

/// Arrival times of each transmission at the receiver.
fn arrivals(sights: &[Sight]) -> HashMap<(u16, u32), VecDeque<u64>> {
    let mut arrivals: HashMap<(u16, u32), VecDeque<u64>> = HashMap::new();
    for sight in sights.iter().filter(|sight| sight.place == Place::ReceiverIn) {
        let key = (sight.id, sight.segment.seq);
        arrivals.entry(key).or_default().push_back(sight.segment.now.0);
    }
    arrivals
}

/// Writes the contents of `sights` to a log that has been started. Times count from the first data.
/// Returns the time from the start of the link to the first data; `None` if there was no data.
pub(crate) fn read(
    log: &mut LogWriter,
    sights: &[Sight],
    mss: u64,
    look: &Look<'_>,
) -> Option<u64> {
    let mut order: Vec<&Sight> = sights.iter().collect();
    order.sort_by_key(|sight| sight.segment.now);
    let is_data = |sight: &&&Sight| sight.place == Place::SenderOut && sight.segment.payload > 0;
    let begin = order.iter().find(is_data)?.segment.now.0;
    let mut arrived = arrivals(sights);
    let mut reader = Reader {
        mss: mss.max(1),
        look,
        first: None,
        una: 0,
        nxt: 0,
        pieces: BTreeMap::new(),
        sendings: Vec::new(),
        inflight: 0,
        so_far: SoFar::new(Transport::Tcp, Seq(0)),
        sent: 0,
        marks: MarkReader::default(),
        rtt: Rfc6298Rtt::new(RtoParams::LINUX),
        in_order: 0,
        waiting: BTreeMap::new(),
        entries: Vec::new(),
        last_ack: None,
    };
    for sight in order {
        let segment = &sight.segment;
        match sight.place {
            Place::SenderOut => reader.marks.see_own(segment),
            Place::SenderIn => reader.marks.see_peer(segment),
            Place::ReceiverIn | Place::ReceiverOut => {}
        }
        let Some(now) = segment.now.0.checked_sub(begin).map(Time) else { continue };
        match sight.place {
            Place::SenderOut if segment.payload > 0 => {
                let reached =
                    arrived.get_mut(&(sight.id, segment.seq)).and_then(VecDeque::pop_front);
                let number = reader.sends(now, sight, reached.is_none());
                if let Some(at) = reached {
                    let stream =
                        reader.place(segment.seq).map(|seq| (seq, u64::from(segment.payload)));
                    log.receives(
                        Time(at.saturating_sub(begin)),
                        Received::Data { number, bytes: u64::from(sight.len), stream },
                    );
                }
            }
            Place::SenderIn => reader.hears(now, segment),
            Place::ReceiverIn if segment.payload > 0 => reader.arrives(segment),
            Place::ReceiverOut if segment.has_ack && segment.payload == 0 && !segment.syn => {
                log.acknowledges(now, u64::from(sight.len));
            }
            Place::SenderOut | Place::ReceiverIn | Place::ReceiverOut => {}
        }
    }
    for (what, state) in reader.entries {
        if let What::Event { event, .. } = &what {
            log.push(event.now(), what, Some(state), Vec::new());
        }
    }
    Some(begin)
}

impl Reader<'_> {
    /// Offset of a sequence number in the stream; `None` before the first byte.
    fn place(&self, seq: u32) -> Option<u64> {
        let first = self.first?;
        // The offset nearest to the oldest unacknowledged byte.
        let offset = seq.wrapping_sub(first).wrapping_sub(self.una as u32) as i32;
        self.una.checked_add_signed(i64::from(offset))
    }

    fn state(&self, now: Time, rtt: Option<Nanos>, lost: u64) -> State {
        let known = (self.look)(now).unwrap_or_default();
        State { inflight: self.inflight, rtt, delivered: self.in_order, lost, ..known }
    }

    /// Handles a data segment that leaves. Returns the number of the transmission.
    fn sends(&mut self, now: Time, sight: &Sight, dropped: bool) -> u64 {
        let segment = &sight.segment;
        let len = u64::from(segment.payload);
        self.first.get_or_insert(segment.seq);
        let seq = self.place(segment.seq).unwrap_or(0);
        let repeat = seq < self.nxt;
        if repeat {
            self.give_up(seq, seq + len);
        }
        let number = self.sendings.len();
        self.sendings.push(Sending { at: now, len, once: !repeat, out: true });
        if repeat {
            let pieces = self.pieces.range_mut(seq..seq + len);
            pieces.filter(|(_, piece)| !piece.sacked).for_each(|(_, piece)| piece.sending = number);
        } else {
            self.pieces.insert(seq, Piece { end: seq + len, sending: number, sacked: false });
        }
        self.nxt = self.nxt.max(seq + len);
        self.inflight += len;
        self.sent += len;
        let sent = Event::Sent(Sent {
            now,
            bytes: len,
            nxt: Seq(self.nxt),
            inflight: self.inflight,
            srtt: self.rtt.srtt(),
        });
        let packet = Packet {
            number: number as u64,
            bytes: u64::from(sight.len),
            stream: Some((seq, len)),
            repeat: Some(repeat),
            dropped,
        };
        self.note(sent, Some(packet), (Vec::new(), Vec::new()), None, 0);
        number as u64
    }

    /// Declares data from `from` to `to`, which is retransmitted, lost with the last ACK at the
    /// latest.
    fn give_up(&mut self, from: u64, to: u64) {
        let Some(last) = self.last_ack else { return };
        for piece in
            self.pieces.range(from..to).map(|(_, piece)| *piece).filter(|piece| !piece.sacked)
        {
            let sending = &mut self.sendings[piece.sending];
            if !std::mem::take(&mut sending.out) {
                continue;
            }
            self.inflight = self.inflight.saturating_sub(sending.len);
            let (bytes, number, again) = (sending.len, piece.sending as u64, !sending.once);
            let (What::Event { event: Event::Ack(ack, _), lost, .. }, state) =
                &mut self.entries[last]
            else {
                continue;
            };
            ack.lost += bytes;
            ack.inflight = ack.inflight.saturating_sub(bytes);
            ack.tx_lost = ack.tx_lost.max(Some(number));
            ack.detail.lost_again |= again;
            state.lost = ack.lost;
            state.inflight = ack.inflight;
            let mut numbers: Vec<u64> = lost.iter().flat_map(|(from, to)| *from..=*to).collect();
            numbers.push(number);
            *lost = ranges(&numbers);
        }
    }

    /// Handles an ACK that reaches the sender.
    fn hears(&mut self, now: Time, segment: &Segment) {
        if !segment.has_ack || segment.syn {
            return;
        }
        let Some(upto) = self.place(segment.ack) else { return };
        // The end of the connection is acknowledged as one additional byte.
        let upto = upto.min(self.nxt);
        let inflight_before = self.inflight;
        let mut news: Vec<usize> = Vec::new();
        let blocks = segment.sacks.map(|block| {
            let (from, to) = block?;
            self.place(from).zip(self.place(to))
        });
        let sacks = Sacks::judge(blocks, upto, 0..self.nxt);
        for (from, to) in sacks.blocks.into_iter().flatten() {
            for (_, piece) in self
                .pieces
                .range_mut(from..to)
                .filter(|(_, piece)| piece.end <= to && !piece.sacked)
            {
                piece.sacked = true;
                news.push(piece.sending);
            }
        }
        let (advanced, overtaken) = (upto > self.una, upto < self.una);
        while let Some(piece) = self.pieces.first_entry().filter(|piece| piece.get().end <= upto) {
            let piece = piece.remove();
            if !piece.sacked {
                news.push(piece.sending);
            }
        }
        self.una = self.una.max(upto);
        let bytes: u64 = news.iter().map(|number| self.sendings[*number].len).sum();
        for number in &news {
            let sending = &mut self.sendings[*number];
            if std::mem::take(&mut sending.out) {
                self.inflight = self.inflight.saturating_sub(sending.len);
            }
        }
        // RFC6298 3-1: data sent twice gives no RTT sample.
        let once = news
            .iter()
            .map(|number| self.sendings[*number])
            .filter(|sending| sending.once)
            .map(|sending| sending.at)
            .max();
        let rtt = once
            .filter(|_| news.iter().all(|number| self.sendings[*number].once))
            .map(|sent| now.since(sent));
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt);
        }
        let covered = Covered { bytes, packets: news.len() as u64, advanced, overtaken };
        let marks = self.marks.on_ack(segment, &covered);
        let ce = marks.packets > 0;
        let counted = marks
            .bytes
            .or_else(|| self.marks.counts().then(|| marks.packets.saturating_mul(self.mss)));
        if bytes == 0 && !advanced && !ce {
            return;
        }
        let sacked = self
            .pieces
            .values()
            .filter(|piece| piece.sacked)
            .map(|piece| self.sendings[piece.sending].len)
            .sum();
        let cwnd = (self.look)(now).map_or(0, |state| state.cwnd);
        let numbers: Vec<u64> = news.iter().map(|number| *number as u64).collect();
        let mut detail = AckDetail::default();
        detail.ce_bytes = counted.filter(|_| ce).map(|marked| marked.min(bytes));
        detail.receiver_ts = segment.stamps.map(|(value, _)| value);
        let ack = Ack {
            now,
            acked: bytes,
            acked_fresh: bytes,
            ce,
            rtt,
            srtt: self.rtt.srtt(),
            una: Seq(self.una),
            nxt: Seq(self.nxt),
            flight: self.nxt.saturating_sub(self.una),
            sacked,
            inflight_before,
            inflight: self.inflight,
            sent: self.sent,
            tx_acked: numbers.iter().max().copied(),
            tx_next: self.sendings.len() as u64,
            cwnd_limited: inflight_before + self.mss > cwnd,
            lost: 0,
            tx_lost: None,
            app_limited: false,
            detail,
        };
        self.so_far.on_ack(&ack);
        self.last_ack = Some(self.entries.len());
        self.note(Event::Ack(ack, self.so_far), None, (ranges(&numbers), Vec::new()), rtt, 0);
    }

    /// Handles a data segment that reaches the receiver.
    fn arrives(&mut self, segment: &Segment) {
        let Some(seq) = self.place(segment.seq) else { return };
        let end = seq + u64::from(segment.payload);
        let longest = self.waiting.entry(seq).or_default();
        *longest = end.max(*longest);
        while let Some((&from, &to)) =
            self.waiting.first_key_value().filter(|(from, _)| **from <= self.in_order)
        {
            self.waiting.remove(&from);
            self.in_order = self.in_order.max(to);
        }
    }

    fn note(
        &mut self,
        event: Event,
        packet: Option<Packet>,
        (acked, lost): (Ranges, Ranges),
        rtt: Option<Nanos>,
        bytes: u64,
    ) {
        let state = self.state(event.now(), rtt, bytes);
        self.entries.push((What::Event { event, packet, acked, lost }, state));
    }
}

#[cfg(test)]
mod tests;
