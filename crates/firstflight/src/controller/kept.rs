//! What a controller keeps beside its window: how startup ended, whose episode is open, who repairs
//! in it, and what a false alarm would give back.

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
    /// TCP after a startup's own recovery: the window stands still until the last hole is repaired.
    Repair,
}

/// Who repairs. A startup's own recovery takes the place of the policy, of which only the settings
/// are needed meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repairer<R, P> {
    Policy(R),
    Own(OwnRecovery, P),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Undo<S, A> {
    /// Window, threshold, largest flight.
    pub(super) amounts: ThreeAmounts,
    pub(super) avoidance: A,
    pub(super) startup: S,
}
