//! Startup: how a connection finds the speed of a path it knows nothing about.
//!
//! Every algorithm is a struct in a file of its own that implements [`Startup`]. It is driven by
//! the hooks below in the order that [`crate::event`] fixes, and answers with a [`Verdict`]: stay,
//! aim at a threshold, or leave, and why.

mod any;
pub mod bbr;
pub mod bbr3;
pub mod best;
pub mod best_published;
pub mod careful;
mod forward;
pub mod hystart;
pub mod hystart_plus_plus;
pub mod jump;
pub mod jump_start;
pub mod limited_slow_start;
pub mod oracle;
pub mod plumb;
pub mod rapid_start;
pub mod search;
pub mod slow_start;

pub use any::{AnySavedStartup, AnyStartup};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use best::Best;
pub use best_published::BestPublished;
pub use careful::Careful;
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use jump_start::JumpStart;
pub use limited_slow_start::LimitedSlowStart;
pub use oracle::Oracle;
pub use plumb::Plumb;
pub use rapid_start::RapidStart;
pub use search::Search;
pub use slow_start::SlowStart;

pub use crate::exit::{ExitReason, Handover};

use crate::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use crate::recovery::OwnRecovery;
use crate::units::{Nanos, Rate, Ratio, Seq, Time};

/// A startup leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Why.
    pub reason: ExitReason,
    /// The threshold to set, in bytes.
    pub ssthresh: u64,
    /// The window to set, if it changes; otherwise it stays.
    pub cwnd: Option<u64>,
    /// How avoidance takes over.
    pub handover: Handover,
    /// The number that decided, in the algorithm's own unit: the RTT minimum in ns, the target or
    /// estimate in bytes.
    pub estimate: Option<u64>,
}

/// What one hook concluded.
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
    /// Startup has ended and is recorded; what follows is as much its own ([`Startup::is_whole`]).
    Settle {
        /// Why.
        reason: ExitReason,
        /// The window to set, in bytes.
        cwnd: u64,
        /// The BDP it has found, in bytes.
        estimate: u64,
    },
    /// Startup ends here.
    Leave(Leave),
}

/// What the growth hook did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Acknowledged bytes that slow start did not use because the window met the threshold:
    /// avoidance grows by them on the same ACK.
    pub leftover: u64,
    /// What it concluded.
    pub verdict: Verdict,
}

/// Packets that leave back to back whatever the pacing rate, and then none for a while: their spacing
/// when they come back is the path's (packet trains, paced chirping).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Train {
    /// Packets leave at once while fewer than this many bytes are in flight.
    pub inflight: u64,
    /// No more before this moment.
    pub next: Time,
}

impl Train {
    /// How long a packet must wait at `now` with `inflight` bytes outstanding; zero if it may leave.
    #[inline]
    pub fn wait(&self, now: Time, inflight: u64) -> Nanos {
        if inflight < self.inflight { Nanos::ZERO } else { self.next.since(now) }
    }
}

/// Where the use of what an earlier connection saved stands (Careful Resume).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// Nothing was saved, or it is over: confirmed, or never tried.
    #[default]
    Unused,
    /// It may still be used, or its use is not confirmed yet.
    Underway,
    /// It was wrong, and whoever keeps it has to forget it.
    Refuted,
}

/// Where a startup looks at how old an epoch of avoidance is ([`Startup::heeds_epoch`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochUse {
    /// In none of its hooks.
    Nowhere,
    /// In [`Startup::sample`] alone (published BEST and SEARCH 3.1).
    Sampling,
    /// In any hook: told with every RTT sample (HyStart, for its minimum).
    Everywhere,
}

/// A startup algorithm. The hooks are called in the order of [`crate::event`]; a hook exists only
/// because at least two algorithms need it, or one cannot do without, and its comment names them.
pub trait Startup {
    /// What a false alarm gives back ([`Startup::save`]); `()` if nothing. Small: one is kept at
    /// every loss.
    type Saved: Copy + core::fmt::Debug + Default;

    /// The connection starts: nothing has been sent. `nxt` is the first packet or sequence number
    /// (round marks start there).
    fn start(&mut self, now: Time, nxt: Seq) {
        let _ = (now, nxt);
    }

