//! Startups whose type is not known here: somebody's own. Every hook costs a virtual call, and the
//! simulator is compiled for all of them at once.

use crate::access::Arrangement;
use crate::observe::{Nobody, Observer};
use crate::outcome::Outcome;
use crate::sharing::{FlowPlan, Shared, SharedOutcome, run_arranged};
use crate::trial::{Setup, run};
use firstflight::avoidance::AnyAvoidance;
use firstflight::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use firstflight::recovery::{AnyRecovery, OwnRecovery};
use firstflight::startup::{AnyStartup, ExitReason, Grown, Startup, Train, Verdict};
use firstflight::{Controller, Nanos, Rate, Ratio, Seq, Time};
use firstflight_path::Error;

/// Runs one trial with a startup of somebody's own.
///
/// # Errors
/// Those of [`run`].
pub fn run_boxed(
    setup: &Setup<'_>,
    controller: Controller<Boxed, AnyAvoidance, AnyRecovery>,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Error> {
    run(setup, controller, &mut observer.unwrap_or(&mut Nobody))
}

/// Runs flows with such startups together, beside flows of ours.
///
/// # Errors
/// Those of [`crate::run_flows`].
pub fn run_mixed_flows(
    shared: &Shared<'_>,
    plans: Vec<FlowPlan<Mixed>>,
    arrangement: &Arrangement,
    observer: Option<&mut dyn Observer>,
) -> Result<SharedOutcome, Error> {
    run_arranged(shared, plans, arrangement, &mut observer.unwrap_or(&mut Nobody))
}

/// A startup of ours or somebody's own: flows of both share a path.
#[expect(clippy::large_enum_variant, reason = "no allocation for those of ours")]
pub enum Mixed {
    /// One of ours.
    Ours(AnyStartup),
    /// One that is not.
    Own(Boxed),
}

/// The same hook of either.
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

    fn start(&mut self, now: Time, nxt: Seq) {
        either!(self, startup => startup.start(now, nxt));
    }
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        either!(self, startup => startup.on_rtt(now, rtt, cx));
    }
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        either!(self, startup => startup.before_send(ready, w, cx));
    }
    fn train(&self) -> Option<Train> {
        either!(self, startup => startup.train())
    }
    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        either!(self, startup => startup.reach(max_fs, w, cx))
    }
    fn reach_beside(&self, max_fs: u64, w: Window) -> Option<u64> {
        either!(self, startup => startup.reach_beside(max_fs, w))
    }
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        either!(self, startup => startup.sample(ack, w, cx))
    }
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        either!(self, startup => startup.grow(ack, acked, w, cx))
    }
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        either!(self, startup => startup.beside_avoidance(ack, acked, w, cx))
    }
    fn reached(&mut self) -> ExitReason {
        either!(self, startup => startup.reached())
    }
    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        either!(self, startup => startup.on_congestion(signal, beta, ack, w, cx))
    }
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        either!(self, startup => startup.on_timeout(timeout, now, nxt));
    }
    fn on_idle(&mut self, now: Time, nxt: Seq) {
        either!(self, startup => startup.on_idle(now, nxt));
    }
    fn save(&self) -> Self::Saved {
        match self {
            Mixed::Ours(startup) => startup.save(),
            Mixed::Own(_) => Self::Saved::default(),
        }
    }
    fn restore(&mut self, saved: Self::Saved) {
        match self {
            Mixed::Ours(startup) => startup.restore(saved),
            Mixed::Own(startup) => startup.restore(()),
        }
    }
    fn pacing_gain(&self) -> Ratio {
        either!(self, startup => startup.pacing_gain())
    }
    fn on_sent(&mut self, sent: &Sent, w: Window, cx: &Context) {
        either!(self, startup => startup.on_sent(sent, w, cx));
    }
    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        either!(self, startup => startup.absorbs(signal, ack, cx))
    }
    fn pacing_rate(&self) -> Option<Rate> {
        either!(self, startup => startup.pacing_rate())
    }
    fn phase(&self) -> Phase {
        either!(self, startup => startup.phase())
    }
    fn rounds(&self) -> Option<u32> {
        either!(self, startup => startup.rounds())
    }
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        either!(self, startup => startup.signals(visit));
    }
}

/// A startup behind a virtual call, which takes nothing back.
pub struct Boxed(pub Box<dyn Startup<Saved = ()>>);

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
    fn on_sent(&mut self, sent: &Sent, w: Window, cx: &Context) {
        self.0.on_sent(sent, w, cx);
    }
    fn train(&self) -> Option<Train> {
        self.0.train()
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
    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        self.0.reach(max_fs, w, cx)
    }
    fn reach_beside(&self, max_fs: u64, w: Window) -> Option<u64> {
        self.0.reach_beside(max_fs, w)
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
    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        self.0.absorbs(signal, ack, cx)
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
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
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
