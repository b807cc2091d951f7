//! Events that a transport reports to the controller, and the context that its algorithms read.
//!
//! The record of one acknowledgement and the order of work within it are the contract of the whole
//! crate; every transport (the simulator, a QUIC stack, a kernel) keeps it (OURS ack-order):
//!
//! 1. the transport does its own bookkeeping (RTT estimator, bytes in flight, loss detection) and
//!    fills an [`Ack`];
//! 2. a valid RTT sample goes to the startup
//!    ([`on_rtt`](crate::startup::Startup::on_rtt)) in every phase;
//! 3. the startup's sample hook runs, only below the threshold and outside recovery;
//! 4. loss and ECN marks are answered, at most one reduction per recovery period;
//! 5. the growth hook runs, only outside recovery and only if something was acknowledged.
//!
//! Steps 2 to 5 are [`Controller::on_ack`](crate::controller::Controller::on_ack).

use crate::hint::Advice;
use crate::named::named;
use crate::units::{MAX_BYTES, Nanos, Rate, Seq, Time};

named! {
    /// Which rules of a transport the controller follows where TCP and QUIC differ: when a recovery period is over, what may grow on
    /// the ACK that ends it, and the smallest window after an ECN mark.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Transport {
        /// RFC 9002: packet numbers; recovery ends with the first ACK of a packet sent after it began.
        #[default]
        Quic = "quic",
        /// RFC 5681 and 6675: sequence numbers; recovery ends when everything sent before it began is acknowledged.
        Tcp = "tcp",
    }
}

/// The transport is about to send. Passed to the controller once per burst, before its first
/// packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ready {
    /// The moment.
    pub now: Time,
    /// The next packet number (QUIC) or the next new sequence number (TCP).
    pub nxt: Seq,
    /// Bytes in flight.
    pub inflight: u64,
    /// Bytes that the application and the peer's limits would let go at once.
    pub backlog: u64,
    /// Smoothed RTT, if there is one yet.
    pub srtt: Option<Nanos>,
    /// Time since the last packet in flight was acknowledged; zero while something is in flight.
    pub idle: Nanos,
    /// The retransmission timeout (TCP) or probe timeout (QUIC) in force, for idle rules.
    pub timeout: Nanos,
}

/// A packet or burst that left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// The moment.
    pub now: Time,
    /// Bytes sent, new and repeated, as the window counts them.
    pub bytes: u64,
    /// `nxt` after this send: the next packet number, or the end of the highest sequence sent.
    pub nxt: Seq,
    /// Bytes in flight including these.
    pub inflight: u64,
    /// Smoothed RTT, if there is one yet.
    pub srtt: Option<Nanos>,
}

