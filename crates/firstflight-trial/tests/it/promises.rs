//! Fewer trials than `examples/promises` has; bounds are five standard errors wide.

use crate::clients::{Clients, Random};
use firstflight_trial::statistics::Sample;
use firstflight_trial::statistics::mismatch::is_mismatch;
use firstflight_trial::statistics::rehearsal::{Rehearsal, Rehearsed};
use std::sync::atomic::AtomicBool;

fn rehearsed(clients: &Clients, trials: u32, effect: f64) -> Rehearsed {
    let rehearsal = Rehearsal { trials, effect, every: 400, tau: 0.05, alpha: 0.05, paired: false };
    let sample = Sample { arm: &[], unit: &clients.unit, stratum: &clients.stratum };
    let mut random = Random(99);
    rehearsal.run(sample, &clients.y, &mut || random.next(), &AtomicBool::new(false))
}

#[test]
fn intervals_cover_the_truth_also_for_clients_that_return() {
    for (name, clients) in [
        ("apart", Clients::apart(1_500, &mut Random(7))),
        ("heavy", Clients::heavy(600, &mut Random(8))),
    ] {
        for effect in [0.0, -0.1] {
            let found = rehearsed(&clients, 200, effect);
            assert_eq!(found.trials, 200, "{name}");
            let (covered, always) = (found.covered, found.always_covered);
            assert!(
                (174..=200).contains(&covered),
                "{name} {effect}: {covered} of 200, 190 expected"
            );
            assert!(always >= 174, "{name} {effect}: {always} of 200 at every look, 190 allowed");
            assert!(always >= found.plain_covered, "{name} {effect}: {found:?}");
        }
    }
}

#[test]
fn looking_all_the_time_misleads_with_plain_intervals_only() {
    let clients = Clients::apart(6_000, &mut Random(5));
    let rehearsal =
        Rehearsal { trials: 150, effect: 0.0, every: 100, tau: 0.05, alpha: 0.05, paired: false };
    let sample = Sample { arm: &[], unit: &clients.unit, stratum: &clients.stratum };
    let mut random = Random(6);
    let found = rehearsal.run(sample, &clients.y, &mut || random.next(), &AtomicBool::new(false));
    assert!(found.looks / found.trials > 50, "{found:?}");
    let misled = [found.always_covered, found.plain_covered].map(|kept| 150 - kept);
    assert!(misled[0] <= 20, "{} of 150 false alarms, 7 are allowed", misled[0]);
    assert!(misled[1] > 2 * misled[0] && misled[1] > 20, "{misled:?}: the plain one is misled");
}

#[test]
fn units_are_counted_and_not_the_rows_of_heavy_clients() {
    let mut random = Random(4);
    let (mut by_units, mut by_rows) = (0, 0);
    for _ in 0..40 {
        let clients = Clients::heavy(4_000, &mut random);
        let side: Vec<usize> = (0..4_000).map(|_| (random.next() >> 63) as usize).collect();
        let (mut units, mut rows) = ([0; 2], [0; 2]);
        for side in &side {
            units[*side] += 1;
        }
        for unit in &clients.unit {
            rows[side[*unit as usize]] += 1;
        }
        by_units += u32::from(is_mismatch(&units, &[0.5, 0.5]));
        by_rows += u32::from(is_mismatch(&rows, &[0.5, 0.5]));
    }
    assert_eq!(by_units, 0, "fair shares of units raise no alarm");
    assert!(by_rows > 0, "counts of rows do: {by_rows} of 40");
}
