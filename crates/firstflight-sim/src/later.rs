//! Acknowledgements that receivers ahead of the clock have sent early. They wait here because the
//! return path is shared and takes them in the order in which they leave. No sender receives one
//! before it has spent a minimum time on that path; until then it can wait, so that not every
//! acknowledgement is an event of its own.

use crate::back::{Back, Leaving};
use crate::pool::Plain;
use crate::wire::NEVER;
use std::collections::VecDeque;

/// Ordered by time, and by flow at the same instant.
#[derive(Debug)]
pub(crate) struct Later<A> {
    /// Acknowledgements stored in the order in which they leave: the usual case, when none is held
    /// back.
    waiting: VecDeque<(u64, Leaving<A>)>,
    /// Acknowledgements that leave before one that was stored earlier. At the same time and flow,
    /// those in `waiting` were stored first.
    overtaking: VecDeque<(u64, Leaving<A>)>,
    /// No sender receives an acknowledgement earlier than this after its departure, ns.
    unheard: u64,
    /// Acknowledgements that leave before this time have left, ns.
    left: u64,
}

fn place<A>((at, ack): &(u64, Leaving<A>)) -> (u64, u32) {
    (*at, ack.flow)
}

impl<A: Plain> Later<A> {
    /// For a return path on which every ACK takes at least `least`, ns.
    pub(crate) fn new(least: u64) -> Later<A> {
        let (waiting, overtaking) = (VecDeque::new(), VecDeque::new());
        Later { waiting, overtaking, unheard: least.saturating_sub(1), left: 0 }
    }

    /// Up to this time, inclusive, no sender receives any of them, ns, so they may wait here. On a
    /// path without delay it is the departure time of the first one.
    #[inline]
    pub(crate) fn unheard_until(&self) -> u64 {
        let next = |queue: &VecDeque<(u64, Leaving<A>)>| queue.front().map_or(NEVER, |(at, _)| *at);
        next(&self.waiting).min(next(&self.overtaking)).saturating_add(self.unheard)
    }

    /// Removes the next acknowledgement if it leaves before `until`, with its departure time. After
    /// that, none that leaves before `until` may be added.
    #[inline]
    pub(crate) fn pop_before(&mut self, until: u64) -> Option<(u64, Leaving<A>)> {
        self.left = self.left.max(until);
        let queue = match (self.waiting.front(), self.overtaking.front()) {
            (usual, Some(other)) if usual.is_none_or(|usual| place(other) < place(usual)) => {
                &mut self.overtaking
            }
            _ => &mut self.waiting,
        };
        if queue.front()?.0 < until { queue.pop_front() } else { None }
    }

    #[inline(never)]
    fn overtake(&mut self, ack: (u64, Leaving<A>)) {
        // Usually appended here, too: all held-back ACKs are held equally long.
        let end = if self.overtaking.back().is_none_or(|last| place(last) <= place(&ack)) {
            self.overtaking.len()
        } else {
            self.overtaking.partition_point(|other| place(other) <= place(&ack))
        };
        self.overtaking.insert(end, ack);
    }
}

impl<A: Plain> Back<A> for Later<A> {
    #[inline]
    fn send(&mut self, now: u64, ack: Leaving<A>, _arrives: impl FnMut(u64)) {
        debug_assert!(
            now >= self.left,
            "an ACK leaves at {now}, what leaves before {} has left",
            self.left
        );
        let ack = (now, ack);
        if self.waiting.back().is_none_or(|last| place(last) <= place(&ack)) {
            self.waiting.push_back(ack);
        } else {
            self.overtake(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_leave_in_the_order_of_time_then_of_flows_then_of_sending() {
        let mut later = Later::new(10);
        for (at, flow, packet) in [
            (5, 1, 0),
            (9, 0, 1),
            (7, 2, 2),
            (7, 1, 3),
            (9, 0, 4),
            (7, 2, 5),
            (12, 0, 6),
            (9, 0, 7u32),
        ] {
            later.send(at, Leaving { flow, packet, ..Leaving::default() }, |_| {});
        }
        assert_eq!(later.unheard_until(), 14, "the first one arrives at 15 at the earliest");
        let mut leave = |until| -> Vec<u32> {
            std::iter::from_fn(|| later.pop_before(until)).map(|(_, ack)| ack.packet).collect()
        };
        assert_eq!(leave(7), [0], "what leaves at that time waits");
        assert_eq!(leave(9), [3, 2, 5]);
        assert_eq!(leave(NEVER), [1, 4, 7, 6]);
        assert_eq!(later.unheard_until(), NEVER, "nothing waits any more");
    }
}
