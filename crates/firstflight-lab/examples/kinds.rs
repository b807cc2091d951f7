//! Startups by kind of path, for choosing rules and for judging them: one line per connection or
//! crowd, tab-separated.
//!
//! `cargo run --release -p firstflight-lab --example kinds -- arms=slowstart,rapid,plumb paths=30`
//!
//! Each kind draws its paths from `seed`, evenly in the logarithm of each quantity; rules are chosen
//! on one seed and judged on another. `bytes` are the sizes on each path. `crowds` crowds of each
//! sort (100 x 100 kB within 100 ms, 20 x 1 MB within 1 s) share a random link; their line has the
//! mean time, the share lost by all, the time at the 99th percentile and the largest share that one
//! connection lost. `kinds=NAME,NAME` selects. `docs/site/plumb.py` makes tables of them.

mod settings;

use firstflight::Nanos;
use firstflight_lab::flows::{App, Flows, SharingFlow};
use firstflight_lab::{Error, NamedArm, Scenario, parse_arms};
use firstflight_path::random::Sequence;
use firstflight_path::{Path, Purpose, Stream};
use firstflight_sim::Outcome;
use rayon::prelude::*;
use settings::Settings;
use std::ops::Range;

/// Draws of one path.
struct Chance(Sequence);

impl Chance {
    fn new(seed: u64, index: u64, purpose: Purpose) -> Chance {
        Chance(Sequence::new(Stream::new(seed, index, purpose).key()))
    }

    fn draw(&mut self) -> f64 {
        (self.0.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Even in the logarithm.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.draw())
    }

    fn within(&mut self, nanos: u64) -> u64 {
        self.0.draw() % nanos
    }
}

/// A link: Mbit/s, ms, queue in BDP.
fn link(c: &mut Chance, mbit: Range<f64>, ms: Range<f64>, bdp: Range<f64>) -> (String, f64, f64) {
    let mbit = c.between(mbit.start, mbit.end);
    // No round trip is shorter than a packet and its ACK take.
    let rtt = c.between(ms.start, ms.end).max(26.0 / mbit);
    let queue = (rtt * c.between(bdp.start, bdp.end)).max(13.0 / mbit);
    (format!("rate={mbit:.3}Mbit,rtt={rtt:.3}ms,queue={queue:.3}ms"), mbit, rtt)
}

const RATES: Range<f64> = 1.0..1000.0;
const RTTS: Range<f64> = 5.0..300.0;
const QUEUES: Range<f64> = 0.1..10.0;

/// Draws one path of a kind.
type Draw = fn(&mut Chance) -> String;

