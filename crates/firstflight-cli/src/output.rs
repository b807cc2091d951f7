//! Output of results in the requested format, for all commands.

use crate::files::{check_outputs, to_stdout, write_bytes, write_whole};
use crate::fit::{self, asked, check};
use crate::format::Format;
use crate::terminal::{say, width, wrap};
use firstflight_lab::Error;
use firstflight_table::terminal::{chosen, has_some};
use firstflight_table::{Document, Table};
use std::path::{Path, PathBuf};

/// The result of a command.
pub(crate) trait Output {
    /// The document for people.
    fn document(&self) -> Document {
        self.sheets().into()
    }

    /// The same as text for a terminal.
    fn text(&self) -> String {
        fit::document(&self.document())
    }

    /// The tables alone.
    fn sheets(&self) -> Vec<Table> {
        self.document().tables().into_iter().cloned().collect()
    }

    /// The data, one row per case.
    fn rows(&self) -> Table;

    /// Names of all columns that it may have, for people and in data.
    fn columns(&self) -> (Vec<String>, Vec<String>) {
        (names(&self.sheets()), self.rows().names())
    }

    /// True if the result fills the files of its options.
    fn has_files(&self) -> bool {
        true
    }

    /// The whole result, as in `--json`.
    fn json(&self) -> Result<String, Error> {
        self.rows().to_json().map_err(|error| Error::new(error.to_string()))
    }

    /// Writes the same JSON piece by piece, so that it need not fit in memory.
    fn write_json(&self, out: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        out(&self.json()?)
    }
}

/// Wraps lines of prose to the terminal, one below the other.
pub(crate) fn prose(lines: &[&str]) -> String {
    lines.iter().map(|line| wrap(line, 0, width()) + "\n").collect()
}

/// The requested format; `--json -` requests JSON.
fn format(json: Option<&PathBuf>) -> Format {
    if to_stdout(json) { Format::Json } else { asked().format.unwrap_or(Format::Table) }
}

/// Whether standard output is for people, who may see more than the tables.
pub(crate) fn is_for_people(json: Option<&PathBuf>) -> bool {
    format(json) == Format::Table
}

/// Checks that the columns in `--columns` exist, given the names `shown` for people and `raw` in
/// data. Slow commands call this before they start.
pub(crate) fn check_before(
    json: Option<&PathBuf>,
    shown: &[String],
    raw: &[String],
) -> Result<(), Error> {
    let asked = asked();
    if let Some(other) = asked.format.filter(|other| *other != Format::Json)
        && to_stdout(json)
    {
        let other = other.name();
        return Err(Error::new(format!(
            "--json -: standard output takes one; leave out `--format {other}`"
        )));
    }
    match format(json) {
        Format::Json if !asked.columns.is_empty() => {
            Err(Error::new("--columns: JSON has every field; CSV can leave some out"))
        }
        Format::Json => Ok(()),
        Format::Csv => check(raw, &asked.columns),
        _ => check(shown, &asked.columns),
    }
}

/// Refuses table options for a command without tables.
pub(crate) fn no_tables(command: &str) -> Result<(), Error> {
    let asked = asked();
    let given = match asked.format {
        Some(format) => format!("--format {}", format.name()),
        None if !asked.columns.is_empty() => "--columns".to_owned(),
        None => return Ok(()),
    };
    Err(Error::new(format!("{given}: `{command}` shows no table")))
}

