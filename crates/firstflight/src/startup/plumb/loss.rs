//! Plumb's response to loss: the share of the window that the path holds.

use crate::units::{Nanos, Ratio};

/// PLUMB 6-keep: the share of the current window that the path holds without a queue: smallest RTT
/// over current RTT (H-TCP's backoff), at least `beta` and at most `keep`; without `keep` it is
/// `beta` (RFC 9438 section 4.6, RFC 9002 section 7.3.2).
pub(super) fn share(beta: Ratio, keep: Option<Ratio>, min: Nanos, now: Nanos) -> Ratio {
    let Some(keep) = keep.filter(|&keep| is_less(beta, keep)) else { return beta };
    let thousandths = crate::units::mul_div(min.0, 1000, now.0).min(1000);
    let held = Ratio::new(u16::try_from(thousandths).unwrap_or(1000), 1000);
    if is_less(held, beta) {
        beta
    } else if is_less(keep, held) {
        keep
    } else {
        held
    }
}

/// Whether `a < b`.
pub(super) fn is_less(a: Ratio, b: Ratio) -> bool {
    a.num() * b.den() < b.num() * a.den()
}

/// PLUMB 6-excuse: whether a round's losses do not count as congestion: up to two packets, or
/// `percent` of the flight.
pub(super) fn is_excused(lost: u64, percent: Option<u8>, flight: u64, mss: u64) -> bool {
    percent
        .is_some_and(|percent| lost <= (2 * mss).max((flight / 100).saturating_mul(percent.into())))
}
