//! The table of a comparison, for terminal and report: the shown measures, as medians over the
//! trials.
//!
//! Its first columns are the arm and the arm in full. The others hold numbers in the unit of their
//! column, with their range over the trials, or words.

use crate::arms::NamedArm;
use crate::compare::Comparison;
use crate::measures::{self, Cell, Field, Holds, Measure, Shown};
use crate::repeat::{Repeats, logs};
use crate::stats::Summary;
use crate::stats::pairs::{Mark, Pairs};
use crate::trial::TrialRow;
use firstflight_table::{Better, Column, Kind, Marked, Table};
use std::borrow::Cow;

pub use firstflight_table::text::figure;

/// Index of the first column that holds a measure.
pub const FIRST_MEASURE: usize = 2;

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

    fn column(&self) -> Column {
        let Shown { key, label, unit } = self.shown;
        let measure = self.column.measure;
        column(key, label, unit, measure.better, measure.summary())
    }

    /// The cell of an arm: the median with its extremes, or the texts by frequency.
    fn cell(&self, trials: &[impl Field], limit_ms: f64) -> Marked<'static> {
        if self.column.measure.holds == Holds::Text {
            return words(trials, &self.column.path).into();
        }
        let Some(Summary { median, low, high, .. }) =
            Summary::of(self.numbers(trials, limit_ms).into_iter().flatten())
        else {
            return Marked::default();
        };
        let missing = |row: &&_| Field::cell(*row, &self.column.path).number().is_none();
        let limit = self.limit(trials, limit_ms);
        let unfinished = limit.map_or(0, |_| trials.iter().filter(missing).count());
        let range = (trials.len() > 1).then_some([low, high]);
        let cell = match limit {
            Some(limit) if !self.is_time() => bounded(median, unfinished, limit),
            _ => within(median, unfinished, trials.len(), limit_ms),
        };
        cell.range(range)
    }

    /// Marks of the arms by their trials: the best one, or those that cannot be distinguished from
    /// it.
    fn marks(&self, values: &[Vec<Option<f64>>], competing: &[bool]) -> Vec<Mark> {
        let sign = match self.column.measure.better {
            Better::Low => 1.0,
            Better::High => -1.0,
            Better::None => return vec![Mark::None; values.len()],
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
        Pairs::of(&values).marks(&known)
    }
}

/// A multiple of the ideal time, shown as a bound if the limit stopped the trial in the middle.
fn bounded(times: f64, unfinished: usize, limit: f64) -> Marked<'static> {
    if unfinished > 0 && times >= limit {
        return format!(">= {}", figure(limit, "")).into();
    }
    times.into()
}

/// Marks of the arms by one trial each: all tied arms are best, but a column in which every arm has
/// the same value has no best arm.
fn best(values: &[Option<f64>], better: Better, competing: &[bool]) -> Vec<Mark> {
    let competes = |(value, competes): (&Option<f64>, &bool)| {
        value.filter(|value| *competes && value.is_finite())
    };
    let values: Vec<Option<f64>> = values.iter().zip(competing).map(competes).collect();
    let known = || values.iter().flatten().copied();
    let (low, high) =
        (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let end = match better {
        Better::Low => low,
        Better::High => high,
        Better::None => f64::NAN,
    };
    let is_best = |value: f64| low < high && value.total_cmp(&end).is_eq();
    let mark = |value: &Option<f64>| value.is_some_and(is_best);
    values.iter().map(|value| if mark(value) { Mark::Best } else { Mark::None }).collect()
}

fn column(key: &str, label: &str, unit: &str, better: Better, doc: &str) -> Column {
    let [key, name, unit, doc] = [key, label, unit, doc].map(str::to_owned);
    Column { name, key, unit, kind: Kind::Number, better, doc }
}

/// A time, shown as a bound if the limit stopped some of the trials.
fn within(ms: f64, unfinished: usize, trials: usize, limit_ms: f64) -> Marked<'static> {
    let of = if trials > 1 { format!(" ({unfinished})") } else { String::new() };
    match unfinished {
        0 => ms.into(),
        _ if ms >= limit_ms => format!(">= {} s{of}", limit_ms / 1e3).into(),
        _ => format!("{}{of}", figure(ms, "ms")).into(),
    }
}

/// Measures that have a column only if an arm has a value: few paths have a handshake.
const IF_KNOWN: &[&str] = &["handshake_ms"];

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

