//! A table: columns with their descriptions and values, for data (CSV, JSON) and for people
//! (terminal, Markdown, LaTeX, HTML, xml2rfc). A table for people holds text, with marks on cells.

use crate::text::{self, csv_cell, one_line};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Kind of a column, which decides how it is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Names: aligned left, never wrapped.
    #[default]
    Name,
    /// Numbers: aligned right.
    Number,
    /// Prose: wrapped at words if the table is too wide.
    Prose,
}

/// The good end of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
pub enum Better {
    /// Less is better.
    Low,
    /// More is better.
    High,
    /// Neither is better.
    #[default]
    None,
}

/// Description of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Name: a key in data, a heading for people, where a line break may stand in it.
    pub name: String,
    /// Key in data of a column whose name is a heading; otherwise empty.
    pub key: String,
    /// Unit; empty for a plain number or text, and in data, whose names contain the unit.
    pub unit: String,
    /// Kind.
    pub kind: Kind,
    /// The good end.
    pub better: Better,
    /// Definition, in a sentence.
    pub doc: String,
}

/// Units that a heading may give on its last line.
const UNITS: &[&str] = &["ms", "%", "BDP", "Mbit/s", "points", "ratio"];

impl<H: Into<String>> From<(H, Kind)> for Column {
    fn from((heading, kind): (H, Kind)) -> Column {
        let heading: String = heading.into();
        let (name, unit) = match heading.rsplit_once('\n') {
            Some((name, unit)) if UNITS.contains(&unit) => (name.to_owned(), unit.to_owned()),
            _ => (heading, String::new()),
        };
        Column { name, unit, kind, ..Column::default() }
    }
}

impl Column {
    /// The heading with the unit on a line of its own.
    pub(crate) fn heading(&self) -> String {
        let name = text::cell(&self.name);
        if self.unit.is_empty() { name.into_owned() } else { format!("{name}\n{}", self.unit) }
    }

    /// The heading on one line, the unit in parentheses.
    pub(crate) fn heading_line(&self) -> String {
        let name = on_one_line(&text::cell(&self.name));
        if self.unit.is_empty() { name } else { format!("{name} ({})", self.unit) }
    }

    /// The name for `--columns`: heading and unit in lower case.
    fn call(&self) -> String {
        on_one_line(&self.heading()).to_lowercase()
    }
}

/// Puts a text on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell<'a> {
    /// Unknown, or does not apply.
    #[default]
    Missing,
    /// Text.
    Text(Cow<'a, str>),
    /// An integer.
    Whole(i128),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(text.into())
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Cell<'a> {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for Cell<'a> {
    fn from(text: Cow<'a, str>) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}

impl From<f64> for Cell<'_> {
    /// A number that is not finite is missing.
    fn from(number: f64) -> Self {
        if number.is_finite() { Cell::Real(number) } else { Cell::Missing }
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Cell::Whole(number as i128)
    }
}

macro_rules! whole {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Cell<'_> {
            fn from(number: $kind) -> Self {
                Cell::Whole(number.into())
            }
        }
    )*};
}

whole!(u16 u32 u64 i32 i64);

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Cell<'a> {
        value.map_or(Cell::Missing, Into::into)
    }
}

#[cfg(feature = "json")]
impl From<serde_json::Value> for Cell<'_> {
    /// Several values in one are missing.
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null | Value::Array(_) | Value::Object(_) => Cell::Missing,
            Value::Bool(flag) => Cell::Flag(flag),
            Value::String(text) => Cell::Text(text.into()),
            Value::Number(number) => number
                .as_i128()
                .map_or_else(|| number.as_f64().map_or(Cell::Missing, Cell::Real), Cell::Whole),
        }
    }
}

