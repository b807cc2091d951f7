//! Files as byte streams. gzip and zstd are detected from the first bytes and decompressed as the
//! file is read; no file is ever held in memory as a whole.

use crate::fault::{Fault, Place};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a file, decompressed.
pub type Bytes = Box<dyn Read>;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const CHUNK: usize = 1 << 16;

/// The name of a file, which need not be valid text; displayed as far as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(PathBuf);

impl FileName {
    /// The name of `file`.
    pub fn of(file: impl AsRef<Path>) -> FileName {
        FileName(file.as_ref().to_owned())
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Opens `file`; `-` is standard input.
///
/// # Errors
/// If it cannot be opened.
pub fn open(file: impl AsRef<Path>) -> Result<Bytes, Fault> {
    let file = file.as_ref();
    let name = file.display().to_string();
    let fault =
        |error: io::Error| Fault::new(&name, Place::File, format!("cannot be read: {error}"));
    if file.as_os_str() == "-" {
        return decompress(BufReader::with_capacity(CHUNK, io::stdin())).map_err(fault);
    }
    let opened = File::open(file).map_err(fault)?;
    if opened.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(Fault::new(&name, Place::File, "is a folder, not a trace"));
    }
    decompress(BufReader::with_capacity(CHUNK, opened)).map_err(fault)
}

/// Decompresses `raw`; the format is detected from its first bytes.
///
/// # Errors
/// If the bytes cannot be read.
pub fn decompress(mut raw: impl BufRead + 'static) -> io::Result<Bytes> {
    let head = raw.fill_buf()?;
    if head.starts_with(GZIP) {
        Ok(Box::new(MultiGzDecoder::new(raw)))
    } else if head.starts_with(ZSTD) {
        Ok(Box::new(Frames { state: State::Between(Box::new(raw)) }))
    } else {
        Ok(Box::new(raw))
    }
}

/// A file of several concatenated zstd frames, as parallel compressors write it.
struct Frames {
    state: State,
}

type Raw = Box<dyn BufRead>;

enum State {
    Between(Raw),
    Inside(Box<StreamingDecoder<Raw, FrameDecoder>>),
    Over,
}

impl Read for Frames {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Ok(0),
                State::Between(mut raw) => {
                    if raw.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(raw).map_err(|error| {
                        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
                    })?;
                    State::Inside(Box::new(decoder))
                }
                State::Inside(mut decoder) => {
                    let read = decoder.read(to)?;
                    if read > 0 || to.is_empty() {
                        self.state = State::Inside(decoder);
                        return Ok(read);
                    }
                    State::Between(decoder.into_inner())
                }
            };
        }
    }
}
