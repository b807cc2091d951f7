//! A tuning on a population in the simulator.

use super::answer::{Experiment, Found, Gain, Tuned};
use super::bench::{Set, Simulated, Watcher};
use super::find::{Rules, find};
use super::score::Objective;
use super::space::Space;
use crate::ab::Test;
use crate::words::command_line;
use firstflight_path::Error;

/// A tuning to run.
#[derive(Clone, Debug)]
pub struct Tune {
    /// The arm as typed, with ranges.
    pub arm: String,
    /// The parameters.
    pub space: Space,
    /// Population, hosts, limits, and the number of connections of the hold-out; its arms and seed
    /// are not read.
    pub test: Test,
    /// The objective, which is minimised.
    pub objective: Objective,
    /// Number of evaluations: a candidate on all connections of a set is one.
    pub budget: u64,
    /// Number of connections of the training set, and of the validation set.
    pub flows: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Options of `ab`, as words, that make it run the same connections.
    pub again: Vec<String>,
}

impl Tune {
    fn rules(&self) -> Rules {
        let &Tune { objective, budget, flows, seed, .. } = self;
        Rules { objective, limits: self.test.limits, budget, flows, seed }
    }

    /// Refuses an invalid tuning.
    ///
    /// # Errors
    /// A one-line message.
    pub fn check(&self) -> Result<(), Error> {
        self.rules().check(&self.space, 1 + self.test.worlds().len())
    }

    /// Number of trials, about: those of the search and the hold-out.
    pub fn trials(&self) -> u64 {
        self.budget * self.flows + 2 * self.test.flows
    }

    /// Tunes the arm, on the current thread pool.
    ///
    /// # Errors
    /// A one-line message if it is invalid or was stopped.
    pub fn run(&self, watch: Watcher<'_>) -> Result<Tuned, Error> {
        self.check()?;
        let worlds = self.test.worlds();
        let (space, test) = (&self.space, &self.test);
        let bench = Simulated { space, test, worlds, seed: self.seed, watch };
        let found = find(space, &bench, &self.rules())?;
        Ok(tuned(self, found))
    }
}

/// The result with everything that a reader needs to repeat it.
fn tuned(of: &Tune, found: Found) -> Tuned {
    let Tune { test, seed, .. } = of;
    let sets = [Set::Training, Set::Validation, Set::HoldOut];
    let [training_seed, validation_seed, holdout_seed] = sets.map(|set| set.seed(*seed));
    // The check of the hold-out may have doubled its connections.
    let flows = found.decision.as_ref().map_or(test.flows, |decision| decision.connections);
    let judge_command = found.judged.as_ref().map(|arm| {
        let own = [
            ("--baseline", found.default.clone()),
            ("--arms", arm.clone()),
            ("--flows", flows.to_string()),
            ("--seed", holdout_seed.to_string()),
        ];
        let own = own.into_iter().flat_map(|(key, value)| [key.to_owned(), value]);
        command_line(std::iter::once("ab".to_owned()).chain(of.again.iter().cloned()).chain(own))
    });
    Tuned {
        firstflight: env!("CARGO_PKG_VERSION"),
        experiment: Experiment {
            arm: of.arm.clone(),
            population: test.population.name.clone(),
            objective: of.objective.to_string(),
            limits: test.limits,
            budget: of.budget,
            flows: of.flows,
            holdout_flows: flows,
            seed: *seed,
            training_seed,
            validation_seed,
            holdout_seed,
            transport: test.experiment().transport,
            iw: test.iw,
            limit_s: crate::trial::ms(test.limit.0) / 1e3,
        },
        sentence: found.sentence(),
        left_out: of.space.left_out.clone(),
        gain: Gain {
            arm: found.judged,
            training: found.training,
            validation: found.validation,
            holdout: found.holdout,
        },
        default: found.default,
        tuned: found.tuned,
        candidates: found.candidates,
        trials: found.trials,
        parameters: found.parameters,
        front: found.front,
        decision: found.decision,
        judge_command,
    }
}
