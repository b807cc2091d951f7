//! The log as a table of text.

use super::fields::{COLUMNS, Cell, Row, SIGNAL};
use super::{Entry, Log};
use crate::Error;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

/// Version of the table's columns and their meanings.
pub const SCHEMA: &str = "2";

/// Names of the signals of all traces, without duplicates.
pub(crate) fn signals<'a>(traces: impl IntoIterator<Item = &'a Log>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for trace in traces {
        for name in &trace.names {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Position of each column.
pub(crate) fn places() -> HashMap<&'static str, usize> {
    COLUMNS.iter().enumerate().map(|(place, column)| (column.name, place)).collect()
}

fn write_cell(out: &mut dyn Write, cell: &Cell<'_>) -> io::Result<()> {
    match cell {
        Cell::Name(text) if text.contains([',', '"', '\n', '\r']) => {
            write!(out, "\"{}\"", text.replace('"', "\"\""))
        }
        Cell::Name(text) => write!(out, "{text}"),
        Cell::Whole(number) => write!(out, "{number}"),
        Cell::Real(number) => write!(out, "{number}"),
        Cell::Flag(flag) => write!(out, "{flag}"),
    }
}

/// Writes traces one after the other, the first as connection 0.
///
/// # Errors
/// The errors of the writer.
pub fn write(traces: &[&Log], out: &mut dyn Write) -> io::Result<()> {
    let names = signals(traces.iter().copied());
    let head: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    write!(out, "{}", head.join(","))?;
    for name in &names {
        write!(out, ",{SIGNAL}{name}")?;
    }
    writeln!(out)?;
    (0..).zip(traces).try_for_each(|(connection, trace)| append(trace, connection, &names, out))
}

/// Writes one more trace to a table with these signals.
///
/// # Errors
/// The errors of the writer.
pub fn append(
    trace: &Log,
    connection: u32,
    names: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let places = places();
    let start = trace.start().map_or_else(Default::default, |start| start.start);
    let place_of: Vec<Option<usize>> =
        names.iter().map(|name| trace.names.iter().position(|own| own == name)).collect();
    for entry in &trace.entries {
        write_row(entry, connection, start, &places, out)?;
        for place in &place_of {
            match place.and_then(|place| entry.signals.get(place).copied().flatten()) {
                Some(value) => write!(out, ",{value}")?,
                None => write!(out, ",")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_row(
    entry: &Entry,
    connection: u32,
    start: firstflight::Time,
    places: &HashMap<&str, usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut row: Vec<Option<Cell<'static>>> = vec![None; COLUMNS.len()];
    entry.cells(connection, start, &mut |name, cell| {
        if let Some(place) = places.get(name) {
            row[*place] = Some(owned(cell));
        }
    });
    for (place, cell) in row.iter().enumerate() {
        if place > 0 {
            write!(out, ",")?;
        }
        if let Some(cell) = cell {
            write_cell(out, cell)?;
        }
    }
    Ok(())
}

pub(crate) fn owned(cell: Cell<'_>) -> Cell<'static> {
    match cell {
        Cell::Name(text) => Cell::Name(Cow::Owned(text.into_owned())),
        Cell::Whole(number) => Cell::Whole(number),
        Cell::Real(number) => Cell::Real(number),
        Cell::Flag(flag) => Cell::Flag(flag),
    }
}

/// Splits a line into cells (RFC 4180, without line breaks in cells: our names have none).
fn split(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

/// Reads the output of [`write()`]. A table does not include the receiver's end.
///
/// # Errors
/// A message with the number of the line that cannot be read.
pub fn read(text: &mut dyn BufRead) -> Result<Vec<Log>, Error> {
    let mut lines = text.lines().zip(1_u64..);
    let head = lines.next().ok_or_else(|| Error::new("line 1: a header is missing"))?;
    let head = split(&head.0.map_err(|error| Error::new(format!("line 1: {error}")))?);
    let place: HashMap<&str, usize> =
        head.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let names: Vec<String> =
        head.iter().filter_map(|name| name.strip_prefix(SIGNAL)).map(str::to_owned).collect();
    let mut traces: Vec<Log> = Vec::new();
    for (line, number) in lines {
        let bad = |what: String| Error::new(format!("line {number}: {what}"));
        let cells = split(&line.map_err(|error| bad(error.to_string()))?);
        let get = |name: &str| {
            place
                .get(name)
                .and_then(|place| cells.get(*place))
                .filter(|cell| !cell.is_empty())
                .map(|cell| Cow::Borrowed(cell.as_str()))
        };
        let connection: usize = get("connection")
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| bad("connection is missing".into()))?;
        if connection == traces.len() {
            traces.push(Log { names: names.clone(), ..Log::default() });
        }
        let trace = traces
            .get_mut(connection)
            .ok_or_else(|| bad(format!("connection {connection} has no start")))?;
        let event = get("event").unwrap_or_default();
        trace.entries.extend(Row(&get).entry(&event, trace).map_err(bad)?);
    }
    Ok(traces)
}
