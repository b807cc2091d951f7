//! Traces of our own (`docs/traces.md`): every call a controller got, so that the arm that ran can
//! be replayed to the same ACK. The same fields stand in the columns of a table and in
//! `firstflight:*` events of a qlog.

use crate::trace::{Id, Opening, Ran, Recorded, Sink, Step};
use firstflight::event::{Ready, Timeout, Transport};
use firstflight::startup::ExitReason;
use firstflight::{Ack, Config, Congestion, Nanos, Ratio, Sent, Seq, Time};
use serde::Deserialize;

/// One row or event. What does not belong to the event is absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the fields of docs/traces.md under their own names")]
pub struct Row {
    pub event: String,
    pub connection: Option<u64>,
    pub now_ns: Option<u64>,
    pub rtt_ns: Option<u64>,
    pub nxt: Option<u64>,
    pub inflight_before_bytes: Option<u64>,
    pub inflight_after_bytes: Option<u64>,
    pub backlog_bytes: Option<u64>,
    pub srtt_ns: Option<u64>,
    pub min_rtt_ns: Option<u64>,
    pub idle_ns: Option<u64>,
    pub timeout_ns: Option<u64>,
    pub sent_bytes: Option<u64>,
    pub packet_bytes: Option<u64>,
    pub acked_bytes: Option<u64>,
    pub acked_fresh_bytes: Option<u64>,
    pub lost_bytes: Option<u64>,
    pub ce: Option<bool>,
    pub una: Option<u64>,
    pub advanced: Option<bool>,
    pub flight_bytes: Option<u64>,
    pub sacked_bytes: Option<u64>,
    pub delivered_total_bytes: Option<u64>,
    pub sent_total_bytes: Option<u64>,
    pub tx_acked: Option<u64>,
    pub tx_lost: Option<u64>,
    pub tx_next: Option<u64>,
    pub lost_again: Option<bool>,
    pub repeat_acked: Option<bool>,
    pub rescue_next: Option<bool>,
    pub cwnd_limited: Option<bool>,
    pub app_limited: Option<bool>,
    pub receiver_ts: Option<u32>,
    pub timeout: Option<String>,
    pub mss: Option<u64>,
    pub exit_reason: Option<String>,
    pub exit_at_ns: Option<u64>,
    pub exit_detect_cwnd: Option<u64>,
    pub arm: Option<String>,
    pub arm_full: Option<String>,
    pub path_name: Option<String>,
    pub testbed: Option<String>,
    pub transport: Option<String>,
    pub seed: Option<u64>,
    pub start_ns: Option<u64>,
    pub path_rate_bps: Option<u64>,
    pub path_rtt_ns: Option<u64>,
    pub initial_window_bytes: Option<u64>,
    pub paced: Option<bool>,
    pub max_burst_bytes: Option<u64>,
    pub recovery_gain: Option<String>,
    pub idle_restart: Option<bool>,
    pub oracle_exit_bytes: Option<u64>,
    pub source: Option<String>,
}

/// IP and UDP or TCP headers of a packet whose size the trace does not tell.
const LOWER: u64 = 28;

/// The connection that rows are of.
#[derive(Debug, Default)]
pub struct Own {
    id: Option<Id>,
    opened: u64,
    lower: u64,
}

impl Own {
    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.opened
    }

    /// One row, of the connection at hand. `name` is the file's, or what tells the connection apart
    /// in it.
    ///
    /// # Errors
    /// In words, if a field that the event needs is missing or out of its range.
    pub fn take(&mut self, name: &str, row: &Row, sink: &mut impl Sink) -> Result<(), String> {
        if row.event == "start" {
            return self.start(name, row, sink);
        }
        let Some(id) = self.id else { return Err("before the `start` of its connection".into()) };
        let Some(step) = step(row, self.lower)? else { return Ok(()) };
        sink.step(id, &step);
        Ok(())
    }

    fn start(&mut self, name: &str, row: &Row, sink: &mut impl Sink) -> Result<(), String> {
        self.close(sink);
        let transport = named(
            row.transport.as_deref(),
            "transport",
            Transport::from_name,
            &Transport::ALL.map(Transport::name),
        )?;
        let mss = need(row.mss, "mss")?;
        let now = Time(need(row.now_ns, "now_ns")?);
        let base = if transport == Transport::Quic { Config::quic(mss) } else { Config::tcp(mss) };
        let gain = row.recovery_gain.as_deref().map(gain).transpose()?;
        let config = Config {
            initial_window: row.initial_window_bytes.unwrap_or(base.initial_window),
            paced: row.paced.unwrap_or(base.paced),
            max_burst: row.max_burst_bytes.unwrap_or(base.max_burst),
            recovery_gain: gain.unwrap_or(base.recovery_gain),
            idle_restart: row.idle_restart.unwrap_or(base.idle_restart),
            ..base
        };
        let arm = need(row.arm_full.as_deref().or(row.arm.as_deref()), "arm_full")?;
        let called = row.arm.as_deref().unwrap_or(arm);
        let seed = row.seed.map_or(String::new(), |seed| format!(" seed {seed}"));
        self.lower = if transport == Transport::Quic { LOWER } else { 52 };
        self.opened += 1;
        self.id = Some(sink.open(Opening {
            name: format!("{name} {called}{seed}"),
            group: row.path_name.clone(),
            origin: format!("own trace, {}", row.testbed.as_deref().unwrap_or("unknown testbed")),
            transport,
            made: now,
            start: Time(row.start_ns.unwrap_or(now.0)),
            mss,
            first_flight: 0,
            nxt: Seq(row.nxt.unwrap_or(0)),
            paced: row.paced,
            handshake_rtt: None,
            ran: Some(Ran {
                arm: arm.to_owned(),
                config,
                oracle_exit: row.oracle_exit_bytes.unwrap_or(u64::MAX),
                complete: row.source.as_deref().is_none_or(|source| source == "controller"),
                path: row.path_rate_bps.zip(row.path_rtt_ns),
            }),
        }));
        Ok(())
    }

    /// The connection is over.
    pub fn close(&mut self, sink: &mut impl Sink) {
        if let Some(id) = self.id.take() {
            sink.close(id);
        }
    }
}

