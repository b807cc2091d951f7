//! Try an idea in seconds: a startup of your own beside any arm, on built-in paths, paths drawn at
//! random and populations; one line per trial, tab-separated, on standard output.
//!
//! `cargo run --release -p firstflight-lab --example try_an_idea -- arms=mine,slowstart,rapid`
//!
//! Keys, each with its default below: `arms` (`mine` is [`Mine`]), `paths` (names, inline paths,
//! `all` for the built-in ones, `random:N` for N paths drawn from `seed`, `mixed:N` for N of these
//! with an object each of 0.1 to 5 MB, even in its logarithm, and on 20 % of them a CUBIC flow that
//! has run for two seconds and thirty round trips), `bytes` and `seeds` for the paths, `populations`
//! with `flows` connections each, `host` (`quic`, or TCP's loss detection, `rack`), `saved` (factors:
//! arms that can use what an earlier connection has learnt, in the same place with the same object,
//! run once more after one, for each factor by which the window that it saved is multiplied), `on`
//! (the testbed of `paths`, whose name is their kind) and `receiver` (a setting of a kernel that
//! receives, `net/ipv4/tcp_rmem=4096 33554432 67108864`).
//! `docs/site/plumb.py` makes tables of them.

mod settings;

use firstflight::event::{Ack, Context, Window};
use firstflight::resume::{Saved, is_resumable};
use firstflight::startup::{Grown, Startup};
use firstflight::{Nanos, Time};
use firstflight_lab::flows::{Flows, SharingFlow};
use firstflight_lab::resume::Resume;
use firstflight_lab::testbed::{Testbed, Testbeds, sim};
use firstflight_lab::{
    Error, Hosts, NamedArm, Outcome, OwnStartup, Population, Scenario, Sender, hosts_of_tcp,
    parse_arms, population,
};
use firstflight_path::random::Sequence;
use firstflight_path::{Path, Purpose, Stream, builtins};
use firstflight_sim::App;
use rayon::prelude::*;
use settings::Settings;
use std::sync::Arc;

/// The idea: growth by three while the last RTT is at most a tenth above the smallest, else by two.
#[derive(Default)]
struct Mine {
    last: u64,
    least: Option<u64>,
}

impl Startup for Mine {
    type Saved = ();

    fn on_rtt(&mut self, _now: Time, rtt: Nanos, _cx: &Context) {
        self.last = rtt.0;
        self.least = Some(self.least.map_or(rtt.0, |least| least.min(rtt.0)));
    }

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let queue = self.least.is_none_or(|least| self.last > least + least / 10);
        if cx.limited {
            w.open(cx.cap(acked) * if queue { 1 } else { 2 });
        }
        Grown::default()
    }
}

/// Path number `index` of a stated distribution: 1 to 1000 Mbit/s, 5 to 300 ms and 0.1 to 10 BDP of
/// queue, each even in its logarithm; 30 % lose 0.05 to 2 %, 25 % have jitter up to 0.3 of the round
/// trip, 15 % collect ACKs as LTE does.
fn random_path(seed: u64, index: u64) -> Result<Path, Error> {
    let mut chance = Sequence::new(Stream::new(seed, index, Purpose::Class).key());
    let mut draw = || (chance.draw() >> 11) as f64 / (1u64 << 53) as f64;
    let mut between = |low: f64, high: f64| low * (high / low).powf(draw());
    let mbit = between(1.0, 1000.0);
    // No round trip is shorter than a packet and its ACK take, and a queue holds a packet.
    let packet = 13.0 / mbit;
    let rtt = between(5.0, 300.0).max(2.0 * packet);
    let queue = (rtt * between(0.1, 10.0)).max(packet);
    let (loss, jitter) = (between(0.05, 2.0), rtt * between(0.01, 0.3));
    let mut items = vec![format!("rate={mbit:.3}Mbit,rtt={rtt:.3}ms,queue={queue:.3}ms")];
    let mut happens = |share: f64| draw() < share;
    if happens(0.30) {
        items.push(format!("loss={loss:.3}%"));
    }
    if happens(0.25) {
        items.push(format!("jitter={jitter:.3}ms"));
    }
    if happens(0.15) {
        items.push("return=lte".into());
    }
    Path::parse(&items.join(","))
}

