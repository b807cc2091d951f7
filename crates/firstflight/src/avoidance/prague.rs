//! Prague: DCTCP for the Internet. It requests the low-latency queue from routers (L4S, ECT(1)),
//! cuts the window by half of the smoothed share of marks, and grows as if no round trip were
//! shorter than 25 ms, so that flows on short paths do not take all capacity.
//!
//! The response to marks opens no recovery episode: it happens at most once per round trip, and
//! growth continues with unmarked bytes. After a loss, and on paths that drop instead of marking,
//! it halves like Reno. Follows: udp_prague by its authors (L4STeam, `prague_cc.cpp`, February
//! 2026), which is newer than draft-briscoe-iccrg-prague-congestion-control-04. State: 104 bytes.
//!
//! Departures:
//! * D1 (PRAGUE init-rate): udp_prague starts at a given rate. Ours starts with its arm's startup,
//!   up to the first mark or loss; the cut that ends a slow start is a half, because alpha is still
//!   zero.
//! * D2 (PRAGUE rate-mode): below 2 ms of smoothed RTT udp_prague controls a rate, and it shrinks
//!   packets so that two fit into a virtual round trip. Ours always uses windows of whole packets,
//!   at least two.
//! * D3 (PRAGUE ack-order): an ACK with marks cuts first and then grows by its unmarked bytes;
//!   udp_prague grows first. The difference is a fraction of a packet.

use super::{Avoidance, Base, Cut, Reduced, Reno, segment, window};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::options::{Range, params};
use crate::signal::mark_share::{MarkShare, is_gain};
use crate::units::{MAX_BYTES, Nanos, Ratio, Seq, Time, mul_div};

params! {
    /// The options of Prague.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Shorter round trips are treated as this one (PRAGUE vrtt-25ms).
        pub reference_ms: u32 = 25, "rtt" [0..=1000 "ms"] "grow and cut as if the RTT were at least this";
        /// Weight of a round trip's share in the smoothed one.
        pub gain: Ratio = Ratio::new(1, 16), "gain" ["0.01 to 1" if is_gain; Range::Fraction { off: false, low: "0.01", high: "1" }] "weight of one round trip in the smoothed share of marks";
        /// PRAGUE growth-wait: larger steps after many round trips without a mark.
        pub fast: bool = true, "fast" [] "adjust the rate in 1 ms steps after many round trips without a mark";
    }
}

/// Share of the window kept after a loss and at the end of a slow start.
const HALF: Ratio = Ratio::new(1, 2);
/// PRAGUE growth-wait: this many virtual round trips without a mark, and one more ...
const LEAST_WAIT: u64 = 7;
/// ... per this many bytes per second.
const RATE_PER_WAIT: u64 = 1_920_000;
/// Queueing delay that a step may then add.
const STEP: Nanos = Nanos::from_millis(1);

/// Prague's congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prague {
    params: Params,
    share: MarkShare,
    /// `nxt` at the last cut for marks: no further cut until a packet sent after it is
    /// acknowledged, ...
    cut_nxt: Seq,
    /// ... nor within a virtual round trip.
    cut_at: Option<Time>,
    rest: Rest,
}

/// State that a false alarm restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Rest {
    /// Growth below a byte, in units of 2^-20 bytes.
    fraction: u64,
    /// Virtual round trips until steps become larger.
    wait: u64,
}

impl Prague {
    /// Prague with these choices.
    pub fn new(params: Params) -> Prague {
        let rest = Rest { fraction: 0, wait: LEAST_WAIT };
        Prague { params, share: MarkShare::new(0), cut_nxt: Seq(0), cut_at: None, rest }
    }

    /// The smoothed share of marked bytes, in units of 2^-20.
    #[doc(hidden)]
    pub fn alpha(&self) -> u32 {
        self.share.alpha()
    }

    /// Virtual round trips without a mark that remain until steps become larger.
    #[doc(hidden)]
    pub fn wait(&self) -> u64 {
        self.rest.wait
    }

    fn reference(&self) -> Nanos {
        Nanos::from_millis(u64::from(self.params.reference_ms))
    }

    /// PRAGUE vrtt-25ms: the smoothed RTT, but no less than the reference.
    fn virtual_rtt(&self, cx: &Context) -> Nanos {
        cx.srtt.max(self.reference())
    }