impl Cell<'_> {
    /// The value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Cell::Whole(value) => Some(value as f64),
            Cell::Real(value) => Some(value),
            _ => None,
        }
    }

    /// Appends the value as a cell of CSV (RFC 4180); nothing if it is missing.
    fn push_csv(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Cell::Missing => Ok(()),
            Cell::Text(text) => out.write_str(&csv_cell(text)),
            Cell::Whole(number) => write!(out, "{number}"),
            // Without a decimal point if there are no decimals.
            Cell::Real(number) => write!(out, "{number}"),
            Cell::Flag(flag) => write!(out, "{flag}"),
        };
    }

    /// The value with text of its own.
    fn into_owned(self) -> Cell<'static> {
        match self {
            Cell::Missing => Cell::Missing,
            Cell::Text(text) => Cell::Text(text.into_owned().into()),
            Cell::Whole(number) => Cell::Whole(number),
            Cell::Real(number) => Cell::Real(number),
            Cell::Flag(flag) => Cell::Flag(flag),
        }
    }

    fn into_text(self) -> String {
        match self {
            Cell::Missing => String::new(),
            Cell::Text(text) => text.into_owned(),
            Cell::Whole(number) => number.to_string(),
            // Without a decimal point if there are no decimals.
            Cell::Real(number) => number.to_string(),
            Cell::Flag(flag) => flag.to_string(),
        }
    }
}

/// A line of CSV (RFC 4180), with its line break.
pub fn csv_line<'a>(cells: impl IntoIterator<Item = Cell<'a>>) -> String {
    let mut line = String::with_capacity(300);
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        cell.push_csv(&mut line);
    }
    line.push('\n');
    line
}

/// Additional colour on a terminal and a page; never the only mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Green.
    Good,
    /// Yellow.
    Fair,
    /// Red.
    Bad,
}

/// Marks on a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// The best of its column, or the decisive value.
    pub bold: bool,
    /// Not distinguishable from the best of its column.
    pub near: bool,
    /// Colour.
    pub tone: Option<Tone>,
    /// Both ends of a number's range or interval, in its unit. A table for people has them in the
    /// text of the cell.
    pub range: Option<[f64; 2]>,
}

/// Mark for a value that is indistinguishable from the best.
const NEAR: char = '≈';

/// A value with marks. A second line is a remark on the first, such as its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marked<'a> {
    cell: Cell<'a>,
    look: Look,
}

impl<'a, T: Into<Cell<'a>>> From<T> for Marked<'a> {
    fn from(cell: T) -> Marked<'a> {
        Marked { cell: cell.into(), look: Look::default() }
    }
}

impl Marked<'_> {
    /// The text of a cell that holds text.
    pub fn text(&self) -> &str {
        match &self.cell {
            Cell::Text(text) => text,
            _ => "",
        }
    }

    /// Makes the cell bold, if `bold`.
    #[must_use]
    pub fn bold(self, bold: bool) -> Self {
        Self { look: Look { bold, ..self.look }, ..self }
    }

    /// Marks the cell as indistinguishable from the best, if `near`.
    #[must_use]
    pub fn near(self, near: bool) -> Self {
        Self { look: Look { near, ..self.look }, ..self }
    }

    /// Sets the colour.
    #[must_use]
    pub fn tone(self, tone: Option<Tone>) -> Self {
        Self { look: Look { tone, ..self.look }, ..self }
    }

    /// Sets both ends of the range.
    #[must_use]
    pub fn range(self, range: Option<[f64; 2]>) -> Self {
        Self { look: Look { range, ..self.look }, ..self }
    }
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Number of missing values in a row.
    Missing(usize),
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i128>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    /// Values of several types.
    Several(Vec<Cell<'static>>),
}

