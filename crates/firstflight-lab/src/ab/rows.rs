//! One row per connection and arm, for analyses of individual connections.

use super::Test;
use super::flow::{Connection, FlowResult};
use crate::measures::{Field, Name, columns, record};
use crate::population::Drawn;
use crate::trial::ms;
use firstflight::Exit;
use firstflight_table::table::csv_line;
use std::io::{self, Write};

/// One connection under one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Number of the connection.
    pub path_index: u64,
    /// Index of the arm; 0 is the baseline.
    pub arm: usize,
    /// Path and object.
    pub drawn: Drawn,
    /// Lower bound for any sender, ns.
    pub ideal_ns: Option<u64>,
    /// Result.
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

record! {
    /// One connection under one arm as it is written: CSV, Parquet, or a row of the Python table.
    ConnectionRow<'a> of ((test, row) = (&'a Test, &'a Row));

    /// the testbed
    testbed: Name<'static>, "", None = Name("sim");
    /// name of the population
    population: Name<'a>, "", None = Name(&test.population.name);
    /// its group
    group: Name<'a>, "", None = Name(&test.population.groups[row.drawn.group].name);
    /// number of the connection: the same path and object under every arm
    path_index: u64, "", None = row.path_index;
    /// seed of every random draw
    seed: u64, "", None = test.seed;
    /// name of the arm as requested
    arm: Name<'a>, "", None = Name(&test.arms[row.arm].label);
    /// rate of the bottleneck
    rate_mbps: f64, "Mbit/s", None = row.drawn.rate_kbps as f64 / 1e3;
    /// idle round trip
    rtt_ms: f64, "ms", None = row.drawn.rtt_us as f64 / 1e3;
    /// capacity of the queue at the bottleneck
    queue_bytes: u64, "bytes", None = row.drawn.queue_bytes;
    /// rate times idle round trip
    bdp_bytes: u64, "bytes", None = row.drawn.bdp_bytes();
    /// capacity of the queue over `bdp_bytes`
    queue_bdp: f64, "", None = row.bdps(row.drawn.queue_bytes);
    /// probability of independent loss per packet
    random_loss: f64, "", None = row.drawn.loss_ppb as f64 / 1e9;
    /// size of the object
    object_bytes: u64, "bytes", None = row.drawn.bytes;
    /// every byte was delivered within the limit
    complete: bool, "", High = row.result.complete;
    /// completion time: from the first byte sent until the last byte is delivered in order at the receiver
    ttlb_ms: Option<f64>, "ms", Low = row.finished_ns().map(ms);
    /// completion time at the sender: until every byte is acknowledged
    acked_ms: Option<f64>, "ms", Low = row.result.acked_ns.map(ms);
    /// completion time over the lower bound for any sender
    vs_ideal: Option<f64>, "", Low = row.finished_ns().zip(row.ideal_ns).map(|(ttlb, ideal)| ttlb as f64 / ideal.max(1) as f64);
    /// object bytes delivered in order at the receiver by the end of the trial
    delivered_bytes: u64, "bytes", High = row.result.delivered;
    /// these bytes over the time until the last of them was delivered, or over the limit
    goodput_mbps: f64, "Mbit/s", High = row.result.delivered as f64 * 8e3 / row.result.delivered_after_ns.unwrap_or(test.limit.0).max(1) as f64;
    /// packets declared lost and truly dropped, over all packets sent
    loss_ratio: f64, "", Low = row.result.counters.packets_lost as f64 / row.result.counters.packets_sent.max(1) as f64;
    /// data packets sent, including retransmissions and probes
    sent_packets: u64, "", Low = row.result.counters.packets_sent;
    /// packets declared lost and truly dropped
    lost_packets: u64, "", Low = row.result.counters.packets_lost;
    /// packets declared lost and acknowledged later
    spurious_losses: u64, "", Low = row.result.counters.spurious_losses;
    /// packets that carried a retransmission
    retransmissions: u64, "", Low = row.result.counters.retransmissions;
    /// object bytes retransmitted
    retransmitted_bytes: u64, "bytes", Low = row.result.counters.retransmitted_bytes;
    /// retransmissions that the path dropped
    lost_retransmissions: u64, "", Low = row.result.counters.lost_retransmissions;
    /// probe timeouts (QUIC) or retransmission timeouts (TCP)
    rtos: u64, "", Low = row.result.counters.rtos;
    /// recovery episodes
    recoveries: u64, "", Low = row.result.episodes;
    /// median waiting time of packets at the bottleneck
    queue_ms_p50: f64, "ms", Low = row.result.queue_p50_us as f64 / 1e3;
    /// 99th percentile of the packets' waiting time at the bottleneck
    queue_ms_p99: f64, "ms", Low = row.result.queue_p99_us as f64 / 1e3;
    /// why startup ended; empty if the object ended first
    exit_reason: Option<Name<'static>>, "", None = row.exit().map(|exit| Name(exit.reason.name()));
    /// when startup ended, after the first byte was sent
    exit_ms: Option<f64>, "ms", None = row.exit().map(|exit| ms(exit.since_first_send.0));
    /// round trips completed by then
    exit_rounds: Option<u64>, "", None = row.exit().map(|exit| u64::from(exit.rounds));
    /// window when the end was detected, before any reduction
    exit_detect_cwnd: Option<u64>, "bytes", None = row.exit().map(|exit| exit.detect_cwnd);
    /// window right after the end
    exit_cwnd: Option<u64>, "bytes", None = row.exit().map(|exit| exit.cwnd);
    /// bytes in flight just before
    exit_inflight: Option<u64>, "bytes", None = row.exit().map(|exit| exit.inflight);
    /// `exit_detect_cwnd` over `bdp_bytes`
    exit_cwnd_bdp: Option<f64>, "", None = row.exit().map(|exit| row.bdps(exit.detect_cwnd));
    /// largest window
    cwnd_max: u64, "bytes", None = row.result.cwnd_max;
}

impl Row {
    /// Completion time of a complete transfer.
    fn finished_ns(&self) -> Option<u64> {
        self.result.complete.then_some(self.result.ttlb_ns)
    }

    fn exit(&self) -> Option<&Exit> {
        self.result.exit.as_ref()
    }

    fn bdps(&self, bytes: u64) -> f64 {
        bytes as f64 / self.drawn.bdp_bytes().max(1) as f64
    }
}

/// Writes rows as CSV, with a header if `first` is set. Values that do not apply are empty.
///
/// # Errors
/// Errors of the writer.
pub fn write_csv(test: &Test, rows: &[Row], first: bool, out: &mut dyn Write) -> io::Result<()> {
    if first && !rows.is_empty() {
        let names = columns(ConnectionRow::MEASURES).into_iter().map(|column| column.name.into());
        out.write_all(csv_line(names).as_bytes())?;
    }
    for row in rows {
        let row = ConnectionRow::of((test, row));
        let mut cells = Vec::new();
        row.each(&mut |cell| cells.push(cell));
        out.write_all(csv_line(cells).as_bytes())?;
    }
    Ok(())
}
