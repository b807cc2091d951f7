//! How far a window may grow that the sender does not fill.
//!
//! Follows: RFC 9002 section 7.8 (`limited`), draft-ietf-ccwg-ratelimited-increase (August 2026;
//! `maxfs`, `literal`), which replaces it: a window grows whether or not it is used, but not
//! beyond what the algorithm would reach in one round trip from the largest flight since the last
//! cut (`maxFS`).
//!
//! Departure (`maxfs`): growth is capped, the window is never lowered. Read to the letter the draft
//! sets an unused window to the smaller of the two, which takes away what a restart of `maxFS`
//! after a cut has not seen yet; that is `literal`.

use super::{Controller, Increase};
use crate::avoidance::Avoidance;
use crate::event::{Ack, Window};
use crate::recovery::Policy;
use crate::startup::Startup;

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// The window is cut: flights from before it prove nothing any more. The next one that is sent
    /// is measured (RATELIMITED 3-cut).
    pub(super) fn forget_flights(&mut self) {
        self.max_fs = 0;
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
            // RATELIMITED 3-limit.
            Increase::MaxFs | Increase::Literal => self.w.cwnd < self.reach(ack),
        }
    }

    /// The window that the algorithm in charge would have after ACKs of the largest flight, bytes.
    pub(super) fn reach(&self, ack: &Ack) -> u64 {
        let (w, max_fs) = (self.w, self.max_fs);
        if max_fs == 0 {
            return 0;
        }
        if w.in_slow_start() {
            return self.startup.reach(max_fs, w, &self.cx);
        }
        let avoidance = self.avoidance.reach(ack, max_fs, w, &self.cx);
        self.startup.reach_beside(max_fs, w).map_or(avoidance, |beside| avoidance.max(beside))
    }

    /// Growth since `before` as far as `reach` allows.
    pub(super) fn bound(&mut self, before: Window, reach: u64, ack: &Ack) {
        let least = match self.increase {
            Increase::Limited => return,
            // RATELIMITED 3-literal: an unused window is set to the bound; while no flight has
            // been seen since a cut there is none.
            Increase::Literal if self.max_fs > 0 && ack.inflight_before < before.cwnd => {
                self.cx.minimum_window()
            }
            Increase::MaxFs | Increase::Literal => before.cwnd,
        };
        self.w.cwnd = self.w.cwnd.min(reach.max(least));
    }
}