    /// Every valid RTT sample in every phase, recovery included (HyStart's and Rapid Start's RTT
    /// minimum).
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        let _ = (now, rtt, cx);
    }

    /// The initial window is another one, since packets have another size, and nothing was
    /// acknowledged yet: what was derived from it is derived anew (BBR's first pacing rate).
    fn on_initial_window(&mut self, cx: &Context) {
        let _ = cx;
    }

    /// Before the first packet of a burst, whatever the phase (Rapid Start and jump start enlarge
    /// their first window here).
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        let _ = (ready, w, cx);
    }

    /// Whether [`Startup::before_send`], for a sender that has not been idle, may do or change anything
    /// before the next ACK or timeout. If not, a transport may leave it out: it is called with every
    /// packet.
    fn heeds_sending(&self) -> bool {
        true
    }

    /// Whether [`Startup::on_sent`] needs each packet. If not, one call is enough for those that leave
    /// together, with the last. It changes neither window nor pacing rate.
    fn heeds_packets(&self) -> bool {
        self.heeds_sending()
    }

    /// In which hooks it looks at [`Context::young_epoch`] or [`Context::newborn_epoch`]; in others it need
    /// not be told. The same for all of its life.
    fn heeds_epoch(&self) -> EpochUse {
        EpochUse::Everywhere
    }

    /// A packet or burst left, while startup goes on (BBR marks some to measure the delivery rate).
    fn on_sent(&mut self, sent: &Sent, w: Window, cx: &Context) {
        let _ = (sent, w, cx);
    }

    /// The train that is leaving, below the threshold and outside recovery, as of the last
    /// [`Startup::before_send`]; a pacer releases packets by it and not by the rate (Plumb).
    fn train(&self) -> Option<Train> {
        None
    }

    /// The sample hook: below the threshold, outside recovery, before losses of this ACK are looked
    /// at (HyStart, SEARCH, BEST).
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let _ = (ack, w, cx);
        Verdict::Stay
    }

    /// The same inside the recovery of a TCP that follows Linux, while its window shows less than the
    /// threshold: the threshold to finish the recovery with, if the startup has found the end (HyStart).
    fn sample_in_recovery(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<u64> {
        let _ = (ack, w, cx);
        None
    }

    /// The growth hook: below the threshold, outside recovery, `ack.acked > 0`, after losses (slow
    /// start, HyStart++, Rapid Start). `acked` is what may count for growth (RFC 9002 excludes
    /// packets sent before recovery); `cx.limited` says whether it may grow.
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown;

    /// At or above the threshold: the window below which this startup does not let avoidance fall
    /// on this ACK (HyStart++ draft-03: limited slow start runs beside avoidance until the next
    /// congestion signal). `w` is the window before this ACK.
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        let _ = (ack, acked, w, cx);
        None
    }

    /// The window after ACKs of a whole flight of `max_fs` bytes, from which [`Increase::MaxFs`]
    /// bounds growth below the threshold (Limited Slow Start, HyStart++ and Rapid Start grow by
    /// other factors than two).
    ///
    /// [`Increase::MaxFs`]: crate::controller::Increase::MaxFs
    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let _ = (w, cx);
        max_fs.saturating_mul(2)
    }

    /// The same where [`Startup::beside_avoidance`] lets the window grow.
    fn reach_beside(&self, max_fs: u64, w: Window) -> Option<u64> {
        let _ = (max_fs, w);
        None
    }

    /// The window reached a finite threshold in slow start: the reason to record (BEST and oracle
    /// know better than "threshold").
    fn reached(&mut self) -> ExitReason {
        ExitReason::Threshold
    }

    /// The first reaction to loss or marks. A startup that brings its own recovery for this episode
    /// returns it (Rapid Start, jump start), with this ACK already charged; otherwise the arm's
    /// recovery runs. Called for every new episode, also long after startup.
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

    /// Below the threshold: are these losses or marks this startup's own business, so that no
    /// episode opens and nothing is cut (BBR, whose model answers them)?
    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        let _ = (signal, ack, cx);
        false
    }

    /// It is a congestion control of its own (BBR): it stays below a threshold that nobody sets, no
    /// avoidance follows, and no timeout, idle period or recovery moves its window but as it says. It
    /// absorbs every congestion ([`Startup::absorbs`]).
    fn is_whole(&self) -> bool {
        false
    }

    /// If it is whole: what was declared lost was not, so the window may be what it was. Whether
    /// there was anything to give back.
    fn false_alarm(&mut self, w: &mut Window) -> bool {
        let _ = w;
        false
    }

    /// A timeout: some algorithms start afresh in the slow start that follows, others end for good.
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        let _ = (timeout, now, nxt);
    }

    /// Sending resumes after the connection was idle for longer than the timeout (SEARCH and BEST
    /// start afresh).
    fn on_idle(&mut self, now: Time, nxt: Seq) {
        let _ = (now, nxt);
    }

    /// What [`Startup::restore`] needs when the loss that is about to be answered turns out to be a
    /// false alarm.
    fn save(&self) -> Self::Saved {
        Self::Saved::default()
    }

    /// The loss was a false alarm: back to the phase that was saved.
    fn restore(&mut self, saved: Self::Saved) {
        let _ = saved;
    }

    /// Pacing gain while below the threshold, outside recovery, and in limited slow start.
    fn pacing_gain(&self) -> Ratio {
        GAIN_SLOW_START
    }

    /// The pacing rate while below the threshold, outside recovery, if the startup knows one and not
    /// only a gain (BBR).
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// What the startup is doing, for traces.
    fn phase(&self) -> Phase {
        Phase::Startup
    }

    /// Rounds that the algorithm has counted, if it counts any (exit record).
    fn rounds(&self) -> Option<u32> {
        None
    }

    /// Where the use of an earlier connection's window stands, for whoever keeps such windows
    /// (Careful Resume).
    fn resumption(&self) -> Resumption {
        Resumption::Unused
    }

    /// The algorithm's inner signals, by name and value (times in ns, amounts in bytes, counters as
    /// such), pulled only when somebody traces: an ACK costs nothing for them.
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
