//! The sending applications: the data they write, and the times of the writes.
//!
//! An application sees two numbers of its connection: how far the stream is acknowledged, and how
//! far the send buffer accepts it. It writes a sequence of parts (responses, writes, blocks), and
//! each part records its own times.

use crate::media::{Media, Step};
use crate::nada::Params;
use firstflight::{Nanos, Time};

/// One response of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Pause before this response is written, counted from the end of the previous one (its last
    /// byte acknowledged) or from the start.
    pub pause: Nanos,
    /// Its size, bytes; at least 1.
    pub bytes: u64,
}

/// A sending application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum App {
    /// This many bytes, all available at the start.
    Bulk(u64),
    /// Unlimited data, available at the start: cross traffic. A trial does not wait for it.
    Endless,
    /// Responses on one connection, one after another, with pauses in between.
    Responses(Vec<Response>),
    /// A video of `bytes`: `first` at the start, then `write` bytes at each multiple of `every`. A
    /// connection that is too slow falls behind and catches up without another pause.
    Video {
        /// Total size, bytes.
        bytes: u64,
        /// Bytes written at the start.
        first: u64,
        /// Bytes of each later write.
        write: u64,
        /// Time between two writes.
        every: Nanos,
    },
    /// Blocks of this many bytes. Each is written as soon as the send buffer has taken the previous
    /// one, until the first block that is taken `run` or later after the start. The tool counts
    /// bytes that the buffer took, not bytes that arrived. Needs a send buffer: without one, a
    /// block counts as taken when it is acknowledged.
    Blocks {
        /// Bytes of a block, at least 1.
        block: u64,
        /// Time after which no further block is written.
        run: Nanos,
    },
    /// Adaptive media: frames at 30 per second, at the rate that NADA (RFC 8698) computes, in QUIC
    /// packets of 1000 bytes. See [`crate::nada`]. Only for flows that share a path.
    Nada {
        /// Rates that the encoder supports.
        rates: Params,
        /// Time after which no further frame is written.
        run: Nanos,
    },
}

/// Stream length of an application without end: no connection reaches it, and the sum of two such
/// lengths does not overflow.
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

    /// Rounds every part of the application, except a bulk object, up to whole packets of `payload`
    /// bytes.
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
    /// Offset of its start in the stream.
    pub from: u64,
    /// Offset of its end.
    pub to: u64,
    /// When the application started to write it.
    pub written: Time,
    /// When the send buffer had taken all of it.
    pub taken: Option<Time>,
    /// When its first byte was first sent.
    pub first_sent: Option<Time>,
    /// When its last byte and all earlier ones had reached the receiver.
    pub delivered: Option<Time>,
    /// When its last byte and all earlier ones were acknowledged.
    pub acked: Option<Time>,
    /// Its packets that the path dropped, retransmissions included.
    pub dropped: u32,
}

impl Part {
    /// Size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.to - self.from
    }

    /// Completion time: from the first byte sent to the last one delivered in order at the
    /// receiver.
    pub fn delivered_after(&self) -> Option<Nanos> {
        Some(self.delivered?.since(self.first_sent?))
    }

    /// Latency as a server sees it: from the first byte sent to the last byte acknowledged.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.acked?.since(self.first_sent?))
    }
}

/// A tool's report on an interval of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Start of the interval, counted from the start of the run.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
    /// Bytes of the blocks that the send buffer took during the interval.
    pub bytes: u64,
}

/// The report of a tool that counts whole blocks: an interval ends with the first block that is
/// taken at least `least` after the interval began; the last interval ends with the last block.
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
    /// Payload bytes of a packet: media is written in whole packets.
    payload: u64,
    /// Bytes of the media stream that were passed to the transport.
    released: u64,
}

impl Application {
    /// An application that starts at `start` and writes into packets of `payload` bytes.
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

    /// Moves the start to `start`. Only before anything was written.
    pub(crate) fn restart(&mut self, start: Time) {
        *self = Application::new(self.app.clone(), start, self.payload);
    }

    /// The time of the next write, if it depends on time alone.
    pub(crate) fn next_write(&self) -> Option<Time> {
        self.next_write
    }

    /// Whether it needs to know which packets arrive, and which of those the sender knows about.
    pub(crate) fn is_media(&self) -> bool {
        self.media.is_some()
    }

    /// A packet left.
    pub(crate) fn on_left(&mut self, now: Time, number: u64) {
        if let Some(media) = &mut self.media {
            media.on_sent(now, number);
        }
    }

    /// A packet arrived.
    pub(crate) fn on_arrived(&mut self, now: Time, number: u64, marked: bool) {
        if let Some(media) = &mut self.media {
            media.on_arrived(now, number, marked);
        }
    }

    /// The sender knows that this many packets have arrived.
    pub(crate) fn on_heard(&mut self, now: Time, packets: u64) {
        if let Some(media) = &mut self.media {
            media.on_heard(now, packets);
        }
    }

    /// Whether everything is written and acknowledged; with blocks, whether the last one is taken.
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

    /// The stream is acknowledged up to `acked`, and the buffer accepts it up to `accepts`. Returns
    /// the new end of the written data if it changed.
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

    /// [`Application::on_progress`] for media: frames that are due become parts, and their packets
    /// leave one by one.
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

    /// Marks parts as taken and acknowledged, and schedules the next write if it waits for that.
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

    /// Writes the part that is due. Returns the time of the next write if it depends on time alone.
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

    /// The receiver has the stream in order up to `delivered`.
    pub(crate) fn on_delivered(&mut self, now: Time, delivered: u64) {
        while let Some(part) =
            self.parts.get_mut(self.delivered).filter(|part| part.to <= delivered)
        {
            part.delivered = Some(now);
            self.delivered += 1;
        }
    }

    /// A packet that starts at `offset` left.
    pub(crate) fn on_sent(&mut self, now: Time, offset: u64) {
        if let Some(part) = self.part_at(offset) {
            part.first_sent.get_or_insert(now);
        }
    }

    /// The path dropped the packet at `offset`.
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
