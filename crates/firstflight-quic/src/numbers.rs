//! A single order of sending for three packet number spaces.
//!
//! Initial, Handshake and application packets reach a controller with numbers but without their
//! space, and each space counts from 0. A number that is not above the last one sent starts a new
//! space; from then on numbers are shifted so that the order of sending never goes back.
//! Acknowledgements of an older space are recognised by their time of sending. They lose their
//! number, but their bytes count.
//!
//! A change of space that goes unnoticed (quinn reports only the last number of a batch) costs a
//! few RTT samples of the handshake.

use firstflight::Time;

/// Maps packet numbers to positions in the order of sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    shift: u64,
    last: Option<u64>,
    began: Time,
}

impl Numbers {
    /// Number `pn` was sent at `now`, when `next` was the first free position. Returns its position
    /// and whether it starts a space.
    pub(crate) fn sent(&mut self, pn: u64, now: Time, next: u64) -> (u64, bool) {
        let new_space = self.last.is_some_and(|last| pn <= last);
        if new_space {
            self.shift = next.saturating_sub(pn);
            self.began = now;
        }
        self.last = Some(pn);
        (self.shift.saturating_add(pn), new_space)
    }

    /// The position of number `pn` if it was sent (at `sent`) in the current space.
    pub(crate) fn position(&self, pn: u64, sent: Time) -> Option<u64> {
        self.is_present(sent).then(|| self.here(pn))
    }

    /// Whether a packet sent at `sent` belongs to the current space.
    pub(crate) fn is_present(&self, sent: Time) -> bool {
        sent >= self.began
    }

    /// The position of number `pn` in the current space.
    pub(crate) fn here(&self, pn: u64) -> u64 {
        self.shift.saturating_add(pn)
    }
}
