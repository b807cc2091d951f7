//! CSV: our own traces, and tables of any origin with one row per ACK (columns in
//! `docs/replay.md`).

use crate::fault::{Fault, Place};
use crate::meaning::{Counts, Hint, Meaning, judge};
use crate::own::Own;
use crate::rows::{AckRow, Ledger, Next, USUAL_MSS};
use crate::step::{Extent, Sink, Stated};
use crate::trace::{Log, Row};
use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use firstflight::event::Transport;
use firstflight::units::MAX_BYTES;
use firstflight::{Nanos, Time};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};

/// A longer line is not a row.
const LONGEST_LINE: usize = 1 << 20;
/// Number of rows that are examined before the first one is used.
const LOOKED_AT: usize = 256;
/// Largest plausible total of a connection.
const MOST_TOTAL: u64 = 1 << 60;

/// Reads a table.
///
/// # Errors
/// If no header is recognized, or the file stops being a table before anything could be read from
/// it.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let guarded = Lines { from: bytes, since_line_end: 0, read: 0 };
    let mut text = BufReader::with_capacity(1 << 16, guarded);
    let unreadable =
        |error| Fault::new(file, Place::File, format!("cannot be read further: {error}"));
    let banner = text.fill_buf().map(banner).map_err(unreadable)?;
    text.consume(banner);
    let before = u64::from(banner > 0);
    let layout = text.fill_buf().map(Layout::of).map_err(unreadable)?;
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .delimiter(layout.delimiter)
        .comment(Some(b'#'))
        .has_headers(layout.header.is_none())
        .from_reader(text);
    let written: Vec<String> = if let Some(header) = layout.header {
        header
    } else {
        let header = reader.byte_headers().map_err(|error| fault(file, &error))?;
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    let names: Vec<String> = written.iter().map(|name| plain(name)).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    let mut table: Box<dyn Rows<_>> = if has("event") && has("now_ns") {
        Box::new(OwnRows {
            file: file.into(),
            places: (0..).zip(written).map(|(place, name)| (name, place)).collect(),
            own: Own::default(),
            connection: None,
        })
    } else {
        let columns =
            Columns::find(&names).map_err(|what| Fault::new(file, Place::Line(1), what))?;
        Box::new(AckRows::new(file, columns, &names))
    };
    let (mut record, mut records, mut broken) = (ByteRecord::new(), 0, None);
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                broken = Some(fault(file, &error));
                break;
            }
        }
        let line = record.position().map_or(0, csv::Position::line) + before;
        records += 1;
        if record.len() != names.len() {
            let what = format!("{} cells under {} columns", record.len(), names.len());
            broken.get_or_insert(Fault::new(file, Place::Line(line), what));
            continue;
        }
        match table.take(&record, line, sink) {
            Err(Wrong::Table(what)) => return Err(Fault::new(file, Place::Line(line), what)),
            taken => note(&mut broken, file, taken),
        }
    }
    match table.look(sink) {
        Err(Wrong::Table(what)) => return Err(Fault::new(file, Place::File, what)),
        looked => note(&mut broken, file, looked),
    }
    let connections = table.end(sink);
    let extent = Extent { bytes: reader.get_ref().get_ref().read, records, connections };
    match broken {
        Some(fault) if connections > 0 => {
            sink.remark(fault);
            Ok(extent)
        }
        Some(fault) => Err(fault),
        None if connections == 0 => {
            Err(Fault::new(file, Place::File, "no row below the header acknowledges anything"))
        }
        None => Ok(extent),
    }
}

/// Keeps the first fault of a row that was left out.
fn note(broken: &mut Option<Fault>, file: &str, taken: Result<(), Wrong>) {
    if let Err(Wrong::Row(line, what)) = taken {
        let what = format!("{what}; such rows are skipped");
        broken.get_or_insert(Fault::new(file, Place::Line(line), what));
    }
}

/// A fault of a table.
enum Wrong {
    /// A row, at this line.
    Row(u64, String),
    /// The whole table.
    Table(String),
}

fn fault(file: &str, error: &csv::Error) -> Fault {
    let place = error.position().map_or(Place::File, |position| Place::Line(position.line()));
    match error.kind() {
        ErrorKind::Io(error) => Fault::new(file, place, format!("cannot be read further: {error}")),
        _ => Fault::new(file, place, error.to_string()),
    }
}

