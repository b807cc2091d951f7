//! Any sequence of events into any controller: no panic, no overflow, the window within its bounds.
//! The fuzzer in `fuzz/` plays the same histories for longer; here as many as a few seconds allow,
//! from fixed seeds.

use crate::history;

use firstflight::{Time, arm};
use history::arms::{AVOIDANCES, Choice, RECOVERIES, STARTUPS, of_parts};
use history::{Reached, Source, play, play_arm, play_from, random_bytes};

const HISTORIES: u64 = 10_000;

/// Shows RFC9002 7.2-3.
#[test]
fn random_histories_keep_every_invariant() {
    let (mut total, mut broken) = (Reached::default(), Vec::new());
    for seed in 0..HISTORIES {
        // Every eighth is long enough for a window to grow to where arithmetic is tight.
        let len = if seed % 8 == 0 { 4_000 } else { 400 };
        let Ok(reached) = std::panic::catch_unwind(|| play(&random_bytes(seed, len))) else {
            broken.push(seed);
            continue;
        };
        total.events += reached.events;
        total.episodes += reached.episodes;
        total.timeouts += reached.timeouts;
        total.undone += reached.undone;
        total.grew += reached.grew;
    }
    assert!(
        broken.is_empty(),
        "{} histories break an invariant, see above: {broken:?}",
        broken.len()
    );
    // The generator itself is under test here: a model that reaches nothing would pass everything.
    assert!(total.events > 100 * HISTORIES as u32, "histories are too short: {total:?}");
    assert!(total.episodes > HISTORIES as u32, "histories reach too few episodes: {total:?}");
    assert!(total.grew > 100, "windows do not grow: {total:?}");
    assert!(
        total.timeouts > 100 && total.undone > 100,
        "histories reach too few rare paths: {total:?}"
    );
}

/// The lists of parts of arms and of operations are complete.
#[test]
fn every_part_has_histories() {
    for (parts, played, list) in [
        (arm::STARTUPS, STARTUPS, "STARTUPS"),
        (arm::AVOIDANCES, AVOIDANCES, "AVOIDANCES"),
        (arm::RECOVERIES, RECOVERIES, "RECOVERIES"),
    ] {
        for part in parts {
            assert!(
                played.iter().any(|text| text.split('(').next() == Some(part.name)),
                "no history plays `{}`: add it to {list} of tests/it/history/arms.rs, plain and with the options that change its path",
                part.name
            );
        }
    }
}

#[test]
fn every_part_is_played() {
    let parts = STARTUPS.len().max(AVOIDANCES.len()).max(RECOVERIES.len());
    for i in 0..parts {
        for (tcp, nonsense) in [(false, false), (true, false), (false, true), (true, true)] {
            let text = of_parts(
                STARTUPS[i % STARTUPS.len()],
                AVOIDANCES[i % AVOIDANCES.len()],
                RECOVERIES[i % RECOVERIES.len()],
            );
            let choice = Choice {
                text,
                tcp,
                mss: 1_448,
                iw: 14_480,
                max_burst: 65_536,
                idle_restart: tcp,
                oracle_exit: 400_000,
                nonsense,
            };
            let bytes = random_bytes(i as u64, 3_000);
            play_arm(&choice, Source::new(&bytes));
        }
    }
}

/// Whatever the clock shows when a connection begins, the controller does the same: no moment
/// stands for "none". Each startup meets each origin in several histories, with `NIGHT` set in all.
#[test]
fn the_origin_of_the_clock_does_not_matter() {
    let night = std::env::var_os("NIGHT").is_some();
    let mut broken = Vec::new();
    for (i, startup) in STARTUPS.iter().enumerate() {
        for round in 0..24 {
            let (avoidance, recovery) = (
                AVOIDANCES[(i + round) % AVOIDANCES.len()],
                RECOVERIES[(i + 3 * round) % RECOVERIES.len()],
            );
            let text = of_parts(startup, avoidance, recovery);
            let tcp = round % 2 == 0;
            let choice = Choice {
                text,
                tcp,
                mss: 1_448,
                iw: 14_480,
                max_burst: 65_536,
                idle_restart: tcp,
                oracle_exit: 400_000,
                nonsense: false,
            };
            let bytes = random_bytes((1_000 * i + round) as u64, 4_000);
            let course = |start| {
                let mut shown = Vec::new();
                play_from(&choice, Source::new(&bytes), Time(start), |moment| shown.push(moment));
                shown
            };
            let reference = course(0);
            // The published BEST counts whole microseconds, which wrap after 71 minutes.
            let fine = if startup.starts_with("best-published") { 0 } else { 789 };
            let origins = [
                1_000,
                1_000_000_000 + fine,
                12_345_678_000 + fine,
                (1 << 32) * 1_000,
                3 * 3_600_000_000_000 + fine,
            ];
            let one = round % origins.len();
            for &start in if night { &origins[..] } else { &origins[one..=one] } {
                let shifted = course(start);
                if let Some(at) = (0..reference.len()).find(|&at| reference[at] != shifted[at]) {
                    broken.push(format!(
                        "{} from {start} ns: {:?} and not {:?}",
                        choice.text, shifted[at], reference[at]
                    ));
                    break;
                }
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} of the histories depend on the origin:\n{}",
        broken.len(),
        broken.join("\n")
    );
}
