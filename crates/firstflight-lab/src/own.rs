//! User-defined parts of arms, written in another language or in another crate, that run in the
//! simulator together with ours.
//!
//! They cost a virtual call per hook, which ours do not.

pub(crate) mod names;

pub use names::{ALL, OwnPart, listed, own_parts};

use firstflight::arm::Arm;
use firstflight::avoidance::Avoidance;
use firstflight::controller::{Config, Controller};
use firstflight::recovery::Recovery;
use firstflight::startup::Startup;
use firstflight::{Seq, Time};
use firstflight_sim::instrumented::Core;
use firstflight_sim::{Boxed, MakeRecovery, Mixed, MixedAvoidance, MixedRecovery, own_avoidance};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Constructor of a startup for one trial.
type Make = dyn Fn() -> Box<dyn Startup<Saved = ()>> + Send + Sync;

/// A user-defined startup: its name, its constructor for each trial, and whether any of its
/// instances has failed.
#[derive(Clone)]
pub struct OwnStartup {
    name: Arc<str>,
    make: Arc<Make>,
    broken: Arc<AtomicBool>,
}

impl OwnStartup {
    /// A startup called `name`; `make` constructs a new one for every trial. Setting `broken` ends
    /// the comparison or test: a startup that has raised an exception must not look like one that
    /// is slow.
    pub fn new(
        name: &str,
        broken: Arc<AtomicBool>,
        make: impl Fn() -> Box<dyn Startup<Saved = ()>> + Send + Sync + 'static,
    ) -> OwnStartup {
        OwnStartup { name: name.into(), make: Arc::new(make), broken }
    }

    /// A startup of any type that cannot fail. The state that a spurious loss restores is kept
    /// outside it.
    pub fn of<S: Startup + 'static>(
        name: &str,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> OwnStartup {
        let make = move || -> Box<dyn Startup<Saved = ()>> {
            Box::new(Keeps { startup: make(), saved: Cell::default() })
        };
        OwnStartup::new(name, Arc::default(), make)
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Constructs a new startup.
    pub fn make(&self) -> Boxed {
        Boxed((self.make)())
    }

    /// Whether one of its trials has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for OwnStartup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnStartup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for OwnStartup {
    fn eq(&self, other: &OwnStartup) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make, &other.make)
    }
}

/// A wrapper that keeps the last saved state, because a controller restores only that one.
struct Keeps<S: Startup> {
    startup: S,
    saved: Cell<S::Saved>,
}

macro_rules! kept {
    ($keeps:expr, $startup:ident => $hook:expr) => {{
        let Keeps { startup: $startup, .. } = $keeps;
        $hook
    }};
}

impl<S: Startup> Startup for Keeps<S> {
    type Saved = ();

    firstflight::forward_startup!(kept);

    fn save(&self) {
        self.saved.set(self.startup.save());
    }
    fn restore(&mut self, (): ()) {
        self.startup.restore(self.saved.get());
    }
}

/// A user-defined congestion avoidance: its name, and its constructor for each trial.
#[derive(Clone)]
pub struct OwnAvoidance {
    name: Arc<str>,
    make: Arc<dyn Fn() -> MixedAvoidance + Send + Sync>,
}

impl OwnAvoidance {
    /// A congestion avoidance called `name`; `make` constructs a new one for every trial.
    pub fn of<A: Avoidance + Clone + 'static>(
        name: &str,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> OwnAvoidance {
        let make = Arc::new(move || MixedAvoidance::Own(own_avoidance(make())));
        OwnAvoidance { name: name.into(), make }
    }
}

impl fmt::Debug for OwnAvoidance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnAvoidance").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for OwnAvoidance {
    fn eq(&self, other: &OwnAvoidance) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make, &other.make)
    }
}

/// A user-defined recovery: its name, and its constructor for each trial.
#[derive(Clone, Debug)]
pub struct OwnRecovery {
    name: Arc<str>,
    make: MakeRecovery,
}

impl OwnRecovery {
    /// A recovery called `name`; `make` constructs a new one for every trial.
    pub fn of<R: Recovery + Clone + 'static>(
        name: &str,
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> OwnRecovery {
        OwnRecovery { name: name.into(), make: MakeRecovery::new(make) }
    }
}

impl PartialEq for OwnRecovery {
    fn eq(&self, other: &OwnRecovery) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make.0, &other.make.0)
    }
}

/// The user-defined parts of an arm; the remaining parts are the arm's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// Replaces the arm's startup.
    pub startup: Option<OwnStartup>,
    /// Replaces the arm's congestion avoidance.
    pub avoidance: Option<OwnAvoidance>,
    /// Replaces the arm's recovery.
    pub recovery: Option<OwnRecovery>,
}

impl Own {
    /// Whether a trial of one of the parts has failed.
    pub fn is_broken(&self) -> bool {
        self.startup.as_ref().is_some_and(OwnStartup::is_broken)
    }

    /// Names of the parts, in the order of an arm.
    pub(crate) fn names(&self) -> [Option<&str>; 3] {
        [
            self.startup.as_ref().map(|own| &*own.name),
            self.avoidance.as_ref().map(|own| &*own.name),
            self.recovery.as_ref().map(|own| &*own.name),
        ]
    }

    /// A controller made of these parts and the rest of an arm, for a connection that starts at
    /// `now`.
    pub(crate) fn controller(
        &self,
        rest: &Arm,
        base: Config,
        oracle_exit: u64,
        now: Time,
    ) -> Core<Mixed> {
        let startup = match &self.startup {
            Some(own) => Mixed::Own(own.make()),
            None => {
                Mixed::Ours(*rest.with_oracle(oracle_exit).controller(base, now, Seq(0)).startup())
            }
        };
        let (avoidance, recovery) = rest.after_startup();
        let own = self.avoidance.as_ref();
        let avoidance = own.map_or(MixedAvoidance::Ours(avoidance), |own| (own.make)());
        let own = self.recovery.as_ref();
        let recovery = own.map_or(MixedRecovery::Ours(recovery), |own| own.make.clone().into());
        Controller::new(startup, avoidance, recovery, rest.configure(base), now, Seq(0))
    }
}
