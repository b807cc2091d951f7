//! Options of proportional rate reduction: which document applies, and how open questions are
//! resolved.
//!
//! Follows: see [`super`], to whose departures D1 to D5 the options refer.

use crate::named::named;
use crate::options::{Range, params};
use crate::recovery::LostRepeat;

/// RFC 6937: how fast the pipe may climb back to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Conservation: never send more than was delivered.
    Crb,
    /// Slow start: send the delivered bytes plus one segment per ACK.
    #[default]
    Ssrb,
    /// Unbounded: jump to the target, as RFC 6675 does. For measurements.
    Ub,
}

/// RFC 6937: what differs from its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reading {
    /// The first retransmission is forced (D2).
    #[default]
    ForceFirst,
    /// It is forced, and an ACK that delivers nothing is ignored. The RFC recomputes, and SSRB may
    /// then send its extra segment.
    IgnoreEmpty,
    /// Nothing.
    Literal,
}

/// Grant of an episode that opens without a delivery, for example by a loss timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimerEntry {
    /// One segment (ours; D3).
    #[default]
    Forced,
    /// Nothing before the next delivery (RFC 9937 taken literally).
    Strict,
    /// The grant of one delivered segment (Linux).
    Linux,
}

named! {
    /// Which ACKs are safe, that is, allow an extra segment at or below the target.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum SafeAck {
        /// ACKs that show progress and no further loss (RFC 9937; in Linux's rules without the
        /// rescue clause).
        #[default]
        Progress = "9937",
        /// The first definition (Linux of 2015): ACKs that acknowledge a retransmission while none
        /// is declared lost, so none in the first round.
        Repeat = "2015",
    }
}

/// The document whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// RFC 6937.
    Rfc6937 {
        /// The bound at or below the target.
        bound: Bound,
        /// Differences from the text.
        reading: Reading,
        /// The window at the end (D4).
        exit: ExitWindow,
    },
    /// RFC 9937.
    Rfc9937 {
        /// Grant of an opening without a delivery.
        timer: TimerEntry,
        /// The ACKs that count as safe.
        safe_ack: SafeAck,
    },
    /// Linux since 4.3: slope from the window at entry, no rescue clause.
    Linux {
        /// The ACKs that count as safe.
        safe_ack: SafeAck,
    },
}

named! {
    /// The rules by their name in an arm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mode {
        /// RFC 9937.
        Rfc9937 = "9937",
        /// RFC 6937, bound by conservation.
        Crb = "crb",
        /// RFC 6937, bound by slow start.
        Ssrb = "ssrb",
        /// RFC 6937 without a bound.
        Ub = "ub",
        /// Linux since 4.3.
        Linux = "linux",
    }
}

named! {
    /// RFC6937 3-exit: the window at the end of an episode (D4).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum ExitWindow {
        /// The target, as in Linux and RFC 9937.
        #[default]
        Target = "target",
        /// The flight that the last ACK allowed, at most the target: RFC 6937 sets no window at the
        /// end, so a bound that kept the pipe below the target leaves the window there.
        Granted = "granted",
    }
}

/// Rounding of the amount due in the proportional branch to whole segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// A whole segment is sent while anything is due (D1).
    #[default]
    WholeSegment,
    /// A segment is sent only if all of it is due: FreeBSD's base stack, and hosts that cut
    /// segments to the window.
    Exact,
}

/// Reliability of the deliveries reported on this connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// SACK or packet numbers: exact.
    #[default]
    Exact,
    /// Duplicate ACKs, one segment each.
    Duplicates,
    /// Duplicate ACKs, capped at the flight at entry per episode, so that forged ones gain nothing
    /// (RFC 9937).
    DuplicatesCapped,
}

