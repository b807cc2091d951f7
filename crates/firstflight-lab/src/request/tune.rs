//! The request for parameters that suit a population.

use super::population_test::{self, BURST, TestArgs};
use super::{AbRequest, Key, keys, named};
use crate::population::Population;
use crate::size;
use crate::tune::{Objective, Space, Tune};
use clap::Args;
use firstflight_path::Error;

/// Options of `tune`.
#[derive(Args, Clone, Debug)]
pub struct TuneRequest {
    /// Population: a name listed by `firstflight populations`, or a TOML or CSV file; knobs in parentheses, as in `cdn(q=0.8)`
    #[arg(long, default_value = "cdn", value_parser = named())]
    population: String,
    /// Objective to minimise: time, p95 (of time), or time+loss:W, where W is the time in % that a percentage point of loss costs
    #[arg(long, default_value = "time", value_parser = str::parse::<Objective>)]
    objective: Objective,
    /// Number of evaluations; each runs one candidate on all connections of a set
    #[arg(long, default_value_t = 400, value_parser = evaluations, allow_negative_numbers = true)]
    budget: u64,
    /// Number of connections for choosing candidates, and as many others for checking them
    #[arg(long, default_value_t = 2_000, value_parser = connections, allow_negative_numbers = true)]
    flows: u64,
    /// Number of connections on which one candidate is judged, once
    #[arg(long, default_value_t = 20_000, value_parser = judged, allow_negative_numbers = true)]
    holdout: u64,
    #[command(flatten)]
    of_test: TestArgs,
}

fn evaluations(text: &str) -> Result<u64, String> {
    size::count(text, 1..=1_000_000, "evaluations")
}

fn connections(text: &str) -> Result<u64, String> {
    size::count(text, 100..=1_000_000, "connections")
}

fn judged(text: &str) -> Result<u64, String> {
    population_test::connections(text, 100)
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
        let iw = self.of_test.iw(&population);
        let space = Space::parse(arm, &[("iw", iw), ("burst", BURST)])?;
        let default = space.arm(&space.default_choice());
        let test = self.of_test.test(population, default.into_iter().collect(), self.holdout)?;
        let tune = Tune {
            arm: arm.trim().to_owned(),
            space,
            test,
            objective: self.objective,
            budget: self.budget,
            flows: self.flows,
            seed: self.of_test.seed,
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