/// Output of `paths`, with names.
fn paths(text: &str, seed: u64) -> Result<Vec<(String, Path)>, Error> {
    if text == "all" {
        let all = builtins().iter();
        return all.map(|path| Ok((path.name.into(), Path::parse(path.text)?))).collect();
    }
    if let Some(count) = text.strip_prefix("random:") {
        let count = count.parse().map_err(|_| Error::new("random: takes a number"))?;
        let one = |i| random_path(seed, i).map(|path| (path.to_string(), path));
        return (0..count).map(one).collect();
    }
    // Commas stand inside of inline paths.
    let between = if text.contains('=') { ';' } else { ',' };
    let named = text.split(between).filter(|path| !path.is_empty());
    named.map(|path| Ok((path.into(), Path::parse(path)?))).collect()
}

fn arms(text: &str) -> Result<Vec<NamedArm>, Error> {
    let one = |name| match name {
        "mine" => {
            let own = OwnStartup::new("mine", Arc::default(), || Box::new(Mine::default()));
            Ok(vec![NamedArm::with_own("mine", own, "")?])
        }
        _ => parse_arms(name),
    };
    let all: Result<Vec<_>, Error> = firstflight::arm::split_list(text).map(one).collect();
    Ok(all?.concat())
}

fn line(
    kind: &str,
    place: &str,
    trial: u64,
    scenario: &Scenario,
    arm: &NamedArm,
    o: &Outcome,
) -> String {
    let (bytes, limit) = (scenario.bytes, scenario.limit.0);
    let time = o.delivered_after.filter(|_| o.complete).map_or(limit, |time| time.0);
    let of = |count: Option<u64>| count.unwrap_or_default() as f64;
    let loss = of(o.counters.packets_lost) / of(o.counters.packets_sent).max(1.0);
    let queue = o.queueing.unwrap_or_default().p99_us;
    let (ttlb, queue) = (time as f64 / 1e6, queue as f64 / 1e3);
    format!("{kind}\t{place}\t{trial}\t{bytes}\t{}\t{ttlb:.3}\t{loss:.6}\t{queue:.3}", arm.label)
}

/// Trial number `index` of `mixed`.
fn mixed(seed: u64, index: u64, cubic: &NamedArm) -> Result<Trial, Error> {
    let path = random_path(seed, index)?;
    let mut chance = Sequence::new(Stream::new(seed, index, Purpose::Size).key());
    let mut draw = || (chance.draw() >> 11) as f64 / (1u64 << 53) as f64;
    let bytes = (1e5 * 50.0_f64.powf(draw())) as u64;
    let beside = (draw() < 0.2).then(|| cubic.clone());
    let place = path.to_string();
    let scenario = Scenario::new(path, bytes);
    let (app, on) = (None, &sim::BED as &dyn Testbed);
    Ok(Trial { kind: "mixed", place, number: index, seed: index, scenario, app, on, beside })
}

/// One connection that every arm is tried on.
struct Trial {
    kind: &'static str,
    place: String,
    number: u64,
    seed: u64,
    scenario: Scenario,
    app: Option<App>,
    on: &'static dyn Testbed,
    /// Somebody who fills the path when the connection begins.
    beside: Option<NamedArm>,
}

impl Trial {
    /// The arm after a connection of its own, if it can use what that leaves and there was anything.
    fn second(&self, arm: &NamedArm, times: f64) -> Result<Option<NamedArm>, Error> {
        let resume = Resume::default();
        let Some((_, saved)) = resume.second(&sim::BED, &self.scenario, arm, self.seed)? else {
            return Ok(None);
        };
        let Sender::Arm(parts) = arm.sender else { return Ok(None) };
        let saved = Saved { cwnd: (saved.cwnd as f64 * times) as u64, ..saved };
        let sender = saved.resume(parts).map(Sender::Arm);
        Ok(sender.map(|sender| NamedArm { sender, ..arm.clone() }))
    }

    fn run_beside(&self, cubic: &NamedArm, arm: &NamedArm) -> Result<Outcome, Error> {
        let flow = |arm: &NamedArm, app, start| {
            let (arm, start) = (arm.clone(), Nanos(start));
            SharingFlow { arm, app, start, rtt_extra: Nanos::ZERO }
        };
        let join = 2_000_000_000 + 30 * self.scenario.path.rtt();
        let mine = flow(arm, App::Bulk(self.scenario.bytes), join);
        let flows = [flow(cubic, App::Endless, 0), mine];
        let mut done = self.scenario.run_flows(&Flows::new(&flows, self.seed), None)?;
        Ok(done.flows.remove(1).into())
    }

    fn outcome(&self, arm: &NamedArm) -> Result<Outcome, Error> {
        match (&self.app, &self.beside) {
            (_, Some(cubic)) => self.run_beside(cubic, arm),
            (Some(app), _) => {
                let done = self.scenario.simulate_app(arm, app.clone(), self.seed, None);
                done.map(Outcome::from)
            }
            (None, _) => {
                self.on.check(&self.scenario, arm)?;
                self.on.run(&self.scenario, arm, self.seed, None)
            }
        }
    }

