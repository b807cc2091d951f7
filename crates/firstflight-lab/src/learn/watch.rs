//! The observation of a policy: small integers, computed from what any sender knows.

use super::course::Step;
use firstflight::event::Window;
use firstflight::units::mul_div;
use firstflight::{Ack, Context, Nanos, Time};

/// Number of values in an observation.
pub const FEATURES: usize = 12;

/// One, in the unit of observations and decisions.
pub const ONE: i32 = 64;

/// The largest value of an observation: 32, less one unit.
pub const MOST: i32 = 32 * ONE - 1;

/// The values of an observation, in units of 1/64, each from 0 to [`MOST`] except the last decision.
pub type Observation = [i32; FEATURES];

/// Name and meaning of one value of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Name.
    pub name: &'static str,
    /// Meaning and unit.
    pub about: &'static str,
}

macro_rules! features {
    ($($name:literal $about:literal,)*) => {
        impl Feature {
            /// The values of an observation, in their order.
            pub const ALL: [Feature; FEATURES] = [$(Feature { name: $name, about: $about },)*];
        }
    };
}

features! {
    "cwnd" "logarithm (base 2) of the congestion window in packets",
    "min_rtt" "logarithm (base 2) of the smallest RTT in microseconds",
    "rate" "logarithm (base 2) of the delivery rate since the last decision in kbit/s",
    "rtt_least" "smallest RTT since the last decision over the smallest RTT of the connection",
    "rtt_last" "latest RTT over the smallest RTT of the connection",
    "delivered" "bytes delivered since the last decision over the window at that decision",
    "rate_change" "delivery rate over that of the previous decision; 1 if there is none",
    "flight" "bytes in flight over the window",
    "lost" "bytes lost since the last decision, percent of those lost or delivered",
    "action" "first value of the last decision, from -1 to 1; 1/2 before the first",
    "decisions" "decisions so far",
    "age" "time since the first ACK, in smallest RTTs",
}

/// The logarithm to base 2 in units of 1/64, linear between powers of two; 0 for 0.
fn log2(value: u64) -> i32 {
    let value = value.max(1);
    let whole = value.ilog2();
    let rest = if whole >= 6 { value >> (whole - 6) } else { value << (6 - whole) } & 63;
    (whole as i32 * ONE + rest as i32).min(MOST)
}

/// A ratio in units of 1/64.
fn ratio(num: u64, den: u64) -> i32 {
    mul_div(num, ONE as u64, den).min(MOST as u64) as i32
}

/// Events since the last decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    step: Step,
    started: Time,
    first_ack: Option<Time>,
    decided: Option<Time>,
    /// The ordinal of the first packet sent after the last decision.
    mark: u64,
    /// Bytes since the last decision.
    acked: u64,
    lost: u64,
    least_rtt: Option<Nanos>,
    last_rtt: Option<Nanos>,
    /// Delivery rate of the previous decision, bytes per second.
    rate: Option<u64>,
    /// Window at the last decision, bytes.
    window: u64,
    decisions: u64,
}

impl Watch {
    pub(super) fn new(step: Step) -> Watch {
        Watch {
            step,
            started: Time(0),
            first_ack: None,
            decided: None,
            mark: 0,
            acked: 0,
            lost: 0,
            least_rtt: None,
            last_rtt: None,
            rate: None,
            window: 0,
            decisions: 0,
        }
    }

    pub(super) fn start(&mut self, now: Time) {
        self.started = now;
    }

    pub(super) fn on_rtt(&mut self, rtt: Nanos) {
        self.last_rtt = Some(rtt);
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.acked);
        self.lost = self.lost.saturating_add(ack.lost);
        self.first_ack.get_or_insert(ack.now);
    }

    /// The time of the last decision.
    pub(super) fn decided(&self) -> Option<Time> {
        self.decided
    }

    /// True if this ACK requires a decision.
    pub(super) fn is_due(&self, ack: &Ack) -> bool {
        match self.decided {
            None => true,
            Some(at) if ack.now <= at => false,
            Some(at) => match self.step {
                Step::Ack => true,
                Step::Rtt => ack.tx_acked.is_some_and(|latest| latest >= self.mark),
                Step::Time(time) => ack.now.since(at) >= time,
            },
        }
    }

    /// The observation at this ACK, after which the window is `w` and `action` is the last decision;
    /// begins the next interval.
    pub(super) fn take(&mut self, ack: &Ack, w: Window, action: i32, cx: &Context) -> Observation {
        let min_rtt = cx.so_far.min_rtt.unwrap_or(Nanos(1)).0.max(1);
        let span = ack.now.since(self.decided.unwrap_or(self.started)).0;
        let rate = mul_div(self.acked, 1_000_000_000, span);
        let last_rtt = self.last_rtt.map_or(min_rtt, |rtt| rtt.0);
        let least_rtt = self.least_rtt.map_or(last_rtt, |rtt| rtt.0);
        let before = if self.window == 0 { w.cwnd } else { self.window };
        let since_first = ack.now.since(self.first_ack.unwrap_or(ack.now)).0;
        let seen = [
            log2(w.cwnd / cx.mss.max(1)),
            log2(min_rtt / 1_000),
            log2(rate.saturating_mul(8) / 1_000),
            ratio(least_rtt, min_rtt),
            ratio(last_rtt, min_rtt),
            ratio(self.acked, before),
            self.rate.map_or(ONE, |earlier| ratio(rate, earlier)),
            ratio(ack.inflight, w.cwnd),
            ratio(self.lost.saturating_mul(100), self.acked.saturating_add(self.lost)),
            action,
            ratio(self.decisions, 1),
            ratio(since_first, min_rtt),
        ];
        (self.decided, self.mark) = (Some(ack.now), ack.tx_next);
        (self.acked, self.lost, self.least_rtt) = (0, 0, None);
        (self.rate, self.window) = (Some(rate), w.cwnd);
        self.decisions += 1;
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithm_is_exact_at_powers_of_two_and_never_falls() {
        for (value, expected) in
            [(0, 0), (1, 0), (2, 64), (3, 96), (10, 3 * 64 + 16), (1 << 20, 1280)]
        {
            assert_eq!(log2(value), expected, "log2({value}) in units of 1/64");
        }
        let logs: Vec<i32> = (0..5_000).map(log2).collect();
        assert!(logs.is_sorted(), "a larger value has a smaller logarithm");
        assert_eq!(log2(u64::MAX), MOST, "the largest value is cut");
    }

    #[test]
    fn a_ratio_is_cut_at_the_largest_value() {
        assert_eq!([ratio(1, 2), ratio(3, 1), ratio(1, 0)], [32, 192, 64]);
        assert_eq!(ratio(u64::MAX, 1), MOST);
    }
}
