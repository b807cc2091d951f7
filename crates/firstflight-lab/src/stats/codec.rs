//! Encodes integers as bytes, seven bits at a time, so that the many small counts of a shard take a
//! byte each.

/// Writes integers.
#[derive(Clone, Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Appends an integer.
    pub fn put(&mut self, value: impl Into<u128>) {
        let mut value = value.into();
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Appends an integer that may be negative.
    pub fn put_signed(&mut self, value: i128) {
        self.put(((value << 1) ^ (value >> 127)) as u128);
    }
}

/// Reads integers. Every method returns `None` when the bytes end or are invalid.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next integer.
    pub fn wide(&mut self) -> Option<u128> {
        let mut value = 0u128;
        for shift in (0..128).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u128::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next integer of up to 64 bits.
    pub fn get(&mut self) -> Option<u64> {
        u64::try_from(self.wide()?).ok()
    }

    /// The next integer that may be negative.
    pub fn signed(&mut self) -> Option<i128> {
        let value = self.wide()?;
        Some((value >> 1) as i128 ^ -((value & 1) as i128))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back() {
        let values = [0u128, 1, 127, 128, 300, u128::from(u64::MAX), u128::MAX];
        let signed = [0i128, -1, 1, i128::MIN, i128::MAX, -300];
        let mut writer = Writer::default();
        for value in values {
            writer.put(value);
        }
        for value in signed {
            writer.put_signed(value);
        }
        let mut reader = Reader(&writer.0);
        assert!(values.iter().all(|value| reader.wide() == Some(*value)), "unsigned");
        assert!(signed.iter().all(|value| reader.signed() == Some(*value)), "signed");
        assert_eq!(reader.wide(), None, "and then nothing");
        assert_eq!(Reader(&[0x80; 30]).wide(), None, "what never ends is no number");
    }
}
