//! What a command answers with, in the format that was asked for: one writer for all commands.

use crate::files::{to_stdout, write_whole};
use crate::fit::{self, asked, check, chosen};
use crate::format::Format;
use crate::markup::{latex, markdown};
use crate::rows::Rows;
use crate::sheet::Sheet;
use crate::terminal::{say, width, wrap};
use firstflight_lab::Error;
use std::path::PathBuf;

/// What a command found out.
pub(crate) trait Output {
    /// For people: tables, with what they are about.
    fn text(&self) -> String;

    /// The tables alone.
    fn sheets(&self) -> Vec<Sheet>;

    /// The data, a row for each case.
    fn rows(&self) -> Rows;

    /// All of it, as `--json` has it.
    ///
    /// # Errors
    /// One line.
    fn json(&self) -> Result<String, Error> {
        self.rows().to_json()
    }

    /// The same piece by piece, for what need not be in memory as a whole.
    ///
    /// # Errors
    /// One line, also those of `out`.
    fn write_json(&self, out: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        out(&self.json()?)
    }
}

/// Lines of prose as they fit the terminal, each below the one before.
pub(crate) fn prose(lines: &[&str]) -> String {
    lines.iter().map(|line| wrap(line, 0, width()) + "\n").collect()
}

/// The format that was asked for; `--json -` asks for one, too.
fn format(json: Option<&PathBuf>) -> Format {
    if to_stdout(json) { Format::Json } else { asked().format.unwrap_or(Format::Table) }
}

/// Standard output is read by people, who may be told more than the tables.
pub(crate) fn is_for_people(json: Option<&PathBuf>) -> bool {
    format(json) == Format::Table
}

/// What `--format`, `--columns` and `--json` ask for exists, in an answer with columns that people
/// call `shown` and data calls `raw`. For commands that take their time, before they take it.
///
/// # Errors
/// One line.
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
        Format::Table | Format::Md | Format::Tex => check(shown, &asked.columns),
    }
}

/// A command that answers with no table refuses what is asked of tables.
///
/// # Errors
/// One line.
pub(crate) fn no_tables(command: &str) -> Result<(), Error> {
    let asked = asked();
    let given = match asked.format {
        Some(format) => format!("--format {}", format.name()),
        None if !asked.columns.is_empty() => "--columns".to_owned(),
        None => return Ok(()),
    };
    Err(Error::new(format!("{given}: `{command}` shows no table")))
}

/// Names of all columns of some tables, each once.
pub(crate) fn names(sheets: &[Sheet]) -> Vec<String> {
    let mut names = Vec::new();
    for name in sheets.iter().flat_map(Sheet::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Shows an answer that was made at once.
///
/// # Errors
/// One line, also for columns that it does not have.
pub(crate) fn show(output: &dyn Output) -> Result<(), Error> {
    show_with(None, output)
}

/// The same for a command with `--json`.
///
/// # Errors
/// As [`show`].
pub(crate) fn show_with(json: Option<&PathBuf>, output: &dyn Output) -> Result<(), Error> {
    check_before(json, &names(&output.sheets()), &output.rows().names)?;
    give(json, output)
}

/// Writes JSON into the file that `--json` names, and shows the answer on standard output.
///
/// # Errors
/// One line.
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

/// JSON will be asked of the answer.
pub(crate) fn wants_json(json: Option<&PathBuf>) -> bool {
    json.is_some() || format(json) == Format::Json
}

fn written(format: Format, output: &dyn Output) -> Result<String, Error> {
    let columns = asked().columns;
    let sheets = |one: fn(&Sheet, &[usize]) -> String| {
        let sheets = output.sheets();
        let shown = sheets.iter().map(|sheet| (sheet, chosen(&sheet.names(), &columns)));
        // Of several tables, those that have none of the columns asked for say nothing.
        let texts = shown
            .filter(|(_, keep)| columns.is_empty() || keep.len() > 1 || sheets.len() == 1)
            .map(|(sheet, keep)| one(sheet, &keep));
        texts.collect::<Vec<_>>().join("\n")
    };
    match format {
        Format::Table => Ok(output.text()),
        Format::Md => Ok(sheets(markdown)),
        Format::Tex => Ok(sheets(latex)),
        Format::Json => output.json(),
        Format::Csv => {
            let rows = output.rows();
            Ok(rows.to_csv(&chosen(&rows.names, &columns)))
        }
    }
}

/// Tables one below the other as they fit the terminal, each with its title.
pub(crate) fn fitted(sheets: &[Sheet]) -> String {
    let columns = asked().columns;
    let some = |sheet: &&Sheet| columns.is_empty() || chosen(&sheet.names(), &columns).len() > 1;
    sheets.iter().filter(some).map(|sheet| fit::fitted(sheet) + "\n").collect()
}
