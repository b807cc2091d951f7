//! One TCP connection as seen in its segments: tracks sent and acknowledged data, and reports
//! events to a controller.
//!
//! Follows the rules of a sender without SACK, such as smoltcp's: RFC 5681 section 2 (duplicate
//! ACKs), RFC 6298 section 3 (Karn), RFC 6937 section 2 (delivered data). Departures: D1 at most
//! [`MARKS`] segments are timed at once; D2 a retransmission that three duplicate ACKs did not
//! trigger counts as the retransmission timer's, since smoltcp has no other trigger.

use crate::wire::Segment;
use firstflight::detection::delivered::DuplicateCredit;
use firstflight::detection::dupack::{DUP_THRESH, Header};
use firstflight::signal::rtt::{Rfc6298Rtt, RtoParams};
use firstflight::{
    Ack, AckDetail, AnyController, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout,
};

/// Maximum number of segments timed at once.
pub(crate) const MARKS: usize = 32;

/// A segment in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    end: u64,
    at: Time,
    /// The ordinal of its transmission in the connection.
    ordinal: u64,
}

/// Segments in flight, oldest first; segments beyond the limit are not timed.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    ring: [Mark; MARKS],
    first: usize,
    count: usize,
}

impl Marks {
    fn push(&mut self, mark: Mark) {
        if self.count < MARKS {
            self.ring[(self.first + self.count) % MARKS] = mark;
            self.count += 1;
        }
    }

    /// Removes the segments that end at or below `una`. Returns the newest of them.
    fn acknowledge(&mut self, una: u64) -> Option<Mark> {
        let mut newest = None;
        while self.count > 0 && self.ring[self.first].end <= una {
            newest = Some(self.ring[self.first]);
            self.first = (self.first + 1) % MARKS;
            self.count -= 1;
        }
        newest
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}

/// The sender's side of a connection, and its controller.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    controller: AnyController,
    mss: u64,
    rtt: Rfc6298Rtt,
    /// Sequence number of the SYN, its departure time, and whether it was sent only once.
    syn: Option<(u32, Time, bool)>,
    established: bool,
    /// The oldest unacknowledged byte, the end of the highest sent byte, and the end of the data
    /// sent since the last timeout, all counted from the first data byte.
    una: u64,
    nxt: u64,
    last: u64,
    marks: Marks,
    credit: DuplicateCredit,
    duplicates: u32,
    /// Whether the third duplicate ACK has arrived and its retransmission has not left yet.
    repeat_due: bool,
    timeouts: u32,
    repeated_to: u64,
    window: Option<u16>,
    transmissions: u64,
    sent: u64,
    idle_since: Option<Time>,
    pub(crate) app_limited: bool,
}

impl Flow {
    #[expect(clippy::large_types_passed_by_value, reason = "it is moved into its place once")]
    pub(crate) fn new(controller: AnyController, mss: u64) -> Flow {
        Flow {
            controller,
            mss,
            rtt: Rfc6298Rtt::new(RtoParams::RFC),
            syn: None,
            established: false,
            una: 0,
            nxt: 0,
            last: 0,
            marks: Marks::default(),
            credit: DuplicateCredit::default(),
            duplicates: 0,
            repeat_due: false,
            timeouts: 0,
            repeated_to: 0,
            window: None,
            transmissions: 0,
            sent: 0,
            idle_since: None,
            app_limited: false,
        }
    }

    pub(crate) fn controller(&self) -> &AnyController {
        &self.controller
    }

    /// Bytes outstanding: sent, not acknowledged, and not covered by duplicate ACKs.
    pub(crate) fn inflight(&self) -> u64 {
        self.last.saturating_sub(self.una).saturating_sub(self.credit.credit())
    }

    /// Offset of this sequence number from the first data byte; the number must be less than 2^31
    /// away from `near`.
    fn offset(&self, seq: u32, near: u64) -> Option<u64> {
        let (isn, ..) = self.syn?;
        let low = isn.wrapping_add(1).wrapping_add(near as u32);
        near.checked_add_signed(i64::from(seq.wrapping_sub(low) as i32))
    }

    /// Number of further bytes that may leave, given the unsent bytes in the socket's buffer.
    pub(crate) fn room(&mut self, now: Time, unsent: u64, space: u64) -> u64 {
        let inflight = self.inflight();
        self.controller.before_send(&Ready {
            now,
            nxt: Seq(self.nxt),
            inflight,
            backlog: space,
            srtt: self.rtt.srtt(),
            idle: self.idle_since.take().map_or(Nanos::ZERO, |since| now.since(since)),
            timeout: self.rtt.rto(),
        });
        if self.controller.in_recovery() {
            // A recovery counts the bytes it admits when they leave, so it admits one segment at a
            // time.
            let admitted = unsent == 0 && self.controller.admits(self.mss, inflight);
            return if admitted { self.mss.min(space) } else { 0 };
        }
        let mut room = 0;
        while room < space && self.controller.admits(self.mss, inflight + unsent + room) {
            room += self.mss;
        }
        room.min(space)
    }

    /// Unsent bytes in the socket's buffer.
    pub(crate) fn unsent(&self, queued: u64) -> u64 {
        queued.saturating_sub(self.nxt - self.una)
    }

