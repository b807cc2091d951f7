//! CUBIC: after a cut the window climbs back to where it was along a cubic curve, rests there, then
//! probes ever faster.
//!
//! Each reduction or hand-over begins an epoch. In it the window follows
//! [`cubic_curve`](super::cubic_curve) by the time that has passed, looking one RTT ahead, and
//! never falls behind what Reno would have reached. Every remainder of a division is kept, so that
//! slow growth is slow and not none.
//! Follows: RFC 9438 (August 2023); RFC 8511 as an option. State: 96 bytes, 80 of them change.
//!
//! Departures:
//! * D1 (RFC9438 4.4-1): growth is scaled by the bytes acknowledged, not counted per ACK: delayed
//!   and merged ACKs grow it alike.
//! * D2 (RFC9438 4.3-1): in the Reno-friendly region the window is the larger of itself and
//!   `w_est`, so that nothing but congestion ever lowers it.
//! * D3 (RFC9438 4.6-fig5): the base of the cut is the largest flight of the last round trip, at most
//!   the window; the RFC takes the flight of the moment. [`Profile::Linux`] cuts the window by
//!   intent, as the kernel does, also where half of it is used ([`Base`]).
//! * D4 (RFC9438 4.6-fig5): the window may fall to one segment after marks in TCP; QUIC keeps its
//!   minimum of two (RFC 9002 section 7.2).
//! * D6: where packets change their size and windows keep their bytes, the epoch
//!   goes on at the same point of the curve that packets of the new size have; the kernel's curve
//!   begins anew.
//! * D5 (RFC9438 4.3-fig4): beyond `cwnd_prior` alpha is written 17/17 and not 1, which keeps the
//!   remainder in one unit.

use super::cubic_curve::{Curve, MAX_US, icbrt};
use super::cubic_linux::LinuxEpoch;
use super::{
    Avoidance, Base, Cut, FACTOR, Factors, MAX_MSS, OFF_OR_FACTOR, Reduced, Sizes, div_carry,
    is_factor, is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Transport, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::params;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, mul_div};

named! {
    /// Which arithmetic draws the curve.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Profile {
        /// RFC 9438 in bytes and microseconds.
        #[default]
        Rfc9438 = "rfc",
        /// The curve as Linux computes it, in whole segments and 1/1024 s: see [`cubic_linux`](super::cubic_linux).
        Linux = "linux",
    }
}

params! {
    /// The choices of CUBIC. C is fixed at 0.4 segment/s^3 (RFC9438 5.1-c).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Factor of a reduction, at most 1. RFC9438 4.6-beta: 7/10.
        pub beta: Ratio = Ratio::new(7, 10), "beta" [words FACTOR if is_factor] "decrease factor";
        /// OURS first-beta: the factor of the reduction that ends a slow start, whatever the signal, if it differs.
        pub first_beta: Option<Ratio> = None,
            "first" [words OFF_OR_FACTOR if is_optional_factor] "decrease factor of the cut that ends slow start";
        /// Factor after marks if it differs: [`Params::ABE`] or nothing.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor] "decrease factor after ECN marks (RFC 8511: 0.85)";
        /// What beta multiplies.
        pub base: Base = Base::Inflight, "base" [] "what the factor multiplies";
        /// RFC 9438 section 4.7: a flow that is cut below its last plateau makes room by aiming lower still. Off for single-flow labs.
        pub fast_convergence: bool = true, "fast" [] "fast convergence";
        /// LINUX cubic-floor: until the first congestion event grow by at least a twentieth of what is acknowledged (5 % per RTT), as Linux
        /// does: a loss-free exit that came too early is otherwise a plateau of many seconds.
        pub ca_floor_20: bool = false, "floor20" [] "grow by at least 5 % per RTT until the first congestion";
        /// Whose arithmetic.
        pub profile: Profile = Profile::Rfc9438;
    }
    preset "profile": Profile [] "RFC 9438, or the kernel's arithmetic in segments", of |params| params.profile, make Params::of;
}

impl Params {
    /// RFC8511 3.1-2: the factor for CUBIC after marks.
    pub const ABE: Ratio = Ratio::new(17, 20);

    /// What Linux does, constants included.
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

/// Everything that changes, and so everything that a false alarm gives back: undo is complete
/// because it is one assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The plateau in bytes, once a reduction or a hand-over has set one.
    w_max: u64,
    /// There is a plateau: `w_max` means something.
    has_w_max: bool,
    /// The window before the last reduction in bytes: where Reno's slower growth ends (RFC 9438
    /// section 4.3).
    cwnd_prior: u64,
    epoch: Epoch,
    /// The segment size when an epoch of RFC 9438 began, in bytes.
    epoch_mss: u32,
    /// The remainder of `ca_floor_20` in such an epoch, below 20.
    floor_carry: u8,
    /// There was a congestion event.
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

// A tag of its own is looked at once where one hidden among those of `Handover` takes a subtraction
// more.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Epoch {
    /// None is running; how the next one begins.
    Pending(Handover),
    /// The first is [`CurveEpoch::grow`]'s own, beside the tag, where there is room for it.
    Curve(Behind, CurveEpoch),
    Linux(LinuxEpoch),
}

/// Until when, of the time of an epoch, the curve is certain to lie below Reno's window: neither ever
/// falls in an epoch, so what is true of a later time of the curve and an earlier window holds between
/// them. In units of 4.096 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Behind(u32);

impl Behind {
    const UNIT: u64 = 1 << 12;
    /// How far it looks ahead, microseconds.
    const AHEAD: u64 = 8 * Behind::UNIT;

