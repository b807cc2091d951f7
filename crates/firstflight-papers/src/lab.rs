//! Laboratory cases: a trial, several flows together, and something for every seed.

use firstflight::arm::ArmController;
use firstflight::controller::Config;
use firstflight::{Exit, ExitReason, Nanos, Seq, Time};
use firstflight_lab::Error;
use firstflight_lab::arms::{NamedArm, parse_arms};
use firstflight_lab::scenario::{Scenario, rtt_jitter};
use firstflight_path::Path;
use firstflight_sim::{
    App, FlowPlan, JITTER, Observer, Outcome, Setup, Shared, SharedOutcome, run_arm, run_arms,
};

/// One arm by its text.
pub(crate) fn arm(text: &str) -> Result<NamedArm, Error> {
    parse_arms(text)?.pop().ok_or_else(|| Error::new(format!("`{text}` is no arm")))
}

fn controller(ground: &Scenario, arm: &NamedArm, start: Nanos) -> Result<ArmController, Error> {
    let config =
        Config { initial_window: u64::from(ground.iw) * ground.host.mss(), ..ground.host.config() };
    Ok(arm.arm()?.controller(config, ground.oracle_exit(), Time(start.0), Seq(0)))
}

fn burst(ground: &Scenario, arm: &NamedArm) -> Result<u64, Error> {
    Ok(u64::from(arm.arm()?.sender.burst.unwrap_or(ground.burst)) * ground.host.mss())
}

/// The path of a ground with up to half a millisecond more, by the seed.
fn jittered(ground: &Scenario, seed: u64) -> Path {
    let path = ground.path.clone();
    let rtt = path.rtt() + rtt_jitter(seed);
    path.with_rtt(rtt)
}

/// One trial on a ground whose RTT is varied by the seed, and who watches it.
pub(crate) fn watch(
    ground: &Scenario,
    arm: &NamedArm,
    seed: u64,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Error> {
    let path = &jittered(ground, seed);
    let &Scenario { host, bytes: object, limit, .. } = ground;
    let setup =
        Setup { path, host, pacer_burst: burst(ground, arm)?, object, limit, seed, path_index: 0 };
    run_arm(&setup, controller(ground, arm, Nanos::ZERO)?, observer)
}

/// How startup ended, if a rule of its own did it and not a signal of the network.
pub(crate) fn own_exit(outcome: &Outcome) -> Option<&Exit> {
    let by_network = [ExitReason::Loss, ExitReason::Ecn, ExitReason::Timeout];
    outcome.exit.as_ref().filter(|exit| !by_network.contains(&exit.reason))
}

/// A flow among others.
pub(crate) struct Sender<'a> {
    /// Its arm.
    pub arm: &'a NamedArm,
    /// Traffic.
    pub app: App,
    /// When it starts.
    pub start: Nanos,
}

/// Whether the seed also varies the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vary {
    /// Up to half a millisecond more RTT: laboratory cases, where nothing else is random.
    Rtt,
    /// The path is what was drawn; the number says which of a population it is.
    Nothing(u64),
}

/// Flows together on the path of a ground; its object size does not matter.
pub(crate) fn together(
    ground: &Scenario,
    senders: Vec<Sender<'_>>,
    seed: u64,
    vary: Vary,
    sample: Option<Nanos>,
) -> Result<SharedOutcome, Error> {
    together_watched(ground, senders, seed, vary, sample, None)
}

/// The same, and who watches it.
pub(crate) fn together_watched(
    ground: &Scenario,
    senders: Vec<Sender<'_>>,
    seed: u64,
    vary: Vary,
    sample: Option<Nanos>,
    observer: Option<&mut dyn Observer>,
) -> Result<SharedOutcome, Error> {
    let (path, path_index) = match vary {
        Vary::Rtt => (jittered(ground, seed), 0),
        Vary::Nothing(index) => (ground.path.clone(), index),
    };
    let &Scenario { host, limit, .. } = ground;
    let shared = Shared { path: &path, host, limit, seed, path_index, sample, jitter: JITTER };
    let plans = senders.into_iter().map(|Sender { arm, app, start }| {
        let controller = controller(ground, arm, start)?;
        Ok(FlowPlan {
            controller,
            pacer_burst: burst(ground, arm)?,
            app,
            start,
            rtt_extra: Nanos::ZERO,
        })
    });
    run_arms(&shared, plans.collect::<Result<_, Error>>()?, observer)
}
