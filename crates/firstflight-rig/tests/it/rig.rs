//! The virtual-time rig is deterministic and complete, and runs exactly the arm that it names.

use firstflight::{Nanos, Phase, Time};
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_rig::{Control, Outcome, Own, OwnControl, Setup, run};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Observer, Snapshot};

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
        let runs = [(); 2].map(|()| {
            format!("{:?}", trial("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%", arm, 3_000_000))
        });
        assert!(runs[0] == runs[1], "{arm}: the second run differs\n{}\n{}", runs[0], runs[1]);
    }
}

#[test]
fn a_trial_adds_up() {
    for arm in ["slowstart", "slowstart/reno/immediate", "best", "rapid"] {
        let outcome = trial(SLIDE, arm, 5_000_000);
        assert!(outcome.complete, "{arm}: not finished after {} ns", outcome.acked_after.0);
        assert_eq!(outcome.delivered, 5_000_000, "{arm}");
        let ideal = 30_000_000 + 5_000_000 * 8 * 10;
        assert!(
            outcome.acked_after.0 > ideal,
            "{arm}: {} ns is faster than the path",
            outcome.acked_after.0
        );
        assert!(
            outcome.delivered_after.unwrap() < outcome.acked_after,
            "{arm}: acknowledged before it was read"
        );
        assert_eq!(outcome.counters.spurious_losses, Some(0), "{arm}: nothing is reordered here");
        assert_eq!(
            outcome.counters.packets_lost, outcome.counters.packets_dropped,
            "{arm}: every loss is noticed"
        );
        assert!(
            outcome.counters.retransmissions >= outcome.counters.packets_lost,
            "{arm}: every loss is repaired"
        );
        assert!(
            outcome.queue_us.max() <= 30_120,
            "{arm}: a wait of {} us in a queue of 30 ms",
            outcome.queue_us.max()
        );
    }
}

#[test]
fn the_controller_accounts_for_its_arm() {
    let outcome = trial(SLIDE, "hystart++/reno/immediate", 10_000_000);
    assert_eq!(outcome.status.unwrap().arm.to_string(), "hystart++/reno/immediate");
    assert!(outcome.status.unwrap().acks > 1000 && outcome.exit.is_some(), "{:?}", outcome.status);
    assert_ne!(
        outcome.status.unwrap().phase,
        Phase::Startup,
        "the object is long enough to leave startup"
    );
    let handshake = outcome.handshake_rtt.unwrap();
    assert!(
        handshake.0.abs_diff(30_000_000) < 120_000,
        "the handshake measured {} ns on an idle path of 30 ms",
        handshake.0
    );
}

#[test]
fn startup_leaves_as_each_arm_says() {
    for (arm, reason) in
        [("slowstart", "loss"), ("hystart", "train"), ("oracle(exit=375000)", "oracle")]
    {
        let exit = trial(SLIDE, arm, 10_000_000).exit.unwrap();
        assert_eq!(exit.reason.name(), reason, "{arm}");
    }
}

#[test]
fn a_jump_fills_the_first_round_trip_with_twice_the_initial_window() {
    let plain = trial(SLIDE, "rapid(jump=off)", 29_000);
    let jump = trial(SLIDE, "rapid", 29_000);
    assert_eq!(
        (plain.counters.packets_sent, jump.counters.packets_sent),
        (Some(21), Some(21)),
        "21 packets either way"
    );
    assert!(
        jump.delivered_after.unwrap() < plain.delivered_after.unwrap(),
        "the jump spares waiting for the first ACK"
    );
}

#[test]
fn an_overshoot_with_thousands_of_gaps_is_received() {
    let outcome = trial("rate=100Mbit,rtt=600ms,queue=600ms", "slowstart", 60_000_000);
    assert!(
        outcome.complete && outcome.counters.packets_dropped > Some(2000),
        "{:?} of {:?} dropped",
        outcome.counters.packets_dropped,
        outcome.counters.packets_sent
    );
    assert!(
        outcome.stream_window >= 60_000_000,
        "a window of {} bytes could have limited the flow",
        outcome.stream_window
    );
}

#[test]
fn a_path_that_delivers_nothing_stops_at_the_limit() {
    let path = Path::parse("rate=1Mbit,rtt=30ms").unwrap();
    let control = Control::Noq(Plan::parse("slowstart").unwrap());
    let limit = Nanos::from_secs(2);
    let setup = Setup {
        path: &path,
        control,
        datagram: 1472,
        ack_packet: 64,
        object: 10_000_000,
        limit,
        seed: 1,
        path_index: 0,
    };
    let outcome = run(&setup, None).unwrap();
    assert!(
        !outcome.complete && outcome.acked_after == limit,
        "stopped after {} ns",
        outcome.acked_after.0
    );
}

/// Counts the datagrams of the receiver.
#[derive(Default)]
struct Answers(u64);

