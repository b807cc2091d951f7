//! Rows 4.2.1 to 4.2.5: benchmarks on paths of microseconds.

use super::upload::{OFF, ON};
use crate::lab::{Sender, Vary, arm, together};
use crate::sample::{Interval, bootstrap, mean, sum};
use crate::{Effort, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_path::random::{Purpose, Stream};
use firstflight_sim::{App, tcp};
use rayon::prelude::*;

const RENO: &str = "slowstart/reno/sack(inflate=3)";
/// Our default configuration: the kernel's profile, which is inactive below 16 segments and has the ACK-train test.
const SHIPPED: &str = "hystart/cubic/prr";

/// A benchmark set-up: RTT, buffer, and quantisation of the ACK clock.
#[derive(Clone, Copy)]
struct Rig {
    rtt_us: u64,
    buffer_kb: u64,
    tick_us: u64,
    flows: u32,
}

impl Rig {
    fn name(self) -> String {
        format!(
            "RTT {} us, buffer {} kB, ACKs every {} us, {} flows",
            self.rtt_us, self.buffer_kb, self.tick_us, self.flows
        )
    }

    fn ground(self, ms: u64) -> Result<Scenario, Error> {
        let offload = if self.tick_us > 0 {
            format!(",return=first:{0}us:1000,gro={0}us:64kB", self.tick_us)
        } else {
            String::new()
        };
        let text = format!("rate=10Gbit,rtt={}us,queue={}kB{offload}", self.rtt_us, self.buffer_kb);
        let limit = Nanos::from_millis(ms);
        Ok(Scenario {
            host: Hosts::from(tcp::Host::default()),
            limit,
            ..Scenario::new(Path::parse(&text)?, 1)
        })
    }
}

/// Total goodput of all flows, Gbit/s, and exits by delay or train while the link was not full.
fn run(rig: Rig, text: &str, ms: u64, seed: u64) -> Result<(f64, u64), Error> {
    let ground = rig.ground(ms)?;
    let named = arm(text)?;
    // Real flows do not start at the same nanosecond.
    let starts = Stream::new(seed, 0, Purpose::FlowStart);
    let start = |flow: u32| Nanos(starts.value(u64::from(flow)) % (rig.rtt_us * 1000));
    let senders = (0..rig.flows).map(|flow| Sender {
        arm: &named,
        app: App::Bulk(1 << 40),
        start: start(flow),
    });
    let done = together(&ground, senders.collect(), seed, Vary::Nothing(0), None)?;
    let delivered: u64 = done.flows.iter().map(|flow| flow.delivered).sum();
    let bdp = ground.path.bdp_bytes() / u64::from(rig.flows);
    let early = done.flows.iter().filter_map(|flow| flow.exit).filter(|exit| {
        matches!(exit.reason, firstflight::ExitReason::Delay | firstflight::ExitReason::Train)
            && exit.detect_cwnd < bdp / 2
    });
    Ok((delivered as f64 * 8.0 / (ms as f64 * 1e6), early.count() as u64))
}

/// Results of all seeds, for several arms and set-ups.
struct Bench {
    arms: usize,
    seeds: usize,
    all: Vec<(f64, u64)>,
}

impl Bench {
    fn run(rigs: &[Rig], arms: &[&str], ms: u64, seeds: u32) -> Result<Bench, Error> {
        let jobs: Vec<(usize, usize, u64)> = (0..rigs.len())
            .flat_map(|rig| {
                (0..arms.len())
                    .flat_map(move |arm| (1..=u64::from(seeds)).map(move |seed| (rig, arm, seed)))
            })
            .collect();
        let all = jobs
            .into_par_iter()
            .with_max_len(1)
            .map(|(rig, arm, seed)| run(rigs[rig], arms[arm], ms, seed))
            .collect::<Result<_, Error>>()?;
        Ok(Bench { arms: arms.len(), seeds: seeds as usize, all })
    }

    fn of(&self, rig: usize, arm: usize) -> &[(f64, u64)] {
        let from = (rig * self.arms + arm) * self.seeds;
        &self.all[from..from + self.seeds]
    }

    /// Change of goodput of one arm relative to another, percent.
    fn change(&self, rig: usize, arm: usize, base: usize) -> Interval {
        let (a, b) = (self.of(rig, arm), self.of(rig, base));
        bootstrap(self.seeds, |units| {
            100.0 * (mean(units, |i| a[i].0) / mean(units, |i| b[i].0) - 1.0)
        })
    }
}

pub(super) fn values(effort: &Effort<'_>) -> Result<Values, Error> {
    effort.tell("gvisor: benchmarks of one flow");
    let (ms, seeds) = (effort.either(200, 1000), effort.sample("gvisor.near"));
    let mut rigs = Vec::new();
    for rtt_us in effort.either(vec![50, 500], vec![10, 50, 100, 500]) {
        for buffer_kb in [256, 1000] {
            for tick_us in [0, 20, 60] {
                rigs.push(Rig { rtt_us, buffer_kb, tick_us, flows: 1 });
            }
        }
    }
    let bench = Bench::run(&rigs, &[OFF, ON], ms, seeds)?;
    let whole = bootstrap(bench.seeds, |units| {
        let logs = (0..rigs.len()).map(|rig| {
            let of = |arm: usize| sum(units, |i| bench.of(rig, arm)[i].0);
            (of(1) / of(0)).ln()
        });
        100.0 * ((logs.sum::<f64>() / rigs.len() as f64).exp() - 1.0)
    });
    let changes: Vec<Interval> = (0..rigs.len()).map(|rig| bench.change(rig, 1, 0)).collect();
    let worst =
        changes.iter().enumerate().max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()));
    let (at, worst) = worst.map_or((0, Interval::from(0.0)), |(at, worst)| (at, *worst));
    let points = rigs
        .iter()
        .zip(&changes)
        .map(|(rig, change)| (rig.name(), format!("{:+.2} %", change.value)));
    let quantised = |with: bool| {
        let logs: Vec<f64> = (0..rigs.len())
            .filter(|&rig| (rigs[rig].tick_us > 0) == with)
            .map(|rig| (1.0 + changes[rig].value / 100.0).ln())
            .collect();
        100.0 * ((logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp() - 1.0)
    };
    let note = format!(
        "geometric mean {:+.2} % without and {:+.2} % with a quantised ACK clock: the quantised clock and the length of the run decide; a \
         false exit slows down only the first part of a run",
        quantised(false),
        quantised(true)
    );
    let mut values = Values::default();
    values.number("near.whole", whole).case("one flow").note(note).sweep(points);
    values.number("near.worst", worst).case(rigs[at].name());
    values.extend(sixteen(effort, ms, seeds)?);
    values.extend(reno(effort, ms, seeds)?);
    values.extend(integers()?);
    Ok(values)
}

