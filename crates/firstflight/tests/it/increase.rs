//! Rate-limited increase: the examples of the draft, what it is beside the gate of RFC 9002, and
//! what holds for every algorithm.

use crate::rig::{MSS, Rig, config};
use crate::told::{Hear, Told};

use firstflight::arm::Arm;
use firstflight::{Config, Nanos, Ready, Sent, Seq, Time, Timeout, Transport};
use proptest::prelude::*;

/// A sender of which the application offers `packets` in each round, all of them out before the
/// first ACK, as far as the window allows; the windows after each ACK.
fn rounds(arm: &str, offered: &[u64]) -> Vec<Vec<u64>> {
    let mut rig = Rig::quic(arm, 10 * MSS);
    offered
        .iter()
        .map(|&packets| {
            let (mut left, mut windows) = (packets, Vec::new());
            while left > 0 || rig.inflight() > 0 {
                let room = (rig.c.cwnd() - rig.inflight()) / MSS;
                let now = room.min(left);
                if now > 0 {
                    rig.send(now * MSS);
                    left -= now;
                }
                let ack = Told { cwnd_limited: left > 0, ..rig.record(MSS) };
                rig.deliver(&ack);
                windows.push(rig.c.cwnd());
            }
            windows
        })
        .collect()
}

fn thousands(from: u64, to: u64) -> Vec<u64> {
    (from..=to).map(|packets| packets * MSS).collect()
}

/// Shows RATELIMITED 3-start, RATELIMITED 3-flight, RATELIMITED 3-limit.
#[test]
fn the_example_in_bytes_ack_by_ack() {
    let windows = rounds("slowstart@(increase=maxfs)", &[4, 8, 4, 20]);
    let mut second = thousands(15, 20);
    second.extend([20_000, 20_000]);
    let expected = [thousands(11, 14), second, vec![20_000; 4], thousands(21, 40)];
    for (round, (windows, expected)) in (1..).zip(windows.iter().zip(&expected)) {
        assert_eq!(windows, expected, "round {round}");
    }
    assert_eq!(
        rounds("slowstart@(increase=literal)", &[4, 8, 4, 20]),
        expected,
        "where nothing is cut the letter of the draft is the same"
    );
}

/// Shows RFC9002 7.8-1.
#[test]
fn the_same_example_under_the_gate_of_rfc_9002() {
    let windows = rounds("slowstart", &[4, 8, 4, 20]);
    let last: Vec<u64> = windows.iter().map(|round| round[round.len() - 1]).collect();
    assert_eq!(last, [10_000, 13_000, 13_000, 23_000]);
}

/// Shows RATELIMITED 3-limit.
#[test]
fn the_example_in_segments() {
    let windows = rounds("slowstart@(increase=maxfs)", &[10, 4]);
    assert_eq!((windows[0][9], windows[1][3]), (20_000, 20_000), "unconstrained it would be 24");
}

/// Shows RATELIMITED 3-cut.
#[test]
fn after_a_cut_the_next_flight_is_the_first_to_count() {
    for arm in ["slowstart/reno@(increase=maxfs)", "slowstart/cubic@(increase=literal)"] {
        let mut rig = Rig::with(arm, config(Transport::Tcp, 10 * MSS));
        rig.fill();
        rig.wait(2_000);
        rig.timeout(Timeout::Rto);
        assert_eq!(rig.c.cwnd(), MSS);
        rig.ack(MSS);
        assert_eq!(
            rig.c.cwnd(),
            MSS,
            "{arm}: nothing was sent since the cut, so nothing is proven"
        );
        rig.send(MSS);
        rig.ack(MSS);
        assert_eq!(rig.c.cwnd(), 2 * MSS, "{arm}: now a flight is");
    }
}

/// Shows RATELIMITED 3-cut.
#[test]
fn a_false_alarm_gives_the_measured_flight_back() {
    let mut rig = Rig::quic("slowstart@(increase=maxfs)", 10 * MSS);
    rig.fill();
    rig.loss(MSS, MSS);
    rig.c.on_spurious();
    assert_eq!(rig.c.cwnd(), 10 * MSS);
    rig.ack(MSS);
    assert_eq!(rig.c.cwnd(), 11 * MSS, "within twice the ten packets of before the cut");
}

/// Shows RATELIMITED 3-literal.
#[test]
fn to_the_letter_an_unused_window_falls_to_what_was_seen_since_the_cut() {
    // (option, the window after the first small flight that follows a cut to 14 packets)
    for (increase, expected) in [("maxfs", 14_000), ("literal", 4_000)] {
        let arm = format!("slowstart/reno(beta=0.7)/immediate@(increase={increase})");
        let mut rig = Rig::quic(&arm, 20 * MSS);
        rig.fill();
        rig.loss(19 * MSS, MSS);
        assert_eq!(rig.c.cwnd(), 14 * MSS, "the cut");
        rig.complete_after_losses_of(3);
        assert_eq!(rig.c.cwnd(), expected, "{increase}: three packets out, one segment more");
    }
}

