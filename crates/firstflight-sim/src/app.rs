//! What the sending application writes, and when.
//!
//! An application sees two numbers of its connection: how far the stream is acknowledged, and how
//! far the send buffer takes it. What it writes is a row of parts (responses, writes, blocks), of
//! which each keeps its own times.

use crate::media::{Media, Step};
use firstflight::nada::Params;
use firstflight::{Nanos, Time};

/// One response of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// From the end of the one before (its last byte acknowledged), or from the start, until this
    /// one is written.
    pub pause: Nanos,
    /// Its size, bytes; at least 1.
    pub bytes: u64,
}

/// A sending application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum App {
    /// So many bytes, all there from the start.
    Bulk(u64),
    /// Bytes without end, all there from the start: cross traffic. A trial does not wait for it.
    Endless,
    /// Responses on one connection, one after the other, with pauses between them.
    Responses(Vec<Response>),
    /// A video of `bytes`: `first` at once, then another `write` bytes at each multiple of `every`
    /// from the start. A slow connection falls behind that, and catches up without another
    /// pause.
    Video {
        /// All of it, bytes.
        bytes: u64,
        /// Of these, written at once.
        first: u64,
        /// Bytes of each later write.
        write: u64,
        /// Time between two of them.
        every: Nanos,
    },
    /// Blocks of so many bytes, each written as soon as the send buffer has taken the one before,
    /// until the first that is taken `run` or later after the start. What the tool counts are
    /// bytes that the buffer took, not bytes that arrived. Needs a send buffer: without one
    /// a block counts as taken when it is acknowledged.
    Blocks {
        /// Bytes of a block, at least 1.
        block: u64,
        /// After which no further block is written.
        run: Nanos,
    },
    /// Frames, 30 a second, at the rate that NADA (RFC 8698) says, in QUIC packets of 1000 bytes:
    /// media that adapts. See [`firstflight::nada`]. Only where flows share a path.
    Nada {
        /// What the encoder can do.
        rates: Params,
        /// After which no further frame is written.
        run: Nanos,
    },
}

/// The stream of an application that writes without end: no connection gets there, and sums of two
/// of them do not overflow.
const ENDLESS: u64 = u64::MAX / 8;

impl App {
    /// Bytes of the whole stream.
    pub fn bytes(&self) -> u64 {
        match self {
            App::Bulk(bytes) | App::Video { bytes, .. } => *bytes,
            App::Responses(responses) => {
                responses.iter().map(|response| response.bytes).fold(0, u64::saturating_add)
            }
            App::Endless | App::Blocks { .. } | App::Nada { .. } => ENDLESS,
        }
    }

    /// The same with every part but a bulk object grown to whole packets of `payload` bytes.
    #[must_use]
    pub fn in_packets(&self, payload: u64) -> App {
        let whole = |bytes: u64| bytes.div_ceil(payload.max(1)) * payload;
        match self {
            App::Bulk(_) | App::Endless | App::Nada { .. } => self.clone(),
            App::Responses(responses) => App::Responses(
                responses
                    .iter()
                    .map(|response| Response { bytes: whole(response.bytes), ..*response })
                    .collect(),
            ),
            App::Video { bytes, first, write, every } => App::Video {
                bytes: whole(*bytes),
                first: whole(*first),
                write: whole(*write),
                every: *every,
            },
            App::Blocks { block, run } => App::Blocks { block: whole(*block), run: *run },
        }
    }
}

/// A part of the stream: one response, one write, one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins in the stream.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// When the application began to write it.
    pub written: Time,
    /// When the send buffer had taken all of it.
    pub taken: Option<Time>,
    /// When its first byte was first sent.
    pub first_sent: Option<Time>,
    /// When its last byte, and all before it, had reached the receiver.
    pub delivered: Option<Time>,
    /// When its last byte, and all before it, was acknowledged.
    pub acked: Option<Time>,
    /// Packets of it that the path dropped, repeats included.
    pub dropped: u32,
}

