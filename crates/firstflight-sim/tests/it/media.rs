//! Adaptive media: NADA over QUIC, in the scenarios of RFC 8867 for which its authors published
//! results.

use crate::hosts::{path, plan, shared, tcp_every};
use firstflight::Nanos;
use firstflight_sim::nada::Params;
use firstflight_sim::{Access, App, Arrangement, Hosts, Shared, SharedOutcome, run_flows};

const SECOND: u64 = 1_000_000_000;
/// A window that never holds media back.
const OPEN: &str = "slowstart/reno(beta=0.99)/immediate@(iw=200)";

fn nada(seconds: u64) -> App {
    App::Nada { rates: Params::default(), run: Nanos(seconds * SECOND) }
}

fn run(text: &str, flows: &[(&str, App, u64)], seconds: u64) -> SharedOutcome {
    let (path, host) = (path(text), Hosts::default());
    let every = Some(Nanos(SECOND / 10));
    let shared = Shared { sample: every, ..shared(&path, host, seconds * SECOND + 1) };
    let plans = flows
        .iter()
        .map(|(arm, app, start)| plan(arm, host, app.clone(), Nanos(start * SECOND)))
        .collect();
    let arrangement = Arrangement {
        access: vec![Access::default(); flows.len()],
        queue_every: Some(Nanos(SECOND / 100)),
        whole: true,
        ..Arrangement::default()
    };
    run_flows(&shared, plans, &arrangement, None).expect("the path carries it")
}

/// Rate of a flow on the wire over a span of seconds, bit/s: 936 of 1000 bytes are its own.
fn rate(done: &SharedOutcome, flow: usize, from: usize, to: usize) -> u64 {
    done.between(from * 10, to * 10)[flow] * 8 * 1_000 / 936 / (to - from) as u64
}

/// The median of what waits at the bottleneck, as time at this rate, in 10 us.
fn waits(done: &SharedOutcome, bps: u64, from: usize, to: usize) -> u64 {
    let mut queue: Vec<u64> = done.queue[from * 100..to * 100].to_vec();
    queue.sort_unstable();
    queue[queue.len() / 2] * 8 * 100_000 / bps
}

/// RFC 8867 5.1, the path's rate varies. Where a flow is alone it rests at a queue of 10 ms times its
/// largest rate over the path's (RFC 8698 4.3), and the path is full; where the path has more than
/// the encoder it makes all it can, and nothing waits.
#[test]
fn the_rate_follows_the_path_and_the_queue_is_that_of_the_equilibrium() {
    let steps = "rate=1Mbit,rtt=100ms,queue=300ms,steps=40s:2.5Mbit/60s:0.6Mbit/80s:1Mbit";
    let done = run(steps, &[(OPEN, nada(100), 0)], 100);
    let full = rate(&done, 0, 20, 40);
    assert!((990_000..=1_000_000).contains(&full), "{full} of 1 Mbit/s");
    // 15 ms, of which packets of 8 ms come one by one, the one in service not counted.
    let waits_there = waits(&done, 1_000_000, 20, 40);
    assert!((800..=2_000).contains(&waits_there), "{waits_there} of 1500 times 10 us");
    let most = rate(&done, 0, 45, 60);
    assert!((1_485_000..=1_505_000).contains(&most), "{most} of 1.5 Mbit/s that it can make");
    assert!(waits(&done, 2_500_000, 45, 60) == 0, "on 2.5 Mbit/s nothing waits");
    let again = rate(&done, 0, 85, 100);
    assert!((990_000..=1_000_000).contains(&again), "{again} of 1 Mbit/s");
    // The fall to two fifths of what it sends fills the queue and loses packets, once.
    let dropped = |at: usize| done.counted[at * 10][0].dropped;
    assert!(dropped(60) == 0 && dropped(62) > 0, "{} and {}", dropped(60), dropped(62));
    assert_eq!(dropped(62), dropped(100), "two seconds later nothing is lost any more");
    let low = rate(&done, 0, 63, 80);
    assert!((300_000..600_000).contains(&low), "{low} of 0.6 Mbit/s while losses are recent");
}

#[test]
fn two_flows_share_to_within_a_packet_or_two_of_queue() {
    let done =
        run("rate=2Mbit,rtt=100ms,queue=300ms", &[(OPEN, nada(200), 0), (OPEN, nada(200), 0)], 200);
    let shares = [0, 1].map(|flow| rate(&done, flow, 100, 200));
    // A packet is 4 ms of the 15 ms that each should see: that much their rates may differ.
    assert!(shares[0].abs_diff(shares[1]) < 1_000_000 * 4 / 15, "{shares:?}");
    assert!(shares[0] + shares[1] > 1_980_000, "{shares:?}");
    let late = run(
        "rate=2Mbit,rtt=100ms,queue=300ms",
        &[(OPEN, nada(200), 0), (OPEN, nada(190), 10)],
        200,
    );
    let [old, new] = [0, 1].map(|flow| rate(&late, flow, 150, 200));
    assert!(old < new + 150_000 && old + new > 1_980_000, "{old} and {new} bit/s");
}

#[test]
fn frames_are_whole_packets_and_none_is_missing() {
    let done = run("rate=1Mbit,rtt=100ms,queue=300ms", &[(OPEN, nada(30), 0)], 40);
    let flow = &done.flows[0];
    let parts = &flow.parts;
    assert!(parts.windows(2).all(|pair| pair[0].to == pair[1].from), "one frame after the other");
    assert!(parts.iter().all(|part| part.bytes() % 936 == 0 && part.acked.is_some()));
    let bits: u64 = parts.iter().map(|part| part.bytes() / 936 * 8_000).sum();
    // 150 kbit/s at first, and 1 Mbit/s from the seventh second on.
    assert!((23_000_000..29_000_000).contains(&bits), "{bits} bits in 30 s");
    let late = parts.iter().filter_map(|part| Some(part.delivered?.since(part.written).0));
    let worst = late.max().expect("frames");
    assert!(worst < 200_000_000, "nobody else fills the queue: {worst} ns");
}

#[test]
fn a_long_flow_takes_what_media_leaves_it_and_more() {
    let path = "rate=2Mbit,rtt=100ms,queue=300ms";
    let flows = [("slowstart/reno", App::Endless, 0), (OPEN, nada(115), 5)];
    let done = run(path, &flows, 120);
    let media = rate(&done, 1, 60, 120);
    assert!((150_000..1_000_000).contains(&media), "{media} bit/s of a share of a million");
}

#[test]
fn a_transport_without_packet_numbers_refuses_it() {
    let (path, host) = (path("rate=1Mbit,rtt=100ms"), Hosts::from(tcp_every()));
    let shared = shared(&path, host, SECOND);
    let plans = vec![plan("slowstart", host, nada(1), Nanos::ZERO)];
    let refused = run_flows(&shared, plans, &Arrangement::default(), None);
    let why = refused.expect_err("TCP").to_string();
    assert!(why.contains("only QUIC"), "{why}");
}
