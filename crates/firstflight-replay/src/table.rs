//! CSV: traces of our own, and tables with one row per ACK from whatever wrote them (columns in `docs/replay.md`).

use crate::estimate::Rtt;
use crate::fault::{Fault, Place};
use crate::own::{self, Own};
use crate::trace::{Extent, Id, Opening, Sink, Step};
use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use firstflight::event::Transport;
use firstflight::{Ack, Nanos, Sent, Seq, Time};
use std::collections::HashMap;
use std::io::{self, Read};

/// A line longer than this is no row.
const LONGEST_LINE: usize = 1 << 20;
/// Connections that rows of one file may be of, in turns.
const MOST_CONNECTIONS: usize = 4096;

/// Reads a table.
///
/// # Errors
/// If it has no header that is understood, or stops being a table before anything could be told from it.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let guarded = Lines { from: bytes, since_line_end: 0, read: 0 };
    let mut reader = ReaderBuilder::new().flexible(true).trim(csv::Trim::All).buffer_capacity(1 << 16).from_reader(guarded);
    let header = reader.byte_headers().cloned().map_err(|error| fault(file, &error))?;
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    let mut table: Box<dyn Rows<_>> = if has("event") && has("now_ns") {
        Box::new(OwnRows { file: file.into(), header: header.clone(), own: Own::default(), connection: None })
    } else {
        let columns = Columns::find(&names).map_err(|what| Fault::new(file, Place::Line(1), what))?;
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
            broken.get_or_insert(Fault::new(file, Place::Line(line), format!("{what}; this row and others like it are left out")));
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
        None if connections == 0 => Err(Fault::new(file, Place::File, "no row below the header that acknowledges anything")),
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
            let what = format!("a line of more than {} MiB is no row of a table", LONGEST_LINE >> 20);
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
    header: ByteRecord,
    own: Own,
    connection: Option<u64>,
}

impl<S: Sink> Rows<S> for OwnRows {
    fn take(&mut self, record: &ByteRecord, sink: &mut S) -> Result<(), String> {
        let row: own::Row = record.deserialize(Some(&self.header)).map_err(|error| match error.kind() {
            ErrorKind::Deserialize { err, .. } => err.to_string(),
            _ => error.to_string(),
        })?;
        // Connections stand one after the other.
        if self.connection != row.connection && row.event != "start" && self.connection.is_some() {
            return Err("a row of another connection before its `start`".into());
        }
        self.connection = row.connection;
        self.own.take(&self.file, &row, sink)
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.own.close(sink);
        self.own.connections()
    }
}

