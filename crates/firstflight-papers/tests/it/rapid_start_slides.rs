//! The claims of the Rapid Start slides (IETF 125) about their plots, rows 2.1.1 to 2.1.13 of our
//! list of experiments: the rows that `firstflight reproduce rapid-start` prints. U rows must
//! hold; so far, every G row does, too.

use firstflight_papers::{Effort, Gate, Row, Scale, rapid_start, source};
use std::sync::OnceLock;

fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let values = rapid_start::plot_values(&Effort::new(Scale::Quick, &|_| {}));
        source("rapid-start").expect("the slides").rows_of_all(&values)
    })
}

#[track_caller]
fn check(id: &str) {
    let rows: Vec<&Row> = rows().iter().filter(|row| row.id == id).collect();
    assert!(rows.iter().any(|row| row.gate != Gate::Seen), "row {id} is measured on a run");
    for row in &rows {
        println!("{row}");
    }
    let missed: Vec<String> =
        rows.iter().filter(|row| !row.holds()).map(ToString::to_string).collect();
    assert!(
        missed.is_empty(),
        "{} of {} rows do not hold:\n{}",
        missed.len(),
        rows.len(),
        missed.join("\n")
    );
}

#[test]
fn row_2_1_1_slow_start_idles_half_of_the_first_round_trip_and_the_jump_does_not() {
    check("2.1.1");
}

#[test]
fn row_2_1_2_a_jump_over_a_full_round_trip_has_the_rate_of_slow_start() {
    check("2.1.2");
}

#[test]
fn row_2_1_3_growth_is_threefold_until_the_floor_passes_its_threshold() {
    check("2.1.3");
}

#[test]
fn row_2_1_4_loss_shows_at_twice_the_full_bdp_in_slow_start_and_at_most_three_times_in_rapid_start()
{
    check("2.1.4");
}

#[test]
fn row_2_1_5_slow_start_is_cut_to_a_full_queue_and_soon_recovers_again() {
    check("2.1.5");
}

#[test]
fn row_2_1_6_rapid_start_lands_on_beta_of_the_full_bdp_after_one_recovery() {
    check("2.1.6");
}

#[test]
fn row_2_1_7_rapid_start_is_silent_no_longer_than_the_share_that_beta_takes() {
    check("2.1.7");
}

#[test]
fn row_2_1_8_rapid_start_neither_drains_nor_bursts_and_slow_start_does_both() {
    check("2.1.8");
}

#[test]
fn row_2_1_9_repair_takes_as_many_full_round_trips_as_the_overshoot() {
    check("2.1.9");
}

#[test]
fn row_2_1_10_rapid_start_loses_more_packets() {
    check("2.1.10");
}

#[test]
fn row_2_1_11_a_plain_cut_to_the_same_landing_idles_and_bursts() {
    check("2.1.11");
}

#[test]
fn row_2_1_12_factors_and_floors_are_those_of_the_slides() {
    check("2.1.12");
}

#[test]
fn row_2_1_13_marks_without_loss_leave_beta_of_the_window_and_come_again_at_once() {
    check("2.1.13");
}

#[test]
fn no_row_of_the_plots_is_left_out() {
    let slides = source("rapid-start").expect("the slides");
    let seen: Vec<&str> =
        slides.items.iter().map(|item| item.id).filter(|id| id.starts_with("2.1.")).collect();
    assert_eq!(seen.len(), 13, "rows of the plots: {seen:?}");
    for id in seen {
        assert!(rows().iter().any(|row| row.id == id), "row {id} is measured");
    }
}
