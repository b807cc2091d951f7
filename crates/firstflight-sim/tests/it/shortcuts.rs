//! The shortcuts that a trial takes where nothing can come between, compared with an observed
//! trial, which runs packet by packet and event by event: the outcomes are equal.

use crate::alike::{ARMS, any_host, any_path};
use crate::hosts::{MS, SECOND, controller, digest, path, plan, shared};
use firstflight::Nanos;
use firstflight::startup::AnyStartup;
use firstflight_sim::observe::{Observer, Record, Signals, Snapshot};
use firstflight_sim::{App, FlowPlan, Hosts, JITTER, Response, Setup, Shared, run_arm, run_arms};
use proptest::prelude::*;

/// Counts what it sees; `listens`: it also hears what the controller is told, each question of it.
#[derive(Default)]
struct Watcher {
    listens: bool,
    events: u64,
    records: u64,
}

impl Observer for Watcher {
    fn listens(&self) -> bool {
        self.listens
    }
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {
        self.events += 1;
    }
    fn on_told(&mut self, _record: Record) {
        self.records += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_trial_is_the_same_whether_it_is_watched_or_not(
        host in any_host(),
        text in any_path(),
        arm in prop::sample::select(ARMS.to_vec()),
        burst in 1u64..12,
        object in prop_oneof![1u64..60_000, 60_000u64..3_000_000],
        limit in prop_oneof![9 => Just(300 * SECOND), 2 => MS..2 * SECOND],
        seed in any::<u64>(),
    ) {
        let path = path(&text);
        let setup = Setup {
            path: &path,
            host,
            pacer_burst: burst * host.mss(),
            object,
            limit: Nanos(limit),
            seed,
            path_index: 3,
        };
        let made = || controller(arm, host, Nanos::ZERO);
        let alone = run_arm(&setup, made(), None).expect("the path carries full packets");
        for listens in [false, true] {
            let mut watcher = Watcher { listens, ..Watcher::default() };
            let watched = run_arm(&setup, made(), Some(&mut watcher)).expect("as before");
            prop_assert!(watcher.events > 0 && (watcher.records > 0) == listens, "it was watched");
            prop_assert_eq!(digest(&alone), digest(&watched), "{} on {}", arm, &text);
        }
    }
}

/// What one flow carries: mostly an object, else responses or a video with pauses.
fn app(mut draw: impl FnMut(u64) -> u64) -> App {
    match draw(4) {
        0 => {
            let mut response =
                || Response { pause: Nanos(draw(300) * MS), bytes: 1 + draw(200_000) };
            App::Responses((0..3).map(|_| response()).collect())
        }
        1 => {
            let (first, write) = (1 + draw(300_000), 1 + draw(100_000));
            App::Video { bytes: first + 4 * write, first, write, every: Nanos(draw(400) * MS) }
        }
        _ => App::Bulk(1 + draw(1_000_000)),
    }
}

/// Plans of `count` flows that start within a second, each with an application of its own.
fn plans(
    host: Hosts,
    arms: &[&str],
    count: u64,
    mut draw: impl FnMut(u64) -> u64,
) -> Vec<FlowPlan<AnyStartup>> {
    let mut one = || {
        let (start, arm) = (Nanos(draw(SECOND)), arms[draw(arms.len() as u64) as usize]);
        let flow = plan(arm, host, app(&mut draw), start);
        FlowPlan { rtt_extra: Nanos(draw(3) * 7 * MS), ..flow }
    };
    (0..count).map(|_| one()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flows_together_are_the_same_whether_they_are_watched_or_not(
        host in any_host(),
        text in any_path(),
        arms in prop::sample::subsequence(ARMS.to_vec(), 1..6),
        count in 1u64..9,
        sample in prop::option::of(1u64..700),
        jitter in any::<bool>(),
        limit in prop_oneof![4 => Just(100 * SECOND), 1 => MS..3 * SECOND],
        seed in any::<u64>(),
    ) {
        let path = path(&text);
        let jitter = if jitter { JITTER } else { Nanos::ZERO };
        let sample = sample.map(|ms| Nanos(ms * MS));
        let shared = Shared { seed, jitter, sample, ..shared(&path, host, limit) };
        let made = || {
            let mut x = seed;
            plans(host, &arms, count, |below| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (x >> 33) % below
            })
        };
        let alone = run_arms(&shared, made(), None).expect("the path carries full packets");
        let mut watcher = Watcher::default();
        let watched = run_arms(&shared, made(), Some(&mut watcher)).expect("as before");
        prop_assert_eq!(&alone.starts, &watched.starts);
        prop_assert_eq!(&alone.delivered, &watched.delivered, "{:?} on {}", &arms, &text);
        for (alone, watched) in alone.flows.iter().zip(&watched.flows) {
            prop_assert_eq!(digest(alone), digest(watched), "{:?} on {}", &arms, &text);
        }
    }
}
