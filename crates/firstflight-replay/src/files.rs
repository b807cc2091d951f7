//! Files in, a replay out.

use crate::replay::{LEAST_ACKS, Replay, Settings};
use firstflight_log::{Extent, Fault, FileRow, Place, input, read};
use firstflight_path::Error;
use firstflight_path::input::open;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

/// What belongs to one group of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "advice", derive(clap::ValueEnum))]
pub enum GroupBy {
    /// What the trace says, else all together
    #[default]
    Trace,
    /// The folder a file lies in
    Folder,
    /// Each file
    File,
}

/// Hears how many more bytes of a file were read; an error ends reading with it.
pub type OnBytes = Box<dyn Fn(u64) -> std::io::Result<()>>;

/// Told the name of a file and how many bytes it has, makes who hears how far reading is; dropped
/// when the file is through.
pub type Watch<'a> = &'a dyn Fn(&str, u64) -> OnBytes;

/// Reads all files. Those of which nothing could be told are named as they fail.
///
/// # Errors
/// The first fault if nothing could be told from any file.
pub fn follow(
    files: &[impl AsRef<Path>],
    settings: Settings,
    group_by: GroupBy,
    watch: Watch<'_>,
) -> Result<(Replay, Vec<FileRow>), Error> {
    gather(files, settings, |file, name, replay| {
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

/// Reads one file that is in memory already and was called `name`.
///
/// # Errors
/// Those of [`follow`].
pub fn follow_bytes(
    name: &str,
    bytes: Vec<u8>,
    settings: Settings,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let mut bytes = Cursor::new(bytes);
    gather(&[name], settings, |_, name, replay| {
        let opened = input::decompress(std::mem::take(&mut bytes));
        read::from(name, opened.map_err(|error| unreadable(name, &error))?, replay)
    })
}

/// What `read` makes of the files, in their order.
fn gather(
    files: &[impl AsRef<Path>],
    settings: Settings,
    mut read: impl FnMut(&Path, &str, &mut Replay) -> Result<Extent, Fault>,
) -> Result<(Replay, Vec<FileRow>), Error> {
    let mut replay = Replay::new(settings);
    let mut rows = Vec::new();
    let mut first = None;
    let names: Vec<String> = files.iter().map(|file| file.as_ref().display().to_string()).collect();
    for (file, name) in files.iter().zip(&names) {
        let remarks = replay.remarks.len();
        let (extent, fault) = match read(file.as_ref(), name, &mut replay) {
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
        });
    }
    match first {
        Some(fault) if rows.iter().all(|row| row.connections == 0) => {
            Err(Error::new(fault.to_string()))
        }
        _ if replay.done.is_empty() => Err(Error::new(format!(
            "{}: {} connections, none of them with the {LEAST_ACKS} ACKs that a replay needs",
            names.join(", "),
            replay.short
        ))),
        _ => Ok((replay, rows)),
    }
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
    if file.as_os_str() == "-" || file.is_dir() {
        return read::read(file, replay);
    }
    let mut opened = open(file).map_err(fault)?;
    let size = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    // A pipe cannot be looked at twice, and may take its time once somebody writes to it.
    let Some(size) = size else {
        let bytes = input::decompress(BufReader::with_capacity(1 << 16, opened)).map_err(fault)?;
        return read::from(name, bytes, replay);
    };
    let mut magic = [0; 4];
    if opened.read(&mut magic).map_err(fault)? == 4 && magic == *b"PAR1" {
        return parquet(name, opened, replay);
    }
    opened.rewind().map_err(fault)?;
    let watched = Watched { from: opened, on_bytes: watch(name, size) };
    input::decompress(BufReader::with_capacity(1 << 16, watched))
        .map_err(fault)
        .and_then(|bytes| read::from(name, bytes, replay))
}

/// A Parquet trace of ours: the same table in other clothes. It is read whole, as the lab reads it.
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

/// A Parquet trace, which this build cannot read.
#[cfg(not(feature = "parquet"))]
fn parquet(file: &str, _: File, _: &mut Replay) -> Result<Extent, Fault> {
    let what = "a Parquet file; this build reads none (`--features parquet`), but the same trace as .csv or .sqlog";
    Err(Fault::new(file, Place::File, what))
}

/// Tells how far reading is.
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
