//! The cost of a simulated packet: `cargo bench -p firstflight-sim`. Each line is the best of five
//! rounds.
//!
//! The cost must not grow with the number of packets in flight (trap T17: scans of the window):
//! with the oracle, which loses nothing, a packet at 600 ms may cost at most 1.2 times as much as
//! one at 30 ms. The other arms lose a share of their packets that grows with the window (slow
//! start 0.4 % at 30 ms, 8 % at 600 ms), and a loss costs more than an acknowledgement.
//!
//! `cost SCENARIO PACKETS` runs a single scenario, for a profiler: `quic-30ms`, `quic-600ms`,
//! `tcp-30ms`, `tcp-600ms` (oracle; the suffix `-loss` selects slow start, `-bbr` or `-bbr3` that
//! arm), and `quic-1`, `quic-100`, `tcp-1`, `tcp-100` flows. `benches/cost.sh` counts instructions
//! and cache misses of all scenarios.

#![allow(clippy::float_arithmetic, reason = "reporting only")]

use firstflight::arm::Arm;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::quic::Host;
use firstflight_sim::{App, Arrangement, FlowPlan, Hosts, Setup, Shared, run, run_flows, tcp};
use std::time::Instant;

/// CPU time of this thread in nanoseconds, where the system reports it, so that other load on the
/// machine does not count; elsewhere wall-clock time.
fn spent(since: Instant) -> f64 {
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first =
        on_cpu.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    first.map_or_else(|| since.elapsed().as_nanos() as f64, |ns| ns as f64)
}

/// The best of five rounds of at least `least` packets, ns per packet.
fn best_of_five(least: u64, mut once: impl FnMut() -> u64) -> f64 {
    let round = |once: &mut dyn FnMut() -> u64| {
        let start = Instant::now();
        let before = spent(start);
        let mut packets = 0;
        while packets < least {
            packets += once();
        }
        (spent(start) - before) / packets as f64
    };
    (0..5).map(|_| round(&mut once)).fold(f64::MAX, f64::min)
}

/// Data packets sent by a transfer of `object` bytes that has its path to itself.
fn alone(host: Hosts, path: &str, arm: &str, object: u64) -> u64 {
    let path = Path::parse(path).expect("a path");
    let arm = Arm::parse(arm).expect("an arm");
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 2 * host.mss(),
        object,
        limit: Nanos::from_secs(1_000),
        seed: 1,
        path_index: 0,
    };
    let oracle = path.bdp_bytes() * host.mss() / 1500 + 4 * host.mss();
    let controller = arm.with_oracle(oracle).controller(host.config(), Time(0), Seq(0));
    run(&setup, controller, None).expect("the path carries full packets").counters.packets_sent
}

/// Data packets sent by flows that share a bottleneck of 100 Mbit/s per flow, which none of them
/// overflows.
fn together(host: Hosts, flows: u64, object: u64) -> u64 {
    let path =
        Path::parse(&format!("rate={}Mbit,rtt=30ms,queue=1bdp", 100 * flows)).expect("a path");
    let arm = Arm::parse("oracle(exit=360000)").expect("an arm");
    let shared = Shared {
        path: &path,
        host,
        limit: Nanos::from_secs(1_000),
        seed: 1,
        path_index: 0,
        sample: None,
        jitter: Nanos::ZERO,
    };
    let plan = |flow: u64| {
        let start = flow * 100_000;
        let controller = arm.controller(host.config(), Time(start), Seq(0));
        FlowPlan {
            controller,
            pacer_burst: 2 * host.mss(),
            app: App::Bulk(object),
            start: Nanos(start),
            rtt_extra: Nanos::ZERO,
        }
    };
    let outcome = run_flows(&shared, (0..flows).map(plan).collect(), &Arrangement::default(), None)
        .expect("the path carries full packets");
    outcome.flows.iter().map(|flow| flow.counters.packets_sent).sum()
}

/// Runs the scenario `name` with about `packets` packets. Returns the number of data packets sent.
fn scenario(name: &str, packets: u64) -> Option<u64> {
    let (transport, what) = name.split_once('-')?;
    let host = match transport {
        "quic" => Hosts::Quic(Host::default()),
        "tcp" => Hosts::Tcp(tcp::Host::default()),
        _ => return None,
    };
    if let Ok(flows) = what.parse::<u64>() {
        return Some(together(host, flows, packets * host.mss() / flows));
    }
    let (rtt, arm) = match what.split_once('-') {
        None => (what, "oracle"),
        Some((rtt, "loss")) => (rtt, "slowstart"),
        Some((rtt, arm @ ("bbr" | "bbr3"))) => (rtt, arm),
        Some(_) => return None,
    };
    Some(alone(host, &format!("rate=150Mbit,rtt={rtt},queue=1bdp"), arm, packets * host.mss()))
}

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [name, packets] = words.as_slice() {
        let packets = packets
            .parse()
            .ok()
            .and_then(|packets| scenario(name, packets))
            .expect("a scenario and a number of packets");
        println!("{name}: {packets} data packets");
        return;
    }
    println!("{:<44} {:>10} {:>10} {:>7}", "arm", "30 ms", "600 ms", "ratio");
    let quic = Hosts::Quic(Host::default());
    let tcp = Hosts::Tcp(tcp::Host::default());
    let quic_arms = [
        "oracle",
        "slowstart",
        "slowstart/reno/immediate",
        "hystart++",
        "search",
        "best",
        "rapid",
        "slowstart@(pace=off)",
    ];
    for (host, arm) in
        quic_arms.iter().map(|arm| (quic, *arm)).chain([(tcp, "oracle"), (tcp, "slowstart")])
    {
        // 400 MB: ten full BDPs at 600 ms, so that most packets are sent with a full window.
        let [near, far] = ["30ms", "600ms"].map(|rtt| {
            let path = format!("rate=150Mbit,rtt={rtt},queue=1bdp");
            best_of_five(1_000_000, || alone(host, &path, arm, 400_000_000))
        });
        println!(
            "{:<44} {near:>7.1} ns {far:>7.1} ns {:>7.2}",
            format!("{} {arm}", host.transport()),
            far / near
        );
    }
    println!(
        "\n{:<44} {:>10} {:>10} {:>7}",
        "flows through one bottleneck", "1 flow", "100 flows", "ratio"
    );
    for host in [tcp, quic] {
        let [one, many] =
            [1, 100].map(|flows| best_of_five(500_000, || together(host, flows, 20_000_000)));
        println!("{:<44} {one:>7.1} ns {many:>7.1} ns {:>7.2}", host.transport(), many / one);
    }
}
