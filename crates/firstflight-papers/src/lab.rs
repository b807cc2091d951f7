//! Laboratory cases: single trials, and several flows together.

use firstflight::{AnyController, Exit, ExitReason, Nanos, Seq, Time};
use firstflight_lab::Error;
use firstflight_lab::arms::{NamedArm, parse_arms};
use firstflight_lab::scenario::{Scenario, rtt_jitter};
use firstflight_path::Path;
use firstflight_sim::{
    App, Arrangement, FlowPlan, JITTER, Observer, Outcome, Setup, Shared, SharedOutcome, run,
    run_flows,
};

/// Parses one arm.
pub(crate) fn arm(text: &str) -> Result<NamedArm, Error> {
    parse_arms(text)?.pop().ok_or_else(|| Error::new(format!("`{text}` is not an arm")))
}

fn controller(ground: &Scenario, arm: &NamedArm, start: Nanos) -> Result<AnyController, Error> {
    let told = ground.advised(arm.arm()?).with_oracle(ground.oracle_exit());
    Ok(told.controller(ground.config(), Time(start.0), Seq(0)))
}

fn burst(ground: &Scenario, arm: &NamedArm) -> Result<u64, Error> {
    Ok(u64::from(arm.arm()?.sender.burst.unwrap_or(ground.burst)) * ground.host.mss())
}

/// The path of a scenario with up to half a millisecond of additional RTT, by seed.
fn jittered(ground: &Scenario, seed: u64) -> Path {
    let path = ground.path.clone();
    let rtt = path.rtt() + rtt_jitter(seed);
    path.with_rtt(rtt)
}

/// Runs one trial with an RTT varied by the seed, with an optional observer.
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
    run(&setup, controller(ground, arm, Nanos::ZERO)?, observer)
}

/// The end of startup, if its own rule caused it and not a signal from the network.
pub(crate) fn own_exit(outcome: &Outcome) -> Option<&Exit> {
    let by_network = [ExitReason::Loss, ExitReason::Ecn, ExitReason::Timeout];
    outcome.exit.as_ref().filter(|exit| !by_network.contains(&exit.reason))
}

/// Completion time, ms; not a number if the object was not delivered.
pub(crate) fn completion_ms(outcome: &Outcome) -> f64 {
    outcome.delivered_after.map_or(f64::NAN, |after| after.0 as f64 / 1e6)
}

/// Goodput of an object of this size, Mbit/s; 0 if it was not delivered.
pub(crate) fn goodput_mbps(outcome: &Outcome, bytes: u64) -> f64 {
    outcome.delivered_after.map_or(0.0, |after| bytes as f64 * 8e3 / after.0.max(1) as f64)
}

/// 99th percentile of the queueing delay, ms.
pub(crate) fn queue_p99_ms(outcome: &Outcome) -> f64 {
    outcome.queue_us.value_at_quantile(0.99) as f64 / 1e3
}

/// One of several flows.
pub(crate) struct Sender<'a> {
    /// Arm.
    pub arm: &'a NamedArm,
    /// Traffic.
    pub app: App,
    /// When it starts.
    pub start: Nanos,
}

/// Whether the seed also varies the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vary {
    /// Yes, by up to half a millisecond of RTT: laboratory cases, where nothing else is random.
    Rtt,
    /// No: the path was drawn from a population; the number is its index there.
    Nothing(u64),
}

/// Runs flows together on a scenario's path; its object size is not used.
pub(crate) fn together(
    ground: &Scenario,
    senders: Vec<Sender<'_>>,
    seed: u64,
    vary: Vary,
    sample: Option<Nanos>,
) -> Result<SharedOutcome, Error> {
    together_watched(ground, senders, seed, vary, sample, None)
}

/// Like [`together`], with an optional observer.
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
    run_flows(&shared, plans.collect::<Result<_, Error>>()?, &Arrangement::default(), observer)
}
