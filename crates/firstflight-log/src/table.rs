//! CSV: traces of our own, and tables with one row per ACK from whatever wrote them (columns in
//! `docs/replay.md`).

use crate::estimate::Rtt;
use crate::fault::{Fault, Place};
use crate::own::Own;
use crate::step::{Extent, Id, Opening, Sink, Step};
use crate::trace::{Log, Row};
use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use firstflight::event::Transport;
use firstflight::units::MAX_BYTES;
use firstflight::{Ack, Event, Nanos, Sent, Seq, Time};
use std::collections::HashMap;
use std::io::{self, Read};

/// A line longer than this is no row.
const LONGEST_LINE: usize = 1 << 20;
/// Connections that rows of one file may be of, in turns.
const MOST_CONNECTIONS: usize = 4096;

/// Reads a table.
///
/// # Errors
/// If it has no header that is understood, or stops being a table before anything could be told
/// from it.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let guarded = Lines { from: bytes, since_line_end: 0, read: 0 };
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .buffer_capacity(1 << 16)
        .from_reader(guarded);
    let header = reader.byte_headers().cloned().map_err(|error| fault(file, &error))?;
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    let mut table: Box<dyn Rows<_>> = if has("event") && has("now_ns") {
        Box::new(OwnRows {
            file: file.into(),
            places: (0..).zip(&names).map(|(place, name)| (name.clone(), place)).collect(),
            own: Own::default(),
            connection: None,
        })
    } else {
        let columns =
            Columns::find(&names).map_err(|what| Fault::new(file, Place::Line(1), what))?;
        Box::new(AckRows { file: file.into(), columns, senders: HashMap::new(), opened: 0 })
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
        let line = record.position().map_or(0, csv::Position::line);
        records += 1;
        if record.len() != names.len() {
            let what = format!("{} cells under {} columns", record.len(), names.len());
            broken.get_or_insert(Fault::new(file, Place::Line(line), what));
            continue;
        }
        if let Err(what) = table.take(&record, sink) {
            broken.get_or_insert(Fault::new(
                file,
                Place::Line(line),
                format!("{what}; this row and others like it are left out"),
            ));
        }
    }
    let connections = table.end(sink);
    let extent = Extent { bytes: reader.get_ref().read, records, connections };
    match broken {
        Some(fault) if connections > 0 => {
            sink.remark(fault);
            Ok(extent)
        }
        Some(fault) => Err(fault),
        None if connections == 0 => {
            Err(Fault::new(file, Place::File, "no row below the header that acknowledges anything"))
        }
        None => Ok(extent),
    }
}

fn fault(file: &str, error: &csv::Error) -> Fault {
    let place = error.position().map_or(Place::File, |position| Place::Line(position.line()));
    match error.kind() {
        ErrorKind::Io(error) => Fault::new(file, place, format!("cannot be read further: {error}")),
        _ => Fault::new(file, place, error.to_string()),
    }
}

/// Bytes that give up on a line without an end, before it fills the memory.
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
                format!("a line of more than {} MiB is no row of a table", LONGEST_LINE >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(read)
    }
}

/// Rows of either kind.
trait Rows<S> {
    fn take(&mut self, record: &ByteRecord, sink: &mut S) -> Result<(), String>;
    /// The file is over: how many connections there were.
    fn end(&mut self, sink: &mut S) -> u64;
}

struct OwnRows {
    file: String,
    places: HashMap<String, usize>,
    own: Own,
    connection: Option<u64>,
}

impl<S: Sink> Rows<S> for OwnRows {
    fn take(&mut self, record: &ByteRecord, sink: &mut S) -> Result<(), String> {
        let get = |name: &str| {
            let cell = record.get(*self.places.get(name)?).filter(|cell| !cell.is_empty())?;
            Some(String::from_utf8_lossy(cell))
        };
        let event = get("event").unwrap_or_default();
        let connection = get("connection").and_then(|text| text.parse().ok());
        // Connections stand one after the other.
        if self.connection != connection && event != "start" && self.connection.is_some() {
            return Err("a row of another connection before its `start`".into());
        }
        // Signals are what the algorithm thought, not what it was told: no column of them is asked
        // for.
        let entry = Row(&get).entry(&event, &Log::default())?;
        self.connection = connection;
        entry.map_or(Ok(()), |entry| self.own.take(&self.file, &entry, sink))
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.own.close(sink);
        self.own.connections()
    }
}

