//! qlog: JSON, JSON-SEQ and one object per line, in drafts 00 to 02, 0.3 and the current ones, as
//! written by quinn, noq, quiche, neqo, picoquic and quicly's adapter. Also quicly's own log, which
//! holds more than its adapter passes on.
//!
//! The differences and their treatment: `docs/replay.md`.

mod event;
mod loose;
mod sender;
mod walk;

use crate::fault::{Fault, Place};
use crate::own::Own;
use crate::step::{Extent, Sink};
use crate::trace::{Log, qlog};
use crate::window::Window;
use event::{Blocked, Kind, Metrics, Object, Parameters, TraceHeader};
pub(crate) use event::{Packet, Space};
use firstflight::{Nanos, Time};
pub(crate) use loose::Frames;
use loose::{Number, Text};
pub(crate) use sender::Sender;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io::Read;

/// Number of events that wait for earlier ones: programs that log from several threads write
/// neighbouring events in the wrong order.
const MOST_WAITING: usize = 256;
/// Maximum time by which an event follows a later one. If times fall back further, the clock was
/// set back or another connection starts, and the order of the file stays.
const SKEW: Nanos = Nanos::from_millis(100);
/// Times before the reference of the log lie at most this far before its first event, ns.
const BEFORE: f64 = 60e9;
/// Maximum number of connections of one file followed at the same time.
const MOST_SENDERS: usize = 4096;

/// Reads a qlog file.
///
/// # Errors
/// The position at which the file stops being a qlog. Everything read before has reached the sink.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let mut window = Window::new(bytes);
    let mut log = Reading::new(file, sink);
    let walked = walk::walk(file, &mut window, &mut log);
    log.settle();
    let broken = log.broken.take();
    log.book.close(log.sink);
    log.own.close(log.sink);
    let connections = log.book.opened + log.own.connections();
    let extent = Extent { bytes: window.offset(), records: log.records, connections };
    match (walked, broken) {
        (Err(fault), _) | (Ok(()), Some(fault)) if extent.connections > 0 => {
            log.sink.remark(fault);
            Ok(extent)
        }
        (Err(fault), _) | (Ok(()), Some(fault)) => Err(fault),
        (Ok(()), None) if extent.connections == 0 => Err(log.nothing()),
        (Ok(()), None) => Ok(extent),
    }
}

/// The time of an event as the log states it.
#[derive(Clone, Copy, Debug, Default)]
struct When {
    time: Number,
    /// Reference of the time, where the name of its field defines it.
    clock: Option<Clock>,
}

impl When {
    /// Takes the time from one of the three field names in use.
    fn of(time: Number, relative: Number, delta: Number) -> When {
        match (time.0, relative.0, delta.0) {
            (None, None, Some(_)) => When { time: delta, clock: Some(Clock::Delta) },
            (None, Some(_), _) => When { time: relative, clock: Some(Clock::Since) },
            _ => When { time, clock: None },
        }
    }
}

/// Reference of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// A fixed epoch.
    Since,
    /// The previous event.
    Delta,
}

/// The senders of a file, by the key that distinguishes them.
struct Book {
    file: String,
    senders: HashMap<String, (Sender, u64)>,
    /// Number of traces so far, in a file with several.
    traces: u32,
    group: Option<String>,
    origin: String,
    uses: u64,
    opened: u64,
}

impl Book {
    /// The sender for a group, trace and path.
    fn sender(&mut self, group: Option<&String>, path: u64, sink: &mut impl Sink) -> &mut Sender {
        let mut key =
            if self.traces > 1 { format!("trace {}", self.traces) } else { String::new() };
        if let Some(group) = group.or(self.group.as_ref()) {
            if !key.is_empty() {
                key.push(' ');
            }
            key.push_str(group);
        }
        if path > 0 {
            key = format!("{key} path {path}");
        }
        if !self.senders.contains_key(&key) && self.senders.len() >= MOST_SENDERS {
            let stale =
                self.senders.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            if let Some((mut sender, _)) = stale.and_then(|key| self.senders.remove(&key)) {
                sender.close(sink);
                self.opened += u64::from(sender.is_open());
            }
        }
        self.uses += 1;
        let (file, origin) = (&self.file, &self.origin);
        let entry = self.senders.entry(key).or_insert_with_key(|key| {
            let name = if key.is_empty() { file.clone() } else { format!("{file} {key}") };
            (Sender::new(name, origin.clone()), 0)
        });
        entry.1 = self.uses;
        &mut entry.0
    }

