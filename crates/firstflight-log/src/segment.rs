//! A TCP segment as whoever stands at its sender sees it, of which the payload itself is of no
//! interest.

use etherparse::{TcpOptionElement, TcpOptionsIterator};
use firstflight::Time;

/// One TCP segment.
#[derive(Clone, Debug)]
pub struct Segment {
    /// When it was seen.
    pub now: Time,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// What it acknowledges.
    pub ack: u32,
    /// Flags.
    pub syn: bool,
    /// It acknowledges.
    pub has_ack: bool,
    /// The last of its direction.
    pub fin: bool,
    /// The end of it all.
    pub rst: bool,
    /// It echoes a congestion mark.
    pub ece: bool,
    /// The window field, unscaled.
    pub window: u16,
    /// Payload bytes, on the wire and not only in what was kept.
    pub payload: u32,
    /// Bytes of IP and TCP headers.
    pub headers: u32,
    /// Time stamp and echo.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: [Option<(u32, u32)>; 4],
    /// Option of a SYN, bytes.
    pub mss: Option<u16>,
    /// Option of a SYN, bits.
    pub scale: Option<u8>,
}

impl Segment {
    /// Of the bytes of a TCP header, behind an IP header of `ip_header` bytes, in a packet of
    /// `length` bytes; what was kept may end inside the options. `None` if it is no such header.
    pub fn parse(now: Time, ip_header: u32, length: u32, tcp: &[u8]) -> Option<Segment> {
        let word = |at: usize| {
            tcp.get(at..at + 4)
                .map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let flags = *tcp.get(13)?;
        let tcp_header = u32::from(tcp[12] >> 4) * 4;
        if tcp_header < 20 {
            return None;
        }
        let headers = ip_header + tcp_header;
        let mut segment = Segment {
            now,
            seq: word(4)?,
            ack: word(8)?,
            syn: flags & 0x02 != 0,
            has_ack: flags & 0x10 != 0,
            fin: flags & 0x01 != 0,
            rst: flags & 0x04 != 0,
            ece: flags & 0x40 != 0,
            window: u16::from_be_bytes([*tcp.get(14)?, *tcp.get(15)?]),
            payload: length.checked_sub(headers)?,
            headers,
            stamps: None,
            sacks: [None; 4],
            mss: None,
            scale: None,
        };
        // Options that were cut off are as if they were not there.
        let options = tcp.get(20..(tcp_header as usize).min(tcp.len())).unwrap_or(&[]);
        for option in TcpOptionsIterator::from_slice(options).map_while(Result::ok) {
            match option {
                TcpOptionElement::MaximumSegmentSize(mss) => segment.mss = Some(mss),
                TcpOptionElement::WindowScale(scale) => segment.scale = Some(scale.min(14)),
                TcpOptionElement::Timestamp(value, echo) => segment.stamps = Some((value, echo)),
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    segment.sacks = [Some(first), rest[0], rest[1], rest[2]];
                }
                _ => {}
            }
        }
        Some(segment)
    }
}
