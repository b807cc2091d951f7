//! The table of a comparison, for terminal and report: the measures that people are shown, medians
//! over the repeats.

use crate::arms::NamedArm;
use crate::compare::Comparison;
use crate::measures::{self, Cell, Field, Holds, Measure, Shown};
use crate::report::{Column, Row, Spread, Table, Value};
use crate::stats::Summary;
use crate::trial::TrialRow;

/// One column, and where its values stand in a row.
struct Of {
    column: measures::Column,
    shown: Shown,
}

impl Of {
    /// The values that are known, in the unit shown.
    fn numbers<'a>(&'a self, trials: &'a [impl Field]) -> impl Iterator<Item = f64> + 'a {
        let percent = self.shown.unit == "%" && self.column.measure.unit != "%";
        trials
            .iter()
            .filter_map(|row| row.cell(&self.column.path).number())
            .map(move |value| if percent { value * 100.0 } else { value })
    }

    /// The cell of an arm: the median with its extremes, or the words by how often they occur.
    fn cell(&self, trials: &[impl Field]) -> (Value, Option<Spread>) {
        if self.column.measure.holds == Holds::Text {
            return (words(trials, &self.column.path).map_or(Value::Missing, Value::Text), None);
        }
        let summary = Summary::of(self.numbers(trials));
        let spread = summary.map(|summary| Spread { low: summary.low, high: summary.high });
        (summary.map_or(Value::Missing, |summary| Value::Number(summary.median)), spread)
    }
}

/// The measures that people are shown, in the order of the rows.
fn shown(measures: &'static [Measure]) -> Vec<Of> {
    let shown = |column: measures::Column| column.measure.shown.map(|shown| Of { column, shown });
    measures::columns(measures).into_iter().filter_map(shown).collect()
}

/// The table of a comparison: medians over the repeats with their extremes, best values marked.
pub fn table(comparison: &Comparison) -> Table {
    let arms = comparison.plan.arms.iter().enumerate();
    table_of(TrialRow::MEASURES, arms.map(|(index, arm)| (arm, comparison.trials(index))))
}

/// The same of other records: each arm with its trials.
pub(crate) fn table_of<'a, R: Field + 'a>(
    measures: &'static [Measure],
    arms: impl Iterator<Item = (&'a NamedArm, &'a [R])>,
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
    for (arm, trials) in arms {
        let (values, mut spread): (Vec<Value>, Vec<Option<Spread>>) =
            shown.iter().map(|of| of.cell(trials)).unzip();
        if trials.len() == 1 {
            spread.clear();
        }
        table.rows.push(Row {
            arm: arm.label.clone(),
            arm_full: arm.full(),
            values,
            spread,
            best: Vec::new(),
        });
    }
    table.mark_best();
    table
}

/// The words of the trials, the commonest first.
fn words(trials: &[impl Field], path: &str) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
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
        [(only, _)] => Some((*only).to_owned()),
        many => Some(
            many.iter()
                .map(|(word, count)| format!("{word} {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    }
}

/// A number for people: as many digits as can matter.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => "-".to_owned(),
        "bytes" if value >= 1e6 => format!("{:.2} MB", value / 1e6),
        "bytes" if value >= 1e3 => format!("{:.1} kB", value / 1e3),
        "bytes" => format!("{value:.0} B"),
        "ms" if value >= 10_000.0 => format!("{value:.0}"),
        "ms" | "Mbit/s" => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Milliseconds as people say them.
pub(crate) fn time(ms: f64) -> String {
    if ms >= 10_000.0 {
        format!("{:.1} s", ms / 1e3)
    } else if ms >= 1_000.0 {
        format!("{:.2} s", ms / 1e3)
    } else {
        format!("{ms:.0} ms")
    }
}
