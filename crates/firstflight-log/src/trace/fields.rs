//! The columns of a log, and the conversion between records and fields: one set of tables for all
//! formats. The tables of controller inputs and startup exits are the core's ([`EVENT`], [`EXIT`]);
//! all others are here.

use super::{Entry, Log, Packet, Ranges, Start, State, What};
use firstflight::event::Transport;
use firstflight::fields::{Datum, EVENT, EXIT, Field, Value, put};
use firstflight::named::Wrong;
use firstflight::{Config, Event, Exit, ExitReason, Nanos, Time, fields};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

pub use firstflight::fields::Kind;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type of the value.
    pub kind: Kind,
    /// Unit; empty for a count, a position or a name.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text.
    Name(Cow<'a, str>),
    /// Unsigned integer.
    Whole(u64),
    /// Real number.
    Real(f64),
    /// Boolean.
    Flag(bool),
}

impl<'a> From<Value<'a>> for Cell<'a> {
    fn from(value: Value<'a>) -> Cell<'a> {
        match value {
            Value::Name(name) => Cell::Name(Cow::Borrowed(name)),
            Value::Ratio(ratio) => Cell::Name(format!("{}/{}", ratio.num(), ratio.den()).into()),
            Value::Whole(number) => Cell::Whole(number),
            Value::Real(number) => Cell::Real(number),
            Value::Flag(flag) => Cell::Flag(flag),
        }
    }
}

/// Texts as values; an empty text is absent. The methods are those of [`Datum`].
trait Text {
    fn value(&self) -> Option<Value<'_>>;
    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong>;
}

impl Text for String {
    fn value(&self) -> Option<Value<'_>> {
        (!self.is_empty()).then_some(Value::Name(self))
    }

    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong> {
        put(self, text, needed, "a text", |text| Some(text.to_owned()))
    }
}

const fn column(name: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Column {
    Column { name, kind, unit, doc }
}

/// Time and name, common to all events.
const FIRST: [Column; 2] = [
    column("time_ms", Kind::Real, "ms", "since the trial began"),
    column("event", Kind::Name, "", "what happened"),
];
const CONNECTION: [Column; 2] = [
    column("connection", Kind::Whole, "", "which connection of the file, from 0"),
    column("now_ns", Kind::Whole, "ns", "the controller's own clock"),
];
const PACKETS: [Column; 2] = [
    column("acked_packets", Kind::Name, "", "ranges of what was newly acknowledged"),
    column("lost_packets", Kind::Name, "", "ranges of what was newly declared lost"),
];

fields! {
    /// The sender's window right after an event.
    WINDOW: State {
        "cwnd" Whole "bytes" "congestion window": at in [State { cwnd: at, .. }];
        "ssthresh" Whole "bytes" "slow-start threshold": at in [State { ssthresh: at, .. }];
        "inflight" Whole "bytes" "in flight": at in [State { inflight: at, .. }];
    }
}

/// A field in milliseconds or Mbit/s, optional, with conversions in both directions.
macro_rules! real {
    ($name:literal, $unit:literal, $doc:literal, $field:ident, $to:expr, $from:expr) => {
        Field::new(
            ($name, Kind::Real, $unit, $doc),
            |state: &State| state.$field.map(|value| Value::Real($to(value))),
            |state, text| {
                put(&mut state.$field, text, false, "a number", |text| {
                    text.parse().ok().map(|number: f64| Some($from(number)))
                })
            },
        )
    };
}

fn ms(nanos: Nanos) -> f64 {
    nanos.0 as f64 / 1e6
}

fn nanos(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as u64)
}

/// The sender's pacing and RTT right after an event, in readable units.
static PACE: &[Field<State>] = &[
    real!(
        "pacing_mbps",
        "Mbit/s",
        "pacing rate",
        pacing_rate,
        |rate| rate as f64 * 8e-6,
        |mbps: f64| (mbps / 8e-6).round() as u64
    ),
    real!("rtt_ms", "ms", "RTT sample of the event", rtt, ms, nanos),
    real!("min_rtt_ms", "ms", "smallest RTT so far", min_rtt, ms, nanos),
];

