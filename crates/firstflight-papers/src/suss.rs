//! SUSS compared with the kernel's CUBIC and HyStart: completion times of short flows on long paths, and harm.

use super::cuback::{WITHOUT_END, between};
use super::grid::{each_seed, grid};
use super::lab::{Sender, Vary, arm, completion_ms, queue_p99_ms, together};
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::App;
use firstflight_sim::tcp::Host;

/// The arms that the experiments compare: Linux's CUBIC as it is, which does not pace, and with SUSS.
pub(crate) const ARMS: &[&str] =
    &["hystart/cubic(profile=linux)@(pace=off)", "suss/cubic(profile=linux)"];
const HYSTART: usize = 0;
const SUSS: usize = 1;

const RATES: [u64; 3] = [20, 100, 500];
const RTTS: [u64; 3] = [60, 100, 200];
const SIZES: [(u64, &str); 5] =
    [(50, "50 kB"), (200, "200 kB"), (500, "500 kB"), (2_000, "2 MB"), (4_900, "4.9 MB")];

/// A path of this rate, RTT and queue, in Mbit/s, ms and BDPs.
fn path(rate: u64, rtt: u64, queue: &str) -> Result<Path, Error> {
    Path::parse(&format!("rate={rate}Mbit,rtt={rtt}ms,queue={queue}"))
}

fn scenario(path: Path, bytes: u64) -> Scenario {
    Scenario { host: Hosts::from(Host::default()), ..Scenario::new(path, bytes) }
}

/// One trial: completion time in ms, share of packets lost in percent, 99th percentile of the queueing delay in ms.
type Trial = [f64; 3];

/// Reduction of the mean completion time in a cell, percent.
fn shorter(units: &[usize], trials: [&[Trial]; 2]) -> f64 {
    let of = |arm: usize| mean(units, |unit| trials[arm][unit][0]);
    100.0 * (1.0 - of(SUSS) / of(HYSTART))
}

/// Measures completion times, losses and queueing delays in every cell.
fn times(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let mut cells = Vec::new();
    for rtt in RTTS {
        for rate in RATES {
            for (kilobytes, size) in SIZES {
                cells.push((
                    rtt,
                    rate,
                    size,
                    scenario(path(rate, rtt, "1bdp")?, kilobytes * 1_000),
                ));
            }
        }
    }
    let scenarios: Vec<Scenario> = cells.iter().map(|cell| cell.3.clone()).collect();
    let seeds = effort.sample("suss.times");
    let what = "SUSS: completion times of short flows";
    let trials = grid(effort, what, &scenarios, ARMS, seeds, |_, done| -> Trial {
        let sent = done.counters.packets_sent.max(1) as f64;
        let lost = 100.0 * (done.drops.queue + done.drops.random) as f64 / sent;
        [completion_ms(done), lost, queue_p99_ms(done)]
    })?;
    let of = |cell: usize| [HYSTART, SUSS].map(|arm| trials.of(cell, arm));
    let over = |of_cell: &dyn Fn(&[usize], usize) -> f64, chosen: &[usize]| {
        bootstrap(seeds as usize, |units| {
            chosen.iter().map(|&cell| of_cell(units, cell)).sum::<f64>() / chosen.len() as f64
        })
    };
    let gain = |units: &[usize], cell: usize| shorter(units, of(cell));
    let all: Vec<usize> = (0..cells.len()).collect();
    // The claim is of all experiments, so the smallest cell decides it.
    let least = bootstrap(seeds as usize, |units| {
        all.iter().map(|&cell| gain(units, cell)).fold(f64::INFINITY, f64::min)
    });
    values.number("times.least", least).case("smallest of all cells");
    values.number("times.all", over(&gain, &all)).case("mean of all cells");
    values.number("times.again", over(&gain, &all)).case("mean of all cells");
    for rtt in RTTS {
        for (_, size) in SIZES {
            let chosen: Vec<usize> = all
                .iter()
                .copied()
                .filter(|&cell| (cells[cell].0, cells[cell].2) == (rtt, size))
                .collect();
            let case = format!("{size}, {rtt} ms, mean of three rates");
            values.number("times.each", over(&gain, &chosen)).case(case);
        }
    }
    let more = |place: usize| {
        move |units: &[usize], cell: usize| {
            let mean = |arm: usize| mean(units, |unit| of(cell)[arm][unit][place]);
            mean(SUSS) - mean(HYSTART)
        }
    };
    values.number("harm.loss", over(&more(1), &all)).case("mean of all cells");
    values.number("harm.queueing", over(&more(2), &all)).case("mean of all cells");
    Ok(())
}

