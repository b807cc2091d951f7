//! CONGESTION_DATA: a server's saved set in the hands of its clients, so that the server needs no
//! memory.
//!
//! Follows: draft-yuan-quic-congestion-data, working copy of 3 September 2025. The server exports a
//! set in a CONGESTION_DATA frame; the client returns it in a CONGESTION_DATA_RECALL frame of its
//! next connection. This module has the body of both frames, from `Protected Count` on. The draft
//! has no numbers yet for the frame types, so the stack writes them, and negotiates
//! `support_congestion_data`.
//!
//! Departures:
//! * D1: the draft leaves the format of the timestamp open; ours is a variable-length integer of
//!   seconds since 1970.
//! * D2: [`decode`] requires the maximum congestion window and the minimum RTT, without which there
//!   is nothing to resume.
//!
//! ```
//! use firstflight::{Nanos, resume::Saved};
//! use firstflight_quic::resume::carriage::{Export, decode, encode};
//!
//! let saved = Saved { cwnd: 300_000, rtt: Nanos::from_millis(600), mss: 1200, at_least: false };
//! let protected = encode(&Export { saved, at: 1_790_000_000 });
//! // The tag is a keyed hash of `protected`: the stack computes it, appends it and later checks it.
//! let (recalled, rest) = decode(&protected, saved.mss)?;
//! assert_eq!((recalled.saved, recalled.at), (saved, 1_790_000_000));
//! assert!(rest.is_empty(), "here the tag would follow");
//! # Ok::<(), firstflight_quic::resume::carriage::Malformed>(())
//! ```
//!
//! The client can read the set, and without a tag it could also write one. Use a recalled set only
//! if the tag is right, if it is young enough and if the client's address is that of the earlier
//! connection (RFC 9959); a jump is confirmed by the path in any case.

use firstflight::Nanos;
use firstflight::resume::Saved;
use std::fmt;

/// Numbers of network statistics, from the draft's registry.
mod kind {
    pub(super) const TIMESTAMP: u64 = 0xc8;
    pub(super) const SLOW_START: u64 = 0xcb;
    pub(super) const MAX_CWND: u64 = 0xcd;
    pub(super) const MIN_RTT: u64 = 0xd0;
}

/// Most statistics that are read of a frame; the draft has 17.
const MOST: u64 = 64;

/// A set on its way to a client and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// The set.
    pub saved: Saved,
    /// When it was exported, in seconds since 1970.
    pub at: u64,
}

/// Why a body is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It ends inside a field.
    Short,
    /// It has more statistics than any sender has.
    Long,
    /// A statistic is not of its form.
    Value,
    /// The window or the RTT is missing, zero or twice in it.
    Missing,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Short => "the congestion data end inside a field",
            Malformed::Long => "the congestion data have more than 64 statistics",
            Malformed::Value => "a statistic of the congestion data is not of its form",
            Malformed::Missing => {
                "the congestion data need a window and a minimum RTT, each once and above zero"
            }
        })
    }
}

impl std::error::Error for Malformed {}

/// `Protected Count` and `Protected Network Statistics`. The RTT is in whole milliseconds, rounded,
/// at least one; the packet size is not exported.
pub fn encode(export: &Export) -> Vec<u8> {
    let Saved { cwnd, rtt, at_least, .. } = export.saved;
    let ms = (rtt.0.saturating_add(500_000) / 1_000_000).max(1);
    let mut body = Vec::with_capacity(32);
    put(&mut body, 4);
    for (kind, value) in [(kind::TIMESTAMP, export.at), (kind::MAX_CWND, cwnd), (kind::MIN_RTT, ms)]
    {
        put(&mut body, kind);
        put(&mut body, size(value));
        put(&mut body, value);
    }
    put(&mut body, kind::SLOW_START);
    put(&mut body, 1);
    body.push(at_least.into());
    body
}

