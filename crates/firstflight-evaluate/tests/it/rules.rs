//! Verdicts of rules on small scenarios with known outcomes.

use crate::{asked, battery_of, criterion, row, run};
use firstflight_evaluate::{Declaration, Effort, Evaluation, Verdict, evaluate};
use std::sync::atomic::AtomicBool;

const FLOW: &str = "flow = [{ who = \"@algorithm\" }]";

fn small(judge: &str) -> String {
    format!(
        "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,queue=1bdp\"\nfor = \"9s\"\n{FLOW}\njudge = [{{ {judge} }}]\n"
    )
}

fn evaluated(scenario: &str, algorithm: &str) -> firstflight_evaluate::Report {
    run(&asked(battery_of(scenario), algorithm, Effort::Quick))
}

#[test]
fn an_algorithm_that_behaves_as_the_baseline_passes_without_a_difference() {
    let report =
        evaluated(&small("metric = \"loss\", rule = \"not-more-than-baseline\""), "slowstart");
    let row = row(&report.criteria[0], "loss", "/a");
    assert!(report.algorithm_full == report.baseline_full, "the same arm under two names");
    assert_eq!(row.seeds, 5);
    assert!(row.difference.expect("runs").abs() < 0.01, "{row:?}");
    assert_eq!(report.criteria[0].verdict, Verdict::Pass);
}

#[test]
fn a_rule_with_a_limit_counts_seeds() {
    for (rule, verdict) in [
        ("rule = \"below\", limit = 0.5", Verdict::Concern),
        ("rule = \"below\", limit = 2", Verdict::Pass),
        ("rule = \"not-more-often-than-baseline\", limit = 0.5", Verdict::Pass),
        ("rule = \"above\", limit = 0.5", Verdict::Pass),
        ("rule = \"above\", limit = 1", Verdict::Concern),
        ("rule = \"report\"", Verdict::Report),
    ] {
        let judge = format!("metric = \"util\", window = \"whole\", {rule}");
        let report = evaluated(&small(&judge), "slowstart/reno");
        let found = &report.criteria[0];
        let value = row(found, "util", "/a").value.expect("runs");
        assert!((0.8..1.0).contains(&value), "of 5 Mbit/s Reno uses {value}");
        assert_eq!(found.verdict, verdict, "{rule}");
    }
}

#[test]
fn a_rate_that_rises_with_loss_is_found_and_one_that_falls_is_not() {
    let scenario = |values: &str| {
        format!(
            "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,loss=$loss\"\nfor = \"20s\"\nsweep.loss = [{values}]\n{FLOW}\njudge = [{{ metric = \"rate_pps\", rule = \"not-rising\", margin = 0.0 }}]\n"
        )
    };
    for (values, verdict) in
        [("\"1%\", \"5%\"", Verdict::Pass), ("\"5%\", \"1%\"", Verdict::Concern)]
    {
        let report = evaluated(&scenario(values), "slowstart/reno");
        assert_eq!(report.criteria[0].verdict, verdict, "{values}");
    }
}

#[test]
fn harm_compares_with_the_victim_alone() {
    let text = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,queue=1bdp\"\nfor = \"30s\"\nsolo = \"victim\"\nflow = [{ who = \"slowstart\", role = \"victim\" }, { who = \"@algorithm\", start = \"3s\" }]\njudge = [{ metric = \"harm_x\", of = \"victim\", rule = \"not-more-than-baseline\" }, { metric = \"harm_rtt\", of = \"victim\", rule = \"report\" }, { metric = \"ratio\", of = \"algorithm\", rule = \"report\" }]\n";
    let report = evaluated(text, "slowstart/reno");
    let harm = row(&report.criteria[0], "harm_x", "/a");
    let (ours, theirs) = (harm.value.expect("runs"), harm.baseline.expect("runs"));
    assert!((0.2..0.8).contains(&theirs), "two of CUBIC share: a harm of {theirs}");
    assert!(ours < theirs + 0.1, "Reno harms {ours}, CUBIC {theirs}");
}

#[test]
fn the_result_is_the_same_on_one_thread_and_on_many() {
    let battery = battery_of(&small("metric = \"loss\", rule = \"not-more-than-baseline\""));
    let evaluation = asked(battery, "rapid", Effort::Quick);
    let json = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| run(&evaluation)).to_json().expect("numbers")
    };
    assert_eq!(json(1), json(4));
}

