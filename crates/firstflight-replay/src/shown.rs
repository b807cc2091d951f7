//! Path values derived from the ACKs of one connection.

use crate::followed::Followed;
use crate::meter::Measured;
use firstflight::Nanos;

/// A queueing delay below this share of the round trip, or below two milliseconds, is noise.
const QUEUE_SHARE: f64 = 0.1;
const QUEUE_LEAST_MS: f64 = 2.0;

pub(crate) fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Bytes per second as Mbit/s.
pub(crate) fn mbps(rate: f64) -> f64 {
    rate * 8e-6
}

/// Path values derived from the ACKs of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Best sustained rate, bytes per second.
    pub rate: Option<f64>,
    /// Start of the window with that rate, ns.
    pub rate_at: Option<u64>,
    /// Smallest RTT, ms.
    pub min_rtt_ms: Option<f64>,
    /// Product of rate and minimum RTT, bytes.
    pub bdp: Option<f64>,
    /// Bytes on the wire per byte of payload.
    pub wire: f64,
    /// RTT at losses minus the minimum RTT, ms, if the difference is a queue.
    pub buffer_ms: Option<f64>,
    /// Maximum RTT minus minimum RTT, ms.
    pub queue_max_ms: Option<f64>,
    /// The path may carry more.
    pub lower_bound: bool,
    /// Correction added to RTT samples, and tick of the capture's clock, ns; samples of less than
    /// two ticks are unknown.
    correction: (u64, u64),
}

impl Shown {
    /// Derives the values of a connection.
    pub fn of(followed: &Followed) -> Shown {
        let min = followed.min_rtt;
        let best = followed.meter.best_sustained();
        // All bytes arrived during the connection, so the best rate is at least their mean.
        let life = followed.end.since(followed.opening.start).0;
        let mean = followed.delivered as f64 * 1e9 / life.max(1) as f64;
        // Differences between RTTs need no near half added, but the RTT does. An RTT of less than
        // two ticks of the capture's clock is unknown, and so is a rate over less than five: a tick
        // is then more than a fifth of its time.
        let (add, tick) =
            followed.quality.as_ref().map_or((0, 0), |of| (of.to_add_ns, of.tick_ns()));
        let shortest = tick.saturating_mul(5);
        let mean = (life >= shortest).then_some(Measured { rate: mean, start: 0, span: life });
        let best = best.and_then(|best| {
            // If all timestamps are the same, the clock is coarser than the connection is long.
            let is_known = |rate: &Measured| life > 0 && rate.span >= shortest;
            let known = mean.into_iter().chain([best]).filter(is_known);
            known.max_by(|a, b| a.rate.total_cmp(&b.rate))
        });
        let shows = followed.quality.as_ref().is_none_or(|of| of.shows_rtt);
        let whole = min.map(|min| min + Nanos(add)).filter(|_| shows);
        let min_rtt_ms = whole.map(|min| ms(min.0));
        let above = |nanos: f64| {
            let over = (nanos - min?.0 as f64).max(0.0);
            (over >= tick as f64).then_some(over / 1e6)
        };
        let noise = (min_rtt_ms.unwrap_or(0.0) * QUEUE_SHARE).max(QUEUE_LEAST_MS);
        let queue_max_ms = followed.rtts.most().and_then(|most| above(most as f64));
        let buffer_ms =
            followed.signals.loss_rtt.quantile(0.75).and_then(above).filter(|queue| *queue > noise);
        // If a queue was present half of the time, the bottleneck was busy.
        let standing =
            followed.rtts.quantile(0.5).and_then(above).is_some_and(|queue| queue > noise);
        Shown {
            rate: best.map(|best| best.rate),
            rate_at: best.map(|best| best.start),
            min_rtt_ms,
            bdp: best.zip(whole).map(|(best, min)| best.rate * min.0 as f64 / 1e9),
            wire: followed.wire as f64 / followed.sent.max(1) as f64,
            buffer_ms,
            queue_max_ms,
            lower_bound: !standing && followed.lost == 0,
            correction: (add, tick),
        }
    }

    /// Whether a queueing delay in ms is noise.
    pub(crate) fn is_noise(&self, queue: f64) -> bool {
        let min = self.min_rtt_ms.unwrap_or(0.0);
        queue <= (min * QUEUE_SHARE).max(QUEUE_LEAST_MS)
    }

    /// An RTT sample in ns, corrected and converted to ms; `None` if the clock was too coarse for
    /// it.
    pub(crate) fn whole(&self, sample: Option<f64>) -> Option<f64> {
        let (add, tick) = self.correction;
        sample
            .map(|rtt| rtt + add as f64)
            .filter(|rtt| *rtt >= 2.0 * tick as f64)
            .map(|rtt| rtt / 1e6)
    }
}
