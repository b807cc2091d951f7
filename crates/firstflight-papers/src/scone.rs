//! SCONE: throughput advice as a bound of startups, honest, below and above the path, stale, and behind a policer.

use super::grid::{Grid, grid};
use super::lab::{completion_ms, queue_p99_ms};
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::Outcome;

/// The arms that the experiments compare: each startup without advice, and with its two uses.
pub(crate) const ARMS: &[&str] = &[
    "slowstart",
    "slowstart@(advice=exit)",
    "slowstart@(advice=cap)",
    "hystart++",
    "hystart++@(advice=exit)",
    "hystart++@(advice=cap)",
    "rapid",
    "rapid@(advice=exit)",
    "rapid@(advice=cap)",
];
/// Arms per startup, the one without advice first.
const USES: usize = 3;

/// Paths with their rates in kbit/s, and object sizes.
const PATHS: [(u64, &str, u64); 3] = [
    (10_000, "rtt=80ms,queue=1bdp", 3_000_000),
    (20_000, "rtt=40ms,queue=0.5bdp", 3_000_000),
    (100_000, "rtt=30ms,queue=1bdp", 10_000_000),
];

/// One trial: completion time in ms, share of packets lost in percent, 99th percentile of the queueing delay in ms.
type Trial = [f64; 3];

fn read(_: &Scenario, done: &Outcome) -> Trial {
    let sent = done.counters.packets_sent.max(1) as f64;
    let lost = 100.0 * done.counters.packets_dropped as f64 / sent;
    [completion_ms(done), lost, queue_p99_ms(done)]
}

fn cell(path: &str, bytes: u64) -> Result<Scenario, Error> {
    Ok(Scenario::new(Path::parse(path)?, bytes))
}

/// Effect of advice, as a mean over cells.
#[derive(Clone, Copy)]
enum Change {
    /// Of the mean completion time, percent.
    Time,
    /// Of the share of packets lost, points.
    Loss,
    /// Of the queueing delay, ms.
    Queue,
}

/// The change by arm `with` compared with arm `without`.
fn change(
    trials: &Grid<Trial>,
    cells: usize,
    (without, with): (usize, usize),
    what: Change,
) -> Interval {
    let seeds = trials.of(0, 0).len();
    bootstrap(seeds, |units| {
        let of_cell = |cell: usize| {
            let of =
                |arm: usize, place: usize| mean(units, |unit| trials.of(cell, arm)[unit][place]);
            match what {
                Change::Time => 100.0 * (of(with, 0) / of(without, 0) - 1.0),
                Change::Loss => of(with, 1) - of(without, 1),
                Change::Queue => of(with, 2) - of(without, 2),
            }
        };
        (0..cells).map(of_cell).sum::<f64>() / cells as f64
    })
}

/// Adds a value per startup and use of advice.
fn add(values: &mut Values, name: &str, trials: &Grid<Trial>, cells: usize, what: Change) {
    for (with, arm) in ARMS.iter().enumerate().filter(|(at, _)| at % USES > 0) {
        let found = change(trials, cells, (with - with % USES, with), what);
        values.number(name, found).case(*arm);
    }
}

/// Advice at a share of the rate of the path, in percent.
fn by_rate(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("scone.rates");
    let (time, loss, queue) =
        (("time", Change::Time), ("loss", Change::Loss), ("queue", Change::Queue));
    // In the order of the claims' rows.
    for (name, percent, changes) in [
        ("honest", 100, &[loss, time, queue][..]),
        ("above", 200, &[loss, time]),
        ("below", 50, &[time, loss]),
    ] {
        let cells = PATHS
            .iter()
            .map(|(kbit, rest, bytes)| {
                let advice = kbit * percent / 100;
                cell(&format!("rate={kbit}kbit,{rest},scone={advice}kbit"), *bytes)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let what = format!("SCONE: advice at {percent} % of the rate");
        let trials = grid(effort, &what, &cells, ARMS, seeds, read)?;
        for (of, what) in changes {
            add(values, &format!("{name}.{of}"), &trials, cells.len(), *what);
        }
    }
    Ok(())
}

/// Advice that was right a minute ago, and has been too low since the rate of the path rose.
fn stale(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("scone.stale");
    let path = [cell("rate=20Mbit,rtt=40ms,queue=0.5bdp", 30_000_000)?];
    for startup in ["slowstart", "hystart++", "rapid"] {
        for advice in ["exit", "cap"] {
            let with = |age: &str| format!("{startup}@(hint=scone:5Mbit{age},advice={advice})");
            let (old, new) = (with(":60s"), with(""));
            let arms = [startup, old.as_str(), new.as_str()];
            let what = format!("SCONE: stale advice, {startup}, {advice}");
            let trials = grid(effort, &what, &path, &arms, seeds, read)?;
            let case = format!("{startup}@(advice={advice})");
            values.number("stale.time", change(&trials, 1, (0, 1), Change::Time)).case(&case);
            let longer = bootstrap(seeds as usize, |units| {
                let time = |arm: usize| mean(units, |unit| trials.of(0, arm)[unit][0]);
                100.0 * (time(2) - time(1)) / time(0)
            });
            values.number("stale.fresh", longer).case(case);
        }
    }
    Ok(())
}

/// A policer whose rate is advised.
fn policed(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("scone.policer");
    let path =
        [cell("rate=100Mbit,rtt=40ms,queue=1bdp,policer=20Mbit:50ms,scone=20Mbit", 5_000_000)?];
    let trials = grid(effort, "SCONE: a policer", &path, ARMS, seeds, read)?;
    add(values, "policer.loss", &trials, 1, Change::Loss);
    add(values, "policer.time", &trials, 1, Change::Time);
    Ok(())
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    by_rate(effort, &mut values)?;
    stale(effort, &mut values)?;
    policed(effort, &mut values)?;
    Ok(values.into())
}
