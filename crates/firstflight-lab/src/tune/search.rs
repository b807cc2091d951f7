//! The search: a particle swarm over the whole space, then steps along single parameters from its
//! best candidate.

use super::bench::Bench;
use super::race::Race;
use super::space::{Choice, Space};
use argmin::core::{CostFunction, PopulationState, Problem, Solver, State};
use argmin::solver::particleswarm::ParticleSwarm;
use firstflight_path::Error;
use firstflight_path::random::mix;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::sync::{Mutex, PoisonError};

/// Candidates of the swarm, at least and at most.
const SWARM: [usize; 2] = [8, 32];
/// Share of the trials for the swarm; the steps have the rest.
const SWARM_SHARE: u64 = 2;
const OF: u64 = 3;
/// The swarm ends after this many generations without a new trial.
const STALLED: u32 = 4;
/// Standard weights of a swarm: 1 / (2 ln 2) and 1/2 + ln 2.
const INERTIA: f64 = 0.721_347_520_444_481_7;
const PULL: f64 = 1.193_147_180_559_945_3;
/// Separates the swarm's random numbers from those of the connections.
const SWARM_SEED: u64 = 0x7377_6172_6d21_0001;
/// Distances of the steps along a parameter, in levels.
const STEPS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// The race as the swarm's cost function.
struct Cost<'a, 'b, B> {
    space: &'a Space,
    race: Mutex<&'a mut Race<'b, B>>,
}

/// The candidate at a position: each coordinate from 0 to 1 selects a level.
fn choice(space: &Space, position: &[f64]) -> Choice {
    let level = |(parameter, x): (&super::Parameter, &f64)| {
        let count = parameter.levels.len();
        ((x * count as f64) as usize).min(count - 1)
    };
    space.parameters.iter().zip(position).map(level).collect()
}

impl<B: Bench + Sync> CostFunction for Cost<'_, '_, B> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, position: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(self.bulk_cost(&[position])?[0])
    }

    fn bulk_cost<P>(&self, positions: &[P]) -> Result<Vec<f64>, argmin::core::Error>
    where
        P: std::borrow::Borrow<Vec<f64>>,
    {
        let choices: Vec<Choice> =
            positions.iter().map(|position| choice(self.space, position.borrow())).collect();
        // Values that do not go together are no candidates.
        let possible: Vec<Choice> =
            choices.iter().filter(|choice| self.space.arm(choice).is_some()).cloned().collect();
        let mut race = self.race.lock().unwrap_or_else(PoisonError::into_inner);
        let mut costs = race.race(&possible).map_err(argmin::core::Error::new)?.into_iter();
        let cost = |choice: &Choice| {
            if self.space.arm(choice).is_some() { costs.next() } else { None }
        };
        Ok(choices.iter().map(cost).map(|cost| cost.unwrap_or(f64::MAX)).collect())
    }
}

/// Searches until about `trials` trials have run.
pub(super) fn search<B: Bench + Sync>(
    space: &Space,
    race: &mut Race<'_, B>,
    seed: u64,
    flows: u64,
    trials: u64,
) -> Result<(), Error> {
    swarm(space, race, seed, flows, trials / OF * SWARM_SHARE)?;
    steps(space, race, trials)
}

/// The message of a failed race, without the solver's own words.
fn failed(error: &argmin::core::Error) -> Error {
    Error::new(error.root_cause().to_string())
}

fn swarm<B: Bench + Sync>(
    space: &Space,
    race: &mut Race<'_, B>,
    seed: u64,
    flows: u64,
    trials: u64,
) -> Result<(), Error> {
    let dimensions = space.parameters.len();
    // A race costs about a third of its candidates; at least six generations fit.
    let fits = (trials * 3 / flows.max(1) / 6) as usize;
    let count = fits.min(6 + 4 * dimensions).clamp(SWARM[0], SWARM[1]);
    let bounds = (vec![0.0; dimensions], vec![1.0; dimensions]);
    let rng = Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ SWARM_SEED));
    let solver = ParticleSwarm::new(bounds, count).with_rng_generator(rng);
    let mut solver = solver
        .with_inertia_factor(INERTIA)
        .and_then(|solver| solver.with_cognitive_factor(PULL))
        .and_then(|solver| solver.with_social_factor(PULL))
        .map_err(|error| failed(&error))?;
    let mut problem = Problem::new(Cost { space, race: Mutex::new(race) });
    let done = |problem: &Problem<Cost<'_, '_, B>>| {
        let cost = problem.problem.as_ref();
        cost.map_or(u64::MAX, |cost| {
            cost.race.lock().unwrap_or_else(PoisonError::into_inner).trials
        })
    };
    let (mut state, _) =
        solver.init(&mut problem, PopulationState::new()).map_err(|error| failed(&error))?;
    let (mut before, mut stalled) = (done(&problem), 0);
    while before < trials && stalled < STALLED {
        (state, _) = solver.next_iter(&mut problem, state).map_err(|error| failed(&error))?;
        let now = done(&problem);
        stalled = if now == before { stalled + 1 } else { 0 };
        before = now;
    }
    Ok(())
}

/// Steps from the best candidate along each parameter, as long as a step improves it.
fn steps<B: Bench>(space: &Space, race: &mut Race<'_, B>, trials: u64) -> Result<(), Error> {
    let best = |race: &Race<'_, B>| race.finished().into_iter().next().map(|(choice, _)| choice);
    let mut center = best(race);
    while let Some(from) = center.clone()
        && race.trials < trials
    {
        for index in 0..space.parameters.len() {
            if race.trials >= trials {
                return Ok(());
            }
            let around: Vec<Choice> = around(space, &from, index);
            race.race(&around)?;
        }
        center = best(race).filter(|best| *best != from);
    }
    Ok(())
}

/// Candidates that differ from `from` in one parameter only.
fn around(space: &Space, from: &Choice, index: usize) -> Vec<Choice> {
    let parameter = &space.parameters[index];
    let (at, count) = (from[index], parameter.levels.len());
    let mut levels: Vec<usize> = STEPS
        .into_iter()
        .flat_map(|step| [at.checked_sub(step), Some(at + step)])
        .flatten()
        .filter(|level| *level < count)
        .chain([parameter.default])
        .filter(|level| *level != at)
        .collect();
    levels.sort_unstable();
    levels.dedup();
    let with = |level| {
        let mut choice = from.clone();
        choice[index] = level;
        choice
    };
    levels.into_iter().map(with).filter(|choice| space.arm(choice).is_some()).collect()
}
