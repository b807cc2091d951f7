//! NADA: the rate of a media sender, computed from receiver reports sent ten times a second.
//!
//! A sender of real-time media has no window: its encoder produces a bit rate, which NADA sets.
//! Queueing delay, losses and marks are combined into one number, the aggregate congestion signal,
//! in units of time; the rate changes until that number is `XREF * RMAX / rate`. So two flows that
//! see the same queue share it equally, and a flow alone at the rate `r` keeps a queue of 10 ms
//! times `RMAX / r`. While there is no queue and no loss, the rate follows the received rate plus a
//! fifth. Follows: RFC 8698 (February 2020). State: 80 bytes.
//!
//! This module contains only the arithmetic of both ends: the receiver's filtered values form a
//! [`Report`]; the transport sends it and cuts frames into packets.
//!
//! Departures:
//! * D1 (RFC8698 4.2-eq2): the signal is at most 500 ms, as in the authors' ns3-rmcat. Without a bound
//!   the square of a loss ratio of a tenth is a second, and its fall afterwards, which counts twice,
//!   raises the rate by more than the losses lowered it.
//! * D2 (RFC8698 4.2-expiry): after `loss_exp` the warped delay turns into the plain one over one more
//!   mean loss interval, as in ns3-rmcat, and not at once.

use firstflight::{Nanos, Time};

/// Reference congestion level (RFC8698 4.1-defaults: XREF), ns.
const XREF: u64 = 10_000_000;
/// Bound of the round trip in the gradual update (RFC8698 4.1-defaults: TAU), ns.
const TAU: i128 = 500_000_000;
/// Interval between reports of a receiver (RFC8698 4.1-defaults: DELTA).
pub const DELTA: Nanos = Nanos::from_millis(100);
/// Time covered by a report (RFC8698 4.1-defaults: LOGWIN).
pub const LOGWIN: Nanos = Nanos::from_millis(500);
/// A queueing delay below this counts as zero (RFC8698 4.1-defaults: QEPS).
pub const QEPS: Nanos = Nanos::from_millis(10);
/// Bound of the delay added by filters (RFC8698 4.1-defaults: DFILT), ns.
const DFILT: u64 = 120_000_000;
/// Queueing delay that a ramp-up may cause (RFC8698 4.1-defaults: QBOUND), ns.
const QBOUND: u64 = 50_000_000;
/// Delays above this are warped (RFC8698 4.1-defaults: QTH), ns.
const QTH: u64 = 50_000_000;
/// `QTH / LAMBDA` (RFC8698 4.1-defaults: LAMBDA is 0.5): over this delay the warped delay falls to
/// 1/e, ns.
const FALL: u64 = 100_000_000;
/// Number of mean loss intervals for which a loss counts (RFC8698 4.1-defaults: MULTILOSS).
const MULTILOSS: u64 = 7;
/// Penalty of a loss ratio of 1 (RFC8698 4.1-defaults: DLOSS is 10 ms at PLRREF, 0.01), ns.
const LOSS: u128 = 100_000_000_000;
/// Penalty of all packets marked (RFC8698 4.1-defaults: DMARK is 2 ms at PMRREF, 0.01), ns.
const MARK: u128 = 20_000_000_000;
/// The largest signal (D1), ns.
const XMAX: u64 = 500_000_000;
/// Frames in a second (RFC8698 4.1-defaults: FPS).
pub const FPS: u64 = 30;
/// The share 1, in units of 2^-32.
const ONE: u64 = 1 << 32;

/// Allowed rates and weight of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The smallest rate of the encoder, bit/s; also the initial rate (RFC8698 4.1-defaults: RMIN).
    pub min: u64,
    /// The largest rate of the encoder, bit/s (RFC8698 4.1-defaults: RMAX).
    pub max: u64,
    /// Weight relative to other flows, in thousandths (RFC8698 4.1-defaults: PRIO).
    pub priority: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { min: 150_000, max: 1_500_000, priority: 1_000 }
    }
}

impl Params {
    /// Upper bound of all rates, bit/s: 1 Tbit/s.
    pub const MOST: u64 = 1_000_000_000_000;

    /// The nearest valid parameters: rates of at least 1 bit/s, and a maximum not below the
    /// minimum.
    #[must_use]
    pub fn bounded(self) -> Params {
        let min = self.min.clamp(1, Params::MOST);
        Params { min, max: self.max.clamp(min, Params::MOST), priority: self.priority.max(1) }
    }
}

/// A receiver's measurements, over the last [`LOGWIN`] unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Current queueing delay: the smallest of the last 15 packets (RFC8698 5.1.1-filter).
    pub queueing: Nanos,
    /// Whether every packet's queueing delay was below [`QEPS`].
    pub quiet: bool,
    /// Packets that arrived or should have.
    pub packets: u32,
    /// Packets that did not arrive.
    pub lost: u32,
    /// Packets that arrived marked Congestion Experienced.
    pub marked: u32,
    /// Received rate, bit/s.
    pub received: u64,
    /// Packets since the last loss of the connection and the mean loss interval, in packets; `None`
    /// before the first loss.
    pub since_loss: Option<(u64, u64)>,
}

