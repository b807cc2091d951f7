//! BEST as published: the median of one round's ACK-spacing rates, times the RTT, becomes the
//! slow-start threshold.
//!
//! Starting at a window of 16 segments, every ACK gives one rate: bytes acknowledged since the last
//! sampled ACK divided by the time since then. At the end of rounds 4 to 7 the median of the round,
//! in whole Mbit/s, times one RTT sample is taken as the BDP, once per connection. This file
//! reproduces the published kernel code bit for bit, including wrapping 16- and 32-bit arithmetic
//! and growth by all bytes that an ACK newly delivers, so that the published results can be
//! reproduced; [`Best`](super::Best) is the design for use.
//!
//! Follows: the BEST slides (NetDev 0x16, October 2022) as implemented in their code,
//! tcp_cubic_bw.c of 26 October 2022. State: 348 bytes, 306 of them samples. Tests:
//! `tests/it/best_published.rs`.
//!
//! Departures:
//! * D1: all flows, not only those from local port 5201.
//! * D2: the median of an empty round is 0; the original reads the two bytes before its array and
//!   does not use them.
//! * D3: bytes and packet numbers come from the transport's record: cumulative bytes are those
//!   delivered less those SACKed out of order.

mod samples;

#[doc(hidden)]
pub use samples::{CAPACITY, percentile_index};

use super::slow_start::double;
use super::{EpochUse, ExitReason, Grown, Handover, Heeds, Leave, Startup, Status, Verdict};
use crate::event::{Ack, Context, Timeout, Window};
use crate::options::params;
use crate::units::{Seq, Time};
use samples::Samples;

/// BESTPUB round-3: the last round after which a decision is possible.
const LAST_ROUND: u8 = 7;

params! {
    /// The module parameters of the published code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// A decision needs more rounds than this (3).
        pub min_round: u8 = 3, "round" [0..=6] "decide after this many rounds";
        /// Percentile of the round's rates, 0 to 100 (50: the lower median).
        pub percentile: u8 = 50, "percentile" [1..=100] "of the estimates of a round";
        /// Whether to set the threshold or only measure.
        pub set_ssthresh: bool = true, "set" [] "set the threshold, or only estimate";
        /// Sampling starts at this window, in segments (16).
        pub low_window: u8 = 16, "low" [0..=255 "segments"] "no estimate below this window";
    }
}

impl Params {
    /// The published values.
    pub const PUBLISHED: Params = Params::DEFAULT;
}

/// Result of the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Outcome {
    /// The threshold was set, in packets.
    Decided {
        /// The estimate of the BDP, as 16 bits hold it.
        packets: u16,
    },
    /// A decision was due, but the median was 0 (below 1 Mbit/s, or no samples).
    ZeroMedian,
    /// This round allows no decision, or [`Params::set_ssthresh`] is off.
    NotDue,
    /// A decision was made before.
    Sticky,
}

/// Counts of each outcome (saturating at 255).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Counts {
    /// [`Outcome::Decided`].
    pub decided: u8,
    /// [`Outcome::ZeroMedian`].
    pub zero_median: u8,
    /// [`Outcome::NotDue`].
    pub not_due: u8,
    /// [`Outcome::Sticky`].
    pub sticky: u8,
}

/// BEST, published mode. Times are in wrapping microseconds, rates in whole Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestPublished {
    samples: Samples,
    rtt_round: u8,
    found: bool,
    /// Start time of the last judged round; `None` before the first. Zero is a valid time.
    seen_round_start: Option<u32>,
    round_start: u32,
    last_ack: u32,
    prev_bytes: u32,
    curr_rtt: u32,
    end_seq: u32,
    counts: Counts,
    params: Params,
    /// The decision, for traces: median and packets.
    decision: (u16, u16),
}

/// BESTPUB rate-1: bits per microsecond, as the published code rounds and wraps. An empty interval
/// gives 0.
#[doc(hidden)]
pub fn estimate(bytes: u32, us: u32) -> u16 {
    bytes.wrapping_mul(8).checked_div(us).unwrap_or(0) as u16
}

/// BESTPUB threshold-1: packets for a rate in Mbit/s and an RTT in microseconds, as the published
/// code rounds and wraps.
#[doc(hidden)]
pub fn threshold_packets(mbps: u16, rtt_us: u32, mss: u32) -> u16 {
    (u32::from(mbps).wrapping_mul(rtt_us) / mss.wrapping_mul(8).max(1)) as u16
}

impl BestPublished {
    /// Armed.
    pub const fn new(params: Params) -> BestPublished {
        BestPublished {
            samples: Samples::EMPTY,
            rtt_round: 0,
            found: false,
            seen_round_start: None,
            round_start: 0,
            last_ack: 0,
            prev_bytes: 0,
            curr_rtt: u32::MAX,
            end_seq: 0,
            counts: Counts { decided: 0, zero_median: 0, not_due: 0, sticky: 0 },
            params,
            decision: (0, 0),
        }
    }

    /// The rates of the round so far that can still become its percentile, in Mbit/s, ascending:
    /// all rates, up to the 150th.
    #[doc(hidden)]
    pub fn rates(&self) -> &[u16] {
        self.samples.kept()
    }

    /// Number of rates in the round so far, at most [`CAPACITY`].
    #[doc(hidden)]
    pub fn samples(&self) -> u16 {
        self.samples.offered()
    }

