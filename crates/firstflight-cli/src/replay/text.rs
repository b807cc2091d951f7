//! Results of a replay for the terminal.

use super::identified;
use crate::fit::{asked, brief, fitted};
use crate::output::Output;
use crate::terminal::{CAUTION, QUIET, TITLE, width, wrap};
use firstflight_lab::Error;
use firstflight_lab::table::figure;
use firstflight_log::quality::{Quality, Trust};
use firstflight_replay::results::Results;
use firstflight_replay::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE};
use firstflight_replay::tables::{
    CAPTURED, CONNECTIONS, SHARES, STARTUPS, captured, connections, number, shares, startups,
};
use firstflight_table::text::one_line;
use firstflight_table::{Marked, Table};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

/// Maximum number of connections shown startup by startup; more are shown in one table.
const FEW: usize = 4;
/// Maximum number of lines in that table.
const MOST_LINES: usize = 40;

impl Output for Results {
    fn text(&self) -> String {
        text(self)
    }

    fn sheets(&self) -> Vec<Table> {
        if self.connections.len() <= FEW {
            return self.connections.iter().map(startups).collect();
        }
        vec![connections(self, usize::MAX, false), captured(self), shares(self)]
    }

    /// One row per connection and startup.
    fn rows(&self) -> Table {
        let mut rows = Table::of_data(RAW);
        for connection in &self.connections {
            let before = [
                ("connection", connection.name.as_str().into()),
                ("transport", connection.transport.into()),
                ("min_rtt_ms", connection.min_rtt_ms.into()),
                ("best_rate_mbps", connection.best_rate_mbps.into()),
                ("bdp_bytes", connection.bdp_bytes.into()),
                ("loss_ratio", connection.loss_ratio.into()),
            ];
            for startup in &connection.startups {
                rows.record(&before, serde_json::to_value(startup).unwrap_or_default());
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        self.to_json()
    }

    fn write_json(&self, out: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let mut pieces = Pieces { out, failed: None };
        let written = self.write_json(io::BufWriter::new(&mut pieces));
        pieces.failed.map_or(written, Err)
    }
}

/// Passes text on in pieces, and keeps the error if that fails.
struct Pieces<'a> {
    out: &'a mut dyn FnMut(&str) -> Result<(), Error>,
    failed: Option<Error>,
}

impl io::Write for Pieces<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        // The writer passes only complete pieces of text.
        let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
        (self.out)(text).map_err(|error| {
            self.failed = Some(error);
            io::Error::other("the output failed")
        })?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns of the data: those of the connection, then those of a startup in `--json`.
pub(crate) const RAW: [&str; 26] = [
    "connection",
    "transport",
    "min_rtt_ms",
    "best_rate_mbps",
    "bdp_bytes",
    "loss_ratio",
    "arm",
    "arm_full",
    "verdict",
    "exact",
    "reason",
    "time_ms",
    "ack",
    "rounds",
    "cwnd",
    "bdp_ratio",
    "inflight",
    "used_ratio",
    "estimate",
    "estimate_unit",
    "rate_then_mbps",
    "rate_ratio",
    "aim_bytes",
    "aim_ratio",
    "aim_ms",
    "cwnd_end",
];

/// Names of all columns in the tables of these startups.
pub(crate) fn columns<'a>(startups: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> =
        [STARTUPS, CONNECTIONS, CAPTURED, SHARES, CAPTURES, identified::TRIED, identified::ANSWERS]
            .iter()
            .flat_map(|headers| Table::of_numbers("", headers, 1).names())
            .collect();
    names.extend(startups.map(str::to_lowercase));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The whole result for people.
fn text(results: &Results) -> String {
    let identified = identified::finding(results).map_or(String::new(), |line| line + " ");
    let finding = identified + &results.finding();
    let mut text = String::new();
    if !finding.is_empty() {
        let _ = writeln!(text, "{}", wrap(&finding, 0, width()));
    }
    if results.connections.len() <= FEW {
        results.connections.iter().for_each(|connection| one(&mut text, connection));
    } else {
        many(&mut text, results);
    }
    if asked().wide && results.connections.iter().any(|row| row.capture.is_some()) {
        let captures = captures(results);
        let _ = writeln!(text, "{TITLE}{}{TITLE:#}\n{}", captures.title, fitted(&captures));
    }
    if results.short > 0 {
        let _ = writeln!(
            text,
            "{QUIET}{} connections with fewer than 10 ACKs are left out{QUIET:#}",
            results.short
        );
    }
    if results.connections.len() > FEW && !asked().wide {
        let _ = writeln!(text, "{QUIET}`--wide` shows each connection{QUIET:#}");
    }
    for line in [
        "Open loop: the startups observed these ACKs but did not control the sender.".to_owned(),
        format!(
            "early: exits below {EARLY_BELOW} BDP; right: up to {LATE_ABOVE} BDP; late: above it, or only at a loss; silent: no exit in the trace. BDP: best sustained rate times smallest RTT"
        ),
    ] {
        let _ = writeln!(text, "{QUIET}{}{QUIET:#}", wrap(&line, 0, width()));
    }
    text
}

/// The losses in words.
fn lost(connection: &ConnectionRow) -> String {
    let spurious = match connection.spurious {
        0 => String::new(),
        1 => ", once without a loss".into(),
        times => format!(", {times} times without a loss"),
    };
    connection.loss_ratio.map_or_else(
        || "loss not known".into(),
        |loss| format!("{:.2} % lost{spurious}", loss * 100.0),
    )
}

/// The sender's own view of the path according to the log, compared with ours.
fn stated(connection: &ConnectionRow) -> Option<String> {
    let sender = &connection.sender;
    let stated: Vec<String> = [
        sender.ssthresh.map(|bytes| format!("ssthresh {}", figure(bytes as f64, "bytes"))),
        sender.pacing_mbps.map(|rate| format!("pacing at up to {} Mbit/s", figure(rate, "Mbit/s"))),
        sender
            .bandwidth_mbps
            .map(|rate| format!("a bandwidth estimate of up to {} Mbit/s", figure(rate, "Mbit/s"))),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!stated.is_empty()).then(|| format!("The log states {}", stated.join(", ")))
}

/// One connection, startup by startup.
fn one(text: &mut String, connection: &ConnectionRow) {
    let _ = writeln!(
        text,
        "{TITLE}{}{TITLE:#} {QUIET}{}{QUIET:#}",
        one_line(&connection.name),
        one_line(&connection.origin)
    );
    let about = format!(
        "{} over {} in {} ms, {} ACKs; RTT {} ms at least, {} at the median; best sustained rate {} Mbit/s ({} on the wire{}); BDP {}; {}",
        figure(connection.bytes as f64, "bytes"),
        connection.transport,
        figure(connection.duration_ms, "ms"),
        connection.acks,
        number(connection.min_rtt_ms, "ms"),
        number(connection.rtt_p50_ms, "ms"),
        number(connection.best_rate_mbps, "Mbit/s"),
        number(connection.best_rate_wire_mbps, "Mbit/s"),
        if connection.rate_is_lower_bound { ", at least" } else { "" },
        number(connection.bdp_bytes.map(|bytes| bytes as f64), "bytes"),
        lost(connection),
    );
    let _ = writeln!(text, "{}", wrap(&about, 0, width()));
    let sender = &connection.sender;
    if let Some(time) = sender.time_ms {
        let arm = sender.arm.as_ref().map_or(String::new(), |arm| format!(" ({arm})"));
        let why = sender
            .reason
            .map_or("set ssthresh".into(), |reason| format!("exited slow start ({reason})"));
        let window = number(sender.cwnd.map(|bytes| bytes as f64), "bytes");
        let time = figure(time, "ms");
        let line = format!("The recorded sender{arm} {why} at {time} ms with a cwnd of {window}");
        let _ = writeln!(text, "{}", wrap(&line, 0, width()));
    }
    if let Some(stated) = stated(connection) {
        let _ = writeln!(text, "{}", wrap(&stated, 0, width()));
    }
    if let Some(identity) = &connection.identified {
        identified::one(text, identity);
    }
    if !connection.startups.is_empty() {
        let _ = writeln!(text, "{}", fitted(&startups(connection)));
    }
    if connection.startups.iter().any(|row| row.exact) {
        let _ = writeln!(
            text,
            "{QUIET}= the arm that ran, given exactly the events that it saw then{QUIET:#}"
        );
    }
    if let Some(line) = connection.capture.as_ref().and_then(Quality::line) {
        let _ = writeln!(
            text,
            "{CAUTION}*{CAUTION:#} {}",
            wrap(&format!("Capture: {line}"), 2, width())
        );
    }
    for finding in &connection.findings {
        let _ = writeln!(text, "{CAUTION}*{CAUTION:#} {}", wrap(&finding.text, 2, width()));
    }
    text.push('\n');
}

/// Columns for the quality of captures.
const CAPTURES: &[&str] = &[
    "connection",
    "taken at",
    "trust",
    "near\nms",
    "far\nms",
    "begins",
    "doubled",
    "out of order",
    "not captured",
    "clock tick\nms",
    "steps",
    "proxy\nms",
    "left out",
];

/// Vantage and quality of each connection's capture.
fn captures(results: &Results) -> Table {
    let mut sheet = Table::of_numbers("captures", CAPTURES, 3);
    for row in &results.connections {
        let Some(capture) = &row.capture else { continue };
        let count = |count: u64| Marked::from(count.to_string());
        sheet.row([
            Marked::from(row.name.as_str()),
            capture.vantage.name().into(),
            Marked::from(capture.trust.name()).bold(capture.trust != Trust::Sound),
            number(capture.near_ms, "ms").into(),
            number(capture.far_ms, "ms").into(),
            Marked::from(if capture.begins { "yes" } else { "no" }),
            count(capture.doubled + capture.doubled_unsure),
            count(capture.out_of_order),
            figure(capture.unseen_bytes as f64, "bytes").into(),
            number(capture.tick_ms, "ms").into(),
            count(capture.clock_steps),
            number(capture.proxy_ms, "ms").into(),
            figure(capture.left_out_bytes as f64, "bytes").into(),
        ]);
    }
    sheet
}

/// Medians of the captured values, in a sentence.
fn captured_line(results: &Results) -> String {
    let sheet = captured(results);
    let of = |row: usize| {
        let (name, value) = (sheet.marked_cell(row, 0), sheet.marked_cell(row, 2));
        match name.text().rsplit_once(", ") {
            Some((name, unit)) => format!("{name} {} {unit}", value.text()),
            None => format!("{} {}", name.text(), value.text()),
        }
    };
    format!("Captured (medians): {}.", (0..sheet.len()).map(of).collect::<Vec<_>>().join(", "))
}

/// Many connections: the distribution of verdicts, and on request a line for each connection.
fn many(text: &mut String, results: &Results) {
    identified::many(text, results);
    let shares = shares(results);
    let _ = writeln!(text, "{TITLE}{}{TITLE:#}\n{}", shares.title, fitted(&shares));
    if brief() && !results.captured.is_empty() {
        let _ = writeln!(text, "{}", wrap(&captured_line(results), 0, width()));
    } else {
        let _ = writeln!(text, "{}", fitted(&captured(results)));
    }
    let all = asked().wide || !asked().columns.is_empty();
    if all {
        let _ = writeln!(text, "{}", fitted(&connections(results, MOST_LINES, false)));
    }
    if all && results.connections.len() > MOST_LINES {
        let _ = writeln!(
            text,
            "{QUIET}... and {} more; `--json -` has all{QUIET:#}",
            results.connections.len() - MOST_LINES
        );
    }
    for line in results.capture_lines() {
        let _ = writeln!(text, "{CAUTION}*{CAUTION:#} {}", wrap(&line, 2, width()));
    }
    for (kind, count, example) in results.findings() {
        let line = format!(
            "{kind}, {count} of {} connections, such as: {example}",
            results.connections.len()
        );
        let _ = writeln!(text, "{CAUTION}*{CAUTION:#} {}", wrap(&line, 2, width()));
    }
    text.push('\n');
}
