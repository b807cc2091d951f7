//! Several flows through one bottleneck: shares, starts, distances, conservation, determinism.

use crate::hosts;

use firstflight::Nanos;
use firstflight_sim::observe::Signals;
use firstflight_sim::{
    App, Arrangement, Cause, Hosts, JITTER, Observer, Response, Setup, Shared, Snapshot, Stop,
    fairness_ppm, quic, run, run_flows, tcp,
};
use hosts::{MS, SECOND, controller, digest, path, plan, shared, together};

/// An object that no trial here finishes.
const ENDLESS: App = App::Bulk(1 << 40);

fn both() -> [Hosts; 2] {
    [quic::Host::default().into(), tcp::Host::default().into()]
}

#[test]
fn jains_index_is_one_for_equals_and_one_over_their_number_for_one_that_has_all() {
    assert_eq!(fairness_ppm(&[]), 1_000_000);
    assert_eq!(fairness_ppm(&[0, 0]), 1_000_000);
    assert_eq!(fairness_ppm(&[7, 7, 7]), 1_000_000);
    assert_eq!(fairness_ppm(&[5, 0, 0, 0]), 250_000);
    assert_eq!(fairness_ppm(&[u64::MAX; 8]), 1_000_000);
    // (1 + 2 + 3)^2 / (3 x (1 + 4 + 9)) = 36 / 42.
    assert_eq!(fairness_ppm(&[1, 2, 3]), 857_142);
}

#[test]
fn two_equal_flows_share_the_bottleneck_fairly_and_fill_it() {
    let path = path("rate=100Mbit,rtt=30ms,queue=1bdp");
    for host in both() {
        let shared =
            Shared { sample: Some(Nanos(10 * SECOND)), ..shared(&path, host, 60 * SECOND + 1) };
        let plans = [0, SECOND].map(|start| plan("slowstart", host, ENDLESS, Nanos(start)));
        let outcome = together(&shared, plans.into());
        let shares = outcome.between(2, 6);
        let index = fairness_ppm(&shares);
        // 0.9 is the band that published fairness experiments use.
        assert!(
            index >= 900_000,
            "{}: Jain's index of {shares:?} is {index} millionths",
            host.transport()
        );
        let most = 40 * 100_000_000 / 8 * u128::from(host.mss()) / u128::from(host.packet_bytes());
        let sum = u128::from(shares.iter().sum::<u64>());
        assert!(
            sum <= most && sum * 100 >= most * 95,
            "{}: {sum} bytes in 40 s where {most} fit",
            host.transport()
        );
    }
}

/// When each flow sent its first packet.
#[derive(Default)]
struct FirstSent(Vec<(u32, u64)>);

impl Observer for FirstSent {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        if snapshot.event == Cause::Sent && self.0.iter().all(|(flow, _)| *flow != snapshot.flow) {
            self.0.push((snapshot.flow, snapshot.now.0));
        }
    }
}

#[test]
fn each_flow_starts_when_it_is_told_to() {
    // A full packet takes 1.2 us: no handshake waits for another.
    let path = path("rate=10Gbit,rtt=30ms,queue=1bdp");
    let starts = [700 * MS, 0, 300 * MS + 5_000, 300 * MS, 2 * SECOND];
    for host in both() {
        let plans = starts.map(|start| plan("slowstart", host, App::Bulk(10_000), Nanos(start)));
        let mut seen = FirstSent::default();
        let outcome = run_flows(
            &shared(&path, host, 100 * SECOND),
            plans.into(),
            &Arrangement::default(),
            Some(&mut seen),
        )
        .expect("the path carries full packets");
        let expected =
            [(1, 0), (3, 300 * MS), (2, 300 * MS + 5_000), (0, 700 * MS), (4, 2 * SECOND)];
        assert_eq!(
            seen.0,
            expected,
            "{}: flows and the times of their first packets",
            host.transport()
        );
        assert!(
            outcome
                .flows
                .iter()
                .all(|flow| flow.stop == Stop::Complete && flow.delivered == 10_000)
        );
    }
}

#[test]
fn a_flow_alone_is_the_trial_of_one_flow() {
    for text in [
        "rapid-slide",
        "rate=10Mbit,rtt=60ms,queue=0.5bdp,loss=1%",
        "rate=150Mbit,rtt=600ms,return=geo_cold",
        "rate=20Mbit,rtt=40ms,return=wifi",
    ] {
        let path = path(text);
        for host in both() {
            let object = 3_000_000;
            let alone = Setup {
                path: &path,
                host,
                pacer_burst: 2 * host.mss(),
                object,
                limit: Nanos(600 * SECOND),
                seed: 1,
                path_index: 0,
            };
            let alone = run(&alone, controller("hystart++", host, Nanos::ZERO), None)
                .expect("the path carries full packets");
            let plans = vec![plan("hystart++", host, App::Bulk(object), Nanos::ZERO)];
            let among = together(&shared(&path, host, 600 * SECOND), plans);
            assert_eq!(digest(&among.flows[0]), digest(&alone), "{} on {text}", host.transport());
        }
    }
}

