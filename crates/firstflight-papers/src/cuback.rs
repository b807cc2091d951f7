//! Cuback in competition with CUBIC: the draft's newcomer, and the shares stated in quicly's pull request 688.

use super::grid::each_seed;
use super::lab::{Sender, Vary, arm, together};
use super::sample::{Interval, bootstrap, mean, sum};
use super::{Effort, Measured, Source, Values};
use crate::Scale;
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::App;

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &[
    "rapid/cubic@(iw=30)",
    "rapid/cuback@(iw=30)",
    "slowstart/cubic",
    "slowstart/cuback",
    "slowstart/cuback(alpha=1)",
];
/// Arms of the newcomers, the baseline first.
const NEWCOMERS: [&str; 2] = ["rapid/cubic@(iw=30)", "rapid/cuback@(iw=30)"];
const PAIRED: [&str; 3] = ["slowstart/cubic", "slowstart/cuback", "slowstart/cuback(alpha=1)"];
const PATHS: [&str; 3] = ["quicly15/5g", "quicly15/dsl", "quicly15/lte"];
/// Times at which a newcomer's bytes are compared, s.
const MOMENTS: [usize; 4] = [1, 2, 5, 10];
/// Start of the newcomer, s, long after the other flow's slow start.
const COMES: usize = 10;

/// Endless traffic: more than any flow here carries. A trial ends when all finite objects have arrived, or at its limit.
pub(crate) const WITHOUT_END: App = App::Bulk(1 << 40);

/// Bytes that two endless flows have delivered at each second; the second starts at `start`.
pub(crate) fn pair(
    path: &str,
    arms: [&str; 2],
    start: Nanos,
    seconds: usize,
    seed: u64,
) -> Result<Vec<[u64; 2]>, Error> {
    let ground = Scenario {
        limit: Nanos::from_secs(seconds as u64),
        ..Scenario::new(Path::parse(path)?, 1_000_000)
    };
    let (first, second) = (arm(arms[0])?, arm(arms[1])?);
    let senders = vec![
        Sender { arm: &first, app: WITHOUT_END, start: Nanos::ZERO },
        Sender { arm: &second, app: WITHOUT_END, start },
    ];
    let sample = Some(Nanos::from_secs(1));
    let outcome = together(&ground, senders, seed, Vary::Rtt, sample)?;
    let both = |flows: &Vec<u64>| {
        [flows.first().copied().unwrap_or(0), flows.get(1).copied().unwrap_or(0)]
    };
    Ok(outcome.delivered.iter().map(both).collect())
}

/// Bytes delivered by both flows between two seconds.
pub(crate) fn between(samples: &[[u64; 2]], from: usize, to: usize) -> [f64; 2] {
    let at = |second: usize| samples.get(second).or(samples.last()).copied().unwrap_or([0, 0]);
    let (from, to) = (at(from), at(to));
    [0, 1].map(|flow| to[flow].saturating_sub(from[flow]) as f64)
}

/// The second flow's share, percent.
pub(crate) fn share([first, second]: [f64; 2]) -> f64 {
    100.0 * second / (first + second).max(1.0)
}

/// Bytes delivered in both arms' runs of one seed, by second.
type Matched = [Vec<[u64; 2]>; 2];

/// Additional bytes that Cuback's newcomers delivered in `seconds` seconds compared with CUBIC's, percent, mean over
/// these paths.
fn gain(paths: &[Vec<Matched>], seconds: usize) -> Interval {
    let seeds = paths.first().map_or(0, Vec::len);
    bootstrap(seeds, |units| {
        let of = |path: &[Matched], arm: usize| {
            sum(units, |unit| between(&path[unit][arm], COMES, COMES + 1 + seconds)[1])
        };
        let gains = paths.iter().map(|path| 100.0 * (of(path, 1) / of(path, 0) - 1.0));
        gains.sum::<f64>() / paths.len() as f64
    })
}

/// Measures the draft's newcomer.
fn newcomers(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("cuback.newcomers");
    let stays = if effort.scale == Scale::Glance { 10 } else { 60 };
    let mut paths = Vec::new();
    for path in PATHS {
        effort.tell("Cuback: a newcomer against CUBIC");
        paths.push(each_seed(effort, seeds, |seed| {
            // Vary the phase of the other flow's sawtooth.
            let start = Nanos::from_millis(COMES as u64 * 1000 + seed * 37 % 1000);
            let run = |newcomer| {
                pair(path, ["slowstart/cubic", newcomer], start, COMES + 1 + stays, seed)
            };
            Ok([run(NEWCOMERS[0])?, run(NEWCOMERS[1])?])
        })?);
    }
    values.number("newcomer.all", gain(&paths, 10)).case("mean of three paths, after 10 s");
    for (path, all) in PATHS.into_iter().zip(paths.chunks(1)) {
        for seconds in MOMENTS {
            let case = format!("{path}, after {seconds} s");
            values.number("newcomer.bytes", gain(all, seconds)).case(case);
        }
    }
    for (path, all) in PATHS.into_iter().zip(&paths) {
        let late = COMES + 1 + stays;
        let apart = bootstrap(all.len(), |units| {
            let of = |arm: usize| {
                mean(units, |unit| share(between(&all[unit][arm], late - stays / 3, late)))
            };
            of(1) - of(0)
        });
        values.number("newcomer.share", apart).case(path);
    }
    Ok(())
}

/// Measures the pairs of quicly's pull request 688.
fn shares(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    let seeds = effort.sample("cuback.shares");
    for (path, name) in [("quicly15/bdp20", "20"), ("quicly15/bdp40", "40")] {
        effort.tell("Cuback: its share in competition with CUBIC");
        let all = each_seed(effort, seeds, |seed| {
            let start = Nanos::from_millis(seed * 37 % 1000);
            let mut found = [0.0; 3];
            for (found, arm) in found.iter_mut().zip(PAIRED) {
                *found =
                    share(between(&pair(path, ["slowstart/cubic", arm], start, 30, seed)?, 0, 30));
            }
            Ok(found)
        })?;
        let apart = bootstrap(all.len(), |units| mean(units, |unit| all[unit][2] - all[unit][1]));
        values.number(format!("share{name}.difference"), apart).case(path);
        let of = |arm: usize| bootstrap(all.len(), |units| mean(units, |unit| all[unit][arm]));
        for (arm, what) in ["cubic", "cuback", "alpha"].into_iter().enumerate() {
            values.number(format!("share{name}.{what}"), of(arm)).case(path);
        }
    }
    Ok(())
}

/// Measures the documents' claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut values = Values::default();
    newcomers(effort, &mut values)?;
    shares(effort, &mut values)?;
    Ok(values.into())
}
