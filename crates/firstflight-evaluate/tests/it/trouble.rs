//! Arms that cannot be evaluated.

use crate::{asked, battery_of, run};
use firstflight::event::{Ack, Context, Ready, Window};
use firstflight::startup::{Grown, SlowStart, Startup};
use firstflight_evaluate::{
    Battery, Declaration, Ecn, Effort, Evaluation, Report, Verdict, evaluate,
};
use firstflight_lab::{NamedArm, OwnStartup};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const SMALL: &str = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms\"\nfor = \"5s\"\nflow = [{ who = \"@algorithm\" }]\njudge = [{ metric = \"loss\", rule = \"report\" }]\n";

#[test]
fn what_the_simulator_cannot_put_into_the_seat_is_refused_in_a_line() {
    for (arm, said) in
        [("kernel:bbr", "`--on linux`"), ("slowstart@(detection=rack)", "`detection`")]
    {
        let evaluation = asked(battery_of(SMALL), arm, Effort::Quick);
        let bad =
            evaluate(&evaluation, &|_| (), &AtomicBool::new(false)).expect_err(arm).to_string();
        assert!(bad.contains(said) && !bad.contains('\n'), "of {arm} it is said: {bad}");
    }
}

/// Behaviour of a custom algorithm.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Behaves like slow start.
    Right,
    Panics,
    /// Sets its window to zero.
    Nothing,
    /// Sets its window to the maximum.
    Everything,
}

struct Own(Does);

impl Startup for Own {
    type Saved = ();

    fn before_send(&mut self, _: &Ready, w: &mut Window, _: &Context) {
        match self.0 {
            Does::Nothing => w.cwnd = 0,
            Does::Everything => w.cwnd = u64::MAX,
            Does::Right | Does::Panics => {}
        }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        match self.0 {
            Does::Panics => panic!("a bug of its own"),
            Does::Everything => {
                w.cwnd = u64::MAX;
                Grown::default()
            }
            Does::Nothing => {
                w.cwnd = 0;
                Grown::default()
            }
            Does::Right => SlowStart.grow(ack, acked, w, cx),
        }
    }
}

fn own(does: Does) -> Evaluation {
    let startup =
        OwnStartup::new("mine", Arc::new(AtomicBool::new(false)), move || Box::new(Own(does)));
    let algorithm = NamedArm::with_own("mine", startup, "").expect("an arm");
    let text = "[[scenario]]\nid = \"a\"\npath = \"rate=5Mbit,rtt=40ms\"\nfor = \"5s\"\nflow = [{ who = \"slowstart\" }, { who = \"@algorithm\" }]\njudge = [{ metric = \"loss\", rule = \"not-more-than-baseline\" }]\n";
    Evaluation { algorithm, ..asked(battery_of(text), "slowstart", Effort::Standard) }
}

fn of(does: Does) -> Report {
    run(&own(does))
}

#[test]
fn a_startup_of_somebodys_own_is_evaluated_beside_ours() {
    let report = of(Does::Right);
    assert_eq!((report.broken.len(), &report.partial), (0, &None));
    // It takes nothing back after a false alarm, and there is none here: it is slow start.
    let row = &report.criteria[0].judges[0];
    assert_eq!(row.value, row.baseline, "{row:?}");
    assert_eq!(report.criteria[0].verdict, Verdict::Pass);
}

#[test]
fn an_algorithm_that_panics_ends_the_run_and_the_report_says_so() {
    let report = of(Does::Panics);
    assert!(
        report.broken[0].starts_with("mine panicked (a bug of its own): --cell 5.1.3/a"),
        "{:?}",
        report.broken
    );
    assert!(
        report.partial.as_deref().is_some_and(|why| why.contains("broken")),
        "{:?}",
        report.partial
    );
    assert_eq!(report.criteria[0].verdict, Verdict::Concern);
    assert_eq!(report.criteria[0].reason.as_ref(), report.broken.first());
}

#[test]
fn nonsense_windows_end_and_are_told() {
    // The core keeps every window between its least and 1 TiB: nothing is two packets.
    let nothing = of(Does::Nothing);
    assert_eq!(nothing.runs, 40, "twenty seeds for each");
    assert!(nothing.broken.is_empty(), "{:?}", nothing.broken);
    let everything = of(Does::Everything);
    let said = &everything.broken[0];
    assert!(
        said.contains("eight times what the path carries") && said.contains("--cell"),
        "{said}"
    );
    assert_eq!(everything.criteria[0].verdict, Verdict::Concern);
}

#[test]
fn a_declaration_with_mistakes_is_refused_in_a_line() {
    let battery = Battery::builtin().expect("it comes with the program");
    for (text, said) in [
        ("excludes = [\"7.111\"]", "a.toml: excludes: no criterion `7.111` (did you mean `7.11`?)"),
        ("\necm = \"ect0\"", "a.toml:2: unknown field `ecm`"),
        ("ecn = \"ect2\"", "a.toml:1: unknown variant `ect2`"),
        ("multipath = 1", "a.toml:1: invalid type"),
    ] {
        let bad = Declaration::parse("a.toml", text, &battery).expect_err(text).to_string();
        assert!(bad.starts_with(said) && !bad.contains('\n'), "of `{text}` it is said: {bad}");
    }
    let right = "ecn = \"ect1\"\nexcludes = [\"7.1\", \"7.11\"]";
    let right = Declaration::parse("a.toml", right, &battery).expect("nothing is wrong with it");
    assert_eq!((right.ecn, right.excludes.len()), (Some(Ecn::Ect1), 2));
}

