//! Cuback: CUBIC with acknowledged bytes as its clock. A new flow that gains share is acknowledged
//! faster and so grows faster; the clock stops while nothing is delivered.
//!
//! Cuts, fast convergence, minima and undo are CUBIC's; between cuts the window grows by a segment
//! whenever the number of bytes given by [`cuback_curve`](super::cuback_curve) has been
//! acknowledged. Time is not used, so idle periods need no correction. Follows:
//! draft-kazuho-ccwg-cuback-00 (25 September 2026). State: 88 bytes, 72 of them mutable.
//!
//! Departures:
//! * D1 (CUBACK 4-grow): one ACK grows the window by at most 1024 segments; further acknowledged
//!   bytes are kept for the next ACK. No real ACK reaches this limit, which bounds a loop.
//! * D2 (CUBACK 3-rate): the epoch after Rapid Start's recovery takes its rate from the estimate
//!   `cwnd / beta` over the RTT at that time, because the window before the cut was an overshoot
//!   that the path never held.
//! * D3 (CUBACK 3-marks): after marks Reno's share and the plateau are those of loss, as in our
//!   CUBIC, even where `abe` cuts less.

use super::cuback_curve::AckCurve;
use super::{
    Avoidance, Base, Cut, FACTOR, FACTORS, Factors, OFF_OR_FACTOR, OFF_OR_FACTORS, Reduced, Sizes,
    is_factor, is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Transport, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::params;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, mul_div};

named! {
    /// Reno's growth below the window before the cut, in segments per window acknowledged.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Alpha {
        /// Makes Reno with this beta as fast as Reno with one half: `3(1-beta)/(1+beta)` (RFC 9438
        /// section 4.3).
        #[default]
        Friendly = "friendly",
        /// A whole segment, after losses only (quicly's pull request 688): faster regrowth if
        /// losses are rare.
        One = "1",
    }
}

params! {
    /// The options of Cuback. C is fixed at 0.4 segment/s^3, as in RFC 9438.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Factor of a reduction, at most 1: 7/10 as in CUBIC.
        pub beta: Ratio = Ratio::new(7, 10), "beta" [words FACTOR if is_factor; FACTORS] "decrease factor";
        /// OURS first-beta: the factor of the reduction that ends a slow start, whatever the signal, if it differs.
        pub first_beta: Option<Ratio> = None,
            "first" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor of the cut that ends slow start";
        /// Factor after marks if it differs; RFC 8511: 0.85.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor after ECN marks (RFC 8511: 0.85)";
        /// The quantity that beta multiplies; the rate is computed from the same value.
        pub base: Base = Base::Inflight, "base" [] "quantity that the factor multiplies";
        /// RFC 9438 section 4.7.
        pub fast_convergence: bool = true, "fast" [] "fast convergence";
        /// CUBACK 688-alpha.
        pub alpha: Alpha = Alpha::Friendly, "alpha" [] "segments per window below the window before a loss";
    }
}

/// The most segments that one ACK may grow the window by (D1).
const MOST_SEGMENTS: u32 = 1024;

/// Cuback's congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuback {
    params: Params,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Epoch {
    /// No epoch is running; the next begins at the current window, on its plateau.
    #[default]
    LossFree,
    /// No epoch is running; the next begins below the window that was cut.
    AfterCut,
    Running,
}

/// All mutable state, which a false alarm restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    /// The window at the start of the epoch, the one before the cut, the curve's plateau, bytes.
    windows: [u64; 3],
    /// Smoothed RTT at the cut; zero if no sample was known.
    srtt: Nanos,
    /// Bytes acknowledged that have not grown the window yet.
    pending: u64,
    /// [`AckCurve::began`].
    began: i64,
    /// The window of which `due` is the [`AckCurve::due`]; zero for none.
    at: u64,
    due: u64,
    /// Segment size of the epoch's curve.
    mss: u32,
    epoch: Epoch,
    /// Whether there is a plateau.
    has_plateau: bool,
    /// Whether the last cut was for a loss.
    lost: bool,
}

impl Cuback {
    /// Cuback with these choices.
    pub fn new(params: Params) -> Cuback {
        Cuback { params, state: State::default() }
    }

