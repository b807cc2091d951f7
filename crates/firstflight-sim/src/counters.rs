//! What a trial counts at a sender, of either transport, in addition to the controller's history.

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data packets sent, retransmissions and probes included.
    pub packets_sent: u64,
    /// Packets declared lost that the path had dropped.
    pub packets_lost: u64,
    /// Packets that the path dropped, whether or not the sender noticed.
    pub packets_dropped: u64,
    /// Packets declared lost and acknowledged later.
    pub spurious_losses: u64,
    /// Packets that carried retransmitted data.
    pub retransmissions: u64,
    /// Object bytes sent again.
    pub retransmitted_bytes: u64,
    /// Retransmissions that the path dropped.
    pub lost_retransmissions: u64,
    /// Probe timeouts (QUIC), or expiries of the retransmission timer, backoffs included (TCP).
    pub rtos: u64,
    /// Timeouts proven spurious, by F-RTO or otherwise (TCP).
    pub spurious_timeouts: u64,
    /// Tail loss probes (TCP).
    pub probes: u64,
    /// Losses declared by early retransmit (TCP).
    pub early_retransmits: u64,
    /// Early retransmits of segments that the path had not dropped.
    pub early_retransmits_spurious: u64,
}
