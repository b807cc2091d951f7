//! Three amounts of bytes in the room of two numbers. What a controller keeps for rare moments is
//! reserved by every connection, and no window or flight needs more than 41 bits.

use crate::units::MAX_BYTES;

const BITS: u32 = 41;
/// The largest value of 41 bits; represents every larger amount, an unset threshold included.
const UNBOUNDED: u64 = (1 << BITS) - 1;

const _: () = assert!(MAX_BYTES < UNBOUNDED);

/// Three amounts; what exceeds [`MAX_BYTES`] comes back as `u64::MAX`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreeAmounts([u64; 2]);

impl ThreeAmounts {
    pub(super) fn new(amounts: [u64; 3]) -> ThreeAmounts {
        let packed = amounts.iter().rev().fold(0, |packed, &bytes| {
            let bytes = if bytes > MAX_BYTES { UNBOUNDED } else { bytes };
            packed << BITS | u128::from(bytes)
        });
        ThreeAmounts([packed as u64, (packed >> 64) as u64])
    }

    pub(super) fn get(self) -> [u64; 3] {
        let packed = u128::from(self.0[0]) | u128::from(self.0[1]) << 64;
        [0, 1, 2].map(|index| {
            let bytes = (packed >> (index * BITS)) as u64 & UNBOUNDED;
            if bytes == UNBOUNDED { u64::MAX } else { bytes }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_come_back_as_they_were() {
        for amounts in [
            [0, 0, 0],
            [1, 2, 3],
            [MAX_BYTES, MAX_BYTES - 1, MAX_BYTES],
            [14_480, u64::MAX, 0],
            [u64::MAX; 3],
        ] {
            assert_eq!(ThreeAmounts::new(amounts).get(), amounts);
        }
    }
}
