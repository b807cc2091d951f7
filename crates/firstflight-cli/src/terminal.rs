//! Text for people: styles, rules, width and line breaks of a terminal.

use comfy_table::{LineStyle, Table as Grid, TableStyle};
use firstflight_lab::Error;
use firstflight_path::without_numbers;
use firstflight_table::text::{STYLE, shown};
use std::fmt;
use std::io::{ErrorKind, Write};

/// A style in a text: `{TITLE}` starts it and `{TITLE:#}` ends it. It becomes an escape sequence
/// only on output to a terminal; foreign text cannot contain one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style(&'static str);

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = if f.alternate() { "0" } else { self.0 };
        write!(f, "{STYLE}[{parameter}m")
    }
}

/// Headline.
pub(crate) const TITLE: Style = Style("1");
/// Warnings.
pub(crate) const CAUTION: Style = Style("33");
/// Secondary text.
pub(crate) const QUIET: Style = Style("2");

/// Draws a grid, whose escape sequences are ours; cells contain none.
pub(crate) fn drawn(grid: &Grid) -> String {
    grid.to_string().replace('\u{1b}', &STYLE.to_string())
}

/// A rule above the table, one below the header, and one below the table; no lines between rows.
pub(crate) const RULES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Prints to standard output. As in all output, control characters are made visible. A reader that
/// closes the pipe early (`| head`) is not an error.
///
/// # Errors
/// A one-line message if the output cannot be written, for example because the disk is full.
pub(crate) fn say(text: &str) -> Result<(), Error> {
    let text = shown(text);
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// The available width in columns: `COLUMNS` if it is set, otherwise the width of the terminal.
/// `None` if standard output is a pipe or a file and `COLUMNS` is not set: lines may then have any
/// length, and shortened lines would only hide text from `grep`.
pub(crate) fn width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = told.or_else(|| Grid::new().width().map(usize::from));
    width.filter(|width| *width >= LEAST_WIDTH)
}

/// Minimum width of the layout.
const LEAST_WIDTH: usize = 20;

/// Wraps text at spaces to `width`, with `indent` spaces before all lines but the first, which is
/// assumed to start at the same column. A longer word has a line of its own.
///
/// The text is a single line; a line break within a name is made visible.
pub(crate) fn wrap(text: &str, indent: usize, width: Option<usize>) -> String {
    let text = &text.replace('\n', "\\n");
    let Some(room) = width.map(|width| width.saturating_sub(indent).max(LEAST_WIDTH)) else {
        return text.clone();
    };
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Prints a line to standard error, if it is open. A line break within a name is made visible; error
/// numbers of the operating system are left out.
pub(crate) fn whisper(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", shown(&without_numbers(line).replace('\n', "\\n")));
}

/// Prints a note below a result to standard error, with the same width as the result.
pub(crate) fn note(text: &str) {
    let text = wrap(&format!("note: {}", without_numbers(text)), 0, width());
    let text = text.strip_prefix("note:").unwrap_or_default();
    let _ = writeln!(anstream::stderr(), "{}", shown(&format!("{CAUTION}note:{CAUTION:#}{text}")));
}
