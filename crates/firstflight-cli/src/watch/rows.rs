//! Rows of watched connections: their values, and how each startup would have exited.

use crate::row_file::held;
use firstflight_linux::kernel::{ARMS, COLUMNS, Row};
use firstflight_log::live::Ended;
use firstflight_replay::summary::{ConnectionRow, StartupRow};
use firstflight_trial::row::Holds;
use serde_json::{Map, Value};

/// A column of a startup: the suffix of its name, the type, and the value.
type Cell = (&'static str, Holds, fn(&StartupRow) -> Value);
const CELLS: &[Cell] = &[
    ("verdict", Holds::Text, |row| row.verdict.name().into()),
    ("exit_reason", Holds::Text, |row| row.reason.into()),
    ("exit_ms", Holds::Real, |row| row.time_ms.into()),
    ("exit_ack", Holds::Whole, |row| row.ack.into()),
    ("exit_cwnd_bytes", Holds::Whole, |row| row.cwnd.into()),
    ("exit_cwnd_bdp", Holds::Real, |row| row.bdp_ratio.into()),
];

/// The columns of all rows.
pub(super) fn columns(startups: &[String]) -> Vec<(String, Holds)> {
    let mut columns = held(COLUMNS);
    columns.push(("missing_records".to_owned(), Holds::Whole));
    columns.push(("open_loop".to_owned(), Holds::Flag));
    for startup in startups {
        let of = CELLS.iter().map(|(name, holds, _)| (format!("{startup}.{name}"), *holds));
        columns.extend(of);
    }
    columns
}

/// The row of a finished connection.
pub(super) fn cells(
    row: Row,
    startups: &[String],
    controller: Option<&str>,
    ended: Ended,
    replayed: Option<&ConnectionRow>,
) -> Map<String, Value> {
    // If records are missing, it is unknown whether the last ACKs were seen.
    let tail_unseen = (ended.missing == 0).then_some(ended.tail_unseen);
    let row = Row { arm: controller.map(arm_of), epoch: Some(0), tail_unseen, ..row };
    let mut cells = row.cells(COLUMNS);
    cells.insert("missing_records".to_owned(), ended.missing.into());
    cells.insert("open_loop".to_owned(), true.into());
    for startup in startups {
        let of = |one: &&StartupRow| one.arm == *startup;
        let found = replayed.and_then(|row| row.startups.iter().find(of));
        for (name, _, cell) in CELLS {
            cells.insert(format!("{startup}.{name}"), found.map_or(Value::Null, cell));
        }
    }
    cells
}

/// Converts the kernel's name of a controller to the arm's name in `trial start`.
fn arm_of(controller: &str) -> String {
    let ours = ARMS.iter().find(|arm| arm.kernel_name == controller);
    ours.map_or_else(|| format!("kernel:{controller}"), |arm| arm.name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_was_not_seen_and_never_guesses() {
        let startups = ["hystart++".to_owned()];
        let missing = Ended { missing: 2, tail_unseen: false };
        let row = cells(Row::default(), &startups, Some("cubic"), missing, None);
        assert_eq!((&row["arm"], &row["missing_records"]), (&"kernel:cubic".into(), &2.into()));
        assert_eq!(row["open_loop"], true);
        assert!(row["tail_unseen"].is_null() && row["hystart++.exit_ms"].is_null(), "{row:?}");
        let names: Vec<String> = columns(&startups).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, row.keys().cloned().collect::<Vec<_>>(), "columns are those of a row");
        assert_eq!(arm_of("ff_search"), "search");
    }
}