/// Syntax of a table.
struct Layout {
    delimiter: u8,
    /// The column names, if they follow a `#`.
    header: Option<Vec<String>>,
}

impl Layout {
    /// Detects the layout from the start of the file.
    fn of(head: &[u8]) -> Layout {
        let mut comment: &[u8] = b"";
        let mut first: &[u8] = b"";
        for line in head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            match line.split_first() {
                None => {}
                Some((b'#', rest)) => comment = rest,
                Some(_) => {
                    first = line;
                    break;
                }
            }
        }
        let delimiter = delimiter(first);
        let cells = |line: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(line);
            text.split(char::from(delimiter)).map(|cell| cell.trim().to_owned()).collect()
        };
        let is_number = |cell: &String| cell.replace(',', ".").parse::<f64>().is_ok();
        let header = (cells(first).first().is_some_and(is_number) && comment.contains(&delimiter))
            .then(|| cells(comment));
        Layout { delimiter, header }
    }
}

/// Starts of the first line that bpftrace writes: `Attaching 2 probes...`, `Attached 2 probes`.
const BANNERS: [&[u8]; 2] = [b"Attaching ", b"Attached "];

/// The length of the first line that bpftrace writes; 0 if the file does not start with it.
pub(crate) fn banner(head: &[u8]) -> usize {
    if !BANNERS.iter().any(|banner| head.starts_with(banner)) {
        return 0;
    }
    memchr::memchr(b'\n', head).map_or(0, |end| end + 1)
}

/// The most frequent of comma, semicolon and tab in a line.
pub(crate) fn delimiter(line: &[u8]) -> u8 {
    let count = |mark: u8| memchr::memchr_iter(mark, line).count();
    // A comma may be a decimal separator; a semicolon or tab may not.
    let marks = [b',', b';', b'\t'];
    marks
        .into_iter()
        .max_by_key(|mark| count(*mark))
        .filter(|mark| count(*mark) > 0)
        .unwrap_or(b',')
}

