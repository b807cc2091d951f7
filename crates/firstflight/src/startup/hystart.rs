//! HyStart: leaves slow start before the first loss.
//!
//! Two detectors watch the ACKs of each round: a train of closely spaced ACKs as long as the path
//! (the flight already fills it), and a round whose smallest RTT lies above the path's (a queue
//! builds). When either fires, the threshold becomes the window and avoidance begins on the same
//! ACK. There is no intermediate phase, and the exit is final.
//!
//! Follows: Linux `tcp_cubic.c` as of 6.13 (profile `Linux`), gVisor's CUBIC with HyStart of April
//! 2024, with arrival times taken as in its 2026 version (profile `Gvisor`), ns-3's `TcpCubic`
//! (profile `Ns3`). There is no RFC. Vectors: `tests/it/hystart.rs`. State: 144 bytes, of which 48
//! are statistics.
//!
//! Departures, from Linux unless stated otherwise:
//! - D1 nanoseconds where Linux uses microseconds: if times are multiples of 1 us, the exit falls
//!   on the same ACK.
//! - D2 an ACK on which both detectors fire counts once, as [`ExitReason::Train`], because an exit
//!   has one reason.
//! - D3 persistent congestion (QUIC) resets HyStart like a retransmission timeout: both restart
//!   from the smallest window.
//! - D4 the largest burst is 64 KiB or the amount that the stack sends at once; Linux uses the
//!   device's largest GSO packet minus its headers, 0.5 % less. The burst matters above 2 Gbit/s,
//!   where the allowance is below its cap. A socket's maximum pacing rate is not known here, nor is
//!   the smoothed RTT of ACKs outside slow start: after a false alarm the first ACK uses the last
//!   known value.
//! - D6 slow start counts all bytes that an ACK newly delivers, paced or not, and passes bytes
//!   beyond the threshold to congestion avoidance, like Linux (`tcp_slow_start`), gVisor and ns-3's
//!   CUBIC. This departs only from RFC 5681, which `hystart@(count=1)` follows.
//! - D5 ns-3 also runs the detectors at `cwnd == ssthresh`, where the result changes nothing; this
//!   code does not.

use super::{
    EpochUse, ExitReason, Grown, Handover, Heeds, Leave, Startup, Status, Verdict, slow_start,
};
use crate::event::{Ack, Context, Timeout, Window};
use crate::named::named;
use crate::options::{Range, params};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH, mul_div};

/// LINUX hystart-gap: ACKs at most this far apart belong to one train. GVISOR hystart-gap: strictly
/// less.
const TRAIN_GAP: Nanos = Nanos::from_millis(2);
/// RTT samples that a round needs before its minimum is used (LINUX hystart-ninth, RFC9406 4.3-3).
const N_SAMPLES: u8 = 8;
/// LINUX hystart-rise: bounds of the RTT rise that counts as a queue; RFC9406 4.3-1 adopted them as
/// MIN_RTT_THRESH and MAX_RTT_THRESH.
const RISE: (Nanos, Nanos) = (Nanos::from_millis(4), Nanos::from_millis(16));
/// The rise is an eighth of the baseline between those bounds; MIN_RTT_DIVISOR (RFC9406 4.3-2).
const RISE_DIVISOR: u64 = 8;
/// NS3 hystart-rise: the bounds in ns-3; the rise there is the whole baseline.
const RISE_NS3: (Nanos, Nanos) = (Nanos::from_millis(4), Nanos::from_millis(1000));
/// LINUX hystart-ack-delay: maximum allowance for ACK batching in the train limit.
const MAX_ACK_DELAY: Nanos = Nanos::from_millis(1);
/// Bursts that the allowance for batching covers: one on the wire and one queued at the sender,
/// twice, because pacing in slow start runs at about twice `cwnd / srtt`.
const ACK_DELAY_BURSTS: u64 = 4;
/// LINUX hystart-rate: the pacing rate that Linux stores, in percent of a window per RTT
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// LINUX hystart-zero: the smallest sample in Linux, where zero means "none yet".
const SMALLEST_RTT: Nanos = Nanos::from_micros(1);

named! {
    /// The implementation whose constants and comparisons apply.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Profile {
        /// Baseline: smallest RTT of the connection. Delay: `>` from the ninth sample. Train: longer than the baseline plus
        /// [`ack_delay`], halved when unpaced.
        #[default]
        Linux = "linux",
        /// Baseline: smallest RTT of the previous round. Delay: `>=` from the eighth sample. Train:
        /// longer than half the baseline. Runs only until something sets the threshold.
        Gvisor = "gvisor",
        /// Baseline: smallest RTT of the connection. Delay: the minimum of the first eight samples
        /// must be twice the baseline, judged starting at the ninth sample. Train: longer than the
        /// baseline.
        Ns3 = "ns3",
    }
}

