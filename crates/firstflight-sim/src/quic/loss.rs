//! What of the sent packets is lost: RFC 9002 section 6.1 over the ring of sent packets.

use crate::ring::Ring;
use firstflight::{Nanos, Time};

/// Where a packet is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    InFlight,
    Acked,
    Lost,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Carries {
    /// Bytes never sent before.
    #[default]
    New,
    /// Bytes declared lost.
    Repeat,
    /// A copy of bytes that are still outstanding.
    Probe,
}

/// One sent packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentPacket {
    pub at: Time,
    pub chunk: u64,
    pub bytes: u32,
    pub state: State,
    pub carries: Carries,
    /// The path dropped it (ground truth, for metrics only).
    pub dropped: bool,
    /// If it was declared lost: how many packets of the connection were before it.
    pub losses_before: u64,
}

/// RFC 9002 6.1.1: packets this far below the largest acknowledged are lost.
const PACKET_THRESHOLD: u64 = 3;

/// Losses found by one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pass {
    /// When the next packet would be lost by time.
    pub loss_time: Option<Time>,
    /// Longest span of send times over a run of lost packets with no acknowledged one between.
    pub span: Nanos,
}

/// Walks the packets in flight from `oldest` up to the largest acknowledged one and reports the lost ones, ascending.
pub(super) fn detect(
    sent: &mut Ring<SentPacket>,
    oldest: u64,
    largest_acked: u64,
    now: Time,
    delay: Nanos,
    first_sample_at: Time,
    mut lost: impl FnMut(u64, &mut SentPacket),
) -> Pass {
    let mut pass = Pass::default();
    let mut run: Option<Time> = None;
    for number in oldest..largest_acked {
        let packet = sent.get_mut(number);
        match packet.state {
            State::Acked => run = None,
            State::Lost => {}
            State::InFlight => {
                // RFC9002 6.1-2: by distance or by age, only below the largest acknowledged.
                let due = packet.at + delay;
                if largest_acked >= number + PACKET_THRESHOLD || due <= now {
                    packet.state = State::Lost;
                    // RFC9002 7.6.2-2: both ends of the run were sent after the first RTT sample.
                    if packet.at > first_sample_at {
                        let start = *run.get_or_insert(packet.at);
                        pass.span = pass.span.max(packet.at.since(start));
                    }
                    lost(number, packet);
                } else {
                    pass.loss_time = Some(pass.loss_time.map_or(due, |earliest| earliest.min(due)));
                }
            }
        }
    }
    pass
}
