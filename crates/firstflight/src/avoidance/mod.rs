//! Congestion avoidance: how the window grows after startup, and how far it is cut.

pub mod abba;
#[doc(hidden)]
pub mod abba_first;
#[doc(hidden)]
pub mod abba_model;
mod any;
pub mod cuback;
#[doc(hidden)]
pub mod cuback_curve;
pub mod cubic;
#[doc(hidden)]
pub mod cubic_curve;
mod cubic_linux;
pub mod dctcp;
pub mod prague;
pub mod reno;

pub use abba::Abba;
pub use any::{AnyAvoidance, AnySaved};
pub use cuback::Cuback;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use prague::Prague;
pub use reno::Reno;

use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::Range;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, mul_div};

/// A reduction that is due.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Current time.
    pub now: Time,
    /// Loss or marks.
    pub signal: Signal,
    /// Bytes outstanding just before.
    pub inflight_before: u64,
    /// The most that was in flight in the last round trip, bytes.
    pub flight: u64,
    /// The window was below its threshold: this is the reduction that ends a slow start.
    pub from_slow_start: bool,
}

/// Result of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The new threshold, which recovery takes as its target `T`; at least two segments.
    pub ssthresh: u64,
    /// The new window: equal to the threshold, except that its minimum after marks is smaller.
    pub cwnd: u64,
}

/// A congestion avoidance algorithm.
pub trait Avoidance {
    /// The state that a false alarm must restore (RFC 9438 section 4.9).
    type Saved: Copy;

    /// Growth at or above the threshold, outside recovery, by `acked` bytes; `cx.limited` is false
    /// if the window was not the limit. The first call after a reduction or a hand-over begins
    /// a new epoch.
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context);

    /// The window after ACKs of a whole flight of `max_fs` bytes, from which
    /// [`Increase::MaxFs`](crate::controller::Increase::MaxFs) bounds growth. Default: one segment
    /// more.
    fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let _ = (ack, w);
        max_fs.saturating_add(segment(cx))
    }

    /// Loss or marks: computes the new threshold and window from the old window `w` and remembers
    /// what the next epoch needs.
    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced;

    /// TCP's retransmission timer expired for the first time in a series. Returns the new
    /// threshold; the window becomes one segment.
    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64;

    /// QUIC's persistent congestion: the window becomes two packets, the threshold stays (RFC 9002
    /// section 7.6.2).
    fn on_persistent_congestion(&mut self, now: Time);

    /// Startup left, or slow start reached a threshold: sets how the next epoch begins.
    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context);

    /// Sending resumes after a time `idle` with nothing in flight, which must not count as growth.
    /// The last send was `since_sent` ago.
    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos);

    /// The packet size changed. `kept`: windows keep their number of packets and have been scaled
    /// (TCP, smaller segments); otherwise they keep their bytes.
    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        let _ = (sizes, kept);
    }

    /// The multiplicative decrease factor for this signal.
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio;

    /// One raw RTT sample, in every phase and before its ACK is processed; `w` is the window at
    /// that time, and `in_recovery` says whether an episode is open.
    fn on_rtt(&mut self, now: Time, rtt: Nanos, w: Window, in_recovery: bool) {
        let _ = (now, rtt, w, in_recovery);
    }

    /// One ACK, in every phase and before it is processed.
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        let _ = (ack, cx);
    }

    /// New congestion marks arrived, outside slow start and recovery. `None`: they count as
    /// congestion like a loss, with at most one cut per round trip and a recovery period for each
    /// (RFC 9002 section 7.1). Otherwise the algorithm reacts to marks itself and growth continues
    /// (RFC9331 4.3-scalable); it returns the new window, which is never larger.
    fn answer_marks(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Reduced> {
        let _ = (ack, w, cx);
        None
    }

    /// Whether packets request the low-latency service of L4S: ECT(1) (RFC 9331 section 4.1).
    fn is_l4s(&self) -> bool {
        false
    }

    /// A recovery episode has completed and left the window `w`. Not called if a timeout or a false
    /// alarm ended the episode.
    fn on_recovery_end(&mut self, w: Window) {
        let _ = w;
    }

    /// Start of the current epoch, if the algorithm has epochs and one is running.
    fn epoch_start(&self) -> Option<Time> {
        None
    }

    /// State to restore if the next reduction turns out to be a false alarm.
    fn save(&self) -> Self::Saved;

    /// The reduction was a false alarm.
    fn restore(&mut self, saved: Self::Saved);

    /// Internal signals by name and value, as in
    /// [`Startup::signals`](crate::startup::Startup::signals).
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let _ = visit;
    }
}

named! {
    /// The quantity that a reduction multiplies by beta.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Base {
        /// The window, as in Linux and RFC 9002 (RFC9002 7.3.2-2): if only half of the window is
        /// used, the cut changes nothing.
        Cwnd = "cwnd",
        /// The bytes in flight (RFC 5681, RFC9438 4.6-fig5), at most the window: a cut must not
        /// raise it. OURS base-flight: the maximum over the last round trip, because the ACKs that
        /// reveal the loss have already reduced the flight.
        #[default]
        Inflight = "inflight",
    }
}

