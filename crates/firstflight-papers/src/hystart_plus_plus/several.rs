//! Several flows on one path: fairness, and results with starts seconds apart.

use super::cell::RTTS;
use crate::grid::{each_seed, grid};
use crate::lab::{Sender, Vary, arm, goodput_mbps, together};
use crate::sample::{Interval, bootstrap, mean, sum};
use crate::servers::{Counted, Fitted, Server, Service, blocks, serve};
use crate::web_loss::fit_web;
use crate::{Effort, Source, Try, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Scenario, hosts_of_tcp};
use firstflight_lab::stats::resample;
use firstflight_path::Path;
use firstflight_path::random::{Purpose, Stream, uniform};
use firstflight_sim::{App, fairness_ppm};

const PLAIN: &str = "slowstart";
const DRAFT03: &str = "hystart++-draft03";

/// Measures the shares of flows of both arms on one path.
pub(super) fn fairness(effort: &Effort<'_>, source: &Source) -> Result<Values, Error> {
    effort.tell("hystart++: fairness, 60 s");
    let few = effort.sample("hystart.fairness-elsewhere");
    let mut values = Values::default();
    for rtt in effort.either(vec![100], vec![100, 25]) {
        for each in [1, 2] {
            let case = Shared {
                rtt,
                each,
                seconds: 60,
                queue: "1bdp",
                apart: false,
                preset: "windows",
                recovery: "prr",
            };
            let seeds = effort.sample(&format!("hystart.fairness-{rtt}ms-{each}"));
            let (difference, told) = less_fair(effort, case, seeds)?;
            let value = values
                .number("fairness", difference)
                .case(format!("{rtt} ms, {each} v {each}, 60 s"))
                .note(told);
            if !source.holds(value) {
                value.tried(&less_fair_elsewhere(effort, case, few)?);
            }
        }
    }
    Ok(values)
}

/// Other paths, hosts and durations for a case that is less fair than accepted.
fn less_fair_elsewhere(effort: &Effort<'_>, case: Shared, seeds: u32) -> Result<Vec<Try>, Error> {
    let mut tries = Vec::new();
    for (name, case) in [
        ("RACK and PRR", Shared { preset: "rack", ..case }),
        ("RFC 6675 without PRR", Shared { recovery: "sack", ..case }),
        ("30 s", Shared { seconds: 30, ..case }),
        ("120 s", Shared { seconds: 120, ..case }),
        ("starts 2 s apart on average", Shared { apart: true, ..case }),
        ("buffer of half a BDP", Shared { queue: "0.5bdp", ..case }),
        ("buffer of two BDP", Shared { queue: "2bdp", ..case }),
        ("RTT 50 ms", Shared { rtt: 50, ..case }),
    ] {
        let (less, told) = less_fair(effort, case, seeds)?;
        let ours = format!(
            "{told}: {:+.3} [{:+.3}, {:+.3}], {seeds} seeds",
            less.value, less.low, less.high
        );
        tries.push(Try { setting: name.to_owned(), ours, flips: less.value >= LESS });
    }
    Ok(tries)
}

/// Tolerated decrease of the Jain index compared with plain slow start alone.
const LESS: f64 = -0.03;

/// The Jain index of both arms together minus that of plain slow start alone, and both as text.
fn less_fair(effort: &Effort<'_>, case: Shared, seeds: u32) -> Result<(Interval, String), Error> {
    let index = |mixed: bool| each_seed(effort, seeds, |seed| jain(case, mixed, seed));
    let (mixed, plain) = (index(true)?, index(false)?);
    let all: Vec<usize> = (0..mixed.len()).collect();
    let less =
        bootstrap(mixed.len(), |units| mean(units, |i| mixed[i]) - mean(units, |i| plain[i]));
    Ok((
        less,
        format!(
            "{:.3} mixed, {:.3} plain alone",
            mean(&all, |i| mixed[i]),
            mean(&all, |i| plain[i])
        ),
    ))
}

/// A path shared by flows of both arms.
#[derive(Clone, Copy)]
struct Shared {
    rtt: u64,
    /// Number of flows of each arm.
    each: usize,
    seconds: u64,
    queue: &'static str,
    /// Whether starts are 2 s apart on average instead of within one RTT.
    apart: bool,
    /// Loss detection and recovery of both arms.
    preset: &'static str,
    recovery: &'static str,
}

