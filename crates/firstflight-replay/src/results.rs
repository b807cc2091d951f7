//! The results of a replay, as `--json` has them.

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
    /// The arm as asked for.
    pub arm: String,
    /// Connections it was replayed on.
    pub connections: u64,
    /// Of these: left too early.
    pub early: u64,
    /// Left right.
    pub right: u64,
    /// Left too late.
    pub late: u64,
    /// Did not leave.
    pub silent: u64,
    /// Exit window over BDP, of those that left: 10th percentile.
    pub bdp_ratio_p10: Option<f64>,
    /// Median.
    pub bdp_ratio_p50: Option<f64>,
    /// 90th percentile.
    pub bdp_ratio_p90: Option<f64>,
}

/// Distribution of one capture measure over the connections.
#[derive(Clone, Debug, Serialize)]
pub struct CapturedRow {
    /// The measure, as the connections name it.
    pub measure: &'static str,
    /// Connections that show it.
    pub connections: u64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Always true: the sender did not obey the startups that were replayed.
    pub open_loop: bool,
    /// The startups, as asked for.
    pub arms: Vec<String>,
    /// The files.
    pub files: Vec<FileRow>,
    /// The connections.
    pub connections: Vec<ConnectionRow>,
    /// The spread of verdicts.
    pub verdicts: Vec<VerdictRow>,
    /// The spread of what was captured.
    pub captured: Vec<CapturedRow>,
    /// Connections with too few ACKs.
    pub short: u64,
    /// Connections beyond what is kept.
    pub beyond: u64,
    /// The course of the first ones over time, for the report.
    #[serde(skip)]
    pub(crate) lines: Vec<Course>,
}

impl Results {
    /// Of a replay that has read all its files.
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

    /// All of it as JSON, the same bytes for the same files.
    ///
    /// # Errors
    /// One line; never with values of ours.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = Vec::new();
        self.write_json(&mut text)?;
        String::from_utf8(text).map_err(|error| Error::new(error.to_string()))
    }

    /// The same, written piece by piece.
    ///
    /// # Errors
    /// One line if `out` fails.
    pub fn write_json(&self, mut out: impl Write) -> Result<(), Error> {
        serde_json::to_writer_pretty(&mut out, self)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| Error::new(error.to_string()))
    }

    /// Faults of captures of connections: the line of the only one, or their number with the first
    /// as an example, doubtful ones apart.
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
                // They are doubtful, as the sentence says already.
                let line = line.trim_start_matches("doubtful: ");
                format!("{} of {all} connections {kind}, such as {}: {line}", of.len(), row.name)
            })
        };
        let lines = [told(&doubtful, "are doubtful"), told(&others, "have a capture with a fault")];
        lines.into_iter().flatten().collect()
    }

    /// Kinds of findings, how many connections have them, and the words of the first.
    pub fn findings(&self) -> Vec<(&'static str, usize, &str)> {
        let mut kinds: BTreeMap<&'static str, (usize, &str)> = BTreeMap::new();
        for finding in self.connections.iter().flat_map(|connection| &connection.findings) {
            kinds.entry(finding.kind).or_insert((0, &finding.text)).0 += 1;
        }
        kinds.into_iter().map(|(kind, (count, text))| (kind, count, text)).collect()
    }
}

type Measure = fn(&ConnectionRow) -> Option<f64>;

/// What is said of all connections together.
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