impl Observer for Answers {
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}

    fn on_acknowledgement(&mut self, _flow: u32, _now: Time, _len: u32) {
        self.0 += 1;
    }
}

fn answers(path: &str) -> (u64, Outcome) {
    let path = Path::parse(path).unwrap();
    let control = Control::Noq(Plan::parse("oracle(exit=300000)").unwrap());
    let limit = Nanos::from_secs(120);
    let setup = Setup {
        path: &path,
        control,
        datagram: 1472,
        ack_packet: 64,
        object: 5_000_000,
        limit,
        seed: 1,
        path_index: 0,
    };
    let mut answers = Answers::default();
    let outcome = run(&setup, Some(&mut answers)).unwrap();
    (answers.0, outcome)
}

#[test]
fn what_the_receiving_host_merges_is_acknowledged_once() {
    let (plain, one) = answers(SLIDE);
    let (merged, other) = answers("rate=100Mbit,rtt=30ms,queue=30ms,gro=1ms:64kB");
    assert!(one.complete && other.complete && other.delivered == 5_000_000);
    let sent = |outcome: &Outcome| outcome.counters.packets_sent.unwrap();
    let (one, other) = (sent(&one), sent(&other));
    // A packet of 1500 bytes takes 120 us: the first of a batch and the eight of the next
    // millisecond, instead of two.
    assert!(plain.abs_diff(one / 2) < 50, "{plain} ACKs of {one} packets");
    assert!((other / 9..other / 6).contains(&merged), "{merged} ACKs of {other} packets");
}

#[test]
fn the_handshake_measures_the_idle_path_whatever_its_return_path_does() {
    for back in [
        "lte",
        "wifi",
        "geo_warm",
        "geo_cold",
        "leo",
        "nic",
        "batch:100ms:1",
        "lte,thin=4",
        "plain,thin=4",
        "lte,up_dup=10%",
    ] {
        let path = format!("rate=100Mbit,rtt=600ms,queue=30ms,return={back}");
        let outcome = trial(&path, "slowstart", 300_000);
        let handshake = outcome.handshake_rtt.unwrap();
        assert!(outcome.complete, "{back}: not finished after {} ns", outcome.acked_after.0);
        assert!(
            handshake.0.abs_diff(600_000_000) < 120_000,
            "{back}: the handshake measured {} ns",
            handshake.0
        );
    }
}

/// A stack with its own controller.
fn stack(own: Own) -> Control {
    let beside = Plan::parse("slowstart/cubic/immediate").expect("an arm");
    Control::Own(OwnControl { own, initial_window: 10, beside })
}

#[cfg(feature = "quinn")]
mod quinn {
    use super::*;

    fn on(control: Control, path: &str, object: u64) -> Outcome {
        let path = Path::parse(path).unwrap();
        let setup = Setup {
            path: &path,
            control,
            datagram: 1472,
            ack_packet: 64,
            object,
            limit: Nanos::from_secs(120),
            seed: 7,
            path_index: 0,
        };
        run(&setup, None).unwrap()
    }

    #[test]
    fn a_trial_is_complete_the_same_twice_and_of_its_arm() {
        for arm in ["hystart++", "rapid(jump=off)", "slowstart/reno/immediate"] {
            let control = Control::Quinn(Plan::parse(arm).unwrap());
            let runs = [(); 2]
                .map(|()| on(control, "rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%", 3_000_000));
            assert!(
                format!("{:?}", runs[0]) == format!("{:?}", runs[1]),
                "{arm}: the second run differs"
            );
            let status = runs[0].status.unwrap();
            assert!(
                runs[0].complete && runs[0].delivered == 3_000_000,
                "{arm}: {} bytes were read",
                runs[0].delivered
            );
            assert_eq!(status.arm, Plan::parse(arm).unwrap().arm);
            assert!(
                status.stats.loss_episodes > 0 && status.replays > 0,
                "{arm}: the loss reached the controller: {status:?}"
            );
        }
    }

    #[test]
    fn an_episode_is_opened_once_and_not_once_per_report() {
        // quinn reports every pass that finds losses: hundreds of them in one overshoot.
        let outcome = on(Control::Quinn(Plan::parse("slowstart").unwrap()), SLIDE, 5_000_000);
        let (episodes, reports) =
            (outcome.status.unwrap().stats.loss_episodes, outcome.status.unwrap().replays);
        assert!(
            reports > 100 && episodes < 6,
            "{reports} reports of loss made {episodes} episodes"
        );
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
            let ours = on(Control::Quinn(Plan::parse(arm).unwrap()), path, object).acked_after.0;
            let own = on(stack(Own::QuinnCubic), path, object).acked_after.0;
            assert!(ours < own, "{arm} on {path}: {ours} ns, quinn's own CUBIC {own} ns");
        }
    }
}
