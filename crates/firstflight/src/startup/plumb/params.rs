//! The constants of Plumb.

use crate::options::{Range, params};
use crate::units::Ratio;

params! {
    /// The constants of Plumb.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Packets per train, 2 to 100. Four packets give two ACKs at one per two packets, hence a
        /// spacing, and fit into a buffer of four packets; the last packet of a train of six does
        /// not.
        pub train: u8 = 4, "train" [2..=100 "packets"] "packets per train in the first flight";
        /// Growth per round trip towards a sounded depth, 2 to 100.
        pub growth: u8 = 4, "growth" [2..=100] "growth per round trip towards a sounded depth";
        /// Number of queues caused by Plumb itself after which it leaves, 1 to 100.
        pub strikes: u8 = 3, "strikes" [1..=100] "queues that Plumb itself caused before it exits";
        /// Whether to ignore the spacing and delay of ACKs that arrive in bunches.
        pub bunches: bool = true, "bunches" [] "ignore the spacing of ACKs that arrive in bunches";
        /// Granularity of the sender's pacer, in tenths of a millisecond, 1 to 200: packets that
        /// leave within it count as sent at once.
        pub grain: u8 = 1, "grain" [1..=200 "tenths of a ms"] "granularity of the sender's pacer, for detecting bunches";
        /// Whether growth is limited to twofold until the queue of a train was seen to drain before
        /// the next one.
        pub verify: bool = false, "verify" [] "at most double until a train has drained before the next one";
        /// Whether queues and bunches are judged by the receiver's clock if ACKs carry it.
        pub clock: bool = false, "clock" [] "use the receiver's clock where ACKs carry it (TCP timestamps)";
        /// Window of an earlier connection on this path, in packets; `None`: no prior.
        pub saved: Option<u32> = None, "saved" [off or 1..=1_000_000 "packets"] "window of an earlier connection, used once a probe confirms it";
        /// Smallest RTT of the earlier connection in ms; without it every path counts as the same
        /// path.
        pub rtt_ms: Option<u32> = None, "rtt" [off or 1..=60_000 "ms"] "smallest RTT of the earlier connection";
        /// Whether Rapid Start's recovery replaces the arm's for the first loss.
        pub own_recovery: bool = false, "rapid" [] "Rapid Start's recovery for the first loss";
        /// Lost share of a startup round that is excused, in percent; `None` excuses nothing.
        pub tolerate: Option<u8> = None, "tolerate" [off or 1..=10 "%"] "loss in a startup round that does not count as congestion";
        /// The largest share that a cut keeps if the RTT shows no queue; `None`: always the factor
        /// of congestion avoidance.
        pub keep: Option<Ratio> = None,
            "keep" ["off, or a fraction from 0.5 to below 1" if |keep: Option<Ratio>| {
                keep.is_none_or(|keep| keep.num() < keep.den() && 2 * keep.num() >= keep.den())
            }; Range::Fraction { off: true, low: "0.5", high: "0.99" }]
            "largest share that a reduction keeps when the RTT shows no queue";
    }
}
