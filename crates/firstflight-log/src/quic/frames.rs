//! Frames of an opened packet (RFC 9000 section 19), as far as sender state, keys and addresses
//! need them.

use crate::qlog::Frames;

/// The frames of a packet.
#[derive(Debug, Default)]
pub(super) struct Read<'a> {
    /// The values that the sender state needs.
    pub frames: Frames,
    /// Handshake data: offset and bytes.
    pub crypto: Vec<(u64, &'a [u8])>,
    /// Connection IDs that the sender of the packet issued for itself.
    pub ids: Vec<&'a [u8]>,
    /// The packet has only probing frames, so it may probe for a larger size.
    pub probes_only: bool,
    /// A frame closes the connection.
    pub closes: bool,
}

/// Bytes, read from the start.
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// Reads a variable-length integer (RFC 9000 section 16).
    pub(super) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let more = self.take((1 << (first >> 6)) - 1)?;
        Some(
            more.iter()
                .fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }
}

/// Maximum number of ranges in an ACK frame; no packet has room for more.
const MOST_RANGES: u64 = 4096;

/// Reads all frames up to the first unknown one.
pub(super) fn read(payload: &[u8]) -> Read<'_> {
    let mut read = Read { probes_only: true, ..Read::default() };
    read.frames.listed = true;
    let mut cursor = Cursor(payload);
    while !cursor.0.is_empty() {
        if frame(&mut cursor, &mut read).is_none() {
            // The rest is unknown, but it is more than an ACK.
            read.frames.eliciting = true;
            read.probes_only = false;
            break;
        }
    }
    read.probes_only &= read.frames.eliciting;
    read
}

fn frame<'a>(cursor: &mut Cursor<'a>, read: &mut Read<'a>) -> Option<()> {
    let kind = cursor.number()?;
    match kind {
        0x00 => return Some(()),
        0x02 | 0x03 => return ack(cursor, read, kind == 3),
        0x1c => {
            cursor.numbers(2)?;
            cursor.counted()?;
            read.closes = true;
            return Some(());
        }
        0x1d => {
            cursor.number()?;
            cursor.counted()?;
            read.closes = true;
            return Some(());
        }
        _ => {}
    }
    read.frames.eliciting = true;
    read.probes_only &= kind == 0x01;
    match kind {
        0x01 | 0x1e | 0x1f => {}
        0x04 => cursor.numbers(3)?,
        0x05 => cursor.numbers(2)?,
        0x06 => {
            let at = cursor.number()?;
            let data = cursor.counted()?;
            read.frames.data_bytes += data.len() as u64;
            read.crypto.push((at, data));
        }
        0x07 | 0x31 => drop(cursor.counted()?),
        0x08..=0x0f => {
            cursor.number()?;
            if kind & 4 != 0 {
                cursor.number()?;
            }
            let data =
                if kind & 2 != 0 { cursor.counted()? } else { cursor.take(cursor.0.len())? };
            read.frames.data_bytes += data.len() as u64;
        }
        0x10 => {
            cursor.number()?;
            read.frames.raises = true;
        }
        0x11 => {
            cursor.numbers(2)?;
            read.frames.raises = true;
        }
        0x12 | 0x13 | 0x16 | 0x17 | 0x19 => cursor.numbers(1)?,
        0x14 => {
            cursor.number()?;
            read.frames.blocked = true;
        }
        0x15 => {
            cursor.numbers(2)?;
            read.frames.blocked = true;
        }
        0x18 => {
            cursor.numbers(2)?;
            let length = cursor.byte()?;
            read.ids.push(cursor.take(usize::from(length))?);
            cursor.take(16)?;
        }
        0x1a | 0x1b => drop(cursor.take(8)?),
        0x30 => drop(cursor.take(cursor.0.len())?),
        // ACK_FREQUENCY, and the observed address of the other end.
        0xaf => cursor.numbers(4)?,
        0x9f_81a6 => {
            cursor.number()?;
            cursor.take(6)?;
        }
        0x9f_81a7 => {
            cursor.number()?;
            cursor.take(18)?;
        }
        _ => return None,
    }
    Some(())
}

fn ack(cursor: &mut Cursor<'_>, read: &mut Read<'_>, counts: bool) -> Option<()> {
    let (largest, _delay, ranges) = (cursor.number()?, cursor.number()?, cursor.number()?);
    let mut high = largest;
    let mut low = high.checked_sub(cursor.number()?)?;
    read.frames.acks += 1;
    read.frames.acked.push((low, high));
    for _ in 0..ranges.min(MOST_RANGES) {
        let (gap, length) = (cursor.number()?, cursor.number()?);
        high = low.checked_sub(gap.checked_add(2)?)?;
        low = high.checked_sub(length)?;
        read.frames.acked.push((low, high));
    }
    if counts {
        cursor.numbers(2)?;
        read.frames.ce = Some(cursor.number()?);
    }
    read.probes_only = false;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_any_order() {
        // ACK of 20 to 18 and 10 to 10 with counts, NEW_CONNECTION_ID, STREAM, DATA_BLOCKED, PADDING.
        let mut payload = vec![3, 20, 0, 1, 2, 6, 0, 1, 2, 0x40, 9];
        payload.extend([0x18, 1, 0, 4, 0xa, 0xb, 0xc, 0xd]);
        payload.extend([0; 16]);
        payload.extend([0x0a, 4, 3, 1, 2, 3, 0x14, 7, 0, 0]);
        let read = read(&payload);
        assert_eq!(read.frames.acked, [(18, 20), (10, 10)]);
        assert_eq!((read.frames.ce, read.frames.eliciting), (Some(9), true));
        assert_eq!(read.ids, [&[0xa, 0xb, 0xc, 0xd][..]]);
        assert_eq!((read.frames.data_bytes, read.frames.blocked), (3, true));
        assert!(!read.probes_only);
        assert!(super::read(&[1, 0, 0]).probes_only);
        assert!(!super::read(&[2, 5, 0, 0, 0]).frames.eliciting);
    }

    #[test]
    fn no_bytes_whatever_make_it_panic() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            };
            let length = usize::from(random() % 40);
            let payload: Vec<u8> = (0..length).map(|_| random() & random()).collect();
            let _ = read(&payload);
        }
    }
}
