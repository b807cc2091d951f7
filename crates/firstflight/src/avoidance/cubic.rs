//! CUBIC: after a cut the window climbs back to where it was along a cubic curve, rests there, then
//! probes ever faster.
//!
//! Each reduction or hand-over begins an epoch. During the epoch the window follows
//! [`cubic_curve`](super::cubic_curve) by elapsed time, looking one RTT ahead, and never falls
//! behind the window that Reno would have reached. Every remainder of a division is kept, so that
//! slow growth does not stop. Follows: RFC 9438 (August 2023); RFC 8511 as an option. State: 104
//! bytes, 80 of them mutable.
//!
//! Departures:
//! * D1 (RFC9438 4.4-1): growth is scaled by acknowledged bytes, not counted per ACK, so delayed
//!   and merged ACKs give the same growth.
//! * D2 (RFC9438 4.3-1): in the Reno-friendly region the window is the larger of itself and
//!   `w_est`, so that only congestion lowers it.
//! * D3 (RFC9438 4.6-fig5): the base of the cut is the largest flight of the last round trip, at
//!   most the window; the RFC uses the current flight. [`Profile::Linux`] deliberately cuts the
//!   window, as the kernel does, even if only half of it is used ([`Base`]).
//! * D4 (RFC9438 4.6-fig5): the window may fall to one segment after marks in TCP; QUIC keeps its
//!   minimum of two (RFC 9002 section 7.2).
//! * D6: if the packet size changes and windows keep their bytes, the epoch continues at the same
//!   point of the curve for the new size; the kernel's curve restarts.
//! * D7 (QUICHE idle-sent): quiche has one time for the start of recovery and of the epoch, so the
//!   shift also hides losses from it; here only growth stops, and each loss is answered as always.
//! * D5 (RFC9438 4.3-fig4): beyond `cwnd_prior` alpha is written as 17/17 instead of 1, which keeps
//!   the remainder in one unit.

use super::cubic_curve::{Curve, MAX_US, icbrt};
use super::cubic_linux::LinuxEpoch;
use super::{
    Avoidance, Base, Cut, FACTOR, FACTORS, Factors, MAX_MSS, OFF_OR_FACTOR, OFF_OR_FACTORS,
    Reduced, Sizes, div_carry, is_factor, is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Transport, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::params;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, mul_div};

named! {
    /// Arithmetic used to compute the curve.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Profile {
        /// RFC 9438 in bytes and microseconds.
        #[default]
        Rfc9438 = "rfc",
        /// The curve as Linux computes it, in whole segments and 1/1024 s: see `cubic_linux.rs`.
        Linux = "linux",
    }
}

named! {
    /// Time by which the first send after nothing was in flight moves the epoch.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Idle {
        /// The time with nothing in flight, as RFC 9438 section 5.8 demands.
        #[default]
        Flight = "flight",
        /// The time since the last send, as quiche counted it until 2026 (its pull request 2370). A window of two packets that one
        /// ACK acknowledges has nothing in flight once per round trip: the epoch then moves into the future, and packets sent
        /// before its start grow nothing.
        Sent = "sent",
    }
}

params! {
    /// The choices of CUBIC. C is fixed at 0.4 segment/s^3 (RFC9438 5.1-c).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Factor of a reduction, at most 1. RFC9438 4.6-beta: 7/10.
        pub beta: Ratio = Ratio::new(7, 10), "beta" [words FACTOR if is_factor; FACTORS] "decrease factor";
        /// OURS first-beta: the factor of the reduction that ends a slow start, whatever the signal, if it differs.
        pub first_beta: Option<Ratio> = None,
            "first" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor of the cut that ends slow start";
        /// Factor after marks if it differs: [`Params::ABE`] or nothing.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor after ECN marks (RFC 8511: 0.85)";
        /// The quantity that beta multiplies.
        pub base: Base = Base::Inflight, "base" [] "quantity that the factor multiplies";
        /// RFC 9438 section 4.7: a flow that is cut below its last plateau yields by aiming even
        /// lower. Turn it off for single-flow labs.
        pub fast_convergence: bool = true, "fast" [] "fast convergence";
        /// LINUX cubic-floor: until the first congestion event grow by at least a twentieth of the
        /// acknowledged bytes (5 % per RTT), as Linux does; otherwise a premature loss-free exit
        /// means a plateau of many seconds.
        pub ca_floor_20: bool = false, "floor20" [] "grow by at least 5 % per RTT until the first congestion";
        /// QUICHE idle-sent: the time that an idle period takes out of the epoch. The kernel's arithmetic has its own rule.
        pub idle: Idle = Idle::Flight, "idle" [] "what an idle period takes out of the epoch: time with nothing in flight, or time since the last send (quiche before 2026)";
        /// Arithmetic in use.
        pub profile: Profile = Profile::Rfc9438;
    }
    preset "profile": Profile [] "RFC 9438, or the kernel's arithmetic in segments", of |params| params.profile, make Params::of;
}