named! {
    /// The point at which a round may end, which decides how late the first rounds are detected.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum RollAt {
        /// On every sample (Linux since January 2025).
        #[default]
        Sample = "sample",
        /// Only once the window has reached [`Params::low_window`] (Linux 5.16 to 2024).
        BehindGate = "gate",
        /// In the growth hook, only while the window is the limit (Linux before 5.16): a sender not
        /// limited by its window never ends a round and sees endless trains.
        Growth = "growth",
    }
}

params! {
    /// The options of HyStart.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The implementation to follow.
        pub profile: Profile = Profile::Linux;
        /// Whether the train detector is on.
        pub train: bool = true, "train" [] "exit on an ACK train as long as the path";
        /// Whether the delay detector is on.
        pub delay: bool = true, "delay" [] "exit when the round's smallest RTT rises";
        /// Nothing is detected below this many segments; 0 for no limit.
        pub low_window: u64 = 16, "low" [0..=10_000 "segments"] "no detection below this window";
        /// The point at which rounds end.
        pub roll_at: RollAt = RollAt::Sample, "roll" [] "when a round may end";
        /// OURS exit-scale: the share of the window to keep at an exit, at most 1. picoquic keeps
        /// half, because the current delay was caused by the window one RTT ago, which was half as
        /// large.
        pub exit_scale: Ratio = Ratio::new(1, 1),
            "scale" ["a factor up to 1" if |scale: Ratio| scale.num() <= scale.den() && scale.num() * 20 >= scale.den(); Range::Fraction { off: false, low: "0.05", high: "1" }] "window kept at the exit";
    }
    preset "profile": Profile [] "implementation whose constants and comparisons apply", of |params| params.profile, make Params::of;
}

impl Params {
    /// Linux with its defaults.
    pub const LINUX: Params = Params::DEFAULT;
    /// gVisor: no minimum window.
    pub const GVISOR: Params = Params { profile: Profile::Gvisor, low_window: 0, ..Params::LINUX };
    /// ns-3 with its default attributes.
    pub const NS3: Params = Params { profile: Profile::Ns3, ..Params::LINUX };

    fn of(profile: Profile) -> Params {
        match profile {
            Profile::Linux => Params::LINUX,
            Profile::Gvisor => Params::GVISOR,
            Profile::Ns3 => Params::NS3,
        }
    }
}

/// Results of the samples; every kind is counted, so that "never fired" can be distinguished from
/// "never ran".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stats {
    /// Rounds begun.
    pub rounds: u32,
    /// Samples discarded in the first second of a CUBIC epoch.
    pub discarded: u32,
    /// Samples skipped because the window was below [`Params::low_window`].
    pub below_low_window: u32,
    /// Samples evaluated without a detection.
    pub quiet: u32,
    /// Exits by train (Linux: TCPHystartTrainDetect).
    pub train_exits: u32,
    /// Sum of the windows at those exits, in bytes (Linux: TCPHystartTrainCwnd, in segments).
    pub train_cwnd: u64,
    /// Exits by delay (Linux: TCPHystartDelayDetect).
    pub delay_exits: u32,
    /// Sum of the windows at those exits, in bytes (Linux: TCPHystartDelayCwnd, in segments).
    pub delay_cwnd: u64,
    /// Bytes in flight after the ACK of the latest exit.
    pub exit_inflight: u64,
}

/// One round: from the ACK that ended the previous round to the first ACK beyond the data sent by
/// then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    start: Time,
    /// The last ACK of the train.
    last_ack: Time,
    end: Seq,
    /// Smallest sample; [`Nanos::MAX`] for none.
    min: Nanos,
    /// Samples counted, at most [`N_SAMPLES`].
    samples: u8,
}

impl Round {
    fn begin(now: Time, end: Seq) -> Round {
        Round { start: now, last_ack: now, end, min: Nanos::MAX, samples: 0 }
    }
}

