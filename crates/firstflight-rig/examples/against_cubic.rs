//! Arms of firstflight compared with quinn's own CUBIC, in virtual time, in one run.
//!
//! `cargo run --release -p firstflight-rig --features quinn --example against_cubic [PATH [BYTES]]`
//!
//! Without a path it runs four duels: each arm against quinn's own CUBIC on the path for which it
//! was designed, on quinn where quinn supports the arm, and on noq. With a path it runs every arm
//! on that path. Exits with status 1 if a duel is lost.

use firstflight::Nanos;
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_rig::{Control, Outcome, Own, OwnControl, Setup, run};
use std::error::Error;
use std::process::ExitCode;

/// Purpose, path, object in bytes, and arms, of which the first must win on every stack that
/// supports it.
const DUELS: [(&str, &str, u64, [&str; 2]); 4] = [
    // A queue of a quarter of a BDP overflows long before slow start ends.
    (
        "HyStart++",
        "rate=100Mbit,rtt=60ms,queue=15ms",
        10_000_000,
        ["hystart++/cubic/prr", "slowstart/cubic/prr"],
    ),
    // The path of the Rapid Start slides.
    ("Rapid Start", "rate=100Mbit,rtt=30ms,queue=30ms", 10_000_000, ["rapid(jump=off)", "rapid"]),
    // The satellite path of the BEST slides. BEST derives the bottleneck rate from the spacing of
    // ACKs, which a pacer itself shapes: it is designed for senders without a pacer, and quinn
    // always has one.
    (
        "BEST",
        "rate=150Mbit,rtt=600ms,queue=1bdp",
        60_000_000,
        ["best/cubic/prr@(pace=off)", "best/cubic/prr"],
    ),
    // A single overshoot, otherwise no difference between the arms: the rest depends on recovery.
    (
        "PRR",
        "rate=100Mbit,rtt=60ms,queue=15ms",
        10_000_000,
        ["slowstart/cubic/prr", "slowstart/cubic/immediate"],
    ),
];

const ARMS: [&str; 8] = [
    "slowstart/cubic/immediate",
    "slowstart/cubic/prr",
    "hystart++/cubic/prr",
    "best/cubic/prr",
    "search/cubic/prr",
    "rapid(jump=off)",
    "rapid",
    "slowstart/reno/immediate",
];

/// An arm and its outcome, if it could run.
type Ran<'a> = (&'a str, Option<Outcome>);

/// Runs one trial and prints its line.
fn trial(name: &str, path: &Path, object: u64, control: Control) -> Option<Outcome> {
    let setup = Setup {
        path,
        control,
        datagram: 1472,
        ack_packet: 64,
        object,
        limit: Nanos::from_secs(600),
        seed: 1,
        path_index: 0,
    };
    match run(&setup, None) {
        Ok(outcome) => {
            println!(
                "{name:40} {:10.1} {:10.1} {:8} {:8} {:>12}",
                outcome.acked_after.0 as f64 / 1e6,
                outcome.delivered_after.map_or(f64::NAN, |after| after.0 as f64 / 1e6),
                outcome.counters.packets_sent.unwrap_or_default(),
                outcome.counters.packets_dropped.unwrap_or_default(),
                outcome.exit.map_or("-", |exit| exit.reason.name()),
            );
            Some(outcome)
        }
        Err(fault) => {
            println!("{name:40} {fault}");
            None
        }
    }
}

fn head() {
    println!(
        "{:40} {:>10} {:>10} {:>8} {:>8} {:>12}",
        "", "acked ms", "read ms", "sent", "dropped", "exit"
    );
}

/// Runs every arm on both stacks and returns the outcomes.
fn all<'a>(path: &Path, object: u64, arms: &[&'a str]) -> Result<Vec<Ran<'a>>, Box<dyn Error>> {
    head();
    let mut done = Vec::new();
    for arm in arms {
        let plan = Plan::parse(arm)?;
        for (name, control) in [("quinn", Control::Quinn(plan)), ("noq  ", Control::Noq(plan))] {
            done.push((*arm, trial(&format!("{name} {arm}"), path, object, control)));
        }
    }
    Ok(done)
}

/// A stack with its own controller.
fn control(own: Own) -> Result<Control, Box<dyn Error>> {
    let beside = Plan::parse("slowstart/cubic/immediate")?;
    Ok(Control::Own(OwnControl { own, initial_window: 10, beside }))
}

/// Runs the duel of an arm against quinn's CUBIC. Returns whether the arm won wherever it ran.
fn duel(what: &str, text: &str, object: u64, arms: [&str; 2]) -> Result<bool, Box<dyn Error>> {
    let path = Path::parse(text)?;
    println!("\n{what}: {object} bytes on {path}");
    let done = all(&path, object, &arms)?;
    let Some(own) = trial("quinn its own CUBIC", &path, object, control(Own::QuinnCubic)?) else {
        return Ok(false);
    };
    trial("noq   its own CUBIC", &path, object, control(Own::NoqCubic)?);
    let ours: Vec<u64> = done
        .iter()
        .filter(|(arm, _)| *arm == arms[0])
        .filter_map(|(_, outcome)| Some(outcome.as_ref()?.acked_after.0))
        .collect();
    let won = !ours.is_empty() && ours.iter().all(|ttlb| *ttlb < own.acked_after.0);
    let best = ours.iter().min().copied().unwrap_or(u64::MAX);
    println!(
        "{what} {}: {:.1} % of the time of quinn's CUBIC",
        if won { "wins" } else { "LOSES" },
        best as f64 * 100.0 / own.acked_after.0 as f64
    );
    Ok(won)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    if let Some(path) = words.next() {
        let path = Path::parse(&path)?;
        let object = words.next().map_or(Ok(10_000_000), |bytes| bytes.parse())?;
        println!("{object} bytes on {path}");
        all(&path, object, &ARMS)?;
        trial("quinn its own CUBIC", &path, object, control(Own::QuinnCubic)?);
        trial("noq   its own CUBIC", &path, object, control(Own::NoqCubic)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut won = true;
    for (what, path, object, arms) in DUELS {
        won &= duel(what, path, object, arms)?;
    }
    Ok(if won { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