impl Params {
    /// RFC8511 3.1-2: the factor for CUBIC after marks.
    pub const ABE: Ratio = Ratio::new(17, 20);

    /// The behaviour of Linux, constants included.
    pub fn linux() -> Params {
        Params {
            beta: Ratio::new(717, 1024),
            base: Base::Cwnd,
            profile: Profile::Linux,
            ..Params::default()
        }
    }

    fn of(profile: Profile) -> Params {
        match profile {
            Profile::Rfc9438 => Params::DEFAULT,
            Profile::Linux => Params::linux(),
        }
    }
}

/// CUBIC's congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cubic {
    params: Params,
    state: State,
}

/// All mutable state, which a false alarm restores in one assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    /// The plateau in bytes, once a reduction or a hand-over has set one.
    w_max: u64,
    /// Whether there is a plateau, so `w_max` is valid.
    has_w_max: bool,
    /// The window before the last reduction in bytes: where Reno's slower growth ends (RFC 9438
    /// section 4.3).
    cwnd_prior: u64,
    epoch: Epoch,
    /// The segment size when an epoch of RFC 9438 began, in bytes.
    epoch_mss: u32,
    /// The remainder of `ca_floor_20` in such an epoch, below 20.
    floor_carry: u8,
    /// Whether there was a congestion event.
    congested: bool,
}

impl State {
    fn w_max(&self) -> Option<u64> {
        self.has_w_max.then_some(self.w_max)
    }

    fn set_w_max(&mut self, bytes: u64) {
        (self.w_max, self.has_w_max) = (bytes.min(MAX_BYTES), true);
    }
}

// A separate tag is checked directly; a tag packed into the niche of `Handover` takes an extra
// subtraction.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Epoch {
    /// No epoch is running; how the next one begins.
    Pending(Handover),
    /// The first field belongs to [`CurveEpoch::grow`]; it fits next to the tag.
    Curve(Behind, CurveEpoch),
    Linux(LinuxEpoch),
}

/// Time into an epoch until which the curve is certain to lie below Reno's window. Neither falls
/// within an epoch, so if a later point of the curve is below an earlier window, the same holds in
/// between. In units of 4.096 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Behind(u32);

impl Behind {
    const UNIT: u64 = 1 << 12;
    /// Time by which [`Behind::look_ahead`] looks ahead, in microseconds.
    const AHEAD: u64 = 8 * Behind::UNIT;

    /// Whether the curve is certain to lie below Reno's window.
    #[inline(always)]
    fn holds(self, t_us: u64) -> bool {
        t_us < u64::from(self.0) * Behind::UNIT
    }

    /// Computes how long the curve will stay below a window of `w_est` bytes; it was found below at
    /// `t_us`.
    #[inline(never)]
    fn look_ahead(&mut self, curve: &Curve, t_us: u64, w_est: u64) {
        let units = (t_us.min(MAX_US) + Behind::AHEAD) / Behind::UNIT;
        if curve.at(units * Behind::UNIT) < w_est {
            self.0 = units as u32;
        }
    }
}

impl Default for Epoch {
    fn default() -> Epoch {
        Epoch::Pending(Handover::LossFree)
    }
}

/// Inputs for one ACK's growth: time, window, bytes acknowledged, smoothed RTT and segment size,
/// all within bounds.
struct Step {
    now: Time,
    cwnd: u64,
    acked: u64,
    srtt: Nanos,
    mss: u64,
}

