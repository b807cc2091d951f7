//! Any path, any preset, any arm: the transfer ends, every byte arrives once in order, the counters
//! balance, and the same seed gives the same trial. L9, L15 and L16 of the loss-detection rules on
//! whole connections.

use firstflight::arm::Arm;
use firstflight::detection::early_retransmit;
use firstflight::detection::presets::PRESETS;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::tcp::{AckEvery, Buffer, Host};
use firstflight_sim::{Hosts, Outcome, Setup, Stop, run};
use proptest::prelude::*;

const MSS: u64 = 1448;

const ARMS: [&str; 18] = [
    "slowstart",
    "slowstart/reno/immediate",
    "slowstart/cubic/sack",
    "slowstart/cubic/halving",
    "slowstart/cubic/prr(mode=crb)",
    "slowstart/cubic/prr(mode=linux)",
    "slowstart@(pace=on)",
    "hystart",
    "hystart++",
    "search",
    "best",
    "rapid(jump=off)",
    "rapid@(pace=on)",
    "jumpstart@(pace=on)",
    "plumb@(pace=on)",
    "chirping@(pace=on)",
    "plumb-tolerant@(pace=on)",
    "suss",
];

fn hosts() -> impl Strategy<Value = Host> {
    let presets: Vec<_> = PRESETS.iter().filter(|preset| preset.name != "quic").copied().collect();
    let buffer = || {
        prop_oneof![
            3 => Just(Buffer::Unlimited),
            1 => (2u64..300).prop_map(|segments| Buffer::Payload(segments * 1000)),
            1 => Just(Buffer::LINUX_RECEIVE),
            1 => Just(Buffer::LINUX_SEND),
        ]
    };
    let every = prop_oneof![5 => Just(AckEvery::Segments(2)), 1 => Just(AckEvery::Segments(1)), 1 => Just(AckEvery::Bytes(20_000))];
    let early = prop_oneof![
        Just(None),
        Just(Some(early_retransmit::Options::NAIVE)),
        Just(Some(early_retransmit::Options::AB))
    ];
    (prop::sample::select(presets), every, early, buffer(), buffer()).prop_map(
        |(preset, ack_every, early_retransmit, receive_buffer, send_buffer)| Host {
            ack_every,
            early_retransmit,
            receive_buffer,
            send_buffer,
            ..Host::with_preset(preset)
        },
    )
}

/// Canonical text of a path: rate, round trip, queue, and what may go wrong in either direction.
fn paths(faults: &'static [&'static str]) -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec!["300kbit", "2Mbit", "10Mbit", "100Mbit", "1Gbit"]);
    let rtt = prop::sample::select(vec![50u64, 60, 100, 300]);
    let queue = prop::sample::select(vec!["2pkt", "10pkt", "60pkt", "0.5bdp", "1bdp", "unlimited"]);
    let faults = prop::sample::subsequence(faults, 0..=faults.len().min(3));
    (rate, rtt, queue, faults).prop_map(|(rate, rtt, queue, faults)| {
        let faults = faults.iter().fold(String::new(), |list, fault| list + "," + fault);
        // A queue has room for a full packet.
        let queue = if rate == "300kbit" && queue.ends_with("bdp") { "10pkt" } else { queue };
        format!("rate={rate},rtt={rtt}ms,queue={queue}{faults}")
    })
}

const FAULTS: &[&str] = &[
    "loss=1%",
    "up_loss=5%",
    "reorder=5%:3ms",
    "dup=1%",
    "up_dup=1%",
    "jitter=10ms",
    "up_jitter=20ms",
];
const HEAVY_FAULTS: &[&str] =
    &["loss=15%", "up_loss=30%", "reorder=20%:30ms", "up_reorder=10%:30ms", "dup=10%"];

fn trial(path: &Path, arm: &str, host: Host, object: u64, seed: u64) -> Outcome {
    let arm = Arm::parse(arm).expect("an arm");
    let hosts = Hosts::Tcp(host);
    let setup = Setup {
        path,
        host: hosts,
        pacer_burst: 2 * MSS,
        object,
        limit: Nanos::from_secs(100_000),
        seed,
        path_index: 0,
    };
    run(&setup, arm.with_oracle(1 << 20).controller(hosts.config(), Time(0), Seq(0)), None)
        .expect("the path carries full packets")
}

