//! Rows 3.2 to 3.5 and 3.9: what return paths with slots and grants do to HyStart and to BEST.

use super::{LINKS, arm, ground, watch};
use crate::lab::{Grid, grid};
use crate::sample::{Interval, bootstrap, mean};
use crate::{Accept, Effort, Gate, Published, Row};
use firstflight_lab::error::Bad;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_sim::observe::Signals;
use firstflight_sim::tcp::{Buffer, Host};
use firstflight_sim::{Observer, Outcome, Snapshot};
use rayon::prelude::*;

/// Return paths by the names of the rows.
const RETURNS: [(&str, &str); 3] = [("A0", "plain"), ("A1", "geo_warm"), ("A2", "geo_cold")];

fn geo(release: &str, bytes: u64) -> Result<Scenario, Bad> {
    ground(&format!("{},return={release}", LINKS[0].path), "1bdp", bytes)
}

/// With the buffers that the slides recommend.
fn recommended(plain: Scenario) -> Scenario {
    let buffer = |default| Buffer::Linux { default, max: 26_214_400 };
    let host = Host { receive_buffer: buffer(131_072), send_buffer: buffer(16_384), ..Host::default() };
    Scenario { host: Hosts::from(host), ..plain }
}

pub fn rows(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    let mut rows = downloads(effort)?;
    rows.extend(exits(effort)?);
    rows.extend(uplink(effort)?);
    Ok(rows)
}

/// Rows 3.2 and 3.3.
fn downloads(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    let sizes = [1_000_000, 5_000_000];
    let mut cells = Vec::new();
    for (_, release) in RETURNS {
        for bytes in sizes {
            cells.push(recommended(geo(release, bytes)?));
        }
    }
    let seeds = effort.seeds();
    let read = |ground: &Scenario, outcome: &Outcome| (outcome.acked_after.0 + ground.path.rtt()) as f64 / 1e6;
    let times = grid(effort, "best: downloads on return paths of GEO", &cells, &["hystart", "slowstart"], seeds, read)?;
    let ratio = |cell: usize| -> Interval {
        bootstrap(seeds as usize, |units| mean(units, |i| times.of(cell, 0)[i]) / mean(units, |i| times.of(cell, 1)[i]))
    };
    let told = |cell: usize| {
        let all: Vec<usize> = (0..seeds as usize).collect();
        let seconds = |arm: usize| mean(&all, |i| times.of(cell, arm)[i]) / 1e3;
        format!("{:.2} s with HyStart, {:.2} s without", seconds(0), seconds(1))
    };
    let assumed = |at: usize| ["host", "recommended-buffers", "payload-half", "download-time", RETURNS[at].0];
    let measure = "download time, HyStart on over off";
    let mut rows = vec![
        Row::gated("3.2", Gate::Direction, measure, ratio(4), " x", Accept::Above(1.0)).note(told(4)),
        Row::gated("3.2", Gate::Band, measure, ratio(4), " x", Accept::Within(1.2, 2.2)).against(Published::ratio(1.5)),
    ];
    rows = rows.into_iter().map(|row| row.case("A2, 1 MB").assuming(&assumed(2))).collect();
    let more = bootstrap(seeds as usize, |units| {
        let of = |cell: usize| mean(units, |i| times.of(cell, 0)[i]) / mean(units, |i| times.of(cell, 1)[i]);
        of(5) / of(4)
    });
    let larger = [
        Row::gated("3.3", Gate::Band, "that ratio at 5 MB over the one at 1 MB", more, " x", Accept::AtLeast(1.0)).note(told(5)),
        Row::gated("3.3", Gate::Band, measure, ratio(5), " x", Accept::Within(1.4, 3.0)).against(Published::ratio(2.0)),
    ];
    rows.extend(larger.map(|row| row.case("A2, 5 MB").assuming(&assumed(2))));
    for at in [0, 1] {
        for (size, id) in [(0, "3.2"), (1, "3.3")] {
            let cell = at * 2 + size;
            let case = format!("{}, {} MB", RETURNS[at].0, sizes[size] / 1_000_000);
            rows.push(Row::seen(id, measure, ratio(cell), " x").case(case).note(told(cell)).assuming(&assumed(at)));
        }
    }
    Ok(rows)
}

/// How startup ended: its window, in BDP, and what it knew.
#[derive(Clone, Copy)]
struct Exit {
    bdp: f64,
    reason: Option<&'static str>,
}

fn exit(ground: &Scenario, outcome: &Outcome) -> Exit {
    let bdp = ground.path.bdp_bytes().max(1) as f64;
    // Whoever never leaves would leave at its largest window or above.
    let window = outcome.exit.map_or(outcome.cwnd_max, |exit| exit.detect_cwnd);
    Exit { bdp: window as f64 / bdp, reason: outcome.exit.map(|exit| exit.reason.name()) }
}

