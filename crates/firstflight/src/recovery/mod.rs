//! Recovery: how much may be sent between the first sign of loss and its repair.
//!
//! A policy is entered with a target `T` from congestion avoidance. While its episode is open it
//! receives every ACK and admits or holds back each segment; at the end it returns the window to
//! leave with.

mod any;
pub mod careful_retreat;
pub mod immediate;
pub mod prr;
pub mod rapid_recovery;
pub mod rate_halving;
pub mod sack;
pub mod safe_retreat;

pub use any::{AnyRecovery, AnySettings};
pub use careful_retreat::CarefulRetreat;
pub use immediate::Immediate;
pub use prr::Prr;
pub use rapid_recovery::RapidRecovery;
pub use rate_halving::RateHalving;
pub use sack::Sack;
pub use safe_retreat::SafeRetreat;

use crate::exit::Handover;
use crate::named::named;
use crate::units::Seq;

/// A recovery that a startup brings for its own first episode, instead of the arm's policy.
#[derive(Clone, Copy, Debug)]
pub enum OwnRecovery {
    /// Rapid Start's gradual reduction.
    Rapid(RapidRecovery),
    /// The safe retreat from a jump.
    Retreat(Retreat),
}

/// Which retreat. This is a separate type because every connection reserves the size of
/// [`OwnRecovery`]: nested, it needs no further tag.
#[derive(Clone, Copy, Debug)]
pub enum Retreat {
    /// Jump start's.
    Safe(SafeRetreat),
    /// Careful Resume's.
    Careful(CarefulRetreat),
}

impl OwnRecovery {
    /// A constant window of `cwnd` bytes until the episode ends; avoidance then takes over as after
    /// an ordinary loss.
    #[doc(hidden)]
    pub fn standing(cwnd: u64) -> OwnRecovery {
        OwnRecovery::Retreat(Retreat::Safe(SafeRetreat::standing(cwnd)))
    }

    /// The window now, in bytes.
    #[doc(hidden)]
    pub fn cwnd(&self) -> u64 {
        match self {
            OwnRecovery::Rapid(rapid) => rapid.cwnd(),
            OwnRecovery::Retreat(Retreat::Safe(retreat)) => retreat.cwnd(),
            OwnRecovery::Retreat(Retreat::Careful(retreat)) => retreat.cwnd(),
        }
    }

    /// Charges one ACK or loss declaration of the open episode.
    #[doc(hidden)]
    pub fn account(&mut self, acked: u64, lost: u64, una: Seq) {
        match self {
            OwnRecovery::Rapid(rapid) => rapid.account(acked, lost),
            OwnRecovery::Retreat(Retreat::Safe(retreat)) => retreat.account(acked, una),
            OwnRecovery::Retreat(Retreat::Careful(retreat)) => retreat.account(acked),
        }
    }

    /// Charges the bytes of the ACK that ends the episode, which may also acknowledge data sent
    /// after entry: `before` is the number of bytes sent before entry, `None` if unknown.
    #[doc(hidden)]
    pub fn account_last(&mut self, acked: u64, before: Option<u64>, lost: u64, una: Seq) {
        match self {
            OwnRecovery::Rapid(rapid) => rapid.account_last(acked, before, lost),
            OwnRecovery::Retreat(Retreat::Safe(retreat)) => retreat.account(acked, una),
            OwnRecovery::Retreat(Retreat::Careful(retreat)) => retreat.account(acked),
        }
    }

    /// Handover to avoidance when the episode is complete.
    #[doc(hidden)]
    pub fn handover(&self) -> Handover {
        match self {
            OwnRecovery::Rapid(rapid) => Handover::RapidDone { beta: rapid.beta() },
            OwnRecovery::Retreat(Retreat::Safe(_)) => Handover::AfterLoss,
            OwnRecovery::Retreat(Retreat::Careful(_)) => Handover::LossFree,
        }
    }

    /// Whether the episode is over, if the recovery's own rule decides this; `None` if the ordinary
    /// rule of recovery periods does.
    #[doc(hidden)]
    pub fn is_over(&self, una: Seq) -> Option<bool> {
        match self {
            OwnRecovery::Rapid(_) | OwnRecovery::Retreat(Retreat::Safe(_)) => None,
            OwnRecovery::Retreat(Retreat::Careful(retreat)) => Some(retreat.is_over(una)),
        }
    }

    /// The threshold to leave with, if it differs from the window.
    #[doc(hidden)]
    pub fn ssthresh(&self) -> Option<u64> {
        match self {
            OwnRecovery::Rapid(_) | OwnRecovery::Retreat(Retreat::Safe(_)) => None,
            OwnRecovery::Retreat(Retreat::Careful(retreat)) => Some(retreat.ssthresh()),
        }
    }
}

