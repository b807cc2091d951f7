//! Decisions read from bytes. When they run out every decision is zero, so that any prefix of a
//! history is a history.

/// Bytes that are read as decisions.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Decisions from these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Source<'a> {
        Source { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes([self.u8(), self.u8(), self.u8(), self.u8()])
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from(self.u32()) << 32 | u64::from(self.u32())
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u8) -> u8 {
        self.u8() % n
    }

    /// One of the items.
    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        let at = usize::from(u16::from_le_bytes([self.u8(), self.u8()])) % items.len();
        &items[at]
    }

    /// A number that somebody might have got wrong: near `near`, at the edges of the integers, or
    /// anything.
    pub(crate) fn wild(&mut self, near: u64) -> u64 {
        match self.u8() % 16 {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => u64::MAX - u64::from(self.u8()),
            4 => 1 << (self.u8() % 64),
            5 => (1 << 40) - 1 + u64::from(self.u8() % 3),
            6 => self.u64(),
            7 => u64::from(self.u32()),
            8 => near.wrapping_sub(u64::from(self.u32())),
            9 => near.saturating_add(u64::from(self.u32())),
            10 | 11 => near.saturating_sub(u64::from(self.u8())),
            12 | 13 => near.saturating_add(u64::from(self.u8())),
            _ => near,
        }
    }
}

/// `len` bytes from a seed (SplitMix64): the same on every machine, without a dependency.
pub(crate) fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((z ^ (z >> 31)).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
