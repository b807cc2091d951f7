//! The end of startup and the hand-over to congestion avoidance; shared by startup, avoidance,
//! recovery and every log.
//!
//! This is the only list of exit reasons. Code that counts, writes or reads them uses
//! [`ExitReason::ALL`], [`ExitReason::name`] and [`ExitReason::from_name`]; only the kernel's
//! controllers have numbers of their own (`firstflight-linux/bpf/firstflight.h`, compared with this
//! list by a test).

use crate::named::named;
use crate::units::{Nanos, Ratio, Time};

named! {
    /// Why startup ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ExitReason {
        /// Packets were lost first.
        Loss = "loss",
        /// Congestion marks came first.
        Ecn = "ecn",
        /// A timeout came first.
        Timeout = "timeout",
        /// The window reached a threshold that was set beforehand.
        Threshold = "threshold",
        /// HyStart: a train of ACKs as long as the path (Linux: TCPHystartTrainDetect).
        Train = "train",
        /// HyStart: the round's smallest RTT rose (Linux: TCPHystartDelayDetect).
        Delay = "delay",
        /// HyStart++: conservative slow start ran for its rounds.
        CssDone = "css_done",
        /// HyStart++ draft-03: the RTT rose and limited slow start began.
        LssTrigger = "lss_trigger",
        /// SEARCH: delivery stopped keeping up with sending.
        Flattened = "flattened",
        /// BEST: the window reached the estimated bandwidth times RTT.
        Estimate = "estimate",
        /// Oracle: the window reached the given BDP.
        Oracle = "oracle",
        /// BBR: the delivery rate stopped growing.
        Plateau = "plateau",
        /// BBR: too much was lost in a round trip.
        HighLoss = "high_loss",
        /// The window reached the rate that the network advises, times the RTT.
        Advice = "advice",
    }
}

/// The exit from startup. There is one per connection, unless a false alarm undid the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Why.
    pub reason: ExitReason,
    /// When.
    pub at: Time,
    /// Time since the first byte was sent.
    pub since_first_send: Nanos,
    /// Round trips completed, counted by acknowledgement of what was outstanding when the previous
    /// one ended.
    pub rounds: u32,
    /// Window when the end was detected, before any reduction, in bytes.
    pub detect_cwnd: u64,
    /// Window right after, in bytes: smaller than `detect_cwnd` if loss ended startup; for Rapid
    /// Start this is only the first step.
    pub cwnd: u64,
    /// Bytes in flight just before the deciding ACK was processed.
    pub inflight: u64,
    /// The value that decided, in the algorithm's own unit (see
    /// [`Leave::estimate`](crate::startup::Leave::estimate)).
    pub estimate: Option<u64>,
}

impl ExitReason {
    /// Why, as the end of a sentence: "left startup because ...".
    pub const fn because(self) -> &'static str {
        match self {
            ExitReason::Loss => "packets were lost first",
            ExitReason::Ecn => "congestion marks came first",
            ExitReason::Timeout => "a timeout came first",
            ExitReason::Threshold => "the window reached a threshold that was set beforehand",
            ExitReason::Train => "a train of ACKs had become as long as the path",
            ExitReason::Delay => "the round-trip time had risen",
            ExitReason::CssDone => "conservative slow start had run for its rounds",
            ExitReason::LssTrigger => "the round-trip time had risen and limited slow start began",
            ExitReason::Flattened => "delivery had stopped keeping up with sending",
            ExitReason::Estimate => "the window reached the estimated bandwidth times round trip",
            ExitReason::Oracle => "the window reached the BDP that it was told",
            ExitReason::Plateau => "the delivery rate had stopped growing",
            ExitReason::HighLoss => "too much had been lost in a round trip",
            ExitReason::Advice => "the window reached the rate that the network advised",
        }
    }
}

/// Handover to congestion avoidance: the row of the hand-over table that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handover {
    /// The window reached its threshold without a loss: `W_max = cwnd`, `K = 0` (RFC 9438 section
    /// 4.10).
    #[default]
    LossFree,
    /// After a reduction: the curve starts from the reduced window.
    AfterLoss,
    /// Slow start after a timeout reached its threshold: as loss-free.
    AfterTimeout,
    /// Limited slow start began: CUBIC runs alongside it.
    LssEntry,
    /// SEARCH drained to its target.
    Drained,
    /// Rapid Start's recovery ended: the full BDP is estimated as `cwnd / beta`.
    RapidDone {
        /// The recovery's factor.
        beta: Ratio,
    },
}
