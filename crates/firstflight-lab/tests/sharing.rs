//! Arms through one bottleneck at the same time.

use firstflight::Nanos;
use firstflight_lab::sharing::{App, SharingFlow, fairness_ppm};
use firstflight_lab::{Ground, parse_arms};
use firstflight_path::Path;

#[test]
fn a_late_flow_of_another_arm_gets_its_share() {
    let path = Path::parse("rate=50Mbit,rtt=30ms,queue=1bdp").expect("a path");
    let ground = Ground { limit: Nanos::from_secs(60), ..Ground::new(path, 1) };
    let arms = parse_arms("slowstart/reno,hystart++/reno").expect("two arms");
    let starts = [Nanos::ZERO, Nanos::from_secs(2)];
    let flow = |(arm, start)| SharingFlow { arm, app: App::Bulk(1 << 40), start, rtt_extra: Nanos::ZERO };
    let flows: Vec<_> = arms.into_iter().zip(starts).map(flow).collect();
    let outcome = ground.run_flows(&flows, 1, Some(Nanos::from_secs(10))).expect("it runs");
    assert_eq!(outcome.delivered.len(), 6, "a sample every 10 s, the first at the start");
    let shares = outcome.between(2, 5);
    let index = fairness_ppm(&shares);
    assert!(index >= 900_000, "30 s of both: {shares:?}, Jain's index {index} millionths");
}