/// The report of one ACK, or of a loss timer (then `acked` is 0 and `rtt` is `None`). It has no
/// default, so code that forgets a fact does not compile; facts that only some transports know are in
/// [`detail`](Ack::detail). The controller derives the rest ([`SoFar`]) and counts impossible reports
/// ([`Misfed`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Arrival time at the host, never the time the stack got round to it (OURS ack-arrival).
    pub now: Time,
    /// Bytes newly delivered: cumulative plus SACK, each byte once (TCP); newly acknowledged
    /// packets that were in flight (QUIC).
    pub acked: u64,
    /// Of `acked`, the bytes sent at or after
    /// [`recovery_mark`](crate::controller::Controller::recovery_mark)
    /// (RFC 9002 7.3.2: packets sent before recovery grow no window). Read in QUIC only; a
    /// transport that cannot tell reports `acked`.
    pub acked_fresh: u64,
    /// Bytes newly declared lost while processing this ACK, or by the timer.
    pub lost: u64,
    /// This ACK newly reports congestion marks (ECN-CE).
    pub ce: bool,
    /// At most one raw RTT sample: of the largest newly acknowledged packet (QUIC), of data sent
    /// once or time-stamped (TCP).
    pub rtt: Option<Nanos>,
    /// Smoothed RTT including this sample, if there ever was one.
    pub srtt: Option<Nanos>,
    /// Largest acknowledged packet number + 1 (QUIC), SND.UNA after the ACK (TCP).
    pub una: Seq,
    /// Next packet number to be used (QUIC), SND.NXT (TCP).
    pub nxt: Seq,
    /// TCP: `nxt - una` after the ACK. QUIC: bytes in flight after removing `acked`, before
    /// removing `lost`.
    pub flight: u64,
    /// TCP: bytes SACKed above `una` after the ACK. QUIC: 0.
    pub sacked: u64,
    /// Bytes outstanding just before this ACK was processed.
    pub inflight_before: u64,
    /// Bytes outstanding after removing `acked` and `lost`: the pipe of RFC 6675 and 6937.
    pub inflight: u64,
    /// Cumulative bytes put on the wire, including retransmissions.
    pub sent: u64,
    /// The latest transmission among what this ACK newly delivered, as an ordinal over all
    /// transmissions of the connection (QUIC: its packet number); `None` if nothing was
    /// delivered.
    pub tx_acked: Option<u64>,
    /// The latest transmission among what was newly declared lost. TCP: where an original is
    /// declared lost whose repeat is already on its way, the original.
    pub tx_lost: Option<u64>,
    /// The ordinal the next transmission will get (QUIC: `nxt`).
    pub tx_next: u64,
    /// The window, not the application or the peer, was the limit since the last ACK; waiting for
    /// the pacer counts as limited.
    pub cwnd_limited: bool,
    /// The application had nothing to send while the window was open.
    pub app_limited: bool,
    /// Facts that only some transports know; [`AckDetail::default`] if this one knows none of them.
    pub detail: AckDetail,
}

/// Optional facts of an [`Ack`]: a transport that knows more sets fields of the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckDetail {
    /// Of `acked`, the bytes in packets that arrived marked, where the transport knows how many did
    /// (QUIC's counts, Accurate ECN); `None` if it does not or if there were none.
    pub ce_bytes: Option<u64>,
    /// A repeat sent in the present recovery was itself declared lost; in recovery after a timeout
    /// only where that may open an episode
    /// ([`Rto::allows_episode`](crate::detection::rto::Rto::allows_episode)). QUIC repeats nothing.
    pub lost_again: bool,
    /// TCP: `una` moved past a segment that was sent more than once.
    pub repeat_acked: bool,
    /// TCP: the next send would be the rescue retransmission of RFC 6675 (rule 4), a sign of further
    /// loss.
    pub rescue_next: bool,
    /// TCP: something declared lost is neither acknowledged nor SACKed after this ACK, whether or
    /// not its repeat is on its way (Linux `lost_out`).
    pub unrepaired: bool,
    /// TCP: what this ACK SACKs grows the window as if `una` had moved (Linux `tcp_may_raise_cwnd`, where
    /// reordering of more than three segments was seen).
    pub sack_advances: bool,
    /// The receiver's clock when it sent this ACK, in ticks (TCP TSval).
    pub receiver_ts: Option<u32>,
}

impl Ack {
    /// The record of nothing, for parsers and for senders of ours that fill one step by step. A transport writes all facts at once, so
    /// that the compiler misses what it forgets.
    #[doc(hidden)]
    pub const fn blank(now: Time) -> Ack {
        Ack {
            now,
            acked: 0,
            acked_fresh: 0,
            lost: 0,
            ce: false,
            rtt: None,
            srtt: None,
            una: Seq(0),
            nxt: Seq(0),
            flight: 0,
            sacked: 0,
            inflight_before: 0,
            inflight: 0,
            sent: 0,
            tx_acked: None,
            tx_lost: None,
            tx_next: 0,
            cwnd_limited: false,
            app_limited: false,
            detail: AckDetail {
                ce_bytes: None,
                lost_again: false,
                repeat_acked: false,
                rescue_next: false,
                unrepaired: false,
                sack_advances: false,
                receiver_ts: None,
            },
        }
    }

