//! Multiplies rate, packets, queue and object by k: times stay the same, and amounts are multiplied
//! by k.

use crate::fast::ARMS;
use crate::hosts;

use firstflight::Nanos;
use firstflight::detection::presets::{Marking, PRESETS};
use firstflight_path::Path;
use firstflight_sim::observe::Signals;
use firstflight_sim::{Hosts, Nobody, Observer, Outcome, Setup, Snapshot, quic, run, tcp};
use hosts::{SECOND, controller};

const OBJECT_PACKETS: u64 = 600;

/// Hosts whose packets are `k` times as large: QUIC, and TCP with each detection.
fn all_hosts(k: u32) -> Vec<(String, Hosts)> {
    let plain = quic::Host::default();
    let quic = quic::Host {
        datagram: plain.datagram * k,
        overhead: plain.overhead * k,
        lower: plain.lower * k,
        ack_packet: plain.ack_packet * k,
        ..plain
    };
    let presets = PRESETS.iter().filter(|preset| preset.marking != Marking::Quic);
    let tcp = presets.map(|preset| {
        let plain = tcp::Host::with_preset(*preset);
        let host = tcp::Host { mss: plain.mss * k, header: plain.header * k, ..plain };
        (format!("tcp {}", preset.name), Hosts::Tcp(host))
    });
    std::iter::once(("quic".to_owned(), Hosts::Quic(quic))).chain(tcp).collect()
}

fn play(arm: &str, host: Hosts, path: &Path, object: u64, watch: impl Observer) -> Outcome {
    let mut watch = watch;
    let setup = Setup {
        path,
        host,
        pacer_burst: 2 * host.mss(),
        object,
        limit: Nanos(300 * SECOND),
        seed: 1,
        path_index: 0,
    };
    run(&setup, controller(arm, host, Nanos::ZERO), Some(&mut watch))
        .expect("it carries full packets")
}

/// The transfer of an arm, everything times `k`.
fn scaled(arm: &str, host: Hosts, rule: &str, k: u64) -> Outcome {
    let (rate, queue) = (10 * k, 45_000 * k);
    let path = hosts::path(&format!("rate={rate}Mbit,rtt=40ms,queue={queue}B{rule}"));
    play(arm, host, &path, OBJECT_PACKETS * host.mss(), Nobody)
}

/// Allowed distance of an arm from the scale: 1 %, since SACK options have the same bytes at any scale. These
/// arms have fixed amounts of their own:
/// * `oracle` here gets a window in bytes, and `maxrate` is a rate: both are left out;
/// * BBR's send quantum is at most 64 KiB;
/// * HyStart as in Linux allows for offload bursts of at most 64 KiB;
/// * Prague grows by a packet per round trip, or per 25 ms where that is longer.
fn tolerance(arm: &str) -> Option<f64> {
    match arm {
        "oracle(exit=100000)" => None,
        _ if arm.contains("maxrate") => None,
        "bbr" | "bbr3" => Some(0.10),
        _ if arm.contains("prague") || arm.starts_with("hystart") => Some(0.03),
        _ => Some(0.01),
    }
}

#[test]
fn everything_times_k_takes_the_same_time() {
    let mut wrong = Vec::new();
    for rule in ["", ",loss=0.5%", ",up_loss=10%"] {
        for arm in ARMS {
            let Some(tolerance) = tolerance(arm) else { continue };
            for (index, (name, host)) in all_hosts(1).into_iter().enumerate() {
                let one = scaled(arm, host, rule, 1);
                for k in [5, 40] {
                    let many = scaled(arm, all_hosts(k)[index].1, rule, u64::from(k));
                    let time = |outcome: &Outcome| {
                        outcome.delivered_after.expect("it is through").0 as f64
                    };
                    let apart = [
                        (time(&many) / time(&one) - 1.0).abs(),
                        (many.counters.packets_sent as f64 / one.counters.packets_sent as f64
                            - 1.0)
                            .abs(),
                    ];
                    if apart.iter().any(|apart| *apart > tolerance) {
                        wrong.push(format!("{arm} {name}{rule} times {k}: {apart:.4?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// The last values of the signals named.
struct Last<'a>(&'a [&'static str], &'a mut Vec<u64>);

impl Observer for Last<'_> {
    fn on_event(&mut self, _snapshot: &Snapshot, signals: &Signals<'_>) {
        signals(&mut |name, value| {
            if let Some(place) = self.0.iter().position(|wanted| *wanted == name) {
                self.1[place] = value;
            }
        });
    }
}

/// The error of each estimate that an arm makes of a path, in percent of the truth.
fn errors(arm: &str, wanted: &[&'static str], k: u32, rate: u64) -> Vec<f64> {
    let host = all_hosts(k)[0].1;
    let path = hosts::path(&format!("rate={rate}Mbit,rtt=40ms,queue=1bdp"));
    let window = rate * 1_000_000 / 8 / 25;
    let mut seen = vec![0; wanted.len()];
    play(arm, host, &path, 6 * window, Last(wanted, &mut seen));
    let truth = |name: &str| match name {
        "bbr_min_rtt" => 40e6,
        // The headers of a packet are no object bytes.
        _ => rate as f64 * 125_000.0 * host.mss() as f64 / (1500.0 * f64::from(k)),
    };
    let error = |(name, seen): (&&str, &u64)| (*seen as f64 / truth(name) - 1.0).abs() * 100.0;
    wanted.iter().zip(&seen).map(error).collect()
}

#[test]
fn estimates_are_as_good_on_the_fastest_path() {
    for (arm, wanted) in [("bbr3", &["bbr_max_bw", "bbr_min_rtt"][..]), ("bbr", &["bbr_max_bw"])] {
        // No path is faster than a terabit.
        let (slow, fast) = (errors(arm, wanted, 1, 10), errors(arm, wanted, 40, 1_000_000));
        for (place, name) in wanted.iter().enumerate() {
            assert!(
                fast[place] <= slow[place] + 5.0,
                "{arm} {name}: off by {:.1} % at 10 Mbit/s and by {:.1} % at 1 Tbit/s",
                slow[place],
                fast[place]
            );
        }
    }
}
