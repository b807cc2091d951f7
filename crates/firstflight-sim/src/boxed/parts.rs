//! Avoidances and recoveries, built-in or external.

use firstflight::avoidance::{AnyAvoidance, AnySaved, Avoidance, Cut, Reduced, Sizes};
use firstflight::event::{Signal, Window};
use firstflight::exit::Handover;
use firstflight::recovery::{AnyRecovery, AnySettings, End, Entry, Policy, Progress, Recovery};
use firstflight::{Ack, Context, Nanos, Ratio, Time};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// An avoidance behind a virtual call; [`own_avoidance`] makes one.
pub trait OwnAvoidance: Avoidance<Saved = ()> {
    /// A boxed copy.
    fn copied(&self) -> Box<dyn OwnAvoidance>;
}

/// Wraps an avoidance of any type behind a virtual call. The wrapper keeps the state that a false
/// alarm restores.
pub fn own_avoidance<A: Avoidance + Clone + 'static>(avoidance: A) -> Box<dyn OwnAvoidance> {
    Box::new(Keeps { avoidance, saved: Cell::new(None) })
}

/// Keeps the saved state: a controller restores only the state that it saved last.
#[derive(Clone)]
struct Keeps<A: Avoidance> {
    avoidance: A,
    saved: Cell<Option<A::Saved>>,
}

impl<A: Avoidance + Clone + 'static> OwnAvoidance for Keeps<A> {
    fn copied(&self) -> Box<dyn OwnAvoidance> {
        Box::new(self.clone())
    }
}

/// All hooks except those of a false alarm, forwarded to the part that `$each` finds in `self`.
macro_rules! forward_avoidance {
    ($each:ident) => {
        fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
            $each!(self, a => a.grow(ack, acked, w, cx));
        }
        fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
            $each!(self, a => a.reach(ack, max_fs, w, cx))
        }
        fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
            $each!(self, a => a.reduce(cut, w, cx))
        }
        fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
            $each!(self, a => a.on_rto(cut, w, cx))
        }
        fn on_persistent_congestion(&mut self, now: Time) {
            $each!(self, a => a.on_persistent_congestion(now));
        }
        fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context) {
            $each!(self, a => a.hand_over(handover, w, cx));
        }
        fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
            $each!(self, a => a.on_idle(now, idle, since_sent));
        }
        fn on_mss(&mut self, sizes: Sizes, kept: bool) {
            $each!(self, a => a.on_mss(sizes, kept));
        }
        fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
            $each!(self, a => a.beta(signal, from_slow_start))
        }
        fn on_rtt(&mut self, now: Time, rtt: Nanos, w: Window, in_recovery: bool) {
            $each!(self, a => a.on_rtt(now, rtt, w, in_recovery));
        }
        fn on_ack(&mut self, ack: &Ack, cx: &Context) {
            $each!(self, a => a.on_ack(ack, cx));
        }
        fn answer_marks(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Reduced> {
            $each!(self, a => a.answer_marks(ack, w, cx))
        }
        fn is_l4s(&self) -> bool {
            $each!(self, a => a.is_l4s())
        }
        fn on_recovery_end(&mut self, w: Window) {
            $each!(self, a => a.on_recovery_end(w));
        }
        fn epoch_start(&self) -> Option<Time> {
            $each!(self, a => a.epoch_start())
        }
        fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
            $each!(self, a => a.signals(visit));
        }
    };
}

macro_rules! kept {
    ($keeps:expr, $avoidance:ident => $hook:expr) => {{
        let Keeps { avoidance: $avoidance, .. } = $keeps;
        $hook
    }};
}

impl<A: Avoidance> Avoidance for Keeps<A> {
    type Saved = ();

    forward_avoidance!(kept);

    fn save(&self) {
        self.saved.set(Some(self.avoidance.save()));
    }
    fn restore(&mut self, (): ()) {
        if let Some(saved) = self.saved.take() {
            self.avoidance.restore(saved);
        }
    }
}

/// A built-in or an external avoidance.
#[expect(clippy::large_enum_variant, reason = "no allocation for those of ours")]
pub enum MixedAvoidance {
    /// A built-in avoidance.
    Ours(AnyAvoidance),
    /// An external avoidance.
    Own(Box<dyn OwnAvoidance>),
}

macro_rules! either {
    ($mixed:expr, $avoidance:ident => $hook:expr) => {
        match $mixed {
            MixedAvoidance::Ours($avoidance) => $hook,
            MixedAvoidance::Own($avoidance) => $hook,
        }
    };
}

impl Avoidance for MixedAvoidance {
    type Saved = Option<AnySaved>;

    forward_avoidance!(either);

