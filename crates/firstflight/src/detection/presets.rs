//! Presets: which loss detectors, timers and tests for spurious losses make up a sender of a given
//! kind.
//!
//! There is one row per kind of stack; an endpoint reads its row and builds the parts. An arm's
//! sender options name a preset. Follows the documents of the parts; `linux26` is the kernel of the
//! 2011 experiments, `rack` and `quic` are deployed today. State: none. Departures: D1 (ours)
//! `windows` is RFC 6675 with timers like those of Windows, for the laboratory figures of
//! HyStart++.

use super::dupack::Rule;
use super::limited_transmit::Wording;
use super::next_seg::Rules;
use super::rto;
use super::scoreboard::RepeatRule;
use super::undo::Accepts;
use crate::options::{Listed, OptionValue};
use crate::units::Nanos;
use core::fmt;

/// Rule that marks segments lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marking {
    /// A counting rule.
    Counting(Rule),
    /// RACK.
    Rack,
    /// Packet and time threshold of RFC 9002.
    Quic,
}

/// Early retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Early {
    /// Never: not implemented, or subsumed by RACK.
    Off,
    /// As set by the arm: off, naive, A, B or both.
    ByArm,
}

/// Probes sent before the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probe {
    /// Nothing.
    None,
    /// A tail loss probe.
    Tlp,
    /// Probes in place of a timeout (RFC 9002).
    Pto,
}

/// Detection of lost retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostRepeat {
    /// By the timeout only.
    Never,
    /// By SACKs of data sent after them.
    BySacks,
    /// Like any other segment.
    Naturally,
}

/// Computation of the retransmission timeout from the estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// RFC 6298.
    Rfc,
    /// The kernel's rule: the variation term is at least the minimum.
    Linux,
    /// As in Windows.
    Windows,
}

impl Bounds {
    /// The shortest timeout.
    pub const fn min(self) -> Nanos {
        match self {
            Bounds::Rfc => Nanos::from_secs(1),
            Bounds::Linux => Nanos::from_millis(200),
            Bounds::Windows => Nanos::from_millis(300),
        }
    }

    /// The longest, backed off or not.
    pub const fn max(self) -> Nanos {
        match self {
            Bounds::Rfc | Bounds::Windows => Nanos::from_secs(60),
            Bounds::Linux => Nanos::from_secs(120),
        }
    }
}

/// The undo rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UndoRule {
    /// None.
    Off,
    /// DSACKs, timestamps, and F-RTO after timeouts.
    DsackAndTimestamps,
    /// Late ACKs of packets declared lost.
    LateAcks,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name in arms and tables.
    pub name: &'static str,
    /// Rule that marks segments lost.
    pub marking: Marking,
    /// Whether SACK is in use (QUIC: acknowledgement ranges).
    pub sack: bool,
    /// Rules for choosing what to send next.
    pub rules: Rules,
    /// Effect of a retransmission on the mark.
    pub repeats: RepeatRule,
    /// Limited transmit.
    pub limited_transmit: Wording,
    /// Early retransmit.
    pub early_retransmit: Early,
    /// Bounds of the timeout.
    pub bounds: Bounds,
    /// The timeout before the first sample.
    pub initial_rto: Nanos,
    /// Probes sent before the timeout.
    pub probe: Probe,
    /// Detection of lost retransmissions.
    pub lost_repeats: LostRepeat,
    /// Whether F-RTO tests timeouts.
    pub f_rto: bool,
    /// The undo rule.
    pub undo: UndoRule,
    /// Whether a timeout inside an episode keeps the episode's target.
    pub keep_target: bool,
    /// Whether to follow the kernel where it differs from the documents: see [`Preset::LINUX`].
    pub linux: bool,
    /// Purpose of the preset.
    pub use_for: &'static str,
}

/// RFC 6675 as written; the other rows state their differences.
const SACK6675: Preset = Preset {
    name: "sack6675",
    marking: Marking::Counting(Rule::Rfc6675),
    sack: true,
    rules: Rules::Rfc6675,
    repeats: RepeatRule::KeepsMark,
    limited_transmit: Wording::Rfc3042,
    early_retransmit: Early::Off,
    bounds: Bounds::Rfc,
    initial_rto: Nanos::from_secs(1),
    probe: Probe::None,
    lost_repeats: LostRepeat::Never,
    f_rto: false,
    undo: UndoRule::Off,
    keep_target: false,
    linux: false,
    use_for: "figures of the standards",
};

