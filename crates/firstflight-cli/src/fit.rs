//! Fits tables to the available width.
//!
//! A table that is too wide first wraps its headers. Then columns are dropped, in an order that
//! each table defines, until it fits; a line below the table lists them. The first column always
//! stays. In a pipe or a file all columns are written ([`crate::terminal::width`]), unless
//! `--columns` names some. Some tables hide columns unless `--wide` or `--columns` requests them.

use crate::format::Format;
use crate::sheet::{Sheet, Side};
use crate::terminal::{QUIET, drawn, width, wrap};
use clap::Args;
use comfy_table::Table as Grid;
use firstflight_lab::Error;
use firstflight_path::suggestion;
use std::sync::OnceLock;

/// Table options of every command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Print a table, Markdown, LaTeX, CSV with raw values, or JSON
    #[arg(long, global = true, value_enum, value_name = "table|md|tex|csv|json")]
    #[arg(help_heading = "Tables", hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Show every column, however narrow the terminal is
    #[arg(long, global = true, conflicts_with = "columns", help_heading = "Tables")]
    pub(crate) wide: bool,
    /// Show only these columns, named by words from their headers, such as `loss,exit time`
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    #[arg(help_heading = "Tables")]
    pub(crate) columns: Vec<String>,
}

/// The table options of this process.
static ASKED: OnceLock<Layout> = OnceLock::new();

/// Sets the table options from the command line.
pub(crate) fn ask(layout: Layout) {
    let _ = ASKED.set(layout);
}

/// The table options from the command line.
pub(crate) fn asked() -> Layout {
    ASKED.get().cloned().unwrap_or_default()
}

/// Normalizes a column name for comparison: lower case, words separated by one space.
fn plain(name: &str) -> String {
    name.replace('_', " ").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns `true` if the column's name starts with `word`, regardless of case and underscores.
fn meant(column: &str, word: &str) -> bool {
    plain(column).starts_with(&plain(word))
}

/// The columns of `names` that `asked` lists, and always the first one; all columns if `asked` is
/// empty.
pub(crate) fn chosen(names: &[String], asked: &[String]) -> Vec<usize> {
    let keep = |index: &usize| {
        *index == 0 || asked.is_empty() || asked.iter().any(|word| meant(&names[*index], word))
    };
    (0..names.len()).filter(keep).collect()
}

/// Checks that `names` contains every column in `asked`.
///
/// # Errors
/// A one-line message with the nearest name and all names.
pub(crate) fn check(names: &[String], asked: &[String]) -> Result<(), Error> {
    let unknown = |word: &&String| !names.iter().any(|column| meant(column, word));
    let Some(word) = asked.iter().find(unknown) else { return Ok(()) };
    // A name of several words may be shortened to its first words.
    let starts: Vec<String> = names
        .iter()
        .flat_map(|name| {
            let words: Vec<String> = plain(name).split(' ').map(str::to_owned).collect();
            (1..=words.len()).map(move |count| words[..count].join(" "))
        })
        .collect();
    let near = suggestion(&plain(word), starts.iter().map(String::as_str));
    let all = names.join(", ");
    Err(Error::new(format!("--columns {word}: no column of this name{near}; allowed: {all}")))
}

/// Wraps words to this width, or to that of the longest word.
fn packed(line: &str, width: usize) -> String {
    filled(line.split_whitespace().map(|word| (word, true)), width)
}

/// Like [`packed`], but longer words are broken after a comma, a dash or a slash.
fn broken(line: &str, width: usize) -> String {
    let pieces = line.split_whitespace().flat_map(|word| {
        let short = word.chars().count() <= width;
        let pieces: Vec<&str> =
            if short { vec![word] } else { word.split_inclusive([',', '-', '/']).collect() };
        pieces.into_iter().enumerate().map(|(index, piece)| (piece, index == 0))
    });
    filled(pieces, width)
}

/// Wraps pieces of text to this width; each piece states whether it starts a word.
fn filled<'a>(pieces: impl Iterator<Item = (&'a str, bool)>, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (piece, begins) in pieces {
        let length = piece.chars().count();
        let blank = usize::from(begins);
        if used > 0 && used + blank + length > width {
            out.push('\n');
            used = 0;
        } else if used > 0 && begins {
            out.push(' ');
            used += 1;
        }
        out.push_str(piece);
        used += length;
    }
    out
}

