//! Startups that are not ours: written in another language, or in a crate of somebody's own, and
//! run in the simulator beside ours.
//!
//! They cost a virtual call per hook, which ours do not: slow, but right.

use firstflight::event::{Ack, Context, Phase, Ready, Signal, Timeout, Window};
use firstflight::recovery::OwnRecovery;
use firstflight::startup::{ExitReason, Grown, Startup, Verdict};
use firstflight::{Nanos, Ratio, Seq, Time};
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

/// A startup behind a virtual call.
pub struct Boxed(Box<dyn Startup<Saved = ()>>);

impl Startup for Boxed {
    type Saved = ();

    fn start(&mut self, now: Time, nxt: Seq) {
        self.0.start(now, nxt);
    }
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        self.0.on_rtt(now, rtt, cx);
    }
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        self.0.before_send(ready, w, cx);
    }
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        self.0.sample(ack, w, cx)
    }
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        self.0.grow(ack, acked, w, cx)
    }
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        self.0.beside_avoidance(ack, acked, w, cx)
    }
    fn reached(&mut self) -> ExitReason {
        self.0.reached()
    }
    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.0.on_congestion(signal, beta, ack, w, cx)
    }
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.0.on_timeout(timeout, now, nxt);
    }
    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.0.on_idle(now, nxt);
    }
    fn save(&self) {
        self.0.save();
    }
    fn restore(&mut self, (): ()) {
        self.0.restore(());
    }
    fn pacing_gain(&self) -> Ratio {
        self.0.pacing_gain()
    }
    fn phase(&self) -> Phase {
        self.0.phase()
    }
    fn rounds(&self) -> Option<u32> {
        self.0.rounds()
    }
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.0.signals(visit);
    }
}
