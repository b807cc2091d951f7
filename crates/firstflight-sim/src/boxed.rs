//! Controllers built from external parts, whose types are not known here. Every hook costs a
//! virtual call, and the simulator is compiled once for all such parts.

mod parts;

pub use parts::{MakeRecovery, MixedAvoidance, MixedRecovery, OwnAvoidance, own_avoidance};

use crate::instrumented::Combined;
use firstflight::startup::{AnyStartup, Startup};

impl Combined for Mixed {
    type Avoidance = MixedAvoidance;
    type Recovery = MixedRecovery;
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

/// A startup behind a virtual call; its state is not restored after a false alarm.
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
