//! Exits of each arm on the GEO link, their cost, and their distance from the best exit.

use super::links::{LINKS, ground};
use crate::figure::{Figure, Series, Shape, axis};
use crate::grid::{Grid, grid};
use crate::lab::watch;
use crate::sample::{Interval, bootstrap, mean};
use crate::{Effort, Measured, Source, Try, Values};
use firstflight::detection::presets::Preset;
use firstflight_lab::Error;
use firstflight_lab::scenario::Hosts;
use firstflight_lab::scenario::Scenario;
use firstflight_sim::Outcome;
use firstflight_sim::tcp::{Buffer, Host};

const ON: usize = 0;
const OFF: usize = 1;
const PUBLISHED: usize = 2;
const ROBUST: usize = 3;
/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &["hystart", "slowstart", "best-published", "best"];
const QUEUES: [(&str, u32); 3] = [("1bdp", 100), ("0.5bdp", 50), ("0.25bdp", 25)];
const SIZES: [u64; 3] = [5_000_000, 30_000_000, 100_000_000];

/// Download time and exit of a trial.
#[derive(Clone, Copy)]
struct Seen {
    ms: f64,
    exit_bdp: Option<f64>,
}

fn seen(ground: &Scenario, outcome: &Outcome) -> Seen {
    Seen {
        // The handshake costs one round trip.
        ms: (outcome.acked_after.0 + ground.path.rtt()) as f64 / 1e6,
        exit_bdp: outcome
            .exit
            .map(|exit| exit.detect_cwnd as f64 / ground.path.bdp_bytes().max(1) as f64),
    }
}

fn cells() -> Result<Vec<Scenario>, Error> {
    let all =
        QUEUES.iter().flat_map(|(queue, _)| SIZES.map(|bytes| ground(LINKS[0].path, queue, bytes)));
    all.collect()
}

fn case(cell: usize) -> String {
    format!(
        "A0, {} MB, queue {} %",
        SIZES[cell % SIZES.len()] / 1_000_000,
        QUEUES[cell / SIZES.len()].1
    )
}

/// Search for the best exit of a cell: threshold in BDP and time in seconds for each trial, and the threshold
/// with the shortest time, bytes.
struct Best {
    threshold: u64,
    curve: Vec<[f64; 2]>,
}

fn search(effort: &Effort<'_>, cells: &[Scenario]) -> Result<Vec<Best>, Error> {
    let bdp = cells[0].path.bdp_bytes() as f64;
    let step = effort.either(1.15, 1.05);
    let mut thresholds = Vec::new();
    let mut threshold = 0.1 * bdp;
    while threshold <= 2.0 * bdp {
        thresholds.push(threshold as u64);
        threshold *= step;
    }
    let texts: Vec<String> =
        thresholds.iter().map(|bytes| format!("oracle(exit={bytes})")).collect();
    let arms: Vec<&str> = texts.iter().map(String::as_str).collect();
    let seeds = effort.sample("best.search");
    let what = format!(
        "best: search for the best exit, {} trials",
        cells.len() * arms.len() * seeds as usize
    );
    let found = grid(effort, &what, cells, &arms, seeds, seen)?;
    let all: Vec<usize> = (0..seeds as usize).collect();
    let time = |cell: usize, arm: usize| mean(&all, |seed| found.of(cell, arm)[seed].ms);
    let best = |cell: usize| {
        (0..arms.len()).min_by(|&a, &b| time(cell, a).total_cmp(&time(cell, b))).unwrap_or(0)
    };
    let curve = |cell: usize| {
        thresholds
            .iter()
            .enumerate()
            .map(|(arm, bytes)| [*bytes as f64 / bdp, time(cell, arm) / 1e3])
            .collect()
    };
    Ok((0..cells.len())
        .map(|cell| Best { threshold: thresholds[best(cell)], curve: curve(cell) })
        .collect())
}

