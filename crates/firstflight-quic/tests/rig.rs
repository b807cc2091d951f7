//! The virtual-time rig: deterministic, complete, and the arm it names is the arm that ran.

use firstflight::{Nanos, Phase};
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_quic::rig::{Outcome, Setup, run};

fn trial(path: &str, arm: &str, object: u64) -> Outcome {
    let path = Path::parse(path).unwrap();
    let plan = Plan { initial_window: Some(10), ..Plan::parse(arm).unwrap() };
    let setup = Setup { path: &path, plan, datagram: 1472, ack_packet: 64, object, limit: Nanos::from_secs(120), seed: 7, path_index: 0 };
    run(&setup, None).unwrap()
}

const SLIDE: &str = "rate=100Mbit,rtt=30ms,queue=30ms";

#[test]
fn two_runs_are_the_same_run() {
    for arm in ["slowstart", "rapid", "hystart++"] {
        let runs = [(); 2].map(|()| format!("{:?}", trial("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%", arm, 3_000_000)));
        assert!(runs[0] == runs[1], "{arm}: the second run differs\n{}\n{}", runs[0], runs[1]);
    }
}

#[test]
fn a_trial_adds_up() {
    for arm in ["slowstart", "slowstart/reno/immediate", "best", "rapid"] {
        let outcome = trial(SLIDE, arm, 5_000_000);
        assert!(outcome.complete, "{arm}: not finished after {} ns", outcome.ttlb.0);
        assert_eq!(outcome.delivered, 5_000_000, "{arm}");
        let ideal = 30_000_000 + 5_000_000 * 8 * 10;
        assert!(outcome.ttlb.0 > ideal, "{arm}: {} ns is faster than the path", outcome.ttlb.0);
        assert!(outcome.delivered_after.unwrap() < outcome.ttlb, "{arm}: acknowledged before it was read");
        assert_eq!(outcome.spurious_losses, 0, "{arm}: nothing is reordered here");
        assert_eq!(outcome.packets_lost, outcome.packets_dropped, "{arm}: every loss is noticed");
        assert!(outcome.retransmissions >= outcome.packets_lost, "{arm}: every loss is repaired");
        assert!(outcome.queue_us.max() <= 30_120, "{arm}: a wait of {} us in a queue of 30 ms", outcome.queue_us.max());
    }
}

#[test]
fn the_controller_accounts_for_its_arm() {
    let outcome = trial(SLIDE, "hystart++/reno/immediate", 10_000_000);
    assert_eq!(outcome.account.arm.to_string(), "hystart++/reno/immediate");
    assert!(outcome.account.acks > 1000 && outcome.exit.is_some(), "{:?}", outcome.account);
    assert_ne!(outcome.account.phase, Phase::Startup, "the object is long enough to leave startup");
    let handshake = outcome.handshake_rtt.unwrap();
    assert!(handshake.0.abs_diff(30_000_000) < 120_000, "the handshake measured {} ns on an idle path of 30 ms", handshake.0);
}

#[test]
fn startup_leaves_as_each_arm_says() {
    for (arm, reason) in [("slowstart", "loss"), ("hystart", "train"), ("oracle(exit=375000)", "oracle")] {
        let exit = trial(SLIDE, arm, 10_000_000).exit.unwrap();
        assert_eq!(exit.reason.name(), reason, "{arm}");
    }
}

#[test]
fn a_jump_fills_the_first_round_trip_with_twice_the_initial_window() {
    let plain = trial(SLIDE, "rapid(jump=off)", 29_000);
    let jump = trial(SLIDE, "rapid", 29_000);
    assert_eq!((plain.packets_sent, jump.packets_sent), (21, 21), "21 packets either way");
    assert!(jump.delivered_after.unwrap() < plain.delivered_after.unwrap(), "the jump spares waiting for the first ACK");
}

#[test]
fn an_overshoot_with_thousands_of_gaps_is_received() {
    let outcome = trial("rate=100Mbit,rtt=600ms,queue=600ms", "slowstart", 60_000_000);
    assert!(outcome.complete && outcome.packets_dropped > 2000, "{} of {} dropped", outcome.packets_dropped, outcome.packets_sent);
    assert!(outcome.stream_window >= 60_000_000, "a window of {} bytes could have limited the flow", outcome.stream_window);
}

#[test]
fn a_path_that_delivers_nothing_stops_at_the_limit() {
    let path = Path::parse("rate=1Mbit,rtt=30ms").unwrap();
    let plan = Plan::parse("slowstart").unwrap();
    let limit = Nanos::from_secs(2);
    let setup = Setup { path: &path, plan, datagram: 1472, ack_packet: 64, object: 10_000_000, limit, seed: 1, path_index: 0 };
    let outcome = run(&setup, None).unwrap();
    assert!(!outcome.complete && outcome.ttlb == limit, "stopped after {} ns", outcome.ttlb.0);
}
