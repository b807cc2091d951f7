//! Startup: how a connection finds the speed of a path it knows nothing about.
//!
//! Every algorithm is a struct in a file of its own that implements [`Startup`]. The controller
//! calls the hooks below in the order that [`crate::event`] fixes; they return a [`Verdict`]: stay,
//! aim at a threshold, or leave with a reason.

mod any;
pub mod bbr;
pub mod bbr3;
pub mod best;
pub mod best_published;
pub mod careful;
pub mod chirping;
mod forward;
pub mod hystart;
pub mod hystart_plus_plus;
#[doc(hidden)]
pub mod jump;
pub mod jump_start;
pub mod limited_slow_start;
pub mod oracle;
pub mod plumb;
pub mod rapid_start;
pub mod search;
mod slow_start;
pub mod suss;

pub use any::{AnySavedStartup, AnyStartup};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use best::Best;
pub use best_published::BestPublished;
pub use careful::Careful;
pub use chirping::Chirping;
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use jump_start::JumpStart;
pub use limited_slow_start::LimitedSlowStart;
pub use oracle::Oracle;
pub use plumb::Plumb;
pub use rapid_start::RapidStart;
pub use search::Search;
pub use slow_start::SlowStart;
pub use suss::Suss;

pub use crate::event::EpochUse;
pub use crate::exit::{ExitReason, Handover};

use crate::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use crate::hint::Hint;
use crate::recovery::OwnRecovery;
use crate::units::{Nanos, Rate, Ratio, Seq, Time};

/// The end of a startup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Why.
    pub reason: ExitReason,
    /// The threshold to set, in bytes.
    pub ssthresh: u64,
    /// The window to set, if it changes; otherwise it stays.
    pub cwnd: Option<u64>,
    /// Handover to avoidance.
    pub handover: Handover,
    /// The value that decided, in the algorithm's own unit: the RTT minimum in ns, or the target or
    /// estimate in bytes.
    pub estimate: Option<u64>,
}

/// Result of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Carry on.
    #[default]
    Stay,
    /// Carry on towards this threshold (BEST: provisional, re-evaluated every round).
    Aim {
        /// The threshold to set, in bytes.
        ssthresh: u64,
    },
    /// Set the window, stay in startup (SEARCH 4.0 while it drains).
    Hold {
        /// The window to set, in bytes.
        cwnd: u64,
    },
    /// Startup has ended and is recorded; the same algorithm stays in control
    /// ([`Startup::is_whole`]).
    Settle {
        /// Why.
        reason: ExitReason,
        /// The window to set, in bytes.
        cwnd: u64,
        /// The estimated BDP, in bytes.
        estimate: u64,
    },
    /// Startup ends here.
    Leave(Leave),
}

/// Result of the growth hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Acknowledged bytes that slow start did not use because the window met the threshold:
    /// avoidance grows by them on the same ACK.
    pub leftover: u64,
    /// The hook's verdict.
    pub verdict: Verdict,
}

/// The pacing that a startup requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The window per smoothed RTT, times this gain.
    Gain(Ratio),
    /// A rate of its own (BBR).
    Rate(Rate),
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing::Gain(GAIN_SLOW_START)
    }
}

/// Packets that leave back to back whatever the pacing rate, followed by a pause. The spacing of
/// their ACKs is then set by the path (packet trains, paced chirping).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Train {
    /// Packets leave at once while fewer than this many bytes are in flight.
    pub inflight: u64,
    /// No further packet leaves before this time. With `inflight` zero, a single packet leaves at this
    /// time and the next train follows from [`Startup::on_sent`].
    pub next: Time,
}

impl Train {
    /// Time that a packet must wait at `now` with `inflight` bytes outstanding; zero if it may leave.
    #[inline]
    pub fn wait(&self, now: Time, inflight: u64) -> Nanos {
        if inflight < self.inflight { Nanos::ZERO } else { self.next.since(now) }
    }
}

/// State of the use of an earlier connection's saved values (Careful Resume).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// Nothing was saved, or its use is over: confirmed, or never tried.
    #[default]
    Unused,
    /// The saved values may still be used, or their use is not confirmed yet.
    Underway,
    /// The saved values were wrong and must be discarded by their owner.
    Refuted,
}

