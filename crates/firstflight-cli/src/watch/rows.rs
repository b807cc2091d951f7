//! Rows of watched connections: what they did, and how each startup would have left.

use crate::failed;
use firstflight_lab::Error;
use firstflight_linux::kernel::{ARMS, COLUMNS, Row};
use firstflight_log::live::Ended;
use firstflight_replay::replay::Followed;
use firstflight_replay::summary::{ConnectionRow, StartupRow};
use serde_json::{Map, Value, to_value};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of rows that grows by whole lines.
pub(super) struct RowFile {
    file: PathBuf,
    out: File,
    startups: Vec<String>,
}

/// What a row says of a startup: the end of the column's name, and the value.
type Cell = (&'static str, fn(&StartupRow) -> Value);
const CELLS: &[Cell] = &[
    ("verdict", |row| row.verdict.name().into()),
    ("exit_reason", |row| row.reason.into()),
    ("exit_ms", |row| row.time_ms.into()),
    ("exit_ack", |row| row.ack.into()),
    ("exit_cwnd_bytes", |row| row.cwnd.into()),
    ("exit_cwnd_bdp", |row| row.bdp_ratio.into()),
];

impl RowFile {
    pub(super) fn open(file: &Path, startups: Vec<String>) -> Result<RowFile, Error> {
        let out = File::options().create(true).append(true).open(file);
        let out = out.map_err(|error| failed(file, &error))?;
        Ok(RowFile { file: file.to_owned(), out, startups })
    }

    /// A connection that is over. One write: a row is in the file whole or not at all.
    pub(super) fn add(
        &mut self,
        row: Row,
        controller: Option<&str>,
        ended: Ended,
        followed: Option<&Followed>,
    ) -> Result<(), Error> {
        let line = line(row, &self.startups, controller, ended, followed);
        self.out.write_all(line.as_bytes()).map_err(|error| failed(&self.file, &error))
    }
}

fn line(
    row: Row,
    startups: &[String],
    controller: Option<&str>,
    ended: Ended,
    followed: Option<&Followed>,
) -> String {
    // Of a connection that lacks records nobody knows whether its tail was seen.
    let tail_unseen = (ended.missing == 0).then_some(ended.tail_unseen);
    let row = Row { arm: controller.map(arm_of), epoch: Some(0), tail_unseen, ..row };
    let known = to_value(&row).unwrap_or_default();
    let mut cells = Map::new();
    for column in COLUMNS {
        cells.insert((*column).to_owned(), known.get(*column).cloned().unwrap_or_default());
    }
    cells.insert("missing_records".to_owned(), ended.missing.into());
    cells.insert("open_loop".to_owned(), true.into());
    let replayed = followed.map(ConnectionRow::of);
    for startup in startups {
        let of = |one: &&StartupRow| one.arm == *startup;
        let found = replayed.as_ref().and_then(|row| row.startups.iter().find(of));
        for (name, cell) in CELLS {
            cells.insert(format!("{startup}.{name}"), found.map_or(Value::Null, cell));
        }
    }
    Value::Object(cells).to_string() + "\n"
}

/// What the kernel calls a controller, as `trial start` calls its arms.
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
        let text = line(Row::default(), &startups, Some("cubic"), missing, None);
        let row: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&row["arm"], &row["missing_records"]), (&"kernel:cubic".into(), &2.into()));
        assert_eq!(row["open_loop"], true);
        assert!(row["tail_unseen"].is_null() && row["hystart++.exit_ms"].is_null(), "{text}");
        assert!(text.ends_with("}\n") && text.lines().count() == 1);
        assert_eq!(arm_of("ff_search"), "search");
    }
}
