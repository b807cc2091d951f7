//! TCP endpoints: SACK, loss detection by any preset and one timer around the controller, and a
//! receiver that acknowledges as RFC 5681 section 4.2 and RFC 2018 say.
//!
//! What the simulator leaves out: connection set-up and close (one handshake RTT is given to the
//! estimator), flow control by a slow reader, path MTU discovery, and re-segmentation: a repeat is
//! the same segment as the original.

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
pub use sender::{Counters, Sender, Transmit};

use firstflight::detection::presets::Preset;
use firstflight::detection::{early_retransmit, f_rto, tlp};
use firstflight::{Nanos, Time};

/// When the receiver acknowledges data that arrives in order; a gap, its filling and a duplicate
/// are acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckEvery {
    /// Every so many segments: 2 by RFC 5681 section 4.2, more is stretch ACKs.
    Segments(u32),
    /// Every so many bytes, as receive offload has it.
    Bytes(u64),
}

/// Merging of acknowledgements at a receiver while a gap is open: the first three that only add
/// SACKs leave at once, which fast retransmit needs; later ones are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SackCompression {
    /// At most so long, ns; Linux: a twentieth of the round trip, at most 1 ms.
    pub hold: u64,
    /// At most so many; Linux: 44.
    pub most: u32,
}

/// Sizes, timers and rules of a pair of TCP hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Payload bytes of a full segment: what the window counts.
    pub mss: u32,
    /// IP and TCP header of any packet, time stamps included; each SACK option comes on top, see
    /// [`AckPacket::option_bytes`].
    pub header: u32,
    /// Loss detection, timers and proofs of the sender; `sack` of it goes for both ends. A field
    /// may differ from the preset of that name.
    pub preset: Preset,
    /// When the receiver acknowledges data in order.
    pub ack_every: AckEvery,
    /// Longest time the receiver holds an ACK back, ns.
    pub ack_delay: u64,
    /// Segments carry time stamps (RFC 7323), which the sender uses for RTTs and proofs.
    pub timestamps: bool,
    /// Compression of SACKs; none by RFC 5681, which has every segment out of order acknowledged
    /// at once.
    pub comp_sack: Option<SackCompression>,
    /// Allowance of a tail loss probe for that delay.
    pub max_ack_delay: Nanos,
    /// Early retransmit, where the preset leaves it to the arm.
    pub early_retransmit: Option<early_retransmit::Options>,
    /// When F-RTO takes a timeout for proven spurious.
    pub f_rto: f_rto::Proof,
    /// The receiver's buffer.
    pub receive_buffer: Buffer,
    /// The sender's buffer.
    pub send_buffer: Buffer,
}

impl Default for Host {
    /// 1500-byte packets, preset `rack`, an ACK for every second segment or after 40 ms, buffers
    /// that never limit.
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
            f_rto: f_rto::Proof::Rfc5682,
            receive_buffer: Buffer::Unlimited,
            send_buffer: Buffer::Unlimited,
        }
    }
}

/// The clock of time stamps: ticks of a millisecond.
const TICK: u64 = 1_000_000;

/// The tick of a moment.
#[inline]
const fn ticks(at: Time) -> u32 {
    (at.0 / TICK) as u32
}

/// The moment a tick began.
#[inline]
const fn tick_start(ticks: u32) -> Time {
    Time(ticks as u64 * TICK)
}

/// A data segment on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First byte.
    pub from: u64,
    /// Payload bytes.
    pub len: u32,
    /// The sender's clock, ticks.
    pub stamp: u32,
    /// The latest clock of the receiver that the sender has seen, ticks.
    pub echo: Option<u32>,
    /// Congestion Experienced was set on the way.
    pub marked: bool,
}

/// An ACK on its way, with everything it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckPacket {
    /// The next byte expected in order.
    pub ack: u64,
    /// Bytes that may be sent beyond it.
    pub window: u64,
    /// Segments received so far with Congestion Experienced set: what ECN's echo says, without its
    /// wait for an answer.
    pub marks: u32,
    /// The receiver's clock, ticks.
    pub stamp: u32,
    /// The time stamp of the segment that last moved `ack` (RFC 7323 section 4.3), ticks.
    pub echo: u32,
    /// Number of valid entries in `blocks`.
    pub count: u8,
    /// The first block is a DSACK.
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

    /// The duplicate it reports, if it does.
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
