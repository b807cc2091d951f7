//! Text for people on a terminal.
//!
//! A table that is too wide first wraps its headings. Then columns are dropped, in an order that
//! each table defines, until it fits; a line below the table lists them. The first column always
//! stays. Some tables hide columns unless the reader requests them.

use crate::document::{Block, Document, Span, Text};
use crate::table::{Kind, Table, Tone, on_one_line};
use crate::text::{STYLE, fold};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table as Grid, TableStyle,
};
use std::fmt::{self, Write as _};

/// The reader's options, and the available width.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit<'a> {
    /// Every column, however wide the terminal is.
    pub wide: bool,
    /// Only the columns whose names start with one of these, and the first; all if it is empty.
    pub columns: &'a [String],
    /// Columns of the terminal; `None` for a pipe or a file.
    pub width: Option<usize>,
}

/// A style in a text: `{TITLE}` starts it and `{TITLE:#}` ends it. It becomes an escape sequence
/// only on output to a terminal; foreign text cannot contain one.
#[derive(Clone, Copy, Debug)]
pub struct Style(&'static str);

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = if f.alternate() { "0" } else { self.0 };
        write!(f, "{STYLE}[{parameter}m")
    }
}

/// Headline.
pub const TITLE: Style = Style("1");
/// Warnings.
pub const CAUTION: Style = Style("33");
/// Secondary text.
pub const QUIET: Style = Style("2");

/// Draws a grid, whose escape sequences are ours; cells contain none.
fn drawn(grid: &Grid) -> String {
    grid.to_string().replace('\u{1b}', &STYLE.to_string())
}

/// A rule above the table, one below the header, and one below the table; no lines between rows.
const RULES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// The width of the terminal, if standard output is one.
pub fn columns() -> Option<usize> {
    Grid::new().width().map(usize::from)
}

/// Minimum width of the layout.
pub const LEAST_WIDTH: usize = 20;

/// Wraps text at spaces to `width`, with `indent` spaces before all lines but the first, which is
/// assumed to start at the same column. A longer word has a line of its own.
///
/// The text is a single line; a line break within a name is made visible.
pub fn wrap(text: &str, indent: usize, width: Option<usize>) -> String {
    let text = &text.replace('\n', "\\n");
    let Some(room) = width.map(|width| width.saturating_sub(indent).max(LEAST_WIDTH)) else {
        return text.clone();
    };
    fold(text.split(' ').map(|word| (word, true)), [room; 2], indent)
}

