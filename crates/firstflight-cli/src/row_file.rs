//! A file of rows that grows by whole rows: lines of JSON, or where its name ends in `.parquet` a
//! folder of Parquet files.

use crate::done::failed;
use firstflight_lab::Error;
use firstflight_trial::row::{Holds, named};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(feature = "parquet")]
use std::time::{Duration, Instant};

/// A Parquet file has the rows of so long.
#[cfg(feature = "parquet")]
const PART: Duration = Duration::from_secs(60);
/// And at most so many of them.
#[cfg(feature = "parquet")]
const MOST_ROWS: usize = 1 << 17;

pub(crate) struct RowFile {
    file: PathBuf,
    out: Out,
}

enum Out {
    Lines(File),
    #[cfg(feature = "parquet")]
    Parquet(firstflight_lab::field::RowStore, Instant),
}

/// Columns of a field test's rows with what they hold.
pub(crate) fn held(columns: &[&'static str]) -> Vec<(String, Holds)> {
    let holds = |name: &str| named(name).map_or(Holds::Text, |column| column.holds);
    columns.iter().map(|name| ((*name).to_owned(), holds(name))).collect()
}

impl RowFile {
    /// Appends to this file, which will have these columns.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn open(file: &Path, columns: Vec<(String, Holds)>) -> Result<RowFile, Error> {
        let out = if file.extension().is_some_and(|ending| ending == "parquet") {
            parquet(file, columns)?
        } else {
            let out = File::options().create(true).append(true).open(file);
            Out::Lines(out.map_err(|error| failed(file, &error))?)
        };
        Ok(RowFile { file: file.to_owned(), out })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// One row.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn add(&mut self, cells: Map<String, Value>) -> Result<(), Error> {
        match &mut self.out {
            Out::Lines(out) => {
                // One write: a row is in the file whole or not at all.
                let line = Value::Object(cells).to_string() + "\n";
                out.write_all(line.as_bytes()).map_err(|error| failed(&self.file, &error))
            }
            #[cfg(feature = "parquet")]
            Out::Parquet(store, _) => {
                store.add(cells);
                if store.waiting() >= MOST_ROWS { store.flush() } else { Ok(()) }
            }
        }
    }

    /// To be called now and then: what has waited long enough is written.
    ///
    /// # Errors
    /// One line.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "lines never wait")
    )]
    pub(crate) fn tick(&mut self) -> Result<(), Error> {
        #[cfg(feature = "parquet")]
        if let Out::Parquet(store, last) = &mut self.out
            && last.elapsed() >= PART
        {
            *last = Instant::now();
            return store.flush();
        }
        Ok(())
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// One line.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "lines never wait")
    )]
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        #[cfg(feature = "parquet")]
        if let Out::Parquet(store, _) = &mut self.out {
            return store.flush();
        }
        Ok(())
    }
}

#[cfg(feature = "parquet")]
fn parquet(file: &Path, columns: Vec<(String, Holds)>) -> Result<Out, Error> {
    if file.is_file() {
        let told = "is a file; rows of Parquet go into a folder of that name";
        return Err(Error::new(format!("{}: {told}", file.display())));
    }
    let store = firstflight_lab::field::RowStore::open(file, columns)?;
    Ok(Out::Parquet(store, Instant::now()))
}

#[cfg(not(feature = "parquet"))]
fn parquet(file: &Path, _columns: Vec<(String, Holds)>) -> Result<Out, Error> {
    let told = "this build does not write Parquet (feature `parquet`); name it .jsonl";
    Err(Error::new(format!("{}: {told}", file.display())))
}