/// A list with `missing` values and then this one.
fn started<T: Clone>(missing: usize, value: T) -> Vec<Option<T>> {
    let mut values = vec![None; missing];
    values.push(Some(value));
    values
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Missing(count) => *count,
            Values::Text(values) => values.len(),
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Flag(values) => values.len(),
            Values::Several(values) => values.len(),
        }
    }

    /// The first value decides the type. A value of another type makes all of them text.
    fn push(&mut self, cell: Cell<'_>) {
        match (&mut *self, cell) {
            (Values::Missing(count), Cell::Missing) => *count += 1,
            (Values::Text(values), Cell::Missing) => values.push(None),
            (Values::Whole(values), Cell::Missing) => values.push(None),
            (Values::Real(values), Cell::Missing) => values.push(None),
            (Values::Flag(values), Cell::Missing) => values.push(None),
            (Values::Several(values), cell) => values.push(cell.into_owned()),
            (Values::Missing(count), Cell::Text(text)) => {
                *self = Values::Text(started(*count, text.into_owned()));
            }
            (Values::Missing(count), Cell::Whole(value)) => {
                *self = Values::Whole(started(*count, value));
            }
            (Values::Missing(count), Cell::Real(value)) => {
                *self = Values::Real(started(*count, value));
            }
            (Values::Missing(count), Cell::Flag(value)) => {
                *self = Values::Flag(started(*count, value));
            }
            (Values::Text(values), cell) => values.push(Some(cell.into_text())),
            (Values::Whole(values), Cell::Whole(value)) => values.push(Some(value)),
            (Values::Real(values), Cell::Real(value)) => values.push(Some(value)),
            (Values::Flag(values), Cell::Flag(value)) => values.push(Some(value)),
            (_, cell) => {
                let text = |row| match self.get(row) {
                    Cell::Missing => None,
                    cell => Some(cell.into_text()),
                };
                let mut values: Vec<Option<String>> = (0..self.len()).map(text).collect();
                values.push(Some(cell.into_text()));
                *self = Values::Text(values);
            }
        }
    }

    fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Missing(_) => Cell::Missing,
            Values::Text(values) => values[row].as_deref().into(),
            Values::Whole(values) => values[row].map_or(Cell::Missing, Cell::Whole),
            Values::Real(values) => values[row].map_or(Cell::Missing, Cell::Real),
            Values::Flag(values) => values[row].into(),
            Values::Several(values) => values[row].clone(),
        }
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Title; may be empty.
    pub title: String,
    columns: Vec<Column>,
    held: Vec<Values>,
    rows: usize,
    looks: BTreeMap<(usize, usize), Look>,
    /// Name prefixes of the columns that are dropped first if not all fit, in order.
    pub(crate) first_to_go: &'static [&'static str],
    /// Name prefixes of the columns that people see only on request.
    pub(crate) on_request: &'static [&'static str],
    /// On a terminal, bold cells are followed by `*`, and other cells keep a space for it.
    marked: bool,
}

impl Table {
    /// Creates a table without rows.
    pub fn new<C: Into<Column>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Table {
        let columns: Vec<Column> = columns.into_iter().map(Into::into).collect();
        let held = vec![Values::Missing(0); columns.len()];
        Table { title: title.into(), columns, held, ..Table::default() }
    }

    /// Creates a table from columns of the same length, which may hold values of several types.
    pub fn of_columns(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = (Column, Vec<Marked<'static>>)>,
    ) -> Table {
        let mut table = Table { title: title.into(), ..Table::default() };
        for (at, (column, cells)) in columns.into_iter().enumerate() {
            debug_assert!(at == 0 || cells.len() == table.rows, "all columns have the same length");
            table.rows = cells.len();
            let marked = |(row, cell): (usize, &Marked<'_>)| ((row, at), cell.look);
            let looks = cells.iter().enumerate().map(marked);
            table.looks.extend(looks.filter(|(_, look)| *look != Look::default()));
            table.held.push(Values::Several(cells.into_iter().map(|of| of.cell).collect()));
            table.columns.push(column);
        }
        table
    }

    /// Creates a table with `left` columns of names, followed by columns of numbers.
    pub fn of_numbers(title: impl Into<String>, headings: &[&str], left: usize) -> Table {
        let kind = |index| if index < left { Kind::Name } else { Kind::Number };
        Table::new(title, headings.iter().enumerate().map(|(index, name)| (*name, kind(index))))
    }

    /// Creates a table of data, whose columns need no more than names.
    pub fn of_data<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Table {
        let column = |name: N| Column { name: name.into(), ..Column::default() };
        Table::new("", names.into_iter().map(column))
    }

    /// Sets the columns that are dropped first if not all fit.
    #[must_use]
    pub fn dropping(self, first_to_go: &'static [&'static str]) -> Table {
        Table { first_to_go, ..self }
    }

    /// Sets the columns that people see only on request.
    #[must_use]
    pub fn holding_back(self, on_request: &'static [&'static str]) -> Table {
        Table { on_request, ..self }
    }

