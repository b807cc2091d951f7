//! Loss detection of QUIC: packets are lost when three later ones were acknowledged or after 9/8 of
//! an RTT; probes never mark anything.
//!
//! Packet numbers are never reused, so there are no ambiguous samples and no lost retransmissions
//! to find: every transmission is judged once. The probe timeout sends one or two packets to elicit
//! an ACK and leaves the decision to that ACK. Losses that span three probe timeouts with nothing
//! acknowledged in between are persistent congestion.
//!
//! Follows RFC 9002 (May 2021) sections 6 and 7.6. The RTT estimator is separate: RTTs are
//! arguments. State: a cursor of 8 bytes and a count of 4. Departures: D1 distance is counted in
//! the order of sending, not in packet numbers: deliberately skipped numbers do not count. D2
//! (ours) two probes per timeout by default.

use super::{Flags, Losses, Scoreboard};
use crate::units::{Nanos, Time, mul_div};

/// RFC9002 6.1.1-1: a packet is lost once a packet sent this many later is acknowledged.
pub const PACKET_THRESHOLD: u64 = 3;
/// RFC9002 6.1.2-2: assumed timer granularity.
pub const GRANULARITY: Nanos = Nanos::TICK;
/// RFC9002 6.2.2-1: the RTT assumed before the first sample.
pub const INITIAL_RTT: Nanos = Nanos::from_millis(333);
/// RFC9002 7.6.1-2: probe timeouts that losses must span.
pub const PERSISTENT_THRESHOLD: u64 = 3;

/// Values of the RTT estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// Smoothed RTT.
    pub srtt: Nanos,
    /// RTT variation.
    pub var: Nanos,
    /// The latest sample.
    pub latest: Nanos,
}

impl Default for Rtt {
    /// RFC9002 6.2.2-1: before the first sample the RTT is 333 ms and its variation half of that.
    fn default() -> Self {
        Rtt { srtt: INITIAL_RTT, var: Nanos(INITIAL_RTT.0 / 2), latest: Nanos::ZERO }
    }
}

impl Rtt {
    /// RFC9002 6.1.2-1: the maximum age of an unacknowledged packet: 9/8 of the larger RTT, at
    /// least the timer granularity. Rounded down.
    #[inline]
    pub fn loss_delay(&self) -> Nanos {
        Nanos(mul_div(self.srtt.max(self.latest).0, 9, 8)).max(GRANULARITY)
    }

    /// RFC9002 6.2.1-1: one probe timeout without backoff; `max_ack_delay` is zero in handshake
    /// spaces.
    #[inline]
    pub fn pto_base(&self, max_ack_delay: Nanos) -> Nanos {
        self.srtt + (self.var * 4).max(GRANULARITY) + max_ack_delay
    }

    /// Losses further apart than this are persistent congestion.
    pub fn persistent_span(&self, max_ack_delay: Nanos) -> Nanos {
        self.pto_base(max_ack_delay) * PERSISTENT_THRESHOLD
    }
}

/// Verdict on one packet, relative to the largest acknowledged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Judgement {
    /// Not sent before the largest acknowledged packet: never lost.
    TooNew,
    /// It was sent three or more packets before the largest acknowledged one.
    LostByOrder,
    /// Its loss delay has passed.
    LostByTime,
    /// Not lost before this time.
    Wait(Time),
}

/// Judges the packet sent as number `ordinal` in the order of sending, at `sent`.
#[inline]
pub fn judge(ordinal: u64, sent: Time, largest_acked: u64, now: Time, delay: Nanos) -> Judgement {
    // RFC9002 6.1-1: only packets sent before the largest acknowledged one.
    if ordinal >= largest_acked {
        Judgement::TooNew
    } else if largest_acked - ordinal >= PACKET_THRESHOLD {
        Judgement::LostByOrder
    } else if sent + delay <= now {
        Judgement::LostByTime
    } else {
        Judgement::Wait(sent + delay)
    }
}

/// Detection over a scoreboard whose segments are packets in the order of sending; an acknowledged
/// packet carries [`Flags::SACKED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicLoss {
    /// Every packet below this one was acknowledged or declared lost.
    judged: super::Id,
}