#[test]
fn a_flow_that_is_farther_away_is_one_on_a_longer_path() {
    let near = path("rate=50Mbit,rtt=30ms,queue=200kB");
    let far = path("rate=50Mbit,rtt=75ms,queue=200kB");
    for host in both() {
        let app = App::Bulk(5_000_000);
        let mut extended = plan("slowstart", host, app.clone(), Nanos::ZERO);
        extended.rtt_extra = Nanos(45 * MS);
        let extended = together(&shared(&near, host, 600 * SECOND), vec![extended]);
        let longer = together(
            &shared(&far, host, 600 * SECOND),
            vec![plan("slowstart", host, app, Nanos::ZERO)],
        );
        assert_eq!(
            digest(&extended.flows[0]),
            digest(&longer.flows[0]),
            "{}: 30 ms and 45 ms more",
            host.transport()
        );
    }
}

#[test]
fn a_hundred_flows_deliver_what_was_sent_to_them() {
    let path = path("rate=100Mbit,rtt=30ms,queue=1bdp,loss=0.1%");
    for host in both() {
        let object = 400_000;
        let plans = || {
            (0..100)
                .map(|flow| plan("slowstart", host, App::Bulk(object), Nanos(flow * MS)))
                .collect()
        };
        let outcome = together(&shared(&path, host, 600 * SECOND), plans());
        let mut last = 0;
        for (id, flow) in outcome.flows.iter().enumerate() {
            let name = format!("{} flow {id}", host.transport());
            assert_eq!(
                (flow.stop, flow.delivered),
                (Stop::Complete, object),
                "{name} ends with every byte delivered"
            );
            assert_eq!(
                flow.queue_us.len(),
                flow.counters.packets_sent - flow.counters.packets_dropped,
                "{name}: what was not dropped passed the bottleneck"
            );
            let least = object.div_ceil(host.mss());
            assert_eq!(
                flow.counters.packets_sent - flow.counters.retransmissions,
                if host.transport() == "tcp" { least } else { object.div_ceil(1436) },
                "{name}"
            );
            last = last.max(id as u64 * MS + flow.acked_after.0);
        }
        let packets: u64 = outcome
            .flows
            .iter()
            .map(|flow| flow.counters.packets_sent - flow.counters.packets_dropped)
            .sum();
        let serial = packets * u64::from(host.packet_bytes()) * 80;
        assert!(
            last >= serial * 95 / 100,
            "{}: {packets} packets take {serial} ns, the last flow ended after {last}",
            host.transport()
        );
        assert!(
            outcome.flows.iter().map(|flow| flow.counters.packets_dropped).sum::<u64>() > 100,
            "a hundred slow starts overflow the queue"
        );

        let again = together(&shared(&path, host, 600 * SECOND), plans());
        let same =
            outcome.flows.iter().zip(&again.flows).all(|(one, other)| digest(one) == digest(other));
        assert!(same, "{}: the same flows again give the same outcomes", host.transport());
    }
}

#[test]
fn flows_share_the_terminal_of_a_driven_way_back() {
    // 75 ACKs per second for both together: with an ACK per two packets each flow gets half of 150
    // packets per second.
    let path = path("rate=150Mbit,rtt=640ms,queue=1bdp,return=geo_starved");
    for host in both() {
        let shared =
            Shared { sample: Some(Nanos(10 * SECOND)), ..shared(&path, host, 60 * SECOND + 1) };
        let plans = (0..2).map(|_| plan("slowstart", host, ENDLESS, Nanos::ZERO)).collect();
        let outcome = together(&shared, plans);
        let acked = outcome.between(2, 6);
        assert!(
            acked.iter().all(|bytes| *bytes > 1_000_000),
            "{}: both flows go on: {acked:?}",
            host.transport()
        );
        assert!(outcome.flows.iter().all(|flow| flow.stop == Stop::TimeLimit));
    }
}

/// The first RTT sample of each flow: the smallest RTT at its first packet.
#[derive(Default)]
struct FirstRtt(Vec<(u32, u64, u64)>);

impl Observer for FirstRtt {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        if snapshot.event == Cause::Sent && self.0.iter().all(|(flow, ..)| *flow != snapshot.flow) {
            self.0.push((snapshot.flow, snapshot.now.0, snapshot.min_rtt.unwrap_or_default().0));
        }
    }
}