/// An epoch of RFC 9438; always `start <= last`, unless [`Idle::Sent`] moved the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CurveEpoch {
    /// `t = 0`; moves on while the window is not the limit.
    start: Time,
    /// The last ACK that congestion avoidance saw.
    last: Time,
    /// `K` of the curve. Its plateau is the state's `w_max`, which changes only where an epoch
    /// ends.
    k_us: u64,
    /// Reno's window in bytes, and the remainder of its growth.
    w_est: u64,
    est_carry: u64,
    /// The remainder of the curve's growth.
    carry: u64,
}

impl CurveEpoch {
    fn new(now: Time, cwnd: u64, w_max: u64, mss: u64) -> CurveEpoch {
        let k_us = Curve::new(w_max, cwnd, mss).k_us();
        CurveEpoch { start: now, last: now, k_us, w_est: cwnd, est_carry: 0, carry: 0 }
    }

    /// Excludes the last `span` up to `now` from the epoch, but no time before the last ACK, which
    /// has already counted.
    fn skip(&mut self, now: Time, span: Nanos) {
        let span = span.min(now.since(self.last));
        self.start += span;
        self.last += span;
    }

    /// QUICHE idle-sent: excludes the whole time since the last send, most of which may have counted already.
    fn skip_since_sent(&mut self, span: Nanos) {
        self.start += span;
    }

    /// QUICHE idle-sent: whether the latest packet that this ACK acknowledges was sent by the start of the epoch. An ACK without
    /// a sample acknowledges packets older than those before it: by the smoothed RTT.
    fn precedes(&self, ack: &Ack) -> bool {
        let rtt = ack.rtt.or(ack.srtt).unwrap_or_default();
        ack.now.0.saturating_sub(rtt.0) <= self.start.0
    }

    /// The packet size changed. If windows are `kept` in packets, the curve is scaled; if they keep
    /// their bytes, the curve has the same shape and its times scale by the cube root.
    fn resize(&mut self, sizes: Sizes, kept: bool) {
        if kept {
            self.w_est = sizes.scale(self.w_est);
        } else {
            let scale = |us: u64| {
                let cube = u128::from(us.min(MAX_US)).pow(3);
                icbrt(cube * u128::from(sizes.old) / u128::from(sizes.new)).min(MAX_US)
            };
            self.k_us = scale(self.k_us);
            let age = scale(self.last.since(self.start).micros());
            self.start = Time(self.last.0.saturating_sub(Nanos::from_micros(age).0));
        }
        (self.est_carry, self.carry) = (0, 0);
    }

    /// The window after one more ACK. Sums and products cannot overflow: [`Step`] bounds windows,
    /// amounts and segments, a ratio's factors have 16 bits, and microseconds are at most a
    /// thousandth of 2^64.
    #[inline(always)]
    fn grow(
        &mut self,
        behind: &mut Behind,
        step: &Step,
        beta: Ratio,
        prior: u64,
        (w_max, epoch_mss): (u64, u32),
    ) -> u64 {
        let Step { now, cwnd, acked, srtt, mss } = *step;
        let curve = Curve::resumed(w_max, self.k_us, u64::from(epoch_mss));
        self.last = self.last.max(now);
        let t_us = now.since(self.start).micros();

        // RFC9438 4.3-fig4: Reno with this beta needs alpha = 3(1-beta)/(1+beta), and from the old
        // window on the whole of 1 (D5).
        let den = beta.num() + beta.den();
        let num = if self.w_est >= prior { den } else { 3 * beta.den().saturating_sub(beta.num()) };
        let gain = div_carry(num * mss, acked, &mut self.est_carry, den * cwnd);
        self.w_est = self.w_est.saturating_add(gain).min(MAX_BYTES);

        // RFC9438 4.3-1: use Reno's window while it is above the curve.
        if behind.holds(t_us) {
            return cwnd.max(self.w_est);
        }
        if curve.at(t_us) < self.w_est {
            behind.look_ahead(&curve, t_us, self.w_est);
            return cwnd.max(self.w_est);
        }
        // RFC9438 4.2-target: the target lies one RTT ahead, not below the window and not above one
        // and a half of it.
        let target = curve.at(t_us + srtt.micros()).max(cwnd).min(cwnd + cwnd / 2);
        // RFC9438 4.4-1, 4.5-1: within one RTT, by the share that this ACK has of the window.
        cwnd + div_carry(target - cwnd, acked, &mut self.carry, cwnd)
    }
}

