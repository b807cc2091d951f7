//! Effects of return paths with slots and grants on HyStart and BEST.

use super::links::{LINKS, ground};
use crate::grid::{Grid, grid};
use crate::lab::{arm, watch};
use crate::sample::{Interval, bootstrap, mean};
use crate::{Effort, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_sim::observe::Signals;
use firstflight_sim::tcp::{Buffer, Host};
use firstflight_sim::{Observer, Outcome, Snapshot};
use rayon::prelude::*;

/// Return paths, by their names in the rows.
const RETURNS: [(&str, &str); 3] = [("A0", "plain"), ("A1", "geo_warm"), ("A2", "geo_cold")];

fn geo(release: &str, bytes: u64) -> Result<Scenario, Error> {
    ground(&format!("{},return={release}", LINKS[0].path), "1bdp", bytes)
}

/// The scenario with the buffers that the slides recommend.
fn recommended(plain: Scenario) -> Scenario {
    let buffer = |default| Buffer::Linux { default, max: 26_214_400 };
    let host =
        Host { receive_buffer: buffer(131_072), send_buffer: buffer(16_384), ..Host::default() };
    Scenario { host: Hosts::from(host), ..plain }
}

/// Measures downloads, exits and estimates on return paths.
pub(super) fn values(effort: &Effort<'_>, source: &Source) -> Result<Values, Error> {
    let mut values = downloads(effort)?;
    values.extend(exits(effort, source)?);
    values.extend(uplink(effort)?);
    Ok(values)
}

/// Measures download times with HyStart over those without.
fn downloads(effort: &Effort<'_>) -> Result<Values, Error> {
    let sizes = [1_000_000, 5_000_000];
    let mut cells = Vec::new();
    for (_, release) in RETURNS {
        for bytes in sizes {
            cells.push(recommended(geo(release, bytes)?));
        }
    }
    let seeds = effort.sample("best.downloads");
    let read = |ground: &Scenario, outcome: &Outcome| {
        (outcome.acked_after.0 + ground.path.rtt()) as f64 / 1e6
    };
    let times = grid(
        effort,
        "best: downloads on return paths of GEO",
        &cells,
        &["hystart", "slowstart"],
        seeds,
        read,
    )?;
    let over = |cell: usize, units: &[usize]| {
        mean(units, |i| times.of(cell, 0)[i]) / mean(units, |i| times.of(cell, 1)[i])
    };
    let ratio = |cell: usize| -> Interval { bootstrap(seeds as usize, |units| over(cell, units)) };
    let told = |cell: usize| {
        let all: Vec<usize> = (0..seeds as usize).collect();
        let seconds = |arm: usize| mean(&all, |i| times.of(cell, arm)[i]) / 1e3;
        format!("{:.2} s with HyStart, {:.2} s without", seconds(0), seconds(1))
    };
    let mut values = Values::default();
    let more = bootstrap(seeds as usize, |units| over(5, units) / over(4, units));
    values.number("returns.growth", more).case("A2, 5 MB").note(told(5));
    for at in [2, 0, 1] {
        for size in [0, 1] {
            let (cell, name, megabytes) = (at * 2 + size, RETURNS[at].0, sizes[size] / 1_000_000);
            let value = values
                .number(format!("returns.{name}.{megabytes}MB"), ratio(cell))
                .case(format!("{name}, {megabytes} MB"));
            // The growth value already has this remark.
            if cell != 5 {
                value.note(told(cell));
            }
        }
    }
    Ok(values)
}

/// End of startup: its window in BDP, and its reason.
#[derive(Clone, Copy)]
struct Exit {
    bdp: f64,
    reason: Option<&'static str>,
}

fn exit(ground: &Scenario, outcome: &Outcome) -> Exit {
    let bdp = ground.path.bdp_bytes().max(1) as f64;
    // Without an exit, the largest window is a lower bound.
    let window = outcome.exit.map_or(outcome.cwnd_max, |exit| exit.detect_cwnd);
    Exit { bdp: window as f64 / bdp, reason: outcome.exit.map(|exit| exit.reason.name()) }
}

fn reasons(exits: &[Exit]) -> String {
    let mut names: Vec<&str> = exits.iter().map(|exit| exit.reason.unwrap_or("none")).collect();
    names.sort_unstable();
    let mut told: Vec<String> =
        names.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same[0], same.len())).collect();
    told.sort();
    told.join(", ")
}

