//! Controllers that are not ours, compared with ours: exact ones agree on every ACK, and an
//! injected fault is reported with its rule.

use crate::students::{WITHOUT, faults};
use firstflight::fields::EVENT;
use firstflight::{Begin, Event};
use firstflight_lab::conform::{
    Foreign, Judge, OneOfOurs, Rule, RuleRow, Verdict, of_foreign, scenarios, table,
};
use firstflight_lab::{Error, NamedArm, parse_arms};

const CUBIC: &str = "slowstart/cubic/immediate";

fn arm(text: &str) -> NamedArm {
    parse_arms(text).expect("an arm").swap_remove(0)
}

fn judged(foreign: &mut dyn Foreign, against: &str, tolerance: u64) -> Vec<Verdict> {
    let against = arm(against);
    let judge = || Judge::new(*against.arm().expect("ours"), tolerance);
    let scenarios = scenarios().expect("paths");
    let verdict = |scenario| of_foreign(foreign, &against, scenario, 1, judge()).expect("runs");
    scenarios.iter().map(verdict).collect()
}

fn row(verdict: &Verdict, rule: Rule) -> Option<&RuleRow> {
    verdict.rules.iter().find(|row| row.rule == rule)
}

#[test]
fn each_planted_fault_fails_a_row_and_what_has_none_fails_no_row() {
    for (fault, against, mut foreign) in faults() {
        let found: u64 = judged(&mut *foreign, against, 1472)
            .iter()
            .flat_map(|verdict| &verdict.rules)
            .map(|row| row.differ)
            .sum();
        assert_eq!(found > 0, fault != WITHOUT, "{fault} beside {against}: {found} rows differ");
    }
}

/// One of ours with every reduction but the first 15 % deeper than it should be: what quinn's CUBIC
/// did until fast convergence no longer lowered the window twice (0.85 x 0.7 = 0.595).
struct CutsTwice {
    ours: OneOfOurs,
    cuts: u32,
    /// Reductions that the fault has taken off the window, as factors of 0.85.
    deeper: i32,
}

impl Foreign for CutsTwice {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        (self.cuts, self.deeper) = (0, 0);
        self.ours.begin(begin)
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        let before = self.ours.window().0;
        self.ours.tell(event)?;
        if self.ours.window().0 < before {
            self.cuts += 1;
            self.deeper += i32::from(self.cuts > 1);
        }
        Ok(())
    }

    fn window(&self) -> (u64, Option<u64>) {
        let (cwnd, ssthresh) = self.ours.window();
        ((cwnd as f64 * 0.85_f64.powi(self.deeper)) as u64, ssthresh)
    }
}

#[test]
fn every_arm_behind_the_interface_agrees_with_itself_to_the_byte() {
    for text in [
        CUBIC,
        "slowstart/reno/immediate",
        "slowstart/cubic/prr",
        "hystart++",
        "search",
        "rapid",
        "best",
    ] {
        let mut same = OneOfOurs::new(*arm(text).arm().expect("ours"));
        for verdict in judged(&mut same, text, 0) {
            assert!(verdict.is_same() && verdict.acks > 1_000, "{text}: {verdict:?}");
            let tested = verdict.rules.iter().map(|row| row.events).sum::<u64>();
            assert!(tested > 500, "{text}: {tested} events put a rule to the test");
        }
    }
}

#[test]
fn the_connections_reach_every_rule_of_a_sender_that_does_not_time_out() {
    let verdicts = judged(&mut OneOfOurs::new(*arm(CUBIC).arm().expect("ours")), CUBIC, 0);
    for rule in [
        Rule::InitialWindow,
        Rule::SlowStart,
        Rule::Reduction,
        Rule::Recovery,
        Rule::Avoidance,
        Rule::Epoch,
    ] {
        let rows = || verdicts.iter().filter_map(|verdict| row(verdict, rule));
        let events: u64 = rows().map(|row| row.events).sum();
        assert!(events > 2, "{rule:?}: {events} events");
        assert!(rows().any(|row| row.can_fail), "{rule:?} has a step above its tolerance");
    }
}

#[test]
fn a_cut_to_59_5_percent_is_found_with_its_rule_and_its_factor() {
    let ours = OneOfOurs::new(*arm(CUBIC).arm().expect("ours"));
    let verdicts = judged(&mut CutsTwice { ours, cuts: 0, deeper: 0 }, CUBIC, 1472);
    let found = verdicts
        .iter()
        .find_map(|verdict| row(verdict, Rule::Reduction).filter(|row| row.differ > 0))
        .expect("the fault is found");
    assert_eq!(found.section, "RFC 9438 4.6, 4.7");
    assert!(
        found.differ + 1 >= found.events / 2 && found.on_its_own == found.differ,
        "every cut but the first: {found:?}"
    );
    let first = found.first.as_ref().expect("the first of them");
    let factor = |cwnd: u64, before: u64| cwnd as f64 / before as f64;
    let theirs = factor(first.step.theirs.cwnd, first.step.theirs.cwnd_before);
    let ours = factor(first.step.ours.cwnd, first.step.ours.cwnd_before);
    assert!(
        (theirs - 0.595).abs() < 0.001 && (ours - 0.7).abs() < 0.001,
        "their factor is {theirs}, ours {ours}"
    );
    assert!(first.around.len() >= 3, "with the steps around it: {first:?}");
}