    /// The curve is certain to lie below.
    #[inline(always)]
    fn holds(self, t_us: u64) -> bool {
        t_us < u64::from(self.0) * Behind::UNIT
    }

    /// The curve was found below a window of `w_est` bytes at `t_us`: how long will it be?
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

/// One ACK's worth of growth: the moment, the window, the bytes acknowledged, the smoothed RTT and
/// the segment size, all within bounds.
struct Step {
    now: Time,
    cwnd: u64,
    acked: u64,
    srtt: Nanos,
    mss: u64,
}

/// An epoch of RFC 9438. `start <= last` always; the time between them and now is what the curve
/// has seen.
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

    /// Leaves out the last `span` up to `now`, but nothing before the last ACK: that has passed
    /// already.
    fn skip(&mut self, now: Time, span: Nanos) {
        let span = span.min(now.since(self.last));
        self.start += span;
        self.last += span;
    }

    /// Packets have another size. Windows that are `kept` in packets scale the curve; windows that
    /// keep their bytes are on a curve of the same shape, whose times scale by the cube root.
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

    /// The window after one more ACK. Sums and products are plain where their terms are bounded:
    /// windows, amounts and segments by what [`Step`] promises, factors by the 16 bits of a
    /// ratio, microseconds by a thousandth of what 64 bits hold.
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

        // RFC9438 4.3-1: as long as Reno would be ahead of the curve, go with Reno.
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

    /// The plateau of the present or the next curve in bytes, once there is one.
    pub fn w_max(&self) -> Option<u64> {
        self.state.w_max()
    }

    /// The window before the last reduction, in bytes.
    pub fn cwnd_prior(&self) -> u64 {
        self.state.cwnd_prior
    }

    /// `K` of the present epoch in microseconds, if one of RFC 9438 is running.
    pub fn k_us(&self) -> Option<u64> {
        self.curve_epoch().map(|epoch| epoch.k_us)
    }

    /// Reno's window in the present epoch in bytes, if one of RFC 9438 is running.
    pub fn w_est(&self) -> Option<u64> {
        self.curve_epoch().map(|epoch| epoch.w_est)
    }

    fn curve_epoch(&self) -> Option<&CurveEpoch> {
        match &self.state.epoch {
            Epoch::Curve(_, epoch) => Some(epoch),
            Epoch::Pending(_) | Epoch::Linux(_) => None,
        }
    }

    /// The unit in which windows are cut: Linux knows whole segments only.
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
            // RFC9438 4.2-fig2: up from what the reduction left to what it remembered.
            Handover::AfterLoss => {}
            Handover::RapidDone { beta } => {
                // RAPID 3.3.3-1: the path held cwnd / beta; fast convergence will take its share of
                // a plateau twice as high.
                s.cwnd_prior = mul_div(cwnd, beta.den(), beta.num()).min(MAX_BYTES);
                let factor = 1 + u64::from(self.params.fast_convergence);
                s.set_w_max(mul_div(cwnd, factor * beta.den(), beta.num()));
            }
            // RFC9438 4.10-1: no loss, so nothing to climb back to: the plateau is here and the
            // curve starts convex.
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

    /// What every reduction remembers, and the base and beta of the new threshold applied to it.
    fn cut(&mut self, cut: &Cut, cwnd: u64, unit: u64) -> u64 {
        let beta = self.params.beta;
        let s = &mut self.state;
        // RFC9438 4.7-1: cut below the last plateau, so somebody new wants a share: aim at (1 +
        // beta)/2 of the window. With the beta of loss for marks too, as the RFC writes it.
        // Equality is no reason to yield.
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
            // RFC9438 5.8-1: time in which the window was not the limit proves nothing and is not
            // counted.
            Epoch::Curve(_, e) => {
                e.skip(ack.now, Nanos::MAX);
                cwnd
            }
            Epoch::Linux(_) => cwnd,
            Epoch::Pending(handover) => {
                let handover = *handover;
                self.begin(handover, ack.now, cwnd, mss);
                // Once: an epoch runs now.
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
            // The usual ACK, without a call.
            Epoch::Curve(behind, e) if cx.limited && (s.congested || !self.params.ca_floor_20) => {
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

    /// RATELIMITED cubic-reach (the draft has no formula): the share that a flight of `max_fs` has
    /// of the window also has of the way to the target; as Reno where that is less.
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
            // The kernel's arithmetic counts whole segments; what bounds it is the RFC's bound.
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
        // RFC9438 4.8-1: the threshold as after a loss, with CUBIC's beta; the window is the
        // controller's business.
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
            // LINUX cubic-goes-on: only a reduction or a timeout ends an epoch; one that slow start
            // after a silence meets goes on.
            Epoch::Linux(_) if handover == Handover::LossFree => {}
            _ => self.state.epoch = Epoch::Pending(handover),
        }
    }

    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
        match &mut self.state.epoch {
            Epoch::Curve(_, epoch) => epoch.skip(now, idle),
            // LINUX cubic-idle: the time since the last send, which is more than that without
            // anything in flight.
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
            // It counts segments.
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
    /// ABBA1 5.3-anew: no plateau any more, so that the next cut finds none that it could be below.
    pub(super) fn forget_plateau(&mut self) {
        self.state.has_w_max = false;
    }

    /// A timeout: slow start follows, and the epoch after it begins anew where slow start ends.
    /// Linux forgets the plateau as well.
    fn forget(&mut self) {
        self.state.epoch = Epoch::Pending(Handover::AfterTimeout);
        if self.params.profile == Profile::Linux {
            self.state.has_w_max = false;
        }
    }
}
