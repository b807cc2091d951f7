//! The results of a replay for the terminal.

use crate::fit::fitted;
use crate::terminal::{CAUTION, QUIET, RULES, TITLE, width, wrap};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table as Grid};
use firstflight_lab::table::figure;
use firstflight_replay::results::Results;
use firstflight_replay::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE, StartupRow, Verdict};
use std::fmt::Write as _;

/// Connections that are shown startup by startup; more go into one table.
const FEW: usize = 4;
/// Lines of that table.
const MOST_LINES: usize = 40;

/// All of it.
pub(super) fn of(results: &Results) -> String {
    let mut text = String::new();
    if results.connections.len() <= FEW {
        results.connections.iter().for_each(|connection| one(&mut text, connection));
    } else {
        many(&mut text, results);
    }
    if results.short > 0 {
        let _ = writeln!(
            text,
            "{QUIET}{} connections with fewer than 10 ACKs are left out{QUIET:#}",
            results.short
        );
    }
    let _ = writeln!(
        text,
        "{QUIET}Open loop: the sender did not obey these startups; `used` is what it had in flight of the window each would have had.\n\
         early: left below {EARLY_BELOW} BDP; right: up to {LATE_ABOVE} BDP; late: above, or only at a loss; silent: not within the trace. BDP: best sustained rate times smallest RTT{QUIET:#}"
    );
    text
}

fn number(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "-".into(), |value| figure(value, unit))
}

fn right(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

fn grid(header: &[&str], left: usize) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(RULES).set_content_arrangement(ContentArrangement::Disabled);
    grid.set_header(
        header
            .iter()
            .enumerate()
            .map(|(index, text)| if index < left { Cell::new(text) } else { right(*text) }),
    );
    grid
}

fn verdict(row: &StartupRow) -> Cell {
    let cell = Cell::new(row.verdict.name());
    if row.verdict == Verdict::Right { cell.add_attribute(Attribute::Bold) } else { cell }
}

fn estimate(row: &StartupRow) -> String {
    match (row.estimate, row.estimate_unit) {
        (Some(value), Some(unit)) => {
            let text = figure(value, unit);
            if unit == "bytes" { text } else { format!("{text} {unit}") }
        }
        _ => "-".into(),
    }
}

/// Columns of a connection that go first where they do not all fit.
const OF_ONE_TO_GO: &[&str] =
    &["ack", "of best", "rate then", "estimate", "aims at", "in flight", "used"];

/// One connection, startup by startup.
fn one(text: &mut String, connection: &ConnectionRow) {
    let _ =
        writeln!(text, "{TITLE}{}{TITLE:#} {QUIET}{}{QUIET:#}", connection.name, connection.origin);
    let _ = writeln!(
        text,
        "{} over {} in {} ms, {} ACKs; RTT {} ms at least, {} at the median; best sustained rate {} Mbit/s ({} on the wire{}); BDP {}; {:.2} % lost",
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
        connection.loss_ratio * 100.0,
    );
    let sender = &connection.sender;
    if let Some(time) = sender.time_ms {
        let arm = sender.arm.as_ref().map_or(String::new(), |arm| format!(" ({arm})"));
        let why =
            sender.reason.map_or("set a threshold".into(), |reason| format!("left by {reason}"));
        let window = number(sender.cwnd.map(|bytes| bytes as f64), "bytes");
        let _ = writeln!(
            text,
            "The sender itself{arm} {why} at {} ms with a window of {window}",
            figure(time, "ms")
        );
    }
    let header = [
        "startup",
        "verdict",
        "exit",
        "at\nms",
        "ACK",
        "window\nBDP",
        "in flight",
        "used\n%",
        "rate then\nMbit/s",
        "of best\n%",
        "estimate",
        "aims at\nBDP",
    ];
    let mut grid = grid(&header, 2);
    for row in &connection.startups {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".into(), |share| format!("{:.0}", share * 100.0))
        };
        grid.add_row([
            Cell::new(if row.exact { format!("{} =", row.arm) } else { row.arm.clone() }),
            verdict(row),
            right(row.reason.unwrap_or("-")),
            right(number(row.time_ms, "ms")),
            right(row.ack.map_or_else(|| "-".into(), |ack| ack.to_string())),
            right(number(row.bdp_ratio, "")),
            right(number(row.inflight.map(|bytes| bytes as f64), "bytes")),
            right(percent(row.used_ratio)),
            right(number(row.rate_then_mbps, "Mbit/s")),
            right(percent(row.rate_ratio)),
            right(estimate(row)),
            right(number(row.aim_ratio, "")),
        ]);
    }
    let _ = writeln!(text, "{}", fitted(grid, 2, OF_ONE_TO_GO));
    if connection.startups.iter().any(|row| row.exact) {
        let _ = writeln!(
            text,
            "{QUIET}= the arm that ran: told exactly what it was told then{QUIET:#}"
        );
    }
    for finding in &connection.findings {
        let _ = writeln!(text, "{CAUTION}*{CAUTION:#} {}", wrap(&finding.text, 2, width()));
    }
    text.push('\n');
}