    /// Bytes that a round trip without marks adds, before the RTT is made virtual.
    fn step(&self, cwnd: u64, cx: &Context) -> u64 {
        let mss = segment(cx);
        if !self.params.fast || self.rest.wait > 0 || cx.srtt == Nanos::ZERO {
            return mss;
        }
        // PRAGUE growth-wait: 1 ms at the current rate.
        mul_div(cwnd, STEP.0, cx.srtt.0).max(mss)
    }

    /// PRAGUE growth-wait: how long to wait after a mark.
    fn wait_after_mark(cwnd: u64, cx: &Context) -> u64 {
        LEAST_WAIT + rate(cwnd, cx) / RATE_PER_WAIT
    }

    /// PRAGUE growth-wait: after a loss, additionally the time that a flow with the reference RTT
    /// needs to recover.
    fn wait_after_loss(&self, cwnd: u64, cx: &Context) -> u64 {
        let (reference, virtual_rtt) = (self.reference().0, self.virtual_rtt(cx).0);
        let packets = rate(cwnd, cx) / 2 / segment(cx);
        mul_div(mul_div(packets, reference, virtual_rtt), reference, Nanos::from_secs(1).0)
    }
}

/// Bytes per second.
fn rate(cwnd: u64, cx: &Context) -> u64 {
    mul_div(cwnd, Nanos::from_secs(1).0, cx.srtt.0)
}

impl Avoidance for Prague {
    type Saved = Rest;

    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        // PRAGUE alpha-once: once per virtual and real round trip.
        if self.share.on_ack(ack, self.virtual_rtt(cx), self.params.gain, cx) {
            self.rest.wait = self.rest.wait.saturating_sub(1);
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        if !cx.limited {
            return;
        }
        // PRAGUE ack-increase: only what arrives unmarked grows the window.
        let unmarked = acked.min(MAX_BYTES).saturating_sub(ack.detail.ce_bytes.unwrap_or(0));
        let cwnd = window(*w);
        // acks * mss / W * step * (srtt / vrtt)^2, in units of 2^-20 bytes.
        let virtual_rtt = self.virtual_rtt(cx).0;
        let slower = mul_div(mul_div(1 << 20, cx.srtt.0, virtual_rtt), cx.srtt.0, virtual_rtt);
        let step = self.step(cwnd, cx).saturating_mul(slower);
        let grown = mul_div(unmarked, step, cwnd).saturating_add(self.rest.fraction);
        self.rest.fraction = grown % (1 << 20);
        w.cwnd = w.cwnd.max(cwnd.saturating_add(grown >> 20).min(MAX_BYTES));
    }

    fn answer_marks(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Reduced> {
        let cwnd = window(w);
        let within = self
            .cut_at
            .is_some_and(|at| ack.una <= self.cut_nxt || ack.now.since(at) < self.virtual_rtt(cx));
        if within {
            return Some(Reduced { ssthresh: cwnd, cwnd });
        }
        // PRAGUE ce-cut: by half of alpha, once per virtual and real round trip.
        (self.cut_at, self.cut_nxt) = (Some(ack.now), ack.nxt);
        self.rest.wait = Prague::wait_after_mark(cwnd, cx);
        let left = self.share.cut(cwnd).clamp(2 * segment(cx), MAX_BYTES).min(cwnd);
        Some(Reduced { ssthresh: left, cwnd: left })
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        let cwnd = window(w);
        self.rest = Rest { fraction: 0, wait: self.wait_after_loss(cwnd, cx) };
        if cut.signal == Signal::Ecn {
            self.rest.wait = Prague::wait_after_mark(cwnd, cx);
        }
        // PRAGUE loss-half, D1; OURS base-flight.
        let ssthresh = Reno::threshold(Base::Inflight.of(cwnd, cut), HALF, cx);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        self.rest = Rest { fraction: 0, wait: self.wait_after_loss(window(w), cx) };
        Reno::threshold(cut.inflight_before.min(MAX_BYTES), HALF, cx)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.rest.fraction = 0;
    }

    fn hand_over(&mut self, _handover: Handover, w: Window, cx: &Context) {
        self.rest = Rest { fraction: 0, wait: Prague::wait_after_mark(window(w), cx) };
    }

    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}

    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        match signal {
            Signal::Ecn if !from_slow_start => self.share.factor(),
            _ => HALF,
        }
    }

    fn is_l4s(&self) -> bool {
        true
    }

    fn save(&self) -> Rest {
        self.rest
    }

    fn restore(&mut self, saved: Rest) {
        self.rest = saved;
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("alpha_millionths", self.share.millionths());
        visit("prague_wait_rounds", self.rest.wait);
    }
}
