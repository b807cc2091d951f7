//! The controller: startup x avoidance x recovery x pacing composed into one sender.
//!
//! Drive it with four events and ask it four questions:
//!
//! * tell: [`before_send`](Controller::before_send) and [`on_sent`](Controller::on_sent) around
//!   each burst, [`on_ack`](Controller::on_ack) for each ACK and loss timer,
//!   [`on_congestion`](Controller::on_congestion) for timeouts,
//!   [`on_spurious`](Controller::on_spurious) when a whole loss episode proves a false alarm;
//! * ask: [`cwnd`](Controller::cwnd), [`admits`](Controller::admits) before each packet,
//!   [`pacing_rate`](Controller::pacing_rate), [`exit`](Controller::exit) for how startup ended.
//!
//! Order of work within one ACK: [`crate::event`].

use crate::avoidance::{Avoidance, Cut, MAX_MSS};
use crate::event::{
    Ack, Congestion, Context, Phase, Ready, Sent, Signal, Timeout, Transport, Window,
};
use crate::exit::{ExitReason, Handover};
use crate::recovery::{Cause, End, Entry, OwnRecovery, Policy, Progress};
use crate::startup::{GAIN_AVOIDANCE, GAIN_SLOW_START, Leave, Startup, Verdict};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH};
use core::num::NonZero;

/// What a connection tells its controller once, at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whose rules apply where TCP and QUIC differ.
    pub transport: Transport,
    /// Largest payload of a packet as the window counts it, in bytes; 1 to 65536, what lies
    /// outside is cut to it.
    pub mss: u64,
    /// Initial window in bytes; at least the smallest window of the transport.
    pub initial_window: u64,
    /// A pacer will release the packets.
    pub paced: bool,
    /// Largest burst that leaves in one send call, in bytes.
    pub max_burst: u64,
    /// Pacing gain in ordinary recovery episodes; 5/4 by default.
    pub recovery_gain: Ratio,
    /// After an idle period longer than the timeout the window falls back to the initial one (RFC
    /// 5681 section 4.1; on for TCP).
    pub idle_restart: bool,
}

impl Config {
    /// RFC6928 2-1, RFC9002 7.2-1: `min(10 * mss, max(14720, 2 * mss))` bytes.
    pub const fn standard_initial_window(mss: u64) -> u64 {
        let two = mss.saturating_mul(2);
        let floor = if two > 14_720 { two } else { 14_720 };
        let ten = mss.saturating_mul(10);
        if ten < floor { ten } else { floor }
    }

    /// The defaults of a QUIC sender with packets of `mss` bytes.
    pub const fn quic(mss: u64) -> Config {
        Config {
            transport: Transport::Quic,
            mss,
            initial_window: Config::standard_initial_window(mss),
            paced: true,
            max_burst: mss.saturating_mul(10),
            recovery_gain: GAIN_AVOIDANCE,
            idle_restart: false,
        }
    }

    /// The defaults of a TCP sender with segments of `mss` bytes: not paced, 64 KiB bursts.
    pub const fn tcp(mss: u64) -> Config {
        Config {
            transport: Transport::Tcp,
            mss,
            initial_window: Config::standard_initial_window(mss),
            paced: false,
            max_burst: 65_536,
            recovery_gain: GAIN_AVOIDANCE,
            idle_restart: true,
        }
    }
}

/// How startup ended. One per connection, unless a false alarm took the end back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Why.
    pub reason: ExitReason,
    /// When.
    pub at: Time,
    /// Time since the first byte was sent.
    pub since_first_send: Nanos,
    /// Round trips completed, counted by acknowledgement of what was outstanding when the previous
    /// one ended.
    pub rounds: u32,
    /// Window when the end was detected, before any reduction, in bytes.
    pub detect_cwnd: u64,
    /// Window right after, in bytes: smaller than `detect_cwnd` if loss ended it, for Rapid Start
    /// only a first step.
    pub cwnd: u64,
    /// Bytes in flight just before the deciding ACK was processed.
    pub inflight: u64,
    /// The number that decided, in the algorithm's own unit (see [`Leave::estimate`]).
    pub estimate: Option<u64>,
}

