//! Any sequence of events into any controller: no panic, no overflow, the window within its bounds. The fuzzer in `fuzz/` plays the same
//! histories for longer; here as many as a few seconds allow, from fixed seeds.

mod history;

use history::arms::{AVOIDANCES, Choice, RECOVERIES, STARTUPS};
use history::{Reached, Source, play, play_arm, random_bytes};

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
    assert!(broken.is_empty(), "{} histories break an invariant, see above: {broken:?}", broken.len());
    // The generator itself is under test here: a model that reaches nothing would pass everything.
    assert!(total.events > 100 * HISTORIES as u32, "histories are too short: {total:?}");
    assert!(total.episodes > HISTORIES as u32, "histories reach too few episodes: {total:?}");
    assert!(total.grew > 100, "windows do not grow: {total:?}");
    assert!(total.timeouts > 100 && total.undone > 100, "histories reach too few rare paths: {total:?}");
}

#[test]
fn every_part_is_played() {
    let parts = STARTUPS.len().max(AVOIDANCES.len()).max(RECOVERIES.len());
    for i in 0..parts {
        for (tcp, nonsense) in [(false, false), (true, false), (false, true), (true, true)] {
            let text =
                format!("{}/{}/{}", STARTUPS[i % STARTUPS.len()], AVOIDANCES[i % AVOIDANCES.len()], RECOVERIES[i % RECOVERIES.len()]);
            let choice = Choice { text, tcp, mss: 1_448, iw: 14_480, max_burst: 65_536, idle_restart: tcp, oracle_exit: 400_000, nonsense };
            let bytes = random_bytes(i as u64, 3_000);
            play_arm(&choice, Source::new(&bytes));
        }
    }
}
