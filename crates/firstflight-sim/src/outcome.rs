//! What a trial measured, in integers: nanoseconds, bytes and counts. Metric definitions are those of `docs/metrics.md`.

use firstflight::{Exit, Nanos, Time};
use hdrhistogram::Histogram;

/// One recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// When it began.
    pub start: Time,
    /// When it ended; `None` if the trial ended first.
    pub end: Option<Time>,
    /// Window just before, bytes.
    pub cwnd_before: u64,
    /// Bytes in flight just before the ACK that opened it.
    pub inflight: u64,
    /// Bytes acknowledged in it, by the ACKs that opened and closed it included.
    pub acked: u64,
    /// Bytes declared lost in it, likewise.
    pub lost: u64,
    /// Longest time without sending in it, from its start on.
    pub silence: Nanos,
    /// Window when it ended, or at the end of the trial.
    pub cwnd_after: u64,
    /// When the last hole that was found since it began, and before the next one began, was filled at the sender.
    pub repaired: Option<Time>,
}

/// Why a trial stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every byte was acknowledged.
    Complete,
    /// The limit of simulated time was reached.
    TimeLimit,
}

/// The result of one flow of one trial.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it stopped.
    pub stop: Stop,
    /// From the first byte sent until every byte was acknowledged at the sender (or until the stop).
    pub ttlb: Nanos,
    /// From the first byte sent until the last one was delivered in order at the receiver; `None` if it was not.
    pub delivered_after: Option<Nanos>,
    /// Object bytes delivered in order at the receiver.
    pub delivered: u64,
    /// Data packets sent, repeats and probes included.
    pub packets_sent: u64,
    /// Packets declared lost and truly dropped by the path.
    pub packets_lost: u64,
    /// Packets dropped by the path, whether or not the sender noticed.
    pub packets_dropped: u64,
    /// Packets declared lost and acknowledged later.
    pub spurious_losses: u64,
    /// Object bytes sent again.
    pub retransmitted_bytes: u64,
    /// Packets that carried a repeat and were dropped by the path.
    pub lost_retransmissions: u64,
    /// Packets that carried a repeat.
    pub retransmissions: u64,
    /// Probe timeouts (QUIC) or retransmission timeouts (TCP).
    pub rtos: u64,
    /// Tail loss probes (TCP).
    pub probes: u64,
    /// Recovery episodes opened by loss.
    pub recoveries: u64,
    /// Of these, with no more in flight at entry, before any repeat, than the threshold allows, in whole packets.
    pub recoveries_below_ssthresh: u64,
    /// Of these, cut short by a timeout (TCP).
    pub recoveries_timed_out: u64,
    /// Episodes that ended by an ACK with the window below the threshold.
    pub slow_starts_after_recovery: u64,
    /// Episodes proven to be false alarms.
    pub undone: u64,
    /// Losses declared by early retransmit (TCP).
    pub early_retransmits: u64,
    /// Of these, not dropped by the path.
    pub early_retransmits_spurious: u64,
    /// How startup ended, if it did.
    pub exit: Option<Exit>,
    /// Recovery episodes.
    pub episodes: Vec<Episode>,
    /// Waiting time of every delivered data packet at the bottleneck, in microseconds.
    pub queue_us: Histogram<u32>,
    /// Largest window of the trial, bytes.
    pub cwnd_max: u64,
}
