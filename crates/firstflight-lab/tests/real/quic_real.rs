//! The testbed `quic` over real sockets: trials complete, use their arm, and take about as long as
//! in virtual time. The exact time is not tested, because the machine may be busy.

use firstflight::Phase;
use firstflight_lab::compare::Keep;
use firstflight_lab::testbed::{quic, quic_real};
use firstflight_lab::{Comparison, Plan, Scenario, Testbed, TrialRow, hosts_of_tcp, parse_arms};
use firstflight_path::Path;

fn plan(arms: &str, path: &str, bytes: u64) -> Plan {
    let scenario = Scenario::new(Path::parse(path).unwrap(), bytes);
    Plan { testbed: &quic_real::BED, ..Plan::new(parse_arms(arms).unwrap(), scenario) }
}

fn run(arms: &str, path: &str, bytes: u64, keep: Keep) -> Comparison {
    plan(arms, path, bytes).run(keep, &|| {}).unwrap()
}

#[test]
fn a_trial_over_real_sockets_is_complete_and_of_its_arm() {
    let comparison = run(
        "slowstart,hystart++,rapid",
        "rate=100Mbit,rtt=20ms,queue=20ms",
        2_000_000,
        Keep::Signals,
    );
    for (row, record) in comparison.rows.iter().zip(&comparison.records) {
        let TrialRow { arm, complete, ttlb_ms, ideal_ms, .. } = row;
        assert!(complete, "{arm} is not finished");
        assert_eq!(row.testbed, "quic-real");
        let (ttlb, ideal) = (ttlb_ms.unwrap(), ideal_ms.unwrap());
        assert!(ttlb > ideal, "{arm}: {ttlb} ms is less than the path takes, {ideal} ms");
        let packets = row.packets_sent.unwrap();
        assert!(packets >= 2_000_000 / 1472, "{arm}: {packets} packets");
        assert!(
            record.moments().len() > 1000,
            "{arm}: {} events were kept",
            record.moments().len()
        );
        let longest = row.queue_ms.max.unwrap();
        assert!(longest <= 20.2, "{arm}: a wait of {longest} ms in a queue of 20 ms");
    }
    assert!(
        comparison.rows[0].exit.as_ref().is_some_and(|exit| exit.reason == "loss"),
        "{:?}",
        comparison.rows[0].exit
    );
}

#[test]
fn an_arm_that_jumps_has_the_rtt_of_the_handshake_and_jumps() {
    // The server sends its SETTINGS before the handshake is acknowledged.
    let comparison = run(
        "rapid,jumpstart,rapid-nojump",
        "rate=100Mbit,rtt=20ms,queue=20ms",
        200_000,
        Keep::Signals,
    );
    let jumped = |index: usize| {
        comparison.records[index].moments().iter().any(|moment| moment.state.phase == Phase::Jump)
    };
    let arms: Vec<_> =
        comparison.rows.iter().map(|row| row.arm.clone()).zip((0..3).map(jumped)).collect();
    assert_eq!(
        arms.iter().map(|(_, jumped)| *jumped).collect::<Vec<_>>(),
        [true, true, false],
        "{arms:?}"
    );
}

#[test]
fn an_object_that_takes_too_long_is_unfinished_and_no_error() {
    let mut plan = plan("slowstart", "rate=1Mbit,rtt=20ms", 5_000_000);
    plan.scenario.limit = firstflight::Nanos::from_millis(700);
    let row = &plan.run(Keep::Rows, &|| {}).unwrap().rows[0];
    assert!(!row.complete && row.ttlb_ms.is_none(), "{row:?}");
}

#[test]
fn chance_is_the_same_as_in_virtual_time() {
    let row = |testbed: &'static dyn Testbed| {
        let mut plan =
            plan("slowstart", "rate=50Mbit,rtt=20ms,queue=unlimited,loss_every=100", 1_000_000);
        plan.testbed = testbed;
        plan.run(Keep::Rows, &|| {}).unwrap().rows[0].clone()
    };
    let (rig, real) = (row(&quic::BED), row(&quic_real::BED));
    // One of a hundred, counted from the first packet of the object.
    for row in [&rig, &real] {
        let (sent, lost) = (row.packets_sent.unwrap(), row.packets_lost.unwrap());
        assert!(lost.abs_diff(sent / 100) <= 2, "{}: {lost} of {sent} lost", row.testbed);
    }
}

#[test]
fn tcp_is_refused() {
    let mut plan = plan("slowstart", "rate=100Mbit,rtt=20ms", 1000);
    plan.scenario.host = hosts_of_tcp("rack").unwrap();
    let Err(error) = plan.run(Keep::Rows, &|| {}) else { panic!("TCP is not QUIC") };
    assert!(error.as_str().contains("QUIC"), "{error}");
}
