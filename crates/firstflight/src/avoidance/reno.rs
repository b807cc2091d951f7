//! Reno: one segment more per round trip, half the window when the network complains.
//!
//! At or above the threshold the window grows by `mss * acked / cwnd` per ACK. A loss or a mark
//! multiplies the window by beta; the result is both the window and the threshold. A timeout sets
//! only the threshold, and the controller sets the window. Follows: RFC 5681 section 3 (September
//! 2009) and RFC 9002 section 7 (May 2021); RFC 8511 as an option; with `profile=linux` Linux 6.18
//! (`tcp_reno_cong_avoid` and `tcp_reno_ssthresh`, behaviour, no text). State: 24 bytes, 8 of them
//! change.
//!
//! Departures:
//! * D1 (RFC5681 3.2-2): the window is not inflated by three segments in fast retransmit and
//!   deflated later: every transport here counts the bytes in flight, which the inflation
//!   approximated.
//! * D2 (RFC5681 3.1-eq4, RFC9002 7.3.2-2): the base of the cut is the largest flight of the last
//!   round trip, at most the window: RFC 5681 uses the current flight, RFC 9002 and Linux use the
//!   window ([`Base`], `reno(base=cwnd)`).
//! * D3 (RFC5681 3.1-eq3): bytes are counted exactly and the remainder is kept (`L = 1`, RFC 3465
//!   section 2.1), instead of rounding up to one byte per ACK. Linux counts segments: the window
//!   grows by one segment once a full window of segments is acknowledged.
//! * D4 (Linux): with `profile=linux` a timeout halves the window, not the flight.

use super::{
    Avoidance, Base, Cut, FACTOR, FACTORS, Factors, OFF_OR_FACTOR, OFF_OR_FACTORS, Reduced,
    div_carry, is_factor, is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::params;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

named! {
    /// Arithmetic in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Profile {
        /// Bytes, as the documents have it.
        Rfc5681 = "rfc5681",
        /// Segments, as the kernel counts.
        Linux = "linux",
    }
}

params! {
    /// The choices of Reno.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Factor of a reduction, at most 1: 1/2 (RFC5681 3.1-eq4, RFC9002 7.3.2-2 `kLossReductionFactor`).
        pub beta: Ratio = Ratio::new(1, 2), "beta" [words FACTOR if is_factor; FACTORS] "decrease factor";
        /// OURS first-beta: the factor of the reduction that ends a slow start, whatever the signal, if it differs: a twofold overshoot
        /// needs a deeper cut.
        pub first_beta: Option<Ratio> = None,
            "first" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor of the cut that ends slow start";
        /// Factor after marks if it differs: [`Params::ABE`] or nothing.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor after ECN marks (RFC 8511: 0.8)";
        /// The quantity that beta multiplies.
        pub base: Base = Base::Inflight, "base" [] "quantity that the factor multiplies";
        /// Arithmetic in use.
        pub profile: Profile = Profile::Rfc5681;
    }
    preset "profile": Profile [] "RFC 5681, or the kernel's arithmetic in segments", of |params| params.profile, make Params::of;
}

impl Params {
    /// RFC8511 3.1-1: the factor for Reno after marks, because a queue that marks is short.
    pub const ABE: Ratio = Ratio::new(4, 5);

    /// The behaviour of Linux.
    pub const LINUX: Params =
        Params { base: Base::Cwnd, profile: Profile::Linux, ..Params::DEFAULT };

    fn of(profile: Profile) -> Params {
        match profile {
            Profile::Rfc5681 => Params::DEFAULT,
            Profile::Linux => Params::LINUX,
        }
    }
}

/// Reno's congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno {
    params: Params,
    /// Remainder of the last divisions, in byte * byte: below the window of the last ACK. With
    /// `profile=linux`, bytes acknowledged since the window last grew.
    carry: u64,
}

impl Reno {
    /// Reno with these choices.
    pub fn new(params: Params) -> Reno {
        Reno { params, carry: 0 }
    }

    /// One segment more once as many segments are acknowledged as the window has. A count that a
    /// larger window left and that fills this one counts as one (`tcp_cong_avoid_ai`).
    fn grow_by_segments(&mut self, acked: u64, w: &mut Window, mss: u64) {
        let cwnd = window(*w);
        let full = (cwnd / mss).max(1) * mss;
        let mut grown = 0;
        if self.carry >= full {
            (self.carry, grown) = (0, 1);
        }
        self.carry += acked.min(MAX_BYTES);
        if self.carry >= full {
            grown += self.carry / full;
            self.carry %= full;
        }
        w.cwnd = w.cwnd.max(cwnd.saturating_add(grown * mss).min(MAX_BYTES));
    }

    /// The threshold after a cut of `base` bytes by `beta`.
    pub(super) fn threshold(base: u64, beta: Ratio, cx: &Context) -> u64 {
        // RFC5681 3.1-eq4, RFC9002 7.3.2-2: beta times the base, at least two segments.
        beta.of(base).min(base).clamp(2 * segment(cx), MAX_BYTES)
    }

    /// The same, in whole segments if the profile counts segments.
    fn cut(&self, base: u64, beta: Ratio, cx: &Context) -> u64 {
        let left = Reno::threshold(base, beta, cx);
        match self.params.profile {
            Profile::Rfc5681 => left,
            Profile::Linux => left - left % segment(cx),
        }
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
        if self.params.profile == Profile::Linux {
            return self.grow_by_segments(acked, w, segment(cx));
        }
        // RFC5681 3.1-eq3, RFC9002 7.3.3-1: one segment per window acknowledged.
        let cwnd = window(*w);
        let gain = div_carry(segment(cx), acked.min(MAX_BYTES), &mut self.carry, cwnd);
        w.cwnd = w.cwnd.max(cwnd.saturating_add(gain).min(MAX_BYTES));
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        self.carry = 0;
        let base = self.params.base.of(window(w), cut);
        let ssthresh = self.cut(base, self.beta(cut.signal, cut.from_slow_start), cx);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        self.carry = 0;
        let base = match self.params.profile {
            // RFC5681 3.1-eq4: here it is the flight in any case; after a silence the window says
            // nothing about it.
            Profile::Rfc5681 => cut.inflight_before.min(MAX_BYTES),
            Profile::Linux => window(w),
        };
        self.cut(base, self.beta(Signal::Loss, w.in_slow_start()), cx)
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
        // The kernel restores window and threshold alone.
        if self.params.profile == Profile::Rfc5681 {
            self.carry = saved;
        }
    }
}
