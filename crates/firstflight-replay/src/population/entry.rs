//! Path values of a recorded connection.

use crate::followed::Followed;
use crate::shown::{Shown, mbps, ms};

/// With fewer ACKs that reported losses, no full queue is inferred.
const LEAST_LOSSES: u64 = 10;
/// Minimum slot length of return links, ms.
#[cfg(feature = "advice")]
const LEAST_GRID_MS: f64 = 5.0;
/// Transfers are simulated up to this size, at which startup is over, bytes.
#[cfg(feature = "advice")]
pub(super) const MOST_BYTES: u64 = 20_000_000;
/// Minimum buffer if no loss showed one, ms: as in the wired access lines of the built-in
/// populations. Such a buffer also holds at least a round trip.
#[cfg(feature = "advice")]
const LEAST_BUFFER_MS: f64 = 24.0;

/// The values of one connection.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "advice"), expect(dead_code, reason = "only advice fits paths"))]
pub struct Entry {
    pub(super) name: String,
    pub(super) group: String,
    pub(super) rtt_ms: f64,
    pub(super) rate_mbps: f64,
    pub(super) lower_bound: bool,
    pub(super) buffer_ms: Option<f64>,
    /// Share of the sent bytes lost without a queue; `None` if the log does not record losses.
    pub(super) loss: Option<f64>,
    pub(super) bytes: u64,
    pub(super) grid_ms: Option<f64>,
    /// Gap between ACKs within a burst of the grid, us.
    pub(super) gap_us: f64,
    /// Maximum queueing delay.
    pub(super) queue_ms: f64,
    /// `buffer_ms`, if the losses clearly came from a full queue.
    pub(super) full_ms: Option<f64>,
    /// Share of the sent bytes lost, with or without a queue.
    pub(super) lost: Option<f64>,
    /// Time from the first byte sent to the last event, ms.
    pub(super) time_ms: f64,
    /// The buffer and the random loss that reproduce the connection.
    #[cfg(feature = "advice")]
    pub(super) fit: Option<Fit>,
}

impl Entry {
    /// The values of a connection; `None` if it shows no rate or no RTT.
    pub fn of(followed: &Followed) -> Option<Entry> {
        let shown = Shown::of(followed);
        Some(Entry {
            name: followed.opening.name.clone(),
            group: followed.opening.group.clone().unwrap_or_else(|| "traces".into()),
            rtt_ms: shown.min_rtt_ms.filter(|rtt| *rtt > 0.0)?,
            rate_mbps: mbps(shown.rate? * shown.wire).max(0.001),
            lower_bound: shown.lower_bound,
            buffer_ms: shown.buffer_ms,
            loss: followed.loss().map(|loss| loss * (1.0 - overshoot(followed, &shown))),
            bytes: followed.delivered.max(1),
            grid_ms: followed
                .min_rtt
                .and_then(|min| followed.signals.grid(min))
                .map(|(period, _)| period as f64 / 1e6),
            gap_us: followed.signals.gaps.quantile(0.5).unwrap_or(0.0) / 1e3,
            queue_ms: shown.queue_max_ms.unwrap_or(0.0),
            full_ms: full_buffer(followed, &shown),
            lost: followed.loss(),
            time_ms: ms(followed.end.since(followed.opening.start).0).max(0.001),
            #[cfg(feature = "advice")]
            fit: None,
        })
    }
}

/// Share of the losses at a queueing delay of at least 80 % of the maximum: overshoot, not random
/// loss.
fn overshoot(followed: &Followed, shown: &Shown) -> f64 {
    let losses = &followed.signals.loss_rtt;
    let Some((most, min)) = shown.queue_max_ms.zip(followed.min_rtt) else { return 0.0 };
    if shown.is_noise(most) {
        return 0.0;
    }
    let near = ms(min.0) + 0.8 * most;
    let at = |percent: u32| losses.quantile((f64::from(percent) + 0.5) / 100.0);
    (0..100).filter(|percent| at(*percent).is_some_and(|rtt| rtt / 1e6 >= near)).count() as f64
        / 100.0
}

/// Queueing delay of a full queue, ms, if losses show it clearly: many losses, at about the same
/// RTT, and near the maximum RTT. Random losses occur at any RTT, a few at a time.
fn full_buffer(followed: &Followed, shown: &Shown) -> Option<f64> {
    let losses = &followed.signals.loss_rtt;
    let min = ms(followed.min_rtt?.0);
    let queue = |share: f64| losses.quantile(share).map(|rtt| rtt / 1e6 - min);
    let alike = queue(0.25)? >= 0.6 * queue(0.75)?;
    // A delayed ACK adds its delay to the maximum RTT.
    let near = |buffer: &f64| shown.queue_max_ms.is_none_or(|most| most <= 2.0 * buffer);
    shown.buffer_ms.filter(|buffer| losses.len() >= LEAST_LOSSES && alike && near(buffer))
}

/// A buffer in ms and a random loss ratio.
#[cfg(feature = "advice")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) buffer_ms: f64,
    pub(super) loss: f64,
}

/// The period of its ACK grid, ms. A shorter period is the spacing of the packets.
#[cfg(feature = "advice")]
pub(super) fn grid(entry: &Entry) -> Option<f64> {
    entry.grid_ms.filter(|period| *period >= LEAST_GRID_MS)
}

#[cfg(feature = "advice")]
impl Entry {
    /// Share of the sent bytes lost without a queue; 0 if the log does not record losses.
    pub(super) fn random(&self) -> f64 {
        self.loss.unwrap_or(0.0)
    }

    /// The fitted buffer and random loss, or the values that the connection itself shows.
    pub(super) fn fit(&self) -> Fit {
        let assumed = self.rtt_ms.max(self.queue_ms).max(LEAST_BUFFER_MS);
        let buffer_ms = self.full_ms.unwrap_or(assumed);
        self.fit.unwrap_or(Fit { buffer_ms, loss: self.random() })
    }
}

#[cfg(feature = "advice")]
pub(super) fn size(entry: &Entry) -> f64 {
    entry.bytes.min(MOST_BYTES) as f64
}
