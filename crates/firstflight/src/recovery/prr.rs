//! Proportional rate reduction: while the pipe is above the target, send `target / flight-at-entry`
//! bytes per byte delivered, so that the pipe glides down a straight line; at or below the target,
//! let it climb back under a bound. Bytes that could not be sent when they were due stay on account
//! (`delivered - out`) and may be sent later. The episode ends with the window at the target.
//!
//! Follows: RFC 6937 (May 2013, experimental), RFC 9937 (December 2025, standards track), and Linux
//! since 4.3 (`tcp_cwnd_reduction` in `net/ipv4/tcp_input.c`); [`Rules`] selects one. State: 72
//! bytes.
//!
//! Departures:
//! * D1 (whole segments): in the proportional branch a whole segment is sent while anything is due;
//!   the excess is below one segment and the cumulative formula takes it back. The RFCs round to
//!   the byte, which would hold back or cut segments ([`Rounding::Exact`]).
//! * D2 (first retransmission): it is also forced when less than a segment is due, not only when
//!   nothing is, because otherwise the episode might never begin. RFC 6937 does not force it at
//!   all; [`Reading::Literal`] does not either.
//! * D3 (nothing delivered at entry): RFC 9937 grants nothing until the next delivery, after a loss
//!   timer possibly never. One segment is forced ([`TimerEntry`]), also if an ACK that delivered
//!   nothing opened the episode; not after marks, which leave nothing to retransmit.
//! * D4 (exit): RFC 6937 is silent; the window becomes the target, as in Linux and RFC 9937.
//!   [`ExitWindow::Granted`] keeps what the last ACK allowed instead. Linux also leaves the window unchanged in some undo cases; here the controller handles undo.
//! * D5 (Linux counts packets): bytes are counted here, with the target rounded down and the window
//!   rounded up to whole segments, which is equivalent as long as all segments are full.

mod params;

#[doc(hidden)]
pub use params::{
    Bound, Evidence, ExitWindow, Mode, Params, Reading, Rounding, Rules, SafeAck, TimerEntry,
};

use crate::avoidance::MAX_MSS;
use crate::recovery::{Cause, End, Entry, LostRepeat, Policy, Progress, Recovery};
use crate::units::MAX_BYTES;

/// Upper bound of an episode's sums, so that no difference of two and no sum of three overflows;
/// two million times the largest window.
const MAX_SUM: u64 = 1 << 61;

/// The rule that produced the last ACK's grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub enum Branch {
    /// No grant: nothing may be sent.
    #[default]
    Closed,
    /// Above the target: the straight line.
    Proportional,
    /// At or below it: the bound.
    Bound,
    /// The forced first retransmission.
    Forced,
}

impl Branch {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Branch::Closed => "closed",
            Branch::Proportional => "proportional",
            Branch::Bound => "bound",
            Branch::Forced => "forced",
        }
    }
}

/// State of an episode: the event it waits for, or the branch of its last grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Opened; its first ACK has not been seen.
    Opened,
    /// Opened by a loss timer.
    OpenedByTimer,
    /// Opened by marks.
    OpenedByMarks,
    /// The last grant came from this branch.
    Closed,
    Proportional,
    Bound,
    Forced,
}

impl Stage {
    fn opened(cause: Cause) -> Stage {
        match cause {
            Cause::Ack => Stage::Opened,
            Cause::Timer => Stage::OpenedByTimer,
            Cause::Ecn => Stage::OpenedByMarks,
        }
    }

    /// Cause of the episode, if this is still its first ACK.
    fn opening(self) -> Option<Cause> {
        match self {
            Stage::Opened => Some(Cause::Ack),
            Stage::OpenedByTimer => Some(Cause::Timer),
            Stage::OpenedByMarks => Some(Cause::Ecn),
            Stage::Closed | Stage::Proportional | Stage::Bound | Stage::Forced => None,
        }
    }
}

/// Proportional rate reduction; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prr {
    params: Params,
    stage: Stage,
    /// Extra segments granted, for `split_guard`.
    extras: u32,
    /// Difference between the exit window and `target`: `T` as handed over minus `T` as the
    /// formulas use it, less than two segments either way.
    exit_above: i32,
    /// `T` as the formulas use it.
    target: u64,
    /// `F`, never zero in an episode.
    recover_fs: u64,
    delivered: u64,
    out: u64,
    quota: i64,
    /// Upper limit of `out` until the next ACK.
    limit: u64,
    cwnd: u64,
}

