//! One flow without loss, or with a loss that can be counted by hand: times to the nanosecond,
//! queues to the byte.

use crate::rig;

use firstflight_path::Path;
use firstflight_sim::quic::Host;
use firstflight_sim::{Cause, Stop};
use rig::{DATAGRAM, PAYLOAD, Trial, WIRE, Watch, path};

/// Time that `bytes` take at `rate` bits per second, as a busy link counts: rounded down once, at
/// the end.
fn serial(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000 / u128::from(rate)) as u64
}

/// Round trip without the serialization of the data packet that the idle RTT includes.
fn rest_of_rtt(path: &Path) -> u64 {
    path.rtt() - serial(WIRE, path.rate_bps())
}

/// A window larger than the object: one burst that the link empties at its own pace.
fn one_burst(text: &str, object: u64) -> Trial {
    Trial { iw: 100_000, ..Trial::new(path(text), "slowstart@(pace=off)", object) }
}

#[test]
fn an_object_within_the_window_takes_its_serialization_one_round_trip_and_the_tail_delay() {
    let delay = Host::default().max_ack_delay;
    for (text, packets, last) in [
        ("rate=100Mbit,rtt=30ms,queue=unlimited", 1, 0),
        ("rate=100Mbit,rtt=30ms,queue=unlimited", 2, 0),
        ("rate=100Mbit,rtt=30ms,queue=unlimited", 500, 0),
        ("rate=100Mbit,rtt=30ms,queue=unlimited", 501, 0),
        ("rate=100Mbit,rtt=30ms,queue=unlimited", 499, 7),
        ("rate=933.1Mbit,rtt=17.3ms,queue=unlimited", 4000, 0),
        ("rate=933.1Mbit,rtt=17.3ms,queue=unlimited", 4001, 1),
        ("rate=570kbit,rtt=600ms,queue=unlimited", 20, 0),
        ("rate=10Gbit,rtt=1ms,queue=unlimited", 3, 1000),
    ] {
        let trial = one_burst(text, packets * PAYLOAD + last);
        let outcome = trial.run();
        let (count, wire) = (
            packets + u64::from(last > 0),
            packets * WIRE + if last > 0 { last + WIRE - PAYLOAD } else { 0 },
        );
        // RFC9000 13.2.2: the receiver answers every second packet; a last odd one waits for its
        // timer.
        let tail = if count % 2 == 1 { delay } else { 0 };
        let expected = rest_of_rtt(&trial.path) + serial(wire, trial.path.rate_bps()) + tail;
        assert_eq!(outcome.stop, Stop::Complete, "{packets} packets and {last} B over {text}");
        assert_eq!(
            outcome.acked_after.0, expected,
            "{packets} packets and {last} B over {text}: {} instead of {expected} ns",
            outcome.acked_after.0
        );
        assert_eq!(
            outcome.counters.packets_sent, count,
            "{packets} packets and {last} B over {text}"
        );
    }
}

/// Slow start from ten packets at 10 Gbit/s, where a packet takes 1.2 us: round k sends 10 *
/// 2^(k-1), the link is busy from the first ACK of a round on, and that ACK is the first packet's
/// or, with delayed ACKs, the second's.
#[test]
fn slow_start_doubles_in_every_round_to_the_nanosecond() {
    let packet = 1_200;
    for ack_every in [1, 2] {
        for (rounds, in_last) in [(1_u64, 4_u64), (2, 2), (3, 40), (5, 100), (8, 1280), (10, 2)] {
            let before: u64 = 10 * ((1 << (rounds - 1)) - 1);
            let host = Host { ack_every, ..Host::default() };
            let text = "rate=10Gbit,rtt=100ms,queue=unlimited";
            let trial = Trial {
                host,
                ..Trial::new(path(text), "slowstart@(pace=off)", (before + in_last) * PAYLOAD)
            };
            let outcome = trial.run();
            let round = trial.path.rtt() + u64::from(ack_every - 1) * packet;
            let expected = (rounds - 1) * round + rest_of_rtt(&trial.path) + in_last * packet;
            assert_eq!(
                outcome.acked_after.0, expected,
                "{rounds} rounds, the last of {in_last} packets, an ACK per {ack_every}"
            );
        }
    }
}

