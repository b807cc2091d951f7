//! Tables in common formats: CSV, JSON lines, Parquet. Only the requested columns are kept.

use firstflight_log::input::{self, FileName};
use firstflight_path::{Error, nearest};
use firstflight_table::guard::guarded;
use firstflight_table::rows::{LONGEST_LINE, Lines};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Maximum number of rows of a table.
const MOST_ROWS: usize = 20_000_000;

/// Texts by number: most text columns have few different values.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    /// The text of each row, as its index in `names`; `u32::MAX` for none.
    pub(super) of: Vec<u32>,
    /// The distinct texts, in order of first appearance.
    pub(super) names: Vec<String>,
    known: HashMap<String, u32>,
}

/// Index for no text.
pub(super) const NONE: u32 = u32::MAX;

impl Texts {
    /// The text of a number.
    pub(super) fn name(&self, number: u32) -> Option<&str> {
        (number != NONE).then(|| self.names[number as usize].as_str())
    }

    fn push(&mut self, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return self.of.push(NONE) };
        let number = self.known.get(text).copied().unwrap_or_else(|| {
            let number = self.names.len() as u32;
            self.names.push(text.to_owned());
            self.known.insert(text.to_owned(), number);
            number
        });
        self.of.push(number);
    }
}

#[derive(Clone, Debug)]
pub(super) enum Column {
    /// Texts.
    Text(Texts),
    /// Numbers; NaN if missing. Yes is 1, no is 0.
    Number(Vec<f64>),
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
}

/// Columns of a table, by the requested names.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    columns: Vec<(String, Column)>,
    pub(super) rows: usize,
    /// Remarks about the files for the reader.
    pub(super) remarks: Vec<String>,
}

