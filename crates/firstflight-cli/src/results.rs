//! Tables of results for people, with one row per arm.

use crate::fit::{Layout, asked};
use firstflight_lab::Plan;
use firstflight_lab::table::{FIRST_MEASURE, TIME_RATIO, added, cell_words, change};
use firstflight_table::terminal::is_meant;
use firstflight_table::{Column, Kind, Marked, Table};

/// Columns that are dropped first if not all fit: values that follow from others, then the exit
/// from startup, then its effect on the path.
const FIRST_TO_GO: &[&str] =
    &["goodput", "retransmitted", "vs ideal", "exit", "queueing delay p99", "cwnd at exit", "p95"];

/// The header for a column of results.
fn header(column: &Column) -> String {
    if column.unit.is_empty() || column.unit == "bytes" {
        return column.name.clone();
    }
    format!("{}\n{}", column.name, column.unit)
}

/// Columns that are shown only by `--columns` and `--wide`.
const ON_REQUEST: &[&str] = &["limited by", "responsiveness"];

/// True if the table shows this column by default, where the terminal is wide enough.
fn is_shown(column: &Column) -> bool {
    let Layout { wide, columns, .. } = asked();
    wide || !ON_REQUEST.contains(&column.name.as_str())
        || columns.iter().any(|word| is_meant(&column.name, word))
}

/// The sheet for a table of results: one row per arm, with the best value of each column marked.
pub(crate) fn sheet(title: &str, table: &Table) -> Table {
    let columns = table.columns();
    let shown: Vec<usize> =
        (FIRST_MEASURE..columns.len()).filter(|at| is_shown(&columns[*at])).collect();
    let headers = shown.iter().map(|at| (header(&columns[*at]), Kind::Number));
    let headers = std::iter::once(("arm".to_owned(), Kind::Name)).chain(headers);
    let mut sheet = Table::new(title, headers).dropping(FIRST_TO_GO).marked();
    for row in 0..table.len() {
        let cells = shown.iter().map(|at| cell(table, row, *at));
        sheet.row(std::iter::once(Marked::from(table.get(row, 0))).chain(cells));
    }
    sheet
}

fn cell(table: &Table, row: usize, at: usize) -> Marked<'static> {
    let text = cell_words(table, row, at);
    let look = table.look(row, at);
    // The extremes over the trials are in the report.
    let text = match look.range {
        Some([low, high]) if table.columns()[at].key == TIME_RATIO => {
            format!("{text} ({} to {})", change(low), change(high))
        }
        _ => text,
    };
    Marked::from(text).bold(look.bold).near(look.near)
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
