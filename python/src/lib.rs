//! The engine of the Python package `firstflight`, on which the classes of `python/firstflight` are
//! built.
//!
//! This crate makes no decisions. It passes text to the lab unchanged and returns the lab's
//! objects, tables or sentences. A refusal of the lab becomes the exception `Refused` with the same
//! sentence. Every run has its own thread, without the interpreter's lock ([`supervise`]).
#![expect(clippy::needless_pass_by_value, reason = "what Python calls takes what Python gives")]

mod ab;
mod compare;
mod evaluate;
mod experiment;
mod learn;
mod lists;
mod population;
mod replay;
mod reproduce;
mod sender;
mod startup;
mod supervise;
mod sweep;
mod table;
mod trial;
mod tune;

use firstflight_lab::Error;
use firstflight_lab::error::printable;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    firstflight,
    Refused,
    PyValueError,
    "A mistake that you can correct: one line that names the problem, its place and the allowed values."
);

/// A refusal of the lab as an exception.
fn refused(bad: &Error) -> PyErr {
    Refused::new_err(printable(bad.as_str()))
}

/// A refusal of an option, named as a keyword, without leading dashes.
fn refused_option(bad: &Error) -> PyErr {
    Refused::new_err(printable(bad.as_str().strip_prefix("--").unwrap_or(bad.as_str())))
}

/// A refusal with our own message.
fn refuse(line: String) -> PyErr {
    refused(&Error::new(line))
}

/// The engine of the package; use `firstflight` itself.
#[pymodule(name = "_engine")]
mod engine {
    #[pymodule_export]
    use super::ab::{Shard, Test, join};
    #[pymodule_export]
    use super::compare::{Comparison, Plan};
    #[pymodule_export]
    use super::evaluate::{EvaluationPlan, EvaluationReport};
    #[pymodule_export]
    use super::experiment::Experiment;
    #[pymodule_export]
    use super::learn::{Fleet, Policy, learned_columns};
    #[pymodule_export]
    use super::lists::{
        arm_full, list_arms, list_paths, list_populations, list_sources, looks, path_facts,
        split_arms,
    };
    #[pymodule_export]
    use super::population::Population;
    #[pymodule_export]
    use super::replay::{Advice, Replayed, advise, replay};
    #[pymodule_export]
    use super::reproduce::{reproduce, reproduce_steps};
    #[pymodule_export]
    use super::sender::{Exit, Sender, refuse_rate};
    #[pymodule_export]
    use super::startup::{Ack, Context, Ready, Window};
    #[pymodule_export]
    use super::sweep::{Sweep, SweepPlan};
    #[pymodule_export]
    use super::table::Batches;
    #[pymodule_export]
    use super::trial::{TrialAnswer, trial_analyse};
    #[pymodule_export]
    use super::tune::{TunePlan, Tuned};
    use super::{Bound, PyModule, PyModuleMethods, PyResult, Refused};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("Refused", module.py().get_type::<Refused>())?;
        module.add("InternalError", super::supervise::internal_error(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