    /// Sets the title.
    #[must_use]
    pub fn titled(self, title: &str) -> Table {
        Table { title: title.to_owned(), ..self }
    }

    /// Marks the best cells with a sign as well as in bold.
    #[must_use]
    pub fn marked(self) -> Table {
        Table { marked: true, ..self }
    }

    /// Adds a row.
    pub fn row<'a, M: Into<Marked<'a>>>(&mut self, cells: impl IntoIterator<Item = M>) {
        let mut cells = cells.into_iter();
        for (column, values) in self.held.iter_mut().enumerate() {
            let Marked { cell, look } = cells.next().map_or_else(Marked::default, Into::into);
            values.push(cell);
            if look != Look::default() {
                self.looks.insert((self.rows, column), look);
            }
        }
        debug_assert!(cells.next().is_none(), "a row has no more cells than the table has columns");
        self.rows += 1;
    }

    /// Adds a row of data.
    pub fn values<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        self.row(cells);
    }

    /// Appends the rows of another table, with the values `before` in front of each. A table
    /// without columns takes those of the other one.
    pub fn extend(&mut self, before: &[(&str, Cell<'_>)], others: &Table) {
        if self.columns.is_empty() {
            let first = Table::of_data(before.iter().map(|(name, _)| *name));
            self.columns = first.columns.into_iter().chain(others.columns.clone()).collect();
            self.held = vec![Values::Missing(0); self.columns.len()];
        }
        for row in 0..others.rows {
            let values = others.held.iter().map(|values| values.get(row));
            self.values(before.iter().map(|(_, cell)| cell.clone()).chain(values));
        }
    }

    /// Adds a serialised record after the values `before`; the first record defines the columns.
    /// Fields with several values are left out.
    #[cfg(feature = "json")]
    pub fn record(&mut self, before: &[(&str, Cell<'_>)], record: serde_json::Value) {
        let serde_json::Value::Object(fields) = record else { return };
        let plain = fields.into_iter().filter(|(_, value)| !value.is_array() && !value.is_object());
        let (names, values): (Vec<String>, Vec<Cell<'_>>) =
            plain.map(|(name, value)| (name, Cell::from(value))).unzip();
        let mut one = Table::of_data(names);
        one.row(values);
        debug_assert!(
            self.columns.is_empty() || self.columns[before.len()..] == one.columns,
            "all records of a table have the same fields"
        );
        self.extend(before, &one);
    }

    /// Descriptions of the columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// All columns, for renderers that can leave some out.
    pub fn every_column(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    /// Names of the columns for `--columns`, in lower case.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(Column::call).collect()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A value.
    pub fn get(&self, row: usize, column: usize) -> Cell<'_> {
        self.held[column].get(row)
    }

    /// The marks of a cell.
    pub fn look(&self, row: usize, column: usize) -> Look {
        self.looks.get(&(row, column)).copied().unwrap_or_default()
    }

    /// A cell with its marks, for another table.
    pub fn marked_cell(&self, row: usize, column: usize) -> Marked<'_> {
        Marked { cell: self.get(row, column), look: self.look(row, column) }
    }

    /// The text of a cell for people; a terminal cannot be controlled by it.
    pub(crate) fn words(&self, row: usize, column: usize) -> String {
        let words = self.get(row, column).into_text();
        match text::cell(&words) {
            Cow::Borrowed(_) => words,
            Cow::Owned(escaped) => escaped,
        }
    }

    /// The title on one line.
    pub(crate) fn title_line(&self) -> Cow<'_, str> {
        one_line(&self.title)
    }

    /// The text of a cell as a terminal shows it.
    #[cfg(feature = "terminal")]
    pub(crate) fn shown(&self, row: usize, column: usize) -> String {
        let words = self.words(row, column);
        if !self.marked || column == 0 {
            return words;
        }
        let mark = match self.look(row, column) {
            Look { bold: true, .. } => '*',
            Look { near: true, .. } => NEAR,
            _ => ' ',
        };
        let mut lines = words.lines();
        let mut text = format!("{}{mark}", lines.next().unwrap_or_default());
        lines.for_each(|line| text.extend(["\n", line, " "]));
        text
    }

    /// The text of a cell on one line, for formats that show the best in bold; the remark below a
    /// number goes into parentheses.
    pub(crate) fn line(&self, row: usize, column: usize) -> String {
        let mut words = self.words(row, column);
        if self.look(row, column).near {
            words.extend([' ', NEAR]);
        }
        match words.split_once('\n') {
            Some((first, rest)) if self.columns[column].kind != Kind::Prose => {
                format!("{} ({})", on_one_line(first), on_one_line(rest))
            }
            _ => on_one_line(&words),
        }
    }

    /// CSV (RFC 4180) of the columns `keep`: the names, then one line per row. Unknown values are
    /// empty.
    pub fn to_csv(&self, keep: &[usize]) -> String {
        let mut out =
            csv_line(keep.iter().map(|column| self.columns[*column].name.as_str().into()));
        for row in 0..self.rows {
            out += &csv_line(keep.iter().map(|column| self.get(row, *column)));
        }
        out
    }

    /// JSON: a list of objects, with a line break at its end.
    ///
    /// # Errors
    /// Errors of `serde_json`; never for our own values.
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

#[cfg(feature = "json")]
impl serde::Serialize for Table {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// A row of the table.
        struct Row<'a>(&'a Table, usize);

        impl serde::Serialize for Row<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Row(table, row) = *self;
                let fields = table.columns.iter().zip(&table.held);
                serializer
                    .collect_map(fields.map(|(column, values)| (&column.name, values.get(row))))
            }
        }

        serializer.collect_seq((0..self.rows).map(|row| Row(self, row)))
    }
}