    /// Nothing about an ACK that comes after `so_far` and after `last` needs a closer look: it breaks no rule of [`Ack::wrong`], no
    /// amount needs cutting, and its RTT is no new minimum, as one of zero always is.
    #[inline(always)]
    pub(crate) const fn is_plain(&self, so_far: &SoFar, last: Time) -> bool {
        // The bits of all amounts together are at least the largest of them.
        let bits = self.acked | self.lost | self.inflight_before | self.inflight;
        let least = match (self.rtt, so_far.min_rtt) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(rtt), Some(min)) => rtt.0 < min.0,
        };
        bits < MAX_BYTES
            && self.acked_fresh <= self.acked
            && self.now.0 >= last.0
            && self.una.0 >= so_far.una.0
            && self.nxt.0 >= self.una.0
            // Cannot wrap: both are bounded.
            && so_far.delivered.wrapping_add(self.acked) <= self.sent
            && !least
    }

    /// The first rule that this report breaks, if any.
    pub(crate) fn wrong(
        &self,
        so_far: &SoFar,
        last: Time,
        transport: Transport,
    ) -> Option<Impossible> {
        let delivered = so_far.delivered.saturating_add(self.acked);
        let amounts = [self.acked, self.lost, self.inflight_before, self.inflight];
        let rules = [
            (self.now < last, Impossible::TimeBack),
            (self.una < so_far.una, Impossible::UnaBack),
            (self.nxt < self.una, Impossible::UnaBeyondNxt),
            (transport == Transport::Quic && delivered > self.sent, Impossible::MoreDelivered),
            (self.acked_fresh > self.acked, Impossible::MoreFresh),
            (amounts.iter().any(|amount| *amount > MAX_BYTES), Impossible::TooLarge),
        ];
        rules.into_iter().find_map(|(broken, rule)| broken.then_some(rule))
    }

    /// Cuts every amount to [`MAX_BYTES`], so that no product of two of them can overflow, and counts an RTT
    /// of zero as the smallest RTT so far, or else as one tick of the clock, so that no rate is of an empty span.
    #[must_use]
    pub fn clamped(mut self, min_rtt: Option<Nanos>) -> Ack {
        for rtt in [&mut self.rtt, &mut self.srtt] {
            *rtt = rtt.map(|rtt| rtt.in_ticks(min_rtt));
        }
        for amount in [
            &mut self.acked,
            &mut self.lost,
            &mut self.flight,
            &mut self.sacked,
            &mut self.inflight_before,
            &mut self.inflight,
        ] {
            *amount = (*amount).min(MAX_BYTES);
        }
        self.acked_fresh = self.acked_fresh.min(self.acked);
        self.detail.ce_bytes = self.detail.ce_bytes.map(|bytes| bytes.min(self.acked));
        self
    }
}

/// Totals over the ACKs of a connection. The controller keeps them ([`Context::so_far`]); so does a
/// reader of logs that writes events of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Bytes delivered.
    pub delivered: u64,
    /// Smallest RTT sample, the handshake's included, if there ever was one.
    pub min_rtt: Option<Nanos>,
    /// The highest `una`.
    pub una: Seq,
    /// `una` moved with the last ACK.
    pub advanced: bool,
}

impl SoFar {
    /// Nothing yet of a connection whose first packet or sequence number is `nxt`.
    pub const fn new(transport: Transport, nxt: Seq) -> SoFar {
        let una = match transport {
            Transport::Quic => Seq(0),
            Transport::Tcp => nxt,
        };
        SoFar { delivered: 0, min_rtt: None, una, advanced: false }
    }

    /// An RTT sample.
    #[inline]
    pub fn on_rtt(&mut self, rtt: Nanos) {
        if self.min_rtt.is_none_or(|least| rtt < least) {
            self.min_rtt = Some(rtt);
        }
    }

