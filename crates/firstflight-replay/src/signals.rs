//! Signals about the path in the ACKs of one connection: release grids, bursts, aggregation,
//! grants, the receiver's clock, policers, and which side was the limit when nothing was sent. Uses
//! constant memory; conclusions are drawn once, at the end, in [`crate::findings`].

use crate::spread::Spread;
use firstflight::{Ack, Nanos, Time};
use firstflight_log::step::Unsure;

/// Periods on which links release ACKs, ns: LTE and 5G slots and their multiples, Wi-Fi beacons,
/// satellite frames.
pub const PERIODS: [u64; 20] = [
    1_000_000,
    1_250_000,
    2_000_000,
    2_500_000,
    4_000_000,
    5_000_000,
    8_000_000,
    10_000_000,
    16_000_000,
    20_000_000,
    25_000_000,
    26_500_000,
    32_000_000,
    40_000_000,
    45_000_000,
    50_000_000,
    53_000_000,
    64_000_000,
    80_000_000,
    100_000_000,
];
/// Number of bursts used in the search for a grid: enough to be sure, too few for the two clocks to
/// drift apart.
const GRID_BURSTS: u32 = 120;
/// Minimum gap that ends a burst (as in BEST's rule).
const LEAST_GAP: u64 = 500_000;
const SECONDS: usize = 12;

/// One second at the start of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Number of ACKs in this second.
    pub acks: u64,
    /// Largest RTT in this second, ns.
    pub rtt: u64,
    /// Maximum bytes in flight in this second.
    pub inflight: u64,
}

/// RTT samples before the first loss, which show whether the queue existed before the connection
/// (TCP congestion signatures, Sundaresan et al., IMC 2017).
#[derive(Clone, Copy, Debug, Default)]
pub struct BeforeLoss {
    least: u64,
    most: u64,
    samples: u64,
}

impl BeforeLoss {
    fn see(&mut self, rtt: u64) {
        self.least = if self.samples == 0 { rtt } else { self.least.min(rtt) };
        self.most = self.most.max(rtt);
        self.samples += 1;
    }

    /// The difference between maximum and minimum RTT as a share of the maximum: near 1 if the
    /// connection filled an empty queue, near 0 if the queue was already full. `None` with too few
    /// samples.
    pub fn risen(&self) -> Option<f64> {
        (self.samples >= 10 && self.most > 0)
            .then(|| (self.most - self.least) as f64 / self.most as f64)
    }
}

/// Acknowledged bytes, measured on the receiver's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverClock {
    first: Option<(Time, u32)>,
    last: Option<(Time, u32)>,
    window: (u32, u64),
    /// The window of a hundred ticks or more with the highest rate: its bytes and its ticks.
    best: Option<(u64, u32)>,
}

impl ReceiverClock {
    fn see(&mut self, now: Time, ticks: u32, acked: u64) {
        let Some((_, last)) = self.last else {
            (self.first, self.last, self.window) =
                (Some((now, ticks)), Some((now, ticks)), (ticks, 0));
            return;
        };
        // A step backwards is a reordered ACK; a large step ahead is a different clock.
        if ticks.wrapping_sub(last) > 1 << 24 {
            return;
        }
        self.last = Some((now, ticks));
        self.window.1 += acked;
        let span = ticks.wrapping_sub(self.window.0);
        if span >= 100 {
            let better = |(bytes, ticks): (u64, u32)| {
                u128::from(self.window.1) * u128::from(ticks) > u128::from(bytes) * u128::from(span)
            };
            if self.best.is_none_or(better) {
                self.best = Some((self.window.1, span));
            }
            self.window = (ticks, 0);
        }
    }

    /// Length of a tick, ns, from the progress of both clocks; `None` during the first second.
    pub fn tick(&self) -> Option<f64> {
        let ((from, first), (to, last)) = self.first.zip(self.last)?;
        let (span, ticks) = (to.since(from).0, last.wrapping_sub(first));
        (span > 1_000_000_000 && ticks > 20).then(|| span as f64 / f64::from(ticks))
    }

    /// The highest rate on the receiver's clock, bytes per second.
    pub fn rate(&self) -> Option<f64> {
        let (bytes, ticks) = self.best?;
        Some(bytes as f64 * 1e9 / (f64::from(ticks) * self.tick()?))
    }
}

