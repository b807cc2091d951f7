//! Walks through a qlog file: from record to record of a text sequence, or through the one large
//! object of the older form to its events. Each record or event is passed on as text. Only one of
//! them is in memory at a time, whatever the size of the file.

use crate::fault::{Fault, Place};
use crate::window::{LARGEST, Window};
use memchr::{memchr, memchr2};

/// Receives the parts of the file.
pub(super) trait Visitor {
    /// A key and value of the header of the file or of a trace.
    fn header(&mut self, key: &str, value: &[u8], place: Place);
    /// A trace starts, in a file that holds several.
    fn begin(&mut self);
    /// An event.
    fn event(&mut self, text: &[u8], place: Place);
    /// A record of a text sequence; the visitor decides whether it is a header or an event.
    fn record(&mut self, text: &[u8], place: Place);
    /// A key of the outermost object that does not belong to qlog.
    fn unknown(&mut self, key: &str);
}

const RECORD_SEPARATOR: u8 = 0x1e;
/// Maximum nesting, deeper than any trace needs; the JSON parser has the same limit.
const DEEPEST: u32 = 100;

/// Walks through the file and calls the visitor.
///
/// # Errors
/// The position at which the file stops being well-formed; the visitor keeps everything before it.
pub(super) fn walk(
    file: &str,
    window: &mut Window,
    visitor: &mut impl Visitor,
) -> Result<(), Fault> {
    let mut walk = Walk { file, window, visitor };
    let head = walk.peek();
    let result = match head {
        Some(RECORD_SEPARATOR) => walk.sequence(),
        Some(b'{') if walk.is_lines() => walk.lines(),
        Some(b'{') if walk.is_several() => walk.values(),
        Some(b'{') => walk.document(),
        Some(_) => {
            Err(walk.fault("expected the start of a JSON object or of a JSON text sequence"))
        }
        None => Err(Fault::new(file, Place::File, "is empty")),
    };
    match (result, walk.window.failure()) {
        // A read error explains why the text is incomplete.
        (_, Some(error)) => Err(walk.fault(format!("cannot be read further: {error}"))),
        (result, None) => result,
    }
}