    fn close(&mut self, sink: &mut impl Sink) {
        let mut senders: Vec<(String, (Sender, u64))> =
            std::mem::take(&mut self.senders).into_iter().collect();
        senders.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, (mut sender, _)) in senders {
            sender.close(sink);
            self.opened += u64::from(sender.is_open());
        }
    }
}

/// The content of an event.
enum What {
    Packet(Kind, Packet),
    Metrics(Metrics),
    Parameters(Parameters),
    Blocked(bool),
    Spurious,
}

/// An event that waits for earlier ones.
struct Waiting {
    now: Time,
    /// Its place in the order: its time, or a later one.
    place: Time,
    group: Option<String>,
    what: What,
}

struct Reading<'a, S> {
    book: Book,
    waiting: VecDeque<Waiting>,
    /// The latest time of an event.
    latest: Time,
    /// Added to all times, ns: the first one is negative.
    shift: Option<f64>,
    sink: &'a mut S,
    records: u64,
    clock: Clock,
    /// Nanoseconds per unit of the time column.
    unit: f64,
    fields: Vec<String>,
    now: f64,
    /// The first event that could not be read.
    broken: Option<Fault>,
    acks_without_ranges: u64,
    /// Number of events about packets, sent or not.
    packets: u64,
    sent: u64,
    /// The first keys of a file that is not a qlog.
    keys: Vec<String>,
    own: Own,
    /// The trace is our own, so its standard events repeat its `firstflight:*` events.
    is_own: bool,
}

const MILLISECOND: f64 = 1e6;
const MICROSECOND: f64 = 1e3;

