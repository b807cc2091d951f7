//! Arms that share a simulation as long as they behave alike: the outcomes equal those of separate
//! trials.

use crate::hosts::{MS, SECOND, controller, digest, path, tcp_every};
use firstflight::Nanos;
use firstflight::detection::presets::PRESETS;
use firstflight_sim::tcp::Buffer;
use firstflight_sim::{Hosts, Setup, quic, run_alike, run_arm, tcp};
use proptest::prelude::*;

/// Arms that differ in one thing or another, some only in what they think.
pub(crate) const ARMS: [&str; 26] = [
    "slowstart",
    "slowstart@(iw=11)",
    "slowstart@(pace=off)",
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
    "bbr",
    "bbr3",
];

pub(crate) fn any_host() -> impl Strategy<Value = Hosts> {
    let small = tcp::Host { send_buffer: Buffer::LINUX_SEND, ..tcp::Host::default() };
    let plain = |name: &str| {
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
        Hosts::Tcp(tcp::Host::with_preset(*preset))
    };
    prop_oneof![
        3 => Just(Hosts::Quic(quic::Host::default())),
        1 => Just(Hosts::Quic(quic::Host { asks_acks: Some(4), ..quic::Host::default() })),
        1 => Just(Hosts::Tcp(tcp::Host::default())),
        1 => Just(Hosts::Tcp(tcp_every())),
        1 => Just(Hosts::Tcp(small)),
        1 => Just(plain("reno")),
        1 => Just(plain("linux26")),
    ]
}

pub(crate) fn any_path() -> impl Strategy<Value = String> {
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
    ];
    let loss = prop_oneof![2 => Just(0u32), 1 => Just(5), 1 => Just(20), 1 => Just(150)];
    (4u32..200, 5u32..400, queue, loss).prop_map(|(rate, rtt, queue, loss)| {
        format!("rate={rate}Mbit,rtt={rtt}ms,{queue},loss={}.{}%", loss / 10, loss % 10)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 768, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arms_in_company_are_the_arms_alone(
        host in any_host(),
        text in any_path(),
        arms in prop::sample::subsequence(ARMS.to_vec(), 2..6).prop_shuffle(),
        object in prop_oneof![1u64..60_000, 60_000u64..2_000_000],
        limit in prop_oneof![9 => Just(300 * SECOND), 1 => MS..2 * SECOND],
        seed in any::<u64>(),
    ) {
        let path = path(&text);
        let setup = Setup {
            path: &path,
            host,
            pacer_burst: 2 * host.mss(),
            object,
            limit: Nanos(limit),
            seed,
            path_index: 3,
        };
        let controllers: Vec<_> =
            arms.iter().map(|arm| controller(arm, host, Nanos::ZERO)).collect();
        let together = run_alike(&setup, &controllers).expect("the path carries full packets");
        prop_assert_eq!(together.len(), arms.len(), "an outcome for each");
        for ((arm, controller), outcome) in arms.iter().zip(&controllers).zip(&together) {
            let alone = run_arm(&setup, *controller, None).expect("the path carries full packets");
            prop_assert_eq!(digest(outcome), digest(&alone), "{} of {:?}", arm, &arms);
        }
    }
}