struct Walk<'a, V> {
    file: &'a str,
    window: &'a mut Window,
    visitor: &'a mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.file, Place::Byte(self.window.offset()), what)
    }

    /// The next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        loop {
            if let Some(skip) =
                self.window.seen().iter().position(|byte| !byte.is_ascii_whitespace())
            {
                self.window.take(skip);
                return self.window.seen().first().copied();
            }
            self.window.take(usize::MAX);
            if !self.window.more() {
                return None;
            }
        }
    }

    /// Whether the file has one object per line: the first line closes every bracket it opens, and
    /// another line follows.
    fn is_lines(&mut self) -> bool {
        loop {
            let seen = self.window.seen();
            if let Some(end) = memchr(b'\n', seen) {
                return serde_json::from_slice::<serde::de::IgnoredAny>(&seen[..end]).is_ok()
                    && !contains(&seen[..end], b"\"traces\"");
            }
            // A header line is short; without a line end within this length the file is not a
            // sequence of lines.
            if seen.len() > 1 << 20 || !self.window.more() {
                return false;
            }
        }
    }

    /// Whether the file has several objects in a row, whatever separates them: the first one is
    /// closed, holds no traces, and is followed by another.
    fn is_several(&mut self) -> bool {
        let mut scan = Scan::default();
        loop {
            if let Some(length) = scan.run(self.window.seen()) {
                let (first, rest) = self.window.seen().split_at(length);
                let next = rest.iter().find(|byte| !is_between(**byte)).copied();
                let is_trace = contains(first, b"\"traces\"");
                if next.is_some() || rest.len() > 1 << 10 || !self.window.more() {
                    return next == Some(b'{') && !is_trace;
                }
                scan = Scan::default();
                continue;
            }
            if self.window.seen().len() > 1 << 20 || !self.window.more() {
                return false;
            }
        }
    }

    /// Walks through objects with white space, separators, or nothing between them.
    fn values(&mut self) -> Result<(), Fault> {
        let mut number = 0;
        loop {
            while let Some(skip) =
                self.window.seen().iter().position(|byte| !is_between(*byte)).or_else(|| {
                    (!self.window.seen().is_empty()).then_some(self.window.seen().len())
                })
                && skip > 0
            {
                self.window.take(skip);
            }
            if self.window.seen().is_empty() {
                if !self.window.more() {
                    return Ok(());
                }
                continue;
            }
            number += 1;
            let place = Place::Record(number, self.window.offset());
            let length = self.value()?;
            self.visitor.record(&self.window.seen()[..length], place);
            self.window.take(length);
        }
    }

    /// Walks through records of RFC 7464: a separator, a text, a line feed.
    fn sequence(&mut self) -> Result<(), Fault> {
        let mut number = 0;
        loop {
            while self
                .window
                .seen()
                .first()
                .is_some_and(|byte| *byte == RECORD_SEPARATOR || byte.is_ascii_whitespace())
            {
                self.window.take(1);
            }
            if self.window.seen().is_empty() && !self.window.more() {
                return Ok(());
            }
            if self
                .window
                .seen()
                .first()
                .is_some_and(|byte| *byte == RECORD_SEPARATOR || byte.is_ascii_whitespace())
            {
                continue;
            }
            number += 1;
            let place = Place::Record(number, self.window.offset());
            let length = self.until(RECORD_SEPARATOR, place)?;
            let text = self.window.seen()[..length].trim_ascii();
            // Some programs write a separator only before the first record.
            let mut from = 0;
            while let Some(at) = memchr::memmem::find(&text[from..], b"\n{") {
                self.visitor.record(text[from..from + at].trim_ascii(), place);
                from += at + 1;
            }
            self.visitor.record(&text[from..], place);
            self.window.take(length);
        }
    }

    /// Walks through one text per line.
    fn lines(&mut self) -> Result<(), Fault> {
        let mut number = 0;
        while !self.window.seen().is_empty() || self.window.more() {
            number += 1;
            let place = Place::Line(number);
            let length = self.until(b'\n', place)?;
            let text = self.window.seen()[..length].trim_ascii();
            let text = text.strip_prefix(&[RECORD_SEPARATOR]).unwrap_or(text);
            if !text.is_empty() {
                self.visitor.record(text, place);
            }
            self.window.take(length + 1);
        }
        Ok(())
    }

    /// Number of bytes up to `mark` or the end.
    fn until(&mut self, mark: u8, place: Place) -> Result<usize, Fault> {
        let mut from = 0;
        loop {
            let seen = self.window.seen();
            if let Some(at) = memchr(mark, &seen[from..]) {
                return Ok(from + at);
            }
            from = seen.len();
            if !self.window.more() {
                return if self.window.is_over() {
                    Ok(from)
                } else {
                    Err(Fault::new(
                        self.file,
                        place,
                        format!(
                            "a record larger than {} MiB; no event is that large",
                            LARGEST >> 20
                        ),
                    ))
                };
            }
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Fault> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.window.take(1);
                Ok(())
            }
            Some(byte) => {
                Err(self.fault(format!("found `{}`, expected `{}`", byte as char, wanted as char)))
            }
            None => Err(self.fault(format!("the file ends, expected `{}`", wanted as char))),
        }
    }

    /// Called after an element: true if another follows, false if `close` does.
    fn another(&mut self, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(b',') => {
                self.window.take(1);
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.window.take(1);
                Ok(false)
            }
            Some(byte) => Err(self
                .fault(format!("found `{}`, expected `,` or `{}`", byte as char, close as char))),
            None => {
                Err(self.fault(format!("the file ends inside what `{}` closes", close as char)))
            }
        }
    }

    fn closes_at_once(&mut self, close: u8) -> bool {
        let closes = self.peek() == Some(close);
        if closes {
            self.window.take(1);
        }
        closes
    }

    fn key(&mut self) -> Result<String, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in quotation marks"));
        }
        let length = self.value()?;
        let key = serde_json::from_slice(&self.window.seen()[..length])
            .map_err(|_| self.fault("a key that is not valid text"))?;
        self.window.take(length);
        self.expect(b':')?;
        Ok(key)
    }

    /// Walks through the file as one object: `{"traces": [{"events": [...]}]}`, or with a single
    /// `trace` next to the header.
    fn document(&mut self) -> Result<(), Fault> {
        self.object(|walk, key| match key {
            "traces" => walk.array(|walk| {
                walk.visitor.begin();
                if walk.peek() == Some(b'{') { walk.trace() } else { walk.pass() }
            }),
            "trace" => walk.trace(),
            "events" => walk.events(),
            _ => walk.header(key),
        })?;
        // Any text after the object is ignored.
        Ok(())
    }

    fn trace(&mut self) -> Result<(), Fault> {
        self.object(|walk, key| if key == "events" { walk.events() } else { walk.header(key) })
    }

    fn events(&mut self) -> Result<(), Fault> {
        self.array(|walk| {
            walk.peek();
            let length = walk.value()?;
            let place = Place::Byte(walk.window.offset());
            walk.visitor.event(&walk.window.seen()[..length], place);
            walk.window.take(length);
            Ok(())
        })
    }

    fn header(&mut self, key: &str) -> Result<(), Fault> {
        const KNOWN: [&str; 9] = [
            "qlog_version",
            "file_schema",
            "title",
            "description",
            "vantage_point",
            "event_fields",
            "common_fields",
            "configuration",
            "event_schemas",
        ];
        if !KNOWN.contains(&key) {
            self.visitor.unknown(key);
            return self.pass();
        }
        self.peek();
        let length = self.value()?;
        let place = Place::Byte(self.window.offset());
        self.visitor.header(key, &self.window.seen()[..length], place);
        self.window.take(length);
        Ok(())
    }

    fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(b'{')?;
        if self.closes_at_once(b'}') {
            return Ok(());
        }
        loop {
            // Some converters write keys in capitals.
            let key = self.key()?.to_ascii_lowercase();
            each(self, &key)?;
            if !self.another(b'}')? {
                return Ok(());
            }
        }
    }

    fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(b'[')?;
        if self.closes_at_once(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.another(b']')? {
                return Ok(());
            }
        }
    }

    /// The length of the value that starts here; the window then holds the whole value.
    fn value(&mut self) -> Result<usize, Fault> {
        let mut scan = Scan::default();
        loop {
            if let Some(length) = scan.run(self.window.seen()) {
                return Ok(length);
            }
            if scan.depth > DEEPEST {
                return Err(self.fault("values nested more than 100 deep"));
            }
            if !self.window.more() {
                return if !self.window.is_over() {
                    Err(self.fault(format!(
                        "a value larger than {} MiB; no event is that large",
                        LARGEST >> 20
                    )))
                } else if scan.is_bare() {
                    Ok(self.window.seen().len())
                } else {
                    Err(self.fault("the file ends inside this value"))
                };
            }
        }
    }

    /// Skips a value of any size.
    fn pass(&mut self) -> Result<(), Fault> {
        self.peek();
        let mut scan = Scan::default();
        loop {
            if let Some(length) = scan.run(self.window.seen()) {
                self.window.take(length);
                return Ok(());
            }
            if scan.depth > DEEPEST {
                return Err(self.fault("values nested more than 100 deep"));
            }
            self.window.take(scan.at);
            scan.at = 0;
            if !self.window.more() {
                return if scan.is_bare() {
                    Ok(())
                } else {
                    Err(self.fault("the file ends inside a value"))
                };
            }
        }
    }
}