    /// Handles one ACK or one expiry of the loss timer.
    pub fn on_ack(&mut self, ack: &Ack) {
        // One more amount still fits beside this.
        let delivered = self.delivered.saturating_add(ack.acked).min(u64::MAX >> 1);
        let una = self.una.max(ack.una);
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt);
        }
        self.on_plain(ack);
        (self.delivered, self.una) = (delivered, una);
    }

    /// One that [is plain](Ack::is_plain).
    #[inline(always)]
    pub(crate) fn on_plain(&mut self, ack: &Ack) {
        self.delivered = self.delivered.wrapping_add(ack.acked);
        self.advanced = ack.una > self.una || ack.detail.sack_advances;
        self.una = ack.una;
    }

    /// Whether `ack`, the latest one, reports a loss timer and not an ACK.
    #[inline]
    pub const fn is_timer(&self, ack: &Ack) -> bool {
        ack.acked == 0 && !self.advanced && ack.tx_acked.is_none()
    }
}

named! {
    /// An impossible report of a transport.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Impossible {
        /// An ACK is older than the previous one.
        TimeBack = "time_back",
        /// `una` is below that of an earlier ACK.
        UnaBack = "una_back",
        /// `una` is beyond `nxt`: what was never sent is acknowledged.
        UnaBeyondNxt = "una_beyond_nxt",
        /// QUIC: more was delivered than was ever sent. TCP may count bytes twice: receivers may drop
        /// SACKed data (RFC 2018, section 8), and Linux counts DSACKs as delivered.
        MoreDelivered = "more_delivered",
        /// `acked_fresh` is more than `acked`.
        MoreFresh = "more_fresh",
        /// An amount is beyond what any connection has in flight.
        TooLarge = "too_large",
    }
}

/// Impossible reports of a transport: its mistake, not the network's
/// ([`Controller::misfed`](crate::controller::Controller::misfed)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfed {
    /// The rule that the first one broke.
    pub rule: Impossible,
    /// The time that the first one gave.
    pub at: Time,
    /// Number of impossible reports.
    pub count: u32,
}

/// A congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Packets were declared lost.
    Loss,
    /// Congestion marks were reported (RFC 3168, RFC 8311).
    Ecn,
}

named! {
    /// Timeouts: they end every phase and every recovery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Timeout {
        /// The retransmission timer of TCP expired for the first time in a series (RFC 6298).
        Rto = "rto",
        /// It expired again: the window goes to one segment once more, the threshold stays (RFC 5681 section 3.1).
        RtoAgain = "rto_again",
        /// QUIC found persistent congestion (RFC 9002 section 7.6).
        PersistentCongestion = "persistent_congestion",
    }
}

/// Congestion that does not come with an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The moment.
    pub now: Time,
    /// Kind of timeout.
    pub timeout: Timeout,
    /// Next packet number or SND.NXT: what was sent last.
    pub nxt: Seq,
    /// Bytes outstanding just before.
    pub inflight_before: u64,
}

/// An input of a controller, as a log keeps it and a replay repeats it. A new controller that receives
/// the same events in the same order reaches the same state. Its fields by name:
/// [`EVENT`](crate::fields::EVENT).
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// [`on_handshake_rtt`](crate::controller::Controller::on_handshake_rtt).
    HandshakeRtt {
        /// The moment.
        now: Time,
        /// The sample.
        rtt: Nanos,
    },
    /// [`before_send`](crate::controller::Controller::before_send).
    Ready(Ready),
    /// [`on_sent`](crate::controller::Controller::on_sent).
    Sent(Sent),
    /// [`on_ack`](crate::controller::Controller::on_ack): an ACK or a loss timer.
    /// The second part holds the totals that the controller derived from all ACKs so far; it is an output
    /// and may be left at its default.
    Ack(Ack, SoFar),
    /// [`on_congestion`](crate::controller::Controller::on_congestion).
    Congestion(Congestion),
    /// [`on_spurious`](crate::controller::Controller::on_spurious).
    Spurious {
        /// The time; the controller itself does not use it.
        now: Time,
    },
    /// [`set_mss`](crate::controller::Controller::set_mss).
    Mss {
        /// The time; the controller itself does not use it.
        now: Time,
        /// The largest packet, bytes.
        mss: u64,
    },
}