fn ratio(a: &[Seen], b: &[Seen]) -> Interval {
    bootstrap(a.len(), |units| mean(units, |i| a[i].ms) / mean(units, |i| b[i].ms))
}

fn exit_of(seen: &[Seen]) -> String {
    let exits: Vec<f64> = seen.iter().filter_map(|seen| seen.exit_bdp).collect();
    if exits.is_empty() {
        "no exit".into()
    } else {
        format!("exit at {:.2} BDP", exits.iter().sum::<f64>() / exits.len() as f64)
    }
}

/// Whether the object ends in slow start without an overflow, so that the arms do not differ.
fn never_leaves(off: &[Seen]) -> bool {
    off.iter().all(|seen| seen.exit_bdp.is_none())
}

const NOTHING_TO_SAVE: &str = "without HyStart the download ends in slow start without a loss, so there is nothing to save: not gated";

/// Results with other hosts, for a direction that was not reproduced.
fn other_hosts(
    cell: &Scenario,
    arm: &str,
    over: &str,
    flips: impl Fn(f64) -> bool,
) -> Result<Vec<Try>, Error> {
    let buffer = |default| Buffer::Linux { default, max: 26_214_400 };
    let preset = |name: &str| Preset::named(name).copied().ok_or_else(|| Error::new(name));
    let hosts = [
        (
            "recommended buffers",
            Host {
                receive_buffer: buffer(131_072),
                send_buffer: buffer(16_384),
                ..Host::default()
            },
            "",
        ),
        ("RFC 6675 detection and recovery", Host::with_preset(preset("sack6675")?), "/cubic/sack"),
        (
            "RFC 6675, timeout of at least 300 ms",
            Host::with_preset(preset("windows")?),
            "/cubic/sack",
        ),
        ("RFC 6675 detection, PRR", Host::with_preset(preset("sack6675")?), "/cubic/prr"),
        ("RACK without PRR", Host::default(), "/cubic/sack"),
        ("Linux 2.6 with rate halving", Host::with_preset(preset("linux26")?), "/cubic/halving"),
        ("no SACK", Host::with_preset(preset("reno")?), ""),
    ];
    let mut points = Vec::new();
    for (name, host, rest) in hosts {
        let ground = Scenario { host: Hosts::from(host), ..cell.clone() };
        let time = |text: &str| {
            let outcome = watch(&ground, &crate::lab::arm(&format!("{text}{rest}"))?, 1, None)?;
            Ok::<f64, Error>(seen(&ground, &outcome).ms)
        };
        let (a, b) = (time(arm)?, time(over)?);
        let limit = cell.limit.0 as f64 / 1e6;
        let cut = if a.max(b) >= limit { ", one not finished" } else { "" };
        let ours = format!("{:.3} x ({:.1} and {:.1} s{cut})", a / b, a / 1e3, b / 1e3);
        points.push(Try { setting: name.to_owned(), ours, flips: flips(a / b) });
    }
    Ok(points)
}

pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let cells = cells()?;
    let seeds = effort.sample("best.exits");
    let what = format!("best: exits on GEO, {} trials", cells.len() * ARMS.len() * seeds as usize);
    let trials = grid(effort, &what, &cells, ARMS, seeds, seen)?;
    let mut values = Values::default();
    for (cell, setting) in cells.iter().enumerate() {
        let mut compared = compared(cell, &trials);
        for value in compared.iter_mut().filter(|value| !source.shows(value)) {
            // Below half a percent there is no difference.
            value.tried(&other_hosts(setting, ARMS[PUBLISHED], ARMS[OFF], |ratio| ratio < 0.995)?);
        }
        values.extend(compared);
    }
    let (granted, cold) = granted(effort, source)?;
    values.extend(granted);
    let best = search(effort, &cells)?;
    values.extend(near_optimum(effort, &cells, &trials, seeds, &best)?);
    let figures = vec![
        by_exit(&trials, &best, SIZES[1]),
        by_exit(&trials, &best, SIZES[2]),
        on_the_return_path(&cold),
    ];
    Ok(Measured { values, figures, ..Measured::default() })
}

