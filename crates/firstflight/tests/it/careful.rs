//! Careful Resume: the figures of RFC 9959's examples and both sides of its tests. Amounts are
//! packets of 1000 bytes; ten go out first, a window of 300 over 600 ms was saved.

use crate::bbr::Pipe;
use crate::rig::{MSS, Rig};
use crate::told::Told;

use firstflight::{Congestion, ExitReason, Nanos, Phase, Ready, Seq, Time, Timeout, Transport};
use proptest::prelude::*;

const ARM: &str = "careful(saved=300,rtt=600)";
/// Bytes sent and acknowledged before the flight that the examples begin with.
const FIRST: u64 = 10;

/// The first round trip is acknowledged and `flight` packets are out; the next burst may jump.
fn reconnoitred(arm: &str, transport: Transport, flight: u64, rtt: Nanos) -> Rig {
    let mut rig = Rig::new(arm, transport, FIRST * MSS);
    rig.rtt = rtt;
    rig.send(FIRST * MSS);
    rig.now += rtt;
    rig.ack(MSS);
    rig.send(flight * MSS);
    rig.ack((FIRST - 1) * MSS);
    rig
}

/// The jump of the examples: 29 packets out, `sent` more in the jump.
fn jumping(arm: &str, transport: Transport, sent: u64) -> Rig {
    let mut rig = reconnoitred(arm, transport, 29, Nanos::from_millis(600));
    rig.send(sent * MSS);
    rig
}

fn packets(rig: &Rig) -> (u64, u64) {
    (rig.c.cwnd() / MSS, rig.signal("careful_pipe").expect("PipeSize") / MSS)
}

/// Shows CR9959 jump-half, CR9959 recon-data, CR9959 unvalidated-entry, CR9959 unvalidated-pacing.
#[test]
fn row_1_a_jump_to_half_of_what_was_saved() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut rig = reconnoitred(ARM, transport, 29, Nanos::from_millis(600));
        assert_eq!(rig.c.phase(), Phase::Startup, "nothing before the next burst");
        rig.send(MSS);
        assert_eq!(packets(&rig), (150, 29));
        assert_eq!(rig.c.phase(), Phase::Jump);
        let sent = (1..=121).filter(|&sent| rig.c.admits(MSS, (29 + sent - 1) * MSS)).count();
        assert_eq!(sent, 121);
        assert_eq!(rig.c.pacing_rate().map(|rate| rate.0), Some(150 * MSS * 10 / 6));
    }
}

/// Shows CR9959 check-1, CR9959 validating-end, CR9959 validating-growth.
#[test]
fn row_2_the_jump_is_validated_packet_by_packet() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut rig = jumping(ARM, transport, 121);
        rig.ack(30 * MSS);
        assert_eq!(packets(&rig), (150, 30), "packet 30 arrived, 150 were in flight");
        rig.ack(119 * MSS);
        assert_eq!(packets(&rig), (150 + 119, 149), "slow start by packets of the jump");
        rig.ack(MSS);
        assert_eq!(packets(&rig).1, 150, "and the last of them");
        rig.fill();
        rig.ack(MSS);
        assert_eq!(packets(&rig).1, 150, "what follows is not of the jump");
        assert_eq!(rig.c.exit(), None, "slow start goes on");
    }
}

/// Shows CR9959 check-1, CR9959 unvalidated-still.
#[test]
fn rows_3_and_4_a_jump_that_was_not_used_is_cut_to_what_was() {
    // (flight at the jump, sent in it, window after the check, PipeSize)
    for (flight, sent, window, pipe) in
        [(29, 50, 50, 30), (29, 21, 29, 29), (29, 5, 29, 29), (6, 2, 10, 6)]
    {
        let mut rig = reconnoitred(ARM, Transport::Quic, flight, Nanos::from_millis(600));
        rig.send(sent * MSS);
        assert_eq!(packets(&rig), (150, flight));
        rig.ack((flight - 1) * MSS);
        assert_eq!(packets(&rig), (150, flight), "neither full nor long nor validated");
        if pipe == flight {
            // More than a round trip after the jump, with an older packet's ACK.
            rig.wait(601);
            rig.ack(MSS);
        } else {
            rig.ack(MSS);
            rig.ack(MSS);
        }
        assert_eq!(packets(&rig), (window, pipe), "{sent} packets sent on top of {flight}");
    }
}

