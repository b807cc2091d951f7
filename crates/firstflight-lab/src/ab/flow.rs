//! One connection under every arm, and the checks of the test itself: the baseline rerun with the
//! same seed, and the baseline against itself under other seeds.

use super::{Clock, Test};
use crate::decision::Sample;
use crate::population::{Drawn, Population};
use crate::scenario::Scenario;
use firstflight::Exit;
use firstflight_path::random::mix;
use firstflight_path::{Error, Path};
use firstflight_sim::{App, Counters, Outcome, Part, Stop};

/// Result of one arm on one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowResult {
    /// Whether every byte arrived within the limit: delivered, or acknowledged where the sender's
    /// clock counts.
    pub complete: bool,
    /// Completion time on the test's clock, ns; the limit if it is incomplete.
    pub ttlb_ns: u64,
    /// Time until every byte was acknowledged at the sender, ns.
    pub acked_ns: Option<u64>,
    /// Time until the last byte was delivered in order at the receiver, ns.
    pub delivered_after_ns: Option<u64>,
    /// Object bytes delivered in order at the receiver, by the end of the trial.
    pub delivered: u64,
    /// Counters of the sender.
    pub counters: Counters,
    /// Recovery episodes, whatever opened them.
    pub episodes: u64,
    /// Median waiting time of packets at the bottleneck, us.
    pub queue_p50_us: u64,
    /// 99th percentile of the packets' waiting time at the bottleneck, us.
    pub queue_p99_us: u64,
    /// Largest window, bytes.
    pub cwnd_max: u64,
    /// Exit of the startup.
    pub exit: Option<Exit>,
}

impl FlowResult {
    /// Result for responses: the sum of their completion times, without pauses; a response that did
    /// not finish counts with the limit.
    fn of_responses(outcome: &Outcome, clock: Clock, limit_ns: u64) -> FlowResult {
        let time = |part: &Part| match clock {
            Clock::Receiver => part.delivered_after(),
            Clock::Sender => part.latency(),
        };
        let latency = |part: &Part| time(part).map_or(limit_ns, |time| time.0);
        let ttlb_ns = outcome.parts.iter().map(latency).fold(0, u64::saturating_add);
        FlowResult { ttlb_ns, ..FlowResult::new(outcome, clock) }
    }

    fn new(outcome: &Outcome, clock: Clock) -> FlowResult {
        let acknowledged = outcome.stop == Stop::Complete;
        // An incomplete transfer was stopped at the limit.
        let (complete, ttlb) = match clock {
            Clock::Receiver => {
                (outcome.complete(), outcome.delivered_after.unwrap_or(outcome.acked_after))
            }
            Clock::Sender => (acknowledged, outcome.acked_after),
        };
        let queue = |share: f64| {
            if outcome.queue_us.is_empty() { 0 } else { outcome.queue_us.value_at_quantile(share) }
        };
        FlowResult {
            complete,
            ttlb_ns: ttlb.0,
            acked_ns: acknowledged.then_some(outcome.acked_after.0),
            delivered_after_ns: outcome.delivered_after.map(|time| time.0),
            delivered: outcome.delivered,
            counters: outcome.counters,
            episodes: outcome.episodes.len() as u64,
            queue_p50_us: queue(0.5),
            queue_p99_us: queue(0.99),
            cwnd_max: outcome.cwnd_max,
            exit: outcome.exit,
        }
    }

    /// The values that the decision uses.
    pub(super) fn sample(&self) -> Sample {
        let (ttlb_ns, queue_p99_us) = (self.ttlb_ns, self.queue_p99_us);
        Sample { ttlb_ns, loss_ppb: self.loss_ppb(), queue_p99_us }
    }

    /// Share of packets lost, 1e-9.
    pub fn loss_ppb(&self) -> u64 {
        (u128::from(self.counters.packets_lost) * 1_000_000_000
            / u128::from(self.counters.packets_sent.max(1))) as u64
    }
}