/// Columns behind the times: their percentile, and the times relative to those of the first arm.
fn of_repeats(
    arms: &[(&NamedArm, &[impl Field])],
    repeats: &Repeats,
) -> [(Column, Vec<Marked<'static>>); 2] {
    let [p95, ratio] = added(arms.first().map_or("", |(arm, _)| &arm.label));
    let p95_of = |arm| {
        let (p95, unfinished) = repeats.p95(arm);
        within(p95, unfinished, repeats.trials(), repeats.limit_ms)
    };
    let ratio_of = |arm| {
        let ratio = repeats.ratio(arm).map(|ratio| ratio.map(|ratio| 100.0 * (ratio - 1.0)));
        let cell = Marked::from(ratio.map(|ratio| ratio.value));
        cell.range(ratio.map(|ratio| [ratio.low, ratio.high]))
    };
    [
        (
            column(
                "ttlb_p95_ms",
                &p95,
                "ms",
                Better::None,
                "completion time that 95 % of the trials do not exceed",
            ),
            (0..arms.len()).map(p95_of).collect(),
        ),
        (
            column(
                TIME_RATIO,
                &ratio,
                "%",
                Better::None,
                "completion time against that of the first arm on the same seed: geometric mean over the seeds with its 95 % \
                 interval, which holds for all pairs of arms together",
            ),
            (0..arms.len()).map(ratio_of).collect(),
        ),
    ]
}

/// The table for records of any type: each arm with its trials.
pub(crate) fn table_of<'a, R: Field + 'a>(
    measures: &'static [Measure],
    arms: impl Iterator<Item = (&'a NamedArm, &'a [R])>,
    repeats: &Repeats,
) -> Table {
    let arms: Vec<(&NamedArm, &[R])> = arms.collect();
    let name = |key: &str| Column { kind: Kind::Name, ..column(key, key, "", Better::None, "") };
    let mut columns = vec![
        (name("arm"), arms.iter().map(|(arm, _)| Marked::from(arm.label.clone())).collect()),
        (name("arm_full"), arms.iter().map(|(arm, _)| Marked::from(arm.full())).collect()),
    ];
    let several = repeats.trials() > 1;
    let competing = repeats.competing();
    for of in shown(measures) {
        let values: Vec<Vec<Option<f64>>> =
            arms.iter().map(|(_, trials)| of.numbers(trials, repeats.limit_ms)).collect();
        // A table without trials has all columns: it lists their names.
        let mut all = values.iter().flatten().peekable();
        if IF_KNOWN.contains(&of.shown.key) && all.peek().is_some() && all.all(Option::is_none) {
            continue;
        }
        let marks = if several {
            of.marks(&values, &competing)
        } else {
            let firsts: Vec<Option<f64>> =
                values.iter().map(|arm| arm.first().copied().flatten()).collect();
            best(&firsts, of.column.measure.better, &competing)
        };
        let cells = arms.iter().zip(marks).map(|((_, trials), mark)| {
            let cell = of.cell(trials, repeats.limit_ms);
            cell.bold(mark == Mark::Best).near(mark == Mark::Near)
        });
        columns.push((of.column(), cells.collect()));
        if several && of.shown.key == "ttlb_ms" {
            columns.extend(of_repeats(&arms, repeats));
        }
    }
    Table::of_columns("", columns)
}

/// The text of a cell, with as many digits as are meaningful.
pub fn cell_words(table: &Table, row: usize, at: usize) -> String {
    let column = &table.columns()[at];
    match table.get(row, at) {
        Cell::Text(text) => text.into_owned(),
        cell => match cell.number() {
            Some(value) if column.key == TIME_RATIO => change(value),
            Some(value) => figure(value, &column.unit),
            None => "-".into(),
        },
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_each_column_is_marked() {
        let (low, high, none) = (Better::Low, Better::High, Better::None);
        let nan = f64::NAN;
        #[rustfmt::skip]
        let cases = [
            ("less is better",               low,  [3.0, 1.0, 2.0], [false, true, false]),
            ("more is better",               high, [3.0, 1.0, 2.0], [true, false, false]),
            ("a column that describes",      none, [3.0, 1.0, 2.0], [false; 3]),
            ("ties are all best",            low,  [1.0, 1.0, 2.0], [true, true, false]),
            ("nothing to choose",            low,  [2.0, 2.0, 2.0], [false; 3]),
            ("not a number takes no part",   low,  [nan, 1.0, 2.0], [false, true, false]),
            ("one number alone is not best", low,  [nan, nan, 2.0], [false; 3]),
        ];
        for (name, better, values, expected) in cases {
            let marks = best(&values.map(Some), better, &[true; 3]);
            let marked: Vec<bool> = marks.iter().map(|mark| *mark == Mark::Best).collect();
            assert_eq!(marked, expected, "{name}: {values:?}");
        }
        let competing = [true, false, true];
        let marks = best(&[Some(3.0), Some(1.0), Some(2.0)], low, &competing);
        assert_eq!(
            marks,
            [Mark::None, Mark::None, Mark::Best],
            "an arm that does not compete is not the best"
        );
    }
}
