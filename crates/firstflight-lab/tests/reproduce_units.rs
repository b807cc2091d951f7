//! Rows of the published experiments that follow from the algebra: they hold, or a rule of ours is broken. Those of Rapid Start's plots
//! stand in `rapid_start_slides.rs`.

use firstflight_lab::reproduce::{Gate, Row, SOURCES, early_retransmit, gvisor, hystart_plus_plus, prr};

#[track_caller]
fn hold(rows: &[Row], id: &str) {
    assert!(rows.iter().any(|row| row.id == id), "row {id} is measured");
    for row in rows {
        println!("{row}");
        assert!(row.gate == Gate::Unit && row.holds(), "row {} is a consequence of the algebra and has to hold: {row}", row.id);
    }
}

#[test]
fn row_1_8_draft_03_leaves_by_delay_and_grows_by_a_quarter_beside_avoidance() {
    hold(&hystart_plus_plus::unit_rows(), "1.8");
}

#[test]
fn row_4_2_5_integers_give_the_same_bits() {
    hold(&gvisor::unit_rows().expect("the rig carries full packets"), "4.2.5");
}

#[test]
fn row_5_1_7_standard_is_silent_under_light_loss_and_prr_is_not() {
    hold(&prr::unit_rows(), "5.1.7");
}

#[test]
fn row_5_4_1_early_retransmit_needs_one_duplicate_less_than_the_flight() {
    hold(&early_retransmit::unit_rows(), "5.4.1");
}

#[test]
fn every_row_has_a_number_of_its_own_and_every_gate_a_letter() {
    let mut seen = Vec::new();
    for source in SOURCES {
        for item in source.items {
            assert!(!seen.contains(&item.id), "row {} stands twice", item.id);
            assert!(
                !item.gates.is_empty() && item.gates.chars().all(|gate| "UGBQ-".contains(gate)),
                "gates of row {}: {}",
                item.id,
                item.gates
            );
            seen.push(item.id);
        }
    }
    assert_eq!(seen.len(), 10 + 20 + 10 + 10 + 13 + 5, "rows of the list of experiments");
}
