//! Arms through one bottleneck at the same time.

use firstflight::Nanos;
use firstflight_lab::flows::{App, Flows, JITTER, SharingFlow, fairness_ppm};
use firstflight_lab::sharing::SharingPlan;
use firstflight_lab::{Plan, Scenario, parse_arms};
use firstflight_path::Path;

#[test]
fn a_late_flow_of_another_arm_gets_its_share() {
    let path = Path::parse("rate=50Mbit,rtt=30ms,queue=1bdp").expect("a path");
    let scenario = Scenario { limit: Nanos::from_secs(60), ..Scenario::new(path, 1) };
    let arms = parse_arms("slowstart/reno,hystart++/reno").expect("two arms");
    let starts = [Nanos::ZERO, Nanos::from_secs(2)];
    let flow =
        |(arm, start)| SharingFlow { arm, app: App::Bulk(1 << 40), start, rtt_extra: Nanos::ZERO };
    let flows: Vec<_> = arms.into_iter().zip(starts).map(flow).collect();
    let outcome = scenario
        .run_flows(&Flows { sample: Some(Nanos::from_secs(10)), ..Flows::new(&flows, 1) }, None)
        .expect("it runs");
    assert_eq!(outcome.delivered.len(), 6, "a sample every 10 s, the first at the start");
    let shares = outcome.between(2, 5);
    let index = fairness_ppm(&shares);
    assert!(index >= 900_000, "30 s of both: {shares:?}, Jain's index {index} millionths");
}

fn sharing(flows: u32, arms: &str, cross: &str, bytes: u64) -> SharingPlan {
    let path = Path::parse("rate=50Mbit,rtt=30ms,queue=1bdp").expect("a path");
    let scenario = Scenario { limit: Nanos::from_secs(60), ..Scenario::new(path, bytes) };
    let plan = Plan { repeat: 2, ..Plan::new(parse_arms(arms).expect("arms"), scenario) };
    let cross = if cross.is_empty() { Vec::new() } else { parse_arms(cross).expect("arms") };
    SharingPlan {
        plan,
        flows,
        cross,
        apart: Nanos::from_millis(500),
        jitter: JITTER,
        app: App::Bulk(bytes),
        app_name: "bulk".into(),
    }
}

#[test]
fn flows_of_one_arm_share_and_the_report_says_how() {
    let result =
        sharing(3, "slowstart/reno,hystart++/reno", "", 40_000_000).run().expect("it runs");
    assert_eq!(result.rows.len(), 4, "two arms, two seeds");
    for row in &result.rows {
        assert!(row.complete && row.flows.len() == 3, "{}: three flows, all through", row.arm);
        let (jain, [from, to]) =
            row.jain.zip(row.shared_ms).expect("all three were under way for a while");
        assert!(jain > 0.5 && jain <= 1.0, "{}: Jain's index is {jain}", row.arm);
        assert!(
            from >= 1_000.0 && to > from,
            "{}: from the last start on: {from} to {to} ms",
            row.arm
        );
        let sum: f64 = row.flows.iter().filter_map(|flow| flow.share_mbps).sum();
        let all = row.goodput_mbps.expect("the same time");
        assert!(
            (sum - all).abs() < 1e-6 && all < 50.0,
            "{}: shares of {sum} Mbit/s add up to {all}",
            row.arm
        );
    }
    assert_eq!(result.table().len(), 2, "a line per arm");
}

#[test]
fn cross_traffic_comes_first_is_not_waited_for_and_threads_change_nothing() {
    let plan = sharing(1, "slowstart", "slowstart/reno,hystart++", 5_000_000);
    let json = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| plan.run()).expect("it runs").to_json()
    };
    assert_eq!(json(1), json(2), "the same bytes on one thread and on two");
    let row = plan.run().expect("it runs").rows.remove(0);
    let roles: Vec<&str> = row.flows.iter().map(|flow| flow.role).collect();
    assert_eq!(roles, ["cross", "cross", "arm"]);
    assert!(
        row.complete && !row.flows[0].flow.complete,
        "cross traffic never ends, and the trial ends all the same"
    );
}

#[test]
fn a_flow_that_never_shared_has_no_index() {
    let mut plan = sharing(2, "slowstart", "", 10_000);
    plan.apart = Nanos::from_secs(5);
    let row = plan.run().expect("it runs").rows.remove(0);
    assert_eq!(
        (row.complete, row.jain, row.goodput_mbps),
        (true, None, None),
        "one was through before the other began"
    );
}
