//! Tables that fit the width they find.
//!
//! A table that is too wide first wraps its headers, then leaves columns out, in an order that each
//! table states, until it fits; a line below says which. The first column stays. Into a pipe or a
//! file every column goes ([`crate::terminal::width`]), unless `--columns` names some.

use crate::terminal::{CAUTION, QUIET, width, wrap};
use clap::Args;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table as Grid};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// What is asked of the tables of any command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Show every column of a table, however wide the terminal is
    #[arg(long, global = true, conflicts_with = "columns", help_heading = "Tables")]
    wide: bool,
    /// Show only these columns of a table, by the words of their headers, such as `loss,exit time`
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    #[arg(help_heading = "Tables")]
    columns: Vec<String>,
}

/// What the command line said; a program has one.
static ASKED: OnceLock<Layout> = OnceLock::new();

/// Tells tables what the command line asked of them.
pub(crate) fn ask(layout: Layout) {
    let _ = ASKED.set(layout);
}

/// A header as a name: one line, in small letters.
fn name(header: &str) -> String {
    header.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn headers(grid: &Grid) -> Vec<String> {
    grid.header().map_or(Vec::new(), |row| row.cell_iter().map(Cell::content).collect())
}

/// The columns that `asked` names: each by the beginning of its name. With them the words that name
/// none.
fn chosen<'a>(names: &[String], asked: &'a [String]) -> (Vec<bool>, Vec<&'a str>) {
    let meant = |column: &str, word: &str| column.starts_with(&name(word));
    let keep = |(index, column): (usize, &String)| {
        index == 0 || asked.iter().any(|word| meant(column, word))
    };
    let unknown = asked.iter().filter(|word| !names.iter().any(|column| meant(column, word)));
    (names.iter().enumerate().map(keep).collect(), unknown.map(String::as_str).collect())
}

/// Headers over as many lines as make them no wider than what stands below them.
fn wrapped(grid: &mut Grid, headers: &[String], left: usize) {
    let below = |index: usize| {
        let cells = grid.column_cells_iter(index).flatten();
        let lines = cells
            .map(|cell| cell.content().lines().map(|line| line.chars().count()).max().unwrap_or(0));
        lines.max().unwrap_or(0)
    };
    let cells: Vec<Cell> = headers
        .iter()
        .enumerate()
        .map(|(index, header)| {
            let lines: Vec<String> =
                header.lines().map(|line| packed(line, below(index))).collect();
            let side = if index < left { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(lines.join("\n")).set_alignment(side)
        })
        .collect();
    grid.set_header(cells);
}

/// Words over lines of this width, or of the longest word.
fn packed(line: &str, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + 1 + length <= width;
            out.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        out.push_str(word);
        used += length;
    }
    out
}

fn hide(grid: &mut Grid, index: usize) {
    if let Some(column) = grid.column_mut(index) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
}

/// How wide it is: as its first line, a rule.
fn extent(grid: &Grid) -> usize {
    grid.lines().next().map_or(0, |line| line.chars().count())
}

/// The table as it fits; its first `left` columns stand left. Columns whose names begin with a word
/// of `first_to_go` are left out in its order, then the others from the right.
pub(crate) fn fitted(grid: Grid, left: usize, first_to_go: &[&str]) -> String {
    let asked = ASKED.get().cloned().unwrap_or_default();
    shown(grid, left, first_to_go, &asked, width())
}

