//! Round-trip time estimators: a smoothed RTT, its deviation, and the timeouts that follow from
//! them.
//!
//! Each sample moves the smoothed value by an eighth and the deviation by a quarter of the way.
//! QUIC subtracts the delay that the peer reports for its acknowledgement and derives probe and
//! loss timers; TCP derives a retransmission timeout with a lower bound, which differs between
//! systems more than anything else here. The caller decides which samples are valid (Karn's rule,
//! the largest packet newly acknowledged). Follows: RFC 9002 sections 5, 6 and 7.6 (May 2021); RFC
//! 6298 sections 2 and 5 (June 2011). State: 64 bytes each, and the presets.
//!
//! Departures:
//! * D1 (RFC9002 5.3-2): its prose updates the smoothed RTT before the deviation; its pseudocode
//!   and RFC 6298 update the deviation first, and so does this code.
//! * D2: a sample of zero is an RTT below one tick of the clock and counts as one tick: the
//!   smallest nonzero sample, or [`GRANULARITY`] before there is one. After a zero sample no
//!   timeout margin is shorter than a tick. Samples are capped at 2^56 ns (2.3 years). So no
//!   division by a zero RTT occurs and nothing overflows.

use crate::units::Nanos;

/// Timer granularity of the stack: RFC9002 6.1.2-2 `kGranularity`, and G of RFC6298 2-3.
pub const GRANULARITY: Nanos = Nanos::TICK;
/// RFC9002 6.2.2-1: `kInitialRtt`, the RTT before there is a sample.
pub const INITIAL_RTT: Nanos = Nanos::from_millis(333);
/// RFC9002 7.6.1-2: `kPersistentCongestionThreshold`, probe timeouts that losses must span.
pub const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;

const MAX_SAMPLE: Nanos = Nanos(1 << 56);

/// Properties of the clock learned from samples of zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Clock {
    /// Length of a tick, the least wait; zero while no sample was zero.
    tick: Nanos,
    /// Every sample was zero: the tick is a guess.
    guessed: bool,
}

impl Clock {
    /// Returns the value at which a sample counts; the first nonzero sample also corrects the
    /// earlier ones.
    #[inline(always)]
    fn count(&mut self, sample: Nanos, before: &mut Option<Smoothed>) -> Nanos {
        if sample == Nanos::ZERO || self.guessed {
            return self.count_coarse(sample, before);
        }
        sample.min(MAX_SAMPLE)
    }

    #[cold]
    #[inline(never)]
    fn count_coarse(&mut self, sample: Nanos, before: &mut Option<Smoothed>) -> Nanos {
        let sample = sample.min(MAX_SAMPLE);
        if sample > Nanos::ZERO {
            // The first nonzero sample.
            (self.tick, self.guessed) = (sample, false);
            if let Some(smoothed) = before {
                smoothed.min = sample;
            }
            return sample;
        }
        self.guessed |= before.is_none();
        self.tick = sample.in_ticks(before.map(|smoothed| smoothed.min));
        self.tick
    }
}

/// State of both estimators after the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Smoothed {
    srtt: Nanos,
    var: Nanos,
    min: Nanos,
    latest: Nanos,
}

impl Smoothed {
    /// RFC9002 5.3-1, RFC6298 2-2: the first sample is its own mean, with half of it as deviation.
    #[inline]
    fn first(sample: Nanos) -> Smoothed {
        Smoothed { srtt: sample, var: Nanos(sample.0 / 2), min: sample, latest: sample }
    }

    /// RFC9002 5.3-2, RFC6298 2-3: a quarter and an eighth of the way, the deviation against the
    /// old mean (D1).
    #[inline]
    fn blend(&mut self, sample: Nanos) {
        self.var = Nanos((3 * self.var.0 + self.srtt.0.abs_diff(sample.0)) / 4);
        self.srtt = Nanos((7 * self.srtt.0 + sample.0) / 8);
    }
}

/// The estimator of RFC 9002.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rfc9002Rtt {
    initial: Nanos,
    clock: Clock,
    sampled: Option<Smoothed>,
}

impl Default for Rfc9002Rtt {
    fn default() -> Rfc9002Rtt {
        Rfc9002Rtt::new(INITIAL_RTT)
    }
}