#[test]
fn whoever_stops_it_keeps_what_is_there() {
    let battery = battery_of(&small("metric = \"loss\", rule = \"report\""));
    let evaluation = asked(battery, "rapid", Effort::Standard);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let stop = AtomicBool::new(false);
    let seen = std::sync::atomic::AtomicU32::new(0);
    let tick = |_| {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 2 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let report = pool.install(|| evaluate(&evaluation, &tick, &stop)).expect("three seeds");
    assert!(
        report.partial.as_deref().is_some_and(|why| why.contains("after 3 of 20")),
        "{:?}",
        report.partial
    );
    assert_eq!(row(&report.criteria[0], "loss", "/a").seeds, 3);
    let none = pool.install(|| evaluate(&evaluation, &|_| (), &AtomicBool::new(true)));
    assert_eq!(none.expect_err("nothing").to_string(), "stopped before any run was finished");
}

#[test]
fn what_a_declaration_excludes_is_not_run() {
    let battery = battery_of(&small("metric = \"loss\", rule = \"report\""));
    let declaration = Declaration { excludes: vec!["5.1.3".into()], ..Declaration::default() };
    let evaluation = Evaluation { declaration, ..asked(battery, "rapid", Effort::Quick) };
    let report = run(&evaluation);
    assert_eq!((report.runs, criterion(&report, "5.1.3").verdict), (0, Verdict::NotApplicable));
}

#[test]
fn numbers_of_a_known_run_are_what_they_must_be() {
    let text = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,queue=1bdp,steps=12s:off/14s:5Mbit\"\nfor = \"40s\"\nevent = \"14s\"\nflow = [{ who = \"@algorithm\" }, { who = \"slowstart/reno\", rtt = \"60ms\", stop = \"25s\" }]\njudge = [\n\
        { metric = \"t90_s\", window = \"whole\", rule = \"report\" },\n\
        { metric = \"gap_s\", window = \"whole\", of = \"algorithm\", rule = \"report\" },\n\
        { metric = \"queue_p99_ms\", window = \"whole\", rule = \"report\" },\n\
        { metric = \"x_mbps\", window = \"steady\", of = \"other\", rule = \"report\" },\n\
        { metric = \"rtt_p95_ms\", window = \"start\", of = \"other\", rule = \"report\" },\n\
        { metric = \"starved\", window = \"whole\", of = \"algorithm\", rule = \"report\" },\n\
        { metric = \"jain\", window = \"start\", rule = \"report\" }]\n";
    let report = evaluated(text, "slowstart/reno");
    let value = |metric: &str| row(&report.criteria[0], metric, "/a").value.expect(metric);
    let table = [
        ("t90_s", 0.0, 8.0, "it recovers from an outage within seconds"),
        ("gap_s", 1.9, 4.0, "nothing arrives in an outage of two seconds"),
        ("queue_p99_ms", 20.0, 41.0, "a queue of a BDP holds 40 ms"),
        ("x_mbps", 0.1, 2.5, "one of two has half while it is there, and is gone after 25 s"),
        ("rtt_p95_ms", 60.0, 101.0, "60 ms and what the queue holds"),
        ("starved", 0.0, 0.0, "nobody starves"),
        ("jain", 0.5, 1.0, "of two"),
    ];
    for (metric, low, high, why) in table {
        let value = value(metric);
        assert!((low..=high).contains(&value), "{metric} is {value}: {why}");
    }
}

#[test]
fn what_never_happens_is_as_late_as_the_end() {
    let text = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,queue=1bdp,steps=6s:off/200s:5Mbit\"\nfor = \"30s\"\nevent = \"6s\"\nflow = [{ who = \"@algorithm\", app = \"100MB\" }]\njudge = [\n\
        { metric = \"t90_s\", window = \"whole\", rule = \"not-more-than-baseline\" },\n\
        { metric = \"fct_ms\", window = \"whole\", rule = \"not-more-than-baseline\" }]\n";
    let report = evaluated(text, "slowstart/reno");
    for (metric, end) in [("t90_s", 24.0), ("fct_ms", 30_000.0)] {
        let row = row(&report.criteria[0], metric, "/a");
        let value = row.value.expect("a number");
        assert!((value - end).abs() <= 0.01 * end, "{metric} is {value} instead of {end}");
        assert_eq!(row.verdict, Verdict::Pass, "neither gets there: {row:?}");
    }
}
