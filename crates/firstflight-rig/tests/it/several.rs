//! Several flows between real stacks, through one bottleneck.

use firstflight::Nanos;
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_rig::{Control, FlowPlan, Own, OwnControl, Setup, Shared, SharedOutcome};
use firstflight_rig::{run, run_flows};

const SLIDE: &str = "rate=100Mbit,rtt=30ms,queue=30ms";
const SECOND: Nanos = Nanos(1_000_000_000);

fn arm(name: &str) -> Control {
    Control::Noq(Plan { initial_window: Some(10), ..Plan::parse(name).unwrap() })
}

fn flow(control: Control, object: impl Into<Option<u64>>, start: Nanos) -> FlowPlan {
    FlowPlan { control, object: object.into(), start, stop: None }
}

fn together(path: &str, limit: u64, flows: &[FlowPlan]) -> SharedOutcome {
    let path = Path::parse(path).unwrap();
    let shared = Shared {
        path: &path,
        datagram: 1472,
        ack_packet: 64,
        limit: Nanos::from_secs(limit),
        seed: 7,
        path_index: 0,
        sample: Some(Nanos(10_000_000)),
        queue_every: Some(Nanos(1_000_000)),
        whole: false,
    };
    run_flows(&shared, flows).unwrap()
}

#[test]
fn a_flow_alone_is_a_trial_of_one_flow() {
    for (path, name) in [(SLIDE, "rapid"), ("rate=20Mbit,rtt=600ms,queue=60ms", "hystart++")] {
        let done = together(path, 120, &[flow(arm(name), 3_000_000, Nanos::ZERO)]);
        let alone = run(
            &Setup {
                path: &Path::parse(path).unwrap(),
                control: arm(name),
                datagram: 1472,
                ack_packet: 64,
                object: 3_000_000,
                limit: Nanos::from_secs(120),
                seed: 7,
                path_index: 0,
            },
            None,
        );
        let flow = done.flows[0].as_ref().unwrap();
        assert_eq!(format!("{flow:?}"), format!("{:?}", alone.unwrap()), "{name} on {path}");
        assert_eq!(done.starts[0].unwrap().0, 0, "its first byte is the beginning");
        let last = done.delivered.last().unwrap()[0];
        assert!(done.delivered[0] == [0] && (2_500_000..=3_000_000).contains(&last), "{last}");
    }
}

#[test]
fn equal_flows_share_equally_and_the_path_carries_them_all() {
    let flows: Vec<FlowPlan> =
        (0..4).map(|place| flow(arm("slowstart"), 20_000_000, Nanos(place * 700_001))).collect();
    let done = together(SLIDE, 120, &flows);
    for outcome in done.flows.iter().flatten() {
        assert!(outcome.complete && outcome.delivered == 20_000_000, "{outcome:?}");
        // 80 MB at 100 Mbit/s are 6.4 s; the last ends with the path, the first not long before.
        let took = outcome.delivered_after.unwrap().0;
        assert!((4_000_000_000..7_200_000_000).contains(&took), "{took} ns");
    }
    let between = done.delivered[400].iter().zip(&done.delivered[200]);
    let shares: Vec<u64> = between.map(|(to, from)| to - from).collect();
    let carried: u64 = shares.iter().sum();
    // Two seconds of 100 Mbit/s, without headers.
    assert!((23_000_000..25_000_000).contains(&carried), "{shares:?}");
    assert!(shares.iter().all(|share| (2..=10).contains(&(share / 1_000_000))), "{shares:?}");
}

#[test]
fn nobody_waits_for_a_flow_without_an_end() {
    let stock = Own::from_name("noq:newreno").unwrap();
    let beside = Plan::parse("slowstart/cubic/immediate").unwrap();
    let stock = Control::Own(OwnControl { own: stock, initial_window: 10, beside });
    let flows = [flow(stock, None, Nanos::ZERO), flow(arm("rapid"), 5_000_000, SECOND)];
    let done = together(SLIDE, 120, &flows);
    let [endless, rapid] = [0, 1].map(|place: usize| done.flows[place].as_ref().unwrap());
    assert!(rapid.complete && !endless.complete, "{endless:?}");
    let start = done.starts[1].unwrap().0;
    let waits = start - SECOND.0;
    assert!(
        (1_000_000..200_000_000).contains(&waits),
        "the handshake waits in the queue: {waits} ns"
    );
    assert_eq!(endless.acked_after.0, start + rapid.acked_after.0, "both end with the object");
    assert!(endless.delivered > 10_000_000, "a second alone, and then some");
    let handshake = rapid.handshake_rtt.unwrap().0;
    assert!((30_500_000..61_000_000).contains(&handshake), "with the queue: {handshake} ns");
    assert!(rapid.acked_after.0 > 500_000_000, "an object that has the path alone is quicker");
}

#[test]
fn the_limit_ends_what_is_under_way_and_what_has_not_begun() {
    let flows = [
        flow(arm("slowstart"), 100_000_000, Nanos::ZERO),
        flow(arm("hystart++"), 1_000_000, Nanos::from_secs(9)),
    ];
    let done = together(SLIDE, 2, &flows);
    let first = done.flows[0].as_ref().unwrap();
    assert!(!first.complete && first.acked_after == Nanos::from_secs(2), "{first:?}");
    assert!(done.flows[1].is_none() && done.starts[1].is_none());
    assert_eq!(done.delivered.len(), 201, "two seconds, both ends included");
}

#[test]
fn terminals_that_grant_uplinks_carry_the_acks_of_all() {
    let flows = [
        flow(arm("slowstart"), 3_000_000, Nanos::ZERO),
        flow(arm("rapid"), 3_000_000, Nanos(400_000_000)),
    ];
    let geo = "rate=50Mbit,rtt=600ms,queue=600ms,return=geo_cold";
    let done = together(geo, 60, &flows);
    for flow in done.flows.iter().flatten() {
        assert!(flow.complete && flow.counters.spurious_losses == Some(0), "{flow:?}");
    }
}