#[test]
fn who_sends_another_codepoint_than_was_declared_is_not_measured() {
    for (arm, ecn, wrong) in [
        ("slowstart/prague", Ecn::Ect0, Some("sends ECT(1)")),
        ("slowstart/prague", Ecn::Ect1, None),
        ("slowstart/reno", Ecn::Ect1, Some("sends ECT(0)")),
        ("slowstart/reno", Ecn::Ect0, None),
    ] {
        let declaration = Declaration { ecn: Some(ecn), ..Declaration::default() };
        let battery = battery_of(SMALL);
        let report = run(&Evaluation { declaration, ..asked(battery, arm, Effort::Quick) });
        let partial = report.partial.as_deref().unwrap_or_default();
        match wrong {
            Some(said) => {
                assert!(report.broken[0].contains(said), "{:?}", report.broken);
                assert!(partial.contains("the declaration is wrong"), "{partial}");
                assert_eq!((report.runs, report.criteria[0].verdict), (0, Verdict::NotRun));
            }
            None => assert_eq!((report.broken.len(), partial), (0, ""), "{arm} is as declared"),
        }
        assert!(report.notes.iter().any(|note| note.starts_with("Declared by the author: ")));
    }
}

/// Claims that are checked on the wire: each is right for one arm and wrong for another.
#[test]
fn what_the_wire_contradicts_is_not_measured_and_what_it_bears_out_is_told() {
    let battery = Battery::builtin().expect("it comes with the program");
    let declared =
        |text: &str| Declaration::parse("a.toml", text, &battery).expect("a declaration");
    for (arm, text, wrong) in [
        ("slowstart", "initial_window = 10", None),
        ("slowstart@(iw=40)", "initial_window = 10", Some("sends 40 packets before")),
        ("slowstart@(iw=40)", "initial_window = 40", None),
        ("slowstart@(pace=on)", "paced = true", None),
        ("slowstart@(pace=off)", "paced = true", Some("packets at once")),
        ("slowstart@(pace=off)", "paced = false", None),
        ("slowstart", "reacts_to_loss = true", None),
        ("slowstart", "reacts_to_loss = false", Some("when a tenth of them are dropped")),
        ("slowstart", "reacts_to_marks = true", None),
        ("slowstart/prague", "reacts_to_marks = false", Some("when a tenth of them are marked")),
    ] {
        let asked = asked(battery_of(SMALL), arm, Effort::Quick);
        let report = run(&Evaluation { declaration: declared(text), ..asked });
        let checked = |note: &&String| note.starts_with("Declared, checked on the wire: ");
        let note = report.notes.iter().find(checked);
        if let Some(said) = wrong {
            assert!(report.broken[0].contains(said), "{arm}, {text}: {:?}", report.broken);
            assert_eq!((report.runs, note), (0, None), "{arm}, {text}");
        } else {
            assert_eq!(report.broken, Vec::<String>::new(), "{arm}, {text}");
            assert!(note.is_some_and(|note| note.contains(text)), "{:?}", report.notes);
        }
    }
}

#[test]
fn what_nobody_can_see_is_called_declared_and_not_checked() {
    let declaration = Declaration {
        delay_based: Some(false),
        receiver_change: Some(true),
        ..Declaration::default()
    };
    let asked = asked(battery_of(SMALL), "slowstart", Effort::Quick);
    let report = run(&Evaluation { declaration, ..asked });
    let said = "Declared, not checked: delay_based = false; receiver_change = true.";
    assert!(report.notes.iter().any(|note| note == said), "{:?}", report.notes);
}

/// An algorithm that panics during the check also panics in its first cell, which the report states.
#[test]
fn a_declaration_of_an_algorithm_that_panics_does_not_hide_it() {
    let declaration = Declaration { initial_window: Some(10), ..Declaration::default() };
    let report = run(&Evaluation { declaration, ..own(Does::Panics) });
    assert!(report.broken[0].contains("a bug of its own"), "{:?}", report.broken);
    let note = "Declared, not checked: initial_window = 10.";
    assert!(report.notes.iter().any(|said| said == note), "{:?}", report.notes);
}

#[test]
fn what_is_declared_for_several_paths_is_not_called_inapplicable() {
    let mut battery = Battery::builtin().expect("it comes with the program");
    battery.criteria.retain(|criterion| criterion.criterion == "7.10");
    for (multipath, verdict) in [
        (None, Verdict::NotApplicable),
        (Some(false), Verdict::NotApplicable),
        (Some(true), Verdict::NotRun),
    ] {
        let declaration = Declaration { multipath, ..Declaration::default() };
        let evaluation =
            Evaluation { declaration, ..asked(battery.clone(), "rapid", Effort::Quick) };
        assert_eq!(run(&evaluation).criteria[0].verdict, verdict, "{multipath:?}");
    }
}