impl Event {
    /// When.
    pub const fn now(&self) -> Time {
        match self {
            Event::HandshakeRtt { now, .. } | Event::Spurious { now } | Event::Mss { now, .. } => {
                *now
            }
            Event::Ready(ready) => ready.now,
            Event::Sent(sent) => sent.now,
            Event::Ack(ack, _) => ack.now,
            Event::Congestion(congestion) => congestion.now,
        }
    }

    /// Bytes in flight right after the event; `None` if the event does not report them.
    pub const fn inflight(&self) -> Option<u64> {
        match self {
            Event::Ready(ready) => Some(ready.inflight),
            Event::Sent(sent) => Some(sent.inflight),
            Event::Ack(ack, _) => Some(ack.inflight),
            _ => None,
        }
    }

    /// The name in logs; that of an ACK which only reports what a loss timer found is `timer`.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::HandshakeRtt { .. } => "handshake_rtt",
            Event::Ready(_) => "ready",
            Event::Sent(_) => "sent",
            Event::Ack(ack, so_far) if so_far.is_timer(ack) && ack.lost > 0 => "timer",
            Event::Ack(..) => "ack",
            Event::Congestion(_) => "timeout",
            Event::Spurious { .. } => "spurious",
            Event::Mss { .. } => "mss",
        }
    }

    /// The event of this name at this moment, with nothing else in it; `None` if none has it.
    pub fn blank(name: &str, now: Time) -> Option<Event> {
        Some(match name {
            "handshake_rtt" => Event::HandshakeRtt { now, rtt: Nanos::ZERO },
            "ready" => Event::Ready(Ready { now, ..Ready::default() }),
            "sent" => Event::Sent(Sent { now, ..Sent::default() }),
            "ack" | "timer" => Event::Ack(Ack::blank(now), SoFar::default()),
            "timeout" => Event::Congestion(Congestion {
                now,
                timeout: Timeout::Rto,
                nxt: Seq(0),
                inflight_before: 0,
            }),
            "spurious" => Event::Spurious { now },
            "mss" => Event::Mss { now, mss: 0 },
            _ => return None,
        })
    }
}

/// The congestion window and the slow-start threshold, in bytes: all that startup, avoidance and
/// recovery share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; [`UNSET_SSTHRESH`](crate::units::UNSET_SSTHRESH) until something set
    /// it. `cwnd < ssthresh` means slow start.
    pub ssthresh: u64,
}

impl Window {
    /// Slow start: the window is below the threshold.
    #[inline]
    pub fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens the window by `bytes` but not past the threshold; returns the rest of
    /// `bytes`.
    #[inline]
    pub fn open(&mut self, bytes: u64) -> u64 {
        let room = self.ssthresh.min(MAX_BYTES).saturating_sub(self.cwnd);
        let used = bytes.min(room);
        self.cwnd += used;
        debug_assert!(used == 0 || self.cwnd <= self.ssthresh, "opened past the threshold");
        bytes - used
    }
}

/// Which hooks of a startup use the age of avoidance's epoch ([`Heeds::epoch`](crate::startup::Heeds::epoch)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochUse {
    /// None.
    Nowhere,
    /// Only [`sample`](crate::startup::Startup::sample) (published BEST and SEARCH 3.1).
    Sampling,
    /// Any hook; the age is provided with every RTT sample (HyStart, for its minimum).
    Everywhere,
}