/// Counters that every controller keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Recovery episodes opened by loss.
    pub loss_episodes: u32,
    /// Recovery episodes opened by congestion marks.
    pub ecn_episodes: u32,
    /// Episodes replaced because a repeat was lost again.
    pub replaced: u32,
    /// Episodes proven to be false alarms.
    pub undone: u32,
    /// Timeouts and persistent congestion.
    pub timeouts: u32,
    /// Episodes after which the window was below the threshold: slow start again.
    pub slow_starts_after_recovery: u32,
}

/// The end of startup as it is kept; the rest of [`Exit`] follows from it.
#[derive(Clone, Copy, Debug)]
struct Ended {
    reason: ExitReason,
    estimated: bool,
    /// Something had been sent by then.
    sent: bool,
    rounds: u32,
    at: Time,
    detect_cwnd: u64,
    cwnd: u64,
    inflight: u64,
    /// Meaningful if `estimated`.
    estimate: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Episode {
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
enum Repairer<R, P> {
    Policy(R),
    Own(OwnRecovery, P),
}

#[derive(Clone, Copy, Debug)]
struct Undo<S, A> {
    window: Window,
    avoidance: A,
    startup: S,
}

/// One sender's congestion controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller<S: Startup, A: Avoidance, R: Policy> {
    startup: S,
    avoidance: A,
    /// [`Repairer::Own`] exactly while the episode is [`Episode::Own`].
    repairer: Repairer<R, R::Settings>,
    w: Window,
    cx: Context,
    recovery_gain: Ratio,
    idle_restart: bool,
    /// In ns; zero is no RTT to pace by.
    srtt: Option<NonZero<u64>>,
    episode: Option<Episode>,
    /// There is a `mark`.
    marked: bool,
    /// `nxt` when the last episode began; nothing sent before it starts another.
    mark: Seq,
    tx_mark: u64,
    undo: Option<Undo<S::Saved, A::Saved>>,
    /// The loss that `undo` remembers is what ended startup.
    exit_in_doubt: bool,
    after_timeout: bool,
    /// Something was sent, first at `first_sent`.
    sent: bool,
    first_sent: Time,
    round_end: Seq,
    rounds: u32,
    ended: Option<Ended>,
    stats: Stats,
}

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// A controller for a connection that starts at `now` with `nxt` as its first packet or
    /// sequence number.
    pub fn new(
        startup: S,
        avoidance: A,
        recovery: R,
        config: Config,
        now: Time,
        nxt: Seq,
    ) -> Controller<S, A, R> {
        let mss = config.mss.clamp(1, MAX_MSS);
        let iw = config.initial_window.clamp(least_window(config.transport, mss), MAX_BYTES);
        let cx = Context {
            mss,
            iw,
            transport: config.transport,
            paced: config.paced,
            pacing_rate: None,
            max_burst: config.max_burst,
            limited: true,
            young_epoch: false,
            newborn_epoch: false,
        };
        let mut controller = Controller {
            startup,
            avoidance,
            repairer: Repairer::Policy(recovery),
            w: Window { cwnd: iw, ssthresh: UNSET_SSTHRESH },
            cx,
            recovery_gain: config.recovery_gain,
            idle_restart: config.idle_restart,
            srtt: None,
            episode: None,
            marked: false,
            mark: Seq(0),
            tx_mark: 0,
            undo: None,
            exit_in_doubt: false,
            after_timeout: false,
            sent: false,
            first_sent: now,
            round_end: nxt,
            rounds: 0,
            ended: None,
            stats: Stats::default(),
        };
        controller.startup.start(now, nxt);
        controller
    }

    /// The connection starts at `now` and not when the controller was made: its handshake took
    /// longer. Only before the first RTT sample.
    pub fn restart(&mut self, now: Time, nxt: Seq) {
        (self.first_sent, self.round_end) = (now, nxt);
        self.startup.start(now, nxt);
    }

    /// An RTT sample from before the first data, such as the handshake's.
    pub fn on_handshake_rtt(&mut self, now: Time, rtt: Nanos) {
        self.srtt = NonZero::new(rtt.0);
        self.startup.on_rtt(now, rtt, &self.cx);
        self.verify();
    }

