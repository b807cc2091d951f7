//! The shortcuts of several flows: receivers ahead of the clock, and turns without a look at other
//! events.

use super::Bottleneck;
use crate::back::{Back, Way};
use crate::flow::{Bursts, goes_ahead};
use crate::later::Later;
use crate::observe::Observer;
use crate::wire::NEVER;

impl<E: Bursts> Bottleneck<E> {
    /// See [`Flow::goes_ahead_until`](crate::flow::Flow::goes_ahead_until); only if receivers are inspected only at samples.
    pub(super) fn going_ahead(mut self) -> Self {
        if goes_ahead(&self.forward, &self.back) {
            self.ahead = if self.sample.is_some() { 0 } else { self.limit }.max(1);
            // A single flow has the return path to itself, so its ACKs may enter it early.
            let least = match &self.back {
                Way::Link(link) => link.least_delay(),
                Way::Driven(_) => 0,
            };
            self.later = (self.flows.len() > 1).then(|| Later::new(least));
        }
        self
    }

    /// Lets receivers run ahead to the next sample: everything that arrives before the last one was
    /// processed.
    pub(super) fn go_on(&mut self, sample_at: u64) {
        if self.ahead > 0 {
            self.ahead = sample_at.min(self.limit).max(1);
            for flow in self.flows.iter_mut().filter(|flow| flow.is_ahead()) {
                flow.goes_ahead_until(self.ahead);
            }
        }
    }

    /// Runs the flows' steps before `until`, provided nothing else happens before then. Returns the
    /// time of the last one.
    #[inline(always)]
    pub(super) fn take_turns<O: Observer>(
        &mut self,
        mut now: u64,
        until: u64,
        observer: &mut O,
    ) -> u64 {
        while self.left > 0 {
            let (own, flow) = self.turns.first();
            if self.hand_in_if_due(own.min(until)) {
                continue;
            }
            if own >= until {
                break;
            }
            // A timer whose new due time has passed fires at once.
            now = own.max(now);
            self.step(flow, now, observer);
            self.look_at(flow, now);
        }
        now
    }

    /// If a sender may receive an ACK of a receiver ahead of the clock by `next`, before which
    /// nothing else happens: hands in the ACKs that leave before any of them can be received. After
    /// that, receivers may send more. Returns whether it did.
    #[inline(always)]
    pub(super) fn hand_in_if_due(&mut self, next: u64) -> bool {
        let heard = self.later.as_ref().map_or(NEVER, Later::unheard_until);
        if heard < next {
            self.hand_in(heard + 1);
        }
        heard < next
    }

    /// Puts the early ACKs up to `until` on the return path. A flow that ends before its ACK leaves
    /// does not send it.
    #[inline(never)]
    pub(super) fn hand_in(&mut self, until: u64) {
        let Some(later) = &mut self.later else { return };
        while let Some((at, ack)) = later.pop_before(until) {
            let flow = ack.flow as usize;
            if self.ends[flow].is_some_and(|end| end < at) {
                continue;
            }
            let one = &mut self.flows[flow];
            let before = one.next_ack();
            self.back.send(at, ack, |at| one.hear(at, ack.packet));
            // Usually the flow receives other ACKs first.
            if one.next_ack() < before && self.ends[flow].is_none() {
                self.turns.set(flow, one.next_event());
            }
        }
    }
}
