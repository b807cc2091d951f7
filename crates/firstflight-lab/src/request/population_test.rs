//! Options of every request that ends in a test on a population.

use super::{HostArgs, packets, seed};
use crate::ab::{Clock, MOST_FLOWS, MOST_SECONDS, Test};
use crate::arms::NamedArm;
use crate::decision::Limits;
use crate::population::Population;
use crate::size;
use clap::Args;
use firstflight::Nanos;
use firstflight_path::Error;

/// Pacer's bucket, packets, of arms that specify none.
pub(super) const BURST: u32 = 2;

/// Options of `ab` and `tune`.
#[derive(Args, Clone, Debug)]
pub(super) struct TestArgs {
    #[command(flatten)]
    hosts: HostArgs,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// Initial window in packets, for arms that do not name one [default: the population's, or 10]
    #[arg(long, value_parser = packets, allow_negative_numbers = true)]
    iw: Option<u32>,
    /// Stop a transfer after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = limit, allow_negative_numbers = true)]
    limit: Nanos,
    #[command(flatten)]
    limits: Limits,
}

/// Parses a number of connections of a test, at least `least`.
pub(super) fn connections(text: &str, least: u64) -> Result<u64, String> {
    size::count(text, least..=MOST_FLOWS, "connections")
}

fn limit(text: &str) -> Result<Nanos, String> {
    size::limit(text, MOST_SECONDS)
}

impl TestArgs {
    /// Initial window of arms that specify none, packets.
    pub(super) fn iw(&self, population: &Population) -> u32 {
        population.window_or(self.iw)
    }

    /// The test of `arms`, the first of which is the baseline, on `flows` connections.
    ///
    /// # Errors
    /// A one-line message if the hosts do not exist.
    pub(super) fn test(
        &self,
        population: Population,
        arms: Vec<NamedArm>,
        flows: u64,
    ) -> Result<Test, Error> {
        Ok(Test {
            iw: self.iw(&population),
            population,
            arms,
            flows,
            seed: self.seed,
            burst: BURST,
            limit: self.limit,
            host: self.hosts.hosts()?,
            detection: self.hosts.detection.clone(),
            clock: Clock::Receiver,
            limits: self.limits,
        })
    }
}