    /// The transport is about to send a burst.
    pub fn before_send(&mut self, ready: &Ready) {
        self.note_srtt(ready.srtt);
        if ready.idle > Nanos::ZERO {
            self.avoidance.on_idle(ready.now, ready.idle);
            if ready.idle > ready.timeout && ready.timeout > Nanos::ZERO {
                self.startup.on_idle(ready.now, ready.nxt);
                if self.idle_restart && self.episode.is_none() {
                    // RFC5681 4.1-2: restart from at most the initial window. At or above the
                    // threshold a new epoch begins there, or the memory of the
                    // old one would lift the window straight back.
                    let restart = self.w.cwnd.min(self.cx.iw);
                    if restart < self.w.cwnd {
                        self.w.cwnd = restart;
                        if !self.w.in_slow_start() {
                            self.avoidance.hand_over(Handover::LossFree, self.w, &self.cx);
                        }
                    }
                }
            }
        }
        let before = self.w;
        self.startup.before_send(ready, &mut self.w, &self.cx);
        self.install(self.w.cwnd);
        if before.in_slow_start() && self.episode.is_none() {
            self.note_threshold(ready.now, before.cwnd, ready.inflight.min(MAX_BYTES));
        }
        self.verify();
    }

    /// The largest packet has another size from now on, in bytes (path MTU discovery). Windows stay
    /// as they are, but for those that are smaller than the smallest window of larger packets.
    pub fn set_mss(&mut self, mss: u64) {
        self.cx.mss = mss.clamp(1, MAX_MSS);
        self.set_window(self.w);
        self.verify();
    }

    /// A packet or burst left.
    pub fn on_sent(&mut self, sent: &Sent) {
        if !self.sent {
            (self.sent, self.first_sent) = (true, sent.now);
        }
        self.note_srtt(sent.srtt);
        if let Some(policy) = self.policy() {
            policy.on_sent(sent.bytes.min(MAX_BYTES));
        }
        self.verify();
    }

