//! Controllers of the kernel compared with the core, on the ACKs of real connections. Needs root;
//! otherwise the tests pass with a message that says what is missing.

use firstflight_lab::conform::{Judge, Rule, RuleRow, Verdict, kernel_counterpart, of_kernel};
use firstflight_lab::{NamedArm, Scenario, hosts_of_tcp, parse_arms};
use firstflight_path::Path;
use std::sync::{Mutex, PoisonError};

/// Names of controllers are global to the machine, so one test at a time.
static ONE: Mutex<()> = Mutex::new(());
const MSS: u64 = 1448;

fn arm(text: &str) -> NamedArm {
    parse_arms(text).expect("an arm").swap_remove(0)
}

/// On a path whose queue overflows once; nothing where it cannot run.
fn beside(name: &str, against: &str) -> Option<Verdict> {
    let path = Path::parse("rate=20Mbit,rtt=40ms,queue=40ms").expect("a path");
    let scenario =
        Scenario { host: hosts_of_tcp("rack").expect("hosts"), ..Scenario::new(path, 6_000_000) };
    let against = arm(against);
    let judge = Judge::new(*against.arm().expect("ours"), MSS);
    match of_kernel(name, &against, &scenario, 1, judge) {
        Ok(verdict) => Some(verdict),
        Err(bad) if bad.to_string().contains("needs") => {
            println!("skipped: {bad}");
            None
        }
        Err(bad) => panic!("{bad}"),
    }
}

fn row(verdict: &Verdict, rule: Rule) -> &RuleRow {
    verdict.rules.iter().find(|row| row.rule == rule).expect("the rule was put to the test")
}

/// Leaves out Linux's own rules in docs/referee.md: growth in slow start by ACKs of more than
/// eight packets, which a busy machine makes; a second reduction by losses within a recovery; the one
/// or two ACKs of a recovery between two whole packets.
#[test]
fn the_kernels_cubic_and_reno_do_what_ours_do() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for name in ["cubic", "reno", "cubic(hystart=off)"] {
        let against = kernel_counterpart(name).expect("there is one like it");
        let Some(verdict) = beside(name, &against) else { return };
        assert!(verdict.acks > 500, "{name}: 2 MB are more than {} ACKs", verdict.acks);
        for rule in [Rule::InitialWindow, Rule::Avoidance] {
            let row = row(&verdict, rule);
            assert_eq!(row.on_its_own, 0, "{name}: {}: {:?}", rule.name(), row.first);
        }
        let recovery = row(&verdict, Rule::Recovery);
        assert!(
            recovery.on_its_own * 20 <= recovery.events,
            "{name}: the window in recovery is that of ours: {recovery:?}"
        );
        if let Some(first) = &row(&verdict, Rule::Reduction).first {
            let (theirs, ours) = (first.step.theirs.cwnd_before, first.step.ours.cwnd_before);
            assert!(
                theirs.abs_diff(ours) > MSS,
                "{name}: from equal windows the reduction is that of ours: {first:?}"
            );
        }
    }
}

#[test]
fn a_planted_cut_is_found_in_the_kernels_reduction() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let planted = "slowstart/cubic(profile=linux,beta=0.5)/prr(mode=linux)";
    let Some(verdict) = beside("cubic(hystart=off)", planted) else { return };
    let row = row(&verdict, Rule::Reduction);
    assert!(row.differ > 0, "a cut to half of the window is none to 0.7: {row:?}");
    let step = &row.first.as_ref().expect("the first").step;
    let kept =
        |side: firstflight_lab::conform::Side| side.target() as f64 / side.cwnd_before as f64;
    assert!((kept(step.theirs) - 0.7).abs() < 0.01, "the kernel keeps 0.7: {step:?}");
    assert!((kept(step.ours) - 0.5).abs() < 0.01, "what was planted keeps 0.5: {step:?}");
}

#[test]
fn what_cannot_be_traced_is_refused_with_what_can() {
    let against = arm("slowstart");
    let path = Path::parse("rapid-slide").expect("a path");
    let judge = Judge::new(*against.arm().expect("ours"), MSS);
    let error = of_kernel("westwood", &against, &Scenario::new(path, 1_000), 1, judge)
        .expect_err("there is no such controller to trace")
        .to_string();
    assert!(
        error.contains("kernel:westwood") && error.contains("kernel:reno") && !error.contains('\n'),
        "one line with what there is: {error}"
    );
}
