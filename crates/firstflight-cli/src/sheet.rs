//! A table of an answer: built once, and shown on a terminal ([`crate::fit`]), in Markdown and in
//! LaTeX ([`crate::markup`]).

use crate::terminal::RULES;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table as Grid};
use firstflight_table::text::{cell, one_line};
use std::borrow::Cow;

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Left: names.
    Left,
    /// Right: numbers.
    Right,
    /// Left, and broken at words where the table is wider than its room.
    Prose,
}

/// A cell. A second line is a remark on the first, such as its interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// The best of its column, or the number that decides.
    pub(crate) bold: bool,
    /// Not distinguishable from the best of its column.
    pub(crate) near: bool,
    /// What a terminal with colours adds; never the only sign of anything.
    pub(crate) colour: Option<Color>,
}

impl<T: Into<String>> From<T> for Field {
    fn from(text: T) -> Field {
        Field { text: cell(&text.into()).into_owned(), ..Field::default() }
    }
}

impl Field {
    /// The same in bold letters, if `bold`.
    pub(crate) fn bold(self, bold: bool) -> Field {
        Field { bold, ..self }
    }

    /// The same with the sign for what cannot be told from the best, if `near`.
    pub(crate) fn near(self, near: bool) -> Field {
        Field { near, ..self }
    }

    /// The text with that sign, for formats that have bold letters for the best.
    pub(crate) fn signed(&self) -> Cow<'_, str> {
        if self.near {
            Cow::Owned(format!("{} {NEAR}", self.text))
        } else {
            Cow::Borrowed(&self.text)
        }
    }
}

/// The sign for what cannot be told from the best.
const NEAR: char = '≈';

/// A column: its header, with a line break where it may have two lines, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    header: String,
    side: Side,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// What it shows, above it in Markdown and LaTeX; may be empty.
    pub(crate) title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Field>>,
    /// Beginnings of the names of columns that go first where not all fit, in order.
    pub(crate) first_to_go: &'static [&'static str],
    /// The same of columns that a table for people has only where they are asked for.
    pub(crate) on_request: &'static [&'static str],
    /// A terminal shows `*` at cells in bold letters, and keeps a place for it at the others.
    marked: bool,
}

impl Sheet {
    /// A table without rows; headers with how their columns stand.
    pub(crate) fn new<H: Into<String>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = (H, Side)>,
    ) -> Sheet {
        let column = |(header, side): (H, Side)| {
            let header: String = header.into();
            Column { header: cell(&header).into_owned(), side }
        };
        Sheet {
            title: one_line(&title.into()).into_owned(),
            columns: columns.into_iter().map(column).collect(),
            rows: Vec::new(),
            first_to_go: &[],
            on_request: &[],
            marked: false,
        }
    }

    /// A name on the left, numbers on the right of it.
    pub(crate) fn of_numbers(title: impl Into<String>, headers: &[&str], left: usize) -> Sheet {
        let side = |index| if index < left { Side::Left } else { Side::Right };
        Sheet::new(title, headers.iter().enumerate().map(|(index, header)| (*header, side(index))))
    }

    /// Which columns go first where not all fit.
    pub(crate) fn dropping(self, first_to_go: &'static [&'static str]) -> Sheet {
        Sheet { first_to_go, ..self }
    }

    /// Which columns people see only if they ask for them.
    pub(crate) fn holding_back(self, on_request: &'static [&'static str]) -> Sheet {
        Sheet { on_request, ..self }
    }

    /// The same under another title.
    pub(crate) fn titled(self, title: &str) -> Sheet {
        Sheet { title: one_line(title).into_owned(), ..self }
    }

    /// Shows which cells are best without bold letters, too.
    pub(crate) fn marked(self) -> Sheet {
        Sheet { marked: true, ..self }
    }

    /// One more row.
    pub(crate) fn row<F: Into<Field>>(&mut self, cells: impl IntoIterator<Item = F>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn rows(&self) -> &[Vec<Field>] {
        &self.rows
    }

    /// Headers on one line.
    pub(crate) fn headers(&self) -> Vec<String> {
        let one = |column: &Column| column.header.split_whitespace().collect::<Vec<_>>().join(" ");
        self.columns.iter().map(one).collect()
    }

    /// Headers as they were given.
    pub(crate) fn raw_headers(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.header.as_str())
    }

    /// What `--columns` calls them: headers in small letters.
    pub(crate) fn names(&self) -> Vec<String> {
        self.headers().iter().map(|header| header.to_lowercase()).collect()
    }

    pub(crate) fn side(&self, column: usize) -> Side {
        self.columns[column].side
    }

    /// The text of a cell as a terminal shows it.
    pub(crate) fn shown(&self, field: &Field, column: usize) -> String {
        if !self.marked || column == 0 {
            return field.text.clone();
        }
        let mark = match field {
            Field { bold: true, .. } => '*',
            Field { near: true, .. } => NEAR,
            _ => ' ',
        };
        let mut lines = field.text.lines();
        let mut text = format!("{}{mark}", lines.next().unwrap_or_default());
        lines.for_each(|line| text.extend(["\n", line, " "]));
        text
    }

    /// Lines of these columns on a terminal; `broken` says how a column's header and text are
    /// broken over lines.
    pub(crate) fn grid(
        &self,
        columns: &[usize],
        broken: impl Fn(usize, &str, bool) -> String,
    ) -> Grid {
        let side = |column: usize| match self.columns[column].side {
            Side::Right => CellAlignment::Right,
            Side::Left | Side::Prose => CellAlignment::Left,
        };
        let mut grid = Grid::new();
        grid.load_style(RULES).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(columns.iter().map(|&column| {
            let header = broken(column, &self.columns[column].header, true);
            Cell::new(header).set_alignment(side(column))
        }));
        for row in &self.rows {
            grid.add_row(columns.iter().map(|&column| {
                let field = &row[column];
                let text = broken(column, &self.shown(field, column), false);
                let mut shown = Cell::new(text).set_alignment(side(column));
                if field.bold {
                    shown = shown.add_attribute(Attribute::Bold);
                }
                match field.colour {
                    Some(colour) => shown.fg(colour),
                    None => shown,
                }
            }));
        }
        grid
    }
}
