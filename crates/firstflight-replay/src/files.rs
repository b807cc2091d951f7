//! Reads files and returns their replay.

use crate::events::Events;
use crate::replay::{LEAST_ACKS, Replay, Settings};
use firstflight_log::{Extent, Fault, FileRow, Place, input, read};
use firstflight_path::Error;
use firstflight_path::input::open;
use firstflight_table::guard::guarded;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Criterion that groups connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "advice", derive(clap::ValueEnum))]
pub enum GroupBy {
    /// By the group that the trace names; all together if it names none
    #[default]
    Trace,
    /// By folder
    Folder,
    /// Each file
    File,
}

/// Receives the number of further bytes read from a file. Returning an error stops the reading with
/// that error.
pub type OnBytes = Box<dyn Fn(u64) -> std::io::Result<()>>;

/// Receives the name and size of a file, and returns the receiver of its progress, which is dropped
/// when the file is done.
pub type Watch<'a> = &'a dyn Fn(&str, u64) -> OnBytes;

/// Reads all files. A file from which nothing could be read is listed with its fault.
///
/// # Errors
/// The first fault, if nothing could be read from any file.
pub fn follow(
    files: &[impl AsRef<Path>],
    settings: Settings,
    group_by: GroupBy,
    watch: Watch<'_>,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let files = expanded(files)?;
    gather(&files, settings, |file, name, replay| {
        replay.group = match group_by {
            GroupBy::Trace => None,
            GroupBy::File => Some(name.to_owned()),
            GroupBy::Folder => {
                let folder = file.parent().and_then(|folder| folder.file_name());
                folder.map(|folder| folder.to_string_lossy().into_owned())
            }
        };
        read_one(file, name, replay, watch)
    })
}

/// Maximum number of traces taken from folders.
const MOST_FILES: usize = 100_000;
/// Maximum nesting of folders.
const DEEPEST: usize = 32;

/// Lists the files; folders are replaced by their traces.
fn expanded(files: &[impl AsRef<Path>]) -> Result<Vec<PathBuf>, Error> {
    let mut all = Vec::new();
    for file in files.iter().map(AsRef::as_ref) {
        if file.as_os_str() == "-" || !file.is_dir() {
            all.push(file.to_owned());
            continue;
        }
        let name = file.display();
        let before = all.len();
        let mut others = 0;
        search(file, DEEPEST, &mut all, &mut others)
            .map_err(|error| Error::new(unreadable(&name.to_string(), &error).to_string()))?;
        if all.len() == before {
            return Err(Error::new(format!(
                "{name}: a folder with {others} files, none of which is a trace"
            )));
        }
    }
    Ok(all)
}

/// Adds the traces below a folder in order of their names; returns the number of files that are not
/// traces.
fn search(
    folder: &Path,
    depth: usize,
    traces: &mut Vec<PathBuf>,
    others: &mut usize,
) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to folders may lead back.
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                search(&path, depth - 1, traces, others)?;
            }
        } else if path.is_file() {
            if traces.len() < MOST_FILES && read::is_trace(&path).unwrap_or(false) {
                traces.push(path);
            } else {
                *others += 1;
            }
        }
    }
    Ok(())
}

/// Reads a file that is already in memory and is named `name`.
///
/// # Errors
/// The errors of [`follow`].
pub fn follow_bytes(
    name: &str,
    bytes: Vec<u8>,
    settings: Settings,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let mut bytes = Cursor::new(bytes);
    gather(&[name], settings, |_, name, replay| {
        let opened = input::decompress(std::mem::take(&mut bytes));
        from(name, opened.map_err(|error| unreadable(name, &error))?, replay)
    })
}

