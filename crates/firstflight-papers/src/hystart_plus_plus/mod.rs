//! HyStart++ draft-03: the laboratory figures of the tcpm interim of April 2020.

mod cell;
mod mechanism;
mod several;
pub mod together;

use super::figure::{Figure, Series, Shape, axis};
use super::grid::{Grid, grid};
use super::lab::goodput_mbps;
use super::sample::{Interval, bootstrap, mean, quantile, sum};
use super::{Effort, Measured, Source, Values};
use cell::{MSS, NAMES, RTTS};
use firstflight::startup::hystart_plus_plus::{HyStartPlusPlus, Params};
use firstflight::startup::{Startup, Verdict as Concluded};
use firstflight::{Ack, Config, Context, Nanos, Seq, SoFar, Time, Window};
use firstflight_lab::Error;
use firstflight_lab::scenario::{Scenario, hosts_of_tcp};
use firstflight_path::Path;
use firstflight_sim::Outcome;

const PLAIN: usize = 0;
const DRAFT03: usize = 1;
/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &["slowstart", "hystart++-draft03", "hystart++", "hystart"];
/// Arm of the second run, with a cap of two segments per ACK; plain slow start has no cap in the document or here.
const CAPPED: &[&str] = &["slowstart", "hystart++-draft03(cap=2)", "hystart++(cap=2)", "hystart"];
const SHORT: [u64; 5] = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
const LONG: [u64; 2] = [50_000_000, 100_000_000];
const SIZES: usize = SHORT.len() + LONG.len();

/// Result of a trial for these rows.
#[derive(Clone, Copy, Debug)]
struct Seen {
    goodput: f64,
    repeated: f64,
    rtos: f64,
    recoveries: f64,
    timed_out: f64,
    repair_ms: Option<f64>,
}

impl Seen {
    fn of(ground: &Scenario, outcome: &Outcome) -> Seen {
        let repaired = outcome
            .episodes
            .first()
            .and_then(|first| first.repaired.map(|at| at.since(first.start).0 as f64 / 1e6));
        Seen {
            goodput: goodput_mbps(outcome, ground.bytes),
            repeated: outcome.counters.retransmitted_bytes as f64,
            rtos: outcome.counters.rtos as f64,
            recoveries: outcome.counters.recoveries as f64,
            timed_out: outcome.counters.recoveries_timed_out as f64,
            repair_ms: repaired,
        }
    }
}

/// All cells with one loss detection.
struct Lab {
    grid: Grid<Seen>,
    seeds: u32,
}

/// Gain of one arm over plain slow start for one size: of the mean and of the 90th percentile, percent.
#[derive(Clone, Copy, Debug)]
struct Gain {
    bytes: u64,
    mean: Interval,
    p90: Interval,
}

impl Lab {
    fn run(effort: &Effort<'_>, detection: &str, arms: &[&str]) -> Result<Lab, Error> {
        let host = hosts_of_tcp(detection)?;
        let mut cells = Vec::new();
        for rtt in RTTS {
            for bytes in SHORT.into_iter().chain(LONG) {
                let path = Path::parse(&format!("hystart++-{rtt}ms"))?;
                cells.push(Scenario {
                    host,
                    limit: Nanos::from_secs(300),
                    ..Scenario::new(path, bytes)
                });
            }
        }
        // Reported only: fewer seeds than a gate needs.
        let seeds = effort.sample("hystart.single");
        let what = format!(
            "hystart++: {} trials with preset {detection}",
            cells.len() * ARMS.len() * seeds as usize
        );
        Ok(Lab { grid: grid(effort, &what, &cells, arms, seeds, Seen::of)?, seeds })
    }

    fn cell(&self, rtt: usize, size: usize, arm: usize) -> &[Seen] {
        self.grid.of(rtt * SIZES + size, arm)
    }

    fn gain(&self, rtt: usize, size: usize, arm: usize) -> Gain {
        let (ours, plain) = (self.cell(rtt, size, arm), self.cell(rtt, size, PLAIN));
        let n = self.seeds as usize;
        let percent = |a: f64, b: f64| 100.0 * (a / b - 1.0);
        Gain {
            bytes: SHORT.into_iter().chain(LONG).nth(size).unwrap_or(0),
            mean: bootstrap(n, |u| {
                percent(mean(u, |i| ours[i].goodput), mean(u, |i| plain[i].goodput))
            }),
            p90: bootstrap(n, |u| {
                percent(
                    quantile(u, 0.9, |i| ours[i].goodput),
                    quantile(u, 0.9, |i| plain[i].goodput),
                )
            }),
        }
    }

