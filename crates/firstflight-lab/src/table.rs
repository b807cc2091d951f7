//! The table of a comparison, for terminal and report: the shown measures, as medians over the
//! trials.

use crate::arms::NamedArm;
use crate::compare::Comparison;
use crate::measures::{self, Cell, Field, Holds, Measure, Shown};
use crate::repeat::{Repeats, logs};
use crate::report::{Better, Column, Row, Spread, Table, Value};
use crate::stats::Summary;
use crate::stats::pairs::{Mark, Pairs};
use crate::trial::TrialRow;
use std::borrow::Cow;

/// A column, and the place of its values in a row.
struct Of {
    column: measures::Column,
    shown: Shown,
}

impl Of {
    /// The values of an arm's trials, in the unit shown; the limit replaces a missing completion
    /// time.
    fn numbers(&self, trials: &[impl Field], limit_ms: f64) -> Vec<Option<f64>> {
        let percent = self.shown.unit == "%" && self.column.measure.unit != "%";
        let missing = self.limit(trials, limit_ms);
        let number = |row| Field::cell(row, &self.column.path).number().or(missing);
        let scaled = |value| if percent { value * 100.0 } else { value };
        trials.iter().map(|row| number(row).map(scaled)).collect()
    }

    /// The value that an unfinished trial counts with: the limit of a completion time, and several
    /// trials also count with it as a multiple of the ideal time. Other values do not count.
    fn limit(&self, trials: &[impl Field], limit_ms: f64) -> Option<f64> {
        let ideal = || Field::cell(trials.first()?, "ideal_ms").number().filter(|ms| *ms > 0.0);
        match self.shown.key {
            "vs_ideal" if trials.len() > 1 => Some(limit_ms / ideal()?),
            _ => self.is_time().then_some(limit_ms),
        }
    }

    /// Whether it is a completion time, which is compared between arms as a ratio.
    fn is_time(&self) -> bool {
        self.shown.key.starts_with("ttlb")
    }

    /// The cell of an arm: the median with its extremes, or the texts by frequency.
    fn cell(&self, trials: &[impl Field], limit_ms: f64) -> (Value, Option<Spread>) {
        if self.column.measure.holds == Holds::Text {
            return (words(trials, &self.column.path).map_or(Value::Missing, Value::Text), None);
        }
        let values = self.numbers(trials, limit_ms);
        let summary = Summary::of(values.into_iter().flatten());
        let spread = summary.map(|summary| Spread { low: summary.low, high: summary.high });
        let value = summary.map_or(Value::Missing, |summary| Value::Number(summary.median));
        let missing = |row: &&_| Field::cell(*row, &self.column.path).number().is_none();
        let limit = self.limit(trials, limit_ms);
        let unfinished = limit.map_or(0, |_| trials.iter().filter(missing).count());
        let value = match limit {
            Some(limit) if !self.is_time() => bounded(value, unfinished, limit),
            _ => within(value, unfinished, trials.len(), limit_ms),
        };
        (value, spread)
    }

    /// Marks the arms by their trials: the best one, or those that cannot be distinguished from it.
    fn mark(&self, rows: &mut [Row], values: &[Vec<Option<f64>>], competing: &[bool]) {
        let sign = match self.column.measure.better {
            Better::Low => 1.0,
            Better::High => -1.0,
            Better::None => return,
        };
        let known: Vec<bool> = values
            .iter()
            .zip(competing)
            .map(|(values, competes)| *competes && values.iter().all(Option::is_some))
            .collect();
        let values: Vec<Vec<f64>> = values
            .iter()
            .map(|arm| arm.iter().map(|value| sign * value.unwrap_or(0.0)).collect())
            .collect();
        let values = if self.is_time() { logs(&values) } else { values };
        for (row, mark) in rows.iter_mut().zip(Pairs::of(&values).marks(&known)) {
            match mark {
                Mark::Best => row.best.push(self.shown.key.into()),
                Mark::Near => row.near.push(self.shown.key.into()),
                Mark::None => {}
            }
        }
    }
}

/// A multiple of the ideal time, shown as a bound if the limit stopped the trial in the middle.
fn bounded(value: Value, unfinished: usize, limit: f64) -> Value {
    let Value::Number(times) = value else { return value };
    if unfinished > 0 && times >= limit {
        return Value::Text(format!(">= {}", figure(limit, "")));
    }
    value
}

/// A time, shown as a bound if the limit stopped some of the trials.
fn within(value: Value, unfinished: usize, trials: usize, limit_ms: f64) -> Value {
    let Value::Number(ms) = value else { return value };
    let of = if trials > 1 { format!(" ({unfinished})") } else { String::new() };
    match unfinished {
        0 => value,
        _ if ms >= limit_ms => Value::Text(format!(">= {} s{of}", limit_ms / 1e3)),
        _ => Value::Text(format!("{}{of}", figure(ms, "ms"))),
    }
}

/// The shown measures, in the order of the rows.
fn shown(measures: &'static [Measure]) -> Vec<Of> {
    let shown = |column: measures::Column| column.measure.shown.map(|shown| Of { column, shown });
    measures::columns(measures).into_iter().filter_map(shown).collect()
}

