//! The request for parameters that suit a population.

use super::{AbRequest, HostArgs, Key, keys, named, packets, seed};
use crate::ab::{Clock, MOST_FLOWS, MOST_SECONDS, Test};
use crate::decision::Limits;
use crate::population::Population;
use crate::size;
use crate::tune::{Objective, Space, Tune};
use clap::Args;
use firstflight::Nanos;
use firstflight_path::Error;

/// Pacer's bucket, packets, of arms that specify none.
const BURST: u32 = 2;

/// Options of `tune`.
#[derive(Args, Clone, Debug)]
pub struct TuneRequest {
    /// Population: a name listed by `firstflight populations`, or a TOML or CSV file; knobs in parentheses, as in `cdn(q=0.8)`
    #[arg(long, default_value = "cdn", value_parser = named())]
    population: String,
    /// Objective to minimise: time, p95 (of time), or time+loss:W, where W is the time in % that a percentage point of loss costs
    #[arg(long, default_value = "time", value_parser = str::parse::<Objective>)]
    objective: Objective,
    #[command(flatten)]
    limits: Limits,
    /// Number of evaluations; one is a candidate on all connections of a set
    #[arg(long, default_value_t = 400, value_parser = evaluations, allow_negative_numbers = true)]
    budget: u64,
    /// Number of connections for choosing candidates, and as many others for checking them
    #[arg(long, default_value_t = 2_000, value_parser = connections, allow_negative_numbers = true)]
    flows: u64,
    /// Number of connections on which one candidate is judged, once
    #[arg(long, default_value_t = 20_000, value_parser = judged, allow_negative_numbers = true)]
    holdout: u64,
    #[command(flatten)]
    hosts: HostArgs,
    /// Seed of every random draw; the sets have the seeds 3S, 3S+1 and 3S+2
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// Initial window in packets, for arms that do not name one [default: the population's, or 10]
    #[arg(long, value_parser = packets, allow_negative_numbers = true)]
    iw: Option<u32>,
    /// Stop a transfer after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = limit, allow_negative_numbers = true)]
    limit: Nanos,
}

fn evaluations(text: &str) -> Result<u64, String> {
    size::count(text, 1..=1_000_000, "evaluations")
}

fn connections(text: &str) -> Result<u64, String> {
    size::count(text, 100..=1_000_000, "connections")
}

fn judged(text: &str) -> Result<u64, String> {
    size::count(text, 100..=MOST_FLOWS, "connections")
}

fn limit(text: &str) -> Result<Nanos, String> {
    size::limit(text, MOST_SECONDS)
}

impl TuneRequest {
    /// The requested tuning of an arm; `pairs` are the options as typed, `population` replaces the
    /// named one.
    ///
    /// # Errors
    /// A one-line message if the arm or an option is invalid.
    pub fn tune(
        &self,
        arm: &str,
        pairs: &[(String, String)],
        population: Option<Population>,
    ) -> Result<Tune, Error> {
        let population = population.map_or_else(|| Population::parse(&self.population), Ok)?;
        let iw = self.iw.or(population.initial_window).unwrap_or(10);
        let space = Space::parse(arm, &[("iw", iw), ("burst", BURST)])?;
        let default = space.arm(&space.default_choice());
        let test = Test {
            iw,
            population,
            arms: default.into_iter().collect(),
            flows: self.holdout,
            seed: self.seed,
            burst: BURST,
            limit: self.limit,
            host: self.hosts.hosts()?,
            detection: self.hosts.detection.clone(),
            clock: Clock::Receiver,
            limits: self.limits,
        };
        let tune = Tune {
            arm: arm.trim().to_owned(),
            space,
            test,
            objective: self.objective,
            budget: self.budget,
            flows: self.flows,
            seed: self.seed,
            again: again(pairs),
        };
        tune.check()?;
        Ok(tune)
    }
}

/// The options that a test has in common with a tuning, as words, without those at their defaults.
fn again(pairs: &[(String, String)]) -> Vec<String> {
    let known = keys::<AbRequest>();
    let same = |key: &&Key, name: &str, value: &str| {
        key.name == name && key.default.as_deref() != Some(value)
    };
    let own = |name: &str| !["flows", "seed"].contains(&name);
    let given = pairs.iter().map(|(name, value)| (name.replace('_', "-"), value));
    let given =
        given.filter(|(name, value)| own(name) && known.iter().any(|key| same(&key, name, value)));
    let words = given.flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
    words.collect()
}