/// The rate of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nada {
    params: Params,
    /// The reference rate `r_ref`, bit/s.
    rate: u64,
    /// Smoothed ratios, in 2^-32.
    lost: u64,
    marked: u64,
    /// The signal at the last update, ns.
    signal: u64,
    last: Option<Time>,
}

impl Nada {
    /// A flow without reports so far.
    pub fn new(params: Params) -> Nada {
        let params = params.bounded();
        Nada { params, rate: params.min, lost: 0, marked: 0, signal: 0, last: None }
    }

    /// The reference rate, bit/s.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The aggregate congestion signal at the last report.
    pub fn signal(&self) -> Nanos {
        Nanos(self.signal)
    }

    /// Processes a report at the sender, after a round trip of `rtt`. Returns the new rate, bit/s.
    pub fn on_report(&mut self, now: Time, rtt: Nanos, report: &Report) -> u64 {
        let packets = u64::from(report.packets);
        self.lost = smoothed(self.lost, report.lost.into(), packets);
        self.marked = smoothed(self.marked, report.marked.into(), packets);
        let before = self.signal;
        self.signal = signal(counted(report), self.lost, self.marked);
        // The interval of the first report is unknown, so it counts as one [`DELTA`]; a report
        // covers at most half a second.
        let passed = self.last.map_or(DELTA, |last| now.since(last)).0.min(LOGWIN.0);
        self.last = Some(now);
        // RFC8698 4.2-mode: no loss and no queue in the whole window.
        self.rate = if report.lost == 0 && report.quiet {
            ramp_up(self.rate, rtt, report.received)
        } else {
            self.gradual(passed, before)
        };
        // RFC8698 4.3-clip: within the encoder's range.
        self.rate = self.rate.clamp(self.params.min, self.params.max);
        self.rate
    }

    /// Moves towards the rate at which the signal has its target value (RFC8698 4.3-gradual:
    /// equations 5 to 7), with KAPPA = 1/2 and ETA = 2.
    fn gradual(&self, passed: u64, before: u64) -> u64 {
        let Params { max, priority, .. } = self.params;
        let (rate, signal) = (i128::from(self.rate), i128::from(self.signal));
        let target = i128::from(XREF) * i128::from(priority) * i128::from(max) / (1_000 * rate);
        let offset = signal - target;
        let change = signal - i128::from(before);
        let steps = i128::from(passed) * offset + 2 * TAU * change;
        // Rates are below 2^40 bit/s, passed time and signals below 2^29 ns; times the rate the target
        // is below 2^86: all together less than 2^116.
        let less = rate * steps / (2 * TAU * TAU);
        (rate - less).clamp(0, i128::from(max)) as u64
    }
}

/// The rate follows the received rate (RFC8698 4.3-ramp: equations 3 and 4), plus at most the
/// amount that queues for 50 ms if the path carries none of it. With the filters' delay that is
/// less than a quarter, so the bound of a half (GAMMA_MAX) holds, too.
fn ramp_up(rate: u64, rtt: Nanos, received: u64) -> u64 {
    let filtered = rtt.0.saturating_add(DELTA.0 + DFILT);
    let received = u128::from(received.min(Params::MOST));
    let more = received * u128::from(QBOUND) / u128::from(filtered);
    rate.max((received + more) as u64)
}

/// Moves `share` a tenth of the way (RFC8698 4.1-defaults: ALPHA) to `count / all`; unchanged if
/// `all` is zero.
fn smoothed(share: u64, count: u64, all: u64) -> u64 {
    if all == 0 {
        return share;
    }
    (share * 9 + count.min(all) * ONE / all) / 10
}

/// The effective queueing delay (RFC8698 4.2-expiry), ns: if losses show that other flows fill the
/// queue, a delay above 50 ms counts less the longer it is.
fn counted(report: &Report) -> u64 {
    let plain = report.queueing.0.min(XMAX);
    let Some((since, interval)) = report.since_loss else { return plain };
    let end = interval.saturating_mul(MULTILOSS);
    if since < end {
        return warped(report.queueing.0);
    }
    // D2: linear over one more interval.
    let beyond = since - end;
    if beyond >= interval {
        return plain;
    }
    let (beyond, interval) = (u128::from(beyond), u128::from(interval));
    let sum =
        u128::from(plain) * beyond + u128::from(warped(report.queueing.0)) * (interval - beyond);
    (sum / interval) as u64
}

/// `QTH * exp(-LAMBDA * (delay - QTH) / QTH)` beyond QTH (RFC8698 4.2-eq1), ns.
fn warped(delay: u64) -> u64 {
    let Some(beyond) = delay.checked_sub(QTH) else { return delay };
    let scale = u128::from(exp_minus(beyond, FALL));
    ((u128::from(QTH) * scale) >> 24) as u64
}

