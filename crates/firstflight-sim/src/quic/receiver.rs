//! The data receiver: logs what arrives, reassembles the object, decides when to acknowledge.

use super::{AckPacket, Host};
use crate::ring::{GapSet, Ring};
use firstflight::Time;

/// The receiving end of one QUIC flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Packet numbers in the order of arrival. The sender consumes them through ACKs.
    pub(super) log: Ring<u64>,
    chunks: GapSet,
    largest: Option<u64>,
    largest_at: Time,
    unacked: u32,
    ack_due: Option<Time>,
    marks: u64,
}

impl Receiver {
    /// Ready for a new connection; the memory stays.
    pub fn reset(&mut self) {
        self.log.clear();
        self.chunks.clear();
        *self = Receiver { log: std::mem::take(&mut self.log), chunks: std::mem::take(&mut self.chunks), ..Receiver::default() };
    }

    /// Whole chunks of the object delivered in order.
    #[inline]
    pub fn in_order_chunks(&self) -> u64 {
        self.chunks.low()
    }

    /// Packets that arrived, second copies included.
    pub fn packets(&self) -> u64 {
        self.log.end()
    }

    /// When a held-back ACK must leave.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        self.ack_due
    }

    /// A data packet arrives. Returns the ACK that leaves at once, if one does.
    #[inline]
    pub fn on_packet(&mut self, now: Time, number: u64, chunk: u64, marked: bool, host: &Host) -> Option<AckPacket> {
        self.chunks.insert(chunk);
        self.marks += u64::from(marked);
        self.log.push(number);
        // RFC9000 13.2.1-8: acknowledge at once what is out of order, whether it fills a gap or opens one.
        let in_order = self.largest.map_or(number == 0, |largest| number == largest + 1);
        if self.largest.is_none_or(|largest| number > largest) {
            self.largest = Some(number);
            self.largest_at = now;
        }
        self.unacked += 1;
        // RFC9000 13.2.2-2: at least every second ack-eliciting packet.
        // RFC9000 13.2.1-11: and at once what carries a mark.
        if !in_order || marked || self.unacked >= host.ack_every {
            return Some(self.acknowledge(now));
        }
        if self.ack_due.is_none() {
            self.ack_due = Some(Time(now.0 + host.max_ack_delay));
        }
        None
    }

    /// Everything received so far, acknowledged now.
    pub fn acknowledge(&mut self, now: Time) -> AckPacket {
        self.unacked = 0;
        self.ack_due = None;
        AckPacket { log_end: self.log.end(), marks: self.marks, ack_delay: now.since(self.largest_at).0 }
    }
}
