//! Handshakes with a certificate in front of a trial (`hello=`).

use crate::hosts::{MS, controller, path};
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_sim::{
    App, Arrangement, FlowPlan, Hosts, Outcome, Setup, Shared, quic, run, run_flows, tcp,
};

fn tried(text: &str, host: Hosts, arm: &str, seed: u64) -> Result<Outcome, Error> {
    let path = path(text);
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 10 * host.mss(),
        object: 300_000,
        limit: Nanos::from_secs(600),
        seed,
        path_index: 0,
    };
    run(&setup, controller(arm, host, Nanos::ZERO), None)
}

fn trial(text: &str, seed: u64) -> Outcome {
    tried(text, quic::Host::default().into(), "slowstart", seed)
        .expect("the path carries the packets")
}

/// Duration of the handshake on a path of 1 Gbit/s and 100 ms, ms.
fn handshake(keys: &str) -> u64 {
    let outcome = trial(&format!("rate=1Gbit,rtt=100ms,queue=1bdp,{keys}"), 1);
    outcome.handshake.expect("a handshake").0 / MS
}

#[test]
fn data_begins_after_one_round_trip_and_a_half() {
    for certificate in ["500B", "2kB", "3kB", "3.42kB"] {
        let ms = handshake(&format!("hello={certificate}"));
        assert!(
            (149..=151).contains(&ms),
            "three one-way delays of 50 ms, not {ms} ms: {certificate}"
        );
    }
}

/// RFC 9000 section 8.1.
#[test]
fn a_certificate_beyond_the_threefold_limit_costs_another_round_trip() {
    for certificate in ["3.43kB", "4kB", "8kB"] {
        let ms = handshake(&format!("hello={certificate}"));
        assert!(
            (249..=251).contains(&ms),
            "five one-way delays of 50 ms, not {ms} ms: {certificate}"
        );
    }
}

/// RFC 9002 section 6.2: three times the initial RTT of 333 ms, since nobody has measured one.
#[test]
fn what_is_lost_is_repeated_after_a_probe_timeout() {
    let first = handshake("hello=3kB,up_loss_every=1,up_loss_until=10ms");
    assert!((1148..=1150).contains(&first), "the client's first packet: {first} ms");
    // Three datagrams are all that the server may send; the client's probe allows more, and what the two probes of the
    // server do not carry is lost by then.
    let flight = handshake("hello=3kB,loss_every=1,loss_until=90ms");
    assert!((1248..=1250).contains(&flight), "the server's first flight: {flight} ms");
    // The fourth packet of the client. It has measured 100 ms by then, so three of them are a timeout.
    let last = handshake("hello=3kB,up_loss_every=4");
    assert!((449..=451).contains(&last), "the client's last message: {last} ms");
}

#[test]
fn every_handshake_ends_and_none_is_faster_than_the_path() {
    let text =
        "rate=20Mbit,rtt=40ms,queue=1bdp,loss=20%,up_loss=20%,jitter=5ms,dup=5%,reorder=5%:10ms";
    let mut slow = 0;
    for seed in 1..=200 {
        for certificate in ["2kB", "8kB"] {
            let outcome = trial(&format!("{text},hello={certificate}"), seed);
            let ms = outcome.handshake.expect("a handshake").0 / MS;
            assert!(outcome.complete() && ms >= 58, "seed {seed}, {certificate}: {ms} ms");
            slow += u32::from(ms > 900);
        }
    }
    assert!(slow > 40, "{slow} of 400 handshakes waited for the first probe timeout");
}

#[test]
fn times_count_from_the_first_data_and_every_arm_has_the_same_handshake() {
    let text = "rate=50Mbit,rtt=60ms,queue=1bdp";
    let host: Hosts = quic::Host::default().into();
    for arm in ["slowstart", "hystart++", "rapid", "plumb"] {
        let [bare, greeted] = ["", ",hello=4kB"]
            .map(|keys| tried(&format!("{text}{keys}"), host, arm, 1).expect("a path"));
        assert_eq!(bare.handshake, None, "{arm}: without the key there is none");
        assert_eq!(greeted.handshake, trial(&format!("{text},hello=4kB"), 1).handshake, "{arm}");
        let [bare, greeted] =
            [bare, greeted].map(|outcome| outcome.delivered_after.expect("delivered").0 / MS);
        assert!(
            bare.abs_diff(greeted) <= 3,
            "{arm}: {greeted} ms after the first data, {bare} without"
        );
    }
}

#[test]
fn what_has_no_such_handshake_is_refused() {
    let quic: Hosts = quic::Host::default().into();
    let text = "rate=50Mbit,rtt=60ms,queue=1bdp,hello=4kB";
    for (keys, host, why) in [
        ("", Hosts::from(tcp::Host::default()), "TLS over TCP"),
        (",fq_codel", quic, "when each packet arrives"),
        (",return=geo_cold", quic, "when each packet arrives"),
        (",thin=4", quic, "when each packet arrives"),
    ] {
        let refused =
            tried(&format!("{text}{keys}"), host, "slowstart", 1).expect_err("no handshake");
        assert!(refused.to_string().contains(why), "{keys}: {refused}");
    }
    let path = path(text);
    let shared = Shared {
        path: &path,
        host: quic,
        limit: Nanos::from_secs(60),
        seed: 1,
        path_index: 0,
        sample: None,
        jitter: Nanos::ZERO,
    };
    let plan = FlowPlan {
        controller: controller("slowstart", quic, Nanos::ZERO),
        pacer_burst: 10 * quic.mss(),
        app: App::Bulk(100_000),
        start: Nanos::ZERO,
        rtt_extra: Nanos::ZERO,
    };
    let refused = run_flows(&shared, vec![plan], &Arrangement::default(), None).expect_err("flows");
    assert!(refused.to_string().contains("goes with one flow"), "{refused}");
}
