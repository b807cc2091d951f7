//! A TCP segment as its headers show it; the payload is ignored. Captures, watched sockets and the
//! emulated link all read segments here.

use firstflight::Time;
use std::ops::Range;

/// One TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Time at which it was seen.
    pub now: Time,
    /// Sequence number of the first payload byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// SYN flag.
    pub syn: bool,
    /// ACK flag.
    pub has_ack: bool,
    /// FIN flag.
    pub fin: bool,
    /// RST flag.
    pub rst: bool,
    /// ECN flags: AE (Accurate ECN), CWR and ECE.
    pub ae: bool,
    /// See `ae`.
    pub cwr: bool,
    /// See `ae`.
    pub ece: bool,
    /// The window field, unscaled.
    pub window: u16,
    /// Payload bytes on the wire; a capture may hold fewer.
    pub payload: u32,
    /// Bytes of IP and TCP headers.
    pub headers: u32,
    /// Bytes of the TCP options.
    pub options: u32,
    /// Whether the capture truncates the options.
    pub cut: bool,
    /// Timestamp and echo.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: [Option<(u32, u32)>; 4],
    /// MSS option of a SYN, bytes.
    pub mss: Option<u16>,
    /// Window scale option of a SYN, bits.
    pub scale: Option<u8>,
    /// Accurate ECN option: payload bytes that arrived with a CE mark, modulo 2^24.
    pub marked_bytes: Option<u32>,
}

/// RFC 7323 section 2.3: a larger window scale is treated as this value.
pub const MOST_SCALE: u8 = 14;

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(half(bytes, at)?) << 16 | u32::from(half(bytes, at + 2)?))
}

impl Segment {
    /// Parses a TCP header that follows an IP header of `ip_header` bytes, in a packet of `length`
    /// bytes. The captured part may end inside the options. `None` if it is not a TCP header.
    pub fn parse(now: Time, ip_header: u32, length: u32, tcp: &[u8]) -> Option<Segment> {
        const LEAST_HEADER: u32 = 20;
        let flags = *tcp.get(13)?;
        let tcp_header = u32::from(tcp[12] >> 4) * 4;
        let options = tcp_header.checked_sub(LEAST_HEADER)?;
        let headers = ip_header + tcp_header;
        let mut segment = Segment {
            now,
            seq: word(tcp, 4)?,
            ack: word(tcp, 8)?,
            syn: flags & 0x02 != 0,
            has_ack: flags & 0x10 != 0,
            fin: flags & 0x01 != 0,
            rst: flags & 0x04 != 0,
            ae: tcp[12] & 0x01 != 0,
            cwr: flags & 0x80 != 0,
            ece: flags & 0x40 != 0,
            window: half(tcp, 14)?,
            payload: length.checked_sub(headers)?,
            headers,
            options,
            cut: tcp.len() < tcp_header as usize,
            ..Segment::default()
        };
        let end = (tcp_header as usize).min(tcp.len());
        segment.take_options(tcp.get(LEAST_HEADER as usize..end).unwrap_or(&[]));
        Some(segment)
    }

    /// Walks the options by their lengths, known or not (RFC 9293 section 3.1). A truncated option
    /// or an impossible length ends the walk, because no later option can be found.
    fn take_options(&mut self, mut options: &[u8]) {
        const END: u8 = 0;
        const PADDING: u8 = 1;
        while let Some(&kind) = options.first().filter(|kind| **kind != END) {
            if kind == PADDING {
                options = &options[1..];
                continue;
            }
            let length = options.get(1).map_or(0, |length| usize::from(*length));
            if !(2..=options.len()).contains(&length) {
                return;
            }
            self.take_option(kind, &options[2..length]);
            options = &options[length..];
        }
    }

    /// A known kind with an impossible length is ignored.
    fn take_option(&mut self, kind: u8, body: &[u8]) {
        match (kind, body.len()) {
            (2, 2) => self.mss = half(body, 0),
            (3, 1) => self.scale = Some(body[0].min(MOST_SCALE)),
            (5, 8 | 16 | 24 | 32) => {
                for (place, block) in self.sacks.iter_mut().zip(body.as_chunks::<8>().0) {
                    *place = word(block, 0).zip(word(block, 4));
                }
            }
            (8, 8) => self.stamps = word(body, 0).zip(word(body, 4)),
            // RFC 9768 section 3.2.3: three counters of 24 bits, the last of which may be missing.
            // The counter of CE-marked bytes is second in either order.
            (172 | 174, 6 | 9) => self.marked_bytes = word(body, 2).map(|word| word & 0xff_ffff),
            _ => {}
        }
    }

