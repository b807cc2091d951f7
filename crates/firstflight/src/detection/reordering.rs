//! The degree of reordering a connection has seen, in segments.
//!
//! A segment that was sent once and arrives below data already delivered was overtaken; the
//! distance is the number of duplicate ACKs that prove nothing on this path. The threshold of
//! counting rules rises to it, FACK is switched off, and early retransmit may be switched off too.
//! Follows the metric of Linux `tcp_check_sack_reordering`, restated as `ceil((fack - start) /
//! mss)`. State: 8 bytes. Departures: D1 (ours) the metric is in units of the segment size, not in
//! segments as sent, because `fack` is in bytes.

use super::scoreboard::span;
use crate::units::Seq;

/// The degree before any reordering was seen: three, as for the third duplicate ACK (RFC 5681).
pub const INITIAL_REORDERING: u32 = 3;
/// LINUX reordering-max: upper bound of the degree (`tcp_max_reordering`).
pub const MAX_REORDERING: u32 = 300;

/// The reordering degree of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordering {
    degree: u32,
    seen: bool,
}

impl Default for Reordering {
    fn default() -> Self {
        Reordering { degree: INITIAL_REORDERING, seen: false }
    }
}

impl Reordering {
    /// Segments that must be SACKed above a hole before it counts as lost, 3 to 300.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Whether a reordering event was seen; FACK then stays off.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// A segment starting at `start` and sent `tx_count` times is newly delivered; `fack` is the
    /// highest delivered end before this ACK. Returns the metric if it was overtaken.
    #[inline]
    pub fn on_delivered(&mut self, start: Seq, tx_count: u32, fack: Seq, mss: u64) -> Option<u64> {
        // LINUX reordering-original: a retransmitted segment proves nothing, because the late
        // arrival may be the retransmission.
        if tx_count > 1 || start >= fack { None } else { Some(self.raise(start, fack, mss)) }
    }

    /// A DSACK proved a retransmission unnecessary: the original was in flight. `fack_at_repeat` is
    /// the highest delivered end at the time of the retransmission.
    pub fn on_needless_repeat(&mut self, start: Seq, fack_at_repeat: Seq, mss: u64) -> Option<u64> {
        if start >= fack_at_repeat { None } else { Some(self.raise(start, fack_at_repeat, mss)) }
    }

    fn raise(&mut self, start: Seq, fack: Seq, mss: u64) -> u64 {
        // LINUX reordering-metric: how far below the highest delivered byte it started, in
        // segments.
        let metric = span(start, fack).div_ceil(mss.max(1));
        self.degree = self.degree.max(metric.min(u64::from(MAX_REORDERING)) as u32);
        self.seen = true;
        metric
    }
}
