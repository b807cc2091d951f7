//! HyStart++ draft-03: the laboratory figures of the tcpm interim of April 2020.

mod mechanism;
mod several;
pub mod together;

use super::figure::{Figure, Series, Shape, axis};
use super::lab::{Grid, grid};
use super::sample::{Interval, bootstrap, mean, quantile, sum};
use super::{Accept, Assumption, Effort, Gate, Item, Measured, Row, Source};
use firstflight::startup::hystart_plus_plus::{HyStartPlusPlus, Params};
use firstflight::startup::{Startup, Verdict as Concluded};
use firstflight::{Ack, Config, Context, Nanos, Seq, Time, Window};
use firstflight_lab::error::Bad;
use firstflight_lab::scenario::{Scenario, hosts_of_tcp};
use firstflight_path::Path;
use firstflight_sim::Outcome;

/// The slides.
pub const SOURCE: Source = Source {
    name: "hystart++",
    document: "HyStart++ slides, IETF tcpm interim of 29 April 2020 (draft-balasubramanian-tcpm-hystartplusplus-03)",
    stated: "100 Mbit/s, buffer of one BDP, RTT 100, 50 and 25 ms, short and long flows; delay detector only, after it max(limited slow start, congestion avoidance)",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "1.1", gates: "G", published: "100 ms, short flows: up to 39 % better mean and P90 goodput" },
    Item { id: "1.2", gates: "G", published: "100 ms, long flows: up to 14 %" },
    Item { id: "1.3", gates: "GB", published: "50 and 25 ms: no noticeable gain" },
    Item { id: "1.4", gates: "GB", published: "retransmitted bytes -50 %" },
    Item { id: "1.5", gates: "GB", published: "RTOs -36 %" },
    Item { id: "1.6", gates: "GQ", published: "loss-recovery success 43.48 to 52 %" },
    Item { id: "1.7", gates: "G", published: "fair towards other flows" },
    Item { id: "1.8", gates: "U", published: "max(LSS, CA) until congestion; no inter-arrival exit" },
    Item { id: "1.9", gates: "QB", published: "99 % of connections < 2 RTOs; 0.64 % moved from 1 to 0, 0.7 % from 2 to 1" },
    Item { id: "1.10", gates: "Q", published: "on by default since the Windows 10 May 2019 Update and Server 2019 1903" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "together", value: "4 to 8 flows of one arm, equally far apart by up to 20 ms, both by the draw and the same for both arms; 2 and 3 MB (short), 50 MB (long)" },
    Assumption { name: "rfc6675", value: "CUBIC (0.7, 0.4) with the recovery of RFC 6675, neither PRR nor detection of lost repeats, a timeout of at least 300 ms: inferred for Windows of 2019" },
    Assumption { name: "sizes", value: "one flow: short 0.1, 0.3, 1, 3, 10 MB; long 50, 100 MB" },
    Assumption { name: "host", value: "TCP, MSS 1448, IW 10, SACK, ACK every 2nd segment or after 40 ms, unpaced, buffers that never limit" },
    Assumption { name: "controller", value: "one flow and second runs: CUBIC (0.7, 0.4) and PRR of RFC 9937 in every arm; plain slow start is the baseline" },
    Assumption { name: "windows", value: "loss detection of RFC 6675 with a timeout of at least 300 ms; a second run has RACK and tail loss probes" },
    Assumption { name: "cap", value: "one ACK counts at most 8 segments (L), in a second run 2; with an ACK per 2 segments neither binds before a loss" },
    Assumption { name: "starts", value: "several flows: starts within one RTT for fairness, else 2 s apart on average (exponential)" },
    Assumption { name: "W-WEB", value: "1 + Geometric(3) responses, at most 20; 97 % LN(4 kB, 1.2), 3 % Pareto(30 kB, 1.3) up to 5 MB" },
    Assumption { name: "P-US", value: "RTT LN(70 ms, 0.6), rate LN(5 Mbit/s, 0.9), queue U(0.25, 2) BDP, at least 20 packets; bursts of 3 with loss 0.8, as many as hit 6.1 % of responses" },
    Assumption { name: "jitter", value: "seeds differ by U(0, 0.5 ms) of RTT; nothing else is random" },
    Assumption { name: "success", value: "a recovery succeeds if it ends without a timeout" },
];

