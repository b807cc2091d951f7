//! The bench on which candidates run.

use super::space::Space;
use crate::ab::{Run, Test, Watch};
use crate::decision::{Decision, Sample};
use crate::population::Population;
use firstflight_path::Error;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The connections of one purpose. No connection has two purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Candidates are chosen on these.
    Training,
    /// The best candidates and each of their parameters are checked on these.
    Validation,
    /// One candidate is judged on these, once.
    HoldOut,
}

impl Set {
    /// The seed of its connections: no two tunings with different seeds share any.
    pub const fn seed(self, seed: u64) -> u64 {
        seed.wrapping_mul(3).wrapping_add(match self {
            Set::Training => 0,
            Set::Validation => 1,
            Set::HoldOut => 2,
        })
    }
}

/// Runs candidates, each on the same connections.
pub trait Bench {
    /// Number of worlds, the central one included.
    fn worlds(&self) -> usize;

    /// The results of these arms, in their order, on some connections of a set in a world; world 0
    /// is the central one.
    ///
    /// # Errors
    /// A one-line message if an arm cannot run.
    fn run(
        &self,
        set: Set,
        world: usize,
        arms: &[&[usize]],
        connections: Range<u64>,
    ) -> Result<Vec<Vec<Sample>>, Error>;

    /// Judges a candidate beside the default on the hold-out, in every world.
    ///
    /// # Errors
    /// A one-line message if an arm cannot run.
    fn judge(&self, arm: &[usize]) -> Result<Decision, Error>;
}

/// Observers of a tuning.
#[derive(Clone, Copy)]
pub struct Watcher<'a> {
    /// Called with the number of trials done since the last call.
    pub tick: &'a (dyn Fn(u64) + Sync),
    /// Set to end it without a result.
    pub stop: &'a AtomicBool,
}

impl Watcher<'_> {
    fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new("stopped before there was a result"));
        }
        Ok(())
    }
}

/// A population in the simulator.
pub(super) struct Simulated<'a> {
    pub(super) space: &'a Space,
    /// The test of the hold-out, with the default arm alone.
    pub(super) test: &'a Test,
    pub(super) worlds: Vec<Population>,
    pub(super) seed: u64,
    pub(super) watch: Watcher<'a>,
}

impl Simulated<'_> {
    fn test(&self, set: Set, arms: &[&[usize]], population: Population) -> Result<Test, Error> {
        let arm = |choice: &&[usize]| {
            let missing = || Error::new(format!("{}: not an arm", self.space.text(choice)));
            self.space.arm(choice).ok_or_else(missing)
        };
        let arms = arms.iter().map(arm).collect::<Result<Vec<_>, _>>()?;
        Ok(Test { arms, population, seed: set.seed(self.seed), ..self.test.clone() })
    }
}

impl Bench for Simulated<'_> {
    fn worlds(&self) -> usize {
        1 + self.worlds.len()
    }

    fn run(
        &self,
        set: Set,
        world: usize,
        arms: &[&[usize]],
        connections: Range<u64>,
    ) -> Result<Vec<Vec<Sample>>, Error> {
        let population = match world.checked_sub(1) {
            Some(other) => self.worlds[other].clone(),
            None => self.test.population.clone(),
        };
        let test = self.test(set, arms, population)?;
        let trials = arms.len() as u64;
        let rows = connections
            .into_par_iter()
            .map(|index| {
                self.watch.go_on()?;
                let samples = test.samples(index)?;
                (self.watch.tick)(trials);
                Ok(samples)
            })
            .collect::<Result<Vec<Vec<Sample>>, Error>>()?;
        Ok((0..arms.len()).map(|arm| rows.iter().map(|row| row[arm]).collect()).collect())
    }

    fn judge(&self, arm: &[usize]) -> Result<Decision, Error> {
        let default = self.space.default_choice();
        let test =
            self.test(Set::HoldOut, &[default.as_slice(), arm], self.test.population.clone())?;
        let tick = |done: u64| (self.watch.tick)(2 * done);
        let run = |test: &Test| {
            let mut watch = Watch { tick: &tick, stop: self.watch.stop, rows: None };
            test.run(&Run::default(), &mut watch)
        };
        let tallies = run(&test)?;
        self.watch.go_on()?;
        // As `ab` does: a doubtful check is repeated with twice the connections.
        let Some(more) = test.doubled(&tallies) else {
            return Ok(tallies.decision(&test.experiment()));
        };
        let tallies = run(&more)?;
        self.watch.go_on()?;
        Ok(tallies.decision(&more.experiment()))
    }
}
