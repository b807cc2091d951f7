//! HyStart and CUBIC under ns-3's rules, compared with the output of ns-3
//! (`docs/agreement-simulator.md`).

use firstflight::arm::Arm;
use firstflight::detection::presets::Preset;
use firstflight::{Config, Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::tcp::{AckEvery, Host};
use firstflight_sim::{Hosts, Setup, run};

const MSS: u64 = 1448;

/// Drops in 10 s of 100 Mbit/s with a queue of one BDP and an ACK per packet, as in
/// `examples/bulk.rs`.
fn drops(arm: &str, rtt_ms: u64) -> u64 {
    let serial = |bytes: u64| bytes * 80;
    let rtt_us = (rtt_ms * 1_000_000 + serial(MSS + 54) + serial(54)).div_ceil(1_000);
    let path = Path::parse(&format!(
        "rate=100Mbit,rtt={rtt_us}us,queue={}B,up=100Mbit,overhead=2B",
        rtt_ms * 12_500
    ))
    .expect("a path");
    let preset = *Preset::named("sack6675").expect("a preset");
    let host = Hosts::Tcp(Host {
        ack_every: AckEvery::Segments(1),
        ack_delay: 200_000_000,
        ..Host::with_preset(preset)
    });
    let handshake = rtt_ms * 1_000_000 + 9_600;
    let limit = Nanos(10_000_000_000 - handshake);
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 2 * MSS,
        object: 1 << 40,
        limit,
        seed: 1,
        path_index: 0,
    };
    let config = firstflight::with!(Config { initial_window: 10 * MSS, ..host.config() });
    let controller = Arm::parse(arm).expect("an arm").with_oracle(path.bdp_bytes()).controller(
        config,
        Time(0),
        Seq(0),
    );
    run(&setup, controller, None).expect("the path carries full packets").counters.packets_dropped
}

/// ns-3's CUBIC grows by a segment per 20 at least until its first loss (CntClamp), and
/// `hystart-ns3` with it. Shows NS3 cubic-floor.
#[test]
fn hystart_of_ns3_drops_what_ns3_drops() {
    // ns-3 3.37 and 3.44 print the same.
    for (rtt_ms, theirs) in [(30, 95), (140, 247)] {
        let ours = drops("hystart-ns3@(pace=off)", rtt_ms);
        assert!(
            ours.abs_diff(theirs) * 100 <= 2 * theirs,
            "{rtt_ms} ms: {ours} drops, ns-3 has {theirs}"
        );
        let without = drops("hystart-ns3/cubic@(pace=off)", rtt_ms);
        println!("{rtt_ms} ms: {ours} drops, {without} without the bound, ns-3 {theirs}");
        assert!(
            without * 10 < theirs * 9,
            "{rtt_ms} ms: without the bound {without} drops: it is what makes the difference"
        );
    }
}
