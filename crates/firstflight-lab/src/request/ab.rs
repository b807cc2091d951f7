//! The request for a test on a population.

use super::named;
use super::population_test::{self, TestArgs};
use crate::ab::Test;
use crate::arms::{ALL, NamedArm, parse_arms};
use crate::population::Population;
use clap::Args;
use firstflight_path::Error;

/// Options of `ab`.
#[derive(Args, Clone, Debug)]
pub struct AbRequest {
    /// Population: a name listed by `firstflight populations`, or a TOML or CSV file; knobs in parentheses, as in `cdn(q=0.8)`
    #[arg(long, default_value = "cdn", value_parser = named())]
    population: String,
    /// Number of connections; every arm runs on the same ones
    #[arg(long, default_value_t = 20_000, value_parser = connections, allow_negative_numbers = true)]
    flows: u64,
    /// Arm that the others are compared with
    #[arg(long, default_value = "slowstart")]
    baseline: String,
    /// Arms, separated by commas
    #[arg(long, default_value = "jumpstart,rapid-nojump,rapid,plumb")]
    arms: String,
    #[command(flatten)]
    of_test: TestArgs,
}

fn connections(text: &str) -> Result<u64, String> {
    population_test::connections(text, 1)
}

/// The single arm that the others are compared with.
///
/// # Errors
/// A one-line message if the text is not an arm, or is several.
pub fn baseline(text: &str) -> Result<NamedArm, Error> {
    let mut arms = parse_arms(text)?;
    let count = arms.len();
    let only = arms.pop().filter(|_| count == 1);
    only.ok_or_else(|| Error::new(format!("--baseline {text}: {count} arms; allowed: one")))
}

impl AbRequest {
    /// The requested test.
    ///
    /// # Errors
    /// A one-line message if an option is invalid.
    pub fn test(&self) -> Result<Test, Error> {
        self.test_of(None, None, None)
    }

    /// The requested test; population, baseline and arms replace its own if they are given.
    ///
    /// # Errors
    /// A one-line message if an option is invalid.
    pub fn test_of(
        &self,
        population: Option<Population>,
        baseline: Option<NamedArm>,
        arms: Option<Vec<NamedArm>>,
    ) -> Result<Test, Error> {
        let baseline = match baseline {
            Some(arm) => arm,
            None => self::baseline(&self.baseline)?,
        };
        let mut others = arms.map_or_else(|| parse_arms(&self.arms), Ok)?;
        if self.arms.trim() == ALL {
            others.retain(|arm| arm.sender != baseline.sender);
        }
        let population = population.map_or_else(|| Population::parse(&self.population), Ok)?;
        let arms = std::iter::once(baseline).chain(others).collect();
        let test = self.of_test.test(population, arms, self.flows)?;
        test.check()?;
        Ok(test)
    }

    /// Number of connections of the test.
    pub fn flows(&self) -> u64 {
        self.flows
    }
}