/// State of a startup, for traces, the exit record and the code that stores saved values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The current phase.
    pub phase: Phase,
    /// Rounds that the algorithm has counted, if it counts any.
    pub rounds: Option<u32>,
    /// State of the use of an earlier connection's window (Careful Resume).
    pub resumption: Resumption,
}

/// The inputs that a startup uses. A controller or transport may leave out the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heeds {
    /// [`Startup::before_send`], for a sender that has not been idle, may do or change anything before
    /// the next ACK or timeout. If not, a transport may skip the call, which otherwise happens for
    /// every packet.
    pub sending: bool,
    /// [`Startup::on_sent`] must be called for each packet. If not, one call with the last packet is
    /// enough for packets that leave together. The hook changes neither window nor pacing rate.
    pub packets: bool,
    /// [`Startup::before_send`] plans the packet that leaves next, so [`Ready::inflight`] must not include
    /// it (Paced Chirping): a transport that reports a packet only when it has left subtracts it.
    /// Constant for the life of the startup.
    pub departures: bool,
    /// Which hooks use [`Context::young_epoch`] or [`Context::newborn_epoch`]; for other hooks they
    /// need not be set. Constant for the life of the startup.
    pub epoch: EpochUse,
}

impl Heeds {
    /// All inputs, of a startup that plans no single departures.
    pub const ALL: Heeds =
        Heeds { sending: true, packets: true, departures: false, epoch: EpochUse::Everywhere };

    /// Uses what is sent if `sending`, and no epoch.
    pub const fn sending(sending: bool) -> Heeds {
        Heeds { sending, packets: sending, departures: false, epoch: EpochUse::Nowhere }
    }
}

/// A startup algorithm. The hooks are called in the order of [`crate::event`]; a hook exists only
/// if at least two algorithms use it or one cannot work without it, and its comment names them.
pub trait Startup {
    /// State that a false alarm restores ([`Startup::save`]); `()` if none. It is small, because a
    /// copy is kept at every loss.
    type Saved: Copy + core::fmt::Debug + Default;

    /// The connection starts: nothing has been sent. `nxt` is the first packet or sequence number
    /// (round marks start there).
    fn start(&mut self, now: Time, nxt: Seq) {
        let _ = (now, nxt);
    }

    /// Right after [`Startup::start`]: the rate that earlier connections measured, young enough to be
    /// used and never the network's advice (Careful Resume, Rapid Start).
    fn on_hint(&mut self, hint: &Hint) {
        let _ = hint;
    }

