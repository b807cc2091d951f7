//! The result of watching: a replay, and counts of what was not seen.

use crate::output::Output;
use crate::rows::pretty;
use crate::terminal::{CAUTION, QUIET, width, wrap};
use firstflight_lab::Error;
use firstflight_linux::kernel::WatchCounts;
use firstflight_replay::results::Results;
use firstflight_table::Table;
use serde_json::json;
use std::fmt::Write as _;

/// Counts of connections and records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) counts: WatchCounts,
    /// Number of records read.
    pub(super) records: u64,
    /// Number of connections that ended after sending data.
    pub(super) closed: u64,
    /// Number of connections still open at the end.
    pub(super) open: u64,
    /// Number of connections that lack records and were given up.
    pub(super) incomplete: u64,
    /// Number of connections with more acknowledged bytes than were seen.
    pub(super) tail_unseen: u64,
}

pub(super) struct Answer {
    pub(super) results: Results,
    pub(super) seen: Seen,
}

impl Answer {
    fn about(&self) -> String {
        let Seen { counts, closed, open, incomplete, tail_unseen, .. } = self.seen;
        let mut about = format!(
            "{} of {} connections watched, of which {closed} sent data and ended, {open} are open",
            counts.watched,
            counts.watched + counts.others,
        );
        for (count, what) in [
            (counts.failed, "connections without room for their state"),
            (counts.dropped, "records dropped"),
            (incomplete, "connections lack records and are in no result"),
            (tail_unseen, "connections whose last ACKs were not seen"),
        ] {
            if count > 0 {
                let _ = write!(about, "; {CAUTION}{count} {what}{CAUTION:#}");
            }
        }
        about
    }
}

impl Output for Answer {
    fn text(&self) -> String {
        let about = wrap(&self.about(), 0, width());
        format!("{}{QUIET}{about}{QUIET:#}\n", self.results.text())
    }

    fn sheets(&self) -> Vec<Table> {
        self.results.sheets()
    }

    fn rows(&self) -> Table {
        self.results.rows()
    }

    /// The JSON of `replay`, preceded by these counts.
    fn json(&self) -> Result<String, Error> {
        let Seen { counts, records, closed, open, incomplete, tail_unseen } = self.seen;
        let mut all = json!({
            "watched": counts.watched,
            "not_drawn": counts.others,
            "closed": closed,
            "open": open,
            "records": records,
            "records_dropped": counts.dropped,
            "without_state": counts.failed,
            "incomplete": incomplete,
            "tail_unseen": tail_unseen,
        });
        let results = serde_json::to_value(&self.results);
        let results = results.map_err(|error| Error::new(error.to_string()))?;
        if let (Some(all), serde_json::Value::Object(results)) = (all.as_object_mut(), results) {
            all.extend(results);
        }
        pretty(serde_json::to_string_pretty(&all))
    }
}
