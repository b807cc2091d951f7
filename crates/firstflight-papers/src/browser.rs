//! Uploads from a browser: Mozilla's test of three startups, predicted from a population fitted to two of
//! its numbers.

use super::lab::{arm, own_exit};
use super::sample::{Interval, bootstrap, quantile};
use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::arms::NamedArm;
use firstflight_lab::population::{Population, builtin};
use firstflight_lab::scenario::Scenario;
use firstflight_lab::stats::resample;
use firstflight_sim::{Outcome, quic};
use rayon::prelude::*;

/// The arms of the test, the baseline first.
pub(crate) const ARMS: &[&str] = &["slowstart", "hystart++", "search"];
const PLAIN: usize = 0;
const HYSTART: usize = 1;
const SEARCH: usize = 2;
/// The initial window of Firefox, packets.
const IW: u32 = 10;
const SEED: u64 = 1;

/// Result of one upload under one arm.
#[derive(Clone, Copy, Debug)]
struct Upload {
    /// If startup ended: whether its own rule ended it, and the window in packets.
    exit: Option<(bool, f64)>,
    loss_pct: f64,
    ms: Option<f64>,
}

impl Upload {
    fn of(outcome: &Outcome) -> Upload {
        let packet = f64::from(quic::Host::default().datagram);
        Upload {
            exit: outcome.exit.map(|exit| (own_exit(outcome).is_some(), exit.cwnd as f64 / packet)),
            loss_pct: 100.0 * outcome.counters.packets_lost as f64
                / outcome.counters.packets_sent.max(1) as f64,
            ms: outcome.delivered_after.map(|after| after.0 as f64 / 1e6),
        }
    }
}

/// The same upload under every arm.
type Row = [Upload; ARMS.len()];

/// Uploads of the population: the number drawn, and the results of those whose window may grow.
struct Uploads {
    drawn: u64,
    rows: Vec<Row>,
}

fn uploads(effort: &Effort<'_>) -> Result<Uploads, Error> {
    let population = builtin::population("browser-upload")
        .ok_or_else(|| Error::new("the population `browser-upload` is missing"))??;
    let drawn = u64::from(effort.sample("browser.uploads"));
    effort.tell(&format!("browser: {drawn} uploads under three arms"));
    let arms: Vec<NamedArm> = ARMS.iter().map(|text| arm(text)).collect::<Result<_, Error>>()?;
    let fits = u64::from(IW) * quic::Host::default().payload();
    let one = |index: u64| -> Option<Result<Row, Error>> {
        effort.look();
        let upload = population.draw(SEED, index);
        // A window that the first flight does not fill does not grow (RFC 9002 section 7.8).
        (upload.bytes > fits).then(|| run(&population, index, &arms))
    };
    let rows = (0..drawn).into_par_iter().filter_map(one).collect::<Result<_, Error>>()?;
    Ok(Uploads { drawn, rows })
}

fn run(population: &Population, index: u64, arms: &[NamedArm]) -> Result<Row, Error> {
    let upload = population.draw(SEED, index);
    let scenario = Scenario {
        iw: IW,
        path_index: index,
        ..Scenario::new(population.path(&upload)?, upload.bytes)
    };
    let outcomes = scenario.simulate_each(arms, SEED)?;
    Ok([PLAIN, HYSTART, SEARCH].map(|arm| Upload::of(&outcomes[arm])))
}

/// Percentage of rows that satisfy a condition.
fn percent(rows: &[Row], is: impl Fn(&Row) -> bool) -> Interval {
    let so: Vec<f64> = rows.iter().map(|row| f64::from(u8::from(is(row)))).collect();
    bootstrap(so.len(), |units| 100.0 * resample::mean(units, &so))
}

/// Percentage of an arm's exits that its own rule decided.
fn decided(rows: &[Row], units: &[usize], arm: usize) -> f64 {
    let exits: Vec<bool> =
        units.iter().filter_map(|&i| rows[i][arm].exit.map(|(own, _)| own)).collect();
    let own = exits.iter().filter(|own| **own).count();
    100.0 * own as f64 / exits.len().max(1) as f64
}

/// Measures the population.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let Uploads { drawn, rows } = uploads(effort)?;
    let mut values = Values::default();
    let limited = 100.0 * (1.0 - rows.len() as f64 / drawn as f64);
    values.number("upload.limited", limited).note("the population was fitted to this number");
    let leaves = percent(&rows, |row| row[PLAIN].exit.is_some());
    values.number("upload.leaves", leaves).note("the population was fitted to this number");
    // Few uploads leave slow start, so these statistics resample only those that do.
    let left: Vec<Row> =
        rows.iter().copied().filter(|row| row.iter().any(|one| one.exit.is_some())).collect();
    let of_exits = |read: &dyn Fn(&[usize]) -> f64| bootstrap(left.len(), read);
    let by = |arm: usize| of_exits(&|units: &[usize]| decided(&left, units, arm));
    let told =
        format!("{} of {} uploads leave slow start under one of the arms", left.len(), rows.len());
    values.number("upload.by-hystart", by(HYSTART)).note(&told);
    values.number("upload.by-search", by(SEARCH)).note(&told);
    let more = of_exits(&|units| decided(&left, units, SEARCH) - decided(&left, units, HYSTART));
    values.number("upload.more-search", more);
    for (name, share) in [("p95", 0.95), ("p99", 0.99)] {
        for (than, other) in [("slow start", PLAIN), ("HyStart++", HYSTART)] {
            let less = of_exits(&|units| {
                let at = |arm: usize| quantile(units, share, |i| left[i][arm].loss_pct);
                at(SEARCH) - at(other)
            });
            values.number("upload.loss", less).case(format!("{name}, compared with {than}"));
        }
    }
    values.number("upload.threshold", of_exits(&|units| lowest(&left, units)));
    let times =
        |arm: usize| -> Vec<f64> { rows.iter().map(|row| row[arm].ms.unwrap_or(0.0)).collect() };
    let (plain, search) = (times(PLAIN), times(SEARCH));
    let time = bootstrap(rows.len(), |units| {
        let before = resample::mean(units, &plain).max(f64::MIN_POSITIVE);
        100.0 * (resample::mean(units, &search) / before - 1.0)
    });
    values.number("upload.time", time);
    Ok(values.into())
}

/// The tenth percentile of SEARCH's exit windows minus slow start's, packets.
fn lowest(rows: &[Row], units: &[usize]) -> f64 {
    let at = |arm: usize| {
        let exits: Vec<f64> =
            units.iter().filter_map(|&i| rows[i][arm].exit.map(|(_, window)| window)).collect();
        let all: Vec<usize> = (0..exits.len()).collect();
        if exits.is_empty() { f64::NAN } else { quantile(&all, 0.1, |i| exits[i]) }
    };
    at(SEARCH) - at(PLAIN)
}
