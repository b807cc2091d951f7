//! A pacer: a token bucket that releases packets at the controller's rate.
//!
//! Tokens are counted in byte-nanoseconds per second (bytes x 10^9), so that filling needs no
//! division and nothing is rounded away.

use crate::startup::Train;
use crate::units::{Nanos, Rate, Time};

const SCALE: u64 = 1_000_000_000;

/// A pacer's constraints on the next packet ([`Controller::spacing`](crate::Controller::spacing)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spacing {
    /// The rate of the token bucket; `None` if packets need no tokens.
    pub rate: Option<Rate>,
    /// The train that packets leave in; `None` if there is none.
    pub train: Option<Train>,
}

/// The pacer of one sender, for transports that have none.
///
/// [`Pacer::admit`] returns whether a packet may leave now. A transport that learns only later whether the
/// packet left asks [`Pacer::delay`] and reports [`Pacer::on_sent`].
#[derive(Clone, Debug)]
pub struct Pacer {
    burst: u64,
    tokens: u64,
    filled: Time,
    /// Release time of a waiting packet that leaves alone, and the rate for which that time is
    /// valid.
    held: Option<(Time, Rate)>,
}

impl Pacer {
    /// A full bucket of `burst` bytes.
    pub fn new(burst: u64, now: Time) -> Pacer {
        let burst = burst.min(u64::MAX / SCALE / 2);
        Pacer { burst: burst * SCALE, tokens: burst * SCALE, filled: now, held: None }
    }

    /// Adds the tokens for `rate` since the last call; nothing if the clock went back.
    #[doc(hidden)]
    #[inline]
    pub fn fill(&mut self, now: Time, rate: Rate) {
        if now <= self.filled {
            return;
        }
        let brought = rate.0.saturating_mul(now.since(self.filled).0);
        self.tokens = self.tokens.saturating_add(brought).min(self.burst);
        self.filled = now;
    }

    /// Time until `len` bytes (at most 2^30) may leave; zero if they may leave now.
    #[doc(hidden)]
    #[inline]
    pub fn wait(&self, len: u64, rate: Rate) -> Nanos {
        // A bucket smaller than the packet would never admit it, so a full bucket is enough.
        let missing = (len * SCALE).min(self.burst).saturating_sub(self.tokens);
        if missing == 0 { Nanos::ZERO } else { Nanos(missing.div_ceil(rate.0.max(1))) }
    }

    /// Time until a packet of `len` bytes (at most 2^30) may leave with `inflight` bytes outstanding; zero
    /// if it may leave now.
    #[inline]
    pub fn delay(&mut self, now: Time, len: u64, inflight: u64, spacing: Spacing) -> Nanos {
        let wait = spacing.train.map_or(Nanos::ZERO, |train| train.wait(now, inflight));
        let Some(rate) = spacing.rate else { return wait };
        self.fill(now, rate);
        wait.max(self.wait(len, rate))
    }

    /// Takes the tokens of a packet of `len` bytes (at most 2^30) that leaves now.
    #[inline]
    pub fn on_sent(&mut self, now: Time, len: u64, spacing: Spacing) {
        if let Some(rate) = spacing.rate {
            self.fill(now, rate);
            self.take(len);
        }
    }

    /// Takes the tokens of a packet that may leave now, or returns its [delay](Pacer::delay).
    #[inline]
    pub fn admit(&mut self, now: Time, len: u64, inflight: u64, spacing: Spacing) -> Nanos {
        self.held = None;
        let wait = self.delay(now, len, inflight, spacing);
        if wait == Nanos::ZERO && spacing.rate.is_some() {
            self.take(len);
        }
        wait
    }

    /// Takes the bytes of several packets of `len` bytes that may leave now at this rate. Returns
    /// their number, as many as [`Pacer::admit`] would admit one after another, at most `most`; 0
    /// if the bucket is smaller than a packet.
    #[doc(hidden)]
    #[inline]
    pub fn admit_many(&mut self, now: Time, len: u64, rate: Rate, most: u64) -> u64 {
        self.held = None;
        self.fill(now, rate);
        let each = len * SCALE;
        let many = (self.tokens / each).min(most);
        self.tokens -= many * each;
        many
    }

