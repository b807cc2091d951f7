//! The driver: turns the callbacks of a QUIC stack into the events of the core, each ACK exactly
//! once.
//!
//! quinn and noq report one ACK as: newly acknowledged packets, an end mark, then losses, then
//! marks (ECN). The core needs a single record. The driver computes its answer at the end mark,
//! because the stack may ask for the window right after it. It keeps the previous state, and if
//! losses or marks of the same instant follow, it computes the answer again from that state with
//! the completed record.
//!
//! Departures from the events that a transport of our own would report:
//! * D1 (smoothed RTT): the stack's estimate is one ACK old when the controller receives an ACK.
//!   The ACK's sample is added with the usual weight of an eighth, without the correction for ACK
//!   delay, which no stack passes on.
//! * D2 (before a send): no stack reports that it is about to send, or how much data waits. The
//!   data in flight is used as an estimate of the waiting data: without other information, a flow
//!   that has filled half of its window is assumed to fill the other half. A jump therefore starts
//!   in the middle of the initial window, and counts from its first packet.
//! * D3 (timer at the instant of an ACK): if a loss timer fires at the very instant of an ACK with
//!   nothing sent in between, its losses join that ACK. This happens in virtual time only.
//! * D5 (trains): a stack that accepts a rate but no departure times first gets a rate at which
//!   packets leave at once, while a train is sent, and then the rate at which the next packet is
//!   due with the next train. Its pacer keeps a token or more, so it gets the gap's rate one packet
//!   early.
//! * D4 (handshake): packets of the handshake count for no round and for no time, but the first RTT
//!   sample may be theirs, even if a newer packet number space has started. When such a space
//!   starts, and once more with the first RTT sample, the controller restarts with that sample, as
//!   a controller that sees only data would; but not after half an initial window was sent or a
//!   packet was lost.
//! * D7 (chirps): a chirp begins with the packet that leaves, so Paced Chirping gets the bytes in flight
//!   before it, and data for a whole chirp is assumed to wait. Where data is missing, the gaps of the
//!   chirp do not fall, and it is not read. While chirps pause for an ACK, the rate is a byte per
//!   second, so that no tokens collect; the rate for the next packet counts from the last one.
//! * D6 (probes): quinn does not report that it sends a probe of the path's MTU (RFC 9000, section
//!   14.4). Acknowledged bytes count as sent.