/// Jain index of the bytes that the flows deliver.
fn jain(case: Shared, mixed: bool, seed: u64) -> Result<f64, Error> {
    let Shared { rtt, each, seconds, queue, apart, preset, recovery } = case;
    let path = Path::parse(&format!("hystart++-{rtt}ms,queue={queue}"))?;
    let ground = Scenario {
        host: hosts_of_tcp(preset)?,
        limit: Nanos::from_secs(seconds),
        ..Scenario::new(path, 1)
    };
    let (plain, other) =
        (arm(&format!("{PLAIN}/cubic/{recovery}"))?, arm(&format!("{DRAFT03}/cubic/{recovery}"))?);
    let starts = Stream::new(seed, 0, Purpose::FlowStart);
    let senders = (0..2 * each).map(|flow| Sender {
        arm: if mixed && flow % 2 == 1 { &other } else { &plain },
        app: App::Bulk(1 << 40),
        start: Nanos(if apart {
            (-2e9 * uniform(starts.value(flow as u64)).ln()) as u64 * u64::from(flow > 0)
        } else {
            starts.value(flow as u64) % (rtt * 1_000_000)
        }),
    });
    let done = together(&ground, senders.collect(), seed, Vary::Rtt, None)?;
    let shares: Vec<u64> = done.flows.iter().map(|flow| flow.delivered).collect();
    Ok(f64::from(fairness_ppm(&shares)) / 1e6)
}

/// Results of one or four flows of one arm, pooled over sizes and RTTs.
struct Pool {
    /// Per seed: retransmitted bytes, timeouts, recoveries, recoveries that timed out, sum of
    /// goodputs.
    seeds: Vec<[f64; 5]>,
}

/// A set-up other than the primary one.
#[derive(Clone, Copy)]
pub(super) struct SetUp {
    pub name: &'static str,
    detection: &'static str,
    flows: usize,
    loss: &'static str,
}

/// Four flows whose starts are 2 s apart on average, and other set-ups that may cause timeouts.
pub(super) const SETUPS: [SetUp; 5] = [
    SetUp { name: "4 flows", detection: "windows", flows: 4, loss: "" },
    SetUp { name: "4 flows, RACK", detection: "rack", flows: 4, loss: "" },
    SetUp { name: "1 flow, no SACK", detection: "reno", flows: 1, loss: "" },
    SetUp { name: "4 flows, no SACK", detection: "reno", flows: 4, loss: "" },
    SetUp {
        name: "4 flows, 0.5 % random loss",
        detection: "windows",
        flows: 4,
        loss: ",loss=0.5%",
    },
];

impl Pool {
    fn run(effort: &Effort<'_>, setup: SetUp, text: &str, seeds: u32) -> Result<Pool, Error> {
        let named = arm(text)?;
        let one = |seed: u64| {
            let mut all = [0.0; 5];
            for rtt in RTTS {
                for bytes in [1_000_000, 3_000_000, 10_000_000] {
                    let path = Path::parse(&format!("hystart++-{rtt}ms{}", setup.loss))?;
                    let limit = Nanos::from_secs(300);
                    let ground = Scenario {
                        host: hosts_of_tcp(setup.detection)?,
                        limit,
                        ..Scenario::new(path, 1)
                    };
                    let gaps = Stream::new(seed, rtt, Purpose::FlowStart);
                    let mut start = 0.0;
                    let senders = (0..setup.flows).map(|flow| {
                        if flow > 0 {
                            start -= 2e9 * uniform(gaps.value(flow as u64)).ln();
                        }
                        Sender { arm: &named, app: App::Bulk(bytes), start: Nanos(start as u64) }
                    });
                    let senders: Vec<Sender<'_>> = senders.collect();
                    for flow in together(&ground, senders, seed, Vary::Rtt, None)?.flows {
                        let seen = [
                            flow.counters.retransmitted_bytes as f64,
                            flow.counters.rtos as f64,
                            flow.counters.recoveries as f64,
                            flow.counters.recoveries_timed_out as f64,
                            goodput_mbps(&flow, bytes),
                        ];
                        all.iter_mut().zip(seen).for_each(|(sum, one)| *sum += one);
                    }
                }
            }
            Ok(all)
        };
        Ok(Pool { seeds: each_seed(effort, seeds, one)? })
    }

    fn total(&self, what: usize) -> f64 {
        self.seeds.iter().map(|seed| seed[what]).sum()
    }

    fn success(&self) -> f64 {
        100.0 * (1.0 - self.total(3) / self.total(2).max(1.0))
    }
}

fn ratio(ours: &Pool, plain: &Pool, what: usize) -> Interval {
    bootstrap(plain.seeds.len(), |units| {
        sum(units, |i| ours.seeds[i][what]) / sum(units, |i| plain.seeds[i][what])
    })
}

/// Measures set-ups with starts seconds apart; the values are only reported.
pub(super) fn others(effort: &Effort<'_>) -> Result<Values, Error> {
    effort.tell("hystart++: flows seconds apart, no SACK, random loss");
    let seeds = effort.sample("hystart.apart");
    let mut all = Values::default();
    for setup in SETUPS {
        let (plain, ours) =
            (Pool::run(effort, setup, PLAIN, seeds)?, Pool::run(effort, setup, DRAFT03, seeds)?);
        let mut values = Values::default();
        values.number("apart.bytes", ratio(&ours, &plain, 0)).note(format!(
            "goodput {:+.1} %, timeouts {:.0} with plain slow start and {:.0} with -03",
            100.0 * (ratio(&ours, &plain, 4).value - 1.0),
            plain.total(1),
            ours.total(1)
        ));
        if plain.total(1) >= 30.0 {
            values.number("apart.timeouts", ratio(&ours, &plain, 1));
        }
        if plain.total(3) > 0.0 {
            let difference = bootstrap(plain.seeds.len(), |units| {
                let share = |pool: &Pool| {
                    100.0
                        * (1.0
                            - sum(units, |i| pool.seeds[i][3])
                                / sum(units, |i| pool.seeds[i][2]).max(1.0))
                };
                share(&ours) - share(&plain)
            });
            let told = format!(
                "{:.1} % with plain slow start, {:.1} % with -03",
                plain.success(),
                ours.success()
            );
            values.number("apart.success", difference).note(told);
        }
        all.extend(values.of_case(&format!("{}, starts 2 s apart on average", setup.name)));
    }
    Ok(all)
}

