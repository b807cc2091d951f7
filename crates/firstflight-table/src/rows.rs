//! Rows as lines of JSON: appended one by one by [`RowWriter`], read back by [`Lines`].
//!
//! A row is in its file completely or not at all. If the file system refuses a row (a full disk, a
//! quota, a limit), the part already written is removed, the program goes on, and the row waits for
//! another attempt. Rows beyond the limit of waiting rows are lost and counted.

use crate::whole::{check_folder, folder_of};
use std::collections::VecDeque;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of bytes of rows that wait for another attempt.
const MOST_WAITING: usize = 8 << 20;
/// Time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum length of a row; a longer line is not a row.
pub const LONGEST_LINE: u64 = 1 << 20;

/// Condition of a file's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Rows that wait for another attempt.
    pub waiting: u64,
    /// Rows that were dropped.
    pub lost: u64,
    /// Why the last attempt failed; `None` if it succeeded.
    pub trouble: Option<String>,
}

impl Health {
    /// Whether every row is in the file.
    pub fn is_well(&self) -> bool {
        self.waiting == 0 && self.lost == 0 && self.trouble.is_none()
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |count: u64| if count == 1 { "row" } else { "rows" };
        match (self.waiting, self.lost) {
            (0, 0) => f.write_str("every row is written")?,
            (0, lost) => write!(f, "{lost} {} lost", rows(lost))?,
            (waiting, 0) => write!(f, "{waiting} {} not yet written", rows(waiting))?,
            (waiting, lost) => {
                write!(f, "{waiting} {} not yet written, {lost} lost", rows(waiting))?;
            }
        }
        self.trouble.as_ref().map_or(Ok(()), |trouble| write!(f, ": {trouble}"))
    }
}

/// Change in the condition of a file's rows, reported once.
#[derive(Clone, Debug, Default)]
pub struct News {
    troubled: bool,
    lost: bool,
}

impl News {
    /// A line for the user of the program, if there is news: rows are not written, rows are lost,
    /// rows are written again.
    pub fn of(&mut self, health: &Health) -> Option<String> {
        let News { troubled, lost } = *self;
        *self = News { troubled: health.trouble.is_some(), lost: lost || health.lost > 0 };
        if self.lost && !lost || self.troubled && !troubled {
            return Some(health.to_string());
        }
        (troubled && !self.troubled).then(|| match health.lost {
            0 => "rows can be written again; none was lost".to_owned(),
            lost => format!("rows can be written again; {lost} lost"),
        })
    }
}

/// Appends rows.
pub struct RowWriter {
    to: To,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    lost: u64,
    trouble: Option<String>,
    again_at: Option<Instant>,
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("health", &self.health()).finish_non_exhaustive()
    }
}

enum To {
    /// A file that the first row opens.
    Later(PathBuf),
    File(Target),
    /// Output from which nothing can be removed: an incomplete row is ended by a line break before
    /// the next row.
    Other {
        out: Box<dyn Write + Send>,
        torn: bool,
    },
}

impl To {
    fn append(&mut self, row: &[u8]) -> io::Result<()> {
        match self {
            To::Later(file) => {
                let (target, _) = Target::open(file)?;
                *self = To::File(target);
                self.append(row)
            }
            To::File(target) => target.append(row),
            To::Other { out, torn } => append_plainly(out, torn, row),
        }
    }
}

impl RowWriter {
    /// Checks that this file can be appended to or created. Does not create it.
    ///
    /// # Errors
    /// Errors of the file system, and for `-`, which rows do not support.
    pub fn check(file: &Path) -> io::Result<()> {
        if file.as_os_str() == "-" {
            return Err(io::Error::other("rows go to a file, not to standard output"));
        }
        match file.metadata() {
            Ok(meta) if meta.is_dir() => Err(io::Error::other("is a folder, not a file")),
            // Opening a pipe would wait for its reader.
            Ok(meta) if !meta.is_file() => Ok(()),
            Ok(_) => OpenOptions::new().append(true).open(file).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotFound => check_folder(folder_of(file)),
            Err(error) => Err(error),
        }
    }

    /// Appends to this file, which is checked now and opened by [`RowWriter::begin`] or by the
    /// first row.
    ///
    /// # Errors
    /// Errors of [`RowWriter::check`].
    pub fn later(file: &Path) -> io::Result<RowWriter> {
        RowWriter::check(file)?;
        Ok(RowWriter::new(To::Later(file.to_owned())))
    }