/// Row 4.2.3.
fn sixteen(effort: &Effort<'_>, ms: u64, seeds: u32) -> Result<Values, Error> {
    effort.tell("gvisor: benchmarks of sixteen flows");
    let mut rigs = Vec::new();
    for rtt_us in [50, 500] {
        for (buffer_kb, tick_us) in [(256, 0), (1000, 60)] {
            rigs.push(Rig { rtt_us, buffer_kb, tick_us, flows: 16 });
        }
    }
    let bench = Bench::run(&rigs, &[OFF, ON, "slowstart/cubic/prr", SHIPPED], ms, seeds)?;
    let worst = |arm: usize, base: usize| {
        let all = (0..rigs.len()).map(|rig| (rig, bench.change(rig, arm, base)));
        all.min_by(|a, b| a.1.value.total_cmp(&b.1.value)).unwrap_or((0, 0.0.into()))
    };
    let (at, published) = worst(1, 0);
    let false_exits: u64 = (0..rigs.len()).flat_map(|rig| bench.of(rig, 1)).map(|one| one.1).sum();
    let runs = rigs.len() as u64 * u64::from(seeds) * 16;
    let (at_shipped, shipped) = worst(3, 2);
    let points = (0..rigs.len()).map(|rig| {
        let told = format!(
            "gVisor's profile {:+.1} %, shipped {:+.1} %",
            bench.change(rig, 1, 0).value,
            bench.change(rig, 3, 2).value
        );
        (rigs[rig].name(), told)
    });
    let mut values = Values::default();
    values
        .number("near.sixteen.published", published)
        .case(rigs[at].name())
        .note(format!("{false_exits} of {runs} flows exited by delay or train below half of their share of the BDP"))
        .sweep(points);
    values.number("near.sixteen.shipped", shipped).case(rigs[at_shipped].name());
    Ok(values)
}

/// Row 4.2.4.
fn reno(effort: &Effort<'_>, ms: u64, seeds: u32) -> Result<Values, Error> {
    effort.tell("gvisor: CUBIC and Reno below 5 ms");
    let rigs: Vec<Rig> = effort
        .either(vec![500, 5000], vec![100, 500, 1000, 2000, 5000])
        .into_iter()
        .map(|rtt_us| Rig { rtt_us, buffer_kb: 1000, tick_us: 0, flows: 1 })
        .collect();
    let bench = Bench::run(&rigs, &[RENO, OFF, ON], ms, seeds)?;
    let mut values = Values::default();
    for (arm, name) in [(1, "cubic"), (2, "hystart")] {
        let all = (0..rigs.len()).map(|rig| (rig, bench.change(rig, arm, 0)));
        let (at, worst) = all
            .max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()))
            .unwrap_or((0, 0.0.into()));
        let points = (0..rigs.len())
            .map(|rig| (rigs[rig].name(), format!("{:+.2} %", bench.change(rig, arm, 0).value)));
        values.number(format!("near.{name}_over_reno"), worst).case(rigs[at].name()).sweep(points);
    }
    Ok(values)
}

/// Row 4.2.5: the algorithms use integers (the lint against floats is an error in the core and the
/// simulator), so that the same ACKs give the same window on every machine.
pub(super) fn integers() -> Result<Values, Error> {
    let rig = Rig { rtt_us: 500, buffer_kb: 256, tick_us: 20, flows: 4 };
    let twice = [1, 2].map(|_| run(rig, ON, 20, 1));
    let [first, second] = twice;
    let (first, second) = (first?.0, second?.0);
    let holds = first.to_bits() == second.to_bits();
    let due = "the same bits; float arithmetic refused by the compiler in core and simulator";
    let mut values = Values::default();
    values
        .exact("near.same_bits", format!("{first} and {second} Gbit/s"), due, holds)
        .case("gVisor's profile, CUBIC in integers");
    Ok(values)
}
