//! Controls: known bad algorithms are found, and CUBIC compared with CUBIC is not one.

use crate::{asked, row, run};
use firstflight::event::{Ack, Context, Ready, Signal, Window};
use firstflight::startup::{Grown, Pacing, Startup};
use firstflight::units::Rate;
use firstflight_evaluate::{Battery, Effort, Evaluation, Report, Verdict};
use firstflight_lab::{NamedArm, OwnStartup};
use std::sync::Arc;

/// Selects cells of the built-in battery, unchanged.
fn some(section: &str, scenario: &str, shorter: &[(&str, &[&str])]) -> Battery {
    let mut battery = Battery::builtin().expect("it comes with the program");
    battery.criteria.retain(|criterion| criterion.criterion == section);
    battery.criteria[0].scenario.retain(|one| one.id == scenario);
    for (name, values) in shorter {
        let values = values.iter().map(|value| (*value).into()).collect();
        battery.criteria[0].scenario[0].sweep.insert((*name).to_owned(), values);
        battery.criteria[0].scenario[0].quick.remove(*name);
    }
    battery
}

fn evaluated(battery: Battery, algorithm: &str) -> Report {
    run(&asked(battery, algorithm, Effort::Quick))
}

#[test]
fn a_sender_that_hardly_reduces_after_loss_is_found() {
    let battery = some("5.1.3", "grid", &[("queue", &["0.5bdp"]), ("n", &["4"])]);
    let report = evaluated(battery, "slowstart/reno(beta=0.99)/immediate");
    assert_eq!(report.criteria[0].verdict, Verdict::Concern, "{:?}", report.criteria[0].judges);
    let loss = row(&report.criteria[0], "loss", "4,0.5bdp");
    assert!(loss.value > loss.baseline.map(|loss| loss + 0.01), "{loss:?}");
}

#[test]
fn a_tenfold_initial_window_that_hardly_cuts_is_found_in_the_start() {
    let battery = some("5.1.3", "start", &[("queue", &["0.5bdp"])]);
    let report = evaluated(battery, "slowstart/reno(beta=0.99)/immediate@(iw=100)");
    assert_eq!(report.criteria[0].verdict, Verdict::Concern, "{:?}", report.criteria[0].judges);
}

#[test]
fn a_first_window_of_a_thousand_packets_is_found_in_the_start() {
    let battery = some("5.1.3", "start", &[("queue", &["1bdp"])]);
    let report = evaluated(battery, "jumpstart(jump=1000)");
    let concerns = report.criteria[0].concerns();
    assert!(concerns.iter().all(|row| row.window == "start"), "{concerns:?}");
    assert!(!concerns.is_empty(), "{:?}", report.criteria[0].judges);
}

/// 24 to 1 in published measurements.
#[test]
fn prague_in_one_queue_with_cubic_is_found() {
    let battery = some("7.1", "beside-marked", &[("aqm", &["pie"])]);
    let report = evaluated(battery, "slowstart/prague");
    assert_eq!(report.criteria[0].verdict, Verdict::Concern, "{:?}", report.criteria[0].judges);
}

#[test]
fn timers_of_the_simulator_back_off() {
    let report = evaluated(some("5.1.1", "silence", &[]), "slowstart/reno");
    assert_eq!(report.criteria[0].verdict, Verdict::Pass, "{:?}", report.criteria[0].judges);
    let ratio = row(&report.criteria[0], "backoff", "5s").value.expect("timers fire");
    assert!((1.9..2.1).contains(&ratio), "gaps grow {ratio} times");
}

#[test]
fn silence_in_recovery_begins_in_recovery() {
    let report = evaluated(some("5.1.1", "silence-in-recovery", &[]), "slowstart/cubic/prr");
    let rules = &report.criteria[0];
    assert_eq!(rules.verdict, Verdict::Pass, "{:?}", rules.judges);
    assert_eq!(row(rules, "in_recovery", "recovery").value, Some(1.0));
}