    /// The size with the largest gain among the short or the long sizes.
    fn best(&self, rtt: usize, arm: usize, sizes: std::ops::Range<usize>) -> Gain {
        let gains = sizes.map(|size| self.gain(rtt, size, arm));
        gains.max_by(|a, b| a.mean.value.total_cmp(&b.mean.value)).expect("there are sizes")
    }

    /// The ratio of a quantity to that of plain slow start, all cells pooled.
    fn pooled(&self, arm: usize, read: fn(&Seen) -> f64) -> Interval {
        let total = |units: &[usize], arm: usize| {
            let cells = (0..RTTS.len() * SIZES).map(|cell| self.grid.of(cell, arm));
            cells.map(|seen| sum(units, |i| read(&seen[i]))).sum::<f64>()
        };
        bootstrap(self.seeds as usize, |units| total(units, arm) / total(units, PLAIN))
    }

    fn total(&self, arm: usize, read: fn(&Seen) -> f64) -> f64 {
        (0..RTTS.len() * SIZES).flat_map(|cell| self.grid.of(cell, arm)).map(read).sum()
    }

    /// Share of recoveries that ended without a timeout, minus that of plain slow start, percentage points.
    fn success(&self, arm: usize) -> (f64, Interval) {
        let share = |units: &[usize], arm: usize| {
            let cells: Vec<&[Seen]> =
                (0..RTTS.len() * SIZES).map(|cell| self.grid.of(cell, arm)).collect();
            let of = |read: fn(&Seen) -> f64| {
                cells.iter().map(|seen| sum(units, |i| read(&seen[i]))).sum::<f64>()
            };
            100.0 * (1.0 - of(|seen| seen.timed_out) / of(|seen| seen.recoveries))
        };
        let all: Vec<usize> = (0..self.seeds as usize).collect();
        (
            share(&all, arm),
            bootstrap(self.seeds as usize, |units| share(units, arm) - share(units, PLAIN)),
        )
    }

    /// Gains of every size and arm, as text.
    fn sweep(&self, rtt: usize, sizes: std::ops::Range<usize>) -> Vec<(String, String)> {
        sizes
            .map(|size| {
                let gains: Vec<String> = (DRAFT03..ARMS.len())
                    .map(|arm| {
                        format!("{} {:+.1} %", NAMES[arm], self.gain(rtt, size, arm).mean.value)
                    })
                    .collect();
                (megabytes(self.gain(rtt, size, PLAIN).bytes), gains.join(", "))
            })
            .collect()
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes as f64 / 1e6)
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut measured = together::measured(effort)?;
    // One flow is only reported: no such set-up shows the published pattern.
    let single = Lab::run(effort, "windows", ARMS)?;
    let second = Lab::run(effort, "rack", ARMS)?;
    let capped = Lab::run(effort, "windows", CAPPED)?;
    let fine = RTTS
        .into_iter()
        .map(|rtt| several::finer(effort, rtt))
        .collect::<Result<Vec<_>, Error>>()?;
    let values = &mut measured.values;
    values.extend(goodput(&single, &fine));
    values.extend(repair(&single));
    values.extend(second_run(&second, "rack").of_case("one flow, RACK and probes"));
    values.extend(second_run(&capped, "capped").of_case("one flow, L = 2"));
    values.extend(several::others(effort)?);
    values.extend(several::fairness(effort, source)?);
    values.extend(unit_values());
    values.extend(several::histogram(effort, source)?);
    measured.figures.push(gains_by_size(&single, &fine));
    Ok(measured)
}

/// Figure of the gain of -03 by object size, with a curve per RTT.
fn gains_by_size(lab: &Lab, fine: &[several::Gains]) -> Figure {
    let curve = |(index, gains): (usize, &several::Gains)| {
        let assumed = (0..SIZES)
            .map(|size| lab.gain(index, size, DRAFT03))
            .map(|gain| (gain.bytes as f64, gain.mean.value));
        let mut points: Vec<[f64; 2]> = assumed
            .chain(gains.by_size.iter().copied())
            .map(|(bytes, gain)| [bytes / 1e6, gain])
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Series::ours(format!("{} ms", gains.rtt), points)
    };
    Figure::new(
        "Gain of HyStart++ -03 over plain slow start, one flow, by object size",
        &["1.1", "1.2", "1.3"],
        Shape::Line,
        axis("object, MB").log(),
        axis("gain of mean goodput, %"),
    )
    .how(
        "100 Mbit/s, a buffer of one BDP, one flow with SACK and PRR. A gain is where an object ends while plain slow start still repairs its \
         overshoot. Published for short flows at 100 ms: up to 39 %.",
    )
    .with(fine.iter().enumerate().map(curve))
    .band("published, 100 ms, best", 39.0, 39.0)
}

