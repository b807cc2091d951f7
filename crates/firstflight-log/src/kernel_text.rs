//! Connection logs that Linux itself writes as text: the trace point `tcp:tcp_probe` (ftrace,
//! trace-cmd, perf) and logs of `ss -ti`.
//!
//! `tcp_probe` writes one line per received segment, before TCP processes it: the effect of an ACK
//! appears in the next line of its connection. `ss` writes snapshots, which are not ACKs.

use crate::fault::{Fault, Place};
use crate::rows::{AckRow, Ledger, Next, USUAL_MSS, ahead};
use crate::step::{Extent, Sink, Stated};
use firstflight::event::Transport;
use firstflight::units::MAX_BYTES;
use firstflight::{Nanos, Time};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

/// Longer lines are cut.
const LONGEST_LINE: u64 = 1 << 16;
/// Maximum number of connections in one log.
const MOST_CONNECTIONS: usize = 1 << 16;
/// The kernel's value for a threshold that was never set.
const NO_THRESHOLD: u64 = 0x7fff_ffff;

/// Detects the kind from the start of the file.
pub(crate) fn of(head: &[u8]) -> Option<Kind> {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    if has(b"tcp_probe:") && has(b"snd_una=") {
        Some(Kind::Probe)
    } else if has(b" rtt:") && has(b" cwnd:") && (has(b"ESTAB") || has(b" wscale:")) {
        Some(Kind::Snapshots)
    } else {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Probe,
    Snapshots,
}

/// Reads the output of a kernel tool.
///
/// # Errors
/// If no connection in it sent anything that was acknowledged.
pub(crate) fn read(
    file: &str,
    bytes: Box<dyn Read>,
    kind: Kind,
    sink: &mut impl Sink,
) -> Result<Extent, Fault> {
    let mut text = BufReader::with_capacity(1 << 16, bytes);
    let mut log: Box<dyn Lines<_>> = match kind {
        Kind::Probe => Box::new(Probe::new(file)),
        Kind::Snapshots => Box::new(Snapshots::new(file)),
    };
    let (mut line, mut number, mut extent, mut broken) = (Vec::new(), 0, Extent::default(), None);
    loop {
        line.clear();
        let read = text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(read) => extent.bytes += read as u64,
            Err(error) => {
                let what = format!("cannot be read further: {error}");
                broken.get_or_insert(Fault::new(file, Place::Line(number), what));
                break;
            }
        }
        number += 1;
        match log.line(&String::from_utf8_lossy(&line), sink) {
            Ok(taken) => extent.records += u64::from(taken),
            Err(what) => drop(broken.get_or_insert(Fault::new(file, Place::Line(number), what))),
        }
    }
    extent.connections = log.end(sink);
    match broken {
        Some(fault) if extent.connections > 0 => sink.remark(fault),
        Some(fault) => return Err(fault),
        None if extent.connections == 0 => {
            return Err(Fault::new(file, Place::File, log.nothing()));
        }
        None => {}
    }
    Ok(extent)
}

trait Lines<S> {
    /// Takes one line; returns whether it contained anything useful.
    fn line(&mut self, line: &str, sink: &mut S) -> Result<bool, String>;
    fn end(&mut self, sink: &mut S) -> u64;
    fn nothing(&self) -> &'static str;
}

/// A number after `name`, up to the next mark.
fn after<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (before, rest) = line.split_once(name)?;
    if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return after(rest, name);
    }
    rest.split([' ', ',', '\n', '\r', '\t']).next()
}

