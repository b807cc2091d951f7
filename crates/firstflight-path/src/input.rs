//! Files written by others: reads are bounded in size and in waiting time.
//!
//! A name on a command line may be an endless device or a pipe that nobody writes to. All code that
//! reads a whole file uses this module, and text that an error quotes from it is shortened here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum size of a hand-written file (paths, experiments, populations, certificates): 16 MiB.
pub const MOST_TEXT: u64 = 16 << 20;
/// Maximum size of a file that a program writes (packet-delivery traces, measured paths, sums of a
/// test): 256 MiB.
pub const MOST_DATA: u64 = 256 << 20;
/// Longest silence tolerated on a pipe.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// Opens a file. A pipe opens once it has a writer; the wait is limited to [`PATIENCE`].
///
/// # Errors
/// Errors of the system; [`ErrorKind::TimedOut`] if no writer came.
pub fn open(file: &Path) -> io::Result<File> {
    open_within(file, PATIENCE)
}

/// Reads a whole file of at most `most` bytes.
///
/// # Errors
/// Errors of the system; [`ErrorKind::FileTooLarge`] if it is longer, [`ErrorKind::TimedOut`] if a
/// pipe stays silent for [`PATIENCE`].
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_within(file, most, PATIENCE)
}

/// Like [`read`], for a text file.
///
/// # Errors
/// Like [`read`]; [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_text(file: &Path, most: u64) -> io::Result<String> {
    let bytes = read(file, most)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "is not text (UTF-8)"))
}

/// Private-use characters that represent the bytes of a name that is not UTF-8: the last 128 of
/// them.
#[cfg(unix)]
const BYTES: std::ops::RangeInclusive<char> = '\u{10ff80}'..='\u{10ffff}';
#[cfg(unix)]
const FIRST: u32 = 0x10_ff00;