impl Cubic {
    /// CUBIC with these choices.
    pub fn new(params: Params) -> Cubic {
        Cubic { params, state: State::default() }
    }

    /// The plateau of the current or the next curve in bytes, once there is one.
    #[doc(hidden)]
    pub fn w_max(&self) -> Option<u64> {
        self.state.w_max()
    }

    /// The window before the last reduction, in bytes.
    #[doc(hidden)]
    pub fn cwnd_prior(&self) -> u64 {
        self.state.cwnd_prior
    }

    /// `K` of the current epoch in microseconds, if an epoch of RFC 9438 is running.
    #[doc(hidden)]
    pub fn k_us(&self) -> Option<u64> {
        self.curve_epoch().map(|epoch| epoch.k_us)
    }

    /// Reno's window in the current epoch in bytes, if an epoch of RFC 9438 is running.
    #[doc(hidden)]
    pub fn w_est(&self) -> Option<u64> {
        self.curve_epoch().map(|epoch| epoch.w_est)
    }

    fn curve_epoch(&self) -> Option<&CurveEpoch> {
        match &self.state.epoch {
            Epoch::Curve(_, epoch) => Some(epoch),
            Epoch::Pending(_) | Epoch::Linux(_) => None,
        }
    }

    /// The unit in which windows are cut: Linux uses whole segments.
    fn unit(&self, mss: u64) -> u64 {
        match self.params.profile {
            Profile::Rfc9438 => 1,
            Profile::Linux => mss,
        }
    }

    /// The first growth after a reduction or a hand-over.
    #[inline(never)]
    fn begin(&mut self, handover: Handover, now: Time, cwnd: u64, mss: u64) {
        let s = &mut self.state;
        match handover {
            // RFC9438 4.2-fig2: from the reduced window up to the remembered one.
            Handover::AfterLoss => {}
            Handover::RapidDone { beta } => {
                // RAPID 3.3.3-1: the path held cwnd / beta; fast convergence will take its share of
                // a plateau twice as high.
                s.cwnd_prior = mul_div(cwnd, beta.den(), beta.num()).min(MAX_BYTES);
                let factor = 1 + u64::from(self.params.fast_convergence);
                s.set_w_max(mul_div(cwnd, factor * beta.den(), beta.num()));
            }
            // RFC9438 4.10-1: without a loss there is no earlier window to return to: the plateau
            // is here and the curve starts convex.
            Handover::LossFree
            | Handover::AfterTimeout
            | Handover::LssEntry
            | Handover::Drained => {
                s.cwnd_prior = cwnd;
                if self.params.profile == Profile::Rfc9438 {
                    s.set_w_max(cwnd);
                }
            }
        }
        s.epoch_mss = mss.min(MAX_MSS) as u32;
        s.floor_carry = 0;
        s.epoch = match self.params.profile {
            Profile::Rfc9438 => {
                let epoch = CurveEpoch::new(now, cwnd, s.w_max().unwrap_or(cwnd), mss);
                Epoch::Curve(Behind::default(), epoch)
            }
            Profile::Linux => {
                Epoch::Linux(LinuxEpoch::new(now, cwnd / mss, s.w_max().map(|w_max| w_max / mss)))
            }
        };
    }

    /// Records the state for the next epoch and returns the new threshold from base and beta.
    fn cut(&mut self, cut: &Cut, cwnd: u64, unit: u64) -> u64 {
        let beta = self.params.beta;
        let s = &mut self.state;
        // RFC9438 4.7-1: a cut below the last plateau means that another flow wants a share: aim at
        // (1 + beta)/2 of the window, with the beta of loss for marks too, as the RFC writes it. At
        // equality the flow does not yield.
        let yields = self.params.fast_convergence && s.w_max().is_some_and(|w_max| cwnd < w_max);
        let units = cwnd / unit;
        let aim = if yields {
            mul_div(units, beta.num() + beta.den(), 2 * beta.den()).min(units)
        } else {
            units
        };
        s.set_w_max(unit * aim);
        s.cwnd_prior = cwnd;
        s.congested = true;
        s.epoch = Epoch::Pending(Handover::AfterLoss);
        // RFC9438 4.6-fig5.
        let base = self.params.base.of(cwnd, cut) / unit;
        unit * self.beta(cut.signal, cut.from_slow_start).of(base).min(base)
    }

