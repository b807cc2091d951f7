//! Headers of QUIC packets (RFC 9000 section 17, RFC 9369 section 3.2), as far as they are
//! unprotected.

use super::frames::Cursor;
use super::keys::Version;

/// Maximum length of a connection ID, bytes.
pub(super) const LONGEST_ID: usize = 20;

/// Kinds of packets with a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Initial,
    Early,
    Handshake,
    Retry,
}

/// A packet with a long header, at the start of the rest of a datagram.
#[derive(Debug)]
pub(super) struct Long<'a> {
    pub version: Version,
    pub kind: Kind,
    pub to: &'a [u8],
    pub from: &'a [u8],
    /// Offset of the packet number, and length of the whole packet.
    pub number_at: usize,
    pub length: usize,
}

/// Reason why there is no such packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum No {
    /// Not QUIC, or cut off.
    Quic,
    /// A version with unknown keys.
    Version,
}

impl<'a> Long<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Long<'a>, No> {
        let mut cursor = Cursor(bytes);
        let mut read = || -> Option<(u8, u32, &'a [u8], &'a [u8])> {
            let first = cursor.byte()?;
            let version = cursor.take(4)?;
            let version = u32::from_be_bytes(version.try_into().ok()?);
            let length = usize::from(cursor.byte()?);
            let to = cursor.take(length)?;
            let length = usize::from(cursor.byte()?);
            Some((first, version, to, cursor.take(length)?))
        };
        let (first, version, to, from) = read().ok_or(No::Quic)?;
        if to.len() > LONGEST_ID || from.len() > LONGEST_ID || version == 0 {
            return Err(No::Quic);
        }
        let version = Version::of(version).ok_or(No::Version)?;
        let bits = (first >> 4) & 3;
        // Version 2 counts from 1.
        let bits = if version == Version::Two { bits.wrapping_sub(1) & 3 } else { bits };
        let kind = [Kind::Initial, Kind::Early, Kind::Handshake, Kind::Retry][usize::from(bits)];
        let left = |cursor: &Cursor<'_>| bytes.len() - cursor.0.len();
        if kind == Kind::Retry {
            let (number_at, length) = (left(&cursor), bytes.len());
            return Ok(Long { version, kind, to, from, number_at, length });
        }
        if kind == Kind::Initial {
            let token = cursor.number().and_then(|length| usize::try_from(length).ok());
            token.and_then(|length| cursor.take(length)).ok_or(No::Quic)?;
        }
        let rest =
            cursor.number().and_then(|length| usize::try_from(length).ok()).ok_or(No::Quic)?;
        let number_at = left(&cursor);
        if rest > cursor.0.len() {
            return Err(No::Quic);
        }
        Ok(Long { version, kind, to, from, number_at, length: number_at + rest })
    }
}
