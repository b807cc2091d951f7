//! Runs one trial per cell, arm and seed in parallel and keeps the results in order.

use crate::Effort;
use crate::lab::{arm, watch};
use firstflight_lab::Error;
use firstflight_lab::arms::NamedArm;
use firstflight_lab::scenario::Scenario;
use firstflight_sim::Outcome;
use rayon::prelude::*;

/// Results of trials, by cell, arm and seed.
pub(crate) struct Grid<T> {
    arms: usize,
    seeds: usize,
    values: Vec<T>,
}

impl<T> Grid<T> {
    /// Results of all seeds of one arm in one cell.
    pub(crate) fn of(&self, cell: usize, arm: usize) -> &[T] {
        let from = (cell * self.arms + arm) * self.seeds;
        &self.values[from..from + self.seeds]
    }
}

/// Runs a function once per seed in parallel and keeps the order.
pub(crate) fn each_seed<T: Send>(
    effort: &Effort<'_>,
    seeds: u32,
    run: impl Fn(u64) -> Result<T, Error> + Send + Sync,
) -> Result<Vec<T>, Error> {
    let seeds: Vec<u64> = (1..=u64::from(seeds)).collect();
    let run = |seed| {
        effort.look();
        run(seed)
    };
    seeds.into_par_iter().with_max_len(1).map(run).collect()
}

/// Runs every arm in every cell with every seed and keeps the value that `read` returns for each.
pub(crate) fn grid<T: Send>(
    effort: &Effort<'_>,
    what: &str,
    cells: &[Scenario],
    arms: &[&str],
    seeds: u32,
    read: impl Fn(&Scenario, &Outcome) -> T + Sync,
) -> Result<Grid<T>, Error> {
    effort.tell(what);
    let named: Vec<NamedArm> = arms.iter().map(|text| arm(text)).collect::<Result<_, Error>>()?;
    let jobs: Vec<(usize, usize, u64)> = (0..cells.len())
        .flat_map(|cell| {
            (0..named.len())
                .flat_map(move |arm| (1..=u64::from(seeds)).map(move |seed| (cell, arm, seed)))
        })
        .collect();
    let values = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(cell, arm, seed)| {
            effort.look();
            watch(&cells[cell], &named[arm], seed, None).map(|outcome| read(&cells[cell], &outcome))
        })
        .collect::<Result<Vec<T>, Error>>()?;
    Ok(Grid { arms: named.len(), seeds: seeds as usize, values })
}
