//! The QUIC stacks' own controllers as arms.

use firstflight_lab::compare::Keep;
#[cfg(feature = "s2n")]
use firstflight_lab::hosts_of_tcp;
use firstflight_lab::testbed::{quic, sim};
use firstflight_lab::{Comparison, Plan, STACK_ARMS, Scenario, StackArm, Testbed, parse_arms};
use firstflight_path::Path;

fn compare(testbed: &'static dyn Testbed, arms: &str, bytes: u64) -> Result<Comparison, String> {
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), bytes);
    let arms = parse_arms(arms).map_err(|error| error.to_string())?;
    let plan = Plan { testbed, ..Plan::new(arms, scenario) };
    plan.run(Keep::Events, &|| {}).map_err(|error| error.to_string())
}

/// s2n-quic needs a newer compiler and has a feature of its own.
fn built() -> impl Iterator<Item = &'static StackArm> {
    STACK_ARMS.iter().filter(|arm| cfg!(feature = "s2n") || !arm.name.starts_with("s2n"))
}

fn names(arms: impl Iterator<Item = &'static StackArm>) -> String {
    arms.map(|arm| arm.name).collect::<Vec<_>>().join(",")
}

#[test]
fn every_controller_of_a_stack_runs_there_and_what_it_does_not_say_is_unknown() {
    let comparison = compare(&quic::BED, &names(built()), 10_000_000).expect("runs");
    for (row, arm) in comparison.rows.iter().zip(built()) {
        assert!(row.complete && row.arm_full == arm.name, "{row:?}");
        assert!(
            row.recoveries.is_none() && row.episodes.is_none(),
            "{}: nobody sees its recoveries: {row:?}",
            arm.name
        );
        assert_eq!(
            row.retransmitted_bytes.is_some(),
            !arm.name.starts_with("quinn"),
            "{}: quinn does not say which packets it declares lost",
            arm.name
        );
        let has_threshold = !arm.name.contains("bbr");
        let exit = row.exit.as_ref().map(|exit| exit.reason);
        // That of s2n-quic has a hybrid slow start, which leaves before this queue is full.
        let by = if arm.name == "s2n:cubic" { "threshold" } else { "loss" };
        let expected = has_threshold.then_some(by);
        assert_eq!(exit, expected, "{}: how slow start on this path ends", arm.name);
    }
    for (record, arm) in comparison.records.iter().zip(built()) {
        let first = record.moments().first().expect("a moment").state.cwnd;
        // BBR counts the packets of the handshake, too.
        assert!(
            (14_720..16_000).contains(&first),
            "{}: ten datagrams of 1472 bytes, not {first}",
            arm.name
        );
        let largest = record.moments().iter().map(|moment| moment.state.cwnd).max();
        assert!(largest > Some(100_000), "{}: its own window is drawn: {largest:?}", arm.name);
    }
}

#[test]
fn what_is_not_repeatable_says_so_and_the_rest_is_the_same_twice() {
    let steady = names(built().filter(|arm| arm.varies.is_none()));
    let runs = [(); 2].map(|()| compare(&quic::BED, &steady, 3_000_000).expect("runs").to_json());
    assert!(runs[0] == runs[1], "the second comparison differs");
    assert!(!runs[0].contains("not repeatable"), "{}", runs[0]);
    let comparison = compare(&quic::BED, "noq:bbr3,noq:cubic", 100_000).expect("runs");
    let warned: Vec<&String> =
        comparison.warnings.iter().filter(|line| line.contains("not repeatable")).collect();
    assert!(warned.len() == 1 && warned[0].starts_with("noq:bbr3 is"), "{warned:?}");
}

/// With s2n-quic's own order of work and the simulator's packets, and the same twice.
#[cfg(feature = "s2n")]
#[test]
fn controllers_of_s2n_quic_run_in_the_simulator() {
    let run = || compare(&sim::BED, "s2n:cubic,s2n:bbr,slowstart", 10_000_000).expect("runs");
    let comparison = run();
    let [cubic, bbr, slow] = &comparison.rows[..] else { panic!("three rows") };
    for row in [cubic, bbr] {
        assert!(row.complete && row.testbed == "sim" && row.arm_full == row.arm, "{row:?}");
        let times = (row.ttlb_ms, slow.ttlb_ms);
        let (Some(theirs), Some(ours)) = times else { panic!("{times:?}") };
        assert!(theirs < 2.0 * ours, "{}: {theirs} ms, slow start {ours} ms", row.arm);
        assert!(row.loss_ratio < slow.loss_ratio, "{}: leaves before slow start does", row.arm);
    }
    for record in &comparison.records[..2] {
        let first = record.moments().first().expect("a moment").state.cwnd;
        assert_eq!(first, 14_720, "ten datagrams of 1472 bytes");
    }
    assert!(comparison.to_json() == run().to_json(), "the second comparison differs");
    let tcp = hosts_of_tcp("rack").expect("a preset");
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), 1_000);
    let scenario = Scenario { host: tcp, ..scenario };
    let plan = Plan::new(parse_arms("s2n:cubic").expect("an arm"), scenario);
    let refused = plan.run(Keep::Rows, &|| {}).expect_err("TCP");
    assert!(refused.as_str().contains("--transport tcp"), "{refused:?}");
}

#[test]
fn a_controller_of_a_stack_is_refused_elsewhere_and_a_mistyped_one_is_answered() {
    let line = compare(&sim::BED, "noq:cubic", 1_000).expect_err("refused");
    assert!(line.contains("testbed `quic` only"), "{line}");
    let line = compare(&quic::BED, "noq:qubic", 1_000).expect_err("refused");
    assert!(line.contains("did you mean `noq:cubic`?") && line.contains("quinn:bbr"), "{line}");
    assert_eq!(compare(&quic::BED, "NOQ:Cubic", 1_000).expect("runs").rows[0].arm, "NOQ:Cubic");
}