impl Table {
    /// Requests a column, once.
    pub(super) fn ask(&mut self, name: &str, kind: Kind) {
        if !self.columns.iter().any(|(known, _)| known == name) {
            let column = match kind {
                Kind::Text => Column::Text(Texts::default()),
                Kind::Number => Column::Number(Vec::new()),
            };
            self.columns.push((name.to_owned(), column));
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&Texts> {
        self.columns.iter().find_map(|(known, column)| match column {
            Column::Text(texts) if known == name => Some(texts),
            _ => None,
        })
    }

    pub(super) fn number(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find_map(|(known, column)| match column {
            Column::Number(numbers) if known == name => Some(numbers.as_slice()),
            _ => None,
        })
    }

    /// Appends the rows of a file. A file that makes a reader panic adds a remark but no rows.
    ///
    /// # Errors
    /// A one-line message: not a table, a missing column, or a cell that is not a number.
    pub(super) fn read(&mut self, file: &FileName) -> Result<(), Error> {
        let rows = self.rows;
        guarded(|| self.read_one(file)).unwrap_or_else(|broken| {
            self.rows = rows;
            for (_, column) in &mut self.columns {
                match column {
                    Column::Text(texts) => texts.of.truncate(rows),
                    Column::Number(numbers) => numbers.truncate(rows),
                }
            }
            self.remarks.push(format!("{file}: {broken}"));
            Ok(())
        })
    }

    fn read_one(&mut self, file: &FileName) -> Result<(), Error> {
        if is_parquet(file) {
            return self.parquet(file);
        }
        let (mut bytes, head) = opened(file)?;
        if head.first() == Some(&b'{') {
            return self.json_lines(file, bytes);
        }
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        self.csv(file, cells(first, Ends { from: &mut bytes, last: b'\n', over: false }))
    }

    fn csv(
        &mut self,
        file: &FileName,
        mut reader: csv::Reader<Ends<impl Read>>,
    ) -> Result<(), Error> {
        let broken = |error: csv::Error| Error::new(format!("{file}: is not a table: {error}"));
        let header = reader.headers().map_err(broken)?.clone();
        let places = self.places(file, &header.iter().collect::<Vec<_>>())?;
        let mut record = csv::StringRecord::new();
        loop {
            match reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(_) if self.rows > 0 && reader.get_ref().is_torn() => {
                    self.torn(file);
                    return Ok(());
                }
                Err(error) => return Err(broken(error)),
            }
            let line = record.position().map_or(0, csv::Position::line);
            for (column, place) in places.iter().enumerate() {
                let cell = record.get(*place);
                self.push(column, cell).map_err(|what| at(file, "line", line, &what))?;
            }
            self.row(file)?;
        }
    }

    fn json_lines(&mut self, file: &FileName, bytes: Box<dyn Read>) -> Result<(), Error> {
        let wrong = |(number, what): (u64, String)| at(file, "line", number, &what);
        let mut lines = Lines::of(BufReader::new(bytes));
        while let Some(line) = lines.next_line().map_err(wrong)? {
            let row = line.row(serde_json::from_slice::<Object>);
            let row = row.map_err(|(number, what)| {
                wrong((number, format!("is not a JSON object: {what}")))
            })?;
            let Some(row) = row else {
                self.torn(file);
                return Ok(());
            };
            // An object may omit unknown values; the first one shows which columns there are.
            if self.rows == 0 {
                self.places(file, &row.keys().map(String::as_str).collect::<Vec<_>>())?;
            }
            let number = line.number;
            for column in 0..self.columns.len() {
                let cell = row.get(&self.columns[column].0).and_then(|raw| text(raw));
                self.push(column, cell.as_deref()).map_err(|what| wrong((number, what)))?;
            }
            self.row(file)?;
        }
        Ok(())
    }

    /// Notes that the last row of a file is incomplete: a program was killed, or its disk was full.
    fn torn(&mut self, file: &FileName) {
        self.remarks.push(format!("{file}: the last row is incomplete and not counted"));
    }

    #[cfg(feature = "parquet")]
    fn parquet(&mut self, file: &FileName) -> Result<(), Error> {
        use parquet::file::reader::FileReader;
        use parquet::record::Field;
        let reader = parquet_reader(file)?;
        let broken = |error| no_parquet(file, &error);
        let schema = reader.metadata().file_metadata().schema_descr().root_schema().clone();
        let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        self.places(file, &names)?;
        let wanted = schema
            .get_fields()
            .iter()
            .filter(|field| self.columns.iter().any(|(name, _)| name == field.name()));
        let projected = parquet::schema::types::Type::group_type_builder(schema.name())
            .with_fields(wanted.cloned().collect())
            .build()
            .map_err(broken)?;
        for (index, row) in reader.get_row_iter(Some(projected)).map_err(broken)?.enumerate() {
            let row = row.map_err(broken)?;
            for column in 0..self.columns.len() {
                let cell = row.get_column_iter().find(|(name, _)| **name == self.columns[column].0);
                let text = match cell {
                    None | Some((_, Field::Null)) => None,
                    Some((_, Field::Str(text))) => Some(text.clone()),
                    Some((_, other)) => Some(other.to_string()),
                };
                let number = index as u64 + 1;
                self.push(column, text.as_deref())
                    .map_err(|what| at(file, "row", number, &what))?;
            }
            self.row(file)?;
        }
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    #[expect(clippy::unused_self, reason = "the same as where Parquet is read")]
    fn parquet(&mut self, file: &FileName) -> Result<(), Error> {
        Err(Error::new(format!(
            "{file}: is Parquet, which this build does not read (feature `parquet`); CSV and JSON lines are read"
        )))
    }

    /// Positions of the columns.
    fn places(&self, file: &FileName, header: &[&str]) -> Result<Vec<usize>, Error> {
        let place = |(name, _): &(String, Column)| {
            let found = header.iter().position(|known| known == name);
            found.ok_or_else(|| missing(file, name, header))
        };
        self.columns.iter().map(place).collect()
    }

    fn push(&mut self, column: usize, cell: Option<&str>) -> Result<(), String> {
        let (name, column) = &mut self.columns[column];
        match column {
            Column::Text(texts) => texts.push(cell),
            Column::Number(numbers) => numbers.push(number(cell).ok_or_else(|| {
                format!(
                    "`{}` under `{name}` is not a number; allowed: 0 or more",
                    cell.unwrap_or_default()
                )
            })?),
        }
        Ok(())
    }

    fn row(&mut self, file: &FileName) -> Result<(), Error> {
        self.rows += 1;
        if self.rows > MOST_ROWS {
            return Err(Error::new(format!("{file}: more than {MOST_ROWS} rows")));
        }
        Ok(())
    }
}

/// A reader that remembers the last byte.
struct Ends<R> {
    from: R,
    last: u8,
    over: bool,
}

impl<R> Ends<R> {
    /// Whether the bytes ended without a line break.
    fn is_torn(&self) -> bool {
        self.over && self.last != b'\n'
    }
}

impl<R: Read> Read for Ends<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(to)?;
        self.over |= read == 0 && !to.is_empty();
        self.last = to[..read].last().copied().unwrap_or(self.last);
        Ok(read)
    }
}

/// The file itself, or the files in a folder of Parquet files, as written by `--out rows.parquet`.
///
/// # Errors
/// A one-line message if a folder has none.
pub(super) fn files(folder: &Path) -> Result<Vec<FileName>, Error> {
    let name = folder.display();
    if !folder.is_dir() {
        return Ok(vec![FileName::of(folder)]);
    }
    let failed = |error: std::io::Error| Error::new(format!("{name}: {error}"));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|ending| ending == "parquet") {
            files.push(FileName::of(file));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::new(format!("{name}: a folder without Parquet files")));
    }
    Ok(files)
}

