//! Jump start: the jump is Rapid Start's (`rapid_start.rs`); here what a loss in it does.

use crate::hand_fed;
use crate::told::Told;

use firstflight::startup::jump_start::{JumpStart, Params};
use firstflight::{Nanos, Phase, Ready};
use hand_fed::{MSS, Usual, config, usual};

/// A jump of 60 packets in the air, of which the first `acked` were acknowledged one by one.
fn jumping(acked: u64) -> Usual<JumpStart> {
    let mut flow = usual(JumpStart::new(Params::default()), config(false));
    flow.c.before_send(&flow.ready());
    assert_eq!((flow.c.cwnd(), flow.c.phase()), (60 * MSS, Phase::Jump), "the jump");
    flow.send(60);
    for packet in 1..=acked {
        flow.una = packet;
        let ack = flow.acked(MSS);
        flow.ack(ack);
    }
    flow
}

/// A jump in the middle of a connection would be one into a path that nobody has looked at for long.
#[test]
fn after_a_pause_longer_than_a_timeout_nothing_jumps() {
    // (pause, timeout in ms; 0 while there is none)
    for (pause, timeout, jumps) in
        [(0, 90, true), (90, 90, true), (91, 90, false), (91, 0, true), (0, 0, true)]
    {
        let mut flow = usual(JumpStart::new(Params::default()), config(false));
        let (idle, timeout) = (Nanos::from_millis(pause), Nanos::from_millis(timeout));
        flow.c.before_send(&Ready { idle, timeout, ..flow.ready() });
        assert_eq!(
            flow.c.phase() == Phase::Jump,
            jumps,
            "{pause} ms of silence with a timeout of {timeout:?}"
        );
    }
}

/// Shows CR 3.5-2, CR 3.5-3, CR 3.5-4.
#[test]
fn the_retreat_starts_at_half_of_what_the_jump_has_proven_and_rises_with_every_further_packet() {
    // (packets acknowledged before the loss, the window at entry in packets)
    for (proven, entry) in [(50, 26), (10, 15), (0, 15)] {
        let mut flow = jumping(proven);
        flow.una += 3;
        let loss = flow.lost(2 * MSS, MSS);
        assert_eq!(
            flow.ack(loss),
            entry * MSS,
            "{proven} packets proven before, 2 by the ACK that reveals the loss"
        );
        assert_eq!(flow.c.ssthresh(), Some(flow.c.cwnd()), "threshold and window are one");
        flow.una += 1;
        let further = flow.acked(MSS);
        let expected = (entry * MSS).max((proven + 3) * MSS * 7 / 10);
        assert_eq!(
            flow.ack(further),
            expected,
            "one packet more: beta times {} packets, if that is more",
            proven + 3
        );
    }
}

/// Shows CR 3.5-1.
#[test]
fn a_loss_after_the_jump_was_validated_is_an_ordinary_one() {
    let mut flow = jumping(60);
    flow.send(10);
    flow.una += 1;
    let ack = flow.acked(MSS);
    let window = flow.ack(ack);
    let loss = flow.lost(0, MSS);
    flow.ack(loss);
    assert_eq!(flow.c.ssthresh(), Some(window * 7 / 10), "beta times the window");
}

/// Shows CR 3.5-1.
#[test]
fn marks_on_the_jump_end_it_without_a_retreat() {
    let mut flow = jumping(10);
    let window = flow.c.cwnd();
    let marked = Told { ce: true, ..flow.acked(MSS) };
    flow.ack(marked);
    assert_eq!(
        flow.c.ssthresh(),
        Some(window * 7 / 10),
        "marks say the packets arrived: an ordinary cut"
    );
    assert_ne!(flow.c.phase(), Phase::Jump);
}

/// The ACK of what was sent before the jump says nothing of it: the first of the jump keeps what was used.
#[test]
fn an_ack_of_older_packets_does_not_end_the_jump() {
    let mut flow = usual(JumpStart::new(Params::default()), config(false));
    flow.send(5);
    flow.c.before_send(&flow.ready());
    flow.send(40);
    for (una, phase) in [(4, Phase::Jump), (5, Phase::Jump), (6, Phase::Startup)] {
        flow.una = una;
        let ack = Told { inflight_before: 40 * MSS, ..flow.acked(MSS) };
        flow.ack(ack);
        assert_eq!(flow.c.phase(), phase, "the jump began behind packet 4, {una} are back");
    }
    assert_eq!(flow.c.cwnd() / MSS, 41, "what was in flight, and slow start's growth");
}