fields! {
    /// The sender's delivery state right after an event, and the state of the path.
    DELIVERY: State {
        "delivered_bytes" Whole "bytes" "delivered in order at the receiver": at in [State { delivered: at, .. }];
        "lost_bytes" Whole "bytes" "newly declared lost": at in [State { lost: at, .. }];
        "queue_bytes" Whole "bytes" "waiting at the bottleneck": at in [State { queue: at, .. }];
        "phase" Name "" "what the sender is doing" needed: at in [State { phase: at, .. }];
    }
}

fields! {
    /// The start of a connection.
    START: Start {
        "arm" Name "" "the arm as it was asked for": at in [Start { arm: at, .. }];
        "arm_full" Name "" "the arm in full": at in [Start { arm_full: at, .. }];
        "path" Name "" "the path in full": at in [Start { path: at, .. }];
        "path_name" Name "" "its short name": at in [Start { path_name: at, .. }];
        "testbed" Name "" "where it ran": at in [Start { testbed: at, .. }];
        "stack" Name "" "what sent and received there": at in [Start { stack: at, .. }];
        "transport" Name "" "quic or tcp": at in [Start { transport: at, .. }];
        "detection" Name "" "preset of loss detection": at in [Start { detection: at, .. }];
        "seed" Whole "" "seed of the path's draws": at in [Start { seed: at, .. }];
        "round" Whole "" "which repeat, from 0": at in [Start { round: at, .. }];
        "object_bytes" Whole "bytes" "object size": at in [Start { object_bytes: at, .. }];
        "start_ns" Whole "ns" "the controller's clock when the trial began": at in [Start { start: at, .. }];
        "path_rate_bps" Whole "bit/s" "rate of the bottleneck": at in [Start { rate_bps: at, .. }];
        "path_rtt_ns" Whole "ns" "idle round trip": at in [Start { rtt: at, .. }];
        "path_queue_bytes" Whole "bytes" "queue capacity; empty without a limit": at in [Start { queue_bytes: at, .. }];
        "mss" Whole "bytes" "largest packet": at in [Start { config: Some(Config { mss: at, .. }), .. }];
        "initial_window_bytes" Whole "bytes" "initial window": at in [Start { config: Some(Config { initial_window: at, .. }), .. }];
        "paced" Flag "" "a pacer releases the packets": at in [Start { config: Some(Config { paced: at, .. }), .. }];
        "max_burst_bytes" Whole "bytes" "largest burst of one send call": at in [Start { config: Some(Config { max_burst: at, .. }), .. }];
        "recovery_gain" Name "" "pacing gain in recovery": at in [Start { config: Some(Config { recovery_gain: at, .. }), .. }];
        "idle_restart" Flag "" "the window falls back after an idle period": at in [Start { config: Some(Config { idle_restart: at, .. }), .. }];
        "oracle_exit_bytes" Whole "bytes" "best exit window": at in [Start { config: Some(_), oracle_exit_bytes: at, .. }];
        "source" Name "" "controller, wire or kernel": at in [Start { source: at, .. }];
        "endpoints" Name "" "port of the sender, address and port of the receiver": at in [Start { endpoints: at, .. }];
        "nxt" Whole "" "first packet or sequence number": at in [Start { config: Some(_), nxt: at, .. }];
        "sack" Flag "" "the connection uses SACK (TCP)": at in [Start { config: Some(Config { sack: at, .. }), .. }];
    }
}

fields! {
    /// A packet that was sent.
    PACKET: Packet {
        "packet_number" Whole "" "packet number (QUIC) or ordinal of the transmission (TCP)": at in [Packet { number: at, .. }];
        "packet_bytes" Whole "bytes" "its IP bytes": at in [Packet { bytes: at, .. }];
        "packet_offset" Whole "bytes" "place of its first byte in the object": at in [Packet { stream: Some((at, _)), .. }];
        "packet_payload_bytes" Whole "bytes" "bytes of the object in it": at in [Packet { stream: Some((_, at)), .. }];
        "repeat" Flag "" "it was sent before": at in [Packet { repeat: at, .. }];
        "dropped" Flag "" "the path dropped it": at in [Packet { dropped: at, .. }];
    }
}

