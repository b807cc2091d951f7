//! Recovery episodes of a controller: their start and end, the recovery in charge, and the undo after
//! a false alarm.

use super::Controller;
use super::config::Relapse;
use super::kept::{Episode, Repairer, Undo};
use super::three_amounts::ThreeAmounts;
use crate::avoidance::{Avoidance, Cut};
use crate::event::{Ack, Signal, Transport, Window};
use crate::exit::ExitReason;
use crate::recovery::{Cause, End, Entry, Policy, Progress};
use crate::startup::Startup;
use crate::units::{MAX_BYTES, Seq};

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// Loss or marks that are news: not of something sent before the last episode began. Loss
    /// outranks marks. `how` an episode has just ended, if this ACK ends one.
    pub(super) fn congested(&mut self, ack: &Ack, how: Option<End>) -> Option<Signal> {
        let mark = self.recovery_mark().filter(|_| how != Some(End::Replaced));
        let ended = how.is_some();
        let (loss_is_news, mark_is_news) = match (mark, self.cx.transport) {
            (None, _) => (ack.lost > 0 || self.relapses(ack, false), true),
            // RFC9002 7.3.2-4: only a packet sent after the last entry starts a new period. Late
            // losses of the old one hide no marks.
            (Some(mark), Transport::Quic) => {
                let lost = ack.lost > 0 && ack.tx_lost.is_some_and(|tx| tx >= self.tx_mark);
                (lost, ack.una > mark && !(ended && Self::marks_are_old(ack)))
            }
            // RFC6675 5.1-1: below the mark without an episode TCP is in timeout recovery; there
            // only a lost repeat is news (LINUX rto-reenter), and the loss of new data is answered
            // at its end.
            (Some(_), Transport::Tcp) if !self.is_past_mark(ack) => {
                self.ends.set_relapsed(self.ends.relapsed() || ack.lost > 0);
                (ack.lost > 0 && ack.detail.lost_again, false)
            }
            // RFC3168 6.1.2-1: one reduction for the marks of a window of data. An ACK that ends an
            // episode acknowledges what was sent before it began.
            (Some(_), Transport::Tcp) => (self.relapses(ack, ended) || ack.lost > 0, !ended),
        };
        if loss_is_news {
            Some(Signal::Loss)
        } else {
            (ack.ce && mark_is_news).then_some(Signal::Ecn)
        }
    }

    /// RFC3168 6.1.2-2: all marks that a QUIC ACK reports may be of packets sent before the mark.
    fn marks_are_old(ack: &Ack) -> bool {
        ack.detail
            .ce_bytes
            .is_some_and(|marked| marked <= ack.acked.saturating_sub(ack.acked_fresh))
    }

    /// TCP: everything sent before the last episode or timeout is acknowledged; after marks and
    /// without SACK also something sent after it, if anything was.
    fn is_past_mark(&self, ack: &Ack) -> bool {
        // RFC6675 5-end: over when all that was sent before it is acknowledged. LINUX cwr-above: an
        // episode of marks holds until something above is. RFC6582 3.2-recover: so does one without
        // SACK, or duplicates of what was repeated would open another.
        ack.una > self.mark || (ack.una == self.mark && (!self.ends.above() || ack.flight == 0))
    }

    /// TCP: a recovery is over (`ended`, or one that was undone or followed a timeout is), and new
    /// data that was declared lost in it asks for another reduction.
    fn relapses(&mut self, ack: &Ack, ended: bool) -> bool {
        let declared = self.ends.relapsed();
        self.ends.set_relapsed(false);
        match self.ends.relapse() {
            // RFC5681 4.3-new: a loss in another window of data is another sign of congestion.
            Relapse::Declared => declared && (ended || ack.detail.unrepaired),
            // LINUX lost-out: the state after a recovery follows from what is marked lost then.
            Relapse::Outstanding => (declared || ended) && ack.detail.unrepaired,
        }
    }

    /// The sign needs no episode: the startup takes it for none, or the avoidance has answered it.
    pub(super) fn absorbs(&mut self, signal: Signal, ack: &Ack) -> bool {
        if self.w.in_slow_start() {
            return self.startup.absorbs(signal, ack, &self.cx);
        }
        if signal == Signal::Loss || self.ended.is_none() {
            return false;
        }
        // RFC9331 4.3-scalable: by the share of marks, without a period of recovery.
        let Some(left) = self.avoidance.answer_marks(ack, self.w, &self.cx) else { return false };
        if left.cwnd < self.w.cwnd {
            self.stats.ecn_episodes = self.stats.ecn_episodes.saturating_add(1);
            self.forget_flights();
            self.set_window(Window { cwnd: left.cwnd, ssthresh: left.ssthresh });
        }
        // RFC9438 4.9-1: marks are never taken back and void the memory of an earlier loss.
        self.undo = None;
        true
    }

    #[inline(never)]
    pub(super) fn open(&mut self, signal: Signal, ack: &Ack) {
        let from_slow_start = self.w.in_slow_start();
        let before = self.w;
        // RFC9438 4.9-1: remember what to give back; marks are never taken back and void the memory
        // of an earlier loss.
        self.undo = (signal == Signal::Loss).then(|| self.copy(before));
        self.exit_in_doubt = signal == Signal::Loss && self.ended.is_none();
        self.forget_flights();
        match signal {
            Signal::Loss => self.stats.loss_episodes = self.stats.loss_episodes.saturating_add(1),
            Signal::Ecn => self.stats.ecn_episodes = self.stats.ecn_episodes.saturating_add(1),
        }
        let cut = Cut {
            now: ack.now,
            signal,
            inflight_before: ack.inflight_before,
            flight: self.usage.flight(),
            from_slow_start,
        };
        self.usage.forget_flights(ack.inflight);
        let beta = self.avoidance.beta(signal, false);
        let reduced = self.avoidance.reduce(&cut, before, &self.cx);
        self.set_mark(Some(ack.nxt));
        self.tx_mark = ack.tx_next;
        self.ends.begin(signal == Signal::Ecn);
        if let Some(own) = self.startup.on_congestion(signal, beta, ack, before, &self.cx) {
            self.install(own.cwnd());
            self.w.ssthresh = self.w.cwnd;
            if let Repairer::Policy(policy) = &self.repairer {
                self.repairer = Repairer::Own(own, policy.settings());
            }
            self.episode = Some(Episode::Own);
        } else {
            self.w.ssthresh = reduced.ssthresh;
            let timer = self.cx.so_far.is_timer(ack);
            self.episode = Some(Episode::Policy);
            let mss = self.cx.mss;
            let entry = Entry {
                cause: match signal {
                    Signal::Ecn => Cause::Ecn,
                    Signal::Loss if timer => Cause::Timer,
                    Signal::Loss => Cause::Ack,
                },
                target: reduced.ssthresh,
                flight: ack.flight.min(MAX_BYTES),
                sacked: ack.sacked.min(MAX_BYTES),
                delivered: ack.acked,
                cwnd: before.cwnd,
                reduced: reduced.cwnd,
                mss,
            };
            if let Some(policy) = self.policy() {
                policy.enter(&entry);
            }
            self.feed_policy(ack);
        }
        if self.ended.is_none() {
            let reason = if signal == Signal::Loss { ExitReason::Loss } else { ExitReason::Ecn };
            self.record(reason, ack.now, before.cwnd, ack.inflight_before, None);
        }
    }

    /// LINUX hystart-recovery: in TCP that follows Linux a startup may find its end inside a recovery.
    pub(super) fn sample_in_recovery(&mut self, ack: &Ack) {
        let asks = self.cx.transport == Transport::Tcp
            && self.ends.relapse() == Relapse::Outstanding
            && self.episode == Some(Episode::Policy)
            && self.w.in_slow_start()
            && !self.cx.so_far.is_timer(ack);
        if !asks {
            return;
        }
        if let Some(ssthresh) = self.startup.sample_in_recovery(ack, self.w, &self.cx) {
            self.w.ssthresh = ssthresh.max(self.cx.minimum_window());
            let (target, mss) = (self.w.ssthresh, self.cx.mss);
            if let Some(policy) = self.policy() {
                policy.retarget(target, mss);
            }
        }
    }

    /// One ACK of an open episode. Returns whether this ACK may still grow the window, and how the
    /// episode ended, if it did: after [`End::Replaced`] a fresh one must open.
    #[inline(never)]
    pub(super) fn progress(&mut self, ack: &Ack) -> (bool, Option<End>) {
        let past_mark = match self.cx.transport {
            // RFC9002 7.3.2-5: over with the first packet sent after entry.
            Transport::Quic => ack.una > self.mark,
            Transport::Tcp => self.is_past_mark(ack),
        };
        // LINUX ack-completing: in TCP the ACK that ends an episode grows the window by what it
        // newly delivered; in QUIC only packets sent after entry count.
        let grows = self.cx.transport == Transport::Quic || self.ends.grows();
        // Without SACK only the head is ever declared lost, and it lies below the mark.
        if self.cx.transport == Transport::Tcp
            && self.ends.sack()
            && !past_mark
            && !ack.detail.lost_again
            && ack.lost > 0
            && ack.tx_lost.is_some_and(|tx| tx >= self.tx_mark)
        {
            self.ends.set_relapsed(true);
        }
        match self.episode {
            Some(Episode::Policy) if past_mark => {
                self.end_policy(End::Complete, ack);
                (grows, Some(End::Complete))
            }
            Some(Episode::Policy) if ack.detail.lost_again && self.restarts_on_lost_repeat() => {
                // RFC5681 4.3-1: the loss of a repeat counts as a second sign of congestion.
                self.end_policy(End::Replaced, ack);
                self.stats.replaced = self.stats.replaced.saturating_add(1);
                (false, Some(End::Replaced))
            }
            Some(Episode::Policy) => {
                self.feed_policy(ack);
                (false, None)
            }
            Some(Episode::Own) => {
                let Repairer::Own(own, _) = &mut self.repairer else { return (false, None) };
                // RAPID 3.3-end: over when something *transmitted* after entry arrives; in TCP
                // holes hold `una` back much longer.
                let (over, before) = match self.cx.transport {
                    Transport::Quic => (past_mark, Some(ack.acked.saturating_sub(ack.acked_fresh))),
                    Transport::Tcp => (ack.tx_acked.is_some_and(|tx| tx >= self.tx_mark), None),
                };
                // CR9959 retreat-exit: when the jump is acknowledged, not with a later packet.
                let over = own.is_over(ack.una).unwrap_or(over);
                if over {
                    own.account_last(ack.acked, before, ack.lost, ack.una);
                } else {
                    own.account(ack.acked, ack.lost, ack.una);
                }
                let (cwnd, handover, ssthresh) = (own.cwnd(), own.handover(), own.ssthresh());
                self.install(cwnd);
                self.w.ssthresh = self.w.cwnd;
                if over {
                    self.avoidance.hand_over(handover, self.w, &self.cx);
                    self.close();
                    if let Some(ssthresh) = ssthresh {
                        self.w.ssthresh = ssthresh.max(self.cx.minimum_window());
                    }
                    // OURS rapid-repair: in TCP the window stands until the holes are filled.
                    let holes = self.cx.transport == Transport::Tcp && !past_mark;
                    self.episode = holes.then_some(Episode::Repair);
                }
                // The ACK that ends it has been charged and grows nothing.
                (false, over.then_some(End::Complete))
            }
            Some(Episode::Repair) if past_mark => {
                self.episode = None;
                (grows, Some(End::Complete))
            }
            Some(Episode::Repair) | None => (false, None),
        }
    }

    pub(super) fn end_policy(&mut self, how: End, ack: &Ack) {
        if let Some(policy) = self.policy() {
            let cwnd = policy.end(how, ack.inflight);
            self.install(cwnd);
        }
        self.episode = None;
        if how == End::Complete && self.w.in_slow_start() {
            self.stats.slow_starts_after_recovery =
                self.stats.slow_starts_after_recovery.saturating_add(1);
        }
    }

    fn feed_policy(&mut self, ack: &Ack) {
        let (mss, so_far) = (self.cx.mss, self.cx.so_far);
        let Repairer::Policy(policy) = &mut self.repairer else { return };
        policy.on_ack(&Progress {
            delivered: ack.acked,
            advanced: so_far.advanced,
            newly_lost: ack.lost,
            rescue_next: ack.detail.rescue_next,
            repeat_acked: ack.detail.repeat_acked,
            repeat_lost: ack.detail.lost_again,
            pipe: ack.inflight,
            mss,
            timer: so_far.is_timer(ack),
        });
        let cwnd = policy.cwnd();
        self.install(cwnd);
    }

    /// The arm's policy, if its episode is open.
    #[inline]
    pub(super) fn policy(&mut self) -> Option<&mut R> {
        match &mut self.repairer {
            Repairer::Policy(policy) if self.episode == Some(Episode::Policy) => Some(policy),
            _ => None,
        }
    }

    fn restarts_on_lost_repeat(&self) -> bool {
        matches!(&self.repairer, Repairer::Policy(policy) if policy.restarts_on_lost_repeat())
    }

    /// No episode from here on; the policy is back in its place. Returns what was open.
    pub(super) fn close(&mut self) -> Option<Episode> {
        if let Repairer::Own(_, settings) = &self.repairer {
            self.repairer = Repairer::Policy(R::with(settings.clone()));
        }
        self.episode.take()
    }

    pub(super) fn set_mark(&mut self, mark: Option<Seq>) {
        self.marked = mark.is_some();
        self.mark = mark.unwrap_or(self.mark);
    }

    /// State that a false alarm restores; `window` is the one before the reduction.
    pub(super) fn copy(&self, mut window: Window) -> Undo<S::Saved, A::Saved> {
        // Linux restores at least three quarters of the window (`prior_ssthresh`).
        if self.ends.relapse() == Relapse::Outstanding {
            window.ssthresh = self.raised_threshold(window);
        }
        Undo {
            amounts: ThreeAmounts::new([window.cwnd, window.ssthresh, self.usage.most]),
            avoidance: self.avoidance.save(),
            startup: self.startup.save(),
        }
    }
}