    fn save(&self) -> Option<AnySaved> {
        match self {
            MixedAvoidance::Ours(avoidance) => Some(avoidance.save()),
            MixedAvoidance::Own(avoidance) => {
                avoidance.save();
                None
            }
        }
    }
    fn restore(&mut self, saved: Option<AnySaved>) {
        match (self, saved) {
            (MixedAvoidance::Ours(avoidance), Some(saved)) => avoidance.restore(saved),
            (MixedAvoidance::Own(avoidance), None) => avoidance.restore(()),
            // A controller never changes its avoidance.
            _ => {}
        }
    }
}

impl Clone for MixedAvoidance {
    fn clone(&self) -> MixedAvoidance {
        match self {
            MixedAvoidance::Ours(avoidance) => MixedAvoidance::Ours(*avoidance),
            MixedAvoidance::Own(avoidance) => MixedAvoidance::Own(avoidance.copied()),
        }
    }
}

impl fmt::Debug for MixedAvoidance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MixedAvoidance::Ours(avoidance) => avoidance.fmt(f),
            MixedAvoidance::Own(_) => f.write_str("an avoidance of somebody's own"),
        }
    }
}

/// Factory of an external recovery policy, with no open episode.
#[derive(Clone)]
pub struct MakeRecovery(pub Arc<dyn Fn() -> Box<dyn OwnPolicy> + Send + Sync>);

impl MakeRecovery {
    /// A factory from this closure.
    pub fn new<R: Recovery + Clone + 'static>(
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> MakeRecovery {
        MakeRecovery(Arc::new(move || Box::new(make())))
    }
}

impl fmt::Debug for MakeRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a recovery of somebody's own")
    }
}

/// A recovery policy behind a virtual call.
pub trait OwnPolicy: Recovery {
    /// A boxed copy.
    fn copied(&self) -> Box<dyn OwnPolicy>;
}

impl<R: Recovery + Clone + 'static> OwnPolicy for R {
    fn copied(&self) -> Box<dyn OwnPolicy> {
        Box::new(self.clone())
    }
}

/// A built-in or an external recovery policy.
#[derive(Debug)]
pub enum MixedRecovery {
    /// A built-in policy.
    Ours(AnyRecovery),
    /// An external policy, and its factory.
    Own(Boxed, MakeRecovery),
}

/// An external policy, which reports no statistics.
pub struct Boxed(Box<dyn OwnPolicy>);

impl fmt::Debug for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a recovery of somebody's own")
    }
}

impl Clone for MixedRecovery {
    fn clone(&self) -> MixedRecovery {
        match self {
            MixedRecovery::Ours(recovery) => MixedRecovery::Ours(*recovery),
            MixedRecovery::Own(Boxed(policy), make) => {
                MixedRecovery::Own(Boxed(policy.copied()), make.clone())
            }
        }
    }
}

/// State of a mixed recovery that outlasts an episode.
#[derive(Clone, Debug)]
pub enum MixedSettings {
    /// Settings of a built-in policy.
    Ours(AnySettings),
    /// Factory of an external policy.
    Own(MakeRecovery),
}

impl From<MakeRecovery> for MixedRecovery {
    fn from(make: MakeRecovery) -> MixedRecovery {
        MixedRecovery::Own(Boxed((make.0)()), make)
    }
}

impl Policy for MixedRecovery {
    type Settings = MixedSettings;

    fn settings(&self) -> MixedSettings {
        match self {
            MixedRecovery::Ours(recovery) => MixedSettings::Ours(recovery.settings()),
            MixedRecovery::Own(_, make) => MixedSettings::Own(make.clone()),
        }
    }
    fn with(settings: MixedSettings) -> MixedRecovery {
        match settings {
            MixedSettings::Ours(settings) => MixedRecovery::Ours(AnyRecovery::with(settings)),
            MixedSettings::Own(make) => make.into(),
        }
    }
}

macro_rules! policy {
    ($mixed:expr, $policy:ident => $hook:expr) => {
        match $mixed {
            MixedRecovery::Ours($policy) => $hook,
            MixedRecovery::Own(Boxed($policy), _) => $hook,
        }
    };
}

impl Recovery for MixedRecovery {
    fn enter(&mut self, entry: &Entry) {
        policy!(self, r => r.enter(entry));
    }
    fn on_ack(&mut self, progress: &Progress) {
        policy!(self, r => r.on_ack(progress));
    }
    fn admits(&self, len: u64, pipe: u64) -> bool {
        policy!(self, r => r.admits(len, pipe))
    }
    fn on_sent(&mut self, len: u64) {
        policy!(self, r => r.on_sent(len));
    }
    fn cwnd(&self) -> u64 {
        policy!(self, r => r.cwnd())
    }
    fn end(&mut self, how: End, pipe: u64) -> u64 {
        policy!(self, r => r.end(how, pipe))
    }
    fn restarts_on_lost_repeat(&self) -> bool {
        policy!(self, r => r.restarts_on_lost_repeat())
    }
}