    /// The three ECN flags as a number (ACE, RFC 9768).
    pub fn ace(&self) -> u8 {
        u8::from(self.ae) << 2 | u8::from(self.cwr) << 1 | u8::from(self.ece)
    }

    /// Whether it only acknowledges.
    pub fn is_pure_ack(&self) -> bool {
        self.has_ack && !self.syn && !self.fin && !self.rst && self.payload == 0
    }
}

/// Plausible SACK blocks, with sequence numbers extended to 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    /// Bytes that the receiver already had (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// Bytes that the receiver has, as start and end, all above the acknowledgement number.
    pub blocks: [Option<(u64, u64)>; 4],
}

impl Sacks {
    /// Checks the blocks of a segment that acknowledges `ack`, whose receiver has sent the bytes
    /// `sent`. RFC 2883 section 4: the first block reports a duplicate if it lies below the
    /// acknowledgement number or within the second block. A block is otherwise ignored if it is
    /// empty, ends at or below that number, or ends beyond the sent bytes.
    pub fn judge(blocks: [Option<(u64, u64)>; 4], ack: u64, sent: Range<u64>) -> Sacks {
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
        // Every arrangement of two blocks on a short line.
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

    /// A header with these options, padded.
    fn header(options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        bytes.extend(options);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes[12] = (bytes.len() as u8 / 4) << 4;
        bytes[13] = 0x10;
        bytes
    }

    fn parse(bytes: &[u8]) -> Segment {
        Segment::parse(Time(0), 20, 1500, bytes).expect("a header")
    }

    /// Option kinds that the reader uses, each with the value to find.
    const KNOWN: [&[u8]; 4] = [
        &[8, 10, 0, 0, 0, 5, 0, 0, 0, 6],
        &[3, 3, 7],
        &[5, 10, 0, 0, 0, 1, 0, 0, 0, 9],
        &[2, 4, 5, 0xb4],
    ];

    fn finds_all(segment: &Segment) -> bool {
        segment.stamps == Some((5, 6))
            && segment.scale == Some(7)
            && segment.sacks[0] == Some((1, 9))
            && segment.mss == Some(1460)
    }

    #[test]
    fn an_option_of_any_other_kind_hides_nothing() {
        // 40 bytes hold the four known options and 13 more.
        for kind in (0..=u8::MAX).filter(|kind| ![0, 1, 2, 3, 5, 8].contains(kind)) {
            for length in 2..=13 {
                for place in 0..=KNOWN.len() {
                    let mut options = KNOWN.map(<[u8]>::to_vec).to_vec();
                    let mut other = vec![kind, length];
                    other.resize(usize::from(length), 0xff);
                    options.insert(place, other);
                    let segment = parse(&header(&options.concat()));
                    assert!(finds_all(&segment), "kind {kind}, {length} bytes: {segment:?}");
                }
            }
        }
    }

    #[test]
    fn options_that_are_cut_or_impossible_take_nothing_from_those_before() {
        let options = KNOWN.concat();
        let whole = header(&options);
        for end in 20..whole.len() {
            let cut = parse(&whole[..end]);
            assert_eq!(cut.stamps.is_some(), end >= 30, "{end} bytes");
            assert_eq!(cut.mss.is_some(), end >= 47, "{end} bytes");
            assert_eq!(
                cut.payload,
                1500 - 20 - whole.len() as u32,
                "the header says how long it is"
            );
        }
        for length in [0, 1, 14, 40, 255] {
            let broken = [&options[..], &[253, length]].concat();
            assert!(finds_all(&parse(&header(&broken))), "an option of {length} bytes at the end");
        }
    }

    #[test]
    fn the_option_of_accurate_ecn_has_marked_bytes_second() {
        let counters = [0, 0, 1, 0xff, 0, 2, 0, 0, 3];
        for kind in [172, 174] {
            for length in 2..=11_u8 {
                let option = [&[kind, length][..], &counters[..usize::from(length) - 2]].concat();
                let marked = parse(&header(&option)).marked_bytes;
                let wanted = matches!(length, 8 | 11).then_some(0xff_0002);
                assert_eq!(marked, wanted, "kind {kind}, {length} bytes");
            }
        }
    }
}
