//! Loss detection as an option of an arm: it has the effect of `--detection` for one arm, and
//! unknown values are refused.

use firstflight_lab::{Scenario, hosts_of_tcp, parse_arms};
use firstflight_path::Path;
use firstflight_sim::Outcome;

/// Objects of three segments on a path that loses a fifth: flights too small for three duplicate
/// ACKs.
fn trials(detection: &str, arm: &str) -> Vec<Outcome> {
    let path: Path = "rate=10Mbit,rtt=50ms,queue=100ms,loss=20%".parse().expect("a path");
    let scenario =
        Scenario { host: hosts_of_tcp(detection).expect("hosts"), ..Scenario::new(path, 3 * 1448) };
    let arms = parse_arms(arm).expect("an arm");
    (1..=60).map(|seed| scenario.simulate(&arms[0], seed, None).expect("a trial")).collect()
}

fn early(outcomes: &[Outcome]) -> u64 {
    outcomes.iter().map(|outcome| outcome.counters.early_retransmits).sum()
}

#[test]
fn early_retransmit_is_an_option_of_the_arm() {
    let off = trials("linux26", "slowstart");
    assert_eq!(early(&off), 0, "without the option nothing is repeated early");
    for option in ["naive", "a", "b", "ab"] {
        let on = trials("linux26", &format!("slowstart@(early={option})"));
        assert!(early(&on) > 0, "early={option} repeats early on flights of three segments");
        let (timeouts, without) = (
            on.iter().map(|o| o.counters.rtos).sum::<u64>(),
            off.iter().map(|o| o.counters.rtos).sum::<u64>(),
        );
        assert!(
            timeouts < without,
            "early={option} saves timeouts: {timeouts} of {without} are left"
        );
    }
}

#[test]
fn the_detection_of_an_arm_is_that_of_the_experiment_under_another_name() {
    for preset in ["linux26", "sack6675", "reno", "rack"] {
        let (by_host, by_arm) = (
            trials(preset, "slowstart"),
            trials("rack", &format!("slowstart@(detection={preset})")),
        );
        assert_eq!(format!("{by_host:?}"), format!("{by_arm:?}"), "{preset}: the same trials");
    }
}

#[test]
fn what_is_not_there_is_refused_in_a_line() {
    let path: Path = "rapid-slide".parse().expect("a path");
    let quic = Scenario::new(path.clone(), 10_000);
    let rack = Scenario { host: hosts_of_tcp("rack").expect("hosts"), ..quic.clone() };
    for (scenario, arm, words) in [
        (&quic, "slowstart@(detection=rack)", "--transport tcp"),
        (&quic, "slowstart@(early=ab)", "--transport tcp"),
        (&rack, "slowstart@(early=ab)", "linux26"),
    ] {
        let arms = parse_arms(arm).expect("an arm");
        let error = scenario.simulate(&arms[0], 1, None).expect_err("it is refused").to_string();
        assert!(
            error.contains(words) && !error.contains('\n'),
            "`{arm}` is refused with `{error}`"
        );
    }
}