/// The names of the columns of a table.
///
/// # Errors
/// A one-line message if the file is not a table.
pub(super) fn names(file: &FileName) -> Result<Vec<String>, Error> {
    if is_parquet(file) {
        return parquet_names(file);
    }
    let (mut bytes, head) = opened(file)?;
    if head.first() == Some(&b'{') {
        let mut line = String::new();
        let read = BufReader::new(bytes).take(LONGEST_LINE).read_line(&mut line);
        read.map_err(|error| at(file, "line", 1, &error.to_string()))?;
        let row: Object = serde_json::from_str(&line).map_err(|error| {
            let what = if line.trim() == "{" {
                "a JSON object over several lines; allowed: CSV, Parquet, or one object per line"
                    .into()
            } else {
                format!("is not a JSON object: {error}")
            };
            at(file, "line", 1, &what)
        })?;
        return Ok(row.keys().cloned().collect());
    }
    let mut first = String::new();
    let read = BufReader::new(&mut bytes).take(LONGEST_LINE).read_line(&mut first);
    read.map_err(|error| at(file, "line", 1, &error.to_string()))?;
    let mut reader = cells(first.as_bytes(), first.as_bytes());
    let header = reader.headers();
    let header = header.map_err(|error| Error::new(format!("{file}: is not a table: {error}")))?;
    Ok(header.iter().map(str::to_owned).collect())
}

/// CSV with the delimiter of its first line: tabs if there is no comma.
fn cells<R: Read>(first: &[u8], bytes: R) -> csv::Reader<R> {
    let tabs = first.contains(&b'\t') && !first.contains(&b',');
    csv::ReaderBuilder::new()
        .delimiter(if tabs { b'\t' } else { b',' })
        .trim(csv::Trim::All)
        .from_reader(bytes)
}

#[cfg(feature = "parquet")]
fn no_parquet(file: &FileName, error: &parquet::errors::ParquetError) -> Error {
    Error::new(format!("{file}: is not readable Parquet: {error}"))
}

#[cfg(feature = "parquet")]
fn parquet_reader(
    file: &FileName,
) -> Result<parquet::file::reader::SerializedFileReader<std::fs::File>, Error> {
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|error| Error::new(format!("{file}: {error}")))?;
    parquet::file::reader::SerializedFileReader::new(opened)
        .map_err(|error| no_parquet(file, &error))
}

#[cfg(feature = "parquet")]
fn parquet_names(file: &FileName) -> Result<Vec<String>, Error> {
    use parquet::file::reader::FileReader;
    let reader = parquet_reader(file)?;
    let schema = reader.metadata().file_metadata().schema_descr().root_schema();
    Ok(schema.get_fields().iter().map(|field| field.name().to_owned()).collect())
}

#[cfg(not(feature = "parquet"))]
fn parquet_names(file: &FileName) -> Result<Vec<String>, Error> {
    Table::default().parquet(file).map(|()| Vec::new())
}

/// An object whose values stay as written: a number parsed as a double and written again may
/// change.
type Object = std::collections::BTreeMap<String, Box<RawValue>>;

/// The text of a value; `None` for null.
fn text(raw: &RawValue) -> Option<String> {
    match raw.get() {
        "null" => None,
        quoted if quoted.starts_with('"') => serde_json::from_str(quoted).ok(),
        other => Some(other.to_owned()),
    }
}

/// The error for a column that is requested both as a name and as a number.
pub(super) fn twice(file: &dyn Display, name: &str) -> Error {
    Error::new(format!("{file}: column `{name}` cannot be a name and a number at once"))
}

/// The error for a file that lacks a column, with the columns it has.
pub(super) fn missing<N: AsRef<str>>(file: &dyn Display, name: &str, header: &[N]) -> Error {
    let header: Vec<&str> = header.iter().map(AsRef::as_ref).collect();
    let meant = nearest(name, header.iter().copied());
    let meant = meant.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let some = header.iter().take(20).copied().collect::<Vec<_>>().join(",");
    Error::new(format!("{file}: no column `{name}`{meant} among `{some}`"))
}

fn at(file: &dyn Display, what: &str, number: u64, wrong: &str) -> Error {
    Error::new(format!("{file}: {what} {number}: {wrong}"))
}

fn is_parquet(file: &FileName) -> bool {
    let mut head = [0; 4];
    let read = std::fs::metadata(file).is_ok_and(|data| data.is_file())
        && std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    read && head == *b"PAR1"
}

/// The bytes of a file, decompressed, and its first bytes, which remain to be read.
fn opened(file: &FileName) -> Result<(Box<dyn Read>, Vec<u8>), Error> {
    let mut bytes = input::open(file).map_err(|fault| Error::new(fault.to_string()))?;
    let mut head = Vec::new();
    let read = bytes.by_ref().take(LONGEST_LINE).read_to_end(&mut head);
    read.map_err(|error| Error::new(format!("{file}: cannot be read: {error}")))?;
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::new(format!("{file}: is empty")));
    }
    let skip = head.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let head = head.split_off(skip);
    Ok((Box::new(std::io::Cursor::new(head.clone()).chain(bytes)), head))
}

/// A number, 0 or more; NaN for an empty cell, `None` for another text.
fn number(cell: Option<&str>) -> Option<f64> {
    match cell.map(str::trim) {
        None | Some("" | "null" | "NULL" | "NaN" | "nan" | "-" | "NA" | "\\N") => Some(f64::NAN),
        Some("true" | "True" | "TRUE" | "yes") => Some(1.0),
        Some("false" | "False" | "FALSE" | "no") => Some(0.0),
        Some(text) => text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0),
    }
}
