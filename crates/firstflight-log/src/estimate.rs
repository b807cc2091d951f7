//! Estimates that a sender makes of its path from its own samples: smoothed RTT, minimum RTT, and
//! whether the application has data to send.

use firstflight::{Nanos, Time};

/// RTT estimator after RFC 6298 and RFC 9002 section 5, without the ACK delay corrections: a trace
/// shows when the ACK arrived, and controllers run on those times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    srtt: Option<u64>,
    min: Option<u64>,
}

impl Rtt {
    /// Adds a sample.
    pub fn add(&mut self, sample: Nanos) {
        self.srtt = Some(self.srtt.map_or(sample.0, |srtt| srtt - srtt / 8 + sample.0 / 8));
        self.min = Some(self.min.map_or(sample.0, |min| min.min(sample.0)));
    }

    /// Smoothed RTT.
    pub fn srtt(&self) -> Option<Nanos> {
        self.srtt.map(Nanos)
    }

    /// Minimum RTT.
    pub fn min(&self) -> Option<Nanos> {
        self.min.map(Nanos)
    }
}

/// Distinguishes a sender without data from a sender without window by its bytes in flight: less
/// than half of the maximum within the last two round trips, and no recent loss that would have cut
/// the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    since: Option<Time>,
    now: u64,
    before: u64,
    lost_at: Option<Time>,
}

impl Demand {
    /// Records the number of bytes in flight.
    pub fn see(&mut self, now: Time, inflight: u64, srtt: Option<Nanos>) {
        let round = srtt.unwrap_or(Nanos::from_millis(100));
        if now.since(*self.since.get_or_insert(now)) >= round {
            (self.since, self.before, self.now) = (Some(now), self.now, inflight);
        }
        self.now = self.now.max(inflight);
    }

    /// Records a loss.
    pub fn lose(&mut self, now: Time) {
        self.lost_at = Some(now);
    }

    /// Whether the sender appears to have nothing to send.
    pub fn is_missing(&self, now: Time, inflight: u64, srtt: Option<Nanos>) -> bool {
        let settled = self.lost_at.is_none_or(|at| now.since(at) > srtt.unwrap_or(Nanos::ZERO) * 3);
        settled && inflight.saturating_mul(2) < self.now.max(self.before)
    }
}
