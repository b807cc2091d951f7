//! SEARCH's record: the cumulative counters at the end of each bin.
//!
//! There are two rings: one just long enough for the newest window, one for the window that ended
//! up to fourteen bins earlier and its neighbour. Entries hold 32 bits, or 16 as in the kernel
//! patch; once a counter needs more, all are shifted right together.
//!
//! Follows: see [`super`], D3. State: 168 bytes.

use super::MAX_EXTRA;

/// SEARCH bins-1: bins of one window (`W`).
pub(super) const WINDOW: u64 = 10;
/// Closed bins needed to subtract a window's start from its end.
const NEAR_BINS: usize = 11;
/// Closed bins needed for the same window one look-back (at most 14 bins) earlier, with one
/// neighbour.
const FAR_BINS: usize = NEAR_BINS + MAX_EXTRA as usize;

/// Cumulative counters at the end of each bin, in rings indexed by the bin's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bins {
    delivered: [u32; NEAR_BINS],
    /// Counters of the reference: bytes sent (4.0) or delivered (3.1).
    reference: [u32; FAR_BINS],
    shift: u8,
    pub(super) delivered_base: u64,
    pub(super) reference_base: u64,
}

/// Number of bits by which a counter must be shifted right to fit into `bits` bits (32 here, 16 in
/// the kernel ports).
#[inline]
#[doc(hidden)]
pub const fn shift_to_fit(counter: u64, bits: u32) -> u32 {
    (u64::BITS - counter.leading_zeros()).saturating_sub(bits)
}

/// A number of bins as an index; the rings are far shorter than any `usize`.
const fn slot(bin: u64, len: usize) -> usize {
    (bin % len as u64) as usize
}

impl Bins {
    pub(super) const EMPTY: Bins = Bins {
        delivered: [0; NEAR_BINS],
        reference: [0; FAR_BINS],
        shift: 0,
        delivered_base: 0,
        reference_base: 0,
    };

    /// Records the counters at the end of bin `idx`.
    pub(super) fn store(&mut self, idx: u64, delivered: u64, reference: u64, bits: u8) {
        let delivered = delivered.saturating_sub(self.delivered_base);
        let reference = reference.saturating_sub(self.reference_base);
        let shift = shift_to_fit(delivered.max(reference), u32::from(bits)) as u8;
        // SEARCH shift-1: when a counter no longer fits, all of them lose as many bits together
        // (D3).
        if shift > self.shift {
            let more = shift - self.shift;
            for entry in self.delivered.iter_mut().chain(&mut self.reference) {
                *entry = entry.checked_shr(u32::from(more)).unwrap_or(0);
            }
            self.shift = shift;
        }
        self.delivered[slot(idx, NEAR_BINS)] = (delivered >> self.shift) as u32;
        self.reference[slot(idx, FAR_BINS)] = (reference >> self.shift) as u32;
    }

    /// Fills bins without an ACK with the counters of the previous bin.
    pub(super) fn copy_forward(&mut self, idx: u64, to: u64) {
        let delivered = self.delivered[slot(idx, NEAR_BINS)];
        let reference = self.reference[slot(idx, FAR_BINS)];
        for j in idx.saturating_add(1).max(to.saturating_sub(FAR_BINS as u64))..to {
            self.delivered[slot(j, NEAR_BINS)] = delivered;
            self.reference[slot(j, FAR_BINS)] = reference;
        }
    }

    /// Bytes delivered in the `bins` bins up to `end`.
    pub(super) fn delivered(&self, end: u64, bins: u64) -> u64 {
        let earlier = self.delivered[slot(end.saturating_sub(bins), NEAR_BINS)];
        u64::from(self.delivered[slot(end, NEAR_BINS)].saturating_sub(earlier)) << self.shift
    }

    /// The reference counted over one window up to `end`. The bin before the first one counts as
    /// zero.
    pub(super) fn reference(&self, end: u64) -> u64 {
        let earlier =
            end.checked_sub(WINDOW).map_or(0, |start| self.reference[slot(start, FAR_BINS)]);
        u64::from(self.reference[slot(end, FAR_BINS)].saturating_sub(earlier)) << self.shift
    }
}
