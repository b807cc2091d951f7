//! A token bucket that drops the excess. It has no queue and delays nothing; the bucket starts
//! full.
//!
//! The level is kept in bit/s x ns, so that it is exact: over any interval, the bytes that pass are
//! at most the bucket plus the rate times the interval, and exactly that under saturation, less the
//! remainder that does not fill a packet.

use crate::direction;

#[derive(Clone, Debug)]
pub(crate) struct Policer {
    rate: u128,
    size: u128,
    level: u128,
    at: u64,
}

impl Policer {
    pub(crate) fn new(settings: direction::Policer) -> Self {
        let size = u128::from(settings.bps) * u128::from(settings.bucket);
        Self { rate: u128::from(settings.bps), size, level: size, at: 0 }
    }

    pub(crate) fn passes(&mut self, now: u64, len: u32) -> bool {
        let brought = self.rate * u128::from(now.saturating_sub(self.at));
        self.at = self.at.max(now);
        self.level = (self.level + brought).min(self.size);
        let need = u128::from(len) * 8_000_000_000;
        let passes = need <= self.level;
        if passes {
            self.level -= need;
        }
        debug_assert!(self.level <= self.size, "more tokens than the bucket holds");
        passes
    }
}
