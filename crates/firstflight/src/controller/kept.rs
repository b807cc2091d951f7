//! State of a controller beside its window: the exit from startup, the open episode, the policy that repairs
//! in it, and what a false alarm would give back.

use super::config::{Config, Ending, Relapse};
use super::three_amounts::ThreeAmounts;
use crate::exit::ExitReason;
use crate::recovery::OwnRecovery;
use crate::units::Time;

/// The end of startup as it is kept; the rest of [`Exit`](super::Exit) follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) reason: ExitReason,
    pub(super) estimated: bool,
    /// Something had been sent by then.
    pub(super) sent: bool,
    /// The largest pacing rate was in force.
    pub(super) capped: bool,
    pub(super) rounds: u32,
    pub(super) at: Time,
    /// The window that was found, the one it became, the bytes in flight.
    pub(super) amounts: ThreeAmounts,
    /// Meaningful if `estimated`.
    pub(super) estimate: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Episode {
    /// The arm's recovery policy is in charge.
    Policy,
    /// The startup's own recovery is in charge.
    Own,
    /// TCP after a startup's own recovery: the window stays constant until the last hole is repaired.
    Repair,
}

/// The recovery in charge. A startup's own recovery takes the place of the policy, of which only the settings
/// are needed meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repairer<R, P> {
    Policy(R),
    Own(OwnRecovery, P),
}

/// The end of a TCP recovery: the configured rule, and the state of the current recovery. One byte, since
/// every connection reserves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends(u8);

impl Ends {
    const SACK: u8 = 1;
    const OUTSTANDING: u8 = 2;
    const STILL: u8 = 4;
    const ABOVE: u8 = 8;
    const RELAPSED: u8 = 16;

    pub(super) fn new(config: &Config) -> Ends {
        let bit = |on, bit| if on { bit } else { 0 };
        Ends(
            bit(config.sack, Ends::SACK)
                | bit(config.relapse == Relapse::Outstanding, Ends::OUTSTANDING)
                | bit(config.ending == Ending::Still, Ends::STILL),
        )
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    fn set(&mut self, bit: u8, on: bool) {
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }

    pub(super) fn sack(self) -> bool {
        self.has(Ends::SACK)
    }

    pub(super) fn relapse(self) -> Relapse {
        if self.has(Ends::OUTSTANDING) { Relapse::Outstanding } else { Relapse::Declared }
    }

    pub(super) fn grows(self) -> bool {
        !self.has(Ends::STILL)
    }

    /// Whether the episode lasts until something above its mark is acknowledged.
    pub(super) fn above(self) -> bool {
        self.has(Ends::ABOVE)
    }

    /// New data was declared lost before the recovery was over.
    pub(super) fn relapsed(self) -> bool {
        self.has(Ends::RELAPSED)
    }

    pub(super) fn set_relapsed(&mut self, on: bool) {
        self.set(Ends::RELAPSED, on);
    }

    /// Something begins at a mark, because of marks if `marks`.
    pub(super) fn begin(&mut self, marks: bool) {
        self.set(Ends::ABOVE, marks || !self.sack());
        self.set_relapsed(false);
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Undo<S, A> {
    /// Window, threshold, largest flight.
    pub(super) amounts: ThreeAmounts,
    pub(super) avoidance: A,
    pub(super) startup: S,
}