/// One connection under every arm.
pub(super) struct Connection {
    pub(super) drawn: Drawn,
    /// Lower bound for any sender, ns.
    pub(super) ideal_ns: Option<u64>,
    /// Results in the order of the arms.
    pub(super) results: Vec<FlowResult>,
    /// The baseline under two other seeds, if the connection is part of that check.
    pub(super) aa: Option<[FlowResult; 2]>,
    /// Whether the baseline reproduced its result with the same seed, if it was rerun.
    pub(super) repeats: Option<bool>,
    /// The arms' results in every other world, if the connection runs there.
    pub(super) worlds: Vec<Vec<FlowResult>>,
}

/// Whether some connections also run the baseline against itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    None,
    All,
}

/// Separates the seeds of the check from every seed that a user may choose.
const OTHER_SEEDS: u64 = 0x4141_6368_6563_6b21;

/// Half a millisecond and 1 ns: an odd number, so that the remainder is uniform.
const JITTER_NS: u64 = 500_001;

impl Test {
    /// The scenario of connection number `index` of a population.
    fn scenario(
        &self,
        population: &Population,
        index: u64,
    ) -> Result<(Drawn, Scenario, App), Error> {
        let drawn = population.draw(self.seed, index);
        let path = population.path(&drawn)?;
        let scenario = Scenario {
            iw: self.iw,
            burst: self.burst,
            limit: self.limit,
            path_index: index,
            host: self.host.on(&path),
            ..Scenario::new(path, drawn.bytes)
        };
        let app = population.app(&drawn, self.seed);
        Ok((drawn, scenario, app))
    }

    /// The values that a decision uses, of every arm on connection number `index`.
    #[cfg(feature = "tune")]
    pub(crate) fn samples(&self, index: u64) -> Result<Vec<Sample>, Error> {
        let connection = self.connection(index, &[], Checks::None)?;
        Ok(connection.results.iter().map(FlowResult::sample).collect())
    }

    /// Runs connection number `index`; `worlds` are those of [`Test::worlds`].
    pub(super) fn connection(
        &self,
        index: u64,
        worlds: &[Population],
        checks: Checks,
    ) -> Result<Connection, Error> {
        let (drawn, scenario, app) = self.scenario(&self.population, index)?;
        let with = |scenario: &Scenario, app: &App, arm: usize, seed: u64| {
            scenario.simulate_app(&self.arms[arm], app.clone(), seed, None)
        };
        let read = |app: &App, outcome: &Outcome| match app {
            App::Responses(_) => FlowResult::of_responses(outcome, self.clock, self.limit.0),
            _ => FlowResult::new(outcome, self.clock),
        };
        // Runs every arm with the same seed (arms that behave alike share a simulation), and
        // returns whether the queue had room for everything that any of them sent.
        let each = |scenario: &Scenario, app: &App| -> Result<(Vec<FlowResult>, bool), Error> {
            let outcomes = match app {
                App::Bulk(_) => scenario.simulate_each(&self.arms, self.seed)?,
                _ => (0..self.arms.len())
                    .map(|arm| with(scenario, app, arm, self.seed))
                    .collect::<Result<_, Error>>()?,
            };
            let fits = outcomes.iter().all(|outcome| outcome.drops.queue == 0);
            Ok((outcomes.iter().map(|outcome| read(app, outcome)).collect(), fits))
        };
        let run = |scenario: &Scenario, arm: usize, seed: u64| {
            with(scenario, &app, arm, seed).map(|outcome| read(&app, &outcome))
        };
        let (results, fits) = each(&scenario, &app)?;
        let checked = |every: u64| checks == Checks::All && index.is_multiple_of(every);
        let aa = if checked(self.aa_stride()) {
            // Both runs differ from the first in the random draws of the path and by up to half a
            // millisecond of round trip, so that neither is the original, and a path
            // without random draws is not a trivial case.
            let other = |which: u64| {
                let seed = mix(mix(self.seed ^ OTHER_SEEDS).wrapping_add(which));
                let jitter = mix(seed.wrapping_add(index)) % JITTER_NS;
                let scenario = Scenario {
                    path: scenario.path.clone().with_rtt(scenario.path.rtt() + jitter),
                    ..scenario.clone()
                };
                run(&scenario, 0, seed)
            };
            Some([other(1)?, other(2)?])
        } else {
            None
        };
        let repeats = if checked(self.aa_stride() * 4) {
            Some(run(&scenario, 0, self.seed)? == results[0])
        } else {
            None
        };
        // A transfer that waits for its application is limited by the application, not by the path.
        let ideal_ns = if matches!(app, App::Bulk(_)) {
            scenario.ideal(self.seed)?.map(|ideal| ideal.0)
        } else {
            None
        };
        let mut others = Vec::new();
        if index.is_multiple_of(self.worlds_stride()) {
            // A trial whose queue had room for everything is the same with a larger queue.
            let mut known = vec![(scenario.path.clone(), app.clone(), fits, results.clone())];
            for population in worlds {
                let (_, other, its) = self.scenario(population, index)?;
                let same = known.iter().find(|(path, app, fits, _)| {
                    its == *app && is_as_good(&other.path, path, *fits)
                });
                let results = if let Some((.., results)) = same {
                    results.clone()
                } else {
                    let (results, fits) = each(&other, &its)?;
                    known.push((other.path.clone(), its, fits, results.clone()));
                    results
                };
                others.push(results);
            }
        }
        Ok(Connection { drawn, ideal_ns, results, aa, repeats, worlds: others })
    }
}

