//! The limit on growth of a window that the sender does not fill.
//!
//! Follows: RFC 9002 section 7.8 (`limited`); Linux (`linux`), which remembers for a round whether the
//! window was full, and lowers one that is not used; draft-ietf-ccwg-ratelimited-increase (August
//! 2026; `maxfs`, `literal`): a window grows whether or not it is used, but not beyond what the
//! algorithm would reach in one round trip from the largest flight since the last cut (`maxFS`).
//!
//! A controller that observes another sender ([`Controller::on_ack_of_another`]) judges its own window by the same flights.
//!
//! Departure (`maxfs`): growth is capped, the window is never lowered. Read to the letter the draft
//! sets an unused window to the smaller of the two, which takes away what a restart of `maxFS`
//! after a cut has not seen yet; that is `literal`.

use super::usage::Room;
use super::{Controller, Increase};
use crate::avoidance::Avoidance;
use crate::event::{Ack, Ready, Sent, Window};
use crate::recovery::Policy;
use crate::startup::Startup;
use crate::units::{MAX_BYTES, Nanos};

/// The window of a sender that is only looked at counts as the limit where this much of it was in
/// flight, in eighths.
const USED: u64 = 7;

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// The window is cut: flights from before it prove nothing any more. The next one that is sent
    /// is measured (RATELIMITED 3-cut).
    pub(super) fn forget_flights(&mut self) {
        if self.increase != Increase::Linux {
            self.usage.most = 0;
        }
    }

    fn room(&self) -> Room {
        Room { cwnd: self.w.cwnd, in_slow_start: self.w.in_slow_start() }
    }

    /// Something was sent.
    #[inline(always)]
    pub(super) fn note_use(&mut self, sent: &Sent) {
        self.usage.on_sent(sent);
        match self.increase {
            Increase::Limited => {}
            Increase::Linux => {
                let (transport, mss, room) = (self.cx.transport, self.cx.mss, self.room());
                self.usage.note_sent(sent, transport, mss, room);
            }
            // RATELIMITED 3-flight.
            Increase::MaxFs | Increase::Literal => {
                self.usage.most = self.usage.most.max(sent.inflight.min(MAX_BYTES));
            }
        }
    }

    /// Whether the next [`Ready`] is needed for its timeout.
    #[inline]
    pub(super) fn heeds_timeout(&self) -> bool {
        self.increase == Increase::Linux && self.idle_restart && !self.usage.is_full()
    }

    /// No repair is under way, also none of a timeout.
    fn is_open(&self) -> bool {
        let repairs = self.after_timeout && self.marked && self.usage.is_below(self.mark);
        self.episode.is_none() && !repairs && !self.startup.is_whole()
    }

    /// [`Self::lower_unused`] has something to do.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        self.idle_restart && self.usage.is_unused()
    }

    /// LINUX unused-lowered: a window that was not the limit for a timeout falls half of the way to
    /// what was used of it, or to the initial window; the threshold keeps three quarters of it.
    /// Judged with the last send, done before what follows it.
    pub(super) fn lower_unused(&mut self) {
        if !self.is_unused() {
            return;
        }
        let used = self.usage.take_unused();
        if !self.is_open() {
            return;
        }
        let used = used.max(self.cx.iw);
        if used < self.w.cwnd {
            self.raise_threshold();
            self.w.cwnd =
                u64::midpoint(self.segments(self.w.cwnd), self.segments(used)).max(1) * self.cx.mss;
        }
        self.usage.forget_used();
    }

    /// LINUX idle-halved: after a silence that is longer than the timeout the window is halved for
    /// each one in it, down to the initial window; the threshold keeps three quarters of it.
    pub(super) fn restart_by_halves(&mut self, ready: &Ready, since_sent: Nanos) {
        let transport = self.cx.transport;
        // While something is outstanding there is no silence.
        if self.usage.outstanding(transport, ready.nxt, ready.inflight) > 0
            || since_sent <= ready.timeout
        {
            return;
        }
        self.raise_threshold();
        let least = self.w.cwnd.min(self.cx.iw);
        let timeouts = (since_sent.0 - 1) / ready.timeout.0.max(1);
        let halved = self.segments(self.w.cwnd) >> timeouts.min(63);
        self.w.cwnd = (halved * self.cx.mss).max(least);
        self.usage.resume(ready.now);
    }

    /// `tcp_current_ssthresh`: at least three quarters of the window.
    fn raise_threshold(&mut self) {
        self.w.ssthresh = self.raised_threshold(self.w);
    }

    pub(super) fn raised_threshold(&self, w: Window) -> u64 {
        let segments = self.segments(w.cwnd);
        // One that is not set is above all.
        w.ssthresh.max((segments / 2 + segments / 4) * self.cx.mss)
    }

    /// Linux counts windows in segments.
    fn segments(&self, bytes: u64) -> u64 {
        bytes / self.cx.mss
    }

    /// One ACK of another sender, whose window is not this one's: a log that is replayed, a
    /// connection that is looked at beside. Whether this window was the limit follows from what was
    /// in flight.
    pub fn on_ack_of_another(&mut self, ack: &Ack) {
        let flight = self.usage.flight().max(ack.inflight_before);
        let cwnd_limited = match self.increase {
            Increase::Linux => false,
            // OURS another-used: what waits for a pacer counts as used.
            _ => {
                flight.saturating_mul(8) >= self.w.cwnd.saturating_mul(USED)
                    || (self.w.in_slow_start() && flight >= self.w.cwnd / 2)
            }
        };
        self.on_ack(&Ack { cwnd_limited, acked_fresh: ack.acked, ..*ack });
    }

    /// May this ACK grow the window?
    pub(super) fn limited(&self, ack: &Ack) -> bool {
        match self.increase {
            // RFC9002 7.8-1: no growth while the window is not used. OURS growth-half: in slow
            // start half of it in flight is use enough, since the window doubles within the round
            // trip that the test looks back on.
            Increase::Limited => {
                ack.cwnd_limited
                    || (self.w.in_slow_start() && ack.inflight_before >= self.w.cwnd / 2)
            }
            Increase::Linux => self.usage.is_limited(self.room()),
            // RATELIMITED 3-limit.
            Increase::MaxFs | Increase::Literal => self.w.cwnd < self.reach(ack),
        }
    }

    /// The window that the algorithm in charge would have after ACKs of the largest flight, bytes.
    pub(super) fn reach(&self, ack: &Ack) -> u64 {
        let (w, max_fs) = (self.w, self.usage.most);
        if max_fs == 0 {
            return 0;
        }
        if w.in_slow_start() {
            return self.startup.reach(max_fs, w, &self.cx);
        }
        let avoidance = self.avoidance.reach(ack, max_fs, w, &self.cx);
        avoidance.max(self.startup.reach(max_fs, w, &self.cx))
    }

    /// Growth since `before` as far as `reach` allows.
    pub(super) fn bound(&mut self, before: Window, reach: u64, ack: &Ack) {
        let least = match self.increase {
            Increase::Limited | Increase::Linux => return,
            // RATELIMITED 3-literal: an unused window is set to the bound; while no flight has
            // been seen since a cut there is none.
            Increase::Literal if self.usage.most > 0 && ack.inflight_before < before.cwnd => {
                self.cx.minimum_window()
            }
            Increase::MaxFs | Increase::Literal => before.cwnd,
        };
        self.w.cwnd = self.w.cwnd.min(reach.max(least));
    }
}