/// A column name without case, quotes and punctuation: `Time (ms)` becomes `time_ms`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.trim().chars() {
        match c {
            '(' | ')' | '[' | ']' | '"' | '\'' | '#' | '\u{feff}' => {}
            ' ' | '-' | '.' | '/' if plain.ends_with('_') || plain.is_empty() => {}
            ' ' | '-' | '.' | '/' => plain.push('_'),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

/// Stops reading at a line without end before it fills the memory.
struct Lines {
    from: Box<dyn Read>,
    since_line_end: usize,
    read: u64,
}

impl Read for Lines {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.read += read as u64;
        match memchr::memrchr(b'\n', &to[..read]) {
            Some(at) => self.since_line_end = read - at - 1,
            None => self.since_line_end += read,
        }
        if self.since_line_end > LONGEST_LINE {
            let what =
                format!("a line longer than {} MiB cannot be a row of a table", LONGEST_LINE >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(read)
    }
}

trait Rows<S> {
    fn take(&mut self, record: &ByteRecord, line: u64, sink: &mut S) -> Result<(), Wrong>;
    /// Called when no more rows follow, for rows that still wait to be examined.
    fn look(&mut self, _sink: &mut S) -> Result<(), Wrong> {
        Ok(())
    }
    /// Ends the file; returns the number of connections.
    fn end(&mut self, sink: &mut S) -> u64;
}

struct OwnRows {
    file: String,
    places: HashMap<String, usize>,
    own: Own,
    connection: Option<u64>,
}

impl<S: Sink> Rows<S> for OwnRows {
    fn take(&mut self, record: &ByteRecord, line: u64, sink: &mut S) -> Result<(), Wrong> {
        self.entry(record, sink).map_err(|what| Wrong::Row(line, what))
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.own.close(sink);
        self.own.connections()
    }
}

impl OwnRows {
    fn entry(&mut self, record: &ByteRecord, sink: &mut impl Sink) -> Result<(), String> {
        let get = |name: &str| {
            let cell = record.get(*self.places.get(name)?).filter(|cell| !cell.is_empty())?;
            Some(String::from_utf8_lossy(cell))
        };
        let event = get("event").unwrap_or_default();
        let connection = get("connection").and_then(|text| text.parse().ok());
        // Connections follow each other in the file.
        if self.connection != connection && event != "start" && self.connection.is_some() {
            return Err("a row of another connection before its `start`".into());
        }
        // Signals are internal values of the algorithm, not its inputs, so their columns are not
        // read.
        let entry = Row(&get).entry(&event, &Log::default())?;
        self.connection = connection;
        entry.map_or(Ok(()), |entry| self.own.take(&self.file, &entry, sink))
    }
}

/// Positions of the columns.
struct Columns {
    time: (usize, u64),
    acked: (usize, Counts),
    rtt: Option<(usize, u64)>,
    lost: Option<(usize, Counts)>,
    inflight: Option<usize>,
    sequence: Option<(usize, usize)>,
    mss: Option<usize>,
    app_limited: Option<usize>,
    ce: Option<usize>,
    receiver_ts: Option<usize>,
    cwnd: Option<usize>,
    ssthresh: Option<usize>,
    connection: Option<usize>,
    group: Option<usize>,
    transport: Option<usize>,
}

impl Columns {
    fn find(names: &[String]) -> Result<Columns, String> {
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        // Nanoseconds per unit.
        let scaled = |stem: &str, also: &[(&str, u64)]| {
            let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
            let named = units.iter().find_map(|(unit, scale)| {
                Some((at(&[format!("{stem}_{unit}").as_str()])?, *scale))
            });
            named.or_else(|| also.iter().find_map(|(name, scale)| Some((at(&[name])?, *scale))))
        };
        let seen: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
        let missing = |what: &str| {
            format!("no column {what} among `{}`; docs/replay.md lists the columns", seen.join(","))
        };
        let counts = |named: &[(&str, Counts)]| {
            named.iter().find_map(|(name, counts)| Some((at(&[name])?, *counts)))
        };
        let inflight = at(&["inflight_bytes"]);
        let sequence = at(&["una", "snd_una"]).zip(at(&["nxt", "snd_nxt"]));
        if inflight.is_none() && sequence.is_none() && at(&["arm"]).is_some() {
            return Err(
                "results, not events; `firstflight compare --trace FILE.csv` writes events, \
                 `firstflight trial analyse` compares the arms of a table of connections"
                    .to_owned(),
            );
        }
        if inflight.is_none() && sequence.is_none() {
            return Err(missing("`inflight_bytes`, nor `una` and `nxt`,"));
        }
        Ok(Columns {
            time: scaled("time", &[("now_us", 1_000), ("now_ns", 1)])
                .ok_or_else(|| missing("`time_ns`, `time_us`, `time_ms` or `time_s`"))?,
            acked: counts(&[
                ("acked_bytes", Counts::New),
                ("acked_total_bytes", Counts::Total),
                ("bytes_acked", Counts::Either),
            ])
            .ok_or_else(|| missing("`acked_bytes` (or `acked_total_bytes`)"))?,
            rtt: scaled("rtt", &[]),
            lost: counts(&[("lost_bytes", Counts::New), ("lost_total_bytes", Counts::Total)]),
            inflight,
            sequence,
            mss: at(&["mss"]),
            app_limited: at(&["app_limited"]),
            ce: at(&["ce"]),
            receiver_ts: at(&["receiver_ts"]),
            cwnd: at(&["cwnd_bytes"]),
            ssthresh: at(&["ssthresh_bytes"]),
            connection: at(&["connection"]),
            group: at(&["group"]),
            transport: at(&["transport"]),
        })
    }
}

struct AckRows {
    columns: Columns,
    /// The table's name for the acknowledged bytes.
    acked_name: String,
    ledger: Ledger,
    /// The first rows, until the meaning of the columns is decided.
    held: Vec<Held>,
    meaning: Option<Meaning>,
    /// The totals in the last row of each connection.
    totals: HashMap<String, (u64, u64)>,
}

/// A row as the table states it.
#[derive(Clone)]
struct Held {
    line: u64,
    key: String,
    group: Option<String>,
    transport: Transport,
    row: AckRow,
}

impl AckRows {
    fn new(file: &str, columns: Columns, names: &[String]) -> AckRows {
        let losses = |name: &&String| {
            ["lost", "loss", "retrans", "rexmit", "drop"].iter().any(|word| name.contains(word))
        };
        let mut origin = "table of ACKs".to_owned();
        let ignored: Vec<String> =
            names.iter().filter(losses).map(|name| format!("`{name}`")).collect();
        if columns.lost.is_none() {
            origin.push_str(", without `lost_bytes`");
            if !ignored.is_empty() {
                origin = format!("{origin} ({} not read)", ignored.join(", "));
            }
        }
        let stated = Stated { loss_unknown: columns.lost.is_none(), ..Stated::default() };
        AckRows {
            acked_name: names[columns.acked.0].clone(),
            columns,
            ledger: Ledger::new(file, origin, stated),
            held: Vec::new(),
            meaning: None,
            totals: HashMap::new(),
        }
    }

    /// Decides the meaning of the columns from the rows so far, and processes these rows.
    fn decide(&mut self, sink: &mut impl Sink) -> Result<(), Wrong> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Ok(());
        }
        let lost = self.columns.lost.map_or(Counts::New, |(_, counts)| counts);
        let named = Meaning { acked: self.columns.acked.1, lost, next: Next::BeforeSends };
        let hints: Vec<(&str, Hint)> =
            held.iter().map(|held| (held.key.as_str(), hint(&held.row))).collect();
        let rows = hints.iter().map(|(key, hint)| (*key, hint));
        let meaning = judge(rows, named, &self.acked_name).map_err(Wrong::Table)?;
        let origin = &mut self.ledger.about.origin;
        if meaning.acked == Counts::Total && named.acked != Counts::Total {
            *origin = format!("{origin}, `{}` a running total", self.acked_name);
        }
        if meaning.lost != named.lost {
            origin.push_str(", `lost_bytes` a running total");
        }
        if meaning.next == Next::AfterSends {
            origin.push_str(", `nxt` with the sends of its ACK");
        }
        self.meaning = Some(meaning);
        let mut first = Ok(());
        for held in held {
            first = first.and(self.believe(held, meaning, sink));
        }
        first
    }

    /// Processes a row whose meaning is known.
    fn believe(&mut self, held: Held, meaning: Meaning, sink: &mut impl Sink) -> Result<(), Wrong> {
        let Held { line, key, group, transport, mut row } = held;
        let wrong = |what: String| Wrong::Row(line, what);
        row.next = meaning.next;
        let before = self.totals.get(&key).copied();
        let total = (row.acked, row.lost);
        let grown = |total: u64, before: u64| {
            total
                .checked_sub(before)
                .ok_or_else(|| wrong(format!("a running total decreases from {before} to {total}")))
        };
        if meaning.acked == Counts::Total {
            row.acked = match before {
                Some((acked, _)) => grown(row.acked, acked)?,
                // If a log starts later, its first total does not show what the first ACK
                // acknowledged.
                None => Some(row.acked).filter(|acked| *acked <= 64 * mss(&row)).unwrap_or(0),
            };
        }
        if meaning.lost == Counts::Total {
            row.lost = before.map_or(Ok(0), |(_, lost)| grown(row.lost, lost))?;
        }
        let totals = meaning.acked == Counts::Total || meaning.lost == Counts::Total;
        if totals {
            self.totals.insert(key.clone(), total);
        }
        (row.acked, row.lost) = (row.acked.min(MAX_BYTES), row.lost.min(MAX_BYTES));
        self.ledger.take(&key, || group, transport, &row, sink).map_err(wrong)
    }
}

