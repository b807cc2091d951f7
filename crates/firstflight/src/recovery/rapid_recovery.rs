//! Rapid Start's own recovery: the window shrinks with every byte acknowledged or lost and ends at
//! `beta` times the delivered amount.
//!
//! Follows: draft-kazuho-ccwg-rapid-start-02 (2026-03-16), section on the first congestion signal.
//! State: 48 bytes. After an overshoot by `G` the sender falls silent for at most `1 - beta` of a
//! full-queue RTT, then sends at no more than the bottleneck rate, and ends with a window of `beta`
//! times the bytes acknowledged in the episode. It replaces PRR; the two never run together.
//!
//! Departures:
//! * D1 (K): 2/3, the value that keeps the bound on the silence up to a threefold overshoot; 11/18
//!   from the older text is an option.
//! * D2 (entry window): `min(cwnd, bytes in flight)`, so that no share `s` of the unused window
//!   survives.
//! * D3 (second floor): `beta * min(IW, pre)`, so that the cut of a window below the initial one is
//!   not blocked.
//! * D4 (arithmetic): computed from totals with one division, not step by step, which avoids
//!   truncation drift.
//! * D5 (the ACK that ends it): it is charged only for the flight at entry; in TCP, where it may
//!   acknowledge retransmissions, for at most the rest of that flight.

use crate::units::{MAX_BYTES, Ratio};

/// The window rule of one Rapid Start recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RapidRecovery {
    beta: Ratio,
    k: Ratio,
    pre: u64,
    acked: u64,
    lost: u64,
    floor: u64,
    cwnd: u64,
}

impl RapidRecovery {
    /// Opens the episode. `pre` is the window at entry in bytes (see D2), `iw` the initial window,
    /// `mss` the segment size.
    pub fn new(beta: Ratio, k: Ratio, pre: u64, iw: u64, mss: u64) -> RapidRecovery {
        let pre = pre.min(MAX_BYTES).max(mss.saturating_mul(2));
        // RAPID 3.3-floor: not below pre * beta/3 (SHOULD), not below beta * min(IW, pre) (MAY),
        // never below two segments (MUST).
        let third = beta.of(pre) / 3;
        let floor = third.max(beta.of(iw.min(pre))).max(mss.saturating_mul(2));
        RapidRecovery { beta, k, pre, acked: 0, lost: 0, floor, cwnd: pre }
    }

    /// The factor of the final window.
    #[doc(hidden)]
    pub fn beta(&self) -> Ratio {
        self.beta
    }

    /// Bytes acknowledged since the episode began, the triggering ACK included.
    #[doc(hidden)]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// The window now, in bytes.
    #[doc(hidden)]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Charges the bytes of the ACK that ends the episode against the window.
    ///
    /// RAPID 3.3.1-flight: data sent after entry is not charged. The factors are derived from one
    /// flight, the `pre` bytes outstanding at entry, of which A arrive and L do not: `s*pre - a*A -
    /// l*L` is `beta*A` for `A + L = pre`. Data sent since then was permitted by the window that
    /// this rule sets. If it were charged too, it would count twice and the window would end below
    /// `beta*A`. TCP's records do not distinguish an original from its retransmission, so at most
    /// the rest of the flight at entry is charged (departure D5).
    #[doc(hidden)]
    pub fn account_last(&mut self, acked: u64, before: Option<u64>, lost: u64) {
        let open =
            self.pre.saturating_sub(self.acked).saturating_sub(self.lost).saturating_sub(lost);
        self.account(before.unwrap_or(open).min(acked), lost);
    }

    /// Charges `acked` and `lost` bytes; the ACK that triggers the episode is charged too.
    #[doc(hidden)]
    pub fn account(&mut self, acked: u64, lost: u64) {
        self.acked = self.acked.saturating_add(acked).min(MAX_BYTES);
        self.lost = self.lost.saturating_add(lost).min(MAX_BYTES);
        // RAPID 3.3.1-1: cwnd = s*pre - a*A - l*L with a = K(1-beta), s = l = beta + K(1-beta). For
        // beta = p/q and K = u/v all three have the denominator q*v: s = l = (p*v +
        // u*(q-p)) / qv, a = u*(q-p) / qv. A negative value counts as 0.
        let (p, q, u, v) = (
            i128::from(self.beta.num()),
            i128::from(self.beta.den()),
            i128::from(self.k.num()),
            i128::from(self.k.den()),
        );
        let a = u * (q - p);
        let s = p * v + a;
        let left =
            s * i128::from(self.pre) - a * i128::from(self.acked) - s * i128::from(self.lost);
        let target = u64::try_from(left.max(0) / (q * v)).unwrap_or(u64::MAX);
        // RAPID 3.3-3: the window only shrinks.
        self.cwnd = self.cwnd.min(target.max(self.floor));
    }
}