/// Slow start with HyStart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStart {
    params: Params,
    /// Smallest RTT of the connection (Linux: delay_min); [`Nanos::MAX`] for none.
    min_rtt: Nanos,
    round: Round,
    /// Smallest RTT of the previous round (gVisor); [`Nanos::MAX`] for none.
    last_min: Nanos,
    /// Bytes outstanding after the latest ACK, and the smoothed RTT including its sample (zero for
    /// none).
    outstanding: u64,
    srtt: Nanos,
    /// Whether a detector has fired: the detectors then stay off until a timeout (gVisor uses the
    /// threshold for this).
    found: bool,
    stats: Stats,
}

/// The rise over `base` that counts as a queue: an eighth of it, at least 4 ms and at most 16 ms.
#[inline]
#[doc(hidden)]
pub fn rise(base: Nanos) -> Nanos {
    Nanos(base.0 / RISE_DIVISOR).clamp(RISE.0, RISE.1)
}

/// Allowance for batching at both ends in the length of a train: the time of four bursts of `burst`
/// bytes at `rate`, at most 1 ms; zero without a rate.
#[inline]
#[doc(hidden)]
pub fn ack_delay(burst: u64, rate: Rate) -> Nanos {
    match rate.0 {
        0 => Nanos::ZERO,
        rate => Nanos(mul_div(burst.saturating_mul(ACK_DELAY_BURSTS), 1_000_000_000, rate))
            .min(MAX_ACK_DELAY),
    }
}