const PLAIN: usize = 0;
const DRAFT03: usize = 1;
const ARMS: &[&str] = &["slowstart", "hystart++-draft03", "hystart++", "hystart"];
/// The second run's cap of two segments per ACK; plain slow start has none in the text and none here.
const CAPPED: &[&str] = &["slowstart", "hystart++-draft03(cap=2)", "hystart++(cap=2)", "hystart"];
const NAMES: &[&str] = &["plain slow start", "HyStart++ -03 (LSS)", "RFC 9406 (CSS)", "Linux HyStart"];
const RTTS: [u64; 3] = [100, 50, 25];
const SHORT: [u64; 5] = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
const LONG: [u64; 2] = [50_000_000, 100_000_000];
const SIZES: usize = SHORT.len() + LONG.len();

/// What a trial says about these rows.
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
        let repaired = outcome.episodes.first().and_then(|first| first.repaired.map(|at| at.since(first.start).0 as f64 / 1e6));
        Seen {
            goodput: outcome.delivered_after.map_or(0.0, |after| ground.bytes as f64 * 8e3 / after.0.max(1) as f64),
            repeated: outcome.retransmitted_bytes as f64,
            rtos: outcome.rtos as f64,
            recoveries: outcome.recoveries as f64,
            timed_out: outcome.recoveries_timed_out as f64,
            repair_ms: repaired,
        }
    }
}

/// All cells under one loss detection.
struct Lab {
    grid: Grid<Seen>,
    seeds: u32,
}

/// How one arm compares with plain slow start on one size: gain of the mean and of the 90th percentile, in percent.
#[derive(Clone, Copy, Debug)]
struct Gain {
    bytes: u64,
    mean: Interval,
    p90: Interval,
}

impl Lab {
    fn run(effort: &Effort<'_>, detection: &str, arms: &[&str]) -> Result<Lab, Bad> {
        let host = hosts_of_tcp(detection)?;
        let mut cells = Vec::new();
        for rtt in RTTS {
            for bytes in SHORT.into_iter().chain(LONG) {
                let path = Path::parse(&format!("hystart++-{rtt}ms"))?;
                cells.push(Scenario { host, limit: Nanos::from_secs(300), ..Scenario::new(path, bytes) });
            }
        }
        // For the reader only: fewer seeds than a gate asks for.
        let seeds = effort.either(2, 6);
        let what = format!("hystart++: {} trials with preset {detection}", cells.len() * ARMS.len() * seeds as usize);
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
            mean: bootstrap(n, |u| percent(mean(u, |i| ours[i].goodput), mean(u, |i| plain[i].goodput))),
            p90: bootstrap(n, |u| percent(quantile(u, 0.9, |i| ours[i].goodput), quantile(u, 0.9, |i| plain[i].goodput))),
        }
    }

    /// The size with the largest gain, among the short or the long ones.
    fn best(&self, rtt: usize, arm: usize, sizes: std::ops::Range<usize>) -> Gain {
        let gains = sizes.map(|size| self.gain(rtt, size, arm));
        gains.max_by(|a, b| a.mean.estimate.total_cmp(&b.mean.estimate)).expect("there are sizes")
    }

    /// The ratio of a quantity of one arm to that of plain slow start, everything pooled.
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

    /// Recoveries that ended without a timeout, percent, less those of plain slow start.
    fn success(&self, arm: usize) -> (f64, Interval) {
        let share = |units: &[usize], arm: usize| {
            let cells: Vec<&[Seen]> = (0..RTTS.len() * SIZES).map(|cell| self.grid.of(cell, arm)).collect();
            let of = |read: fn(&Seen) -> f64| cells.iter().map(|seen| sum(units, |i| read(&seen[i]))).sum::<f64>();
            100.0 * (1.0 - of(|seen| seen.timed_out) / of(|seen| seen.recoveries))
        };
        let all: Vec<usize> = (0..self.seeds as usize).collect();
        (share(&all, arm), bootstrap(self.seeds as usize, |units| share(units, arm) - share(units, PLAIN)))
    }

    /// Every size and arm, for the reader.
    fn sweep(&self, rtt: usize, sizes: std::ops::Range<usize>) -> Vec<(String, String)> {
        sizes
            .map(|size| {
                let gains: Vec<String> =
                    (DRAFT03..ARMS.len()).map(|arm| format!("{} {:+.1} %", NAMES[arm], self.gain(rtt, size, arm).mean.estimate)).collect();
                (megabytes(self.gain(rtt, size, PLAIN).bytes), gains.join(", "))
            })
            .collect()
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes as f64 / 1e6)
}

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let mut measured = together::measured(effort)?;
    // One flow: for the reader. No such set-up shows the published pattern.
    let single = Lab::run(effort, "windows", ARMS)?;
    let second = Lab::run(effort, "rack", ARMS)?;
    let capped = Lab::run(effort, "windows", CAPPED)?;
    let fine = RTTS.into_iter().map(|rtt| several::finer(effort, rtt)).collect::<Result<Vec<_>, Bad>>()?;
    let mut rows = goodput(&single);
    rows.extend(repair(&single));
    for row in rows.iter_mut().filter(|row| row.id == "1.1") {
        row.sweep = fine.iter().flat_map(several::told).fold(Row::told("1.1", "", ""), |all, point| all.sweep([point])).sweep;
    }
    let rows = rows.into_iter().map(|row| {
        let case = if row.case.is_empty() { "one flow".to_owned() } else { format!("one flow, {}", row.case) };
        let success: &[&str] = if row.id == "1.6" { &["success"] } else { &[] };
        row.ungated().case(case).assuming(&["sizes", "host", "controller", "windows", "cap", "jitter"]).assuming(success)
    });
    measured.rows.extend(rows);
    measured.rows.extend(second_run(&second, "one flow, RACK and probes", &["sizes", "host", "controller", "cap", "jitter"]));
    measured.rows.extend(second_run(&capped, "one flow, L = 2", &["sizes", "host", "controller", "windows", "cap", "jitter"]));
    measured.rows.extend(several::others(effort)?);
    measured.rows.extend(several::fairness(effort)?);
    measured.rows.extend(unit_rows());
    measured.rows.push(Row::quoted("1.9", "billions of Windows connections whose paths are unknown"));
    measured.rows.extend(several::histogram(effort)?);
    measured.rows.push(Row::quoted("1.10", "a statement about deployment"));
    measured.figures.push(gains_by_size(&single, &fine));
    Ok(measured)
}

