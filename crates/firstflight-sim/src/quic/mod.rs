//! QUIC endpoints: RFC 9002 loss detection around the controller, and a receiver that acknowledges
//! as RFC 9000 section 13.2 says.

mod ecn;
mod ends;
mod flow_control;
mod frequency;
mod log;
mod loss;
mod receiver;
mod sender;

pub use crate::wire::NEVER;
pub use ends::{Ends, Flow, Packet};
pub use flow_control::Receive;
pub use receiver::Receiver;
pub use sender::{Sender, Transmit};

use firstflight::detection::ecn::Ecn;

/// Bytes of the smallest datagram that every QUIC path carries (RFC 9000 section 14).
pub const LEAST_DATAGRAM: u32 = 1200;

/// Sizes and timers of a QUIC host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Bytes of a full datagram: the unit of the window, which the controller calls a segment.
    pub datagram: u32,
    /// Bytes of the datagram that are not object bytes: header, frame header and authentication
    /// tag.
    pub overhead: u32,
    /// IP and UDP headers: the bytes that a link adds to a datagram.
    pub lower: u32,
    /// Size of an IP packet that carries only an ACK, in bytes.
    pub ack_packet: u32,
    /// The receiver acknowledges once per this many ack-eliciting packets, and at once if one is
    /// out of order.
    pub ack_every: u32,
    /// Longest time the receiver holds an ACK back, ns.
    pub max_ack_delay: u64,
    /// Probes per probe timeout (RFC 9002 section 6.2.4 allows two).
    pub probes: u32,
    /// ACKs per round trip that the sender asks the receiver for
    /// (draft-ietf-quic-ack-frequency); `None`: it does not ask.
    pub asks_acks: Option<u32>,
    /// ACKs say when the largest packet arrived (draft-ietf-quic-receive-ts-02), and the sender takes
    /// the delay of the return path out of the RTT samples of its controller.
    pub receive_ts: bool,
    /// The receiver's flow control; `None` never limits the sender.
    pub receive: Option<Receive>,
    /// Use of ECN by the sender; `None`: the path may mark any packet, and each mark counts.
    pub ecn: Option<Ecn>,
}

impl Default for Host {
    fn default() -> Self {
        Host {
            datagram: 1472,
            overhead: 36,
            lower: 28,
            ack_packet: 64,
            ack_every: 2,
            max_ack_delay: 25_000_000,
            probes: 2,
            asks_acks: None,
            receive_ts: false,
            receive: None,
            ecn: None,
        }
    }
}

impl Host {
    /// Object bytes of a full datagram.
    pub fn payload(&self) -> u64 {
        u64::from(self.datagram - self.overhead)
    }
}

/// An ACK in transit: it acknowledges everything that the receiver had logged when it left. ACK
/// ranges are cumulative, so a position in the receiver's log carries the same information, and a
/// lost or late ACK needs no special case.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckPacket {
    /// The low bits of the position up to which the receiver's log is acknowledged.
    pub log_end: u32,
    /// Time that the largest packet waited at the receiver, ns; at most 4.29 s.
    pub ack_delay: u32,
    /// The low bits of the number of chunks that the receiver allows (MAX_DATA).
    pub limit: u32,
    /// The low bits of the time when the largest packet arrived, us.
    pub received: u32,
}
