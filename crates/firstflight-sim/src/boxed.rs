//! Controllers built from external parts, whose types are not known here. Every hook costs a
//! virtual call, and the simulator is compiled once for all such parts.

mod parts;

pub use parts::{MakeRecovery, MixedAvoidance, MixedRecovery, OwnAvoidance, own_avoidance};

use crate::access::Arrangement;
use crate::instrumented::{Combined, Core};
use crate::observe::{Nobody, Observer};
use crate::outcome::Outcome;
use crate::sharing::{self, FlowPlan, Shared, SharedOutcome};
use crate::trial::{self, Setup};
use firstflight::startup::{AnyStartup, Startup};
use firstflight_path::Error;

impl Combined for Mixed {
    type Avoidance = MixedAvoidance;
    type Recovery = MixedRecovery;

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

/// A built-in or an external startup: flows with either kind can share a path.
#[expect(clippy::large_enum_variant, reason = "no allocation for those of ours")]
pub enum Mixed {
    /// A built-in startup.
    Ours(AnyStartup),
    /// An external startup.
    Own(Boxed),
}

/// Calls the same hook of either kind.
macro_rules! either {
    ($mixed:expr, $startup:ident => $hook:expr) => {
        match $mixed {
            Mixed::Ours($startup) => $hook,
            Mixed::Own($startup) => $hook,
        }
    };
}

impl Startup for Mixed {
    type Saved = <AnyStartup as Startup>::Saved;

    firstflight::forward_startup!(either);

    fn save(&self) -> Self::Saved {
        match self {
            Mixed::Ours(startup) => startup.save(),
            Mixed::Own(startup) => {
                startup.save();
                Self::Saved::default()
            }
        }
    }
    fn restore(&mut self, saved: Self::Saved) {
        match self {
            Mixed::Ours(startup) => startup.restore(saved),
            Mixed::Own(startup) => startup.restore(()),
        }
    }
}

/// A startup behind a virtual call; a false alarm restores nothing of it.
pub struct Boxed(pub Box<dyn Startup<Saved = ()>>);

/// Calls a hook of the boxed startup.
macro_rules! inner {
    ($boxed:expr, $startup:ident => $hook:expr) => {{
        let Boxed($startup) = $boxed;
        $hook
    }};
}

impl Startup for Boxed {
    type Saved = ();

    firstflight::forward_startup!(inner);

    fn save(&self) {
        self.0.save();
    }
    fn restore(&mut self, (): ()) {
        self.0.restore(());
    }
}
