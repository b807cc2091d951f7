//! ABBA compared with CUBIC on paths that lose packets without a full queue: quicly's pull request 689. Its numbers
//! are of ABBA's first version; the second, linear version is measured, too.

use super::cuback::{WITHOUT_END, between, pair, share};
use super::grid::each_seed;
use super::lab::{Sender, Vary, arm, together};
use super::sample::{bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use crate::Scale;
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &[
    "slowstart/cubic",
    "slowstart/abba",
    "slowstart/abba(over=cuback)",
    "slowstart/abba(version=1)",
];
/// Profiles of quicly's simulator for which the pull request has numbers.
const PATHS: [&str; 6] = ["corporate-wifi", "wifi-office", "5g", "home-wifi", "lte", "leo"];
/// Shares of round trips with a loss, percent.
const SHARES: [u32; 2] = [5, 10];
/// Bytes of a full packet on the wire.
const WIRE_PACKET: f64 = 1500.0;

/// Duration of a single flow, s.
fn seconds(effort: &Effort<'_>) -> u64 {
    if effort.scale == Scale::Glance { 2 } else { 20 }
}

/// Goodput of one endless flow, percent of the link, and the 95th percentile of its queueing delay, ms.
fn alone(path: &str, text: &str, seed: u64, seconds: u64) -> Result<(f64, f64), Error> {
    let path = Path::parse(path)?;
    let rate = path.rate_bps() as f64;
    let limit = Nanos::from_secs(seconds);
    let ground = Scenario { limit, ..Scenario::new(path, 1_000_000) };
    let arm = arm(text)?;
    let senders = vec![Sender { arm: &arm, app: WITHOUT_END, start: Nanos::ZERO }];
    let outcome = together(&ground, senders, seed, Vary::Rtt, None)?;
    let flow = outcome.flows.first().ok_or_else(|| Error::new("a trial without a flow"))?;
    let goodput = 100.0 * flow.delivered as f64 * 8.0 / (rate * seconds as f64);
    Ok((goodput, flow.queue_us.value_at_quantile(0.95) as f64 / 1e3))
}

/// The profile with a loss in `percent` percent of the round trips of a window that fills the path.
fn lossy(name: &str, percent: u32) -> Result<String, Error> {
    let path = Path::parse(&format!("quicly15/{name}"))?;
    let packets = path.bdp_bytes() as f64 / WIRE_PACKET;
    Ok(format!("quicly15/{name},loss={:.6}%", f64::from(percent) / packets))
}

/// Measures a single flow under each arm.
fn goodput(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seconds = seconds(effort);
    // The first version is far above both, and there is no claim about ABBA over Cuback.
    let few = effort.sample("abba.goodput-others");
    for percent in SHARES {
        effort.tell("ABBA: goodput when packets are lost without a queue");
        for name in PATHS {
            let path = lossy(name, percent)?;
            let seeds = effort.sample(&format!("abba.goodput-{name}"));
            let others = few.min(seeds);
            let all = each_seed(effort, seeds, |seed| {
                let run = |arm| alone(&path, arm, seed, seconds).map(|(goodput, _)| goodput);
                let other = |arm| if seed <= others.into() { run(arm) } else { Ok(f64::NAN) };
                Ok([run(ARMS[0])?, run(ARMS[1])?, other(ARMS[2])?, other(ARMS[3])?])
            })?;
            let number = |arm: usize| if arm < 2 { all.len() } else { others as usize };
            let of =
                |arm: usize| bootstrap(number(arm), |units| mean(units, |unit| all[unit][arm]));
            for (arm, what) in ["cubic", "abba", "cuback", "first"].into_iter().enumerate() {
                values.number(format!("{name}.{percent}.{what}"), of(arm)).case(&path);
            }
            for (arm, what) in [(3, "first-gain"), (1, "gain")] {
                let gain = bootstrap(number(arm), |units| {
                    mean(units, |unit| all[unit][arm] - all[unit][0])
                });
                values.number(format!("{name}.{percent}.{what}"), gain).case(&path);
            }
        }
    }
    Ok(())
}

/// Measures paths without random loss, where nothing may change.
fn clean(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let (seeds, seconds) = (effort.sample("abba.clean"), seconds(effort));
    effort.tell("ABBA: clean paths");
    for name in ["dsl", "lte", "5g"] {
        let path = format!("quicly15/{name}");
        let all = each_seed(effort, seeds, |seed| {
            Ok([alone(&path, ARMS[0], seed, seconds)?, alone(&path, ARMS[1], seed, seconds)?])
        })?;
        let apart = |read: fn(&(f64, f64)) -> f64| {
            bootstrap(all.len(), |units| {
                mean(units, |unit| read(&all[unit][1]) - read(&all[unit][0]))
            })
        };
        values.number("clean.goodput", apart(|one| one.0)).case(&path);
        values.number("clean.queue", apart(|one| one.1)).case(&path);
    }
    Ok(())
}

/// Measures a flow of ABBA that competes with one of CUBIC.
fn beside(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("ABBA: its share in competition with CUBIC");
    for name in ["dsl", "lte", "5g"] {
        let seeds = effort.sample(&format!("abba.beside-{name}"));
        let path = format!("quicly15/{name}");
        let all = each_seed(effort, seeds, |seed| {
            let start = Nanos::from_millis(seed * 37 % 1000);
            let of = |arm: usize| {
                let both = pair(&path, [ARMS[0], ARMS[arm]], start, 30, seed)?;
                Ok(share(between(&both, 0, 30)))
            };
            Ok([of(1)?, of(3)?])
        })?;
        for (arm, what) in ["share", "first"].into_iter().enumerate() {
            let ours = bootstrap(all.len(), |units| mean(units, |unit| all[unit][arm]));
            values.number(format!("beside.{what}"), ours).case(&path);
        }
    }
    Ok(())
}

/// Time at which the link becomes four times as fast, s.
const STEP: usize = 20;
/// Time observed after that, s.
const AFTER: usize = 40;

/// Time after the step until an endless flow fills 90 % of the link for a second, s; [`AFTER`] if it never does.
fn climbs(text: &str, seed: u64) -> Result<f64, Error> {
    let path = Path::parse(&format!("rate=20Mbit,rtt=60ms,queue=2bdp,steps={STEP}s:80Mbit"))?;
    let limit = Nanos::from_secs((STEP + AFTER) as u64);
    let ground = Scenario { limit, ..Scenario::new(path, 1_000_000) };
    let arm = arm(text)?;
    let senders = vec![Sender { arm: &arm, app: WITHOUT_END, start: Nanos::ZERO }];
    let sample = Some(Nanos::from_secs(1));
    let outcome = together(&ground, senders, seed, Vary::Rtt, sample)?;
    let delivered: Vec<u64> =
        outcome.delivered.iter().map(|flows| flows.iter().sum::<u64>()).collect();
    // A packet without its headers.
    let most = 80e6 / 8.0 * 1472.0 / WIRE_PACKET;
    let fills = |second: &usize| {
        let at = |second: usize| delivered.get(second).copied().unwrap_or(0);
        at(second + 1).saturating_sub(at(*second)) as f64 >= 0.9 * most
    };
    let first = (STEP..STEP + AFTER).find(fills).unwrap_or(STEP + AFTER);
    Ok((first - STEP) as f64)
}

/// Measures a link that becomes faster.
fn step(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("abba.step");
    effort.tell("ABBA: a link that becomes faster");
    let all = each_seed(effort, seeds, |seed| {
        let of = |arm: usize| climbs(ARMS[arm], seed);
        Ok([of(0)?, of(1)?, of(3)?])
    })?;
    for (arm, what) in ["cubic", "abba", "first"].into_iter().enumerate() {
        let took = bootstrap(all.len(), |units| mean(units, |unit| all[unit][arm]));
        values.number(format!("step.{what}"), took).case("20 to 80 Mbit/s, 60 ms");
    }
    let sooner = bootstrap(all.len(), |units| mean(units, |unit| all[unit][1] - all[unit][0]));
    values.number("step.sooner", sooner).case("20 to 80 Mbit/s, 60 ms");
    Ok(())
}

/// Share of one flow among nine of CUBIC, percent of all ten.
fn among(text: &str, path: &str, seed: u64, seconds: u64) -> Result<f64, Error> {
    let ground = Scenario {
        limit: Nanos::from_secs(seconds),
        ..Scenario::new(Path::parse(path)?, 1_000_000)
    };
    let (ours, cubic) = (arm(text)?, arm(ARMS[0])?);
    let start = |flow: u64| Nanos::from_millis((seed * 37 + flow * 101) % 1000);
    let senders = (0..10)
        .map(|flow| Sender {
            arm: if flow == 0 { &ours } else { &cubic },
            app: WITHOUT_END,
            start: start(flow),
        })
        .collect();
    let outcome = together(&ground, senders, seed, Vary::Rtt, None)?;
    let all: u64 = outcome.flows.iter().map(|flow| flow.delivered).sum();
    let first = outcome.flows.first().map_or(0, |flow| flow.delivered);
    Ok(100.0 * first as f64 / all.max(1) as f64)
}

fn one_of_ten(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("abba.among");
    let seconds = if effort.scale == Scale::Glance { 5 } else { 60 };
    effort.tell("ABBA: one among ten");
    let all = each_seed(effort, seeds, |seed| {
        let of = |arm: usize| among(ARMS[arm], "quicly15/dsl", seed, seconds);
        Ok([of(3)?, of(1)?])
    })?;
    for (arm, what) in ["first", "abba"].into_iter().enumerate() {
        let share = bootstrap(all.len(), |units| mean(units, |unit| all[unit][arm]));
        values.number(format!("among.{what}"), share).case("quicly15/dsl");
    }
    Ok(())
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    goodput(effort, &mut values)?;
    clean(effort, &mut values)?;
    beside(effort, &mut values)?;
    step(effort, &mut values)?;
    one_of_ten(effort, &mut values)?;
    Ok(values.into())
}
