//! Simulation speed of TCP flows: `tcp PATH ARMS BYTES [TRIALS] [PRESET]`.
use firstflight::arm::Arm;
use firstflight::detection::presets::Preset;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::{Hosts, Setup, run, tcp};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = Path::parse(&args[1]).unwrap();
    let object: u64 = args[3].parse().unwrap();
    let trials: u64 = args.get(4).map_or(1, |text| text.parse().unwrap());
    let preset = Preset::named(args.get(5).map_or("rack", String::as_str)).expect("a preset");
    let host = Hosts::Tcp(tcp::Host::with_preset(*preset));
    let oracle = path.bdp_bytes() * 1448 / 1500 + 4 * 1448;
    for arm in Arm::parse_list(&args[2]) {
        let arm = arm.unwrap();
        let start = std::time::Instant::now();
        let (mut packets, mut last) = (0, None);
        for trial in 0..trials {
            let setup = Setup {
                path: &path,
                host,
                pacer_burst: 2 * 1448,
                object,
                limit: Nanos::from_secs(600),
                seed: 1 + trial,
                path_index: 0,
            };
            let outcome = run(
                &setup,
                arm.with_oracle(oracle).controller(host.config(), Time(0), Seq(0)),
                None,
            )
            .unwrap();
            packets += outcome.counters.packets_sent;
            last = Some(outcome);
        }
        let elapsed = start.elapsed().as_secs_f64();
        let o = last.unwrap();
        println!(
            "{arm}: {:?} ttlb {:.1} ms, sent {}, dropped {}, lost {}, spurious {}, repeats {} (lost {}), rtos {}, probes {}, recoveries {} (below {}), undone {}, {:.2} Mpkt/s",
            o.stop,
            o.acked_after.0 as f64 / 1e6,
            o.counters.packets_sent,
            o.counters.packets_dropped,
            o.counters.packets_lost,
            o.counters.spurious_losses,
            o.counters.retransmissions,
            o.counters.lost_retransmissions,
            o.counters.rtos,
            o.counters.probes,
            o.counters.recoveries,
            o.counters.recoveries_below_ssthresh,
            o.counters.undone,
            packets as f64 / elapsed / 1e6
        );
        for e in o.episodes.iter().take(6) {
            println!(
                "   {:.1} to {:.1} ms: window {} -> {}, inflight {}, acked {}, lost {}, silence {} us, repaired after {:?} us",
                e.start.0 as f64 / 1e6,
                e.end.map_or(0.0, |t| t.0 as f64 / 1e6),
                e.cwnd_before,
                e.cwnd_after,
                e.inflight,
                e.acked,
                e.lost,
                e.silence.0 / 1000,
                e.repaired.map(|r| (r.0 - e.start.0) / 1000)
            );
        }
    }
}
