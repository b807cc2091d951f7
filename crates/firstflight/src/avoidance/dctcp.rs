//! DCTCP: the cut depends on how much was marked, not on whether anything was marked.
//!
//! A switch marks packets that arrive while more than a few packets wait. The sender keeps a
//! smoothed share alpha of marked bytes and cuts the window by half of that share, once per round
//! trip; between cuts and after losses it behaves like Reno. It is meant for data centres, where
//! one operator controls all flows and switches; when competing with other algorithms it starves
//! them or is starved. Follows: RFC 8257 (October 2017). State: 80 bytes.
//!
//! Departures:
//! * D1 (RFC8257 3.2-ece): the receiver's rule for delayed ACKs, which tells the sender how many
//!   segments were marked, is the transport's: it fills [`AckDetail::ce_bytes`](crate::AckDetail::ce_bytes).
//! * D2 (RFC8257 3.5-loss): the base of the cut after a loss is the largest flight of the last round
//!   trip, as in our Reno; marks cut the window, by their share.

use super::{Avoidance, Cut, Reduced, Reno, segment, window};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::options::{Range, params};
use crate::signal::mark_share::{MarkShare, ONE, is_gain};
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

params! {
    /// The options of DCTCP.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Weight of a window's share in the smoothed one (RFC8257 3.3-g).
        pub gain: Ratio = Ratio::new(1, 16), "gain" ["0.01 to 1" if is_gain; Range::Fraction { off: false, low: "0.01", high: "1" }] "weight of one window in the smoothed share of marks";
        /// The initial share (RFC8257 3.3-init): with 1 the first cut is a half.
        pub alpha: Option<Ratio> = Some(Ratio::new(1, 1)), "alpha" ["off, or 0.01 to 1" if is_share; Range::Fraction { off: true, low: "0.01", high: "1" }] "share of marks assumed before the first window";
    }
}

fn is_share(share: Option<Ratio>) -> bool {
    share.is_none_or(is_gain)
}

/// DCTCP's congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    params: Params,
    share: MarkShare,
    /// Growth, and the response to losses and timeouts.
    reno: Reno,
}

impl Dctcp {
    /// DCTCP with these choices.
    pub fn new(params: Params) -> Dctcp {
        let alpha = params.alpha.map_or(0, |alpha| alpha.of(u64::from(ONE)) as u32);
        Dctcp { params, share: MarkShare::new(alpha), reno: Reno::default() }
    }

    /// The smoothed share of marked bytes, in units of 2^-20.
    #[doc(hidden)]
    pub fn alpha(&self) -> u32 {
        self.share.alpha()
    }
}

impl Avoidance for Dctcp {
    type Saved = <Reno as Avoidance>::Saved;

    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        self.share.on_ack(ack, Nanos::ZERO, self.params.gain, cx);
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        // RFC8257 3.3-growth: as in RFC 5681, a segment per window.
        self.reno.grow(ack, acked, w, cx);
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        // RFC8257 3.5-loss: like any other TCP.
        let reduced = self.reno.reduce(cut, w, cx);
        if cut.signal == Signal::Loss {
            return reduced;
        }
        let ssthresh = self.share.cut(window(w)).clamp(2 * segment(cx), MAX_BYTES);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        self.reno.on_rto(cut, w, cx)
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.reno.on_persistent_congestion(now);
    }

    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context) {
        self.reno.hand_over(handover, w, cx);
    }

    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
        self.reno.on_idle(now, idle, since_sent);
    }

    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        match signal {
            Signal::Loss => self.reno.beta(signal, from_slow_start),
            Signal::Ecn => self.share.factor(),
        }
    }

    fn save(&self) -> Self::Saved {
        self.reno.save()
    }

    fn restore(&mut self, saved: Self::Saved) {
        self.reno.restore(saved);
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("alpha_millionths", self.share.millionths());
    }
}