fn mean_ms(seen: &[Seen]) -> f64 {
    seen.iter().map(|one| one.ms).sum::<f64>() / seen.len().max(1) as f64
}

/// Figure of the download time by exit point, with a curve per queue and the exits of the arms.
fn by_exit(trials: &Grid<Seen>, best: &[Best], bytes: u64) -> Figure {
    let cell_of = |queue: usize| {
        queue * SIZES.len() + SIZES.iter().position(|size| *size == bytes).unwrap_or(0)
    };
    // Omit exits that are far too early.
    let near = |curve: &[[f64; 2]]| -> Vec<[f64; 2]> {
        let least = curve.iter().map(|point| point[1]).fold(f64::INFINITY, f64::min);
        curve.iter().copied().filter(|point| point[1] <= 1.5 * least).collect()
    };
    let curves = QUEUES.iter().enumerate().map(|(queue, (_, share))| {
        Series::ours(
            format!("queue {share} %, exit set by hand"),
            near(&best[cell_of(queue)].curve),
        )
    });
    let placed = [(ON, "HyStart"), (OFF, "no HyStart"), (PUBLISHED, "BEST, published")].map(
        |(arm, name)| {
            let points = (0..QUEUES.len()).filter_map(|queue| {
                let seen = trials.of(cell_of(queue), arm);
                let exits: Vec<f64> = seen.iter().filter_map(|one| one.exit_bdp).collect();
                (!exits.is_empty())
                    .then(|| [exits.iter().sum::<f64>() / exits.len() as f64, mean_ms(seen) / 1e3])
            });
            Series::ours(name, points.collect()).dots(true)
        },
    );
    Figure::new(
        format!("Download time by exit point and queue, {} MB on GEO", bytes / 1_000_000),
        &["3.6", "3.7"],
        Shape::Line,
        axis("window at the exit, BDP").log(),
        axis("download time, s"),
    )
    .how(
        "150 Mbit/s, 600 ms, a return path of plain delay. Lines: what each exit would give. Marks: where the arms leave and what they get. \
         Left of the best exit the window has to grow slowly, right of it the queue overflows; an arm that never leaves has no mark.",
    )
    .with(curves)
    .with(placed)
}

/// Figure of the download time of each arm behind a terminal with grants.
fn on_the_return_path(cold: &Grid<Seen>) -> Figure {
    let names = QUEUES.iter().enumerate().flat_map(|(queue, (_, share))| {
        SIZES.iter().enumerate().map(move |(size, bytes)| {
            (
                (queue * SIZES.len() + size) as f64,
                format!("{} MB, queue {share} %", bytes / 1_000_000),
            )
        })
    });
    let series = [(ON, "HyStart"), (PUBLISHED, "BEST, published"), (ROBUST, "BEST, robust")].map(
        |(arm, name)| {
            let values = (0..QUEUES.len() * SIZES.len())
                .map(|cell| (cell as f64, ratio(cold.of(cell, arm), cold.of(cell, OFF))));
            Series::with_intervals(name, values)
        },
    );
    Figure::new(
        "Download time over that without HyStart, cold terminal on GEO",
        &["3.6"],
        Shape::Rows,
        axis("times as long as without HyStart").from_zero(),
        axis("").named(names),
    )
    .how("ACKs wait for slots of 40 ms and for capacity granted on demand (A2). Above 1 is slower than never leaving slow start before a loss.")
    .with(series)
    .band("no HyStart", 1.0, 1.0)
}