impl Rfc9002Rtt {
    /// An estimator that assumes `initial` until the first sample.
    pub fn new(initial: Nanos) -> Rfc9002Rtt {
        let initial = Nanos(initial.0.clamp(1, MAX_SAMPLE.0));
        Rfc9002Rtt { initial, clock: Clock::default(), sampled: None }
    }

    /// One valid sample with the delay its acknowledgement reports. `max_ack_delay` is the peer's
    /// advertised limit once the handshake is confirmed and `None` before; reported delays above it
    /// are capped.
    #[inline]
    pub fn on_sample(&mut self, rtt: Nanos, ack_delay: Nanos, max_ack_delay: Option<Nanos>) {
        let rtt = self.clock.count(rtt, &mut self.sampled);
        let Some(s) = &mut self.sampled else {
            self.sampled = Some(Smoothed::first(rtt));
            return;
        };
        s.latest = rtt;
        // RFC9002 5.2-1: the minimum uses raw samples, so a peer that exaggerates its delay cannot
        // lower it.
        s.min = s.min.min(rtt);
        // RFC9002 5.3-3: at most the advertised delay, and no subtraction that would give less than
        // the minimum.
        let delay = max_ack_delay.map_or(ack_delay, |most| ack_delay.min(most));
        s.blend(if rtt >= s.min + delay { rtt - delay } else { rtt });
    }

    /// The last sample as measured.
    #[inline]
    pub fn latest(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.latest)
    }

    /// The smallest sample.
    #[inline]
    pub fn min(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.min)
    }

    /// The smoothed RTT, if there was a sample.
    #[inline]
    pub fn srtt(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.srtt)
    }

    /// The smoothed RTT, or the initial one before there was a sample.
    #[inline]
    pub fn smoothed(&self) -> Nanos {
        self.sampled.map_or(self.initial, |s| s.srtt)
    }

    /// The mean deviation; half the initial RTT before there was a sample.
    #[inline]
    pub fn variance(&self) -> Nanos {
        self.sampled.map_or(Nanos(self.initial.0 / 2), |s| s.var)
    }

    /// Time after its sending at which a packet is declared lost, if a later one was acknowledged.
    // RFC9002 6.1.2-1: 9/8 of the larger of smoothed and latest RTT, at least the granularity.
    #[inline]
    pub fn loss_delay(&self) -> Nanos {
        let rtt = self.smoothed().max(self.latest().unwrap_or_default());
        (rtt + Nanos(rtt.0 / 8)).max(self.granularity())
    }

    /// The timer granularity, or the clock's tick if that is coarser.
    #[inline]
    fn granularity(&self) -> Nanos {
        GRANULARITY.max(self.clock.tick)
    }

    /// The probe timeout without backoff; `max_ack_delay` is zero in the handshake's packet number
    /// spaces.
    // RFC9002 6.2.1-1: mean, four deviations, and the peer's maximum ACK delay.
    #[inline]
    pub fn pto(&self, max_ack_delay: Nanos) -> Nanos {
        // Both come from samples, which are capped far below the values that would overflow here.
        let (mean, deviations) = (self.smoothed().0, 4 * self.variance().0);
        Nanos(mean + deviations.max(self.granularity().0)) + max_ack_delay
    }

    /// RFC9002 6.2.1-2: the probe timeout after `count` unanswered probes, doubled with each.
    #[inline]
    pub fn pto_after(&self, max_ack_delay: Nanos, count: u32) -> Nanos {
        let once = self.pto(max_ack_delay);
        if count == 0 { once } else { once * (1 << count.min(63)) }
    }

    /// Lost packets sent strictly further apart than this, with nothing acknowledged between them,
    /// mean persistent congestion.
    // RFC9002 7.6.1-1: the maximum ACK delay is included in every packet number space.
    pub fn persistent_duration(&self, max_ack_delay: Nanos) -> Nanos {
        self.pto(max_ack_delay) * PERSISTENT_CONGESTION_THRESHOLD
    }

    /// Persistent congestion: the path may have changed, so the minimum restarts at the newest
    /// sample (RFC9002 5.2-3).
    pub fn on_persistent_congestion(&mut self) {
        if let Some(s) = &mut self.sampled {
            s.min = s.latest;
        }
    }
}

