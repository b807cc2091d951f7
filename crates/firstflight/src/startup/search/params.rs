//! The constants of SEARCH, and the interpretations on which its implementations disagree.
//!
//! Follows: see [`super`].

use crate::named::named;
use crate::options::{Listed, OptionValue, Range, params};
use core::fmt;

/// SEARCH reach-1: the furthest look-back the ring can hold, in bins (`EXTRA`).
#[doc(hidden)]
pub const MAX_EXTRA: u8 = 15;

named! {
    /// Version of the algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Version {
        /// Compares delivered bytes with sent bytes.
        #[default]
        V4_0 = "4.0",
        /// Compares delivered bytes with twice those of one RTT earlier, as in the patch posted to
        /// netdev.
        V3_1 = "3.1",
        /// The same, as in the authors' first file of 2025: restarts on application-limited ACKs.
        V3_1In2025 = "3.1-2025",
    }
}

named! {
    /// The action on detected saturation.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Exit {
        /// Lower the window ACK by ACK to the bytes delivered in the last initial RTT.
        #[default]
        Drain = "drain",
        /// Keep the window.
        None = "none",
        /// Lower the window to the draining target at once.
        Jump = "jump",
        /// Reduce the window by the bytes delivered during the last two initial RTTs.
        Rollback = "rollback",
    }
}

named! {
    /// Bins between which a look-back is interpolated if it is not a whole number of bins.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Interpolation {
        /// The bin at the whole look-back and the next older one.
        #[default]
        Older = "older",
        /// The bin at the whole look-back and the next newer one (the draft's text).
        Newer = "newer",
    }
}

named! {
    /// Bins required before the first comparison.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Warmup {
        /// All bins used have been measured.
        #[default]
        Strict = "strict",
        /// One bin earlier; the bin before the first counts as zero bytes.
        Kernel = "kernel",
    }
}

/// When a gap without ACKs makes the record useless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissedBins {
    /// Never.
    Off,
    /// More bins passed than a window holds.
    #[default]
    Window,
    /// More bins passed than this many current RTTs hold.
    Alpha(u8),
    /// More bins passed than this (the patch posted to netdev: 2).
    Bins(u8),
    /// More bins passed than this many times the two whole bins of an initial RTT (`ALPHA` of the
    /// authors' later files: 2, or unbounded). If the gap is at most a window, the new record keeps
    /// the bin length.
    Initial(u8),
}

impl OptionValue for MissedBins {
    fn parse(text: &str) -> Option<MissedBins> {
        match text {
            "off" => Some(MissedBins::Off),
            "window" => Some(MissedBins::Window),
            text => {
                let (number, make): (_, fn(u8) -> MissedBins) =
                    match (text.strip_suffix("bins"), text.strip_suffix("initial")) {
                        (Some(bins), _) => (bins, MissedBins::Bins),
                        (_, Some(alpha)) => (alpha, MissedBins::Initial),
                        _ => (text, MissedBins::Alpha),
                    };
                <u8 as OptionValue>::parse(number).filter(|&number| number >= 1).map(make)
            }
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissedBins::Off => f.write_str("off"),
            MissedBins::Window => f.write_str("window"),
            MissedBins::Alpha(alpha) => alpha.show(f),
            MissedBins::Bins(bins) => write!(f, "{bins}bins"),
            MissedBins::Initial(alpha) => write!(f, "{alpha}initial"),
        }
    }
}

impl Listed for MissedBins {
    const VALUES: &'static str =
        "off, window, or 1 to 255, 1bins to 255bins, 1initial to 255initial";
    const RANGE: Range = Range::Described;
}

named! {
    /// Whether an ACK exactly at the end of a bin closes it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Boundary {
        /// The ACK closes the bin (kernel).
        #[default]
        Closed = "closed",
        /// The ACK does not close the bin.
        Open = "open",
    }
}