    #[inline(never)]
    fn grow_otherwise(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        let (mss, cwnd, acked) = (segment(cx), window(*w), acked.min(MAX_BYTES));
        let s = &mut self.state;
        let grown = match &mut s.epoch {
            Epoch::Curve(_, e) if self.params.idle == Idle::Sent && e.precedes(ack) => cwnd,
            Epoch::Curve(behind, e) if cx.limited => {
                let step =
                    Step { now: ack.now, cwnd, acked, srtt: ack.srtt.unwrap_or_default(), mss };
                let grown =
                    e.grow(behind, &step, self.params.beta, s.cwnd_prior, (s.w_max, s.epoch_mss));
                if self.params.ca_floor_20 && !s.congested {
                    let mut carry = u64::from(s.floor_carry);
                    let floor = div_carry(acked, 1, &mut carry, 20);
                    s.floor_carry = carry as u8;
                    grown.max(cwnd.saturating_add(floor))
                } else {
                    grown
                }
            }
            Epoch::Linux(e) if cx.limited => {
                let min_rtt = cx.so_far.min_rtt.unwrap_or_default();
                let segments = e.grow(ack.now, cwnd / mss, acked, min_rtt, mss, self.params.beta);
                cwnd.saturating_add(segments.saturating_mul(mss))
            }
            // RFC9438 5.8-1: time in which the window was not the limit does not count.
            Epoch::Curve(_, e) => {
                e.skip(ack.now, Nanos::MAX);
                cwnd
            }
            Epoch::Linux(_) => cwnd,
            Epoch::Pending(handover) => {
                let handover = *handover;
                self.begin(handover, ack.now, cwnd, mss);
                // This recurses once: an epoch is running now.
                return self.grow(ack, acked, w, cx);
            }
        };
        w.cwnd = w.cwnd.max(grown.min(MAX_BYTES));
    }
}

impl Avoidance for Cubic {
    type Saved = State;

