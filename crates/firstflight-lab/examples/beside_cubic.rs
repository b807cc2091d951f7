//! Share that newcomers take from standing CUBIC flows, by the newcomers' startup: one line
//! per trial and arm, tab-separated.
//!
//! `cargo run --release -p firstflight-lab --example beside_cubic -- arms=slowstart,rapid,plumb seeds=10`
//!
//! 1 or 4 endless flows with HyStart and CUBIC have run for ten seconds when 2, 4 or 8 newcomers of
//! 3 MB begin at random times within one second; 20 and 100 Mbit/s, 40 ms, queues of 0.5 to 4 BDP.
//! The columns: mean completion time of the newcomers, their share of lost packets, and what the
//! incumbents delivered in the 3 and the 15 seconds after the first newcomer could begin.
//! `beside=bbr3` has others in CUBIC's place. `docs/site/plumb.py` makes a table of them.

mod settings;

use firstflight::Nanos;
use firstflight_lab::flows::{App, Flows, SharingFlow};
use firstflight_lab::{Error, NamedArm, Scenario, parse_arms};
use firstflight_path::random::Sequence;
use firstflight_path::{Path, Purpose, Stream};
use rayon::prelude::*;
use settings::Settings;

const SECOND: u64 = 1_000_000_000;
/// When the first newcomer may begin.
const JOIN: u64 = 10 * SECOND;
/// Interval at which deliveries are noted.
const EVERY: Nanos = Nanos(SECOND / 10);
/// Of each newcomer.
const BYTES: u64 = 3_000_000;

/// Standing flows, newcomers, and their path.
#[derive(Clone, Copy, Debug)]
struct Cell {
    mbit: u64,
    /// In tenths of a BDP.
    queue: u64,
    incumbents: usize,
    newcomers: usize,
    seed: u64,
}

fn cells(seeds: std::ops::Range<u64>) -> Vec<Cell> {
    let mut all = Vec::new();
    for mbit in [20, 100] {
        for queue in [5, 10, 20, 40] {
            for incumbents in [1, 4] {
                for newcomers in [2, 4, 8] {
                    let cell = |seed| Cell { mbit, queue, incumbents, newcomers, seed };
                    all.extend(seeds.clone().map(cell));
                }
            }
        }
    }
    all
}

fn run(cell: Cell, incumbent: &NamedArm, arm: &NamedArm) -> Result<String, Error> {
    let Cell { mbit, queue, incumbents, newcomers, seed } = cell;
    let path = format!("rate={mbit}Mbit,rtt=40ms,queue={}ms", 4 * queue);
    // More than a link of this rate carries in the time: the trial lasts until its limit.
    let endless = App::Bulk(1_000_000_000_000);
    let mut chance = Sequence::new(Stream::new(seed, 0, Purpose::Class).key());
    let mut within = |time: u64| chance.draw() % time;
    let mut flows = Vec::new();
    for _ in 0..incumbents {
        let start = Nanos(within(SECOND));
        let (arm, app) = (incumbent.clone(), endless.clone());
        flows.push(SharingFlow { arm, app, start, rtt_extra: Nanos::ZERO });
    }
    for _ in 0..newcomers {
        let start = Nanos(JOIN + within(SECOND));
        let app = App::Bulk(BYTES);
        flows.push(SharingFlow { arm: arm.clone(), app, start, rtt_extra: Nanos::ZERO });
    }
    let limit = Nanos(JOIN + 15 * SECOND + EVERY.0);
    let scenario = Scenario { limit, ..Scenario::new(Path::parse(&path)?, BYTES) };
    let done = scenario.run_flows(
        &Flows { sample: Some(EVERY), jitter: Nanos::ZERO, ..Flows::new(&flows, seed) },
        None,
    )?;
    let at = |time: u64| {
        let sample = usize::try_from(time / EVERY.0).unwrap_or(usize::MAX);
        let sample = done.delivered.get(sample).or(done.delivered.last());
        sample.map_or(0, |all| all[..incumbents].iter().sum::<u64>())
    };
    let delivered = |seconds: u64| at(JOIN + seconds * SECOND) - at(JOIN);
    let new = &done.flows[incumbents..];
    let time = |flow: &firstflight_sim::Outcome| {
        flow.delivered_after.filter(|_| flow.complete()).unwrap_or(Nanos(15 * SECOND)).0 as f64
    };
    let mean = new.iter().map(time).sum::<f64>() / newcomers as f64 / 1e6;
    let lost: u64 = new.iter().map(|flow| flow.counters.packets_lost).sum();
    let sent: u64 = new.iter().map(|flow| flow.counters.packets_sent).sum();
    Ok(format!(
        "{path}\t{incumbents}\t{newcomers}\t{seed}\t{}\t{mean:.3}\t{:.6}\t{}\t{}\n",
        arm.label,
        lost as f64 / sent.max(1) as f64,
        delivered(3),
        delivered(15),
    ))
}

fn main() -> Result<(), Error> {
    let set = Settings::read([
        ("arms", "slowstart,rapid,plumb"),
        ("seeds", "10"),
        ("seed", "1"),
        ("beside", "hystart/cubic"),
    ])?;
    let number = |key| set.number(key);
    let incumbent = parse_arms(set.text("beside"))?.remove(0);
    let arms = parse_arms(set.text("arms"))?;
    let first = number("seed")?;
    let trials: Vec<(Cell, &NamedArm)> = cells(first..first + number("seeds")?)
        .into_iter()
        .flat_map(|cell| arms.iter().map(move |arm| (cell, arm)))
        .collect();
    let lines: Result<Vec<String>, Error> =
        trials.par_iter().map(|&(cell, arm)| run(cell, &incumbent, arm)).collect();
    println!(
        "path\tincumbents\tnewcomers\tseed\tarm\tttlb_ms\tloss\tincumbents_3s\tincumbents_15s"
    );
    print!("{}", lines?.concat());
    Ok(())
}