params! {
    /// Parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The document whose rules apply.
        pub rules: Rules = Rules::Rfc9937 { timer: TimerEntry::Forced, safe_ack: SafeAck::Progress };
        /// Rounding of the amount to send to whole segments.
        pub rounding: Rounding = Rounding::WholeSegment;
        /// Source of the number of delivered bytes.
        pub evidence: Evidence = Evidence::Exact;
        /// At most one extra segment (SSRB, SafeACK) per segment delivered, so that splitting ACKs
        /// gains nothing.
        pub split_guard: bool = false, "guard" [] "splitting ACKs gains no extra segments";
        /// Effect of a lost retransmission.
        pub lost_repeat: LostRepeat = LostRepeat::CutAgain, "lost" [] "effect of a lost retransmission";
    }
    preset "mode": Mode [] "RFC 9937, a bound of RFC 6937, or the kernel's", of |params| params.mode(), make Params::of_mode;
    option "safeack": SafeAck ["9937, 2015 (modes 9937 and linux)"; Range::Words]
        "which ACKs add a segment: progress without loss, or a retransmission's as in Linux in 2015",
        get |params| params.safe_ack(),
        set |params, safe_ack| params.set_safe_ack(safe_ack);
    option "exit": ExitWindow ["target, granted (modes crb, ssrb and ub)"; Range::Words]
        "window at the end: the target, or what the last ACK allowed (RFC 6937 sets none)",
        get |params| params.exit(),
        set |params, exit| params.set_exit(exit);
}

impl Params {
    /// RFC 6937 with this bound, as written except for D2.
    pub const fn rfc6937(bound: Bound) -> Params {
        Params::of(
            Rules::Rfc6937 { bound, reading: Reading::ForceFirst, exit: ExitWindow::Target },
            LostRepeat::CutAgain,
        )
    }

    /// RFC 9937.
    pub const fn rfc9937() -> Params {
        Params::DEFAULT
    }

    /// Linux since 4.3.
    pub const fn linux() -> Params {
        Params::of(Rules::Linux { safe_ack: SafeAck::Progress }, LostRepeat::Ignore)
    }

    const fn of(rules: Rules, lost_repeat: LostRepeat) -> Params {
        Params { rules, lost_repeat, ..Params::DEFAULT }
    }

    fn of_mode(mode: Mode) -> Params {
        match mode {
            Mode::Rfc9937 => Params::rfc9937(),
            Mode::Crb => Params::rfc6937(Bound::Crb),
            Mode::Ssrb => Params::rfc6937(Bound::Ssrb),
            Mode::Ub => Params::rfc6937(Bound::Ub),
            Mode::Linux => Params::linux(),
        }
    }

    fn mode(self) -> Mode {
        match self.rules {
            Rules::Rfc9937 { .. } => Mode::Rfc9937,
            Rules::Rfc6937 { bound: Bound::Crb, .. } => Mode::Crb,
            Rules::Rfc6937 { bound: Bound::Ssrb, .. } => Mode::Ssrb,
            Rules::Rfc6937 { bound: Bound::Ub, .. } => Mode::Ub,
            Rules::Linux { .. } => Mode::Linux,
        }
    }

    /// RFC 6937 has no safe ACKs.
    fn safe_ack(self) -> Option<SafeAck> {
        match self.rules {
            Rules::Rfc9937 { safe_ack, .. } | Rules::Linux { safe_ack } => Some(safe_ack),
            Rules::Rfc6937 { .. } => None,
        }
    }

    fn set_safe_ack(&mut self, wanted: SafeAck) -> bool {
        match &mut self.rules {
            Rules::Rfc9937 { safe_ack, .. } | Rules::Linux { safe_ack } => {
                *safe_ack = wanted;
                true
            }
            Rules::Rfc6937 { .. } => false,
        }
    }

    /// RFC 9937 and Linux set the window at the end.
    pub(super) fn exit(self) -> Option<ExitWindow> {
        match self.rules {
            Rules::Rfc6937 { exit, .. } => Some(exit),
            Rules::Rfc9937 { .. } | Rules::Linux { .. } => None,
        }
    }

    fn set_exit(&mut self, wanted: ExitWindow) -> bool {
        match &mut self.rules {
            Rules::Rfc6937 { exit, .. } => {
                *exit = wanted;
                true
            }
            Rules::Rfc9937 { .. } | Rules::Linux { .. } => false,
        }
    }

    pub(super) fn forces_first(self) -> bool {
        !matches!(self.rules, Rules::Rfc6937 { reading: Reading::Literal, .. })
    }

    pub(super) fn ignores_zero_delivery(self) -> bool {
        match self.rules {
            Rules::Rfc6937 { reading, .. } => reading == Reading::IgnoreEmpty,
            Rules::Rfc9937 { .. } | Rules::Linux { .. } => true,
        }
    }
}
