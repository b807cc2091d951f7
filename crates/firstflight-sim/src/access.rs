//! Per-flow differences between the hosts and the shared path, and the sampling of a trial:
//! settings that the evaluation needs and other trials leave at their defaults.
//!
//! A flow's *access* lies behind the bottleneck, on the flow's own side: every packet passes the
//! shared link first. Jitter and batches keep the order within a flow. A delay that falls lets
//! later packets overtake earlier ones, as a route that became shorter does.

use crate::hosts::Hosts;
use firstflight::Nanos;
use firstflight_path::{Codepoint, Stream};

/// A delay that changes with time: pairs of start time and extra delay, in order of time.
pub type DelaySteps = Vec<(Nanos, Nanos)>;

/// Differences between one flow and others on the same path; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Upper bound of a random extra delay of every data packet; the order is kept. It removes
    /// phase effects on a drop-tail queue if it equals the bottleneck's time for one packet (Floyd
    /// and Jacobson 1992).
    pub jitter: Nanos,
    /// Upper bound of a random extra delay of every acknowledgement.
    pub ack_jitter: Nanos,
    /// Acknowledgements are released at multiples of this time.
    pub ack_batch: Nanos,
    /// Extra round-trip time: the value of the latest step whose time has come, half of it in each
    /// direction.
    pub steps: DelaySteps,
    /// Time at which the flow ends even if it is incomplete. It then neither sends nor receives;
    /// its packets at the bottleneck still use the link, and the trial goes on to its limit.
    pub stop: Option<Nanos>,
    /// Number of data packets after which the flow stops sending: a broken algorithm must not fill
    /// the memory.
    pub packets: Option<u64>,
    /// The ECN field of its data packets; `None` leaves it to the path. Only queues that decide
    /// later look at it.
    pub ecn: Option<Codepoint>,
    /// Identity in flow queues; `None` makes it a flow of its own. Flows in one tunnel share an
    /// identity.
    pub bucket: Option<u32>,
    /// Data takes the return path, acknowledgements the forward path.
    pub reverse: bool,
    /// The receiver reports no ECN marks. A tunnel whose egress drops the marks looks the same.
    pub hides_marks: bool,
    /// Further misbehaviour of the receiver.
    pub lie: Option<Lie>,
    /// The sender skips packet numbers at random, on average one in this many, and closes the
    /// connection if the receiver acknowledges a skipped number (RFC 9000 section 21.4). QUIC only.
    pub skips: Option<u64>,
}

/// False claims of a receiver (RFC 9743 section 7.6). The attacks are those of Savage, Cardwell,
/// Wetherall and Anderson (1999) and of RFC 9000 section 21.4.
///
/// A sender detects only the first of them, and only if [`Access::skips`] is set. Packets lost on
/// the way to such a receiver are never repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// For each packet that arrives, the receiver at once acknowledges the next four that have left
    /// the sender, whether or not they have arrived: it hides losses and shortens round trips, down
    /// to the delay of the return path. It knows which packets have left, where a real receiver
    /// would have to guess.
    Optimistic,
    /// Every acknowledgement is sent three times.
    Duplicates,
    /// The receiver discards data beyond a gap after it has reported the data, at most once in this
    /// time: RFC 2018 section 8 allows it. TCP only: in QUIC, acknowledged data is never discarded.
    Reneges(Nanos),
    /// Every acknowledgement claims that it was delayed by seconds. QUIC only.
    Delays,
}

impl Lie {
    /// Whether both ends agree about which data has arrived.
    pub(crate) fn keeps_the_books(self) -> bool {
        matches!(self, Lie::Duplicates | Lie::Delays)
    }

    /// Extra copies of each acknowledgement.
    pub(crate) fn copies(self) -> u8 {
        if self == Lie::Duplicates { 2 } else { 0 }
    }

    /// Number of packets that an optimistic receiver acknowledges for each arrival.
    pub(crate) const AHEAD: u64 = 4;

    /// Whether hosts of this kind can make this claim.
    pub(crate) fn is_told_by(self, hosts: Hosts) -> bool {
        match self {
            Lie::Reneges(_) => matches!(hosts, Hosts::Tcp(_)),
            Lie::Delays => matches!(hosts, Hosts::Quic(_)),
            Lie::Optimistic | Lie::Duplicates => true,
        }
    }
}

impl Access {
    /// Whether its packets always take the path as it is, and its receiver is honest.
    pub(crate) fn keeps_to_the_path(&self) -> bool {
        let Access { packets, reverse, lie, skips, stop, .. } = self;
        let none = packets.is_none() && lie.is_none() && skips.is_none() && stop.is_none();
        none && !reverse && self.of_its_own().is_none()
    }