    /// The plateau of the current or the next curve in bytes, once there is one.
    #[doc(hidden)]
    pub fn w_max(&self) -> Option<u64> {
        self.state.has_plateau.then_some(self.state.windows[2])
    }

    /// ABBA1 5.3-anew: discards the plateau, so that the next cut cannot be below it.
    pub(super) fn forget_plateau(&mut self) {
        self.state.has_plateau = false;
    }

    /// The window before the last reduction, in bytes.
    #[doc(hidden)]
    pub fn cwnd_prior(&self) -> u64 {
        self.state.windows[1]
    }

    /// Bytes acknowledged that have not grown the window yet.
    #[doc(hidden)]
    pub fn pending(&self) -> u64 {
        self.state.pending
    }

    fn alpha(&self) -> Ratio {
        let beta = self.params.beta;
        // CUBACK 688-alpha.
        if self.params.alpha == Alpha::One && self.state.lost {
            return Ratio::new(1, 1);
        }
        // RFC9438 4.3-fig4. Three times a 16-bit value may not fit into 16 bits; a quarter of that
        // does.
        let num = 3 * beta.den().saturating_sub(beta.num()).max(1);
        let den = beta.num() + beta.den();
        let shift = if num.max(den) > u64::from(u16::MAX) { 2 } else { 0 };
        Ratio::new((num >> shift).max(1) as u16, (den >> shift).max(1) as u16)
    }

    /// The first growth after a reduction or a hand-over.
    #[cold]
    fn begin(&mut self, cwnd: u64, cx: &Context) {
        let s = &mut self.state;
        if s.epoch == Epoch::LossFree {
            // CUBACK 3-lossfree: there is no earlier window to return to; the rate is the current
            // one.
            s.windows = [cwnd; 3];
            (s.srtt, s.lost, s.has_plateau) = (cx.srtt, false, true);
        }
        s.windows[0] = cwnd;
        s.pending = 0;
        s.epoch = Epoch::Running;
        self.draw(segment(cx));
    }

    /// Computes the curve for segments of this size.
    fn draw(&mut self, mss: u64) {
        let alpha = self.alpha();
        let s = &mut self.state;
        let [epoch, prior, plateau] = s.windows;
        s.began = AckCurve::new(epoch, prior, plateau, s.srtt, mss, alpha).began();
        (s.mss, s.at) = (mss as u32, 0);
    }

    /// The running epoch's curve.
    fn curve(&self) -> AckCurve {
        let s = &self.state;
        AckCurve::resumed(s.windows, s.srtt, u64::from(s.mss), self.alpha(), s.began)
    }

    /// [`AckCurve::due`] of this window, computed once per window.
    #[inline]
    fn due(&mut self, cwnd: u64) -> u64 {
        if self.state.at != cwnd {
            self.look(cwnd);
        }
        self.state.due
    }

    #[inline(never)]
    fn look(&mut self, cwnd: u64) {
        let curve = self.curve();
        (self.state.at, self.state.due) = (cwnd, curve.due(cwnd));
    }

    /// Records the state for the next epoch and returns beta times the base.
    fn cut(&mut self, cut: &Cut, cwnd: u64, cx: &Context) -> u64 {
        let beta = self.params.beta;
        // CUBACK 3-rate: one basis for the windows and the rate.
        let base = self.params.base.of(cwnd, cut);
        let s = &mut self.state;
        // RFC9438 4.7-1, with the beta of loss (D3).
        let yields = self.params.fast_convergence && s.has_plateau && base < s.windows[2];
        let plateau = if yields {
            mul_div(base, beta.num() + beta.den(), 2 * beta.den()).min(base)
        } else {
            base
        };
        s.windows = [0, base, plateau];
        (s.has_plateau, s.srtt) = (true, cx.srtt);
        (s.epoch, s.lost) = (Epoch::AfterCut, cut.signal == Signal::Loss);
        self.beta(cut.signal, cut.from_slow_start).of(base).min(base)
    }
}

impl Avoidance for Cuback {
    type Saved = State;

