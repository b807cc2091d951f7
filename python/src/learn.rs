//! Connections that pause for decisions, and trained policies. Arrays travel as bytes in the
//! machine's order, which numpy reads without a copy.

use crate::population::Population;
use crate::{refuse, refused};
use firstflight_lab::learn::{self, Account, Course, FEATURES, Feature, ONE, Prices, Settings};
use firstflight_lab::size;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Observations, rewards, whether connections were terminated and truncated, and accounts.
type Views<'py> = [Bound<'py, PyBytes>; 5];

/// Connections side by side.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Fleet {
    inner: Mutex<learn::Fleet>,
}

impl Fleet {
    /// A thread that waited here would hold the interpreter's lock, which a step needs at its end.
    fn locked(&self) -> PyResult<MutexGuard<'_, learn::Fleet>> {
        match self.inner.try_lock() {
            Ok(fleet) => Ok(fleet),
            Err(TryLockError::Poisoned(fleet)) => Ok(fleet.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(refuse("an environment is used by one thread at a time".to_owned()))
            }
        }
    }
}

#[pymethods]
impl Fleet {
    /// Connections of a population; the texts are parsed as those of a policy's file. `prices` are
    /// those of time, loss and queueing delay.
    #[new]
    fn new(
        population: &Population,
        course: (String, String, String),
        places: usize,
        iw: Option<u32>,
        limit: &str,
        prices: (f64, f64, f64),
    ) -> PyResult<Fleet> {
        let (acts, control, step) = course;
        let course = Course::parse(&acts, &control, &step).map_err(|bad| refused(&bad))?;
        let limit = size::time(limit).map_err(|bad| refuse(format!("limit {limit}: {bad}")))?;
        let (time, loss, queue) = prices;
        let settings = Settings {
            population: population.inner.clone(),
            course,
            iw: population.inner.window_or(iw),
            limit,
            prices: Prices { time, loss, queue },
        };
        let inner = learn::Fleet::new(settings, places, 0).map_err(|bad| refused(&bad))?;
        Ok(Fleet { inner: Mutex::new(inner) })
    }

    /// Numbers per decision.
    #[getter]
    fn values(&self) -> PyResult<usize> {
        Ok(self.locked()?.course().values())
    }

    /// Starts the next connection in the places where `which` is not 0 (all if `None`), after a
    /// change of the seed or of the places' connections, if these are given.
    #[pyo3(signature = (seed = None, connections = None, which = None))]
    fn reset(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        connections: Option<Vec<u64>>,
        which: Option<&[u8]>,
    ) -> PyResult<()> {
        let mut guard = self.locked()?;
        let fleet = &mut *guard;
        if let Some(seed) = seed {
            fleet.reseed(seed);
        }
        if let Some(connections) = connections {
            fleet.choose(&connections);
        }
        let begins = |place: usize| which.is_none_or(|which| which.get(place) != Some(&0));
        py.detach(|| fleet.reset(begins)).map_err(|bad| refused(&bad))
    }

    /// Decides everywhere; `actions` are 32-bit floats.
    fn step(&self, py: Python<'_>, actions: &[u8]) -> PyResult<()> {
        let mut guard = self.locked()?;
        let fleet = &mut *guard;
        let expected = fleet.len() * fleet.course().values() * size_of::<f32>();
        if actions.len() != expected {
            return Err(refuse(format!("{} bytes of actions; allowed: {expected}", actions.len())));
        }
        let (numbers, _) = actions.as_chunks();
        let actions: Vec<f32> = numbers.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        py.detach(|| fleet.step(&actions));
        Ok(())
    }

    /// The state of every place.
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Views<'py>> {
        let fleet = self.locked()?;
        let (mut seen, mut reward, mut account) = (Vec::new(), Vec::new(), Vec::new());
        let (mut terminated, mut truncated) = (Vec::new(), Vec::new());
        for view in fleet.views() {
            for value in view.seen {
                seen.extend_from_slice(&(value as f32 / ONE as f32).to_ne_bytes());
            }
            reward.extend_from_slice(&view.reward.to_ne_bytes());
            terminated.push(u8::from(view.terminated));
            truncated.push(u8::from(view.truncated));
            for value in view.account.values() {
                account.extend_from_slice(&value.to_ne_bytes());
            }
        }
        Ok([seen, reward, terminated, truncated, account].map(|bytes| PyBytes::new(py, &bytes)))
    }
}

/// A trained policy.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct Policy {
    inner: learn::Policy,
}

#[pymethods]
impl Policy {
    /// Reads the text of a policy's file.
    #[new]
    fn new(text: &str) -> PyResult<Policy> {
        let inner = learn::Policy::parse(text).map_err(|bad| refused(&bad))?;
        Ok(Policy { inner })
    }

    /// The decisions for observations as [`Fleet::views`] returns them, as [`Fleet::step`] takes
    /// them.
    fn decide<'py>(&self, py: Python<'py>, observations: &[u8]) -> Bound<'py, PyBytes> {
        let (numbers, _) = observations.as_chunks();
        let numbers: Vec<i32> = numbers
            .iter()
            .map(|bytes| (f32::from_ne_bytes(*bytes) * ONE as f32) as i32)
            .map(|value| value.clamp(-ONE, learn::MOST))
            .collect();
        let mut actions = Vec::new();
        let (seen, _) = numbers.as_chunks::<FEATURES>();
        for seen in seen {
            let action = self.inner.decide(seen);
            actions.extend_from_slice(&(action.value as f32 / ONE as f32).to_ne_bytes());
            if self.inner.course.values() == 2 {
                let leave: f32 = if action.leave { 1.0 } else { -1.0 };
                actions.extend_from_slice(&leave.to_ne_bytes());
            }
        }
        PyBytes::new(py, &actions)
    }
}

/// Name and meaning of every value of an observation, and the names of an account.
#[pyfunction]
pub(crate) fn learned_columns() -> (Vec<(&'static str, &'static str)>, Vec<&'static str>) {
    let features = Feature::ALL.iter().map(|feature| (feature.name, feature.about)).collect();
    (features, Account::NAMES.to_vec())
}