/// Where the columns are.
struct Columns {
    time: (usize, u64),
    acked: usize,
    rtt: Option<(usize, u64)>,
    lost: Option<usize>,
    inflight: Option<usize>,
    sequence: Option<(usize, usize)>,
    mss: Option<usize>,
    app_limited: Option<usize>,
    ce: Option<usize>,
    receiver_ts: Option<usize>,
    cwnd: Option<usize>,
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
        let inflight = at(&["inflight_bytes"]);
        let sequence = at(&["una", "snd_una"]).zip(at(&["nxt", "snd_nxt"]));
        if inflight.is_none() && sequence.is_none() {
            return Err(missing("`inflight_bytes`, nor `una` and `nxt`,"));
        }
        Ok(Columns {
            time: scaled("time", &[("now_us", 1_000), ("now_ns", 1)])
                .ok_or_else(|| missing("`time_ns`, `time_us`, `time_ms` or `time_s`"))?,
            acked: at(&["acked_bytes", "bytes_acked"]).ok_or_else(|| missing("`acked_bytes`"))?,
            rtt: scaled("rtt", &[]),
            lost: at(&["lost_bytes"]),
            inflight,
            sequence,
            mss: at(&["mss"]),
            app_limited: at(&["app_limited"]),
            ce: at(&["ce"]),
            receiver_ts: at(&["receiver_ts"]),
            cwnd: at(&["cwnd_bytes"]),
            connection: at(&["connection"]),
            group: at(&["group"]),
            transport: at(&["transport"]),
        })
    }
}

struct AckRows {
    file: String,
    columns: Columns,
    senders: HashMap<String, Sender>,
    opened: u64,
}

/// What rows of one connection add up to.
struct Sender {
    id: Id,
    /// What is added to the times of its rows.
    shift: Nanos,
    rtt: Rtt,
    last: Time,
    delivered: u64,
    sent: u64,
    una: u64,
    nxt: u64,
    mss: u64,
}

/// A packet of data if no column says.
const USUAL_MSS: u64 = 1448;
/// IPv4 and TCP headers with time stamps.
const HEADERS: u64 = 52;

/// One row: one ACK.
struct AckRow {
    now: Time,
    acked: u64,
    rtt: Option<Nanos>,
    lost: u64,
    mss: u64,
    /// `una` and `nxt` after it.
    sequence: Option<(u64, u64)>,
    inflight: Option<u64>,
    cwnd: Option<u64>,
    app_limited: bool,
    ce: bool,
    receiver_ts: Option<u32>,
}

/// The cells of a row.
struct Cells<'a>(&'a ByteRecord);

impl Cells<'_> {
    fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(&self.0[index]).into_owned()
    }

    fn number(&self, index: usize, what: &str) -> Result<f64, String> {
        let text = self.text(index);
        let number =
            text.parse::<f64>().ok().filter(|x| x.is_finite() && (0.0..1.8e19).contains(x));
        number.ok_or_else(|| format!("{what}: `{text}` is no number, 0 or more"))
    }

    fn whole(&self, index: Option<usize>, what: &str) -> Result<Option<u64>, String> {
        match index.filter(|index| !self.0[*index].is_empty()) {
            // Whole numbers are read as such: a double holds only 53 bits.
            Some(index) => self
                .text(index)
                .parse::<u64>()
                .or_else(|_| self.number(index, what).map(|x| x as u64))
                .map(Some),
            None => Ok(None),
        }
    }

    fn nanos(&self, (index, scale): (usize, u64), what: &str) -> Result<u64, String> {
        match decimal(&self.text(index), scale) {
            Some(nanos) => Ok(nanos),
            None => Ok((self.number(index, what)? * scale as f64 + 0.5) as u64),
        }
    }

    fn flag(&self, index: Option<usize>) -> bool {
        index.is_some_and(|index| matches!(&self.0[index], b"1" | b"true" | b"True" | b"yes"))
    }
}