/// Shows RATELIMITED 3-limit, RATELIMITED cubic-reach.
#[test]
fn each_algorithm_has_its_own_bound() {
    // (arm, window after 2 idle rounds of 10 packets in avoidance or its startup)
    for (arm, most) in [
        ("slowstart", 20_000),
        ("hystart++", 20_000),
        ("rapid(jump=off)", 30_000),
        ("limited(max=4)", 12_000),
    ] {
        let windows = rounds(&format!("{arm}@(increase=maxfs)"), &[10, 10, 10, 10, 10, 10]);
        let last = windows[5][9];
        assert_eq!(last, most, "{arm}: flights of ten packets prove no more");
    }
    for (avoidance, most) in [("reno", 11_000), ("cubic", 15_000)] {
        let mut rig = Rig::quic(&format!("oracle(exit=10000)/{avoidance}@(increase=maxfs)"), 9_000);
        for _ in 0..400 {
            rig.send(10_000u64.min(rig.c.cwnd() / MSS * MSS));
            rig.wait(30);
            while rig.inflight() > 0 {
                rig.ack(MSS);
            }
        }
        let cwnd = rig.c.cwnd();
        assert!(
            (11_000..=most).contains(&cwnd),
            "{avoidance}: a window of {cwnd} over flights of ten packets"
        );
    }
}

/// A sender that always fills its window over a path that loses nothing.
fn filled(arm: &str, acks: usize) -> Vec<u64> {
    let arm = Arm::parse(arm).expect("an arm of the test");
    let mut c = arm.with_oracle(200_000).controller(Config::quic(1_200), Time(0), Seq(0));
    let (rtt, mut sent, mut una, mut windows) = (Nanos::from_millis(30), 0u64, 0u64, Vec::new());
    let mut now = Time(0);
    for _ in 0..acks {
        now += Nanos::from_millis(1);
        let ready =
            Ready { now, nxt: Seq(sent), srtt: Some(rtt), backlog: u64::MAX, ..Ready::default() };
        c.before_send(&ready);
        while c.admits(1_200, (sent - una) * 1_200) {
            sent += 1;
            let inflight = (sent - una) * 1_200;
            c.on_sent(&Sent { now, bytes: 1_200, nxt: Seq(sent), inflight, srtt: Some(rtt) });
        }
        una += 1;
        c.hear(&Told {
            now,
            acked: 1_200,
            acked_fresh: 1_200,
            rtt: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            una: Seq(una),
            nxt: Seq(sent),
            advanced: true,
            tx_acked: Some(una - 1),
            tx_next: sent,
            inflight_before: (sent - una + 1) * 1_200,
            inflight: (sent - una) * 1_200,
            cwnd_limited: true,
            ..Told::default()
        });
        windows.push(c.cwnd());
    }
    windows
}

#[test]
fn a_window_that_is_filled_grows_as_ever() {
    for increase in ["maxfs", "literal"] {
        for arm in ["slowstart", "rapid", "hystart++", "limited"] {
            let usual = filled(arm, 2_000);
            let other = filled(&format!("{arm}@(increase={increase})"), 2_000);
            let apart = usual.iter().zip(&other).position(|(usual, other)| usual != other);
            assert_eq!(apart, None, "{arm} with {increase}: the first ACK that grows otherwise");
        }
        // A window of avoidance is no whole number of packets, a flight is: what the flight cannot
        // fill waits for the next packet.
        for arm in ["oracle/reno", "oracle/cubic"] {
            let usual = filled(arm, 2_000);
            let other = filled(&format!("{arm}@(increase={increase})"), 2_000);
            let apart = usual.iter().zip(&other).map(|(usual, other)| usual.abs_diff(*other)).max();
            assert!(apart <= Some(2_400), "{arm} with {increase}: {apart:?} bytes apart");
        }
    }
}

proptest! {
    /// Shows RATELIMITED 3-limit.
    #[test]
    fn no_window_outgrows_what_was_sent(
        offered in prop::collection::vec(1u64..60, 1..40),
        arm in prop::sample::select(vec!["slowstart", "hystart++", "rapid(jump=off)", "search", "best"]),
    ) {
        let windows = rounds(&format!("{arm}@(increase=maxfs)"), &offered);
        let (mut most, factor) = (10, if arm.starts_with("rapid") { 3 } else { 2 });
        for (packets, round) in offered.iter().zip(&windows) {
            // A sender that waits for ACKs may have grown while its packets left.
            most = most.max(*packets);
            let last = round[round.len() - 1];
            prop_assert!(last <= factor * most * MSS, "{arm}: {last} bytes after at most {most} packets");
            prop_assert!(round.windows(2).all(|pair| pair[0] <= pair[1]), "{arm}: it never shrinks");
        }
    }
}
