//! The idle trap: a CUBIC that counts idle time from the last send stays at two packets after heavy loss has ended.

use super::grid::{Grid, grid};
use super::lab::completion_ms;
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Source, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;

/// The arms that the experiments compare: CUBIC before and after the fix, and Reno.
pub(crate) const ARMS: &[&str] =
    &["hystart++/cubic(idle=sent)", "hystart++/cubic", "hystart++/reno"];
const BEFORE: usize = 0;
const AFTER: usize = 1;
const RENO: usize = 2;

/// Bytes of the download, and the time after which the test gives up, ms.
const OBJECT: u64 = 10_000_000;
const PATIENCE: f64 = 10_000.0;

/// When a trial ends; a window that is stuck would take half an hour.
const LIMIT: Nanos = Nanos::from_secs(30);

/// Paths: that of the test, and what its description leaves open.
const PATHS: [(&str, &str); 5] = [
    ("ACK every 2nd packet", "rate=1Gbit,rtt=10ms,queue=1bdp,loss=30%,loss_until=2s"),
    ("ACK every packet", "rate=1Gbit,rtt=10ms,queue=1bdp,loss=30%,loss_until=2s,ack=1"),
    ("100 Mbit/s", "rate=100Mbit,rtt=10ms,queue=1bdp,loss=30%,loss_until=2s"),
    ("RTT 14 ms", "rate=1Gbit,rtt=14ms,queue=1bdp,loss=30%,loss_until=2s"),
    (
        "ACKs are lost, too",
        "rate=1Gbit,rtt=10ms,queue=1bdp,loss=30%,loss_until=2s,up_loss=30%,up_loss_until=2s",
    ),
];

/// The share of runs that do not end in time, percent.
fn failed(times: &Grid<f64>, cell: usize, arm: usize) -> Interval {
    let times = times.of(cell, arm);
    bootstrap(times.len(), |units| {
        // A download that did not end has no time, which is never within the limit.
        mean(units, |unit| if times[unit] <= PATIENCE { 0.0 } else { 100.0 })
    })
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let cells = PATHS
        .iter()
        .map(|(_, path)| Ok(Scenario { limit: LIMIT, ..Scenario::new(Path::parse(path)?, OBJECT) }))
        .collect::<Result<Vec<_>, Error>>()?;
    let seeds = effort.sample("idle-trap.downloads");
    let times =
        grid(effort, "idle trap: downloads after heavy loss", &cells, ARMS, seeds, |_, done| {
            completion_ms(done)
        })?;
    let mut values = Values::default();
    let share = |cell: usize, arm: usize| failed(&times, cell, arm).value;
    let elsewhere = |arm: usize| -> Vec<(String, String)> {
        let other = |cell: usize| (PATHS[cell].0.to_owned(), format!("{:.0} %", share(cell, arm)));
        (1..PATHS.len()).map(other).collect()
    };
    values.number("failed.before", failed(&times, 0, BEFORE)).sweep(elsewhere(BEFORE));
    values.number("failed.after", failed(&times, 0, AFTER)).sweep(elsewhere(AFTER));
    values.number("failed.reno", failed(&times, 0, RENO)).sweep(elsewhere(RENO));
    let after = times.of(0, AFTER);
    let seconds = bootstrap(after.len(), |units| mean(units, |unit| after[unit] / 1e3));
    values.number("time.after", seconds);
    Ok(values.into())
}