/// Width of the widest line.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Width of the grid, taken from its first line, a rule.
fn extent(grid: &Grid) -> usize {
    grid.lines().next().map_or(0, |line| line.chars().count())
}

/// Prose is not wrapped to less than this width; columns are dropped instead.
const LEAST_PROSE: usize = 18;

/// A layout of a table: its columns, whether headers are wrapped, and the maximum width of prose.
struct Plan<'a> {
    sheet: &'a Sheet,
    keep: Vec<usize>,
    /// Widths of the cells below the headers, if headers are wrapped to them.
    below: Option<Vec<usize>>,
    /// Maximum width of each column of prose.
    room: Vec<Option<usize>>,
}

impl Plan<'_> {
    fn of(sheet: &Sheet, keep: Vec<usize>) -> Plan<'_> {
        Plan { sheet, keep, below: None, room: vec![None; sheet.names().len()] }
    }

    fn grid(&self) -> Grid {
        self.sheet.grid(&self.keep, |column, text, header| {
            let room = match (&self.below, header) {
                (Some(below), true) => {
                    Some(below[column].min(self.room[column].unwrap_or(usize::MAX)))
                }
                (_, false) => self.room[column],
                (None, true) => None,
            };
            let Some(room) = room else { return text.to_owned() };
            let fold = if header { packed } else { packed_in };
            text.lines().map(|line| fold(line, room)).collect::<Vec<_>>().join("\n")
        })
    }

    /// Wraps each header to the width of the cells below it.
    fn break_headers(&mut self) {
        let below = |column: usize| {
            let cells = self.sheet.rows().iter().filter_map(|row| row.get(column));
            cells.map(|field| widest(&self.sheet.shown(field, column))).max().unwrap_or(0)
        };
        self.below = Some((0..self.room.len()).map(below).collect());
    }

    /// Narrows prose, the widest column first, until the table fits `width`.
    fn squeeze(&mut self, width: usize) {
        let prose: Vec<usize> =
            self.keep.iter().copied().filter(|at| self.sheet.side(*at) == Side::Prose).collect();
        for column in &prose {
            self.room[*column] = None;
        }
        let mut over = extent(&self.grid()).saturating_sub(width);
        let cells = |column: usize| self.sheet.rows().iter().map(move |row| &row[column].text);
        let natural = |column: &usize| (*column, cells(*column).map(|text| widest(text)).max());
        let mut widths: Vec<(usize, usize)> =
            prose.iter().map(natural).map(|(column, width)| (column, width.unwrap_or(0))).collect();
        while over > 0 {
            let Some(most) = widths.iter_mut().max_by_key(|(_, width)| *width) else { return };
            if most.1 <= LEAST_PROSE {
                return;
            }
            most.1 -= 1;
            over -= 1;
            self.room[most.0] = Some(most.1);
        }
    }
}

/// Wraps prose to this width. Leading spaces are repeated on every line, so that the indentation of
/// an entry stays visible.
fn packed_in(line: &str, room: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    if indent == 0 {
        return broken(line, room);
    }
    let blank = " ".repeat(indent);
    let lines = broken(line, room.saturating_sub(indent));
    lines.lines().map(|line| format!("{blank}{line}")).collect::<Vec<_>>().join("\n")
}

/// The table, fitted to the terminal.
pub(crate) fn fitted(sheet: &Sheet) -> String {
    shown(sheet, &asked(), width())
}

