//! Description of a population: quantiles of all drawn and derived values, how often a bound
//! applied, and the correlation as drawn.

use super::Population;
use super::draw::BOUNDS;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Quantiles that are shown.
pub const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Number of connections drawn.
pub const DRAWS: u64 = 100_000;

/// Statistics of a population's draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Number of connections drawn.
    pub draws: u64,
    /// Quantities, over all groups and within each.
    pub groups: Vec<GroupDescription>,
    /// Bounds that clipped a value, with the share of connections; bounds that never did are left
    /// out.
    pub clipped: Vec<(&'static str, f64)>,
    /// Rank (Spearman) correlation of round trip and rate.
    pub rank_correlation: f64,
}

/// Statistics of one group's draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupDescription {
    /// Name of the group; `all` for the whole population.
    pub group: String,
    /// Share of the connections.
    pub share: f64,
    /// The quantities.
    pub quantities: Vec<Quantity>,
}

/// Quantiles of one quantity at [`SHARES`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// Name with unit.
    pub name: &'static str,
    /// Values at [`SHARES`].
    pub quantiles: Vec<f64>,
}

type Read = fn(&super::Drawn) -> f64;

const QUANTITIES: [(&str, Read); 9] = [
    ("rtt_ms", |drawn| drawn.rtt_us as f64 / 1e3),
    ("rate_mbps", |drawn| drawn.rate_kbps as f64 / 1e3),
    ("rate_up_mbps", |drawn| drawn.up_kbps.unwrap_or(drawn.rate_kbps * 10) as f64 / 1e3),
    ("buffer_ms", |drawn| drawn.queue_bytes as f64 * 8.0 / drawn.rate_kbps as f64),
    ("buffer_bytes", |drawn| drawn.queue_bytes as f64),
    ("bdp_bytes", |drawn| drawn.bdp_bytes() as f64),
    ("buffer_bdp", |drawn| drawn.queue_bytes as f64 / drawn.bdp_bytes().max(1) as f64),
    ("loss_pct", |drawn| drawn.loss_ppb as f64 / 1e7),
    ("size_bytes", |drawn| drawn.bytes as f64),
];

/// Draws `draws` connections of `population` and describes them; fewer once `stop` is set.
pub fn describe(population: &Population, seed: u64, draws: u64, stop: &AtomicBool) -> Description {
    let drawn: Vec<super::Drawn> = (0..draws)
        .into_par_iter()
        .take_any_while(|_| !stop.load(Ordering::Relaxed))
        .map(|index| population.draw(seed, index))
        .collect();
    let group = |name: &str, kept: &dyn Fn(&super::Drawn) -> bool| {
        let part: Vec<&super::Drawn> = drawn.iter().filter(|drawn| kept(drawn)).collect();
        let quantities = QUANTITIES.iter().map(|(name, read)| {
            let mut values: Vec<f64> = part.iter().map(|drawn| read(drawn)).collect();
            values.sort_unstable_by(f64::total_cmp);
            Quantity {
                name,
                quantiles: SHARES.iter().map(|share| quantile(&values, *share)).collect(),
            }
        });
        GroupDescription {
            group: name.to_owned(),
            share: part.len() as f64 / draws.max(1) as f64,
            quantities: quantities.collect(),
        }
    };
    let mut groups = vec![group("all", &|_| true)];
    if population.groups.len() > 1 {
        groups.extend(
            population
                .groups
                .iter()
                .enumerate()
                .map(|(index, one)| group(&one.name, &|drawn| drawn.group == index)),
        );
    }
    let clipped = BOUNDS.iter().enumerate().filter_map(|(bit, name)| {
        let count = drawn.iter().filter(|drawn| drawn.clipped.0 >> bit & 1 == 1).count();
        (count > 0).then_some((*name, count as f64 / draws as f64))
    });
    let (rtt, rate): (Vec<u64>, Vec<u64>) =
        drawn.iter().map(|drawn| (drawn.rtt_us, drawn.rate_kbps)).unzip();
    Description {
        draws,
        groups,
        clipped: clipped.collect(),
        rank_correlation: spearman(&rtt, &rate),
    }
}

/// Value at a share of sorted values, linearly interpolated between neighbours; 0 if there are
/// none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

fn ranks(values: &[u64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|index| values[*index]);
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let end = (start..order.len())
            .find(|place| values[order[*place]] != values[order[start]])
            .unwrap_or(order.len());
        for place in start..end {
            ranks[order[place]] = f64::midpoint(start as f64, (end - 1) as f64);
        }
        start = end;
    }
    ranks
}

/// Rank correlation; ties get the mean of their ranks. 0 if one side never varies.
fn spearman(a: &[u64], b: &[u64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let middle = a.len().saturating_sub(1) as f64 / 2.0;
    let sums = a.iter().zip(&b).fold((0.0, 0.0, 0.0), |sums, (a, b)| {
        let (a, b) = (a - middle, b - middle);
        (sums.0 + a * b, sums.1 + a * a, sums.2 + b * b)
    });
    if sums.1 * sums.2 > 0.0 { sums.0 / (sums.1 * sums.2).sqrt() } else { 0.0 }
}
