//! The baseline compared with itself, which must show no difference.

use super::effect::{LOSS_POINTS, TIME_PCT, World};
use super::limits::LEAST;
use super::sums::Sums;
use crate::stats::{Interval, Z_99, holm};
use serde::Serialize;

/// The baseline compared with itself under two other seeds, and rerun with the same seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Connections on which the baseline ran under two other seeds, with up to 0.5 ms of additional
    /// round trip.
    pub pairs: u64,
    /// Time saved by one of the two runs against the other, percent, with a 99 % interval; null
    /// with too few pairs.
    pub time_pct: Option<Interval>,
    /// Difference in loss, percentage points.
    pub loss_points: Option<Interval>,
    /// Connections on which the baseline was rerun with the same seed.
    pub repeated: u64,
    /// Number of reruns that differed from the first run; must be 0.
    pub differed: u64,
    /// Whether no difference is both significant (99 %, both tested together) and larger than its
    /// margin.
    pub passed: bool,
}

impl Check {
    /// The check from a test's sums.
    pub(super) fn of(twice: &Sums, [repeated, differed]: [u64; 2]) -> Check {
        let pairs = twice.flows();
        let world = World::assumed(twice);
        let enough = pairs >= LEAST;
        let time_pct = enough.then(|| world.time(1, Z_99));
        let loss_points = enough.then(|| world.loss(1, Z_99));
        let both = [(time_pct, TIME_PCT), (loss_points, LOSS_POINTS)];
        let chance = both.map(|(of, _)| of.map_or(1.0, chance));
        let beyond = holm::holm(&chance, 0.01);
        let failed = both
            .iter()
            .zip(beyond)
            .any(|((of, margin), beyond)| beyond && of.is_some_and(|of| of.value.abs() > *margin));
        Check { pairs, time_pct, loss_points, repeated, differed, passed: !failed && differed == 0 }
    }

    /// Why a test with this check recommends nothing, and how to fix it.
    pub(super) fn fault(&self, connections: u64) -> Option<String> {
        if self.differed > 0 {
            return Some(format!(
                "{} of {} connections came out differently with the same seed: please report it",
                self.differed, self.repeated
            ));
        }
        let twice = connections.saturating_mul(2);
        (!self.passed).then(|| {
            format!("the baseline differs significantly from itself; run {twice} connections")
        })
    }
}

/// P-value of a value as far from 0 as this one.
fn chance(of: Interval) -> f64 {
    let deviation = (of.high - of.value) / Z_99;
    if deviation > 0.0 {
        libm::erfc(of.value.abs() / deviation * std::f64::consts::FRAC_1_SQRT_2)
    } else if of.value == 0.0 {
        1.0
    } else {
        0.0
    }
}
