//! The packets in transit in one direction, in order of arrival.
//!
//! Links deliver in the order of sending, so this is a queue. A path that reorders or duplicates
//! inserts a packet a few places before the end. The cost is the number of packets overtaken, and a
//! plain path never pays it.

use crate::pool::Plain;
use crate::ring::Ring;

/// No event is due: later than every possible time, ns.
pub const NEVER: u64 = u64::MAX;

/// An item with an arrival time, ns.
pub trait Arrives: Plain {
    /// Arrival time.
    fn at(&self) -> u64;
}

/// Packets in transit.
#[derive(Clone, Debug, Default)]
pub struct Wire<T: Arrives> {
    ring: Ring<T>,
    /// When the last item arrives.
    last: u64,
}

impl<T: Arrives> Wire<T> {
    /// When the next item arrives; [`NEVER`] if nothing is in transit.
    #[inline]
    pub fn next(&self) -> u64 {
        self.ring.front().map_or(NEVER, Arrives::at)
    }

    /// Number of packets in transit.
    pub fn len(&self) -> u64 {
        self.ring.end() - self.ring.base()
    }

    /// Whether nothing is in transit.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Removes the next item that arrives by `now`; items with equal arrival times leave in the
    /// order of sending.
    #[inline]
    pub fn arrive(&mut self, now: u64) -> Option<T> {
        self.take(self.next() <= now)
    }

    /// Like [`Wire::arrive`], for a caller that knows whether [the next](Wire::next) item arrives.
    #[inline]
    pub fn take(&mut self, arrives: bool) -> Option<T> {
        if arrives { self.ring.pop() } else { None }
    }

    /// Puts a packet on the wire.
    #[inline(always)]
    pub fn send(&mut self, packet: T) {
        if packet.at() >= self.last {
            self.last = packet.at();
            self.ring.push(packet);
        } else {
            self.send_before(packet);
        }
    }

    #[cold]
    fn send_before(&mut self, packet: T) {
        self.ring.push(packet);
        let mut place = self.ring.end() - 1;
        while place > self.ring.base() && self.ring.get(place - 1).at() > packet.at() {
            *self.ring.get_mut(place) = *self.ring.get(place - 1);
            place -= 1;
            *self.ring.get_mut(place) = packet;
        }
        debug_assert!(
            place == self.ring.base() || self.ring.get(place - 1).at() <= packet.at(),
            "packets under way are out of order"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Arrives for (u64, u32) {
        fn at(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn arrivals_come_in_order_of_time_and_then_of_sending() {
        let mut wire = Wire::default();
        for packet in [(5, 0), (9, 1), (7, 2), (7, 3), (12, 4), (5, 5)] {
            wire.send(packet);
        }
        let order: Vec<u32> =
            std::iter::from_fn(|| wire.arrive(100)).map(|packet| packet.1).collect();
        assert_eq!(order, [0, 5, 2, 3, 1, 4]);
    }
}