/// Windows at the exit.
fn exits(effort: &Effort<'_>, source: &Source) -> Result<Values, Error> {
    let leo = ground(&format!("{},return=leo", LINKS[1].path), "1bdp", 100_000_000)?;
    let cells = [
        geo("plain", 100_000_000)?,
        geo("geo_warm", 100_000_000)?,
        geo("geo_cold", 100_000_000)?,
        leo,
    ];
    let seeds = effort.sample("best.returns");
    let found: Grid<Exit> = grid(
        effort,
        "best: exits on return paths",
        &cells,
        &["hystart", "slowstart"],
        seeds,
        exit,
    )?;
    let bdp = |cell: usize, arm: usize, i: usize| found.of(cell, arm)[i].bdp;
    let mut values = Values::default();
    let at_exit = bootstrap(seeds as usize, |units| mean(units, |i| bdp(2, 0, i)));
    let value = values
        .number("returns.exit", at_exit)
        .case("A2, 100 MB")
        .note(format!("reasons: {}", reasons(found.of(2, 0))));
    if source.holds(value) {
        value.note("on a link this empty, the return path must have raised the RTT");
    }
    for (cell, name) in [(2, "A2"), (1, "A1"), (3, "A3"), (0, "A0")] {
        let ratio = bootstrap(seeds as usize, |units| {
            mean(units, |i| bdp(cell, 0, i)) / mean(units, |i| bdp(cell, 1, i))
        });
        let note = format!(
            "reasons with HyStart: {}; without: {}",
            reasons(found.of(cell, 0)),
            reasons(found.of(cell, 1))
        );
        values
            .number(format!("returns.exit.{name}"), ratio)
            .case(format!("{name}, 100 MB"))
            .note(note);
    }
    Ok(values)
}

/// Decisions of BEST on a return path.
#[derive(Default)]
struct Decided {
    /// Published BEST: the first decision, Mbit/s.
    mbps: Option<u64>,
    /// Robust BEST: number of times that it set the threshold.
    set: u64,
}

impl Observer for Decided {
    fn on_event(&mut self, _snapshot: &Snapshot, signals: &Signals<'_>) {
        signals(&mut |name, value| match name {
            "best_set" => self.set = self.set.max(value),
            "best_decided_mbps" if value > 0 => _ = self.mbps.get_or_insert(value),
            _ => {}
        });
    }
}

/// Measures estimates on return paths.
fn uplink(effort: &Effort<'_>) -> Result<Values, Error> {
    effort.tell("best: estimates on return paths");
    let lte = |bytes| ground("rate=150Mbit,rtt=60ms,return=lte", "1bdp", bytes);
    let cells = [
        ("A1", geo("geo_warm", 30_000_000)?),
        ("A2", geo("geo_cold", 30_000_000)?),
        ("lte", lte(30_000_000)?),
    ];
    let (published, robust) = (arm("best-published")?, arm("best")?);
    let mut values = Values::default();
    for (name, ground) in cells {
        let seeds: Vec<u64> = (1..=u64::from(effort.sample("best.uplink"))).collect();
        let decided = |arm: &firstflight_lab::arms::NamedArm| {
            let run = |&seed: &u64| {
                effort.look();
                let mut decided = Decided::default();
                watch(&ground, arm, seed, Some(&mut decided)).map(|_| decided)
            };
            seeds.par_iter().map(run).collect::<Result<Vec<Decided>, Error>>()
        };
        let rates: Vec<f64> = decided(&published)?
            .iter()
            .filter_map(|one| one.mbps)
            .map(|mbps| mbps as f64)
            .collect();
        let told = if rates.is_empty() {
            "never decides".into()
        } else {
            let all: Vec<usize> = (0..rates.len()).collect();
            let (low, high) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &rate| {
                (low.min(rate), high.max(rate))
            });
            format!(
                "mean {:.0}, {low:.0} to {high:.0} Mbit/s, in {} of {} trials",
                mean(&all, |i| rates[i]),
                rates.len(),
                seeds.len()
            )
        };
        values.words(format!("uplink.published.{name}"), told).case(name);
        let sets: u64 = decided(&robust)?.iter().map(|one| one.set).sum();
        values
            .number(format!("uplink.robust.{name}"), sets as f64)
            .detail("trials", &seeds.len())
            .case(name);
    }
    Ok(values)
}