/// Facts about the connection that every algorithm may read and none may change.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Largest payload of a packet as the window counts it, in bytes; never zero.
    pub mss: u64,
    /// Initial window in bytes.
    pub iw: u64,
    /// Segments that slow start counts of one ACK at most, if it is limited.
    pub count: Option<u32>,
    /// Transport whose rules apply where TCP and QUIC differ.
    pub transport: Transport,
    /// A pacer is really releasing packets (not merely configured).
    pub paced: bool,
    /// Smoothed RTT as of the last event; zero while there was no sample.
    pub srtt: Nanos,
    /// The rate the pacer uses now, if it does; up to date in the hooks of slow start.
    pub pacing_rate: Option<Rate>,
    /// The largest burst that leaves in one send call, in bytes (GSO).
    pub max_burst: u64,
    /// Growth is allowed: the window was the limit. In slow start the relaxed test: or half of it was
    /// in flight ([`Increase`](crate::controller::Increase)).
    pub limited: bool,
    /// A congestion avoidance epoch is running and young ([`Context::is_young`]; HyStart,
    /// published BEST and SEARCH 3.1 as Linux has them take no samples then); up to date on
    /// ACKs with an RTT sample where the startup looks at it ([`Startup::heeds`]).
    ///
    /// [`Startup::heeds`]: crate::startup::Startup::heeds
    pub young_epoch: bool,
    /// Such an epoch is less than 10 ms old: ns-3 takes no samples then ([`Context::is_newborn`]).
    pub newborn_epoch: bool,
    /// The startup's use of epochs, kept here because each ACK reads it.
    pub(crate) epoch_use: EpochUse,
    /// Use of advice, and the seconds for which it holds, kept here because there is room.
    pub(crate) advice: Advice,
    pub(crate) advice_secs: u8,
    /// Totals over the ACKs, including the present one.
    pub so_far: SoFar,
}

impl Context {
    /// The acknowledged bytes that slow start may count from one ACK: all of them (LINUX count-all),
    /// or as many segments as the sender is limited to.
    #[inline]
    pub fn cap(&self, acked: u64) -> u64 {
        match self.count {
            None => acked,
            // RFC5681 3.1-count, RFC3465 2.2-L: min(N, L * SMSS).
            Some(most) => acked.min(self.mss.saturating_mul(u64::from(most))),
        }
    }

    /// BESTPUB gate-2: an epoch of this age is young if it began less than a second ago. `None`
    /// (no epoch) is never young.
    #[inline]
    pub fn is_young(epoch_age: Option<Nanos>) -> bool {
        epoch_age.is_some_and(|age| age < Nanos::from_secs(1))
    }

    /// NS3 hystart-discard: an epoch of this age is newborn: it began less than 10 ms ago
    /// (CubicDelta). Without an epoch nothing is.
    #[inline]
    pub fn is_newborn(epoch_age: Option<Nanos>) -> bool {
        epoch_age.is_some_and(|age| age < Nanos::from_millis(10))
    }

    /// The smallest congestion window: two segments (RFC5681 3.1-eq4, RFC9002 7.2-3).
    #[inline]
    pub fn minimum_window(&self) -> u64 {
        self.mss.saturating_mul(2)
    }
}

named! {
    /// Phase of the sender, as traces and pacing see it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Phase {
        /// Slow start or whatever the startup does in its place.
        #[default]
        Startup = "startup",
        /// Rapid Start's first window, spread over a whole RTT.
        Jump = "jump",
        /// Rapid Start's threefold growth.
        Rapid = "rapid",
        /// Conservative slow start (RFC 9406).
        Css = "css",
        /// Limited slow start beside congestion avoidance (HyStart++ draft-03).
        Lss = "lss",
        /// SEARCH 4.0 drains to its target.
        Drain = "drain",
        /// A recovery episode is open.
        Recovery = "recovery",
        /// Congestion avoidance.
        Avoidance = "avoidance",
    }
}