#[test]
fn the_ack_of_older_packets_and_the_first_of_the_jump_checks_it() {
    let mut rig = jumping(ARM, Transport::Quic, 50);
    rig.ack(28 * MSS);
    assert_eq!(packets(&rig), (150, 29), "one packet is older than the jump");
    rig.ack(2 * MSS);
    assert_eq!(packets(&rig), (51, 30), "the flight before this ACK, and what it proves");
}

/// Shows CR9959 retreat-1, CR9959 retreat-window, CR9959 retreat-still,
/// CR9959 retreat-pipe, CR9959 retreat-exit, CR9959 pipe-1.
#[test]
fn row_5_a_loss_retreats_to_half_of_the_pipe() {
    let mut rig = jumping(ARM, Transport::Quic, 121);
    rig.ack(63 * MSS);
    let timer = Told { lost: MSS, tx_lost: Some(FIRST + 63), rtt: None, ..rig.record(0) };
    rig.deliver(&timer);
    assert_eq!((rig.c.cwnd(), rig.c.in_recovery()), (31_500, true), "PS 63");
    rig.ack(85 * MSS);
    assert_eq!((rig.c.cwnd(), rig.c.in_recovery()), (31_500, true), "one window for all of it");
    let last = Told { una: Seq(FIRST + 150), ..rig.record(MSS) };
    rig.deliver(&last);
    assert_eq!((rig.c.cwnd(), rig.c.ssthresh()), (31_500, Some(74_500)), "PS 149");
    assert!(!rig.c.in_recovery(), "over with the last packet of the jump");
    assert_eq!(rig.c.exit().map(|exit| exit.reason), Some(ExitReason::Loss));
}

/// Shows CR9959 retreat-1, CR9959 pipe-1, CR9959 retreat-exit.
#[test]
fn row_6_a_marked_packet_was_delivered_and_retreats_all_the_same() {
    for (beta, ssthresh) in [("", 75_000), (",beta=1", 150_000)] {
        let mut rig = jumping(&format!("careful(saved=300,rtt=600{beta})"), Transport::Quic, 121);
        rig.ack(63 * MSS);
        rig.marked(MSS);
        assert_eq!(rig.c.cwnd(), 32_000, "PS 64");
        rig.ack(86 * MSS);
        assert_eq!((rig.c.cwnd(), rig.c.ssthresh()), (32_000, Some(ssthresh)), "PS 150");
        rig.fill();
        rig.ack(MSS);
        assert_eq!(rig.c.phase(), Phase::Startup, "slow start up to the threshold");
    }
}

/// Shows CR9959 recon-rtt.
#[test]
fn row_7_another_rtt_is_another_path() {
    for (ns, jumps) in
        [(300_000_000, false), (300_000_001, true), (6_000_000_000, true), (6_000_000_001, false)]
    {
        let mut rig = reconnoitred(ARM, Transport::Quic, 5, Nanos(ns));
        rig.send(MSS);
        assert_eq!(rig.c.cwnd() == 150 * MSS, jumps, "a smallest RTT of {ns} ns");
    }
    let mut rig = reconnoitred("careful(saved=300)", Transport::Quic, 5, Nanos(1));
    rig.send(MSS);
    assert_eq!(rig.c.cwnd(), 150 * MSS, "no RTT was saved");
}

/// Shows CR9959 recon-congestion.
#[test]
fn row_8_congestion_before_the_jump_prevents_it() {
    for (lost, ce) in [(MSS, false), (0, true)] {
        let mut careful = Rig::quic(ARM, FIRST * MSS);
        let mut usual = Rig::quic("slowstart", FIRST * MSS);
        for rig in [&mut careful, &mut usual] {
            rig.rtt = Nanos::from_millis(600);
            rig.fill();
            rig.ack(4 * MSS);
            let hit = Told { lost, ce, tx_lost: (lost > 0).then_some(4), ..rig.record(MSS) };
            rig.deliver(&hit);
            rig.complete_after_losses();
        }
        assert_eq!(careful.c.cwnd(), usual.c.cwnd(), "as slow start, lost {lost}, marks {ce}");
    }
}