    #[inline(always)]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        let s = &mut self.state;
        match &mut s.epoch {
            // The common case, without a call.
            Epoch::Curve(behind, e)
                if cx.limited
                    && (s.congested || !self.params.ca_floor_20)
                    && self.params.idle == Idle::Flight =>
            {
                let (mss, cwnd, acked) = (segment(cx), window(*w), acked.min(MAX_BYTES));
                let step =
                    Step { now: ack.now, cwnd, acked, srtt: ack.srtt.unwrap_or_default(), mss };
                let grown =
                    e.grow(behind, &step, self.params.beta, s.cwnd_prior, (s.w_max, s.epoch_mss));
                w.cwnd = w.cwnd.max(grown.min(MAX_BYTES));
            }
            _ => self.grow_otherwise(ack, acked, w, cx),
        }
    }

    /// RATELIMITED cubic-reach (the draft has no formula): the window covers the same share of the
    /// way to the target that a flight of `max_fs` has of the window; at least as much as Reno's.
    fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let (mss, cwnd, max_fs) = (segment(cx), window(w), max_fs.min(MAX_BYTES));
        let most = max_fs + max_fs / 2;
        let grows = match &self.state.epoch {
            Epoch::Curve(_, e) => {
                let curve =
                    Curve::resumed(self.state.w_max, e.k_us, u64::from(self.state.epoch_mss));
                let ahead = ack.now.since(e.start).micros();
                let ahead = ahead.saturating_add(ack.srtt.unwrap_or_default().micros());
                mul_div(curve.at(ahead).saturating_sub(cwnd), max_fs, cwnd)
            }
            // The kernel's arithmetic counts whole segments; its bound is the RFC's.
            Epoch::Linux(_) => max_fs / 2,
            Epoch::Pending(_) => 0,
        };
        let floor = if self.params.ca_floor_20 { max_fs / 20 } else { 0 };
        max_fs.saturating_add(grows.max(floor).max(mss)).min(most.max(max_fs + mss))
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        let mss = segment(cx);
        let cwnd = self.cut(cut, window(w), self.unit(mss));
        // RFC9438 4.6-fig5: the threshold never below two segments; the window may be one after
        // marks, but not in QUIC (D4).
        let least =
            if cut.signal == Signal::Ecn && cx.transport == Transport::Tcp { mss } else { 2 * mss };
        Reduced { ssthresh: cwnd.clamp(2 * mss, MAX_BYTES), cwnd: cwnd.clamp(least, MAX_BYTES) }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        let mss = segment(cx);
        // RFC9438 4.8-1: the threshold is as after a loss, with CUBIC's beta; the controller sets
        // the window.
        let ssthresh = self.cut(cut, window(w), self.unit(mss));
        self.forget();
        ssthresh.clamp(2 * mss, MAX_BYTES)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.state.congested = true;
        self.forget();
    }

    fn hand_over(&mut self, handover: Handover, _w: Window, _cx: &Context) {
        match &self.state.epoch {
            // LINUX cubic-goes-on: only a reduction or a timeout ends an epoch; slow start after an
            // idle period does not.
            Epoch::Linux(_) if handover == Handover::LossFree => {}
            _ => self.state.epoch = Epoch::Pending(handover),
        }
    }

    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
        match &mut self.state.epoch {
            Epoch::Curve(_, epoch) if self.params.idle == Idle::Sent => {
                epoch.skip_since_sent(since_sent);
            }
            Epoch::Curve(_, epoch) => epoch.skip(now, idle),
            // LINUX cubic-idle: uses the time since the last send, which is longer than the time
            // with nothing in flight.
            Epoch::Linux(epoch) => epoch.skip(now, since_sent),
            Epoch::Pending(_) => {}
        }
    }

    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        let s = &mut self.state;
        if kept {
            (s.w_max, s.cwnd_prior) = (sizes.scale(s.w_max), sizes.scale(s.cwnd_prior));
        }
        s.epoch_mss = sizes.new.min(MAX_MSS) as u32;
        match &mut s.epoch {
            Epoch::Curve(behind, epoch) => {
                *behind = Behind::default();
                epoch.resize(sizes, kept);
            }
            // Linux's epoch counts segments, whose number is kept.
            Epoch::Linux(_) if kept => {}
            Epoch::Linux(_) => s.epoch = Epoch::Pending(Handover::AfterLoss),
            Epoch::Pending(_) => {}
        }
    }

    #[inline]
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        let Params { beta, abe, first_beta, .. } = self.params;
        Factors { beta, abe, first_beta }.of(signal, from_slow_start)
    }

    #[inline]
    fn epoch_start(&self) -> Option<Time> {
        match &self.state.epoch {
            Epoch::Curve(_, epoch) => Some(epoch.start),
            Epoch::Linux(epoch) => Some(epoch.start()),
            Epoch::Pending(_) => None,
        }
    }

    fn save(&self) -> State {
        self.state
    }

    fn restore(&mut self, saved: State) {
        // The kernel restores window and threshold alone.
        if self.params.profile == Profile::Rfc9438 {
            self.state = saved;
        }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if let Some(w_max) = self.w_max() {
            visit("w_max", w_max);
        }
        visit("cwnd_prior", self.state.cwnd_prior);
        if let Some(epoch) = self.curve_epoch() {
            visit("w_est", epoch.w_est);
            visit("k_us", epoch.k_us);
        }
    }
}

impl Cubic {
    /// ABBA1 5.3-anew: discards the plateau, so that the next cut cannot be below it.
    pub(super) fn forget_plateau(&mut self) {
        self.state.has_w_max = false;
    }

    /// After a timeout slow start follows, and a new epoch begins where slow start ends. Linux
    /// discards the plateau as well.
    fn forget(&mut self) {
        self.state.epoch = Epoch::Pending(Handover::AfterTimeout);
        if self.params.profile == Profile::Linux {
            self.state.has_w_max = false;
        }
    }
}
