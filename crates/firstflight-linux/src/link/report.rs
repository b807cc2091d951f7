//! Report of a link: its counters and its timing accuracy.

use super::sights::Sight;
use firstflight_path::DropCause;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Limit of the 99th percentile of lateness, above which a trial's timing is not reliable.
const LATE_P99: Duration = Duration::from_micros(200);
/// The limit for any single packet.
const LATE_MAX: Duration = Duration::from_millis(5);

/// Counts of one direction.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Packets that arrived.
    pub packets: u64,
    /// IP bytes of these packets.
    pub bytes: u64,
    /// Packets handed to the far end, duplicates included.
    pub delivered: u64,
    /// IP bytes of these packets.
    pub delivered_bytes: u64,
    /// Packets marked with Congestion Experienced.
    pub marked: u64,
    /// Packets delivered twice.
    pub duplicated: u64,
    /// Drops by cause.
    pub drops: BTreeMap<DropCause, u64>,
    /// Time of the first drop, ns since the start of the link.
    pub first_drop: Option<u64>,
    /// Maximum number of bytes queued.
    pub max_backlog: u64,
    /// Packets that the far device refused.
    pub refused: u64,
    /// Packets still inside when the link ended.
    pub inside: u64,
    /// Packets that the stack at this end gave to its device, and packets that the device lost
    /// before the link read them. A loss here is a fault of the emulation and makes its results
    /// void.
    pub device: Option<(u64, u64)>,
    /// Lateness of departing packets, ns.
    pub lateness: Histogram<u32>,
    /// Queueing delay of packets, ns.
    pub queue: Histogram<u32>,
}

impl Default for Tally {
    fn default() -> Tally {
        // A minute at two significant digits. The bounds are constants that the histogram accepts.
        let histogram =
            || Histogram::new_with_bounds(1_000, 60_000_000_000, 2).expect("constant bounds");
        Tally {
            packets: 0,
            bytes: 0,
            delivered: 0,
            delivered_bytes: 0,
            marked: 0,
            duplicated: 0,
            drops: BTreeMap::new(),
            first_drop: None,
            max_backlog: 0,
            refused: 0,
            inside: 0,
            device: None,
            lateness: histogram(),
            queue: histogram(),
        }
    }
}

impl Tally {
    pub(crate) fn arrived(&mut self, _now: u64, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    pub(crate) fn dropped(&mut self, now: u64, cause: DropCause) {
        *self.drops.entry(cause).or_default() += 1;
        self.first_drop.get_or_insert(now);
    }

    pub(crate) fn backlog(&mut self, bytes: u64) {
        self.max_backlog = self.max_backlog.max(bytes);
    }

    pub(crate) fn waited(&mut self, ns: u64) {
        self.queue.saturating_record(ns);
    }

    pub(crate) fn left(&mut self, late: u64, len: usize, taken: bool) {
        self.lateness.saturating_record(late);
        if taken {
            self.delivered += 1;
            self.delivered_bytes += len as u64;
        } else {
            self.refused += 1;
        }
    }

    /// Packets dropped for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.drops.values().sum()
    }
}

/// Counters of a link from start to end.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// From sender to receiver.
    pub forward: Tally,
    /// From receiver to sender.
    pub reverse: Tally,
    /// CPU time of the emulating thread.
    pub cpu: Duration,
    /// Time the link was up.
    pub lasted: Duration,
    /// Why the emulating thread does not have real-time priority, if it does not.
    pub not_first: Option<String>,
    /// Every TCP segment in the order of observation, if
    /// [`LinkOptions::witness`](crate::LinkOptions) is set.
    pub sights: Vec<Sight>,
}

impl Report {
    /// Reasons not to trust the timing of this run, if there are any: packets left late, or a
    /// device dropped packets that the path did not drop.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for (name, tally) in [("forward", &self.forward), ("reverse", &self.reverse)] {
            let late = |quantile| Duration::from_nanos(tally.lateness.value_at_quantile(quantile));
            let max = Duration::from_nanos(tally.lateness.max());
            if !tally.lateness.is_empty() && (late(0.99) > LATE_P99 || max > LATE_MAX) {
                doubts.push(format!(
                    "{name}: packets left late (99 % within {:?}, all within {max:?})",
                    late(0.99)
                ));
            }
            if let Some((_, lost)) = tally.device.filter(|(_, lost)| *lost > 0) {
                doubts.push(format!(
                    "{name}: the device lost {lost} packets before the link saw them"
                ));
            }
            if tally.refused > 0 {
                doubts.push(format!("{name}: the far device refused {} packets", tally.refused));
            }
        }
        if let Some(why) = &self.not_first {
            doubts.push(format!("the link shares the processor like any other program: {why}"));
        }
        doubts
    }
}

impl fmt::Display for Report {
    /// Two lines, one per direction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, tally) in [("forward", &self.forward), ("reverse", &self.reverse)] {
            let us = |histogram: &Histogram<u32>, quantile| {
                histogram.value_at_quantile(quantile) / 1_000
            };
            write!(
                f,
                "{name}: {} packets, {} bytes; {} delivered, {} dropped",
                tally.packets,
                tally.bytes,
                tally.delivered,
                tally.dropped_packets(),
            )?;
            for (cause, count) in &tally.drops {
                write!(f, " ({cause:?} {count})")?;
            }
            if tally.marked > 0 {
                write!(f, ", {} marked", tally.marked)?;
            }
            if tally.packets > 0 {
                write!(f, "; waited up to {} us", us(&tally.queue, 1.0))?;
                write!(
                    f,
                    "; sent {} / {} us late (median / 99 %)",
                    us(&tally.lateness, 0.5),
                    us(&tally.lateness, 0.99)
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
