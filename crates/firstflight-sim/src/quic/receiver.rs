//! The data receiver: logs what arrives, reassembles the object, decides when to acknowledge.

use super::frequency::Request;
use super::log::Log;
use super::{AckPacket, Host};
use crate::access::Lie;
use crate::ring::GapSet;
use firstflight::{Nanos, Time};

/// The receiving end of one QUIC flow, in two cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// What arrived, in order. The sender consumes it through ACKs.
    pub(super) log: Log,
    chunks: GapSet,
    /// One past the largest packet number so far; 0 before there is one.
    next: u64,
    ack_due: Option<Time>,
    largest_at: Time,
    /// Longest time an ACK is held back, ns.
    hold: u64,
    /// Packets per ACK.
    every: u32,
    /// Packets that are not acknowledged yet.
    unacked: u32,
    /// How many more in order make an ACK leave at once, at least 1: what the two come to.
    left: u32,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(host: &Host) -> Receiver {
        let (log, chunks) = (Log::default(), GapSet::default());
        let (every, hold) = (host.ack_every, host.max_ack_delay);
        Receiver {
            log,
            chunks,
            next: 0,
            ack_due: None,
            largest_at: Time::default(),
            hold,
            every,
            unacked: 0,
            left: every.max(1),
        }
    }

    /// Whole chunks of the object delivered in order.
    #[inline]
    pub fn in_order_chunks(&self) -> u64 {
        self.chunks.low()
    }

    /// This chunk has arrived.
    pub(super) fn has(&self, chunk: u64) -> bool {
        self.chunks.contains(chunk)
    }

    /// The largest packet number so far; 0 before there is one.
    #[inline]
    pub(super) fn largest(&self) -> u64 {
        self.next.saturating_sub(1)
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
    #[inline(always)]
    pub fn on_packet(
        &mut self,
        now: Time,
        number: u64,
        chunk: u64,
        marked: bool,
    ) -> Option<AckPacket> {
        self.chunks.insert(chunk);
        self.log.push(number, marked);
        // RFC9000 13.2.1-8: acknowledge at once what is out of order, whether it fills a gap or
        // opens one.
        let in_order = number == self.next;
        if number >= self.next {
            self.next = number + 1;
            self.largest_at = now;
        }
        self.count(1);
        // RFC9000 13.2.2-2: at least every second ack-eliciting packet.
        // RFC9000 13.2.1-11: and at once what carries a mark.
        if !in_order || marked || self.left == 0 {
            return Some(self.acknowledge(now));
        }
        if self.ack_due.is_none() {
            self.ack_due = Some(Time(now.0 + self.hold));
        }
        None
    }

    /// If packets from this one on, with chunks from this one on, are those expected next: for how long an ACK
    /// is held back.
    #[inline(always)]
    pub(super) fn runs(&self, number: u64, chunk: u64) -> Option<Nanos> {
        let in_order = number == self.next
            && self.log.continues_with(number)
            && self.chunks.is_whole()
            && self.chunks.low() == chunk;
        in_order.then_some(Nanos(self.hold))
    }

    /// After how many more in order an ACK leaves at once.
    #[inline(always)]
    pub(super) fn until_ack(&self) -> u64 {
        u64::from(self.left)
    }

    #[inline(always)]
    fn count(&mut self, packets: u32) {
        self.unacked += packets;
        self.left -= packets;
    }

    /// The next `count` packets arrive, [as expected](Receiver::runs) and unmarked, from `first` to `last`,
    /// no more than [until an ACK](Receiver::until_ack): what [`Receiver::on_packet`] does for each.
    #[inline(always)]
    pub(super) fn on_run(&mut self, count: u64, first: Time, last: Time) -> Option<AckPacket> {
        self.chunks.extend(count);
        self.log.extend(count);
        self.next += count;
        self.largest_at = last;
        self.count(count as u32);
        if self.left == 0 {
            return Some(self.acknowledge(last));
        }
        self.ack_due.get_or_insert(Time(first.0 + self.hold));
        None
    }

    /// A data packet arrives at a receiver that acknowledges some more below `end`, here or not.
    #[cold]
    pub(super) fn claim(&mut self, now: Time, chunk: u64, end: u64) -> Option<AckPacket> {
        self.chunks.insert(chunk);
        let end = end.min(self.next + Lie::AHEAD);
        if self.next >= end {
            return None;
        }
        for number in self.next..end {
            self.log.push(number, false);
        }
        (self.next, self.largest_at) = (end, now);
        Some(self.acknowledge(now))
    }

    /// A packet brought an ACK_FREQUENCY frame: from now on as it asks. The packet itself is not
    /// counted yet, and what is held back is not held longer than the frame asks for.
    pub(super) fn obey(&mut self, now: Time, request: Request) {
        (self.every, self.hold) = (request.every, request.hold.0);
        self.left = self.every.saturating_sub(self.unacked).max(1);
        self.ack_due = self.ack_due.map(|due| due.min(now + request.hold));
    }

    /// Everything received so far, acknowledged now.
    #[inline(always)]
    pub fn acknowledge(&mut self, now: Time) -> AckPacket {
        (self.unacked, self.left) = (0, self.every.max(1));
        self.ack_due = None;
        let ack_delay = u32::try_from(now.since(self.largest_at).0).unwrap_or(u32::MAX);
        AckPacket { log_end: self.log.end() as u32, ack_delay }
    }
}
