//! How fast bytes arrived, in bins that widen as the connection lasts: constant memory, and windows
//! of any length can be asked for.

use firstflight::{Nanos, Time};

const BINS: usize = 4096;
/// Width of a bin at first, ns: 0.4 s fit at this resolution, half a minute at 8 ms.
const FIRST_WIDTH: u64 = 100_000;

/// Delivered bytes over time.
#[derive(Clone, Debug)]
pub struct Meter {
    origin: Time,
    width: u64,
    bins: Vec<u64>,
}

/// A rate and the window it was measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes per second.
    pub rate: f64,
    /// From the origin, ns.
    pub start: u64,
    /// Length of the window, ns.
    pub span: u64,
}

impl Meter {
    /// Counts from `origin`.
    pub fn new(origin: Time) -> Meter {
        Meter { origin, width: FIRST_WIDTH, bins: Vec::new() }
    }

    /// So many bytes arrived.
    pub fn add(&mut self, now: Time, bytes: u64) {
        let at = now.since(self.origin).0;
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

    /// The largest rate over any window of at least `span` that begins with bytes at `from` or
    /// later. If there is less than that, over what there is from the first to the last bytes.
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
            // The bytes of the first bin came before the time in which the others did.
            let bytes: u64 = bins[first_filled + 1..=last_filled].iter().sum();
            return (length > 1).then(|| measure(first_filled + 1, length - 1, bytes));
        }
        // A window begins with bytes and counts those after them: what a burst brings at its
        // beginning arrived before it.
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

    /// Rates over equal stretches, at most `count` of them: time since the origin in ns, bytes per
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

#[cfg(test)]
mod tests {
    use super::*;

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