params! {
    /// The constants of the draft, and the interpretations that implementations disagree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Version, which selects the comparison.
        pub version: Version = Version::V4_0;
        /// The shortfall that ends slow start, in percent of the reference (`THRESH`), 1 to 50;
        /// equality exits. Other values are clamped to that range.
        // SEARCH thresh-2: 26 % in 4.0.
        pub thresh_percent: u8 = 26, "thresh" [1..=50] "shortfall, in percent, that ends slow start";
        /// Action at the exit.
        pub exit: Exit = Exit::Drain, "exit" [] "what happens to the window at the exit";
        /// Look-back in bins at which the RTT is too inflated for an evaluation (`EXTRA`), 1 to
        /// [`MAX_EXTRA`].
        pub extra: u8 = MAX_EXTRA, "extra" [1..=15] "bins that the look-back may extend";
        /// Draining: segments acknowledged for one segment of credit, at least 1. 3 in the draft,
        /// 16 in one kernel version.
        // SEARCH drain-4: one segment of credit per three acknowledged.
        pub drain_ratio: u8 = 3, "ratio" [1..=64] "segments acknowledged per segment sent while draining";
        /// Direction of the interpolation.
        pub interpolation: Interpolation = Interpolation::Older, "interpolate" [] "bin that interpolation leans towards";
        /// Strictness of the warm-up.
        pub warmup: Warmup = Warmup::Strict, "warmup" [] "bins required before the first comparison";
        /// Restart after silence.
        pub missed_bins: MissedBins = MissedBins::Window,
            "missed" [] "silence that resets the history (in RTTs, bins, or bins of the initial RTT)";
        /// Bits of a counter, 16 or 32; other values are clamped to that range
        /// ([`shift_to_fit`](super::shift_to_fit)).
        pub bits: u8 = 32, "bits" [16..=32] "bits of a counter";
        /// Whether an ACK at the end of a bin belongs to that bin or to the next.
        pub boundary: Boundary = Boundary::Closed, "edge" [] "whether an ACK at the end of a bin closes it";
        /// Ignore samples in the first second of a CUBIC epoch, as the kernel versions do.
        pub skip_young_epoch: bool = false, "epoch" [] "ignore samples in the first second of an avoidance epoch";
        /// Whether to suppress the exit if the application was the limit in a bin of either window,
        /// because a pause of the application looks like saturation.
        // SEARCH app-limited-2: requested at IETF 126 for the next version; not in the patch posted
        // to netdev.
        pub guard: bool = false, "guard" [] "no exit if the application limited sending in a bin of either window";
    }
    preset "version": Version [] "version of the draft", of |params| params.version, make Params::of;
}

impl Params {
    /// SEARCH 4.0: draft-09 with the interpretations that its independent implementations settled
    /// on.
    pub const V4_0: Params = Params::DEFAULT;

    /// SEARCH text-3.1: the patch of tcp_cubic.c posted to netdev in December 2024 (Linux 6.13). 25
    /// counters of 16 bits; the look-back must be shorter than 14 bins, one less than the text
    /// says; an ACK at the end of a bin closes it; the record restarts, on the same ACK, when more
    /// than two bins have passed.
    pub const V3_1: Params = Params {
        version: Version::V3_1,
        // SEARCH thresh-3: 35 % in 3.1.
        thresh_percent: 35,
        exit: Exit::None,
        warmup: Warmup::Kernel,
        missed_bins: MissedBins::Bins(2),
        extra: 14,
        bits: 16,
        skip_young_epoch: true,
        ..Params::V4_0
    };
}

impl Params {
    /// SEARCH 3.1 as in the authors' first file of 2025, with its `alpha` at the documented 2 (as
    /// shipped it is unbounded): an ACK at the end of a bin does not close it.
    pub const V3_1_IN_2025: Params = Params {
        version: Version::V3_1In2025,
        missed_bins: MissedBins::Initial(2),
        boundary: Boundary::Open,
        ..Params::V3_1
    };

    fn of(version: Version) -> Params {
        match version {
            Version::V4_0 => Params::V4_0,
            Version::V3_1 => Params::V3_1,
            Version::V3_1In2025 => Params::V3_1_IN_2025,
        }
    }
}
