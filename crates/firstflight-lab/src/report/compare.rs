//! Data of a comparison's page.

use firstflight_table::Better;
use serde::{Deserialize, Serialize};

/// All data of one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Heading as text: what was compared, and on which path.
    pub title: String,
    /// Result in a sentence or two.
    #[serde(default)]
    pub finding: String,
    /// The command line that reproduces this report.
    pub command: String,
    /// Name and version of the program that wrote it.
    pub version: String,
    /// Name of the testbed that the trials ran on.
    pub testbed: String,
    /// The testbed as a phrase for a sentence: `in the simulator`.
    #[serde(default)]
    pub place: String,
    /// The path that all arms shared.
    pub path: Path,
    /// The size of the object that was transferred.
    pub workload_bytes: u64,
    /// The first seed. Series belong to the trial with this seed; repeated trials increment it.
    pub seed: u64,
    /// Trials per arm. If there are several, [`Row::values`] are medians over the trials.
    pub repeat: u32,
    /// Caveats to read before the numbers: warnings first.
    pub notes: Vec<Note>,
    /// The results, one row per arm.
    pub table: Table,
    /// The time series, one per arm, in the order of the legend.
    pub series: Vec<Series>,
    /// The lower bound for any sender on this path, if known.
    pub ideal: Option<Ideal>,
    /// Provenance of the numbers: build, machine, hash of the configuration and similar facts, in
    /// the order shown.
    pub provenance: Vec<Fact>,
}

/// The path as requested, and values derived from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The canonical text; parsing it gives this path again.
    pub text: String,
    /// The short name, if it has one (`geo`).
    pub name: Option<String>,
    /// Author or publisher of this path's measurements.
    pub source: Option<String>,
    /// The bottleneck's rate; `None` if it changes with time.
    pub rate_mbps: Option<f64>,
    /// The round trip without any queue.
    pub rtt_ms: f64,
    /// The queue in front of the bottleneck; `None` if it is unlimited.
    pub queue_bytes: Option<u64>,
    /// Rate times idle round trip.
    pub bdp_bytes: Option<u64>,
    /// Capacity of path and queue together: rate times idle round trip plus the queue.
    pub full_bdp_bytes: Option<u64>,
}

/// A remark above the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Level.
    pub level: Level,
    /// One or two sentences.
    pub text: String,
}

/// Level of a [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The numbers may be misleading.
    Warning,
    /// An assumption or a circumstance worth knowing.
    Info,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// The results as a table: metrics across, arms down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The metrics, in the order shown.
    pub columns: Vec<Column>,
    /// The arms, in the order shown.
    pub rows: Vec<Row>,
}

/// One metric of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The stable field name (`ttlb_ms`).
    pub key: String,
    /// Display name (`completion time`).
    pub label: String,
    /// The unit of the values (`ms`, `%`, `bytes`), empty for a plain number. Values in
    /// `bytes` are shown as kB, MB or GB.
    pub unit: String,
    /// Whether lower or higher values of the column are better.
    pub better: Better,
    /// Definition of the metric, in a sentence.
    pub explanation: String,
}

/// One arm of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the arm as requested; the same as in [`Series::arm`].
    pub arm: String,
    /// The arm spelled out: the canonical text with every part.
    pub arm_full: String,
    /// One value per column.
    pub values: Vec<Value>,
    /// Smallest and largest value over the trials, one per column; empty for a single trial.
    pub spread: Vec<Option<Spread>>,
    /// The keys of the columns in which this arm is the best.
    pub best: Vec<String>,
    /// The keys of the columns in which trials cannot distinguish it from the best.
    #[serde(default)]
    pub near: Vec<String>,
}

/// A cell of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the unit of its column.
    Number(f64),
    /// A word, such as the reason of an exit.
    Text(String),
    /// Does not apply to this arm.
    #[default]
    Missing,
}

/// The range over the trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// Time series of one arm, in the trial with the report's seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the arm; the same as in [`Row::arm`].
    pub arm: String,
    /// Colour and shape of the arm ([`looks`](super::looks)).
    #[serde(default)]
    pub look: usize,
    /// The samples, in order of time. Each holds until the next; the last one ends the transfer.
    #[serde(with = "columns")]
    pub points: Vec<Point>,
    /// Phases of the sender, without overlap, in order.
    pub phases: Vec<Phase>,
    /// Times at which packets were declared lost, with their bytes.
    pub losses: Vec<Loss>,
    /// Exit of the startup; `None` if the transfer ended first.
    pub exit: Option<Exit>,
    /// The recovery episodes, in order.
    pub episodes: Vec<Episode>,
    /// Number of episodes if [`Report::bounded`] kept only the first ones; 0 if all are listed.
    #[serde(default)]
    pub episodes_total: u64,
}