fn mss(row: &AckRow) -> u64 {
    if row.mss == 0 { USUAL_MSS } else { row.mss }
}

fn hint(row: &AckRow) -> Hint {
    let &AckRow { acked, lost, sequence, inflight, cwnd, .. } = row;
    Hint { acked, lost, sequence, inflight, cwnd, mss: mss(row) }
}

struct Cells<'a>(&'a ByteRecord);

impl Cells<'_> {
    fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(&self.0[index]).into_owned()
    }

    fn whole(&self, index: Option<usize>, what: &str) -> Result<Option<u64>, String> {
        match index.filter(|index| !self.0[*index].is_empty()) {
            // Whole numbers are parsed as integers, because a double holds only 53 bits.
            Some(index) => self
                .text(index)
                .parse::<u64>()
                .or_else(|_| number(&self.text(index), what).map(|x| x as u64))
                .map(Some),
            None => Ok(None),
        }
    }

    fn nanos(&self, (index, scale): (usize, u64), what: &str) -> Result<u64, String> {
        // If semicolons separate cells, a comma is the decimal separator.
        let text = self.text(index).replacen(',', ".", 1);
        match decimal(&text, scale) {
            Some(nanos) => Ok(nanos),
            None => Ok((number(&text, what)? * scale as f64 + 0.5) as u64),
        }
    }

    fn flag(&self, index: Option<usize>) -> bool {
        index.is_some_and(|index| {
            matches!(self.0[index].to_ascii_lowercase().as_slice(), b"1" | b"true" | b"yes")
        })
    }
}