/// Where the columns are.
struct Columns {
    time: (usize, f64),
    acked: usize,
    rtt: Option<(usize, f64)>,
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
        let scaled = |stem: &str, also: &[(&str, f64)]| {
            let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
            let named = units.iter().find_map(|(unit, scale)| Some((at(&[format!("{stem}_{unit}").as_str()])?, *scale)));
            named.or_else(|| also.iter().find_map(|(name, scale)| Some((at(&[name])?, *scale))))
        };
        let seen: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
        let missing = |what: &str| format!("no column {what} among `{}`; docs/replay.md lists the columns", seen.join(","));
        let inflight = at(&["inflight_bytes"]);
        let sequence = at(&["una", "snd_una"]).zip(at(&["nxt", "snd_nxt"]));
        if inflight.is_none() && sequence.is_none() {
            return Err(missing("`inflight_bytes`, nor `una` and `nxt`,"));
        }
        Ok(Columns {
            time: scaled("time", &[("now_us", 1e3), ("now_ns", 1.0)])
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

impl<S: Sink> Rows<S> for AckRows {
    fn take(&mut self, record: &ByteRecord, sink: &mut S) -> Result<(), String> {
        let cell = |index: usize| String::from_utf8_lossy(&record[index]);
        let number = |index: usize, what: &str| {
            let text = cell(index);
            let number = text.parse::<f64>().ok().filter(|x| x.is_finite() && (0.0..1.8e19).contains(x));
            number.ok_or_else(|| format!("{what}: `{text}` is no number, 0 or more"))
        };
        let whole = |index: Option<usize>, what: &str| match index.filter(|index| !record[*index].is_empty()) {
            // Whole numbers are read as such: a double holds only 53 bits.
            Some(index) => cell(index).parse::<u64>().or_else(|_| number(index, what).map(|x| x as u64)).map(Some),
            None => Ok(None),
        };
        let flag = |index: Option<usize>| index.is_some_and(|index| matches!(&record[index], b"1" | b"true" | b"True" | b"yes"));
        let columns = &self.columns;
        let now = Time((number(columns.time.0, "the time")? * columns.time.1 + 0.5) as u64);
        let acked = whole(Some(columns.acked), "acked_bytes")?.unwrap_or(0);
        let rtt = match columns.rtt.filter(|(index, _)| !record[*index].is_empty()) {
            Some((index, scale)) => Some(Nanos((number(index, "the RTT")? * scale + 0.5) as u64)).filter(|rtt| rtt.0 > 0),
            None => None,
        };
        let lost = whole(columns.lost, "lost_bytes")?.unwrap_or(0);
        let mss = whole(columns.mss, "mss")?.unwrap_or(USUAL_MSS).clamp(1, 65_536);
        let sequence =
            columns.sequence.map(|(una, nxt)| Ok::<_, String>((whole(Some(una), "una")?, whole(Some(nxt), "nxt")?))).transpose()?;
        let sequence = sequence.and_then(|(una, nxt)| una.zip(nxt));
        let inflight = whole(columns.inflight, "inflight_bytes")?;
        let key = columns.connection.map_or(String::new(), |index| cell(index).chars().take(100).collect());
        if !self.senders.contains_key(&key) {
            if self.senders.len() >= MOST_CONNECTIONS
                && let Some(stale) = self.senders.iter().min_by_key(|(_, sender)| sender.last).map(|(key, _)| key.clone())
                && let Some(sender) = self.senders.remove(&stale)
            {
                sink.close(sender.id);
            }
            let before = inflight.or(sequence.map(|(una, nxt)| nxt.saturating_sub(una) + acked)).unwrap_or(acked);
            let transport = columns.transport.map(&cell).filter(|text| text == "quic").map_or(Transport::Tcp, |_| Transport::Quic);
            let first_flight = before.min(64 * mss);
            let start = Time(now.0.saturating_sub(rtt.map_or(0, |rtt| rtt.0)));
            let first = sequence.map_or(0, |(una, _)| una.saturating_sub(acked));
            let name = if key.is_empty() { self.file.clone() } else { format!("{} {key}", self.file) };
            let id = sink.open(Opening {
                name,
                group: columns.group.map(|index| cell(index).into_owned()).filter(|group| !group.is_empty()),
                origin: "table of ACKs".into(),
                transport,
                made: start,
                start,
                mss,
                first_flight,
                nxt: Seq(first),
                paced: None,
                handshake_rtt: None,
                ran: None,
            });
            self.opened += 1;
            let sent = Sent { now: start, bytes: before, nxt: Seq(first + before), inflight: before, srtt: None };
            sink.step(id, &Step::Sent(sent, before + before.div_ceil(mss) * 52));
            let sender = Sender { id, rtt: Rtt::default(), last: start, delivered: 0, sent: before, una: first, nxt: first + before, mss };
            self.senders.insert(key.clone(), sender);
        }
        let Some(sender) = self.senders.get_mut(&key) else { return Ok(()) };
        if now < sender.last {
            return Err(format!("the time goes back by {} ns", sender.last.0 - now.0));
        }
        sender.last = now;
        if mss != sender.mss {
            sender.mss = mss;
            sink.step(sender.id, &Step::Mss(mss));
        }
        if let Some(cwnd) = whole(columns.cwnd, "cwnd_bytes")? {
            sink.step(sender.id, &Step::Window { now, cwnd, ssthresh: None });
        }
        rtt.into_iter().for_each(|rtt| sender.rtt.add(rtt));
        sender.delivered += acked;
        let (una, nxt) = sequence.unwrap_or((sender.una + acked, sender.una + inflight.unwrap_or(acked).max(acked)));
        let before = inflight.unwrap_or_else(|| nxt.saturating_sub(una) + acked);
        let sent_now = nxt.saturating_sub(sender.nxt) + lost;
        sender.nxt = sender.nxt.max(nxt);
        if sent_now > 0 {
            sender.sent += sent_now;
            let sent = Sent { now, bytes: sent_now, nxt: Seq(sender.nxt), inflight: before, srtt: sender.rtt.srtt() };
            sink.step(sender.id, &Step::Sent(sent, sent_now + sent_now.div_ceil(mss) * 52));
        }
        let advanced = una > sender.una;
        sender.una = sender.una.max(una);
        let inflight = before.saturating_sub(acked + lost);
        sink.step(
            sender.id,
            &Step::Ack(Ack {
                now,
                acked,
                acked_fresh: acked,
                lost,
                ce: flag(columns.ce),
                rtt,
                srtt: sender.rtt.srtt(),
                min_rtt: sender.rtt.min(),
                una: Seq(una),
                nxt: Seq(nxt),
                advanced,
                flight: inflight + lost,
                sacked: 0,
                inflight_before: before,
                inflight,
                delivered: sender.delivered,
                sent: sender.sent,
                // Ordinals of transmissions: what was delivered counts as sent in order.
                tx_acked: (acked > 0).then_some(sender.delivered),
                tx_lost: (lost > 0).then_some(sender.delivered + 1),
                tx_next: sender.delivered + before.max(1),
                lost_again: false,
                rescue_next: false,
                cwnd_limited: false,
                app_limited: flag(columns.app_limited),
                receiver_ts: whole(columns.receiver_ts, "receiver_ts")?.map(|ticks| ticks as u32),
            }),
        );
        Ok(())
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        let mut senders: Vec<Id> = self.senders.drain().map(|(_, sender)| sender.id).collect();
        senders.sort_unstable();
        senders.into_iter().for_each(|id| sink.close(id));
        self.opened
    }
}