/// Reads a body for a connection with packets of `mss` bytes, and returns the rest: the tag.
/// Statistics that only others know are skipped.
///
/// # Errors
/// If the body is not of the draft's form, or lacks what a connection resumes with.
pub fn decode(body: &[u8], mss: u64) -> Result<(Export, &[u8]), Malformed> {
    let (count, mut rest) = take(body)?;
    if count > MOST {
        return Err(Malformed::Long);
    }
    let (mut at, mut cwnd, mut ms, mut at_least) = (None, None, None, None);
    for _ in 0..count {
        let (kind, after) = take(rest)?;
        let (length, after) = take(after)?;
        let length = usize::try_from(length).map_err(|_| Malformed::Short)?;
        let (value, after) = after.split_at_checked(length).ok_or(Malformed::Short)?;
        rest = after;
        let number = || match take(value) {
            Ok((number, [])) => Ok(number),
            _ => Err(Malformed::Value),
        };
        let (field, number) = match kind {
            kind::TIMESTAMP => (&mut at, number()?),
            kind::MAX_CWND => (&mut cwnd, number()?),
            kind::MIN_RTT => (&mut ms, number()?),
            kind::SLOW_START => match value {
                [flag @ (0 | 1)] => (&mut at_least, u64::from(*flag)),
                _ => return Err(Malformed::Value),
            },
            _ => continue,
        };
        if field.replace(number).is_some() {
            return Err(Malformed::Missing);
        }
    }
    let (Some(cwnd @ 1..), Some(ms @ 1..)) = (cwnd, ms) else { return Err(Malformed::Missing) };
    let saved = Saved { cwnd, rtt: Nanos::from_millis(ms), mss, at_least: at_least == Some(1) };
    Ok((Export { saved, at: at.unwrap_or(0) }, rest))
}

/// Bytes of a variable-length integer (RFC 9000 section 16); larger values are cut to the largest.
fn size(value: u64) -> u64 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

fn put(to: &mut Vec<u8>, value: u64) {
    let value = value.min((1 << 62) - 1);
    let bytes = size(value);
    // The two highest bits of the first byte are the logarithm of the length.
    let marked = value | u64::from(bytes.ilog2()) << (8 * bytes - 2);
    to.extend_from_slice(&marked.to_be_bytes()[8 - bytes as usize..]);
}

fn take(from: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let first = *from.first().ok_or(Malformed::Short)?;
    let (bytes, rest) = from.split_at_checked(1 << (first >> 6)).ok_or(Malformed::Short)?;
    let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Ok((value & (u64::MAX >> (64 - 8 * bytes.len() + 2)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn saved(cwnd: u64, ms: u64) -> Saved {
        Saved { cwnd, rtt: Nanos::from_millis(ms), mss: 1200, at_least: true }
    }

    #[test]
    fn a_set_is_four_statistics_of_the_registry() {
        let body = encode(&Export { saved: saved(0x1234, 600), at: 0x4000_0000 });
        let expected: &[u8] = &[
            4, // statistics
            0x40, 0xc8, 8, 0xc0, 0, 0, 0, 0x40, 0, 0, 0, // timestamp
            0x40, 0xcd, 2, 0x52, 0x34, // window
            0x40, 0xd0, 2, 0x42, 0x58, // RTT
            0x40, 0xcb, 1, 1, // slow start goes on
        ];
        assert_eq!(body, expected, "the exported bytes");
    }

    #[test]
    fn what_others_add_is_skipped_and_the_tag_is_left() {
        // A throughput, a window of 16 kB and an RTT of 50 ms; then a tag.
        let body = [3, 0x40, 0xd4, 1, 9, 0x40, 0xcd, 4, 0x80, 0, 0x40, 0, 0x40, 0xd0, 1, 50, 7, 7];
        let (export, tag) = decode(&body, 1000).expect("a body");
        let expected =
            Saved { cwnd: 16_384, rtt: Nanos::from_millis(50), mss: 1000, at_least: false };
        assert_eq!((export.saved, export.at, tag), (expected, 0, &[7, 7][..]));
    }

    #[test]
    fn a_body_that_is_not_of_its_form_is_refused_with_the_reason() {
        for (body, why) in [
            (&[][..], Malformed::Short),
            (&[1, 0x40], Malformed::Short),
            (&[1, 0x40, 0xcd, 9, 1], Malformed::Short),
            (&[0x40, 0xff], Malformed::Long),
            (&[1, 0x40, 0xcd, 2, 1, 1], Malformed::Value),
            (&[1, 0x40, 0xcb, 1, 2], Malformed::Value),
            (&[0], Malformed::Missing),
            (&[2, 0x40, 0xcd, 1, 1, 0x40, 0xcd, 1, 1], Malformed::Missing),
            (&[2, 0x40, 0xcd, 1, 0, 0x40, 0xd0, 1, 1], Malformed::Missing),
        ] {
            assert_eq!(decode(body, 1200), Err(why), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_exported_comes_back(cwnd in 1..1_u64 << 40, ms in 1..60_000_u64, at in 0..1_u64 << 40, tag: Vec<u8>) {
            let export = Export { saved: saved(cwnd, ms), at };
            let mut body = encode(&export);
            body.extend(&tag);
            prop_assert_eq!(decode(&body, 1200), Ok((export, &tag[..])));
        }

        #[test]
        fn no_bytes_of_a_client_do_harm(body: Vec<u8>) {
            if let Ok((export, rest)) = decode(&body, 1200) {
                prop_assert!(export.saved.cwnd > 0 && rest.len() < body.len());
            }
        }
    }
}
