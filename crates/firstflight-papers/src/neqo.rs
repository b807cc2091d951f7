//! The first window reduction after slow start: numbers from an issue of neqo.

use super::grid::grid;
use super::lab::goodput_mbps;
use super::sample::mean;
use super::source::published;
use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::Outcome;

/// The arms that the experiments compare, each with several recoveries.
pub(crate) const ARMS: &[&str] =
    &["slowstart/cubic(first=0.7)", "slowstart/cubic(first=0.5)", "slowstart/cubic(first=0.4)"];
/// The three reductions.
const CUTS: [&str; 3] = ["0.7", "0.5", "0.4"];

/// Goodput in Mbit/s and recoveries.
fn seen(ground: &Scenario, outcome: &Outcome) -> (f64, f64) {
    (goodput_mbps(outcome, ground.bytes), outcome.counters.recoveries as f64)
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let seeds = effort.sample("neqo.first-cut");
    let published = &published("neqo", "goodput").values;
    let (mut points, mut orders) = (Vec::new(), 0_usize);
    let mut nearest: Option<(f64, String)> = None;
    for recovery in ["prr", "sack", "immediate"] {
        let arms = CUTS.map(|cut| format!("slowstart/cubic(first={cut})/{recovery}"));
        let (mut cells, mut names) = (Vec::new(), Vec::new());
        for (rtt, words) in [(40, "RTT 40 ms"), (80, "40 ms each way")] {
            for queue in ["25ms", "0.5bdp", "1bdp", "2bdp", "4bdp"] {
                cells.push(Scenario::new(
                    Path::parse(&format!("rate=50Mbit,rtt={rtt}ms,queue={queue}"))?,
                    10 << 20,
                ));
                names.push(format!("{words}, queue {queue}, {recovery}"));
            }
        }
        let texts = [arms[0].as_str(), &arms[1], &arms[2]];
        let found = grid(effort, "neqo: the first cut", &cells, &texts, seeds, seen)?;
        for (cell, name) in names.into_iter().enumerate() {
            let all: Vec<usize> = (0..seeds as usize).collect();
            let of = |read: fn(&(f64, f64)) -> f64| {
                [0, 1, 2].map(|arm| mean(&all, |i| read(&found.of(cell, arm)[i])))
            };
            let (rates, rounds) = (of(|one| one.0), of(|one| one.1));
            orders += usize::from(rates[2] > rates[0] && rates[0] > rates[1]);
            let error: f64 =
                rates.iter().zip(published).map(|(ours, due)| (ours / due).ln().powi(2)).sum();
            let told = format!(
                "{:.2}, {:.2}, {:.2} Mbit/s; recoveries {:.1}, {:.1}, {:.1}",
                rates[0], rates[1], rates[2], rounds[0], rounds[1], rounds[2]
            );
            if nearest.as_ref().is_none_or(|best| error < best.0) {
                nearest = Some((error, format!("{name}: {told}")));
            }
            points.push((name, told));
        }
    }
    let nearest = nearest.map_or_else(String::new, |(_, told)| told);
    let note = format!(
        "the source states neither the queue, nor whether the 40 ms are one way, nor the recovery's sending rule; of {} set-ups tried, {orders} have the published order \
         (0.4 > 0.7 > 0.5); nearest: {nearest}",
        points.len()
    );
    let mut values = Values::default();
    values.words("first-cut.goodput", "").note(note).sweep(points);
    Ok(values.into())
}
