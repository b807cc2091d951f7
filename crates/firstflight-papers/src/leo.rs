//! Low orbits and receive windows: HyStart and BBR on Starlink's links, a sudden change of the RTT, and a
//! BBR startup that the receive window limits.

use super::cuback::WITHOUT_END;
use super::grid::{each_seed, grid};
use super::lab::{arm, own_exit};
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::arms::NamedArm;
use firstflight_lab::flows::{Access, Arrangement, Flows, SharingFlow};
use firstflight_lab::population::{Population, builtin};
use firstflight_lab::scenario::{Hosts, Scenario, rtt_jitter};
use firstflight_lab::testbed::{Testbed, sim};
use firstflight_path::Path;
use firstflight_sim::tcp::{Buffer, Host};
use rayon::prelude::*;

/// The arms that the experiments compare: the kernel's CUBIC with and without HyStart, and BBRv3.
pub(crate) const ARMS: &[&str] =
    &["hystart/cubic(profile=linux)", "slowstart/cubic(profile=linux)", "bbr3"];
const HYSTART: usize = 0;
const PLAIN: usize = 1;
const BBR: usize = 2;
const SEED: u64 = 1;

/// Result of one download under one arm.
#[derive(Clone, Copy, Debug)]
struct Download {
    /// Completion time; `None` if the time limit came first.
    ms: Option<f64>,
    /// The window, in BDPs, at which the startup's own rule ended it.
    left_at: Option<f64>,
}

/// The same download under every arm.
type Row = [Download; ARMS.len()];

/// A variant of the population's links.
struct Lines {
    /// Key in `papers/samples.toml`.
    key: &'static str,
    name: &'static str,
    lossy: bool,
    jitter: &'static str,
}

const LINES: [Lines; 3] = [
    Lines { key: "assumed", name: "lines as assumed", lossy: true, jitter: "" },
    Lines { key: "clean", name: "without random loss", lossy: false, jitter: "" },
    Lines {
        key: "jitter",
        name: "without random loss, jitter up to 10 ms",
        lossy: false,
        jitter: ",jitter=10ms",
    },
];

/// Downloads of `bytes` bytes on links of the population.
///
/// BBR runs only the first `bbr` of them.
fn downloads(
    population: &Population,
    (connections, bbr): (u64, u64),
    bytes: u64,
    lines: &Lines,
) -> Result<Vec<Row>, Error> {
    let arms: Vec<NamedArm> = ARMS.iter().map(|text| arm(text)).collect::<Result<_, Error>>()?;
    let one = |index: u64| -> Result<Row, Error> {
        let mut line = population.draw(SEED, index);
        if !lines.lossy {
            line.loss_ppb = 0;
        }
        let path = population.path(&line)?;
        let path = Path::parse(&format!("{path}{}", lines.jitter))?;
        let bdp = path.bdp_bytes().max(1) as f64;
        let scenario = Scenario {
            host: Hosts::from(Host::default()),
            limit: Nanos::from_secs(900),
            path_index: index,
            ..Scenario::new(path, bytes)
        };
        let arms = if index < bbr { &arms[..] } else { &arms[..BBR] };
        let outcomes = scenario.simulate_each(arms, SEED)?;
        let of = |place: usize| {
            let outcome = outcomes.get(place);
            Download {
                ms: outcome
                    .and_then(|outcome| outcome.delivered_after)
                    .map(|after| after.0 as f64 / 1e6),
                left_at: outcome.and_then(own_exit).map(|exit| exit.cwnd as f64 / bdp),
            }
        };
        Ok([HYSTART, PLAIN, BBR].map(of))
    };
    (0..connections).into_par_iter().map(one).collect()
}

/// Increase of one arm's mean time over another's, percent, over downloads that both finished.
fn over(rows: &[Row], slow: usize, fast: usize) -> Interval {
    let times: Vec<[f64; 2]> =
        rows.iter().filter_map(|row| Some([row[slow].ms?, row[fast].ms?])).collect();
    bootstrap(times.len(), |units| {
        let of = |place: usize| mean(units, |unit| times[unit][place]);
        100.0 * (of(0) / of(1) - 1.0)
    })
}

fn starlink(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let population = builtin::population("leo-starlink")
        .ok_or_else(|| Error::new("the population `leo-starlink` is missing"))??;
    effort.tell("Starlink: HyStart and BBR");
    for megabytes in [10, 30, 100] {
        for lines in &LINES {
            let sample = |who: &str| {
                u64::from(effort.sample(&format!("leo.{megabytes}MB-{}{who}", lines.key)))
            };
            let (connections, bbr) = (sample(""), sample("-bbr"));
            if connections == 0 {
                continue;
            }
            let case = format!("{megabytes} MB, {}", lines.name);
            let rows = downloads(&population, (connections, bbr), megabytes * 1_000_000, lines)?;
            let ended = |arms: &[usize]| {
                rows.iter().filter(|row| arms.iter().all(|&arm| row[arm].ms.is_some())).count()
            };
            let told = format!(
                "{} of {connections} downloads end within 900 s under both",
                ended(&[HYSTART, PLAIN])
            );
            let slower = over(&rows, HYSTART, PLAIN);
            values.number("starlink.hystart", slower).case(&case).note(&told);
            let exits: Vec<f64> = rows.iter().filter_map(|row| row[HYSTART].left_at).collect();
            if !exits.is_empty() {
                let early = bootstrap(exits.len(), |units| {
                    100.0 * mean(units, |unit| f64::from(u8::from(exits[unit] < 0.5)))
                });
                let told = format!(
                    "HyStart itself ends startup in {} of {connections} downloads",
                    exits.len()
                );
                values.number("starlink.early", early).case(&case).note(&told);
            }
            let told =
                format!("{} of {bbr} downloads end within 900 s under both", ended(&[PLAIN, BBR]));
            values.number("starlink.bbr", over(&rows, PLAIN, BBR)).case(&case).note(&told);
        }
    }
    Ok(())
}

