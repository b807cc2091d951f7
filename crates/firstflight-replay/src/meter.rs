//! Delivery rates, in constant memory.
//!
//! Bins over the whole connection become wider with its age; they serve windows of any length. The
//! best sustained rate is tracked separately as bytes arrive, so that it does not depend on the
//! connection's age.

use firstflight::{Nanos, Time};
use std::collections::VecDeque;

const BINS: usize = 4096;
/// Initial width of a bin, ns: 0.4 s fit at this resolution, half a minute at 8 ms.
const FIRST_WIDTH: u64 = 100_000;
/// Length of a sustained stretch in round trips; it is at least [`LEAST_SUSTAINED`].
const SUSTAINED_ROUNDS: u64 = 4;
const LEAST_SUSTAINED: Nanos = Nanos::from_millis(100);
/// Number of bins in a sustained stretch; each is 1.6 % of it.
const FINE: usize = 64;

/// Time that a rate must last to count as sustained on a path with this round trip.
fn sustained(round: Nanos) -> Nanos {
    Nanos((round * SUSTAINED_ROUNDS).0.max(LEAST_SUSTAINED.0))
}

/// Delivered bytes over time.
#[derive(Clone, Debug)]
pub struct Meter {
    origin: Time,
    width: u64,
    bins: Vec<u64>,
    peak: Peak,
}

/// A rate and the window in which it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes per second.
    pub rate: f64,
    /// Start of the window since the origin, ns.
    pub start: u64,
    /// Length of the window, ns.
    pub span: u64,
}

impl Meter {
    /// Creates a meter whose times count from `origin`.
    pub fn new(origin: Time) -> Meter {
        let peak = Peak::new(sustained(Nanos::ZERO));
        Meter { origin, width: FIRST_WIDTH, bins: Vec::new(), peak }
    }

    /// Sets the minimum RTT, which determines how long a sustained rate must last.
    pub fn round(&mut self, round: Nanos) {
        self.peak.set(sustained(round));
    }

    /// Records bytes that arrived.
    pub fn add(&mut self, now: Time, bytes: u64) {
        let at = now.since(self.origin).0;
        self.peak.add(at, bytes);
        while at / self.width >= BINS as u64 {
            self.width = self.width.saturating_mul(2);
            let halves = self.bins.len().div_ceil(2);
            for index in 0..halves {
                let pair =
                    self.bins[2 * index] + self.bins.get(2 * index + 1).copied().unwrap_or(0);
                self.bins[index] = pair;
            }
            self.bins.truncate(halves);
        }
        let index = (at / self.width) as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, 0);
        }
        self.bins[index] += bytes;
    }

    /// Width of a bin, ns.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The rate in bytes per second over the last `span` before `now`; `None` if the span is
    /// shorter than a bin or reaches before the origin's first bytes.
    pub fn recent(&self, now: Time, span: Nanos) -> Option<f64> {
        let count = (span.0 / self.width) as usize;
        let end = ((now.since(self.origin).0 / self.width) as usize + 1).min(self.bins.len());
        if count == 0 || end < count {
            return None;
        }
        let bytes: u64 = self.bins[end - count..end].iter().sum();
        Some(bytes as f64 * 1e9 / (count as u64 * self.width) as f64)
    }

    /// The largest rate over any window of at least `span` that starts with bytes at `from` or
    /// later. If the bytes cover less time, the rate from the first to the last of them.
    pub fn best(&self, from: Time, span: Nanos) -> Option<Measured> {
        let first = (from.since(self.origin).0 / self.width) as usize;
        let bins = self.bins.get(first..)?;
        let first_filled = bins.iter().position(|bytes| *bytes > 0)?;
        let last_filled = bins.iter().rposition(|bytes| *bytes > 0)?;
        let wanted = (span.0.div_ceil(self.width) as usize).max(1);
        let measure = |start: usize, count: usize, bytes: u64| Measured {
            rate: bytes as f64 * 1e9 / (count as u64 * self.width) as f64,
            start: (first + start) as u64 * self.width,
            span: count as u64 * self.width,
        };
        let length = last_filled + 1 - first_filled;
        if length <= wanted {
            // The bytes of the first bin arrived before the measured time.
            let bytes: u64 = bins[first_filled + 1..=last_filled].iter().sum();
            return (length > 1).then(|| measure(first_filled + 1, length - 1, bytes));
        }
        // A window starts with bytes and counts only those after them, because the first bytes of a
        // burst arrived before the measured time.
        let mut sum: u64 = bins[1..=wanted].iter().sum();
        let (mut most, mut at) = (0, first_filled);
        for start in 0..bins.len() - wanted {
            if start > 0 {
                sum = sum + bins[start + wanted] - bins[start];
            }
            if bins[start] > 0 && sum > most {
                (most, at) = (sum, start);
            }
        }
        Some(measure(at, wanted, most))
    }

    /// The best sustained rate of the whole connection.
    pub fn best_sustained(&self) -> Option<Measured> {
        let span = self.peak.span;
        let coarse = self.best(self.origin, span);
        let fine = self.peak.best(span.0.div_ceil(self.width) < FINE as u64);
        match (coarse, fine) {
            (Some(coarse), Some(fine)) if fine.rate > coarse.rate => Some(fine),
            (coarse, fine) => coarse.or(fine),
        }
    }

    /// Rates over at most `count` equal stretches: time since the origin in ns, and bytes per
    /// second.
    pub fn series(&self, count: usize) -> Vec<(u64, f64)> {
        let group = self.bins.len().div_ceil(count.max(1)).max(1);
        let rate = |bins: &[u64]| {
            bins.iter().sum::<u64>() as f64 * 1e9 / (bins.len() as u64 * self.width) as f64
        };
        self.bins
            .chunks(group)
            .enumerate()
            .map(|(index, bins)| ((index * group) as u64 * self.width, rate(bins)))
            .collect()
    }
}