    /// A segment left.
    pub(crate) fn on_sent(&mut self, now: Time, segment: &Segment) {
        if segment.syn {
            let again = self.syn.is_some_and(|(seq, ..)| seq == segment.seq);
            self.syn = Some((segment.seq, now, !again));
            return;
        }
        let bytes = u64::from(segment.len);
        let Some(from) = self.offset(segment.seq, self.last).filter(|_| bytes > 0) else {
            return;
        };
        if from < self.nxt {
            self.on_repeat(now, from, from + bytes);
        } else {
            self.marks.push(Mark { end: from + bytes, at: now, ordinal: self.transmissions });
        }
        self.last = self.last.max(from + bytes);
        self.nxt = self.nxt.max(self.last);
        self.transmissions += 1;
        self.sent += bytes;
        self.controller.on_sent(&Sent {
            now,
            bytes,
            nxt: Seq(self.nxt),
            inflight: self.inflight(),
            srtt: self.rtt.srtt(),
        });
    }

    /// Bytes leave again, triggered by three duplicate ACKs or by the timer.
    fn on_repeat(&mut self, now: Time, from: u64, to: u64) {
        // RFC 6298 section 3: for segments in flight it is now unknown which copy arrives.
        self.marks.clear();
        self.repeated_to = self.repeated_to.max(to);
        if from != self.una || core::mem::take(&mut self.repeat_due) {
            return;
        }
        let timeout = if self.timeouts == 0 { Timeout::Rto } else { Timeout::RtoAgain };
        let inflight_before = self.inflight();
        self.controller.on_congestion(&Congestion {
            now,
            timeout,
            nxt: Seq(self.nxt),
            inflight_before,
        });
        self.timeouts += 1;
        self.rtt.on_timeout();
        // smoltcp restarts at the oldest byte; the data in flight counts as lost.
        self.last = from;
        (self.credit, self.duplicates) = (DuplicateCredit::default(), 0);
    }

    /// A segment arrived.
    pub(crate) fn on_received(&mut self, now: Time, segment: &Segment) {
        let Some(ack) = segment.ack.and_then(|ack| self.offset(ack, self.una)) else {
            return;
        };
        let changed = self.window.replace(segment.window) != Some(segment.window);
        if !core::mem::replace(&mut self.established, true)
            && let Some((_, at, once)) = self.syn
        {
            if once {
                self.rtt.on_sample(now.since(at));
                self.controller.on_handshake_rtt(now, now.since(at));
            }
            return;
        }
        let header = Header {
            ack: Seq(ack),
            una: Seq(self.una),
            outstanding: self.nxt > self.una,
            carries_data: segment.len > 0 || segment.syn || segment.fin,
            window_changed: changed,
        };
        // The ACK of our FIN counts one byte more than was sent as data.
        let ack = ack.min(self.nxt);
        if ack > self.una {
            self.on_advance(now, ack);
        } else if header.is_duplicate() {
            self.on_duplicate(now);
        }
    }

    fn on_advance(&mut self, now: Time, ack: u64) {
        let (before, advance) = (self.inflight(), ack - self.una);
        let newest = self.marks.acknowledge(ack);
        let rtt = newest.map(|mark| now.since(mark.at));
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt);
        }
        let repeat_acked = self.una < self.repeated_to;
        self.una = ack;
        self.last = self.last.max(ack);
        (self.duplicates, self.repeat_due, self.timeouts) = (0, false, 0);
        let acked = self.credit.on_advance(advance);
        if self.nxt == self.una {
            self.idle_since = Some(now);
            self.credit = DuplicateCredit::default();
        }
        let tx_acked = newest.map(|mark| mark.ordinal).or(self.transmissions.checked_sub(1));
        self.tell(Ack { acked, rtt, tx_acked, ..self.ack(now, before) }, repeat_acked);
    }

    fn on_duplicate(&mut self, now: Time) {
        let before = self.inflight();
        self.duplicates = self.duplicates.saturating_add(1);
        let acked = self.credit.on_duplicate(self.mss.min(before));
        // RFC 5681 section 3.2: the third one means that the head is lost, and smoltcp retransmits
        // it.
        let enter = self.duplicates == DUP_THRESH;
        self.repeat_due |= enter;
        let lost = if enter { self.mss.min(self.inflight()) } else { 0 };
        let tx = self.transmissions.checked_sub(1);
        let ack = Ack {
            acked,
            lost,
            tx_acked: tx,
            tx_lost: tx.filter(|_| enter),
            inflight: self.inflight() - lost,
            ..self.ack(now, before)
        };
        self.tell(ack, false);
    }

    /// The fields common to all records of an ACK.
    fn ack(&self, now: Time, inflight_before: u64) -> Ack {
        Ack {
            now,
            acked: 0,
            acked_fresh: 0,
            lost: 0,
            // smoltcp knows no ECN and sends no SACK.
            ce: false,
            sacked: 0,
            rtt: None,
            srtt: self.rtt.srtt(),
            una: Seq(self.una),
            nxt: Seq(self.nxt),
            flight: self.nxt - self.una,
            inflight_before,
            inflight: self.inflight(),
            sent: self.sent,
            tx_acked: None,
            tx_lost: None,
            tx_next: self.transmissions,
            cwnd_limited: !self.app_limited,
            app_limited: self.app_limited,
            detail: AckDetail::default(),
        }
    }

    fn tell(&mut self, mut ack: Ack, repeat_acked: bool) {
        ack.acked_fresh = ack.acked;
        ack.detail.repeat_acked = repeat_acked;
        self.controller.on_ack(&ack);
    }
}
