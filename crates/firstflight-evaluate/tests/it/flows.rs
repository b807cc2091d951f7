//! Flows that arrive at random, send in the opposite direction, share a tunnel, or are very slow.

use crate::{asked, battery_of, row, run};
use firstflight_evaluate::{Battery, CriterionRow, Effort};

fn evaluated(scenario: &str, algorithm: &str) -> CriterionRow {
    let mut report = run(&asked(battery_of(scenario), algorithm, Effort::Quick));
    report.criteria.remove(0)
}

const SHORT: &str = r#"
[[scenario]]
id = "short"
path = "rate=20Mbit,up=20Mbit,rtt=40ms,queue=4bdp,up_queue=1bdp"
for = "20s"
seeds = 2
solo = "short"
flow = [
  { who = "@algorithm", reverse = REVERSE },
  { who = "slowstart", role = "short", count = 40, start = "2s", spread = "12s", app = "lognormal:11:1" },
]
judge = [
  { metric = "harm_fct", window = "whole", of = "short", rule = "report" },
  { metric = "unfinished", window = "whole", of = "short", rule = "report" },
  { metric = "x_mbps", window = "whole", of = "algorithm", rule = "report" },
  { metric = "queue_p50_ms", window = "whole", rule = "report" },
]
"#;

#[test]
fn short_flows_pay_for_the_queue_of_a_long_one() {
    let same = evaluated(&SHORT.replace("REVERSE", "false"), "slowstart");
    let harm = row(&same, "harm_fct", "short").value.expect("all are through");
    // CUBIC keeps some of 160 ms in the queue, of 40 ms without.
    assert!((0.3..0.95).contains(&harm), "harm of {harm}");
    assert_eq!(row(&same, "unfinished", "short").value, Some(0.0));
    let long = row(&same, "x_mbps", "short").value.expect("a rate");
    assert!((10.0..18.5).contains(&long), "the long flow has {long} of 20 Mbit/s less 0.4");
}

#[test]
fn a_long_flow_in_the_other_direction_fills_that_one_and_not_this() {
    let other = evaluated(&SHORT.replace("REVERSE", "true"), "slowstart");
    let long = row(&other, "x_mbps", "short").value.expect("a rate");
    assert!((15.0..19.5).contains(&long), "the long flow has {long} of 20 Mbit/s");
    let waits = row(&other, "queue_p50_ms", "short").value.expect("samples");
    assert!(waits < 5.0, "in the direction of the short flows {waits} ms wait");
    let harm = row(&other, "harm_fct", "short").value.expect("all are through");
    assert!((0.05..0.9).contains(&harm), "their ACKs wait behind its data: {harm}");
}

#[test]
fn flows_of_a_tunnel_have_one_share_of_flow_queues() {
    let scenario = r#"
[[scenario]]
id = "tunnel"
path = "rate=20Mbit,rtt=40ms,queue=4bdp,fq_codel"
for = "20s"
seeds = 2
flow = [
  { who = "slowstart", role = "inside", tunnel = true },
  { who = "@algorithm", tunnel = true },
  { who = "slowstart", role = "outside" },
]
judge = [
  { metric = "x_mbps", of = "outside", rule = "report" },
  { metric = "x_mbps", of = "inside", rule = "report" },
]
"#;
    let tunnel = evaluated(scenario, "slowstart/reno");
    let of = |role: &str| {
        let found = tunnel.judges.iter().find(|judge| judge.of == role);
        found.and_then(|judge| judge.value).expect("a rate")
    };
    assert!((8.5..10.0).contains(&of("outside")), "outside {} of 20", of("outside"));
    assert!((2.0..8.0).contains(&of("inside")), "inside {} of 20", of("inside"));
}

#[test]
fn lines_of_20_kbit_are_evaluated() {
    let mut battery = Battery::builtin().expect("it comes with the program");
    battery.criteria.retain(|criterion| criterion.criterion == "7.4");
    let sweep = &mut battery.criteria[0].scenario[0].sweep;
    for (name, value) in [("rate", "20kbit"), ("queue", "10pkt"), ("n", "1")] {
        sweep.insert(name.into(), vec![value.into()]);
    }
    battery.criteria[0].scenario[0].quick.clear();
    let report = run(&asked(battery, "slowstart/reno", Effort::Quick));
    let util = row(&report.criteria[0], "util", "slow:1,10pkt,20kbit").value.expect("a rate");
    assert!((0.6..0.98).contains(&util), "a use of {util}");
}

#[test]
fn frames_wait_in_the_queue_of_a_long_flow_and_not_in_a_queue_of_their_own() {
    let scenario = r#"
[[scenario]]
id = "media"
path = "rate=20Mbit,rtt=80ms,queue=$queue"
for = "30s"
seeds = 2
sweep.queue = ["4bdp", "4bdp,fq_codel"]
solo = "media"
flow = [
  { who = "slowstart/reno(beta=0.99)/immediate@(iw=200)", role = "media", app = "frames:12.5kB:30" },
  { who = "@algorithm", start = "5s" },
]
judge = [
  { metric = "harm_frame", of = "media", rule = "report" },
  { metric = "frame_p95_ms", of = "media", rule = "report" },
  { metric = "frame_late", of = "media", rule = "report" },
]
"#;
    let media = evaluated(scenario, "slowstart");
    let of = |metric, cell| row(&media, metric, cell).value.expect("frames");
    let (one, own) = ("media:4bdp", "media:4bdp,fq_codel");
    // Half a round trip and 5 ms for 12.5 kB; up to 320 ms in the queue of 4 BDP.
    assert!((150.0..700.0).contains(&of("frame_p95_ms", one)), "{}", of("frame_p95_ms", one));
    assert!((44.0..80.0).contains(&of("frame_p95_ms", own)), "{}", of("frame_p95_ms", own));
    assert!(of("harm_frame", one) > 0.5 && of("harm_frame", own) < 0.4, "{:?}", media.judges);
    assert!(of("frame_late", one) > 0.2 && of("frame_late", own) < 0.02, "{:?}", media.judges);
}

#[test]
fn who_hides_marks_takes_from_an_honest_flow() {
    let scenario = r#"
[[scenario]]
id = "lie"
path = "rate=20Mbit,rtt=40ms,queue=4bdp,pie,ecn"
for = "20s"
seeds = 2
flow = [{ who = "slowstart" }, { who = "@algorithm", hides_marks = LIES }]
judge = [{ metric = "ratio", of = "algorithm", rule = "report" }]
"#;
    let [honest, liar] = ["false", "true"].map(|lies| {
        let criterion = evaluated(&scenario.replace("LIES", lies), "slowstart");
        row(&criterion, "ratio", "lie").value.expect("rates")
    });
    assert!((0.5..2.0).contains(&honest) && liar > 3.0, "{honest} and {liar} times as much");
}
