//! What a flow has of its own between its hosts and the path that it shares, and how closely a trial
//! is sampled: the arrangements of an evaluation, which other trials do without.
//!
//! A flow's *access* lies behind the bottleneck, on its own side of it: every packet of a flow takes
//! the shared link first. Order within a flow is kept by jitter and batches; a delay that falls lets
//! later packets overtake earlier ones, as a route that became shorter does.

use crate::hosts::Hosts;
use firstflight::Nanos;
use firstflight_path::{Codepoint, Stream};

/// A delay of its own that changes with time: from when, and how much, in order of time.
pub type DelaySteps = Vec<(Nanos, Nanos)>;

/// Deviation of one flow from others on the same path. The default is not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Every data packet takes up to so much longer, by chance, in order: phase effects on a
    /// drop-tail queue end when this is the bottleneck's time for one packet (Floyd and Jacobson
    /// 1992).
    pub jitter: Nanos,
    /// The same for its acknowledgements.
    pub ack_jitter: Nanos,
    /// Its acknowledgements are let go at multiples of this.
    pub ack_batch: Nanos,
    /// Its round trip is longer by the last of these whose time has come, half of it each way.
    pub steps: DelaySteps,
    /// When it ends whether or not it is through: it neither sends nor hears any more, what it has
    /// at the bottleneck still takes its time there, and the trial goes on to its limit.
    pub stop: Option<Nanos>,
    /// After so many data packets it sends no more: an algorithm without sense must not fill the
    /// memory.
    pub packets: Option<u64>,
    /// The ECN field of its data packets; `None` is what the path takes them for. Only queues that
    /// decide later look at it.
    pub ecn: Option<Codepoint>,
    /// Identity in flow queues; `None` is a flow of its own. Flows of one tunnel have one.
    pub bucket: Option<u32>,
    /// Its data takes the path's way back, its acknowledgements the way there.
    pub reverse: bool,
    /// Its receiver lies: it reports no mark. So does a tunnel whose end forgets them.
    pub hides_marks: bool,
    /// Further false claims of its receiver.
    pub lie: Option<Lie>,
    /// Its sender skips one packet number in so many on average, by chance, and closes the connection
    /// of a receiver that acknowledges one (RFC 9000 section 21.4). QUIC only.
    pub skips: Option<u64>,
}

/// False claims of a receiver (RFC 9743 section 7.6). The attacks are those of Savage, Cardwell,
/// Wetherall and Anderson (1999) and of RFC 9000 section 21.4.
///
/// A sender looks for the first only where [`Access::skips`] says so, and for no other: what is lost to
/// such a liar stays lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// For each packet that arrives it acknowledges at once the next four that have left the sender,
    /// here or not: no loss shows, and round trips become shorter, down to that of the way back. It
    /// knows what has left, where a real one has to guess.
    Optimistic,
    /// Every acknowledgement leaves three times.
    Duplicates,
    /// It discards what waits beyond a gap, which it had reported, at most once in this time: RFC
    /// 2018 section 8 allows it. TCP only: in QUIC what is acknowledged has arrived for good.
    Reneges(Nanos),
    /// It says that every acknowledgement waited for seconds. QUIC only.
    Delays,
}

impl Lie {
    /// Both ends agree about what has arrived, as far as they spoke of it.
    pub(crate) fn keeps_the_books(self) -> bool {
        matches!(self, Lie::Duplicates | Lie::Delays)
    }

    /// Copies of each acknowledgement beside the first.
    pub(crate) fn copies(self) -> u8 {
        if self == Lie::Duplicates { 2 } else { 0 }
    }

    /// Packets that an optimistic receiver acknowledges for each that arrives.
    pub(crate) const AHEAD: u64 = 4;

    /// Hosts of this kind can tell it.
    pub(crate) fn is_told_by(self, hosts: Hosts) -> bool {
        match self {
            Lie::Reneges(_) => matches!(hosts, Hosts::Tcp(_)),
            Lie::Delays => matches!(hosts, Hosts::Quic(_)),
            Lie::Optimistic | Lie::Duplicates => true,
        }
    }
}

impl Access {
    /// Its packets take the path's way and no other, at all times, and its receiver is honest.
    pub(crate) fn keeps_to_the_path(&self) -> bool {
        let Access { packets, reverse, lie, skips, stop, .. } = self;
        let none = packets.is_none() && lie.is_none() && skips.is_none() && stop.is_none();
        none && !reverse && self.of_its_own().is_none()
    }

    /// What is done to its packets behind the path.
    pub(crate) fn of_its_own(&self) -> Option<&Access> {
        let Access { jitter, ack_jitter, ack_batch, steps, .. } = self;
        let none = [jitter, ack_jitter, ack_batch].iter().all(|time| time.0 == 0);
        (!none || !steps.is_empty()).then_some(self)
    }
}

/// Per-flow settings of a trial with several flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Flows in their order; those that are missing have none.
    pub access: Vec<Access>,
    /// Interval at which to record the bottleneck queue; never for `None`. With it, what each flow
    /// has sent and lost is noted with what it has delivered ([`crate::Shared::sample`]).
    pub queue_every: Option<Nanos>,
    /// Chooses other chances of jitter with the same seed.
    pub draws: u64,
    /// It ends with the limit only, even if nobody is waited for any more.
    pub whole: bool,
}

/// Counters of a flow up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Data packets sent.
    pub sent: u64,
    /// Of these, dropped by the path.
    pub dropped: u64,
}

/// The time from zero to `most`, both included, that a draw stands for, ns.
fn up_to(most: Nanos, draw: u64) -> u64 {
    ((u128::from(draw) * (u128::from(most.0) + 1)) >> 64) as u64
}

/// A flow's access under way.
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

    /// When data that would be at the receiver at `at` gets there.
    pub(crate) fn data(&mut self, at: u64) -> u64 {
        self.packets += 1;
        let late = up_to(self.access.jitter, self.draws.value(self.packets));
        self.latest[0] = at.saturating_add(late).max(self.latest[0]);
        let half = self.extra(at) / 2;
        self.latest[0].saturating_add(half)
    }

    /// When an acknowledgement that would be at the sender at `at` gets there.
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
        assert_eq!(access.ack(150), 155, "the way back has the larger half");
    }
}
