//! The heads of TCP segments with their times, as seen at the devices of both ends, for a trace.

use firstflight::Time;
use firstflight_log::Segment;

/// Place where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Leaving the sender.
    SenderOut,
    /// Reaching the receiver.
    ReceiverIn,
    /// Leaving the receiver.
    ReceiverOut,
    /// Reaching the sender.
    SenderIn,
}

/// One segment at one place. Its time counts from the start of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The place.
    pub place: Place,
    /// IP bytes.
    pub len: u16,
    /// Identification in the IP header: together with the sequence number it distinguishes
    /// transmissions.
    pub id: u16,
    /// The segment.
    pub segment: Segment,
}

/// Number of sights in a block: a vector that doubles would copy megabytes while packets wait.
const BLOCK: usize = 8192;

/// Records every packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    blocks: Vec<Vec<Sight>>,
}

impl Witness {
    pub(crate) fn see(&mut self, at: u64, place: Place, packet: &[u8]) {
        let Some(sight) = Sight::of(Time(at), place, packet) else { return };
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(sight);
        }
    }

    pub(crate) fn into_sights(self) -> Vec<Sight> {
        self.blocks.concat()
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

impl Sight {
    /// The sight of an IPv4 packet; `None` if it is not TCP.
    fn of(now: Time, place: Place, packet: &[u8]) -> Option<Sight> {
        const TCP: u8 = 6;
        let (first, len) = (*packet.first()?, half(packet, 2)?);
        let header = usize::from(first & 15) * 4;
        if first >> 4 != 4 || header < 20 || *packet.get(9)? != TCP {
            return None;
        }
        let tcp = packet.get(header..usize::from(len))?;
        let segment = Segment::parse(now, header as u32, u32::from(len), tcp)?;
        Some(Sight { place, len, id: half(packet, 4)?, segment })
    }
}
