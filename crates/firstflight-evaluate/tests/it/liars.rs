//! Receivers that make false claims, over QUIC and TCP.

use crate::{asked, battery_of, row, run};
use firstflight_evaluate::{CriterionRow, Effort, Evaluation, cells};

fn evaluated(scenario: &str, algorithm: &str) -> CriterionRow {
    let mut report = run(&asked(battery_of(scenario), algorithm, Effort::Quick));
    assert_eq!(report.broken, Vec::<String>::new());
    report.criteria.remove(0)
}

fn gain(transport: &str, lie: &str, algorithm: &str) -> f64 {
    let scenario = format!(
        r#"
[[scenario]]
id = "lie"
path = "rate=20Mbit,rtt=80ms,queue=1bdp"
for = "1s"
seeds = 2
transport = "{transport}"
flow = [{{ who = "@algorithm", lie = "{lie}" }}]
judge = [{{ metric = "gain", of = "algorithm", rule = "report" }}]
"#
    );
    row(&evaluated(&scenario, algorithm), "gain", "lie").value.expect("it sends")
}

#[test]
fn what_did_not_arrive_opens_the_window_if_it_is_acknowledged() {
    for transport in ["quic", "tcp:rack", "tcp:reno"] {
        let gain = gain(transport, "optimistic", "slowstart/reno");
        assert!(gain > 2.0, "{transport}: believed, a receiver provokes {gain} times the packets");
    }
}

#[test]
fn duplicates_tell_nothing_where_packets_have_numbers_or_sack_says_what_arrived() {
    for transport in ["quic", "tcp:rack"] {
        let gain = gain(transport, "duplicates", "slowstart/reno");
        assert!((0.99..1.01).contains(&gain), "{transport}: {gain}");
    }
    // Three of them are a loss by RFC 5681, whatever was lost.
    let without = gain("tcp:reno", "duplicates", "slowstart/reno");
    assert!((without - 1.0).abs() > 0.05, "without SACK they are believed: {without}");
}

#[test]
fn false_delays_are_bounded_by_what_the_receiver_had_announced() {
    // RFC 9002 5.3: no more than max_ack_delay is taken off, and nothing below the smallest sample.
    let gain = gain("quic", "delays", "slowstart/reno");
    assert!((0.9..1.1).contains(&gain), "{gain}");
}

#[test]
fn an_object_gets_through_to_a_receiver_that_reneges() {
    let scenario = |lie: &str| {
        format!(
            r#"
[[scenario]]
id = "reneges"
path = "rate=20Mbit,rtt=80ms,queue=0.25bdp"
for = "120s"
seeds = 2
transport = "tcp:rack"
flow = [{{ who = "@algorithm", app = "3MB"{lie} }}]
judge = [
  {{ metric = "unfinished", of = "algorithm", rule = "report" }},
  {{ metric = "fct_ms", of = "algorithm", rule = "report" }},
]
"#
        )
    };
    let honest = evaluated(&scenario(""), "slowstart/reno");
    let reneging = evaluated(&scenario(", lie = \"reneges\""), "slowstart/reno");
    let [honest_ms, reneging_ms] = [&honest, &reneging]
        .map(|criterion| row(criterion, "fct_ms", "reneges").value.unwrap_or(f64::INFINITY));
    assert_eq!(row(&reneging, "unfinished", "reneges").value, Some(0.0), "RFC 2018 8: it ends");
    assert!(reneging_ms > honest_ms, "what is discarded is sent again: {reneging_ms} {honest_ms}");
}

#[test]
fn lies_that_a_transport_cannot_tell_are_refused_in_a_line() {
    let scenario = |lie: &str| {
        format!(
            "[[scenario]]\nid = \"a\"\npath = \"rate=1Mbit,rtt=50ms\"\nfor = \"1s\"\nflow = [{{ who = \"@algorithm\", lie = \"{lie}\" }}]\njudge = [{{ metric = \"loss\", rule = \"report\" }}]\n"
        )
    };
    let battery = battery_of(&scenario("reneges"));
    let evaluation: Evaluation = asked(battery, "slowstart", Effort::Quick);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let bad = firstflight_evaluate::evaluate(&evaluation, &|_| (), &stop).expect_err("over QUIC");
    assert!(bad.to_string().contains("QUIC cannot"), "{bad}");
    let bad = cells(&battery_of(&scenario("optimstic")), &[0], Effort::Quick).expect_err("a typo");
    assert!(bad.to_string().contains("did you mean `optimistic`?"), "{bad}");
}

#[test]
fn a_sender_that_skips_numbers_closes_the_connection_of_an_optimistic_receiver_only() {
    let scenario = |lie: &str, skips: u32| {
        format!(
            r#"
[[scenario]]
id = "skips"
path = "rate=20Mbit,rtt=80ms,queue=1bdp"
for = "2s"
seeds = 2
flow = [{{ who = "@algorithm"{lie}, skips = {skips} }}]
judge = [
  {{ metric = "closed", of = "algorithm", rule = "report" }},
  {{ metric = "gain", of = "algorithm", rule = "report" }},
]
"#
        )
    };
    let lie = ", lie = \"optimistic\"";
    for (lie, skips, closed) in [(lie, 100, 1.0), (lie, 0, 0.0), ("", 100, 0.0)] {
        let criterion = evaluated(&scenario(lie, skips), "slowstart/reno");
        let is = row(&criterion, "closed", "skips").value;
        assert_eq!(is, Some(closed), "{lie:?}, one in {skips}");
        let gain = row(&criterion, "gain", "skips").value.expect("it sends");
        assert_eq!(gain > 1.5, !lie.is_empty() && skips == 0, "{lie:?}, one in {skips}: {gain}");
    }
}