/// Gain of -03 by object size, a curve per RTT: the assumed sizes and the finer ones together.
fn gains_by_size(lab: &Lab, fine: &[several::Gains]) -> Figure {
    let curve = |(index, gains): (usize, &several::Gains)| {
        let assumed = (0..SIZES).map(|size| lab.gain(index, size, DRAFT03)).map(|gain| (gain.bytes as f64, gain.mean.estimate));
        let mut points: Vec<[f64; 2]> = assumed.chain(gains.by_size.iter().copied()).map(|(bytes, gain)| [bytes / 1e6, gain]).collect();
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

fn goodput(lab: &Lab) -> Vec<Row> {
    let (short, long) = (lab.best(0, DRAFT03, 0..SHORT.len()), lab.best(0, DRAFT03, SHORT.len()..SIZES));
    let case = |gain: &Gain| format!("100 ms, {}", megabytes(gain.bytes));
    let mut rows = Vec::new();
    for (name, gain) in [("mean", short.mean), ("P90", short.p90)] {
        let measure = format!("best gain of {name} goodput over the short sizes");
        rows.push(Row::gated("1.1", Gate::Direction, measure.clone(), gain, " %", Accept::Above(0.0)).case(case(&short)));
        rows.push(Row::gated("1.1", Gate::Band, measure, gain, " %", Accept::Within(20.0, 60.0)).case(case(&short)));
    }
    rows[0].sweep = Row::told("1.1", "", "").sweep(lab.sweep(0, 0..SHORT.len())).sweep;
    for (name, gain) in [("mean", long.mean), ("P90", long.p90)] {
        let measure = format!("best gain of {name} goodput over the long sizes");
        rows.push(Row::gated("1.2", Gate::Direction, measure.clone(), gain, " %", Accept::Above(-2.0)).case(case(&long)));
        rows.push(Row::gated("1.2", Gate::Band, measure, gain, " %", Accept::Within(2.0, 25.0)).case(case(&long)));
    }
    let less = |id, case: String, small: &Gain, measure: &str| {
        // Both gains come from the same seeds, but from different cells: the wider of the two intervals bounds the difference.
        let difference = Interval {
            estimate: small.mean.estimate - short.mean.estimate,
            low: small.mean.low - short.mean.high,
            high: small.mean.high - short.mean.low,
        };
        Row::gated(id, Gate::Direction, measure, difference, " points", Accept::Below(0.0)).case(case)
    };
    let mut smaller = less("1.2", case(&long), &long, "gain of long flows less that of short ones");
    smaller.sweep = Row::told("1.2", "", "").sweep(lab.sweep(0, SHORT.len()..SIZES)).sweep;
    rows.push(smaller);
    for (index, rtt) in [(1, 50), (2, 25)] {
        let gain = lab.best(index, DRAFT03, 0..SIZES);
        let case = format!("{rtt} ms, {}", megabytes(gain.bytes));
        let mut row = less("1.3", case.clone(), &gain, "best gain less the one at 100 ms");
        row.sweep = Row::told("1.3", "", "").sweep(lab.sweep(index, 0..SIZES)).sweep;
        rows.push(row);
        let took = |arm| {
            let seen = (0..SIZES).flat_map(|size| lab.cell(index, size, arm)).filter_map(|seen| seen.repair_ms);
            let all: Vec<f64> = seen.collect();
            if all.is_empty() { "none to repair".into() } else { format!("{:.0} ms", all.iter().sum::<f64>() / all.len() as f64) }
        };
        rows.push(
            Row::gated("1.3", Gate::Band, "best gain of mean goodput over all sizes", gain.mean, " %", Accept::Within(-5.0, 5.0))
                .case(case)
                .note(format!("first repair takes {} with plain slow start, {} with -03", took(PLAIN), took(DRAFT03))),
        );
    }
    rows
}

fn repair(lab: &Lab) -> Vec<Row> {
    let others = |read: fn(&Seen) -> f64| {
        (DRAFT03 + 1..ARMS.len()).map(move |arm| (NAMES[arm].to_owned(), format!("{:.3}", lab.pooled(arm, read).estimate)))
    };
    let repeated: fn(&Seen) -> f64 = |seen| seen.repeated;
    let ratio = lab.pooled(DRAFT03, repeated);
    let measure = "retransmitted bytes over those of plain slow start, all tests pooled";
    let mut rows = vec![
        Row::gated("1.4", Gate::Direction, measure, ratio, " x", Accept::Below(1.0)).sweep(others(repeated)),
        Row::gated("1.4", Gate::Band, measure, ratio, " x", Accept::AtMost(0.6)),
    ];
    let rtos: fn(&Seen) -> f64 = |seen| seen.rtos;
    let (plain, ours) = (lab.total(PLAIN, rtos), lab.total(DRAFT03, rtos));
    let measure = "timeouts over those of plain slow start, pooled";
    let note = format!("{plain:.0} timeouts with plain slow start, {ours:.0} with -03");
    if plain >= 30.0 {
        let ratio = lab.pooled(DRAFT03, rtos);
        rows.push(Row::gated("1.5", Gate::Direction, measure, ratio, " x", Accept::Below(1.0)).note(note.clone()).sweep(others(rtos)));
        rows.push(Row::gated("1.5", Gate::Band, measure, ratio, " x", Accept::Within(0.4, 0.9)).note(note));
    } else {
        rows.push(Row::told("1.5", measure, note).note("too few timeouts for a ratio: the gate asks for 30 with plain slow start"));
    }
    let ((plain, _), (ours, difference)) = (lab.success(PLAIN), lab.success(DRAFT03));
    rows.push(
        Row::gated(
            "1.6",
            Gate::Direction,
            "recoveries that end without a timeout, less those of plain slow start",
            difference,
            " points",
            Accept::Above(0.0),
        )
        .note(format!(
            "{plain:.1} % of {:.0} with plain slow start, {ours:.1} % of {:.0} with -03",
            lab.total(PLAIN, |seen| seen.recoveries),
            lab.total(DRAFT03, |seen| seen.recoveries)
        )),
    );
    rows
}

/// The same under another assumption, without gates.
fn second_run(lab: &Lab, case: &str, assumed: &[&'static str]) -> Vec<Row> {
    let best = |rtt: usize, sizes: std::ops::Range<usize>| lab.best(rtt, DRAFT03, sizes).mean;
    let mut rows = vec![
        Row::seen("1.1", "best gain of mean goodput over the short sizes", best(0, 0..SHORT.len()), " %"),
        Row::seen("1.2", "best gain of mean goodput over the long sizes", best(0, SHORT.len()..SIZES), " %"),
        Row::seen("1.3", "best gain at 50 ms", best(1, 0..SIZES), " %"),
        Row::seen("1.3", "best gain at 25 ms", best(2, 0..SIZES), " %"),
        Row::seen("1.4", "retransmitted bytes over those of plain slow start", lab.pooled(DRAFT03, |seen| seen.repeated), " x"),
    ];
    let rtos = [PLAIN, DRAFT03].map(|arm| lab.total(arm, |seen| seen.rtos));
    rows.push(Row::told("1.5", "timeouts", format!("{} with plain slow start, {} with -03", rtos[0], rtos[1])));
    let success = [PLAIN, DRAFT03].map(|arm| lab.success(arm).0);
    let told = format!("{:.1} % with plain slow start, {:.1} % with -03", success[0], success[1]);
    rows.push(Row::told("1.6", "recoveries that end without a timeout", told));
    rows.into_iter().map(|row| row.case(case).assuming(assumed)).collect()
}

const MSS: u64 = 1448;

/// Draft-03 that has just left slow start at this window by a raised RTT, with or without ACKs spread in time.
fn left_at(window: u64) -> (HyStartPlusPlus, Window, Context) {
    let mut startup = HyStartPlusPlus::new(Params::DRAFT03);
    let config = Config::tcp(MSS);
    let cx = Context {
        mss: MSS,
        iw: 10 * MSS,
        transport: config.transport,
        paced: false,
        pacing_rate: None,
        max_burst: 65_536,
        limited: true,
        young_epoch: false,
        newborn_epoch: false,
    };
    let mut w = Window { cwnd: window, ssthresh: u64::MAX };
    startup.start(Time(0), Seq(100));
    let mut una = 0;
    // A round at 40 ms, then one at 45 ms: twelve samples each, none of which may open the window before the last.
    for (rtt, end) in [(40, 100), (45, 200)] {
        for step in 0..12 {
            una = if step == 0 { end - 100 } else { una + 1 };
            let ack = Ack { acked: 1, rtt: Some(Nanos::from_millis(rtt)), una: Seq(una), nxt: Seq(end), ..Ack::default() };
            w.cwnd = window;
            if let Concluded::Leave(leave) = startup.grow(&ack, 1, &mut w, &cx).verdict {
                w.ssthresh = leave.ssthresh;
                return (startup, w, cx);
            }
        }
    }
    (startup, w, cx)
}

/// Row 1.8, on the algorithm itself: what must hold.
pub fn unit_rows() -> Vec<Row> {
    let (mut startup, mut w, cx) = left_at(1_000 * MSS);
    let entry = w.cwnd;
    let left = w.ssthresh == entry;
    let mut rows = vec![Row::exact(
        "1.8",
        "-03",
        "leaves on a raised RTT alone, with the window as threshold",
        if left { format!("{entry} B") } else { "does not leave".into() },
        "1448000 B, no arrival times given".into(),
        left,
    )];
    // Ten round trips: each acknowledges one window; a quarter of the entry window is added by each, to a segment.
    let (mut una, mut grown) = (200, Vec::new());
    for _ in 0..10 {
        let before = w.cwnd;
        let mut acked = 0;
        while acked < before {
            una += 1;
            let ack = Ack { acked: MSS, una: Seq(una), nxt: Seq(una + 1000), ..Ack::default() };
            if let Some(window) = startup.beside_avoidance(&ack, MSS, w, &cx) {
                w.cwnd = window;
            }
            acked += MSS;
        }
        grown.push(w.cwnd - before);
    }
    // Over one round trip the window itself grows by up to a quarter: the sum of 1/K falls from 1/4 to ln(1.25)/... of the entry window.
    let due = entry / 4;
    let holds = grown.iter().all(|&step| step <= due && step * 10 >= due * 8);
    let told: Vec<String> = grown.iter().map(|step| format!("{:.3}", *step as f64 / entry as f64)).collect();
    rows.push(Row::exact(
        "1.8",
        "-03",
        "limited slow start adds a quarter of its entry window per RTT, linearly: ten RTTs in units of the entry window",
        told.join(" "),
        "0.2 to 0.25 each (a window that grows within the RTT takes a little off)".into(),
        holds,
    ));
    // The larger of the two: avoidance that already stands higher is not pulled down.
    let high = Window { cwnd: w.cwnd * 4, ..w };
    let ack = Ack { acked: MSS, una: Seq(una + 1), nxt: Seq(una + 1000), ..Ack::default() };
    let beside = startup.beside_avoidance(&ack, MSS, high, &cx);
    let holds = beside.is_none_or(|window| window >= high.cwnd);
    rows.push(Row::exact(
        "1.8",
        "-03",
        "never below what avoidance gives",
        format!("{beside:?}"),
        format!("at least {}", high.cwnd),
        holds,
    ));
    rows.into_iter().map(|row| row.assuming(&["cap"])).collect()
}
