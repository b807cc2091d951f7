//! Events of all dialects as one type of record: names without their name space, and the old and
//! new places of each value.

use super::loose::{Count, Frames, Number, Raw, Text};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An event as an object (drafts since 03, and the text sequences).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Object<'a> {
    /// Time in the units of the trace.
    pub time: Number,
    /// Time since the start of the trace, whatever the trace's header says.
    pub relative_time: Number,
    /// Time since the previous event, whatever the trace's header says.
    pub delta_time: Number,
    /// `transport:packet_sent` or `quic:packet_sent`.
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    /// Name without category, in older drafts.
    #[serde(borrow)]
    pub event: Option<Cow<'a, str>>,
    /// Event data.
    #[serde(borrow)]
    pub data: Option<&'a RawValue>,
    /// Distinguishes the connections of one file.
    pub group_id: Text,
    /// Fields common to all events.
    #[serde(borrow)]
    pub trace: Option<&'a RawValue>,
    /// Event name in quicly's own log.
    #[serde(borrow, rename = "type")]
    pub kind: Option<Cow<'a, str>>,
}

/// Kind of an event, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A packet was sent.
    Sent,
    /// A packet was received.
    Received,
    /// A packet was declared lost.
    Lost,
    /// Packets were acknowledged, by number.
    Acked,
    /// The sender's metrics of path and window.
    Metrics,
    /// A declared loss proved spurious.
    Spurious,
    /// The sender's constants.
    Parameters,
    /// The sender became blocked by flow control, or unblocked.
    Blocked,
    /// Any other event.
    Other,
}

impl Kind {
    /// The kind of an event name, whatever its name space and case.
    pub(super) fn of(name: &str) -> Kind {
        let name = name.rsplit([':', '.']).next().unwrap_or(name).trim();
        // Old converters write capitals.
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("packet_sent") {
            Kind::Sent
        } else if is("packet_received") {
            Kind::Received
        } else if is("packet_lost") {
            Kind::Lost
        } else if is("packets_acked") {
            Kind::Acked
        } else if is("metrics_updated") || is("recovery_metrics_updated") {
            Kind::Metrics
        } else if is("spurious_loss") || is("spurious_congestion_event") {
            Kind::Spurious
        } else if is("parameters_set") || is("recovery_parameters_set") {
            Kind::Parameters
        } else if is("data_blocked_updated")
            || is("connection_data_blocked_updated")
            || is("stream_data_blocked_updated")
        {
            Kind::Blocked
        } else {
            Kind::Other
        }
    }
}

/// Packet number spaces; only the last carries application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
    /// Retry and version negotiation, which have no packet numbers.
    None,
}

