//! Usage of a window: the flights of the last round trip, and Linux's view of them.
//!
//! Follows, where a name says Linux: `tcp_cwnd_validate`, `tcp_is_cwnd_limited` and
//! `tcp_cwnd_application_limited` of Linux 6.18 (behaviour, no text).

use crate::event::{Ack, Sent, Transport};
use crate::units::{MAX_BYTES, Nanos, Seq, Time};

/// The flights that a controller remembers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// `is_cwnd_limited`: the window was full when something was last sent, or was so before in the
    /// round that ends at `until`.
    full: bool,
    /// The pipe is empty: the next send begins a round of which no flight is known.
    empty: bool,
    /// The last send found a window that had not been the limit for a timeout.
    unused: bool,
    /// `max_packets_out`: the most outstanding in that round, bytes. With the bounds of the
    /// ratelimited draft it is `maxFS`: the largest flight since the last cut, zero while none was
    /// sent since.
    pub(super) most: u64,
    /// The rate that the network advises, in kbit/s; 0 without advice. It is here because
    /// the struct has room for it.
    pub(super) advised: u32,
    /// `cwnd_usage_seq`.
    until: Seq,
    /// Of a TCP that follows Linux alone.
    una: Seq,
    /// The largest flight in the round trip that ends at `mark` and in the one before it, bytes.
    flight: u64,
    before: u64,
    mark: Seq,
    /// `snd_cwnd_used`: the most outstanding since `since`, when the window was last the limit.
    used: u64,
    since: Time,
    /// When something was last sent.
    pub(super) sent_at: Time,
    /// End of the newest data sent that is no retransmission.
    new_to: Seq,
    /// The timeout that was in force then.
    pub(super) timeout: Nanos,
}

impl Usage {
    /// Nothing was sent yet; `most` stands for the largest flight of before.
    pub(super) fn new(now: Time, nxt: Seq, most: u64) -> Usage {
        Usage {
            full: false,
            empty: false,
            unused: false,
            most,
            advised: 0,
            until: nxt,
            una: nxt,
            flight: 0,
            before: 0,
            mark: nxt,
            used: 0,
            since: now,
            sent_at: now,
            new_to: nxt,
            timeout: Nanos::ZERO,
        }
    }

    /// The connection starts here and not where the controller was made.
    pub(super) fn restart(&mut self, now: Time, nxt: Seq) {
        *self = Usage::new(now, nxt, self.most);
    }

    /// Something was sent.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        if self.empty {
            (self.flight, self.before, self.empty) = (0, 0, false);
        }
        self.flight = self.flight.max(sent.inflight.min(MAX_BYTES));
        self.sent_at = sent.now;
    }

    /// Processes an ACK before the controller acts on it.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.flight = self.flight.max(ack.inflight_before);
        if ack.una > self.mark {
            (self.before, self.flight, self.mark) = (self.flight, ack.inflight, ack.nxt);
        }
        self.empty = ack.inflight == 0;
    }

    /// The window was cut: what was in flight before is no flight of it.
    pub(super) fn forget_flights(&mut self, inflight: u64) {
        (self.flight, self.before) = (inflight, 0);
    }

    /// The largest flight of the last round trip, bytes.
    pub(super) fn flight(&self) -> u64 {
        self.flight.max(self.before)
    }

    /// Bytes from the first that is not acknowledged to `nxt`: `packets_out` of TCP. Packet numbers
    /// of QUIC have no size; there it is what is in flight.
    #[inline]
    pub(super) fn outstanding(&self, transport: Transport, nxt: Seq, inflight: u64) -> u64 {
        match transport {
            Transport::Tcp => nxt.0.saturating_sub(self.una.0).min(MAX_BYTES),
            Transport::Quic => inflight.min(MAX_BYTES),
        }
    }

    /// LINUX used-round: a round keeps that its window was full, and while it was not, the most that
    /// was outstanding; the first send after it is acknowledged begins the next one.
    #[inline]
    fn note(&mut self, full: bool, outstanding: u64, nxt: Seq) {
        if self.una >= self.until || full || (!self.full && outstanding > self.most) {
            (self.full, self.most, self.until) = (full, outstanding, nxt);
        }
    }

    /// Something was sent of a window of `cwnd` bytes, and one more segment fits into it or not.
    /// LINUX used-new: a repeat says nothing about the window; `tcp_write_xmit` judges new data only.
    #[inline]
    pub(super) fn note_sent(&mut self, sent: &Sent, transport: Transport, mss: u64, w: Room) {
        if sent.nxt <= self.new_to {
            return;
        }
        self.new_to = sent.nxt;
        let full = sent.inflight.saturating_add(mss) > w.cwnd;
        let outstanding = self.outstanding(transport, sent.nxt, sent.inflight);
        self.note(full, outstanding, sent.nxt);
        if self.is_limited(w) {
            self.resume(sent.now);
        } else {
            self.used = self.used.max(outstanding);
            if self.timeout > Nanos::ZERO && sent.now.since(self.since) >= self.timeout {
                (self.unused, self.since) = (true, sent.now);
            }
        }
    }

    /// Notes the sends before an ACK by its record: a window that was the limit without being full
    /// (OURS used-paced) and, where no sends are `reported`, the flight. Before [`Usage::on_ack`].
    #[inline]
    pub(super) fn note_acked(&mut self, ack: &Ack, transport: Transport, reported: bool) {
        let outstanding = self.outstanding(transport, ack.nxt, ack.inflight_before);
        if (ack.cwnd_limited || !reported) && outstanding > 0 {
            self.note(ack.cwnd_limited, outstanding, ack.nxt);
        }
        self.una = self.una.max(ack.una);
    }

    /// LINUX used-half: a window counts as used that was full, and in slow start one that is less
    /// than twice the most outstanding.
    #[inline]
    pub(super) fn is_limited(&self, w: Room) -> bool {
        self.full || (w.in_slow_start && w.cwnd < self.most.saturating_mul(2))
    }

    /// The window was full in this round, which has not ended: later packets of the round do not change
    /// [`Usage::is_limited`].
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.full && self.una < self.until
    }

    /// The last send found a window that had not been the limit for a timeout.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        self.unused
    }

    /// The most that was used of such a window meanwhile. Told once.
    pub(super) fn take_unused(&mut self) -> u64 {
        self.unused = false;
        self.used
    }

    /// The window was lowered to what is used of it.
    pub(super) fn forget_used(&mut self) {
        self.used = 0;
    }

    /// Something below `mark` is not acknowledged.
    pub(super) fn is_below(&self, mark: Seq) -> bool {
        self.una < mark
    }

    /// Nothing is outstanding below `nxt`.
    pub(super) fn settle(&mut self, nxt: Seq) {
        self.una = self.una.max(nxt);
    }

    /// Sending resumes after a silence, or the window is the limit.
    pub(super) fn resume(&mut self, now: Time) {
        (self.used, self.since, self.unused) = (0, now, false);
    }

    /// Every amount through `scale`: packets have become smaller and keep their number.
    pub(super) fn scale(&mut self, scale: impl Fn(u64) -> u64) {
        for amount in [&mut self.most, &mut self.flight, &mut self.before, &mut self.used] {
            *amount = scale(*amount);
        }
    }
}

/// The window that is used, as far as it matters for how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) cwnd: u64,
    pub(super) in_slow_start: bool,
}
