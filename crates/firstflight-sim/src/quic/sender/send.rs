//! Choice of the next packet, permission to send it, and its departure.

use super::{Blocked, Sender, Transmit};
use crate::instrumented::{Combined, Company};
use crate::limited::Limit;
use crate::quic::loss::{Carries, SentPacket, State};
use firstflight::{Nanos, Ready, Sent, Seq, Spacing, Time};

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
        let waiting = (self.repeats.end() - self.repeats.base()) + (self.open - self.next_chunk);
        waiting * u64::from(self.host.datagram)
    }

    /// The next packet that may leave now, if any; asked again until it returns `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<Transmit> {
        let Some((chunk, carries)) = self.next() else {
            // RFC9002 7.8-1: the application, not the window, ends the burst.
            let room = self.controller.admits(u64::from(self.host.datagram), self.inflight);
            let allowed = self.next_chunk >= self.written;
            (self.unfilled, self.app_limited) = (room, room && allowed);
            self.blocked = Blocked::NoData;
            self.note(now, if allowed { Limit::Application } else { Limit::Receiver });
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

    #[inline(always)]
    pub(super) fn count_sent(&mut self, now: Time, count: u64, len: u64) {
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
        if self.next_chunk < self.open {
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
            Some(rate) => self.passes(now, len, Spacing { rate, train: None }),
            None => self.is_full(now),
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
            Some(spacing) => self.passes(now, len, spacing),
            None => self.is_full(now),
        }
    }

    /// Whether the pacer releases a packet that the window admits.
    #[inline(always)]
    fn passes(&mut self, now: Time, len: u64, spacing: Spacing) -> bool {
        let wait = self.pacer.admit(now, len, self.inflight, spacing);
        if wait > Nanos::ZERO {
            self.blocked = Blocked::Pacer(now + wait);
            (self.unfilled, self.app_limited) = (false, false);
            self.note_paced(now, spacing.rate);
        }
        wait == Nanos::ZERO
    }

    /// The window is full.
    fn is_full(&mut self, now: Time) -> bool {
        self.blocked = Blocked::Window;
        (self.unfilled, self.app_limited) = (false, false);
        self.note(now, Limit::Window);
        false
    }

    #[inline(always)]
    fn send(&mut self, now: Time, chunk: u64, bytes: u32, carries: Carries) -> Transmit {
        if self.skips.is_some() {
            self.skip(now);
        }
        let number = self.sent.end();
        if let Some(ecn) = &mut self.ecn {
            ecn.on_send(number, now, self.rtt.pto(Nanos(self.host.max_ack_delay)));
        }
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
