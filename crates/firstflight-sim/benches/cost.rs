//! What a simulated packet costs: `cargo bench -p firstflight-sim`. Each line is the best of five rounds.
//!
//! The cost must not grow with the number of packets in flight (trap T17: scans of the window): for the oracle, which loses nothing, a
//! packet at 600 ms may cost at most 1.2 times what one costs at 30 ms. The other arms lose a share of their packets that grows with
//! the window (slow start 0.4 % at 30 ms, 8 % at 600 ms), and a loss costs more than an acknowledgement.

#![allow(clippy::float_arithmetic, reason = "reporting only")]

use firstflight::arm::Arm;
use firstflight::controller::Config;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::quic::Host;
use firstflight_sim::{App, FlowPlan, Hosts, Nobody, Setup, Shared, run, run_flows, tcp};
use std::time::Instant;

/// Nanoseconds that this thread has spent on a processor, where the system tells, so that a busy machine does not count; wall-clock
/// time elsewhere.
fn spent(since: Instant) -> f64 {
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = on_cpu.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    first.map_or_else(|| since.elapsed().as_nanos() as f64, |ns| ns as f64)
}

/// Nanoseconds per data packet.
fn cost(path: &str, arm: &str, object: u64) -> f64 {
    let path = Path::parse(path).expect("a path");
    let arm = Arm::parse(arm).expect("an arm");
    let host = Host::default();
    let limit = Nanos::from_secs(1_000);
    let setup = Setup { path: &path, host: host.into(), pacer_burst: 2 * 1472, object, limit, seed: 1, path_index: 0 };
    let oracle = path.bdp_bytes() * 1472 / 1500 + 4 * 1472;
    let round = || {
        let start = Instant::now();
        let before = spent(start);
        let mut packets = 0;
        while packets < 1_000_000 {
            let controller = arm.controller(Config::quic(1472), oracle, Time(0), Seq(0));
            packets += run(&setup, controller, &mut Nobody).expect("the path carries full packets").packets_sent;
        }
        (spent(start) - before) / packets as f64
    };
    (0..5).map(|_| round()).fold(f64::MAX, f64::min)
}

/// Nanoseconds per data packet of flows that share a bottleneck of 100 Mbit/s for each, which none of them overflows.
fn cost_together(host: Hosts, flows: u64) -> f64 {
    let path = Path::parse(&format!("rate={}Mbit,rtt=30ms,queue=1bdp", 100 * flows)).expect("a path");
    let arm = Arm::parse("oracle(exit=360000)").expect("an arm");
    let limit = Nanos::from_secs(1_000);
    let shared = Shared { path: &path, host, limit, seed: 1, path_index: 0, sample: None };
    let plan = |flow: u64| {
        let start = flow * 100_000;
        let controller = arm.controller(host.config(), 0, Time(start), Seq(0));
        FlowPlan { controller, pacer_burst: 2 * host.mss(), app: App::Bulk(20_000_000), start: Nanos(start), rtt_extra: Nanos::ZERO }
    };
    let round = || {
        let start = Instant::now();
        let before = spent(start);
        let mut packets = 0;
        while packets < 500_000 {
            let outcome = run_flows(&shared, (0..flows).map(plan).collect(), &mut Nobody).expect("the path carries full packets");
            packets += outcome.flows.iter().map(|flow| flow.packets_sent).sum::<u64>();
        }
        (spent(start) - before) / packets as f64
    };
    (0..5).map(|_| round()).fold(f64::MAX, f64::min)
}

fn main() {
    println!("{:<44} {:>10} {:>10} {:>7}", "arm", "30 ms", "600 ms", "ratio");
    for arm in ["oracle", "slowstart", "slowstart/reno/immediate", "hystart++", "search", "best", "rapid", "slowstart@(pace=off)"] {
        // 400 MB: at 600 ms ten full BDP, so that most packets fly in a full window.
        let [near, far] = ["30ms", "600ms"].map(|rtt| cost(&format!("rate=150Mbit,rtt={rtt},queue=1bdp"), arm, 400_000_000));
        println!("{arm:<44} {near:>7.1} ns {far:>7.1} ns {:>7.2}", far / near);
    }
    println!("\n{:<44} {:>10} {:>10} {:>7}", "flows through one bottleneck", "1 flow", "100 flows", "ratio");
    for host in [Hosts::Tcp(tcp::Host::default()), Hosts::Quic(Host::default())] {
        let [one, many] = [1, 100].map(|flows| cost_together(host, flows));
        println!("{:<44} {one:>7.1} ns {many:>7.1} ns {:>7.2}", host.transport(), many / one);
    }
}
