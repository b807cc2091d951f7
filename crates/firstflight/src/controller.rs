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

mod advice;
mod config;
mod episode;
mod growth;
mod increase;
mod kept;
mod tell;
mod three_amounts;
mod usage;

pub use crate::exit::Exit;
pub use config::{Config, Ending, Increase, Relapse};

use crate::avoidance::{Avoidance, Cut, MAX_MSS, Sizes};
use crate::event::{
    Ack, Congestion, Context, Misfed, Phase, Ready, Sent, Signal, SoFar, Timeout, Transport, Window,
};
use crate::exit::{ExitReason, Handover};
use crate::hint::Advice;
use crate::pacer::Spacing;
use crate::recovery::{End, Policy};
use crate::startup::{
    EpochUse, GAIN_AVOIDANCE, GAIN_SLOW_START, Pacing, Resumption, Startup, Train, Verdict,
};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH};
use core::num::NonZero;
use kept::{Ended, Ends, Episode, Repairer, Undo};
use three_amounts::ThreeAmounts;
use usage::Usage;

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
    /// [`Config::max_rate`] in kbit/s; 0 without one. Four bytes, as a controller has none to spare.
    max_kbit: u32,
    idle_restart: bool,
    increase: Increase,
    usage: Usage,
    /// [`Config::initial_packets`].
    iw_packets: Option<NonZero<u32>>,
    episode: Option<Episode>,
    /// There is a `mark`.
    marked: bool,
    /// TCP alone looks at it.
    ends: Ends,
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
    /// When the last ACK came.
    heard: Time,
    misfed: Option<Misfed>,
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
        let epoch_use = startup.heeds().epoch;
        let cx = Context { mss, iw, epoch_use, ..Context::new(&config, nxt) };
        let mut controller = Controller {
            startup,
            avoidance,
            repairer: Repairer::Policy(recovery),
            w: Window { cwnd: iw, ssthresh: UNSET_SSTHRESH },
            cx,
            recovery_gain: config.recovery_gain,
            max_kbit: config.max_rate.map_or(0, in_kbit),
            idle_restart: config.idle_restart,
            increase: config.increase,
            // RATELIMITED 3-start: the initial window, before anything was sent.
            usage: Usage::new(now, nxt, iw),
            iw_packets: config.initial_packets.and_then(NonZero::new),
            episode: None,
            marked: false,
            ends: Ends::new(&config),
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
            heard: now,
            misfed: None,
        };
        controller.startup.start(now, nxt);
        controller.take_hints(&config);
        controller
    }

    /// The connection starts at `now` and not when the controller was made: its handshake took
    /// longer. Only before the first RTT sample.
    pub fn restart(&mut self, now: Time, nxt: Seq) {
        (self.first_sent, self.round_end) = (now, nxt);
        self.heard = now;
        self.cx.so_far.una = SoFar::new(self.cx.transport, nxt).una;
        self.usage.restart(now, nxt);
        self.startup.start(now, nxt);
    }

    /// The RTT of a handshake that ended before this controller began, as a kernel reports it: it counts only
    /// for the smallest RTT.
    #[doc(hidden)]
    pub fn recall_rtt(&mut self, rtt: Nanos) {
        self.cx.so_far.on_rtt(rtt.in_ticks(None));
    }

    /// An RTT sample from before the first data, such as the handshake's.
    pub fn on_handshake_rtt(&mut self, now: Time, rtt: Nanos) {
        let rtt = rtt.in_ticks(None);
        self.cx.srtt = rtt;
        self.cx.so_far.on_rtt(rtt);
        self.startup.on_rtt(now, rtt, &self.cx);
        self.avoidance.on_rtt(now, rtt, self.w, false);
        self.heed_advice(now, 0);
        self.verify();
    }

    /// The transport is about to send a burst.
    pub fn before_send(&mut self, ready: &Ready) {
        self.note_srtt(ready.srtt);
        if self.increase == Increase::Linux {
            self.lower_unused();
        }
        self.usage.timeout = ready.timeout;
        if ready.inflight == 0 || ready.idle > Nanos::ZERO {
            self.resume(ready);
        }
        let before = self.w;
        self.startup.before_send(ready, &mut self.w, &self.cx);
        self.install(self.w.cwnd);
        if before.in_slow_start() && self.episode.is_none() {
            self.note_threshold(ready.now, before.cwnd, ready.inflight.min(MAX_BYTES));
        }
        self.verify();
    }

    /// The first send after nothing was in flight.
    fn resume(&mut self, ready: &Ready) {
        let since_sent = if self.sent { ready.now.since(self.usage.sent_at) } else { Nanos::ZERO };
        let since_sent = since_sent.max(ready.idle);
        if ready.idle > Nanos::ZERO {
            self.usage.settle(ready.nxt);
        }
        self.avoidance.on_idle(ready.now, ready.idle, since_sent);
        if ready.timeout == Nanos::ZERO {
            return;
        }
        let long = ready.idle > ready.timeout;
        if long {
            self.startup.on_idle(ready.now, ready.nxt);
        }
        if !self.idle_restart || self.episode.is_some() || self.startup.is_whole() {
            return;
        }
        if self.increase == Increase::Linux {
            self.restart_by_halves(ready, since_sent);
        } else if long && self.cx.iw < self.w.cwnd {
            // RFC5681 4.1-2: restart from at most the initial window. At or above the threshold a
            // new epoch begins there, or the memory of the old one would lift the window straight
            // back.
            self.w.cwnd = self.cx.iw;
            self.forget_flights();
            if !self.w.in_slow_start() {
                self.avoidance.hand_over(Handover::LossFree, self.w, &self.cx);
            }
        }
    }

    /// Whether [`before_send`](Self::before_send) may do or change anything if it is called again before
    /// the next ACK or timeout, for a sender that has not been idle, that has bytes in flight and
    /// whose smoothed RTT is the same. If not, the [pacing rate](Self::pacing_rate) stays until then.
    #[inline]
    pub fn heeds_sending(&self) -> bool {
        self.startup.heeds().sending || self.heeds_timeout()
    }

    /// Whether [`on_sent`](Self::on_sent) needs each packet until the next ACK or timeout. If not, one
    /// call is enough for those that leave together, with the last.
    #[inline]
    pub fn heeds_packets(&self) -> bool {
        (self.ended.is_none() || self.startup.is_whole()) && self.startup.heeds().packets
    }

    /// Whether [`Ready::inflight`] must not include the packet that leaves next, because the startup plans
    /// each departure. Constant for the life of the controller.
    #[inline]
    pub fn heeds_departures(&self) -> bool {
        self.startup.heeds().departures
    }

    /// The largest packet has another size from now on, in bytes (path MTU discovery). The initial
    /// window follows it, and as long as nothing was acknowledged so does the window. Later in QUIC
    /// windows keep their bytes; in TCP they keep their number of segments where these become
    /// smaller. None stays below the smallest window of larger packets.
    pub fn set_mss(&mut self, mss: u64) {
        let sizes = Sizes { old: self.cx.mss, new: mss.clamp(1, MAX_MSS) };
        if sizes.new == sizes.old {
            return;
        }
        self.cx.mss = sizes.new;
        let iw = self.cx.iw;
        self.cx.iw =
            Config::resized_window(iw, self.iw_packets.map(NonZero::get), (sizes.old, sizes.new))
                .clamp(least_window(self.cx.transport, sizes.new), MAX_BYTES);
        if self.cx.transport == Transport::Quic {
            // A send call takes packets; TCP's takes 64 KiB of whatever size.
            self.cx.max_burst = sizes.scale(self.cx.max_burst.min(MAX_BYTES));
        }
        let begins = Sizes { old: iw, new: self.cx.iw };
        if !self.sent {
            self.usage.scale(|amount| begins.scale(amount));
        }
        // RFC9002 7.2-resize: the window of a connection whose first packets are not acknowledged is
        // the initial one, or what a startup made of that.
        let untouched =
            self.cx.so_far.delivered == 0 && self.stats.timeouts == 0 && self.episode.is_none();
        // RFC5681 3.1-resize: a burst of smaller segments shall not be one of more segments.
        let kept = !untouched && self.cx.transport == Transport::Tcp && sizes.new < sizes.old;
        if untouched {
            self.w.cwnd = begins.scale(self.w.cwnd);
            self.startup.on_initial_window(&self.cx);
        } else if kept {
            self.w.cwnd = sizes.scale(self.w.cwnd);
            if self.w.ssthresh != UNSET_SSTHRESH {
                self.w.ssthresh = sizes.scale(self.w.ssthresh);
            }
            self.usage.scale(|amount| sizes.scale(amount));
            // A false alarm would give back windows of larger segments.
            self.undo = None;
        }
        self.avoidance.on_mss(sizes, kept);
        self.set_window(self.w);
        self.verify();
    }

    /// Records a packet or burst that left.
    #[inline(always)]
    pub fn on_sent(&mut self, sent: &Sent) {
        if !self.sent {
            (self.sent, self.first_sent) = (true, sent.now);
        }
        self.note_srtt(sent.srtt);
        self.note_use(sent);
        if self.ended.is_none() || self.startup.is_whole() {
            self.startup.on_sent(sent, self.w, &self.cx);
        }
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
        if ack.is_plain(&self.cx.so_far, self.heard) {
            self.heard = ack.now;
            self.cx.so_far.on_plain(ack);
            self.take(ack);
        } else {
            self.take_odd(ack);
        }
        self.verify();
    }

    #[cold]
    fn take_odd(&mut self, ack: &Ack) {
        if let Some(rule) = ack.wrong(&self.cx.so_far, self.heard, self.cx.transport) {
            let misfed = self.misfed.get_or_insert(Misfed { rule, at: ack.now, count: 0 });
            misfed.count = misfed.count.saturating_add(1);
        }
        let ack = ack.clamped(self.cx.so_far.min_rtt);
        self.heard = self.heard.max(ack.now);
        self.cx.so_far.on_ack(&ack);
        self.take(&ack);
    }

    // Each way ends with a call, so that nothing has to be kept across one: it costs most ACKs a dozen instructions less.
    #[inline]
    fn take(&mut self, ack: &Ack) {
        if self.increase == Increase::Linux {
            return self.take_as_linux(ack);
        }
        self.usage.on_ack(ack);
        self.act(ack);
    }

    #[inline(never)]
    fn take_as_linux(&mut self, ack: &Ack) {
        if self.is_unused() {
            return self.take_after_unused(ack);
        }
        self.note_and_act(ack);
    }

    #[cold]
    fn take_after_unused(&mut self, ack: &Ack) {
        self.lower_unused();
        self.note_and_act(ack);
    }

    #[inline(always)]
    fn note_and_act(&mut self, ack: &Ack) {
        self.usage.note_acked(ack, self.cx.transport, self.sent);
        self.usage.on_ack(ack);
        self.act(ack);
    }

    #[inline]
    fn act(&mut self, ack: &Ack) {
        debug_assert!(
            ack.acked.max(ack.lost).max(ack.inflight_before).max(ack.inflight) <= MAX_BYTES
                && ack.acked_fresh <= ack.acked,
            "amounts that overflow in products: {ack:?}"
        );
        self.note_srtt(ack.srtt);
        if let Some(rtt) = ack.rtt {
            if self.cx.epoch_use == EpochUse::Everywhere {
                self.note_epoch(ack.now);
            }
            self.startup.on_rtt(ack.now, rtt, &self.cx);
            self.avoidance.on_rtt(ack.now, rtt, self.w, self.episode.is_some());
        }
        self.avoidance.on_ack(ack, &self.cx);
        self.count_round(ack);
        if self.usage.advised != 0 {
            self.heed_advice(ack.now, ack.inflight_before);
        }
        if self.episode.is_none() && self.w.in_slow_start() && !self.cx.so_far.is_timer(ack) {
            self.sample(ack);
        }
        let (mut may_grow, mut how) = (true, None);
        if self.episode.is_some() {
            self.sample_in_recovery(ack);
            (may_grow, how) = self.progress(ack);
            if self.episode.is_some() {
                return;
            }
            if how != Some(End::Replaced) {
                self.avoidance.on_recovery_end(self.w);
            }
        }
        if (ack.lost > 0 || ack.ce || how.is_some() || self.ends.relapsed())
            && let Some(signal) = self.congested(ack, how)
            && !self.absorbs(signal, ack)
        {
            return self.open(signal, ack);
        }
        // RFC5681 3.1-cumulative: in TCP only an ACK that moves `una` grows the window. What is
        // SACKed before that shows loss or reordering, and after a timeout, when no episode
        // may open, a stuck `una` would let the window grow without end.
        if may_grow
            && ack.acked > 0
            && (self.cx.so_far.advanced || self.cx.transport == Transport::Quic)
        {
            self.grow(ack);
        }
    }

    /// A timeout or persistent congestion.
    pub fn on_congestion(&mut self, event: &Congestion) {
        if self.startup.is_whole() {
            return self.time_out_whole(event);
        }
        if self.increase == Increase::Linux {
            self.lower_unused();
        }
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
                let cut = Cut {
                    now: event.now,
                    signal: Signal::Loss,
                    inflight_before: inflight,
                    flight: self.usage.flight(),
                    from_slow_start: self.w.in_slow_start(),
                };
                self.w.ssthresh =
                    self.avoidance.on_rto(&cut, self.w, &self.cx).max(self.cx.minimum_window());
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
        self.ends.begin(false);
        self.forget_flights();
        self.usage.forget_flights(0);
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
        if self.startup.is_whole() {
            return self.take_back_whole();
        }
        let Some(undo) = self.undo.take() else { return };
        self.stats.undone = self.stats.undone.saturating_add(1);
        if let Some(policy) = self.policy() {
            policy.end(End::Undone, 0);
        }
        let episode = self.close();
        // RFC9438 4.9-2: only if the window is still smaller than it was. In an open episode it
        // always is: what a policy shows there is the pipe and what may be added to it,
        // which right after the first loss is as much as the old window.
        let [cwnd, ssthresh, max_fs] = undo.amounts.get();
        let less = episode.is_some() || self.w.cwnd < cwnd;
        if self.ends.relapse() == Relapse::Outstanding {
            // LINUX undo-raise: window and threshold each rise to what they were, and none falls
            // (`tcp_undo_cwnd_reduction`).
            let Window { cwnd: now, ssthresh: threshold } = self.w;
            self.set_window(Window { cwnd: now.max(cwnd), ssthresh: threshold.max(ssthresh) });
        } else if less {
            self.set_window(Window { cwnd, ssthresh });
        }
        if less {
            if self.increase != Increase::Linux {
                self.usage.most = max_fs;
            }
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

    /// A timeout of a startup that is all of the congestion control: the smallest window, and the
    /// rest is its own.
    fn time_out_whole(&mut self, event: &Congestion) {
        self.stats.timeouts = self.stats.timeouts.saturating_add(1);
        self.startup.on_timeout(event.timeout, event.now, event.nxt);
        self.install(match event.timeout {
            Timeout::Rto | Timeout::RtoAgain => self.cx.mss,
            Timeout::PersistentCongestion => self.cx.minimum_window(),
        });
        self.forget_flights();
        self.verify();
    }

    /// A false alarm of one; those of losses that were no episode are not counted.
    fn take_back_whole(&mut self) {
        let mut w = self.w;
        if self.startup.false_alarm(&mut w) {
            self.install(w.cwnd);
            self.stats.undone = self.stats.undone.saturating_add(1).min(self.stats.timeouts);
        }
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

    /// The window that [`admits`](Self::admits) holds packets against; 0 where a recovery policy counts
    /// each of them.
    #[inline]
    pub fn open_window(&self) -> u64 {
        if self.episode == Some(Episode::Policy) { 0 } else { self.w.cwnd }
    }

    /// The rate at which a pacer should release packets; `None` if the sender is not paced or has
    /// no RTT yet, unless it has a [largest rate](Config::max_rate).
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        match self.max_rate() {
            None => self.uncapped_rate(),
            Some(cap) => Some(self.capped_rate(cap)),
        }
    }

    /// A train leaves as fast as the cap allows.
    fn capped_rate(&self, cap: Rate) -> Rate {
        let own = if self.train().is_some() { None } else { self.uncapped_rate() };
        own.map_or(cap, |rate| rate.min(cap))
    }

    #[inline]
    fn uncapped_rate(&self) -> Option<Rate> {
        let srtt = self.cx.srtt;
        // Without an RTT there is none to pace by.
        if !self.cx.paced || srtt == Nanos::ZERO {
            return None;
        }
        // RFC9002 7.7-1: the rate is the window per smoothed RTT, times the gain of the phase.
        let gain = match self.pacing() {
            Pacing::Rate(rate) => return Some(rate),
            Pacing::Gain(gain) => gain,
        };
        // A window has 41 bits and a ratio's part 16.
        Rate::from_bytes_over(self.w.cwnd * gain.num(), srtt * gain.den())
            .map(|rate| Rate(rate.0.max(1)))
    }

    /// The largest pacing rate, if there is one, in whole kbit/s: trains and unpaced packets leave no
    /// faster either.
    #[inline]
    pub fn max_rate(&self) -> Option<Rate> {
        let kbit = if self.cx.advice == Advice::Cap { self.least_kbit() } else { self.max_kbit };
        (kbit != 0).then_some(Rate(u64::from(kbit) * KBIT))
    }

    /// Whether the sender has a largest pacing rate and would send at least that fast.
    #[inline]
    pub fn is_capped(&self) -> bool {
        self.max_rate().is_some_and(|cap| self.pacing_rate() == Some(cap))
    }

    /// Whether [`is_capped`](Self::is_capped) was true when startup ended; `None` during startup.
    #[doc(hidden)]
    pub fn exit_was_capped(&self) -> Option<bool> {
        self.ended.map(|ended| ended.capped)
    }

    /// The train that is leaving: a pacer that knows trains releases packets by it and asks for no
    /// rate. As of the last [`before_send`](Self::before_send).
    #[inline]
    pub fn train(&self) -> Option<Train> {
        if self.episode.is_none() && self.w.in_slow_start() { self.startup.train() } else { None }
    }

    /// The constraints of a pacer on the next packet, as of the last [`before_send`](Self::before_send). A
    /// sender that is not paced, or has no RTT yet, has none. Within a train, the rate applies only if it
    /// is the [largest rate](Self::max_rate).
    #[inline]
    pub fn spacing(&self) -> Spacing {
        let rate = self.pacing_rate();
        let train = rate.and_then(|_| self.train());
        Spacing { rate: rate.filter(|_| train.is_none() || self.max_kbit != 0), train }
    }

    /// Whether this sender sends ECT(1), which requests the low-latency service of L4S.
    #[inline]
    pub fn is_l4s(&self) -> bool {
        self.avoidance.is_l4s()
    }

    /// The phase of the sender.
    pub fn phase(&self) -> Phase {
        if self.episode.is_some() {
            return Phase::Recovery;
        }
        let startup = self.startup.status().phase;
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
        self.startup.status().rounds.unwrap_or(self.rounds)
    }

    /// State of the use of an earlier connection's saved values.
    pub fn resumption(&self) -> Resumption {
        self.startup.status().resumption
    }

    /// The exit from startup; `None` during startup.
    pub fn exit(&self) -> Option<Exit> {
        let Ended { reason, estimated, sent, rounds, at, amounts, estimate, .. } = self.ended?;
        let [detect_cwnd, cwnd, inflight] = amounts.get();
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

    /// The first impossible report of the transport and the number of such reports, or `None`. They are
    /// used as far as they make sense, and never end the program.
    pub fn misfed(&self) -> Option<Misfed> {
        self.misfed
    }

    /// Totals over the ACKs.
    #[doc(hidden)]
    pub fn so_far(&self) -> &SoFar {
        &self.cx.so_far
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
            self.cx.srtt = srtt;
        }
    }

    fn pacing(&self) -> Pacing {
        match self.episode {
            // RAPID 3.3-pacing: the smooth recovery needs no more than slow start's gain; its
            // window does the shaping.
            Some(Episode::Own) => Pacing::Gain(GAIN_SLOW_START),
            Some(_) => Pacing::Gain(self.recovery_gain),
            None if self.w.in_slow_start() => self.startup.pacing(),
            None => Pacing::Gain(GAIN_AVOIDANCE),
        }
    }

    fn count_round(&mut self, ack: &Ack) {
        if self.ended.is_none() && ack.una > self.round_end {
            self.round_end = ack.nxt;
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    #[inline]
    fn note_epoch(&mut self, now: Time) {
        // Without an epoch it is as old as can be: one question less for either answer.
        let age = self.avoidance.epoch_start().map_or(Nanos::MAX, |start| now.since(start));
        (self.cx.young_epoch, self.cx.newborn_epoch) =
            (Context::is_young(Some(age)), Context::is_newborn(Some(age)));
    }

    #[inline]
    fn sample(&mut self, ack: &Ack) {
        self.cx.pacing_rate = self.pacing_rate();
        self.cx.limited = self.limited(ack);
        if self.cx.epoch_use == EpochUse::Sampling {
            self.note_epoch(ack.now);
        }
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
            capped: self.is_capped(),
            rounds: self.rounds(),
            at,
            amounts: ThreeAmounts::new([detect_cwnd, self.w.cwnd, inflight]),
            estimate: estimate.unwrap_or(0),
        });
    }

    /// A window and a threshold that may be from a time of smaller packets.
    fn set_window(&mut self, window: Window) {
        self.install(window.cwnd);
        self.w.ssthresh = window.ssthresh.max(self.cx.minimum_window());
    }

    /// Checks the invariants between two events, in builds with debug assertions only: every test and
    /// every fuzz run.
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

/// Bytes per second of a kbit/s.
const KBIT: u64 = 125;

/// A rate in whole kbit/s, from one to 4.3 Tbit/s.
fn in_kbit(rate: Rate) -> u32 {
    u32::try_from(rate.0 / KBIT).unwrap_or(u32::MAX).max(1)
}

/// RFC9002 7.2-3: two packets. RFC5681 3.1-12: TCP's loss window is one segment.
const fn least_window(transport: Transport, mss: u64) -> u64 {
    match transport {
        Transport::Quic => 2 * mss,
        Transport::Tcp => mss,
    }
}