/// The best rate over one span, tracked as bytes arrive.
///
/// Two kinds of stretches count. A window of length `span` starts with bytes and counts those after
/// them, as in [`Meter::best`]. A burst with at least `span` of silence before and after it counts
/// over its own length, but over at least a quarter of a round trip: ACKs that arrive closer
/// together may have been delayed on the return path.
#[derive(Clone, Debug)]
struct Peak {
    span: Nanos,
    width: u64,
    /// The latest bins; a window starts with the first of them.
    window: VecDeque<u64>,
    /// Number of the last bin, counted from the origin.
    newest: u64,
    /// Bytes in the window after its first bin.
    after: u64,
    best: Option<Measured>,
    burst: Burst,
    best_burst: Option<Measured>,
}

/// Bytes without a silence of `span` between them.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// Times of its first and last bytes since the origin, ns.
    times: Option<(u64, u64)>,
    /// Bytes after the first ones.
    after: u64,
}

/// The larger of two rates; the earlier one if they are equal.
fn larger(known: Option<Measured>, new: Measured) -> Measured {
    known.filter(|known| known.rate >= new.rate).unwrap_or(new)
}

impl Peak {
    fn new(span: Nanos) -> Peak {
        Peak {
            span,
            width: span.0.div_ceil(FINE as u64).max(1),
            window: VecDeque::new(),
            newest: 0,
            after: 0,
            best: None,
            burst: Burst::default(),
            best_burst: None,
        }
    }

    /// Sets the span; a change of less than a bin is ignored.
    fn set(&mut self, span: Nanos) {
        if span.0.abs_diff(self.span.0) <= self.width {
            return;
        }
        self.pass(FINE as u64 + 1);
        let fresh = Peak::new(span);
        let (best, best_burst, burst) = (self.best, self.best_burst, self.burst);
        *self = Peak { best, burst, best_burst, ..fresh };
    }

    fn add(&mut self, at: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let bin = at / self.width;
        if self.window.is_empty() {
            self.newest = bin;
            self.window.push_back(0);
        }
        self.pass(bin.saturating_sub(self.newest));
        self.newest = self.newest.max(bin);
        if let Some(last) = self.window.back_mut() {
            *last += bytes;
        }
        if self.window.len() > 1 {
            self.after += bytes;
        }
        self.burst = match self.burst.times {
            Some((first, last)) if at.saturating_sub(last) < self.span.0 => {
                Burst { times: Some((first, last.max(at))), after: self.burst.after + bytes }
            }
            _ => {
                self.best_burst = self.with_burst();
                Burst { times: Some((at, at)), after: 0 }
            }
        };
    }

    /// Advances by `bins` bins without bytes.
    fn pass(&mut self, bins: u64) {
        // After a whole window of empty bins, the window is empty.
        for _ in 0..bins.min(FINE as u64 + 1) {
            if self.window.len() > FINE {
                self.judge();
                self.window.pop_front();
                self.after -= self.window.front().copied().unwrap_or(0);
            }
            self.window.push_back(0);
            self.newest += 1;
        }
    }

    /// Rates the window, which is complete.
    fn judge(&mut self) {
        if self.window.front().is_some_and(|first| *first > 0) && self.after > 0 {
            let span = FINE as u64 * self.width;
            let rate = self.after as f64 * 1e9 / span as f64;
            let start = (self.newest - FINE as u64) * self.width;
            self.best = Some(larger(self.best, Measured { rate, start, span }));
        }
    }

    /// The best burst, including the current one.
    fn with_burst(&self) -> Option<Measured> {
        let Some((first, last)) = self.burst.times else { return self.best_burst };
        let length = last - first;
        if self.burst.after == 0 || length >= self.span.0 {
            return self.best_burst;
        }
        let span = length.max(self.span.0 / SUSTAINED_ROUNDS / 4);
        let rate = self.burst.after as f64 * 1e9 / span as f64;
        Some(larger(self.best_burst, Measured { rate, start: first, span }))
    }

