//! The QUIC stacks' own controllers as arms.

use firstflight_lab::compare::Keep;
use firstflight_lab::testbed::{quic, sim};
use firstflight_lab::{Comparison, Plan, STACK_ARMS, Scenario, Testbed, parse_arms};
use firstflight_path::Path;

fn compare(testbed: &'static dyn Testbed, arms: &str, bytes: u64) -> Result<Comparison, String> {
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), bytes);
    let arms = parse_arms(arms).map_err(|error| error.to_string())?;
    let plan = Plan { testbed, ..Plan::new(arms, scenario) };
    plan.run(Keep::Events, &|| {}).map_err(|error| error.to_string())
}

fn all() -> String {
    STACK_ARMS.iter().map(|arm| arm.name).collect::<Vec<_>>().join(",")
}

#[test]
fn every_controller_of_a_stack_runs_there_and_what_it_does_not_say_is_unknown() {
    let comparison = compare(&quic::BED, &all(), 10_000_000).expect("runs");
    for (row, arm) in comparison.rows.iter().zip(STACK_ARMS) {
        assert!(row.complete && row.arm_full == arm.name, "{row:?}");
        assert!(
            row.recoveries.is_none() && row.episodes.is_none(),
            "{}: nobody sees its recoveries: {row:?}",
            arm.name
        );
        assert_eq!(
            row.retransmitted_bytes.is_some(),
            arm.name.starts_with("noq"),
            "{}: quinn does not say which packets it declares lost",
            arm.name
        );
        let has_threshold = !arm.name.contains("bbr");
        let exit = row.exit.as_ref().map(|exit| exit.reason);
        let expected = has_threshold.then_some("loss");
        assert_eq!(exit, expected, "{}: slow start on this path ends by loss", arm.name);
    }
    for (record, arm) in comparison.records.iter().zip(STACK_ARMS) {
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
    let steady = "noq:cubic,noq:newreno,quinn:cubic,quinn:newreno";
    let runs = [(); 2].map(|()| compare(&quic::BED, steady, 3_000_000).expect("runs").to_json());
    assert!(runs[0] == runs[1], "the second comparison differs");
    assert!(!runs[0].contains("not repeatable"), "{}", runs[0]);
    let comparison = compare(&quic::BED, "noq:bbr3,noq:cubic", 100_000).expect("runs");
    let warned: Vec<&String> =
        comparison.warnings.iter().filter(|line| line.contains("not repeatable")).collect();
    assert!(warned.len() == 1 && warned[0].starts_with("noq:bbr3 is"), "{warned:?}");
}

#[test]
fn a_controller_of_a_stack_is_refused_elsewhere_and_a_mistyped_one_is_answered() {
    let line = compare(&sim::BED, "noq:cubic", 1_000).expect_err("refused");
    assert!(line.contains("testbed `quic` only"), "{line}");
    let line = compare(&quic::BED, "noq:qubic", 1_000).expect_err("refused");
    assert!(line.contains("did you mean `noq:cubic`?") && line.contains("quinn:bbr"), "{line}");
    assert_eq!(compare(&quic::BED, "NOQ:Cubic", 1_000).expect("runs").rows[0].arm, "NOQ:Cubic");
}
