//! ABBA beside CUBIC on paths that lose packets without a full queue: quicly's pull request 689. What
//! it states was measured with ABBA's first version; ours is the second, linear one.

use super::cuback::{WITHOUT_END, between, pair, share};
use super::lab::{Sender, Vary, arm, each_seed, together};
use super::sample::{bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use crate::Scale;
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] =
    &["slowstart/cubic", "slowstart/abba", "slowstart/abba(over=cuback)"];
/// Profiles of quicly's simulator that the pull request has numbers for.
const PATHS: [&str; 6] = ["corporate-wifi", "wifi-office", "5g", "home-wifi", "lte", "leo"];
/// Round trips with a loss, percent.
const SHARES: [u32; 2] = [5, 10];
/// Bytes of a full packet on the wire.
const WIRE_PACKET: f64 = 1500.0;

/// Seeds and seconds of a flow alone.
fn lengths(effort: &Effort<'_>) -> (u32, u64) {
    match effort.scale {
        Scale::Glance => (2, 2),
        Scale::Quick => (5, 20),
        Scale::Full => (20, 20),
    }
}

/// What one endless flow delivered, percent of the link, and the 95th percentile of its packets'
/// wait, ms.
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

/// The profile with a loss in so many percent of the round trips of a window that fills it.
fn lossy(name: &str, percent: u32) -> Result<String, Error> {
    let path = Path::parse(&format!("quicly15/{name}"))?;
    let packets = path.bdp_bytes() as f64 / WIRE_PACKET;
    Ok(format!("quicly15/{name},loss={:.6}%", f64::from(percent) / packets))
}

/// One flow alone under each arm.
fn goodput(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let (seeds, seconds) = lengths(effort);
    for percent in SHARES {
        effort.tell("ABBA: goodput where packets are lost without a queue");
        for name in PATHS {
            let path = lossy(name, percent)?;
            let all = each_seed(seeds, |seed| {
                let run = |arm| alone(&path, arm, seed, seconds).map(|(goodput, _)| goodput);
                Ok([run(ARMS[0])?, run(ARMS[1])?, run(ARMS[2])?])
            })?;
            let of = |arm: usize| bootstrap(all.len(), |units| mean(units, |unit| all[unit][arm]));
            for (arm, what) in ["cubic", "abba", "cuback"].into_iter().enumerate() {
                values.number(format!("{name}.{percent}.{what}"), of(arm)).case(&path);
            }
            let gain =
                bootstrap(all.len(), |units| mean(units, |unit| all[unit][1] - all[unit][0]));
            values.number(format!("{name}.{percent}.gain"), gain).case(&path);
        }
    }
    Ok(())
}

/// Paths that lose nothing without a queue: nothing may change there.
fn clean(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let (seeds, seconds) = lengths(effort);
    effort.tell("ABBA: clean paths");
    for name in ["dsl", "lte", "5g"] {
        let path = format!("quicly15/{name}");
        let all = each_seed(seeds, |seed| {
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

/// A flow of ABBA beside one of CUBIC.
fn beside(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = if effort.scale == Scale::Glance { 2 } else { effort.either(10, 60) };
    effort.tell("ABBA: its share beside CUBIC");
    for name in ["dsl", "lte", "5g"] {
        let path = format!("quicly15/{name}");
        let all = each_seed(seeds, |seed| {
            let start = Nanos::from_millis(seed * 37 % 1000);
            Ok(share(between(&pair(&path, [ARMS[0], ARMS[1]], start, 30, seed)?, 0, 30)))
        })?;
        let ours = bootstrap(all.len(), |units| mean(units, |unit| all[unit]));
        values.number("beside.share", ours).case(&path);
    }
    Ok(())
}

/// Measures what the document claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    goodput(effort, &mut values)?;
    clean(effort, &mut values)?;
    beside(effort, &mut values)?;
    Ok(values.into())
}
