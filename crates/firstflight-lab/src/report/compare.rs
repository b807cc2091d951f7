//! Data of a comparison's page.

use firstflight_table::Table;
use serde::Serialize;

/// All data of one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Heading as text: what was compared, and on which path.
    pub title: String,
    /// Result in a sentence or two.
    pub finding: String,
    /// The command line that reproduces this report.
    pub command: String,
    /// Name and version of the program that wrote it.
    pub version: String,
    /// Name of the testbed that the trials ran on.
    pub testbed: String,
    /// The testbed as a phrase for a sentence: `in the simulator`.
    pub place: String,
    /// The path that all arms shared.
    pub path: Path,
    /// The size of the object that was transferred.
    pub workload_bytes: u64,
    /// The first seed. Series belong to the trial with this seed; repeated trials increment it.
    pub seed: u64,
    /// Trials per arm. If there are several, the values of the table are medians over the trials.
    pub repeat: u32,
    /// Caveats to read before the numbers: warnings first.
    pub notes: Vec<Note>,
    /// The results, one row per arm: [`table`](crate::table::table).
    #[serde(serialize_with = "results::serialize")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Level.
    pub level: Level,
    /// One or two sentences.
    pub text: String,
}

/// Level of a [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The numbers may be misleading.
    Warning,
    /// An assumption or a circumstance worth knowing.
    Info,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// Time series of one arm, in the trial with the report's seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The name of the arm; the same as in the table.
    pub arm: String,
    /// Colour and shape of the arm ([`looks`](super::looks)).
    pub look: usize,
    /// The samples, in order of time. Each holds until the next; the last one ends the transfer.
    #[serde(serialize_with = "columns::serialize")]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Time at which the sender detected it.
    pub t_ms: f64,
    /// Size, bytes.
    pub bytes: u64,
}

/// Exit of the startup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exit {
    /// The name of the reason (`loss`, `delay`, `css_done`, ...).
    pub reason: String,
    /// The reason as the end of a sentence ("because packets were lost first"); empty for an
    /// unknown reason.
    pub because: String,
    /// Time.
    pub time_ms: f64,
    /// The window at that moment.
    pub cwnd: u64,
    /// The window over the path's BDP.
    pub bdp_ratio: Option<f64>,
}

/// One recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ideal {
    /// Earliest arrival of the first byte at the receiver.
    pub t0_ms: f64,
    /// The rate of arrival.
    pub rate_mbps: f64,
}

/// The table as the scripts of the page read it: columns with their definitions, and a row per arm
/// with the marks of its values.
mod results {
    use super::Table;
    use crate::table::FIRST_MEASURE;
    use firstflight_table::{Better, Cell, Look};
    use serde::{Serialize, Serializer};

    #[derive(Serialize)]
    struct Column<'a> {
        key: &'a str,
        label: &'a str,
        unit: &'a str,
        better: Better,
        explanation: &'a str,
    }

    #[derive(Serialize)]
    struct Row<'a> {
        arm: Cell<'a>,
        arm_full: Cell<'a>,
        values: Vec<Cell<'a>>,
        /// Empty for a single trial.
        spread: Vec<Option<Range>>,
        best: Vec<&'a str>,
        near: Vec<&'a str>,
    }

    #[derive(Serialize)]
    struct Range {
        low: f64,
        high: f64,
    }

    #[derive(Serialize)]
    struct Results<'a> {
        columns: Vec<Column<'a>>,
        rows: Vec<Row<'a>>,
    }

    pub(super) fn serialize<S: Serializer>(table: &Table, to: S) -> Result<S::Ok, S::Error> {
        let columns = table.columns();
        let measures = || FIRST_MEASURE..columns.len();
        let row = |row: usize| {
            let marked = |marked: fn(Look) -> bool| {
                let marked = measures().filter(|at| marked(table.look(row, *at)));
                marked.map(|at| columns[at].key.as_str()).collect()
            };
            let range = |at| table.look(row, at).range.map(|[low, high]| Range { low, high });
            let spread: Vec<Option<Range>> = measures().map(range).collect();
            Row {
                arm: table.get(row, 0),
                arm_full: table.get(row, 1),
                values: measures().map(|at| table.get(row, at)).collect(),
                spread: if spread.iter().all(Option::is_none) { Vec::new() } else { spread },
                best: marked(|look| look.bold),
                near: marked(|look| look.near),
            }
        };
        let rows = (0..table.len()).map(row).collect();
        let columns = columns.iter().skip(FIRST_MEASURE).map(|column| Column {
            key: &column.key,
            label: &column.name,
            unit: &column.unit,
            better: column.better,
            explanation: &column.doc,
        });
        Results { columns: columns.collect(), rows }.serialize(to)
    }
}

/// Points are stored as one array per field: a third of the size of one object per point.
mod columns {
    use super::Point;
    use serde::{Serialize, Serializer};

    #[derive(Default, Serialize)]
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
}