    /// Opens the file if it is not open yet. A last row that a crash or a full disk has truncated
    /// is removed first. Returns the number of bytes removed.
    ///
    /// # Errors
    /// Errors of the file system, and if the file ends within a line that is not a row.
    pub fn begin(&mut self) -> io::Result<u64> {
        let To::Later(file) = &self.to else { return Ok(0) };
        let (target, cut) = Target::open(file)?;
        self.to = To::File(target);
        Ok(cut)
    }

    /// Opens this file for appending. Also returns the number of bytes removed, see
    /// [`RowWriter::begin`].
    ///
    /// # Errors
    /// Like [`RowWriter::begin`].
    pub fn open(file: &Path) -> io::Result<(RowWriter, u64)> {
        let mut rows = RowWriter::later(file)?;
        let cut = rows.begin()?;
        Ok((rows, cut))
    }

    /// Writes rows to an output that is not a file: a row that failed stays incomplete there.
    pub fn to(out: Box<dyn Write + Send>) -> RowWriter {
        RowWriter::new(To::Other { out, torn: false })
    }

    fn new(to: To) -> RowWriter {
        RowWriter {
            to,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            lost: 0,
            trouble: None,
            again_at: None,
        }
    }

    /// Adds one row, which ends with a line break.
    pub fn add(&mut self, row: &[u8]) {
        self.tick();
        if self.waiting.is_empty() && self.again_at.is_none() {
            match self.to.append(row) {
                Ok(()) => return self.trouble = None,
                Err(error) => self.failed(&error),
            }
        }
        if self.waiting_bytes + row.len() > MOST_WAITING {
            self.lost += 1;
            return;
        }
        self.waiting_bytes += row.len();
        self.waiting.push_back(row.to_vec());
    }

    /// Retries waiting rows after a pause; to be called from time to time.
    pub fn tick(&mut self) {
        if self.again_at.is_some_and(|at| Instant::now() >= at) {
            self.try_again();
        }
    }

    /// Makes the last attempt. Rows that cannot be written now are lost.
    pub fn finish(&mut self) -> Health {
        self.try_again();
        self.lost += self.waiting.len() as u64;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.health()
    }

    /// State of the rows: waiting, lost, and the last error.
    pub fn health(&self) -> Health {
        let waiting = self.waiting.len() as u64;
        Health { waiting, lost: self.lost, trouble: self.trouble.clone() }
    }

    fn try_again(&mut self) {
        self.again_at = None;
        while let Some(row) = self.waiting.front() {
            if let Err(error) = self.to.append(row) {
                return self.failed(&error);
            }
            self.waiting_bytes -= row.len();
            self.waiting.pop_front();
            self.trouble = None;
        }
    }

    fn failed(&mut self, error: &io::Error) {
        self.trouble = Some(error.to_string());
        self.again_at = Some(Instant::now() + PAUSE);
    }
}

fn append_plainly(out: &mut impl Write, torn: &mut bool, row: &[u8]) -> io::Result<()> {
    if *torn {
        out.write_all(b"\n")?;
        *torn = false;
    }
    let mut rest = row;
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                *torn = rest.len() < row.len();
                // Only the line break is missing: the row is complete.
                return if *torn && rest == b"\n" { Ok(()) } else { Err(error) };
            }
        }
    }
    Ok(())
}

/// A file that rows are appended to.
struct Target {
    file: File,
    /// Whether it is a regular file, from which a part of a row can be removed.
    regular: bool,
    torn: bool,
    /// Start of a row that could not be removed.
    cut_at: Option<u64>,
}

impl Target {
    fn open(path: &Path) -> io::Result<(Target, u64)> {
        let is_file = !crate::whole::is_device(path);
        let file = if is_file {
            OpenOptions::new().read(true).create(true).append(true).open(path)?
        } else {
            OpenOptions::new().append(true).open(path)?
        };
        let mut target = Target { file, regular: is_file, torn: false, cut_at: None };
        let cut = if is_file { locked(&target.file.try_clone()?, || target.mend())? } else { 0 };
        Ok((target, cut))
    }

    /// Makes the file end with a complete row. Returns the number of bytes removed of an incomplete
    /// one.
    fn mend(&mut self) -> io::Result<u64> {
        let size = self.file.metadata()?.len();
        let from = size.saturating_sub(LONGEST_LINE);
        let mut tail = Vec::new();
        self.file.seek(SeekFrom::Start(from))?;
        Read::by_ref(&mut self.file).take(LONGEST_LINE).read_to_end(&mut tail)?;
        let start = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let last = &tail[start..];
        if last.is_empty() {
            return Ok(0);
        }
        if serde_json::from_slice::<serde_json::Value>(last).is_ok() {
            self.file.write_all(b"\n")?;
            return Ok(0);
        }
        if last[0] != b'{' || start == 0 && from > 0 {
            return Err(io::Error::other(
                "ends within a line that is not a row; name another file",
            ));
        }
        self.file.set_len(from + start as u64)?;
        Ok(last.len() as u64)
    }