fn count(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn seconds(text: &str) -> Option<Time> {
    let seconds: f64 = text.parse().ok()?;
    // Up to the year 5138, which allows times since 1970 and times since boot.
    (0.0..1e11).contains(&seconds).then(|| {
        let whole = seconds.trunc();
        let part = text.split_once('.').map_or("", |(_, part)| part);
        let digits = part.bytes().take(9).take_while(u8::is_ascii_digit);
        let part = digits.fold((0_u64, 1_000_000_000), |(sum, unit), digit| {
            (sum + u64::from(digit - b'0') * (unit / 10), unit / 10)
        });
        Time(whole as u64 * 1_000_000_000 + part.0)
    })
}

/// Lines of the trace point.
struct Probe {
    ledger: Ledger,
    last: HashMap<String, Seen>,
}

/// The values of one line.
#[derive(Clone, Copy)]
struct Seen {
    now: Time,
    una: u64,
    nxt: u64,
    cwnd: u64,
    ssthresh: u64,
    srtt: u64,
}

impl Probe {
    fn new(file: &str) -> Probe {
        let stated = Stated { loss_unknown: true, ..Stated::default() };
        let origin = "tcp_probe of Linux, RTT smoothed by the sender";
        Probe { ledger: Ledger::new(file, origin, stated), last: HashMap::new() }
    }
}

impl Seen {
    fn parse(line: &str) -> Option<(String, Seen)> {
        let (before, fields) = line.split_once("tcp_probe:")?;
        // The time precedes the name and ends in a colon.
        let before = before.strip_suffix("tcp:").unwrap_or(before);
        let time = before.trim_end().strip_suffix(':')?.rsplit(' ').next()?;
        let number = |name: &str| after(fields, name).and_then(count);
        let key = format!("{} > {}", after(fields, "src=")?, after(fields, "dest=")?);
        let seen = Seen {
            now: seconds(time)?,
            una: number("snd_una=")?,
            nxt: number("snd_nxt=")?,
            cwnd: number("snd_cwnd=").unwrap_or(0),
            ssthresh: number("ssthresh=").unwrap_or(NO_THRESHOLD),
            srtt: number("srtt=").unwrap_or(0),
        };
        Some((key, seen))
    }
}

impl<S: Sink> Lines<S> for Probe {
    fn line(&mut self, line: &str, sink: &mut S) -> Result<bool, String> {
        let Some((key, seen)) = Seen::parse(line) else { return Ok(false) };
        if !self.last.contains_key(&key) && self.last.len() >= MOST_CONNECTIONS {
            return Ok(false);
        }
        if let Some(last) = self.last.get(&key)
            && seen.now < last.now
        {
            let back = last.now.since(seen.now);
            return Err(format!("the time decreases by {} ns; such lines are skipped", back.0));
        }
        let Some(before) = self.last.insert(key.clone(), seen) else { return Ok(true) };
        let acked = ahead(before.una, seen.una).min(MAX_BYTES);
        if acked == 0 {
            return Ok(true);
        }
        let packets = |count: u64| count.saturating_mul(USUAL_MSS).min(MAX_BYTES);
        let row = AckRow {
            now: before.now,
            acked,
            rtt: (seen.srtt > 0).then(|| Nanos(seen.srtt.saturating_mul(1000))),
            sequence: Some((seen.una, before.nxt)),
            next: Next::BeforeSends,
            inflight: Some(ahead(before.una, before.nxt).min(MAX_BYTES)),
            cwnd: (seen.cwnd > 0).then(|| packets(seen.cwnd)),
            ssthresh: (seen.ssthresh < NO_THRESHOLD).then(|| packets(seen.ssthresh)),
            ..AckRow::default()
        };
        self.ledger.take(&key, || None, Transport::Tcp, &row, sink).map(|()| true)
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.ledger.end(sink)
    }

    fn nothing(&self) -> &'static str {
        "lines of tcp_probe, but no connection has acknowledged data"
    }
}

/// The counters of a connection in the last snapshot.
#[derive(Clone, Copy, Default)]
struct Last {
    acked: u64,
    retransmitted: u64,
    /// Number of earlier connections between the same ports, whose counters were larger.
    others: u32,
}

/// Snapshots of `ss -ti`, each preceded by a line with its time.
struct Snapshots {
    ledger: Ledger,
    now: Option<Time>,
    before: Option<Time>,
    key: Option<String>,
    last: HashMap<String, Last>,
    lines: u64,
}

