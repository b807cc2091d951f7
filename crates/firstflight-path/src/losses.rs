//! Losses unrelated to the queue. All are keyed by the ordinal of the packet among those offered to
//! the direction, and may end at a given time.

use crate::direction::{Effects, GilbertElliott};
use crate::random::{Coin, Stream};

/// The Gilbert-Elliott process: loss h in the bad state and k in the good one, and after each
/// packet a change of state with probability g (good to bad) or 1/burst (bad to good). The state of
/// the first packet is drawn from the stationary distribution.
#[derive(Clone, Debug)]
struct Bursts {
    losses: Stream,
    changes: Stream,
    to_bad: Coin,
    to_good: Coin,
    in_bad: Coin,
    in_good: Coin,
    bad: bool,
}

impl Bursts {
    fn new(settings: GilbertElliott, stream: Stream) -> Self {
        let GilbertElliott { g, burst, h, k } = settings;
        // Stationary share of the bad state: g / (g + 1/burst), with g in 1e-9 and burst in 1e-6.
        let weight = u128::from(g) * u128::from(burst);
        let share = weight * 1_000_000_000 / (weight + 1_000_000_000_000_000);
        let bad = Coin::new(share as u64).falls(stream.branch(2).value(0));
        let to_good = Coin::new(1_000_000_000_000_000 / burst.max(1));
        Self {
            losses: stream,
            changes: stream.branch(1),
            to_bad: Coin::new(g),
            to_good,
            in_bad: Coin::new(h),
            in_good: Coin::new(k),
            bad,
        }
    }

    fn falls(&mut self, ordinal: u64) -> bool {
        let (coin, change) =
            if self.bad { (self.in_bad, self.to_good) } else { (self.in_good, self.to_bad) };
        if change.falls(self.changes.value(ordinal)) {
            self.bad = !self.bad;
        }
        coin.falls(self.losses.value(ordinal))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Losses {
    independent: Coin,
    stream: Stream,
    bursts: Option<Bursts>,
    every: Option<u64>,
    /// From this time on nothing is lost, ns.
    end: u64,
}

impl Losses {
    pub(crate) fn new(ppb: u64, effects: &Effects, stream: Stream) -> Self {
        Self {
            independent: Coin::new(ppb),
            stream,
            bursts: effects.ge.map(|settings| Bursts::new(settings, stream)),
            every: effects.loss_every.filter(|n| *n > 0),
            end: effects.loss_until.unwrap_or(u64::MAX),
        }
    }

    /// Whether the packet with this ordinal, offered at `now` (ns), is lost. Call once per ordinal,
    /// in order, whatever else happens to the packet.
    pub(crate) fn falls(&mut self, now: u64, ordinal: u64) -> bool {
        if now >= self.end {
            return false;
        }
        let in_burst = self.bursts.as_mut().is_some_and(|bursts| bursts.falls(ordinal));
        let every = self.every.is_some_and(|n| ordinal % n == n - 1);
        in_burst || every || self.independent.falls(self.stream.value(ordinal))
    }
}