impl Space {
    fn of(name: &str) -> Space {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("initial") {
            Space::Initial
        } else if is("handshake") {
            Space::Handshake
        } else if is("retry") || is("version_negotiation") || is("stateless_reset") {
            Space::None
        } else {
            // `1RTT`, `1rtt`, `0RTT`, `onertt`, `application_data`.
            Space::Data
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Header<'a> {
    #[serde(borrow)]
    packet_type: Option<Cow<'a, str>>,
    packet_number: Count,
    packet_size: Count,
    length: Count,
    path_id: Count,
}

/// The data of events about packets.
#[derive(Deserialize, Default)]
#[serde(default)]
struct PacketData<'a> {
    #[serde(borrow)]
    header: Option<Header<'a>>,
    #[serde(borrow)]
    packet_type: Option<Cow<'a, str>>,
    packet_number: Count,
    packet_size: Count,
    raw: Option<Raw>,
    frames: Option<Frames>,
    #[serde(borrow)]
    packet_number_space: Option<Cow<'a, str>>,
    packet_numbers: Option<Vec<Count>>,
    is_mtu_probe_packet: Option<bool>,
}

/// A packet that was sent, received or lost.
#[derive(Debug)]
pub(crate) struct Packet {
    /// Packet number space.
    pub space: Space,
    /// Packet number.
    pub number: Option<u64>,
    /// Size, UDP payload bytes.
    pub bytes: Option<u64>,
    /// Frames of the packet.
    pub frames: Frames,
    /// Path, where there are several.
    pub path: u64,
    /// It probed for a larger size, so its loss is no sign of congestion.
    pub is_probe: bool,
    /// Packet numbers of a `packets_acked` event.
    pub numbers: Vec<u64>,
}

impl Packet {
    /// Parses the data of an event.
    pub(super) fn parse(text: &str) -> Result<Packet, serde_json::Error> {
        let data: PacketData<'_> = serde_json::from_str(text)?;
        let header = data.header.unwrap_or_default();
        let space = header
            .packet_type
            .as_deref()
            .or(data.packet_type.as_deref())
            .or(data.packet_number_space.as_deref());
        let frames = data.frames.unwrap_or_default();
        let raw = data.raw.and_then(|raw| raw.length.0);
        // quicly's adapter writes no size: the data of its frames plus usual headers is close.
        let guessed = || (frames.data_bytes > 0).then_some(frames.data_bytes + OVERHEAD);
        Ok(Packet {
            space: space.map_or(Space::Data, Space::of),
            number: header.packet_number.0.or(data.packet_number.0),
            bytes: raw
                .or(header.packet_size.0)
                .or(data.packet_size.0)
                .or(header.length.0)
                .filter(|bytes| *bytes > 0)
                .or_else(guessed),
            frames,
            is_probe: data.is_mtu_probe_packet.unwrap_or(false),
            path: header.path_id.0.unwrap_or(0),
            numbers: data
                .packet_numbers
                .unwrap_or_default()
                .into_iter()
                .filter_map(|count| count.0)
                .collect(),
        })
    }
}

/// Size of short header, frame header and authentication tag around stream data.
const OVERHEAD: u64 = 32;

/// The sender's metrics of path and window; unchanged values are absent.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct Metrics {
    /// Congestion window, bytes.
    #[serde(alias = "cwnd")]
    pub congestion_window: Number,
    /// Bytes in flight.
    pub bytes_in_flight: Number,
    /// Slow start threshold, bytes.
    pub ssthresh: Number,
    /// Pacing rate, bits per second.
    pub pacing_rate: Number,
    /// The sender's estimate of the path's bandwidth, bits per second.
    #[serde(
        alias = "bandwidth",
        alias = "max_bandwidth",
        alias = "estimated_bandwidth",
        alias = "delivery_rate",
        alias = "cf_max_bandwidth"
    )]
    pub bandwidth_estimate: Number,
}

/// The sender's constants.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct Parameters {
    /// Initial congestion window, bytes.
    #[serde(alias = "initial_cwnd")]
    pub initial_congestion_window: Number,
    /// Maximum datagram size, bytes.
    pub max_datagram_size: Number,
}

/// Reason why no data may be sent, or the end of such a state.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct Blocked {
    new: Text,
    reason: Text,
}

impl Blocked {
    /// Whether flow control blocks the sender; `None` if the event is about something else.
    pub(super) fn by_flow_control(&self) -> Option<bool> {
        let is = |text: &Text, word: &str| {
            text.0.as_ref().is_some_and(|text| text.to_ascii_lowercase().contains(word))
        };
        let blocked = !is(&self.new, "unblocked");
        (!blocked || self.reason.0.is_none() || is(&self.reason, "flow_control")).then_some(blocked)
    }
}

/// The header of a trace.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct TraceHeader {
    /// Title for people.
    pub title: Text,
    /// Fields common to all events.
    pub common_fields: Option<CommonFields>,
    /// Units.
    pub configuration: Option<Configuration>,
}

/// Fields common to all events of a trace.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct CommonFields {
    /// Name of the connection.
    pub group_id: Text,
    /// Another name of the connection.
    #[serde(rename = "ODCID", alias = "odcid")]
    pub odcid: Text,
    /// `absolute`, `relative`, `delta` or one of their newer names.
    pub time_format: Text,
}

/// Units in the old drafts.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct Configuration {
    /// `ms` or `us`.
    pub time_units: Text,
}