/// Cause of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// An ACK that revealed a loss.
    Ack,
    /// A timer: no ACK is being processed.
    Timer,
    /// Congestion marks; nothing needs repair.
    Ecn,
}

/// End of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Everything sent before it was repaired (TCP), or a packet sent after it was acknowledged
    /// (QUIC).
    Complete,
    /// A retransmission was lost: a second reduction follows at once.
    Replaced,
    /// The loss was a false alarm: the controller restores the window.
    Undone,
    /// A timeout took over.
    Timeout,
}

/// Facts about an episode that opens.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its cause.
    pub cause: Cause,
    /// The target `T` in bytes: the threshold that congestion avoidance computed. During the
    /// episode only [`Recovery::retarget`] changes it.
    pub target: u64,
    /// Outstanding bytes after the triggering ACK: `nxt - una` (TCP), in flight before removing
    /// losses (QUIC).
    pub flight: u64,
    /// SACKed bytes of the flight (TCP).
    pub sacked: u64,
    /// Bytes delivered by the triggering ACK; 0 for a timer.
    pub delivered: u64,
    /// The window before the reduction.
    pub cwnd: u64,
    /// The window that congestion avoidance requires at once (smaller than `target` only after ECN
    /// marks at tiny windows).
    pub reduced: u64,
    /// Segment size.
    pub mss: u64,
}

/// One ACK (or loss timer) while an episode is open, including the ACK that opens it, excluding the
/// ACK that completes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// `D`: bytes newly delivered, counted once, SACK included.
    pub delivered: u64,
    /// Whether `una` advanced.
    pub advanced: bool,
    /// Bytes newly declared lost, retransmissions included.
    pub newly_lost: u64,
    /// Whether the next send would be RFC 6675's rescue retransmission.
    pub rescue_next: bool,
    /// Whether this ACK acknowledged a retransmission (TCP).
    pub repeat_acked: bool,
    /// Whether a retransmission of this episode was newly declared lost.
    pub repeat_lost: bool,
    /// Bytes believed to be in the network, after this ACK and before sending.
    pub pipe: u64,
    /// Segment size.
    pub mss: u64,
    /// Whether the loss timer fired, so that no ACK is being processed.
    pub timer: bool,
}

named! {
    /// Effect of losing a retransmission sent in the current episode; a parameter of the policies
    /// that leave this open.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum LostRepeat {
        /// A new episode with a second reduction (RFC5681 4.3-1).
        #[default]
        CutAgain = "again",
        /// No effect: Linux, and all arms of the 2011 experiments.
        Ignore = "ignore",
    }
}

/// A recovery policy.
pub trait Recovery {
    /// Opens an episode. [`Recovery::on_ack`] for the same ACK follows.
    fn enter(&mut self, entry: &Entry);

    /// One ACK of the open episode.
    fn on_ack(&mut self, progress: &Progress);

    /// Whether `len` more bytes may be sent while `pipe` bytes are in flight. Called before each
    /// segment, new or retransmitted.
    fn admits(&self, len: u64, pipe: u64) -> bool;

    /// `len` bytes were sent, new or retransmitted.
    fn on_sent(&mut self, len: u64);

    /// The window to show while the episode is open, given the bytes in flight after the last ACK.
    fn cwnd(&self) -> u64;

    /// The episode ends with `pipe` bytes in flight. Returns the window to leave with, which is not
    /// used after `End::Undone`.
    fn end(&mut self, how: End, pipe: u64) -> u64;

    /// The threshold was lowered to `target` while the episode is open. Used by policies that
    /// follow Linux, whose PRR uses the threshold as its target; for other policies the target is
    /// fixed at entry.
    fn retarget(&mut self, target: u64, mss: u64) {
        let _ = (target, mss);
    }

    /// Whether the loss of a retransmission opens a new episode with a second reduction (RFC 5681
    /// section 4.3). The policies of the 2011 Linux experiments and rate halving do not.
    fn restarts_on_lost_repeat(&self) -> bool {
        true
    }
}

/// A policy that can be suspended: while a startup's own recovery is active, a controller keeps
/// only the policy's settings.
pub trait Policy: Recovery {
    /// The part of the policy that outlasts an episode.
    type Settings: Clone;

    /// Its settings.
    fn settings(&self) -> Self::Settings;

    /// Creates a policy with these settings and no open episode.
    fn with(settings: Self::Settings) -> Self;
}