/// Whether a trial on this path equals the one on `known`. That is so if the paths are equal, or if
/// they differ only in a larger drop-tail queue and the queue of `known` had room for everything
/// (`fits`).
fn is_as_good(path: &Path, known: &Path, fits: bool) -> bool {
    let plain = path.effects().aqm.is_none() && path.effects().ecn.is_none();
    let room = |path: &Path| path.queue_bytes().unwrap_or(u64::MAX);
    path == known
        || (fits
            && plain
            && room(path) >= room(known)
            && path.clone().with_queue(known.queue()) == *known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::parse_arms;
    use crate::decision::Limits;
    use crate::population::builtin;
    use crate::scenario::Hosts;
    use firstflight::Nanos;

    fn test_of(population: &str, arms: &str, flows: u64) -> Test {
        Test {
            population: builtin::population(population).expect("built in").expect("a population"),
            arms: parse_arms(arms).expect("arms"),
            flows,
            seed: 3,
            iw: 10,
            burst: 2,
            limit: Nanos::from_secs(300),
            host: Hosts::default(),
            detection: None,
            clock: Clock::Receiver,
            limits: Limits::default(),
        }
    }

    #[test]
    fn without_checks_the_arms_give_the_same() {
        let test = test_of("cdn", "slowstart,rapid", 64);
        for index in [0, 4, 8] {
            let [with, without] = [Checks::All, Checks::None]
                .map(|checks| test.connection(index, &[], checks).expect("runs"));
            assert_eq!((with.results, with.ideal_ns), (without.results, without.ideal_ns));
            assert!(with.aa.is_some() && with.repeats == Some(true), "{index} is checked");
            assert!(without.aa.is_none() && without.repeats.is_none(), "{index} is not");
        }
    }

    #[test]
    fn a_world_is_what_its_own_population_gives() {
        for name in ["geo", "us-web", "fixed-2025"] {
            let test = test_of(name, "slowstart,hystart++,rapid", 1_000);
            let worlds = test.worlds();
            let mut same = 0;
            for index in (0..40).map(|n| n * test.worlds_stride()) {
                let ours = test.connection(index, &worlds, Checks::All).expect("runs");
                for (world, given) in worlds.iter().zip(&ours.worlds) {
                    let alone = Test { population: world.clone(), ..test.clone() };
                    let alone = alone.connection(index, &[], Checks::All).expect("runs");
                    assert_eq!(given, &alone.results, "{name} {index}");
                    same += usize::from(*given == ours.results);
                }
            }
            assert!(same > 0, "{name}: no connection is the same under a larger queue");
        }
    }
}
