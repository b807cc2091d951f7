//! The entry points: one flow that has the path to itself, and several flows.

use crate::access::Arrangement;
use crate::boxed::Mixed;
use crate::instrumented::{Combined, Core};
use crate::observe::{Nobody, Observer, Tape};
use crate::outcome::Outcome;
use crate::setup::Setup;
use crate::sharing::{self, FlowPlan, Shared, SharedOutcome};
use crate::trial;
use firstflight::startup::AnyStartup;
use firstflight_path::Error;

/// Runs one trial.
///
/// # Errors
/// If the path cannot carry the host's packets (see [`Path::open`](firstflight_path::Path::open)).
pub fn run<S: Simulated>(
    setup: &Setup<'_>,
    controller: Core<S>,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Error> {
    S::alone(setup, controller, observer)
}

/// Runs flows together until all that can end ([`App::Endless`](crate::App::Endless) cannot) have finished or the limit
/// is reached.
///
/// # Errors
/// If the path cannot carry the host's packets (see [`Path::open`](firstflight_path::Path::open)).
pub fn run_flows<S: Simulated>(
    shared: &Shared<'_>,
    plans: Vec<FlowPlan<S>>,
    arrangement: &Arrangement,
    observer: Option<&mut dyn Observer>,
) -> Result<SharedOutcome, Error> {
    S::together(shared, plans, arrangement, observer)
}

/// A startup for which this crate compiles the simulator, so that no crate that runs trials has to.
pub trait Simulated: Combined {
    #[doc(hidden)]
    fn alone(
        setup: &Setup<'_>,
        controller: Core<Self>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Outcome, Error>;
    #[doc(hidden)]
    fn together(
        shared: &Shared<'_>,
        plans: Vec<FlowPlan<Self>>,
        arrangement: &Arrangement,
        observer: Option<&mut dyn Observer>,
    ) -> Result<SharedOutcome, Error>;
}

impl Simulated for AnyStartup {
    fn alone(
        setup: &Setup<'_>,
        controller: Core<Self>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Outcome, Error> {
        match observer {
            Some(mut observer) => trial::observed(setup, controller, &mut observer),
            None => trial::observed(setup, controller, &mut Nobody),
        }
    }
    fn together(
        shared: &Shared<'_>,
        plans: Vec<FlowPlan<Self>>,
        arrangement: &Arrangement,
        observer: Option<&mut dyn Observer>,
    ) -> Result<SharedOutcome, Error> {
        match observer {
            Some(mut observer) if observer.listens() => {
                sharing::in_company::<_, Tape, _>(shared, plans, arrangement, &mut observer)
            }
            Some(mut observer) => {
                sharing::in_company::<_, Nobody, _>(shared, plans, arrangement, &mut observer)
            }
            None => sharing::in_company::<_, Nobody, _>(shared, plans, arrangement, &mut Nobody),
        }
    }
}

impl Simulated for Mixed {
    fn alone(
        setup: &Setup<'_>,
        controller: Core<Self>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Outcome, Error> {
        trial::observed(setup, controller, &mut observer.unwrap_or(&mut Nobody))
    }
    fn together(
        shared: &Shared<'_>,
        plans: Vec<FlowPlan<Self>>,
        arrangement: &Arrangement,
        observer: Option<&mut dyn Observer>,
    ) -> Result<SharedOutcome, Error> {
        sharing::in_company::<_, Nobody, _>(
            shared,
            plans,
            arrangement,
            &mut observer.unwrap_or(&mut Nobody),
        )
    }
}
