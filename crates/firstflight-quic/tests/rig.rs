//! The virtual-time rig: deterministic, complete, and the arm it names is the arm that ran.

use firstflight::{Nanos, Phase};
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_quic::rig::{Control, Outcome, Setup, run};

fn trial(path: &str, arm: &str, object: u64) -> Outcome {
    let path = Path::parse(path).unwrap();
    let plan = Plan { initial_window: Some(10), ..Plan::parse(arm).unwrap() };
    let setup = Setup {
        path: &path,
        control: Control::Noq(plan),
        datagram: 1472,
        ack_packet: 64,
        object,
        limit: Nanos::from_secs(120),
        seed: 7,
        path_index: 0,
    };
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
    assert_eq!(outcome.account.unwrap().arm.to_string(), "hystart++/reno/immediate");
    assert!(outcome.account.unwrap().acks > 1000 && outcome.exit.is_some(), "{:?}", outcome.account);
    assert_ne!(outcome.account.unwrap().phase, Phase::Startup, "the object is long enough to leave startup");
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
    let control = Control::Noq(Plan::parse("slowstart").unwrap());
    let limit = Nanos::from_secs(2);
    let setup = Setup { path: &path, control, datagram: 1472, ack_packet: 64, object: 10_000_000, limit, seed: 1, path_index: 0 };
    let outcome = run(&setup, None).unwrap();
    assert!(!outcome.complete && outcome.ttlb == limit, "stopped after {} ns", outcome.ttlb.0);
}

#[cfg(feature = "quinn")]
mod quinn {
    use super::*;

    fn on(control: Control, path: &str, object: u64) -> Outcome {
        let path = Path::parse(path).unwrap();
        let setup =
            Setup { path: &path, control, datagram: 1472, ack_packet: 64, object, limit: Nanos::from_secs(120), seed: 7, path_index: 0 };
        run(&setup, None).unwrap()
    }

    #[test]
    fn a_trial_is_complete_the_same_twice_and_of_its_arm() {
        for arm in ["hystart++", "rapid(jump=off)", "slowstart/reno/immediate"] {
            let control = Control::Quinn(Plan::parse(arm).unwrap());
            let runs = [(); 2].map(|()| on(control, "rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%", 3_000_000));
            assert!(format!("{:?}", runs[0]) == format!("{:?}", runs[1]), "{arm}: the second run differs");
            let account = runs[0].account.unwrap();
            assert!(runs[0].complete && runs[0].delivered == 3_000_000, "{arm}: {} bytes were read", runs[0].delivered);
            assert_eq!(account.arm, Plan::parse(arm).unwrap().arm);
            assert!(account.stats.loss_episodes > 0 && account.replays > 0, "{arm}: the loss reached the controller: {account:?}");
        }
    }

    #[test]
    fn an_episode_is_opened_once_and_not_once_per_report() {
        // quinn reports every pass that finds losses: hundreds of them in one overshoot.
        let outcome = on(Control::Quinn(Plan::parse("slowstart").unwrap()), SLIDE, 5_000_000);
        let (episodes, reports) = (outcome.account.unwrap().stats.loss_episodes, outcome.account.unwrap().replays);
        assert!(reports > 100 && episodes < 6, "{reports} reports of loss made {episodes} episodes");
    }

    #[test]
    fn arms_beat_the_cubic_that_quinn_brings_on_the_paths_they_were_made_for() {
        let shallow = "rate=100Mbit,rtt=60ms,queue=15ms";
        let table = [
            ("rapid(jump=off)", SLIDE, 10_000_000),
            ("hystart++", shallow, 10_000_000),
            ("slowstart/cubic/prr", shallow, 10_000_000),
            ("best", "rate=100Mbit,rtt=600ms,queue=600ms", 30_000_000),
        ];
        for (arm, path, object) in table {
            let ours = on(Control::Quinn(Plan::parse(arm).unwrap()), path, object).ttlb.0;
            let own = on(Control::QuinnCubic, path, object).ttlb.0;
            assert!(ours < own, "{arm} on {path}: {ours} ns, quinn's own CUBIC {own} ns");
        }
    }
}
