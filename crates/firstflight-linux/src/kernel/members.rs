//! The members of a C structure, read from the bytes that the kernel provides.

/// Reads the members of a record in order.
pub(super) struct Members<'a>(pub(super) &'a [u8]);

impl Members<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N.min(self.0.len()));
        self.0 = tail;
        head.try_into().unwrap_or([0; N])
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
}
