//! Bursts: segments that leave together without a query for each. [`Sender::poll`] is the plain
//! path with the same results.

use super::{Blocked, Sender, Transmit};
use crate::instrumented::{Combined, Company};
use crate::tcp::{Segment, ticks};
use firstflight::detection::{Episode, Scoreboard};
use firstflight::{Nanos, Time};

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Number of segments, at most `most`, that may leave now, each new, of full size, and as
    /// [`Sender::poll`] would return it; `None` if each segment must be polled.
    #[inline(always)]
    pub(in crate::tcp) fn burst(&mut self, now: Time, most: u64) -> Option<u64> {
        let owed = &self.owed;
        let plain = self.controller.is_settled(self.idle_since, self.inflight())
            && !(owed.head || owed.probe || owed.limited)
            && !self.f_rto.is_some_and(|test| test.holds_repeats())
            && self.episode == Episode::None
            && self.board.ledger().waiting() == 0
            && self.early.is_none()
            && self.host.preset.sack
            && self.marker.is_rack();
        if !plain {
            return None;
        }
        let most = most.min(self.allowed() / self.mss);
        let pipe = self.board.ledger().pipe();
        if let Some(due) = self.is_due(now, pipe, most) {
            self.filled = false;
            if due {
                self.pacer.release(now, self.mss);
            }
            return Some(self.begin_burst(u64::from(due)));
        }
        let (open, full) = self.controller.admits_many(self.mss, pipe, most);
        let many = match self.controller.settled_rate() {
            Some(rate) if open > 0 => self.pacer.admit_many(now, self.mss, rate, open),
            _ => open,
        };
        self.filled = full && many == open;
        Some(self.begin_burst(many))
    }

    #[inline(always)]
    fn begin_burst(&mut self, many: u64) -> u64 {
        if many > 0 {
            self.in_burst = true;
            self.owed.f_rto =
                u8::try_from(many).map_or(0, |many| self.owed.f_rto.saturating_sub(many));
        }
        many
    }

    /// Whether the segment that the pacer holds may leave; `None` if the whole burst must be
    /// queried.
    #[inline(always)]
    fn is_due(&mut self, now: Time, pipe: u64, most: u64) -> Option<bool> {
        let due = self.pacer.is_due(now, self.controller.settled_rate())?;
        let open = |sender: &Self| {
            most > 0 && sender.controller.agrees(sender.mss, pipe, false) == Some(true)
        };
        (!due || open(self)).then_some(due)
    }

    /// New bytes that the written data and the buffers allow.
    #[inline(always)]
    fn allowed(&self) -> u64 {
        let end = self.right_edge.min(self.board.una().saturating_add(self.window.bytes()));
        self.written.min(end).saturating_sub(self.board.nxt())
    }

    /// After a burst: whether nothing more may leave now, with the same effect as [`Sender::poll`].
    /// `false` if [`Sender::poll`] must be called to find out.
    #[inline(always)]
    pub(in crate::tcp) fn is_blocked(&mut self, now: Time) -> bool {
        if self.allowed() < self.mss {
            return false;
        }
        let mut rate = None;
        let by = match self.controller.agrees(self.mss, self.board.ledger().pipe(), self.filled) {
            Some(false) => Blocked::Window,
            Some(true) => {
                rate = self.controller.settled_rate();
                let Some(rate) = rate else { return false };
                match self.pacer.hold(now, self.mss, rate) {
                    Nanos::ZERO => return false,
                    wait => Blocked::Pacer(now + wait),
                }
            }
            None => return false,
        };
        self.block(now, by, rate);
        self.in_burst = false;
        self.arm();
        true
    }

    /// Releases the packet for which [`Sender::is_blocked`] made the pacer wait until `now`, as a burst
    /// of one. Applies only if the pacer holds that packet alone: the window has admitted it, and
    /// nothing has happened since. Returns whether it did.
    #[inline(always)]
    pub(in crate::tcp) fn release(&mut self, now: Time) -> bool {
        let held = self.pacer.is_holding();
        if held {
            self.filled = false;
            self.pacer.release(now, self.mss);
            self.begin_burst(1);
        }
        held
    }

    /// The next segment of the burst.
    #[inline(always)]
    pub(in crate::tcp) fn next_of_burst(&mut self, now: Time) -> Transmit {
        let (from, len) = (self.board.nxt(), self.mss as u32);
        let id = self.board.push(now, self.mss);
        let (stamp, echo) = (ticks(now), self.peer_stamp);
        Transmit { id, segment: Segment { from, len, stamp, echo, marked: false }, repeat: false }
    }

    /// Takes the next `count` segments of the burst together.
    #[inline(always)]
    pub(in crate::tcp) fn take_burst(&mut self, now: Time, count: u64) {
        self.board.push_run(now, count);
    }

    /// Ends a burst of `count` segments.
    #[inline(always)]
    pub(in crate::tcp) fn end_burst(&mut self, now: Time, count: u64) {
        self.tail_at = now;
        self.count_sent(now, self.board.nxt(), count * self.mss, self.mss);
    }
}