/// A plain decimal number times `scale`, to the nearest whole: a double cannot tell microseconds
/// apart since 1970.
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

impl AckRow {
    fn parse(columns: &Columns, record: &ByteRecord) -> Result<AckRow, String> {
        let cells = Cells(record);
        let rtt = columns
            .rtt
            .filter(|(index, _)| !record[*index].is_empty())
            .map(|column| cells.nanos(column, "the RTT"))
            .transpose()?;
        let sequence = match columns.sequence {
            Some((una, nxt)) => cells.whole(Some(una), "una")?.zip(cells.whole(Some(nxt), "nxt")?),
            None => None,
        };
        Ok(AckRow {
            now: Time(cells.nanos(columns.time, "the time")?),
            acked: cells.whole(Some(columns.acked), "acked_bytes")?.unwrap_or(0).min(MAX_BYTES),
            rtt: rtt.filter(|rtt| *rtt > 0).map(Nanos),
            lost: cells.whole(columns.lost, "lost_bytes")?.unwrap_or(0).min(MAX_BYTES),
            mss: cells.whole(columns.mss, "mss")?.unwrap_or(USUAL_MSS).clamp(1, 65_536),
            sequence,
            inflight: cells
                .whole(columns.inflight, "inflight_bytes")?
                .map(|bytes| bytes.min(MAX_BYTES)),
            cwnd: cells.whole(columns.cwnd, "cwnd_bytes")?,
            app_limited: cells.flag(columns.app_limited),
            ce: cells.flag(columns.ce),
            receiver_ts: cells.whole(columns.receiver_ts, "receiver_ts")?.map(|ticks| ticks as u32),
        })
    }

    /// In flight before this ACK.
    fn before(&self) -> u64 {
        let outstanding =
            |(una, nxt): (u64, u64)| nxt.saturating_sub(una).min(MAX_BYTES) + self.acked;
        self.inflight.or(self.sequence.map(outstanding)).unwrap_or(self.acked)
    }
}

impl AckRows {
    /// A connection begins with its first row.
    fn open(&mut self, key: &str, row: &AckRow, cells: &Cells<'_>, sink: &mut impl Sink) {
        if self.senders.len() >= MOST_CONNECTIONS
            && let Some(stale) = self
                .senders
                .iter()
                .min_by_key(|(_, sender)| sender.last)
                .map(|(key, _)| key.clone())
            && let Some(sender) = self.senders.remove(&stale)
        {
            sink.close(sender.id);
        }
        let (before, mss) = (row.before(), row.mss);
        // The first flight left a round trip before its first ACK, which the clock of the table may
        // not reach back to. In whole seconds, so that clocks which count in coarser units
        // see the rows where they were.
        let rtt = row.rtt.unwrap_or(Nanos::ZERO);
        let shift = Nanos::from_secs(rtt.0.saturating_sub(row.now.0).div_ceil(1_000_000_000));
        let says_quic = self.columns.transport.is_some_and(|index| cells.text(index) == "quic");
        let start = Time((row.now + shift).0.saturating_sub(rtt.0));
        let first = row.sequence.map_or(0, |(una, _)| una.saturating_sub(row.acked));
        let id = sink.open(Opening {
            name: if key.is_empty() { self.file.clone() } else { format!("{} {key}", self.file) },
            group: self
                .columns
                .group
                .map(|index| cells.text(index))
                .filter(|group| !group.is_empty()),
            origin: "table of ACKs".into(),
            transport: if says_quic { Transport::Quic } else { Transport::Tcp },
            made: start,
            start,
            mss,
            first_flight: before.min(64 * mss),
            first_flight_span: None,
            nxt: Seq(first),
            paced: None,
            handshake_rtt: None,
            ran: None,
        });
        self.opened += 1;
        let nxt = first.saturating_add(before);
        let sent = Sent { now: start, bytes: before, nxt: Seq(nxt), inflight: before, srtt: None };
        sink.step(id, &Step::Event(Event::Sent(sent), before + before.div_ceil(mss) * HEADERS));
        let sender = Sender {
            id,
            shift,
            rtt: Rtt::default(),
            last: start,
            delivered: 0,
            sent: before,
            una: first,
            nxt,
            mss,
        };
        self.senders.insert(key.to_owned(), sender);
    }
}

