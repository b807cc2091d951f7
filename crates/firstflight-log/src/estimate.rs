//! What a sender knows of its path from its own samples: smoothed and smallest round trip, and
//! whether it has something to send.

use firstflight::{Nanos, Time};

/// RTT estimator after RFC 6298 and RFC 9002 section 5, without their corrections for ack delay: a
/// trace shows when the ACK came, and controllers are driven by that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    srtt: Option<u64>,
    min: Option<u64>,
}

impl Rtt {
    /// A sample.
    pub fn add(&mut self, sample: Nanos) {
        self.srtt = Some(self.srtt.map_or(sample.0, |srtt| srtt - srtt / 8 + sample.0 / 8));
        self.min = Some(self.min.map_or(sample.0, |min| min.min(sample.0)));
    }

    /// Smoothed.
    pub fn srtt(&self) -> Option<Nanos> {
        self.srtt.map(Nanos)
    }

    /// Smallest.
    pub fn min(&self) -> Option<Nanos> {
        self.min.map(Nanos)
    }
}

/// Tells a sender without data from one without window, by how much is in flight: less than half of
/// what was in flight within the last two round trips, and no loss that would have cut the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    since: Option<Time>,
    now: u64,
    before: u64,
    lost_at: Option<Time>,
}

impl Demand {
    /// So much is in flight.
    pub fn see(&mut self, now: Time, inflight: u64, srtt: Option<Nanos>) {
        let round = srtt.unwrap_or(Nanos::from_millis(100));
        if now.since(*self.since.get_or_insert(now)) >= round {
            (self.since, self.before, self.now) = (Some(now), self.now, inflight);
        }
        self.now = self.now.max(inflight);
    }

    /// Something was lost.
    pub fn lose(&mut self, now: Time) {
        self.lost_at = Some(now);
    }

    /// Nothing to send, as far as one can see.
    pub fn is_missing(&self, now: Time, inflight: u64, srtt: Option<Nanos>) -> bool {
        let settled = self.lost_at.is_none_or(|at| now.since(at) > srtt.unwrap_or(Nanos::ZERO) * 3);
        settled && inflight.saturating_mul(2) < self.now.max(self.before)
    }
}
