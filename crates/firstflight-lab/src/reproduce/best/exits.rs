//! Rows 3.6 and 3.7: when each arm leaves on the GEO link, what it costs, and how far from the best exit that is.

use super::{LINKS, ground};
use crate::error::Bad;
use crate::reproduce::lab::{Grid, grid};
use crate::reproduce::sample::{Interval, bootstrap, mean};
use crate::reproduce::{Accept, Effort, Gate, Row};
use crate::trial::Ground;
use firstflight_sim::Outcome;

const ON: usize = 0;
const OFF: usize = 1;
const PUBLISHED: usize = 2;
const ROBUST: usize = 3;
const ARMS: &[&str] = &["hystart", "slowstart", "best-published", "best"];
const QUEUES: [(&str, u32); 3] = [("1bdp", 100), ("0.5bdp", 50), ("0.25bdp", 25)];
const SIZES: [u64; 3] = [5_000_000, 30_000_000, 100_000_000];

/// Download time and exit of a trial.
#[derive(Clone, Copy)]
struct Seen {
    ms: f64,
    exit_bdp: Option<f64>,
}

fn seen(ground: &Ground, outcome: &Outcome) -> Seen {
    Seen {
        // The handshake costs one round trip.
        ms: (outcome.ttlb.0 + ground.path.rtt()) as f64 / 1e6,
        exit_bdp: outcome.exit.map(|exit| exit.detect_cwnd as f64 / ground.path.bdp_bytes().max(1) as f64),
    }
}

fn cells() -> Result<Vec<Ground>, Bad> {
    let all = QUEUES.iter().flat_map(|(queue, _)| SIZES.map(|bytes| ground(LINKS[0].path, queue, bytes)));
    all.collect()
}

fn case(cell: usize) -> String {
    format!("A0, {} MB, queue {} %", SIZES[cell % SIZES.len()] / 1_000_000, QUEUES[cell / SIZES.len()].1)
}

/// The best exit of each cell: threshold in bytes, and the time it gives under the seeds that searched it.
struct Best {
    threshold: u64,
}

fn search(effort: &Effort<'_>, cells: &[Ground]) -> Result<Vec<Best>, Bad> {
    let bdp = cells[0].path.bdp_bytes() as f64;
    let step = effort.either(1.15, 1.05);
    let mut thresholds = Vec::new();
    let mut threshold = 0.1 * bdp;
    while threshold <= 2.0 * bdp {
        thresholds.push(threshold as u64);
        threshold *= step;
    }
    let texts: Vec<String> = thresholds.iter().map(|bytes| format!("oracle(exit={bytes})")).collect();
    let arms: Vec<&str> = texts.iter().map(String::as_str).collect();
    let seeds = effort.either(1, 3);
    let what = format!("best: search of the best exit, {} trials", cells.len() * arms.len() * seeds as usize);
    let found = grid(effort, &what, cells, &arms, seeds, seen)?;
    let all: Vec<usize> = (0..seeds as usize).collect();
    let time = |cell: usize, arm: usize| mean(&all, |seed| found.of(cell, arm)[seed].ms);
    let best = |cell: usize| (0..arms.len()).min_by(|&a, &b| time(cell, a).total_cmp(&time(cell, b))).unwrap_or(0);
    Ok((0..cells.len()).map(|cell| Best { threshold: thresholds[best(cell)] }).collect())
}

fn ratio(a: &[Seen], b: &[Seen]) -> Interval {
    bootstrap(a.len(), |units| mean(units, |i| a[i].ms) / mean(units, |i| b[i].ms))
}

fn exit_of(seen: &[Seen]) -> String {
    let exits: Vec<f64> = seen.iter().filter_map(|seen| seen.exit_bdp).collect();
    if exits.is_empty() { "no exit".into() } else { format!("exit at {:.2} BDP", exits.iter().sum::<f64>() / exits.len() as f64) }
}

