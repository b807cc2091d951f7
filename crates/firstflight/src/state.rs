//! State that is recorded along with a controller's events: the sender right after an event, and
//! the packet behind an event. Testbeds fill it in and logs store it; no algorithm uses it.

use crate::congestion_control::CongestionControl;
use crate::event::{Ack, Phase};
use crate::units::Nanos;

/// The sender right after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` if it was never set.
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
    /// Phase of the sender.
    pub phase: Phase,
}

impl State {
    /// The state of a controller, right after `ack` if the event was an ACK or timer. Values known
    /// only to the testbed stay zero: bytes in flight, smallest RTT, the receiver, the queue.
    pub fn of(controller: &impl CongestionControl, ack: Option<&Ack>) -> State {
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
    /// Stream offset of its first byte and number of bytes, if known.
    pub stream: Option<(u64, u64)>,
    /// Whether it is a retransmission, if known.
    pub repeat: Option<bool>,
    /// Whether the path dropped it (ground truth).
    pub dropped: bool,
}