/// Download times and exits of each arm in a cell, as text.
fn told(trials: &Grid<Seen>, cell: usize) -> String {
    let each = [(ON, "on"), (OFF, "off"), (PUBLISHED, "BEST"), (ROBUST, "robust BEST")].map(
        |(arm, name)| {
            let of = trials.of(cell, arm);
            let all: Vec<usize> = (0..of.len()).collect();
            format!("{name} {:.2} s ({})", mean(&all, |i| of[i].ms) / 1e3, exit_of(of))
        },
    );
    each.join(", ")
}

fn compared(cell: usize, trials: &Grid<Seen>) -> Values {
    let of = |arm: usize| trials.of(cell, arm);
    let mut values = Values::default();
    // The claim is about queues with something to save.
    let nothing = never_leaves(of(OFF));
    let name = if nothing || QUEUES[cell / SIZES.len()].1 == 25 {
        "exits.published_over_off.ungated"
    } else {
        "exits.published_over_off"
    };
    let value = values.number(name, ratio(of(PUBLISHED), of(OFF))).note(told(trials, cell));
    if nothing {
        value.note(NOTHING_TO_SAVE);
    }
    values.number("exits.published_over_on", ratio(of(PUBLISHED), of(ON)));
    values.number("exits.robust_over_off", ratio(of(ROBUST), of(OFF)));
    values.of_case(&case(cell))
}

/// Measures exits on A2, where the slots of the return path make HyStart exit.
fn granted(effort: &Effort<'_>, source: &Source) -> Result<(Values, Grid<Seen>), Error> {
    let path = format!("{},return=geo_cold", LINKS[0].path);
    let cells = QUEUES
        .iter()
        .flat_map(|(queue, _)| SIZES.map(|bytes| ground(&path, queue, bytes)))
        .collect::<Result<Vec<_>, Error>>()?;
    let seeds = effort.sample("best.granted");
    let what = format!(
        "best: exits on GEO with a cold terminal, {} trials",
        cells.len() * ARMS.len() * seeds as usize
    );
    let trials = grid(effort, &what, &cells, ARMS, seeds, seen)?;
    let mut values = Values::default();
    for (cell, setting) in cells.iter().enumerate() {
        let of = |arm: usize| trials.of(cell, arm);
        let case = case(cell).replace("A0", "A2");
        let slower = values
            .number("granted.on_over_off", ratio(of(ON), of(OFF)))
            .case(case.clone())
            .note(told(&trials, cell));
        if !source.holds(slower) {
            slower.tried(&other_hosts(setting, ARMS[ON], ARMS[OFF], |ratio| ratio > 1.005)?);
        }
        let best = ratio(of(PUBLISHED), of(OFF));
        if never_leaves(of(OFF)) {
            values
                .number("granted.published_over_off.ungated", best)
                .case(case)
                .note(NOTHING_TO_SAVE);
        } else {
            values.number("granted.published_over_off", best).case(case);
        }
    }
    Ok((values, trials))
}

fn near_optimum(
    effort: &Effort<'_>,
    cells: &[Scenario],
    trials: &Grid<Seen>,
    seeds: u32,
    best: &[Best],
) -> Result<Values, Error> {
    let mut values = Values::default();
    for (cell, best) in best.iter().enumerate() {
        let text = format!("oracle(exit={})", best.threshold);
        let optimum =
            grid(effort, "best: the best exit", &cells[cell..=cell], &[&text], seeds, seen)?;
        let bdp = cells[cell].path.bdp_bytes() as f64;
        let time = ratio(trials.of(cell, PUBLISHED), optimum.of(0, 0));
        let name = if QUEUES[cell / SIZES.len()].1 == 25 {
            "near.published.shallow"
        } else {
            "near.published"
        };
        let note = format!(
            "best exit {:.2} BDP, published BEST: {}",
            best.threshold as f64 / bdp,
            exit_of(trials.of(cell, PUBLISHED))
        );
        values.number(name, time).note(note).case(case(cell));
        values
            .number("near.robust", ratio(trials.of(cell, ROBUST), optimum.of(0, 0)))
            .case(case(cell));
    }
    Ok(values)
}