    /// Every valid RTT sample in every phase, recovery included (HyStart's and Rapid Start's RTT
    /// minimum).
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        let _ = (now, rtt, cx);
    }

    /// The initial window has changed because the packet size has, and nothing was acknowledged
    /// yet: values derived from it are derived again (BBR's first pacing rate).
    fn on_initial_window(&mut self, cx: &Context) {
        let _ = cx;
    }

    /// Before the first packet of a burst, whatever the phase (Rapid Start and jump start enlarge
    /// their first window here).
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        let _ = (ready, w, cx);
    }

    /// Returns the inputs that it uses, so that the others cost nothing.
    fn heeds(&self) -> Heeds {
        Heeds::ALL
    }

    /// Called for a packet or burst that left during startup (BBR marks some to measure the delivery rate).
    fn on_sent(&mut self, sent: &Sent, w: Window, cx: &Context) {
        let _ = (sent, w, cx);
    }

    /// The train that is being sent, below the threshold and outside recovery, as of the last
    /// [`Startup::before_send`] or [`Startup::on_sent`]; a pacer releases packets by the train and not by
    /// the rate (Plumb, Paced Chirping).
    fn train(&self) -> Option<Train> {
        None
    }

    /// The sample hook: below the threshold, outside recovery, before the losses of this ACK are
    /// processed (HyStart, SEARCH, BEST).
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let _ = (ack, w, cx);
        Verdict::Stay
    }

    /// The sample hook inside the recovery of a TCP that follows Linux, while its window is below
    /// the threshold. Returns the threshold to finish the recovery with, if the startup has
    /// detected its end (HyStart).
    fn sample_in_recovery(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<u64> {
        let _ = (ack, w, cx);
        None
    }

    /// The growth hook: below the threshold, outside recovery, `ack.acked > 0`, after losses (slow
    /// start, HyStart++, Rapid Start). `acked` are the bytes that may count for growth (RFC 9002
    /// excludes packets sent before recovery); `cx.limited` says whether the window may grow.
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown;

    /// At or above the threshold: the lower bound that this startup sets for avoidance's window on
    /// this ACK (HyStart++ draft-03: limited slow start runs alongside avoidance until the next
    /// congestion signal). `w` is the window before this ACK.
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        let _ = (ack, acked, w, cx);
        None
    }

    /// The window after ACKs of a whole flight of `max_fs` bytes, from which [`Increase::MaxFs`]
    /// bounds growth (Limited Slow Start, HyStart++ and Rapid Start grow by other factors than two).
    /// At or above the threshold it is that of [`Startup::beside_avoidance`], 0 if nothing grows there.
    ///
    /// [`Increase::MaxFs`]: crate::controller::Increase::MaxFs
    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let _ = cx;
        if w.in_slow_start() { max_fs.saturating_mul(2) } else { 0 }
    }

    /// The window reached a finite threshold in slow start: the reason to record (BEST and oracle
    /// record a more specific one than "threshold").
    fn reached(&mut self) -> ExitReason {
        ExitReason::Threshold
    }

    /// The first reaction to loss or marks. A startup that brings its own recovery for this episode
    /// returns it (Rapid Start, jump start), with this ACK already charged; otherwise the arm's
    /// recovery runs. Called for every new episode, even long after startup.
    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        let _ = (signal, beta, ack, w, cx);
        None
    }

    /// Below the threshold: whether this startup handles these losses or marks itself, so that no
    /// episode opens and nothing is cut (BBR, whose model reacts to them).
    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        let _ = (signal, ack, cx);
        false
    }

    /// Whether it is a complete congestion control (BBR): the threshold is never set, no avoidance
    /// follows, and only the algorithm itself decides what a timeout, idle period or recovery does
    /// to its window. It absorbs every congestion signal ([`Startup::absorbs`]).
    fn is_whole(&self) -> bool {
        false
    }

    /// For a whole startup: packets declared lost were not lost, so the window may be restored.
    /// Returns whether there was anything to restore.
    fn false_alarm(&mut self, w: &mut Window) -> bool {
        let _ = w;
        false
    }

    /// A timeout expired: some algorithms restart in the slow start that follows, others end for
    /// good.
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        let _ = (timeout, now, nxt);
    }

    /// Sending resumes after the connection was idle for longer than the timeout (SEARCH and BEST
    /// restart).
    fn on_idle(&mut self, now: Time, nxt: Seq) {
        let _ = (now, nxt);
    }

    /// State that [`Startup::restore`] needs if the loss about to be handled turns out to be a
    /// false alarm.
    fn save(&self) -> Self::Saved {
        Self::Saved::default()
    }

    /// The loss was a false alarm: restores the saved phase.
    fn restore(&mut self, saved: Self::Saved) {
        let _ = saved;
    }

    /// Returns the pacing below the threshold, outside recovery, and in limited slow start.
    fn pacing(&self) -> Pacing {
        Pacing::default()
    }

    /// Returns its state.
    fn status(&self) -> Status {
        Status::default()
    }

    /// Visits the algorithm's internal signals by name and value (times in ns, amounts in bytes,
    /// plain counters). It is called only for traces, so signals add no cost per ACK.
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let _ = visit;
    }
}

/// OURS gain-slow-start: 2. A gain must be at least `ln f / (1 - 1/f)` for growth by `f` per RTT,
/// 1.386 for doubling, or the pacer and not the window sets the growth.
pub const GAIN_SLOW_START: Ratio = Ratio::new(2, 1);
/// RAPID 3.1-gain: the pacing gain while growing threefold.
pub const GAIN_RAPID: Ratio = Ratio::new(3, 1);
/// RFC9002 7.7-2: 1.25, in avoidance; OURS gain-elsewhere: also in conservative and limited slow
/// start, drain and ordinary recovery.
pub const GAIN_AVOIDANCE: Ratio = Ratio::new(5, 4);
