//! Tables of results for people, with one row per arm.

use crate::fit::{Layout, asked};
use firstflight_lab::Plan;
use firstflight_lab::report::{Column, Row, Table as Results, Value};
use firstflight_lab::table::{TIME_RATIO, added, change, figure};
use firstflight_table::terminal::is_meant;
use firstflight_table::{Kind, Marked, Table};

/// Columns that are dropped first if not all fit: values that follow from others, then the exit
/// from startup, then its effect on the path.
const FIRST_TO_GO: &[&str] =
    &["goodput", "retransmitted", "vs ideal", "exit", "queueing delay p99", "cwnd at exit", "p95"];

/// The header for a column of results.
fn header(column: &Column) -> String {
    if column.unit.is_empty() || column.unit == "bytes" {
        return column.label.clone();
    }
    format!("{}\n{}", column.label, column.unit)
}

/// Columns that are shown only by `--columns` and `--wide`.
const ON_REQUEST: &[&str] = &["limited by", "responsiveness"];

/// True if the table shows this column by default, where the terminal is wide enough.
fn is_shown(column: &Column) -> bool {
    let Layout { wide, columns, .. } = asked();
    wide || !ON_REQUEST.contains(&column.label.as_str())
        || columns.iter().any(|word| is_meant(&column.label, word))
}

/// The sheet for a table of results: one row per arm, with the best value of each column marked.
pub(crate) fn sheet(title: &str, table: &Results) -> Table {
    let shown: Vec<usize> =
        (0..table.columns.len()).filter(|index| is_shown(&table.columns[*index])).collect();
    let headers = shown.iter().map(|index| (header(&table.columns[*index]), Kind::Number));
    let headers = std::iter::once(("arm".to_owned(), Kind::Name)).chain(headers);
    let mut sheet = Table::new(title, headers).dropping(FIRST_TO_GO).marked();
    for row in &table.rows {
        let cells = shown.iter().map(|index| cell(table, row, *index));
        sheet.row(std::iter::once(Marked::from(row.arm.as_str())).chain(cells));
    }
    sheet
}

fn cell(table: &Results, row: &Row, index: usize) -> Marked<'static> {
    let column = &table.columns[index];
    let text = match &row.values[index] {
        Value::Number(value) if column.key == TIME_RATIO => change(*value),
        Value::Number(value) => figure(*value, &column.unit),
        Value::Text(text) => text.clone(),
        Value::Missing => "-".into(),
    };
    // The extremes over the trials are in the report.
    let text = match row.spread.get(index).copied().flatten() {
        Some(spread) if column.key == TIME_RATIO => {
            format!("{text} ({} to {})", change(spread.low), change(spread.high))
        }
        _ => text,
    };
    Marked::from(text).bold(row.best.contains(&column.key)).near(row.near.contains(&column.key))
}

/// Adds the columns that appear only in tables of several trials.
pub(crate) fn shown(plan: &Plan, mut names: Vec<String>) -> Vec<String> {
    if plan.repeat > 1 {
        names.extend(added(plan.arms.first().map_or("", |arm| &arm.label)));
    }
    names
}

/// The seeds, and the statistic that the cells show for several trials.
pub(crate) fn trials_in_words(seed: u64, repeat: u32) -> String {
    match repeat {
        1 => format!("seed {seed}"),
        _ => format!(
            "medians of {repeat} trials, seeds {seed} to {}",
            seed.saturating_add(u64::from(repeat) - 1)
        ),
    }
}

/// The line below a table that explains its marks.
pub(crate) fn legend(repeat: u32) -> String {
    match repeat {
        1 => "* best in its column",
        _ => "* best in its column, ≈ not significantly different from the best (95 %)",
    }
    .to_owned()
}
