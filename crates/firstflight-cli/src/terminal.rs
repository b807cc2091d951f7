//! What people read: styles, rules, width and lines of a terminal.

use comfy_table::{LineStyle, Table as Grid, TableStyle};
use firstflight_lab::Error;
use firstflight_table::text::{STYLE, shown};
use std::fmt;
use std::io::{ErrorKind, Write};

/// A style in a text: `{TITLE}` begins it, `{TITLE:#}` ends it. It becomes an escape sequence on its
/// way to a terminal; nobody else's text can have one.
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
/// Something to be careful about.
pub(crate) const CAUTION: Style = Style("33");
/// Secondary text.
pub(crate) const QUIET: Style = Style("2");

/// A grid, whose escape sequences are ours: cells have none.
pub(crate) fn drawn(grid: &Grid) -> String {
    grid.to_string().replace('\u{1b}', &STYLE.to_string())
}

/// A rule above, under the header and below; rows stand close.
pub(crate) const RULES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Prints to standard output, as everything that goes there does: what would steer a terminal is
/// shown instead. A reader that has seen enough (`| head`) is no failure.
///
/// # Errors
/// One line if the output cannot take the text, such as a full disk.
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

/// The width that text has to fit, in columns: what `COLUMNS` says, else that of the terminal.
/// `None` where standard output is neither: a pipe or a file takes lines of any length, and cutting
/// them would only lose what `grep` looks for.
pub(crate) fn width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = told.or_else(|| Grid::new().width().map(usize::from));
    width.filter(|width| *width >= LEAST_WIDTH)
}

/// Nothing can be laid out in less.
const LEAST_WIDTH: usize = 20;

/// Breaks text at spaces so that its lines fit `width` with `indent` spaces before all but the
/// first, which begins behind as much. A word that is longer stands alone on its line.
///
/// The text is one line: a line break that a name in it has is shown.
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

/// Prints a line to standard error, if anybody listens there. A line break that a name in it has is
/// shown.
pub(crate) fn whisper(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", shown(&line.replace('\n', "\\n")));
}

/// Prints a note below an answer to standard error, as wide as the answer.
pub(crate) fn note(text: &str) {
    let text = wrap(&format!("note: {text}"), 0, width());
    let text = text.strip_prefix("note:").unwrap_or_default();
    let _ = writeln!(anstream::stderr(), "{}", shown(&format!("{CAUTION}note:{CAUTION:#}{text}")));
}