/// Shows CR9959 jump-half.
#[test]
fn row_9_a_jump_has_a_limit_and_has_to_be_one() {
    for (arm, window) in
        [("careful(saved=300,max=100)", 100), ("careful(saved=18)", 20), ("careful", 20)]
    {
        let mut rig = reconnoitred(arm, Transport::Quic, 5, Nanos::from_millis(600));
        rig.send(MSS);
        assert_eq!(rig.c.cwnd() / MSS, window, "{arm}");
    }
}

/// Shows CR9959 timeout-1.
#[test]
fn row_10_a_timeout_is_a_timeout() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut rig = jumping(ARM, transport, 121);
        rig.ack(40 * MSS);
        rig.timeout(Timeout::Rto);
        assert_eq!(rig.c.exit().map(|exit| exit.reason), Some(ExitReason::Timeout));
        assert!(!rig.c.in_recovery());
        let before = packets(&rig).1;
        rig.ack(MSS);
        assert_eq!(packets(&rig).1, before, "nothing is counted any more");
    }
}

/// Shows CR9959 path-changed.
#[test]
fn an_rtt_of_half_during_the_jump_retreats_without_a_loss() {
    let mut rig = jumping(ARM, Transport::Quic, 121);
    rig.rtt = Nanos::from_millis(300);
    rig.ack(30 * MSS);
    assert_eq!((rig.c.cwnd(), rig.c.in_recovery()), (15_000, false), "half of PS 30");
    rig.ack(119 * MSS);
    assert_eq!(rig.c.cwnd(), 15_000, "it stays");
    rig.ack(MSS);
    assert_eq!((rig.c.cwnd(), rig.c.ssthresh()), (16_000, Some(75_000)), "slow start goes on");
}

#[test]
fn nothing_is_sent_in_a_jump_before_all_of_the_first_round_trip_is_back() {
    let mut rig = Rig::quic(ARM, FIRST * MSS);
    rig.rtt = Nanos::from_millis(600);
    rig.fill();
    for packet in 1..FIRST {
        rig.ack(MSS);
        rig.fill();
        assert_eq!(rig.c.cwnd(), (FIRST + packet) * MSS, "{packet} packets of the first are back");
    }
    rig.ack(MSS);
    rig.fill();
    assert_eq!(rig.c.cwnd(), 150 * MSS);
}

/// Shows CR9959 recon-data.
#[test]
fn an_ack_of_the_handshake_is_not_the_first_round_trip() {
    let mut rig = Rig::quic(ARM, FIRST * MSS);
    rig.rtt = Nanos::from_millis(600);
    rig.send(MSS);
    let ack = Told { rtt: None, ..rig.record(MSS) };
    rig.deliver(&ack);
    rig.fill();
    assert_eq!((rig.c.cwnd(), rig.c.phase()), ((FIRST + 1) * MSS, Phase::Startup));
}

/// Without saved values it is slow start, and by option HyStart++, ACK by ACK.
#[test]
fn without_a_saved_set_it_is_what_it_grows_by() {
    for (careful, usual) in [
        ("careful", "slowstart"),
        ("careful(hystart=on)", "hystart++"),
        // A jump that would not be one.
        ("careful(hystart=on,saved=2)", "hystart++"),
    ] {
        let mut pipes = [careful, usual].map(|arm| Pipe::new(arm, 1_250_000, 40_000_000));
        for (until, what) in [(600, "startup"), (1_500, "after a timeout"), (4_000, "and on")] {
            let windows = pipes.each_mut().map(|pipe| {
                pipe.queue = 60_000;
                let mut windows = Vec::new();
                while pipe.go(until, |pipe| windows.last() != Some(&pipe.c.cwnd())) {
                    windows.push(pipe.c.cwnd());
                }
                windows
            });
            assert!(windows[1].len() > 20, "{usual}, {what}: {} windows", windows[1].len());
            assert_eq!(windows[0], windows[1], "{careful}, {what}");
            assert_eq!(pipes[0].c.phase(), pipes[1].c.phase(), "{careful}, {what}");
            assert_eq!(pipes[0].c.pacing_rate(), pipes[1].c.pacing_rate(), "{careful}, {what}");
            for pipe in &mut pipes {
                pipe.c.on_congestion(&Congestion {
                    now: Time(pipe.now),
                    timeout: Timeout::Rto,
                    nxt: Seq(pipe.sent),
                    inflight_before: pipe.inflight,
                });
            }
        }
        let reasons = pipes.map(|pipe| pipe.c.exit().map(|exit| exit.reason));
        assert_eq!(reasons[0], reasons[1], "{careful}");
    }
}

