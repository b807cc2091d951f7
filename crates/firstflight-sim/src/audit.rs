//! Invariants of every flow: packets are neither invented nor forgotten, time never goes backwards,
//! and the receiver's byte count only grows. Checked in builds with debug assertions; other builds
//! contain none of it.

#[cfg(debug_assertions)]
pub(crate) use on::Audit;

#[cfg(not(debug_assertions))]
pub(crate) use off::Audit;

/// Whether a walk over `cost` places is due at this call number: rare enough that walks cost one
/// place per call on average.
#[inline]
pub(crate) fn walk_is_due(call: u64, cost: u64) -> bool {
    let draw = call.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    draw.saturating_mul(cost + 1) >> 32 == 0
}

#[cfg(debug_assertions)]
mod on {
    /// The books of one flow.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Audit {
        /// Time of the latest event, ns.
        now: u64,
        /// Copies of data packets that the path accepted, and those that arrived.
        taken: u64,
        arrived: u64,
        /// Time of the latest arrival, ns.
        arrived_at: u64,
        /// Bytes delivered in order at the receiver.
        delivered: u64,
    }

    impl Audit {
        /// An event happens at `now`.
        #[inline]
        pub(crate) fn on_event(&mut self, now: u64) {
            assert!(now >= self.now, "an event at {now} ns comes after one at {} ns", self.now);
            self.now = now;
        }

        /// A packet that leaves now will arrive at `at`.
        #[inline]
        pub(crate) fn on_taken(&mut self, at: u64) {
            assert!(at >= self.now, "sent at {} ns, it arrives at {at} ns", self.now);
            self.taken += 1;
        }

        /// A packet that was due at `at` arrives at `now`, which may be ahead of the clock.
        #[inline]
        pub(crate) fn on_arrived(&mut self, now: u64, at: u64) {
            assert!(
                at <= now && now >= self.arrived_at,
                "it is {now} ns and a packet of {at} ns arrives, after one at {} ns",
                self.arrived_at
            );
            self.arrived_at = now;
            self.arrived += 1;
        }

        /// Checks after an event: this many packets are in flight, and the receiver has `delivered`
        /// of `object` bytes, of which the sender knows `acked`.
        #[inline]
        pub(crate) fn check(&mut self, under_way: u64, delivered: u64, acked: u64, object: u64) {
            let Audit { taken, arrived, .. } = *self;
            assert_eq!(
                taken,
                arrived + under_way,
                "{taken} packets were taken, {arrived} arrived and {under_way} are under way"
            );
            assert!(
                (self.delivered..=object).contains(&delivered),
                "{delivered} of {object} bytes are delivered, {} were",
                self.delivered
            );
            assert!(
                acked <= delivered,
                "{acked} bytes are acknowledged and {delivered} are delivered"
            );
            self.delivered = delivered;
        }
    }
}

#[cfg(not(debug_assertions))]
#[expect(clippy::unused_self, reason = "the same calls as where it does something")]
mod off {
    /// No checks.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Audit;

    impl Audit {
        #[inline(always)]
        pub(crate) fn on_event(self, _now: u64) {}
        #[inline(always)]
        pub(crate) fn on_taken(self, _at: u64) {}
        #[inline(always)]
        pub(crate) fn on_arrived(self, _now: u64, _at: u64) {}
        #[inline(always)]
        pub(crate) fn check(self, _under_way: u64, _delivered: u64, _acked: u64, _object: u64) {}
    }
}
