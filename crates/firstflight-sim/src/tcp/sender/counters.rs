//! Counters that a trial keeps at its sender in addition to the controller's history. No rule reads
//! them.

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments the path dropped.
    pub packets_dropped: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Their bytes.
    pub retransmitted_bytes: u64,
    /// Retransmitted segments that the path dropped.
    pub lost_retransmissions: u64,
    /// Expiries of the retransmission timer, backoffs included.
    pub rtos: u64,
    /// Timeouts proven spurious, by F-RTO or otherwise.
    pub spurious_timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Fast recoveries opened.
    pub recoveries: u64,
    /// Episodes proven to be false alarms.
    pub undone: u64,
    /// Heads declared lost by early retransmit.
    pub early_retransmits: u64,
    /// Early retransmits of segments that the path had not dropped.
    pub early_retransmits_spurious: u64,
}