impl Sender {
    /// What one row adds.
    fn take(&mut self, row: &AckRow, sink: &mut impl Sink) -> Result<(), String> {
        let &AckRow { acked, rtt, lost, mss, .. } = row;
        let now = row.now + self.shift;
        if now < self.last {
            return Err(format!("the time goes back by {} ns", self.last.0 - now.0));
        }
        self.last = now;
        if mss != self.mss {
            self.mss = mss;
            sink.step(self.id, &Step::Event(Event::Mss { now, mss }, 0));
        }
        if let Some(cwnd) = row.cwnd {
            sink.step(self.id, &Step::Window { now, cwnd, ssthresh: None });
        }
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        self.delivered = self.delivered.saturating_add(acked);
        let before = row.before();
        let una = row.sequence.map_or(self.una.saturating_add(acked), |(una, _)| una);
        let nxt = row.sequence.map_or(self.una.saturating_add(before.max(acked)), |(_, nxt)| nxt);
        let sent_now = nxt.saturating_sub(self.nxt).min(MAX_BYTES) + lost;
        self.nxt = self.nxt.max(nxt);
        if sent_now > 0 {
            self.sent = self.sent.saturating_add(sent_now);
            let sent = Sent {
                now,
                bytes: sent_now,
                nxt: Seq(self.nxt),
                inflight: before,
                srtt: self.rtt.srtt(),
            };
            sink.step(
                self.id,
                &Step::Event(Event::Sent(sent), sent_now + sent_now.div_ceil(mss) * HEADERS),
            );
        }
        let advanced = una > self.una;
        self.una = self.una.max(una);
        let inflight = before.saturating_sub(acked + lost);
        let ack = Ack {
            now,
            acked,
            acked_fresh: acked,
            lost,
            ce: row.ce,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            una: Seq(una),
            nxt: Seq(nxt),
            advanced,
            flight: inflight + lost,
            inflight_before: before,
            inflight,
            delivered: self.delivered,
            sent: self.sent,
            // Ordinals of transmissions: what was delivered counts as sent in order.
            tx_acked: (acked > 0).then_some(self.delivered),
            tx_lost: (lost > 0).then_some(self.delivered.saturating_add(1)),
            tx_next: self.delivered.saturating_add(before.max(1)),
            app_limited: row.app_limited,
            receiver_ts: row.receiver_ts,
            ..Ack::default()
        };
        sink.step(self.id, &Step::Event(Event::Ack(ack), 0));
        Ok(())
    }
}

impl<S: Sink> Rows<S> for AckRows {
    fn take(&mut self, record: &ByteRecord, sink: &mut S) -> Result<(), String> {
        let row = AckRow::parse(&self.columns, record)?;
        let cells = Cells(record);
        let key: String = self
            .columns
            .connection
            .map_or(String::new(), |index| cells.text(index).chars().take(100).collect());
        if !self.senders.contains_key(&key) {
            self.open(&key, &row, &cells, sink);
        }
        self.senders.get_mut(&key).map_or(Ok(()), |sender| sender.take(&row, sink))
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        let mut senders: Vec<Id> = self.senders.drain().map(|(_, sender)| sender.id).collect();
        senders.sort_unstable();
        for id in senders {
            sink.close(id);
        }
        self.opened
    }
}
