//! Handovers of low-orbit satellites: every 15 s the path to the ground changes, with a disturbance
//! around the change.
//!
//! At each boundary both one-way delays and both rates take new values around their nominal ones;
//! packets that leave the bottleneck between 75 ms before and 140 ms after it are delayed further;
//! a burst of losses may follow it. Spacing and window of the boundaries are published (arXiv
//! 2601.08439); the amplitudes are our assumptions and can be set. Both links of a path draw the
//! same boundaries. Draws per packet are keyed by its ordinal, so that the boundaries do not depend
//! on the traffic.

use crate::random::{Purpose, Sequence, Stream, between};
use crate::release::HandoverSettings;

/// Time between boundaries.
const PERIOD: u64 = 15_000_000_000;
/// The disturbance starts this long before a boundary; the next constant is how long after the
/// boundary it ends.
const BEFORE: u64 = 75_000_000;
const AFTER: u64 = 140_000_000;
/// Length of a burst of losses, and its loss probability (1e-9).
const BURST: (u64, u64) = (20_000_000, 200_000_000);
pub(crate) const BURST_LOSS_PPB: u64 = 500_000_000;

/// A boundary and the values in force after it.
#[derive(Clone, Copy, Debug)]
struct Boundary {
    at: u64,
    /// Change of the one-way delay, in ns above the largest reduction.
    step: u64,
    /// Factor on the rate, in 1e-6.
    factor: u64,
    /// End of the burst of losses; equal to `at` if there is none.
    burst_end: u64,
}

/// The boundaries of a trial, drawn in order of time. Call with times that never decrease.
#[derive(Clone, Debug)]
pub(crate) struct Boundaries {
    settings: HandoverSettings,
    draws: Sequence,
    bursts: Stream,
    drawn: u64,
    last: Option<Boundary>,
    next: Boundary,
}

impl Boundaries {
    pub(crate) fn new(settings: HandoverSettings, seed: u64, path_index: u64) -> Self {
        let stream = Stream::new(seed, path_index, Purpose::ReverseRate);
        let mut draws = Sequence::new(stream.key());
        let first = draws.between(0, PERIOD);
        let next = Boundary { at: first, step: 0, factor: 0, burst_end: 0 };
        let mut boundaries =
            Self { settings, draws, bursts: stream.branch(1), drawn: 0, last: None, next };
        boundaries.next = boundaries.draw(first);
        boundaries
    }

    fn draw(&mut self, at: u64) -> Boundary {
        let HandoverSettings { step, factor, burst, .. } = self.settings;
        let step = self.draws.between(0, 2 * step);
        let factor = self.draws.between(factor.0, factor.1);
        let (coin, length) =
            (self.bursts.value(2 * self.drawn), self.bursts.value(2 * self.drawn + 1));
        self.drawn += 1;
        let length = if crate::random::Coin::new(burst).falls(coin) {
            between(length, BURST.0, BURST.1)
        } else {
            0
        };
        Boundary { at, step, factor, burst_end: at.saturating_add(length) }
    }

    fn advance(&mut self, t: u64) {
        while self.next.at <= t {
            let at = self.next.at.saturating_add(PERIOD);
            self.last = Some(self.next);
            self.next = self.draw(at);
        }
    }

    /// The rate at `t`, and when it may change next.
    pub(crate) fn rate(&mut self, nominal: u64, t: u64) -> (u64, u64) {
        self.advance(t);
        let rate = self.last.map_or(nominal, |last| {
            (u128::from(nominal) * u128::from(last.factor) / 1_000_000) as u64
        });
        (rate.max(1), self.next.at)
    }

    /// The propagation delay of a packet that leaves the bottleneck at `t`; never negative.
    pub(crate) fn delay(&mut self, propagation: u64, t: u64) -> u64 {
        self.advance(t);
        let Some(last) = self.last else { return propagation };
        (propagation.saturating_add(last.step)).saturating_sub(self.settings.step)
    }

    /// Whether `t` lies in the disturbance around a boundary.
    pub(crate) fn disturbed(&mut self, t: u64) -> bool {
        self.advance(t);
        t >= self.next.at - self.next.at.min(BEFORE)
            || self.last.is_some_and(|last| t - last.at <= AFTER)
    }

    /// Whether `t` lies in a burst of losses.
    pub(crate) fn in_burst(&mut self, t: u64) -> bool {
        self.advance(t);
        self.last.is_some_and(|last| t < last.burst_end)
    }
}