/// Gains of mean goodput at one RTT.
pub(super) struct Gains {
    pub rtt: u64,
    /// Sizes in bytes and gains in percent.
    pub by_size: Vec<(f64, f64)>,
}

/// Gains as a sweep.
pub(super) fn told(gains: &Gains) -> Vec<(String, String)> {
    let one = |(bytes, gain): &(f64, f64)| {
        let bdp = bytes / (gains.rtt as f64 * 12_500.0);
        (format!("{} ms, {} MB ({bdp:.1} BDP)", gains.rtt, bytes / 1e6), format!("{gain:+.1} %"))
    };
    gains.by_size.iter().map(one).collect()
}

/// Gain of mean goodput by size on a finer grid, for one flow: the sizes affected by the overshoot depend on the RTT.
pub(super) fn finer(effort: &Effort<'_>, rtt: u64) -> Result<Gains, Error> {
    effort.tell("hystart++: a finer grid of sizes");
    let (host, seeds) = (hosts_of_tcp("windows")?, effort.sample("hystart.finer"));
    let sizes = [
        1_500_000, 2_000_000, 2_500_000, 3_500_000, 4_000_000, 5_000_000, 6_000_000, 8_000_000,
        15_000_000, 20_000_000,
    ];
    let path = Path::parse(&format!("hystart++-{rtt}ms"))?;
    let cells = sizes.map(|bytes| Scenario {
        host,
        limit: Nanos::from_secs(300),
        ..Scenario::new(path.clone(), bytes)
    });
    let times = grid(
        effort,
        "hystart++: a finer grid of sizes",
        &cells,
        &[PLAIN, DRAFT03],
        seeds,
        |_, outcome| outcome.delivered_after.map_or(f64::NAN, |after| after.0 as f64),
    )?;
    let all: Vec<usize> = (0..seeds as usize).collect();
    let gain = |(cell, bytes): (usize, &u64)| {
        let gain =
            mean(&all, |i| times.of(cell, 0)[i]) / mean(&all, |i| times.of(cell, 1)[i]) - 1.0;
        (*bytes as f64, 100.0 * gain)
    };
    Ok(Gains { rtt, by_size: sizes.iter().enumerate().map(gain).collect() })
}

/// Timeouts of our web connections: their histogram must shift down.
pub(super) fn histogram(effort: &Effort<'_>, source: &Source) -> Result<Values, Error> {
    let connections = effort.sample("hystart.web");
    effort.tell(&format!("hystart++: timeouts of {connections} web connections"));
    let Fitted { knobs, .. } = fit_web(effort, source)?;
    let run = |arm| {
        serve(Service::Web, knobs, Server { arm, preset: "windows", early: None }, connections)
    };
    let (plain, ours) = (run(PLAIN)?, run(DRAFT03)?);
    let share = |all: &[Counted], few: f64| {
        100.0 * all.iter().filter(|one| one.rtos < few).count() as f64 / all.len() as f64
    };
    let moved = |from: f64, to: f64| {
        let pairs = plain.iter().zip(&ours).filter(|(plain, ours)| {
            plain.rtos.total_cmp(&from).is_eq() && ours.rtos.total_cmp(&to).is_eq()
        });
        100.0 * pairs.count() as f64 / plain.len() as f64
    };
    let number = blocks(&plain, |_| 1.0);
    let rtos = [&ours, &plain].map(|all| blocks(all, |one| one.rtos));
    let change = bootstrap(number.len(), |units| {
        let more = resample::sum(units, &rtos[0]) - resample::sum(units, &rtos[1]);
        more / resample::sum(units, &number)
    });
    let told = format!(
        "fewer than 2 timeouts: {:.2} % of connections with plain slow start, {:.2} % with -03; from 1 to 0: {:.2} %, from 0 to 1: {:.2} %, \
         from 2 to 1: {:.2} %, from 1 to 2: {:.2} %",
        share(&plain, 2.0),
        share(&ours, 2.0),
        moved(1.0, 0.0),
        moved(0.0, 1.0),
        moved(2.0, 1.0),
        moved(1.0, 2.0)
    );
    let mut values = Values::default();
    values.number("web.timeouts", change).case(format!("{connections} web connections")).note(told);
    Ok(values)
}
