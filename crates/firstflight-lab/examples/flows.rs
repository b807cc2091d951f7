//! Measures how well the simulator agrees with a real QUIC stack and with the running kernel's TCP
//! when flows share a bottleneck: writes `docs/agreement-flows.md` to standard output.
//!
//! `sudo cargo run -p firstflight-lab --features quic,linux --example flows >
//! docs/agreement-flows.md`; words of a title, such as `Rapid`, select the measurements.
//!
//! The kernel's columns need root and some minutes of real time; without root they are left out.

use firstflight::Nanos;
use firstflight_lab::flows::{App, Flows, SharingFlow, fairness_ppm};
use firstflight_lab::scenario::Hosts;
use firstflight_lab::testbed::{linux, quic, sim};
use firstflight_lab::{Error, Scenario, Testbed, parse_arms};
use firstflight_path::Path;
use firstflight_sim::tcp;

/// One measurement: a newcomer joins an endless flow.
struct Ground {
    about: &'static str,
    path: &'static str,
    bytes: u64,
    /// The endless flow, by its name in the simulator and in the kernel.
    incumbent: [&'static str; 2],
    newcomer: [&'static str; 2],
}

const CUBIC: [&str; 2] = ["hystart", "kernel:cubic"];
const RENO: [&str; 2] = ["slowstart/reno", "kernel:reno"];

const GROUNDS: [Ground; 5] = [
    Ground {
        about: "CUBIC against CUBIC",
        path: "rate=50Mbit,rtt=40ms,queue=40ms",
        bytes: 40_000_000,
        incumbent: CUBIC,
        newcomer: CUBIC,
    },
    Ground {
        about: "CUBIC against Reno, long RTT",
        path: "rate=20Mbit,rtt=80ms,queue=160ms",
        bytes: 20_000_000,
        incumbent: RENO,
        newcomer: CUBIC,
    },
    Ground {
        about: "HyStart++ against CUBIC",
        path: "rate=100Mbit,rtt=30ms,queue=30ms",
        bytes: 40_000_000,
        incumbent: CUBIC,
        newcomer: ["hystart++", "hystart++"],
    },
    Ground {
        about: "Rapid Start against CUBIC",
        path: "rate=100Mbit,rtt=30ms,queue=30ms",
        bytes: 40_000_000,
        incumbent: CUBIC,
        // Its jump and its growth need a pacer, which the simulator's TCP has only where it is
        // asked for.
        newcomer: ["rapid@(pace=on)", "rapid"],
    },
    Ground {
        about: "SEARCH against CUBIC, queue of 0.25 BDP",
        path: "rate=50Mbit,rtt=60ms,queue=15ms",
        bytes: 40_000_000,
        incumbent: CUBIC,
        newcomer: ["search", "search"],
    },
];

/// When the newcomer starts: the incumbent has long left slow start.
const START: Nanos = Nanos(5_000_000_000);
const EVERY: Nanos = Nanos(10_000_000);
const LIMIT: Nanos = Nanos(90_000_000_000);
/// Trials in virtual time, and in real time.
const SEEDS: u64 = 15;
const ROUNDS: u64 = 3;

/// Measures of one trial.
#[derive(Clone, Copy, Debug)]
struct Measures {
    /// Jain's index of the bytes that both delivered while the newcomer was active.
    jain: f64,
    /// Share of its solo throughput that the incumbent loses in that time.
    harm: f64,
    /// The newcomer's completion time, ms.
    completion: f64,
}

fn flow(arm: &str, app: App, start: Nanos) -> Result<SharingFlow, Error> {
    let arm = parse_arms(arm)?.swap_remove(0);
    Ok(SharingFlow { arm, app, start, rtt_extra: Nanos::ZERO })
}

fn trial(
    bed: &dyn Testbed,
    ground: &Ground,
    which: usize,
    seed: u64,
    hosts: Option<Hosts>,
) -> Result<Measures, Error> {
    let mut scenario = Scenario::new(Path::parse(ground.path)?, ground.bytes).jittered(seed);
    scenario.host = hosts.unwrap_or(scenario.host);
    scenario.limit = LIMIT;
    let flows = [
        flow(ground.incumbent[which], App::Endless, Nanos::ZERO)?,
        flow(ground.newcomer[which], App::Bulk(ground.bytes), START)?,
    ];
    let both =
        bed.run_flows(&scenario, &Flows { sample: Some(EVERY), ..Flows::new(&flows, seed) })?;
    let failed = || Error::new(format!("{}: the newcomer did not finish", ground.about));
    let completion = both.flows[1].delivered_after.ok_or_else(failed)?.0;
    let start = both.starts[1].ok_or_else(failed)?.0;
    let (from, to) = (start.div_ceil(EVERY.0), (start + completion) / EVERY.0);
    let shares = both.between(from as usize, to as usize);
    // An endless flow is not waited for: alone it is one that does not get to its end.
    let alone = [flow(ground.incumbent[which], App::Bulk(1 << 34), Nanos::ZERO)?];
    scenario.limit = Nanos((to + 1) * EVERY.0);
    let alone = bed
        .run_flows(&scenario, &Flows { sample: Some(EVERY), ..Flows::new(&alone, seed) })?
        .between(from as usize, to as usize);
    Ok(Measures {
        jain: f64::from(fairness_ppm(&shares)) / 1e6,
        harm: 1.0 - shares[0] as f64 / alone[0].max(1) as f64,
        completion: completion as f64 / 1e6,
    })
}

/// Median, smallest and largest of one measure.
fn spread(trials: &[Measures], of: fn(&Measures) -> f64) -> [f64; 3] {
    let mut values: Vec<f64> = trials.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

/// A measure on two testbeds and their difference: in percent of the first, or in percentage points
/// for a measure that is a share.
fn row(name: &str, pairs: &[[[f64; 3]; 2]], ratio: bool) -> String {
    let show = |[median, low, high]: [f64; 3]| {
        if ratio {
            format!("{median:.0} ({low:.0} to {high:.0})")
        } else {
            format!("{median:.2} ({low:.2} to {high:.2})")
        }
    };
    let cells = pairs.iter().map(|[simulated, real]| {
        let by = if ratio { real[0] / simulated[0] - 1.0 } else { real[0] - simulated[0] } * 100.0;
        let unit = if ratio { "%" } else { "points" };
        let bold = if by.abs() > 10.0 { "**" } else { "" };
        let by = match format!("{by:+.0}") {
            none if matches!(none.as_str(), "-0" | "+0") => "0".to_owned(),
            by => by,
        };
        let unit =
            if unit == "points" && matches!(by.as_str(), "-1" | "+1") { "point" } else { unit };
        format!(" {} | {} | {bold}{by} {unit}{bold} |", show(*simulated), show(*real))
    });
    format!("| {name} |{}", cells.collect::<String>())
}

const INTRODUCTION: &str = "\
# Do the testbeds agree when flows share a bottleneck?

An endless flow runs alone for 5 s; then a second flow starts and transfers one object. In each title, the second flow
comes first. *Jain* is the fairness index of both flows while the second flow is active. *Harm* is the share of its solo
throughput that the first flow loses in that time. *Completion* is the second flow's completion time.

Two pairs of testbeds are compared: the simulator's TCP (Linux's HyStart, CUBIC or Reno, PRR, RACK) with the kernel's
TCP behind an emulated link, and the simulator's QUIC with noq in virtual time. Each cell shows the median and the range
over 15 seeds in virtual time and over 3 seeds in the kernel. The first lost packet determines most of the result, so
each seed increases the RTT by up to 0.5 ms and delays each start by up to 1 ms. Differences above 10 % or 10 points are
bold and explained at the end.

`sudo cargo run -p firstflight-lab --features quic,linux --example flows > docs/agreement-flows.md` regenerates the
tables.
";

fn main() -> Result<(), Error> {
    println!("{INTRODUCTION}");
    let tcp: Hosts = tcp::Host::default().into();
    let kernel =
        linux::BED.available().and_then(|()| trial(&linux::BED, &GROUNDS[0], 1, 1, Some(tcp)));
    if let Err(why) = &kernel {
        eprintln!("without the kernel: {why}");
    }
    let only = std::env::args().nth(1).unwrap_or_default();
    for ground in GROUNDS.iter().filter(|ground| ground.about.contains(&only)) {
        println!("## {}\n\n`{}`, {} MB\n", ground.about, ground.path, ground.bytes / 1_000_000);
        let several = |bed: &dyn Testbed, which: usize, hosts: Option<Hosts>, count: u64| {
            (1..=count)
                .map(|seed| trial(bed, ground, which, seed, hosts))
                .collect::<Result<Vec<_>, _>>()
        };
        let mut pairs =
            vec![[several(&sim::BED, 0, None, SEEDS)?, several(&quic::BED, 0, None, SEEDS)?]];
        let mut head = "| | sim, QUIC | quic | difference |";
        if kernel.is_ok() {
            pairs.insert(
                0,
                [
                    several(&sim::BED, 0, Some(tcp), SEEDS)?,
                    several(&linux::BED, 1, Some(tcp), ROUNDS)?,
                ],
            );
            head = "| | sim, TCP | linux | difference | sim, QUIC | quic | difference |";
        }
        println!("{head}\n|---|{}", "---|".repeat(3 * pairs.len()));
        let of = |of: fn(&Measures) -> f64| -> Vec<[[f64; 3]; 2]> {
            pairs.iter().map(|pair| [spread(&pair[0], of), spread(&pair[1], of)]).collect()
        };
        println!("{}", row("Jain", &of(|trial| trial.jain), false));
        println!("{}", row("harm", &of(|trial| trial.harm), false));
        println!("{}\n", row("completion, ms", &of(|trial| trial.completion), true));
    }
    Ok(())
}
