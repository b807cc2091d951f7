//! TCP endpoints: SACK, loss detection by any preset and one timer around the controller, and a
//! receiver that acknowledges as RFC 5681 section 4.2 and RFC 2018 say.
//!
//! The simulator leaves out connection setup and close (the estimator receives one handshake RTT),
//! path MTU discovery, and re-segmentation: a retransmission is the
//! same segment as the original.

mod board;
mod buffers;
mod ends;
mod reassembly;
mod receiver;
mod sender;

pub use board::{Board, Truth};
pub use buffers::{Buffer, ReceiveWindow, SendWindow};
pub use ends::{Ends, Flow};
pub use reassembly::{Arrival, BLOCKS, Range, Reassembly};
pub use receiver::Receiver;
pub use sender::{Sender, Transmit};

use firstflight::detection::presets::Preset;
use firstflight::detection::{early_retransmit, f_rto, tlp};
use firstflight::{Nanos, Time};

/// When the receiver acknowledges data that arrives in order. A gap, its filling and a duplicate
/// are acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckEvery {
    /// Every this many segments: 2 by RFC 5681 section 4.2; more means stretch ACKs.
    Segments(u32),
    /// Every this many bytes, as receive offload does.
    Bytes(u64),
}

/// Merging of acknowledgements at a receiver while a gap is open: the first three ACKs that only
/// add SACKs leave at once, as fast retransmit needs; later ones are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SackCompression {
    /// Longest time that an ACK is held, ns; Linux: a twentieth of the round trip, at most 1 ms.
    pub hold: u64,
    /// Largest number of ACKs held; Linux: 44.
    pub most: u32,
}

/// A receiving application that reads at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reads {
    /// Bit/s.
    pub bps: u64,
    /// Round trip of the path, ns: a window update is repeated after three of them.
    pub rtt: u64,
}

/// Sizes, timers and rules of a pair of TCP hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Payload bytes of a full segment: the unit of the window.
    pub mss: u32,
    /// IP and TCP header of any packet, timestamps included; each SACK option is added to it, see
    /// [`AckPacket::option_bytes`].
    pub header: u32,
    /// The sender's loss detection, timers and detection of spurious losses; its `sack` applies to
    /// both ends. Single fields may differ from the named preset.
    pub preset: Preset,
    /// When the receiver acknowledges data in order.
    pub ack_every: AckEvery,
    /// Longest time the receiver holds an ACK back, ns.
    pub ack_delay: u64,
    /// Segments carry timestamps (RFC 7323), which the sender uses for RTTs and proofs.
    pub timestamps: bool,
    /// Compression of SACKs; `None` follows RFC 5681: every out-of-order segment is acknowledged at
    /// once.
    pub comp_sack: Option<SackCompression>,
    /// Allowance of a tail loss probe for the receiver's ACK delay.
    pub max_ack_delay: Nanos,
    /// Early retransmit, where the preset leaves it to the arm.
    pub early_retransmit: Option<early_retransmit::Options>,
    /// Longest retransmission timeout; `None` is that of the preset's bounds.
    pub rto_max: Option<Nanos>,
    /// When F-RTO considers a timeout proven spurious.
    pub f_rto: f_rto::Proof,
    /// The receiver's buffer.
    pub receive_buffer: Buffer,
    /// The receiving application, if it does not read at once.
    pub reads: Option<Reads>,
    /// The sender's buffer.
    pub send_buffer: Buffer,
}

impl Default for Host {
    /// 1500-byte packets, preset `rack`, an ACK for every second segment or after 40 ms, unlimited
    /// buffers.
    fn default() -> Self {
        Host::with_preset(*Preset::named("rack").expect("the table has it"))
    }
}

impl Host {
    /// The defaults with this preset.
    pub const fn with_preset(preset: Preset) -> Host {
        Host {
            mss: 1448,
            header: 52,
            preset,
            ack_every: AckEvery::Segments(2),
            ack_delay: 40_000_000,
            timestamps: true,
            comp_sack: None,
            max_ack_delay: tlp::MAX_ACK_DELAY,
            early_retransmit: None,
            rto_max: None,
            f_rto: f_rto::Proof::Rfc5682,
            receive_buffer: Buffer::Unlimited,
            reads: None,
            send_buffer: Buffer::Unlimited,
        }
    }
}

/// The timestamp clock: ticks of a millisecond.
const TICK: u64 = 1_000_000;

/// The tick that contains a time.
#[inline]
const fn ticks(at: Time) -> u32 {
    (at.0 / TICK) as u32
}

/// The start of a tick.
#[inline]
const fn tick_start(ticks: u32) -> Time {
    Time(ticks as u64 * TICK)
}

/// A data segment in transit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First byte.
    pub from: u64,
    /// Payload bytes.
    pub len: u32,
    /// The sender's clock, ticks.
    pub stamp: u32,
    /// The latest receiver clock that the sender has seen, ticks.
    pub echo: Option<u32>,
    /// Congestion Experienced was set on the way.
    pub marked: bool,
}

/// An ACK in transit, with all its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckPacket {
    /// The next byte expected in order.
    pub ack: u64,
    /// Bytes that may be sent beyond it.
    pub window: u64,
    /// Segments received so far with Congestion Experienced set: the information of the ECN echo,
    /// but without waiting for the sender's response.
    pub marks: u32,
    /// The receiver's clock, ticks.
    pub stamp: u32,
    /// The timestamp of the segment that last moved `ack` (RFC 7323 section 4.3), ticks.
    pub echo: u32,
    /// Number of valid entries in `blocks`.
    pub count: u8,
    /// Whether the first block is a DSACK.
    pub dsack: bool,
    /// SACK blocks.
    pub blocks: [Range; BLOCKS],
}

impl AckPacket {
    /// Bytes that the SACK option adds to the header: padding, kind and length, eight per block.
    #[inline]
    pub const fn option_bytes(&self) -> u32 {
        if self.count == 0 { 0 } else { 4 + 8 * self.count as u32 }
    }

    /// The duplicate that it reports, if any.
    #[inline]
    pub fn duplicate(&self) -> Option<Range> {
        self.dsack.then(|| self.blocks[0])
    }

    /// Ranges received beyond `ack`.
    #[inline]
    pub fn sacks(&self) -> &[Range] {
        &self.blocks[usize::from(self.dsack)..usize::from(self.count)]
    }
}
