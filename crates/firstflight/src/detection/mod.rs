//! Loss detection: which data is lost, and when this is decided. How much may then be sent is
//! decided by [`crate::recovery`].
//!
//! An endpoint owns its segments behind [`Scoreboard`] and the detectors of its preset
//! ([`presets`]). Detectors mark segments and report them as [`Losses`]; they never touch a window,
//! read no clock and allocate nothing. No detector walks the window per ACK: each keeps cursors
//! that pass every segment or transmission once.
//!
//! The order of work on an ACK, which every endpoint keeps (OURS detect-order):
//!
//! 1. RTT sample, so that detectors see an up-to-date estimator;
//! 2. SACK and cumulative update. For each segment newly SACKed: [`Scoreboard::mark_sacked`], then
//!    the detector's `on_sacked`. For each segment cumulatively acknowledged, ascending: the
//!    detector's `on_acked`, then [`Scoreboard::acked`], then removal from the storage. For each
//!    newly delivered segment, either way:
//!    [`Reordering::on_delivered`](reordering::Reordering::on_delivered) with the `fack` from
//!    before this ACK, and [`Rack::on_delivered`](rack::Rack::on_delivered);
//! 3. DSACK bookkeeping and the undo test ([`undo`]), then the F-RTO step ([`f_rto`]);
//! 4. RACK ([`rack`]) or counting ([`dupack`]), then lost retransmissions ([`lost_repeat`]);
//! 5. early retransmit ([`early_retransmit`]), then limited transmit ([`limited_transmit`]);
//! 6. the one timer ([`Armed::choose`]).
//!
//! OURS detect-ties: packet arrivals come before timers of the same instant, so that an ACK can
//! prevent a timeout; a deadline in the past fires at once.

pub mod delivered;
pub mod dupack;
pub mod early_retransmit;
pub mod ecn;
pub mod evidence;
pub mod f_rto;
pub mod limited_transmit;
pub mod lost_repeat;
mod next_seg;
pub mod presets;
pub mod quic;
pub mod rack;
pub mod reordering;
pub mod rto;
pub mod scoreboard;
pub mod tlp;
pub mod undo;

pub use next_seg::{Choice, NextSeg, Rules};
pub use scoreboard::{Flags, Id, Ledger, RepeatRule, Scoreboard, SendOrder, Transmission};

use crate::units::Time;

/// The congestion state that detectors need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Episode {
    /// No episode: one may open.
    #[default]
    None,
    /// Fast recovery.
    Fast,
    /// Recovery after a timeout, until everything sent before it is acknowledged: no fast recovery
    /// may open.
    Timeout,
}

/// Segments marked by one run of a detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Bytes newly declared lost, lost retransmissions included.
    pub bytes: u64,
    /// Segments newly declared lost.
    pub segments: u64,
    /// The latest lost transmission, as an ordinal over all transmissions
    /// ([`crate::Ack::tx_lost`]).
    pub latest: Option<u64>,
    /// The latest lost retransmission. It belongs to the current episode, and so sets
    /// [`crate::AckDetail::lost_again`], if it is not below the first ordinal of that episode.
    pub latest_repeat: Option<u64>,
}

impl Losses {
    /// Whether nothing was marked.
    pub fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Counts a segment that was just marked.
    #[inline]
    pub fn add<B: Scoreboard + ?Sized>(&mut self, board: &B, id: Id) {
        let ordinal = Some(board.ordinal(id));
        self.bytes = self.bytes.saturating_add(board.len(id));
        self.segments = self.segments.saturating_add(1);
        self.latest = self.latest.max(ordinal);
        if board.tx_count(id) > 1 {
            self.latest_repeat = self.latest_repeat.max(ordinal);
        }
    }

    /// Whether a retransmission sent at or after `first_of_episode` is lost.
    pub fn lost_again(&self, first_of_episode: u64) -> bool {
        self.latest_repeat.is_some_and(|ordinal| ordinal >= first_of_episode)
    }

    /// Adds the losses that another detector marked on the same ACK.
    pub fn merge(&mut self, other: Losses) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.segments = self.segments.saturating_add(other.segments);
        self.latest = self.latest.max(other.latest);
        self.latest_repeat = self.latest_repeat.max(other.latest_repeat);
    }
}

/// OURS detect-head: marks the head lost, as opening an episode always does; the rule that opened
/// the episode may not have marked a segment (third duplicate ACK with tiny segments, early
/// retransmit).
pub fn mark_head<B: Scoreboard + ?Sized>(board: &mut B, losses: &mut Losses) {
    let head = board.first();
    if !board.is_empty() && board.mark_lost(head) {
        losses.add(board, head);
    }
}

/// The one timer of a connection with data outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Armed {
    /// RACK waits for reordered segments.
    Reordering(Time),
    /// Early retransmit waits a quarter of an RTT.
    EarlyRetransmit(Time),
    /// A tail loss probe is due.
    Probe(Time),
    /// The retransmission timeout.
    Rto(Time),
}

impl Armed {
    /// OURS detect-timer: picks the timer to arm, by priority and not by time, because a timer of
    /// lower priority acts on less knowledge. Timers of higher priority never outlast the
    /// retransmission timeout, each by its own rule. `None` if nothing is `outstanding`.
    #[inline]
    pub fn choose(
        outstanding: bool,
        reordering: Option<Time>,
        early_retransmit: Option<Time>,
        probe: Option<Time>,
        rto: Option<Time>,
    ) -> Option<Armed> {
        if !outstanding {
            return None;
        }
        reordering
            .map(Armed::Reordering)
            .or_else(|| early_retransmit.map(Armed::EarlyRetransmit))
            .or_else(|| probe.map(Armed::Probe))
            .or_else(|| rto.map(Armed::Rto))
    }

    /// When the timer fires.
    #[inline]
    pub fn deadline(self) -> Time {
        match self {
            Armed::Reordering(at)
            | Armed::EarlyRetransmit(at)
            | Armed::Probe(at)
            | Armed::Rto(at) => at,
        }
    }
}
