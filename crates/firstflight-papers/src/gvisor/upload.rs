//! Rows 4.1.1 to 4.1.5: the upload, block by block.

use crate::figure::{Figure, Series, Shape, axis};
use crate::grid::each_seed;
use crate::lab::{Sender, Vary, arm, together};
use crate::sample::{Interval, bootstrap, mean};
use crate::source::published;
use crate::{Effort, Measured, Source, Try, Value, Values};
use firstflight::{Nanos, Time};
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::app::intervals;
use firstflight_sim::{App, tcp};

/// gVisor's CUBIC and loss repair, without and with HyStart.
pub(super) const OFF: &str = "slowstart/cubic/sack(inflate=3)";
pub(super) const ON: &str = "hystart-gvisor/cubic/sack(inflate=3)";

const QUEUES: [&str; 5] = ["0.25bdp", "0.5bdp", "1bdp", "1.5bdp", "2bdp"];
/// Sampling interval of delivered bytes.
const SAMPLE: Nanos = Nanos::from_millis(250);

/// Configuration of the hosts.
#[derive(Clone, Copy)]
struct Stack {
    mss: u32,
    preset: &'static str,
    off: &'static str,
    on: &'static str,
    buffer: u64,
    /// The path, without its queue.
    path: &'static str,
}

/// Send buffers, from the 3 MB that the first interval implies to twice as much.
const BUFFERS: [u64; 4] = [3_000_000, 3 << 20, 4 << 20, 6_000_000];

/// The built-in path, whose bottleneck rate is the plateau of the plot, and the same path with that rate as
/// payload rate.
const PATH: &str = "gvisor";
const PAYLOAD_PATH: &str = "gvisor,rate=88570kbit";

const PRIMARY: Stack =
    Stack { mss: 1448, preset: "rack", off: OFF, on: ON, buffer: BUFFERS[0], path: PATH };

/// Output of one run of the tool.
#[derive(Clone)]
struct Upload {
    /// Rate of each printed interval, Mbit/s.
    rates: Vec<f64>,
    total: f64,
    dropped: u64,
    rtos: u64,
    /// Bytes delivered in each quarter of a second.
    quarters: Vec<u64>,
    exit_bdp: Option<f64>,
}

impl Upload {
    fn rate(&self, interval: usize) -> f64 {
        self.rates.get(interval).copied().unwrap_or(f64::NAN)
    }

    /// Start of the quarter second with the lowest rate, s, after nine tenths of the path's rate were reached.
    fn dip(&self) -> f64 {
        let full = (0.9 * 85.5e6 / 8.0 * 1448.0 / 1500.0 * 0.25) as u64;
        let reached = self.quarters.iter().position(|&bytes| bytes >= full).unwrap_or(4);
        let lowest =
            self.quarters.iter().enumerate().skip(reached).min_by_key(|(_, bytes)| **bytes);
        lowest.map_or(f64::NAN, |(quarter, _)| quarter as f64 * 0.25)
    }

    /// Rate of delivery in the last three seconds, Mbit/s.
    fn late(&self) -> f64 {
        let last = &self.quarters[self.quarters.len().saturating_sub(12)..];
        last.iter().sum::<u64>() as f64 * 8e-6 / (last.len() as f64 * 0.25)
    }
}