/// Encodes an argument that may be a file name as text. Each byte that is not valid UTF-8 becomes a
/// private-use character. The bytes of such characters in the argument are encoded the same way, so
/// that [`file_of`] can restore the name.
#[cfg(unix)]
pub fn text_of(word: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    let escape = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    };
    for chunk in word.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if BYTES.contains(&c) {
                escape(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(c);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// Encodes an argument that may be a file name as text.
#[cfg(not(unix))]
pub fn text_of(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// The file name that [`text_of`] encoded.
pub fn file_of(text: &str) -> PathBuf {
    #[cfg(unix)]
    if text.contains(|c| BYTES.contains(&c)) {
        use std::os::unix::ffi::OsStringExt;
        let mut name = Vec::with_capacity(text.len());
        for c in text.chars() {
            if BYTES.contains(&c) {
                name.push(c as u8);
            } else {
                name.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        return std::ffi::OsString::from_vec(name).into();
    }
    text.into()
}

fn open_within(file: &Path, patience: Duration) -> io::Result<File> {
    if ends(file)? {
        return File::open(file);
    }
    let (give, take) = sync_channel(1);
    let name = file.to_owned();
    // A thread that waits for a writer ends when one comes, or with the program.
    thread::Builder::new().spawn(move || give.send(File::open(name)))?;
    take.recv_timeout(patience).map_err(|_| silent(patience))?
}

fn read_within(file: &Path, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    if ends(file)? {
        let opened = File::open(file)?;
        let size = opened.metadata()?.len();
        if size > most {
            return Err(too_large(most));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        // The file may grow, and files in /proc report a size of 0.
        opened.take(most + 1).read_to_end(&mut bytes)?;
        return if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) };
    }
    let (give, take) = sync_channel(1);
    let name = file.to_owned();
    thread::Builder::new().spawn(move || pump(&name, &give))?;
    let mut bytes = Vec::new();
    loop {
        match take.recv_timeout(patience) {
            Ok(piece) => bytes.extend(piece?),
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => return Err(silent(patience)),
        }
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
    }
}

/// Sends the bytes of a file in pieces until the file ends, the read fails, or the receiver is
/// gone.
fn pump(file: &Path, give: &SyncSender<io::Result<Vec<u8>>>) {
    let mut opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) => return drop(give.send(Err(error))),
    };
    loop {
        let mut piece = vec![0; CHUNK];
        let read = opened.read(&mut piece).map(|bytes| {
            piece.truncate(bytes);
            piece
        });
        let last = read.as_ref().map_or(true, Vec::is_empty);
        if give.send(read).is_err() || last {
            return;
        }
    }
}

/// Whether reading cannot block: an ordinary file, or a folder, which fails at once.
fn ends(file: &Path) -> io::Result<bool> {
    file.metadata().map(|data| data.is_file() || data.is_dir())
}

fn silent(patience: Duration) -> io::Error {
    io::Error::new(
        ErrorKind::TimedOut,
        format!("a pipe or device that delivered nothing for {} s", patience.as_secs_f64()),
    )
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(
        ErrorKind::FileTooLarge,
        format!("is larger than {} MiB, the limit for such a file", most >> 20),
    )
}

/// Length in characters of the longest word that an error repeats in full, and of the longest
/// error.
const LONGEST: (usize, usize) = (160, 1500);
/// Characters kept at the start and at the end of a shortened word or error.
const KEPT: (usize, usize) = (120, 40);

/// Shortens what an error's line quotes from its input: words of more than 160 characters, and the
/// middle of a line of more than 1500. None of our own lines is that long.
pub fn shortened(line: &str) -> String {
    let mut short = String::with_capacity(line.len().min(LONGEST.1));
    for piece in line.split_inclusive(char::is_whitespace) {
        short.push_str(&cut(piece, LONGEST.0));
    }
    cut(&short, LONGEST.1)
}

fn cut(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let begin: String = text.chars().take(KEPT.0).collect();
    let end: String = text.chars().skip(count - KEPT.1).collect();
    format!("{begin}[... {} characters ...]{end}", count - KEPT.0 - KEPT.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    #[test]
    fn a_device_without_end_is_read_up_to_the_bound() {
        let error = read_within(Path::new("/dev/zero"), MOST_TEXT, Duration::from_secs(60))
            .expect_err("too much");
        assert_eq!(error.to_string(), "is larger than 16 MiB, the limit for such a file");
    }

    #[test]
    fn an_ordinary_file_is_read_up_to_the_bound() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let size = file.metadata().expect("a file").len();
        assert_eq!(read(&file, size).expect("just enough").len() as u64, size);
        assert_eq!(
            read(&file, size - 1).expect_err("one too many").kind(),
            ErrorKind::FileTooLarge
        );
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_given_up() {
        let name = std::env::temp_dir().join(format!("firstflight-silent-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&name).status();
        if !made.is_ok_and(|status| status.success()) {
            return println!("skipped: no mkfifo here");
        }
        for error in
            [read_within(&name, MOST_TEXT, SOON).map(|_| ()), open_within(&name, SOON).map(|_| ())]
        {
            assert_eq!(
                error.expect_err("nobody writes").to_string(),
                "a pipe or device that delivered nothing for 0.05 s"
            );
        }
        std::fs::remove_file(&name).expect("it was made above");
    }

    #[test]
    fn a_pipe_that_is_written_to_is_read_to_its_end() {
        let name = std::env::temp_dir().join(format!("firstflight-fed-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&name).status();
        if !made.is_ok_and(|status| status.success()) {
            return println!("skipped: no mkfifo here");
        }
        let writer = name.clone();
        let writing = thread::spawn(move || std::fs::write(writer, vec![b'x'; 200_000]));
        assert_eq!(
            read_within(&name, MOST_TEXT, Duration::from_secs(60)).expect("all of it").len(),
            200_000
        );
        writing.join().expect("no panic").expect("written");
        std::fs::remove_file(&name).expect("it was made above");
    }

    #[cfg(unix)]
    #[test]
    fn a_name_of_any_bytes_is_the_same_behind_its_text() {
        use std::os::unix::ffi::OsStrExt;
        let all: Vec<u8> = (1..=255).collect();
        let names: [&[u8]; 5] = [
            b"plain.toml",
            "\u{10ff80}\u{10ffff}\u{e9}.csv".as_bytes(),
            b"\xff.toml",
            b"a\xc3",
            &all,
        ];
        for name in names {
            let text = text_of(OsStr::from_bytes(name));
            assert_eq!(file_of(&text).as_os_str().as_bytes(), name, "{text:?}");
        }
        assert_eq!(text_of(OsStr::new("geo,rtt=30ms")), "geo,rtt=30ms");
    }

    #[test]
    fn an_error_repeats_little_of_a_long_input() {
        for long in ["x".repeat(100_000), "x y ".repeat(25_000), "ü".repeat(100_000)] {
            let line = shortened(&format!("--path {long}: unknown; allowed: a name"));
            assert!(line.len() < 400, "{} bytes of {}", line.len(), long.len());
            assert!(
                line.starts_with("--path ") && line.ends_with("allowed: a name"),
                "what is wrong is still said: {line}"
            );
        }
        let usual = "--bytes 10XB: unknown unit; allowed: B, kB, MB, GB";
        assert_eq!(shortened(usual), usual);
    }
}
