//! The rows of a sweep, and its JSON.

use super::{BYTES, Best, JUDGED, Sweep};
use crate::compare::Comparison;
use crate::measures::record;
use crate::repeat::Stopped;
use crate::stats::{Interval, Summary};
use crate::trial::{TrialRow, ms};
use serde::Serialize;
use std::collections::BTreeMap;

record! {
    /// One arm at one point of a sweep, as in `--json`. Measures are medians over the trials, with
    /// the smallest (`_low`) and largest (`_high`) value, except that `time_ratio` has its
    /// interval; trials without a value do not count.
    SweepRow of ((comparison, arm) = (&Comparison, usize));

    /// name of the arm as requested
    arm: String, "", None = comparison.plan.arms[arm].label.clone();
    /// the arm in full
    arm_full: String, "", None = comparison.plan.arms[arm].full();
    /// the path's canonical text at this point
    path: String, "", None = comparison.plan.scenario.path.to_string();
    /// rate of the bottleneck; the mean if it varies
    rate_mbps: f64, "Mbit/s", None = comparison.plan.scenario.path.rate_bps() as f64 / 1e6;
    /// idle round trip
    rtt_ms: f64, "ms", None = ms(comparison.plan.scenario.path.rtt());
    /// queue capacity; null if unlimited
    queue_bytes: Option<u64>, "bytes", None = comparison.plan.scenario.path.queue_bytes();
    /// rate times idle round trip
    bdp_bytes: u64, "bytes", None = comparison.plan.scenario.path.bdp_bytes();
    /// independent loss of the path
    path_loss_ratio: f64, "", None = comparison.plan.scenario.path.loss_ppb() as f64 / 1e9;
    /// object size
    object_bytes: u64, "bytes", None = comparison.plan.scenario.bytes;
    /// trials, each with the next seed
    trials: u32, "", None = comparison.plan.repeat;
    /// why no more trials ran: `precision`, `most` or `work`; null if `--repeat` set their number, and if the scenario is not random
    stopped: Option<&'static str>, "", None = comparison.stopped.map(Stopped::name);
    /// trials that finished within the limit
    finished: u32, "", High = comparison.trials(arm).iter().filter(|trial| trial.complete).count() as u32;
    /// completion time: from the first byte sent until the last byte is delivered in order at the receiver; an unfinished trial counts with the limit
    ttlb_ms: Option<Interval>, "ms", Low = over(comparison, arm, |trial| Some(trial.ttlb_ms.unwrap_or(ms(comparison.plan.scenario.limit.0))));
    /// completion time over that of the first arm on the same seed: geometric mean over the trials with its 95 % interval; null for the first arm and
    /// with a single trial
    time_ratio: Option<Interval>, "", Low = comparison.repeats().ratio(arm);
    /// completion time over the lower bound for any sender
    vs_ideal: Option<Interval>, "", Low = over(comparison, arm, |trial| trial.vs_ideal);
    /// object bytes over the time until the last byte is delivered
    goodput_mbps: Option<Interval>, "Mbit/s", High = over(comparison, arm, |trial| trial.goodput_mbps);
    /// packets declared lost and truly dropped, over all packets sent
    loss_ratio: Option<Interval>, "", Low = over(comparison, arm, |trial| trial.loss_ratio);
    /// object bytes retransmitted, for any reason
    retransmitted_bytes: Option<Interval>, "bytes", Low = over(comparison, arm, |trial| trial.retransmitted_bytes.map(|bytes| bytes as f64));
    /// when startup ended, after the first byte was sent
    exit_ms: Option<Interval>, "ms", None = over(comparison, arm, |trial| trial.exit.as_ref().map(|exit| exit.time_ms));
    /// window when startup ended over the BDP
    exit_bdp: Option<Interval>, "", None = over(comparison, arm, |trial| trial.exit.as_ref().map(|exit| exit.bdp_ratio));
    /// 99th percentile of the packets' waiting time at the bottleneck
    queue_p99_ms: Option<Interval>, "ms", Low = over(comparison, arm, |trial| trial.queue_ms.p99);
}