    #[inline]
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        let (mss, mut cwnd) = (segment(cx), window(*w));
        if self.state.epoch != Epoch::Running {
            self.begin(cwnd, cx);
        } else if u64::from(self.state.mss) != mss {
            self.draw(mss);
        }
        // RFC9002 7.8-1: a window that was not the limit is not proven, so its bytes do not count.
        if !cx.limited {
            return;
        }
        // CUBACK 4-grow: remainders are kept, so splitting or merging ACKs makes no difference.
        self.state.pending = self.state.pending.saturating_add(acked.min(MAX_BYTES));
        for _ in 0..MOST_SEGMENTS {
            let due = self.due(cwnd);
            if self.state.pending < due || cwnd >= MAX_BYTES {
                break;
            }
            self.state.pending -= due;
            cwnd += mss;
        }
        w.cwnd = w.cwnd.max(cwnd.min(MAX_BYTES));
    }

    /// RATELIMITED cubic-reach (the draft has no formula): as many segments as a flight of `max_fs`
    /// allows at the byte cost of the next one.
    fn reach(&self, _ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let (mss, cwnd, max_fs) = (segment(cx), window(w), max_fs.min(MAX_BYTES));
        let due = match self.state.epoch {
            Epoch::Running if self.state.at == cwnd => self.state.due,
            Epoch::Running => self.curve().due(cwnd),
            Epoch::LossFree | Epoch::AfterCut => u64::MAX,
        };
        let grows = mul_div(max_fs, mss, due);
        max_fs.saturating_add(grows.max(mss)).min((max_fs + max_fs / 2).max(max_fs + mss))
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        let mss = segment(cx);
        let cwnd = self.cut(cut, window(w), cx);
        // RFC9438 4.6-fig5: as in CUBIC.
        let least =
            if cut.signal == Signal::Ecn && cx.transport == Transport::Tcp { mss } else { 2 * mss };
        Reduced { ssthresh: cwnd.clamp(2 * mss, MAX_BYTES), cwnd: cwnd.clamp(least, MAX_BYTES) }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        // RFC9438 4.8-1: the threshold as after a loss; the next epoch begins where slow start ends.
        let ssthresh = self.cut(cut, window(w), cx);
        self.state.epoch = Epoch::LossFree;
        ssthresh.clamp(2 * segment(cx), MAX_BYTES)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.state.epoch = Epoch::LossFree;
    }

    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context) {
        let s = &mut self.state;
        match handover {
            Handover::AfterLoss => s.epoch = Epoch::AfterCut,
            Handover::RapidDone { beta } => {
                // RAPID 3.3.3-1: the path held cwnd / beta; fast convergence will take its share of
                // a plateau twice as high. D2: the rate is that of the estimate.
                let cwnd = window(w);
                let factor = 1 + u64::from(self.params.fast_convergence);
                let held = |factor| mul_div(cwnd, factor * beta.den(), beta.num()).min(MAX_BYTES);
                s.windows = [cwnd, held(1), held(factor)];
                (s.epoch, s.has_plateau, s.srtt) = (Epoch::AfterCut, true, cx.srtt);
            }
            Handover::LossFree
            | Handover::AfterTimeout
            | Handover::LssEntry
            | Handover::Drained => s.epoch = Epoch::LossFree,
        }
    }

    /// Nothing to exclude: only bytes that arrive count.
    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}

    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        // The next ACK computes a new curve.
        if kept {
            self.state.windows = self.state.windows.map(|window| sizes.scale(window));
            self.state.pending = sizes.scale(self.state.pending);
        }
    }

    #[inline]
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        let Params { beta, abe, first_beta, .. } = self.params;
        Factors { beta, abe, first_beta }.of(signal, from_slow_start)
    }

    fn save(&self) -> State {
        self.state
    }

    fn restore(&mut self, saved: State) {
        self.state = saved;
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if let Some(w_max) = self.w_max() {
            visit("w_max", w_max);
        }
        visit("cwnd_prior", self.cwnd_prior());
        if self.state.epoch == Epoch::Running {
            visit("pending", self.state.pending);
            if self.state.at > 0 {
                visit("due", self.state.due);
            }
        }
    }
}