/// One sample of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Time since the first data byte was sent.
    pub t_ms: f64,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `None` while it is unset.
    pub ssthresh: Option<u64>,
    /// Bytes in flight as the sender counts them.
    pub inflight: u64,
    /// Bytes in order at the receiver.
    pub delivered_bytes: u64,
    /// Bytes waiting at the bottleneck.
    pub queue_bytes: u64,
}

/// A time interval in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Start.
    pub start_ms: f64,
    /// End.
    pub end_ms: f64,
    /// `startup`, `jump`, `rapid`, `css`, `lss`, `drain`, `recovery`, `avoidance`; other names are
    /// drawn too, in grey.
    pub name: String,
}

/// Bytes declared lost at one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Time at which the sender detected it.
    pub t_ms: f64,
    /// Size, bytes.
    pub bytes: u64,
}

/// Exit of the startup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// The name of the reason (`loss`, `delay`, `css_done`, ...).
    pub reason: String,
    /// The reason as the end of a sentence ("because packets were lost first"); empty for an
    /// unknown reason.
    #[serde(default)]
    pub because: String,
    /// Time.
    pub time_ms: f64,
    /// The window at that moment.
    pub cwnd: u64,
    /// The window over the path's BDP.
    pub bdp_ratio: Option<f64>,
}

/// One recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Start.
    pub start_ms: f64,
    /// End; `None` if the transfer ended during the episode.
    pub end_ms: Option<f64>,
    /// The window before the reduction.
    pub cwnd_before: u64,
    /// The window when the episode ended, or the last one seen during it.
    pub cwnd_after: u64,
    /// The longest time without sending during it.
    pub silence_ms: f64,
    /// Bytes declared lost during it.
    pub lost_bytes: u64,
}

/// The bound: bytes arrive at the bottleneck's rate, starting at `t0_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ideal {
    /// Earliest arrival of the first byte at the receiver.
    pub t0_ms: f64,
    /// The rate of arrival.
    pub rate_mbps: f64,
}

impl Table {
    /// Marks the best of the competing arms in each column that has a good end. All tied arms are
    /// best, but a column in which every arm has the same value has no best arm.
    pub fn mark_best(&mut self, competing: &[bool]) {
        for row in &mut self.rows {
            row.best.clear();
        }
        for (index, column) in self.columns.iter().enumerate() {
            let number = |row: &Row| match row.values.get(index) {
                Some(Value::Number(x)) if x.is_finite() => Some(*x),
                _ => None,
            };
            let competes = |row: &usize| competing.get(*row).copied().unwrap_or(true);
            let values =
                || (0..self.rows.len()).filter(competes).filter_map(|row| number(&self.rows[row]));
            let (low, high) = (
                values().fold(f64::INFINITY, f64::min),
                values().fold(f64::NEG_INFINITY, f64::max),
            );
            let best = match column.better {
                Better::Low => low,
                Better::High => high,
                Better::None => continue,
            };
            // `low < high` also skips columns with fewer than two numbers.
            if low < high {
                for row in (0..self.rows.len()).filter(competes) {
                    let row = &mut self.rows[row];
                    if number(row).is_some_and(|x| x.total_cmp(&best).is_eq()) {
                        row.best.push(column.key.clone());
                    }
                }
            }
        }
    }
}

/// Points are stored as one array per field: a third of the size of one object per point.
mod columns {
    use super::Point;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Default, Serialize, Deserialize)]
    struct Columns {
        t_ms: Vec<f64>,
        cwnd: Vec<u64>,
        ssthresh: Vec<Option<u64>>,
        inflight: Vec<u64>,
        delivered_bytes: Vec<u64>,
        queue_bytes: Vec<u64>,
    }

    pub(super) fn serialize<S: Serializer>(points: &[Point], to: S) -> Result<S::Ok, S::Error> {
        Columns {
            t_ms: points.iter().map(|p| p.t_ms).collect(),
            cwnd: points.iter().map(|p| p.cwnd).collect(),
            ssthresh: points.iter().map(|p| p.ssthresh).collect(),
            inflight: points.iter().map(|p| p.inflight).collect(),
            delivered_bytes: points.iter().map(|p| p.delivered_bytes).collect(),
            queue_bytes: points.iter().map(|p| p.queue_bytes).collect(),
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Point>, D::Error> {
        let c = Columns::deserialize(from)?;
        let n = c.t_ms.len();
        if [
            c.cwnd.len(),
            c.ssthresh.len(),
            c.inflight.len(),
            c.delivered_bytes.len(),
            c.queue_bytes.len(),
        ]
        .iter()
        .any(|&len| len != n)
        {
            return Err(D::Error::custom("the columns of `points` differ in length"));
        }
        let point = |i| Point {
            t_ms: c.t_ms[i],
            cwnd: c.cwnd[i],
            ssthresh: c.ssthresh[i],
            inflight: c.inflight[i],
            delivered_bytes: c.delivered_bytes[i],
            queue_bytes: c.queue_bytes[i],
        };
        Ok((0..n).map(point).collect())
    }
}