fn shown(
    mut grid: Grid,
    left: usize,
    first_to_go: &[&str],
    asked: &Layout,
    width: Option<usize>,
) -> String {
    let headers = headers(&grid);
    let names: Vec<String> = headers.iter().map(|header| name(header)).collect();
    if !asked.columns.is_empty() {
        let (keep, unknown) = chosen(&names, &asked.columns);
        (0..names.len()).filter(|index| !keep[*index]).for_each(|index| hide(&mut grid, index));
        let mut text = grid.to_string();
        if !unknown.is_empty() {
            let (unknown, all) = (unknown.join("`, `"), names.join(", "));
            let line = format!("no column `{unknown}` in this table; it has: {all}");
            let _ = write!(text, "\n{CAUTION}note:{CAUTION:#} {}", wrap(&line, 6, width));
        }
        return text;
    }
    let Some(room) = width.filter(|room| !asked.wide && extent(&grid) > *room) else {
        return grid.to_string();
    };
    wrapped(&mut grid, &headers, left);
    let mut gone = Vec::new();
    for index in order(&names, first_to_go) {
        if extent(&grid) <= room || gone.len() + 2 == names.len() {
            break;
        }
        hide(&mut grid, index);
        gone.push(index);
    }
    let mut text = grid.to_string();
    if !gone.is_empty() {
        gone.sort_unstable();
        let left_out: Vec<&str> = gone.iter().map(|index| names[*index].as_str()).collect();
        let line = format!(
            "{} columns left out to fit {room}: {}; `--wide` shows all, `--columns {}` some",
            gone.len(),
            left_out.join(", "),
            quoted(left_out[0])
        );
        let _ = write!(text, "\n{QUIET}{}{QUIET:#}", wrap(&line, 0, Some(room)));
    }
    text
}

/// The columns but the first, in the order in which they go.
fn order(names: &[String], first_to_go: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for word in first_to_go.iter().copied().chain([""]) {
        // Every name begins with nothing: what no word names goes last, from the right.
        for index in (1..names.len()).rev() {
            if names[index].starts_with(word) && !order.contains(&index) {
                order.push(index);
            }
        }
    }
    order
}

/// As a shell takes it.
fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if plain { name.to_owned() } else { format!("'{name}'") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::RULES;
    use comfy_table::ContentArrangement;

    fn grid() -> Grid {
        let mut grid = Grid::new();
        grid.load_style(RULES);
        grid.set_header(["arm", "completion time\nms", "loss\n%", "queueing delay p99\nms"]);
        grid.add_row(["slowstart", "964.0", "9.28", "30.1"]);
        grid
    }

    fn all(layout: &Layout, width: Option<usize>) -> String {
        shown(grid(), 1, &["queueing"], layout, width)
    }

    #[test]
    fn a_table_fits_every_width_and_says_what_it_left_out() {
        let whole = all(&Layout::default(), None);
        assert_eq!(whole, grid().to_string(), "a pipe gets all of it");
        for width in 30..80 {
            let text = all(&Layout::default(), Some(width));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            // The styles of the last line are no columns.
            assert!(widest <= width + 8, "{widest} of {width}:\n{text}");
            assert!(text.contains("slowstart"), "the first column stays:\n{text}");
            let missing = !text.contains("30.1");
            assert_eq!(missing, text.contains("left out"), "{text}");
            assert!(missing || text.contains("964.0"), "columns go in the stated order:\n{text}");
        }
    }

    #[test]
    fn the_grid_is_that_of_the_python_package() {
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        let row = |cells: [&str; 3]| [Cell::new(cells[0]), right(cells[1]), right(cells[2])];
        let mut grid = Grid::new();
        grid.load_style(RULES).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(row(["arm", "completion time\nms", "loss\n%"]));
        grid.add_row(row(["slowstart", "964.0\n960..970", "9.28"]));
        grid.add_row(row(["rapid ·", "909.8", "-"]));
        let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tests/grid.txt");
        let shared = std::fs::read_to_string(shared).expect("the file beside Python's test");
        assert_eq!(format!("{grid}\n"), shared, "python/tests/test_text.py reads the same file");
    }

    #[test]
    fn wide_shows_all_and_columns_those_that_are_named() {
        let wide = Layout { wide: true, columns: Vec::new() };
        assert_eq!(all(&wide, Some(30)), grid().to_string());
        let some = Layout { wide: false, columns: vec!["Loss".into(), "colour".into()] };
        let text = all(&some, Some(30));
        assert!(text.contains("9.28") && !text.contains("964.0"), "{text}");
        assert!(
            text.contains("no column `colour`") && text.contains("queueing delay p99 ms"),
            "{text}"
        );
    }
}
