//! The fields of every event by name: one list for all formats, and the way back from names and
//! texts to an event.

use super::{Entry, Packet, Ranges, Source, Start, State, Trace, What};
use firstflight::startup::ExitReason;
use firstflight::{
    Ack, Config, Congestion, Exit, Nanos, Phase, Ratio, Ready, Sent, Seq, Time, Timeout, Told,
    Transport,
};
use std::borrow::Cow;
use std::fmt::Write;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Name,
    /// A number without sign.
    Whole,
    /// A number.
    Real,
    /// Yes or no.
    Flag,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A text.
    Name(Cow<'a, str>),
    /// A number without sign.
    Whole(u64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

const fn name(name: &'static str) -> Column {
    Column { name, kind: Kind::Name }
}
const fn whole(name: &'static str) -> Column {
    Column { name, kind: Kind::Whole }
}
const fn real(name: &'static str) -> Column {
    Column { name, kind: Kind::Real }
}
const fn flag(name: &'static str) -> Column {
    Column { name, kind: Kind::Flag }
}

/// The columns of the table, signals excepted. New ones go to the end of their group and raise
/// [`super::csv::SCHEMA`].
pub const COLUMNS: &[Column] = &[
    // Common to all events.
    real("time_ms"),
    name("event"),
    whole("cwnd"),
    whole("ssthresh"),
    whole("inflight"),
    real("pacing_mbps"),
    real("rtt_ms"),
    real("min_rtt_ms"),
    whole("delivered_bytes"),
    whole("lost_bytes"),
    whole("queue_bytes"),
    name("phase"),
    whole("connection"),
    whole("now_ns"),
    // Start.
    name("arm"),
    name("arm_full"),
    name("path"),
    name("path_name"),
    name("testbed"),
    name("stack"),
    name("transport"),
    name("detection"),
    whole("seed"),
    whole("round"),
    whole("object_bytes"),
    whole("start_ns"),
    whole("path_rate_bps"),
    whole("path_rtt_ns"),
    whole("path_queue_bytes"),
    whole("mss"),
    whole("initial_window_bytes"),
    flag("paced"),
    whole("max_burst_bytes"),
    name("recovery_gain"),
    flag("idle_restart"),
    whole("oracle_exit_bytes"),
    name("source"),
    name("endpoints"),
    // What the controller is told.
    whole("nxt"),
    whole("inflight_before_bytes"),
    whole("inflight_after_bytes"),
    whole("backlog_bytes"),
    whole("rtt_ns"),
    whole("srtt_ns"),
    whole("min_rtt_ns"),
    whole("idle_ns"),
    whole("timeout_ns"),
    whole("sent_bytes"),
    whole("acked_bytes"),
    whole("acked_fresh_bytes"),
    flag("ce"),
    whole("una"),
    flag("advanced"),
    whole("flight_bytes"),
    whole("sacked_bytes"),
    whole("delivered_total_bytes"),
    whole("sent_total_bytes"),
    whole("tx_acked"),
    whole("tx_lost"),
    whole("tx_next"),
    flag("lost_again"),
    flag("repeat_acked"),
    flag("rescue_next"),
    flag("cwnd_limited"),
    flag("app_limited"),
    whole("receiver_ts"),
    name("timeout"),
    // Packets.
    whole("packet_number"),
    whole("packet_bytes"),
    whole("packet_offset"),
    whole("packet_payload_bytes"),
    flag("repeat"),
    flag("dropped"),
    name("acked_packets"),
    name("lost_packets"),
    // Exit.
    name("exit_reason"),
    whole("exit_at_ns"),
    whole("exit_since_first_send_ns"),
    whole("exit_rounds"),
    whole("exit_detect_cwnd"),
    whole("exit_cwnd"),
    whole("exit_inflight"),
    whole("exit_estimate"),
];

/// What stands in front of a signal's name in the table.
pub const SIGNAL: &str = "signal_";

type Put<'p> = dyn FnMut(&'static str, Cell<'_>) + 'p;

fn maybe(put: &mut Put<'_>, name: &'static str, value: Option<u64>) {
    if let Some(value) = value {
        put(name, Cell::Whole(value));
    }
}

fn text(put: &mut Put<'_>, name: &'static str, value: &str) {
    if !value.is_empty() {
        put(name, Cell::Name(Cow::Borrowed(value)));
    }
}

fn numbers(put: &mut Put<'_>, values: &[(&'static str, u64)]) {
    for (name, value) in values {
        put(name, Cell::Whole(*value));
    }
}