fn run(queue: &str, stack: Stack, with: bool, seconds: u64, seed: u64) -> Result<Upload, Error> {
    let preset = *firstflight::detection::presets::Preset::named(stack.preset)
        .ok_or_else(|| Error::new(stack.preset))?;
    let host = tcp::Host {
        mss: stack.mss,
        send_buffer: tcp::Buffer::Payload(stack.buffer),
        ..tcp::Host::with_preset(preset)
    };
    let path = Path::parse(&format!("{},queue={queue}", stack.path))?;
    let bdp = path.bdp_bytes() as f64;
    let ground = Scenario {
        host: Hosts::from(host),
        limit: Nanos::from_secs(4 * seconds),
        ..Scenario::new(path, 1)
    };
    let named = arm(if with { stack.on } else { stack.off })?;
    let app = App::Blocks { block: 2 << 20, run: Nanos::from_secs(seconds) };
    let sender = Sender { arm: &named, app, start: Nanos::ZERO };
    let mut all = together(&ground, vec![sender], seed, Vary::Rtt, Some(SAMPLE))?;
    let outcome = all.flows.remove(0);
    let report = intervals(&outcome.parts, Time(0), Nanos::from_secs(1));
    let rate = |bytes: u64, time: Nanos| bytes as f64 * 8e3 / time.0.max(1) as f64;
    let end = report.last().map_or(Nanos::ZERO, |last| last.to);
    let delivered: Vec<u64> = all.delivered.iter().map(|sample| sample[0]).collect();
    Ok(Upload {
        rates: report.iter().map(|one| rate(one.bytes, Nanos(one.to.0 - one.from.0))).collect(),
        total: rate(report.iter().map(|one| one.bytes).sum(), end),
        dropped: outcome.counters.packets_dropped,
        rtos: outcome.counters.rtos,
        quarters: delivered.windows(2).map(|pair| pair[1] - pair[0]).collect(),
        exit_bdp: outcome.exit.map(|exit| exit.detect_cwnd as f64 / bdp),
    })
}

/// Runs of all seeds, with HyStart off and on.
struct Pair {
    off: Vec<Upload>,
    on: Vec<Upload>,
}

impl Pair {
    fn run(
        effort: &Effort<'_>,
        queue: &str,
        stack: Stack,
        seconds: u64,
        seeds: u32,
    ) -> Result<Pair, Error> {
        let all = |with| each_seed(effort, seeds, |seed| run(queue, stack, with, seconds, seed));
        Ok(Pair { off: all(false)?, on: all(true)? })
    }

    fn of(&self, runs: fn(&Pair) -> &[Upload], read: impl Fn(&Upload) -> f64) -> Interval {
        let runs = runs(self);
        bootstrap(runs.len(), |units| mean(units, |i| read(&runs[i])))
    }

    fn ratio(&self, read: impl Fn(&Upload) -> f64) -> Interval {
        bootstrap(self.off.len(), |units| {
            mean(units, |i| read(&self.on[i])) / mean(units, |i| read(&self.off[i]))
        })
    }

    fn told(&self) -> String {
        format!("off {}; on {}", line(&self.off), line(&self.on))
    }
}