#[test]
fn a_handshake_waits_in_a_standing_queue_as_data_does() {
    // A window of 300 packets on a path that holds 100: a queue of 200 packets, 16 ms of each 1500
    // bytes at 150 Mbit/s.
    let path = path("rate=150Mbit,rtt=8ms,queue=400pkt");
    for host in both() {
        let mut standing = plan("slowstart", host, App::Endless, Nanos::ZERO);
        let arm =
            firstflight::arm::Arm::parse("oracle(exit=1)/reno@(iw=300,pace=off)").expect("an arm");
        let config = firstflight::with!(firstflight::Config {
            initial_window: 300 * host.mss(),
            ..host.config()
        });
        standing.controller =
            arm.with_oracle(1).controller(config, firstflight::Time(0), firstflight::Seq(0));
        let start = 2 * SECOND;
        let mut seen = FirstRtt::default();
        let plans = vec![standing, plan("rapid", host, App::Bulk(10_000), Nanos(start))];
        let outcome = run_flows(
            &shared(&path, host, 100 * SECOND),
            plans,
            &Arrangement::default(),
            Some(&mut seen),
        )
        .expect("the path carries full packets");
        let [(0, 0, first), (1, began, sample)] = seen.0[..] else {
            panic!("two flows, not {:?}", seen.0)
        };
        assert_eq!(first, 8 * MS, "{}: nobody was there before time zero", host.transport());
        // The wait of a data packet of the standing flow at about that time, from its own
        // distribution of waits.
        let waits = (
            outcome.flows[0].queue_us.value_at_quantile(0.05) * 1000,
            outcome.flows[0].queue_us.max() * 1000,
        );
        let waited = sample - 8 * MS;
        assert!(
            waited >= waits.0 && waited <= waits.1 && waited > 10 * MS,
            "{}: {waited} ns, data {waits:?}",
            host.transport()
        );
        assert_eq!(
            began,
            start + waited,
            "{}: data leaves when the answer is there",
            host.transport()
        );
        assert_eq!(outcome.starts, [Some(firstflight::Time(0)), Some(firstflight::Time(began))]);
    }
}

#[test]
fn a_handshake_on_an_empty_path_gives_the_idle_round_trip_whenever_it_is() {
    for text in ["rate=50Mbit,rtt=75ms,queue=200kB", "rate=10Mbit,rtt=60ms,queue=0.5bdp"] {
        let path = path(text);
        for host in both() {
            let alone = |start| {
                let plans = vec![plan("hystart++", host, App::Bulk(3_000_000), Nanos(start))];
                let outcome = together(&shared(&path, host, 600 * SECOND), plans);
                assert_eq!(
                    outcome.starts,
                    [Some(firstflight::Time(start))],
                    "{} on {text}",
                    host.transport()
                );
                // Everything that does not say when it happened on the clock of the trial.
                let flow = &outcome.flows[0];
                (
                    flow.acked_after,
                    flow.counters.packets_sent,
                    flow.counters.packets_lost,
                    flow.delivered_after,
                    flow.cwnd_max,
                    flow.queue_us.max(),
                )
            };
            assert_eq!(
                alone(0),
                alone(7 * SECOND),
                "{} on {text}: from the start and seven seconds later",
                host.transport()
            );
        }
    }
}

#[test]
fn a_handshake_that_is_lost_is_repeated_and_one_through_a_terminal_waits_there() {
    // Every second packet is lost: the second flow's handshake gets through sooner or later.
    let lossy = path("rate=50Mbit,rtt=20ms,queue=1bdp,loss=50%");
    let starved = path("rate=150Mbit,rtt=640ms,queue=1bdp,return=geo_starved");
    for host in both() {
        let mut latest = 0;
        for seed in 1..=8 {
            let plans = vec![
                plan("slowstart", host, App::Bulk(10_000), Nanos::ZERO),
                plan("slowstart", host, App::Bulk(10_000), Nanos(SECOND)),
            ];
            let outcome = together(&Shared { seed, ..shared(&lossy, host, 600 * SECOND) }, plans);
            let start = outcome.starts[1]
                .unwrap_or_else(|| panic!("{}: seed {seed}: it starts", host.transport()));
            latest = latest.max(start.0);
        }
        assert!(
            latest >= SECOND + 990 * MS,
            "{}: of eight, one was repeated after a timeout; the last began at {latest}",
            host.transport()
        );

        let plans = vec![
            plan("slowstart", host, ENDLESS, Nanos::ZERO),
            plan("slowstart", host, App::Bulk(10_000), Nanos(10 * SECOND)),
        ];
        let mut seen = FirstRtt::default();
        run_flows(
            &shared(&starved, host, 60 * SECOND),
            plans,
            &Arrangement::default(),
            Some(&mut seen),
        )
        .expect("the path carries full packets");
        let [_, (1, began, sample)] = seen.0[..] else { panic!("two flows, not {:?}", seen.0) };
        assert!(
            sample > 700 * MS && began > 10 * SECOND,
            "{}: ACKs of the first wait in front of it: {sample}",
            host.transport()
        );
    }
}