fn over(
    comparison: &Comparison,
    arm: usize,
    read: impl Fn(&TrialRow) -> Option<f64>,
) -> Option<Interval> {
    let summary = Summary::of(comparison.trials(arm).iter().filter_map(read))?;
    Some(Interval { value: summary.median, low: summary.low, high: summary.high })
}

/// A row preceded by the swept values.
#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(flatten)]
    swept: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    row: SweepRow,
}

/// The best arms at a point.
#[derive(Serialize)]
struct BestRow<'a> {
    #[serde(flatten)]
    swept: BTreeMap<&'a str, &'a str>,
    measure: &'static str,
    arms: Vec<&'a str>,
    margin: Option<f64>,
    margin_unit: &'static str,
}

#[derive(Serialize)]
struct AxisRow<'a> {
    key: &'a str,
    values: &'a [String],
}

/// The settings of the sweep with every default filled in; the path and the size at a point are in
/// its rows.
#[derive(Serialize)]
struct ExperimentRow<'a> {
    testbed: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<&'static str>,
    transport: &'static str,
    detection: &'static str,
    base_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    arms: Vec<String>,
    seed: u64,
    repeat: u32,
    iw: u32,
    burst: u32,
    datagram_bytes: u32,
    packet_bytes: u32,
    max_ack_delay_ms: f64,
    limit_s: f64,
}

#[derive(Serialize)]
struct Document<'a> {
    firstflight: &'static str,
    experiment: ExperimentRow<'a>,
    sweep: Vec<AxisRow<'a>>,
    points: usize,
    points_through: usize,
    finding: String,
    warnings: Vec<String>,
    best: Vec<BestRow<'a>>,
    results: Vec<JsonRow<'a>>,
}

impl Sweep {
    /// The rows of the finished points, in order, each with its swept values.
    pub fn rows(&self) -> Vec<(Vec<(&str, &str)>, SweepRow)> {
        let mut rows = Vec::new();
        for (point, comparison) in self.points.iter().enumerate() {
            let Some(comparison) = comparison else { continue };
            for arm in 0..comparison.plan.arms.len() {
                rows.push((self.plan.swept(point), SweepRow::of((comparison, arm))));
            }
        }
        rows
    }

    fn best_rows(&self) -> Vec<BestRow<'_>> {
        let arms: Vec<&str> = self.arms().collect();
        let mut rows = Vec::new();
        for judged in &JUDGED {
            for (point, best) in self.best(judged).into_iter().enumerate() {
                let Some(Best { arms: who, margin }) = best else { continue };
                rows.push(BestRow {
                    swept: self.plan.swept(point).into_iter().collect(),
                    measure: judged.key,
                    arms: who.into_iter().map(|arm| arms[arm]).collect(),
                    margin,
                    margin_unit: judged.margin_unit,
                });
            }
        }
        rows
    }

    /// The whole sweep as one JSON object, identical for the same plan.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(&self.document()).expect("numbers and strings serialise");
        text.push('\n');
        text
    }

    /// The content of [`Sweep::to_json`].
    pub(crate) fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self.document()).unwrap_or_default()
    }

    fn document(&self) -> Document<'_> {
        let axes = &self.plan.axes;
        // Settings common to all points are the same at each of them.
        let all = self.plan.points[0].resolved();
        Document {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: ExperimentRow {
                testbed: all.testbed,
                stacks: all.stacks,
                transport: all.transport,
                detection: all.detection,
                base_path: &self.plan.base,
                bytes: axes.iter().all(|axis| axis.key != BYTES).then_some(all.bytes),
                arms: all.arms,
                seed: all.seed,
                repeat: self.trials_of_each().1,
                iw: all.iw,
                burst: all.burst,
                datagram_bytes: all.datagram_bytes,
                packet_bytes: all.packet_bytes,
                max_ack_delay_ms: all.max_ack_delay_ms,
                limit_s: all.limit_s,
            },
            sweep: axes
                .iter()
                .map(|axis| AxisRow { key: &axis.key, values: &axis.values })
                .collect(),
            points: self.points.len(),
            points_through: self.through(),
            finding: self.finding(),
            warnings: self.warnings(),
            best: self.best_rows(),
            results: self
                .rows()
                .into_iter()
                .map(|(swept, row)| JsonRow { swept: swept.into_iter().collect(), row })
                .collect(),
        }
    }
}