/// A foreign controller is told its initial window; this one takes twice as much.
struct Wide(OneOfOurs);

impl Foreign for Wide {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        let mut begin = *begin;
        begin.config.initial_window *= 2;
        self.0.begin(&begin)
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        self.0.tell(event)
    }

    fn window(&self) -> (u64, Option<u64>) {
        self.0.window()
    }
}

#[test]
fn another_initial_window_and_another_growth_are_told_apart() {
    let wide = OneOfOurs::new(*arm("slowstart/cubic/immediate@(iw=20)").arm().expect("ours"));
    let verdict = judged(&mut Wide(wide), CUBIC, 1472).swap_remove(0);
    let first = verdict.first.expect("apart");
    assert_eq!((first.rule, first.section), (Rule::InitialWindow, "RFC 9002 7.2"));
    let mut limited = OneOfOurs::new(*arm("limited/cubic/immediate").arm().expect("ours"));
    let verdict = judged(&mut limited, CUBIC, 1472).swap_remove(0);
    assert_eq!(verdict.first.expect("apart").rule, Rule::SlowStart);
}

/// The header for controllers in C states the facts that they receive.
#[test]
fn the_header_for_c_has_every_field_kind_and_timeout_in_order() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vectors/");
    let read = |file: &str| std::fs::read_to_string(format!("{docs}{file}")).expect("a file");
    let (header, runner) = (read("controller.h"), read("run.c"));
    let fields: Vec<(String, String)> = header
        .lines()
        .filter_map(|line| line.trim().strip_prefix("FIELD("))
        .filter_map(|line| {
            let (name, rest) = line.split_once(") /* ")?;
            Some((name.to_owned(), rest.split_once(" */")?.0.to_owned()))
        })
        .collect();
    let known: Vec<(String, String)> =
        EVENT.iter().map(|field| (field.name.to_owned(), field.doc.to_owned())).collect();
    assert_eq!(fields, known);
    let words = |names: &[&str], open: &str| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("{open}{}}};", quoted.join(", "))
    };
    for expected in [words(&table::KINDS, "words[] = {"), words(&table::TIMEOUTS, "timeouts[] = {")]
    {
        assert!(runner.contains(&expected), "run.c has not: {expected}");
    }
    let mut at = 0;
    for name in table::KINDS {
        let symbol = format!("    FIRSTFLIGHT_{},", name.to_uppercase());
        let found = header[at..].find(&symbol);
        at += found.unwrap_or_else(|| panic!("{symbol} is missing or not in order"));
    }
    let version = format!("#define FIRSTFLIGHT_VERSION {}\n", table::VERSION);
    assert!(header.contains(&version), "{version}");
}

#[cfg(feature = "quic")]
mod of_a_stack {
    use super::*;
    use firstflight_lab::StackArm;
    use firstflight_lab::conform::{counterpart, of_stack};

    /// noq calls its controllers for acknowledged packets before it looks for losses, so the ACK
    /// that reveals a loss grows the window first, which the document does not have; the factor is
    /// the document's.
    #[test]
    fn the_cubic_of_noq_reduces_by_the_factor_of_the_document_from_the_window_that_the_ack_left() {
        let stack = StackArm::find("noq:cubic").expect("there is one");
        let against = arm(counterpart(stack).expect("there is one"));
        for scenario in scenarios().expect("paths").iter().take(2) {
            let judge = Judge::new(*against.arm().expect("ours"), 1472);
            let verdict = of_stack(stack, &against, scenario, 1, judge).expect("runs");
            let cuts = row(&verdict, Rule::Reduction).expect("something was lost");
            assert!(cuts.events > 0, "{cuts:?}");
            for found in cuts.first.iter().map(|first| &first.step) {
                let (before, acked) = (found.theirs.cwnd_before, found.acked_bytes);
                let factor = found.theirs.cwnd as f64 / (before + acked) as f64;
                assert!((factor - 0.7).abs() < 0.001, "{factor}: {found:?}");
            }
            let growth = row(&verdict, Rule::SlowStart).expect("it grew");
            assert_eq!(growth.differ, 0, "slow start is the same: {growth:?}");
        }
    }
}
