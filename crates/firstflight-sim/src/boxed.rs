//! Startups whose type is not known here: somebody's own. Every hook costs a virtual call, and the
//! simulator is compiled for all of them at once.

use crate::observe::{Nobody, Observer};
use crate::outcome::Outcome;
use crate::sharing::{FlowPlan, Shared, SharedOutcome, run_flows};
use crate::trial::{Setup, run};
use firstflight::avoidance::AnyAvoidance;
use firstflight::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use firstflight::recovery::{AnyRecovery, OwnRecovery};
use firstflight::startup::{ExitReason, Grown, Startup, Verdict};
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

/// Runs flows with such startups together.
///
/// # Errors
/// Those of [`run_flows`].
pub fn run_boxed_flows(
    shared: &Shared<'_>,
    plans: Vec<FlowPlan<Boxed>>,
) -> Result<SharedOutcome, Error> {
    run_flows(shared, plans, &mut Nobody)
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