    /// One ACK, or the loss timer (then `acked` is 0 and `rtt` is `None`).
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        // Copying the record to cut it costs more than all else that most ACKs do, and only
        // nonsense needs it.
        if ack.is_bounded() {
            self.take(ack);
        } else {
            self.take(&ack.clamped());
        }
        self.verify();
    }

    #[inline(never)]
    fn take(&mut self, ack: &Ack) {
        debug_assert!(
            ack.acked.max(ack.lost).max(ack.inflight_before).max(ack.inflight) <= MAX_BYTES
                && ack.acked_fresh <= ack.acked,
            "amounts that overflow in products: {ack:?}"
        );
        self.note_srtt(ack.srtt);
        if let Some(rtt) = ack.rtt {
            let age = self.avoidance.epoch_start().map(|start| ack.now.since(start));
            (self.cx.young_epoch, self.cx.newborn_epoch) =
                (Context::is_young(age), Context::is_newborn(age));
            self.startup.on_rtt(ack.now, rtt, &self.cx);
        }
        self.count_round(ack);
        if self.episode.is_none() && self.w.in_slow_start() && !ack.is_timer() {
            self.sample(ack);
        }
        let (mut may_grow, mut replaced) = (true, false);
        if self.episode.is_some() {
            (may_grow, replaced) = self.progress(ack);
            if self.episode.is_some() {
                return;
            }
        }
        if (ack.lost > 0 || ack.ce)
            && let Some(signal) = self.congested(ack, replaced)
        {
            return self.open(signal, ack);
        }
        // RFC5681 3.1-cumulative: in TCP only an ACK that moves `una` grows the window. What is
        // SACKed before that shows loss or reordering, and after a timeout, when no episode
        // may open, a stuck `una` would let the window grow without end.
        if may_grow && ack.acked > 0 && (ack.advanced || self.cx.transport == Transport::Quic) {
            self.grow(ack);
        }
    }

    /// A timeout or persistent congestion.
    pub fn on_congestion(&mut self, event: &Congestion) {
        let inflight = event.inflight_before.min(MAX_BYTES);
        let in_startup = self.ended.is_none();
        let before = self.w;
        if let Some(policy) = self.policy() {
            // OURS timeout-episode: what an episode shows is what may be sent at the moment; what a
            // timeout cuts is the window it would have left.
            let left = policy.end(End::Timeout, inflight);
            self.install(left);
        }
        let episode = self.close();
        self.stats.timeouts = self.stats.timeouts.saturating_add(1);
        match event.timeout {
            Timeout::Rto => {
                // RFC5682 3-undo: a timeout may prove needless later, but one inside an episode
                // does not make the loss before it unreal.
                self.undo = episode.is_none().then(|| self.copy(before));
                self.exit_in_doubt = in_startup;
                // RFC5681 3.1-series: the threshold is cut by the first timeout of a series only.
                self.w.ssthresh = self
                    .avoidance
                    .on_rto(event.now, inflight, self.w, &self.cx)
                    .max(self.cx.minimum_window());
                self.install(self.cx.mss);
                self.set_mark(Some(event.nxt));
            }
            Timeout::RtoAgain => {
                // Of a series, or with an episode open whose cut stands: only the copy of the
                // series survives.
                if episode.is_some() {
                    self.undo = None;
                }
                self.install(self.cx.mss);
                self.set_mark(Some(event.nxt));
            }
            Timeout::PersistentCongestion => {
                self.undo = None;
                // RFC9002 7.6.2-1: the smallest window, out of recovery; the threshold stays as the
                // loss left it.
                self.avoidance.on_persistent_congestion(event.now);
                self.w.cwnd = self.cx.minimum_window();
                self.set_mark(None);
            }
        }
        self.after_timeout = true;
        self.startup.on_timeout(event.timeout, event.now, event.nxt);
        if in_startup {
            self.record(ExitReason::Timeout, event.now, before.cwnd, inflight, None);
        }
        self.verify();
    }

    /// Every packet declared lost in the last episode has now been acknowledged, or the timeout
    /// proved needless: give the window back (RFC 9438 section 4.9). Idempotent: a second call
    /// changes nothing.
    pub fn on_spurious(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.stats.undone = self.stats.undone.saturating_add(1);
        if let Some(policy) = self.policy() {
            policy.end(End::Undone, 0);
        }
        let episode = self.close();
        // RFC9438 4.9-2: only if the window is still smaller than it was. In an open episode it
        // always is: what a policy shows there is the pipe and what may be added to it,
        // which right after the first loss is as much as the old window.
        if episode.is_some() || self.w.cwnd < undo.window.cwnd {
            self.set_window(undo.window);
            self.avoidance.restore(undo.avoidance);
            self.startup.restore(undo.startup);
            if self.exit_in_doubt {
                self.ended = None;
            }
        }
        // OURS undo-mark: the period never was; what was sent before it may still be lost, and then
        // it is news.
        self.set_mark(None);
        self.verify();
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.w.cwnd
    }

    /// Slow-start threshold in bytes, `None` while it was never set.
    #[inline]
    pub fn ssthresh(&self) -> Option<u64> {
        (self.w.ssthresh != UNSET_SSTHRESH).then_some(self.w.ssthresh)
    }

    /// May a packet of `len` bytes be sent while `inflight` bytes are outstanding?
    #[inline]
    pub fn admits(&self, len: u64, inflight: u64) -> bool {
        match &self.repairer {
            Repairer::Policy(policy) if self.episode == Some(Episode::Policy) => {
                policy.admits(len, inflight)
            }
            _ => inflight.saturating_add(len) <= self.w.cwnd,
        }
    }

    /// The rate at which a pacer should release packets; `None` if the sender is not paced or has
    /// no RTT yet.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        let srtt = Nanos(self.srtt.filter(|_| self.cx.paced)?.get());
        // RFC9002 7.7-1: the rate is the window per smoothed RTT, times the gain of the phase.
        let gain = self.pacing_gain();
        Rate::from_bytes_over(self.w.cwnd.saturating_mul(gain.num()), srtt * gain.den())
            .map(|rate| Rate(rate.0.max(1)))
    }

    /// What the sender is doing.
    pub fn phase(&self) -> Phase {
        if self.episode.is_some() {
            return Phase::Recovery;
        }
        let startup = self.startup.phase();
        if self.w.in_slow_start() || startup == Phase::Lss { startup } else { Phase::Avoidance }
    }

    /// An episode is open.
    #[inline]
    pub fn in_recovery(&self) -> bool {
        self.episode.is_some()
    }

    /// Packets or bytes numbered below this were sent before the last recovery began; see
    /// [`Ack::acked_fresh`].
    #[inline]
    pub fn recovery_mark(&self) -> Option<Seq> {
        self.marked.then_some(self.mark)
    }

    /// Round trips of startup completed so far, counted as [`Exit::rounds`] counts them.
    pub fn rounds(&self) -> u32 {
        self.startup.rounds().unwrap_or(self.rounds)
    }

    /// How startup ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        let Ended { reason, estimated, sent, rounds, at, detect_cwnd, cwnd, inflight, estimate } =
            self.ended?;
        let since_first_send = if sent { at.since(self.first_sent) } else { Nanos::ZERO };
        Some(Exit {
            reason,
            at,
            since_first_send,
            rounds,
            detect_cwnd,
            cwnd,
            inflight,
            estimate: estimated.then_some(estimate),
        })
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The startup, to read what it has counted.
    pub fn startup(&self) -> &S {
        &self.startup
    }

    /// Inner signals of startup and avoidance, pulled by a tracer.
    pub fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.startup.signals(visit);
        self.avoidance.signals(visit);
    }

    #[inline]
    fn note_srtt(&mut self, srtt: Option<Nanos>) {
        if let Some(srtt) = srtt {
            self.srtt = NonZero::new(srtt.0);
        }
    }

    fn pacing_gain(&self) -> Ratio {
        match self.episode {
            // RAPID 3.3-pacing: the smooth recovery needs no more than slow start's gain; its
            // window does the shaping.
            Some(Episode::Own) => GAIN_SLOW_START,
            Some(_) => self.recovery_gain,
            None if self.w.in_slow_start() => self.startup.pacing_gain(),
            None => GAIN_AVOIDANCE,
        }
    }

    fn limited(&self, ack: &Ack) -> bool {
        // RFC9002 7.8-1: no growth while the window is not used. OURS growth-half: in slow start
        // half of it in flight is use enough, since the window doubles within the round
        // trip that the test looks back on.
        ack.cwnd_limited || (self.w.in_slow_start() && ack.inflight_before >= self.w.cwnd / 2)
    }

    fn count_round(&mut self, ack: &Ack) {
        if self.ended.is_none() && ack.una > self.round_end {
            self.round_end = ack.nxt;
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    #[inline]
    fn sample(&mut self, ack: &Ack) {
        self.cx.pacing_rate = self.pacing_rate();
        self.cx.limited = self.limited(ack);
        let before = self.w.cwnd;
        match self.startup.sample(ack, self.w, &self.cx) {
            Verdict::Stay => {}
            verdict => {
                if !self.apply(verdict, ack) {
                    self.note_threshold(ack.now, before, ack.inflight_before);
                }
            }
        }
    }

    /// Loss or marks that are news: not of something sent before the last episode began. Loss
    /// outranks marks.
    fn congested(&self, ack: &Ack, replaced: bool) -> Option<Signal> {
        let (loss_is_news, mark_is_news) =
            match (self.recovery_mark().filter(|_| !replaced), self.cx.transport) {
                (None, _) => (true, true),
                // RFC9002 7.3.2-4: only a packet sent after the last entry starts a new period.
                // Late losses of the old one hide no marks.
                (Some(mark), Transport::Quic) => {
                    (ack.tx_lost.is_some_and(|tx| tx >= self.tx_mark), ack.una > mark)
                }
                // RFC6675 5.1-1: below the mark without an episode TCP is in timeout recovery;
                // there only a lost repeat is news (LINUX rto-reenter).
                (Some(mark), Transport::Tcp) => {
                    (ack.una >= mark || ack.lost_again, ack.una >= mark)
                }
            };
        if ack.lost > 0 && loss_is_news {
            Some(Signal::Loss)
        } else {
            (ack.ce && mark_is_news).then_some(Signal::Ecn)
        }
    }

    /// One ACK of an open episode. Returns whether this ACK may still grow the window, and whether
    /// a fresh episode must open.
    #[inline(never)]
    fn progress(&mut self, ack: &Ack) -> (bool, bool) {
        let past_mark = self.recovery_mark().is_none_or(|mark| match self.cx.transport {
            // RFC9002 7.3.2-5: over with the first packet sent after entry. RFC6675 5-end: over
            // when all that was sent before it is acknowledged.
            Transport::Quic => ack.una > mark,
            Transport::Tcp => ack.una >= mark,
        });
        match self.episode {
            Some(Episode::Policy) if past_mark => {
                self.end_policy(End::Complete, ack);
                // OURS ack-completing: in TCP the ACK that ends an episode grows nothing; in QUIC
                // only packets sent after entry count.
                (self.cx.transport == Transport::Quic, false)
            }
            Some(Episode::Policy) if ack.lost_again && self.restarts_on_lost_repeat() => {
                // RFC5681 4.3-1: the loss of a repeat counts as a second sign of congestion.
                self.end_policy(End::Replaced, ack);
                self.stats.replaced = self.stats.replaced.saturating_add(1);
                (false, true)
            }
            Some(Episode::Policy) => {
                self.feed_policy(ack);
                (false, false)
            }
            Some(Episode::Own) => {
                let Repairer::Own(own, _) = &mut self.repairer else { return (false, false) };
                // RAPID 3.3-end: over when something *transmitted* after entry arrives; in TCP
                // holes hold `una` back much longer.
                let (over, before) = match self.cx.transport {
                    Transport::Quic => (past_mark, Some(ack.acked.saturating_sub(ack.acked_fresh))),
                    Transport::Tcp => (ack.tx_acked.is_some_and(|tx| tx >= self.tx_mark), None),
                };
                if over {
                    own.account_last(ack.acked, before, ack.lost, ack.una);
                } else {
                    own.account(ack.acked, ack.lost, ack.una);
                }
                let (cwnd, handover) = (own.cwnd(), own.handover());
                self.install(cwnd);
                self.w.ssthresh = self.w.cwnd;
                if over {
                    self.avoidance.hand_over(handover, self.w, &self.cx);
                    self.close();
                    // OURS rapid-repair: in TCP the window stands until the holes are filled.
                    self.episode = (!past_mark).then_some(Episode::Repair);
                }
                (false, false)
            }
            Some(Episode::Repair) => {
                if past_mark {
                    self.episode = None;
                }
                (false, false)
            }
            None => (true, false),
        }
    }

    fn end_policy(&mut self, how: End, ack: &Ack) {
        if let Some(policy) = self.policy() {
            let cwnd = policy.end(how, ack.inflight);
            self.install(cwnd);
        }
        self.episode = None;
        if how == End::Complete && self.w.in_slow_start() {
            self.stats.slow_starts_after_recovery =
                self.stats.slow_starts_after_recovery.saturating_add(1);
        }
    }

    /// What a false alarm gives back; `window` is the one before the reduction.
    fn copy(&self, window: Window) -> Undo<S::Saved, A::Saved> {
        Undo { window, avoidance: self.avoidance.save(), startup: self.startup.save() }
    }

    fn feed_policy(&mut self, ack: &Ack) {
        let mss = self.cx.mss;
        let Repairer::Policy(policy) = &mut self.repairer else { return };
        policy.on_ack(&Progress {
            delivered: ack.acked,
            advanced: ack.advanced,
            newly_lost: ack.lost,
            rescue_next: ack.rescue_next,
            repeat_acked: ack.repeat_acked,
            repeat_lost: ack.lost_again,
            pipe: ack.inflight,
            mss,
            timer: ack.is_timer(),
        });
        let cwnd = policy.cwnd();
        self.install(cwnd);
    }

    /// The arm's policy, if its episode is open.
    #[inline]
    fn policy(&mut self) -> Option<&mut R> {
        match &mut self.repairer {
            Repairer::Policy(policy) if self.episode == Some(Episode::Policy) => Some(policy),
            _ => None,
        }
    }

    fn restarts_on_lost_repeat(&self) -> bool {
        matches!(&self.repairer, Repairer::Policy(policy) if policy.restarts_on_lost_repeat())
    }

    /// No episode from here on; the policy is back in its place. Returns what was open.
    fn close(&mut self) -> Option<Episode> {
        if let Repairer::Own(_, settings) = &self.repairer {
            self.repairer = Repairer::Policy(R::with(settings.clone()));
        }
        self.episode.take()
    }

    fn set_mark(&mut self, mark: Option<Seq>) {
        self.marked = mark.is_some();
        self.mark = mark.unwrap_or(self.mark);
    }

    #[inline(never)]
    fn open(&mut self, signal: Signal, ack: &Ack) {
        let from_slow_start = self.w.in_slow_start();
        let before = self.w;
        // RFC9438 4.9-1: remember what to give back; marks are never taken back and void the memory
        // of an earlier loss.
        self.undo = (signal == Signal::Loss).then(|| self.copy(before));
        self.exit_in_doubt = signal == Signal::Loss && self.ended.is_none();
        match signal {
            Signal::Loss => self.stats.loss_episodes = self.stats.loss_episodes.saturating_add(1),
            Signal::Ecn => self.stats.ecn_episodes = self.stats.ecn_episodes.saturating_add(1),
        }
        let cut =
            Cut { now: ack.now, signal, inflight_before: ack.inflight_before, from_slow_start };
        let beta = self.avoidance.beta(signal, false);
        let reduced = self.avoidance.reduce(&cut, before, &self.cx);
        self.set_mark(Some(ack.nxt));
        self.tx_mark = ack.tx_next;
        if let Some(own) = self.startup.on_congestion(signal, beta, ack, before, &self.cx) {
            self.install(own.cwnd());
            self.w.ssthresh = self.w.cwnd;
            if let Repairer::Policy(policy) = &self.repairer {
                self.repairer = Repairer::Own(own, policy.settings());
            }
            self.episode = Some(Episode::Own);
        } else {
            self.w.ssthresh = reduced.ssthresh;
            let timer = ack.is_timer();
            self.episode = Some(Episode::Policy);
            let mss = self.cx.mss;
            let entry = Entry {
                cause: match signal {
                    Signal::Ecn => Cause::Ecn,
                    Signal::Loss if timer => Cause::Timer,
                    Signal::Loss => Cause::Ack,
                },
                target: reduced.ssthresh,
                flight: ack.flight.min(MAX_BYTES),
                sacked: ack.sacked.min(MAX_BYTES),
                delivered: ack.acked,
                cwnd: before.cwnd,
                reduced: reduced.cwnd,
                mss,
            };
            if let Some(policy) = self.policy() {
                policy.enter(&entry);
            }
            self.feed_policy(ack);
        }
        if self.ended.is_none() {
            let reason = if signal == Signal::Loss { ExitReason::Loss } else { ExitReason::Ecn };
            self.record(reason, ack.now, before.cwnd, ack.inflight_before, None);
        }
    }

    fn grow(&mut self, ack: &Ack) {
        // RFC9002 7.3.2-growth: packets sent before a period grow no window. That is QUIC's rule:
        // in TCP an episode lasts until everything sent before it is acknowledged, and
        // after a timeout what was sent before it is what slow start grows by.
        let acked = if self.marked && self.cx.transport == Transport::Quic {
            ack.acked_fresh
        } else {
            ack.acked
        };
        if acked == 0 {
            return;
        }
        let before = self.w;
        // Anew: the sample hook or the end of an episode may have moved this ACK across the
        // threshold, where the stricter test applies.
        self.cx.limited = self.limited(ack);
        if before.in_slow_start() {
            let grown = self.startup.grow(ack, acked, &mut self.w, &self.cx);
            let left = grown.verdict != Verdict::Stay && self.apply(grown.verdict, ack);
            if !left
                && self.note_threshold(ack.now, before.cwnd, ack.inflight_before)
                && grown.leftover > 0
            {
                self.cx.limited = ack.cwnd_limited;
                self.avoidance.grow(ack, grown.leftover, &mut self.w, &self.cx);
            }
        } else {
            let floor = self.startup.beside_avoidance(ack, acked, before, &self.cx);
            self.avoidance.grow(ack, acked, &mut self.w, &self.cx);
            if let Some(floor) = floor {
                self.w.cwnd = self.w.cwnd.max(floor);
            }
        }
        self.install(self.w.cwnd);
    }

    /// Slow start is over if the window has met the threshold, or the threshold has come down to
    /// it: whether it is. Asked where the window was below the threshold a moment ago and the
    /// startup itself has not left.
    #[inline]
    fn note_threshold(&mut self, now: Time, detected: u64, inflight: u64) -> bool {
        if self.w.in_slow_start() { false } else { self.meet_threshold(now, detected, inflight) }
    }

    #[cold]
    fn meet_threshold(&mut self, now: Time, detected: u64, inflight: u64) -> bool {
        let timed_out = core::mem::take(&mut self.after_timeout);
        // OURS handover-threshold: the row of the hand-over table for a threshold that slow start
        // has met.
        let handover = if timed_out { Handover::AfterTimeout } else { Handover::LossFree };
        self.avoidance.hand_over(handover, self.w, &self.cx);
        // Told in later slow starts as well: what it was still looking for it need not find any
        // more.
        let reason = self.startup.reached();
        if self.ended.is_none() {
            self.record(reason, now, detected, inflight, Some(self.w.ssthresh));
        }
        true
    }

    /// Does what a hook concluded; whether startup left.
    #[inline(never)]
    fn apply(&mut self, verdict: Verdict, ack: &Ack) -> bool {
        match verdict {
            Verdict::Stay => {}
            Verdict::Aim { ssthresh } => self.w.ssthresh = ssthresh.max(self.cx.minimum_window()),
            Verdict::Hold { cwnd } => self.install(cwnd),
            Verdict::Leave(leave) => self.leave(leave, ack),
        }
        matches!(verdict, Verdict::Leave(_))
    }

    fn leave(&mut self, leave: Leave, ack: &Ack) {
        let detected = self.w.cwnd;
        if let Some(cwnd) = leave.cwnd {
            self.install(cwnd);
        }
        self.w.ssthresh = leave
            .ssthresh
            .max(self.cx.minimum_window())
            .min(self.w.cwnd.max(self.cx.minimum_window()));
        self.avoidance.hand_over(leave.handover, self.w, &self.cx);
        if self.ended.is_none() {
            self.record(leave.reason, ack.now, detected, ack.inflight_before, leave.estimate);
        }
    }

    fn record(
        &mut self,
        reason: ExitReason,
        at: Time,
        detect_cwnd: u64,
        inflight: u64,
        estimate: Option<u64>,
    ) {
        self.ended = Some(Ended {
            reason,
            estimated: estimate.is_some(),
            sent: self.sent,
            rounds: self.rounds(),
            at,
            detect_cwnd,
            cwnd: self.w.cwnd,
            inflight,
            estimate: estimate.unwrap_or(0),
        });
    }

    /// A window and a threshold that may be from a time of smaller packets.
    fn set_window(&mut self, window: Window) {
        self.install(window.cwnd);
        self.w.ssthresh = window.ssthresh.max(self.cx.minimum_window());
    }

    /// What holds between any two events, whatever a transport tells: every test and every fuzz run
    /// of a build with debug assertions checks it, other builds have nothing of it.
    #[inline]
    fn verify(&self) {
        let (Window { cwnd, ssthresh }, cx) = (self.w, &self.cx);
        debug_assert!(
            (least_window(cx.transport, cx.mss)..=MAX_BYTES).contains(&cwnd),
            "the window is {cwnd} with packets of {}",
            cx.mss
        );
        debug_assert!(
            ssthresh >= cx.minimum_window(),
            "the threshold is {ssthresh} with packets of {}",
            cx.mss
        );
        debug_assert_eq!(
            matches!(self.repairer, Repairer::Own(..)),
            self.episode == Some(Episode::Own),
            "who repairs is not whose episode it is"
        );
        debug_assert!(
            self.episode.is_none() || (self.marked && self.ended.is_some()),
            "an episode is open that has no mark, or inside a startup that goes on"
        );
        let Stats { loss_episodes, timeouts, undone, .. } = self.stats;
        debug_assert!(
            undone <= loss_episodes.saturating_add(timeouts),
            "{undone} false alarms among {loss_episodes} episodes and {timeouts} timeouts"
        );
    }

    /// Every window passes through here: never below the minimum, never above [`MAX_BYTES`].
    fn install(&mut self, cwnd: u64) {
        self.w.cwnd = cwnd.clamp(least_window(self.cx.transport, self.cx.mss), MAX_BYTES);
    }
}

/// RFC9002 7.2-3: two packets. RFC5681 3.1-12: TCP's loss window is one segment.
const fn least_window(transport: Transport, mss: u64) -> u64 {
    match transport {
        Transport::Quic => 2 * mss,
        Transport::Tcp => mss,
    }
}