impl Part {
    /// Its size.
    pub const fn bytes(&self) -> u64 {
        self.to - self.from
    }

    /// Completion time: from the first byte sent to the last one delivered in order at the
    /// receiver.
    pub fn delivered_after(&self) -> Option<Nanos> {
        Some(self.delivered?.since(self.first_sent?))
    }

    /// Latency as a server sees it: from the first byte sent to the last one acknowledged.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.acked?.since(self.first_sent?))
    }
}

/// Report of a tool over an interval of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its begin, from the start of the run.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Bytes of the blocks that the send buffer took in it.
    pub bytes: u64,
}

/// The report of a tool that counts whole blocks: an interval closes with the first block that is
/// taken `least` or later after its begin, the last one with the last block.
pub fn intervals(parts: &[Part], start: Time, least: Nanos) -> Vec<Interval> {
    let mut report = Vec::new();
    let mut open = Interval { from: Nanos::ZERO, to: Nanos::ZERO, bytes: 0 };
    for (part, taken) in parts.iter().filter_map(|part| part.taken.map(|taken| (part, taken))) {
        open.bytes += part.bytes();
        open.to = taken.since(start);
        if open.to.0 - open.from.0 >= least.0 {
            report.push(open);
            open = Interval { from: open.to, to: open.to, bytes: 0 };
        }
    }
    if open.bytes > 0 {
        report.push(open);
    }
    report
}

/// A running application.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    app: App,
    start: Time,
    parts: Vec<Part>,
    next_write: Option<Time>,
    /// Parts taken by the buffer, delivered, and acknowledged.
    taken: usize,
    delivered: usize,
    acked: usize,
    done: bool,
    media: Option<Box<Media>>,
    /// Bytes of a packet: media is written in whole ones.
    payload: u64,
    /// How far the media stream is handed to the transport.
    released: u64,
}

impl Application {
    /// One that starts at `start` and writes into packets of `payload` bytes.
    pub(crate) fn new(app: App, start: Time, payload: u64) -> Application {
        let media = match app {
            App::Nada { rates, run } => Some(Box::new(Media::new(rates, run, start))),
            _ => None,
        };
        let next_write = match &app {
            App::Responses(responses) => responses.first().map(|first| start + first.pause),
            _ => Some(start),
        };
        Application {
            app,
            start,
            parts: Vec::new(),
            next_write,
            taken: 0,
            delivered: 0,
            acked: 0,
            done: next_write.is_none(),
            media,
            payload,
            released: 0,
        }
    }

    /// It starts at `start` and not when it was meant to. Only before it wrote anything.
    pub(crate) fn restart(&mut self, start: Time) {
        *self = Application::new(self.app.clone(), start, self.payload);
    }

    /// When it wants to write next, if that depends on time alone.
    pub(crate) fn next_write(&self) -> Option<Time> {
        self.next_write
    }

    /// It wants to know of packets that arrive, and of those that the sender knows to have.
    pub(crate) fn is_media(&self) -> bool {
        self.media.is_some()
    }

    /// A packet left.
    pub(crate) fn on_left(&mut self, now: Time, number: u64) {
        if let Some(media) = &mut self.media {
            media.on_sent(now, number);
        }
    }

    /// It arrived.
    pub(crate) fn on_arrived(&mut self, now: Time, number: u64, marked: bool) {
        if let Some(media) = &mut self.media {
            media.on_arrived(now, number, marked);
        }
    }

    /// The sender knows that so many packets have arrived.
    pub(crate) fn on_heard(&mut self, now: Time, packets: u64) {
        if let Some(media) = &mut self.media {
            media.on_heard(now, packets);
        }
    }

