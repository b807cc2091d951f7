//! Choosing and sending segments.

use super::marker::Repeat;
use super::{Blocked, Sender, Transmit};
use crate::instrumented::{Combined, Company};
use crate::limited::Limit;
use crate::tcp::{Segment, tick_start, ticks};
use firstflight::detection::tlp::{Kind, Tlp};
use firstflight::detection::{Choice, Episode, Flags, Id, Scoreboard, SendOrder};
use firstflight::{Nanos, Rate, Ready, Sent, Seq, Time};

/// The reason for sending a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The window admits it.
    Window,
    /// The segment is owed.
    Owed,
    /// The segment is a probe.
    Probe,
}

/// A segment to send, and whether it was sent before.
type Chosen = (Id, bool);

/// A segment that leaves: its identifier, its bytes, and whether it was sent before.
struct Leaving {
    id: Id,
    from: u64,
    len: u64,
    repeat: bool,
}

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// The next segment that may leave now, if any; asked again until it returns `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<Transmit> {
        let owes = self.owed.head || self.owed.probe || self.owed.limited;
        let owed = if owes { self.send_owed(now).map(|chosen| self.known(chosen)) } else { None };
        let Some(Leaving { id, from, len, repeat }) = owed.or_else(|| self.send_admitted(now))
        else {
            self.in_burst = false;
            self.arm();
            return None;
        };
        // Built in one place: a value that is written in several parts would be read as a whole
        // before the writes complete.
        let (len, stamp, echo) = (len as u32, ticks(now), self.peer_stamp);
        Some(Transmit { id, segment: Segment { from, len, stamp, echo, marked: false }, repeat })
    }

    /// The scoreboard's entry of a segment that has left.
    #[inline(always)]
    fn known(&self, (id, repeat): Chosen) -> Leaving {
        let (start, end) = (self.board.start(id).0, self.board.end(id).0);
        Leaving { id, from: start, len: end - start, repeat }
    }

    /// Bytes of a full segment.
    #[inline]
    pub(in crate::tcp) fn segment_bytes(&self) -> u32 {
        self.mss as u32
    }

    /// Bytes of the next new segment; `None` if there is no data, or the receiver or the send
    /// buffer does not allow it.
    ///
    /// Whole segments only (RFC 1122 section 4.2.3.4): if the window is not a multiple of the
    /// segment size, the remainder stays unused.
    #[inline]
    pub(super) fn new_len(&self) -> Option<u64> {
        let nxt = self.board.nxt();
        let left = self.written - nxt;
        let len = left.min(self.mss);
        let end = nxt + len;
        (left > 0 && end <= self.right_edge && end - self.board.una() <= self.window.bytes())
            .then_some(len)
    }

    #[cold]
    fn send_owed(&mut self, now: Time) -> Option<Chosen> {
        if core::mem::take(&mut self.owed.head) && !self.board.is_empty() {
            let head = self.board.first();
            // Everything may have been acknowledged in the same instant.
            if self.board.flags(head).has(Flags::LOST) {
                return Some(self.send(now, Choice::Lost(head), Reason::Owed));
            }
        }
        if core::mem::take(&mut self.owed.probe) && !self.board.is_empty() {
            return Some(self.send_probe(now));
        }
        if core::mem::take(&mut self.owed.limited) && self.new_len().is_some() {
            return Some(self.send(now, Choice::New, Reason::Owed));
        }
        None
    }

    /// RFC8985 7.3: new data, or else the highest segment; then the retransmission timer is
    /// restarted.
    fn send_probe(&mut self, now: Time) -> Chosen {
        let kind = Tlp::kind(self.new_len().is_some());
        let sent = match kind {
            Kind::New => self.send(now, Choice::New, Reason::Probe),
            Kind::Repeat => {
                let last = self.board.next().previous().unwrap_or_default();
                self.send(now, Choice::Unsure(last), Reason::Probe)
            }
        };
        self.counters.probes += 1;
        let Leaving { from, len, .. } = self.known(sent);
        (self.probe_start, self.probe_len) = (from, len);
        self.tlp.on_sent(kind, Seq(self.board.nxt()));
        self.rto.restart(now, self.rtt.rto());
        sent
    }

    /// Chooses the next segment, if the window admits it.
    #[inline]
    fn choose(&mut self, new_data: bool) -> Choice {
        if self.linux.is_some_and(|linux| linux.waits) {
            return if new_data { Choice::New } else { Choice::Nothing };
        }
        if self.f_rto.is_some_and(|test| test.holds_repeats()) {
            return if self.owed.f_rto > 0 && new_data { Choice::New } else { Choice::Nothing };
        }
        if self.episode == Episode::Fast {
            return self.next_seg.choose(&mut self.board, new_data);
        }
        match self.board.next_lost() {
            Some(id) => Choice::Lost(id),
            None if new_data => Choice::New,
            None => Choice::Nothing,
        }
    }

    #[inline(always)]
    fn send_admitted(&mut self, now: Time) -> Option<Leaving> {
        let new = self.new_len();
        let choice = self.choose(new.is_some());
        let len = match choice {
            Choice::New => new.unwrap_or_default(),
            Choice::Lost(id) | Choice::Unsure(id) => self.board.len(id),
            Choice::Rescue => self.board.highest_unsacked().map_or(0, |id| self.board.len(id)),
            Choice::Nothing => {
                // RFC9002 7.8: the application or a buffer, not the window, ends the burst.
                let open = self.controller.admits(self.mss, self.inflight());
                self.app_limited = open && self.board.nxt() >= self.written;
                self.cwnd_limited = !open;
                self.blocked = Blocked::NoData;
                self.note(now, self.holds_back());
                return None;
            }
        };
        if len == 0 || !self.admits(now, choice, len) {
            return None;
        }
        if choice != Choice::New {
            let chosen = self.send(now, choice, Reason::Window);
            return Some(self.known(chosen));
        }
        let from = self.board.nxt();
        let id = self.send_new(now, len, Reason::Window);
        Some(Leaving { id, from, len, repeat: false })
    }

    #[inline(always)]
    fn admits(&mut self, now: Time, choice: Choice, len: u64) -> bool {
        if !self.in_burst {
            self.in_burst = true;
            if !self.controller.is_settled(self.idle_since, self.inflight()) {
                self.announce(now);
            }
        }
        let pipe = self.inflight();
        // D3: before an episode, only limited transmit uses the room that a SACK frees.
        let held = self.episode == Episode::None && choice == Choice::New && !self.marker.is_rack();
        let inflight = if held { pipe.max(self.board.ledger().outstanding()) } else { pipe };
        if !self.controller.admits(len, inflight) {
            return self.block(now, Blocked::Window, None);
        }
        let spacing = self.controller.spacing();
        let wait = self.pacer.admit(now, len, pipe, spacing);
        if wait == Nanos::ZERO {
            return true;
        }
        self.block(now, Blocked::Pacer(now + wait), spacing.rate)
    }

    /// The reason for which nothing is chosen to be sent.
    fn holds_back(&self) -> Limit {
        let nxt = self.board.nxt();
        let end = nxt + self.mss.min(self.written - nxt);
        if nxt >= self.written {
            Limit::Application
        } else if end > self.right_edge {
            Limit::Receiver
        } else if end - self.board.una() > self.window.bytes() {
            Limit::SendBuffer
        } else {
            Limit::Window
        }
    }

    /// The window or the pacer, at this rate, ends the burst.
    pub(super) fn block(&mut self, now: Time, by: Blocked, rate: Option<Rate>) -> bool {
        self.blocked = by;
        self.note(
            now,
            match by {
                Blocked::Pacer(_) if rate.is_some() && rate == self.max_rate => Limit::MaxRate,
                Blocked::Pacer(_) => Limit::Pacer,
                Blocked::Window | Blocked::NoData => Limit::Window,
            },
        );
        (self.app_limited, self.cwnd_limited) = (false, true);
        false
    }

    #[inline(never)]
    fn announce(&mut self, now: Time) {
        let una = self.board.una();
        let limit = self.right_edge.min(una.saturating_add(self.window.bytes())).min(self.written);
        let ready = Ready {
            now,
            nxt: Seq(self.board.nxt()),
            inflight: self.inflight(),
            backlog: limit.saturating_sub(self.board.nxt()) + self.board.ledger().lost(),
            srtt: self.rtt.srtt(),
            idle: self.idle_since.take().map_or(Nanos::ZERO, |since| now.since(since)),
            timeout: self.rto.timeout(self.rtt.rto()),
        };
        self.controller.before_send(&ready);
    }

    #[inline(never)]
    fn send(&mut self, now: Time, choice: Choice, reason: Reason) -> Chosen {
        let again = match choice {
            Choice::Lost(id) | Choice::Unsure(id) => Some(id),
            Choice::Rescue => self.board.highest_unsacked(),
            Choice::New | Choice::Nothing => None,
        };
        let Some(id) = again else {
            let len = self.mss.min(self.written - self.board.nxt());
            return (self.send_new(now, len, reason), false);
        };
        self.board.push_again(now, id);
        self.on_repeat(now, id, reason);
        if self.episode == Episode::Fast && reason != Reason::Probe {
            self.next_seg.on_sent(choice);
        }
        let Leaving { from, len, .. } = self.known((id, true));
        self.count_sent(now, from + len, len, len);
        (id, true)
    }

    /// The next `len` bytes leave for the first time.
    #[inline(always)]
    fn send_new(&mut self, now: Time, len: u64, reason: Reason) -> Id {
        self.tail_at = now;
        if let Some(early) = &mut self.early {
            early.cancel();
        }
        self.owed.f_rto = self.owed.f_rto.saturating_sub(1);
        let start = self.board.nxt();
        let id = self.board.push(now, len);
        if self.episode == Episode::Fast && reason != Reason::Probe {
            self.next_seg.on_sent(Choice::New);
        }
        self.count_sent(now, start + len, len, len);
        id
    }

    /// Counts the sent data up to `end`: `bytes` in total, the last segment with `len` bytes.
    #[inline(always)]
    pub(super) fn count_sent(&mut self, now: Time, end: u64, bytes: u64, len: u64) {
        self.marker.on_sent(now, Seq(end));
        if self.rto.deadline().is_none() {
            self.rto.on_sent(now, self.rtt.rto());
        }
        self.bytes_sent += bytes;
        self.first_sent.get_or_insert(now);
        self.last_sent_at = now;
        self.idle_since = None;
        if bytes > len && self.controller.heeds_each() {
            (1..bytes / len).rev().for_each(|later| self.tell_sent(now, len, later));
        }
        self.tell_sent(now, len, 0);
    }

    /// Reports the departure of a segment and of `later` more.
    #[inline(always)]
    fn tell_sent(&mut self, now: Time, len: u64, later: u64) {
        self.controller.on_sent(&Sent {
            now,
            bytes: len,
            nxt: Seq(self.board.nxt() - later * len),
            inflight: self.inflight() - later * len,
            srtt: self.rtt.srtt(),
        });
    }

    fn on_repeat(&mut self, now: Time, id: Id, reason: Reason) {
        let start = self.board.start(id).0;
        // It is compared with an echo, so it is the tick, not the exact time. Here a probe is a
        // retransmission like any other: its answer must not be taken for that of the original.
        // Linux does not count it as one (`tcp_send_loss_probe`).
        if reason != Reason::Probe || self.linux.is_none() {
            self.undo.on_repeat(tick_start(ticks(now)));
        }
        if self.episode == Episode::Fast && id == self.board.first() && self.is_linux() {
            self.rto.restart(now, self.rtt.rto());
        }
        let early = core::mem::take(&mut self.early_head) == Some(id);
        self.repeats.add(Repeat {
            start,
            fack: self.board.ledger().fack().0,
            early,
            reported: false,
        });
        self.counters.retransmissions += 1;
        self.counters.retransmitted_bytes += self.board.len(id);
    }

    /// The path dropped the segment that [`Sender::poll`] returned at `left` (ground truth; the
    /// sender itself does not know).
    pub fn on_dropped(&mut self, sent: &Transmit, left: Time) {
        self.board.on_dropped(sent.id, left);
        self.counters.packets_dropped += 1;
        self.counters.lost_retransmissions += u64::from(sent.repeat);
    }

    /// Transmissions so far.
    pub fn transmissions(&self) -> u64 {
        self.board.next_sent()
    }
}
