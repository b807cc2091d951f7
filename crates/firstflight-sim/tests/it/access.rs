//! Flows with their own access, and the samples of a trial with them.

use crate::hosts::{path, plan, shared};
use firstflight::Nanos;
use firstflight_sim::{Access, App, Arrangement, Hosts, Shared, SharedOutcome, run_flows};

const SECOND: u64 = 1_000_000_000;

fn run(arms: &[&str], access: Vec<Access>, seconds: u64) -> SharedOutcome {
    let path = path("rate=10Mbit,rtt=40ms,queue=1bdp");
    let host = Hosts::default();
    let every = Some(Nanos(SECOND / 10));
    let shared = Shared { sample: every, ..shared(&path, host, seconds * SECOND + 1) };
    let plans = arms.iter().map(|arm| plan(arm, host, App::Endless, Nanos::ZERO)).collect();
    let arrangement = Arrangement {
        access,
        queue_every: Some(Nanos(SECOND / 100)),
        whole: true,
        ..Arrangement::default()
    };
    run_flows(&shared, plans, &arrangement, None).expect("the path carries it")
}

#[test]
fn endless_flows_run_to_the_limit_and_everything_is_noted_at_its_time() {
    for arms in [&["slowstart"][..], &["slowstart", "slowstart/reno"]] {
        let done = run(arms, Vec::new(), 5);
        assert_eq!(done.delivered.len(), 51, "tenths of five seconds, both ends included");
        assert_eq!(done.counted.len(), 51, "counts stand beside what was delivered");
        assert_eq!(done.queue.len(), 501, "hundredths of five seconds");
        for (place, flow) in done.flows.iter().enumerate() {
            let last = done.counted.last().expect("samples")[place];
            assert_eq!(
                (last.sent, last.dropped),
                (flow.counters.packets_sent, flow.counters.packets_dropped)
            );
        }
        let full = done.queue.iter().copied().max().expect("samples");
        assert!((40_000..=50_000).contains(&full), "of a BDP of 50 kB {full} bytes waited");
    }
}

#[test]
fn a_flow_that_is_stopped_leaves_the_path_to_the_others() {
    let access =
        vec![Access::default(), Access { stop: Some(Nanos(3 * SECOND)), ..Access::default() }];
    let done = run(&["slowstart", "slowstart"], access, 8);
    let [late, all] = [35, 80].map(|sample| done.counted[sample][1].sent);
    assert_eq!(late, all, "it sent {late} packets up to half a second after its end");
    let alone = done.between(50, 80)[0] * 8 / 3;
    assert!(alone > 8_500_000, "the other one gets {alone} bit/s of ten million");
}

#[test]
fn a_longer_way_from_some_time_on_is_seen_in_the_round_trip() {
    let far = Access { steps: vec![(Nanos(2 * SECOND), Nanos(SECOND / 2))], ..Access::default() };
    let [near, far] = [Access::default(), far].map(|access| run(&["slowstart"], vec![access], 6));
    assert_eq!(near.delivered[..20], far.delivered[..20], "until the step they are the same");
    // A window of a BDP and a queue over a round trip of 540 ms instead of 40 ms.
    let [near, far] = [near, far].map(|done| done.between(25, 35)[0]);
    assert!(far * 4 < near, "in the second after it {far} bytes against {near}");
}

#[test]
fn a_flow_sends_no_more_packets_than_it_may() {
    let access = Access { packets: Some(100), ..Access::default() };
    assert_eq!(run(&["slowstart"], vec![access], 5).flows[0].counters.packets_sent, 100);
}

#[test]
fn acks_in_batches_do_not_stop_a_flow() {
    let access = Access { ack_batch: Nanos(SECOND / 50), ..Access::default() };
    let done = run(&["slowstart"], vec![access], 5);
    assert!(done.delivered[50][0] * 8 > 40_000_000, "{} bytes arrived", done.delivered[50][0]);
}
