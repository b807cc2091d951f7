//! What the link saw of every packet at the devices of both ends, for a trace: the heads of TCP
//! segments with their times.

/// Where a packet was seen.
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

/// A TCP segment as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// IP bytes.
    pub len: u16,
    /// Identification in the IP header: with the sequence number it tells one transmission from
    /// another.
    pub id: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Bytes of data.
    pub data: u16,
    /// Acknowledgement number, if it is one.
    pub ack: Option<u32>,
    /// It begins the connection.
    pub syn: bool,
    /// The receiver has seen Congestion Experienced (RFC 3168).
    pub ece: bool,
    /// RFC 2018: what arrived above the acknowledgement number, from and up to.
    pub sacks: [Option<(u32, u32)>; 4],
    /// RFC 7323: the clock of whoever sent it.
    pub stamp: Option<u32>,
}

/// One segment at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// When, ns since the link began.
    pub at: u64,
    /// Where.
    pub place: Place,
    /// What.
    pub segment: Segment,
}

/// Sights in a block: a vector that doubles would copy megabytes while packets wait.
const BLOCK: usize = 8192;

/// Somebody who looks at every packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    blocks: Vec<Vec<Sight>>,
}

impl Witness {
    pub(crate) fn see(&mut self, at: u64, place: Place, packet: &[u8]) {
        let Some(segment) = Segment::parse(packet) else { return };
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Sight { at, place, segment });
        }
    }

    pub(crate) fn into_sights(self) -> Vec<Sight> {
        self.blocks.concat()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(word(bytes, at)?) << 16 | u32::from(word(bytes, at + 2)?))
}

impl Segment {
    /// Out of an IPv4 packet; `None` if it is none of TCP.
    pub fn parse(packet: &[u8]) -> Option<Segment> {
        const TCP: u8 = 6;
        let (first, ip_len) = (*packet.first()?, word(packet, 2)?);
        let ip_head = usize::from(first & 15) * 4;
        if first >> 4 != 4
            || ip_head < 20
            || *packet.get(9)? != TCP
            || packet.len() < usize::from(ip_len)
        {
            return None;
        }
        let tcp = packet.get(ip_head..usize::from(ip_len))?;
        let (head, flags) = (usize::from(*tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
        let options = tcp.get(20..head)?;
        let mut segment = Segment {
            len: ip_len,
            id: word(packet, 4)?,
            seq: long(tcp, 4)?,
            data: (tcp.len() - head) as u16,
            ack: if flags & 0x10 != 0 { long(tcp, 8) } else { None },
            syn: flags & 0x02 != 0,
            ece: flags & 0x40 != 0,
            ..Segment::default()
        };
        segment.read(options);
        Some(segment)
    }

    fn read(&mut self, mut options: &[u8]) {
        const END: u8 = 0;
        const NOTHING: u8 = 1;
        const SACK: u8 = 5;
        const STAMP: u8 = 8;
        while let Some(&kind) = options.first().filter(|kind| **kind != END) {
            if kind == NOTHING {
                options = &options[1..];
                continue;
            }
            let Some(len) = options
                .get(1)
                .map(|len| usize::from(*len))
                .filter(|len| (2..=options.len()).contains(len))
            else {
                return;
            };
            let (body, rest) = (&options[2..len], &options[len..]);
            match kind {
                SACK => {
                    for (place, block) in self.sacks.iter_mut().zip(body.as_chunks::<8>().0) {
                        *place = long(block, 0).zip(long(block, 4));
                    }
                }
                STAMP => self.stamp = long(body, 0),
                _ => {}
            }
            options = rest;
        }
    }
}