    fn append(&mut self, row: &[u8]) -> io::Result<()> {
        if !self.regular {
            return append_plainly(&mut self.file, &mut self.torn, row);
        }
        let file = self.file.try_clone()?;
        locked(&file, || {
            if let Some(at) = self.cut_at {
                file.set_len(at)?;
                self.cut_at = None;
            }
            let size = file.metadata()?.len();
            self.file.write_all(row).inspect_err(|_| {
                self.cut_at = file.set_len(size).err().map(|_| size);
            })
        })
    }
}

/// Runs `work` while no other program of ours appends to the file, so that only our own bytes are
/// removed.
#[cfg(unix)]
fn locked<T>(file: &File, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    // Other programs hold the lock for the time of a row; one that holds it longer is not ours.
    let mut tries = 20;
    let held = loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break true,
            Err(Errno::WOULDBLOCK) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Errno::WOULDBLOCK) => return Err(io::Error::other("another program locks it")),
            // The file system has no locks.
            Err(_) => break false,
        }
    };
    let done = work();
    if held {
        let _ = flock(file, FlockOperation::Unlock);
    }
    done
}

#[cfg(not(unix))]
fn locked<T>(_: &File, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work()
}

/// The lines of a file of rows.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
    number: u64,
}

/// One line of a file of rows.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Line number, counted from 1.
    pub number: u64,
    /// The line without its line break.
    pub bytes: &'a [u8],
    /// Whether it ends with a line break.
    pub ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of these bytes.
    pub fn of(from: R) -> Lines<R> {
        Lines { from, line: Vec::new(), number: 0 }
    }

    /// The next line that is not blank.
    ///
    /// # Errors
    /// The number of the line and a message, if the line cannot be read or is too long for a row.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, (u64, String)> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| (self.number, error.to_string()))?;
            if read == 0 {
                return Ok(None);
            }
            let ended = self.line.last() == Some(&b'\n');
            if !ended && read as u64 == LONGEST_LINE {
                return Err((self.number, format!("is longer than {} MiB", LONGEST_LINE >> 20)));
            }
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                let bytes = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
                return Ok(Some(Line { number: self.number, bytes, ended }));
            }
        }
    }
}

