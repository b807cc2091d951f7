//! Paced Chirping: the queue of a new flow, completion time and queue beside other startups, and what an
//! existing flow yields.

use super::cuback::{WITHOUT_END, between, share as second};
use super::grid::{each_seed, grid};
use super::lab::{Sender, Vary, arm, completion_ms, queue_p99_ms, together, watch};
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::observe::Signals;
use firstflight_sim::{Observer, Snapshot};

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &["slowstart", "hystart++", "bbr", "chirping"];
const CHIRPING: usize = 3;
/// Rates of the link, Mbit/s.
const RATES: [u64; 3] = [50, 100, 120];

/// A link with an RTT of 20 ms and a queue of 40 ms.
fn path(mbps: u64) -> String {
    format!("rate={mbps}Mbit,rtt=20ms,queue=40ms")
}

/// The largest RTT samples until startup ends: of the first round trip, and after it.
#[derive(Default)]
struct Rises {
    /// Time until which ACKs of the initial window arrive, ns.
    opening: u64,
    first: u64,
    later: u64,
}

impl Observer for Rises {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        let Some(rtt) = snapshot.rtt.filter(|_| snapshot.exit.is_none()) else { return };
        let most = if snapshot.now.0 < self.opening { &mut self.first } else { &mut self.later };
        *most = (*most).max(rtt.0);
    }
}

/// The queueing delay that a lone flow causes until startup ends, ms: with its initial window, and after.
fn queues(mbps: u64, seed: u64) -> Result<[f64; 2], Error> {
    let ground = Scenario::new(Path::parse(&path(mbps))?, 3_000_000);
    let idle = ground.path.rtt() + firstflight_lab::scenario::rtt_jitter(seed);
    let mut rises = Rises { opening: 2 * idle - idle / 20, ..Rises::default() };
    watch(&ground, &arm("chirping")?, seed, Some(&mut rises))?;
    Ok([rises.first, rises.later].map(|rtt| rtt.saturating_sub(idle) as f64 / 1e6))
}

fn of(values: &[[f64; 2]], which: usize, per_ms: f64) -> Interval {
    bootstrap(values.len(), |units| mean(units, |unit| values[unit][which] * per_ms))
}

fn alone(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("Paced Chirping: the queue of a new flow");
    let seeds = effort.sample("chirping.alone");
    for mbps in RATES {
        let found = each_seed(effort, seeds, |seed| queues(mbps, seed))?;
        let case = format!("{mbps} Mbit/s");
        values.number("queue.opening", of(&found, 0, 1.0)).case(&case);
        // Packets of 1500 bytes on the wire.
        values.number("queue.later", of(&found, 1, mbps as f64 / 12.0)).case(&case);
    }
    Ok(())
}

fn compared(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("chirping.compared");
    let cells = RATES
        .map(|mbps| Ok(Scenario::new(Path::parse(&path(mbps))?, 3_000_000)))
        .into_iter()
        .collect::<Result<Vec<_>, Error>>()?;
    let found = grid(
        effort,
        "Paced Chirping: beside other startups",
        &cells,
        ARMS,
        seeds,
        |_, outcome| [completion_ms(outcome), queue_p99_ms(outcome)],
    )?;
    for (cell, mbps) in RATES.into_iter().enumerate() {
        let case = format!("{mbps} Mbit/s");
        let chirping = found.of(cell, CHIRPING);
        let longer = bootstrap(chirping.len(), |units| {
            let time = |arm: usize| mean(units, |unit| found.of(cell, arm)[unit][0]);
            time(CHIRPING) / time(0)
        });
        values.number("time", longer).case(&case);
        for (other, name) in ARMS.iter().enumerate().take(CHIRPING) {
            let less = bootstrap(chirping.len(), |units| {
                mean(units, |unit| chirping[unit][1] - found.of(cell, other)[unit][1])
            });
            values.number("queue.p99", less).case(format!("{case}, {name}"));
        }
    }
    Ok(())
}

/// Share of the bytes that the newcomer delivers one to three seconds after it joins an endless flow, percent.
fn share(existing: &str, newcomer: &str, link: &str, seed: u64) -> Result<f64, Error> {
    const COMES: usize = 10;
    let ground =
        Scenario { limit: Nanos::from_secs(14), ..Scenario::new(Path::parse(link)?, 1_000_000) };
    let (existing, newcomer) = (arm(existing)?, arm(newcomer)?);
    let start = Nanos::from_millis(COMES as u64 * 1000);
    let senders = vec![
        Sender { arm: &existing, app: WITHOUT_END, start: Nanos::ZERO },
        Sender { arm: &newcomer, app: WITHOUT_END, start },
    ];
    let outcome = together(&ground, senders, seed, Vary::Rtt, Some(Nanos::from_secs(1)))?;
    let samples: Vec<[u64; 2]> = outcome
        .delivered
        .iter()
        .map(|flows| [flows.first().copied().unwrap_or(0), flows.get(1).copied().unwrap_or(0)])
        .collect();
    Ok(second(between(&samples, COMES + 1, COMES + 3)))
}

fn beside(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("Paced Chirping: beside an existing flow");
    let seeds = effort.sample("chirping.beside");
    for (name, existing, newcomer, link) in [
        (
            "beside.prague",
            "slowstart/prague",
            "chirping/prague",
            "rate=120Mbit,rtt=20ms,queue=40ms,dualpi2,ecn",
        ),
        ("beside.cubic", "slowstart/cubic", "chirping/cubic", "rate=120Mbit,rtt=20ms,queue=40ms"),
    ] {
        for (newcomer, case) in [(newcomer, "chirping"), (existing, "slow start")] {
            let shares = each_seed(effort, seeds, |seed| share(existing, newcomer, link, seed))?;
            let found = bootstrap(shares.len(), |units| mean(units, |unit| shares[unit]));
            let name =
                if case == "chirping" { name.to_owned() } else { format!("{name}.slowstart") };
            values.number(&name, found).case(case);
        }
    }
    Ok(())
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    alone(effort, &mut values)?;
    compared(effort, &mut values)?;
    beside(effort, &mut values)?;
    Ok(values.into())
}