fn number(text: &str, what: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|x| x.is_finite() && (0.0..1.8e19).contains(x));
    number.ok_or_else(|| format!("{what}: `{text}` is not a number; allowed: 0 or more"))
}

/// A plain decimal number times `scale`, rounded to a whole number. A double cannot resolve
/// microseconds since 1970.
fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(part) {
        return None;
    }
    let unit = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let part = if part.is_empty() { 0 } else { part.parse::<u128>().ok()? };
    let part = u64::try_from((part * u128::from(scale) + unit / 2) / unit).ok()?;
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(part)
}

impl Columns {
    fn row(&self, record: &ByteRecord) -> Result<AckRow, String> {
        let cells = Cells(record);
        let rtt = self
            .rtt
            .filter(|(index, _)| !record[*index].is_empty())
            .map(|column| cells.nanos(column, "the RTT"))
            .transpose()?;
        let sequence = match self.sequence {
            Some((una, nxt)) => cells.whole(Some(una), "una")?.zip(cells.whole(Some(nxt), "nxt")?),
            None => None,
        };
        let count = |index: Option<usize>, what: &str| cells.whole(index, what);
        Ok(AckRow {
            now: Time(cells.nanos(self.time, "the time")?),
            acked: count(Some(self.acked.0), "acked_bytes")?.unwrap_or(0).min(MOST_TOTAL),
            rtt: rtt.filter(|rtt| *rtt > 0).map(Nanos),
            lost: count(self.lost.map(|(index, _)| index), "lost_bytes")?
                .unwrap_or(0)
                .min(MOST_TOTAL),
            mss: count(self.mss, "mss")?.map_or(0, |mss| mss.clamp(1, 65_536)),
            sequence,
            next: Next::BeforeSends,
            inflight: count(self.inflight, "inflight_bytes")?.map(|bytes| bytes.min(MAX_BYTES)),
            cwnd: count(self.cwnd, "cwnd_bytes")?.map(|bytes| bytes.min(MAX_BYTES)),
            ssthresh: count(self.ssthresh, "ssthresh_bytes")?,
            rates: (None, None),
            app_limited: cells.flag(self.app_limited),
            ce: cells.flag(self.ce),
            receiver_ts: count(self.receiver_ts, "receiver_ts")?.map(|ticks| ticks as u32),
        })
    }

    fn held(&self, record: &ByteRecord, line: u64) -> Result<Held, String> {
        let cells = Cells(record);
        let group = self.group.map(|index| cells.text(index)).filter(|group| !group.is_empty());
        let says_quic =
            self.transport.is_some_and(|index| cells.text(index).eq_ignore_ascii_case("quic"));
        Ok(Held {
            line,
            key: self
                .connection
                .map_or(String::new(), |index| cells.text(index).chars().take(100).collect()),
            group,
            transport: if says_quic { Transport::Quic } else { Transport::Tcp },
            row: self.row(record)?,
        })
    }
}

impl<S: Sink> Rows<S> for AckRows {
    fn take(&mut self, record: &ByteRecord, line: u64, sink: &mut S) -> Result<(), Wrong> {
        let held = self.columns.held(record, line).map_err(|what| Wrong::Row(line, what))?;
        if let Some(meaning) = self.meaning {
            return self.believe(held, meaning, sink);
        }
        self.held.push(held);
        if self.held.len() < LOOKED_AT { Ok(()) } else { self.decide(sink) }
    }

    fn look(&mut self, sink: &mut S) -> Result<(), Wrong> {
        self.decide(sink)
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.ledger.end(sink)
    }
}
