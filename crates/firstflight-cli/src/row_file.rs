//! A file that grows by whole rows: JSON lines, or a folder of Parquet files if its name ends in
//! `.parquet`. A row that cannot be written does not end the run: it waits or is counted as lost,
//! and a note reports that at once.

use crate::done::{failed, tell_of_cut};
use crate::terminal::{CAUTION, whisper};
use firstflight_lab::Error;
use firstflight_table::rows::{Health, News, RowWriter};
use firstflight_trial::row::{Holds, named};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
#[cfg(feature = "parquet")]
use std::time::{Duration, Instant};

/// Period covered by a Parquet file.
#[cfg(feature = "parquet")]
const PART: Duration = Duration::from_secs(60);
/// Maximum number of rows in a Parquet file.
#[cfg(feature = "parquet")]
const MOST_ROWS: usize = 1 << 17;
/// Interval between two attempts to write a Parquet file.
#[cfg(feature = "parquet")]
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct RowFile {
    file: PathBuf,
    out: Out,
    news: News,
}

enum Out {
    Lines(RowWriter),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parts>),
}

#[cfg(feature = "parquet")]
struct Parts {
    store: firstflight_lab::field::RowStore,
    last: Instant,
    trouble: Option<String>,
}

/// Columns of a field test's rows, with their types.
pub(crate) fn held(columns: &[&'static str]) -> Vec<(String, Holds)> {
    let holds = |name: &str| named(name).map_or(Holds::Text, |column| column.holds);
    columns.iter().map(|name| ((*name).to_owned(), holds(name))).collect()
}

impl RowFile {
    /// Checks that rows can be written to the file. Nothing is created yet.
    pub(crate) fn check(file: &Path) -> Result<(), Error> {
        if !is_parquet(file) {
            return RowWriter::check(file).map_err(|error| failed(file, &error));
        }
        if cfg!(not(feature = "parquet")) {
            let told = "this build does not write Parquet (feature `parquet`); name it .jsonl";
            return Err(Error::new(format!("{}: {told}", file.display())));
        }
        if file.is_file() {
            let told = "is a file; rows of Parquet go into a folder of that name";
            return Err(Error::new(format!("{}: {told}", file.display())));
        }
        let folder = if file.is_dir() { file } else { firstflight_table::whole::folder_of(file) };
        crate::files::check_folder(folder)
    }

    /// Opens the file for appending rows with these columns.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::needless_pass_by_value, unused_variables, reason = "lines have no columns")
    )]
    pub(crate) fn open(file: &Path, columns: Vec<(String, Holds)>) -> Result<RowFile, Error> {
        RowFile::check(file)?;
        #[cfg(feature = "parquet")]
        if is_parquet(file) {
            let store = firstflight_lab::field::RowStore::open(file, columns)?;
            let parts = Parts { store, last: Instant::now(), trouble: None };
            let out = Out::Parquet(Box::new(parts));
            return Ok(RowFile { file: file.to_owned(), out, news: News::default() });
        }
        let (rows, cut) = RowWriter::open(file).map_err(|error| failed(file, &error))?;
        tell_of_cut(file, cut);
        Ok(RowFile { file: file.to_owned(), out: Out::Lines(rows), news: News::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, cells: Map<String, Value>) {
        match &mut self.out {
            Out::Lines(rows) => rows.add((Value::Object(cells).to_string() + "\n").as_bytes()),
            #[cfg(feature = "parquet")]
            Out::Parquet(parts) => {
                parts.store.add(cells);
                if parts.store.waiting() >= MOST_ROWS && parts.trouble.is_none() {
                    parts.flush();
                }
            }
        }
    }

    /// Must be called regularly: writes rows that have waited long enough, and reports changes.
    pub(crate) fn tick(&mut self) {
        match &mut self.out {
            Out::Lines(rows) => rows.tick(),
            #[cfg(feature = "parquet")]
            Out::Parquet(parts) => {
                let pause = if parts.trouble.is_some() { PAUSE } else { PART };
                if parts.last.elapsed() >= pause {
                    parts.flush();
                }
            }
        }
        self.tell();
    }

    /// Writes the waiting rows. Rows that cannot be written now are lost.
    pub(crate) fn finish(&mut self) -> Health {
        let health = match &mut self.out {
            Out::Lines(rows) => rows.finish(),
            #[cfg(feature = "parquet")]
            Out::Parquet(parts) => {
                parts.flush();
                let lost = parts.store.lost() + parts.store.waiting() as u64;
                Health { waiting: 0, lost, trouble: parts.trouble.clone() }
            }
        };
        if health.lost > 0 {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {}: {health}", self.file.display()));
        }
        health
    }

    /// State of the rows: numbers of waiting and lost rows, and the last error.
    pub(crate) fn health(&self) -> Health {
        match &self.out {
            Out::Lines(rows) => rows.health(),
            #[cfg(feature = "parquet")]
            Out::Parquet(parts) => {
                // Without an error, rows only wait for the end of their minute.
                let waiting = parts.trouble.as_ref().map_or(0, |_| parts.store.waiting() as u64);
                Health { waiting, lost: parts.store.lost(), trouble: parts.trouble.clone() }
            }
        }
    }

    fn tell(&mut self) {
        let health = self.health();
        if let Some(line) = self.news.of(&health) {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {}: {line}", self.file.display()));
        }
    }
}

#[cfg(feature = "parquet")]
impl Parts {
    fn flush(&mut self) {
        self.last = Instant::now();
        self.trouble = self.store.flush().err().map(|error| error.as_str().to_owned());
    }
}

fn is_parquet(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "parquet")
}
