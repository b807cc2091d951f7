//! Vectors can fail: every planted fault is told apart by at least one of them.

use crate::students::{WITHOUT, faults};
use firstflight::arm::Arm;
use firstflight_lab::vectors::{Rules, Vector, standard};
use std::sync::LazyLock;

static VECTORS: LazyLock<Vec<Vector>> =
    LazyLock::new(|| standard(Rules::Both).expect("every one of them runs"));

fn of_arm(arm: &Arm) -> impl Iterator<Item = &'static Vector> {
    VECTORS.iter().filter(move |vector| vector.begin.arm == *arm)
}

#[test]
fn each_planted_fault_fails_a_vector_and_what_has_none_passes_all() {
    for (fault, arm, mut foreign) in faults() {
        let arm = Arm::parse(arm).expect("an arm");
        let failed: Vec<String> = of_arm(&arm)
            .filter_map(|vector| {
                let apart = vector.fails(&mut *foreign).expect("it answers")?;
                Some(format!("{}: {apart:?}", vector.name))
            })
            .collect();
        assert_eq!(failed.is_empty(), fault == WITHOUT, "{fault}, {arm}: {failed:#?}");
    }
}