/// Time at which the RTT changes, s.
const JUMP: usize = 20;

/// Share of the link that an endless flow leaves unused, percent: in the ten seconds before the change, in the ten
/// seconds after it, and from 15 to 25 s after it.
fn unused(who: &NamedArm, seed: u64) -> Result<[f64; 3], Error> {
    let path = Path::parse("rate=100Mbit,rtt=40ms,queue=1bdp")?;
    let rtt = path.rtt() + rtt_jitter(seed);
    let scenario = Scenario {
        host: Hosts::from(Host::default()),
        limit: Nanos::from_secs(JUMP as u64 + 26),
        ..Scenario::new(path.with_rtt(rtt), 1)
    };
    let flow = [SharingFlow {
        arm: who.clone(),
        app: WITHOUT_END,
        start: Nanos::ZERO,
        rtt_extra: Nanos(0),
    }];
    let steps = vec![(Nanos::from_secs(JUMP as u64), Nanos::from_millis(120))];
    let arrangement = Arrangement {
        access: vec![Access { steps, ..Access::default() }],
        whole: true,
        ..Arrangement::default()
    };
    let sample = Some(Nanos::from_secs(1));
    let flows = Flows { sample, arrangement, ..Flows::new(&flow, seed) };
    let done = sim::BED.run_flows(&scenario, &flows)?;
    let carries = scenario.path.rate_bps() as f64 / 8.0 * 1448.0 / 1500.0 * 10.0;
    let left = |from: usize| {
        let got: u64 = done.between(from, from + 10).iter().sum();
        100.0 * (1.0 - got as f64 / carries)
    };
    Ok([JUMP - 10, JUMP, JUMP + 15].map(left))
}

fn jump(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("low orbits: the RTT jumps");
    let (bbr, cubic) = (arm(ARMS[BBR])?, arm(ARMS[PLAIN])?);
    let seeds = effort.sample("leo.jump");
    let left = each_seed(effort, seeds, |seed| Ok([unused(&bbr, seed)?, unused(&cubic, seed)?]))?;
    let more = |who: usize, when: usize| {
        bootstrap(left.len(), |units| {
            mean(units, |unit| left[unit][who][when] - left[unit][who][0])
        })
    };
    let case = "40 to 160 ms";
    values.number("jump.bbr", more(0, 1)).case(case);
    values.number("jump.cubic", more(1, 1)).case(case);
    values.number("jump.after", more(0, 2)).case(case);
    Ok(())
}

/// Initial receive buffers, KiB.
const BUFFERS: [u64; 4] = [16, 32, 64, 128];

fn window(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let path = Path::parse("rate=100Mbit,rtt=100ms,queue=1bdp")?;
    let cells: Vec<Scenario> = BUFFERS
        .iter()
        .map(|kib| {
            let receive_buffer = Buffer::Linux { default: kib << 10, max: 6 << 20 };
            let host = Hosts::from(Host { receive_buffer, ..Host::default() });
            Scenario { host, ..Scenario::new(path.clone(), 10_000_000) }
        })
        .collect();
    let seeds = effort.sample("leo.window");
    let arms = ["bbr", "bbr(rwnd=on)"];
    let times =
        grid(effort, "BBR's startup and receive windows", &cells, &arms, seeds, |_, done| {
            done.delivered_after.map_or(f64::NAN, |after| after.0 as f64)
        })?;
    let gain = |units: &[usize], cells: &[usize]| {
        let gains = cells.iter().map(|&cell| {
            let of = |arm: usize| mean(units, |unit| times.of(cell, arm)[unit]);
            100.0 * (of(0) / of(1) - 1.0)
        });
        gains.sum::<f64>() / cells.len() as f64
    };
    let all: Vec<usize> = (0..cells.len()).collect();
    values.number("window.gain", bootstrap(seeds as usize, |units| gain(units, &all)));
    for (cell, kib) in BUFFERS.iter().enumerate() {
        let one = bootstrap(seeds as usize, |units| gain(units, &[cell]));
        values.number("window.each", one).case(format!("from {kib} KiB"));
    }
    Ok(())
}

/// Measures the documents' claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    starlink(effort, &mut values)?;
    jump(effort, &mut values)?;
    window(effort, &mut values)?;
    Ok(values.into())
}