/// Calls `read` for each file in order and collects the results.
fn gather(
    files: &[impl AsRef<Path>],
    settings: Settings,
    mut read: impl FnMut(&Path, &str, &mut Replay) -> Result<Extent, Fault>,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let mut replay = Replay::new(settings);
    let unwritten = |file: &Path, error: &std::io::Error| {
        Error::new(format!("{}: cannot be written: {error}", file.display()))
    };
    if let Some(file) = replay.events_file() {
        let events = Events::create(file).map_err(|error| unwritten(file, &error))?;
        replay.events = Some(events);
    }
    let mut rows = Vec::new();
    let mut first = None;
    let names: Vec<String> = files.iter().map(|file| file.as_ref().display().to_string()).collect();
    for (file, name) in files.iter().zip(&names) {
        let before = replay.done.len();
        let (remarks, notes) = (replay.remarks.len(), replay.notes.len());
        let done = guarded(|| read(file.as_ref(), name, &mut replay)).unwrap_or_else(|broken| {
            replay.give_up_open();
            let fault = Fault::new(name, Place::File, broken.to_string());
            // Connections read before the error stay.
            let connections = (replay.done.len() - before) as u64;
            if connections == 0 {
                return Err(fault);
            }
            replay.remarks.push(fault);
            Ok(Extent { connections, ..Extent::default() })
        });
        if let Some(what) = replay.take_broken() {
            replay.remarks.push(Fault::new(name, Place::File, what));
        }
        let again = std::mem::take(&mut replay.again);
        if again > 0 {
            let which = if again == 1 { "a connection is" } else { "connections are" };
            let count = if again == 1 { String::new() } else { format!("{again} ") };
            let what = format!("{count}{which} in an earlier file, too, and left out here");
            replay.notes.push(Fault::new(name, Place::File, what));
        }
        let (extent, fault) = match done {
            Ok(extent) => (extent, replay.remarks.get(remarks).map(ToString::to_string)),
            Err(fault) => {
                let said = fault.to_string();
                first.get_or_insert(fault);
                (Extent::default(), Some(said))
            }
        };
        rows.push(FileRow {
            file: name.clone(),
            bytes: extent.bytes,
            records: extent.records,
            connections: extent.connections,
            fault,
            notes: replay.notes[notes..].iter().map(ToString::to_string).collect(),
        });
    }
    if let Some(events) = replay.events.take()
        && let Some(file) = replay.events_file()
    {
        events.finish().map_err(|error| unwritten(file, &error))?;
    }
    match first {
        Some(fault) if rows.iter().all(|row| row.connections == 0) => {
            Err(Error::new(fault.to_string()))
        }
        _ if replay.done.is_empty() && replay.incomplete > 0 => {
            // The fault is a better message than the number of ACKs.
            let fault = rows.iter().find_map(|row| row.fault.clone());
            Err(Error::new(fault.unwrap_or_else(|| nothing(&names, &replay))))
        }
        _ if replay.done.is_empty() => Err(Error::new(nothing(&names, &replay))),
        _ => Ok((replay, rows)),
    }
}

/// Explains why there is nothing to replay.
fn nothing(files: &[String], replay: &Replay) -> String {
    format!(
        "{}: {} connections, none of which has the {LEAST_ACKS} ACKs that a replay needs",
        files.join(", "),
        replay.short
    )
}

fn unreadable(file: &str, error: &std::io::Error) -> Fault {
    Fault::new(file, Place::File, format!("cannot be read: {error}"))
}

/// Reads a file.
fn read_one(
    file: &Path,
    name: &str,
    replay: &mut Replay,
    watch: Watch<'_>,
) -> Result<Extent, Fault> {
    let fault = |error: std::io::Error| unreadable(name, &error);
    if file.as_os_str() == "-" {
        return from(name, input::open(file)?, replay);
    }
    let mut opened = open(file).map_err(fault)?;
    let size = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    // A pipe cannot be rewound, and may block until data is written to it.
    let Some(size) = size else {
        let bytes = input::decompress(BufReader::with_capacity(1 << 16, opened)).map_err(fault)?;
        return from(name, bytes, replay);
    };
    let mut magic = [0; 4];
    if opened.read(&mut magic).map_err(fault)? == 4 && magic == *b"PAR1" {
        return parquet(name, opened, replay);
    }
    opened.rewind().map_err(fault)?;
    let watched = Watched { from: opened, on_bytes: watch(name, size) };
    input::decompress(BufReader::with_capacity(1 << 16, watched))
        .map_err(fault)
        .and_then(|bytes| from(name, bytes, replay))
}