impl Base {
    #[inline]
    fn of(self, cwnd: u64, cut: &Cut) -> u64 {
        match self {
            Base::Cwnd => cwnd,
            Base::Inflight => cut.flight.max(cut.inflight_before).min(cwnd),
        }
    }
}

/// The decrease factors of one algorithm.
#[derive(Clone, Copy, Debug)]
struct Factors {
    /// After a loss.
    beta: Ratio,
    /// After marks (RFC 8511), if it differs.
    abe: Option<Ratio>,
    /// For the reduction that ends a slow start, whatever the signal, if it differs.
    first_beta: Option<Ratio>,
}

impl Factors {
    /// The factor for this reduction.
    #[inline]
    fn of(self, signal: Signal, from_slow_start: bool) -> Ratio {
        let usual = match signal {
            Signal::Loss => self.beta,
            Signal::Ecn => self.abe.unwrap_or(self.beta),
        };
        if from_slow_start { self.first_beta.unwrap_or(usual) } else { usual }
    }
}

/// Allowed decrease factors, in words.
const FACTOR: &str = "0.05 to below 1, at most four decimals";
/// The same, where `off` means the ordinary factor.
const OFF_OR_FACTOR: &str = "off, or 0.05 to below 1, at most four decimals";
/// The factors worth trying.
const FACTORS: Range = Range::Fraction { off: false, low: "0.05", high: "0.95" };
/// The same, or `off`.
const OFF_OR_FACTORS: Range = Range::Fraction { off: true, low: "0.05", high: "0.95" };

/// Whether `ratio` is a valid decrease factor: below 1, and large enough that the window does not
/// vanish.
fn is_factor(ratio: Ratio) -> bool {
    ratio.num() < ratio.den() && ratio.num() * 20 >= ratio.den()
}

fn is_optional_factor(ratio: Option<Ratio>) -> bool {
    ratio.is_none_or(is_factor)
}

/// Packet sizes before and after a change, in bytes; neither is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The size before the change.
    pub old: u64,
    /// The size after the change.
    pub new: u64,
}

impl Sizes {
    /// Scales `bytes` so that they are the same (fractional) number of packets of the new size.
    #[inline]
    pub fn scale(self, bytes: u64) -> u64 {
        mul_div(bytes, self.new, self.old)
    }
}

/// The largest segment that avoidance computes with: no IP packet without a jumbo header carries
/// more. The limit keeps the cube of [`cubic_curve`] inside `u128` and twice a segment inside
/// `u64`.
pub(crate) const MAX_MSS: u64 = 1 << 16;

/// The segment size of this connection, made safe to divide by.
#[inline]
pub(crate) fn segment(cx: &Context) -> u64 {
    cx.mss.clamp(1, MAX_MSS)
}

/// The window of this connection, made safe to multiply and to divide by.
#[inline]
pub(crate) fn window(w: Window) -> u64 {
    w.cwnd.clamp(1, MAX_BYTES)
}

/// `(a * b + carry) / c`; the remainder stays in `carry` for the next call. A window may grow by a
/// fraction of a byte per ACK, and dropping the fractions would stop its growth.
#[inline(always)]
pub(crate) fn div_carry(a: u64, b: u64, carry: &mut u64, c: u64) -> u64 {
    let c = c.max(1);
    // The 64-bit path handles every ACK of a real connection; a 128-bit division costs more than
    // the rest of the hook.
    if let Some(sum) = a.checked_mul(b).and_then(|product| product.checked_add(*carry)) {
        *carry = sum % c;
        return sum / c;
    }
    let sum = u128::from(a) * u128::from(b) + u128::from(*carry);
    *carry = (sum % u128::from(c)) as u64;
    u64::try_from(sum / u128::from(c)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::div_carry;

    /// Products below and above 2^64, with the remainder of the previous division.
    #[test]
    fn dividing_with_a_carry_loses_nothing() {
        for (a, b, carry, c) in [
            (7, 5, 0, 10),
            (7, 5, 9, 10),
            (1 << 40, 1 << 30, 3, (1 << 35) - 1),
            (u64::MAX, 3, 2, 1 << 40),
            (u64::MAX, u64::MAX, u64::MAX - 1, u64::MAX),
        ] {
            let mut left = carry;
            let quotient = div_carry(a, b, &mut left, c);
            assert!(left < c, "{left} is left of a division by {c}");
            assert_eq!(
                u128::from(quotient) * u128::from(c) + u128::from(left),
                u128::from(a) * u128::from(b) + u128::from(carry),
                "{a} x {b} + {carry} by {c}"
            );
        }
        assert_eq!(div_carry(6, 7, &mut 0, 0), 42, "nothing is divided by zero");
    }
}
