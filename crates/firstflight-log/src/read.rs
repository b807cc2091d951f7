//! Chooses the reader of a file by its first bytes, never by its name.

use crate::fault::{Fault, Place};
use crate::step::{Extent, Sink};
use crate::{input, iperf, kernel_text, pcap, qlog, table};
use std::io::{Cursor, Read};
use std::path::Path;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// qlog, or quicly's own log.
    Qlog,
    /// pcap or pcapng.
    Capture,
    /// CSV.
    Table,
    /// Linux's own text output: `tcp_probe`, `ss`.
    Kernel,
    /// iperf3's JSON.
    Iperf,
}

impl Format {
    /// Detects the format from the first bytes, after decompression.
    pub fn of(head: &[u8]) -> Option<Format> {
        const PCAP: [[u8; 4]; 6] = [
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0xd4, 0xc3, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x4d, 0x3c, 0xb2, 0xa1],
            // As modified by Kuznetzov, with a longer header before each packet.
            [0x34, 0xcd, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        if PCAP.iter().any(|magic| head.starts_with(magic)) {
            return Some(Format::Capture);
        }
        if unread(head).is_some() {
            return None;
        }
        let head = head.strip_prefix(BOM).unwrap_or(head);
        if kernel_text::of(head).is_some() {
            return Some(Format::Kernel);
        }
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
        match first {
            b'{' if iperf::is_iperf(head) => Some(Format::Iperf),
            b'{' | 0x1e => Some(Format::Qlog),
            _ => is_table(head).then_some(Format::Table),
        }
    }
}

/// Byte order mark that some programs put before UTF-8 text.
const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// Whether the first line that is not a comment is text with cells.
fn is_table(head: &[u8]) -> bool {
    let head = &head[table::banner(head)..];
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut shown = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let Some(first) = shown.next() else { return false };
    let is_text = |byte: &u8| !byte.is_ascii_control() || *byte == b'\t';
    first.iter().all(is_text) && first.contains(&table::delimiter(first))
}

/// Describes a file of a known but unsupported format, and what to do with it.
fn unread(head: &[u8]) -> Option<String> {
    const UNPACK: &str = "unpack it first; only gzip and zstd are unpacked on the fly";
    const CONVERT: &str = "`tshark -r OLD -w NEW -F pcap` converts it";
    const NAMES: &[(&[u8], &str, &str)] = &[
        (b"PK\x03\x04", "a zip archive", UNPACK),
        (b"PK\x05\x06", "an empty zip archive", UNPACK),
        (b"BZh", "a file compressed with bzip2", UNPACK),
        (b"\xfd7zXZ\0", "a file compressed with xz", UNPACK),
        (b"\x5d\0\0", "a file compressed with lzma", UNPACK),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
        (b"Rar!", "a RAR archive", UNPACK),
        (b"\x04\x22\x4d\x18", "a file compressed with lz4", UNPACK),
        (b"\x1f\x9d", "a file compressed with compress", UNPACK),
        (b"\xff\x06\0\0sNaPpY", "a file compressed with snappy", UNPACK),
        (b"snoop\0\0\0", "a snoop capture", CONVERT),
        (b"btsnoop\0", "a Bluetooth capture", "it contains no TCP"),
        (b"TRSNIFF data", "a capture of Sniffer", CONVERT),
        (b"GMBU", "a capture of Network Monitor", CONVERT),
        (b"RTSS", "a capture of Network Monitor", CONVERT),
        (b"\x7fver", "a capture of EtherPeek", CONVERT),
        (b"\xa1\xb2\xcd\x34", "pcap as modified by Kuznetzov", CONVERT),
        (b"\xa1\xb2\x34\xcd", "pcap as modified by Navtel", CONVERT),
        (b"\xcd\x34\xb2\xa1", "pcap as modified by Navtel", CONVERT),
        (b"\xa1\xb2\xc3\xcd", "pcap as modified by Ixia", CONVERT),
        (b"\xcd\xc3\xb2\xa1", "pcap as modified by Ixia", CONVERT),
        (b"PAR1", "a Parquet file", "pass its name instead of a pipe"),
        (b"SQLite format 3\0", "a SQLite database", "write its table as CSV"),
        (b"\x89HDF", "an HDF5 file", "write its table as CSV"),
        (b"\x7fELF", "a program", "not a trace"),
        (b"%PDF", "a PDF", "not a trace"),
        (b"\x89PNG", "a picture", "not a trace"),
        (b"\xff\xd8\xff", "a picture", "not a trace"),
        (b"<!DOCTYPE", "a web page", "not a trace"),
        (b"<!doctype", "a web page", "not a trace"),
        (b"<html", "a web page", "not a trace"),
        (b"<?xml", "XML", "not a trace"),
        (
            b"tracing",
            "a trace-cmd recording",
            "`trace-cmd report FILE` writes the text that is read",
        ),
        (
            b"\x17\x08\x44tracing",
            "a trace-cmd recording",
            "`trace-cmd report FILE` writes the text that is read",
        ),
    ];
    let named = NAMES.iter().find(|(magic, _, _)| head.starts_with(magic));
    let (what, advice) = if let Some((_, what, advice)) = named {
        (*what, *advice)
    } else if head.get(257..262) == Some(b"ustar") {
        ("a tar archive", "unpack it and give the folder")
    } else if is_utf16(head) {
        ("text in UTF-16", "write it as UTF-8")
    } else if is_erf(head) {
        ("an ERF capture", CONVERT)
    } else {
        return None;
    };
    Some(format!("{what}; {advice}"))
}

fn is_utf16(head: &[u8]) -> bool {
    match head {
        [0xff, 0xfe, first, 0, ..] | [0xfe, 0xff, 0, first, ..] => {
            first.is_ascii_graphic() || first.is_ascii_whitespace()
        }
        _ => false,
    }
}

/// ERF has no magic number, so two consecutive records must agree. A record has a timestamp of 8
/// bytes, type, flags, its length, a loss counter and the length on the wire.
fn is_erf(head: &[u8]) -> bool {
    let record = |at: usize| {
        let record = head.get(at..at + 16)?;
        let length = usize::from(u16::from_be_bytes([record[10], record[11]]));
        let kind = record[8] & 0x7f;
        // Seconds since 1970 in the upper half; from 1995 or later.
        let seconds = u32::from_le_bytes([record[4], record[5], record[6], record[7]]);
        ((1..=48).contains(&kind) && length >= 18 && seconds > 788_918_400)
            .then_some((length, seconds))
    };
    let Some((length, first)) = record(0) else { return false };
    record(length).is_some_and(|(_, second)| second.abs_diff(first) < 86_400)
}

/// Reads a file of any known format; `-` is standard input.
///
/// # Errors
/// A message with file and position, if nothing could be read. Faults of a file that could be read
/// in part are reported to the sink.
pub fn read(file: impl AsRef<Path>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let file = file.as_ref();
    from(&file.display().to_string(), input::open(file)?, sink)
}

/// Whether a file in a folder is a trace, judging by its first bytes as all readers do.
///
/// # Errors
/// If it cannot be read.
pub fn is_trace(file: impl AsRef<Path>) -> Result<bool, Fault> {
    let mut head = Vec::new();
    let mut bytes = input::open(file)?.take(4096);
    let read = bytes.read_to_end(&mut head);
    let is_parquet = head.starts_with(b"PAR1");
    // A truncated or damaged file counts as a trace, as far as it goes.
    Ok(is_parquet || Format::of(&head).is_some() || (read.is_err() && !head.is_empty()))
}

/// Reads decompressed bytes of any known format; `file` is their name in messages.
///
/// # Errors
/// The errors of [`read`].
pub fn from(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let (head, whole) = begun(file, bytes)?;
    match Format::of(&head) {
        Some(Format::Qlog) => qlog::read(file, whole, sink),
        Some(Format::Capture) => pcap::read(file, whole, sink),
        Some(Format::Table) => table::read(file, whole, sink),
        Some(Format::Iperf) => iperf::read(file, whole, sink),
        Some(Format::Kernel) => {
            let kind = kernel_text::of(&head).unwrap_or(kernel_text::Kind::Probe);
            kernel_text::read(file, whole, kind, sink)
        }
        None => Err(match unread(&head) {
            Some(what) => Fault::new(file, Place::File, what),
            None => Fault::new(
                file,
                Place::Byte(0),
                "unknown format; allowed: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, or text of tcp_probe or ss; each may be compressed with gzip or zstd",
            ),
        }),
    }
}

/// Like [`from`], but from captures it reads the QUIC connections that the key log opens, instead
/// of TCP.
///
/// # Errors
/// The errors of [`read`].
#[cfg(feature = "keylog")]
pub fn with_keys(
    file: &str,
    bytes: Box<dyn Read>,
    keylog: &crate::quic::KeyLog,
    sink: &mut impl Sink,
) -> Result<Extent, Fault> {
    let (head, whole) = begun(file, bytes)?;
    if Format::of(&head) != Some(Format::Capture) {
        return from(file, whole, sink);
    }
    let is_ng = head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    crate::quic::read(file, whole, is_ng, keylog, sink)
}

/// Returns the first bytes, and a reader of all bytes without the byte order mark.
fn begun(file: &str, mut bytes: Box<dyn Read>) -> Result<(Vec<u8>, Box<dyn Read>), Fault> {
    let mut head = Vec::new();
    if let Err(error) = bytes.by_ref().take(4096).read_to_end(&mut head)
        && head.is_empty()
    {
        return Err(Fault::new(file, Place::File, format!("cannot be read: {error}")));
    }
    if head.is_empty() {
        return Err(Fault::new(file, Place::File, "is empty"));
    }
    let mut whole = Cursor::new(head.clone());
    if head.starts_with(BOM) {
        whole.set_position(BOM.len() as u64);
    }
    Ok((head, Box::new(whole.chain(bytes))))
}