const KINDS: [(&str, Draw); 21] = [
    ("plain", |c| link(c, RATES, RTTS, QUEUES).0),
    ("deep", |c| link(c, RATES, RTTS, 4.0..20.0).0),
    ("slow", |c| link(c, 0.5..3.0, 20.0..200.0, 0.3..20.0).0),
    ("fast", |c| link(c, 1000.0..40_000.0, 1.0..40.0, 0.1..4.0).0),
    ("4 packets", |c| packets(c, 4.0..4.01)),
    ("few packets", |c| packets(c, 5.0..40.0)),
    ("loss", |c| {
        let (path, ..) = link(c, RATES, RTTS, QUEUES);
        format!("{path},loss={:.3}%", c.between(0.05, 2.0))
    }),
    ("bursts of loss", |c| {
        let (path, ..) = link(c, RATES, RTTS, QUEUES);
        let (good, burst) = (c.between(0.02, 0.5), c.between(2.0, 8.0));
        format!("{path},ge={good:.3}%:{burst:.2}:50%")
    }),
    ("jitter", |c| {
        let (path, _, rtt) = link(c, RATES, RTTS, QUEUES);
        format!("{path},jitter={:.3}ms", rtt * c.between(0.01, 0.3))
    }),
    ("wireless", |c| {
        let (path, _, rtt) = link(c, 5.0..300.0, 10.0..100.0, 0.5..10.0);
        let (jitter, loss) = (rtt * c.between(0.02, 0.2), c.between(0.01, 0.5));
        format!("{path},jitter={jitter:.3}ms,loss={loss:.3}%,return=wifi")
    }),
    ("LTE", |c| format!("{},return=lte", link(c, 5.0..150.0, 30.0..120.0, 0.5..8.0).0)),
    ("asymmetric", |c| {
        let (path, mbit, _) = link(c, 20.0..1000.0, 10.0..100.0, 0.3..5.0);
        format!("{path},up={:.3}Mbit", mbit / c.between(20.0, 150.0))
    }),
    ("GEO", |c| {
        let release = ["plain", "geo_warm", "geo_cold"][c.within(3) as usize];
        format!("{},return={release}", link(c, 5.0..250.0, 500.0..700.0, 0.2..3.0).0)
    }),
    ("policer", |c| {
        let (path, mbit, rtt) = link(c, 50.0..1000.0, 10.0..120.0, 0.3..5.0);
        let (share, bucket) = (c.between(3.0, 30.0), rtt * c.between(0.5, 5.0));
        format!("{path},policer={:.3}Mbit:{bucket:.3}ms", mbit / share)
    }),
    ("ACK per 10", |c| format!("{},ack=10", link(c, RATES, RTTS, QUEUES).0)),
    ("ACKs per RTT", |c| {
        let count = [2, 4, 8][c.within(3) as usize];
        format!("{},ack={count}/rtt", link(c, RATES, RTTS, QUEUES).0)
    }),
    ("late reads", |c| {
        let (path, ..) = link(c, RATES, RTTS, QUEUES);
        format!("{path},gro={:.3}ms:64kB", c.between(0.2, 5.0))
    }),
    ("reordering", |c| {
        let (path, _, rtt) = link(c, RATES, RTTS, QUEUES);
        format!("{path},reorder={:.3}%:{:.3}ms", c.between(0.1, 3.0), rtt * c.between(0.02, 0.3))
    }),
    ("steps", |c| {
        let (path, mbit, rtt) = link(c, 5.0..500.0, 20.0..200.0, 0.5..5.0);
        let (at, share) = (rtt * c.between(1.5, 8.0), c.between(0.2, 3.0));
        format!("{path},steps={at:.3}ms:{:.3}Mbit", mbit * share)
    }),
    ("AQM", |c| {
        let (path, ..) = link(c, 5.0..1000.0, RTTS.start..200.0, 2.0..10.0);
        format!("{path},{}", ["codel=5ms:100ms", "fq_codel", "pie"][c.within(3) as usize])
    }),
    ("beside CUBIC", |c| link(c, 5.0..300.0, 10.0..150.0, 0.5..4.0).0),
];

/// A queue that holds a number of packets.
fn packets(c: &mut Chance, most: Range<f64>) -> String {
    let (mbit, rtt) = (c.between(RATES.start, RATES.end), c.between(RTTS.start, RTTS.end));
    let count = c.between(most.start, most.end) as u64;
    format!("rate={mbit:.3}Mbit,rtt={:.3}ms,queue={count}pkt", rtt.max(26.0 / mbit))
}

fn time(outcome: &Outcome, limit: Nanos) -> f64 {
    outcome.delivered_after.filter(|_| outcome.complete()).unwrap_or(limit).0 as f64 / 1e6
}

fn loss<'a>(flows: impl IntoIterator<Item = &'a Outcome>) -> f64 {
    let (mut lost, mut sent) = (0, 0);
    for flow in flows {
        lost += flow.counters.packets_lost;
        sent += flow.counters.packets_sent;
    }
    lost as f64 / sent.max(1) as f64
}