impl Default for Prr {
    fn default() -> Prr {
        Prr::new(Params::default())
    }
}

impl Prr {
    /// A policy with these parameters.
    pub fn new(params: Params) -> Prr {
        Prr {
            params,
            stage: Stage::Closed,
            extras: 0,
            exit_above: 0,
            target: 0,
            recover_fs: 0,
            delivered: 0,
            out: 0,
            quota: 0,
            limit: 0,
            cwnd: 0,
        }
    }

    /// The parameters.
    #[doc(hidden)]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Bytes delivered in this episode (`prr_delivered`).
    #[doc(hidden)]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes sent in this episode, new and retransmitted (`prr_out`).
    #[doc(hidden)]
    pub fn out(&self) -> u64 {
        self.out
    }

    /// The flight that the proportion refers to (`RecoverFS`), in bytes.
    #[doc(hidden)]
    pub fn recover_fs(&self) -> u64 {
        self.recover_fs
    }

    /// Bytes delivered minus bytes sent, which grows while the sender stalls. Negative after forced
    /// and extra segments.
    #[doc(hidden)]
    pub fn bank(&self) -> i64 {
        self.delivered as i64 - self.out as i64
    }

    /// Bytes granted by the last ACK, before anything is sent and before negative values are set to
    /// 0; after losses without a delivery, the bytes that the losses freed.
    #[doc(hidden)]
    pub fn quota(&self) -> i64 {
        self.quota
    }

    /// The rule that granted the quota.
    #[doc(hidden)]
    pub fn branch(&self) -> Branch {
        match self.stage {
            Stage::Opened | Stage::OpenedByTimer | Stage::OpenedByMarks | Stage::Closed => {
                Branch::Closed
            }
            Stage::Proportional => Branch::Proportional,
            Stage::Bound => Branch::Bound,
            Stage::Forced => Branch::Forced,
        }
    }

