//! The columns of a comparison: one definition for terminal, JSON-independent report and documentation.

use crate::compare::Comparison;
use crate::report::{Better, Column, Row, Spread, Table, Value};
use crate::stats::Summary;
use crate::trial::TrialRow;

/// One column: how it is called, which end is good, and how it is read off a trial.
struct Metric {
    key: &'static str,
    label: &'static str,
    unit: &'static str,
    better: Better,
    explanation: &'static str,
    read: fn(&TrialRow) -> Option<f64>,
}

const METRICS: &[Metric] = &[
    Metric {
        key: "ttlb_ms",
        label: "completion time",
        unit: "ms",
        better: Better::Low,
        explanation: "from the first byte sent until the last one is delivered in order at the receiver",
        read: |row| row.ttlb_ms,
    },
    Metric {
        key: "vs_ideal",
        label: "vs ideal",
        unit: "",
        better: Better::Low,
        explanation: "completion time over the bound no sender beats: one-way delay plus bytes over bottleneck rate",
        read: |row| row.vs_ideal,
    },
    Metric {
        key: "goodput_mbps",
        label: "goodput",
        unit: "Mbit/s",
        better: Better::High,
        explanation: "object bytes over the time until the last is delivered in order at the receiver",
        read: |row| row.goodput_mbps,
    },
    Metric {
        key: "loss_ratio",
        label: "loss",
        unit: "%",
        better: Better::Low,
        explanation: "packets declared lost and truly dropped, of all packets sent",
        read: |row| row.loss_ratio.map(|ratio| ratio * 100.0),
    },
    Metric {
        key: "retransmitted_bytes",
        label: "sent again",
        unit: "bytes",
        better: Better::Low,
        explanation: "object bytes that had to be sent again",
        read: |row| row.retransmitted_bytes.map(|bytes| bytes as f64),
    },
    Metric {
        key: "exit_ms",
        label: "exit at",
        unit: "ms",
        better: Better::None,
        explanation: "when startup ended, since the first byte was sent",
        read: |row| row.exit.as_ref().map(|exit| exit.time_ms),
    },
    Metric {
        key: "exit_bdp",
        label: "exit window",
        unit: "BDP",
        better: Better::None,
        explanation: "window when startup ended, before any reduction, over rate times idle round trip; 1 fills the path, more stands in the queue",
        read: |row| row.exit.as_ref().map(|exit| exit.bdp_ratio),
    },
    Metric {
        key: "queue_p99_ms",
        label: "queue p99",
        unit: "ms",
        better: Better::Low,
        explanation: "waiting time at the bottleneck that 99 % of the packets do not exceed: what others on the path feel",
        read: |row| row.queue_ms.p99,
    },
];

/// Where the exit reason stands among the columns.
const REASON_AT: usize = 5;

/// The table of a comparison: medians over the repeats with their extremes, best values marked.
pub fn table(comparison: &Comparison) -> Table {
    let mut columns: Vec<Column> = METRICS
        .iter()
        .map(|metric| Column {
            key: metric.key.into(),
            label: metric.label.into(),
            unit: metric.unit.into(),
            better: metric.better,
            explanation: metric.explanation.into(),
        })
        .collect();
    columns.insert(
        REASON_AT,
        Column {
            key: "exit_reason".into(),
            label: "exit".into(),
            unit: String::new(),
            better: Better::None,
            explanation: "why startup ended; `-` if the object ended first".into(),
        },
    );
    let mut table = Table { columns, rows: Vec::new() };
    for (index, arm) in comparison.plan.arms.iter().enumerate() {
        let trials = comparison.trials(index);
        let summaries: Vec<Option<Summary>> = METRICS.iter().map(|metric| Summary::of(trials.iter().filter_map(metric.read))).collect();
        let mut values: Vec<Value> =
            summaries.iter().map(|summary| summary.map_or(Value::Missing, |summary| Value::Number(summary.median))).collect();
        let mut spread: Vec<Option<Spread>> =
            summaries.iter().map(|summary| summary.map(|summary| Spread { low: summary.low, high: summary.high })).collect();
        values.insert(REASON_AT, reasons(trials).map_or(Value::Missing, Value::Text));
        spread.insert(REASON_AT, None);
        if trials.len() == 1 {
            spread.clear();
        }
        table.rows.push(Row { arm: arm.label.clone(), arm_full: arm.full(), values, spread, best: Vec::new() });
    }
    table.mark_best();
    table
}

/// The reasons of the exits, the commonest first.
fn reasons(trials: &[TrialRow]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for reason in trials.iter().filter_map(|row| row.exit.as_ref().map(|exit| exit.reason)) {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    match counts.as_slice() {
        [] => None,
        [(only, _)] => Some((*only).to_owned()),
        many => Some(many.iter().map(|(reason, count)| format!("{reason} {count}")).collect::<Vec<_>>().join(", ")),
    }
}

/// A number for people: as many digits as can matter.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "bytes" if value >= 1e6 => format!("{:.2} MB", value / 1e6),
        "bytes" if value >= 1e3 => format!("{:.1} kB", value / 1e3),
        "bytes" => format!("{value:.0} B"),
        "ms" if value >= 10_000.0 => format!("{value:.0}"),
        "ms" | "Mbit/s" => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
