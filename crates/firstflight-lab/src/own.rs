//! Startups that are not ours: written in another language, or in a crate of somebody's own, and
//! run in the simulator beside ours.
//!
//! They cost a virtual call per hook, which ours do not: slow, but right.

use firstflight::startup::Startup;
use firstflight_sim::Boxed;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What makes a startup for one trial.
type Make = dyn Fn() -> Box<dyn Startup<Saved = ()>> + Send + Sync;

/// A startup that is not ours: a name, how a fresh one is made for every trial, and whether one has
/// broken.
#[derive(Clone)]
pub struct OwnStartup {
    name: Arc<str>,
    make: Arc<Make>,
    broken: Arc<AtomicBool>,
}

impl OwnStartup {
    /// Called `name`; `make` makes a fresh one for every trial. Whoever sets `broken` ends the
    /// comparison or test: a startup that has raised an exception must not look like one that
    /// is slow.
    pub fn new(
        name: &str,
        broken: Arc<AtomicBool>,
        make: impl Fn() -> Box<dyn Startup<Saved = ()>> + Send + Sync + 'static,
    ) -> OwnStartup {
        OwnStartup { name: name.into(), make: Arc::new(make), broken }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A fresh one.
    pub fn make(&self) -> Boxed {
        Boxed((self.make)())
    }

    /// One of its trials has broken.
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
