//! Estimates of BEST at the end of each round, and results with other rounds and percentiles.

use super::links::{LINKS, ground};
use crate::figure::{Figure, Series, Shape, axis};
use crate::grid::grid;
use crate::lab::{arm, watch};
use crate::sample::{Interval, bootstrap, mean};
use crate::{Effort, Measured, Values};
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Observer, Snapshot};
use rayon::prelude::*;

/// The median of each round at its end: the last one seen while samples were being added.
#[derive(Default)]
struct Medians {
    samples: u64,
    median: u64,
    ended: Vec<u64>,
}

impl Observer for Medians {
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>) {
        if snapshot.event != Cause::Ack {
            return;
        }
        let (mut samples, mut median) = (0, 0);
        signals(&mut |name, value| match name {
            "best_samples" => samples = value,
            "best_median_mbps" => median = value,
            _ => {}
        });
        if samples < self.samples {
            self.ended.push(self.median);
        }
        (self.samples, self.median) = (samples, median);
    }
}

/// Number of rounds compared; the fifth is the first with all its samples on every link.
const ROUNDS: usize = 5;

pub(super) fn measured(effort: &Effort<'_>) -> Result<Measured, Error> {
    effort.tell("best: estimates by round");
    let named = arm("best-published(set=off)")?;
    let mut values = Values::default();
    let mut curves = Vec::new();
    for link in &LINKS {
        let ground: Scenario = ground(
            link.path,
            "1bdp",
            200 * ground(link.path, "1bdp", 1)?.path.bdp_bytes().min(200_000),
        )?;
        let seeds: Vec<u64> = (1..=u64::from(effort.sample("best.round5"))).collect();
        let medians = seeds
            .into_par_iter()
            .map(|seed| {
                effort.look();
                let mut medians = Medians::default();
                watch(&ground, &named, seed, Some(&mut medians))?;
                Ok(medians.ended)
            })
            .collect::<Result<Vec<Vec<u64>>, Error>>()?;
        let payload = ground.path.rate_bps() as f64 / 1e6 * 1448.0 / 1500.0;
        let ratio = |round: usize| -> Interval {
            bootstrap(medians.len(), |units| {
                mean(units, |i| {
                    medians[i].get(round).map_or(f64::NAN, |&median| median as f64 / payload)
                })
            })
        };
        curves.push(Series::with_intervals(
            link.name,
            (0..ROUNDS).map(|round| ((round + 1) as f64, ratio(round))),
        ));
        let earlier: Vec<String> =
            (0..ROUNDS - 1).map(|round| format!("{:.2}", ratio(round).value)).collect();
        values
            .number("estimates.round5", ratio(ROUNDS - 1))
            .case(format!("{}, A0", link.name))
            .note(format!(
                "rounds 1 to 4: {}; rounds are counted from the first with a window of 16 segments",
                earlier.join(", ")
            ));
    }
    values.extend(rounds_and_percentiles(effort)?);
    let rounds = axis("round").named((1..=ROUNDS).map(|round| (round as f64, round.to_string())));
    let figure =
        Figure::new("Estimates of BEST by round", &["3.8"], Shape::Line, rounds, axis("median estimate over the link's payload rate"))
            .how("Rounds are counted from the first with a window of 16 segments; plain delay, a queue of one BDP. 1 is the link's rate.")
            .with(curves)
            .band("accepted at round 5", 0.95, 1.05);
    Ok(Measured { values, figures: vec![figure], ..Measured::default() })
}

/// Download time of 30 MB on GEO with a queue of half a BDP, for other rounds and percentiles.
fn rounds_and_percentiles(effort: &Effort<'_>) -> Result<Values, Error> {
    let cells = [ground(LINKS[0].path, "0.5bdp", 30_000_000)?];
    let settings: Vec<(u32, u32)> = [2, 3, 4, 5]
        .into_iter()
        .flat_map(|round| [25, 50, 75].map(|percentile| (round, percentile)))
        .collect();
    let texts: Vec<String> = settings
        .iter()
        .map(|(round, percentile)| format!("best-published(round={round},percentile={percentile})"))
        .collect();
    let arms: Vec<&str> = texts.iter().map(String::as_str).collect();
    let seeds = effort.sample("best.rounds");
    let times =
        grid(effort, "best: rounds and percentiles", &cells, &arms, seeds, |ground, outcome| {
            (outcome.acked_after.0 + ground.path.rtt()) as f64 / 1e9
        })?;
    let all: Vec<usize> = (0..seeds as usize).collect();
    let points = settings.iter().enumerate().map(|(index, (round, percentile))| {
        let seconds = mean(&all, |seed| times.of(0, index)[seed]);
        (format!("after round {round}, percentile {percentile}"), format!("{seconds:.2} s"))
    });
    let mut values = Values::default();
    values
        .words("estimates.rounds_and_percentiles", "see sweep")
        .case("A0, queue 50 %")
        .note("memory, running median, outlier filter and data centres are not swept")
        .sweep(points);
    Ok(values)
}
