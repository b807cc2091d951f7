//! iperf3's JSON: one row per second and stream. It shows the path; startups need ACKs.

use crate::fault::{Fault, Place};
use crate::rows::{AckRow, Ledger, USUAL_MSS};
use crate::step::{Extent, Sink, Stated};
use firstflight::event::Transport;
use firstflight::units::MAX_BYTES;
use firstflight::{Nanos, Time};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::io::Read;

/// Largest report; hours of a test with many streams fit.
const MOST: u64 = 1 << 28;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    start: Start,
    intervals: Vec<Interval>,
    error: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Start {
    tcp_mss: Option<u64>,
    tcp_mss_default: Option<u64>,
    #[serde(rename = "test_start")]
    test: Test,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Test {
    protocol: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Interval {
    streams: Vec<Stream>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stream {
    socket: i64,
    start: f64,
    end: f64,
    bytes: f64,
    retransmits: Option<f64>,
    snd_cwnd: Option<f64>,
    /// Microseconds.
    rtt: Option<f64>,
    omitted: bool,
}

/// A line of `iperf3 --json-stream`.
#[derive(Deserialize)]
struct Event<'a> {
    event: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The report of a file: one object, or the events of `--json-stream` up to the first that cannot be
/// read, with the reason.
fn report(text: &[u8]) -> Result<(Report, Option<serde_json::Error>), serde_json::Error> {
    let events = serde_json::Deserializer::from_slice(text).into_iter::<Event<'_>>();
    let (mut report, mut broken) = (Report::default(), None);
    for event in events {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                broken = Some(error);
                break;
            }
        };
        let data = event.data.get();
        match event.event.as_str() {
            "start" => report.start = serde_json::from_str(data)?,
            "interval" => report.intervals.push(serde_json::from_str(data)?),
            "error" => report.error = serde_json::from_str(data)?,
            _ => {}
        }
    }
    if report.intervals.is_empty() && report.error.is_none() {
        return Ok((serde_json::from_slice(text)?, None));
    }
    Ok((report, broken))
}

/// Whether the start of a file has the keys that iperf3 writes first.
pub(crate) fn is_iperf(head: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    has(b"\"start\"") && has(b"\"connected\"") && (has(b"\"iperf") || has(b"\"tcp_mss"))
}

/// Reads a report.
///
/// # Errors
/// If the text is not an iperf3 report, or is a report of UDP or of the receiving end.
pub(crate) fn read(
    file: &str,
    bytes: Box<dyn Read>,
    sink: &mut impl Sink,
) -> Result<Extent, Fault> {
    let fault = |what: String| Fault::new(file, Place::File, what);
    let mut text = Vec::new();
    bytes
        .take(MOST)
        .read_to_end(&mut text)
        .map_err(|error| fault(format!("cannot be read further: {error}")))?;
    let malformed = |error| fault(format!("malformed JSON of iperf3: {error}"));
    let (report, broken) = report(&text).map_err(malformed)?;
    if report.start.test.protocol.eq_ignore_ascii_case("udp") {
        return Err(fault("iperf3 over UDP: nothing is acknowledged".into()));
    }
    let streams = || report.intervals.iter().flat_map(|interval| &interval.streams);
    if let Some(error) = report.error.filter(|_| report.intervals.is_empty()) {
        return Err(fault(format!("iperf3 ended with an error: {error}")));
    }
    let all: Vec<&Stream> =
        streams().filter(|stream| stream.end > stream.start && !stream.omitted).collect();
    if all.iter().all(|stream| stream.rtt.is_none()) {
        return Err(fault(
            "an iperf3 report of the receiver, or of a system without `rtt`; the sender's report is needed".into(),
        ));
    }
    let longest = all.iter().map(|stream| stream.end - stream.start).fold(0.0, f64::max);
    let nanos = |seconds: f64| (seconds.clamp(0.0, 1e9) * 1e9) as u64;
    let stated = Stated {
        loss_unknown: all.iter().all(|stream| stream.retransmits.is_none()),
        coarse: Some(Nanos(nanos(longest))),
        ..Stated::default()
    };
    let mss = report.start.tcp_mss.or(report.start.tcp_mss_default).filter(|mss| *mss > 0);
    let mss = mss.unwrap_or(USUAL_MSS).clamp(1, 65_536);
    let several = all.iter().any(|stream| stream.socket != all[0].socket);
    let mut ledger = Ledger::new(file, "iperf3, one row per interval", stated);
    let whole = |value: f64| (value.clamp(0.0, MAX_BYTES as f64)) as u64;
    for stream in &all {
        let key = if several { format!("stream {}", stream.socket) } else { String::new() };
        let row = AckRow {
            now: Time(nanos(stream.end)),
            acked: whole(stream.bytes),
            rtt: stream.rtt.filter(|rtt| *rtt > 0.0).map(|rtt| Nanos(nanos(rtt / 1e6))),
            lost: whole(stream.retransmits.unwrap_or(0.0) * mss as f64),
            mss,
            inflight: stream.snd_cwnd.map(whole),
            cwnd: stream.snd_cwnd.map(whole),
            ..AckRow::default()
        };
        let taken = ledger.take(&key, || None, Transport::Tcp, &row, sink);
        if let Err(what) = taken {
            sink.remark(fault(what));
        }
    }
    let connections = ledger.end(sink);
    if let Some(error) = broken {
        sink.remark(malformed(error));
    }
    Ok(Extent { bytes: text.len() as u64, records: all.len() as u64, connections })
}