/// Parameters from which a system computes its retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoParams {
    /// Timeout before there is a sample: 1 s (RFC 6298 2.1), 3 s in stacks before 2011.
    pub initial: Nanos,
    /// Lower bound of the timeout.
    pub min: Nanos,
    /// Upper bound of the timeout, backoff included.
    pub max: Nanos,
    /// Lower bound of the margin added to the smoothed RTT.
    pub min_margin: Nanos,
}

impl RtoParams {
    /// RFC6298 2-4: at least a second.
    pub const RFC: RtoParams = RtoParams {
        initial: Nanos::from_secs(1),
        min: Nanos::from_secs(1),
        max: Nanos::from_secs(60),
        min_margin: GRANULARITY,
    };
    /// LINUX rto-bounds: at least 200 ms above the smoothed RTT, at most two minutes.
    pub const LINUX: RtoParams = RtoParams {
        initial: Nanos::from_secs(1),
        min: Nanos::from_millis(200),
        max: Nanos::from_secs(120),
        min_margin: Nanos::from_millis(200),
    };
    /// Like Windows: RFC 6298 with a minimum of 300 ms.
    pub const WINDOWS: RtoParams = RtoParams { min: Nanos::from_millis(300), ..RtoParams::RFC };
}

impl Default for RtoParams {
    fn default() -> RtoParams {
        RtoParams::LINUX
    }
}

/// The estimator of RFC 6298.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rfc6298Rtt {
    params: RtoParams,
    clock: Clock,
    sampled: Option<Smoothed>,
    backoff: u32,
}

impl Rfc6298Rtt {
    /// An estimator without a sample.
    pub fn new(params: RtoParams) -> Rfc6298Rtt {
        Rfc6298Rtt { params, ..Rfc6298Rtt::default() }
    }

    /// A segment that was sent `copies` times was acknowledged `rtt` after it was last sent.
    /// RFC6298 3-1 (Karn): for a retransmitted segment it is unknown which copy was acknowledged,
    /// so it gives no sample and leaves the backoff unchanged. Returns whether it gave a sample.
    pub fn on_segment(&mut self, rtt: Nanos, copies: u32) -> bool {
        let once = copies <= 1;
        if once {
            self.on_sample(rtt);
        }
        once
    }

    /// Adds a valid sample: from data sent once (see [`Rfc6298Rtt::on_segment`]), or identified by a
    /// timestamp. It ends the backoff.
    #[inline(always)]
    pub fn on_sample(&mut self, rtt: Nanos) {
        let rtt = self.clock.count(rtt, &mut self.sampled);
        self.backoff = 0;
        match &mut self.sampled {
            None => self.sampled = Some(Smoothed::first(rtt)),
            Some(s) => {
                s.latest = rtt;
                s.min = s.min.min(rtt);
                s.blend(rtt);
            }
        }
    }

    /// The timer expired: the timeout doubles (RFC6298 5-5).
    pub fn on_timeout(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// The timeout in force, backoff included.
    #[inline]
    pub fn rto(&self) -> Nanos {
        // RFC6298 5-5, RFC6298 2-5: doubled per expiry, up to a maximum.
        (self.base() * (1 << self.backoff.min(63))).min(self.params.max)
    }

    #[inline]
    fn base(&self) -> Nanos {
        let p = &self.params;
        // RFC6298 2-1 before the first sample, RFC6298 2-3 and RFC6298 2-4 afterwards: a margin
        // above the mean, then at least the minimum timeout.
        let least = p.min_margin.max(self.clock.tick);
        let raw = self.sampled.map_or(p.initial, |s| s.srtt + (s.var * 4).max(least));
        raw.max(p.min).min(p.max)
    }

    /// Timeouts since the last sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The last sample.
    #[inline]
    pub fn latest(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.latest)
    }

    /// The smallest sample.
    #[inline]
    pub fn min(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.min)
    }

    /// The smoothed RTT.
    #[inline]
    pub fn srtt(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.srtt)
    }

    /// The mean deviation.
    #[inline]
    pub fn variance(&self) -> Option<Nanos> {
        self.sampled.map(|s| s.var)
    }
}