fn goodput(lab: &Lab, fine: &[several::Gains]) -> Values {
    let (short, long) =
        (lab.best(0, DRAFT03, 0..SHORT.len()), lab.best(0, DRAFT03, SHORT.len()..SIZES));
    let case = |rtt: u64, gain: &Gain| format!("one flow, {rtt} ms, {}", megabytes(gain.bytes));
    let mut values = Values::default();
    for (name, gain) in [("mean", short.mean), ("p90", short.p90)] {
        values
            .number(format!("single.short.{name}"), gain)
            .case(case(100, &short))
            .sweep(fine.iter().flat_map(several::told));
    }
    for (name, gain) in [("mean", long.mean), ("p90", long.p90)] {
        values.number(format!("single.long.{name}"), gain).case(case(100, &long));
    }
    // Both gains come from the same seeds, but from different cells: the wider of the two intervals
    // bounds the difference.
    let less = |small: &Gain| Interval {
        value: small.mean.value - short.mean.value,
        low: small.mean.low - short.mean.high,
        high: small.mean.high - short.mean.low,
    };
    values
        .number("single.long.less", less(&long))
        .case(case(100, &long))
        .sweep(lab.sweep(0, SHORT.len()..SIZES));
    for (index, rtt) in [(1, 50), (2, 25)] {
        let gain = lab.best(index, DRAFT03, 0..SIZES);
        values
            .number("single.less", less(&gain))
            .case(case(rtt, &gain))
            .sweep(lab.sweep(index, 0..SIZES));
        let took = |arm| {
            let seen = (0..SIZES)
                .flat_map(|size| lab.cell(index, size, arm))
                .filter_map(|seen| seen.repair_ms);
            let all: Vec<f64> = seen.collect();
            if all.is_empty() {
                "none to repair".into()
            } else {
                format!("{:.0} ms", all.iter().sum::<f64>() / all.len() as f64)
            }
        };
        let told = format!(
            "first repair takes {} with plain slow start, {} with -03",
            took(PLAIN),
            took(DRAFT03)
        );
        values.number("single.best", gain.mean).case(case(rtt, &gain)).note(told);
    }
    values
}

fn repair(lab: &Lab) -> Values {
    let others = |read: fn(&Seen) -> f64| {
        (DRAFT03 + 1..ARMS.len())
            .map(move |arm| (NAMES[arm].to_owned(), format!("{:.3}", lab.pooled(arm, read).value)))
    };
    let mut values = Values::default();
    let repeated: fn(&Seen) -> f64 = |seen| seen.repeated;
    values.number("single.bytes", lab.pooled(DRAFT03, repeated)).sweep(others(repeated));
    let rtos: fn(&Seen) -> f64 = |seen| seen.rtos;
    let (plain, ours) = (lab.total(PLAIN, rtos), lab.total(DRAFT03, rtos));
    let note = format!("{plain:.0} timeouts with plain slow start, {ours:.0} with -03");
    if plain >= 30.0 {
        values.number("single.timeouts", lab.pooled(DRAFT03, rtos)).note(note).sweep(others(rtos));
    } else {
        values
            .words("single.timeouts.few", note)
            .note("too few timeouts for a ratio: the gate requires 30 with plain slow start");
    }
    let ((plain, _), (ours, difference)) = (lab.success(PLAIN), lab.success(DRAFT03));
    values.number("single.success", difference).note(format!(
        "{plain:.1} % of {:.0} with plain slow start, {ours:.1} % of {:.0} with -03",
        lab.total(PLAIN, |seen| seen.recoveries),
        lab.total(DRAFT03, |seen| seen.recoveries)
    ));
    values.of_case("one flow")
}

