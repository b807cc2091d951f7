//! Choice of the next packet, permission to send it, and its departure.

use super::{Blocked, Sender, Transmit};
use crate::instrumented::{Combined, Company, Pace};
use crate::quic::loss::{Carries, SentPacket, State};
use firstflight::{Nanos, Ready, Sent, Seq, Time};

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Skips the next number if it is due to be skipped.
    fn skip(&mut self, now: Time) {
        let number = self.sent.end();
        if let Some(skips) = self.skips.as_mut().filter(|skips| skips.next == number) {
            skips.on_skip(number);
            self.sent.push(SentPacket::skipped(now));
            self.plain_from = number + 1;
        }
    }

    fn backlog(&self) -> u64 {
        let waiting = (self.repeats.end() - self.repeats.base()) + (self.written - self.next_chunk);
        waiting * u64::from(self.host.datagram)
    }

    /// The next packet that may leave now, if any; asked again until it returns `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<Transmit> {
        let Some((chunk, carries)) = self.next() else {
            // RFC9002 7.8-1: the application, not the window, ends the burst.
            self.app_limited = self.controller.admits(u64::from(self.host.datagram), self.inflight);
            self.blocked = Blocked::NoData;
            return None;
        };
        let bytes = self.pieces.datagram(chunk) as u32;
        if self.probes_owed > 0 {
            // RFC9002 6.2.4-1: a probe is not blocked by the window or the pacer.
            self.probes_owed -= 1;
        } else if !self.admits(now, u64::from(bytes)) {
            return None;
        }
        match carries {
            Carries::New => self.next_chunk += 1,
            Carries::Repeat => _ = self.repeats.pop(),
            Carries::Probe => {}
        }
        Some(self.send(now, chunk, bytes, carries))
    }

    /// Number of packets, at most `most`, that may leave now, each with the next whole chunk and
    /// each as [`Sender::poll`] would return it; `None` if each packet must be polled.
    #[inline(always)]
    pub(in crate::quic) fn burst(&mut self, now: Time, most: u64) -> Option<u64> {
        let plain = self.controller.is_settled(self.idle_since, self.inflight)
            && self.probes_owed == 0
            && self.skips.is_none()
            && self.repeats.is_empty();
        if !plain {
            return None;
        }
        let len = self.pieces.whole();
        let most = most.min(self.whole_chunks());
        if let Some(due) = self.is_due(now, len, most) {
            self.filled = false;
            if due {
                self.pacer.release(now, len);
            }
            return Some(u64::from(due));
        }
        let (open, full) = self.controller.admits_many(len, self.inflight, most);
        let many = match self.controller.settled_rate() {
            Some(rate) if open > 0 => self.pacer.admit_many(now, len, rate, open),
            _ => open,
        };
        self.filled = full && many == open;
        Some(many)
    }

    /// Whether the packet that the pacer holds may leave; `None` if the whole burst must be
    /// queried.
    #[inline(always)]
    fn is_due(&mut self, now: Time, len: u64, most: u64) -> Option<bool> {
        let due = self.pacer.is_due(now, self.controller.settled_rate())?;
        let open = |sender: &Self| {
            most > 0 && sender.controller.agrees(len, sender.inflight, false) == Some(true)
        };
        (!due || open(self)).then_some(due)
    }

    /// Whole chunks that may be sent next, not counting the object's last.
    #[inline(always)]
    fn whole_chunks(&self) -> u64 {
        self.written_whole.saturating_sub(self.next_chunk)
    }

    /// After a burst: whether nothing more may leave now, with the same effect as [`Sender::poll`].
    /// `false` if [`Sender::poll`] must be called to find out.
    #[inline(always)]
    pub(in crate::quic) fn is_blocked(&mut self, now: Time) -> bool {
        if self.whole_chunks() == 0 {
            return false;
        }
        let len = self.pieces.whole();
        self.blocked = match self.controller.agrees(len, self.inflight, self.filled) {
            Some(false) => Blocked::Window,
            Some(true) => {
                let Some(rate) = self.controller.settled_rate() else { return false };
                match self.pacer.hold(now, len, rate) {
                    Nanos::ZERO => return false,
                    wait => Blocked::Pacer(now + wait),
                }
            }
            None => return false,
        };
        self.app_limited = false;
        true
    }

    /// Releases the packet for which [`Sender::is_blocked`] made the pacer wait until `now`, as a burst
    /// of one. Applies only if the pacer holds that packet alone: the window has admitted it, and
    /// nothing has happened since. Returns whether it did.
    #[inline(always)]
    pub(in crate::quic) fn release(&mut self, now: Time) -> bool {
        let held = self.pacer.is_holding();
        if held {
            self.filled = false;
            self.pacer.release(now, self.pieces.whole());
        }
        held
    }

    /// The next packet of the burst.
    #[inline(always)]
    pub(in crate::quic) fn next_of_burst(&mut self, now: Time) -> Transmit {
        let (number, chunk) = (self.sent.end(), self.next_chunk);
        self.next_chunk += 1;
        self.sent.push(SentPacket::new(now, chunk, Carries::New));
        Transmit { number, chunk, bytes: self.pieces.whole() as u32 }
    }

    /// Takes the next `count` packets of the burst together.
    #[inline(always)]
    pub(in crate::quic) fn take_burst(&mut self, now: Time, count: u64) {
        let chunk = self.next_chunk;
        self.next_chunk += count;
        self.sent.extend(count, |at| SentPacket::new(now, chunk + at, Carries::New));
    }

    /// Ends a burst of `count` packets.
    #[inline(always)]
    pub(in crate::quic) fn end_burst(&mut self, now: Time, count: u64) {
        self.count_sent(now, count, self.pieces.whole());
    }

    #[inline(always)]
    fn count_sent(&mut self, now: Time, count: u64, len: u64) {
        self.inflight += count * len;
        self.bytes_sent += count * len;
        self.first_sent.get_or_insert(now);
        self.counters.packets_sent += count;
        self.last_sent_at = now;
        if count > 1 && self.controller.heeds_each() {
            (1..count).rev().for_each(|later| self.tell_sent(now, len, later));
        }
        self.tell_sent(now, len, 0);
    }

    /// Reports the departure of a packet and of `later` more.
    #[inline(always)]
    fn tell_sent(&mut self, now: Time, len: u64, later: u64) {
        self.controller.on_sent(&Sent {
            now,
            bytes: len,
            nxt: Seq(self.sent.end() - later),
            inflight: self.inflight - later * len,
            srtt: self.rtt.srtt(),
        });
    }

    /// Chooses the next data: lost bytes, then new ones, then, if probes are owed, a copy of
    /// outstanding data (RFC9002 6.2.4-2).
    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Carries)> {
        // A chunk whose first copy arrived after all is not retransmitted.
        while self.repeats.front().is_some_and(|&chunk| self.acked.contains(chunk)) {
            self.repeats.pop();
        }
        if let Some(&chunk) = self.repeats.front() {
            return Some((chunk, Carries::Repeat));
        }
        if self.next_chunk < self.written {
            return Some((self.next_chunk, Carries::New));
        }
        if self.probes_owed == 0 {
            return None;
        }
        let chunk = self.unprobed_chunk();
        if chunk.is_none() {
            self.probes_owed = 0;
        }
        chunk.map(|chunk| (chunk, Carries::Probe))
    }

    /// The oldest outstanding chunk that this probe timeout has not copied yet: two probes with the
    /// same bytes would reveal no more than one.
    fn unprobed_chunk(&mut self) -> Option<u64> {
        for number in self.probed.max(self.oldest)..self.sent.end() {
            let packet = self.sent.get(number);
            let chunk = packet.chunk(self.next_chunk);
            if packet.state() == State::InFlight
                && packet.carries() != Carries::Probe
                && !self.acked.contains(chunk)
            {
                self.probed = number + 1;
                return Some(chunk);
            }
        }
        None
    }

    #[inline(always)]
    fn admits(&mut self, now: Time, len: u64) -> bool {
        if !self.controller.is_settled(self.idle_since, self.inflight) {
            return self.admits_anew(now, len);
        }
        match self.controller.asks_again(len, self.inflight) {
            Some(rate) => self.passes(now, len, rate.map(|rate| (rate, None))),
            None => self.is_full(),
        }
    }

    #[inline(never)]
    fn admits_anew(&mut self, now: Time, len: u64) -> bool {
        let ready = Ready {
            now,
            nxt: Seq(self.sent.end()),
            inflight: self.inflight,
            backlog: self.backlog(),
            srtt: self.rtt.srtt(),
            idle: self.idle_since.take().map_or(Nanos::ZERO, |since| now.since(since)),
            timeout: self.probe_timeout,
        };
        match self.controller.asks(&ready, len) {
            Some(pace) => self.passes(now, len, pace),
            None => self.is_full(),
        }
    }

    /// Whether the pacer releases a packet that the window admits.
    #[inline(always)]
    fn passes(&mut self, now: Time, len: u64, pace: Option<Pace>) -> bool {
        let wait = self.pacer.admit(now, len, self.inflight, pace);
        if wait > Nanos::ZERO {
            self.blocked = Blocked::Pacer(now + wait);
            self.app_limited = false;
        }
        wait == Nanos::ZERO
    }

    /// The window is full.
    fn is_full(&mut self) -> bool {
        self.blocked = Blocked::Window;
        self.app_limited = false;
        false
    }

    #[inline(always)]
    fn send(&mut self, now: Time, chunk: u64, bytes: u32, carries: Carries) -> Transmit {
        if self.skips.is_some() {
            self.skip(now);
        }
        let number = self.sent.end();
        self.sent.push(SentPacket::new(now, chunk, carries));
        if carries != Carries::New {
            self.plain_from = number + 1;
            self.counters.retransmissions += 1;
            self.counters.retransmitted_bytes += self.pieces.chunk(chunk);
        }
        self.count_sent(now, 1, u64::from(bytes));
        Transmit { number, chunk, bytes }
    }
}