/// Normalizes a column name for comparison: lower case, words separated by one space.
pub fn plain_name(name: &str) -> String {
    name.replace('_', " ").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns `true` if the column's name starts with `word`, regardless of case and underscores.
pub fn is_meant(column: &str, word: &str) -> bool {
    plain_name(column).starts_with(&plain_name(word))
}

/// The columns of `names` that `asked` lists, and always the first one; all columns if `asked` is
/// empty.
pub fn chosen(names: &[String], asked: &[String]) -> Vec<usize> {
    let keep = |index: &usize| {
        *index == 0 || asked.is_empty() || asked.iter().any(|word| is_meant(&names[*index], word))
    };
    (0..names.len()).filter(keep).collect()
}

/// Wraps words to this width, or to that of the longest word.
fn packed(line: &str, width: usize) -> String {
    fold(line.split_whitespace().map(|word| (word, true)), [width; 2], 0)
}

/// Like [`packed`], but longer words are broken after a comma, a dash or a slash.
fn broken(line: &str, width: usize) -> String {
    let pieces = line.split_whitespace().flat_map(|word| {
        let short = word.chars().count() <= width;
        let pieces: Vec<&str> =
            if short { vec![word] } else { word.split_inclusive([',', '-', '/']).collect() };
        pieces.into_iter().enumerate().map(|(index, piece)| (piece, index == 0))
    });
    fold(pieces, [width; 2], 0)
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
    sheet: &'a Table,
    keep: Vec<usize>,
    /// Widths of the cells below the headers, if headers are wrapped to them.
    below: Option<Vec<usize>>,
    /// Maximum width of each column of prose.
    room: Vec<Option<usize>>,
}

impl Plan<'_> {
    fn of(sheet: &Table, keep: Vec<usize>) -> Plan<'_> {
        Plan { sheet, keep, below: None, room: vec![None; sheet.names().len()] }
    }

    fn grid(&self) -> Grid {
        grid(self.sheet, &self.keep, |column, text, header| {
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
            let rows = 0..self.sheet.len();
            rows.map(|row| widest(&self.sheet.shown(row, column))).max().unwrap_or(0)
        };
        self.below = Some((0..self.room.len()).map(below).collect());
    }

    /// Narrows prose, the widest column first, until the table fits `width`.
    fn squeeze(&mut self, width: usize) {
        let prose: Vec<usize> = self
            .keep
            .iter()
            .copied()
            .filter(|at| self.sheet.columns()[*at].kind == Kind::Prose)
            .collect();
        for column in &prose {
            self.room[*column] = None;
        }
        let mut over = extent(&self.grid()).saturating_sub(width);
        let rows = || 0..self.sheet.len();
        let natural = |column: &usize| {
            (*column, rows().map(|row| widest(&self.sheet.words(row, *column))).max())
        };
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

/// A table that fits.
pub fn table(sheet: &Table, fit: Fit<'_>) -> String {
    let Fit { wide, columns, width } = fit;
    let names = sheet.names();
    let mut plan = Plan::of(sheet, chosen(&names, columns));
    let held = if wide || !columns.is_empty() { &[][..] } else { sheet.on_request };
    plan.keep.retain(|index| !held.iter().any(|words| begins(&names[*index], words)));
    let held: Vec<usize> =
        (0..names.len()).filter(|index| columns.is_empty() && !plan.keep.contains(index)).collect();
    let whole = plan.grid();
    let Some(room) = width.filter(|room| !wide && extent(&whole) > *room) else {
        return drawn(&whole) + &rest(sheet, &[], &held, width);
    };
    plan.break_headers();
    plan.squeeze(room);
    let mut gone = Vec::new();
    if columns.is_empty() {
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
    drawn(&plan.grid()) + &rest(sheet, &gone, &held, Some(room))
}

/// The line below a table that lists the missing columns: those that did not fit, and those that
/// were not requested.
fn rest(sheet: &Table, gone: &[usize], held: &[usize], width: Option<usize>) -> String {
    let list = |which: &[usize]| {
        let names = which.iter().map(|index| on_one_line(&sheet.columns()[*index].heading()));
        names.collect::<Vec<_>>().join(", ")
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

/// The grid of these columns; `broken` wraps the heading and the text of a column.
fn grid(of: &Table, columns: &[usize], broken: impl Fn(usize, &str, bool) -> String) -> Grid {
    let side = |column: usize| match of.columns()[column].kind {
        Kind::Number => CellAlignment::Right,
        Kind::Name | Kind::Prose => CellAlignment::Left,
    };
    let mut grid = Grid::new();
    grid.load_style(RULES).set_content_arrangement(ContentArrangement::Disabled);
    grid.set_header(columns.iter().map(|&column| {
        let heading = broken(column, &of.columns()[column].heading(), true);
        Cell::new(heading).set_alignment(side(column))
    }));
    for row in 0..of.len() {
        grid.add_row(columns.iter().map(|&column| {
            let look = of.look(row, column);
            let text = broken(column, &of.shown(row, column), false);
            let mut shown = Cell::new(text).set_alignment(side(column));
            if look.bold {
                shown = shown.add_attribute(Attribute::Bold);
            }
            match look.tone {
                Some(Tone::Good) => shown.fg(Color::Green),
                Some(Tone::Fair) => shown.fg(Color::Yellow),
                Some(Tone::Bad) => shown.fg(Color::Red),
                None => shown,
            }
        }));
    }
    grid
}

/// A document: one block below the other.
pub fn document(document: &Document, fit: Fit<'_>) -> String {
    let mut out = String::new();
    let is_alone = document.tables().len() == 1;
    blocks(&mut out, &document.blocks, fit, is_alone);
    out
}

/// Whether a table has a requested column beside its first.
pub fn has_some(table: &Table, columns: &[String]) -> bool {
    columns.is_empty() || chosen(&table.names(), columns).len() > 1
}

fn blocks(out: &mut String, blocks: &[Block], fit: Fit<'_>, is_alone: bool) {
    let wrapped = |text: &Text, indent| wrap(&plain(text), indent, fit.width);
    let line = |text: &Text| {
        let text = plain(text);
        let words = text.trim_start_matches(' ');
        let indent = text.len() - words.len();
        format!("{:indent$}{}", "", wrap(words, indent, fit.width))
    };
    for block in blocks {
        let _ = match block {
            Block::Heading { title, .. } => {
                writeln!(out, "{TITLE}{}{TITLE:#}", wrapped(title, 0))
            }
            Block::Paragraph(text) => writeln!(out, "{}", wrapped(text, 0)),
            Block::Warning(text) => writeln!(out, "{CAUTION}{}{CAUTION:#}", wrapped(text, 0)),
            Block::Items(items) => {
                items.iter().try_for_each(|item| writeln!(out, "  {}", wrapped(item, 2)))
            }
            Block::Note(lines) => {
                let lines: Vec<String> = lines.iter().map(line).collect();
                writeln!(out, "{QUIET}{}{QUIET:#}", lines.join("\n"))
            }
            Block::Code(code) => code.lines().try_for_each(|line| writeln!(out, "    {line}")),
            Block::Table(of) if is_alone || has_some(of, fit.columns) => {
                writeln!(out, "{}", table(of, fit))
            }
            Block::Table(_) | Block::Chart(_) => Ok(()),
            Block::Folded(_, inside) => {
                self::blocks(out, inside, fit, is_alone);
                Ok(())
            }
        };
    }
}

fn plain(text: &Text) -> String {
    text.render(|text| text.replace('\n', " "), |_: &Span, text| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Marked;

    fn sheet() -> Table {
        let headers = ["arm", "completion time\nms", "loss\n%", "queueing delay p99\nms"];
        let mut sheet = Table::of_numbers("", &headers, 1).dropping(&["queueing"]);
        sheet.row(["slowstart", "964.0", "9.28", "30.1"]);
        sheet
    }

    fn shown(sheet: &Table, fit: &Fit<'_>, width: Option<usize>) -> String {
        table(sheet, Fit { width, ..*fit })
    }

    fn whole(sheet: &Table) -> String {
        shown(sheet, &Fit { wide: true, ..Fit::default() }, None)
    }

    fn all(layout: &Fit<'_>, width: Option<usize>) -> String {
        shown(&sheet(), layout, width)
    }

    /// Width of the widest line, not counting styles.
    fn extent(text: &str) -> usize {
        widest(&text.replace(&format!("{QUIET}"), "").replace(&format!("{QUIET:#}"), ""))
    }

    #[test]
    fn a_table_fits_every_width_and_says_what_it_left_out() {
        assert_eq!(all(&Fit::default(), None), whole(&sheet()), "a pipe gets all of it");
        for width in 30..80 {
            let text = all(&Fit::default(), Some(width));
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
        let text = shown(&held(), &Fit::default(), None);
        assert!(!text.contains("9.28") && text.contains("30.1"), "{text}");
        assert!(text.contains("1 more column: loss %; `--wide` shows all"), "{text}");
        let narrow = shown(&held(), &Fit::default(), Some(30));
        let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("1 column hidden to fit a width of 30: queueing"), "{narrow}");
        assert!(words.contains("1 more column: loss %"), "{narrow}");
        let wide = Fit { wide: true, ..Fit::default() };
        assert_eq!(shown(&held(), &wide, None), whole(&sheet()));
        let some = Fit { columns: &["loss".into()], ..Fit::default() };
        assert!(shown(&held(), &some, None).contains("9.28"));
    }

    #[test]
    fn prose_is_broken_at_words_before_a_column_goes() {
        let columns = [("name", Kind::Name), ("what", Kind::Prose), ("source", Kind::Prose)];
        let mut sheet = Table::new("", columns);
        let what = "Slow start that leaves when the round trip grows\n    css=  on or off, which \
                    is the default of the document";
        sheet.row([Marked::from("hystart++"), what.into(), "RFC 9406".into()]);
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
            let text = shown(&sheet, &Fit::default(), Some(width));
            assert!(extent(&text) <= width, "{} of {width}:\n{text}", extent(&text));
            assert_eq!(words(&text), words(&whole(&sheet)), "{text}");
        }
        let narrow = shown(&sheet, &Fit::default(), Some(60));
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
        let mut sheet = Table::of_numbers("", &["arm", "completion time\nms", "loss\n%"], 1);
        sheet.row(["slowstart", "964.0\n960..970", "9.28"]);
        sheet.row(["rapid ·", "909.8", "-"]);
        assert_eq!(whole(&sheet) + "\n", shared, "and so do our own tables");
    }

    #[test]
    fn wide_shows_all_and_columns_those_that_are_named() {
        let wide = Fit { wide: true, ..Fit::default() };
        assert_eq!(all(&wide, Some(30)), whole(&sheet()));
        let some = Fit { columns: &["Loss".into()], ..Fit::default() };
        let text = all(&some, Some(30));
        assert!(text.contains("9.28") && !text.contains("964.0"), "{text}");
    }
}
