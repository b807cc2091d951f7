//! Packets in flight: just enough of a transport to make records that agree with one another.
//!
//! One list serves both transports. In QUIC every transmission is a new packet and what is lost
//! leaves the list. In TCP a segment stays until `una` passes it, may be SACKed or lost, and is
//! repeated under a new transmission ordinal.

use crate::told::Told;
use firstflight::{Nanos, Seq, Time, Transport};
use std::collections::VecDeque;

/// A packet is lost when one sent this many later has arrived.
const REORDERING: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    Sacked,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Packet number, or first byte.
    start: u64,
    /// Ordinal of the last transmission.
    tx: u64,
    sent_at: Time,
    repeated: bool,
    state: State,
}

/// Which packets one ACK newly acknowledges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Number of packets.
    pub packets: u8,
    /// Number of packets in flight before them that they overtake.
    pub skip: u8,
}

/// The flight of one connection.
pub(super) struct Flight {
    transport: Transport,
    pub mss: u64,
    pub nxt: Seq,
    una: Seq,
    tx: u64,
    /// The latest transmission that arrived.
    latest: u64,
    /// The first ordinal of the present recovery.
    recovery_tx: Option<u64>,
    segments: VecDeque<Segment>,
    delivered: u64,
    sent: u64,
    pub srtt: Option<Nanos>,
    min_rtt: Option<Nanos>,
}

impl Flight {
    pub(super) fn new(transport: Transport, mss: u64, nxt: Seq) -> Flight {
        Flight {
            transport,
            mss: mss.clamp(1, 1 << 16),
            nxt,
            una: nxt,
            tx: 0,
            latest: 0,
            recovery_tx: None,
            segments: VecDeque::new(),
            delivered: 0,
            sent: 0,
            srtt: None,
            min_rtt: None,
        }
    }

    fn count(&self, state: State) -> u64 {
        self.segments.iter().filter(|s| s.state == state).count() as u64
    }

    /// Segments of which not all is known to have arrived.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Bytes in flight: neither arrived nor lost.
    pub(super) fn inflight(&self) -> u64 {
        self.count(State::Flying) * self.mss
    }

    fn end(&self, segment: &Segment) -> u64 {
        match self.transport {
            Transport::Quic => segment.start.saturating_add(1),
            Transport::Tcp => segment.start.saturating_add(self.mss),
        }
    }

    /// One packet leaves: in TCP the first hole, if there is one.
    pub(super) fn send(&mut self, now: Time) {
        let tx = self.tx;
        self.tx += 1;
        self.sent += self.mss;
        if let Some(hole) = self.segments.iter_mut().find(|s| s.state == State::Lost) {
            *hole = Segment { tx, sent_at: now, repeated: true, state: State::Flying, ..*hole };
            return;
        }
        // In QUIC number and ordinal are one.
        let segment =
            Segment { start: self.nxt.0, tx, sent_at: now, repeated: false, state: State::Flying };
        self.nxt = Seq(self.end(&segment));
        self.segments.push_back(segment);
    }

    /// A retransmission timeout of TCP.
    pub(super) fn all_lost(&mut self) {
        for segment in self.segments.iter_mut().filter(|s| s.state == State::Flying) {
            segment.state = State::Lost;
        }
    }

    fn record(&mut self, now: Time, recovering: bool) -> Told {
        self.recovery_tx = recovering.then(|| self.recovery_tx.unwrap_or(self.tx));
        Told {
            now,
            inflight_before: self.inflight(),
            tx_next: self.tx,
            nxt: self.nxt,
            ..Told::default()
        }
    }

    fn finish(&mut self, mut ack: Told) -> Told {
        if self.transport == Transport::Quic {
            self.segments.retain(|s| s.state == State::Flying);
        }
        let before = self.una;
        if self.transport == Transport::Tcp {
            while self.segments.front().is_some_and(|s| s.state == State::Sacked) {
                let first = self.segments.pop_front().map_or(before.0, |s| self.end(&s));
                self.una = Seq(first);
            }
            ack.advanced = self.una > before;
            ack.flight = self.nxt.0.saturating_sub(self.una.0);
            ack.sacked = self.count(State::Sacked) * self.mss;
        }
        ack.una = self.una;
        ack.inflight = self.inflight();
        if self.transport == Transport::Quic {
            ack.flight = ack.inflight + ack.lost;
        }
        ack.delivered = self.delivered;
        ack.sent = self.sent;
        (ack.srtt, ack.min_rtt) = (self.srtt, self.min_rtt);
        ack
    }

    fn declare(&mut self, ack: &mut Told, which: impl Fn(&Segment) -> bool) {
        for segment in self.segments.iter_mut().filter(|s| s.state == State::Flying && which(s)) {
            segment.state = State::Lost;
            ack.lost += self.mss;
            ack.tx_lost = ack.tx_lost.max(Some(segment.tx));
            ack.lost_again |=
                segment.repeated && self.recovery_tx.is_some_and(|first| segment.tx >= first);
        }
    }

    /// One ACK arrives; `None` if nothing was in flight.
    pub(super) fn deliver(
        &mut self,
        now: Time,
        delivery: Delivery,
        mark: Option<Seq>,
        recovering: bool,
    ) -> Option<Told> {
        let mut ack = self.record(now, recovering);
        if ack.inflight_before == 0 {
            return None;
        }
        let flying = usize::try_from(self.count(State::Flying)).unwrap_or(usize::MAX);
        let skip = usize::from(delivery.skip).min(flying - 1);
        let mut arrived: Option<Segment> = None;
        let flying = self.segments.iter_mut().filter(|s| s.state == State::Flying);
        for segment in flying.skip(skip).take(usize::from(delivery.packets).max(1)) {
            segment.state = State::Sacked;
            ack.acked += self.mss;
            if mark.is_none_or(|mark| segment.start >= mark.0) {
                ack.acked_fresh += self.mss;
            }
            ack.tx_acked = ack.tx_acked.max(Some(segment.tx));
            arrived = Some(*segment);
        }
        if let Some(last) = arrived {
            self.latest = self.latest.max(ack.tx_acked.unwrap_or(0));
            let newest = self.transport == Transport::Tcp || self.end(&last) > self.una.0;
            if newest && !last.repeated {
                self.sample(&mut ack, now.since(last.sent_at));
            }
            if self.transport == Transport::Quic {
                ack.advanced = self.end(&last) > self.una.0;
                self.una = self.una.max(Seq(self.end(&last)));
            }
        }
        self.delivered += ack.acked;
        let latest = self.latest;
        self.declare(&mut ack, |s| s.tx + REORDERING <= latest);
        Some(self.finish(ack))
    }

    /// The loss timer takes the oldest packets in flight.
    pub(super) fn lose(&mut self, now: Time, packets: u8, recovering: bool) -> Option<Told> {
        let mut ack = self.record(now, recovering);
        let last = self
            .segments
            .iter()
            .filter(|s| s.state == State::Flying)
            .take(usize::from(packets))
            .last()?
            .tx;
        self.declare(&mut ack, |s| s.tx <= last);
        Some(self.finish(ack))
    }

    fn sample(&mut self, ack: &mut Told, rtt: Nanos) {
        let rtt = rtt.max(Nanos(1));
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| Nanos(srtt.0 - srtt.0 / 8 + rtt.0 / 8)));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        ack.rtt = Some(rtt);
    }
}
