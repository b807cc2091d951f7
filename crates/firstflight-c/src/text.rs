//! Text for C: names that end with a zero byte, and the sentence of an error.

use core::ffi::c_char;
use core::fmt::{self, Write};

/// Longest name, its zero byte included.
const LONGEST: usize = 24;

/// The names of an enumeration as C strings, in the order of its values.
pub(crate) struct Names<const N: usize>([[u8; LONGEST]; N]);

impl<const N: usize> Names<N> {
    /// Copies the names.
    pub(crate) const fn of(names: [&str; N]) -> Names<N> {
        let mut table = [[0; LONGEST]; N];
        let mut i = 0;
        while i < N {
            let name = names[i].as_bytes();
            assert!(name.len() < LONGEST, "the zero byte needs room");
            let mut at = 0;
            while at < name.len() {
                table[i][at] = name[at];
                at += 1;
            }
            i += 1;
        }
        Names(table)
    }

    /// The name of value `i`.
    pub(crate) fn get(&'static self, i: usize) -> *const c_char {
        self.0[i].as_ptr().cast()
    }
}

/// A sentence of limited length that ends with a zero byte.
#[derive(Clone, Copy)]
pub(crate) struct Sentence {
    bytes: [u8; Sentence::ROOM],
    len: usize,
}

impl Sentence {
    /// Bytes, the zero byte included.
    const ROOM: usize = 240;

    /// Nothing.
    pub(crate) const EMPTY: Sentence = Sentence { bytes: [0; Sentence::ROOM], len: 0 };

    /// `what` as text; longer text is cut.
    pub(crate) fn of(what: impl fmt::Display) -> Sentence {
        let mut sentence = Sentence::EMPTY;
        // Full is no error: the sentence is cut.
        _ = write!(sentence, "{what}");
        sentence
    }

    /// A fixed text that fits.
    pub(crate) const fn fixed(text: &str) -> Sentence {
        let (mut sentence, text) = (Sentence::EMPTY, text.as_bytes());
        assert!(text.len() < Sentence::ROOM, "the zero byte needs room");
        while sentence.len < text.len() {
            sentence.bytes[sentence.len] = text[sentence.len];
            sentence.len += 1;
        }
        sentence
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As C reads it.
    pub(crate) const fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl Write for Sentence {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = Sentence::ROOM - 1 - self.len;
        let mut take = text.len().min(room);
        while !text.is_char_boundary(take) {
            take -= 1;
        }
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        self.bytes[self.len] = 0;
        if take == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