    /// A line per arm, and one per factor of `saved` for those that can use what was learnt.
    fn run(&self, arms: &[NamedArm], saved: &[f64]) -> Result<String, Error> {
        let Trial { kind, place, number, scenario, .. } = self;
        let kind = if self.beside.is_some() { "mixed+cubic" } else { kind };
        let mut lines = String::new();
        let mut add = |arm: &NamedArm, outcome: &Outcome| {
            lines += &line(kind, place, *number, scenario, arm, outcome);
            lines.push('\n');
        };
        for arm in arms {
            let outcome = self.outcome(arm)?;
            add(arm, &outcome);
            let Sender::Arm(parts) = arm.sender else { continue };
            for times in saved.iter().filter(|_| is_resumable(parts)) {
                let label = format!("{}, saved x {times}", arm.label);
                // Without saved values it is the same connection.
                let again = self.second(arm, *times)?.map(|arm| self.outcome(&arm)).transpose()?;
                add(&NamedArm { label, ..arm.clone() }, again.as_ref().unwrap_or(&outcome));
            }
        }
        Ok(lines)
    }
}

fn main() -> Result<(), Error> {
    let set = Settings::read([
        ("arms", "mine,slowstart,hystart++,rapid,plumb"),
        ("paths", "rapid-slide,gvisor"),
        ("bytes", "1000000,5000000"),
        ("seeds", "1"),
        ("seed", "1"),
        ("populations", ""),
        ("flows", "100"),
        ("host", "quic"),
        ("saved", ""),
        ("on", "sim"),
        ("receiver", ""),
    ])?;
    let on = Testbeds::default().find(set.text("on"))?;
    let receiver = set.text("receiver").split_once('=');
    let receiver = receiver.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let number = |key| set.number(key);
    let (arms, seed) = (arms(set.text("arms"))?, number("seed")?);
    let host = match set.text("host") {
        "quic" => Hosts::default(),
        detection => hosts_of_tcp(detection)?,
    };
    let factor = |times: &str| times.parse().map_err(|_| Error::new("saved takes numbers"));
    let saved: Result<Vec<f64>, Error> =
        set.text("saved").split(',').filter(|times| !times.is_empty()).map(factor).collect();
    let saved = saved?;
    println!("kind\tplace\ttrial\tbytes\tarm\tttlb_ms\tloss\tqueue_p99_ms");
    // Trials run side by side, their lines stand in order.
    let mut trials = Vec::new();
    let cubic = &parse_arms("hystart/cubic")?[0];
    let count = set
        .text("paths")
        .strip_prefix("mixed:")
        .map(|count| count.parse::<u64>().map_err(|_| Error::new("mixed: takes a number")));
    let count = count.transpose()?;
    for index in 0..count.unwrap_or(0) {
        trials.push(mixed(seed, index, cubic)?);
    }
    let named = if count.is_some() { "" } else { set.text("paths") };
    for trial in &mut trials {
        trial.scenario.host = host;
    }
    for (name, path) in paths(named, seed)? {
        for bytes in set.text("bytes").split(',').filter_map(|bytes| bytes.parse().ok()) {
            let receiver = receiver.clone().into_iter().collect();
            let scenario = Scenario { host, receiver, ..Scenario::new(path.clone(), bytes) };
            for seed in seed..seed + number("seeds")? {
                let place = name.clone();
                trials.push(Trial {
                    kind: on.info().name,
                    on,
                    place,
                    number: seed,
                    seed,
                    app: None,
                    beside: None,
                    scenario: scenario.clone(),
                });
            }
        }
    }
    for name in set.text("populations").split(',').filter(|name| !name.is_empty()) {
        let unknown = || Error::new(format!("no population `{name}`"));
        let population: Population =
            population::builtin::population(name).ok_or_else(unknown)??;
        for index in 0..number("flows")? {
            let drawn = population.draw(seed, index);
            let scenario = Scenario {
                path_index: index,
                host,
                ..Scenario::new(population.path(&drawn)?, drawn.bytes)
            };
            let app = Some(population.app(&drawn, seed)).filter(|app| !matches!(app, App::Bulk(_)));
            let place = name.into();
            trials.push(Trial {
                kind: "population",
                place,
                number: index,
                seed,
                app,
                on: &sim::BED,
                scenario,
                beside: None,
            });
        }
    }
    let lines: Result<Vec<String>, Error> =
        trials.par_iter().map(|trial| trial.run(&arms, &saved)).collect();
    print!("{}", lines?.concat());
    Ok(())
}
