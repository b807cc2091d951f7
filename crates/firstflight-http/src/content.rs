//! Objects with verifiable content: each byte depends only on its offset, so any range of any
//! object can be verified without the rest, and bytes that moved, were duplicated or were mixed up
//! are detected.

use std::ops::Range;

/// The name of the pattern, as the response's header field [`super::PATTERN`] gives it.
pub const NAME: &str = "splitmix64";

/// The eight bytes at an offset that is a multiple of eight: the output function of SplitMix64
/// (Steele, Lea, Flood 2014) applied to the index of the word.
fn word(number: u64) -> [u8; 8] {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Fills `bytes` with the content at `offset`.
pub fn fill(offset: u64, bytes: &mut [u8]) {
    let skip = (offset % 8) as usize;
    let mut number = offset / 8;
    let (head, rest) = bytes.split_at_mut(if skip == 0 { 0 } else { bytes.len().min(8 - skip) });
    if !head.is_empty() {
        head.copy_from_slice(&word(number)[skip..skip + head.len()]);
        number += 1;
    }
    for piece in rest.chunks_mut(8) {
        piece.copy_from_slice(&word(number)[..piece.len()]);
        number += 1;
    }
}

/// Offset of the first wrong byte in `bytes`, which start at `offset`.
pub fn first_wrong(offset: u64, bytes: &[u8]) -> Option<u64> {
    const PIECE: usize = 4096;
    let mut expected = [0; PIECE];
    let mut at = offset;
    for piece in bytes.chunks(PIECE) {
        let expected = &mut expected[..piece.len()];
        fill(at, expected);
        if let Some(wrong) = piece.iter().zip(expected.iter()).position(|(is, should)| is != should)
        {
            return Some(at + wrong as u64);
        }
        at += piece.len() as u64;
    }
    None
}

/// Reads the size of an object from a request: `10MB`, `64kB`, `1GiB`, `1500B`, or a plain number
/// of bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    // No object is as large as a number that exceeds a u64: the largest u64 replaces it and is
    // refused as too large.
    let number =
        if number.is_empty() { None } else { Some(number.parse::<u64>().unwrap_or(u64::MAX)) };
    number.map(|number| number.saturating_mul(*unit))
}

/// The requested part of an object of `total` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Range in the object.
    pub range: Range<u64>,
    /// Size of the whole object, bytes.
    pub total: u64,
}
