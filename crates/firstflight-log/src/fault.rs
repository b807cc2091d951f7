//! A fault in a file and its position, on one clear line.

use firstflight_path::without_numbers;
use firstflight_table::text::one_line;
use std::fmt;

/// A position in a file, in terms that let a person find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// A byte of the file (after decompression), counted from 0.
    Byte(u64),
    /// A record of JSON text sequences, counted from 1, and the byte at which it starts.
    Record(u64, u64),
    /// A packet of a capture, counted from 1 as packet tools do.
    Packet(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(line) => write!(f, " line {line}:"),
            Place::Byte(byte) => write!(f, " byte {byte}:"),
            Place::Record(record, byte) => write!(f, " record {record} (byte {byte}):"),
            Place::Packet(packet) => write!(f, " packet {packet}:"),
        }
    }
}

/// A fault at a position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as the user named it.
    pub file: String,
    /// Position in the file.
    pub place: Place,
    /// Description of the fault and of the expected content.
    pub what: String,
}

impl Fault {
    /// Creates a fault of `file` at `place`. Unprintable characters in `what` are escaped, so that
    /// a hostile file cannot control a terminal; error numbers of the operating system are removed.
    pub fn new(file: &str, place: Place, what: impl Into<String>) -> Fault {
        let what: String = what.into();
        let what = one_line(&without_numbers(&what)).chars().take(400).collect();
        Fault { file: file.to_owned(), place, what }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", one_line(&self.file), self.place, self.what)
    }
}

impl std::error::Error for Fault {}