#[cfg(feature = "json")]
impl serde::Serialize for Cell<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Missing => serializer.serialize_unit(),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Whole(number) => serializer.serialize_i128(*number),
            Cell::Real(number) => serializer.serialize_f64(*number),
            Cell::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_it_must_and_leaves_the_unknown_empty() {
        let mut rows = Table::of_data(["arm", "ttlb_ms", "complete"]);
        rows.row([Cell::from("rapid(k=1,j=\"2\")"), 964.0.into(), true.into()]);
        rows.row([Cell::from("best"), f64::NAN.into(), false.into()]);
        assert_eq!(
            rows.to_csv(&[0, 1, 2]),
            "arm,ttlb_ms,complete\n\"rapid(k=1,j=\"\"2\"\")\",964,true\nbest,,false\n"
        );
        assert_eq!(rows.to_csv(&[1]), "ttlb_ms\n964\n\n");
        let mut rows = Table::of_data(["arm", "change_pct"]);
        rows.row([Cell::from("=cmd|' /C calc'!A0"), (-1.5).into()]);
        assert_eq!(rows.to_csv(&[0, 1]), "arm,change_pct\n'=cmd|' /C calc'!A0,-1.5\n");
    }

    #[test]
    fn a_column_takes_the_type_of_its_first_value_and_becomes_text_if_types_differ() {
        let mut rows = Table::of_data(["seed", "x"]);
        for (seed, x) in [(u64::MAX, Cell::Missing), (1, 2_u32.into()), (2, 0.5.into())] {
            rows.row([seed.into(), x]);
        }
        assert_eq!(rows.get(0, 0), Cell::Whole(i128::from(u64::MAX)));
        assert_eq!(
            [0, 1, 2].map(|row| rows.get(row, 1)),
            [Cell::Missing, "2".into(), "0.5".into()]
        );
    }

    #[cfg(feature = "json")]
    #[test]
    fn records_name_the_columns_and_lists_have_none() {
        use serde_json::{Value, json};
        let mut rows = Table::default();
        for seed in [u64::MAX, 7] {
            rows.record(
                &[("file", "a.pcap".into())],
                json!({ "arm": "best", "all": [1, 2], "ms": 1.5, "seed": seed, "none": null }),
            );
        }
        assert_eq!(rows.to_csv(&[0, 1]), "file,arm\na.pcap,best\na.pcap,best\n");
        let read: Value = serde_json::from_str(&rows.to_json().expect("JSON")).expect("JSON");
        assert_eq!(
            read[0],
            json!({ "file": "a.pcap", "arm": "best", "ms": 1.5, "seed": u64::MAX, "none": null })
        );
    }
}