impl<'a, S: Sink> Reading<'a, S> {
    fn new(file: &str, sink: &'a mut S) -> Reading<'a, S> {
        let book = Book {
            file: file.into(),
            senders: HashMap::new(),
            traces: 0,
            group: None,
            origin: "qlog".into(),
            uses: 0,
            opened: 0,
        };
        Reading {
            book,
            waiting: VecDeque::new(),
            latest: Time(0),
            shift: None,
            sink,
            records: 0,
            clock: Clock::Since,
            unit: MILLISECOND,
            fields: Vec::new(),
            now: 0.0,
            broken: None,
            acks_without_ranges: 0,
            packets: 0,
            sent: 0,
            keys: Vec::new(),
            own: Own::default(),
            is_own: false,
        }
    }

    /// Why nothing could be replayed.
    fn nothing(&self) -> Fault {
        let what = if self.records == 0 && self.keys.is_empty() {
            "it contains no events".into()
        } else if self.records == 0 && self.keys.iter().any(|key| key == "firstflight") {
            "results of firstflight, not events; `firstflight compare --trace FILE.sqlog` writes events".into()
        } else if self.records == 0 {
            let keys: Vec<String> = self.keys.iter().map(|key| format!("`{key}`")).collect();
            format!("JSON, but not qlog: it contains no events; its keys are {}", keys.join(", "))
        } else if self.packets == 0 {
            format!(
                "none of its {} events is about packets; `packet_sent` and `packet_received` are needed",
                self.records
            )
        } else if self.sent == 0 {
            "no `packet_sent` of application data: this is the receiver's log; the sender's log is needed".into()
        } else if self.acks_without_ranges > 0 {
            "its ACK frames name no packets (`acked_ranges` is missing), so they cannot be used; for quicly, pass its own log"
                .into()
        } else {
            format!(
                "{} data packets were sent and none was acknowledged; ACK frames or `bytes_in_flight` are needed",
                self.sent
            )
        };
        Fault::new(&self.book.file, Place::File, what)
    }

    fn spoil(&mut self, place: Place, error: &serde_json::Error) {
        if self.broken.is_none() {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or("");
            let what = format!("a malformed event ({text}); such events are skipped");
            self.broken = Some(Fault::new(&self.book.file, place, what));
        }
    }

    /// Converts the time of an event.
    fn time(&mut self, When { time, clock }: When) -> Time {
        if let Some(time) = time.0.filter(|time| time.is_finite()) {
            self.now = match clock.unwrap_or(self.clock) {
                Clock::Since => time,
                Clock::Delta => self.now + time,
            };
        }
        // Rounds to the nearest nanosecond, because most decimal fractions have no exact binary
        // value.
        let nanos = self.now * self.unit + 0.5;
        let shift = self.shift.get_or_insert(if nanos < 0.0 { BEFORE - nanos } else { 0.0 });
        Time((nanos + *shift) as u64)
    }

    /// Puts an event in the order of times.
    fn wait(&mut self, now: Time, group: Option<&String>, what: What) {
        let place = if self.latest.since(now) <= SKEW { now } else { self.latest };
        self.latest = self.latest.max(now);
        let at = self.waiting.iter().rposition(|other| other.place <= place);
        let waiting = Waiting { now, place, group: group.cloned(), what };
        self.waiting.insert(at.map_or(0, |at| at + 1), waiting);
        if self.waiting.len() > MOST_WAITING
            && let Some(first) = self.waiting.pop_front()
        {
            self.apply(first);
        }
    }

    /// Processes the events that wait.
    fn settle(&mut self) {
        while let Some(first) = self.waiting.pop_front() {
            self.apply(first);
        }
    }

    fn apply(&mut self, Waiting { now, group, what, .. }: Waiting) {
        let path = if let What::Packet(_, packet) = &what { packet.path } else { 0 };
        let sender = self.book.sender(group.as_ref(), path, self.sink);
        match what {
            What::Packet(Kind::Sent, packet) => {
                self.sent += u64::from(packet.space == Space::Data);
                sender.on_sent(now, &packet, self.sink);
            }
            What::Packet(Kind::Received, packet) => {
                self.acks_without_ranges +=
                    u64::from(packet.frames.acks > 0 && packet.frames.acked.is_empty());
                sender.on_received(now, &packet, self.sink);
            }
            What::Packet(Kind::Lost, packet) => sender.on_lost(now, &packet, self.sink),
            What::Packet(_, packet) => {
                if packet.space == Space::Data && !packet.numbers.is_empty() {
                    let acked = packet.numbers.iter().map(|number| (*number, *number)).collect();
                    sender.on_acked(now, &Frames { acked, ..Frames::default() }, self.sink);
                }
            }
            What::Metrics(metrics) => sender.on_metrics(now, &metrics, self.sink),
            What::Parameters(parameters) => sender.on_parameters(&parameters),
            What::Blocked(blocked) => sender.on_blocked(blocked),
            What::Spurious => sender.on_spurious(now, self.sink),
        }
    }

    fn take_header(&mut self, header: &TraceHeader) {
        self.settle();
        if let Some(common) = &header.common_fields {
            self.book.group = common.group_id.0.clone().or_else(|| common.odcid.0.clone());
            let format = common.time_format.0.as_deref().map(str::to_ascii_lowercase);
            self.clock = match format.as_deref() {
                Some("delta" | "relative_to_previous_event") => Clock::Delta,
                _ => Clock::Since,
            };
        }
        let units = header.configuration.as_ref().and_then(|of| of.time_units.0.as_deref());
        if units.is_some_and(|units| units.eq_ignore_ascii_case("us")) {
            self.unit = MICROSECOND;
        }
        if let Some(title) = header.title.0.as_ref().filter(|title| !title.is_empty()) {
            self.book.origin = format!("qlog, {title}");
        }
    }

    /// Processes one event of any form.
    fn happen(
        &mut self,
        name: &str,
        time: When,
        group: Option<&String>,
        data: Option<&RawValue>,
        place: Place,
    ) {
        self.records += 1;
        if let Some(event) = name.strip_prefix("firstflight:") {
            return self.on_own(event, data, place);
        }
        if self.is_own {
            return;
        }
        let now = self.time(time);
        let kind = Kind::of(name);
        let Some(text) = data.map(RawValue::get).filter(|_| kind != Kind::Other) else { return };
        let what = match kind {
            Kind::Sent | Kind::Received | Kind::Lost | Kind::Acked => {
                self.packets += 1;
                Packet::parse(text).map(|packet| Some(What::Packet(kind, packet)))
            }
            Kind::Metrics => serde_json::from_str(text).map(|of| Some(What::Metrics(of))),
            Kind::Parameters => serde_json::from_str(text).map(|of| Some(What::Parameters(of))),
            Kind::Blocked => serde_json::from_str::<Blocked>(text)
                .map(|event| event.by_flow_control().map(What::Blocked)),
            Kind::Spurious => Ok(Some(What::Spurious)),
            Kind::Other => Ok(None),
        };
        match what {
            Ok(Some(what)) => self.wait(now, group, what),
            Ok(None) => {}
            Err(error) => self.spoil(place, &error),
        }
    }

    fn on_own(&mut self, event: &str, data: Option<&RawValue>, place: Place) {
        self.is_own = true;
        // Signals are internal values of the algorithm, not its inputs.
        let Some(text) = data.map(RawValue::get).filter(|_| event != "signals") else { return };
        let data = match serde_json::from_str::<Map<String, Value>>(text) {
            Err(error) => return self.spoil(place, &error),
            Ok(data) => data,
        };
        let taken = qlog::read_data(Some(&data), event, &Log::default()).and_then(|entry| {
            entry.map_or(Ok(()), |entry| self.own.take(&self.book.file, &entry, self.sink))
        });
        if let Err(what) = taken {
            let what = format!("firstflight:{event}: {what}; such events are skipped");
            self.broken.get_or_insert(Fault::new(&self.book.file, place, what));
        }
    }

    /// Processes an event of the drafts before 03: an array with the fields that the header names.
    fn on_array(&mut self, values: &[&RawValue], place: Place) {
        let usual = ["time", "category", "event", "data"];
        let position = |names: &[&str]| {
            let known = self
                .fields
                .iter()
                .position(|field| names.iter().any(|name| field.eq_ignore_ascii_case(name)));
            if self.fields.is_empty() {
                usual.iter().position(|field| names.contains(field))
            } else {
                known
            }
        };
        let at = |names: &[&str]| position(names).and_then(|index| values.get(index)).copied();
        let number = |name: &str| {
            let text = at(&[name]).map(RawValue::get);
            text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        let time = When::of(number("time"), number("relative_time"), number("delta_time"));
        let name = at(&["event", "event_type", "name"])
            .and_then(|text| serde_json::from_str::<Text>(text.get()).ok())
            .and_then(|text| text.0);
        let group = at(&["group_id", "odcid"])
            .and_then(|text| serde_json::from_str::<Text>(text.get()).ok())
            .and_then(|text| text.0);
        self.happen(name.as_deref().unwrap_or(""), time, group.as_ref(), at(&["data"]), place);
    }

    /// Processes quicly's own log: one flat object per event, all on one clock in milliseconds.
    fn on_quicly(&mut self, kind: &str, text: &[u8], place: Place) {
        let event: Quicly = match serde_json::from_slice(text) {
            Ok(event) => event,
            Err(error) => return self.spoil(place, &error),
        };
        self.records += 1;
        self.book.origin = "quicly log".into();
        let now = self.time(When { time: event.time, clock: None });
        let group = event.conn.0;
        let space = match event.packet_type.0 {
            Some(0) => Space::Initial,
            Some(2) => Space::Handshake,
            _ => Space::Data,
        };
        let numbered = |frames| Packet {
            space,
            number: event.pn.0,
            bytes: event.len.0,
            frames,
            path: 0,
            is_probe: false,
            numbers: event.pn.0.into_iter().collect(),
        };
        let asks = Frames {
            listed: true,
            eliciting: event.ack_only.0.unwrap_or(0) == 0,
            ..Frames::default()
        };
        let what = match kind {
            "packet-sent" => What::Packet(Kind::Sent, numbered(asks)),
            "packet-acked" => What::Packet(Kind::Acked, numbered(Frames::default())),
            "packet-lost" => What::Packet(Kind::Lost, numbered(Frames::default())),
            "cc-ack-received" | "cc-congestion" => {
                What::Metrics(Metrics { congestion_window: event.cwnd, ..Metrics::default() })
            }
            _ => return,
        };
        self.wait(now, group.as_ref(), what);
    }
}

/// The text with its keys in lower case, because some converters write them in capitals.
fn quiet(text: &[u8]) -> Cow<'_, [u8]> {
    let shouts =
        |at: usize| at > 0 && text[at - 1].is_ascii_uppercase() && !text[..at].ends_with(b"ODCID");
    if memchr::memmem::find_iter(text, b"\":").any(shouts) {
        return text.to_ascii_lowercase().into();
    }
    text.into()
}

/// An event of quicly's own log.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct Quicly {
    time: Number,
    conn: Text,
    pn: loose::Count,
    len: loose::Count,
    packet_type: loose::Count,
    ack_only: loose::Count,
    cwnd: Number,
}

