//! DCTCP: cut by how much was marked, not by whether something was.
//!
//! A switch marks what arrives while more than a few packets wait. The sender keeps a smoothed share
//! alpha of marked bytes and cuts the window by half of it, once per round trip; between cuts and
//! after losses it is Reno. Meant for data centres, where every flow and every switch is of one
//! owner: beside others it starves them or is starved. Follows: RFC 8257 (October 2017). State: 64
//! bytes.
//!
//! Departures:
//! * D1 (RFC8257 3.2-ece): the receiver's rule for delayed ACKs, which tells the sender how many
//!   segments were marked, is the transport's: it fills [`Ack::ce_bytes`].
//! * D2 (RFC8257 3.5-loss): the base of the cut after a loss is the window, as in our Reno.

use super::{Avoidance, Cut, Reduced, div_carry, segment, window};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::options::params;
use crate::signal::mark_share::{MarkShare, ONE};
use crate::units::{MAX_BYTES, Nanos, Ratio, Time};

params! {
    /// The choices of DCTCP.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Weight of a window's share in the smoothed one (RFC8257 3.3-g).
        pub gain: Ratio = Ratio::new(1, 16), "gain" ["0.01 to 1" if is_gain] "weight of one window in the smoothed share of marks";
        /// The share before anything was marked (RFC8257 3.3-init): the first cut is a half.
        pub alpha: Option<Ratio> = Some(Ratio::new(1, 1)), "alpha" ["off, or 0.01 to 1" if is_share] "share of marks assumed before the first window";
    }
}

pub(super) fn is_gain(gain: Ratio) -> bool {
    gain.num() <= gain.den() && gain.num() * 100 >= gain.den()
}

fn is_share(share: Option<Ratio>) -> bool {
    share.is_none_or(is_gain)
}

/// DCTCP's congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    params: Params,
    share: MarkShare,
    /// What the last divisions left over, in byte * byte.
    carry: u64,
}

impl Dctcp {
    /// DCTCP with these choices.
    pub fn new(params: Params) -> Dctcp {
        let alpha = params.alpha.map_or(0, |alpha| alpha.of(u64::from(ONE)) as u32);
        Dctcp { params, share: MarkShare::new(alpha), carry: 0 }
    }

    /// The smoothed share of marked bytes, in units of 2^-20.
    pub fn alpha(&self) -> u32 {
        self.share.alpha()
    }
}

/// Half of the base, at least two segments, as after any loss.
fn half(base: u64, cx: &Context) -> u64 {
    (base / 2).clamp(2 * segment(cx), MAX_BYTES)
}

impl Avoidance for Dctcp {
    type Saved = u64;

    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        self.share.on_ack(ack, Nanos::ZERO, self.params.gain, segment(cx));
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        if !cx.limited {
            return;
        }
        // RFC8257 3.3-growth: as in RFC 5681, a segment per window.
        let cwnd = window(*w);
        let gain = div_carry(segment(cx), acked.min(MAX_BYTES), &mut self.carry, cwnd);
        w.cwnd = w.cwnd.max(cwnd.saturating_add(gain).min(MAX_BYTES));
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        self.carry = 0;
        let cwnd = window(w);
        let ssthresh = match cut.signal {
            // RFC8257 3.5-loss: as any other TCP.
            Signal::Loss => half(cwnd, cx),
            Signal::Ecn => self.share.cut(cwnd).clamp(2 * segment(cx), MAX_BYTES),
        };
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, _now: Time, inflight_before: u64, _w: Window, cx: &Context) -> u64 {
        self.carry = 0;
        half(inflight_before.min(MAX_BYTES), cx)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.carry = 0;
    }

    fn hand_over(&mut self, _handover: Handover, _w: Window, _cx: &Context) {
        self.carry = 0;
    }

    fn on_idle(&mut self, _now: Time, _idle: Nanos) {}

    fn beta(&self, signal: Signal, _from_slow_start: bool) -> Ratio {
        match signal {
            Signal::Loss => Ratio::new(1, 2),
            Signal::Ecn => self.share.factor(),
        }
    }

    fn save(&self) -> u64 {
        self.carry
    }

    fn restore(&mut self, saved: u64) {
        self.carry = saved;
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("alpha_millionths", millionths(self.share));
    }
}

/// A share of marks as traces have it.
pub(super) fn millionths(share: MarkShare) -> u64 {
    u64::from(share.alpha()) * 1_000_000 / u64::from(ONE)
}
