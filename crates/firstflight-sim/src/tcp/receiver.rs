//! The data receiver: reassembles, decides when to acknowledge, and says what it has.
//!
//! Follows RFC 5681 section 4.2 (delayed ACKs), RFC 2018 and 2883 (SACK, DSACK), RFC 7323 section 4.3 (which time stamp is echoed).
//! Departures: D1 no quick acknowledgement of the first segments, as Linux has it: the experiments assume a plain delayed ACK.

use super::buffers::ReceiveWindow;
use super::reassembly::{Arrival, BLOCKS, Range, Reassembly};
use super::{AckEvery, AckPacket, Host, Segment, tick_start, ticks};
use firstflight::Time;

/// The receiving end of one TCP flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    data: Reassembly,
    window: ReceiveWindow,
    every: AckEvery,
    delay: u64,
    sack: bool,
    unacked_segments: u32,
    last_ack: u64,
    ack_due: Option<Time>,
    /// The time stamp to echo.
    recent: u32,
    marks: u32,
    duplicate: Option<Range>,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(host: &Host) -> Receiver {
        Receiver {
            data: Reassembly::default(),
            window: ReceiveWindow::new(host.receive_buffer, u64::from(host.mss)),
            every: host.ack_every,
            delay: host.ack_delay,
            sack: host.preset.sack,
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

    /// When a held-back ACK must leave.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        self.ack_due
    }

    /// A segment arrives. Returns the ACK that leaves at once, if one does.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Option<AckPacket> {
        let range = Range { from: segment.from, to: segment.from + u64::from(segment.len) };
        let whole = self.data.is_whole();
        let arrival = self.data.insert(range);
        // RFC7323 4.3-2: the earliest segment not yet acknowledged sets the echo, so that it covers the receiver's delay.
        if segment.from <= self.last_ack && segment.stamp >= self.recent {
            self.recent = segment.stamp;
        }
        if self.window.is_growing() {
            let rtt = segment.echo.map(|echo| now.since(tick_start(echo)));
            self.window.on_data(now, self.data.next(), rtt);
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
        // RFC5681 4.2: at once if out of order, or if it fills all or part of a gap; a mark cannot wait either.
        if due || segment.marked || !(whole && arrival == Arrival::InOrder) {
            self.marks += u32::from(segment.marked);
            return Some(self.acknowledge(now));
        }
        if self.ack_due.is_none() {
            self.ack_due = Some(Time(now.0 + self.delay));
        }
        None
    }

    /// Everything received so far, acknowledged now.
    #[inline]
    pub fn acknowledge(&mut self, now: Time) -> AckPacket {
        self.unacked_segments = 0;
        self.ack_due = None;
        self.last_ack = self.data.next();
        let mut packet = AckPacket {
            ack: self.last_ack,
            window: self.window.bytes(),
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

    /// RFC2883 4, RFC2018 4: the duplicate first, then the blocks that grew last.
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