/// Invariants of every outcome.
fn check(outcome: &Outcome, object: u64) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        outcome.stop,
        Stop::Complete,
        "L15: the transfer ends; {} of {} bytes after {:?}",
        outcome.delivered,
        object,
        outcome.acked_after
    );
    prop_assert_eq!(outcome.delivered, object, "every byte is delivered in order");
    prop_assert!(
        outcome.delivered_after.is_some_and(|at| at <= outcome.acked_after),
        "it is delivered before that is known"
    );
    let segments = object.div_ceil(MSS);
    prop_assert_eq!(
        outcome.counters.packets_sent,
        segments + outcome.counters.retransmissions,
        "what is sent is new or a repeat"
    );
    prop_assert!(
        outcome.counters.retransmissions >= outcome.counters.packets_dropped,
        "each drop asks for a repeat: {outcome:?}"
    );
    prop_assert!(
        outcome.counters.packets_lost <= outcome.counters.packets_dropped,
        "no drop is declared lost twice: {outcome:?}"
    );
    prop_assert!(
        outcome.counters.lost_retransmissions
            <= outcome.counters.retransmissions.min(outcome.counters.packets_dropped),
        "{outcome:?}"
    );
    prop_assert!(
        outcome.counters.retransmitted_bytes <= outcome.counters.retransmissions * MSS,
        "repeats are no longer than segments"
    );
    prop_assert!(
        outcome.counters.recoveries_below_ssthresh + outcome.counters.slow_starts_after_recovery
            <= 2 * outcome.counters.recoveries,
        "{outcome:?}"
    );
    prop_assert!(
        outcome.counters.recoveries_timed_out
            <= outcome.counters.recoveries.min(outcome.counters.rtos),
        "{outcome:?}"
    );
    prop_assert!(
        outcome.counters.early_retransmits_spurious <= outcome.counters.early_retransmits,
        "{outcome:?}"
    );
    for pair in outcome.episodes.windows(2) {
        prop_assert!(
            pair[0].end.is_some_and(|end| end <= pair[1].start),
            "episodes follow each other: {pair:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_and_the_books_balance(
        path in paths(FAULTS), arm in prop::sample::select(ARMS.to_vec()), host in hosts(), object in 1u64..1_500_000, seed in any::<u64>(),
    ) {
        let path = Path::parse(&path).expect("a path");
        let outcome = trial(&path, arm, host, object, seed);
        check(&outcome, object)?;
    }

    #[test]
    fn a_transfer_ends_however_bad_the_path(
        path in paths(HEAVY_FAULTS), arm in prop::sample::select(ARMS.to_vec()), host in hosts(), object in 1u64..150_000, seed in any::<u64>(),
    ) {
        let path = Path::parse(&path).expect("a path");
        let outcome = trial(&path, arm, host, object, seed);
        check(&outcome, object)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_trial(
        path in paths(FAULTS), arm in prop::sample::select(ARMS.to_vec()), host in hosts(), object in 1u64..300_000, seed in any::<u64>(),
    ) {
        let path = Path::parse(&path).expect("a path");
        let (first, second) = (trial(&path, arm, host, object, seed), trial(&path, arm, host, object, seed));
        prop_assert_eq!(format!("{first:?}"), format!("{second:?}"), "L16: twice the same");
    }

    // Round trips stay 25 ms below the shortest least timeout of a preset (300 ms): where the least timeout does not reach, a steady RTT
    // wears the variation down until one held-back ACK is late enough for a timeout.
    #[test]
    fn a_path_that_loses_nothing_sees_nothing_lost(
        rtt in 50u64..270, arm in prop::sample::select(ARMS.to_vec()), host in hosts(), object in 1u64..3_000_000, seed in any::<u64>(),
    ) {
        let path = Path::parse(&format!("rate=50Mbit,rtt={rtt}ms,queue=unlimited")).expect("a path");
        let host = Host { ack_delay: 25_000_000, ..host };
        let outcome = trial(&path, arm, host, object, seed);
        check(&outcome, object)?;
        prop_assert_eq!((outcome.counters.packets_lost, outcome.counters.spurious_losses, outcome.counters.rtos), (0, 0, 0), "L9: {:?}", outcome);
        prop_assert!(outcome.counters.retransmissions <= outcome.counters.probes, "L9: nothing is repeated but by a probe at the tail");
    }
}
