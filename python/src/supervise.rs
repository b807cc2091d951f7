//! Runs work on its own threads, without the interpreter's lock, while the calling thread handles
//! Ctrl-C and reports progress.

use crate::refused;
use firstflight_lab::Error;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_long;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which the calling thread checks for signals: rarely enough to cost nothing, often enough for
/// a user.
const PULSE: Duration = Duration::from_millis(50);

/// State shared by a run and the waiting thread.
#[derive(Default)]
pub(crate) struct Run {
    /// The run is to end.
    pub stop: Arc<AtomicBool>,
    /// Steps done so far.
    pub done: AtomicU64,
    /// Threads of the run that execute user code.
    pub inside: Inside,
}

impl Run {
    /// Creates a run whose hooks are called through `inside`.
    pub(crate) fn with(inside: &Inside) -> Run {
        Run { inside: inside.clone(), ..Run::default() }
    }

    /// Records one or more finished steps.
    pub(crate) fn tick(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Whether the run is to end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn locked<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that currently execute user code, by the interpreter's thread ids.
#[derive(Clone, Default)]
pub(crate) struct Inside(Arc<Mutex<BTreeSet<u64>>>);

impl Inside {
    /// Attaches this thread to the interpreter and runs user code, which can be interrupted.
    pub(crate) fn call<R>(&self, run: impl FnOnce(Python<'_>) -> PyResult<R>) -> PyResult<R> {
        /// Removes the thread even if the user code panics.
        struct Left<'a>(&'a Inside, u64);
        impl Drop for Left<'_> {
            fn drop(&mut self) {
                locked(&self.0.0).remove(&self.1);
            }
        }
        Python::attach(|py| {
            let number = thread_number(py)?;
            locked(&self.0).insert(number);
            let _left = Left(self, number);
            run(py)
        })
    }

    /// Raises an exception of this kind in each of these threads, at its next Python step.
    #[expect(unsafe_code, reason = "PyO3 has no safe name for this function of the interpreter")]
    fn interrupt(&self, py: Python<'_>, error: &PyErr) {
        for number in &*locked(&self.0) {
            // SAFETY: the calling thread is attached, so a thread of the set stays attached or waits
            // to be; the interpreter keeps its own reference to the exception's type.
            unsafe {
                pyo3::ffi::PyThreadState_SetAsyncExc(
                    *number as c_long,
                    error.get_type(py).as_ptr(),
                );
            }
        }
    }
}

/// The interpreter's id of this thread.
fn thread_number(py: Python<'_>) -> PyResult<u64> {
    thread_local!(static NUMBER: Cell<Option<u64>> = const { Cell::new(None) });
    if let Some(number) = NUMBER.get() {
        return Ok(number);
    }
    let number = py.import("threading")?.call_method0("get_ident")?.extract()?;
    NUMBER.set(Some(number));
    Ok(number)
}

/// The thread pool of all runs that do not set a number of threads, and the process that owns it.
///
/// It is locked only while the interpreter's lock is held without interruption, so no other thread
/// holds it at the moment of a fork.
static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The threads for a run.
fn pool(_attached: Python<'_>, threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if let Some(threads) = threads.filter(|threads| !(1..=1024).contains(threads)) {
        return Err(crate::refuse(format!(
            "threads {threads}: is out of range; allowed: 1 to 1024"
        )));
    }
    let build = || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .thread_name(|index| format!("firstflight-{index}"))
            .build();
        pool.map(Arc::new)
            .map_err(|error| crate::refuse(format!("threads cannot be started: {error}")))
    };
    // A hook that starts a run must not wait for the threads of its own run.
    if threads.is_some() || rayon::current_thread_index().is_some() {
        return build();
    }
    let process = std::process::id();
    let mut shared = locked(&SHARED);
    if let Some((owner, pool)) = &*shared
        && *owner == process
    {
        return Ok(Arc::clone(pool));
    }
    let new = build()?;
    // A fork has copied the pool without its threads: even to drop it would wait for them.
    std::mem::forget(shared.replace((process, Arc::clone(&new))));
    Ok(new)
}

/// Runs `work` on `threads` threads (all cores if `None`). Meanwhile `progress` receives the number
/// of steps finished since its last call.
///
/// # Errors
/// A refusal of the work; an exception of `progress`; `KeyboardInterrupt` on Ctrl-C, once the work
/// has ended; `InternalError` on a panic.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    run: &Run,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let pool = pool(py, threads)?;
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
        let started = thread::Builder::new().name("firstflight".into()).spawn_scoped(scope, || {
            let result = catch_unwind(AssertUnwindSafe(|| pool.install(work)));
            *locked(&slot) = Some(result);
            ready.notify_one();
        });
        started.map_err(|error| crate::refuse(format!("threads cannot be started: {error}")))?;
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
                // A hook that ends by itself is left alone.
                while py.detach(|| wait(PULSE)).is_none() {
                    run.inside.interrupt(py, &error);
                }
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
        Err(payload) => Err(internal(&*payload)),
    }
}

/// Converts a panic to an exception.
fn internal(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    PanicException::new_err(format!(
        "a bug in firstflight, please report it: {}",
        text.unwrap_or("no reason given")
    ))
}

/// Replaces PyO3's panic exception by our own `firstflight.InternalError`, which is an `Exception`.
/// Every function of the engine raises it, including those that run nothing in parallel. `except
/// Exception` does not catch PyO3's own.
pub(crate) fn internal_error(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let kind = py.get_type::<PanicException>();
    kind.setattr("__bases__", (py.get_type::<pyo3::exceptions::PyException>(),))?;
    for (name, value) in [
        ("__name__", "InternalError"),
        ("__qualname__", "InternalError"),
        ("__module__", "firstflight"),
        ("__doc__", "A bug in firstflight: please report it, with the text of this exception."),
    ] {
        kind.setattr(name, value)?;
    }
    Ok(kind.into_any())
}
