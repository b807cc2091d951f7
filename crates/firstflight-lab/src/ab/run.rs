//! Runs a test: block after block, with the connections of a block in parallel and one set of
//! tallies per thread.

use super::flow::{Checks, Connection};
use super::rows::Row;
use super::{MOST_FLOWS, Tallies, Test, shard};
use crate::population::Population;
use firstflight_path::Error;
use firstflight_path::input::{self, MOST_DATA};
use firstflight_table::whole::{For, write_whole};
use rayon::prelude::*;
use std::path::{Path as File, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The part of a test to run, and where to keep it.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Part `i` of `n`, counted from 1: every n-th block.
    pub shard: Option<(u64, u64)>,
    /// The blocks to run, each once; `None` runs all. A block is a range of [`Test::block`]
    /// connections.
    pub blocks: Option<Vec<u64>>,
    /// Leaves out the checks on the baseline (against itself and rerun with the same seed): for
    /// tests whose machinery is checked elsewhere. In a small test the checks are a third of the
    /// work.
    pub unchecked: bool,
    /// A folder with a file for every finished block; blocks found there are not run again.
    pub resume: Option<PathBuf>,
}

/// Receives rows, in order.
pub type Sink<'r> = dyn FnMut(&[Row]) -> Result<(), Error> + Send + 'r;

/// Observers of a run.
pub struct Watch<'a> {
    /// Called with the number of connections done since the last call.
    pub tick: &'a (dyn Fn(u64) + Sync),
    /// Set to end the run early.
    pub stop: &'a AtomicBool,
    /// Receives the rows of every connection, in order; `None` keeps none.
    pub rows: Option<&'a mut Sink<'a>>,
}

/// Connections that a thread takes at a time.
const CHUNK: u64 = 16;

/// State of one thread.
struct Worker {
    tallies: Tallies,
    rows: Vec<Row>,
}

impl Test {
    /// The test with twice the connections, if the baseline differed from itself in this test.
    pub fn doubled(&self, tallies: &Tallies) -> Option<Test> {
        let check = tallies.decision(&self.experiment()).check;
        let more = Test { flows: self.flows.saturating_mul(2), ..self.clone() };
        (!check.passed && check.differed == 0 && more.flows <= MOST_FLOWS).then_some(more)
    }

    /// Runs a test, or a part of it, on the current thread pool. The result depends neither on the
    /// number of threads nor on how often it was interrupted. If it is stopped, it returns the
    /// results
    /// so far: complete blocks are listed, and the last block may be incomplete.
    ///
    /// # Errors
    /// If the test is invalid, if a block does not exist, or if a file in the folder to resume
    /// belongs to another test or cannot be written.
    pub fn run(&self, run: &Run, watch: &mut Watch<'_>) -> Result<Tallies, Error> {
        self.check()?;
        let blocks: Vec<u64> = run.blocks.clone().unwrap_or_else(|| (0..self.blocks()).collect());
        let ours = |block: &u64| run.shard.is_none_or(|(i, n)| block % n == i - 1);
        let resume = run.resume.as_deref();
        let checks = if run.unchecked { Checks::None } else { Checks::All };
        let (experiment, worlds) = (self.experiment(), (self.worlds(), checks));
        let mut total = Tallies::new(&experiment);
        let threads = rayon::current_num_threads().max(1);
        let worker = || Mutex::new(Worker { tallies: Tallies::new(&experiment), rows: Vec::new() });
        let workers: Vec<Mutex<Worker>> = (0..threads).map(|_| worker()).collect();
        for block in blocks.into_iter().filter(ours) {
            if block >= self.blocks() {
                return Err(Error::new(format!(
                    "block {block}: there are {}, counted from 0",
                    self.blocks()
                )));
            }
            let flows = block * self.block()..((block + 1) * self.block()).min(self.flows);
            let file = resume.map(|folder| folder.join(format!("block-{block:06}.ffab")));
            if let Some(file) = file.as_deref().filter(|file| file.exists()) {
                let (known, tallies) = read(file)?;
                if known != experiment || tallies.blocks != [block] {
                    return Err(Error::new(format!(
                        "{}: belongs to another test; allowed: an empty folder, or one of this very test",
                        file.display()
                    )));
                }
                (watch.tick)(flows.end - flows.start);
                total.merge(&tallies);
                continue;
            }
            let mut done = Tallies::new(&experiment);
            let whole = self.block_into(flows, &worlds, &workers, watch, &mut done)?;
            if whole {
                done.blocks.push(block);
                if let Some(file) = &file {
                    write(file, &shard::encode(&experiment, &done))?;
                }
            }
            total.merge(&done);
            if !whole {
                break;
            }
        }
        Ok(total)
    }

    /// Runs the connections of a block into `done`. Returns whether all of them were run.
    fn block_into(
        &self,
        flows: std::ops::Range<u64>,
        (worlds, checks): &(Vec<Population>, Checks),
        workers: &[Mutex<Worker>],
        watch: &mut Watch<'_>,
        done: &mut Tallies,
    ) -> Result<bool, Error> {
        let (tick, stop, with_rows) = (watch.tick, watch.stop, watch.rows.is_some());
        let chunks = (flows.end - flows.start).div_ceil(CHUNK);
        (0..chunks).into_par_iter().try_for_each(|chunk| {
            let start = flows.start + chunk * CHUNK;
            let end = (start + CHUNK).min(flows.end);
            let own = rayon::current_thread_index().unwrap_or(0) % workers.len();
            let mut worker = workers[own].lock().unwrap_or_else(PoisonError::into_inner);
            for index in start..end {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let connection: Connection = self.connection(index, worlds, *checks)?;
                worker.tallies.add(self, &connection);
                if with_rows {
                    worker.rows.extend(Row::of(&connection));
                }
                tick(1);
            }
            Ok::<(), Error>(())
        })?;
        let mut rows = Vec::new();
        for worker in workers {
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            done.merge(&worker.tallies);
            worker.tallies.clear();
            rows.append(&mut worker.rows);
        }
        if let Some(sink) = &mut watch.rows {
            rows.sort_by_key(|row| (row.path_index, row.arm));
            sink(&rows)?;
        }
        Ok(done.flows() == flows.end - flows.start)
    }
}

/// Reads a file of tallies.
///
/// # Errors
/// A one-line message if the file cannot be read.
pub fn read(file: &File) -> Result<(super::Experiment, Tallies), Error> {
    let bytes = input::read(file, MOST_DATA)
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
    shard::decode(&file.display().to_string(), &bytes)
}

/// Writes a file completely or not at all.
fn write(file: &File, bytes: &[u8]) -> Result<(), Error> {
    write_whole(file, For::Anybody, |out| out.write_all(bytes))
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))
}
