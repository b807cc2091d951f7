//! Careful Resume: the gain on a satellite path, and the effect of wrong saved parameters on other flows.

use super::cuback::{WITHOUT_END, between};
use super::grid::each_seed;
use super::lab::{Sender, Vary, arm, completion_ms, together};
use super::sample::{Interval, bootstrap, mean, sum};
use super::{Effort, Measured, Source, Values};
use crate::Scale;
use firstflight::Nanos;
use firstflight_lab::arms::NamedArm;
use firstflight_lab::resume::Resume;
use firstflight_lab::scenario::Scenario;
use firstflight_lab::testbed::sim;
use firstflight_lab::{Error, parse_arms};
use firstflight_path::Path;
use firstflight_sim::{App, Outcome};

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &["slowstart", "careful", "careful(hystart=on)"];
/// Path of the satellite with 50 Mbit/s.
const SATELLITE: &str = "pico/sat-50-10";
/// Object size of the first connection where it differs from the second's, bytes.
const LONG: u64 = 8_000_000;

/// The first connection: its path and object size.
#[derive(Clone, Copy)]
struct Before<'a> {
    path: &'a str,
    bytes: u64,
}

/// The arm resumed from a first connection, or the plain arm if that saved nothing.
fn resumed(text: &str, before: Before<'_>, seed: u64) -> Result<NamedArm, Error> {
    let first = Scenario::new(Path::parse(before.path)?, before.bytes);
    let arm = arm(text)?;
    let second = Resume::default().second(&sim::BED, &first.jittered(seed), &arm, seed)?;
    Ok(second.map_or(arm, |(arm, _)| arm))
}

/// One trial on a path whose RTT is varied by the seed.
fn trial(path: &str, bytes: u64, arm: &NamedArm, seed: u64) -> Result<Outcome, Error> {
    Scenario::new(Path::parse(path)?, bytes).jittered(seed).simulate(arm, seed, None)
}

/// Completion times of both arms, the second resumed from `before`, seed by seed.
fn both(
    effort: &Effort<'_>,
    seeds: u32,
    path: &str,
    bytes: u64,
    careful: &str,
    before: Before<'_>,
) -> Result<Vec<[f64; 2]>, Error> {
    let plain = arm("slowstart")?;
    each_seed(effort, seeds, |seed| {
        let careful = resumed(careful, before, seed)?;
        Ok([
            completion_ms(&trial(path, bytes, &plain, seed)?),
            completion_ms(&trial(path, bytes, &careful, seed)?),
        ])
    })
}

/// Reduction of the completion time by resuming, percent.
fn shorter(times: &[[f64; 2]]) -> Interval {
    bootstrap(times.len(), |units| {
        let of = |arm: usize| mean(units, |unit| times[unit][arm]);
        100.0 * (1.0 - of(1) / of(0))
    })
}

fn gains(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("careful.satellite");
    effort.tell("Careful Resume: a satellite");
    for (name, bytes) in [("satellite.large", 5_300_000), ("satellite.small", 1_000_000)] {
        let before = Before { path: SATELLITE, bytes };
        let times = both(effort, seeds, SATELLITE, bytes, "careful", before)?;
        values.number(name, shorter(&times)).case(SATELLITE);
    }
    for path in [SATELLITE, "quicly15/5g"] {
        let rtt = Path::parse(path)?.rtt() as f64 / 1e6;
        for careful in ["careful", "careful(hystart=on)"] {
            let times =
                both(effort, seeds, path, 2_000_000, careful, Before { path, bytes: LONG })?;
            let saved = bootstrap(times.len(), |units| {
                mean(units, |unit| (times[unit][0] - times[unit][1]) / rtt)
            });
            values.number("round-trips", saved).case(format!("{path}, {careful}, 2 MB"));
        }
    }
    effort.tell("Careful Resume: picoquic's satellite");
    let path = "pico/sat-250-3";
    let seeds = effort.sample("careful.pico");
    let bytes = if effort.scale == Scale::Glance { 2_000_000 } else { 100_000_000 };
    let times = both(effort, seeds, path, bytes, "careful", Before { path, bytes })?;
    for (arm, name) in ["pico.plain", "pico.resumed"].into_iter().enumerate() {
        let seconds = bootstrap(times.len(), |units| mean(units, |unit| times[unit][arm] / 1e3));
        values.number(name, seconds).case(path);
    }
    Ok(())
}

