//! The log as qlog, version 0.3, the latest that qvis opens (draft-ietf-quic-qlog-main-schema-05,
//! draft-ietf-quic-qlog-quic-events-04).
//!
//! In addition to the standard events, which viewers draw, each of our events is written as
//! `firstflight:*` with all its fields. Viewers skip unknown events, and a replay needs only these.

use super::fields::{Cell, Row, since_ms};
use super::{Entry, Log, Packet, Ranges, Received, State, What};
use crate::Error;
use firstflight::{Event, Phase, Time};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::{self, BufRead, Write};

const VERSION: &str = "0.3";
/// RFC 7464: separator before each record of a text sequence.
const RECORD: u8 = 0x1e;
/// Prefix of our event names.
const OURS: &str = "firstflight:";

/// An end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that sends the object.
    Sender,
    /// The end that receives the object.
    Receiver,
}

impl End {
    /// Name in file names.
    pub const fn name(self) -> &'static str {
        match self {
            End::Sender => "sender",
            End::Receiver => "receiver",
        }
    }

    /// In qlog the end that sends the object is the server.
    const fn vantage(self) -> &'static str {
        match self {
            End::Sender => "server",
            End::Receiver => "client",
        }
    }
}

#[derive(Serialize)]
struct VantagePoint {
    name: &'static str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct CommonFields {
    time_format: &'static str,
    reference_time: f64,
    protocol_type: [&'static str; 1],
    group_id: String,
}

/// Header of the events of one end.
#[derive(Serialize)]
struct Head {
    title: String,
    description: String,
    vantage_point: VantagePoint,
    common_fields: CommonFields,
}

#[derive(Serialize)]
struct Record<'a> {
    time: f64,
    name: &'a str,
    data: Value,
}

#[derive(Serialize)]
struct File<'a, T> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    trace: T,
}

fn head(trace: &Log, end: End) -> Head {
    let start = trace.start().cloned().unwrap_or_default();
    let protocol = if start.transport == "tcp" { "TCP" } else { "QUIC" };
    Head {
        title: format!("{} on {}, seed {}, {}", start.arm, start.path, start.seed, end.name()),
        description: format!(
            "{} of {} bytes with {} on testbed {} ({})",
            end.name(),
            start.object_bytes,
            start.arm_full,
            start.testbed,
            start.stack
        ),
        vantage_point: VantagePoint { name: end.name(), r#type: end.vantage() },
        common_fields: CommonFields {
            time_format: "relative",
            reference_time: 0.0,
            protocol_type: [protocol],
            group_id: format!("{}-{}-{}", start.arm, start.seed, start.round),
        },
    }
}

/// Writes one end as a text sequence, `.sqlog`, for which nothing needs to be known before the
/// first event.
///
/// # Errors
/// The errors of the writer.
pub fn write_sequence(trace: &Log, end: End, out: &mut dyn Write) -> io::Result<()> {
    let head = head(trace, end);
    let title = head.title.clone();
    out.write_all(&[RECORD])?;
    serde_json::to_writer(
        &mut *out,
        &File { qlog_version: VERSION, qlog_format: "JSON-SEQ", title: &title, trace: head },
    )?;
    out.write_all(b"\n")?;
    events(trace, end, &mut |event| {
        out.write_all(&[RECORD])?;
        serde_json::to_writer(&mut *out, event)?;
        out.write_all(b"\n")
    })
}

/// Starts a text sequence for events of many connections. Each event names its connection; times
/// count from `reference_ms` after 1970.
///
/// # Errors
/// The errors of the writer.
pub fn begin_many(title: &str, reference_ms: f64, out: &mut dyn Write) -> io::Result<()> {
    let trace = json!({
        "title": title,
        "vantage_point": {"name": End::Sender.name(), "type": End::Sender.vantage()},
        "common_fields": {"time_format": "relative", "reference_time": reference_ms, "protocol_type": ["TCP"]},
    });
    out.write_all(&[RECORD])?;
    serde_json::to_writer(
        &mut *out,
        &File { qlog_version: VERSION, qlog_format: "JSON-SEQ", title, trace },
    )?;
    out.write_all(b"\n")
}

/// Appends our events of one connection to such a sequence; times are those of the entries.
///
/// # Errors
/// The errors of the writer.
pub fn append_many(trace: &Log, group: &str, out: &mut dyn Write) -> io::Result<()> {
    for entry in &trace.entries {
        let name = format!("{OURS}{}", entry.what.name());
        let event = json!({"time": since_ms(entry.now, Time(0)), "name": name, "group_id": group, "data": own_data(entry)});
        out.write_all(&[RECORD])?;
        serde_json::to_writer(&mut *out, &event)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes both ends of all traces into one self-contained file, `.qlog`.
///
/// # Errors
/// The errors of the writer.
pub fn write_contained(traces: &[&Log], out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{{\"qlog_version\":\"{VERSION}\",\"qlog_format\":\"JSON\",\"title\":\"firstflight\",\"traces\":["
    )?;
    let mut first = true;
    for trace in traces {
        for end in [End::Sender, End::Receiver] {
            if end == End::Receiver && trace.receiver.is_empty() {
                continue;
            }
            out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
            let head = serde_json::to_string(&head(trace, end))?;
            // The events become another member of the header object.
            write!(out, "{},\"events\":[", head.strip_suffix('}').unwrap_or(&head))?;
            let mut first = true;
            events(trace, end, &mut |event| {
                out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *out, event).map_err(io::Error::from)
            })?;
            out.write_all(b"]}")?;
        }
    }
    out.write_all(b"]}\n")
}

type Sink<'s> = dyn FnMut(&Record<'_>) -> io::Result<()> + 's;

fn events(trace: &Log, end: End, sink: &mut Sink<'_>) -> io::Result<()> {
    match end {
        End::Sender => sender(trace, sink),
        End::Receiver => receiver(trace, sink),
    }
}

/// The start of the log; times count from it, because standard qlog times are not negative.
fn origin(trace: &Log) -> Time {
    trace.entries.first().map_or(Time(0), |entry| entry.now)
}

/// The last reported state of the sender; only changes are reported.
#[derive(Default)]
struct Known {
    metrics: Map<String, Value>,
    phase: Option<Phase>,
    signals: Vec<Option<u64>>,
    acks: u64,
}

fn sender(trace: &Log, sink: &mut Sink<'_>) -> io::Result<()> {
    let origin = origin(trace);
    let mut known = Known::default();
    for entry in &trace.entries {
        let time = since_ms(entry.now, origin);
        let name = format!("{OURS}{}", entry.what.name());
        sink(&Record { time, name: &name, data: own_data(entry) })?;
        standard(entry, time, &mut known, sink)?;
        // `Ready` changes nothing that viewers draw.
        let drawn = !matches!(&entry.what, What::Event { event: Event::Ready(_), .. });
        if let Some(state) =
            entry.state.as_ref().filter(|state| drawn || known.phase != Some(state.phase))
        {
            tell_state(state, entry, time, &mut known, sink)?;
        }
        tell_signals(trace, entry, time, &mut known, sink)?;
    }
    Ok(())
}

fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Name(text) => Value::from(text.into_owned()),
        Cell::Whole(number) => Value::from(number),
        Cell::Real(number) => Value::from(number),
        Cell::Flag(flag) => Value::from(flag),
    }
}

