//! Mistakes of other systems, as tests: T4, T13 and T14. Tests of links are in `firstflight-path`,
//! tests of senders in `firstflight-sim`.

use firstflight_lab::arms::parse_arms;
use firstflight_lab::compare::Keep;
use firstflight_lab::record::Recording;
use firstflight_lab::{Plan, Scenario};
use firstflight_path::Path;
use firstflight_sim::Snapshot;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

/// Everything that happened to a download of 10 MB.
fn events(path: &Path, arm: &str) -> Vec<Snapshot> {
    let mut record = Recording::default();
    let named = parse_arms(arm).unwrap_or_else(|e| panic!("{e}")).remove(0);
    Scenario::new(path.clone(), 10_000_000)
        .simulate(&named, 1, Some(&mut record))
        .unwrap_or_else(|e| panic!("{arm} on {path}: {e}"));
    record.moments().iter().map(|moment| moment.state).collect()
}

/// State visible from outside: time, window and bytes in flight.
fn course(path: &Path, arm: &str) -> Vec<(u64, u64, u64)> {
    events(path, arm).iter().map(|state| (state.now.0, state.cwnd, state.inflight)).collect()
}

/// T4: ns-3's delay rule waits for twice the RTT. A queue that cannot hold it makes the rule a dead
/// letter, and a study of "HyStart's delay detector" one of plain slow start.
#[test]
fn the_delay_rule_of_ns3_is_dead_below_a_bdp_of_queue_and_that_of_linux_is_not() {
    for text in [
        "rate=100Mbit,rtt=30ms,queue=0.5bdp",
        "rate=100Mbit,rtt=30ms,queue=0.9bdp",
        "rate=20Mbit,rtt=140ms,queue=0.9bdp",
    ] {
        let path = path(text);
        let off = course(&path, "slowstart/cubic");
        let delay_only = course(&path, "hystart(profile=ns3,train=off)/cubic");
        assert!(
            delay_only == off,
            "{text}: the delay rule alone changes something, of {} and {} events",
            delay_only.len(),
            off.len()
        );
        let (train_only, both) = (
            course(&path, "hystart(profile=ns3,delay=off)/cubic"),
            course(&path, "hystart(profile=ns3)/cubic"),
        );
        assert!(train_only == both, "{text}: the delay rule changes something beside the train's");
    }
    // A queue that overflows before the next round trip begins tells nobody anything; this one
    // holds two.
    let roomy = path("rate=100Mbit,rtt=30ms,queue=2bdp");
    let linux = course(&roomy, "hystart(train=off)/cubic");
    assert!(
        linux != course(&roomy, "slowstart/cubic"),
        "{roomy}: the delay rule of Linux changes nothing"
    );
}

/// T13: arms of one comparison have one path.
#[test]
fn all_arms_of_a_comparison_have_its_path() {
    let arms = parse_arms("slowstart,rapid").expect("arms");
    let text = "rate=20Mbit,rtt=80ms,queue=1bdp";
    let plan = Plan::new(arms, Scenario::new(path(text), 1_000_000));
    let json = plan.run(Keep::Rows, &|| ()).expect("a comparison").to_json();
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let whole = |said: &serde_json::Value| path(said.as_str().expect("a path"));
    assert_eq!(whole(&document["experiment"]["path"]), path(text), "of the experiment");
    for row in document["results"].as_array().expect("results") {
        assert!(row["path"] == text, "{}: {} where {text} was asked for", row["arm"], row["path"]);
    }
}

/// T14: what is delivered over any interval is at most the rate times its true length, and one
/// packet.
#[test]
fn no_interval_delivers_more_than_the_rate_and_a_packet() {
    for text in [
        "rate=20Mbit,rtt=80ms,queue=1bdp",
        "rate=100Mbit,rtt=30ms,queue=30ms",
        "rate=933.1Mbit,rtt=10ms,queue=1bdp",
    ] {
        let path = path(text);
        let delivered: Vec<(u64, u64)> =
            events(&path, "oracle").iter().map(|state| (state.now.0, state.delivered)).collect();
        assert!(delivered.len() > 5_000, "{text}: only {} events", delivered.len());
        for apart in [1, 7, 100, 1_000] {
            for (begin, end) in delivered.iter().zip(&delivered[apart..]) {
                let allowed = u128::from(end.0 - begin.0) * u128::from(path.rate_bps())
                    / 8_000_000_000
                    + 1500;
                let bytes = end.1 - begin.1;
                assert!(
                    u128::from(bytes) <= allowed,
                    "{text}: {bytes} bytes between {} and {} ns, {allowed} are possible",
                    begin.0,
                    end.0
                );
            }
        }
    }
}