#[test]
fn no_flow_of_a_hundred_starves_on_an_idle_path() {
    // The queue holds 25 packets where a hundred probe: in step, the same flows lose theirs for
    // ever.
    for text in ["rate=10Mbit,rtt=30ms,queue=30ms", "rate=10Mbit,rtt=10ms,queue=10pkt"] {
        let path = path(text);
        for host in both() {
            for app in [
                App::Bulk(1_000_000),
                App::Responses(vec![Response { pause: Nanos::ZERO, bytes: 100_000 }; 3]),
            ] {
                let plans = || {
                    (0..100).map(|_| plan("slowstart", host, app.clone(), Nanos::ZERO)).collect()
                };
                let spread = Shared { jitter: JITTER, ..shared(&path, host, 600 * SECOND) };
                let outcome = together(&spread, plans());
                let starved = outcome.flows.iter().filter(|flow| flow.delivered == 0).count();
                let unfinished =
                    outcome.flows.iter().filter(|flow| flow.stop != Stop::Complete).count();
                assert_eq!(
                    (starved, unfinished),
                    (0, 0),
                    "{} on {text}: flows without a byte, and unfinished ones",
                    host.transport()
                );
                let starts: Vec<u64> =
                    outcome.starts.iter().flatten().map(|start| start.0).collect();
                assert!(
                    starts.len() == 100 && starts.iter().all(|start| *start <= JITTER.0),
                    "late by up to a millisecond"
                );
                let again = together(&spread, plans());
                assert!(
                    outcome
                        .flows
                        .iter()
                        .zip(&again.flows)
                        .all(|(one, other)| digest(one) == digest(other)),
                    "the same each time"
                );
            }
        }
    }
}

#[test]
fn jitter_is_for_several_flows_and_another_seed_gives_another() {
    let path = path("rate=20Mbit,rtt=30ms,queue=1bdp");
    for host in both() {
        let starts = |seed: u64, flows: usize, jitter: Nanos| {
            let plans = (0..flows)
                .map(|_| plan("slowstart", host, App::Bulk(100_000), Nanos::ZERO))
                .collect();
            together(&Shared { seed, jitter, ..shared(&path, host, 600 * SECOND) }, plans).starts
        };
        assert_eq!(starts(1, 1, JITTER), starts(1, 1, Nanos::ZERO), "a flow alone has none");
        assert_eq!(
            starts(1, 3, Nanos::ZERO),
            [Some(firstflight::Time(0)); 3],
            "off, all start at once"
        );
        assert_ne!(starts(1, 3, JITTER), starts(2, 3, JITTER), "keyed by the seed");
        let [one, two, _] = starts(1, 3, JITTER)[..] else { panic!("three flows") };
        assert_ne!(one, two, "and by the flow");
    }
}

#[test]
fn a_path_whose_receiver_acknowledges_every_packet_is_a_host_that_does() {
    let (plain, every) =
        (path("rate=20Mbit,rtt=40ms,queue=1bdp"), path("rate=20Mbit,rtt=40ms,queue=1bdp,ack=1"));
    for (host, of_host) in [
        (
            Hosts::from(quic::Host::default()),
            Hosts::from(quic::Host { ack_every: 1, ..quic::Host::default() }),
        ),
        (tcp::Host::default().into(), hosts::tcp_every().into()),
    ] {
        let outcome = |path, host| {
            together(
                &shared(path, host, 600 * SECOND),
                vec![plan("hystart++", host, App::Bulk(3_000_000), Nanos::ZERO)],
            )
        };
        let (by_path, by_host, by_default) =
            (outcome(&every, host), outcome(&plain, of_host), outcome(&plain, host));
        assert_eq!(
            digest(&by_path.flows[0]),
            digest(&by_host.flows[0]),
            "{}: the same receiver",
            host.transport()
        );
        assert_ne!(
            digest(&by_path.flows[0]),
            digest(&by_default.flows[0]),
            "{}: not the usual one",
            host.transport()
        );
        // An odd last packet waits for nothing: one packet takes the idle round trip.
        let one = together(
            &shared(&every, host, SECOND),
            vec![plan("slowstart", host, App::Bulk(1_000), Nanos::ZERO)],
        );
        assert!(
            one.flows[0].acked_after <= Nanos(40 * MS),
            "{}: {:?}",
            host.transport(),
            one.flows[0].acked_after
        );
    }
}
