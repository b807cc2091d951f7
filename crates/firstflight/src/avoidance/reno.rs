//! Reno: one segment more per round trip, half the window when the network complains.
//!
//! At or above the threshold the window grows by `mss * acked / cwnd` per ACK. A loss or a mark
//! multiplies it by beta and the result is window and threshold at once; a timeout sets the
//! threshold alone, the controller sets the window. Follows: RFC 5681 section 3 (September 2009)
//! and RFC 9002 section 7 (May 2021); RFC 8511 as an option. State: 24 bytes, 8 of them change.
//!
//! Departures:
//! * D1 (RFC5681 3.2-2): the window is not inflated by three segments in fast retransmit and
//!   deflated later: every transport here counts what is in flight, which is what the inflation
//!   stood in for.
//! * D2 (RFC5681 3.1-eq4, RFC9002 7.3.2-2): the base of the cut is the largest flight of the last
//!   round trip, at most the window: RFC 5681 takes the flight of the moment, RFC 9002 and Linux take
//!   the window ([`Base`], `reno(base=cwnd)`).
//! * D3 (RFC5681 3.1-eq3): bytes are counted exactly and the remainder is kept (`L = 1`, RFC 3465
//!   section 2.1), instead of rounding up to one byte per ACK.

use super::{
    Avoidance, Base, Cut, FACTOR, Factors, OFF_OR_FACTOR, Reduced, div_carry, is_factor,
    is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::options::params;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

params! {
    /// The choices of Reno.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Factor of a reduction, at most 1: 1/2 (RFC5681 3.1-eq4, RFC9002 7.3.2-2 `kLossReductionFactor`).
        pub beta: Ratio = Ratio::new(1, 2), "beta" [words FACTOR if is_factor] "decrease factor";
        /// OURS first-beta: the factor of the reduction that ends a slow start, whatever the signal, if it differs: an overshoot of two wants a
        /// deeper cut.
        pub first_beta: Option<Ratio> = None,
            "first" [words OFF_OR_FACTOR if is_optional_factor] "decrease factor of the cut that ends slow start";
        /// Factor after marks if it differs: [`Params::ABE`] or nothing.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor] "decrease factor after ECN marks (RFC 8511: 0.8)";
        /// What beta multiplies.
        pub base: Base = Base::Inflight, "base" [] "what the factor multiplies";
    }
}

impl Params {
    /// RFC8511 3.1-1: the factor for Reno after marks, because a queue that marks is short.
    pub const ABE: Ratio = Ratio::new(4, 5);
}

/// Reno's congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno {
    params: Params,
    /// What the last divisions left over, in byte * byte: below the window of the last ACK.
    carry: u64,
}

impl Reno {
    /// Reno with these choices.
    pub fn new(params: Params) -> Reno {
        Reno { params, carry: 0 }
    }

    /// What a cut by `beta` leaves of `base` bytes.
    pub(super) fn threshold(base: u64, beta: Ratio, cx: &Context) -> u64 {
        // RFC5681 3.1-eq4, RFC9002 7.3.2-2: beta times the base, at least two segments.
        beta.of(base).min(base).clamp(2 * segment(cx), MAX_BYTES)
    }
}

impl Avoidance for Reno {
    type Saved = u64;

    #[inline]
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        // RFC9002 7.8-1: a window that was not the limit is not proven, so it does not grow.
        if !cx.limited {
            return;
        }
        // RFC5681 3.1-eq3, RFC9002 7.3.3-1: one segment per window acknowledged.
        let cwnd = window(*w);
        let gain = div_carry(segment(cx), acked.min(MAX_BYTES), &mut self.carry, cwnd);
        w.cwnd = w.cwnd.max(cwnd.saturating_add(gain).min(MAX_BYTES));
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        self.carry = 0;
        let base = self.params.base.of(window(w), cut);
        let ssthresh = Reno::threshold(base, self.beta(cut.signal, cut.from_slow_start), cx);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        self.carry = 0;
        // RFC5681 3.1-eq4: here it is the flight in any case; after a silence the window says
        // nothing about it.
        Reno::threshold(
            cut.inflight_before.min(MAX_BYTES),
            self.beta(Signal::Loss, w.in_slow_start()),
            cx,
        )
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.carry = 0;
    }

    fn hand_over(&mut self, _handover: Handover, _w: Window, _cx: &Context) {
        self.carry = 0;
    }

    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}

    #[inline]
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        let Params { beta, abe, first_beta, .. } = self.params;
        Factors { beta, abe, first_beta }.of(signal, from_slow_start)
    }

    fn save(&self) -> u64 {
        self.carry
    }

    fn restore(&mut self, saved: u64) {
        self.carry = saved;
    }
}