    /// Internal signals by name and value, for traces.
    #[doc(hidden)]
    pub fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("prr_delivered", self.delivered);
        visit("prr_out", self.out);
        visit("prr_recover_fs", self.recover_fs);
        visit("prr_quota", self.quota.max(0) as u64);
    }

    /// `F`: the flight at entry in bytes, as each document defines it.
    fn flight_at_entry(&self, entry: &Entry) -> u64 {
        let f = match self.params.rules {
            // RFC6937 3-1: all outstanding bytes, SACKed bytes and limited transmit included.
            Rules::Rfc6937 { .. } => entry.flight,
            // The duplicate ACK that opens the episode removed nothing from the flight; marks
            // arrive with an ACK that did.
            Rules::Rfc9937 { .. }
                if self.params.evidence != Evidence::Exact && entry.cause == Cause::Ack =>
            {
                entry.flight
            }
            // RFC9937 6.1-1: outstanding before the triggering ACK, less what was SACKed before it.
            Rules::Rfc9937 { .. } => {
                entry.flight.saturating_sub(entry.sacked).saturating_add(entry.delivered)
            }
            // LINUX prr-f: the window at entry, not the flight.
            Rules::Linux { .. } => {
                entry.cwnd.div_ceil(entry.mss.max(1)).saturating_mul(entry.mss.max(1))
            }
        };
        f.max(1)
    }

    /// The target as handed over, and as the formulas use it.
    fn aim(&mut self, target: u64, mss: u64) {
        let exit = target.min(MAX_BYTES);
        self.target = match self.params.rules {
            Rules::Linux { .. } => (exit / mss).max(2).saturating_mul(mss),
            Rules::Rfc6937 { .. } | Rules::Rfc9937 { .. } => exit,
        };
        self.exit_above = (exit as i64 - self.target as i64) as i32;
    }

    /// The part of `delivered` that counts: `D` of the formulas.
    fn counted(&self, progress: &Progress, opening: Option<Cause>, mss: u64) -> u64 {
        if progress.delivered == 0 {
            // LINUX prr-timer: opening by a loss timer counts as one packet delivered.
            let linux = matches!(
                self.params.rules,
                Rules::Linux { .. } | Rules::Rfc9937 { timer: TimerEntry::Linux, .. }
            );
            return if linux && opening == Some(Cause::Timer) { mss } else { 0 };
        }
        match self.params.evidence {
            // RFC9937 6.2-cap: without SACK the sum stops at the flight at entry.
            Evidence::DuplicatesCapped => {
                progress.delivered.min(self.recover_fs.saturating_sub(self.delivered))
            }
            Evidence::Exact | Evidence::Duplicates => progress.delivered,
        }
    }

    /// RFC6937 3-2, RFC9937 6.2-2: `ceil(delivered * T / F)`, what should have been sent by now.
    /// One 64-bit division in practice.
    fn line(&self) -> u64 {
        let f = self.recover_fs.max(1);
        match self.delivered.checked_mul(self.target).and_then(|product| product.checked_add(f - 1))
        {
            Some(sum) => (sum / f).min(MAX_SUM),
            None => u64::try_from(
                (u128::from(self.delivered) * u128::from(self.target)).div_ceil(u128::from(f)),
            )
            .unwrap_or(MAX_SUM)
            .min(MAX_SUM),
        }
    }

    /// The bound branch: how much the pipe may grow beyond what `T - pipe` allows anyway; `d` was
    /// counted on this ACK.
    fn bound(&mut self, progress: &Progress, d: u64, mss: u64) -> i64 {
        let bank = self.bank();
        match self.params.rules {
            // RFC6937 3-3: conservation, slow start, or only the target.
            Rules::Rfc6937 { bound: Bound::Crb, .. } => bank,
            Rules::Rfc6937 { bound: Bound::Ssrb, .. } => bank.max(d as i64) + self.extra(d, mss),
            Rules::Rfc6937 { bound: Bound::Ub, .. } => i64::MAX,
            // RFC9937 6.2-3: conservation, and one segment more on an ACK that shows progress and
            // no further loss.
            Rules::Rfc9937 { safe_ack, .. } | Rules::Linux { safe_ack } => {
                let rescue =
                    progress.rescue_next && matches!(self.params.rules, Rules::Rfc9937 { .. });
                let safe = match safe_ack {
                    // RFC9937 6.2-5: SafeACK; LINUX prr-safe: without the clause about the rescue.
                    SafeAck::Progress => progress.advanced && progress.newly_lost == 0 && !rescue,
                    // LINUX prr-safe-2015: a retransmission of the previous round has arrived, and
                    // none was lost.
                    SafeAck::Repeat => progress.repeat_acked && !progress.repeat_lost,
                };
                bank.max(d as i64) + if safe { self.extra(d, mss) } else { 0 }
            }
        }
    }

    /// OURS prr-split: one segment, unless the receiver splits ACKs to gain more.
    fn extra(&mut self, d: u64, mss: u64) -> i64 {
        if self.params.split_guard
            && (d == 0 || (u64::from(self.extras) + 1).saturating_mul(mss) > self.delivered)
        {
            return 0;
        }
        self.extras = self.extras.saturating_add(1);
        mss as i64
    }

    /// RFC9937 6.2-held: losses declared without a delivery (by RACK's or TLP's timer) change
    /// neither sums nor window, but they leave the pipe: the room between the pipe and the window
    /// is usable at once. With only the old grant, an episode whose whole flight is declared lost
    /// could only wait for the timeout. Bytes sent count in `out`, so the line deducts them from
    /// later grants.
    fn refill(&mut self, newly_lost: u64, pipe: u64, mss: u64) {
        let left = self.limit.saturating_sub(self.out);
        // At most the lost bytes: bytes that duplicate ACKs claim beyond the flight at entry also
        // leave the pipe and must gain nothing.
        let room = self.cwnd.saturating_sub(pipe).min(left.saturating_add(newly_lost)).min(MAX_SUM);
        if room <= left {
            return;
        }
        if !matches!(self.stage, Stage::Proportional) && room >= mss {
            self.stage = Stage::Bound;
        }
        self.quota = room as i64;
        self.limit = self.out + room;
    }

    fn grant(&mut self, stage: Stage, quota: i64, pipe: u64) {
        let due = quota.max(0) as u64;
        self.stage = stage;
        self.quota = quota;
        // Both below 2^63.
        self.limit = self.out + due;
        self.cwnd = pipe.saturating_add(due);
    }
}

impl Policy for Prr {
    type Settings = Params;

    fn settings(&self) -> Params {
        self.params
    }

