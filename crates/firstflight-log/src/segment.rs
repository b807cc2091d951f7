//! A TCP segment as whoever stands at its sender sees it, of which the payload itself is of no
//! interest.

use etherparse::{TcpOptionElement, TcpOptionsIterator};
use firstflight::Time;
use std::ops::Range;

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

/// SACK blocks that can be true, by sequence numbers that do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sacks {
    /// The receiver had these bytes already (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// It has these, from and up to, all above the acknowledgement number.
    pub blocks: [Option<(u64, u64)>; 4],
}

impl Sacks {
    /// Judges the blocks of a segment that acknowledges `ack`; its receiver has sent the bytes
    /// `sent`. RFC 2883 section 4: the first block reports a duplicate if it lies below the
    /// acknowledgement number or within the second block. A block that ends at or below the
    /// number, beyond what was sent, or where it begins reports nothing else.
    pub(crate) fn judge(blocks: [Option<(u64, u64)>; 4], ack: u64, sent: Range<u64>) -> Sacks {
        let blocks =
            blocks.map(|block| block.filter(|(left, right)| left < right && *right <= sent.end));
        let is_duplicate = |(left, right): (u64, u64)| {
            let in_second = blocks[1].is_some_and(|(from, to)| from <= left && right <= to);
            left >= sent.start && (right <= ack || in_second)
        };
        let duplicate = blocks[0].filter(|block| is_duplicate(*block));
        let mut sacks = Sacks { duplicate, blocks };
        if duplicate.is_some() {
            sacks.blocks[0] = None;
        }
        sacks.blocks = sacks.blocks.map(|block| {
            let (left, right) = block?;
            (right > ack).then_some((left.max(ack), right))
        });
        sacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(blocks: &[(u64, u64)]) -> Sacks {
        let mut all = [None; 4];
        for (place, block) in all.iter_mut().zip(blocks) {
            *place = Some(*block);
        }
        Sacks::judge(all, 100, 50..200)
    }

    #[test]
    fn the_first_block_may_report_a_duplicate_and_no_other() {
        assert_eq!(judge(&[(80, 100)]).duplicate, Some((80, 100)), "below the number");
        assert_eq!(judge(&[(120, 130), (110, 140)]).duplicate, Some((120, 130)), "in the second");
        assert_eq!(judge(&[(110, 140), (110, 140)]).duplicate, Some((110, 140)), "the second");
        assert_eq!(judge(&[(110, 140), (80, 100)]).duplicate, None);
        assert_eq!(judge(&[(110, 140), (120, 130)]).duplicate, None);
        assert_eq!(judge(&[(190, 201), (180, 201)]).duplicate, None, "beyond what was sent");
        assert_eq!(judge(&[(49, 60)]).duplicate, None, "before the first byte");
    }

    #[test]
    fn blocks_that_are_left_lie_between_the_number_and_what_was_sent() {
        // Every geometry of two blocks on a small line.
        let blocks =
            || (95_u64..107).flat_map(|left| (95_u64..107).map(move |right| (left, right)));
        for first in blocks() {
            for second in blocks() {
                let sacks = Sacks::judge([Some(first), Some(second), None, None], 100, 96..104);
                for (left, right) in sacks.blocks.into_iter().flatten() {
                    assert!(100 <= left && left < right && right <= 104, "{first:?} {second:?}");
                }
                if let Some((left, right)) = sacks.duplicate {
                    assert!(96 <= left && left < right && right <= 104, "{first:?} {second:?}");
                    assert_eq!(sacks.blocks[0], None, "a duplicate is no news");
                }
            }
        }
    }
}