/// Queues of the experiments on harm, BDPs.
const QUEUES: [&str; 3] = ["0.25bdp", "0.5bdp", "1bdp"];
/// Start of the short flow, s, when the other flow is in avoidance.
const COMES: usize = 10;

/// Bytes that an established CUBIC flow delivers in the three seconds from the second in which a flow of 2 MB starts.
fn beside(queue: &str, newcomer: &str, seed: u64) -> Result<f64, Error> {
    let ground = Scenario {
        limit: Nanos::from_secs(COMES as u64 + 3),
        ..scenario(path(100, 60, queue)?, 1_000_000)
    };
    let (first, second) = (arm(ARMS[HYSTART])?, arm(newcomer)?);
    let start = Nanos::from_millis(COMES as u64 * 1000 + seed * 37 % 1000);
    let senders = vec![
        Sender { arm: &first, app: WITHOUT_END, start: Nanos::ZERO },
        Sender { arm: &second, app: App::Bulk(2_000_000), start },
    ];
    let sample = Some(Nanos::from_secs(1));
    let outcome = together(&ground, senders, seed, Vary::Rtt, sample)?;
    let both: Vec<[u64; 2]> = outcome
        .delivered
        .iter()
        .map(|flows| [flows.first().copied().unwrap_or(0), flows.get(1).copied().unwrap_or(0)])
        .collect();
    Ok(between(&both, COMES, COMES + 3)[0])
}

/// Measures what an established flow loses.
fn established(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let pairs = effort.sample("suss.beside");
    for queue in QUEUES {
        effort.tell("SUSS: an established flow beside a newcomer");
        let bytes = each_seed(effort, pairs, |seed| {
            Ok([beside(queue, ARMS[HYSTART], seed)?, beside(queue, ARMS[SUSS], seed)?])
        })?;
        let less: Interval = bootstrap(bytes.len(), |units| {
            let of = |arm: usize| mean(units, |unit| bytes[unit][arm]);
            100.0 * (of(SUSS) / of(HYSTART) - 1.0)
        });
        values.number("harm.beside", less).case(format!("100 Mbit/s, 60 ms, {queue}"));
    }
    Ok(())
}

/// Measures losses with short queues.
fn short_queues(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("suss.harm");
    for queue in QUEUES {
        let cell = [scenario(path(100, 60, queue)?, 4_900_000)];
        let lost = grid(effort, "SUSS: losses by queue", &cell, ARMS, seeds, |_, done| {
            100.0 * done.drops.queue as f64 / done.counters.packets_sent.max(1) as f64
        })?;
        let more = bootstrap(seeds as usize, |units| {
            let of = |arm: usize| mean(units, |unit| lost.of(0, arm)[unit]);
            of(SUSS) - of(HYSTART)
        });
        values.number("harm.short", more).case(format!("4.9 MB, 100 Mbit/s, 60 ms, {queue}"));
    }
    Ok(())
}

/// Measures the documents' claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    // The first row of a claim decides its verdict: harm to others comes before harm to itself.
    established(effort, &mut values)?;
    times(effort, &mut values)?;
    short_queues(effort, &mut values)?;
    Ok(values.into())
}