/// The table of a comparison: medians over the trials with their extremes, and the best values
/// marked.
pub fn table(comparison: &Comparison) -> Table {
    let arms = comparison.plan.arms.iter().enumerate();
    let arms = arms.map(|(index, arm)| (arm, comparison.trials(index)));
    table_of(TrialRow::MEASURES, arms, &comparison.repeats())
}

/// The column of times relative to those of the first arm.
pub const TIME_RATIO: &str = "time_ratio";

/// Labels of the columns that a table of several trials adds; `first` is the first arm.
pub fn added(first: &str) -> [String; 2] {
    ["p95".to_owned(), format!("time vs {first}")]
}

/// Adds the percentile of the times, and the times relative to those of the first arm, after the
/// times.
fn add_repeats(table: &mut Table, repeats: &Repeats) {
    let Some(behind) = table.columns.iter().position(|column| column.key == "ttlb_ms") else {
        return;
    };
    let [p95, ratio] = added(table.rows.first().map_or("", |row| &row.arm));
    let column = |key: &str, label: String, unit: &str, explanation: &str| Column {
        key: key.into(),
        label,
        unit: unit.into(),
        better: Better::None,
        explanation: explanation.into(),
    };
    table.columns.insert(
        behind + 1,
        column("ttlb_p95_ms", p95, "ms", "completion time that 95 % of the trials do not exceed"),
    );
    table.columns.insert(
        behind + 2,
        column(
            TIME_RATIO,
            ratio,
            "%",
            "completion time against that of the first arm on the same seed: geometric mean over the seeds with its 95 % \
             interval, which holds for all pairs of arms together",
        ),
    );
    for (arm, row) in table.rows.iter_mut().enumerate() {
        let (p95, unfinished) = repeats.p95(arm);
        let p95 = within(Value::Number(p95), unfinished, repeats.trials(), repeats.limit_ms);
        let ratio = repeats.ratio(arm).map(|ratio| ratio.map(|ratio| 100.0 * (ratio - 1.0)));
        row.values.insert(behind + 1, p95);
        row.values
            .insert(behind + 2, ratio.map_or(Value::Missing, |ratio| Value::Number(ratio.value)));
        row.spread.insert(behind + 1, None);
        let spread = ratio.map(|ratio| Spread { low: ratio.low, high: ratio.high });
        row.spread.insert(behind + 2, spread);
    }
}

/// The table for records of any type: each arm with its trials.
pub(crate) fn table_of<'a, R: Field + 'a>(
    measures: &'static [Measure],
    arms: impl Iterator<Item = (&'a NamedArm, &'a [R])>,
    repeats: &Repeats,
) -> Table {
    let shown = shown(measures);
    let columns = shown.iter().map(|Of { column, shown }| Column {
        key: shown.key.into(),
        label: shown.label.into(),
        unit: shown.unit.into(),
        better: column.measure.better,
        explanation: column.measure.summary().into(),
    });
    let mut table = Table { columns: columns.collect(), rows: Vec::new() };
    let arms: Vec<(&NamedArm, &[R])> = arms.collect();
    for (arm, trials) in &arms {
        let (values, spread): (Vec<Value>, Vec<Option<Spread>>) =
            shown.iter().map(|of| of.cell(trials, repeats.limit_ms)).unzip();
        table.rows.push(Row {
            arm: arm.label.clone(),
            arm_full: arm.full(),
            values,
            spread,
            ..Row::default()
        });
    }
    if repeats.trials() > 1 {
        let competing = repeats.competing();
        for of in &shown {
            let values: Vec<Vec<Option<f64>>> =
                arms.iter().map(|(_, trials)| of.numbers(trials, repeats.limit_ms)).collect();
            of.mark(&mut table.rows, &values, &competing);
        }
        add_repeats(&mut table, repeats);
    } else {
        table.mark_best(&repeats.competing());
        table.rows.iter_mut().for_each(|row| row.spread.clear());
    }
    table
}

/// The texts of the trials, the most frequent first.
fn words(trials: &[impl Field], path: &str) -> Option<String> {
    let mut counts: Vec<(Cow<'_, str>, usize)> = Vec::new();
    for row in trials {
        let Cell::Text(word) = row.cell(path) else { continue };
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    match counts.as_slice() {
        [] => None,
        [(only, _)] => Some(only.to_string()),
        many => Some(
            many.iter()
                .map(|(word, count)| format!("{word} {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    }
}

/// A change in percent with its sign, never -0 or +0.
pub fn change(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if matches!(text.as_str(), "-0.0" | "+0.0") { "0.0".to_owned() } else { text }
}

/// A number for the table, with as many digits as are meaningful.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => "-".to_owned(),
        "bytes" if value >= 1e6 => format!("{:.2} MB", value / 1e6),
        "bytes" if value >= 1e3 => format!("{:.1} kB", value / 1e3),
        "bytes" => format!("{value:.0} B"),
        "ms" if value >= 10_000.0 => format!("{value:.0}"),
        "ms" | "Mbit/s" => format!("{value:.1}"),
        "RPM" => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// Milliseconds in the usual units of time.
pub(crate) fn time(ms: f64) -> String {
    if ms >= 10_000.0 {
        format!("{:.1} s", ms / 1e3)
    } else if ms >= 1_000.0 {
        format!("{:.2} s", ms / 1e3)
    } else {
        format!("{ms:.0} ms")
    }
}
