//! Laboratory cases: cells (path, object, hosts) x arms x seeds, side by side on all cores, in order.

use super::Effort;
use crate::arms::{NamedArm, parse_arms};
use crate::error::Bad;
use crate::trial::{Ground, rtt_jitter};
use firstflight::{Seq, Time};
use firstflight_sim::{Nobody, Observer, Outcome, Setup, run};
use rayon::prelude::*;

/// One arm by its text.
pub fn arm(text: &str) -> Result<NamedArm, Bad> {
    parse_arms(text)?.pop().ok_or_else(|| Bad(format!("`{text}` is no arm")))
}

/// One trial on a ground whose RTT is varied by the seed, with somebody watching.
pub fn watch(ground: &Ground, arm: &NamedArm, seed: u64, observer: &mut impl Observer) -> Result<Outcome, Bad> {
    let path = ground.path.clone();
    let rtt = path.rtt() + rtt_jitter(seed);
    let path = path.with_rtt(rtt);
    let config = firstflight::controller::Config { initial_window: u64::from(ground.iw) * ground.host.mss(), ..ground.host.config() };
    let controller = arm.arm.controller(config, ground.oracle_exit(), Time(0), Seq(0));
    let burst = u64::from(arm.arm.sender.burst.unwrap_or(ground.burst)) * ground.host.mss();
    let setup =
        Setup { path: &path, host: ground.host, pacer_burst: burst, object: ground.bytes, limit: ground.limit, seed, path_index: 0 };
    Ok(run(&setup, controller, observer)?)
}

/// What trials gave, by cell, arm and seed.
pub struct Grid<T> {
    arms: usize,
    seeds: usize,
    values: Vec<T>,
}

impl<T> Grid<T> {
    /// All seeds of one arm in one cell.
    pub fn of(&self, cell: usize, arm: usize) -> &[T] {
        let from = (cell * self.arms + arm) * self.seeds;
        &self.values[from..from + self.seeds]
    }
}

/// Runs every arm in every cell with every seed and keeps what `read` takes from each.
pub fn grid<T: Send>(
    effort: &Effort<'_>,
    what: &str,
    cells: &[Ground],
    arms: &[&str],
    seeds: u32,
    read: impl Fn(&Ground, &Outcome) -> T + Sync,
) -> Result<Grid<T>, Bad> {
    effort.tell(what);
    let named: Vec<NamedArm> = arms.iter().map(|text| arm(text)).collect::<Result<_, Bad>>()?;
    let jobs: Vec<(usize, usize, u64)> = (0..cells.len())
        .flat_map(|cell| (0..named.len()).flat_map(move |arm| (1..=u64::from(seeds)).map(move |seed| (cell, arm, seed))))
        .collect();
    let values = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(cell, arm, seed)| watch(&cells[cell], &named[arm], seed, &mut Nobody).map(|outcome| read(&cells[cell], &outcome)))
        .collect::<Result<Vec<T>, Bad>>()?;
    Ok(Grid { arms: named.len(), seeds: seeds as usize, values })
}