impl Snapshots {
    fn new(file: &str) -> Snapshots {
        Snapshots {
            // Snapshots are not ACKs, however close they are.
            ledger: Ledger::new(
                file,
                "snapshots of ss",
                Stated { coarse: Some(Nanos::ZERO), ..Stated::default() },
            ),
            now: None,
            before: None,
            key: None,
            last: HashMap::new(),
            lines: 0,
        }
    }
}

/// Parses `12.5Mbps` into bits per second.
fn rate(text: &str) -> Option<u64> {
    let text = text.strip_suffix("bps")?;
    let (number, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        b'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    number.parse::<f64>().ok().filter(|x| (0.0..1e9).contains(x)).map(|x| (x * unit) as u64)
}

impl<S: Sink> Lines<S> for Snapshots {
    fn line(&mut self, line: &str, sink: &mut S) -> Result<bool, String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [one] = words[..]
            && let Some(now) = seconds(one)
        {
            self.before = self.now.replace(now);
            return Ok(false);
        }
        let is_address = |word: &&&str| {
            word.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty()
                    && port.parse::<u16>().is_ok()
                    && (host.contains('.') || host.contains(':'))
            })
        };
        let ends: Vec<&&str> = words.iter().filter(is_address).take(2).collect();
        if let [from, to] = ends[..] {
            self.key = Some(format!("{from} > {to}"));
        }
        let whole = |name: &str| after(line, name).and_then(count);
        let (Some(acked), Some(key)) = (whole("bytes_acked:"), self.key.clone()) else {
            return Ok(false);
        };
        self.lines += 1;
        let Some(now) = self.now else { return Ok(false) };
        let interval = self.before.map_or(Nanos::ZERO, |before| now.since(before));
        let retransmitted = whole("bytes_retrans:").unwrap_or(0);
        if !self.last.contains_key(&key) && self.last.len() >= MOST_CONNECTIONS {
            return Ok(false);
        }
        let before = self.last.get(&key).copied();
        let is_next = before.is_some_and(|before| acked < before.acked);
        let others = before.map_or(0, |before| before.others) + u32::from(is_next);
        self.last.insert(key.clone(), Last { acked, retransmitted, others });
        let Some(before) = before.filter(|_| !is_next) else { return Ok(true) };
        let key = if others > 0 { format!("{key} ({})", others + 1) } else { key };
        let mss = whole("mss:").unwrap_or(USUAL_MSS).clamp(1, 65_536);
        let packets = |count: u64| count.saturating_mul(mss).min(MAX_BYTES);
        let word_after = |name: &str| {
            words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied()
        };
        let rtt = after(line, "rtt:").and_then(|rtt| rtt.split('/').next()?.parse::<f64>().ok());
        let row = AckRow {
            now,
            acked: acked.saturating_sub(before.acked).min(MAX_BYTES),
            rtt: rtt.filter(|rtt| (0.001..1e6).contains(rtt)).map(|rtt| Nanos((rtt * 1e6) as u64)),
            lost: retransmitted.saturating_sub(before.retransmitted).min(MAX_BYTES),
            mss,
            inflight: Some(packets(whole("unacked:").unwrap_or(0))),
            cwnd: whole("cwnd:").map(packets),
            ssthresh: whole("ssthresh:").map(packets),
            rates: (
                word_after("pacing_rate").and_then(rate),
                word_after("delivery_rate").and_then(rate),
            ),
            app_limited: words.contains(&"app_limited"),
            ..AckRow::default()
        };
        let coarse = &mut self.ledger.about.stated.coarse;
        *coarse = (*coarse).max(Some(interval));
        self.ledger.take(&key, || None, Transport::Tcp, &row, sink).map(|()| true)
    }

    fn end(&mut self, sink: &mut S) -> u64 {
        self.ledger.end(sink)
    }

    fn nothing(&self) -> &'static str {
        if self.lines > 0 && self.now.is_none() {
            "snapshots of `ss` without a time; print a line with `date +%s.%N` before each"
        } else {
            "snapshots of `ss`, but no connection appears in two of them with `bytes_acked`"
        }
    }
}