    fn with(settings: Params) -> Prr {
        Prr::new(settings)
    }
}

impl Recovery for Prr {
    fn enter(&mut self, entry: &Entry) {
        let mss = entry.mss.clamp(1, MAX_MSS);
        let recover_fs = self.flight_at_entry(entry);
        *self = Prr {
            stage: Stage::opened(entry.cause),
            recover_fs,
            cwnd: entry.target.min(MAX_BYTES),
            ..Prr::new(self.params)
        };
        self.aim(entry.target, mss);
    }

    fn retarget(&mut self, target: u64, mss: u64) {
        // LINUX prr-threshold: its only target is the threshold (`tcp_cwnd_reduction`).
        if matches!(self.params.rules, Rules::Linux { .. }) {
            self.aim(target, mss.clamp(1, MAX_MSS));
        }
    }

    fn on_ack(&mut self, progress: &Progress) {
        let mss = progress.mss.clamp(1, MAX_MSS);
        let pipe = progress.pipe;
        let opening = self.stage.opening();
        let d = self.counted(progress, opening, mss).min(MAX_SUM);
        // RFC9937 6.2-1: an ACK that delivers nothing changes nothing; the rest of the last grant
        // stays usable.
        if d == 0 && self.params.ignores_zero_delivery() {
            // OURS prr-timer: one segment; otherwise an episode opened by a loss timer might wait
            // for the timeout (D3).
            let forced = match opening {
                None => return self.refill(progress.newly_lost, pipe, mss),
                Some(Cause::Ecn) => false,
                Some(Cause::Ack | Cause::Timer) => {
                    self.params.forces_first()
                        && !matches!(
                            self.params.rules,
                            Rules::Rfc9937 { timer: TimerEntry::Strict, .. }
                        )
                }
            };
            return if forced {
                self.grant(Stage::Forced, mss as i64, pipe);
            } else {
                self.grant(Stage::Closed, 0, pipe);
            };
        }
        self.delivered = self.delivered.saturating_add(d).min(MAX_SUM);
        // RFC6937 3-4: strictly above; equality uses the bound.
        let (stage, quota) = if pipe > self.target {
            (Stage::Proportional, self.line() as i64 - self.out as i64)
        } else {
            let room = (self.target - pipe) as i64;
            (Stage::Bound, room.min(self.bound(progress, d, mss)))
        };
        // RFC9937 6.2-4: the first retransmission is sent at once (D2). In the proportional branch
        // D1 sends it as soon as one byte is due.
        let blocked = quota <= 0 || (stage == Stage::Bound && quota < mss as i64);
        if self.out == 0 && blocked && self.params.forces_first() {
            self.grant(Stage::Forced, mss as i64, pipe);
        } else {
            self.grant(stage, quota, pipe);
        }
    }

    #[inline]
    fn admits(&self, len: u64, _pipe: u64) -> bool {
        let fits = self.out.saturating_add(len) <= self.limit;
        match self.stage {
            Stage::Opened | Stage::OpenedByTimer | Stage::OpenedByMarks | Stage::Closed => false,
            Stage::Proportional => match self.params.rounding {
                // OURS prr-whole: the excess is below one segment and the cumulative line takes it
                // back (D1).
                Rounding::WholeSegment => self.out < self.limit,
                // The first retransmission must not wait until a whole segment is due (D2).
                Rounding::Exact => {
                    fits || (self.out == 0 && self.limit > 0 && self.params.forces_first())
                }
            },
            Stage::Bound => fits,
            Stage::Forced => self.out == 0,
        }
    }

    #[inline]
    fn on_sent(&mut self, len: u64) {
        // RFC9937 6.3-1: new and retransmitted bytes count alike.
        self.out = self.out.saturating_add(len).min(MAX_SUM);
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn end(&mut self, _how: End, _pipe: u64) -> u64 {
        // RFC9937 6.4-1: the window is the target; the pacer smooths the step up to it.
        self.stage = Stage::Closed;
        let target = self.target.saturating_add_signed(i64::from(self.exit_above));
        match self.params.exit() {
            // RFC6937 3-exit: no window is set.
            Some(ExitWindow::Granted) => self.cwnd.min(target),
            Some(ExitWindow::Target) | None => target,
        }
    }

    fn restarts_on_lost_repeat(&self) -> bool {
        self.params.lost_repeat == LostRepeat::CutAgain
    }
}
