//! The constants of SEARCH, and the readings on which its implementations disagree.
//!
//! Follows: see [`super`].

use crate::named::named;
use crate::options::{Listed, OptionValue, params};
use core::fmt;

/// SEARCH reach-1: the furthest look-back the ring can hold, in bins (`EXTRA`).
pub const MAX_EXTRA: u8 = 15;

named! {
    /// Which generation of the algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Version {
        /// Delivered bytes against sent ones.
        #[default]
        V4_0 = "4.0",
        /// Delivered bytes against twice those one RTT earlier, as the patch posted to netdev has it.
        V3_1 = "3.1",
        /// The same as the authors' first file of 2025 has it: restarts on application-limited ACKs.
        V3_1In2025 = "3.1-2025",
    }
}

named! {
    /// What happens once saturation is detected.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Exit {
        /// Lower the window ACK by ACK to the bytes delivered in the last initial RTT.
        #[default]
        Drain = "drain",
        /// Keep the window.
        None = "none",
        /// Lower the window to the draining target at once.
        Jump = "jump",
        /// Take back what was delivered during the last two initial RTTs.
        Rollback = "rollback",
    }
}

named! {
    /// Between which bins a look-back that is no whole number of bins is interpolated.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Interpolation {
        /// The whole bins looked back and one older.
        #[default]
        Older = "older",
        /// The whole bins looked back and one newer (the draft's text).
        Newer = "newer",
    }
}

named! {
    /// How many bins must exist before the first comparison.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Warmup {
        /// Every bin read was really measured.
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
    /// More bins passed than this many times the whole bins of an initial RTT, which are two
    /// (`ALPHA` of the authors' later files: 2, or without bound). Up to a window the length of
    /// the bins is kept then, and the record begins anew with it.
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
}

named! {
    /// Whether an ACK exactly at the end of a bin closes it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Boundary {
        /// It does (kernel).
        #[default]
        Closed = "closed",
        /// It does not.
        Open = "open",
    }
}

params! {
    /// The constants of the draft and the readings that implementations disagree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Which comparison.
        pub version: Version = Version::V4_0;
        /// The shortfall that ends slow start, in percent of the reference (`THRESH`), 1 to 50; equality exits. Others are cut to that range.
        // SEARCH thresh-2: 26 % in 4.0.
        pub thresh_percent: u8 = 26, "thresh" [1..=50] "shortfall, in percent, that ends slow start";
        /// What to do then.
        pub exit: Exit = Exit::Drain, "exit" [] "what happens to the window at the exit";
        /// Bins of look-back at which the RTT counts as inflated beyond judgement (`EXTRA`), 1 to [`MAX_EXTRA`].
        pub extra: u8 = MAX_EXTRA, "extra" [1..=15] "bins that the look-back may extend";
        /// Draining: segments acknowledged for one segment of credit, at least 1. The draft's 3; one kernel version has 16.
        // SEARCH drain-4: one segment of credit per three acknowledged.
        pub drain_ratio: u8 = 3, "ratio" [1..=64] "segments acknowledged per segment sent while draining";
        /// Direction of the interpolation.
        pub interpolation: Interpolation = Interpolation::Older, "interpolate" [] "bin that interpolation leans towards";
        /// Strictness of the warm-up.
        pub warmup: Warmup = Warmup::Strict, "warmup" [] "bins required before the first comparison";
        /// Restart after silence.
        pub missed_bins: MissedBins = MissedBins::Window,
            "missed" [] "silence that resets the history (in RTTs, bins, or bins of the initial RTT)";
        /// Bits of a counter, 16 or 32; others are cut to that range ([`shift_to_fit`](super::shift_to_fit)).
        pub bits: u8 = 32, "bits" [16..=32] "bits of a counter";
        /// The edge of a bin.
        pub boundary: Boundary = Boundary::Closed, "edge" [] "whether an ACK at the end of a bin closes it";
        /// Ignore samples in the first second of a CUBIC epoch, as the kernel versions do.
        pub skip_young_epoch: bool = false, "epoch" [] "ignore samples in the first second of an avoidance epoch";
        /// No exit while the application was the limit in a bin of either window: a pause of the application looks like saturation.
        // SEARCH app-limited-2: asked for at IETF 126 for the next version; the patch posted to netdev has nothing of it.
        pub guard: bool = false, "guard" [] "no exit if the application limited sending in a bin of either window";
    }
    preset "version": Version [] "version of the draft", of |params| params.version, make Params::of;
}

impl Params {
    /// SEARCH 4.0: draft-09 with the readings that its independent implementations settled on.
    pub const V4_0: Params = Params::DEFAULT;

    /// SEARCH text-3.1: the patch of tcp_cubic.c posted to netdev in December 2024 (Linux 6.13). 25
    /// counters of 16 bits; the look-back has to be shorter than 14 bins, one less than the
    /// text says; an ACK at the end of a bin closes it; the record begins anew, on the same ACK,
    /// when more than two bins have passed.
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
    /// SEARCH 3.1 as the authors' first file of 2025 has it, with its `alpha` at the documented 2
    /// (as shipped it is without bound): an ACK at the end of a bin does not close it.
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
