//! Flows for tests: controllers by name, plans, and all comparable parts of an outcome.
#![allow(dead_code, reason = "every test file uses its part")]

use firstflight::startup::AnyStartup;
use firstflight::{AnyController, Arm, Config, Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::{
    App, Arrangement, FlowPlan, Hosts, Outcome, Shared, SharedOutcome, run_flows, tcp,
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

/// The controller of an arm with an initial window of 10 packets, started at `at`.
pub(crate) fn controller(arm: &str, host: Hosts, at: Nanos) -> AnyController {
    let arm = Arm::parse(arm).unwrap_or_else(|e| panic!("`{arm}` should be an arm, but: {e}"));
    let config = firstflight::with!(Config { initial_window: 10 * host.mss(), ..host.config() });
    arm.with_oracle(1 << 30).controller(config, Time(at.0), Seq(0))
}

pub(crate) fn plan(arm: &str, host: Hosts, app: App, start: Nanos) -> FlowPlan<AnyStartup> {
    FlowPlan {
        controller: controller(arm, host, start),
        pacer_burst: 2 * host.mss(),
        app,
        start,
        rtt_extra: Nanos::ZERO,
    }
}

pub(crate) fn shared(path: &Path, host: impl Into<Hosts>, limit: u64) -> Shared<'_> {
    let host = host.into();
    Shared {
        path,
        host,
        limit: Nanos(limit),
        seed: 1,
        path_index: 0,
        sample: None,
        jitter: Nanos::ZERO,
    }
}

pub(crate) fn together(shared: &Shared<'_>, plans: Vec<FlowPlan<AnyStartup>>) -> SharedOutcome {
    run_flows(shared, plans, &Arrangement::default(), None)
        .unwrap_or_else(|e| panic!("{}: {e}", shared.path))
}

/// TCP hosts that acknowledge every packet.
pub(crate) fn tcp_every() -> tcp::Host {
    tcp::Host { ack_every: tcp::AckEvery::Segments(1), ..tcp::Host::default() }
}

/// Everything about an outcome that can be compared.
pub(crate) fn digest(outcome: &Outcome) -> String {
    let waits: Vec<(u64, u64)> = outcome
        .queue_us
        .iter_recorded()
        .map(|value| (value.value_iterated_to(), value.count_at_value().into()))
        .collect();
    let bare = Outcome {
        queue_us: hdrhistogram::Histogram::new(1).expect("one digit"),
        ..outcome.clone()
    };
    format!("{bare:?} {waits:?}")
}
