//! The open connections of a trial and the durations of finished ones, for looks at a running
//! trial. A look at closed connections only would miss the long ones of the slower arm.

use super::closed::now_us;
use super::told::{Drawn, Open, Told};
use firstflight_path::Error;
use firstflight_trial::row::Row;
use hdrhistogram::Histogram;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Minimum age of connections in any look.
const LEAST_MATURITY: Duration = Duration::from_secs(60);
/// Quantile of the connections' durations, over all arms.
const MATURE: f64 = 0.999;
/// Quantile for the connections that run into the next time slot.
const SETTLED: f64 = 0.99;
/// Maximum number of open connections stored; beyond it, new connections count only when they
/// finish.
pub(super) const MOST_OPEN: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct Ledger {
    /// Connections that were open at the last look and have not finished since.
    open: HashMap<u32, Open>,
    /// The latest record of each unfinished connection.
    told: HashMap<u32, Told>,
    /// Connections that finished since the last look: the kernel may still have listed them.
    over: HashSet<u32>,
    /// Durations of connections, in ms.
    lasted: Histogram<u64>,
}

impl Ledger {
    pub(super) fn new() -> Result<Ledger, Error> {
        let lasted = Histogram::new(2).map_err(|error| Error::new(error.to_string()))?;
        Ok(Ledger { open: HashMap::new(), told: HashMap::new(), over: HashSet::new(), lasted })
    }

    /// Takes a record; returns it if its connection is finished.
    pub(super) fn take(&mut self, record: Told) -> Option<Told> {
        let id = record.drawn.connection;
        if !record.going {
            self.open.remove(&id);
            self.told.remove(&id);
            self.over.insert(id);
            // An auto-resizing histogram accepts any number.
            let _ = self.lasted.record(now_us().saturating_sub(record.drawn.start) / 1000);
            return Some(record);
        }
        if self.told.len() < MOST_OPEN || self.told.contains_key(&id) {
            self.told.insert(id, record);
        }
        None
    }

    /// Takes the connections that the kernel lists as open now. Records of some that have finished
    /// may arrive later.
    pub(super) fn look(&mut self, open: impl IntoIterator<Item = Open>) {
        let open = open.into_iter().filter(|one| !self.over.contains(&one.drawn.connection));
        self.open = open.take(MOST_OPEN).map(|one| (one.drawn.connection, one)).collect();
        self.over.clear();
        let known = &self.open;
        self.told.retain(|id, _| known.contains_key(id));
    }

    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Rows of the open connections, in order of their start.
    pub(super) fn rows(&self) -> Vec<(Drawn, Row)> {
        let mut open: Vec<&Open> = self.open.values().collect();
        open.sort_by_key(|one| one.drawn.connection);
        let row = |one: &Open| {
            let row = self.told.get(&one.drawn.connection).map_or_else(|| one.row(), Told::row);
            let ended = Some("open".to_owned());
            (one.drawn, Row { ended, censored: Some(true), tail_unseen: None, ..row })
        };
        open.into_iter().map(row).collect()
    }

    /// Duration of nearly all connections: how far connections of a time slot run into the next
    /// one.
    pub(super) fn settling(&self) -> Duration {
        Duration::from_millis(self.lasted.value_at_quantile(SETTLED))
    }

    /// Minimum age at which a connection counts in a look, finished or not.
    pub(super) fn maturity(&self) -> Duration {
        LEAST_MATURITY.max(Duration::from_millis(self.lasted.value_at_quantile(MATURE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_open_until_it_is_over() {
        let mut ledger = Ledger::new().expect("a ledger");
        let now = now_us();
        ledger.look([1, 2].map(|id| Open::of(id, now)));
        assert!(ledger.take(Told::of(1, true, now)).is_none());
        assert_eq!(ledger.open(), 2);
        let rows = ledger.rows();
        assert!(rows.iter().all(|(_, row)| row.censored == Some(true)), "{rows:?}");
        assert_eq!(rows[0].1.ended.as_deref(), Some("open"));
        assert_eq!(rows[0].1.bytes_acked, Some(0), "what was told last");
        assert_eq!(rows[1].1.bytes_acked, None, "nothing was told yet");
        assert!(ledger.take(Told::of(1, false, now)).is_some());
        assert_eq!(ledger.open(), 1);
        // The kernel still listed it while it reported the end.
        ledger.look([1, 2].map(|id| Open::of(id, now)));
        assert_eq!(ledger.open(), 1, "over is over");
    }

    #[test]
    fn maturity_is_a_minute_or_what_almost_all_connections_last() {
        let mut ledger = Ledger::new().expect("a ledger");
        assert_eq!(ledger.maturity(), LEAST_MATURITY);
        let now = now_us();
        let long = now.saturating_sub(200_000_000);
        if long > 0 {
            for id in 0..10 {
                assert!(ledger.take(Told::of(id, false, long)).is_some());
            }
            let most = ledger.maturity();
            assert!(
                most >= Duration::from_secs(198) && most < Duration::from_secs(210),
                "{most:?}"
            );
            assert_eq!(ledger.settling(), most, "all last as long");
        }
    }
}