impl QuicLoss {
    /// Marks lost packets, after an ACK whose largest packet has the given ordinal or when the loss
    /// time has come. Returns the loss time: the earliest time at which a waiting packet becomes
    /// lost, which replaces the probe timeout.
    ///
    /// Older packets reach both thresholds first, so the walk stops at the first packet that must
    /// wait.
    #[inline]
    pub fn detect<B: Scoreboard>(
        &mut self,
        board: &mut B,
        largest_acked: u64,
        now: Time,
        delay: Nanos,
    ) -> (Losses, Option<Time>) {
        let mut losses = Losses::default();
        self.judged = self.judged.max(board.first());
        while self.judged < board.next() {
            let id = self.judged;
            let flags = board.flags(id);
            if !flags.has(Flags::SACKED) && !flags.has(Flags::LOST) {
                match judge(board.ordinal(id), board.last_tx(id), largest_acked, now, delay) {
                    Judgement::TooNew => return (losses, None),
                    Judgement::Wait(at) => return (losses, Some(at)),
                    Judgement::LostByOrder | Judgement::LostByTime => {
                        board.mark_lost(id);
                        losses.add(board, id);
                    }
                }
            }
            self.judged = id.next();
        }
        (losses, None)
    }
}

/// The backoff of the probe timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pto {
    count: u32,
}

impl Pto {
    /// Probe timeouts since data was last acknowledged.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// RFC9002 6.2.1-3: when to probe, counted from the last ack-eliciting packet. Not armed while
    /// a loss time is set, or with nothing to probe for.
    #[inline]
    pub fn deadline(
        &self,
        last_eliciting: Time,
        base: Nanos,
        loss_time: Option<Time>,
    ) -> Option<Time> {
        // RFC9002 6.2.1-2: doubled with each probe timeout.
        let doubled = u128::from(base.0) << self.count.min(63);
        let pto = Nanos(u64::try_from(doubled).unwrap_or(u64::MAX));
        loss_time.is_none().then(|| last_eliciting + pto)
    }

    /// The timer fired: send one or two ack-eliciting packets (new data, otherwise the oldest
    /// unacknowledged data, otherwise a PING), which may exceed the window but count in flight.
    /// RFC9002 6.2-1: nothing is marked lost.
    pub fn on_fire(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// An ACK newly acknowledged a packet. RFC9002 6.2.1-4: a client keeps its backoff until the
    /// server has validated it.
    pub fn on_ack(&mut self, validated: bool) {
        if validated {
            self.count = 0;
        }
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Acknowledged.
    Acked,
    /// Declared lost, now or earlier.
    Lost,
    /// Neither.
    Open,
}

/// Detects persistent congestion in packets presented in the order they were sent.
///
/// On an ACK that declared packets lost, an endpoint presents all packets from the oldest to the
/// newest lost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistentCongestion {
    first_sample: Option<Time>,
    span: Nanos,
    run: Option<Time>,
}

impl PersistentCongestion {
    /// `first_sample`: when the first RTT sample arrived; `span`: [`Rtt::persistent_span`].
    pub fn new(first_sample: Option<Time>, span: Nanos) -> PersistentCongestion {
        PersistentCongestion { first_sample, span, run: None }
    }

    /// Presents the next packet. Returns `true` if it and an earlier one prove persistent
    /// congestion.
    pub fn present(&mut self, sent: Time, eliciting: bool, fate: Fate) -> bool {
        match fate {
            // RFC9002 7.6.2-2: nothing sent between the two may have been acknowledged.
            Fate::Acked => self.run = None,
            // RFC9002 7.6.2-3: only packets that ask for an ACK, and only once an RTT was known,
            // count as its ends. Strictly later: the same instant does not count.
            Fate::Lost if eliciting && self.first_sample.is_some_and(|first| sent > first) => {
                let from = *self.run.get_or_insert(sent);
                return sent.since(from) > self.span;
            }
            Fate::Lost | Fate::Open => {}
        }
        false
    }
}