    /// This access, if it delays packets behind the path.
    pub(crate) fn of_its_own(&self) -> Option<&Access> {
        let Access { jitter, ack_jitter, ack_batch, steps, .. } = self;
        let none = [jitter, ack_jitter, ack_batch].iter().all(|time| time.0 == 0);
        (!none || !steps.is_empty()).then_some(self)
    }
}

/// Per-flow settings of a trial with several flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Access of each flow, in order; flows without an entry have the default.
    pub access: Vec<Access>,
    /// Interval at which the bottleneck queue is recorded; `None` records nothing. If set, the
    /// bytes that each flow has sent and lost are recorded together with the bytes delivered
    /// ([`crate::Shared::sample`]).
    pub queue_every: Option<Nanos>,
    /// Selects other random jitter for the same seed.
    pub draws: u64,
    /// Run to the time limit even if no flow is left to wait for.
    pub whole: bool,
}

/// Counters of a flow up to a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Data packets sent.
    pub sent: u64,
    /// Data packets dropped by the path.
    pub dropped: u64,
}

/// A random time from zero to `most`, both inclusive, that corresponds to `draw`, ns.
fn up_to(most: Nanos, draw: u64) -> u64 {
    ((u128::from(draw) * (u128::from(most.0) + 1)) >> 64) as u64
}

/// The state of a flow's access during a trial.
#[derive(Clone, Debug)]
pub(crate) struct OnAccess {
    access: Access,
    draws: Stream,
    packets: u64,
    acks: u64,
    latest: [u64; 2],
}

impl OnAccess {
    pub(crate) fn new(access: Access, draws: Stream) -> OnAccess {
        OnAccess { access, draws, packets: 0, acks: 0, latest: [0; 2] }
    }

    /// The arrival time of data that would otherwise arrive at `at`.
    pub(crate) fn data(&mut self, at: u64) -> u64 {
        self.packets += 1;
        let late = up_to(self.access.jitter, self.draws.value(self.packets));
        self.latest[0] = at.saturating_add(late).max(self.latest[0]);
        let half = self.extra(at) / 2;
        self.latest[0].saturating_add(half)
    }

    /// The arrival time of an acknowledgement that would otherwise arrive at `at`.
    pub(crate) fn ack(&mut self, at: u64) -> u64 {
        self.acks += 1;
        let late = up_to(self.access.ack_jitter, self.draws.branch(1).value(self.acks));
        let mut arrives = at.saturating_add(late);
        if self.access.ack_batch.0 > 0 {
            arrives = arrives.next_multiple_of(self.access.ack_batch.0);
        }
        self.latest[1] = arrives.max(self.latest[1]);
        let extra = self.extra(at);
        self.latest[1].saturating_add(extra - extra / 2)
    }

    fn extra(&self, now: u64) -> u64 {
        let past = self.access.steps.iter().take_while(|(from, _)| from.0 <= now);
        past.last().map_or(0, |(_, extra)| extra.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_path::Purpose;

    fn on(access: Access) -> OnAccess {
        OnAccess::new(access, Stream::new(3, 0, Purpose::Jitter))
    }

    #[test]
    fn jitter_stays_within_its_bound_and_keeps_the_order() {
        let mut access =
            on(Access { jitter: Nanos(600), ack_jitter: Nanos(90), ..Access::default() });
        let (mut before, mut late) = (0, 0);
        for at in (0..100_000).step_by(50) {
            let arrives = access.data(at);
            assert!(arrives >= before && (at..=at + 600).contains(&arrives), "{at} -> {arrives}");
            late = late.max(arrives - at);
            before = arrives;
            let ack = access.ack(at);
            assert!((at..=at + 90).contains(&ack), "an ACK of {at} arrives at {ack}");
        }
        assert!(late > 300, "nothing was later than {late} of 600 ns");
    }

    #[test]
    fn batches_let_acks_go_at_multiples() {
        let mut access = on(Access { ack_batch: Nanos(60), ..Access::default() });
        assert_eq!([1, 59, 60, 61].map(|at| access.ack(at)), [60, 60, 60, 120]);
    }

    #[test]
    fn a_delay_changes_when_its_time_has_come() {
        let steps = vec![(Nanos(100), Nanos(9)), (Nanos(200), Nanos::ZERO)];
        let mut access = on(Access { steps, ..Access::default() });
        assert_eq!([99, 100, 199, 200].map(|at| access.data(at)), [99, 104, 203, 200]);
        assert_eq!(access.ack(150), 155, "the return path has the larger half");
    }
}