/// The columns of the table, signals excepted: the fields of all tables in order, each name once.
/// New columns go to the end of their table and raise [`super::csv::SCHEMA`].
pub static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    fn of<R>(table: &'static [Field<R>]) -> impl Iterator<Item = Column> {
        table.iter().map(|field| column(field.name, field.kind, field.unit, field.doc))
    }
    let state = of(WINDOW).chain(of(PACE)).chain(of(DELIVERY));
    let told = of(EVENT).chain(of(PACKET)).chain(PACKETS).chain(of(EXIT));
    let all = FIRST.into_iter().chain(state).chain(CONNECTION).chain(of(START)).chain(told);
    let mut columns: Vec<Column> = Vec::new();
    for column in all {
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }
    columns
});

/// Prefix of a signal's name in the table.
pub const SIGNAL: &str = "signal_";

type Put<'p> = dyn FnMut(&'static str, Cell<'_>) + 'p;

fn visit<R>(table: &'static [Field<R>], record: &R, put: &mut Put<'_>) {
    for field in table {
        if let Some(value) = field.get(record) {
            put(field.name, value.into());
        }
    }
}

fn in_words(ranges: &Ranges) -> String {
    let mut text = String::new();
    for (from, to) in ranges {
        let gap = if text.is_empty() { "" } else { " " };
        let _ =
            if from == to { write!(text, "{gap}{from}") } else { write!(text, "{gap}{from}-{to}") };
    }
    text
}

impl Entry {
    /// Visits the event's own fields, without the fields common to all events; fields that do not
    /// apply are left out.
    pub fn fields(&self, put: &mut Put<'_>) {
        match &self.what {
            What::Start(start) => visit(START, start, put),
            What::Event { event, packet, acked, lost } => {
                visit(EVENT, event, put);
                if let Some(packet) = packet {
                    visit(PACKET, packet, put);
                }
                for (column, ranges) in PACKETS.iter().zip([acked, lost]) {
                    if !ranges.is_empty() {
                        put(column.name, Cell::Name(Cow::Owned(in_words(ranges))));
                    }
                }
            }
            What::Exit(exit) => visit(EXIT, exit, put),
            What::ExitWithdrawn => {}
        }
    }

    /// Visits every cell of the event's row in the table, signals excepted. Times count from
    /// `start`.
    pub fn cells(&self, connection: u32, start: Time, put: &mut Put<'_>) {
        put("time_ms", Cell::Real(since_ms(self.now, start)));
        put("event", Cell::Name(Cow::Borrowed(self.what.name())));
        put("connection", Cell::Whole(u64::from(connection)));
        put("now_ns", Cell::Whole(self.now.0));
        if let Some(state) = &self.state {
            for table in [WINDOW, PACE, DELIVERY] {
                visit(table, state, put);
            }
        }
        self.fields(put);
    }
}

/// Milliseconds from `start` to `now`, negative if that is before it.
pub(crate) fn since_ms(now: Time, start: Time) -> f64 {
    if now >= start { (now.0 - start.0) as f64 / 1e6 } else { -((start.0 - now.0) as f64 / 1e6) }
}

/// Looks up a field by name; `None` if it is missing or empty.
pub struct Row<'a>(pub &'a dyn Fn(&str) -> Option<Cow<'a, str>>);