/// Values under another assumption, with its name as prefix.
fn second_run(lab: &Lab, name: &str) -> Values {
    let best = |rtt: usize, sizes: std::ops::Range<usize>| lab.best(rtt, DRAFT03, sizes).mean;
    let mut values = Values::default();
    values.number(format!("{name}.short"), best(0, 0..SHORT.len()));
    values.number(format!("{name}.long"), best(0, SHORT.len()..SIZES));
    values.number(format!("{name}.50"), best(1, 0..SIZES));
    values.number(format!("{name}.25"), best(2, 0..SIZES));
    values.number(format!("{name}.bytes"), lab.pooled(DRAFT03, |seen| seen.repeated));
    let rtos = [PLAIN, DRAFT03].map(|arm| lab.total(arm, |seen| seen.rtos));
    values.words(
        format!("{name}.timeouts"),
        format!("{} with plain slow start, {} with -03", rtos[0], rtos[1]),
    );
    let success = [PLAIN, DRAFT03].map(|arm| lab.success(arm).0);
    let told = format!("{:.1} % with plain slow start, {:.1} % with -03", success[0], success[1]);
    values.words(format!("{name}.success"), told);
    values
}

/// A controller with draft-03 that has just left slow start at this window because of a raised RTT, with or without
/// spread ACKs.
fn left_at(window: u64) -> (HyStartPlusPlus, Window, Context) {
    let mut startup = HyStartPlusPlus::new(Params::DRAFT03);
    let config = Config::tcp(MSS);
    let cx = firstflight::with!(Context {
        mss: MSS,
        iw: 10 * MSS,
        count: None,
        paced: false,
        max_burst: 65_536,
        so_far: SoFar::default(),
        ..Context::new(&config, Seq(100))
    });
    let mut w = Window { cwnd: window, ssthresh: u64::MAX };
    startup.start(Time(0), Seq(100));
    let mut una = 0;
    // A round at 40 ms, then one at 45 ms: twelve samples each, none of which may open the window
    // before the last.
    for (rtt, end) in [(40, 100), (45, 200)] {
        for step in 0..12 {
            una = if step == 0 { end - 100 } else { una + 1 };
            let ack = Ack {
                acked: 1,
                rtt: Some(Nanos::from_millis(rtt)),
                una: Seq(una),
                nxt: Seq(end),
                ..Ack::blank(Time(0))
            };
            w.cwnd = window;
            if let Concluded::Leave(leave) = startup.grow(&ack, 1, &mut w, &cx).verdict {
                w.ssthresh = leave.ssthresh;
                return (startup, w, cx);
            }
        }
    }
    (startup, w, cx)
}

/// Values of the algorithm itself, which must hold exactly.
pub fn unit_values() -> Values {
    let (mut startup, mut w, cx) = left_at(1_000 * MSS);
    let entry = w.cwnd;
    let left = w.ssthresh == entry;
    let mut values = Values::default();
    let leaves = if left { format!("{entry} B") } else { "does not exit".into() };
    values.exact("core.leaves", leaves, "1448000 B, no arrival times given", left);
    // Ten round trips: each acknowledges one window; a quarter of the entry window is added by
    // each, to a segment.
    let (mut una, mut grown) = (200, Vec::new());
    for _ in 0..10 {
        let before = w.cwnd;
        let mut acked = 0;
        while acked < before {
            una += 1;
            let ack =
                Ack { acked: MSS, una: Seq(una), nxt: Seq(una + 1000), ..Ack::blank(Time(0)) };
            if let Some(window) = startup.beside_avoidance(&ack, MSS, w, &cx) {
                w.cwnd = window;
            }
            acked += MSS;
        }
        grown.push(w.cwnd - before);
    }
    // Over one round trip the window itself grows by up to a quarter: the sum of 1/K falls from 1/4
    // to ln(1.25)/... of the entry window.
    let due = entry / 4;
    let holds = grown.iter().all(|&step| step <= due && step * 10 >= due * 8);
    let told: Vec<String> =
        grown.iter().map(|step| format!("{:.3}", *step as f64 / entry as f64)).collect();
    let due = "0.2 to 0.25 each (slightly less because the window grows within the RTT)";
    values.exact("core.quarter", told.join(" "), due, holds);
    // The larger of the two: a larger window of avoidance is not reduced.
    let high = Window { cwnd: w.cwnd * 4, ..w };
    let ack = Ack { acked: MSS, una: Seq(una + 1), nxt: Seq(una + 1000), ..Ack::blank(Time(0)) };
    let beside = startup.beside_avoidance(&ack, MSS, high, &cx);
    let holds = beside.is_none_or(|window| window >= high.cwnd);
    values.exact(
        "core.never_below",
        beside.map_or_else(|| format!("{}, unchanged", high.cwnd), |window| window.to_string()),
        format!("at least {}", high.cwnd),
        holds,
    );
    values.of_case("-03")
}
