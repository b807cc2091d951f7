//! The counters of a trial as Prometheus text: `node_exporter --collector.textfile.directory`.

use firstflight_lab::Error;
use firstflight_linux::kernel::{Counts, Row};
use firstflight_table::rows::Health;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::HashMap;

/// Sums over the rows of an arm.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    rows: u64,
    changed: u64,
    bytes_acked: u64,
    segments: u64,
    retransmitted: u64,
    timeouts: u64,
    ce: u64,
    busy_ms: f64,
}

/// Sums over rows, per arm.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics(HashMap<String, Sums>);

/// A metric of each arm: name, help text and value.
type Told = (&'static str, &'static str, fn(&Sums) -> u64);
const TOLD: &[Told] = &[
    ("rows", "connections that are over", |sums| sums.rows),
    (
        "changed",
        "connections whose service chose another controller after the arm was given",
        |sums| sums.changed,
    ),
    ("bytes_acked", "bytes acknowledged", |sums| sums.bytes_acked),
    ("segments", "segments with data sent", |sums| sums.segments),
    ("retransmitted", "segments retransmitted", |sums| sums.retransmitted),
    ("timeouts", "retransmission timeouts", |sums| sums.timeouts),
    ("ce", "packets delivered with a congestion mark", |sums| sums.ce),
    ("busy_milliseconds", "time with data outstanding", |sums| sums.busy_ms as u64),
];

impl Metrics {
    pub(super) fn add(&mut self, row: &Row) {
        let sums = self.0.entry(row.arm.clone().unwrap_or_default()).or_default();
        sums.rows += 1;
        sums.changed += u64::from(row.changed == Some(true));
        sums.bytes_acked += row.bytes_acked.unwrap_or(0);
        sums.segments += row.segments.unwrap_or(0);
        sums.retransmitted += row.retransmitted.unwrap_or(0);
        sums.timeouts += row.timeouts.unwrap_or(0);
        sums.ce += row.ce.unwrap_or(0);
        sums.busy_ms += row.busy_ms.unwrap_or(0.0);
    }

    /// Number of finished connections of this arm.
    pub(super) fn rows(&self, arm: &str) -> u64 {
        self.0.get(arm).map_or(0, |sums| sums.rows)
    }

    /// Number of these whose service chose another controller.
    pub(super) fn changed(&self, arm: &str) -> u64 {
        self.0.get(arm).map_or(0, |sums| sums.changed)
    }

    /// Segments retransmitted, and segments sent, of this arm, for the plain ratio.
    pub(super) fn retransmitted(&self, arm: &str) -> (u64, u64) {
        self.0.get(arm).map_or((0, 0), |sums| (sums.retransmitted, sums.segments))
    }

    /// All metrics as text.
    pub(super) fn text(
        &self,
        arms: &[String],
        counts: &Counts,
        open: u64,
        health: &Health,
    ) -> Result<String, Error> {
        let mut registry = Registry::with_prefix("firstflight_trial");
        let mut family = |name: &str, help: &str, value: &dyn Fn(usize, &str) -> u64| {
            let family = Family::<Vec<(String, String)>, Counter>::default();
            for (number, arm) in arms.iter().enumerate() {
                let label = vec![("arm".to_owned(), arm.clone())];
                family.get_or_create(&label).inc_by(value(number, arm));
            }
            registry.register(name, help, family);
        };
        family("drawn", "connections that were given the arm", &|number, _| {
            counts.assigned.get(number).copied().unwrap_or(0)
        });
        for (name, help, of) in TOLD {
            family(name, help, &|_, arm| self.0.get(arm).map_or(0, of));
        }
        for (name, help, value) in [
            ("outside", "connections that take no part", counts.outside),
            ("left_out", "connections whose service chose a controller", counts.left_out),
            ("failed", "connections that could not be assigned their arm", counts.failed),
            ("rows_dropped", "rows that found no room", counts.dropped),
            ("rows_lost", "rows that could not be written to their file", health.lost),
        ] {
            let counter: Counter = Counter::default();
            counter.inc_by(value);
            registry.register(name, help, counter);
        }
        for (name, help, value) in [
            ("open", "connections that are open", open),
            ("rows_waiting", "rows that wait until their file takes them", health.waiting),
        ] {
            let gauge: Gauge = Gauge::default();
            gauge.set(value.cast_signed());
            registry.register(name, help, gauge);
        }
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|error| Error::new(format!("metrics: {error}")))?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_arm_has_its_line_and_what_is_not_known_adds_nothing() {
        let mut metrics = Metrics::default();
        let row = |arm: &str, segments| Row {
            arm: Some(arm.to_owned()),
            segments,
            busy_ms: Some(1.5),
            ..Row::default()
        };
        for segments in [Some(7), None] {
            metrics.add(&row("rapid", segments));
        }
        let counts = Counts { assigned: vec![4, 3], dropped: 2, ..Counts::default() };
        let arms = ["kernel:cubic".to_owned(), "rapid".to_owned()];
        let health = Health { waiting: 3, lost: 9, trouble: None };
        let text = metrics.text(&arms, &counts, 5, &health).expect("text");
        for line in [
            "firstflight_trial_drawn_total{arm=\"kernel:cubic\"} 4",
            "firstflight_trial_rows_total{arm=\"rapid\"} 2",
            "firstflight_trial_segments_total{arm=\"rapid\"} 7",
            "firstflight_trial_busy_milliseconds_total{arm=\"rapid\"} 3",
            "firstflight_trial_rows_dropped_total 2",
            "firstflight_trial_rows_lost_total 9",
            "firstflight_trial_rows_waiting 3",
            "firstflight_trial_open 5",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn the_dashboard_shows_every_metric_and_no_other() {
        let arms = ["kernel:cubic".to_owned()];
        let text = Metrics::default().text(&arms, &Counts::default(), 0, &Health::default());
        let text = text.expect("text");
        let written: BTreeSet<&str> =
            text.lines().filter(|line| !line.starts_with('#')).map(name).collect();
        assert!(written.len() > 10, "the metrics are {written:?}");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana-trial.json");
        let file = std::fs::read_to_string(file).expect("the dashboard");
        serde_json::from_str::<serde_json::Value>(&file).expect("the dashboard is JSON");
        let shown: BTreeSet<&str> =
            file.match_indices("firstflight_trial_").map(|(at, _)| name(&file[at..])).collect();
        assert_eq!(shown, written, "metrics on the dashboard, and those of a trial");
    }

    /// The name at the start of a line or query.
    fn name(text: &str) -> &str {
        let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        &text[..end.unwrap_or(text.len())]
    }
}
