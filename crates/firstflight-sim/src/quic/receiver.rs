//! The data receiver: it logs arrivals, reassembles the object and decides when to acknowledge.

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
    /// The packets that arrived, in order. The sender consumes them through ACKs.
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
    /// Packets not yet acknowledged.
    unacked: u32,
    /// Number of further in-order packets after which an ACK leaves at once, at least 1: follows
    /// from `every` and `unacked`.
    left: u32,
}

impl Receiver {
    /// A receiver that has received nothing.
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

    /// Whether this chunk has arrived.
    pub(super) fn has(&self, chunk: u64) -> bool {
        self.chunks.contains(chunk)
    }

    /// The largest packet number so far; 0 before there is one.
    #[inline]
    pub(super) fn largest(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Packets that arrived, duplicates included.
    pub fn packets(&self) -> u64 {
        self.log.end()
    }

    /// When a held-back ACK must leave.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        self.ack_due
    }

    /// Processes a data packet. Returns the ACK to send at once, if any.
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
        // RFC9000 13.2.1-8: acknowledge out-of-order packets at once, whether they fill a gap or
        // open one.
        let in_order = number == self.next;
        if number >= self.next {
            self.next = number + 1;
            self.largest_at = now;
        }
        self.count(1);
        // RFC9000 13.2.2-2: at least every second ack-eliciting packet.
        // RFC9000 13.2.1-11: and ECN-marked packets at once.
        if !in_order || marked || self.left == 0 {
            return Some(self.acknowledge(now));
        }
        if self.ack_due.is_none() {
            self.ack_due = Some(Time(now.0 + self.hold));
        }
        None
    }

    /// If the receiver expects packets from this number and chunks from this index next: the
    /// longest time that it holds an ACK back.
    #[inline(always)]
    pub(super) fn runs(&self, number: u64, chunk: u64) -> Option<Nanos> {
        let in_order = number == self.next
            && self.log.continues_with(number)
            && self.chunks.is_whole()
            && self.chunks.low() == chunk;
        in_order.then_some(Nanos(self.hold))
    }

    /// Number of further in-order packets after which an ACK leaves at once.
    #[inline(always)]
    pub(super) fn until_ack(&self) -> u64 {
        u64::from(self.left)
    }

    #[inline(always)]
    fn count(&mut self, packets: u32) {
        self.unacked += packets;
        self.left -= packets;
    }

    /// The next `count` packets arrive, [as expected](Receiver::runs) and unmarked, from `first` to
    /// `last`, no more than [until an ACK](Receiver::until_ack). Equivalent to
    /// [`Receiver::on_packet`] for each.
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

    /// A data packet arrives at a receiver that acknowledges further packets below `end`, whether
    /// or not they have arrived.
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

    /// A packet brought an ACK_FREQUENCY frame, which applies from now on. The packet itself is not
    /// counted yet, and a held-back ACK is not held longer than the frame requests.
    pub(super) fn obey(&mut self, now: Time, request: Request) {
        (self.every, self.hold) = (request.every, request.hold.0);
        self.left = self.every.saturating_sub(self.unacked).max(1);
        self.ack_due = self.ack_due.map(|due| due.min(now + request.hold));
    }

    /// Acknowledges everything received so far.
    #[inline(always)]
    pub fn acknowledge(&mut self, now: Time) -> AckPacket {
        (self.unacked, self.left) = (0, self.every.max(1));
        self.ack_due = None;
        let ack_delay = u32::try_from(now.since(self.largest_at).0).unwrap_or(u32::MAX);
        let received = (self.largest_at.0 / 1_000) as u32;
        AckPacket { log_end: self.log.end() as u32, ack_delay, limit: u32::MAX, received }
    }
}
