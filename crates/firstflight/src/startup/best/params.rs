//! The options of BEST and what it reports.
//!
//! Follows: see [`super`].

use super::super::{hystart_plus_plus, search};
use crate::options::{Listed, OptionValue, params};
use crate::units::Time;
use core::fmt;

/// The startup that runs in parallel with BEST and decides whenever BEST does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackParams {
    /// SEARCH.
    Search(search::Params),
    /// HyStart++.
    HyStartPlusPlus(hystart_plus_plus::Params),
    /// Loss alone.
    None,
}

/// The fallback by name, with its own defaults.
impl OptionValue for FallbackParams {
    fn parse(text: &str) -> Option<FallbackParams> {
        match text {
            "search" => Some(FallbackParams::Search(search::Params::V4_0)),
            "hystart++" => {
                Some(FallbackParams::HyStartPlusPlus(hystart_plus_plus::Params::RFC9406))
            }
            "none" => Some(FallbackParams::None),
            _ => None,
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FallbackParams::Search(_) => "search",
            FallbackParams::HyStartPlusPlus(_) => "hystart++",
            FallbackParams::None => "none",
        })
    }
}

impl Listed for FallbackParams {
    const VALUES: &'static str = "search, hystart++, none";
}

params! {
    /// The options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Spacing samples that a round needs (`N_MIN`), 1 to 255: 8, or up to 32 if delayed ACKs
        /// on short paths do not matter.
        pub min_samples: u8 = 8, "samples" [1..=255] "spacing samples required per round";
        /// Percentile of the spacing rates to use, 0 to 100. Only the default of 50 is right on a
        /// path that compresses ACKs.
        pub percentile: u8 = 50, "percentile" [0..=100] "percentile of a round's spacing rates";
        /// The bottleneck's queue in bytes, if known: the threshold is at most twice that, because
        /// bursts overflow short queues early.
        pub queue_hint: Option<u64> = None, "queue" ["off, or bytes"] "known queue size; ssthresh stays at or below twice that";
        /// A time at which the path was reassigned, if known: around it, and every 15 s from it,
        /// nothing is measured.
        pub reassigned_at: Option<Time> = None;
        /// The startup that decides whenever BEST does not.
        pub fallback: FallbackParams = FallbackParams::Search(search::Params::V4_0), "fallback" [] "startup that decides when BEST has no estimate";
    }
}

/// The estimators that supported a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The receiver's clock, over two rounds, and not below the chunks.
    ReceiverClock,
    /// The spacing, over two rounds, and not above twice the chunks.
    Pair,
}

/// Result of the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The threshold was set (to [`Best::aim`](super::Best::aim)).
    Set {
        /// The estimators that supported it.
        why: Why,
    },
    /// The estimate is already below the window; the fallback decides whether to leave now.
    Late,
    /// The round's smallest RTT was above the minimum: a queue on the forward or return path makes
    /// an estimate impossible.
    Inflated,
    /// The estimate is the sender's own pacing rate.
    Pacer,
    /// Too few samples.
    Few,
    /// The samples around the median are a factor of two apart: it lies between two modes.
    Ambiguous,
    /// The previous round gave a different rate.
    Unstable,
    /// The spacing rate is more than twice the chunk rate: ACKs are compressed.
    Disagree,
}

/// Counts of each outcome and of rare events; saturating at 255, skipped ACKs at 65 535.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`Outcome::Set`].
    pub set: u8,
    /// [`Outcome::Late`].
    pub late: u8,
    /// [`Outcome::Inflated`].
    pub inflated: u8,
    /// [`Outcome::Pacer`].
    pub pacer: u8,
    /// [`Outcome::Few`].
    pub few: u8,
    /// [`Outcome::Ambiguous`].
    pub ambiguous: u8,
    /// [`Outcome::Unstable`].
    pub unstable: u8,
    /// [`Outcome::Disagree`].
    pub disagree: u8,
    /// Restarts of the estimation because the path changed.
    pub restarts: u8,
    /// ACKs that gave no samples: application limits, holes, reassignments, RTTs below 2 ms.
    pub skipped_acks: u16,
}
