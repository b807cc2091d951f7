//! A sliding window on a byte stream: a parser sees one piece at a time, and no piece is larger
//! than the limit.

use std::io::{self, Read};

/// Maximum size of a piece that is read as a whole: an event of a trace, a line of a table, a block
/// of a capture.
pub(crate) const LARGEST: usize = 1 << 24;
const FIRST: usize = 1 << 18;

/// Bytes of a stream between `start` and `end` of a buffer.
pub(crate) struct Window {
    from: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Position of `start` in the stream.
    offset: u64,
    over: bool,
    failed: Option<io::Error>,
}

impl Window {
    /// Creates an empty window.
    pub(crate) fn new(from: Box<dyn Read>) -> Window {
        Window {
            from,
            buffer: vec![0; FIRST],
            start: 0,
            end: 0,
            offset: 0,
            over: false,
            failed: None,
        }
    }

    /// The bytes read and not yet taken.
    pub(crate) fn seen(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Position in the stream of the first byte of [`Window::seen`].
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Drops the first `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads more bytes; false at the end of the stream, after an error, or when the window has its
    /// maximum size.
    pub(crate) fn more(&mut self) -> bool {
        if self.over {
            return false;
        }
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= LARGEST {
                return false;
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.over = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => (self.over, self.failed) = (true, Some(error)),
            }
            return !self.over;
        }
    }

    /// Whether the stream has no more bytes than those in the window.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The error that ended the stream, if any; it is returned only once.
    pub(crate) fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }
}
