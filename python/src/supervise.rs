//! Running on a thread of its own, without the interpreter's lock, while the calling thread listens
//! for Ctrl-C and reports progress.

use crate::refused;
use firstflight_lab::Error;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the calling thread looks up: seldom enough to cost nothing, often enough for a person.
const PULSE: Duration = Duration::from_millis(50);

/// What a run and whoever waits for it share.
#[derive(Default)]
pub(crate) struct Run {
    /// The run is to end.
    pub stop: AtomicBool,
    /// Steps done so far.
    pub done: AtomicU64,
}

impl Run {
    /// One or more steps are done.
    pub(crate) fn tick(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }
}

fn locked<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on `threads` threads (all cores if `None`). Meanwhile `progress` hears how many
/// steps were done since it last heard.
///
/// # Errors
/// What the work refuses; what `progress` raises; `KeyboardInterrupt` on Ctrl-C, once the work has
/// ended.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    run: &Run,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let pool = match threads {
        None => None,
        Some(threads) if !(1..=1024).contains(&threads) => {
            return Err(crate::refuse(format!(
                "threads {threads}: is out of range; allowed: 1 to 1024"
            )));
        }
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|error| {
                crate::refuse(format!("cannot start {threads} threads: {error}"))
            })?)
        }
    };
    let (slot, ready) = (Mutex::new(None), Condvar::new());
    let mut told = 0;
    let mut tell = |py: Python<'_>| -> PyResult<()> {
        let done = run.done.load(Ordering::Relaxed);
        if let Some(progress) = progress.filter(|_| done > told) {
            progress.call1(py, (done - told,))?;
        }
        told = done;
        Ok(())
    };
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let result = catch_unwind(AssertUnwindSafe(|| match &pool {
                Some(pool) => pool.install(work),
                None => work(),
            }));
            *locked(&slot) = Some(result);
            ready.notify_one();
        });
        let wait = |patience: Duration| {
            let waited = ready.wait_timeout_while(locked(&slot), patience, |slot| slot.is_none());
            waited.unwrap_or_else(PoisonError::into_inner).0.take()
        };
        loop {
            if let Some(result) = py.detach(|| wait(PULSE)) {
                return Ok(result);
            }
            if let Err(error) = py.check_signals().and_then(|()| tell(py)) {
                run.stop.store(true, Ordering::Relaxed);
                while py.detach(|| wait(PULSE)).is_none() {}
                return Err(error);
            }
        }
    })?;
    match result {
        Ok(result) => {
            let result = result.map_err(|bad| refused(&bad))?;
            tell(py)?;
            Ok(result)
        }
        Err(payload) => resume_unwind(payload),
    }
}
