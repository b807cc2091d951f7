//! Completion time is measured at the receiver: it grows with the object, does not include the
//! delayed ACK of an odd last packet, and is never below its bound.

use firstflight::Nanos;
use firstflight_lab::compare::Keep;
#[cfg(feature = "quic")]
use firstflight_lab::testbed::quic;
use firstflight_lab::testbed::sim;
use firstflight_lab::{Plan, Scenario, Testbed, TrialRow, hosts_of_tcp, parse_arms};
use firstflight_path::Path;

const PATHS: [&str; 10] = [
    "rate=100Mbit,rtt=30ms,queue=30ms",
    "rate=100Mbit,rtt=10ms,queue=10ms",
    "rate=20Mbit,rtt=5ms,queue=100ms",
    "rate=50Mbit,rtt=200ms,queue=unlimited",
    "rate=1Gbit,rtt=1ms,queue=10ms",
    "rate=10Mbit,rtt=40ms,queue=200ms,delay=before",
    "rate=10Mbit,rtt=40ms,queue=200ms,delay=behind",
    "rate=30Mbit,rtt=80ms,queue=80ms,up=500kbit",
    "rate=5Mbit,rtt=60ms,steps=200ms:20Mbit,queue=unlimited",
    "rate=40Mbit,rtt=25ms,queue=50ms,overhead=38B",
];

const ARMS: &str = "slowstart,hystart,hystart++,search,best,rapid,rapid-nojump,jumpstart,oracle";

fn rows(scenario: Scenario, arms: &str) -> Vec<TrialRow> {
    rows_on(&sim::BED, scenario, arms)
}

fn rows_on(testbed: &'static dyn Testbed, scenario: Scenario, arms: &str) -> Vec<TrialRow> {
    let plan = Plan { testbed, ..Plan::new(parse_arms(arms).expect("arms"), scenario) };
    plan.run(Keep::Rows, &|| {}).expect("trials").rows
}

/// Forty sizes around an even number of packets, from more than a packet below it to more than one
/// above.
fn around(packets: u64, payload: u64) -> impl Iterator<Item = u64> {
    (0..40).map(move |step| packets * payload - 20 * 75 + step * 75)
}

/// Pairs of neighbouring sizes of which the larger is quicker, on the receiver's clock and on the
/// sender's, over trials that lose nothing.
fn inversions(scenario: &Scenario, payload: u64) -> (Vec<String>, usize, usize) {
    let (mut of_receiver, mut of_sender, mut pairs) = (Vec::new(), 0, 0);
    for boundary in [2, 10, 30, 64, 120] {
        let trials: Vec<Vec<TrialRow>> = around(boundary, payload)
            .map(|bytes| rows(Scenario { bytes, ..scenario.clone() }, ARMS))
            .collect();
        for (one, next) in trials.windows(2).map(|two| (&two[0], &two[1])) {
            for (small, large) in one.iter().zip(next).filter(|(a, b)| {
                [a, b].iter().all(|row| row.drops.is_some_and(|drops| drops.queue == 0))
            }) {
                pairs += 1;
                if large.ttlb_ms < small.ttlb_ms {
                    of_receiver.push(format!(
                        "{} on {}: {:?} ms, then {:?} ms",
                        small.arm, small.path, small.ttlb_ms, large.ttlb_ms
                    ));
                }
                of_sender += usize::from(large.acked_ms < small.acked_ms);
            }
        }
    }
    (of_receiver, of_sender, pairs)
}

#[test]
fn a_larger_object_is_never_complete_sooner() {
    let (mut of_sender, mut pairs) = (0, 0);
    for path in PATHS {
        let path = Path::parse(path).expect("a path");
        let quic = Scenario::new(path.clone(), 1);
        let tcp = Scenario { host: hosts_of_tcp("rack").expect("hosts"), ..Scenario::new(path, 1) };
        for (scenario, payload) in [(quic, 1436), (tcp, 1448)] {
            let (inverted, sender, seen) = inversions(&scenario, payload);
            assert_eq!(inverted, Vec::<String>::new(), "a larger object was delivered sooner");
            (of_sender, pairs) = (of_sender + sender, pairs + seen);
        }
    }
    assert!(pairs > 20_000, "only {pairs} pairs of trials lost nothing");
    // The point of the test: the sender sees an odd last packet late, and an even one after it
    // sooner.
    assert!(of_sender > 0, "the sender's clock shows no delayed ACK either");
}

