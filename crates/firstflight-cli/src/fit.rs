//! Table options of the command line, and tables fitted to the terminal with them.
//!
//! In a pipe or a file all columns are written ([`crate::terminal::width`]), unless `--columns`
//! names some.

use crate::format::Format;
use crate::terminal::width;
use clap::Args;
use firstflight_lab::Error;
use firstflight_path::suggestion;
use firstflight_table::terminal::{Fit, is_meant, plain_name, table};
use firstflight_table::{Document, Table};
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

/// True if the output is a table on a terminal and no option asks for more: it should fit on one screen.
pub(crate) fn brief() -> bool {
    let Layout { wide, columns, format } = asked();
    let is_table = format.is_none_or(|format| format == Format::Table);
    !wide && columns.is_empty() && is_table && width().is_some()
}

/// Checks that `names` contains every column in `asked`.
///
/// # Errors
/// A one-line message with the nearest name and all names.
pub(crate) fn check(names: &[String], asked: &[String]) -> Result<(), Error> {
    let unknown = |word: &&String| !names.iter().any(|column| is_meant(column, word));
    let Some(word) = asked.iter().find(unknown) else { return Ok(()) };
    // A name of several words may be shortened to its first words.
    let starts: Vec<String> = names
        .iter()
        .flat_map(|name| {
            let words: Vec<String> = plain_name(name).split(' ').map(str::to_owned).collect();
            (1..=words.len()).map(move |count| words[..count].join(" "))
        })
        .collect();
    let near = suggestion(&plain_name(word), starts.iter().map(String::as_str));
    let all = names.join(", ");
    Err(Error::new(format!("--columns {word}: no column of this name{near}; allowed: {all}")))
}

/// Calls `show` with the table options and the width of the terminal.
fn with_fit(show: impl FnOnce(Fit<'_>) -> String) -> String {
    let Layout { wide, columns, .. } = asked();
    show(Fit { wide, columns: &columns, width: width() })
}

/// The table, fitted to the terminal.
pub(crate) fn fitted(sheet: &Table) -> String {
    with_fit(|fit| table(sheet, fit))
}

/// The document, fitted to the terminal.
pub(crate) fn document(document: &Document) -> String {
    with_fit(|fit| firstflight_table::terminal::document(document, fit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_column_is_refused_with_the_nearest_one() {
        let headers = ["arm", "completion time\nms", "loss\n%", "queueing delay p99\nms"];
        let names = Table::of_numbers("", &headers, 1).names();
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