fn own_data(entry: &Entry) -> Value {
    let mut data = Map::new();
    data.insert("now_ns".into(), entry.now.0.into());
    entry.fields(&mut |name, cell| {
        data.insert(name.into(), value(cell));
    });
    Value::Object(data)
}

/// Writes the corresponding standard events.
fn standard(entry: &Entry, time: f64, known: &mut Known, sink: &mut Sink<'_>) -> io::Result<()> {
    match &entry.what {
        What::Start(start) => {
            if let Some(config) = &start.config {
                let data = json!({"initial_congestion_window": config.initial_window, "max_datagram_size": config.mss});
                sink(&Record { time, name: "recovery:parameters_set", data })?;
            }
        }
        What::Event { event, packet, acked, lost } => {
            if let (Event::Sent(_), Some(packet)) = (event, packet) {
                sink(&Record { time, name: "transport:packet_sent", data: data_packet(packet) })?;
            }
            if !acked.is_empty() {
                let data = ack_packet(known.acks, acked, None);
                known.acks += 1;
                sink(&Record { time, name: "transport:packet_received", data })?;
            }
            for number in lost.iter().flat_map(|(from, to)| *from..=*to) {
                let data = json!({"header": {"packet_type": "1RTT", "packet_number": number}});
                sink(&Record { time, name: "recovery:packet_lost", data })?;
            }
        }
        What::Exit(_) | What::ExitWithdrawn => {}
    }
    Ok(())
}

fn data_packet(packet: &Packet) -> Value {
    let mut data = json!({"header": {"packet_type": "1RTT", "packet_number": packet.number}, "raw": {"length": packet.bytes}});
    if let Some((offset, len)) = packet.stream {
        data["frames"] =
            json!([{"frame_type": "stream", "stream_id": 0, "offset": offset, "length": len}]);
    }
    data
}

fn ack_packet(number: u64, acked: &Ranges, bytes: Option<u64>) -> Value {
    let ranges: Vec<Value> = acked.iter().map(|(from, to)| json!([from, to])).collect();
    let mut data = json!({
        "header": {"packet_type": "1RTT", "packet_number": number},
        "frames": [{"frame_type": "ack", "acked_ranges": ranges}],
    });
    if let Some(bytes) = bytes {
        data["raw"] = json!({"length": bytes});
    }
    data
}

/// Name of a phase in `recovery:congestion_state_updated`; the standard name where there is one.
const fn state_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "slow_start",
        Phase::Jump => "jump_start",
        Phase::Rapid => "rapid_start",
        Phase::Css => "conservative_slow_start",
        Phase::Lss => "limited_slow_start",
        Phase::Drain => "drain",
        Phase::Recovery => "recovery",
        Phase::Avoidance => "congestion_avoidance",
    }
}

