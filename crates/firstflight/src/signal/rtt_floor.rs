//! The smallest RTT of roughly the last round trip, kept in four slots of a quarter of the minimum
//! RTT.
//!
//! Follows: draft-kazuho-ccwg-rapid-start-02, the `rtt_floor` of the growth rule. State: 48 bytes.
//! RAPID 3.2-5: the window covers between three quarters of a minimum RTT and a whole one, so
//! nearly a full round of raised samples is needed before the floor rises; a single early packet of
//! a round cannot raise it alone.

use crate::units::{Nanos, Time};

const SLOTS: usize = 4;

/// A sliding minimum over about one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttFloor {
    min_rtt: Nanos,
    slots: [Nanos; SLOTS],
    slot_start: Time,
}

impl Default for RttFloor {
    fn default() -> Self {
        RttFloor { min_rtt: Nanos::MAX, slots: [Nanos::MAX; SLOTS], slot_start: Time(0) }
    }
}

impl RttFloor {
    /// A connection starts at `now`.
    pub fn start(&mut self, now: Time) {
        self.slot_start = now;
    }

    /// One raw RTT sample, in any phase.
    pub fn on_rtt(&mut self, now: Time, rtt: Nanos) {
        self.min_rtt = self.min_rtt.min(rtt);
        let slot = Nanos((self.min_rtt.0 / SLOTS as u64).max(1));
        let behind = now.since(self.slot_start).0 / slot.0;
        if behind >= SLOTS as u64 {
            self.slots = [Nanos::MAX; SLOTS];
            self.slot_start = now;
        } else {
            for _ in 0..behind {
                self.slots.rotate_right(1);
                self.slots[0] = Nanos::MAX;
            }
            self.slot_start += slot * behind;
        }
        self.slots[0] = self.slots[0].min(rtt);
    }

    /// The smallest sample of the window; `None` if there was none.
    pub fn floor(&self) -> Option<Nanos> {
        self.slots.iter().copied().min().filter(|&floor| floor != Nanos::MAX)
    }

    /// The smallest sample of the connection; `None` if there was none.
    pub fn min_rtt(&self) -> Option<Nanos> {
        (self.min_rtt != Nanos::MAX).then_some(self.min_rtt)
    }
}
