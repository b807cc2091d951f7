//! The rate of acknowledgements that a sender requests from its receiver.
//!
//! Follows draft-ietf-quic-ack-frequency-14: section 4 (the ACK_FREQUENCY frame), section 5 (when
//! it is sent), section 6 (what the receiver does with it). A sender that asks for n ACKs per round
//! trip requests one after an n-th of its window and at the latest after an n-th of its smallest
//! round trip, and sends a new request when these values have changed. Departures: D1 the frame
//! goes with every packet until one of them is acknowledged, so that its loss causes no extra
//! delay; D2 its dozen bytes are not counted; D3 the reordering threshold stays 1: out-of-order
//! packets are acknowledged at once; D4 no IMMEDIATE_ACK.

use firstflight::Nanos;

/// Shortest delay that a sender requests, ns: the `min_ack_delay` of typical receivers, the
/// granularity of their timers.
const SHORTEST_HOLD: u64 = 1_000_000;

/// Minimum number of packets per ACK that a sender requests: the default of a receiver by RFC 9000
/// section 13.2.2.
const FEWEST: u64 = 2;

/// One ACK_FREQUENCY frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Number of the first packet that carries it.
    pub from: u64,
    /// Packets per ACK: one more than the frame's Ack-Eliciting Threshold.
    pub every: u32,
    /// Requested Max Ack Delay.
    pub hold: Nanos,
}

/// A sender's requests, and whether the receiver has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    /// ACKs per round trip.
    per_rtt: u64,
    /// The newest request, and whether a packet that carried it was acknowledged.
    last: Option<Request>,
    heard: bool,
}

impl Asking {
    /// A sender that wants this many ACKs per round trip, at least one.
    pub(super) fn new(per_rtt: u32) -> Asking {
        Asking { per_rtt: u64::from(per_rtt.max(1)), last: None, heard: true }
    }

    /// The newest request, once the receiver has it: `acked` is the largest acknowledged packet.
    pub(super) fn granted(&mut self, acked: u64) -> Option<Request> {
        let granted = self.last.filter(|last| !self.heard && acked >= last.from)?;
        self.heard = true;
        Some(granted)
    }

    /// The request that the next packet, `next`, carries, for a window of `window` packets and this
    /// smallest RTT. `None` if nothing changed or the last request is still unacknowledged.
    pub(super) fn next(&mut self, next: u64, window: u64, rtt: Nanos) -> Option<Request> {
        if !self.heard {
            return None;
        }
        let every = u32::try_from((window / self.per_rtt).max(FEWEST)).unwrap_or(u32::MAX);
        let hold = Nanos((rtt.0 / self.per_rtt).max(SHORTEST_HOLD));
        if self.last.is_some_and(|last| (last.every, last.hold) == (every, hold)) {
            return None;
        }
        self.heard = false;
        self.last = Some(Request { from: next, every, hold });
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Nanos = Nanos(100_000_000);

    #[test]
    fn it_asks_for_a_part_of_the_window_and_of_the_round_trip() {
        let request = |per_rtt, window, rtt| {
            let asked = Asking::new(per_rtt).next(7, window, rtt).expect("the first request");
            (asked.from, asked.every, asked.hold.0)
        };
        assert_eq!(request(8, 80, RTT), (7, 10, 12_500_000));
        assert_eq!(request(8, 10, RTT), (7, 2, 12_500_000), "no more than an ACK per two packets");
        assert_eq!(
            request(100, u64::MAX, Nanos(5_000_000)),
            (7, u32::MAX, SHORTEST_HOLD),
            "no timer finer than a receiver has"
        );
        assert_eq!(request(0, 80, RTT), (7, 80, RTT.0), "at least one per round trip");
    }

    #[test]
    fn one_request_is_on_its_way_at_a_time_and_only_if_it_says_something_new() {
        let mut asking = Asking::new(4);
        let first = asking.next(0, 40, RTT).expect("the first request");
        assert_eq!(asking.next(10, 80, RTT), None, "the first one is on its way");
        assert_eq!(asking.granted(0), Some(first), "the packet that carried it was acknowledged");
        assert_eq!(asking.granted(1), None, "once");
        assert_eq!(asking.next(20, 40, RTT), None, "nothing new");
        let second = asking.next(20, 80, RTT).expect("the window has grown");
        assert_eq!((second.from, second.every), (20, 20));
        assert_eq!(asking.granted(19), None, "of packets before it nothing follows");
        assert_eq!(asking.granted(25), Some(second));
    }
}
