//! Which connections of a trial are open, and how long they last: for looks at a trial that runs. A
//! look that took closed connections only would miss the long ones of the slower arm.

use super::closed::{Closed, Moment};
use firstflight_path::Error;
use firstflight_trial::row::Row;
use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::time::Duration;

/// No look takes connections that are younger.
const LEAST_MATURITY: Duration = Duration::from_secs(60);
/// Quantile of how long connections last, of all arms together.
const MATURE: f64 = 0.999;
/// The same for what a slot of time still sees of the one before.
const SETTLED: f64 = 0.99;
/// Open connections that are remembered; beyond, new ones count only when they are over.
const MOST_OPEN: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct Ledger {
    open: HashMap<u32, Closed>,
    /// How long connections lasted, in ms.
    lasted: Histogram<u64>,
}

impl Ledger {
    pub(super) fn new() -> Result<Ledger, Error> {
        let lasted = Histogram::new(2).map_err(|error| Error::new(error.to_string()))?;
        Ok(Ledger { open: HashMap::new(), lasted })
    }

    /// One record; gives it back if its connection is over.
    pub(super) fn take(&mut self, record: Closed) -> Option<Closed> {
        let id = record.connection();
        if record.moment() == Moment::Over {
            self.open.remove(&id);
            // A histogram that grows by itself takes any number.
            let _ = self.lasted.record(now_ns().saturating_sub(record.start()) / 1_000_000);
            return Some(record);
        }
        if self.open.len() < MOST_OPEN || self.open.contains_key(&id) {
            self.open.insert(id, record);
        }
        None
    }

    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// What is known of those that are open, in order of their beginning.
    pub(super) fn rows(&self) -> Vec<(&Closed, Row)> {
        let mut open: Vec<&Closed> = self.open.values().collect();
        open.sort_by_key(|record| record.connection());
        let row = |record| {
            let ended = Some("open".to_owned());
            let row = Closed::row(record);
            (record, Row { ended, censored: Some(true), tail_unseen: None, ..row })
        };
        open.into_iter().map(row).collect()
    }

    /// How long nearly all connections last: so long do those of a slot of time run into the next.
    pub(super) fn settling(&self) -> Duration {
        Duration::from_millis(self.lasted.value_at_quantile(SETTLED))
    }

    /// How long after its beginning a connection enters a look, over or not.
    pub(super) fn maturity(&self) -> Duration {
        LEAST_MATURITY.max(Duration::from_millis(self.lasted.value_at_quantile(MATURE)))
    }
}

/// The kernel's monotonic clock.
pub(super) fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(connection: u32, moment: Moment, start: u64) -> Closed {
        Closed::parse(&Closed::bytes(connection, moment, start)).expect("a record")
    }

    #[test]
    fn a_connection_is_open_until_it_is_over() {
        let mut ledger = Ledger::new().expect("a ledger");
        let now = now_ns();
        for (id, moment) in [(1, Moment::Begun), (2, Moment::Begun), (1, Moment::Going)] {
            assert!(ledger.take(record(id, moment, now)).is_none());
        }
        assert_eq!(ledger.open(), 2);
        let rows = ledger.rows();
        assert!(rows.iter().all(|(_, row)| row.censored == Some(true)), "{rows:?}");
        assert_eq!(rows[0].1.ended.as_deref(), Some("open"));
        assert!(ledger.take(record(1, Moment::Over, now)).is_some());
        assert_eq!(ledger.open(), 1);
    }

    #[test]
    fn maturity_is_a_minute_or_what_almost_all_connections_last() {
        let mut ledger = Ledger::new().expect("a ledger");
        assert_eq!(ledger.maturity(), LEAST_MATURITY);
        let now = now_ns();
        let long = now.saturating_sub(200_000_000_000);
        if long > 0 {
            for id in 0..10 {
                assert!(ledger.take(record(id, Moment::Over, long)).is_some());
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
