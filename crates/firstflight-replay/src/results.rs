//! The results of a replay, as in `--json`.

use crate::course::Course;
use crate::replay::Replay;
use crate::summary::{ConnectionRow, Verdict};
pub use firstflight_log::FileRow;
use firstflight_path::Error;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Verdicts on one startup over all connections.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictRow {
    /// Name of the arm as requested.
    pub arm: String,
    /// Number of connections on which it was replayed.
    pub connections: u64,
    /// Number of connections on which it exited too early.
    pub early: u64,
    /// Number of connections on which it exited at the right window.
    pub right: u64,
    /// Number of connections on which it exited too late.
    pub late: u64,
    /// Number of connections on which it did not exit.
    pub silent: u64,
    /// 10th percentile of exit window over BDP, among connections with an exit.
    pub bdp_ratio_p10: Option<f64>,
    /// Median of exit window over BDP.
    pub bdp_ratio_p50: Option<f64>,
    /// 90th percentile of exit window over BDP.
    pub bdp_ratio_p90: Option<f64>,
}

/// Distribution of one capture measure over the connections.
#[derive(Clone, Debug, Serialize)]
pub struct CapturedRow {
    /// Name of the measure, as in the rows of connections.
    pub measure: &'static str,
    /// Number of connections that show it.
    pub connections: u64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// All results of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Always true: the sender did not follow the replayed startups.
    pub open_loop: bool,
    /// The startups, as requested.
    pub arms: Vec<String>,
    /// The files.
    pub files: Vec<FileRow>,
    /// The connections.
    pub connections: Vec<ConnectionRow>,
    /// The verdicts on each startup.
    pub verdicts: Vec<VerdictRow>,
    /// Distribution of each capture measure.
    pub captured: Vec<CapturedRow>,
    /// Number of connections with too few ACKs.
    pub short: u64,
    /// Number of connections beyond the maximum kept.
    pub beyond: u64,
    /// The course over time of the first connections, for the report.
    #[serde(skip)]
    pub(crate) lines: Vec<Course>,
}

impl Results {
    /// The results of a replay that has read all its files.
    pub fn new(replay: Replay, files: Vec<FileRow>) -> Results {
        let Replay { done: connections, short, beyond, lines, .. } = replay;
        let mut arms: Vec<String> = Vec::new();
        for row in connections.iter().flat_map(|connection| &connection.startups) {
            if !arms.contains(&row.arm) {
                arms.push(row.arm.clone());
            }
        }
        let verdicts = arms.iter().map(|arm| spread(arm, &connections)).collect();
        Results {
            open_loop: true,
            arms,
            files,
            captured: captured(&connections),
            connections,
            verdicts,
            short,
            beyond,
            lines,
        }
    }

    /// All results as JSON; the bytes depend only on the files.
    ///
    /// # Errors
    /// A one-line message; never for our own values.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = Vec::new();
        self.write_json(&mut text)?;
        String::from_utf8(text).map_err(|error| Error::new(error.to_string()))
    }

    /// Writes the same JSON piece by piece.
    ///
    /// # Errors
    /// A one-line message if `out` fails.
    pub fn write_json(&self, mut out: impl Write) -> Result<(), Error> {
        serde_json::to_writer_pretty(&mut out, self)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| Error::new(error.to_string()))
    }

    /// Faults of captured connections: the fault itself if there is only one, otherwise their
    /// number with the first as an example. Doubtful connections are counted separately.
    pub fn capture_lines(&self) -> Vec<String> {
        let (doubtful, others): (Vec<_>, Vec<_>) = self
            .connections
            .iter()
            .filter_map(|row| Some((row, row.capture.as_ref()?.line()?)))
            .partition(|(row, _)| row.is_doubtful());
        let told = |of: &[(&ConnectionRow, String)], kind: &str| {
            let (row, line) = of.first()?;
            Some(if of.len() == 1 {
                format!("{}: {line}", row.name)
            } else {
                let all = self.connections.len();
                // The sentence already says that they are doubtful.
                let line = line.trim_start_matches("doubtful: ");
                format!("{} of {all} connections {kind}, such as {}: {line}", of.len(), row.name)
            })
        };
        let lines = [told(&doubtful, "are doubtful"), told(&others, "have a flawed capture")];
        lines.into_iter().flatten().collect()
    }

    /// Each kind of finding, the number of connections with it, and the text of the first.
    pub fn findings(&self) -> Vec<(&'static str, usize, &str)> {
        let mut kinds: BTreeMap<&'static str, (usize, &str)> = BTreeMap::new();
        for finding in self.connections.iter().flat_map(|connection| &connection.findings) {
            kinds.entry(finding.kind).or_insert((0, &finding.text)).0 += 1;
        }
        kinds.into_iter().map(|(kind, (count, text))| (kind, count, text)).collect()
    }
}

type Measure = fn(&ConnectionRow) -> Option<f64>;

/// Measures that are summarized over all connections.
const MEASURES: [(&str, Measure); 6] = [
    ("min_rtt_ms", |row| row.min_rtt_ms),
    ("rtt_p50_ms", |row| row.rtt_p50_ms),
    ("best_rate_mbps", |row| row.best_rate_mbps),
    ("loss_ratio", |row| row.loss_ratio),
    ("queue_max_ms", |row| row.queue_max_ms),
    ("bytes", |row| Some(row.bytes as f64)),
];

fn captured(connections: &[ConnectionRow]) -> Vec<CapturedRow> {
    let row = |(measure, of): (&'static str, Measure)| {
        let mut values: Vec<f64> = connections.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (values.len() as f64 * share).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied()
        };
        let (p50, p95) = (quantile(0.5)?, quantile(0.95)?);
        Some(CapturedRow { measure, connections: values.len() as u64, p50, p95 })
    };
    MEASURES.into_iter().filter_map(row).collect()
}

fn spread(arm: &str, connections: &[ConnectionRow]) -> VerdictRow {
    let rows: Vec<_> = connections
        .iter()
        .flat_map(|connection| &connection.startups)
        .filter(|row| row.arm == arm)
        .collect();
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count() as u64;
    let mut ratios: Vec<f64> = rows.iter().filter_map(|row| row.bdp_ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        ratios
            .get(((ratios.len() as f64 * share) as usize).min(ratios.len().saturating_sub(1)))
            .copied()
    };
    VerdictRow {
        arm: arm.to_owned(),
        connections: rows.len() as u64,
        early: count(Verdict::Early),
        right: count(Verdict::Right),
        late: count(Verdict::Late),
        silent: count(Verdict::Silent),
        bdp_ratio_p10: quantile(0.1),
        bdp_ratio_p50: quantile(0.5),
        bdp_ratio_p90: quantile(0.9),
    }
}
