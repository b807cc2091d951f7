//! The data receiver: it reassembles the data, decides when to acknowledge, and builds the ACKs.
//!
//! Follows RFC 5681 section 4.2 (delayed ACKs), RFC 2018 and 2883 (SACK, DSACK), RFC 7323 sections
//! 4.3 (which timestamp is echoed) and 5.3 (PAWS). SACK compression, where the host has it, follows
//! Linux since 4.18 (the sysctls `tcp_comp_sack_delay_ns` and `tcp_comp_sack_nr`). Departures: D1
//! no quick acknowledgement of the first segments, unlike Linux: the experiments assume a plain
//! delayed ACK. D2 (Linux) PAWS tolerates one tick.

use super::buffers::ReceiveWindow;
use super::reassembly::{Arrival, BLOCKS, Range, Reassembly};
use super::{AckEvery, AckPacket, Host, Reads, SackCompression, Segment, tick_start, ticks};
use crate::reader::{Again, Reader};
use firstflight::detection::dupack::DUP_THRESH;
use firstflight::{Nanos, Time};

/// A slow application and what the sender knows of its buffer.
///
/// Follows Linux: the right edge never moves back, a window below a sixteenth of the buffer or a
/// segment counts as closed (`__tcp_select_window`), and reading sends an update as soon as it has
/// doubled a window of less than half the buffer (`__tcp_cleanup_rbuf`). Departure: an update that
/// nothing follows is sent again, where the sender would probe the window.
#[derive(Clone, Debug)]
struct Reading {
    reader: Reader,
    again: Again,
    /// One past the last byte that the sender may send.
    edge: u64,
    update_at: Option<Time>,
}

impl Reading {
    fn new(reads: Reads) -> Reading {
        let Reads { bps, rtt } = reads;
        let (reader, again) = (Reader::new(Some(bps)), Again::after(rtt));
        Reading { reader, again, edge: 0, update_at: None }
    }

    /// The window in an ACK of `next` that leaves at `now`, of a buffer for `full` bytes.
    fn window(&mut self, now: Time, next: u64, full: u64, mss: u64) -> u64 {
        let again = self.update_at.is_some_and(|at| at <= now);
        let free = full.saturating_sub(next - self.reader.read(now, next));
        let offer = if free < (full / 16).max(mss) { 0 } else { free };
        self.edge = self.edge.max(next + offer);
        self.plan(now, next, full, mss);
        let window = self.edge - next;
        if again && self.update_at.is_none() {
            self.update_at = Some(self.again.next(now));
        }
        window
    }

    /// Sets when the next update leaves.
    fn plan(&mut self, now: Time, next: u64, full: u64, mss: u64) {
        let left = self.edge.saturating_sub(next);
        let need = (2 * left).max(full / 16).max(mss);
        let target = (next + need).saturating_sub(full);
        let due = 2 * left <= full && need <= full && target > self.reader.position();
        self.update_at = due.then(|| self.reader.when(target).max(now + Nanos(1)));
    }
}