/// 43 kB are 30 packets, two windows of slow start, and 44 kB are 31: the 31st goes with the third
/// window, and its ACK is a delayed one, which only the sender sees.
#[test]
fn an_odd_last_packet_costs_no_delayed_ack() {
    let of = |bytes| {
        rows(
            Scenario::new(Path::parse("rate=100Mbit,rtt=10ms,queue=10ms").expect("a path"), bytes),
            "slowstart",
        )
        .remove(0)
    };
    let (even, odd) = (of(43_000), of(44_000));
    let (even, odd) = (
        (even.ttlb_ms.unwrap(), even.acked_ms.unwrap()),
        (odd.ttlb_ms.unwrap(), odd.acked_ms.unwrap()),
    );
    assert!(
        odd.0 - even.0 < 10.0,
        "a packet more takes {} ms more on a round trip of 10 ms",
        odd.0 - even.0
    );
    assert!(odd.1 - even.1 > 25.0, "the sender waits {} ms longer", odd.1 - even.1);
}

/// Every kind of path: rates that vary, delays on either side, jitter and reordering, hand-overs,
/// ACKs that are held back.
const KINDS: [&str; 22] = [
    "rate=100Mbit,rtt=30ms,queue=30ms",
    "rate=1Gbit,rtt=1ms",
    "rate=2Mbit,rtt=300ms,queue=1bdp,loss=1%",
    "rate=10Mbit,rtt=40ms,delay=before",
    "rate=10Mbit,rtt=40ms,delay=behind",
    "rate=40Mbit,rtt=25ms,overhead=38B",
    "rate=20Mbit,rtt=50ms,jitter=20ms",
    "rate=20Mbit,rtt=50ms,reorder=5%:10ms",
    "rate=20Mbit,rtt=50ms,dup=2%",
    "rate=20Mbit,rtt=50ms,ge=0.5%:6:70%",
    "rate=20Mbit,rtt=50ms,queue=200ms,codel",
    "rate=5Mbit,rtt=60ms,steps=200ms:20Mbit/400ms:1Mbit",
    "rate=20Mbit,rtt=60ms,wander=0.3:1s",
    "rate=poisson:20Mbit,rtt=60ms",
    "rate=30Mbit,rtt=80ms,up=500kbit",
    "geo",
    "geo,return=geo_cold",
    "rate=50Mbit,rtt=40ms,return=lte",
    "rate=50Mbit,rtt=40ms,return=wifi",
    "rate=50Mbit,rtt=40ms,return=nic",
    "rate=100Mbit,rtt=40ms,return=leo",
    "rate=10Mbit,rtt=40ms,thin=4",
];

#[test]
fn no_sender_beats_the_bound_on_any_kind_of_path() {
    for text in KINDS {
        let path = Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for bytes in [1, 1436, 20_000, 150_000, 3_000_000] {
            for host in [None, Some(hosts_of_tcp("rack").expect("hosts"))] {
                let mut scenario = Scenario {
                    limit: Nanos::from_secs(3_600),
                    ..Scenario::new(path.clone(), bytes)
                };
                scenario.host = host.unwrap_or(scenario.host);
                for row in rows(scenario, &format!("{ARMS},slowstart@(iw=1000,pace=off)")) {
                    let ratio = row.vs_ideal.unwrap_or_else(|| panic!("{text}: no bound"));
                    assert!(
                        ratio >= 1.0,
                        "{} takes {ratio} of the bound with {bytes} B on {text}",
                        row.arm
                    );
                }
            }
        }
    }
}