/// Reads decompressed bytes, with the key log if there is one.
fn from(file: &str, bytes: input::Bytes, replay: &mut Replay) -> Result<Extent, Fault> {
    #[cfg(feature = "keylog")]
    if let Some(keylog) = replay.keylog() {
        return read::with_keys(file, bytes, &keylog, replay);
    }
    read::from(file, bytes, replay)
}

/// Reads one of our Parquet traces as the same table in CSV. The file is read as a whole, as in the
/// lab.
#[cfg(feature = "parquet")]
fn parquet(file: &str, opened: File, replay: &mut Replay) -> Result<Extent, Fault> {
    use firstflight_log::trace;
    let fault = |what: String| Fault::new(file, Place::File, what);
    let traces = trace::parquet::read(opened).map_err(|why| fault(why.to_string()))?;
    let mut table = Vec::new();
    trace::csv::write(&traces.iter().collect::<Vec<_>>(), &mut table)
        .map_err(|error| fault(error.to_string()))?;
    read::from(file, Box::new(Cursor::new(table)), replay)
}

/// Refuses a Parquet trace, which this build cannot read.
#[cfg(not(feature = "parquet"))]
fn parquet(file: &str, _: File, _: &mut Replay) -> Result<Extent, Fault> {
    let what = "a Parquet file, which this build cannot read (`--features parquet` can); convert the trace to .csv or .sqlog";
    Err(Fault::new(file, Place::File, what))
}

/// Reports the progress of reading.
struct Watched {
    from: File,
    on_bytes: OnBytes,
}

impl Read for Watched {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(to)?;
        (self.on_bytes)(read as u64)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that end in a panic, like a library that reads a damaged file.
    struct Broken(Cursor<Vec<u8>>);

    impl Read for Broken {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(to)?;
            assert!(read > 0, "injected");
            Ok(read)
        }
    }

    fn table() -> Vec<u8> {
        table_from(0)
    }

    fn table_from(begin_ms: u64) -> Vec<u8> {
        let row = |at: u64| format!("{},10000,20000,30\n", begin_ms + 30 * at);
        let rows: String = (1..20_000).map(row).collect();
        format!("time_ms,acked_bytes,inflight_bytes,rtt_ms\n{rows}").into_bytes()
    }

    fn gathered(broken: &str) -> Result<(Replay, Vec<FileRow>), Error> {
        let files = ["a", "b", "c"].map(str::to_owned);
        gather(&files, Settings::default(), |_, file, replay| {
            let bytes = Cursor::new(table());
            let bytes: Box<dyn Read> =
                if broken.contains(file) { Box::new(Broken(bytes)) } else { Box::new(bytes) };
            read::from(file, bytes, replay)
        })
    }

    #[test]
    fn a_connection_in_two_files_counts_once() {
        let read = |file: &Path, name: &str, replay: &mut Replay| {
            // The third connection begins a millisecond later.
            let begin = if file == Path::new("c") { 1_700_000_000_001 } else { 1_700_000_000_000 };
            read::from(name, Box::new(Cursor::new(table_from(begin))), replay)
        };
        let (replay, rows) = gather(&["a", "b", "c"], Settings::default(), read).expect("tables");
        assert_eq!(replay.done.len(), 2, "a and b hold the same connection");
        let notes: Vec<usize> = rows.iter().map(|row| row.notes.len()).collect();
        assert_eq!(notes, [0, 1, 0], "{:?}", replay.notes);
        assert!(replay.notes[0].to_string().contains("in an earlier file"), "{:?}", replay.notes);
    }

    #[test]
    fn an_internal_error_costs_the_file() {
        let (whole, _) = gathered("").expect("tables");
        assert_eq!(whole.done.len(), 3);
        let (replay, rows) = gathered("b").expect("the others");
        assert_eq!((replay.done.len(), replay.incomplete), (2, 1));
        let faults: Vec<_> = rows.iter().map(|row| row.fault.clone()).collect();
        let [None, Some(fault), None] = &faults[..] else { panic!("{faults:?}") };
        assert!(
            fault.starts_with("b: internal error at ") && fault.ends_with("/issues"),
            "{fault}"
        );
        let Err(error) = gathered("abc") else { panic!("nothing could be read") };
        assert!(error.as_str().starts_with("a: internal error at "), "{error}");
    }
}