use crate::plan::Plan;
use firstflight::controller::Stats;
use firstflight::signal::rtt::{INITIAL_RTT, Rfc9002Rtt};
use firstflight::{
    Ack, AnyController, Arm, Begin, Congestion, Event, Exit, Nanos, Phase, Rate, Ready, Recorder,
    Sent, Seq, State, Time, Timeout,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recorder of the events of a factory's controllers. It receives each [`Event`] when it is
/// complete: an ACK only when the next event shows that nothing more belongs to it, with the time
/// of its arrival. Numbers are positions in the order of sending, over all packet number spaces;
/// quinn names neither acknowledged nor lost packets.
pub type SharedRecorder = Arc<Mutex<dyn Recorder<AnyController> + Send>>;
/// Observable state of a stack's own controller, which controls the sender while one of ours
/// receives the same calls. After every call it holds the window (0 before the first call), the
/// threshold (`None` if never set, and for a controller without one) and the pacing rate that the
/// controller requests from its stack. A recorder of our controller reads from here the other
/// controller's state after an event.
pub type SharedState = Arc<Mutex<State>>;

/// The rate inside a train, bytes per second: a packet in little more than a microsecond. Stacks'
/// pacers stop working at rates far above it (see `UNPACED` in the adapter of noq).
const AT_ONCE: u64 = 1_000_000_000;

/// RFC 9000 section 18.2: the longest ACK delay of a peer that announces none. It is part of the
/// probe timeout that idle rules use.
const MAX_ACK_DELAY: Nanos = Nanos::from_millis(25);

/// State that a controller reports; it proves which arm ran.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The arm.
    pub arm: Arm,
    /// Current phase.
    pub phase: Phase,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` if never set.
    pub ssthresh: Option<u64>,
    /// Exit of the startup, if any.
    pub exit: Option<Exit>,
    /// The controller's counters.
    pub stats: Stats,
    /// The RTT sample of the handshake that it started with, if there was one.
    pub handshake_rtt: Option<Nanos>,
    /// ACKs processed.
    pub acks: u64,
    /// Loss timers processed.
    pub timers: u64,
    /// ACKs processed a second time because losses or marks followed.
    pub replays: u64,
    /// Bytes sent, acknowledged and declared lost, as the stack counts bytes in flight.
    pub bytes_sent: u64,
    /// See `bytes_sent`.
    pub bytes_acked: u64,
    /// See `bytes_sent`.
    pub bytes_lost: u64,
    /// Whether the controller has sent next to nothing and knows nothing except the RTT of the
    /// handshake, so that another arm may still replace it.
    pub pristine: bool,
}

/// Progress of the driver within one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is pending.
    Quiet,
    /// Acknowledged packets are being collected.
    Collecting,
    /// The answer to the ACK or timer was computed; the ACK may still be completed.
    Open,
}

/// A newly acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckedPacket {
    pub(crate) bytes: u64,
    pub(crate) sent: Time,
    /// Its position in the order of sending, if the stack provides it.
    pub(crate) position: Option<u64>,
    /// Whether it was sent at or after the start of the last recovery.
    pub(crate) fresh: bool,
}

/// The end mark of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndOfAcks {
    pub(crate) inflight: u64,
    pub(crate) app_limited: bool,
    /// Position of the largest acknowledged packet so far; `None` if it belongs to an older space
    /// or none is acknowledged.
    pub(crate) largest: Option<u64>,
    /// Whether the packet listed last is of an older space and, if the stack provides numbers, is
    /// the largest acknowledged there.
    pub(crate) older: bool,
}

/// Losses or marks that a stack reports in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    pub(crate) lost: u64,
    pub(crate) ce: bool,
    pub(crate) persistent: bool,
    /// Position of the latest lost packet.
    pub(crate) largest_lost: Option<u64>,
}

/// One path's controller with the state that drives it.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    plan: Plan,
    mss: u64,
    core: AnyController,
    /// The state before the open ACK.
    before: AnyController,
    ack: Ack,
    persistent: bool,
    stage: Stage,
    /// Sending time and position of the latest packet of the ACK that is being collected.
    newest: Option<(Time, Option<u64>)>,
    inflight: u64,
    /// First free position in the order of sending.
    next: u64,
    largest: Option<u64>,
    app_limited: bool,
    /// Our own estimator, for the probe timeout; the smoothed RTT is the stack's (D1).
    rtt: Rfc9002Rtt,
    srtt: Option<Nanos>,
    handshake_rtt: Option<Nanos>,
    idle_since: Option<Time>,
    last_sent: Time,
    recovery_began: Time,
    recovery_began_before: Time,
    counts: Counts,
    /// Bytes sent when the current packet number space started.
    space_began: u64,
    window: u64,
    rate: Option<u64>,
    recorder: Option<SharedRecorder>,
    /// Whether the largest packet changed its size after the open ACK was processed.
    resized: bool,
}

/// The last ACK is complete when nothing can follow any more. An owner that keeps the recorder
/// separately closes the log itself.
impl Drop for Driver {
    fn drop(&mut self) {
        if self.recorder.as_ref().is_some_and(|recorder| Arc::strong_count(recorder) == 1) {
            self.record_open();
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    acks: u64,
    timers: u64,
    replays: u64,
    sent: u64,
    acked: u64,
    lost: u64,
}

impl Driver {
    pub(crate) fn new(
        plan: Plan,
        datagram: u16,
        now: Time,
        recorder: Option<SharedRecorder>,
    ) -> Driver {
        let mss = u64::from(datagram.max(1));
        let core = plan.arm.with_oracle(plan.oracle_exit).controller(plan.config(mss), now, Seq(0));
        let mut driver = Driver {
            plan,
            mss,
            core,
            before: core,
            ack: Ack::blank(Time(0)),
            persistent: false,
            stage: Stage::Quiet,
            newest: None,
            inflight: 0,
            next: 0,
            largest: None,
            app_limited: true,
            rtt: Rfc9002Rtt::new(INITIAL_RTT),
            srtt: None,
            handshake_rtt: None,
            idle_since: None,
            last_sent: now,
            recovery_began: Time(0),
            recovery_began_before: Time(0),
            counts: Counts::default(),
            space_began: 0,
            window: 0,
            rate: None,
            recorder,
            resized: false,
        };
        driver.refresh();
        driver.record_begin(now);
        driver
    }

    /// A packet number space starts (D4).
    pub(crate) fn new_space(&mut self, now: Time) {
        self.settle();
        self.largest = None;
        self.space_began = self.counts.sent;
        self.restart(now);
    }

    /// Replaces the arm as if the new one had been there from the start, unless the connection has
    /// already learned something that the new arm would have to know.
    #[cfg(any(feature = "noq", feature = "quinn"))]
    pub(crate) fn rearm(&mut self, now: Time, plan: Plan) {
        self.settle();
        if self.pristine() {
            self.plan = plan;
            self.begin_afresh(now);
        }
    }

    fn pristine(&self) -> bool {
        self.is_untouched(self.counts.sent.saturating_sub(self.space_began))
    }

    /// Whether nothing was lost, startup has not ended, and at most half of the initial window was
    /// sent.
    fn is_untouched(&self, sent: u64) -> bool {
        let stats = self.core.stats();
        let hurt = stats.loss_episodes + stats.ecn_episodes + stats.timeouts > 0;
        let config = self.plan.arm.configure(self.plan.config(self.mss));
        !hurt && self.core.exit().is_none() && sent <= config.initial_window / 2
    }

    /// D4.
    fn restart(&mut self, now: Time) {
        if self.is_untouched(self.counts.sent) {
            self.begin_afresh(now);
        }
    }

    fn begin_afresh(&mut self, now: Time) {
        let config = self.plan.arm.configure(self.plan.config(self.mss));
        self.core = self.plan.arm.with_oracle(self.plan.oracle_exit).controller(
            config,
            now,
            Seq(self.next),
        );
        self.handshake_rtt = self.rtt.latest();
        if let Some(rtt) = self.handshake_rtt {
            self.core.on_handshake_rtt(now, rtt);
        }
        self.before = self.core;
        self.refresh();
        self.record_begin(now);
        if let Some(rtt) = self.handshake_rtt {
            self.record(&Event::HandshakeRtt { now, rtt });
        }
    }

    /// First free position in the order of sending.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    #[cfg(any(feature = "noq", feature = "quinn"))]
    /// When the last recovery started; packets sent earlier are not fresh.
    pub(crate) fn recovery_began(&self) -> Time {
        self.recovery_began
    }

    /// Whether the packet at this position was sent after the start of the last recovery.
    pub(crate) fn is_fresh(&self, position: u64) -> bool {
        self.core.recovery_mark().is_none_or(|mark| position >= mark.0)
    }

    /// A packet or batch of `bytes` left; `position` is that of its last packet.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, position: u64) {
        self.settle();
        let idle = self.idle_since.take().map_or(Nanos::ZERO, |since| now.since(since));
        let first = if self.inflight == 0 {
            self.next
        } else {
            self.largest.map_or(0, |largest| largest.saturating_add(1))
        };
        let before = self.inflight;
        self.inflight = self.inflight.saturating_add(bytes);
        self.last_sent = now;
        self.counts.sent = self.counts.sent.saturating_add(bytes);
        // D2, D7.
        let (inflight, backlog) = if self.core.heeds_departures() {
            (before, u64::MAX)
        } else {
            (self.inflight, self.inflight)
        };
        let ready = Ready {
            now,
            nxt: Seq(first),
            inflight,
            backlog,
            srtt: self.srtt,
            idle,
            timeout: self.rtt.pto(MAX_ACK_DELAY),
        };
        self.core.before_send(&ready);
        self.record(&Event::Ready(ready));
        self.next = self.next.max(position.saturating_add(1));
        let sent =
            Sent { now, bytes, nxt: Seq(self.next), inflight: self.inflight, srtt: self.srtt };
        self.core.on_sent(&sent);
        self.refresh();
        self.record(&Event::Sent(sent));
    }

    /// One newly acknowledged packet. `srtt` is the stack's estimate before this ACK.
    pub(crate) fn acked(&mut self, now: Time, packet: AckedPacket, app_limited: bool, srtt: Nanos) {
        if self.stage != Stage::Collecting {
            self.begin(now, app_limited);
        }
        self.ack.acked = self.ack.acked.saturating_add(packet.bytes);
        if packet.fresh {
            self.ack.acked_fresh = self.ack.acked_fresh.saturating_add(packet.bytes);
        }
        self.ack.tx_acked = self.ack.tx_acked.max(packet.position);
        self.newest = Some((packet.sent, packet.position));
        if let (Some(recorder), Some(position)) = (&self.recorder, packet.position) {
            locked(recorder).on_acked(position);
        }
        if self.srtt.is_some() {
            self.srtt = Some(srtt);
        }
    }

    /// The stack has listed every newly acknowledged packet.
    pub(crate) fn end_acks(&mut self, now: Time, end: EndOfAcks) {
        if self.stage != Stage::Collecting {
            // Only packets that carried nothing but ACKs were acknowledged.
            self.begin(now, end.app_limited);
        }
        let rose = end.largest.is_some() && end.largest > self.largest;
        if rose {
            self.largest = end.largest;
            // D6.
            self.next = self.next.max(end.largest.map_or(0, |largest| largest.saturating_add(1)));
        }
        let newest = self.newest.take();
        let first_sample = self.rtt.srtt().is_none();
        // RFC9002 5.1-2: a sample only if the largest acknowledged is newly acknowledged. If the
        // stack provides no numbers, the packet listed last replaces it, which may be older than a
        // largest one that carried only an ACK. A server that has sent data before its handshake
        // was acknowledged receives the ACK of the handshake when a newer space has started. The
        // first sample may therefore be from an older space (D4); otherwise nothing that needs an
        // RTT before the first flight would have one.
        let sample = newest.filter(|(_, position)| {
            let of_present = rose && (position.is_none() || *position == end.largest);
            of_present || first_sample && end.older
        });
        if let Some((sent, _)) = sample {
            self.sample(now.since(sent));
            self.ack.rtt = self.rtt.latest();
        }
        self.inflight = end.inflight;
        self.counts.acked = self.counts.acked.saturating_add(self.ack.acked);
        // D6.
        self.counts.sent = self.counts.sent.max(self.counts.acked);
        self.ack.una = self.una();
        self.ack.inflight_before = end.inflight.saturating_add(self.ack.acked);
        self.ack.flight = end.inflight;
        self.ack.inflight = end.inflight;
        self.complete_record();
        if end.inflight == 0 {
            self.idle_since = Some(now);
        }
        self.counts.acks = self.counts.acks.saturating_add(1);
        self.open();
        if first_sample && self.ack.rtt.is_some() {
            self.settle();
            self.restart(now);
        }
    }

    /// The stack no longer counts `bytes` as in flight: they are neither acknowledged nor lost.
    #[cfg(any(feature = "s2n", feature = "sender"))]
    pub(crate) fn forget(&mut self, now: Time, bytes: u64) {
        self.inflight = self.inflight.saturating_sub(bytes);
        if self.inflight == 0 {
            self.idle_since = Some(now);
        }
        self.refresh();
    }

    /// Losses or marks of the open ACK, or of a timer.
    pub(crate) fn damage(&mut self, now: Time, damage: Damage) {
        if self.stage == Stage::Open && self.ack.now == now {
            self.core = self.before;
            // The final answer is the one with the new size.
            self.record_size();
            self.recovery_began = self.recovery_began_before;
            self.counts.replays = self.counts.replays.saturating_add(1);
        } else {
            self.begin(now, self.app_limited);
            self.ack.una = self.una();
            (self.ack.inflight_before, self.ack.flight, self.ack.inflight) =
                (self.inflight, self.inflight, self.inflight);
            self.complete_record();
            self.counts.timers = self.counts.timers.saturating_add(1);
        }
        self.ack.lost = self.ack.lost.saturating_add(damage.lost);
        self.ack.ce |= damage.ce;
        self.ack.inflight = self.ack.inflight.saturating_sub(damage.lost);
        self.ack.tx_lost = self.ack.tx_lost.max(damage.largest_lost);
        self.persistent |= damage.persistent;
        self.inflight = self.inflight.saturating_sub(damage.lost);
        self.counts.lost = self.counts.lost.saturating_add(damage.lost);
        if self.inflight == 0 {
            self.idle_since = Some(now);
        }
        self.open();
    }

    /// The stack declares one packet lost; [`Driver::damage`] reports the effect on the window.
    pub(crate) fn lost(&self, position: u64) {
        if let Some(recorder) = &self.recorder {
            locked(recorder).on_lost(position);
        }
    }

    /// The last losses were spurious.
    pub(crate) fn spurious(&mut self, now: Time) {
        self.settle();
        self.core.on_spurious();
        self.refresh();
        self.record(&Event::Spurious { now });
    }

    /// The maximum packet size changes. This may happen in the middle of an ACK and does not end
    /// it.
    pub(crate) fn resize(&mut self, datagram: u16) {
        self.mss = u64::from(datagram.max(1));
        self.core.set_mss(self.mss);
        self.before.set_mss(self.mss);
        self.refresh();
        self.resized = true;
        if self.stage != Stage::Open {
            self.record_size();
        }
    }

    /// The window that makes a stack admit exactly the packets that the controller admits: maximum
    /// bytes in flight.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// The pacing rate, bytes per second; `None` if the sender is not paced or has no RTT yet.
    #[inline]
    pub(crate) fn rate(&self) -> Option<u64> {
        self.rate
    }

    pub(crate) fn core(&self) -> &AnyController {
        &self.core
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    pub(crate) fn status(&self) -> Status {
        Status {
            arm: self.plan.arm,
            phase: self.core.phase(),
            cwnd: self.core.cwnd(),
            ssthresh: self.core.ssthresh(),
            exit: self.core.exit(),
            stats: *self.core.stats(),
            handshake_rtt: self.handshake_rtt,
            acks: self.counts.acks,
            timers: self.counts.timers,
            replays: self.counts.replays,
            bytes_sent: self.counts.sent,
            bytes_acked: self.counts.acked,
            bytes_lost: self.counts.lost,
            pristine: self.pristine(),
        }
    }

    /// The open ACK is complete.
    pub(crate) fn settle(&mut self) {
        if self.stage == Stage::Open {
            self.record_open();
            self.record_size();
        }
        self.stage = Stage::Quiet;
    }

    /// Records the open ACK in its current state: the last ACK of a log is never settled.
    pub(crate) fn record_open(&self) {
        if self.stage == Stage::Open {
            self.record(&Event::Ack(self.ack, *self.core.so_far()));
            if self.persistent {
                self.record(&Event::Congestion(self.persistent_congestion()));
            }
        }
    }

    fn begin(&mut self, now: Time, app_limited: bool) {
        self.settle();
        self.app_limited = app_limited;
        self.ack = Ack { app_limited, cwnd_limited: !app_limited, ..Ack::blank(now) };
        self.before = self.core;
        self.recovery_began_before = self.recovery_began;
        self.persistent = false;
        self.newest = None;
        self.stage = Stage::Collecting;
    }

    /// A new packet number space takes nothing back of what the one before acknowledged.
    fn una(&self) -> Seq {
        let of_space = self.largest.map_or(0, |largest| largest.saturating_add(1));
        self.core.so_far().una.max(Seq(of_space))
    }

    fn sample(&mut self, rtt: Nanos) {
        // D1.
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| Nanos(srtt.0 - srtt.0 / 8 + rtt.0 / 8)));
        self.rtt.on_sample(rtt, Nanos::ZERO, None);
    }

    fn complete_record(&mut self) {
        self.ack.nxt = Seq(self.next);
        self.ack.tx_next = self.next;
        self.ack.srtt = self.srtt;
        self.ack.sent = self.counts.sent;
    }

    /// Computes the answer to the record in its current state.
    fn open(&mut self) {
        self.core.on_ack(&self.ack);
        if self.core.recovery_mark() != self.before.recovery_mark() {
            self.recovery_began = self.ack.now;
        }
        if self.persistent {
            self.core.on_congestion(&self.persistent_congestion());
        }
        self.stage = Stage::Open;
        self.refresh();
    }

    fn refresh(&mut self) {
        let cwnd = self.core.cwnd();
        // A recovery policy admits packets by its own account (PRR: delivered data), which is not a
        // window. The stack compares bytes in flight with the window before each packet. It
        // therefore gets the bytes in flight plus one packet, or plus none.
        self.window = if !self.core.in_recovery() {
            cwnd
        } else if self.core.admits(self.mss, self.inflight) {
            cwnd.max(self.inflight.saturating_add(self.mss))
        } else {
            cwnd.min(self.inflight)
        }
        .max(1);
        let spacing = self.core.spacing();
        let rate = spacing.rate.map(|rate| rate.0);
        self.rate = spacing.train.map_or(rate, |train| {
            let cap = rate.unwrap_or(AT_ONCE);
            if self.inflight.saturating_add(self.mss) < train.inflight {
                return Some(cap);
            }
            // D7: what leaves after a pause for an ACK has had its time since the last packet.
            let next = if train.inflight == 0 { train.next.max(self.ack.now) } else { train.next };
            let gap = next.since(self.last_sent);
            let due = Rate::from_bytes_over(self.mss, gap);
            Some(due.map_or(cap, |rate| rate.0.clamp(1, cap)))
        });
    }

    /// The smoothed RTT, if there was a sample.
    #[cfg(feature = "sender")]
    pub(crate) fn srtt(&self) -> Option<Nanos> {
        self.srtt
    }

    /// When the next packet of a train may leave; `None` if packets do not leave as trains.
    #[cfg(feature = "s2n")]
    pub(crate) fn next_of_train(&self, now: Time) -> Option<Time> {
        self.core.spacing().train.map(|train| now + train.wait(now, self.inflight))
    }

    /// The rate of a token bucket, bytes per second; `None` if packets need no tokens.
    #[cfg(feature = "s2n")]
    pub(crate) fn bucket_rate(&self) -> Option<u64> {
        self.core.spacing().rate.map(|rate| rate.0)
    }

    fn persistent_congestion(&self) -> Congestion {
        Congestion {
            now: self.ack.now,
            timeout: Timeout::PersistentCongestion,
            nxt: self.ack.nxt,
            inflight_before: self.ack.inflight,
        }
    }

    #[inline]
    fn record(&self, event: &Event) {
        if let Some(recorder) = &self.recorder {
            locked(recorder).on_event(event, &self.core);
        }
    }

    fn record_begin(&self, now: Time) {
        if let Some(recorder) = &self.recorder {
            let config = self.plan.arm.configure(self.plan.config(self.mss));
            let Plan { arm, oracle_exit, .. } = self.plan;
            locked(recorder).on_begin(&Begin {
                now,
                arm,
                config,
                nxt: Seq(self.next),
                oracle_exit,
            });
        }
    }

    /// Records the new size of the largest packet at its place in the order of the controller's
    /// events.
    fn record_size(&mut self) {
        if std::mem::take(&mut self.resized) {
            self.record(&Event::Mss { now: self.ack.now, mss: self.mss });
        }
    }
}

/// Locks shared data even after a panic: a recorder that panicked on another connection still
/// records this one.
pub(crate) fn locked<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