/// `exp(-x / unit)` in 2^-24, at most 2^-15 of it and 2 off: between two entries of a table of
/// sixty-fourths the curve is a little below the line.
fn exp_minus(x: u64, unit: u64) -> u64 {
    let Some(whole) = usize::try_from(x / unit).ok().and_then(|whole| WHOLES.get(whole)) else {
        return 0;
    };
    let steps = (x % unit) * 64;
    let (place, rest) = ((steps / unit) as usize, steps % unit);
    let (high, low) = (u64::from(PARTS[place]), u64::from(PARTS[place + 1]));
    let part = high - (high - low) * rest / unit;
    (u64::from(*whole) * part) >> 24
}

/// The aggregate congestion signal of a delay in ns and of smoothed ratios (RFC8698 4.2-eq2), ns.
fn signal(delay: u64, lost: u64, marked: u64) -> u64 {
    let penalty = |share: u64, full: u128| {
        let share = u128::from(share.min(ONE));
        (((share * share) >> 32) * full) >> 32
    };
    let all = u128::from(delay) + penalty(lost, LOSS) + penalty(marked, MARK);
    all.min(u128::from(XMAX)) as u64
}

/// The mean of a connection's loss intervals, in packets (RFC5348 5.4-mean): over the last eight,
/// with falling weights for the older half, and including the open interval if that makes the mean
/// larger. Every gap in the packet numbers starts an interval, as in ns3-rmcat; TFRC merges the
/// gaps of a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossIntervals {
    /// Packets per interval, the open one first.
    packets: [u32; 9],
    /// Gaps so far, at most eight.
    gaps: u8,
}

/// Weights of RFC 5348 section 5.4, in fifths.
const WEIGHTS: [u64; 8] = [5, 5, 5, 5, 4, 3, 2, 1];

impl LossIntervals {
    /// A packet arrived; `after_gap`: one or more packets before it did not.
    pub fn on_packet(&mut self, after_gap: bool) {
        if after_gap {
            self.packets.copy_within(..8, 1);
            self.packets[0] = 0;
            self.gaps = self.gaps.saturating_add(1).min(8);
        }
        self.packets[0] = self.packets[0].saturating_add(1);
    }

    /// Packets since the last loss, and the mean interval, at least 1; `None` before the first loss.
    pub fn since_loss(&self) -> Option<(u64, u64)> {
        let closed = usize::from(self.gaps);
        if closed == 0 {
            return None;
        }
        let sum = |packets: &[u32]| -> u64 {
            packets.iter().zip(WEIGHTS).map(|(count, weight)| u64::from(*count) * weight).sum()
        };
        let weight: u64 = WEIGHTS[..closed].iter().sum();
        let sum = sum(&self.packets[..closed]).max(sum(&self.packets[1..=closed]));
        Some((self.packets[0].into(), (sum / weight).max(1)))
    }
}

/// `exp(-n)` in 2^-24, rounded.
const WHOLES: [u32; 17] = [
    16_777_216, 6_171_993, 2_270_549, 835_288, 307_285, 113_044, 41_587, 15_299, 5_628, 2_070, 762,
    280, 103, 38, 14, 5, 2,
];

/// `exp(-n / 64)` in 2^-24, rounded.
const PARTS: [u32; 65] = [
    16_777_216, 16_517_109, 16_261_035, 16_008_931, 15_760_736, 15_516_388, 15_275_829, 15_038_999,
    14_805_841, 14_576_298, 14_350_313, 14_127_832, 13_908_801, 13_693_165, 13_480_872, 13_271_870,
    13_066_109, 12_863_538, 12_664_107, 12_467_768, 12_274_473, 12_084_175, 11_896_828, 11_712_384,
    11_530_801, 11_352_032, 11_176_035, 11_002_767, 10_832_185, 10_664_247, 10_498_913, 10_336_143,
    10_175_896, 10_018_133, 9_862_816, 9_709_908, 9_559_370, 9_411_165, 9_265_259, 9_121_614,
    8_980_197, 8_840_972, 8_703_905, 8_568_963, 8_436_114, 8_305_324, 8_176_562, 8_049_796,
    7_924_996, 7_802_130, 7_681_169, 7_562_084, 7_444_844, 7_329_423, 7_215_791, 7_103_920,
    6_993_784, 6_885_356, 6_778_608, 6_673_515, 6_570_052, 6_468_193, 6_367_913, 6_269_188,
    6_171_993,
];

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// 2^24.
    const UNIT: f64 = 16_777_216.0;

    #[test]
    #[allow(clippy::float_arithmetic)]
    fn the_table_is_the_exponential() {
        for step in 0..1_600_u64 {
            let x = step * 1_003_009;
            let (is, exact) = (exp_minus(x, FALL) as f64, (-(x as f64) / FALL as f64).exp() * UNIT);
            let off = (is - exact).abs();
            assert!(off <= exact / 32_768.0 + 2.0, "exp(-{x} / {FALL}): {is} instead of {exact}");
        }
        assert_eq!([exp_minus(0, 1), exp_minus(u64::MAX, 1)], [1 << 24, 0]);
    }
}