fn reasons(exits: &[Exit]) -> String {
    let mut names: Vec<&str> = exits.iter().map(|exit| exit.reason.unwrap_or("none")).collect();
    names.sort_unstable();
    let mut told: Vec<String> = names.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same[0], same.len())).collect();
    told.sort();
    told.join(", ")
}

/// Rows 3.4 and 3.5.
fn exits(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    let leo = ground(&format!("{},return=leo", LINKS[1].path), "1bdp", 100_000_000)?;
    let cells = [geo("plain", 100_000_000)?, geo("geo_warm", 100_000_000)?, geo("geo_cold", 100_000_000)?, leo];
    let seeds = effort.either(4, 30);
    let found: Grid<Exit> = grid(effort, "best: exits on return paths", &cells, &["hystart", "slowstart"], seeds, exit)?;
    let bdp = |cell: usize, arm: usize, i: usize| found.of(cell, arm)[i].bdp;
    let mut rows = Vec::new();
    let at_exit = bootstrap(seeds as usize, |units| mean(units, |i| bdp(2, 0, i)));
    rows.push(
        Row::gated(
            "3.4",
            Gate::Direction,
            "window over BDP when HyStart leaves: what the forward link can be used at most",
            at_exit,
            " BDP",
            Accept::AtMost(0.3),
        )
        .case("A2, 100 MB")
        .note(format!("reasons: {}; a raised RTT on a link this empty is the return path's", reasons(found.of(2, 0))))
        .assuming(&["host", "no-buffers", "A2"]),
    );
    for (cell, name, gate) in [(2, "A2", Gate::Direction), (1, "A1", Gate::Band), (3, "A3", Gate::Band), (0, "A0", Gate::Seen)] {
        let ratio = bootstrap(seeds as usize, |units| mean(units, |i| bdp(cell, 0, i)) / mean(units, |i| bdp(cell, 1, i)));
        let measure = "exit window, HyStart on over off";
        let row = if gate == Gate::Seen {
            Row::seen("3.5", measure, ratio, " x")
        } else {
            Row::gated("3.5", gate, measure, ratio, " x", Accept::AtMost(0.5))
        };
        let note = format!("reasons with HyStart: {}; without: {}", reasons(found.of(cell, 0)), reasons(found.of(cell, 1)));
        rows.push(row.case(format!("{name}, 100 MB")).note(note).assuming(&["host", "no-buffers", name]));
    }
    Ok(rows)
}

/// What BEST decided on a return path.
#[derive(Default)]
struct Decided {
    /// Published: the first decision, Mbit/s.
    mbps: Option<u64>,
    /// Robust: how often it set the threshold.
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

/// Row 3.9.
fn uplink(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    effort.tell("best: estimates on return paths");
    let lte = |bytes| ground("rate=150Mbit,rtt=60ms,return=lte", "1bdp", bytes);
    let cells = [("A1", geo("geo_warm", 30_000_000)?), ("A2", geo("geo_cold", 30_000_000)?), ("lte", lte(30_000_000)?)];
    let (published, robust) = (arm("best-published")?, arm("best")?);
    let mut rows = Vec::new();
    for (name, ground) in cells {
        let seeds: Vec<u64> = (1..=u64::from(effort.seeds())).collect();
        let decided = |arm: &firstflight_lab::arms::NamedArm| {
            let run = |&seed: &u64| {
                let mut decided = Decided::default();
                watch(&ground, arm, seed, &mut decided).map(|_| decided)
            };
            seeds.par_iter().map(run).collect::<Result<Vec<Decided>, Bad>>()
        };
        let rates: Vec<f64> = decided(&published)?.iter().filter_map(|one| one.mbps).map(|mbps| mbps as f64).collect();
        let assumed: &[&'static str] = match name {
            "A1" => &["host", "published-mode", "A1"],
            "A2" => &["host", "published-mode", "A2"],
            _ => &["host", "published-mode"],
        };
        let told = if rates.is_empty() {
            "never decides".into()
        } else {
            let all: Vec<usize> = (0..rates.len()).collect();
            let (low, high) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
            format!("mean {:.0}, {low:.0} to {high:.0} Mbit/s, in {} of {} trials", mean(&all, |i| rates[i]), rates.len(), seeds.len())
        };
        rows.push(Row::told("3.9", "estimate of published BEST on a link of 150 Mbit/s", told).case(name).assuming(assumed));
        let sets: u64 = decided(&robust)?.iter().map(|one| one.set).sum();
        let measure = format!("thresholds set by robust BEST in {} trials", seeds.len());
        let row = if name == "A1" {
            Row::seen("3.9", measure, sets as f64, "")
        } else {
            Row::gated("3.9", Gate::Direction, measure, sets as f64, "", Accept::AtMost(0.0))
        };
        rows.push(row.case(name).assuming(&["host"]));
    }
    Ok(rows)
}
