//! Controls: known offenders are found, and CUBIC in CUBIC's seat is not one.

use crate::{asked, row, run};
use firstflight_evaluate::{Battery, Effort, Report, Verdict};

/// Some cells of the battery, as they stand there.
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
fn timers_of_the_simulator_back_off() {
    let report = evaluated(some("5.1.1", "silence", &[]), "slowstart/reno");
    assert_eq!(report.criteria[0].verdict, Verdict::Pass, "{:?}", report.criteria[0].judges);
    let ratio = row(&report.criteria[0], "backoff", "5s").value.expect("timers fire");
    assert!((1.9..2.1).contains(&ratio), "gaps grow {ratio} times");
}

#[test]
fn cubic_in_the_seat_of_cubic_is_clean() {
    let battery = some("5.1.3", "grid", &[("queue", &["0.5bdp", "1bdp"]), ("n", &["1", "4"])]);
    let report = evaluated(battery, "slowstart/cubic/prr");
    assert!(report.notes.iter().any(|note| note.contains("other starts")), "{:?}", report.notes);
    let one = row(&report.criteria[0], "loss", "4,0.5bdp");
    assert_ne!(one.value, one.baseline, "with the same chances there is nothing to test");
    assert_eq!(report.criteria[0].concerns().len(), 0, "{:?}", report.criteria[0].concerns());
}
