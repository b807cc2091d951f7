//! Congestion avoidance: how the window grows after startup, and how far it is cut.

pub mod abba;
pub mod abba_first;
pub mod abba_model;
mod any;
pub mod cuback;
pub mod cuback_curve;
pub mod cubic;
pub mod cubic_curve;
pub mod cubic_linux;
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
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, mul_div};

/// A reduction is due.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The moment.
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

/// What a reduction left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The new threshold, which recovery takes as its target `T`; at least two segments.
    pub ssthresh: u64,
    /// The new window, which is the threshold but for the smaller minimum after marks.
    pub cwnd: u64,
}

/// A congestion avoidance algorithm.
pub trait Avoidance {
    /// The part that a false alarm has to restore (RFC 9438 section 4.9).
    type Saved: Copy;

    /// Growth at or above the threshold, outside recovery, by `acked` bytes; `cx.limited` is false
    /// if the window was not the limit. The first call after a reduction or a hand-over begins
    /// a new epoch.
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context);

    /// The window after ACKs of a whole flight of `max_fs` bytes, from which
    /// [`Increase::MaxFs`](crate::controller::Increase::MaxFs) bounds growth: a segment more, if
    /// the algorithm knows of no other.
    fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let _ = (ack, w);
        max_fs.saturating_add(segment(cx))
    }

    /// Loss or marks: computes the new threshold and window from the old window `w` and remembers
    /// what the next epoch needs.
    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced;

    /// TCP's retransmission timer expired for the first time in a series: the new threshold. The
    /// window becomes one segment.
    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64;

    /// QUIC's persistent congestion: the window becomes two packets, the threshold stays (RFC 9002
    /// section 7.6.2).
    fn on_persistent_congestion(&mut self, now: Time);

    /// Startup left, or slow start met a threshold: how the next epoch begins.
    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context);

    /// Sending resumes after `idle` with nothing in flight: time that must not count as growth. The
    /// last send was `since_sent` ago.
    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos);

    /// Packets have another size from now on. `kept`: windows keep their number of packets and have
    /// been scaled (TCP, smaller segments), else they keep their bytes.
    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        let _ = (sizes, kept);
    }

    /// The multiplicative decrease factor for this signal.
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio;

    /// One raw RTT sample, in every phase and before the ACK that brings it is acted on; `w` is the
    /// window it found, `in_recovery` tells of an open episode.
    fn on_rtt(&mut self, now: Time, rtt: Nanos, w: Window, in_recovery: bool) {
        let _ = (now, rtt, w, in_recovery);
    }

    /// One ACK, in every phase and before it is acted on.
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        let _ = (ack, cx);
    }

    /// Marks are news, outside slow start and recovery. `None`: they are congestion like a loss, at
    /// most one cut per round trip and none of it without a recovery period (RFC 9002 section 7.1).
    /// Otherwise this answers them itself, and growth goes on (RFC9331 4.3-scalable): the window it
    /// leaves, which is never larger.
    fn answer_marks(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Reduced> {
        let _ = (ack, w, cx);
        None
    }

    /// Packets ask for the low-latency service of L4S: ECT(1) (RFC 9331 section 4.1).
    fn is_l4s(&self) -> bool {
        false
    }

    /// A recovery episode has ended, complete; `w` is what it left. Not told where a timeout or a
    /// false alarm ended it.
    fn on_recovery_end(&mut self, w: Window) {
        let _ = w;
    }

    /// When the present epoch began, if the algorithm has epochs and one is running.
    fn epoch_start(&self) -> Option<Time> {
        None
    }

    /// State to restore if the reduction that is about to happen turns out to be a false alarm.
    fn save(&self) -> Self::Saved;

    /// The reduction was a false alarm.
    fn restore(&mut self, saved: Self::Saved);

    /// Inner signals by name and value, as [`Startup::signals`](crate::startup::Startup::signals).
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let _ = visit;
    }
}

named! {
    /// What a reduction multiplies by beta.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Base {
        /// The window, as Linux and RFC 9002 have it (RFC9002 7.3.2-2): a cut of a window of which half is used changes nothing.
        Cwnd = "cwnd",
        /// The bytes in flight (RFC 5681, RFC9438 4.6-fig5), at most the window: a cut must not raise it. OURS base-flight: the most in the last
        /// round trip, since the ACKs that show the loss have taken part of the flight already.
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
    /// After marks (RFC 8511), if another.
    abe: Option<Ratio>,
    /// Of the reduction that ends a slow start, whatever the signal, if another.
    first_beta: Option<Ratio>,
}

impl Factors {
    /// The one for this reduction.
    #[inline]
    fn of(self, signal: Signal, from_slow_start: bool) -> Ratio {
        let usual = match signal {
            Signal::Loss => self.beta,
            Signal::Ecn => self.abe.unwrap_or(self.beta),
        };
        if from_slow_start { self.first_beta.unwrap_or(usual) } else { usual }
    }
}

/// What a decrease factor may be, in words.
const FACTOR: &str = "0.05 to below 1, at most four decimals";
/// The same where `off` leaves it at the ordinary one.
const OFF_OR_FACTOR: &str = "off, or 0.05 to below 1, at most four decimals";

/// A decrease factor: below one, and not so small that a window vanishes.
fn is_factor(ratio: Ratio) -> bool {
    ratio.num() < ratio.den() && ratio.num() * 20 >= ratio.den()
}

fn is_optional_factor(ratio: Option<Ratio>) -> bool {
    ratio.is_none_or(is_factor)
}

/// A size of packets and the one that follows it, bytes; neither is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Until now.
    pub old: u64,
    /// From now on.
    pub new: u64,
}

impl Sizes {
    /// As many packets of the new size as `bytes` are of the old one, and the same part of one.
    #[inline]
    pub fn scale(self, bytes: u64) -> u64 {
        mul_div(bytes, self.new, self.old)
    }
}

/// The largest segment that avoidance computes with: no IP packet without a jumbo header carries
/// more. Keeps the cube of [`cubic_curve`] inside `u128` and twice a segment inside `u64`.
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

/// `(a * b + carry) / c`, and the remainder stays in `carry` for the next call. A window grows by
/// many fractions of a byte per ACK; dropping them would hold it still where it should creep.
#[inline(always)]
pub(crate) fn div_carry(a: u64, b: u64, carry: &mut u64, c: u64) -> u64 {
    let c = c.max(1);
    // The 64-bit path takes every ACK of a real connection; a 128-bit division costs more than the
    // rest of the hook.
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

    /// Products below and above 2^64, with what is left of the division before.
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
