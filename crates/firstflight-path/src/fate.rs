//! The fate of a packet.

/// Fate of an offered packet. All times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet reaches the far end.
    Deliver {
        /// Arrival time of its last bit at the far end.
        at: u64,
        /// Waiting time in the queue before its service starts.
        waited: u64,
        /// Whether the queue sets ECN Congestion Experienced on it.
        marked: bool,
    },
    /// The packet reaches the far end twice (paths with `dup=` only).
    Duplicate {
        /// Arrival of the first copy.
        at: u64,
        /// Arrival of the second copy, not before the first.
        again: u64,
        /// Waiting time in the queue before its service starts.
        waited: u64,
        /// Whether the queue sets ECN Congestion Experienced on both copies.
        marked: bool,
    },
    /// The packet never arrives.
    Drop(DropCause),
}

/// Why a packet never arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropCause {
    /// The queue had no room.
    Queue,
    /// Loss unrelated to the queue: independent, in bursts, or at a handover.
    Random,
    /// The token bucket was empty.
    Policer,
    /// Active queue management dropped it.
    Aqm,
    /// The return path thinned it out: a later acknowledgement carries the same information.
    Thinned,
    /// A trace played once has ended: the link delivers nothing more.
    TraceEnd,
}

/// Decision of the queue management about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}