/// Many connections: a line each, and how the verdicts spread.
fn many(text: &mut String, results: &Results) {
    let mut header = vec!["connection", "RTT\nms", "rate\nMbit/s", "BDP", "lost\n%"];
    header.extend(results.arms.iter().map(String::as_str));
    let mut lines = grid(&header, 1);
    for connection in results.connections.iter().take(MOST_LINES) {
        let mut cells = vec![
            Cell::new(&connection.name),
            right(number(connection.min_rtt_ms, "ms")),
            right(number(connection.best_rate_wire_mbps, "Mbit/s")),
            right(number(connection.bdp_bytes.map(|bytes| bytes as f64), "bytes")),
            right(format!("{:.2}", connection.loss_ratio * 100.0)),
        ];
        cells.extend(results.arms.iter().map(|arm| {
            let row = connection.startups.iter().find(|row| row.arm == *arm);
            right(row.map_or_else(
                || "-".into(),
                |row| match row.bdp_ratio {
                    Some(ratio) => format!("{} {}", row.verdict.name(), figure(ratio, "")),
                    None => row.verdict.name().into(),
                },
            ))
        }));
        lines.add_row(cells);
    }
    let _ = writeln!(text, "{}", fitted(lines, 1, &["bdp", "lost"]));
    if results.connections.len() > MOST_LINES {
        let _ = writeln!(
            text,
            "{QUIET}... and {} more; `--json -` has all{QUIET:#}",
            results.connections.len() - MOST_LINES
        );
    }
    let header = [
        "startup",
        "early\n%",
        "right\n%",
        "late\n%",
        "silent\n%",
        "window p10\nBDP",
        "p50\nBDP",
        "p90\nBDP",
    ];
    let mut shares = grid(&header, 1);
    for spread in &results.verdicts {
        let percent = |count: u64| {
            right(format!("{:.1}", count as f64 * 100.0 / spread.connections.max(1) as f64))
        };
        shares.add_row([
            Cell::new(&spread.arm),
            percent(spread.early),
            percent(spread.right),
            percent(spread.late),
            percent(spread.silent),
            right(number(spread.bdp_ratio_p10, "")),
            right(number(spread.bdp_ratio_p50, "")),
            right(number(spread.bdp_ratio_p90, "")),
        ]);
    }
    let shares = fitted(shares, 1, &["p50", "p90", "window"]);
    let _ = writeln!(text, "{TITLE}{} connections{TITLE:#}\n{shares}", results.connections.len());
    for (kind, count, example) in results.findings() {
        let _ = writeln!(
            text,
            "{CAUTION}*{CAUTION:#} {kind}, {count} of {} connections, such as: {example}",
            results.connections.len()
        );
    }
    text.push('\n');
}