/// A sender that puts everything on the path at once wastes nothing but headers.
#[test]
fn a_perfect_sender_comes_to_one_up_to_headers() {
    for text in [
        "rate=100Mbit,rtt=30ms",
        "rate=10Mbit,rtt=40ms,delay=before",
        "rate=10Mbit,rtt=40ms,delay=behind",
        "rate=5Mbit,rtt=60ms,steps=200ms:20Mbit",
    ] {
        let path = Path::parse(&format!("{text},queue=unlimited")).expect("a path");
        for bytes in [1_000_u64, 100_000, 1_400_000] {
            let row =
                rows(Scenario::new(path.clone(), bytes), "slowstart@(iw=1000,pace=off)").remove(0);
            let (ratio, ideal) = (row.vs_ideal.expect("a bound"), row.ideal_ms.expect("a bound"));
            // 64 bytes of headers in each packet, at 5 Mbit/s or more.
            let headers = bytes.div_ceil(1436) as f64 * 64.0 * 8.0 / 5e3;
            let most = (1.0 + headers / ideal).min(1.06);
            assert!(
                (1.0..=most).contains(&ratio),
                "{ratio} of the bound with {bytes} B on {text}, headers explain {most}"
            );
        }
    }
}

#[test]
fn a_limit_that_cuts_off_the_last_ack_leaves_a_completion_time() {
    let path = Path::parse("rate=100Mbit,rtt=100ms").expect("a path");
    let whole = rows(Scenario::new(path.clone(), 1_000), "slowstart").remove(0);
    let between = f64::midpoint(whole.ttlb_ms.unwrap(), whole.acked_ms.unwrap());
    let cut = Scenario { limit: Nanos((between * 1e6) as u64), ..Scenario::new(path, 1_000) };
    let cut = rows(cut, "slowstart").remove(0);
    assert_eq!((cut.complete, cut.ttlb_ms, cut.acked_ms), (true, whole.ttlb_ms, None));
}

/// Zero would be a measurement that nobody made.
#[cfg(feature = "quic")]
#[test]
fn what_a_real_stack_does_not_tell_is_null() {
    let path = Path::parse("rate=100Mbit,rtt=30ms,queue=30ms,loss=1%").expect("a path");
    let of = |testbed: &'static dyn Testbed| {
        serde_json::to_value(
            rows_on(testbed, Scenario::new(path.clone(), 500_000), "slowstart").remove(0),
        )
        .expect("a row")
    };
    let (sim, quic) = (of(&sim::BED), of(&quic::BED));
    for field in ["drops", "recoveries_timed_out"] {
        assert!(
            !sim[field].is_null() && quic[field].is_null(),
            "{field}: {} and {}",
            sim[field],
            quic[field]
        );
    }
    for field in ["rtos", "lost_retransmissions", "recoveries", "episodes"] {
        assert!(!quic[field].is_null(), "{field} is known to the rig");
    }
}

#[cfg(feature = "quic")]
#[test]
fn the_real_stack_in_virtual_time_is_timed_at_its_receiver() {
    let of = |bytes| {
        let path = Path::parse("rate=100Mbit,rtt=10ms,queue=10ms").expect("a path");
        rows_on(&quic::BED, Scenario::new(path, bytes), "slowstart").remove(0)
    };
    let trials: Vec<TrialRow> = around(30, 1436).map(of).collect();
    for two in trials.windows(2) {
        assert!(
            two[0].ttlb_ms <= two[1].ttlb_ms,
            "{:?} ms, then {:?} ms",
            two[0].ttlb_ms,
            two[1].ttlb_ms
        );
    }
    for row in &trials {
        assert!(
            row.ttlb_ms < row.acked_ms && row.vs_ideal.is_some_and(|ratio| ratio >= 1.0),
            "{row:?}"
        );
    }
    assert!(
        trials.iter().any(|row| row.acked_ms.unwrap() > row.ttlb_ms.unwrap() + 25.0),
        "an odd last packet is acknowledged late"
    );
}
