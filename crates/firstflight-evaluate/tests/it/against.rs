//! Two reports of one battery.

use crate::{asked, battery_of, run};
use firstflight_evaluate::{Effort, Older, Report, Verdict, junit, markdown};

const LOSS: &str = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms,queue=0.25bdp\"\nfor = \"20s\"\nflow = [{ who = \"@algorithm\", count = 4 }]\njudge = [{ metric = \"loss\", rule = \"not-more-than-baseline\", margin = 0.01 }]\n";

fn report(algorithm: &str) -> Report {
    run(&asked(battery_of(LOSS), algorithm, Effort::Quick))
}

fn older(report: &Report) -> Older {
    Older::parse("old.json", &report.to_json().expect("numbers")).expect("an answer")
}

#[test]
fn what_has_become_worse_is_named_and_what_has_become_better_is_not() {
    let (mild, wild) = (report("slowstart/reno"), report("slowstart/reno(beta=0.99)/immediate"));
    assert_ne!(mild.criteria[0].verdict, Verdict::Concern, "{:?}", mild.criteria[0].judges);
    let worse = wild.against(&older(&mild), 0.0).expect("the same battery");
    assert!(!worse[0].worse.is_empty(), "more loss is worse: {worse:?}");
    let better = mild.against(&older(&wild), 0.0).expect("the same battery");
    assert_eq!(better[0].worse, Vec::<String>::new());
    let xml = junit(&worse, &wild);
    assert!(xml.contains("failures=\"1\"") && xml.contains("<failure message="), "{xml}");
    assert!(markdown(&worse, &older(&mild), &wild).contains("has become worse in 1 criteria"));
    let wide = wild.against(&older(&mild), 10.0).expect("the same battery");
    assert!(wide[0].worse.len() < worse[0].worse.len(), "a tolerance forgives: {wide:?}");
}

#[test]
fn another_battery_is_not_compared() {
    let mild = report("slowstart/reno");
    let other = battery_of(&LOSS.replace("20s", "21s"));
    let other = run(&asked(other, "slowstart/reno", Effort::Quick));
    let bad = other.against(&older(&mild), 0.0).expect_err("another battery").to_string();
    assert!(bad.contains("different battery"), "{bad}");
}