fn tell_state(
    state: &State,
    entry: &Entry,
    time: f64,
    known: &mut Known,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    if known.phase != Some(state.phase) {
        let mut data = json!({"new": state_name(state.phase)});
        if let Some(old) = known.phase {
            data["old"] = state_name(old).into();
        }
        known.phase = Some(state.phase);
        sink(&Record { time, name: "recovery:congestion_state_updated", data })?;
    }
    let srtt = match &entry.what {
        What::Event { event: Event::Ack(ack, _), .. } => ack.srtt,
        What::Event { event: Event::HandshakeRtt { rtt, .. }, .. } => Some(*rtt),
        _ => None,
    };
    let ms =
        |nanos: Option<firstflight::Nanos>| nanos.map(|nanos| Value::from(nanos.0 as f64 / 1e6));
    let metrics = [
        ("min_rtt", ms(state.min_rtt)),
        ("smoothed_rtt", ms(srtt)),
        ("latest_rtt", ms(state.rtt)),
        ("congestion_window", Some(state.cwnd.into())),
        ("bytes_in_flight", Some(state.inflight.into())),
        ("ssthresh", state.ssthresh.map(Value::from)),
        ("pacing_rate", state.pacing_rate.map(|rate| Value::from(rate.saturating_mul(8)))),
    ];
    let mut changed = Map::new();
    for (name, value) in metrics.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        if known.metrics.get(name) != Some(&value) {
            known.metrics.insert(name.into(), value.clone());
            changed.insert(name.into(), value);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    sink(&Record { time, name: "recovery:metrics_updated", data: Value::Object(changed) })
}

fn tell_signals(
    trace: &Log,
    entry: &Entry,
    time: f64,
    known: &mut Known,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let mut changed = Map::new();
    for (index, (name, value)) in trace.names.iter().zip(&entry.signals).enumerate() {
        if known.signals.len() <= index {
            known.signals.resize(index + 1, None);
        }
        if let Some(number) = value.filter(|_| known.signals[index] != *value) {
            known.signals[index] = *value;
            changed.insert(name.clone(), number.into());
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    sink(&Record { time, name: "firstflight:signals", data: Value::Object(changed) })
}

fn receiver(trace: &Log, sink: &mut Sink<'_>) -> io::Result<()> {
    let origin = origin(trace);
    let mut acks = 0;
    for (at, what) in &trace.receiver {
        let time = since_ms(*at, origin);
        match what {
            Received::Data { number, bytes, stream } => {
                let packet =
                    Packet { number: *number, bytes: *bytes, stream: *stream, ..Packet::default() };
                sink(&Record {
                    time,
                    name: "transport:packet_received",
                    data: data_packet(&packet),
                })?;
            }
            Received::Acknowledged { bytes, packets } => {
                let data = ack_packet(acks, packets, Some(*bytes));
                acks += 1;
                sink(&Record { time, name: "transport:packet_sent", data })?;
            }
        }
    }
    Ok(())
}

/// Reads our events from a sender's log written by [`write_sequence`].
///
/// # Errors
/// A message with the number of the record that cannot be read.
pub fn read_sequence(text: &mut dyn BufRead) -> Result<Log, Error> {
    let mut trace = Log::default();
    for (line, number) in text.lines().zip(1_u64..) {
        let bad = |what: String| Error::new(format!("record {number}: {what}"));
        let line = line.map_err(|error| bad(error.to_string()))?;
        let record: Value = serde_json::from_str(line.trim_start_matches(char::from(RECORD)))
            .map_err(|error| bad(error.to_string()))?;
        let Some(event) = record["name"].as_str().and_then(|name| name.strip_prefix(OURS)) else {
            continue;
        };
        let data = &record["data"];
        if event == "signals" {
            let Some(last) = trace.entries.last_mut() else { continue };
            for (name, value) in data.as_object().into_iter().flatten() {
                let place =
                    trace.names.iter().position(|known| known == name).unwrap_or_else(|| {
                        trace.names.push(name.clone());
                        trace.names.len() - 1
                    });
                last.signals.resize(last.signals.len().max(place + 1), None);
                last.signals[place] = value.as_u64();
            }
            continue;
        }
        // Signals are written as a separate event.
        let names = std::mem::take(&mut trace.names);
        let entry = read_data(data.as_object(), event, &trace).map_err(bad);
        trace.names = names;
        trace.entries.extend(entry?);
    }
    Ok(trace)
}

/// Parses our event of this name with these members; `None` for an event that a later version
/// added.
///
/// # Errors
/// A short description of what is missing or invalid.
pub fn read_data(
    data: Option<&Map<String, Value>>,
    event: &str,
    trace: &Log,
) -> Result<Option<Entry>, String> {
    let get = |name: &str| match data?.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text.as_str())),
        other => Some(Cow::Owned(other.to_string())),
    };
    Row(&get).entry(event, trace)
}