    /// The best rate so far; windows count only if `windows` is set.
    fn best(&self, windows: bool) -> Option<Measured> {
        let burst = self.with_burst();
        if !windows {
            return burst;
        }
        let mut end = self.clone();
        end.pass(FINE as u64 + 1);
        match (end.best, burst) {
            (window, Some(burst)) => Some(larger(window, burst)),
            (window, None) => window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers, the same in each run.
    struct Random(u64);

    impl Random {
        fn within(&mut self, low: u64, high: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            low + (self.0 >> 33) % (high - low)
        }
    }

    /// Responses of `bytes` at `rate` bytes per second, one every `gap` ns, for `life` ns.
    fn kept_alive(round: u64, rate: u64, bytes: u64, gap: u64, life: u64) -> Meter {
        let mut meter = Meter::new(Time(0));
        meter.round(Nanos(round));
        let mut start = 0;
        while start < life {
            for packet in 1..=bytes / 1448 {
                let at = start + round + packet * 1448 * 1_000_000_000 / rate;
                meter.add(Time(at), 1448);
            }
            start += gap;
        }
        meter
    }

    #[test]
    fn the_best_rate_does_not_depend_on_the_age_of_the_connection() {
        let mut random = Random(5);
        for _ in 0..40 {
            let round = random.within(1_000_000, 300_000_000);
            let rate = random.within(125_000, 12_500_000);
            let span = sustained(Nanos(round)).0;
            // At least 1.2 times a sustained stretch.
            let lasts = span * random.within(12, 40) / 10;
            let bytes = (rate as f64 * lasts as f64 / 1e9) as u64;
            if !(3 * 1448..4_000_000).contains(&bytes) {
                continue;
            }
            let gap = lasts + random.within(span, 40 * span);
            for life in [1, gap, 3 * gap, 20 * gap, 60 * gap] {
                let best = kept_alive(round, rate, bytes, gap, life).best_sustained();
                let found = best.expect("bytes have arrived").rate / rate as f64;
                let packet = 1448.0 * 1e9 / (rate as f64 * span as f64);
                assert!(
                    (0.97 - 2.0 * packet..=1.002 + packet).contains(&found),
                    "{found} of {rate} B/s, {bytes} B every {gap} ns, RTT {round} ns, {life} ns old"
                );
            }
        }
    }

    #[test]
    fn short_bursts_count_over_their_own_length_at_any_age() {
        // 100 kB at 50 Mbit/s on a path of 40 ms: 16 ms.
        for life in [1, 60_000_000_000, 3_600_000_000_000] {
            let meter = kept_alive(40_000_000, 6_250_000, 100_000, 30_000_000_000, life);
            let rate = meter.best_sustained().expect("bytes have arrived").rate;
            assert!((6.1e6..6.4e6).contains(&rate), "{rate} after {life} ns");
        }
    }

    #[test]
    fn a_shorter_round_trip_keeps_what_was_found_before() {
        let mut meter = Meter::new(Time(0));
        meter.round(Nanos::from_millis(600));
        for packet in 0..5000_u64 {
            meter.add(Time(packet * 1_000_000), 1000);
        }
        meter.round(Nanos::from_millis(20));
        for packet in 0..5_000_000_u64 {
            meter.add(Time(5_000_000_000 + packet * 10_000_000), 100);
        }
        let best = meter.best_sustained().expect("bytes have arrived");
        assert!((best.rate / 1e6 - 1.0).abs() < 0.03, "{}", best.rate);
    }

    /// 1 MB/s in packets of 1000 bytes.
    fn steady(seconds: u64) -> Meter {
        let mut meter = Meter::new(Time(0));
        for packet in 0..seconds * 1000 {
            meter.add(Time(packet * 1_000_000), 1000);
        }
        meter
    }

    #[test]
    fn a_steady_flow_has_its_rate_over_any_window() {
        for (seconds, span) in [(1, 100), (10, 100), (100, 1000), (1000, 4000)] {
            let best = steady(seconds)
                .best(Time(0), Nanos::from_millis(span))
                .expect("bytes have arrived");
            assert!(
                (best.rate / 1e6 - 1.0).abs() < 0.02,
                "{seconds} s, window of {span} ms: {} bytes per second",
                best.rate
            );
        }
    }

    #[test]
    fn a_burst_is_found_where_it_is() {
        let mut meter = steady(4);
        for packet in 0..1000 {
            meter.add(Time(2_000_000_000 + packet * 500_000), 1000);
        }
        let best = meter.best(Time(0), Nanos::from_millis(400)).expect("bytes have arrived");
        assert!((best.rate / 3e6 - 1.0).abs() < 0.03, "the burst adds 2 MB/s: {}", best.rate);
        assert!(
            (1.9..2.15).contains(&(best.start as f64 / 1e9)),
            "it began at 2 s: {}",
            best.start
        );
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let meter = steady(1000);
        assert!(meter.bins.len() <= BINS, "{} bins", meter.bins.len());
        assert_eq!(
            meter.bins.iter().sum::<u64>(),
            1_000_000_000,
            "no byte is forgotten by widening"
        );
    }

    #[test]
    fn a_short_flow_is_measured_over_what_there_is() {
        let best = steady(1).best(Time(0), Nanos::from_secs(10)).expect("bytes have arrived");
        assert!((best.rate / 1e6 - 1.0).abs() < 0.01, "{}", best.rate);
    }
}