/// The rules deployed today, as documented.
const RACK: Preset = Preset {
    name: "rack",
    marking: Marking::Rack,
    rules: Rules::LostFirst,
    repeats: RepeatRule::NewBet,
    bounds: Bounds::Linux,
    probe: Probe::Tlp,
    lost_repeats: LostRepeat::Naturally,
    f_rto: true,
    undo: UndoRule::DsackAndTimestamps,
    keep_target: true,
    use_for: "TCP today",
    ..SACK6675
};

/// OURS preset-rows: all presets, in the order they are listed.
pub const PRESETS: [Preset; 8] = [
    Preset {
        name: "reno",
        marking: Marking::Counting(Rule::Duplicates),
        sack: false,
        rules: Rules::LostFirst,
        use_for: "connections without SACK, 4 % in 2011",
        ..SACK6675
    },
    Preset {
        name: "sack3517",
        marking: Marking::Counting(Rule::Rfc3517),
        rules: Rules::Rfc3517,
        ..SACK6675
    },
    SACK6675,
    Preset {
        name: "linux26",
        marking: Marking::Counting(Rule::Fack),
        early_retransmit: Early::ByArm,
        bounds: Bounds::Linux,
        initial_rto: Nanos::from_secs(3),
        lost_repeats: LostRepeat::BySacks,
        f_rto: true,
        undo: UndoRule::DsackAndTimestamps,
        keep_target: true,
        use_for: "the 2011 experiments",
        ..SACK6675
    },
    RACK,
    Preset::LINUX,
    Preset {
        name: "quic",
        marking: Marking::Quic,
        rules: Rules::LostFirst,
        repeats: RepeatRule::NewBet,
        limited_transmit: Wording::Off,
        probe: Probe::Pto,
        lost_repeats: LostRepeat::Naturally,
        undo: UndoRule::LateAcks,
        use_for: "QUIC",
        ..SACK6675
    },
    Preset {
        name: "windows",
        bounds: Bounds::Windows,
        use_for: "laboratory figures of HyStart++",
        ..SACK6675
    },
];

impl Preset {
    /// Linux 6.18 with its differences from RFC 8985 and RFC 3522:
    /// * RACK's RTT is that of the last segment reported, where SACKed segments are reported before
    ///   acknowledged ones;
    /// * a duplicate of a retransmission counts as delivered (`tcp_dsack_seen`), and it widens the
    ///   reordering window only after reordering was seen;
    /// * DSACKs below `una` count against the retransmissions of an episode, whichever segment they
    ///   report;
    /// * each ACK that moves `una` in an episode may prove it spurious by its timestamp, not only
    ///   the first one;
    /// * below the end of a recovery a timestamp undoes it only once no retransmission is in
    ///   flight, and until then nothing is marked or retransmitted (`tcp_try_undo_partial`);
    /// * beyond the initial degree of reordering, SACKs alone grow the window;
    /// * congestion control does not see the RTT of the handshake.
    pub const LINUX: Preset =
        Preset { name: "linux", linux: true, use_for: "TCP of Linux 6.18 to the letter", ..RACK };

    /// The preset with this name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Options of the timeout.
    pub fn rto(&self) -> rto::Options {
        rto::Options {
            max: self.bounds.max(),
            keep_target: self.keep_target,
            forget_sacks: false,
            reenter: self.marking == Marking::Rack,
        }
    }

    /// Proofs that the preset accepts.
    pub fn accepts(&self) -> Accepts {
        let both = self.undo == UndoRule::DsackAndTimestamps;
        Accepts { dsack: both, timestamps: both, every: self.linux }
    }
}

/// A preset of loss detection by name; only TCP presets, because QUIC has its own loss detection.
impl OptionValue for &'static Preset {
    fn parse(text: &str) -> Option<&'static Preset> {
        Preset::named(text).filter(|preset| preset.marking != Marking::Quic)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Listed for &'static Preset {
    const VALUES: &'static str = "rack, linux, linux26, sack6675, sack3517, reno, windows";
}
