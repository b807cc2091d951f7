//! Bursts: packets that leave together without a query for each. [`Sender::poll`] is the plain path
//! with the same results.

use super::{Blocked, Sender, Transmit};
use crate::instrumented::{Combined, Company};
use crate::limited::Limit;
use crate::quic::loss::{Carries, SentPacket};
use firstflight::{Nanos, Time};

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Number of packets, at most `most`, that may leave now, each with the next whole chunk and
    /// each as [`Sender::poll`] would return it; `None` if each packet must be polled.
    #[inline(always)]
    pub(in crate::quic) fn burst(&mut self, now: Time, most: u64) -> Option<u64> {
        let plain = self.controller.is_settled(self.idle_since, self.inflight)
            && self.probes_owed == 0
            && self.skips.is_none()
            && self.ecn.is_none()
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
        self.open_whole.saturating_sub(self.next_chunk)
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
            Some(false) => {
                self.note(now, Limit::Window);
                Blocked::Window
            }
            Some(true) => {
                let Some(rate) = self.controller.settled_rate() else { return false };
                match self.pacer.hold(now, len, rate) {
                    Nanos::ZERO => return false,
                    wait => {
                        self.note_paced(now, Some(rate));
                        Blocked::Pacer(now + wait)
                    }
                }
            }
            None => return false,
        };
        (self.unfilled, self.app_limited) = (false, false);
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
}