/// The signals of one connection.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    last_ack: Option<Time>,
    small_gap: u64,
    /// Gaps between ACKs, ns.
    pub gaps: Spread,
    /// Bytes newly acknowledged per ACK.
    pub acked: Spread,
    burst: Option<(Time, u64)>,
    /// Intervals between the starts of bursts, ns.
    pub intervals: Spread,
    /// ACKs per burst.
    pub burst_acks: Spread,
    grid: [(f64, f64); PERIODS.len()],
    grid_bursts: u32,
    /// The first seconds of the connection.
    pub seconds: [Second; SECONDS],
    start: Option<Time>,
    /// The receiver's TCP timestamps.
    pub clock: ReceiverClock,
    last_rtt: u64,
    /// RTT before the first loss, ns.
    pub before_loss: BeforeLoss,
    /// RTT when losses were found, ns; one entry per ACK that reported losses.
    pub loss_rtt: Spread,
    /// Time at which the first loss was found.
    pub first_loss: Option<Time>,
    /// Congestion marks: packets if the receiver counts them, otherwise ACKs that report a mark.
    pub marks: u64,
    /// Number of marks that the next ACK reports, if they are counted.
    pub marks_of_next: Option<u64>,
    /// Number of probes of a closed window.
    pub window_probes: u64,
    /// Number of keep-alives.
    pub keep_alives: u64,
    /// Gaps in the trace.
    pub unsure: Vec<Unsure>,
    app_limited: Option<Time>,
    /// Number of periods in which the sender had nothing to send.
    pub app_limited_stretches: u64,
    /// Total duration of these periods, ns.
    pub app_limited_ns: u64,
    /// Number of ACKs at which the receiver's window was the limit.
    pub receiver_limited: u64,
    /// Number of ACKs that acknowledged data.
    pub acks: u64,
}

impl Signals {
    /// Takes an ACK, or the losses found by a timer.
    pub fn see(&mut self, ack: &Ack) {
        let start = *self.start.get_or_insert(ack.now);
        if let Some(rtt) = ack.rtt {
            self.last_rtt = rtt.0;
            if self.first_loss.is_none() {
                self.before_loss.see(rtt.0);
            }
        }
        if ack.lost > 0 {
            self.first_loss.get_or_insert(ack.now);
            if self.last_rtt > 0 {
                self.loss_rtt.add(self.last_rtt);
            }
        }
        self.marks += self.marks_of_next.take().unwrap_or(u64::from(ack.ce));
        if ack.acked == 0 {
            return;
        }
        self.acks += 1;
        self.acked.add(ack.acked);
        let second = (ack.now.since(start).0 / 1_000_000_000) as usize;
        if let Some(second) = self.seconds.get_mut(second) {
            second.acks += 1;
            second.rtt = second.rtt.max(ack.rtt.map_or(0, |rtt| rtt.0));
            second.inflight = second.inflight.max(ack.inflight_before);
        }
        if let Some(ticks) = ack.detail.receiver_ts {
            self.clock.see(ack.now, ticks, ack.acked);
        }
        self.limit(ack);
        self.space(ack.now);
    }

    fn limit(&mut self, ack: &Ack) {
        match (ack.app_limited, self.app_limited) {
            (true, None) => {
                self.app_limited = Some(ack.now);
                self.app_limited_stretches += 1;
            }
            (false, Some(since)) => {
                self.app_limited_ns += ack.now.since(since).0;
                self.app_limited = None;
            }
            _ => {}
        }
    }

    /// Updates gaps, bursts and their grid.
    fn space(&mut self, now: Time) {
        let Some(last) = self.last_ack.replace(now) else {
            self.burst = Some((now, 1));
            return;
        };
        let gap = now.since(last).0;
        self.gaps.add(gap);
        if gap < LEAST_GAP.max(self.small_gap.saturating_mul(8)) {
            self.small_gap = if self.small_gap == 0 {
                gap
            } else {
                self.small_gap - self.small_gap / 8 + gap / 8
            };
            if let Some(burst) = &mut self.burst {
                burst.1 += 1;
            }
            return;
        }
        if let Some((began, acks)) = self.burst.replace((now, 1)) {
            self.intervals.add(now.since(began).0);
            self.burst_acks.add(acks);
        }
        if self.grid_bursts < GRID_BURSTS {
            self.grid_bursts += 1;
            for (period, sum) in PERIODS.iter().zip(&mut self.grid) {
                let angle = (now.0 % period) as f64 / *period as f64 * std::f64::consts::TAU;
                *sum = (sum.0 + angle.cos(), sum.1 + angle.sin());
            }
        }
    }

    /// Records that the receiver's window was the limit.
    pub fn receiver_limit(&mut self) {
        self.receiver_limited += 1;
    }

    /// The longest period with which bursts of ACKs align, ns, and how sharply (Rayleigh statistic,
    /// 0 to 1). A period near the round trip itself is not a grid: the flights of a young
    /// connection return at that pace.
    pub fn grid(&self, min_rtt: Nanos) -> Option<(u64, f64)> {
        if self.grid_bursts < 24 {
            return None;
        }
        let sharpness = |&(cos, sin): &(f64, f64)| cos.hypot(sin) / f64::from(self.grid_bursts);
        // Bursts that come once per round trip align with every period that divides the round trip.
        // On a real grid they come more often.
        let usual = self.intervals.quantile(0.5)?;
        let found = PERIODS.iter().zip(&self.grid).map(|(period, sum)| (*period, sharpness(sum)));
        let fits = |period: u64| period * 4 <= min_rtt.0 * 3 && usual <= period as f64 * 3.5;
        found
            .filter(|(period, sharp)| *sharp > 0.7 && fits(*period))
            .max_by_key(|(period, _)| *period)
    }
}
