//! One row per connection and arm, for whoever wants to look at connections themselves.

use super::Test;
use super::flow::{Connection, FlowResult};
use crate::population::Drawn;
use std::io::{self, Write};

/// One connection under one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Number of the connection.
    pub path_index: u64,
    /// Which arm; 0 is the baseline.
    pub arm: usize,
    /// Path and object.
    pub drawn: Drawn,
    /// The bound no sender beats, ns.
    pub ideal_ns: Option<u64>,
    /// What happened.
    pub result: FlowResult,
}

impl Row {
    pub(super) fn of(connection: &Connection) -> impl Iterator<Item = Row> {
        let Connection { drawn, ideal_ns, results, .. } = connection;
        results.iter().enumerate().map(|(arm, result)| Row {
            path_index: drawn.index,
            arm,
            drawn: *drawn,
            ideal_ns: *ideal_ns,
            result: *result,
        })
    }
}

/// A cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A name, of few different ones.
    Name(&'a str),
    /// A whole number.
    Whole(u64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// Does not apply.
    Missing(Kind),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names.
    Name,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Real,
}

/// The columns of a row, units in their names, in order.
pub fn columns<'a>(test: &'a Test, row: &'a Row) -> Vec<(&'static str, Value<'a>)> {
    let Row { drawn, result, .. } = row;
    let ms = |ns: u64| Value::Real(ns as f64 / 1e6);
    let exit = result.exit.as_ref();
    let whole = |value: Option<u64>| value.map_or(Value::Missing(Kind::Whole), Value::Whole);
    let real = |value: Option<f64>| value.map_or(Value::Missing(Kind::Real), Value::Real);
    let bdp = drawn.bdp_bytes();
    let finished = result.complete.then_some(result.ttlb_ns);
    vec![
        ("testbed", Value::Name("sim")),
        ("population", Value::Name(&test.population.name)),
        ("group", Value::Name(&test.population.groups[drawn.group].name)),
        ("path_index", Value::Whole(row.path_index)),
        ("seed", Value::Whole(test.seed)),
        ("arm", Value::Name(&test.arms[row.arm].label)),
        ("rate_mbps", Value::Real(drawn.rate_kbps as f64 / 1e3)),
        ("rtt_ms", Value::Real(drawn.rtt_us as f64 / 1e3)),
        ("queue_bytes", Value::Whole(drawn.queue_bytes)),
        ("bdp_bytes", Value::Whole(bdp)),
        ("queue_bdp", Value::Real(drawn.queue_bytes as f64 / bdp.max(1) as f64)),
        ("random_loss", Value::Real(drawn.loss_ppb as f64 / 1e9)),
        ("object_bytes", Value::Whole(drawn.bytes)),
        ("complete", Value::Flag(result.complete)),
        ("ttlb_ms", finished.map_or(Value::Missing(Kind::Real), ms)),
        ("acked_ms", real(result.acked_ns.map(|ns| ns as f64 / 1e6))),
        (
            "vs_ideal",
            real(finished.zip(row.ideal_ns).map(|(ttlb, ideal)| ttlb as f64 / ideal.max(1) as f64)),
        ),
        ("delivered_bytes", Value::Whole(result.delivered)),
        (
            "goodput_mbps",
            Value::Real(
                result.delivered as f64 * 8e3
                    / result.delivered_after_ns.unwrap_or(test.limit.0).max(1) as f64,
            ),
        ),
        ("loss_ratio", Value::Real(result.packets_lost as f64 / result.packets_sent.max(1) as f64)),
        ("sent_packets", Value::Whole(result.packets_sent)),
        ("lost_packets", Value::Whole(result.packets_lost)),
        ("spurious_losses", Value::Whole(result.spurious_losses)),
        ("retransmissions", Value::Whole(result.retransmissions)),
        ("retransmitted_bytes", Value::Whole(result.retransmitted_bytes)),
        ("lost_retransmissions", Value::Whole(result.lost_retransmissions)),
        ("rtos", Value::Whole(result.rtos)),
        ("recoveries", Value::Whole(result.recoveries)),
        ("queue_ms_p50", Value::Real(result.queue_p50_us as f64 / 1e3)),
        ("queue_ms_p99", Value::Real(result.queue_p99_us as f64 / 1e3)),
        (
            "exit_reason",
            exit.map_or(Value::Missing(Kind::Name), |exit| Value::Name(exit.reason.name())),
        ),
        ("exit_ms", exit.map_or(Value::Missing(Kind::Real), |exit| ms(exit.since_first_send.0))),
        ("exit_rounds", whole(exit.map(|exit| u64::from(exit.rounds)))),
        ("exit_detect_cwnd", whole(exit.map(|exit| exit.detect_cwnd))),
        ("exit_cwnd", whole(exit.map(|exit| exit.cwnd))),
        ("exit_inflight", whole(exit.map(|exit| exit.inflight))),
        ("exit_cwnd_bdp", real(exit.map(|exit| exit.detect_cwnd as f64 / bdp.max(1) as f64))),
        ("cwnd_max", Value::Whole(result.cwnd_max)),
    ]
}

/// Writes rows as CSV, the header first where `first` says so. What does not apply is empty.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(test: &Test, rows: &[Row], first: bool, out: &mut dyn Write) -> io::Result<()> {
    for (index, row) in rows.iter().enumerate() {
        let columns = columns(test, row);
        if first && index == 0 {
            writeln!(
                out,
                "{}",
                columns.iter().map(|column| column.0).collect::<Vec<_>>().join(",")
            )?;
        }
        let mut line = String::with_capacity(300);
        for (place, (_, value)) in columns.iter().enumerate() {
            use std::fmt::Write as _;
            if place > 0 {
                line.push(',');
            }
            // Writing to a string cannot fail.
            let _ = match value {
                Value::Name(name) if name.contains([',', '"']) => {
                    write!(line, "\"{}\"", name.replace('"', "\"\""))
                }
                Value::Name(name) => write!(line, "{name}"),
                Value::Whole(number) => write!(line, "{number}"),
                Value::Real(number) => write!(line, "{number}"),
                Value::Flag(flag) => write!(line, "{flag}"),
                Value::Missing(_) => Ok(()),
            };
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}