    /// It has written everything, and everything is acknowledged; of blocks, the last one is taken.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    fn written(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.to)
    }

    fn write(&mut self, now: Time, bytes: u64) {
        let from = self.written();
        let to = from.saturating_add(bytes);
        self.parts.push(Part {
            from,
            to,
            written: now,
            taken: None,
            first_sent: None,
            delivered: None,
            acked: None,
            dropped: 0,
        });
    }

    /// The stream is acknowledged up to `acked`, and the buffer takes it up to `accepts`. Returns
    /// how far it is written, if that changed.
    pub(crate) fn on_progress(&mut self, now: Time, acked: u64, accepts: u64) -> Option<u64> {
        self.settle(now, acked, accepts);
        if self.media.is_some() {
            return self.on_media(now);
        }
        let before = self.written();
        while self.next_write.is_some_and(|due| due <= now) {
            self.next_write = self.write_next(now);
            self.settle(now, acked, accepts);
        }
        self.done |= self.next_write.is_none()
            && self.acked == self.parts.len()
            && self.written() >= self.app.bytes();
        (self.written() > before).then(|| self.written())
    }

    /// The same of media: frames that are due are parts, and their packets leave one by one.
    fn on_media(&mut self, now: Time) -> Option<u64> {
        let before = self.released;
        while let Some(step) = self.media.as_mut().and_then(|media| media.step(now)) {
            match step {
                Step::Frame(0) => {}
                Step::Frame(packets) => self.write(now, packets * self.payload),
                Step::Release => self.released += self.payload,
            }
        }
        let media = self.media.as_ref();
        self.next_write = media.and_then(|media| media.next());
        self.done |= media.is_some_and(|media| media.is_over()) && self.acked == self.parts.len();
        (self.released > before).then_some(self.released)
    }

    /// Marks parts as taken and acknowledged, and sets the next write where that is what it waits
    /// for.
    fn settle(&mut self, now: Time, acked: u64, accepts: u64) {
        while self.taken < self.parts.len() && self.parts[self.taken].to <= accepts {
            self.parts[self.taken].taken = Some(now);
            self.taken += 1;
            if let App::Blocks { run, .. } = self.app {
                self.done = now.since(self.start) >= run;
                self.next_write = (!self.done).then_some(now);
            }
        }
        while self.acked < self.parts.len() && self.parts[self.acked].to <= acked {
            self.parts[self.acked].acked = Some(now);
            self.acked += 1;
            if let App::Responses(responses) = &self.app {
                self.next_write = responses.get(self.parts.len()).map(|next| now + next.pause);
            }
        }
    }

    /// Writes the part that is due; says when the next one is, if time alone decides.
    fn write_next(&mut self, now: Time) -> Option<Time> {
        let count = self.parts.len();
        match &self.app {
            App::Bulk(_) | App::Endless | App::Nada { .. } => {
                self.write(now, self.app.bytes());
                None
            }
            App::Responses(responses) => {
                let bytes = responses.get(count).map_or(1, |response| response.bytes.max(1));
                self.write(now, bytes);
                None
            }
            &App::Video { bytes, first, write, every } => {
                let next = if count == 0 { first } else { write };
                self.write(now, next.max(1).min(bytes - self.written()));
                (self.written() < bytes).then(|| self.start + every * (count as u64 + 1))
            }
            &App::Blocks { block, .. } => {
                self.write(now, block.max(1));
                None
            }
        }
    }

    /// The stream reached the receiver in order up to `delivered`.
    pub(crate) fn on_delivered(&mut self, now: Time, delivered: u64) {
        while let Some(part) =
            self.parts.get_mut(self.delivered).filter(|part| part.to <= delivered)
        {
            part.delivered = Some(now);
            self.delivered += 1;
        }
    }

    /// A packet that begins at `offset` left.
    pub(crate) fn on_sent(&mut self, now: Time, offset: u64) {
        if let Some(part) = self.part_at(offset) {
            part.first_sent.get_or_insert(now);
        }
    }

    /// The path dropped it.
    pub(crate) fn on_dropped(&mut self, offset: u64) {
        if let Some(part) = self.part_at(offset) {
            part.dropped += 1;
        }
    }

    fn part_at(&mut self, offset: u64) -> Option<&mut Part> {
        let place = self.parts.partition_point(|part| part.to <= offset);
        self.parts.get_mut(place)
    }
}
