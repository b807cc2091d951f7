//! Evaluates candidates on common connections, and drops the poor ones early.
//!
//! Successive halving: all candidates of a batch run on an eighth of the connections, the better
//! half of them on a quarter, and so on. Results are kept, so that a candidate never runs twice on a
//! connection.

use super::bench::{Bench, Set};
use super::score::{Judge, Measured};
use super::space::Choice;
use crate::decision::Sample;
use firstflight_path::Error;
use std::collections::BTreeMap;

/// The first round of a race has this share of the connections, as a power of two.
const HALVINGS: u32 = 3;

/// A set of connections in a world, and everything that ran on them.
pub(super) struct Race<'a, B> {
    bench: &'a B,
    judge: Judge,
    set: Set,
    world: usize,
    /// Number of connections of the set.
    flows: u64,
    default: Choice,
    known: BTreeMap<Choice, Vec<Sample>>,
    /// Trials so far: a candidate on a connection is one.
    pub(super) trials: u64,
}

impl<'a, B: Bench> Race<'a, B> {
    pub(super) fn new(
        bench: &'a B,
        judge: Judge,
        (set, world): (Set, usize),
        flows: u64,
        default: &Choice,
    ) -> Result<Race<'a, B>, Error> {
        let (default, known) = (default.clone(), BTreeMap::new());
        let mut race = Race { bench, judge, set, world, flows, default, known, trials: 0 };
        race.extend(&[race.default.clone()], flows)?;
        Ok(race)
    }

    /// Runs these candidates on the first connections, as far as they did not run there.
    fn extend(&mut self, choices: &[Choice], flows: u64) -> Result<(), Error> {
        // Candidates that have come equally far run together.
        let mut by_length: BTreeMap<u64, Vec<&Choice>> = BTreeMap::new();
        for choice in choices {
            let length = self.known.get(choice).map_or(0, Vec::len) as u64;
            let same = by_length.entry(length).or_default();
            if length < flows && !same.contains(&choice) {
                same.push(choice);
            }
        }
        for (length, choices) in by_length.into_iter().filter(|(_, choices)| !choices.is_empty()) {
            let arms: Vec<&[usize]> = choices.iter().map(|choice| choice.as_slice()).collect();
            let samples = self.bench.run(self.set, self.world, &arms, length..flows)?;
            for (choice, samples) in choices.into_iter().zip(samples) {
                self.trials += samples.len() as u64;
                self.known.entry(choice.clone()).or_default().extend(samples);
            }
        }
        Ok(())
    }

    fn samples(&self, choice: &[usize]) -> &[Sample] {
        self.known.get(choice).map_or(&[], Vec::as_slice)
    }

    /// The candidate on the connections that it ran on.
    pub(super) fn measured(&self, choice: &[usize]) -> Measured {
        self.judge.of(self.samples(&self.default), self.samples(choice), None)
    }

    /// Runs these candidates on all connections and returns their results.
    pub(super) fn all(&mut self, choices: &[Choice]) -> Result<Vec<Measured>, Error> {
        self.extend(choices, self.flows)?;
        Ok(choices.iter().map(|choice| self.measured(choice)).collect())
    }

    /// Difference in cost between two candidates.
    pub(super) fn more(
        &self,
        choice: &[usize],
        than: &[usize],
        level: f64,
    ) -> crate::stats::Interval {
        let base = self.samples(&self.default);
        self.judge.more(base, self.samples(choice), self.samples(than), level)
    }

    /// Candidates that ran on all connections, with their results, the best first; of equals, the
    /// one nearest to the default.
    pub(super) fn finished(&self) -> Vec<(Choice, Measured)> {
        let all = self.known.iter().filter(|(_, samples)| samples.len() as u64 >= self.flows);
        let mut all: Vec<(Choice, Measured)> =
            all.map(|(choice, _)| (choice.clone(), self.measured(choice))).collect();
        all.sort_by(|(a, x), (b, y)| {
            let near = |choice: &[usize]| distance(choice, &self.default);
            x.cost.total_cmp(&y.cost).then_with(|| near(a).cmp(&near(b)))
        });
        all
    }

    /// Number of candidates that ran on any connection, the default not included.
    pub(super) fn candidates(&self) -> u64 {
        self.known.len().saturating_sub(1) as u64
    }

    /// The costs of these candidates after a race. A candidate that was dropped costs at least as
    /// much as the best that was not.
    pub(super) fn race(&mut self, choices: &[Choice]) -> Result<Vec<f64>, Error> {
        let mut active: Vec<Choice> = Vec::new();
        for choice in choices {
            if !active.contains(choice) {
                active.push(choice.clone());
            }
        }
        for halving in (0..=HALVINGS).rev() {
            let flows = (self.flows >> halving).max(1);
            self.extend(&active, flows)?;
            if halving > 0 {
                active.sort_by(|a, b| self.measured(a).cost.total_cmp(&self.measured(b).cost));
                active.truncate(active.len().div_ceil(2));
            }
        }
        let best = active.iter().map(|choice| self.measured(choice).cost);
        let best = best.fold(f64::INFINITY, f64::min);
        let cost = |choice: &Choice| {
            let cost = self.measured(choice).cost;
            if active.contains(choice) { cost } else { cost.max(best) }
        };
        Ok(choices.iter().map(cost).collect())
    }
}

/// Distance of a candidate from the default: the number of changed parameters, and of levels.
fn distance(choice: &[usize], default: &[usize]) -> (usize, usize) {
    let apart = || choice.iter().zip(default).map(|(a, b)| a.abs_diff(*b));
    (apart().filter(|levels| *levels > 0).count(), apart().sum())
}