impl<'a> Line<'a> {
    /// Parses a row with `parse`. Returns `None` for a torn row: a last line without a line break
    /// that is not a row, as left by a program that is killed while it writes.
    ///
    /// # Errors
    /// The number of the line and a message, for any other line that is not a row.
    pub fn row<T, E: fmt::Display>(
        &self,
        parse: impl FnOnce(&'a [u8]) -> Result<T, E>,
    ) -> Result<Option<T>, (u64, String)> {
        match parse(self.bytes) {
            Ok(row) => Ok(Some(row)),
            Err(_) if !self.ended => Ok(None),
            Err(error) => Err((self.number, error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::io::Cursor;
    use std::sync::{Arc, Mutex};

    fn row(number: u64) -> Vec<u8> {
        format!("{{\"row\":{number},\"text\":\"é{}\"}}\n", "x".repeat(number as usize % 40))
            .into_bytes()
    }

    /// Numbers of the rows of a file, and the number of torn rows.
    fn read(bytes: &[u8]) -> Result<(Vec<u64>, u64), (u64, String)> {
        let (mut lines, mut rows, mut torn) = (Lines::of(Cursor::new(bytes)), Vec::new(), 0);
        while let Some(line) = lines.next_line()? {
            match line.row(serde_json::from_slice::<serde_json::Value>)? {
                Some(row) => rows.push(row["row"].as_u64().expect("a number")),
                None => torn += 1,
            }
        }
        Ok((rows, torn))
    }

    /// Accepts a number of bytes, then is full until it gets more room.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().expect("no panic");
            let room = disk.1.min(bytes.len());
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.0.extend(&bytes[..room]);
            disk.1 -= room;
            Ok(room)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        /// However the room on a disk changes, every row is written, in order, or counted as lost.
        #[test]
        fn rows_are_written_in_order_or_counted(rooms in proptest::collection::vec(0_usize..200, 1..20)) {
            let disk = Disk::default();
            let mut rows = RowWriter::to(Box::new(disk.clone()));
            let mut added = 0;
            for room in rooms {
                disk.0.lock().expect("no panic").1 += room;
                rows.again_at = rows.again_at.map(|_| Instant::now());
                rows.add(&row(added));
                added += 1;
            }
            disk.0.lock().expect("no panic").1 = 1 << 20;
            let health = rows.finish();
            prop_assert_eq!((health.lost, health.waiting, health.trouble), (0, 0, None));
            let text = disk.0.lock().expect("no panic").0.clone();
            let whole = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
            let numbers: Vec<u64> = whole.map(|row| row["row"].as_u64().expect("a number")).collect();
            prop_assert_eq!(numbers, (0..added).collect::<Vec<_>>());
        }

        /// Wherever a program is killed, the next one continues with complete rows.
        #[test]
        fn a_file_that_was_cut_anywhere_is_gone_on_with(count in 1_u64..6, cut in any::<proptest::sample::Index>()) {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("rows");
            let whole: Vec<u8> = (0..count).flat_map(row).collect();
            let cut = cut.index(whole.len() + 1);
            fs::write(&file, &whole[..cut]).expect("written");
            let (before, torn) = read(&whole[..cut]).expect("rows, the last one torn");
            let (mut rows, removed) = RowWriter::open(&file).expect("opened");
            prop_assert_eq!(removed > 0, torn > 0);
            rows.add(&row(77));
            prop_assert!(rows.finish().is_well());
            let (after, torn) = read(&fs::read(&file).expect("there")).expect("whole rows");
            prop_assert_eq!((after, torn), ([before, vec![77]].concat(), 0));
        }
    }

    #[test]
    fn a_line_that_is_no_row_is_an_error_with_its_number_unless_it_is_torn() {
        assert_eq!(read(b"{\"row\":1}\n\n{\"row\":2}").expect("rows"), (vec![1, 2], 0));
        assert_eq!(read(b"{\"row\":1}\n{\"ro").expect("rows"), (vec![1], 1));
        assert_eq!(read(b"{\"row\":1}\n{\"text\":\"\xc3").expect("rows"), (vec![1], 1));
        for wrong in ["{\"row\":1}\n\n{\"ro\n{\"row\":2}\n", "{\"row\":1}\n\n{\"ro\n"] {
            assert_eq!(read(wrong.as_bytes()).expect_err("no row").0, 3, "{wrong:?}");
        }
    }

    #[test]
    fn files_of_others_are_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("letter");
        fs::write(&file, "Dear reader").expect("written");
        assert!(RowWriter::open(&file).is_err());
        assert_eq!(fs::read_to_string(&file).expect("there"), "Dear reader");
        assert!(RowWriter::check(Path::new("-")).is_err());
        let mut news = News::default();
        let mut told = |waiting, lost, trouble: Option<&str>| {
            news.of(&Health { waiting, lost, trouble: trouble.map(str::to_owned) })
        };
        assert_eq!(told(0, 0, None), None);
        assert_eq!(told(1, 0, Some("full")).as_deref(), Some("1 row not yet written: full"));
        assert_eq!(told(2, 0, Some("full")), None, "once");
        assert_eq!(
            told(2, 1, Some("full")).as_deref(),
            Some("2 rows not yet written, 1 lost: full")
        );
        assert_eq!(told(0, 1, None).as_deref(), Some("rows can be written again; 1 lost"));
        assert_eq!(told(0, 1, None), None);
        let new = folder.path().join("new");
        RowWriter::check(&new).expect("it can be made");
        assert!(!new.exists(), "a check makes nothing");
    }

    #[test]
    fn rows_beyond_what_may_wait_are_lost_and_counted() {
        let mut rows = RowWriter::to(Box::new(Disk::default()));
        let big = vec![b'x'; MOST_WAITING / 4];
        (0..6).for_each(|_| rows.add(&big));
        let health = rows.health();
        assert_eq!((health.waiting, health.lost), (4, 2));
        assert!(health.to_string().starts_with("4 rows not yet written, 2 lost: "), "{health}");
        assert_eq!(rows.finish().lost, 6);
    }

    /// Two writers of one file: neither removes bytes of the other.
    #[cfg(unix)]
    #[test]
    fn several_writers_of_a_file_do_not_mix_rows() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    let (mut rows, _) = RowWriter::open(file).expect("opened");
                    (0..50).for_each(|number| rows.add(&row(writer * 50 + number)));
                    assert_eq!(rows.finish().lost, 0);
                });
            }
        });
        let (mut numbers, torn) = read(&fs::read(&file).expect("there")).expect("rows");
        numbers.sort_unstable();
        assert_eq!((numbers, torn), ((0..200).collect(), 0));
    }
}