/// Measures a link of a gigabit over a satellite.
fn gigabit(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("Careful Resume: a satellite with a gigabit");
    let path = "rate=1Gbit,rtt=600ms,queue=1bdp";
    let bytes = if effort.scale == Scale::Glance { 2_000_000 } else { 150_000_000 };
    let seeds = effort.sample("careful.gigabit");
    let times = both(effort, seeds, path, bytes, "careful", Before { path, bytes })?;
    let saved = bootstrap(times.len(), |units| {
        mean(units, |unit| (times[unit][0] - times[unit][1]) / 600.0)
    });
    values.number("gigabit.round-trips", saved).case(path);
    Ok(())
}

/// Measures saved parameters from a path that is ten times as fast or has another RTT.
fn wrong(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("Careful Resume: wrong saved parameters");
    let path = "rate=5Mbit,rtt=100ms,queue=0.1bdp";
    let seeds = effort.sample("careful.wrong");
    for (what, earlier) in [
        ("ten times the rate", "rate=50Mbit,rtt=100ms,queue=0.1bdp"),
        ("an RTT that has doubled", "rate=5Mbit,rtt=50ms,queue=0.2bdp"),
        ("the same path", path),
    ] {
        let harm = each_seed(effort, seeds, |seed| {
            let careful = resumed("careful", Before { path: earlier, bytes: LONG }, seed)?;
            Ok([beside(path, &arm("slowstart")?, seed)?, beside(path, &careful, seed)?])
        })?;
        let less = bootstrap(harm.len(), |units| {
            let of = |arm: usize| sum(units, |unit| harm[unit][arm]);
            100.0 * (1.0 - of(1) / of(0))
        });
        values.number("wrong.harm", less).case(what);
    }
    let own = trial(path, 1_000_000, &arm("slowstart")?, 1)?;
    for (what, earlier) in [
        ("half the RTT", "rate=5Mbit,rtt=201ms,queue=0.1bdp"),
        ("twelve times the RTT", "rate=5Mbit,rtt=8ms,queue=5bdp"),
    ] {
        let careful = resumed("careful", Before { path: earlier, bytes: LONG }, 1)?;
        let other = trial(path, 1_000_000, &careful, 1)?;
        let of = |outcome: &Outcome| {
            format!("{:.3} ms, {} packets", completion_ms(outcome), outcome.counters.packets_sent)
        };
        values.exact("wrong.rtt", of(&other), of(&own), of(&other) == of(&own)).case(what);
    }
    Ok(())
}

/// Bytes that a running CUBIC flow delivers in the ten seconds after 1 MB joins.
fn beside(path: &str, newcomer: &NamedArm, seed: u64) -> Result<f64, Error> {
    const COMES: usize = 10;
    let ground =
        Scenario { limit: Nanos::from_secs(25), ..Scenario::new(Path::parse(path)?, 1_000_000) };
    let first = parse_arms("slowstart/cubic")?.remove(0);
    let start = Nanos::from_millis(COMES as u64 * 1000 + seed * 37 % 1000);
    let senders = vec![
        Sender { arm: &first, app: WITHOUT_END, start: Nanos::ZERO },
        Sender { arm: newcomer, app: App::Bulk(1_000_000), start },
    ];
    let outcome = together(&ground, senders, seed, Vary::Rtt, Some(Nanos::from_secs(1)))?;
    let samples: Vec<[u64; 2]> = outcome
        .delivered
        .iter()
        .map(|flows| [flows.first().copied().unwrap_or(0), flows.get(1).copied().unwrap_or(0)])
        .collect();
    Ok(between(&samples, COMES, COMES + 11)[0])
}

/// Measures the documents' claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    gains(effort, &mut values)?;
    wrong(effort, &mut values)?;
    gigabit(effort, &mut values)?;
    Ok(values.into())
}
