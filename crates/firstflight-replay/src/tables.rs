//! Tables of a replay, for the terminal and the page.

use crate::results::Results;
use crate::summary::{ConnectionRow, StartupRow, Verdict};
use firstflight_table::text::figure;
use firstflight_table::{Kind, Marked, Table};

/// A value with its unit as in [`figure`]; `-` if it is unknown.
pub fn number(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "-".into(), |value| figure(value, unit))
}

fn verdict(row: &StartupRow) -> Marked<'_> {
    Marked::from(row.verdict.name()).bold(row.verdict == Verdict::Right)
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

/// Columns of one connection that are dropped first if not all fit.
const OF_ONE_TO_GO: &[&str] =
    &["ack", "of best", "rate then", "estimate", "aims at", "in flight", "used"];

/// Columns for one connection, startup by startup.
pub const STARTUPS: &[&str] = &[
    "startup",
    "verdict",
    "exit",
    "exit time\nms",
    "ACK",
    "cwnd at exit\nBDP",
    "in flight",
    "used\n%",
    "rate then\nMbit/s",
    "of best\n%",
    "estimate",
    "aims at\nBDP",
];

/// A connection, startup by startup.
pub fn startups(connection: &ConnectionRow) -> Table {
    let mut sheet = Table::of_numbers(&connection.name, STARTUPS, 2).dropping(OF_ONE_TO_GO);
    for row in &connection.startups {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".into(), |share| format!("{:.0}", share * 100.0))
        };
        sheet.row([
            Marked::from(if row.exact { format!("{} =", row.arm) } else { row.arm.clone() }),
            verdict(row),
            Marked::from(row.reason.unwrap_or("-")),
            Marked::from(number(row.time_ms, "ms")),
            Marked::from(row.ack.map_or_else(|| "-".into(), |ack| ack.to_string())),
            Marked::from(number(row.bdp_ratio, "")),
            Marked::from(number(row.inflight.map(|bytes| bytes as f64), "bytes")),
            Marked::from(percent(row.used_ratio)),
            Marked::from(number(row.rate_then_mbps, "Mbit/s")),
            Marked::from(percent(row.rate_ratio)),
            Marked::from(estimate(row)),
            Marked::from(number(row.aim_ratio, "")),
        ]);
    }
    sheet
}

/// Columns for many connections, in addition to one for each startup.
pub const CONNECTIONS: &[&str] = &["connection", "RTT\nms", "rate\nMbit/s", "BDP", "lost\n%"];

/// One line per connection, at most `most` lines; with `bounds`, rates that are lower bounds say so.
pub fn connections(results: &Results, most: usize, bounds: bool) -> Table {
    let headers: Vec<&str> =
        CONNECTIONS.iter().copied().chain(results.arms.iter().map(String::as_str)).collect();
    // Names of captures are long, so they are wrapped before a verdict is dropped.
    let side = |index| if index == 0 { Kind::Prose } else { Kind::Number };
    let columns = headers.into_iter().enumerate().map(|(index, header)| (header, side(index)));
    let mut sheet = Table::new("connections", columns).dropping(&["bdp", "lost", "rate", "rtt"]);
    for connection in results.connections.iter().take(most) {
        let least = if bounds && connection.rate_is_lower_bound { "≥ " } else { "" };
        let mut cells = vec![
            Marked::from(connection.name.as_str()),
            number(connection.min_rtt_ms, "ms").into(),
            (least.to_owned() + &number(connection.best_rate_wire_mbps, "Mbit/s")).into(),
            number(connection.bdp_bytes.map(|bytes| bytes as f64), "bytes").into(),
            connection
                .loss_ratio
                .map_or_else(|| "-".into(), |loss| format!("{:.2}", loss * 100.0))
                .into(),
        ];
        cells.extend(results.arms.iter().map(|arm| {
            let row = connection.startups.iter().find(|row| row.arm == *arm);
            Marked::from(row.map_or_else(
                || "-".into(),
                |row| match row.bdp_ratio {
                    Some(ratio) => format!("{}\n{}", row.verdict.name(), figure(ratio, "")),
                    None => row.verdict.name().into(),
                },
            ))
        }));
        sheet.row(cells);
    }
    sheet
}

/// Columns for the captured values.
pub const CAPTURED: &[&str] = &["captured", "connections", "p50", "p95"];

/// Distribution of the captured values over the connections.
pub fn captured(results: &Results) -> Table {
    let mut sheet = Table::of_numbers("captured", CAPTURED, 1);
    for row in &results.captured {
        let (name, unit, scale) = match row.measure {
            "min_rtt_ms" => ("smallest RTT, ms", "ms", 1.0),
            "rtt_p50_ms" => ("median RTT, ms", "ms", 1.0),
            "best_rate_mbps" => ("best sustained rate, Mbit/s", "Mbit/s", 1.0),
            "loss_ratio" => ("lost, %", "", 100.0),
            "queue_max_ms" => ("largest queue, ms", "ms", 1.0),
            _ => ("bytes", "bytes", 1.0),
        };
        sheet.row([
            Marked::from(name),
            row.connections.to_string().into(),
            figure(row.p50 * scale, unit).into(),
            figure(row.p95 * scale, unit).into(),
        ]);
    }
    sheet
}

/// Columns for the distribution of verdicts.
pub const SHARES: &[&str] = &[
    "startup",
    "early\n%",
    "right\n%",
    "late\n%",
    "silent\n%",
    "cwnd at exit\np10 BDP",
    "p50\nBDP",
    "p90\nBDP",
];

/// Distribution of the verdicts on each startup.
pub fn shares(results: &Results) -> Table {
    let title = format!("{} connections", results.connections.len());
    let mut sheet = Table::of_numbers(title, SHARES, 1).dropping(&["p50", "p90", "cwnd at exit"]);
    for spread in &results.verdicts {
        let percent = |count: u64| {
            Marked::from(format!("{:.1}", count as f64 * 100.0 / spread.connections.max(1) as f64))
        };
        sheet.row([
            Marked::from(spread.arm.as_str()),
            percent(spread.early),
            percent(spread.right),
            percent(spread.late),
            percent(spread.silent),
            number(spread.bdp_ratio_p10, "").into(),
            number(spread.bdp_ratio_p50, "").into(),
            number(spread.bdp_ratio_p90, "").into(),
        ]);
    }
    sheet
}