#[test]
fn cubic_in_the_seat_of_cubic_is_clean() {
    let battery = some("5.1.3", "grid", &[("queue", &["0.5bdp", "1bdp"]), ("n", &["1", "4"])]);
    let report = evaluated(battery, "slowstart/cubic/prr");
    assert!(
        report.notes.iter().any(|note| note.contains("other start times")),
        "{:?}",
        report.notes
    );
    let one = row(&report.criteria[0], "loss", "4,0.5bdp");
    assert_ne!(one.value, one.baseline, "with the same chances there is nothing to test");
    assert_eq!(report.criteria[0].concerns().len(), 0, "{:?}", report.criteria[0].concerns());
}

/// A constant window of 200 kB, which ignores losses and marks.
struct Fixed;

impl Startup for Fixed {
    type Saved = ();

    fn before_send(&mut self, _: &Ready, w: &mut Window, _: &Context) {
        w.cwnd = 200_000;
    }

    fn grow(&mut self, _: &Ack, _: u64, _: &mut Window, _: &Context) -> Grown {
        Grown::default()
    }
}

fn own(battery: Battery, make: impl Fn() -> Box<Own> + Send + Sync + 'static) -> Report {
    let startup = OwnStartup::new("own", Arc::default(), move || make());
    let algorithm = NamedArm::with_own("own", startup, "@(pace=on)").expect("an arm");
    run(&Evaluation { algorithm, ..asked(battery, "slowstart", Effort::Quick) })
}

type Own = dyn Startup<Saved = ()>;

fn fixed(battery: Battery) -> Report {
    own(battery, || Box::new(Fixed))
}

/// A constant rate of 24 Mbit/s after the first RTT sample: 1.2 times the rate of a path of 20 Mbit/s.
struct Constant;

impl Startup for Constant {
    type Saved = ();

    fn is_whole(&self) -> bool {
        true
    }

    fn absorbs(&mut self, _: Signal, _: &Ack, _: &Context) -> bool {
        true
    }

    fn before_send(&mut self, _: &Ready, w: &mut Window, _: &Context) {
        w.cwnd = u64::MAX;
    }

    fn grow(&mut self, _: &Ack, _: u64, _: &mut Window, _: &Context) -> Grown {
        Grown::default()
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate(3_000_000))
    }
}

fn constant(battery: Battery) -> Report {
    own(battery, || Box::new(Constant))
}

#[test]
fn a_constant_rate_above_the_capacity_is_found_by_what_asks_for_less() {
    let losses = constant(some("5.1.1", "loss", &[("loss", &["70%", "90%"])]));
    assert_eq!(losses.criteria[0].verdict, Verdict::Concern, "{:?}", losses.criteria[0].judges);
    for scenario in ["silence", "silence-in-recovery"] {
        let silence = constant(some("5.1.1", scenario, &[]));
        let backoff = row(&silence.criteria[0], "backoff", "");
        assert_eq!(backoff.verdict, Verdict::Concern, "{backoff:?}");
    }
    // Beside CUBIC: harm, starvation, and a breaker that trips.
    let mut battery = some("5.2.1", "joins", &[("queue", &["1bdp"])]);
    let scenario = &mut battery.criteria[0].scenario[0];
    scenario.quick.insert("cell".into(), vec!["20/80".into()]);
    let breaker = Battery::builtin().expect("it comes with the program").criteria;
    battery.criteria.extend(breaker.into_iter().filter(|one| one.criterion == "7.2"));
    let beside = constant(battery);
    for (place, metric) in [(0, "harm_x"), (0, "starved"), (1, "breaker")] {
        let concerns = beside.criteria[place].concerns();
        let found = concerns.iter().any(|row| row.metric == metric);
        assert!(found, "{metric}: {:?}", beside.criteria[place].judges);
    }
}

#[test]
fn a_scalable_answer_of_a_sender_of_ect0_is_found_and_of_ect1_is_not() {
    let battery = || some("7.1", "response", &[("share", &["5%", "10%"])]);
    for (arm, found) in
        [("slowstart/dctcp", true), ("slowstart/prague", false), ("slowstart/reno", false)]
    {
        let report = evaluated(battery(), arm);
        let concerns = report.criteria[0].concerns();
        let is = concerns.iter().any(|row| row.metric == "ect0_rate_pps");
        assert_eq!(is, found, "{arm}: {:?}", report.criteria[0].judges);
    }
}