/// After a silence longer than a timeout there is no jump.
#[test]
fn a_sender_that_was_silent_for_longer_than_a_timeout_does_not_jump() {
    for (idle, timeout, jumps) in
        [(1_000, 1_000, true), (1_001, 1_000, false), (5_000, 0, true), (0, 1_000, true)]
    {
        let mut rig = reconnoitred(ARM, Transport::Quic, 29, Nanos::from_millis(600));
        let ready = Ready {
            idle: Nanos::from_millis(idle),
            timeout: Nanos::from_millis(timeout),
            ..rig.ready()
        };
        rig.c.before_send(&ready);
        assert_eq!(rig.c.phase() == Phase::Jump, jumps, "{idle} ms with a timeout of {timeout}");
    }
}

/// Shows CR9959 recon-defer: it waits for more data than the window has room for.
#[test]
fn a_jump_waits_until_there_is_more_to_send_than_fits() {
    let mut rig = reconnoitred(ARM, Transport::Quic, 15, Nanos::from_millis(600));
    let room = rig.c.cwnd() - rig.inflight();
    for (backlog, phase) in [(room, Phase::Startup), (room + 1, Phase::Jump)] {
        rig.c.before_send(&Ready { backlog, ..rig.ready() });
        assert_eq!(rig.c.phase(), phase, "{backlog} bytes, room for {room}");
    }
}

/// Shows CR9959 check-1: a jump of which more than a round trip later nothing came back is checked by an
/// ACK of older packets, and so is one that fills the window.
#[test]
fn a_jump_is_checked_when_its_time_is_over_or_its_window_full() {
    for (wait, sent, checked) in
        [(600, 50, false), (601, 50, true), (0, 120, false), (0, 121, true)]
    {
        let mut rig = jumping(ARM, Transport::Quic, sent);
        rig.wait(wait);
        rig.ack(MSS);
        assert_eq!(rig.c.phase() != Phase::Jump, checked, "{wait} ms later, {sent} packets sent");
    }
}

proptest! {
    /// Shows CR9959 retreat-still, CR9959 jump-half.
    #[test]
    fn a_jump_is_at_most_half_and_a_retreat_does_not_rise(
        saved in 200u32..2_000,
        flight in 1u64..40,
        acked in 0u64..60,
        after in prop::collection::vec(1u64..5, 1..20),
        tcp in any::<bool>(),
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Quic };
        let arm = format!("careful(saved={saved},rtt=600)");
        let mut rig = reconnoitred(&arm, transport, flight, Nanos::from_millis(600));
        rig.c.before_send(&rig.ready());
        let window = rig.c.cwnd();
        prop_assert!(window <= u64::from(saved) * MSS / 2);
        prop_assume!(rig.c.phase() == Phase::Jump);
        rig.fill();
        let acked = acked.min(rig.inflight() / MSS - 2);
        for _ in 0..acked {
            rig.ack(MSS);
        }
        rig.loss(MSS, MSS);
        let retreat = rig.c.cwnd();
        prop_assert!(retreat <= window, "{retreat} after {window}");
        for packets in after {
            let bytes = (packets * MSS).min(rig.inflight());
            if bytes == 0 || !rig.c.in_recovery() {
                break;
            }
            rig.ack(bytes);
            prop_assert_eq!(rig.c.cwnd(), retreat);
        }
    }
}