fn flags(put: &mut Put<'_>, values: &[(&'static str, bool)]) {
    for (name, value) in values {
        put(name, Cell::Flag(*value));
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

impl Start {
    fn fields(&self, put: &mut Put<'_>) {
        let texts = [
            ("arm", &self.arm),
            ("arm_full", &self.arm_full),
            ("path", &self.path),
            ("path_name", &self.path_name),
            ("testbed", &self.testbed),
            ("stack", &self.stack),
            ("transport", &self.transport),
            ("detection", &self.detection),
        ];
        for (name, value) in texts {
            text(put, name, value);
        }
        numbers(
            put,
            &[
                ("seed", self.seed),
                ("round", u64::from(self.round)),
                ("object_bytes", self.object_bytes),
                ("start_ns", self.start.0),
                ("path_rate_bps", self.rate_bps),
                ("path_rtt_ns", self.rtt.0),
            ],
        );
        maybe(put, "path_queue_bytes", self.queue_bytes);
        if let Some(config) = &self.config {
            numbers(
                put,
                &[
                    ("mss", config.mss),
                    ("initial_window_bytes", config.initial_window),
                    ("max_burst_bytes", config.max_burst),
                    ("nxt", self.nxt),
                ],
            );
            flags(put, &[("paced", config.paced), ("idle_restart", config.idle_restart)]);
            let gain = config.recovery_gain;
            put("recovery_gain", Cell::Name(Cow::Owned(format!("{}/{}", gain.num(), gain.den()))));
            put("oracle_exit_bytes", Cell::Whole(self.oracle_exit_bytes));
        }
        text(put, "source", self.source.name());
        text(put, "endpoints", &self.endpoints);
    }
}

fn told_fields(told: &Told, put: &mut Put<'_>) {
    let ns = |nanos: Option<Nanos>| nanos.map(|nanos| nanos.0);
    match told {
        Told::HandshakeRtt { rtt, .. } => put("rtt_ns", Cell::Whole(rtt.0)),
        Told::Ready(ready) => {
            numbers(
                put,
                &[
                    ("nxt", ready.nxt.0),
                    ("inflight_before_bytes", ready.inflight),
                    ("backlog_bytes", ready.backlog),
                    ("idle_ns", ready.idle.0),
                    ("timeout_ns", ready.timeout.0),
                ],
            );
            maybe(put, "srtt_ns", ns(ready.srtt));
        }
        Told::Sent(sent) => {
            numbers(
                put,
                &[
                    ("sent_bytes", sent.bytes),
                    ("nxt", sent.nxt.0),
                    ("inflight_after_bytes", sent.inflight),
                ],
            );
            maybe(put, "srtt_ns", ns(sent.srtt));
        }
        Told::Ack(ack) => {
            numbers(
                put,
                &[
                    ("acked_bytes", ack.acked),
                    ("acked_fresh_bytes", ack.acked_fresh),
                    ("lost_bytes", ack.lost),
                    ("una", ack.una.0),
                    ("nxt", ack.nxt.0),
                    ("flight_bytes", ack.flight),
                    ("sacked_bytes", ack.sacked),
                    ("inflight_before_bytes", ack.inflight_before),
                    ("inflight_after_bytes", ack.inflight),
                    ("delivered_total_bytes", ack.delivered),
                    ("sent_total_bytes", ack.sent),
                    ("tx_next", ack.tx_next),
                ],
            );
            for (name, value) in
                [("rtt_ns", ack.rtt), ("srtt_ns", ack.srtt), ("min_rtt_ns", ack.min_rtt)]
            {
                maybe(put, name, ns(value));
            }
            maybe(put, "tx_acked", ack.tx_acked);
            maybe(put, "tx_lost", ack.tx_lost);
            maybe(put, "receiver_ts", ack.receiver_ts.map(u64::from));
            flags(
                put,
                &[
                    ("ce", ack.ce),
                    ("advanced", ack.advanced),
                    ("lost_again", ack.lost_again),
                    ("repeat_acked", ack.repeat_acked),
                    ("rescue_next", ack.rescue_next),
                    ("cwnd_limited", ack.cwnd_limited),
                    ("app_limited", ack.app_limited),
                ],
            );
        }
        Told::Congestion(congestion) => {
            text(put, "timeout", congestion.timeout.name());
            numbers(
                put,
                &[("nxt", congestion.nxt.0), ("inflight_before_bytes", congestion.inflight_before)],
            );
        }
        Told::Spurious { .. } => {}
        Told::Mss { mss, .. } => put("mss", Cell::Whole(*mss)),
    }
}

fn exit_fields(exit: &Exit, put: &mut Put<'_>) {
    text(put, "exit_reason", exit.reason.name());
    numbers(
        put,
        &[
            ("exit_at_ns", exit.at.0),
            ("exit_since_first_send_ns", exit.since_first_send.0),
            ("exit_rounds", u64::from(exit.rounds)),
            ("exit_detect_cwnd", exit.detect_cwnd),
            ("exit_cwnd", exit.cwnd),
            ("exit_inflight", exit.inflight),
        ],
    );
    maybe(put, "exit_estimate", exit.estimate);
}

impl Entry {
    /// Visits the fields of the event itself, without those common to all; what does not apply is
    /// left out.
    pub fn fields(&self, put: &mut Put<'_>) {
        match &self.what {
            What::Start(start) => start.fields(put),
            What::Told { told, packet, acked, lost } => {
                told_fields(told, put);
                if let Some(packet) = packet {
                    numbers(
                        put,
                        &[("packet_number", packet.number), ("packet_bytes", packet.bytes)],
                    );
                    maybe(put, "packet_offset", packet.stream.map(|(offset, _)| offset));
                    maybe(put, "packet_payload_bytes", packet.stream.map(|(_, len)| len));
                    if let Some(repeat) = packet.repeat {
                        put("repeat", Cell::Flag(repeat));
                    }
                    put("dropped", Cell::Flag(packet.dropped));
                }
                for (name, ranges) in [("acked_packets", acked), ("lost_packets", lost)] {
                    if !ranges.is_empty() {
                        put(name, Cell::Name(Cow::Owned(in_words(ranges))));
                    }
                }
            }
            What::Exit(exit) => exit_fields(exit, put),
            What::ExitWithdrawn => {}
        }
    }

    /// Visits every cell of the event's row in the table, signals excepted. Times count from
    /// `start`.
    pub fn cells(&self, connection: u32, start: Time, put: &mut Put<'_>) {
        let ms = |nanos: Option<Nanos>| nanos.map(|nanos| nanos.0 as f64 / 1e6);
        put("time_ms", Cell::Real(since_ms(self.now, start)));
        text(put, "event", self.what.name());
        put("connection", Cell::Whole(u64::from(connection)));
        put("now_ns", Cell::Whole(self.now.0));
        if let Some(state) = &self.state {
            numbers(
                put,
                &[
                    ("cwnd", state.cwnd),
                    ("inflight", state.inflight),
                    ("delivered_bytes", state.delivered),
                    ("lost_bytes", state.lost),
                    ("queue_bytes", state.queue),
                ],
            );
            maybe(put, "ssthresh", state.ssthresh);
            let mbps = state.pacing_rate.map(|rate| rate as f64 * 8e-6);
            for (name, value) in [
                ("pacing_mbps", mbps),
                ("rtt_ms", ms(state.rtt)),
                ("min_rtt_ms", ms(state.min_rtt)),
            ] {
                if let Some(value) = value {
                    put(name, Cell::Real(value));
                }
            }
            text(put, "phase", state.phase.name());
        }
        self.fields(put);
    }
}

/// Milliseconds from `start` to `now`, negative if that is before it.
pub(crate) fn since_ms(now: Time, start: Time) -> f64 {
    if now >= start { (now.0 - start.0) as f64 / 1e6 } else { -((start.0 - now.0) as f64 / 1e6) }
}

/// Looks a field up by name; what is missing or empty is `None`.
pub struct Row<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Row<'_> {
    fn text(&self, name: &str) -> String {
        (self.0)(name).unwrap_or_default()
    }

    fn maybe(&self, name: &str) -> Result<Option<u64>, String> {
        (self.0)(name)
            .map(|text| text.parse().map_err(|_| format!("{name} is `{text}`, not a whole number")))
            .transpose()
    }

    fn whole(&self, name: &str) -> Result<u64, String> {
        self.maybe(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        match self.text(name).as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!("{name} is `{other}`, neither true nor false")),
        }
    }

    fn nanos(&self, name: &str) -> Result<Option<Nanos>, String> {
        Ok(self.maybe(name)?.map(Nanos))
    }

    fn ranges(&self, name: &str) -> Result<Ranges, String> {
        let range = |word: &str| {
            let (from, to) = word.split_once('-').unwrap_or((word, word));
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let text = self.text(name);
        text.split_whitespace()
            .map(|word| {
                range(word).ok_or_else(|| format!("{name} has `{word}`, which is no range"))
            })
            .collect()
    }

    fn config(&self, transport: &str) -> Result<Option<Config>, String> {
        let Some(mss) = self.maybe("mss")? else { return Ok(None) };
        let gain = self.text("recovery_gain");
        let parts = gain.split_once('/').and_then(|(num, den)| {
            Some((num.parse().ok()?, den.parse().ok().filter(|den| *den > 0)?))
        });
        let (num, den) = parts.ok_or_else(|| format!("recovery_gain is `{gain}`, not a ratio"))?;
        Ok(Some(Config {
            transport: if transport == "tcp" { Transport::Tcp } else { Transport::Quic },
            mss,
            initial_window: self.whole("initial_window_bytes")?,
            paced: self.flag("paced")?,
            max_burst: self.whole("max_burst_bytes")?,
            recovery_gain: Ratio::new(num, den),
            idle_restart: self.flag("idle_restart")?,
        }))
    }

    fn start(&self) -> Result<Start, String> {
        let transport = self.text("transport");
        Ok(Start {
            arm: self.text("arm"),
            arm_full: self.text("arm_full"),
            path: self.text("path"),
            path_name: self.text("path_name"),
            testbed: self.text("testbed"),
            stack: self.text("stack"),
            detection: self.text("detection"),
            seed: self.whole("seed")?,
            round: self.whole("round")? as u32,
            object_bytes: self.whole("object_bytes")?,
            start: Time(self.whole("start_ns")?),
            rate_bps: self.whole("path_rate_bps")?,
            rtt: Nanos(self.whole("path_rtt_ns")?),
            queue_bytes: self.maybe("path_queue_bytes")?,
            nxt: self.maybe("nxt")?.unwrap_or(0),
            config: self.config(&transport)?,
            oracle_exit_bytes: self.maybe("oracle_exit_bytes")?.unwrap_or(0),
            source: match self.text("source").as_str() {
                "wire" => Source::Wire,
                "kernel" => Source::Kernel,
                _ => Source::Controller,
            },
            endpoints: self.text("endpoints"),
            transport,
        })
    }

    fn ack(&self, now: Time) -> Result<Ack, String> {
        Ok(Ack {
            now,
            acked: self.whole("acked_bytes")?,
            acked_fresh: self.whole("acked_fresh_bytes")?,
            lost: self.whole("lost_bytes")?,
            ce: self.flag("ce")?,
            rtt: self.nanos("rtt_ns")?,
            srtt: self.nanos("srtt_ns")?,
            min_rtt: self.nanos("min_rtt_ns")?,
            una: Seq(self.whole("una")?),
            nxt: Seq(self.whole("nxt")?),
            advanced: self.flag("advanced")?,
            flight: self.whole("flight_bytes")?,
            sacked: self.whole("sacked_bytes")?,
            inflight_before: self.whole("inflight_before_bytes")?,
            inflight: self.whole("inflight_after_bytes")?,
            delivered: self.whole("delivered_total_bytes")?,
            sent: self.whole("sent_total_bytes")?,
            tx_acked: self.maybe("tx_acked")?,
            tx_lost: self.maybe("tx_lost")?,
            tx_next: self.whole("tx_next")?,
            lost_again: self.flag("lost_again")?,
            repeat_acked: self.flag("repeat_acked")?,
            rescue_next: self.flag("rescue_next")?,
            cwnd_limited: self.flag("cwnd_limited")?,
            app_limited: self.flag("app_limited")?,
            receiver_ts: self.maybe("receiver_ts")?.map(|ticks| ticks as u32),
        })
    }

    fn told(&self, event: &str, now: Time) -> Result<Told, String> {
        Ok(match event {
            "handshake_rtt" => Told::HandshakeRtt { now, rtt: Nanos(self.whole("rtt_ns")?) },
            "ready" => Told::Ready(Ready {
                now,
                nxt: Seq(self.whole("nxt")?),
                inflight: self.whole("inflight_before_bytes")?,
                backlog: self.whole("backlog_bytes")?,
                srtt: self.nanos("srtt_ns")?,
                idle: Nanos(self.whole("idle_ns")?),
                timeout: Nanos(self.whole("timeout_ns")?),
            }),
            "sent" => Told::Sent(Sent {
                now,
                bytes: self.whole("sent_bytes")?,
                nxt: Seq(self.whole("nxt")?),
                inflight: self.whole("inflight_after_bytes")?,
                srtt: self.nanos("srtt_ns")?,
            }),
            "ack" | "timer" => Told::Ack(self.ack(now)?),
            "timeout" => Told::Congestion(Congestion {
                now,
                timeout: {
                    let name = self.text("timeout");
                    Timeout::from_name(&name).ok_or_else(|| format!("timeout is `{name}`"))?
                },
                nxt: Seq(self.whole("nxt")?),
                inflight_before: self.whole("inflight_before_bytes")?,
            }),
            "spurious" => Told::Spurious { now },
            "mss" => Told::Mss { now, mss: self.whole("mss")? },
            other => return Err(format!("no event is called `{other}`")),
        })
    }

    fn packet(&self) -> Result<Option<Packet>, String> {
        let Some(number) = self.maybe("packet_number")? else { return Ok(None) };
        let repeat = (self.0)("repeat").map(|text| text == "true");
        Ok(Some(Packet {
            number,
            bytes: self.whole("packet_bytes")?,
            stream: self.maybe("packet_offset")?.zip(self.maybe("packet_payload_bytes")?),
            repeat,
            dropped: self.flag("dropped")?,
        }))
    }

    fn exit(&self) -> Result<Exit, String> {
        let name = self.text("exit_reason");
        let reason =
            ExitReason::from_name(&name).ok_or_else(|| format!("exit_reason is `{name}`"))?;
        Ok(Exit {
            reason,
            at: Time(self.whole("exit_at_ns")?),
            since_first_send: Nanos(self.whole("exit_since_first_send_ns")?),
            rounds: self.whole("exit_rounds")? as u32,
            detect_cwnd: self.whole("exit_detect_cwnd")?,
            cwnd: self.whole("exit_cwnd")?,
            inflight: self.whole("exit_inflight")?,
            estimate: self.maybe("exit_estimate")?,
        })
    }

    fn state(&self) -> Result<Option<State>, String> {
        let Some(cwnd) = self.maybe("cwnd")? else { return Ok(None) };
        let name = self.text("phase");
        let ns = |name: &str| {
            (self.0)(name)
                .and_then(|text| text.parse::<f64>().ok())
                .map(|ms| Nanos((ms * 1e6).round() as u64))
        };
        Ok(Some(State {
            cwnd,
            ssthresh: self.maybe("ssthresh")?,
            inflight: self.whole("inflight")?,
            pacing_rate: (self.0)("pacing_mbps")
                .and_then(|text| text.parse::<f64>().ok())
                .map(|mbps| (mbps / 8e-6).round() as u64),
            rtt: ns("rtt_ms"),
            min_rtt: ns("min_rtt_ms"),
            delivered: self.whole("delivered_bytes")?,
            lost: self.whole("lost_bytes")?,
            queue: self.whole("queue_bytes")?,
            phase: Phase::from_name(&name).ok_or_else(|| format!("phase is `{name}`"))?,
        }))
    }

    /// The event of this name with these fields; the common ones are taken where they are there.
    ///
    /// # Errors
    /// What is missing or makes no sense, in a few words.
    pub fn entry(&self, event: &str, trace: &Trace) -> Result<Entry, String> {
        let now = Time(self.whole("now_ns")?);
        let what = match event {
            "start" => What::Start(Box::new(self.start()?)),
            "exit" => What::Exit(self.exit()?),
            "exit_withdrawn" => What::ExitWithdrawn,
            _ => What::Told {
                told: self.told(event, now)?,
                packet: self.packet()?,
                acked: self.ranges("acked_packets")?,
                lost: self.ranges("lost_packets")?,
            },
        };
        let signals = trace
            .names
            .iter()
            .map(|name| self.maybe(&format!("{SIGNAL}{name}")))
            .collect::<Result<_, _>>()?;
        Ok(Entry { now, what, state: self.state()?, signals })
    }
}