#[test]
fn a_sender_that_is_blind_to_marks_is_found() {
    let battery = || some("7.1", "response", &[("share", &["10%"])]);
    let blind = fixed(battery());
    assert_eq!(blind.criteria[0].verdict, Verdict::Concern, "{:?}", blind.criteria[0].judges);
    let cubic = evaluated(battery(), "slowstart/cubic/prr");
    assert_eq!(cubic.criteria[0].concerns().len(), 0, "{:?}", cubic.criteria[0].concerns());
}

/// In 5.1.1 the transport's timers back off on its behalf: at 90 % loss it sends less than one packet per round trip,
/// like all others.
#[test]
fn a_sender_that_does_not_back_off_is_found() {
    let crowd = fixed(some("5.1.3", "grid", &[("queue", &["0.5bdp"]), ("n", &["8"])]));
    assert_eq!(crowd.criteria[0].verdict, Verdict::Concern, "{:?}", crowd.criteria[0].judges);
}

#[test]
fn a_startup_that_ignores_loss_is_found_among_32_flows_in_a_tenth_of_a_bdp() {
    // BBRv1: no exit by loss, and hardly a response to it afterwards.
    let battery = some("5.1.3", "grid", &[("queue", &["0.1bdp"]), ("n", &["32"])]);
    let report = evaluated(battery, "bbr(loss=0.5,ranges=64)/reno(beta=0.99)/immediate");
    assert_eq!(report.criteria[0].verdict, Verdict::Concern, "{:?}", report.criteria[0].judges);
}

/// Of batteries without a difference, one in twenty has a concern (Holm at 5 %). More than eleven concerns in a hundred
/// batteries with different seeds have a probability of 1 in 230.
#[test]
#[ignore = "takes minutes: make night"]
fn cubic_in_the_seat_of_cubic_is_clean_in_a_hundred_batteries() {
    let mut found = Vec::new();
    let mut rules = 0;
    for repetition in 0..100 {
        let mut battery = some("5.1.2", "two", &[]);
        battery.criteria[0].scenario[0].quick.insert("cell".into(), vec!["5/40".into()]);
        let mut evaluation = asked(battery, "slowstart/cubic/prr", Effort::Quick);
        evaluation.seed = 1 + 1_000 * repetition;
        let criterion = run(&evaluation).criteria.remove(0);
        rules = criterion.judges.len();
        if criterion.verdict == Verdict::Concern {
            found.push(evaluation.seed);
        }
    }
    println!("{} of 100 batteries of {rules} rules with a concern: {found:?}", found.len());
    assert!(found.len() <= 11, "of 100 batteries these have a concern: {found:?}");
}

/// With a tenth of independent loss, a breaker trips by chance, equally often for both: the rule that counts seeds must
/// not find differences more often than its level allows.
#[test]
#[ignore = "many batteries: make night"]
fn cubic_trips_breakers_as_often_as_cubic_in_a_hundred_batteries() {
    let breaker = Battery::builtin().expect("it comes with the program").criteria;
    let breaker: Vec<_> = breaker.into_iter().filter(|one| one.criterion == "7.2").collect();
    let mut found = Vec::new();
    let (mut trips, mut batteries) = (0.0, 0.0);
    for repetition in 0..100 {
        let mut battery = some("5.1.1", "loss", &[("loss", &["10%"])]);
        battery.criteria.extend(breaker.clone());
        let mut evaluation = asked(battery, "slowstart/cubic/prr", Effort::Standard);
        evaluation.seed = 1 + 1_000 * repetition;
        let report = run(&evaluation);
        let row = row(&report.criteria[1], "breaker", "10%");
        trips += row.value.expect("packets are counted");
        batteries += 1.0;
        if row.verdict == Verdict::Concern {
            found.push(evaluation.seed);
        }
    }
    let share = trips / batteries;
    println!("{} of 100 with a concern: {found:?}; {share:.2} of the runs trip", found.len());
    assert!((0.05..0.95).contains(&share), "nothing is by chance: {share} trip");
    assert!(found.len() <= 11, "of 100 batteries these have a concern: {found:?}");
}