/// Whether the byte may stand between records.
fn is_between(byte: u8) -> bool {
    byte == RECORD_SEPARATOR || byte.is_ascii_whitespace()
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

/// Finds the end of a JSON value without interpreting it.
#[derive(Default)]
struct Scan {
    at: usize,
    depth: u32,
    in_string: bool,
    escaped: bool,
    bare: bool,
}

impl Scan {
    fn is_bare(&self) -> bool {
        self.bare && self.depth == 0 && !self.in_string
    }

    /// Continues through `seen`, which starts where the value does; returns the value's length once
    /// its end is found.
    fn run(&mut self, seen: &[u8]) -> Option<usize> {
        while self.at < seen.len() {
            if self.in_string {
                if std::mem::take(&mut self.escaped) {
                    self.at += 1;
                    continue;
                }
                let Some(found) = memchr2(b'"', b'\\', &seen[self.at..]) else {
                    self.at = seen.len();
                    return None;
                };
                self.at += found;
                self.escaped = seen[self.at] == b'\\';
                self.at += 1;
                if !self.escaped {
                    self.in_string = false;
                    if self.depth == 0 {
                        return Some(self.at);
                    }
                }
                continue;
            }
            let byte = seen[self.at];
            match byte {
                b'"' if !self.bare => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => return Some(self.at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.at += 1;
                        return Some(self.at);
                    }
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 && self.bare => {
                    return Some(self.at);
                }
                _ if self.depth == 0 => self.bare = true,
                _ => {}
            }
            self.at += 1;
            if self.depth > DEEPEST {
                return None;
            }
        }
        None
    }
}