/// Names of all columns of some tables, without duplicates.
pub(crate) fn names(sheets: &[Table]) -> Vec<String> {
    let mut names = Vec::new();
    for name in sheets.iter().flat_map(Table::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The files that [`produce`] writes: that of `--json`, and others with the names of their options.
pub(crate) struct Files<'a> {
    pub(crate) json: Option<&'a PathBuf>,
    pub(crate) others: &'a [(&'static str, Option<&'a Path>)],
}

/// Names of the columns in `--columns` that a command knows.
pub(crate) enum Columns {
    /// Columns of its tables and of its data, known before it runs.
    Known((Vec<String>, Vec<String>)),
    /// Columns of its result; the run takes no time.
    OfResult,
}

/// Runs a command: checks its outputs, runs it, writes its files and shows the result. `file`
/// renders the file of an option.
///
/// # Errors
/// A one-line message; nothing is run or written if an output cannot be written.
pub(crate) fn produce<T: Output>(
    files: &Files<'_>,
    columns: Columns,
    run: impl FnOnce() -> Result<T, Error>,
    file: impl Fn(&T, &str) -> Result<String, Error>,
) -> Result<T, Error> {
    produce_beside(&[], files, columns, run, file)
}

/// Like [`produce`], for a command that writes the files `own` while it runs.
pub(crate) fn produce_beside<T: Output>(
    own: &[(&'static str, Option<&Path>)],
    files: &Files<'_>,
    columns: Columns,
    run: impl FnOnce() -> Result<T, Error>,
    file: impl Fn(&T, &str) -> Result<String, Error>,
) -> Result<T, Error> {
    let Files { json, others } = *files;
    check_outputs(json, &[others, own].concat())?;
    let is_known = match columns {
        Columns::Known((shown, raw)) => check_before(json, &shown, &raw).map(|()| true)?,
        Columns::OfResult => false,
    };
    let result = run()?;
    if !is_known {
        check_columns(json, &result)?;
    }
    for (option, path) in others {
        if let Some(path) = path.filter(|_| result.has_files()) {
            write_bytes(path, file(&result, option)?)?;
        }
    }
    give(json, &result)?;
    Ok(result)
}

/// Checks that the columns in `--columns` exist in a result.
fn check_columns(json: Option<&PathBuf>, output: &dyn Output) -> Result<(), Error> {
    let (shown, raw) = output.columns();
    check_before(json, &shown, &raw)
}

/// Shows a result that was available at once.
pub(crate) fn show(output: &dyn Output) -> Result<(), Error> {
    show_with(None, output)
}

/// Like [`show`], for a command with `--json`.
pub(crate) fn show_with(json: Option<&PathBuf>, output: &dyn Output) -> Result<(), Error> {
    check_columns(json, output)?;
    give(json, output)
}

/// Writes JSON to the file that `--json` names, and shows the result on standard output.
pub(crate) fn give(json: Option<&PathBuf>, output: &dyn Output) -> Result<(), Error> {
    if let Some(file) = json.filter(|_| !to_stdout(json)) {
        let mut wrong = None;
        let written = write_whole(file, |out| {
            let mut piece = |text: &str| {
                let done = out.write_all(text.as_bytes());
                done.map_err(|error| Error::new(format!("{}: {error}", file.display())))
            };
            wrong = output.write_json(&mut piece).err();
            if wrong.is_some() { Err(std::io::Error::other("no JSON")) } else { Ok(()) }
        });
        wrong.map_or(written, Err)?;
    }
    match format(json) {
        Format::Json => output.write_json(&mut say),
        other => say(&written(other, output)?),
    }
}

/// Whether JSON is requested.
pub(crate) fn wants_json(json: Option<&PathBuf>) -> bool {
    json.is_some() || format(json) == Format::Json
}

fn written(format: Format, output: &dyn Output) -> Result<String, Error> {
    let columns = asked().columns;
    if let Some(one) = format.renderer() {
        let sheets = output.sheets();
        let shown = sheets.iter().map(|sheet| (sheet, chosen(&sheet.names(), &columns)));
        // Of several tables, those without any requested column are left out.
        let texts = shown
            .filter(|(sheet, _)| has_some(sheet, &columns) || sheets.len() == 1)
            .map(|(sheet, keep)| one(sheet, &keep));
        return Ok(texts.collect::<Vec<_>>().join("\n"));
    }
    match format {
        Format::Json => output.json(),
        Format::Csv => {
            let rows = output.rows();
            Ok(rows.to_csv(&chosen(&rows.names(), &columns)))
        }
        _ => Ok(output.text()),
    }
}

/// Tables one below the other, fitted to the terminal, each with its title.
pub(crate) fn fitted(sheets: &[Table]) -> String {
    let columns = asked().columns;
    let some = |sheet: &&Table| has_some(sheet, &columns);
    sheets.iter().filter(some).map(|sheet| fit::fitted(sheet) + "\n").collect()
}