impl Row<'_> {
    /// Takes every field of the table from the row.
    fn take<R>(&self, table: &'static [Field<R>], record: &mut R) -> Result<(), String> {
        for field in table {
            let text = (self.0)(field.name);
            field.put(record, text.as_deref()).map_err(|wrong| match wrong {
                Wrong::Absent => format!("the field `{}` is missing", field.name),
                Wrong::Not(what) => {
                    let text = text.unwrap_or_default();
                    format!("{} `{text}`; allowed: {what}", field.name)
                }
            })?;
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        (self.0)(name).is_some()
    }

    fn ranges(&self, name: &str) -> Result<Ranges, String> {
        let range = |word: &str| {
            let (from, to) = word.split_once('-').unwrap_or((word, word));
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let text = (self.0)(name).unwrap_or_default();
        text.split_whitespace()
            .map(|word| {
                range(word).ok_or_else(|| format!("{name} has `{word}`, which is not a range"))
            })
            .collect()
    }

    /// Fields that a log leaves out of a configuration get the transport's defaults.
    fn start(&self, now: Time) -> Result<Start, String> {
        let mut start = Start { start: now, ..Start::default() };
        if let Some(mss) = (self.0)("mss") {
            let mss = mss.parse().map_err(|_| format!("mss `{mss}`; allowed: a whole number"))?;
            let mut transport = Transport::default();
            transport
                .put((self.0)("transport").as_deref(), true)
                .map_err(|_| self.transport_wrong())?;
            start.config = Some(match transport {
                Transport::Quic => Config::quic(mss),
                Transport::Tcp => Config::tcp(mss),
            });
            start.oracle_exit_bytes = u64::MAX;
        }
        self.take(START, &mut start)?;
        Ok(start)
    }

    fn transport_wrong(&self) -> String {
        let allowed = <Transport as firstflight::named::Named>::NAMES;
        (self.0)("transport").map_or_else(
            || "the field `transport` is missing".into(),
            |text| format!("transport `{text}`; allowed: {allowed}"),
        )
    }

    fn packet(&self) -> Result<Option<Packet>, String> {
        if !self.has("packet_number") {
            return Ok(None);
        }
        let in_stream = self.has("packet_offset") && self.has("packet_payload_bytes");
        let mut packet = Packet { stream: in_stream.then_some((0, 0)), ..Packet::default() };
        self.take(PACKET, &mut packet)?;
        Ok(Some(packet))
    }

    fn exit(&self) -> Result<Exit, String> {
        let mut exit = Exit {
            reason: ExitReason::Loss,
            at: Time(0),
            since_first_send: Nanos::ZERO,
            rounds: 0,
            detect_cwnd: 0,
            cwnd: 0,
            inflight: 0,
            estimate: None,
        };
        self.take(EXIT, &mut exit)?;
        Ok(exit)
    }

    fn state(&self) -> Result<Option<State>, String> {
        if !self.has("cwnd") {
            return Ok(None);
        }
        let mut state = State::default();
        for table in [WINDOW, PACE, DELIVERY] {
            self.take(table, &mut state)?;
        }
        Ok(Some(state))
    }

    /// Parses the event of this name from these fields, including any common ones. `None` for an
    /// event that a later version added.
    ///
    /// # Errors
    /// A short description of what is missing or invalid.
    pub fn entry(&self, event: &str, trace: &Log) -> Result<Option<Entry>, String> {
        let mut now = Time(0);
        now.put((self.0)("now_ns").as_deref(), true)
            .map_err(|_| "now_ns is missing or not a whole number".to_owned())?;
        let what = match event {
            "start" => What::Start(Box::new(self.start(now)?)),
            "exit" => What::Exit(self.exit()?),
            "exit_withdrawn" => What::ExitWithdrawn,
            _ => {
                let Some(mut told) = Event::blank(event, now) else { return Ok(None) };
                self.take(EVENT, &mut told)?;
                let (acked, lost) = (self.ranges(PACKETS[0].name)?, self.ranges(PACKETS[1].name)?);
                What::Event { event: told, packet: self.packet()?, acked, lost }
            }
        };
        let signal = |name: &String| {
            let mut value: Option<u64> = None;
            let text = (self.0)(&format!("{SIGNAL}{name}"));
            value.put(text.as_deref(), false).map(|()| value)
        };
        let signals = trace
            .names
            .iter()
            .map(signal)
            .collect::<Result<_, _>>()
            .map_err(|_| "a signal is not a whole number".to_owned())?;
        Ok(Some(Entry { now, what, state: self.state()?, signals }))
    }
}