impl<S: Sink> walk::Visitor for Reading<'_, S> {
    fn header(&mut self, key: &str, value: &[u8], place: Place) {
        let value = &*quiet(value);
        match key {
            "event_fields" => match serde_json::from_slice::<Vec<Text>>(value) {
                Ok(fields) => {
                    self.fields =
                        fields.into_iter().map(|field| field.0.unwrap_or_default()).collect();
                }
                Err(error) => self.spoil(place, &error),
            },
            "common_fields" | "configuration" | "vantage_point" | "title" => {
                // Each key is parsed as a header with only that key.
                let text = [b"{\"", key.as_bytes(), b"\":", value, b"}"].concat();
                match serde_json::from_slice(&text) {
                    Ok(header) => self.take_header(&header),
                    Err(error) => self.spoil(place, &error),
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.settle();
        (self.latest, self.shift) = (Time(0), None);
        self.book.close(self.sink);
        self.own.close(self.sink);
        self.is_own = false;
        self.book.traces += 1;
        self.book.group = None;
        (self.now, self.clock, self.unit) = (0.0, Clock::Since, MILLISECOND);
        self.fields.clear();
    }

    fn event(&mut self, text: &[u8], place: Place) {
        let text = &*quiet(text);
        if text.first() == Some(&b'[') {
            match serde_json::from_slice::<Vec<&RawValue>>(text) {
                Ok(values) => self.on_array(&values, place),
                Err(error) => self.spoil(place, &error),
            }
            return;
        }
        self.record(text, place);
    }

    fn record(&mut self, text: &[u8], place: Place) {
        let text = &*quiet(text);
        let object: Object<'_> = match serde_json::from_slice(text) {
            Ok(object) => object,
            Err(error) => return self.spoil(place, &error),
        };
        if let Some(name) = object.name.as_deref().or(object.event.as_deref()) {
            let when = When::of(object.time, object.relative_time, object.delta_time);
            self.happen(name, when, object.group_id.0.as_ref(), object.data, place);
        } else if let Some(kind) = object.kind.as_deref() {
            self.on_quicly(kind, text, place);
        } else if let Some(trace) = object.trace {
            match serde_json::from_str(trace.get()) {
                Ok(header) => self.take_header(&header),
                Err(error) => self.spoil(place, &error),
            }
        }
    }

    fn unknown(&mut self, key: &str) {
        if self.keys.len() < 6 {
            self.keys.push(key.chars().take(40).collect());
        }
    }
}
