//! Loss detection: RFC 9002 section 6.1 over the ring of sent packets.

use crate::ring::Ring;
use firstflight::{Nanos, Time};

/// State of a sent packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    InFlight,
    Acked,
    Lost,
    /// A skipped packet number.
    Skipped,
}

/// Content of a packet.
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

/// One sent packet, in 16 bytes: at a long round trip, the packets in flight are most of a trial's
/// memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentPacket {
    pub at: Time,
    /// The low bits of the chunk index; [`wide`] restores the others.
    chunk: u32,
    /// From the low end: the state, the content, whether the path dropped it (ground truth, for
    /// metrics only), and, if it was declared lost, the low bits of its loss number in the
    /// connection.
    tag: u32,
}

const STATE: u32 = 0b11;
const CARRIES: u32 = 0b1100;
const DROPPED: u32 = 0b1_0000;
const LOSSES: u32 = 5;

/// The number with these low bits that lies below `above` by less than 2^32, the limit of every
/// ring.
#[inline]
pub(super) fn wide(low: u32, above: u64) -> u64 {
    above.wrapping_sub(u64::from((above as u32).wrapping_sub(low)))
}

impl SentPacket {
    #[inline]
    pub(super) fn new(at: Time, chunk: u64, carries: Carries) -> SentPacket {
        SentPacket { at, chunk: chunk as u32, tag: (carries as u32) << 2 }
    }

    /// A packet number that was skipped at this time.
    pub(super) fn skipped(at: Time) -> SentPacket {
        SentPacket { at, chunk: 0, tag: State::Skipped as u32 }
    }

    /// The index of its chunk, given that all chunks so far lie below `end`.
    #[inline]
    pub(super) fn chunk(&self, end: u64) -> u64 {
        wide(self.chunk, end)
    }

    /// Whether it is in flight and carries this chunk, which must be less than 2^32 below the next
    /// one.
    #[inline]
    pub(super) fn is_plain(&self, chunk: u64) -> bool {
        self.tag & STATE == State::InFlight as u32 && self.chunk == chunk as u32
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        match self.tag & STATE {
            0 => State::InFlight,
            1 => State::Acked,
            2 => State::Lost,
            _ => State::Skipped,
        }
    }

    #[inline]
    pub(super) fn set_state(&mut self, state: State) {
        self.tag = self.tag & !STATE | state as u32;
    }

    #[inline]
    pub(super) fn carries(&self) -> Carries {
        match (self.tag & CARRIES) >> 2 {
            0 => Carries::New,
            1 => Carries::Repeat,
            _ => Carries::Probe,
        }
    }

    /// Whether the path dropped it.
    #[inline]
    pub(super) fn dropped(&self) -> bool {
        self.tag & DROPPED != 0
    }

    #[inline]
    pub(super) fn set_dropped(&mut self) {
        self.tag |= DROPPED;
    }

    /// Records that it was declared lost, as loss number `loss` of the connection.
    #[inline]
    pub(super) fn set_loss(&mut self, loss: u64) {
        self.tag = self.tag & (STATE | CARRIES | DROPPED) | (loss as u32) << LOSSES;
    }

    /// Its loss number, given that all so far lie below `above`; correct for the latest 2^27
    /// losses.
    #[inline]
    pub(super) fn loss(&self, above: u64) -> u64 {
        let since =
            ((above as u32) << LOSSES).wrapping_sub(self.tag & !(STATE | CARRIES | DROPPED));
        above.wrapping_sub(u64::from(since >> LOSSES))
    }
}

/// RFC 9002 6.1.1: packets this far below the largest acknowledged are lost.
const PACKET_THRESHOLD: u64 = 3;

/// Losses found by one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pass {
    /// When the time threshold would declare the next packet lost.
    pub loss_time: Option<Time>,
    /// Longest span of send times over a run of lost packets with no acknowledged packet in
    /// between.
    pub span: Nanos,
}

/// Walks the packets in flight from `oldest` to the largest acknowledged one and reports the lost
/// ones in ascending order.
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
        match packet.state() {
            State::Acked => run = None,
            State::Lost | State::Skipped => {}
            State::InFlight => {
                // RFC9002 6.1-2: by distance or by age, only below the largest acknowledged.
                let due = packet.at + delay;
                if largest_acked >= number + PACKET_THRESHOLD || due <= now {
                    packet.set_state(State::Lost);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_every_fact_about_it_in_sixteen_bytes() {
        assert_eq!(size_of::<SentPacket>(), 16, "four to a cache line");
        for end in [1_u64, 5_000_000_000, u64::from(u32::MAX) + 3] {
            for carries in [Carries::New, Carries::Repeat, Carries::Probe] {
                let mut packet = SentPacket::new(Time(7), end - 1, carries);
                assert_eq!(
                    (packet.chunk(end), packet.chunk(end + 1_000_000)),
                    (end - 1, end - 1),
                    "chunk of {end}"
                );
                assert_eq!(
                    (packet.state(), packet.carries(), packet.dropped()),
                    (State::InFlight, carries, false)
                );
                packet.set_dropped();
                packet.set_state(State::Lost);
                packet.set_loss(end);
                packet.set_state(State::Acked);
                assert_eq!(
                    (packet.state(), packet.carries(), packet.dropped()),
                    (State::Acked, carries, true),
                    "facts stay apart"
                );
                assert_eq!(
                    (packet.loss(end + 1), packet.loss(end + 900)),
                    (end, end),
                    "its number"
                );
            }
        }
    }
}
