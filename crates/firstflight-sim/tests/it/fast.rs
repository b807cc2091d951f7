//! The simulator's shortcuts (`firstflight_sim::flow`) beside its plain path, which an observer
//! selects: counters, times and events are equal.

use crate::hosts::{MS, SECOND, controller, digest, path, plan, shared, tcp_every};
use firstflight::Nanos;
use firstflight::detection::presets::PRESETS;
use firstflight::startup::AnyStartup;
use firstflight_path::Path;
use firstflight_sim::observe::{Observer, Record, Signals, Snapshot};
use firstflight_sim::tcp::Buffer;
use firstflight_sim::{
    App, Arrangement, FlowPlan, Hosts, JITTER, Response, Setup, Shared, quic, run, run_alike,
    run_flows, tcp,
};
use proptest::prelude::*;

/// Arms that differ in one thing or another, some only in what they think.
pub(crate) const ARMS: [&str; 32] = [
    "slowstart",
    "slowstart@(iw=11)",
    "slowstart@(pace=off)",
    "slowstart@(maxrate=20Mbit)",
    "slowstart@(maxrate=20Mbit,pace=off)",
    "slowstart@(maxrate=8Mbit)",
    "plumb@(maxrate=20Mbit)",
    "slowstart/reno",
    "slowstart/cubic(profile=linux)",
    "slowstart/cubic/immediate",
    "slowstart/cubic/sack",
    "slowstart/cubic/halving",
    "slowstart/cuback",
    "slowstart/dctcp",
    "slowstart/prague",
    "slowstart@(increase=maxfs)",
    "limited",
    "hystart",
    "hystart++",
    "hystart++(css=off)",
    "search",
    "best",
    "best(fallback=hystart++)",
    "rapid",
    "rapid-nojump",
    "jumpstart",
    "oracle(exit=100000)",
    "plumb",
    "suss",
    "chirping",
    "bbr",
    "bbr3",
];

fn any_host() -> impl Strategy<Value = Hosts> {
    let small = tcp::Host { send_buffer: Buffer::LINUX_SEND, ..tcp::Host::default() };
    let plain = |name: &str| {
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
        Hosts::Tcp(tcp::Host::with_preset(*preset))
    };
    prop_oneof![
        3 => Just(Hosts::Quic(quic::Host::default())),
        1 => Just(Hosts::Quic(quic::Host { asks_acks: Some(4), ..quic::Host::default() })),
        1 => Just(Hosts::Quic(quic::Host { receive_ts: true, ..quic::Host::default() })),
        1 => Just(Hosts::Tcp(tcp::Host::default())),
        1 => Just(Hosts::Tcp(tcp_every())),
        1 => Just(Hosts::Tcp(small)),
        1 => Just(plain("reno")),
        1 => Just(plain("linux26")),
    ]
}

fn any_path() -> impl Strategy<Value = String> {
    let queue = prop_oneof![
        Just("queue=10ms".to_owned()),
        Just("queue=1bdp".to_owned()),
        Just("queue=300ms".to_owned()),
        Just("queue=100ms,codel".to_owned()),
        Just("queue=1bdp,pie,ecn".to_owned()),
        Just("queue=100ms,dualpi2,ecn".to_owned()),
        Just("queue=1bdp,reorder=1%:3ms".to_owned()),
        Just("queue=1bdp,return=wifi".to_owned()),
        Just("queue=1bdp,ack=4/rtt".to_owned()),
        Just("queue=1bdp,return=geo_cold".to_owned()),
        Just("queue=1bdp,rwnd=60kB".to_owned()),
        Just("queue=1bdp,rwnd=auto".to_owned()),
        Just("queue=1bdp,rwnd=50kB,read=3Mbit".to_owned()),
        Just("queue=1bdp,rwnd=auto:1MB,read=9Mbit,up_loss=5%".to_owned()),
    ];
    let loss = prop_oneof![2 => Just(0u32), 1 => Just(5), 1 => Just(20), 1 => Just(150)];
    (4u32..200, 5u32..400, queue, loss).prop_map(|(rate, rtt, queue, loss)| {
        format!("rate={rate}Mbit,rtt={rtt}ms,{queue},loss={}.{}%", loss / 10, loss % 10)
    })
}

/// An observer that selects the plain path. With `listens` it also keeps the controller's events.
#[derive(Default)]
struct Watcher {
    listens: bool,
    events: u64,
    records: Vec<String>,
}