const ASSUMED: &[&str] = &["host", "no-buffers", "queue", "published-mode", "A0", "download-time", "jitter"];

pub fn rows(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    let cells = cells()?;
    let seeds = effort.either(4, 30);
    let what = format!("best: exits on GEO, {} trials", cells.len() * ARMS.len() * seeds as usize);
    let trials = grid(effort, &what, &cells, ARMS, seeds, seen)?;
    let mut rows = Vec::new();
    for cell in 0..cells.len() {
        rows.extend(compared(cell, &trials));
    }
    rows.push(Row::not_run("3.6", "on A2: needs return paths that grant capacity on demand (`geo_cold`)"));
    rows.extend(near_optimum(effort, &cells, &trials, seeds)?);
    Ok(rows)
}

fn compared(cell: usize, trials: &Grid<Seen>) -> Vec<Row> {
    let of = |arm: usize| trials.of(cell, arm);
    let told: Vec<String> = [(ON, "on"), (OFF, "off"), (PUBLISHED, "BEST"), (ROBUST, "robust BEST")]
        .map(|(arm, name)| {
            let all: Vec<usize> = (0..of(arm).len()).collect();
            format!("{name} {:.2} s ({})", mean(&all, |i| of(arm)[i].ms) / 1e3, exit_of(of(arm)))
        })
        .into();
    let mut rows = Vec::new();
    let to_off = ratio(of(PUBLISHED), of(OFF));
    let measure = "download time, published BEST over HyStart off";
    // An object that ends in slow start, before anything overflows, tells the arms apart in nothing.
    rows.push(if cell % SIZES.len() == 0 || QUEUES[cell / SIZES.len()].1 == 25 {
        Row::seen("3.6", measure, to_off, " x")
    } else {
        Row::gated("3.6", Gate::Direction, measure, to_off, " x", Accept::Below(1.0))
    });
    rows.push(Row::gated(
        "3.6",
        Gate::Band,
        "download time, published BEST over HyStart on",
        ratio(of(PUBLISHED), of(ON)),
        " x",
        Accept::AtMost(1.05),
    ));
    rows.push(Row::seen("3.6", "download time, robust BEST over HyStart off", ratio(of(ROBUST), of(OFF)), " x"));
    rows[0].note = told.join(", ");
    rows.into_iter().map(|row| row.case(case(cell)).assuming(ASSUMED)).collect()
}

fn near_optimum(effort: &Effort<'_>, cells: &[Ground], trials: &Grid<Seen>, seeds: u32) -> Result<Vec<Row>, Bad> {
    let best = search(effort, cells)?;
    let mut rows = Vec::new();
    for (cell, best) in best.iter().enumerate() {
        let text = format!("oracle(exit={})", best.threshold);
        let optimum = grid(effort, "best: the best exit", &cells[cell..=cell], &[&text], seeds, seen)?;
        let bdp = cells[cell].path.bdp_bytes() as f64;
        let time = ratio(trials.of(cell, PUBLISHED), optimum.of(0, 0));
        let measure = "download time, published BEST over the best exit";
        let row = match QUEUES[cell / SIZES.len()].1 {
            25 => Row::gated("3.7", Gate::Band, measure, time, " x", Accept::AtMost(1.25)),
            _ => Row::gated("3.7", Gate::Direction, measure, time, " x", Accept::AtMost(1.10)),
        };
        let note = format!("best exit {:.2} BDP, published BEST: {}", best.threshold as f64 / bdp, exit_of(trials.of(cell, PUBLISHED)));
        let robust =
            Row::seen("3.7", "download time, robust BEST over the best exit", ratio(trials.of(cell, ROBUST), optimum.of(0, 0)), " x");
        let assumed: Vec<&'static str> = ASSUMED.iter().copied().chain(["optimal"]).collect();
        rows.push(row.note(note).case(case(cell)).assuming(&assumed));
        rows.push(robust.case(case(cell)).assuming(&assumed));
    }
    Ok(rows)
}
