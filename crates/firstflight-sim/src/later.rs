//! Acknowledgements that receivers ahead of the clock have sent before their time: they wait here until
//! they leave, since the way back is shared and takes them in the order in which they leave.

use crate::back::{Back, Leaving};
use crate::pool::Plain;
use crate::wire::NEVER;
use std::collections::VecDeque;

/// In the order of time, at one instant of flows.
#[derive(Debug)]
pub(crate) struct Later<A> {
    waiting: VecDeque<(u64, Leaving<A>)>,
}

impl<A> Default for Later<A> {
    fn default() -> Later<A> {
        Later { waiting: VecDeque::new() }
    }
}

impl<A: Plain> Later<A> {
    /// When the next one leaves.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.waiting.front().map_or(NEVER, |(at, _)| *at)
    }

    /// It leaves.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, Leaving<A>)> {
        self.waiting.pop_front()
    }
}

impl<A: Plain> Back<A> for Later<A> {
    #[inline]
    fn send(&mut self, now: u64, ack: Leaving<A>, _arrives: impl FnMut(u64)) {
        let place = (now, ack.flow);
        let mut end = self.waiting.len();
        // A bottleneck delivers in order, so that this is the end but for ACKs that were held back.
        while end > 0 && (self.waiting[end - 1].0, self.waiting[end - 1].1.flow) > place {
            end -= 1;
        }
        if end == self.waiting.len() {
            self.waiting.push_back((now, ack));
        } else {
            self.waiting.insert(end, (now, ack));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_leave_in_the_order_of_time_then_of_flows_then_of_sending() {
        let mut later = Later::default();
        for (at, flow, packet) in
            [(5, 1, 0), (9, 0, 1), (7, 2, 2), (7, 1, 3), (9, 0, 4), (7, 2, 5u32)]
        {
            later.send(at, Leaving { flow, packet, ..Leaving::default() }, |_| {});
        }
        assert_eq!(later.next(), 5);
        let order: Vec<u32> =
            std::iter::from_fn(|| later.pop()).map(|(_, ack)| ack.packet).collect();
        assert_eq!(order, [0, 3, 2, 5, 1, 4]);
        assert_eq!(later.next(), NEVER, "nothing waits any more");
    }
}