    /// Waiting time of a packet of `len` bytes at this rate. The pacer holds the packet until then
    /// if it leaves alone: a full bucket covers a packet, and a nanosecond adds less than a packet.
    #[doc(hidden)]
    #[inline(always)]
    pub fn hold(&mut self, now: Time, len: u64, rate: Rate) -> Nanos {
        if let Some((at, held)) = self.held
            && held == rate
            && now < at
        {
            return at.since(now);
        }
        self.fill(now, rate);
        let wait = self.wait(len, rate);
        let each = len * SCALE;
        let alone = wait > Nanos::ZERO && self.burst >= each && rate.0 < each;
        self.held = alone.then_some((now + wait, rate));
        wait
    }

    /// Whether the [held](Pacer::hold) packet is due now at this rate; `None` if no packet is held
    /// or its time has passed.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_due(&mut self, now: Time, rate: Option<Rate>) -> Option<bool> {
        let (at, held) = self.held.filter(|&(at, held)| rate == Some(held) && now <= at)?;
        if now < at {
            self.fill(now, held);
        }
        Some(now == at)
    }

    /// Whether a packet is held that leaves alone.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// The held packet leaves.
    #[doc(hidden)]
    #[inline(always)]
    pub fn release(&mut self, now: Time, len: u64) {
        if let Some((_, rate)) = self.held.take() {
            self.fill(now, rate);
        }
        debug_assert_eq!(self.tokens / (len * SCALE), 1, "a packet was due alone");
        self.take(len);
    }

    /// Takes `len` bytes (at most 2^30) from the bucket.
    #[doc(hidden)]
    #[inline]
    pub fn take(&mut self, len: u64) {
        self.tokens = self.tokens.saturating_sub(len * SCALE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturated_pacer_keeps_its_rate_without_drift() {
        let rate = Rate(116_637_500);
        let mut pacer = Pacer::new(3000, Time(0));
        let (mut now, mut sent) = (Time(0), 0u64);
        while now.0 < 1_000_000_000 {
            pacer.fill(now, rate);
            let wait = pacer.wait(1472, rate);
            if wait == Nanos::ZERO {
                pacer.take(1472);
                sent += 1472;
            } else {
                now += wait;
            }
        }
        let ideal = rate.0 + 3000;
        assert!(
            sent.abs_diff(ideal) <= 1472,
            "sent {sent} bytes in a second where rate and bucket allow {ideal}"
        );
    }

    #[test]
    fn a_train_waits_for_its_time_and_under_a_cap_also_for_tokens() {
        let train = Some(Train { inflight: 3_000, next: Time(5_000) });
        let free = Spacing { rate: None, train };
        let capped = Spacing { rate: Some(Rate(1_000_000)), train };
        let mut pacer = Pacer::new(1_000, Time(0));
        pacer.on_sent(Time(0), 1_000, free);
        assert_eq!(pacer.delay(Time(0), 1_000, 0, capped), Nanos::ZERO, "the bucket is still full");
        pacer.on_sent(Time(0), 1_000, capped);
        for (spacing, inflight, wait) in [
            (free, 0, 0),
            (free, 3_000, 5_000),
            (capped, 0, 1_000_000),
            (capped, 3_000, 1_000_000),
            (Spacing::default(), 3_000, 0),
        ] {
            let delay = pacer.delay(Time(0), 1_000, inflight, spacing);
            assert_eq!(delay, Nanos(wait), "{spacing:?} with {inflight} bytes in flight");
        }
    }

    #[test]
    fn a_bucket_smaller_than_a_packet_still_sends() {
        let mut pacer = Pacer::new(500, Time(0));
        assert_eq!(pacer.wait(1472, Rate(1000)), Nanos::ZERO, "a full bucket admits any packet");
        pacer.take(1472);
        assert_eq!(
            pacer.wait(1472, Rate(1000)),
            Nanos(500_000_000),
            "then it refills its 500 bytes at 1000 bytes per second"
        );
    }
}