/// One path and size, or one crowd.
enum Cell {
    Alone { kind: &'static str, path: String, bytes: u64, seed: u64 },
    Crowd { kind: &'static str, path: String, count: u64, bytes: u64, within: u64, seed: u64 },
}

fn flow(arm: &NamedArm, app: App, start: u64) -> SharingFlow {
    SharingFlow { arm: arm.clone(), app, start: Nanos(start), rtt_extra: Nanos::ZERO }
}

impl Cell {
    fn run(&self, arm: &NamedArm, cubic: &NamedArm) -> Result<String, Error> {
        let label = &arm.label;
        match self {
            Cell::Alone { kind, path, bytes, seed } => {
                let scenario = Scenario::new(Path::parse(path)?, *bytes);
                let outcome = if *kind == "beside CUBIC" {
                    let join = 2_000_000_000 + 30 * scenario.path.rtt();
                    let flows = [flow(cubic, App::Endless, 0), flow(arm, App::Bulk(*bytes), join)];
                    scenario.run_flows(&Flows::new(&flows, *seed), None)?.flows.remove(1)
                } else {
                    scenario.simulate(arm, *seed, None)?
                };
                let (took, lost) = (time(&outcome, scenario.limit), loss([&outcome]));
                Ok(format!("{kind}\t{path}\t{bytes}\t{label}\t{took:.3}\t{lost:.6}\t\t\n"))
            }
            Cell::Crowd { kind, path, count, bytes, within, seed } => {
                let scenario = Scenario::new(Path::parse(path)?, *bytes);
                let mut chance = Chance::new(*seed, 1, Purpose::Size);
                let flows: Vec<SharingFlow> = (0..*count)
                    .map(|_| flow(arm, App::Bulk(*bytes), chance.within(*within)))
                    .collect();
                let done = scenario.run_flows(&Flows::new(&flows, *seed), None)?.flows;
                let mut times: Vec<f64> =
                    done.iter().map(|one| time(one, scenario.limit)).collect();
                times.sort_by(f64::total_cmp);
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                let p99 = times[(times.len() * 99).div_ceil(100) - 1];
                let worst = done.iter().map(|one| loss([one])).fold(0.0, f64::max);
                let lost = loss(&done);
                Ok(format!(
                    "{kind}\t{path}\t{bytes}\t{label}\t{mean:.3}\t{lost:.6}\t{p99:.3}\t{worst:.6}\n"
                ))
            }
        }
    }
}

fn main() -> Result<(), Error> {
    let set = Settings::read([
        ("arms", "slowstart,rapid,plumb"),
        ("paths", "30"),
        ("crowds", "10"),
        ("bytes", "300000,1000000,5000000"),
        ("seed", "1"),
        ("kinds", ""),
    ])?;
    let number = |key| set.number(key);
    let (arms, cubic) = (parse_arms(set.text("arms"))?, &parse_arms("hystart/cubic")?[0]);
    let wanted = |kind: &str| {
        set.text("kinds").is_empty() || set.text("kinds").split(',').any(|k| k == kind)
    };
    let seed = number("seed")?;
    let mut cells = Vec::new();
    for (number_of_kind, (kind, draw)) in KINDS.iter().enumerate().filter(|(_, k)| wanted(k.0)) {
        for index in 0..number("paths")? {
            let index = 1_000_000 * number_of_kind as u64 + index;
            let path = draw(&mut Chance::new(seed, index, Purpose::Class));
            for bytes in set.text("bytes").split(',').filter_map(|bytes| bytes.parse().ok()) {
                cells.push(Cell::Alone { kind, path: path.clone(), bytes, seed: seed + index });
            }
        }
    }
    let crowds = [
        ("crowd of 100 x 100 kB", 100, 100_000, 100_000_000),
        ("crowd of 20 x 1 MB", 20, 1_000_000, 1_000_000_000),
    ];
    for (kind, count, bytes, within) in crowds.into_iter().filter(|crowd| wanted(crowd.0)) {
        for index in 0..number("crowds")? {
            let mut chance = Chance::new(seed, 99_000_000 + index, Purpose::Class);
            let (path, ..) = link(&mut chance, 50.0..500.0, 10.0..100.0, 0.5..2.0);
            cells.push(Cell::Crowd { kind, path, count, bytes, within, seed: seed + index });
        }
    }
    println!("kind\tplace\tbytes\tarm\tttlb_ms\tloss\tp99_ms\tworst_loss");
    let lines: Result<Vec<String>, Error> = cells
        .par_iter()
        .map(|cell| arms.iter().map(|arm| cell.run(arm, cubic)).collect())
        .collect();
    print!("{}", lines?.concat());
    Ok(())
}