fn need<T>(value: Option<T>, field: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("the field `{field}` is missing"))
}

/// The value that the field names.
fn named<T>(
    value: Option<&str>,
    field: &str,
    find: impl Fn(&str) -> Option<T>,
    allowed: &[&str],
) -> Result<T, String> {
    let name = need(value, field)?;
    find(name).ok_or_else(|| format!("{field} `{name}`; allowed: {}", allowed.join(", ")))
}

fn gain(text: &str) -> Result<Ratio, String> {
    let parts =
        text.split_once('/').and_then(|(num, den)| Some((num.parse().ok()?, den.parse().ok()?)));
    match parts {
        Some((num, den)) if den > 0 => Ok(Ratio::new(num, den)),
        _ => Err(format!("recovery_gain `{text}`; allowed: a fraction such as 5/4")),
    }
}

/// What a row says, if it says something to a controller.
fn step(row: &Row, lower: u64) -> Result<Option<Step>, String> {
    let now = || need(row.now_ns, "now_ns").map(Time);
    let nanos = |value: Option<u64>| value.map(Nanos);
    let bytes = |value: Option<u64>| value.unwrap_or(0);
    Ok(Some(match row.event.as_str() {
        "handshake_rtt" => Step::HandshakeRtt(now()?, Nanos(need(row.rtt_ns, "rtt_ns")?)),
        "ready" => Step::Ready(Ready {
            now: now()?,
            nxt: Seq(need(row.nxt, "nxt")?),
            inflight: bytes(row.inflight_before_bytes),
            backlog: bytes(row.backlog_bytes),
            srtt: nanos(row.srtt_ns),
            idle: Nanos(bytes(row.idle_ns)),
            timeout: Nanos(bytes(row.timeout_ns)),
        }),
        "sent" => {
            let sent = need(row.sent_bytes, "sent_bytes")?;
            let wire = row.packet_bytes.unwrap_or(sent + lower);
            let record = Sent {
                now: now()?,
                bytes: sent,
                nxt: Seq(need(row.nxt, "nxt")?),
                inflight: bytes(row.inflight_after_bytes),
                srtt: nanos(row.srtt_ns),
            };
            Step::Sent(record, wire)
        }
        "ack" | "timer" => Step::Ack(Ack {
            now: now()?,
            acked: bytes(row.acked_bytes),
            acked_fresh: bytes(row.acked_fresh_bytes),
            lost: bytes(row.lost_bytes),
            ce: row.ce.unwrap_or(false),
            rtt: nanos(row.rtt_ns),
            srtt: nanos(row.srtt_ns),
            min_rtt: nanos(row.min_rtt_ns),
            una: Seq(need(row.una, "una")?),
            nxt: Seq(need(row.nxt, "nxt")?),
            advanced: row.advanced.unwrap_or(false),
            flight: bytes(row.flight_bytes),
            sacked: bytes(row.sacked_bytes),
            inflight_before: bytes(row.inflight_before_bytes),
            inflight: bytes(row.inflight_after_bytes),
            delivered: bytes(row.delivered_total_bytes),
            sent: bytes(row.sent_total_bytes),
            tx_acked: row.tx_acked,
            tx_lost: row.tx_lost,
            tx_next: bytes(row.tx_next),
            lost_again: row.lost_again.unwrap_or(false),
            repeat_acked: row.repeat_acked.unwrap_or(false),
            rescue_next: row.rescue_next.unwrap_or(false),
            cwnd_limited: row.cwnd_limited.unwrap_or(false),
            app_limited: row.app_limited.unwrap_or(false),
            receiver_ts: row.receiver_ts,
        }),
        "timeout" => {
            let timeout = named(
                row.timeout.as_deref(),
                "timeout",
                Timeout::from_name,
                &Timeout::ALL.map(Timeout::name),
            )?;
            let inflight_before = bytes(row.inflight_before_bytes);
            Step::Timeout(Congestion {
                now: now()?,
                timeout,
                nxt: Seq(need(row.nxt, "nxt")?),
                inflight_before,
            })
        }
        "spurious" => Step::Spurious,
        "mss" => Step::Mss(need(row.mss, "mss")?),
        "exit" => {
            let name = need(row.exit_reason.as_deref(), "exit_reason")?;
            Step::Exit(Some(Recorded {
                reason: ExitReason::from_name(name)
                    .ok_or_else(|| format!("exit_reason `{name}` is unknown"))?,
                at: Time(need(row.exit_at_ns, "exit_at_ns")?),
                detect_cwnd: bytes(row.exit_detect_cwnd),
            }))
        }
        "exit_withdrawn" => Step::Exit(None),
        // Signals and whatever later versions add.
        _ => return Ok(None),
    }))
}