/// The rate that Linux keeps in `sk_pacing_rate` at the end of every ACK, with a pacer or without:
/// 200 % of the window, or of `outstanding` if that is more, per smoothed RTT while the window is
/// below half of the threshold (in whole segments), otherwise 120 %. Zero without an RTT.
#[inline]
#[doc(hidden)]
pub fn linux_rate(w: Window, outstanding: u64, srtt: Nanos, mss: u64) -> Rate {
    let below_half = w.cwnd.saturating_add(mss).saturating_mul(2) <= w.ssthresh;
    let bytes = w.cwnd.max(outstanding);
    let percent = if below_half { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    if srtt == Nanos::ZERO {
        Rate(0)
    } else {
        Rate(mul_div(bytes.saturating_mul(percent), 10_000_000, srtt.0))
    }
}

impl HyStart {
    /// Creates the state of a connection that has sent nothing yet.
    pub fn new(params: Params) -> HyStart {
        HyStart {
            params,
            min_rtt: Nanos::MAX,
            round: Round::begin(Time::default(), Seq::default()),
            last_min: Nanos::MAX,
            outstanding: 0,
            srtt: Nanos::ZERO,
            found: false,
            stats: Stats::default(),
        }
    }

    /// Counters since the connection began; timeouts and false alarms do not reset them.
    #[doc(hidden)]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn armed(&self, w: Window) -> bool {
        match self.params.profile {
            // GVISOR hystart-armed: there is no flag; once a threshold is set, HyStart is off for
            // the life of the connection.
            Profile::Gvisor => w.ssthresh == UNSET_SSTHRESH,
            Profile::Linux | Profile::Ns3 => !self.found,
        }
    }

    /// LINUX hystart-discard: samples in the first second of a CUBIC epoch still show the queue
    /// that caused the loss (Reno has no epochs). NS3 hystart-discard: only in the first 10 ms.
    fn discards(&self, cx: &Context) -> bool {
        match self.params.profile {
            Profile::Linux => cx.young_epoch,
            Profile::Ns3 => cx.newborn_epoch,
            Profile::Gvisor => false,
        }
    }

    pub(super) fn counted(&self, rtt: Nanos) -> Nanos {
        if self.params.profile == Profile::Gvisor { rtt } else { rtt.max(SMALLEST_RTT) }
    }

    /// LINUX hystart-roll, GVISOR hystart-roll: ends the round if this ACK lies strictly beyond its
    /// mark. The sample of this ACK is then the first of the new round.
    fn roll(&mut self, ack: &Ack) {
        if ack.una > self.round.end {
            self.last_min = self.round.min;
            self.round = Round::begin(ack.now, ack.nxt);
            self.stats.rounds = self.stats.rounds.saturating_add(1);
        }
    }

    /// LINUX hystart-train: the length of the train if it exceeds the limit. A gap that is too long
    /// does not move `last_ack`, which ends the train for the rest of the round.
    fn train(&mut self, now: Time, w: Window, cx: &Context) -> Option<Nanos> {
        self.train_of(now, w, cx, cx.paced, 0)
    }

    /// The same for the ACKs of the first `1 / 2^share` of a flight: their length stands for
    /// `2^share` times as much (SUSS). Whether the sender spreads its window over the round trip is
    /// `spread`.
    pub(super) fn train_of(
        &mut self,
        now: Time,
        w: Window,
        cx: &Context,
        spread: bool,
        share: u32,
    ) -> Option<Nanos> {
        let gap = now.since(self.round.last_ack);
        let (alive, limit) = match self.params.profile {
            Profile::Linux => {
                // LINUX hystart-rate: the rate as of the previous ACK, because samples are
                // processed before the rate is set. The window has not changed since then.
                let rate = linux_rate(w, self.outstanding, self.srtt, cx.mss);
                let path = self.min_rtt + ack_delay(cx.max_burst, rate);
                // LINUX hystart-limit: pacing alone spreads the window of slow start over about
                // half an RTT; unpaced, half an RTT of ACKs means a full path.
                (gap <= TRAIN_GAP, if spread { path } else { Nanos(path.0 / 2) })
            }
            // GVISOR hystart-train: half the smallest RTT of the previous round; none in the first
            // round.
            Profile::Gvisor => {
                (gap < TRAIN_GAP && self.last_min != Nanos::MAX, Nanos(self.last_min.0 / 2))
            }
            // NS3 hystart-train: the whole path.
            Profile::Ns3 => (gap <= TRAIN_GAP, self.min_rtt),
        };
        if !alive {
            return None;
        }
        self.round.last_ack = now;
        let length = now.since(self.round.start) * (1 << share);
        (length > limit).then_some(length)
    }

    /// Adds the sample to the round; returns the round's minimum if it rose too far. It also runs
    /// with the detector off, because gVisor's train detector needs the minimum of the previous
    /// round.
    pub(super) fn delay(&mut self, rtt: Nanos) -> Option<Nanos> {
        let round = &mut self.round;
        let enough = round.samples >= N_SAMPLES;
        // LINUX hystart-minimum: only the first eight samples used to lower it, so a falling RTT
        // gave false exits. NS3 hystart-first-eight: ns-3 still does this.
        if self.params.profile != Profile::Ns3 || !enough {
            round.min = round.min.min(rtt);
        }
        round.samples = (round.samples + 1).min(N_SAMPLES);
        let rose = match self.params.profile {
            // LINUX hystart-delay: strictly above the smallest RTT of the connection plus the rise.
            Profile::Linux => enough && round.min > self.min_rtt + rise(self.min_rtt),
            // GVISOR hystart-delay: it counts before it compares, so its eighth sample decides, and
            // equality counts as a rise.
            Profile::Gvisor => {
                round.samples >= N_SAMPLES
                    && self.last_min != Nanos::MAX
                    && round.min >= self.last_min + rise(self.last_min)
            }
            Profile::Ns3 => {
                enough && round.min > self.min_rtt + self.min_rtt.clamp(RISE_NS3.0, RISE_NS3.1)
            }
        };
        rose.then_some(round.min)
    }

    /// The sample of this ACK if the detectors run on it; ends the round before.
    pub(super) fn admit(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Nanos> {
        let rtt = ack.rtt?;
        if !self.armed(w) || self.discards(cx) {
            return None;
        }
        // LINUX hystart-gate: rounds also end below the low window; nothing else happens there.
        if self.params.roll_at == RollAt::Sample {
            self.roll(ack);
        }
        if w.cwnd < self.params.low_window.saturating_mul(cx.mss) {
            self.stats.below_low_window = self.stats.below_low_window.saturating_add(1);
            return None;
        }
        if self.params.roll_at == RollAt::BehindGate {
            self.roll(ack);
        }
        Some(rtt)
    }

    fn judge(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let Some(rtt) = self.admit(ack, w, cx) else { return Verdict::Stay };
        let train = if self.params.train { self.train(ack.now, w, cx) } else { None };
        let delay = self.delay(self.counted(rtt)).filter(|_| self.params.delay);
        match (train, delay) {
            // OURS hystart-both: one exit has one reason.
            (Some(length), _) => self.leave(ExitReason::Train, length, ack, w, cx),
            (None, Some(min)) => self.leave(ExitReason::Delay, min, ack, w, cx),
            (None, None) => {
                self.stats.quiet = self.stats.quiet.saturating_add(1);
                Verdict::Stay
            }
        }
    }

    /// Notes what the allowance for batching needs of this ACK.
    pub(super) fn note(&mut self, ack: &Ack) {
        (self.outstanding, self.srtt) = (ack.flight.min(MAX_BYTES), ack.srtt.unwrap_or(self.srtt));
    }

    /// Smallest RTT of the connection; [`Nanos::MAX`] for none.
    pub(super) fn min_rtt(&self) -> Nanos {
        self.min_rtt
    }

    /// Smallest RTT of the round; [`Nanos::MAX`] for none.
    pub(super) fn round_min(&self) -> Nanos {
        self.round.min
    }

    pub(super) fn leave(
        &mut self,
        reason: ExitReason,
        estimate: Nanos,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Verdict {
        self.found = true;
        self.stats.exit_inflight = ack.inflight;
        let (exits, sum) = match reason {
            ExitReason::Train => (&mut self.stats.train_exits, &mut self.stats.train_cwnd),
            _ => (&mut self.stats.delay_exits, &mut self.stats.delay_cwnd),
        };
        *exits = exits.saturating_add(1);
        *sum = sum.saturating_add(w.cwnd);
        // LINUX hystart-exit: the threshold becomes the window, which does not change.
        let kept = self.params.exit_scale.of(w.cwnd).max(cx.minimum_window()).min(w.cwnd);
        let cwnd = (kept != w.cwnd).then_some(kept);
        Verdict::Leave(Leave {
            reason,
            ssthresh: kept,
            cwnd,
            handover: Handover::LossFree,
            estimate: Some(estimate.0),
        })
    }
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart::new(Params::default())
    }
}

/// Whether no detector has fired yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Looking(pub bool);

impl Startup for HyStart {
    type Saved = Looking;

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds { epoch: EpochUse::Everywhere, ..Heeds::sending(false) }
    }

    fn start(&mut self, now: Time, nxt: Seq) {
        self.round = Round::begin(now, nxt);
    }

    #[inline]
    fn on_rtt(&mut self, _now: Time, rtt: Nanos, cx: &Context) {
        // Runs for every sample of a connection: only a young epoch discards samples, and the
        // counted RTT is never less than the sample.
        if cx.young_epoch && self.discards(cx) {
            self.stats.discarded = self.stats.discarded.saturating_add(1);
        } else if rtt < self.min_rtt {
            self.min_rtt = self.min_rtt.min(self.counted(rtt));
        }
    }

    /// [`Leave::estimate`] is the length of the train or the minimum of the round, in ns.
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let verdict = self.judge(ack, w, cx);
        self.note(ack);
        verdict
    }

    /// LINUX hystart-recovery: the kernel runs the detectors whenever the window is below the
    /// threshold, as PRR's window often is, and PRR then continues towards the new threshold
    /// (`cubictcp_acked`).
    fn sample_in_recovery(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<u64> {
        if self.params.profile != Profile::Linux {
            return None;
        }
        match self.sample(ack, w, cx) {
            Verdict::Leave(leave) => Some(leave.ssthresh),
            _ => None,
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        // LINUX hystart-unlimited: growth requires a fully used window, rounds and samples do not.
        // Gating the end of a round was a bug in Linux before 5.16, kept as an option for
        // comparison with results published on it.
        if self.params.roll_at == RollAt::Growth && cx.limited && self.armed(*w) {
            self.roll(ack);
        }
        Grown { leftover: slow_start::double(acked, w, cx), verdict: Verdict::Stay }
    }

    fn on_timeout(&mut self, _timeout: Timeout, now: Time, nxt: Seq) {
        // LINUX hystart-timeout: Linux and ns-3 reset everything on entering the loss state,
        // including the smallest RTT, because the path may have changed.
        if self.params.profile != Profile::Gvisor {
            self.min_rtt = Nanos::MAX;
            self.last_min = Nanos::MAX;
            self.found = false;
            self.round = Round::begin(now, nxt);
        }
    }

    // LINUX hystart-idle: on_idle does nothing; Linux keeps its state over an idle period, and
    // keeps looking if no detector has fired.

    fn save(&self) -> Looking {
        Looking(!self.found)
    }

    fn restore(&mut self, saved: Looking) {
        self.found = !saved.0;
    }

    fn status(&self) -> Status {
        Status { rounds: Some(self.stats.rounds), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        for (name, min) in [
            ("hystart_min_rtt_ns", self.min_rtt),
            ("hystart_round_min_ns", self.round.min),
            ("hystart_last_min_ns", self.last_min),
        ] {
            if min != Nanos::MAX {
                visit(name, min.0);
            }
        }
        visit("hystart_samples", u64::from(self.round.samples));
        visit("hystart_round_start_ns", self.round.start.0);
        visit("hystart_last_ack_ns", self.round.last_ack.0);
        visit("hystart_end_mark", self.round.end.0);
        visit("hystart_found", u64::from(self.found));
    }
}