impl Watcher {
    fn new(listens: bool) -> Watcher {
        Watcher { listens, ..Watcher::default() }
    }
}

impl Observer for Watcher {
    fn listens(&self) -> bool {
        self.listens
    }
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {
        self.events += 1;
    }
    fn on_told(&mut self, record: Record) {
        self.records.push(format!("{record:?}"));
    }
}

/// Data of one flow: mostly an object, else responses or a video with pauses.
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

/// One trial of each arm: alone without an observer, with one, with one that listens, as the only
/// flow of several, and all arms in one simulation where they behave alike.
fn alone(setup: &Setup<'_>, arms: &[&str]) -> Result<(), TestCaseError> {
    let what = |arm: &str| format!("{arm} of {arms:?} on {}", setup.path);
    let controllers: Vec<_> =
        arms.iter().map(|arm| controller(arm, setup.host, Nanos::ZERO)).collect();
    let alike = run_alike(setup, &controllers).expect("the path carries full packets");
    prop_assert_eq!(alike.len(), arms.len(), "an outcome for each");
    let &Setup { path, host, pacer_burst, object, limit, seed, path_index } = setup;
    let shared = Shared { seed, path_index, ..shared(path, host, limit.0) };
    for ((arm, made), alike) in arms.iter().zip(&controllers).zip(&alike) {
        let fast = digest(&run(setup, *made, None).expect("as before"));
        prop_assert_eq!(&digest(alike), &fast, "in company: {}", what(arm));
        let flow = || {
            let flow = plan(arm, host, App::Bulk(object), Nanos::ZERO);
            vec![FlowPlan { pacer_burst, ..flow }]
        };
        let plain = Arrangement::default();
        let mut done = run_flows(&shared, flow(), &plain, None).expect("as before");
        prop_assert_eq!(&digest(&done.flows.remove(0)), &fast, "as a flow: {}", what(arm));
        for listens in [false, true] {
            let mut watcher = Watcher::new(listens);
            let watched = run(setup, *made, Some(&mut watcher)).expect("as before");
            prop_assert!(watcher.events > 0 && watcher.records.is_empty() != listens, "watched");
            prop_assert_eq!(&digest(&watched), &fast, "watched: {}", what(arm));
            let mut among = Watcher::new(listens);
            run_flows(&shared, flow(), &plain, Some(&mut among)).expect("as before");
            prop_assert_eq!(watcher.events, among.events, "events of {}", what(arm));
            prop_assert!(watcher.records == among.records, "records of {}", what(arm));
        }
    }
    Ok(())
}

/// The same flows without an observer and with one.
fn together(
    shared: &Shared<'_>,
    made: impl Fn() -> Vec<FlowPlan<AnyStartup>>,
    what: &str,
) -> Result<(), TestCaseError> {
    let plain = Arrangement::default();
    let fast = run_flows(shared, made(), &plain, None).expect("the path carries full packets");
    let mut watcher = Watcher::default();
    let watched = run_flows(shared, made(), &plain, Some(&mut watcher)).expect("as before");
    prop_assert_eq!(&fast.starts, &watched.starts, "{}", what);
    prop_assert_eq!(&fast.delivered, &watched.delivered, "{}", what);
    for (fast, watched) in fast.flows.iter().zip(&watched.flows) {
        prop_assert_eq!(digest(fast), digest(watched), "{}", what);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_path_has_the_results_of_the_plain_one(
        host in any_host(),
        text in any_path(),
        arms in prop::sample::subsequence(ARMS.to_vec(), 1..6).prop_shuffle(),
        burst in 1u64..12,
        object in prop_oneof![1u64..60_000, 60_000u64..2_000_000],
        count in 1u64..9,
        sample in prop::option::of(1u64..700),
        jitter in any::<bool>(),
        limit in prop_oneof![5 => Just(100 * SECOND), 1 => MS..3 * SECOND],
        seed in any::<u64>(),
    ) {
        let path: Path = path(&text);
        // A trial of each arm takes longer than one of flows.
        if seed % 10 == 0 {
            let pacer_burst = burst * host.mss();
            let limit = Nanos(limit);
            let setup =
                Setup { path: &path, host, pacer_burst, object, limit, seed, path_index: 3 };
            return alone(&setup, &arms);
        }
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
        together(&shared, made, &format!("{arms:?} on {text}"))?;
    }
}