    /// The counts.
    #[doc(hidden)]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The smallest RTT since the round began, in microseconds; `None` right after it began.
    #[doc(hidden)]
    pub fn round_rtt_us(&self) -> Option<u32> {
        (self.curr_rtt != u32::MAX).then_some(self.curr_rtt)
    }

    /// The percentile of the round so far, in Mbit/s; 0 without samples.
    #[doc(hidden)]
    pub fn percentile(&self) -> u16 {
        self.samples.pick(self.params.percentile)
    }

    fn reset(&mut self, now: Time, nxt: Seq) {
        let now = now_us(now);
        let counts = self.counts;
        *self = BestPublished {
            counts,
            round_start: now,
            last_ack: now,
            end_seq: nxt.0 as u32,
            ..BestPublished::new(self.params)
        };
    }

    /// BESTPUB round-2: the first sampled ACK after the end of a round evaluates the round. The RTT
    /// is the one measured since: that ACK's sample.
    fn end_round(&mut self, mss: u64) -> Outcome {
        let due = self.params.set_ssthresh
            && self.rtt_round > self.params.min_round
            && self.rtt_round <= LAST_ROUND;
        let outcome = if self.found {
            Outcome::Sticky
        } else if !due {
            Outcome::NotDue
        } else {
            match self.percentile() {
                0 => Outcome::ZeroMedian,
                median => {
                    // BESTPUB round-4: decided once, and kept.
                    self.found = true;
                    let packets = threshold_packets(median, self.curr_rtt, mss as u32);
                    self.decision = (median, packets);
                    Outcome::Decided { packets }
                }
            }
        };
        let counter = match outcome {
            Outcome::Decided { .. } => &mut self.counts.decided,
            Outcome::ZeroMedian => &mut self.counts.zero_median,
            Outcome::NotDue => &mut self.counts.not_due,
            Outcome::Sticky => &mut self.counts.sticky,
        };
        *counter = counter.saturating_add(1);
        self.samples.clear();
        self.rtt_round = self.rtt_round.wrapping_add(1);
        self.seen_round_start = Some(self.round_start);
        outcome
    }
}

fn now_us(now: Time) -> u32 {
    (now.0 / 1000) as u32
}

impl Default for BestPublished {
    fn default() -> Self {
        BestPublished::new(Params::PUBLISHED)
    }
}

impl Startup for BestPublished {
    type Saved = ();

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds { epoch: EpochUse::Sampling, ..Heeds::sending(false) }
    }

    fn start(&mut self, now: Time, nxt: Seq) {
        self.reset(now, nxt);
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let Some(rtt) = ack.rtt else { return Verdict::Stay };
        // BESTPUB gate-1: nothing is sampled below 16 segments.
        // BESTPUB gate-2: nor in a young CUBIC epoch.
        if cx.young_epoch || w.cwnd / cx.mss.max(1) < u64::from(self.params.low_window) {
            return Verdict::Stay;
        }
        let rtt = (rtt.micros() as u32).max(1);
        if self.curr_rtt == 0 || rtt < self.curr_rtt {
            self.curr_rtt = rtt;
        }
        let mut verdict = Verdict::Stay;
        if self.seen_round_start != Some(self.round_start)
            && let Outcome::Decided { packets } = self.end_round(cx.mss)
        {
            let ssthresh = u64::from(packets).saturating_mul(cx.mss);
            verdict = if ssthresh > w.cwnd {
                Verdict::Aim { ssthresh }
            } else {
                // BESTPUB threshold-2: the window has already passed the estimate; slow start is
                // over and the window does not change. There is no floor.
                let handover = Handover::LossFree;
                Verdict::Leave(Leave {
                    reason: ExitReason::Estimate,
                    ssthresh,
                    cwnd: None,
                    handover,
                    estimate: Some(ssthresh),
                })
            };
        }
        let now = now_us(ack.now);
        let bytes = cx.so_far.delivered.saturating_sub(ack.sacked) as u32;
        if !self.found {
            let rate =
                estimate(bytes.wrapping_sub(self.prev_bytes), now.wrapping_sub(self.last_ack));
            self.samples.insert(rate, self.params.percentile);
        }
        self.prev_bytes = bytes;
        self.last_ack = now;
        verdict
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        // BESTPUB round-1: strictly after the mark, by serial number comparison; not while the
        // window is underused. The ACK that passes the mark still counted above.
        if cx.limited && (ack.una.0 as u32).wrapping_sub(self.end_seq) as i32 > 0 {
            self.round_start = now_us(ack.now);
            self.last_ack = self.round_start;
            self.end_seq = ack.nxt.0 as u32;
            self.curr_rtt = u32::MAX;
        }
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }

    fn reached(&mut self) -> ExitReason {
        if self.found { ExitReason::Estimate } else { ExitReason::Threshold }
    }

    /// BESTPUB reset-1: resets everything, the decision included. Fast recovery and idle restart
    /// change nothing.
    fn on_timeout(&mut self, _timeout: Timeout, now: Time, nxt: Seq) {
        self.reset(now, nxt);
    }

    fn status(&self) -> Status {
        Status { rounds: Some(u32::from(self.rtt_round)), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("best_samples", u64::from(self.samples()));
        visit("best_median_mbps", u64::from(self.percentile()));
        visit("best_decided_mbps", u64::from(self.decision.0));
        visit("best_decided_packets", u64::from(self.decision.1));
        visit("best_decided", u64::from(self.counts.decided));
        visit("best_zero_median", u64::from(self.counts.zero_median));
        visit("best_not_due", u64::from(self.counts.not_due));
        visit("best_sticky", u64::from(self.counts.sticky));
    }
}
