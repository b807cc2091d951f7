//! A check of request heads that `h3` does not make: repeated pseudo-header fields. RFC 9114
//! section 4.3.1 requires exactly one of each; `h3` keeps the last.
//!
//! Only names are read here, from field lines that refer to no dynamic table (RFC 9204 section
//! 4.5). The server has no dynamic table, and `h3` refuses references to one and everything else
//! that cannot be decoded.

use super::limits::REQUEST;

const PSEUDO: [&[u8]; 6] =
    [b":authority", b":method", b":path", b":protocol", b":scheme", b":status"];

/// The start of a request stream up to the end of its head.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    done: bool,
}

/// Frame types, RFC 9114 section 7.2.
const DATA: u64 = 0;
const HEADERS: u64 = 1;

impl Head {
    /// Whether the head is complete or there is none.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the next bytes of the stream. Returns true once the head is complete and repeats a
    /// pseudo-header field.
    pub(super) fn repeats(&mut self, piece: &[u8]) -> bool {
        if self.done {
            return false;
        }
        self.bytes.extend_from_slice(piece);
        // Longer heads are refused for their length.
        self.done = self.bytes.len() as u64 > REQUEST;
        while let Some((kind, after)) = integer(&self.bytes).filter(|_| !self.done) {
            let Some((len, then)) = integer(&self.bytes[after..]) else { return false };
            let begin = after + then;
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            match kind {
                // DATA before the head is not allowed.
                DATA => self.done = true,
                HEADERS => {
                    let Some(block) = self.bytes.get(begin..begin.saturating_add(len)) else {
                        return false;
                    };
                    self.done = true;
                    return is_repeated(block);
                }
                // RFC 9114 section 9: frames of unknown types are skipped.
                _ if self.bytes.len() - begin >= len => drop(self.bytes.drain(..begin + len)),
                _ => return false,
            }
        }
        false
    }
}

/// A variable-length integer and its length, RFC 9000 section 16.
pub(super) fn integer(bytes: &[u8]) -> Option<(u64, usize)> {
    let len = 1 << (bytes.first()? >> 6);
    let (first, rest) = bytes.get(..len)?.split_first()?;
    Some((
        rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)),
        len,
    ))
}

/// Whether a field section repeats a pseudo-header field, as far as it can be read.
fn is_repeated(mut block: &[u8]) -> bool {
    let rest = &mut block;
    // RFC 9204 section 4.5.1: the prefix.
    if prefixed(rest, 8).is_none() || prefixed(rest, 7).is_none() {
        return false;
    }
    let mut seen = [false; PSEUDO.len()];
    while let Some(first) = rest.first().copied() {
        let Ok(name) = line(rest, first) else { return false };
        if let Some(name) = name
            && std::mem::replace(&mut seen[name], true)
        {
            return true;
        }
    }
    false
}

/// The rest of the field section cannot be read.
struct Unreadable;

/// Reads one field line that begins with `first`. Returns its pseudo-header field, if it is one.
fn line(rest: &mut &[u8], first: u8) -> Result<Option<usize>, Unreadable> {
    if first & 0xc0 == 0xc0 {
        // Indexed, static table.
        return prefixed(rest, 6).map(of_index).ok_or(Unreadable);
    }
    let name = if first & 0xf0 == 0x50 || first & 0xf0 == 0x70 {
        // With a static name.
        of_index(prefixed(rest, 4).ok_or(Unreadable)?)
    } else if first & 0xe0 == 0x20 {
        let huffman = first & 8 != 0;
        let name = text(rest, 3).ok_or(Unreadable)?;
        PSEUDO
            .iter()
            .position(|pseudo| if huffman { name == compressed(pseudo) } else { name == *pseudo })
    } else {
        return Err(Unreadable);
    };
    text(rest, 7).ok_or(Unreadable)?;
    Ok(name)
}

/// RFC 9204 appendix A: the pseudo-header fields of the static table.
fn of_index(index: u64) -> Option<usize> {
    match index {
        0 => Some(0),
        15..=21 => Some(1),
        1 => Some(2),
        22 | 23 => Some(4),
        24..=28 | 63..=71 => Some(5),
        _ => None,
    }
}