/// The mean over the seeds that have the value.
fn average(runs: &[Upload], read: impl Fn(&Upload) -> f64) -> f64 {
    let all: Vec<f64> = runs.iter().map(read).filter(|value| value.is_finite()).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Sum of squared relative errors of an off run compared with the printed values.
fn error(runs: &[Upload]) -> f64 {
    let ours = [0, 1, 2].map(|interval| average(runs, |run| run.rate(interval)));
    let [intervals, total] =
        ["printed.off", "printed.off.total"].map(|name| &published("gvisor", name).values);
    let printed = intervals.iter().take(3).chain(total);
    let each = ours.into_iter().chain([average(runs, |run| run.total)]).zip(printed);
    // A missing interval counts as an error of 100 %.
    each.map(|(ours, printed)| if ours.is_nan() { 1.0 } else { (ours / printed - 1.0).powi(2) })
        .sum()
}

/// Describes a run.
fn line(runs: &[Upload]) -> String {
    let shown =
        |rate: f64| if rate.is_nan() { "no interval".to_owned() } else { format!("{rate:.1}") };
    let rates: Vec<String> =
        (0..3).map(|interval| shown(average(runs, |run| run.rate(interval)))).collect();
    let exit = average(runs, |run| run.exit_bdp.unwrap_or(f64::NAN));
    let left = if exit.is_nan() { "no exit".to_owned() } else { format!("exit at {exit:.2} BDP") };
    format!(
        "{} total {:.1} Mbit/s, {:.0} dropped, {:.1} timeouts, {left}",
        rates.join(" / "),
        average(runs, |run| run.total),
        average(runs, |run| run.dropped as f64),
        average(runs, |run| run.rtos as f64)
    )
}

fn off(pair: &Pair) -> &[Upload] {
    &pair.off
}

fn on(pair: &Pair) -> &[Upload] {
    &pair.on
}

/// A set-up with its name and the runs of both arms.
struct Fitted {
    stack: Stack,
    case: String,
    three: Pair,
    ten: Pair,
}

impl Fitted {
    fn new(
        effort: &Effort<'_>,
        repair: &str,
        queue: &'static str,
        stack: Stack,
        seeds: u32,
    ) -> Result<Fitted, Error> {
        let case = setting(repair, queue, stack);
        Ok(Fitted {
            stack,
            case,
            three: Pair::run(effort, queue, stack, 3, seeds)?,
            ten: Pair::run(effort, queue, stack, 10, seeds)?,
        })
    }
}

pub(super) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    effort.tell("gvisor: the fit on the off run");
    let seeds = effort.sample("gvisor.fit");
    let mut tried = Vec::new();
    for (name, preset) in REPAIRS {
        for buffer in BUFFERS {
            for queue in QUEUES {
                let stack = Stack { preset, buffer, ..PRIMARY };
                tried.push((
                    name,
                    queue,
                    stack,
                    each_seed(effort, seeds, |seed| run(queue, stack, false, 3, seed))?,
                ));
            }
        }
    }
    let swept: Vec<(String, String)> = tried
        .iter()
        .map(|(name, queue, stack, runs)| {
            (setting(name, queue, *stack), format!("error {:.2}: off {}", error(runs), line(runs)))
        })
        .collect();
    let best = (0..tried.len())
        .min_by(|&a, &b| error(&tried[a].3).total_cmp(&error(&tried[b].3)))
        .unwrap_or(0);
    let (name, queue, stack, _) = tried.swap_remove(best);
    effort.tell("gvisor: uploads of 3 and 10 s");
    let fitted = Fitted::new(effort, name, queue, stack, seeds)?;
    let mut values = seen(&fitted);
    let mut note = format!(
        "fitted to the off run alone, over queue, repair and send buffer: {}, squared error {:.2}; the on run is a prediction",
        fitted.case,
        error(&fitted.three.off)
    );
    if error(&fitted.three.off) > 0.5 {
        note += "; no set-up of the fit comes close to the printed values";
    }
    for value in values.named_mut("upload.total.ratio") {
        value.note(&note).sweep(swept.clone());
    }
    if values.iter().any(|value| !source.holds(value)) {
        effort.tell("gvisor: other set-ups");
        let others = others(effort, stack)?;
        for value in values.iter_mut().filter(|value| !source.holds(value)) {
            let tries = tries(source, value, &others);
            value.tried(&tries);
        }
    }
    Ok(Measured { values, figures: vec![picture(&fitted)], ..Measured::default() })
}

/// Loss detection and repair in the fit.
const REPAIRS: [(&str, &str); 3] = [
    ("RACK", "rack"),
    ("RFC 6675, timeout of at least 200 ms", "sack6675"),
    ("RFC 6675, timeout of at least 300 ms", "windows"),
];

fn setting(repair: &str, queue: &str, stack: Stack) -> String {
    format!("{repair}, queue {queue}, send buffer {:.2} MB", stack.buffer as f64 / 1e6)
}

/// Other loss repair and other hosts with several queue sizes, each with all values and fewer seeds.
fn others(effort: &Effort<'_>, fitted: Stack) -> Result<Vec<(String, Values)>, Error> {
    let stacks =
        REPAIRS.map(|(name, preset)| (name, Stack { preset, ..fitted })).into_iter().chain([
            ("MSS 1228 (tunnel of 1280 bytes)", Stack { mss: 1228, ..fitted }),
            ("85.5 Mbit/s of payload", Stack { path: PAYLOAD_PATH, ..fitted }),
            (
                "Linux 2.6, rate halving",
                Stack {
                    preset: "linux26",
                    off: "slowstart/cubic/halving",
                    on: "hystart-gvisor/cubic/halving",
                    ..fitted
                },
            ),
            ("no SACK", Stack { preset: "reno", ..fitted }),
            ("PRR", Stack { off: "slowstart/cubic/prr", on: "hystart-gvisor/cubic/prr", ..fitted }),
        ]);
    let mut all = Vec::new();
    for (name, stack) in stacks {
        for queue in effort.either(vec!["1bdp"], vec!["0.5bdp", "1bdp", "1.5bdp"]) {
            let fitted = Fitted::new(effort, name, queue, stack, effort.sample("gvisor.flips"))?;
            all.push((setting(name, queue, stack), seen(&fitted)));
        }
    }
    Ok(all)
}