#[test]
fn a_burst_queues_behind_the_packet_in_service() {
    let trial = one_burst("rate=100Mbit,rtt=30ms,queue=unlimited", 300 * PAYLOAD);
    let mut watch = Watch::default();
    let outcome = trial.observe(&mut watch);
    for (k, sent) in watch.0.iter().filter(|snapshot| snapshot.event == Cause::Sent).enumerate() {
        assert_eq!(sent.queue, k as u64 * WIRE, "after packet {k} all but the first wait");
    }
    // Packet k waits k * 120 us: the histogram has two digits, so its values are right to 1 %.
    for (quantile, expected) in [(1.0, 299.0 * 120.0), (0.5, 149.0 * 120.0), (0.1, 29.0 * 120.0)] {
        let waited = outcome.queue_us.value_at_quantile(quantile) as f64;
        assert!(
            (waited - expected).abs() <= expected * 0.01,
            "quantile {quantile} of the waits is {waited} us instead of {expected}"
        );
    }
    assert_eq!(outcome.queue_us.len(), 300, "every delivered packet is counted");
}

#[test]
fn a_burst_loses_exactly_what_the_queue_cannot_hold() {
    for (queue, packets) in
        [("30ms", 400), ("100pkt", 102), ("100pkt", 101), ("150000B", 1000), ("151499B", 1000)]
    {
        let trial = one_burst(&format!("rate=100Mbit,rtt=30ms,queue={queue}"), packets * PAYLOAD);
        let room = 1 + trial.path.queue_bytes().expect("limited") / WIRE;
        let (mut dropped, mut first) = (0, true);
        trial.steps(trial.links(), |_, flow, _| {
            if std::mem::take(&mut first) {
                dropped = flow.sender().counters().packets_dropped;
            }
        });
        assert_eq!(
            dropped,
            packets.saturating_sub(room),
            "{packets} packets into a queue of {queue}"
        );
    }
}

#[test]
fn goodput_is_the_payload_share_of_the_rate_and_never_more() {
    for (arm, least) in
        [("oracle", 0.98), ("slowstart", 0.90), ("rapid", 0.90), ("hystart++", 0.90)]
    {
        let trial = Trial::new(path("rapid-slide"), arm, 100_000_000);
        let outcome = trial.run();
        let time = outcome.delivered_after.expect("it ends").0;
        let rate = trial.object as f64 * 8e9 / time as f64;
        let most = trial.path.rate_bps() as f64 * PAYLOAD as f64 / WIRE as f64;
        assert!(
            rate <= most,
            "{arm}: {rate:.0} bit/s of payload over a link that carries {most:.0}"
        );
        assert!(
            rate >= least * most,
            "{arm}: {rate:.0} bit/s of payload over a link that carries {most:.0}"
        );
    }
}

#[test]
fn a_paced_first_window_leaves_at_two_windows_per_round_trip() {
    let trial =
        Trial { iw: 30, burst: 1, ..Trial::new(path("rapid-slide"), "slowstart", 1_000_000) };
    let mut watch = Watch::default();
    trial.observe(&mut watch);
    let times: Vec<u64> =
        watch.0.iter().filter(|s| s.event == Cause::Sent).map(|s| s.now.0).take(30).collect();
    // Gain 2: a packet every RTT / 60. The pacer works with whole bytes per second, which is exact
    // here to well below a microsecond.
    for (k, at) in times.iter().enumerate() {
        let due = k as u64 * 30_000_000 / 60;
        assert!(at.abs_diff(due) <= 1_000, "packet {k} left at {at} ns instead of {due}");
    }
}

#[test]
fn nothing_but_the_window_binds_on_the_default_path() {
    // Ten full BDP without pacing: as long as there is data, another packet would not fit into the
    // window after any burst.
    let trial = Trial::new(path("rapid-slide"), "slowstart/reno/immediate@(pace=off)", 7_500_000);
    let mut checked = 0;
    trial.steps(trial.links(), |_, flow, _| {
        let sender = flow.sender();
        let unsent = sender.counters().packets_sent - sender.counters().retransmissions
            < trial.object.div_ceil(PAYLOAD);
        if unsent && !sender.controller().in_recovery() {
            let (inflight, cwnd) = (sender.inflight(), sender.controller().cwnd());
            assert!(
                inflight + DATAGRAM > cwnd,
                "{inflight} B in flight, a window of {cwnd} B and data to send"
            );
            checked += 1;
        }
    });
    assert!(checked > 1000, "{checked} steps were looked at");
    let controller = trial.controller();
    assert_eq!(controller.ssthresh(), None, "no threshold until something sets it");
    assert_eq!(controller.cwnd(), 10 * DATAGRAM, "the initial window is what was asked for");
}