fn shown(sheet: &Sheet, asked: &Layout, width: Option<usize>) -> String {
    let names = sheet.names();
    let mut plan = Plan::of(sheet, chosen(&names, &asked.columns));
    let held = if asked.wide || !asked.columns.is_empty() { &[][..] } else { sheet.on_request };
    plan.keep.retain(|index| !held.iter().any(|words| begins(&names[*index], words)));
    let held: Vec<usize> = (0..names.len())
        .filter(|index| asked.columns.is_empty() && !plan.keep.contains(index))
        .collect();
    let whole = plan.grid();
    let Some(room) = width.filter(|room| !asked.wide && extent(&whole) > *room) else {
        return drawn(&whole) + &rest(&names, &[], &held, width);
    };
    plan.break_headers();
    plan.squeeze(room);
    let mut gone = Vec::new();
    if asked.columns.is_empty() {
        for index in order(&names, sheet.first_to_go) {
            if extent(&plan.grid()) <= room || plan.keep.len() == 2 {
                break;
            }
            if held.contains(&index) {
                continue;
            }
            plan.keep.retain(|kept| *kept != index);
            gone.push(index);
            plan.squeeze(room);
        }
    }
    gone.sort_unstable();
    drawn(&plan.grid()) + &rest(&names, &gone, &held, Some(room))
}

/// The line below a table that lists the missing columns: those that did not fit, and those that
/// were not requested.
fn rest(names: &[String], gone: &[usize], held: &[usize], width: Option<usize>) -> String {
    let list = |which: &[usize]| {
        which.iter().map(|index| names[*index].as_str()).collect::<Vec<_>>().join(", ")
    };
    let columns = |of: &[usize]| if of.len() == 1 { "column" } else { "columns" };
    let mut parts = Vec::new();
    if let Some(room) = width.filter(|_| !gone.is_empty()) {
        let (count, columns) = (gone.len(), columns(gone));
        parts.push(format!("{count} {columns} hidden to fit a width of {room}: {}", list(gone)));
    }
    if !held.is_empty() {
        parts.push(format!("{} more {}: {}", held.len(), columns(held), list(held)));
    }
    if parts.is_empty() {
        return String::new();
    }
    let line = format!("{}; `--wide` shows all", parts.join("; "));
    format!("\n{QUIET}{}{QUIET:#}", wrap(&line, 0, width))
}

