//! Which reader a file is for: told by its first bytes, never by its name.

use crate::fault::{Fault, Place};
use crate::step::{Extent, Sink};
use crate::{input, pcap, qlog, table};
use std::io::{Cursor, Read};
use std::path::Path;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// qlog, or quicly's own log.
    Qlog,
    /// pcap or pcapng.
    Capture,
    /// CSV.
    Table,
}

impl Format {
    /// By the first bytes, after decompression.
    pub fn of(head: &[u8]) -> Option<Format> {
        const PCAP: [[u8; 4]; 6] = [
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0xd4, 0xc3, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x4d, 0x3c, 0xb2, 0xa1],
            [0x34, 0xcd, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        if PCAP.iter().any(|magic| head.starts_with(magic)) {
            return Some(Format::Capture);
        }
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
        match first {
            b'{' | 0x1e => Some(Format::Qlog),
            byte if byte.is_ascii_graphic()
                && head.iter().take_while(|byte| **byte != b'\n').any(|byte| *byte == b',') =>
            {
                Some(Format::Table)
            }
            _ => None,
        }
    }
}

/// Reads a file of any known format; `-` is standard input.
///
/// # Errors
/// One line with file and position if nothing could be told from it. What is wrong with a file that
/// could be read in part is a remark to the sink.
pub fn read(file: impl AsRef<Path>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let file = file.as_ref();
    from(&file.display().to_string(), input::open(file)?, sink)
}

/// Reads decompressed bytes of any known format; `file` is what they are called.
///
/// # Errors
/// As [`read`].
pub fn from(file: &str, mut bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let mut head = Vec::new();
    if let Err(error) = bytes.by_ref().take(4096).read_to_end(&mut head)
        && head.is_empty()
    {
        return Err(Fault::new(file, Place::File, format!("cannot be read: {error}")));
    }
    if head.is_empty() {
        return Err(Fault::new(file, Place::File, "is empty"));
    }
    let format = Format::of(&head);
    let whole = Box::new(Cursor::new(head).chain(bytes));
    match format {
        Some(Format::Qlog) => qlog::read(file, whole, sink),
        Some(Format::Capture) => pcap::read(file, whole, sink),
        Some(Format::Table) => table::read(file, whole, sink),
        None => Err(Fault::new(
            file,
            Place::Byte(0),
            "neither qlog (JSON, JSON-SEQ), nor pcap or pcapng, nor CSV; each may be gzip or zstd",
        )),
    }
}
