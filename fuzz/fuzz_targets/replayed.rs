//! Invariants of every reader's result, whatever its input.
#![allow(dead_code, reason = "each target uses its part")]

use firstflight::arm::Arm;
use firstflight_log::{Extent, Fault};
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::results::Results;
use firstflight_replay::run::Tried;
use firstflight_replay::tables;
use std::io::{Cursor, Read};

/// Reads bytes as a file.
pub(super) fn check(
    bytes: &[u8],
    read: impl FnOnce(&str, Box<dyn Read>, &mut Replay) -> Result<Extent, Fault>,
) {
    follow(Box::new(Cursor::new(bytes.to_vec())), read);
}

/// One in this many inputs is rendered, because tables cost more than everything else.
const DRAWN: u64 = 16;

/// Reads, and looks at what comes out.
pub(super) fn follow(
    bytes: Box<dyn Read>,
    read: impl FnOnce(&str, Box<dyn Read>, &mut Replay) -> Result<Extent, Fault>,
) {
    let arms = ["slowstart", "hystart++", "best-published"];
    let arms: Vec<Named> = arms
        .iter()
        .map(|name| Named { label: (*name).into(), arm: Arm::parse(name).expect("an arm") })
        .collect();
    let identify = arms.iter().cloned().map(Tried::from).chain([Tried::bbr1()]).collect();
    let mut replay =
        Replay::new(Settings { identify, arms, lines: 2, entries: true, ..Settings::default() });
    match read("file", bytes, &mut replay) {
        Ok(extent) => {
            assert!(extent.connections > 0, "a file that is not refused holds a connection");
        }
        Err(fault) => assert!(!fault.to_string().contains('\n'), "a refusal is one line: {fault}"),
    }
    let entries: Vec<_> = replay.entries.iter().flatten().cloned().collect();
    let results = Results::new(replay, Vec::new());
    for connection in &results.connections {
        assert!(connection.loss_ratio.is_none_or(f64::is_finite), "{connection:?}");
        for startup in &connection.startups {
            assert!(startup.cwnd.is_none_or(|cwnd| cwnd > 0), "a window of nothing: {startup:?}");
        }
    }
    let _ = firstflight_replay::population::to_toml(&entries, "");
    if results.connections.first().is_some_and(|row| row.bytes % DRAWN == 0) {
        let shown = tables::connections(&results, usize::MAX, true);
        assert_eq!(shown.len(), results.connections.len(), "a line per connection");
        let _ = (results.to_json(), tables::captured(&results), tables::shares(&results));
        let _: Vec<_> = results.connections.iter().map(tables::startups).collect();
    }
}