/// The receiving end of one TCP flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    data: Reassembly,
    window: ReceiveWindow,
    /// The application, if it does not read at once.
    reading: Option<Box<Reading>>,
    mss: u64,
    every: AckEvery,
    delay: u64,
    sack: bool,
    timestamps: bool,
    compression: Option<SackCompression>,
    /// ACKs that only added SACKs, sent since the acknowledgement number last moved; and ACKs held
    /// since the last one sent.
    only_sacks: u32,
    held: u32,
    unacked_segments: u32,
    last_ack: u64,
    ack_due: Option<Time>,
    /// The timestamp to echo.
    recent: u32,
    marks: u32,
    duplicate: Option<Range>,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(host: &Host) -> Receiver {
        Receiver {
            data: Reassembly::default(),
            window: ReceiveWindow::new(host.receive_buffer, u64::from(host.mss)),
            reading: host.reads.map(|reads| Box::new(Reading::new(reads))),
            mss: u64::from(host.mss),
            every: host.ack_every,
            delay: host.ack_delay,
            sack: host.preset.sack,
            timestamps: host.timestamps,
            compression: host.comp_sack.filter(|_| host.preset.sack),
            only_sacks: 0,
            held: 0,
            unacked_segments: 0,
            last_ack: 0,
            ack_due: None,
            recent: 0,
            marks: 0,
            duplicate: None,
        }
    }

    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.data.next()
    }

    /// Whether every byte from `from` up to `to` has arrived.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        to <= self.data.next()
            || self.data.holding(from.max(self.data.next())).is_some_and(|held| to <= held.to)
    }

    /// When a held-back ACK must leave.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        match &self.reading {
            None => self.ack_due,
            Some(reading) => self.ack_due.into_iter().chain(reading.update_at).min(),
        }
    }

    /// A segment arrives. Returns the ACK that leaves at once, if one does.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Option<AckPacket> {
        let range = Range { from: segment.from, to: segment.from + u64::from(segment.len) };
        if self.is_outdated(segment.stamp) {
            return Some(self.discard(now, range));
        }
        if let Some(reading) = &mut self.reading {
            reading.reader.read(now, self.data.next());
            reading.again.reset();
        }
        let whole = self.data.is_whole();
        let before = if self.held > 0 && self.would_forget(range) {
            Some(self.acknowledge(now))
        } else {
            None
        };
        let arrival = self.data.insert(range);
        // RFC7323 4.3-2: the earliest segment not yet acknowledged sets the echo, so that it covers
        // the receiver's delay.
        if segment.from <= self.last_ack && segment.stamp >= self.recent {
            self.recent = segment.stamp;
        }
        if self.window.is_growing() {
            let rtt = segment.echo.map(|echo| now.since(tick_start(echo)));
            let read = self.reading.as_ref().map(|reading| reading.reader.position());
            let read = read.unwrap_or(self.data.next());
            self.window.on_data(now, read, rtt, u64::from(segment.len));
        }
        if let Some(reading) = &mut self.reading {
            reading.plan(now, self.data.next(), self.window.bytes(), self.mss);
        }
        if arrival == Arrival::Duplicate {
            // RFC2883 4: reported once, in the very next ACK.
            self.duplicate = self.sack.then_some(range);
        }
        self.unacked_segments += 1;
        let due = match self.every {
            AckEvery::Segments(most) => self.unacked_segments >= most,
            AckEvery::Bytes(most) => self.data.next() - self.last_ack >= most,
        };
        if let Some(compression) =
            self.compression.filter(|_| arrival == Arrival::Ahead && !segment.marked)
            && self.compresses(compression)
        {
            if self.held == 1 {
                self.ack_due = Some(Time(now.0 + compression.hold));
            }
            return before;
        }
        // RFC5681 4.2: at once if out of order, or if it fills all or part of a gap; an ECN mark
        // cannot wait either.
        if due || segment.marked || !(whole && arrival == Arrival::InOrder) {
            self.marks += u32::from(segment.marked);
            return Some(self.acknowledge(now));
        }
        if self.ack_due.is_none() {
            self.ack_due = Some(Time(now.0 + self.delay));
        }
        None
    }

    /// RFC7323 5.3-R1: a segment that left before the one that last moved the acknowledgement
    /// number is not acceptable (PAWS). This includes a late original after a retransmission has
    /// filled a gap below it. D2: Linux tolerates a tick (`TCP_PAWS_WINDOW`).
    #[inline]
    fn is_outdated(&self, stamp: u32) -> bool {
        self.timestamps && stamp.saturating_add(1) < self.recent
    }

    /// Discards a segment and acknowledges at once. LINUX paws-dsack: the part that had arrived
    /// before is reported as a duplicate (`tcp_send_dupack`).
    #[cold]
    fn discard(&mut self, now: Time, Range { from, to }: Range) -> AckPacket {
        let next = self.data.next();
        if self.sack && from < next {
            self.duplicate = Some(Range { from, to: to.min(next) });
        }
        self.acknowledge(now)
    }

    /// If the receiver expects segments from this byte next: the longest time that it holds an ACK
    /// back.
    #[inline(always)]
    pub(super) fn runs(&self, from: u64) -> Option<Nanos> {
        let in_order = from == self.data.next()
            && self.data.is_whole()
            && self.held == 0
            && !self.window.is_growing()
            && self.reading.is_none();
        in_order.then_some(Nanos(self.delay))
    }

    /// Number of further in-order segments of this size after which an ACK leaves at once.
    #[inline(always)]
    pub(super) fn until_ack(&self, mss: u64) -> u64 {
        let left = match self.every {
            AckEvery::Segments(most) => u64::from(most.saturating_sub(self.unacked_segments)),
            AckEvery::Bytes(most) => {
                (self.last_ack.saturating_add(most)).saturating_sub(self.data.next()).div_ceil(mss)
            }
        };
        left.max(1)
    }

    /// The next `count` segments, `bytes` in total, arrive [as expected](Receiver::runs), unmarked
    /// and stamped `stamp`, from the first to the second of the two times, no more than [until an
    /// ACK](Receiver::until_ack). Equivalent to [`Receiver::on_segment`] for each.
    #[inline(always)]
    pub(super) fn on_run(
        &mut self,
        stamp: u32,
        bytes: u64,
        count: u64,
        (first, last): (Time, Time),
    ) -> Option<AckPacket> {
        // Only the first of them is the earliest unacknowledged segment.
        if self.data.next() <= self.last_ack && stamp >= self.recent {
            self.recent = stamp;
        }
        self.data.extend(bytes);
        self.unacked_segments += count as u32;
        let due = match self.every {
            AckEvery::Segments(most) => self.unacked_segments >= most,
            AckEvery::Bytes(most) => self.data.next() - self.last_ack >= most,
        };
        if due {
            return Some(self.acknowledge(last));
        }
        self.ack_due.get_or_insert(Time(first.0 + self.delay));
        None
    }

    /// LINUX comp-sack-blocks: whether this segment creates a block that would soon push another
    /// block out of the option unreported; if so, the held ACK is sent first.
    fn would_forget(&self, range: Range) -> bool {
        const EXPECTED: usize = 2;
        let blocks = self.data.blocks();
        let adjoins = |block: &Range| block.to == range.from || block.from == range.to;
        range.from > self.data.next()
            && blocks.len() >= EXPECTED
            && !blocks[..EXPECTED].iter().any(adjoins)
    }

    /// Whether an ACK that would only add a SACK is held back; counts the ACK.
    fn compresses(&mut self, compression: SackCompression) -> bool {
        // LINUX comp-sack: the first three are not held, so that the sender's fast retransmit is as
        // fast as without compression.
        self.only_sacks = self.only_sacks.saturating_add(1);
        let hold = self.only_sacks > DUP_THRESH && self.held < compression.most;
        self.held += u32::from(hold);
        hold
    }

    /// Acknowledges everything received so far.
    #[inline]
    pub fn acknowledge(&mut self, now: Time) -> AckPacket {
        if self.data.next() > self.last_ack {
            self.only_sacks = 0;
        }
        self.held = 0;
        self.unacked_segments = 0;
        self.ack_due = None;
        self.last_ack = self.data.next();
        let mut packet = AckPacket {
            ack: self.last_ack,
            window: match &mut self.reading {
                None => self.window.bytes(),
                Some(reading) => reading.window(now, self.last_ack, self.window.bytes(), self.mss),
            },
            marks: self.marks,
            stamp: ticks(now),
            echo: self.recent,
            ..AckPacket::default()
        };
        if self.sack && (self.duplicate.is_some() || !self.data.is_whole()) {
            self.report(&mut packet);
        }
        packet
    }

    /// Acknowledges everything up to `end`, whether or not it has arrived, in response to this
    /// segment.
    pub(super) fn claim(&mut self, now: Time, segment: &Segment, end: u64) -> AckPacket {
        let AckPacket { window, stamp, .. } = self.acknowledge(now);
        AckPacket { ack: end, window, stamp, echo: segment.stamp, ..AckPacket::default() }
    }

    /// Discards the data beyond the first gap. Returns `false` if there is none.
    pub(super) fn renege(&mut self) -> bool {
        let some = !self.data.is_whole();
        self.data.discard_ahead();
        some
    }

    /// RFC2883 4, RFC2018 4: the duplicate first, then the blocks that grew most recently.
    fn report(&mut self, packet: &mut AckPacket) {
        if let Some(duplicate) = self.duplicate.take() {
            (packet.blocks[0], packet.dsack, packet.count) = (duplicate, true, 1);
        }
        for &block in self.data.blocks() {
            if usize::from(packet.count) == BLOCKS {
                break;
            }
            packet.blocks[usize::from(packet.count)] = block;
            packet.count += 1;
        }
    }
}
