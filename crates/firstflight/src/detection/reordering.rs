//! The degree of reordering a connection has seen, in segments.
//!
//! A segment that was sent once and arrives below data already delivered was overtaken; how far
//! tells how many duplicate ACKs prove nothing on this path. The threshold of counting rules rises
//! to it, FACK is switched off, and early retransmit may be too. Follows the metric of Linux
//! `tcp_check_sack_reordering`, as we restate it: `ceil((fack - start) / mss)`. State: 8 bytes.
//! Departures: D1 (ours) the metric is in units of the segment size, not in segments as sent: bytes
//! are what `fack` has.

use super::scoreboard::span;
use crate::units::Seq;

/// Before any reordering was seen: three, as the third duplicate ACK (RFC 5681).
pub const INITIAL_REORDERING: u32 = 3;
/// LINUX reordering-max: the largest degree believed (`tcp_max_reordering`).
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

    /// A reordering event was seen: FACK is off for good.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// A segment starting at `start` and sent `tx_count` times is newly delivered; `fack` is the
    /// highest delivered end before this ACK. Returns the metric if it was overtaken.
    #[inline]
    pub fn on_delivered(&mut self, start: Seq, tx_count: u32, fack: Seq, mss: u64) -> Option<u64> {
        // LINUX reordering-original: a repeated segment proves nothing; it may be the repeat that
        // arrived late, as repeats do.
        if tx_count > 1 || start >= fack { None } else { Some(self.raise(start, fack, mss)) }
    }

    /// A DSACK proved a repeat needless: the original was on its way, `fack_at_repeat` being the
    /// highest delivered end when it was repeated.
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
