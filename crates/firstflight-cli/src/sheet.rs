//! A table of a result: built once, and shown on a terminal ([`crate::fit`]), in Markdown and in
//! LaTeX ([`crate::markup`]).

use crate::terminal::RULES;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table as Grid};
use firstflight_table::text::{cell, one_line};
use std::borrow::Cow;

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Left: names.
    Left,
    /// Right: numbers.
    Right,
    /// Left; wrapped at words if the table is too wide.
    Prose,
}

/// A cell. A second line is a remark on the first, such as its interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// The best of its column, or the decisive value.
    pub(crate) bold: bool,
    /// Not distinguishable from the best of its column.
    pub(crate) near: bool,
    /// Additional colour on a terminal; never the only mark.
    pub(crate) colour: Option<Color>,
}

impl<T: Into<String>> From<T> for Field {
    fn from(text: T) -> Field {
        Field { text: cell(&text.into()).into_owned(), ..Field::default() }
    }
}

impl Field {
    /// Makes the cell bold, if `bold`.
    pub(crate) fn bold(self, bold: bool) -> Field {
        Field { bold, ..self }
    }

    /// Marks the cell as indistinguishable from the best, if `near`.
    pub(crate) fn near(self, near: bool) -> Field {
        Field { near, ..self }
    }

    /// The text with that mark, for formats that show the best in bold.
    pub(crate) fn signed(&self) -> Cow<'_, str> {
        if self.near {
            Cow::Owned(format!("{} {NEAR}", self.text))
        } else {
            Cow::Borrowed(&self.text)
        }
    }
}

/// Mark for a value that is indistinguishable from the best.
const NEAR: char = '≈';

/// A column: its alignment, and its header with an optional line break.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    header: String,
    side: Side,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// Title, shown above the table in Markdown and LaTeX; may be empty.
    pub(crate) title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Field>>,
    /// Name prefixes of the columns that are dropped first if not all fit, in order.
    pub(crate) first_to_go: &'static [&'static str],
    /// Name prefixes of the columns that people see only on request.
    pub(crate) on_request: &'static [&'static str],
    /// On a terminal, bold cells are followed by `*`, and other cells keep a space for it.
    marked: bool,
}

impl Sheet {
    /// Creates a table without rows; each header comes with its alignment.
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

    /// Creates a table with `left` columns of names, followed by columns of numbers.
    pub(crate) fn of_numbers(title: impl Into<String>, headers: &[&str], left: usize) -> Sheet {
        let side = |index| if index < left { Side::Left } else { Side::Right };
        Sheet::new(title, headers.iter().enumerate().map(|(index, header)| (*header, side(index))))
    }

    /// Sets the columns that are dropped first if not all fit.
    pub(crate) fn dropping(self, first_to_go: &'static [&'static str]) -> Sheet {
        Sheet { first_to_go, ..self }
    }

    /// Sets the columns that people see only on request.
    pub(crate) fn holding_back(self, on_request: &'static [&'static str]) -> Sheet {
        Sheet { on_request, ..self }
    }

    /// Sets the title.
    pub(crate) fn titled(self, title: &str) -> Sheet {
        Sheet { title: one_line(title).into_owned(), ..self }
    }

    /// Marks the best cells with a sign as well as in bold.
    pub(crate) fn marked(self) -> Sheet {
        Sheet { marked: true, ..self }
    }

    /// Adds a row.
    pub(crate) fn row<F: Into<Field>>(&mut self, cells: impl IntoIterator<Item = F>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn rows(&self) -> &[Vec<Field>] {
        &self.rows
    }

    /// Headers, each on one line.
    pub(crate) fn headers(&self) -> Vec<String> {
        let one = |column: &Column| column.header.split_whitespace().collect::<Vec<_>>().join(" ");
        self.columns.iter().map(one).collect()
    }

    /// Headers as they were given.
    pub(crate) fn raw_headers(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.header.as_str())
    }

    /// Column names for `--columns`: headers in lower case.
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

    /// The grid of these columns for a terminal; `broken` wraps the header and the text of a
    /// column.
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