/// An integer with a prefix of this many bits, RFC 7541 section 5.1.
fn prefixed(rest: &mut &[u8], bits: u32) -> Option<u64> {
    let most = (1_u64 << bits) - 1;
    let (first, mut after) = rest.split_first()?;
    let mut value = u64::from(*first) & most;
    if value == most {
        for shift in (0..56).step_by(7) {
            let (byte, then) = after.split_first()?;
            after = then;
            value = value.checked_add(u64::from(byte & 0x7f) << shift)?;
            if byte & 0x80 == 0 {
                *rest = after;
                return Some(value);
            }
        }
        return None;
    }
    *rest = after;
    Some(value)
}

/// The bytes of a string whose length has a prefix of this many bits.
fn text<'a>(rest: &mut &'a [u8], bits: u32) -> Option<&'a [u8]> {
    let len = usize::try_from(prefixed(rest, bits)?).ok()?;
    let (text, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(text)
}

/// A name as RFC 7541 appendix B compresses it: the code and the code's length in bits; ones fill
/// the last byte.
fn compressed(name: &[u8]) -> Vec<u8> {
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for letter in name {
        let (code, len) = match letter {
            b'a' => (0x3, 5),
            b'c' => (0x4, 5),
            b'e' => (0x5, 5),
            b'i' => (0x6, 5),
            b'o' => (0x7, 5),
            b's' => (0x8, 5),
            b't' => (0x9, 5),
            b'd' => (0x24, 6),
            b'h' => (0x27, 6),
            b'l' => (0x28, 6),
            b'm' => (0x29, 6),
            b'p' => (0x2b, 6),
            b'r' => (0x2c, 6),
            b'u' => (0x2d, 6),
            b':' => (0x5c, 7),
            b'y' => (0x7a, 7),
            // The names contain no other letter.
            _ => (0, 0),
        };
        held = held << len | code;
        bits += len;
        while bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    if bits > 0 {
        bytes.push((held << (8 - bits)) as u8 | (0xff >> bits));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GET https, with indices of the static table; authority and path as literals, after the
    /// prefix.
    const GET: &[u8] = &[0, 0, 0xd1, 0xd7, 0x50, 1, b'a', 0x51, 1, b'/'];

    fn stream(block: &[u8]) -> Vec<u8> {
        // A frame of an unknown type comes first.
        [&[0x21, 2, 9, 9, 1, block.len() as u8], block].concat()
    }

    #[test]
    fn a_pseudo_header_field_that_stands_there_twice_is_found_however_it_is_written() {
        let path = compressed(b":path");
        let rows: [(&str, Vec<u8>, bool); 7] = [
            ("nothing", vec![], false),
            ("an ordinary field", vec![0x23, b'x', b'-', b'a', 1, b'1'], false),
            ("the method by index", vec![0xd4], true),
            ("the path by index", vec![0xc1], true),
            ("the authority with a static name", vec![0x50, 1, b'b'], true),
            ("the path by name", [&[0x25][..], b":path", &[1, b'/']].concat(), true),
            (
                "the path by its compressed name",
                [&[0x28 | path.len() as u8][..], &path, &[1, b'/']].concat(),
                true,
            ),
        ];
        for (what, more, expected) in rows {
            let bytes = stream(&[GET, &more].concat());
            let mut head = Head::default();
            assert_eq!((head.repeats(&bytes), head.is_done()), (expected, true), "{what}");
            // The result is the same byte by byte.
            let mut head = Head::default();
            assert_eq!(
                bytes.iter().filter(|byte| head.repeats(&[**byte])).count(),
                usize::from(expected),
                "{what}"
            );
        }
    }

    #[test]
    fn names_are_compressed_as_in_the_rfc() {
        // RFC 7541 appendix C.4.1 has no pseudo-header field by name; this value was derived from
        // its appendix B.
        assert_eq!(compressed(b":path"), [0b1011_1001, 0b0101_1000, 0b1101_0011, 0b0011_1111]);
        assert_eq!(compressed(b"aei"), [0b0001_1001, 0b0100_1101]);
    }

    #[test]
    fn what_cannot_be_read_is_left_to_others() {
        for bytes in
            [&[1, 3, 0, 0, 0x80][..], &[0, 1, 1], &[1, 20, 0xff, 0xff], &[1, 4, 0, 0, 0x2f, 0xff]]
        {
            assert!(!Head::default().repeats(bytes), "{bytes:?}");
        }
        let mut head = Head::default();
        assert!(
            !head.repeats(&[0x40]) && !head.repeats(&vec![0x21; 30_000]) && head.is_done(),
            "nothing is kept beyond the bound"
        );
    }
}