/// A value under the other set-ups.
fn tries(source: &Source, value: &Value, others: &[(String, Values)]) -> Vec<Try> {
    let one = |(name, values): &(String, Values)| {
        let same = values.iter().find(|other| other.name == value.name)?;
        let ours = source.rows_of(same).next()?.ours;
        Some(Try { setting: name.clone(), ours, flips: source.holds(same) })
    };
    others.iter().filter_map(one).collect()
}

fn picture(of: &Fitted) -> Figure {
    let delivered = |runs: &[Upload]| -> Vec<[f64; 2]> {
        let quarters = runs.iter().map(|run| run.quarters.len()).max().unwrap_or(0);
        let mean = |quarter: usize| {
            runs.iter().filter_map(|run| run.quarters.get(quarter)).sum::<u64>() as f64
                / runs.len().max(1) as f64
        };
        // The last one is cut short by the end of the run.
        (0..quarters.saturating_sub(1).min(40))
            .map(|quarter| [quarter as f64 * 0.25, mean(quarter) * 8e-6 / 0.25])
            .collect()
    };
    Figure::new(
            "Throughput of the upload over time",
            &["4.1.1", "4.1.2", "4.1.3", "4.1.5"],
            Shape::Step,
            axis("time, s").from_zero(),
            axis("delivered, Mbit/s").from_zero(),
        )
        .how(format!(
            "Ours: the run of 10 s, {}, detection preset {}, a mean over the seeds per quarter of a second. Published: the intervals that the tool printed for a run of 3 s; \
             it counts what the socket took, which runs ahead of what arrives.",
            of.case, of.stack.preset
        ))
        .with([
            Series::ours("without HyStart", delivered(&of.ten.off)),
            Series::ours("with HyStart", delivered(&of.ten.on)),
            Series::published("printed, without", published("gvisor", "printed.off").points())
                .dots(false).hue(0),
            Series::published("printed, with", published("gvisor", "printed.on").points())
                .dots(false).hue(1),
        ])
}

/// Values for the claims, under one set-up.
fn seen(fitted: &Fitted) -> Values {
    let Fitted { three, ten, .. } = fitted;
    let mut values = Values::default();
    values.number("upload.total.ratio", three.ratio(|run| run.total));
    values.number("upload.off.dip", ten.of(off, Upload::dip));
    values.number("upload.off.dropped", three.of(off, |run| run.dropped as f64));
    values.number("upload.off.total", three.of(off, |run| run.total)).note(three.told());
    values.number("upload.off.third", three.of(off, |run| run.rate(2) / run.rate(1)));
    values.number("upload.on.dropped", three.of(on, |run| run.dropped as f64));
    values.number("upload.on.second", three.of(on, |run| run.rate(1)));
    values.number("upload.on.third", three.of(on, |run| run.rate(2)));
    values.number("upload.on.total", three.of(on, |run| run.total));
    values.number("upload.first.ratio", three.ratio(|run| run.rate(0)));
    values.number("upload.long.nearer", nearer(three, ten));
    values.number("upload.long.total.ratio", ten.ratio(|run| run.total));
    values.number("upload.long.late.ratio", ten.ratio(Upload::late)).note(ten.told());
    values.of_case(&fitted.case)
}

/// Distance of the long run's ratio from 1, minus that of the short run.
fn nearer(three: &Pair, ten: &Pair) -> Interval {
    let ratio = |pair: &Pair, units: &[usize]| {
        mean(units, |i| pair.on[i].total) / mean(units, |i| pair.off[i].total)
    };
    bootstrap(three.off.len(), |units| {
        (ratio(ten, units) - 1.0).abs() - (ratio(three, units) - 1.0).abs()
    })
}