/// Returns `true` if a column's name starts with `words`, which must end at a word boundary.
fn begins(name: &str, words: &str) -> bool {
    name.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// All columns except the first, in the order in which they are dropped.
fn order(names: &[String], first_to_go: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for words in first_to_go.iter().copied().chain([""]) {
        // Columns without a matching entry are dropped last, from the right.
        for index in (1..names.len()).rev() {
            let named = words.is_empty() || begins(&names[index], words);
            if named && !order.contains(&index) {
                order.push(index);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Field;
    use crate::terminal::RULES;
    use comfy_table::{Cell, CellAlignment, ContentArrangement};

    fn sheet() -> Sheet {
        let headers = ["arm", "completion time\nms", "loss\n%", "queueing delay p99\nms"];
        let mut sheet = Sheet::of_numbers("", &headers, 1).dropping(&["queueing"]);
        sheet.row(["slowstart", "964.0", "9.28", "30.1"]);
        sheet
    }

    fn whole(sheet: &Sheet) -> String {
        shown(sheet, &Layout { wide: true, ..Layout::default() }, None)
    }

    fn all(layout: &Layout, width: Option<usize>) -> String {
        shown(&sheet(), layout, width)
    }

    /// Width of the widest line, not counting styles.
    fn extent(text: &str) -> usize {
        widest(&text.replace(&format!("{QUIET}"), "").replace(&format!("{QUIET:#}"), ""))
    }

    #[test]
    fn a_table_fits_every_width_and_says_what_it_left_out() {
        assert_eq!(all(&Layout::default(), None), whole(&sheet()), "a pipe gets all of it");
        for width in 30..80 {
            let text = all(&Layout::default(), Some(width));
            assert!(extent(&text) <= width, "{} of {width}:\n{text}", extent(&text));
            assert!(text.contains("slowstart"), "the first column stays:\n{text}");
            let missing = !text.contains("30.1");
            assert_eq!(missing, text.contains("hidden"), "{text}");
            assert!(missing || text.contains("964.0"), "columns go in the stated order:\n{text}");
        }
    }

    #[test]
    fn columns_that_are_held_back_are_named_and_had_by_asking() {
        let held = || sheet().holding_back(&["loss"]);
        let text = shown(&held(), &Layout::default(), None);
        assert!(!text.contains("9.28") && text.contains("30.1"), "{text}");
        assert!(text.contains("1 more column: loss %; `--wide` shows all"), "{text}");
        let narrow = shown(&held(), &Layout::default(), Some(30));
        let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("1 column hidden to fit a width of 30: queueing"), "{narrow}");
        assert!(words.contains("1 more column: loss %"), "{narrow}");
        let wide = Layout { wide: true, ..Layout::default() };
        assert_eq!(shown(&held(), &wide, None), whole(&sheet()));
        let some = Layout { columns: vec!["loss".into()], ..Layout::default() };
        assert!(shown(&held(), &some, None).contains("9.28"));
    }

    #[test]
    fn prose_is_broken_at_words_before_a_column_goes() {
        let columns = [("name", Side::Left), ("what", Side::Prose), ("source", Side::Prose)];
        let mut sheet = Sheet::new("", columns);
        let what = "Slow start that leaves when the round trip grows\n    css=  on or off, which \
                    is the default of the document";
        sheet.row([Field::from("hystart++"), what.into(), "RFC 9406".into()]);
        let words = |text: &str| {
            let mut words: Vec<String> = text
                .split(|c: char| c.is_whitespace() || c == '─')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            words.sort_unstable();
            words
        };
        for width in 60..140 {
            let text = shown(&sheet, &Layout::default(), Some(width));
            assert!(extent(&text) <= width, "{} of {width}:\n{text}", extent(&text));
            assert_eq!(words(&text), words(&whole(&sheet)), "{text}");
        }
        let narrow = shown(&sheet, &Layout::default(), Some(60));
        let below =
            narrow.lines().filter(|line| line.contains("     css=") || line.contains("     is"));
        assert!(below.count() >= 1, "an entry below another stays below it:\n{narrow}");
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
        let mut sheet = Sheet::of_numbers("", &["arm", "completion time\nms", "loss\n%"], 1);
        sheet.row(["slowstart", "964.0\n960..970", "9.28"]);
        sheet.row(["rapid ·", "909.8", "-"]);
        assert_eq!(whole(&sheet) + "\n", shared, "and so do our own tables");
    }

    #[test]
    fn wide_shows_all_and_columns_those_that_are_named() {
        let wide = Layout { wide: true, ..Layout::default() };
        assert_eq!(all(&wide, Some(30)), whole(&sheet()));
        let some = Layout { columns: vec!["Loss".into()], ..Layout::default() };
        let text = all(&some, Some(30));
        assert!(text.contains("9.28") && !text.contains("964.0"), "{text}");
    }

    #[test]
    fn an_unknown_column_is_refused_with_the_nearest_one() {
        let names = sheet().names();
        let refusal = |word: &str| check(&names, &[word.to_owned()]).map_err(|bad| bad.to_string());
        for word in ["loss", "Queueing Delay", "queueing_delay", "completion"] {
            assert_eq!(refusal(word), Ok(()), "{word}");
        }
        assert_eq!(
            refusal("queing delay"),
            Err(
                "--columns queing delay: no column of this name (did you mean `queueing delay`?); \
                 allowed: arm, completion time ms, loss %, queueing delay p99 ms"
                    .into()
            )
        );
        let line = refusal("colour").expect_err("there is none");
        assert!(line.contains("of this name; allowed: arm,"), "{line}");
    }
}
