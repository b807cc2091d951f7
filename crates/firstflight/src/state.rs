//! What whoever drives a controller sees beside its events: the sender right after one, and the packet
//! behind one. Testbeds fill them in, logs keep them; no algorithm looks at them.

use crate::avoidance::Avoidance;
use crate::controller::Controller;
use crate::event::{Ack, Phase};
use crate::recovery::Policy;
use crate::startup::Startup;
use crate::units::Nanos;

/// The sender right after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` while never set.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub inflight: u64,
    /// Pacing rate, bytes per second, if the sender is paced.
    pub pacing_rate: Option<u64>,
    /// The RTT sample of the event.
    pub rtt: Option<Nanos>,
    /// Smallest RTT so far.
    pub min_rtt: Option<Nanos>,
    /// Object bytes delivered in order at the receiver.
    pub delivered: u64,
    /// Bytes declared lost by this event.
    pub lost: u64,
    /// Bytes waiting at the bottleneck.
    pub queue: u64,
    /// What the sender is doing.
    pub phase: Phase,
}

impl State {
    /// What a controller says of itself, right after an ACK or timer if it was one. What only the
    /// testbed knows stays zero: bytes in flight, smallest RTT, the receiver, the queue.
    pub fn of<S: Startup, A: Avoidance, R: Policy>(
        controller: &Controller<S, A, R>,
        ack: Option<&Ack>,
    ) -> State {
        State {
            cwnd: controller.cwnd(),
            ssthresh: controller.ssthresh(),
            pacing_rate: controller.pacing_rate().map(|rate| rate.0),
            rtt: ack.and_then(|ack| ack.rtt),
            lost: ack.map_or(0, |ack| ack.lost),
            phase: controller.phase(),
            ..State::default()
        }
    }
}

/// A packet as it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Packet number (QUIC) or ordinal of the transmission (TCP).
    pub number: u64,
    /// Its IP bytes.
    pub bytes: u64,
    /// Place of its first byte in the stream and how many there are, where that is known.
    pub stream: Option<(u64, u64)>,
    /// It was sent before, where that is known.
    pub repeat: Option<bool>,
    /// The path dropped it (ground truth).
    pub dropped: bool,
}
