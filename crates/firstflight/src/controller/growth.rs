//! Growth of a controller's window, and how slow start ends by itself: at a threshold, or because
//! the startup leaves.

use super::{Controller, Increase};
use crate::avoidance::Avoidance;
use crate::event::{Ack, Transport};
use crate::exit::{ExitReason, Handover};
use crate::recovery::Policy;
use crate::startup::{Leave, Startup, Verdict};
use crate::units::Time;

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    pub(super) fn grow(&mut self, ack: &Ack) {
        // RFC9002 7.3.2-growth: packets sent before a period grow no window. That is QUIC's rule:
        // in TCP an episode lasts until everything sent before it is acknowledged, and
        // after a timeout what was sent before it is what slow start grows by.
        let acked = if self.marked && self.cx.transport == Transport::Quic {
            ack.acked_fresh
        } else {
            ack.acked
        };
        if acked == 0 {
            return;
        }
        let before = self.w;
        // Anew: the sample hook or the end of an episode may have moved this ACK across the
        // threshold, where the stricter test applies.
        self.cx.limited = self.limited(ack);
        let bounded = matches!(self.increase, Increase::MaxFs | Increase::Literal);
        let reach = if bounded { self.reach(ack) } else { 0 };
        if before.in_slow_start() {
            let grown = self.startup.grow(ack, acked, &mut self.w, &self.cx);
            self.bound(before, reach, ack);
            let left = grown.verdict != Verdict::Stay && self.apply(grown.verdict, ack);
            if !left
                && self.note_threshold(ack.now, before.cwnd, ack.inflight_before)
                && grown.leftover > 0
            {
                // LINUX used-once: the kernel asks once per ACK, as slow start finds the window.
                if self.increase != Increase::Linux {
                    self.cx.limited = self.limited(ack);
                }
                self.avoidance.grow(ack, grown.leftover, &mut self.w, &self.cx);
            }
        } else {
            let floor = self.startup.beside_avoidance(ack, acked, before, &self.cx);
            self.avoidance.grow(ack, acked, &mut self.w, &self.cx);
            if let Some(floor) = floor {
                self.w.cwnd = self.w.cwnd.max(floor);
            }
        }
        self.bound(before, reach, ack);
        self.install(self.w.cwnd);
    }

    /// Slow start is over if the window has met the threshold, or the threshold has come down to
    /// it: whether it is. Asked where the window was below the threshold a moment ago and the
    /// startup itself has not left.
    #[inline]
    pub(super) fn note_threshold(&mut self, now: Time, detected: u64, inflight: u64) -> bool {
        if self.w.in_slow_start() { false } else { self.meet_threshold(now, detected, inflight) }
    }

    #[cold]
    fn meet_threshold(&mut self, now: Time, detected: u64, inflight: u64) -> bool {
        let timed_out = core::mem::take(&mut self.after_timeout);
        // OURS handover-threshold: the row of the hand-over table for a threshold that slow start
        // has met.
        let handover = if timed_out { Handover::AfterTimeout } else { Handover::LossFree };
        self.avoidance.hand_over(handover, self.w, &self.cx);
        // Told in later slow starts as well: what it was still looking for it need not find any
        // more.
        let reached = self.startup.reached();
        if self.ended.is_none() {
            let advised = self.w.ssthresh == self.advised_window();
            let reason = if advised { ExitReason::Advice } else { reached };
            self.record(reason, now, detected, inflight, Some(self.w.ssthresh));
        }
        true
    }

    /// Does what a hook concluded; whether startup left.
    #[inline(never)]
    pub(super) fn apply(&mut self, verdict: Verdict, ack: &Ack) -> bool {
        match verdict {
            Verdict::Stay => {}
            Verdict::Aim { ssthresh } => {
                let ssthresh = ssthresh.min(self.advised_window());
                self.w.ssthresh = ssthresh.max(self.cx.minimum_window());
            }
            Verdict::Hold { cwnd } => self.change(cwnd),
            Verdict::Settle { reason, cwnd, estimate } => {
                let detected = self.w.cwnd;
                self.change(cwnd);
                if self.ended.is_none() {
                    self.record(reason, ack.now, detected, ack.inflight_before, Some(estimate));
                }
            }
            Verdict::Leave(leave) => self.leave(leave, ack),
        }
        matches!(verdict, Verdict::Leave(_))
    }

    /// The window that a startup requests; a smaller one is a cut.
    fn change(&mut self, cwnd: u64) {
        if cwnd < self.w.cwnd {
            self.forget_flights();
        }
        self.install(cwnd);
    }

    fn leave(&mut self, leave: Leave, ack: &Ack) {
        let detected = self.w.cwnd;
        if let Some(cwnd) = leave.cwnd {
            self.change(cwnd);
        }
        self.w.ssthresh = leave
            .ssthresh
            .max(self.cx.minimum_window())
            .min(self.w.cwnd.max(self.cx.minimum_window()));
        self.avoidance.hand_over(leave.handover, self.w, &self.cx);
        if self.ended.is_none() {
            self.record(leave.reason, ack.now, detected, ack.inflight_before, leave.estimate);
        }
    }
}
