//! Transfers without loss whose time to last byte follows from arithmetic, to the nanosecond, and
//! the effect of larger buffers or windows.

use firstflight::arm::Arm;
use firstflight::detection::presets::PRESETS;
use firstflight::{ExitReason, Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::tcp::{AckEvery, Buffer, Host};
use firstflight_sim::{Hosts, Outcome, Setup, Stop, run};

const MSS: u64 = 1448;
const MS: u64 = 1_000_000;

fn trial(path: &Path, arm: &str, host: Host, object: u64) -> Outcome {
    let arm = Arm::parse(arm).expect("an arm");
    let hosts = Hosts::Tcp(host);
    let setup = Setup {
        path,
        host: hosts,
        pacer_burst: 2 * MSS,
        object,
        limit: Nanos::from_secs(3600),
        seed: 1,
        path_index: 0,
    };
    run(&setup, arm.with_oracle(1 << 30).controller(hosts.config(), Time(0), Seq(0)), None)
        .expect("the path carries full packets")
}

/// 12 Mbit/s: a full packet takes 1 ms. The queue has no limit.
fn path(rtt_ms: u64) -> Path {
    Path::parse(&format!("rate=12Mbit,rtt={rtt_ms}ms,queue=unlimited")).expect("a path")
}

/// `rtt` for the first packet and its ACK, then 1 ms per packet; an odd last packet waits 40 ms for
/// a second one.
#[test]
fn a_window_that_holds_the_object_takes_a_round_trip_and_its_serialization() {
    for preset in PRESETS.iter().filter(|preset| preset.name != "quic") {
        for segments in [1, 2, 3, 10, 101, 1000] {
            let outcome = trial(
                &path(2000),
                "slowstart@(iw=1000)",
                Host::with_preset(*preset),
                segments * MSS,
            );
            let expected =
                2000 * MS + (segments - 1) * MS + if segments % 2 == 1 { 40 * MS } else { 0 };
            assert_eq!(
                outcome.acked_after,
                Nanos(expected),
                "{segments} segments with {} take {:?}",
                preset.name,
                outcome.acked_after
            );
            assert_eq!(
                outcome.counters.packets_sent, segments,
                "{segments} segments are sent once each"
            );
        }
    }
}

/// Round `r` begins with the ACK of the first two packets of the round before, `rtt + 1 ms` later,
/// and sends without a pause.
#[test]
fn slow_start_doubles_the_flight_each_round() {
    let rtt = 1000 * MS;
    for (rounds, last) in [(0, 4), (1, 2), (1, 20), (2, 12), (3, 80), (4, 100), (5, 200)] {
        let before = 10 * ((1 << rounds) - 1);
        let outcome = trial(&path(1000), "slowstart", Host::default(), (before + last) * MSS);
        let expected = rounds * (rtt + MS) + rtt + (last - 1) * MS;
        assert_eq!(
            outcome.acked_after,
            Nanos(expected),
            "{last} packets in round {rounds} are acknowledged after {:?}",
            outcome.acked_after
        );
    }
}

#[test]
fn a_short_last_segment_costs_its_own_time() {
    let outcome = trial(&path(2000), "slowstart@(iw=1000)", Host::default(), 3 * MSS + 698);
    // 698 + 52 bytes at 12 Mbit/s are half a millisecond.
    assert_eq!(outcome.acked_after, Nanos(2000 * MS + 2 * MS + MS / 2));
    assert_eq!(outcome.delivered, 3 * MSS + 698);
}

#[test]
fn a_fixed_buffer_of_either_end_holds_the_sender_to_a_window_per_round() {
    for (receive_buffer, send_buffer) in [
        (Buffer::Payload(10 * MSS), Buffer::Unlimited),
        (Buffer::Unlimited, Buffer::Payload(10 * MSS)),
    ] {
        let host = Host { receive_buffer, send_buffer, ..Host::default() };
        let outcome = trial(&path(1000), "slowstart", host, 100 * MSS);
        // Ten rounds of ten: each begins with the ACK of two, and lasts a round trip and the second
        // packet.
        let expected = 9 * (1000 * MS + MS) + 1000 * MS + 9 * MS;
        assert_eq!(
            outcome.acked_after,
            Nanos(expected),
            "windows of ten segments need ten rounds, not {:?}",
            outcome.acked_after
        );
    }
}

/// Half of 6 MiB and of 4 MiB are payload: 42 and 28 Mbit/s over 600 ms, slow start included; the
/// recommended 25 MiB fill the link.
#[test]
fn linux_default_buffers_keep_a_geostationary_path_below_its_rate() {
    let path = Path::parse("rate=150Mbit,rtt=600ms,queue=unlimited").expect("a path");
    for (receive_buffer, send_buffer, low, high) in [
        (Buffer::LINUX_RECEIVE, Buffer::Unlimited, 40, 42),
        (Buffer::Unlimited, Buffer::LINUX_SEND, 26, 28),
        (Buffer::LINUX_RECEIVE, Buffer::LINUX_SEND, 26, 28),
        (Buffer::Payload(26_214_400 / 2), Buffer::Payload(26_214_400 / 2), 125, 145),
    ] {
        let host = Host { receive_buffer, send_buffer, ..Host::default() };
        let outcome = trial(&path, "slowstart", host, 1_000_000_000);
        let mbps = 1_000_000_000 * 8_000 / outcome.delivered_after.expect("all of it").0;
        assert!(
            (low..=high).contains(&mbps),
            "{mbps} Mbit/s is not within {low} to {high} with {receive_buffer:?}, {send_buffer:?}"
        );
    }
}

/// A quarter of the path's BDP at the receiver, which the draft takes for the path.
#[test]
fn bbr_takes_the_receivers_window_for_the_path_unless_it_is_told_not_to() {
    let path = Path::parse("rate=50Mbit,rtt=40ms,queue=1bdp").expect("a path");
    let leaves = |arm, receive_buffer| {
        let host = Host { receive_buffer, ..Host::default() };
        let outcome = trial(&path, arm, host, 5_000_000);
        assert_eq!(outcome.stop, Stop::Complete);
        outcome.exit.map(|exit| exit.reason)
    };
    for arm in ["bbr", "bbr(rwnd=on)"] {
        assert_eq!(leaves(arm, Buffer::Unlimited), Some(ExitReason::Plateau), "{arm}");
    }
    let small = Buffer::Payload(62_500);
    assert_eq!(leaves("bbr", small), Some(ExitReason::Plateau), "the draft's rule");
    assert_eq!(leaves("bbr(rwnd=on)", small), None, "the receiver is the limit");
}

/// Auto-tuning must not slow a transfer that never needs the largest buffer.
#[test]
fn linux_buffers_grow_ahead_of_slow_start() {
    let path = Path::parse("rate=100Mbit,rtt=100ms,queue=unlimited").expect("a path");
    let object = 2_000_000;
    let free = trial(&path, "slowstart", Host::default(), object);
    let host = Host {
        receive_buffer: Buffer::LINUX_RECEIVE,
        send_buffer: Buffer::LINUX_SEND,
        ..Host::default()
    };
    let tuned = trial(&path, "slowstart", host, object);
    assert_eq!(
        tuned.acked_after, free.acked_after,
        "with buffers that grow the transfer takes {:?}, without limits {:?}",
        tuned.acked_after, free.acked_after
    );
}

#[test]
fn stretch_acks_and_receive_offload_thin_the_acknowledgements() {
    let slow = trial(&path(1000), "slowstart", Host::default(), 630 * MSS);
    for every in [AckEvery::Segments(8), AckEvery::Bytes(8 * MSS)] {
        let outcome = trial(
            &path(1000),
            "slowstart",
            Host { ack_every: every, ..Host::default() },
            630 * MSS,
        );
        assert_eq!(outcome.stop, Stop::Complete);
        assert!(
            outcome.acked_after > slow.acked_after,
            "{every:?}: {:?} is not longer than {:?} with an ACK per two segments",
            outcome.acked_after,
            slow.acked_after
        );
        assert_eq!(outcome.counters.packets_sent, 630, "{every:?}: nothing is sent twice");
    }
}

#[test]
fn a_paced_arm_spreads_its_window_and_an_unpaced_one_does_not() {
    let path = Path::parse("rate=1Gbit,rtt=100ms,queue=unlimited").expect("a path");
    let wait = |arm| trial(&path, arm, Host::default(), 4_000_000).queue_us.max();
    let (paced, unpaced) = (wait("slowstart@(pace=on)"), wait("slowstart@(pace=off)"));
    assert_eq!(wait("slowstart"), unpaced, "TCP is not paced by default");
    assert!(
        paced * 3 < unpaced,
        "at most {paced} us in the queue with a pacer, {unpaced} us without"
    );
}

#[test]
fn idle_path_with_delayed_acks_of_25_ms_never_marks_anything() {
    // L9: every preset, thinned ACKs, none held back for more than 25 ms.
    for preset in PRESETS.iter().filter(|preset| preset.name != "quic") {
        for every in [1, 2, 3, 8, 40] {
            for object in [1, 2 * MSS, 30_000, 1_000_000] {
                let host = Host {
                    ack_every: AckEvery::Segments(every),
                    ack_delay: 25 * MS,
                    ..Host::with_preset(*preset)
                };
                let path = Path::parse("rate=20Mbit,rtt=40ms,queue=unlimited").expect("a path");
                let outcome = trial(&path, "hystart++", host, object);
                let what = format!("{} bytes with {}, an ACK per {every}", object, preset.name);
                assert_eq!(
                    (outcome.counters.rtos, outcome.counters.recoveries),
                    (0, 0),
                    "L9: {what} see no timeout and no recovery"
                );
                assert_eq!(
                    (outcome.counters.packets_lost, outcome.counters.spurious_losses),
                    (0, 0),
                    "L9: {what} see nothing marked"
                );
                assert_eq!(
                    outcome.counters.retransmissions,
                    outcome.counters.probes.min(outcome.counters.retransmissions),
                    "L9: {what} repeat at most probes"
                );
            }
        }
    }
}
