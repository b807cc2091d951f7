//! The three ways in which BEST estimates a rate from the ACKs of one round, and the RTT floor that
//! the rate is multiplied with.
//!
//! Each has its own error, so [`Best`](super::Best) compares them: spacing rates are far too high
//! when the return path compresses ACKs, chunk rates are too low while the window is small, and the
//! receiver's clock is coarse.
//!
//! Follows: ours. State: 24 bytes (RTT floor), 48 (arrivals), 40 (receiver's clock). Departures:
//! see [`super`].

use crate::signal::rate_histogram::{FineRate, RateHistogram};
use crate::units::{Nanos, Time};

/// BEST pair-1: intervals are merged until they are at least this long (`COALESCE`); timestamps of
/// single ACKs are not finer on real hosts.
pub(super) const COALESCE: Nanos = Nanos::from_micros(20);
/// The shortest gap that can start a burst of a slotted return path.
const BURST_GAP: Nanos = Nanos::from_micros(500);
/// BEST clock-1: a train on the receiver's clock must span this many ticks (`TS_MIN`); one tick of
/// rounding is then 6 %.
const TS_MIN: u32 = 16;
/// BEST clock-2: a train breaks where the clock advances by more ticks than this.
const TS_BREAK: u32 = 2;
/// BEST clock-3: RTTs over which the length of a tick is checked against the local clock.
const TICK_CHECK_RTTS: u64 = 10;
/// Tick lengths that stacks use, in milliseconds. The first is assumed until checked.
const TICKS_MS: [u64; 3] = [1, 4, 10];

/// An RTT in 32 bits of nanoseconds. Above 4.29 s it saturates, which makes estimates smaller,
/// never larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShortRtt(u32);

impl ShortRtt {
    /// The minimum of no samples.
    pub(super) const NONE: ShortRtt = ShortRtt(u32::MAX);

    pub(super) fn new(rtt: Nanos) -> ShortRtt {
        ShortRtt(u32::try_from(rtt.0).unwrap_or(u32::MAX - 1).min(u32::MAX - 1))
    }

    pub(super) fn get(self) -> Option<Nanos> {
        (self != ShortRtt::NONE).then_some(Nanos(u64::from(self.0)))
    }
}

/// A rate kept from one round to the next, in five bytes: it is read once per round, so the cost of
/// unpacking is negligible. Rates above a terabit per second are stored as one terabit per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptRate([u8; 5]);

impl KeptRate {
    pub(super) const ZERO: KeptRate = KeptRate([0; 5]);

    pub(super) fn new(rate: FineRate) -> KeptRate {
        let [a, b, c, d, e, ..] = rate.0.min((1 << 40) - 1).to_le_bytes();
        KeptRate([a, b, c, d, e])
    }

    pub(super) fn get(self) -> FineRate {
        let [a, b, c, d, e] = self.0;
        FineRate(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }
}

/// BEST rtt-1: the smallest RTT of the last 7.5 to 10 seconds, four buckets of 2.5 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RttFloor {
    buckets: [ShortRtt; 4],
    /// Start of the newest bucket; meaningless while all are empty. Buckets count from a sample,
    /// because the clock's origin must not matter.
    begun: Time,
}

impl RttFloor {
    const BUCKET: Nanos = Nanos::from_millis(2_500);

    pub(super) const EMPTY: RttFloor = RttFloor { buckets: [ShortRtt::NONE; 4], begun: Time(0) };

    pub(super) fn update(&mut self, now: Time, rtt: Nanos) {
        let passed = now.since(self.begun).0 / Self::BUCKET.0;
        match usize::try_from(passed) {
            Ok(passed) if passed < 4 && self.get().is_some() => {
                self.buckets.copy_within(..4 - passed, passed);
                self.buckets[..passed].fill(ShortRtt::NONE);
                self.begun += Self::BUCKET * passed as u64;
            }
            _ => *self = RttFloor { begun: now, ..RttFloor::EMPTY },
        }
        self.buckets[0] = self.buckets[0].min(ShortRtt::new(rtt));
    }

    pub(super) fn get(&self) -> Option<Nanos> {
        self.buckets.into_iter().min().and_then(ShortRtt::get)
    }
}

/// An amount or a span in 32 bits: 4 GiB, or 4.29 s in nanoseconds.
#[inline]
fn short(wide: u64) -> u32 {
    u32::try_from(wide).unwrap_or(u32::MAX)
}

/// A moving average of weight 1/8; the first sample counts fully.
fn average(old: u32, new: u32) -> u32 {
    if old == 0 { new } else { (old - old / 8).saturating_add(new / 8) }
}

/// Rates from the arrival times of ACKs: pairs (`P`) and chunks (`C`). Spans end at the last ACK;
/// spans of open intervals are shorter than a quarter of the RTT, which itself has 32 bits of
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrivals {
    /// The last ACK, if one was `seen`.
    last: Time,
    /// Largest chunk rate of the round; zero if no chunk closed.
    pub(super) chunk: FineRate,
    /// The open pair's interval: bytes, and the span in ns, which is below [`COALESCE`].
    pair_bytes: u32,
    pair_span: u16,
    seen: bool,
    /// The open chunk: bytes, and the span in ns.
    chunk_bytes: u32,
    chunk_span: u32,
    /// Average gap inside a burst, ns; zero before the first.
    burst_gap: u32,
    /// Time since the last burst began, ns; the maximum until there was one.
    burst_age: u32,
    /// Average time between bursts, ns; zero if bursts did not recur or there were none.
    burst_period: u32,
}

impl Arrivals {
    pub(super) const EMPTY: Arrivals = Arrivals {
        last: Time(0),
        chunk: FineRate::ZERO,
        pair_bytes: 0,
        pair_span: 0,
        seen: false,
        chunk_bytes: 0,
        chunk_span: 0,
        burst_gap: 0,
        burst_age: u32::MAX,
        burst_period: 0,
    };

    /// The path may have changed: the release period is learned again, and intervals restart.
    pub(super) fn forget(&mut self) {
        *self = Arrivals { last: self.last, seen: self.seen, ..Arrivals::EMPTY };
    }

    /// The average time between bursts of the return path, if it has any.
    pub(super) fn period(&self) -> Nanos {
        Nanos(u64::from(self.burst_period))
    }

    /// An ACK whose bytes say nothing about the path's rate: later measurements start here.
    pub(super) fn skip(&mut self, now: Time) {
        let gap = if self.seen { now.since(self.last) } else { Nanos::ZERO };
        self.burst_age = self.burst_age.saturating_add(short(gap.0));
        self.restart();
        (self.last, self.seen) = (now, true);
    }

    fn restart(&mut self) {
        (self.pair_bytes, self.pair_span, self.chunk_bytes, self.chunk_span) = (0, 0, 0, 0);
    }

    pub(super) fn on_ack(
        &mut self,
        now: Time,
        acked: u64,
        rtt_min: Nanos,
        pairs: &mut RateHistogram,
    ) {
        if !self.seen {
            self.skip(now);
            return;
        }
        // BEST chunk-1: a chunk spans at least a sixteenth of an RTT and a release period;
        // otherwise the burst that closes a chunk would look like a rate.
        let chunk_span = (rtt_min.0 / 16).max(u64::from(self.burst_period).min(rtt_min.0 / 4));
        let gap = now.since(self.last);
        if gap > Nanos(rtt_min.0 / 8) {
            // BEST pair-2: after a silence of an eighth of an RTT the ACK only starts the clock:
            // its bytes were not delivered during the silence.
            if self.chunk_bytes > 0 {
                self.close_chunk(u64::from(self.chunk_span).max(chunk_span));
            }
            self.restart();
        } else {
            let bytes = short(acked);
            self.pair_bytes = self.pair_bytes.saturating_add(bytes);
            let span = u64::from(self.pair_span) + gap.0;
            if span >= COALESCE.0 {
                pairs.add(FineRate::from_bytes_over(u64::from(self.pair_bytes), Nanos(span)));
                (self.pair_bytes, self.pair_span) = (0, 0);
            } else {
                self.pair_span = span as u16;
            }
            self.chunk_bytes = self.chunk_bytes.saturating_add(bytes);
            let span = u64::from(self.chunk_span) + gap.0;
            if span >= chunk_span {
                self.close_chunk(span);
                (self.chunk_bytes, self.chunk_span) = (0, 0);
            } else {
                self.chunk_span = short(span);
            }
        }
        self.on_gap(gap, rtt_min);
        self.last = now;
    }

    fn close_chunk(&mut self, span: u64) {
        self.chunk =
            self.chunk.max(FineRate::from_bytes_over(u64::from(self.chunk_bytes), Nanos(span)));
    }

    /// Finds the period at which the return path releases bursts of ACKs, if there is one.
    fn on_gap(&mut self, gap: Nanos, rtt_min: Nanos) {
        self.burst_age = self.burst_age.saturating_add(short(gap.0));
        // BEST chunk-2: a gap far longer than those inside a burst starts the next burst.
        if gap < BURST_GAP.max(Nanos(u64::from(self.burst_gap) * 8)) {
            self.burst_gap = average(self.burst_gap, short(gap.0));
            return;
        }
        // In longer pauses the window waits for its next round trip; the path is not collecting
        // ACKs.
        if u64::from(self.burst_age) <= rtt_min.0 / 4 {
            self.burst_period = average(self.burst_period, self.burst_age);
        }
        self.burst_age = 0;
    }
}

/// Length of a tick of the receiver's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// No timestamp seen yet.
    Unseen,
    /// 1 ms, not checked yet; the check began with this timestamp.
    Assumed { since: Time, first: u32 },
    /// Checked: one of [`TICKS_MS`], by index.
    Checked(u8),
    /// Not a length that stacks use: the clock cannot be used for rates.
    Unusable,
}

/// ACKs whose timestamps follow each other closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Train {
    first: u32,
    last: u32,
    /// Bytes acknowledged after the first ACK; saturates at 4 GiB.
    bytes: u32,
}

/// Rates on the receiver's clock (`R`): immune to whatever the return path does to the spacing of
/// ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiverClock {
    train: Option<Train>,
    tick: Tick,
    /// Largest train rate of the round; zero if no train was long enough.
    pub(super) best: FineRate,
}

impl ReceiverClock {
    pub(super) const EMPTY: ReceiverClock =
        ReceiverClock { train: None, tick: Tick::Unseen, best: FineRate::ZERO };

    /// The length of a tick in milliseconds, once checked and valid.
    pub(super) fn checked_tick_ms(&self) -> Option<u64> {
        match self.tick {
            Tick::Checked(i) => TICKS_MS.get(usize::from(i)).copied(),
            Tick::Unseen | Tick::Assumed { .. } | Tick::Unusable => None,
        }
    }

    /// Ends the train, at a break and at the end of a round.
    pub(super) fn close(&mut self) {
        let Some(train) = self.train.take() else { return };
        let tick_ms = match self.tick {
            Tick::Unseen | Tick::Assumed { .. } => TICKS_MS[0],
            Tick::Checked(i) => TICKS_MS[usize::from(i).min(TICKS_MS.len() - 1)],
            Tick::Unusable => return,
        };
        let ticks = train.last.wrapping_sub(train.first);
        if ticks >= TS_MIN {
            self.best = self.best.max(FineRate::from_bytes_over(
                u64::from(train.bytes),
                Nanos::from_millis(tick_ms) * u64::from(ticks),
            ));
        }
    }

    /// Restarts the estimation; the clock itself is unchanged.
    pub(super) fn forget(&mut self) {
        *self = ReceiverClock { train: None, best: FineRate::ZERO, ..*self };
    }

    pub(super) fn on_ack(&mut self, ts: u32, acked: u64) {
        if let Some(train) = &mut self.train {
            // A clock that seems to run backwards advances by a huge amount: also a break.
            if ts.wrapping_sub(train.last) <= TS_BREAK {
                train.last = ts;
                train.bytes = train.bytes.saturating_add(u32::try_from(acked).unwrap_or(u32::MAX));
                return;
            }
            self.close();
        }
        self.train = Some(Train { first: ts, last: ts, bytes: 0 });
    }

    /// Checks once, over ten round trips, which of the usual lengths a tick has, within a quarter.
    pub(super) fn check_tick(&mut self, now: Time, ts: u32, rtt_min: Nanos) {
        let (since, first) = match self.tick {
            Tick::Unseen => {
                self.tick = Tick::Assumed { since: now, first: ts };
                return;
            }
            Tick::Assumed { since, first } => (since, first),
            Tick::Checked(_) | Tick::Unusable => return,
        };
        let span = now.since(since);
        if span < rtt_min * TICK_CHECK_RTTS {
            return;
        }
        let ticks = u64::from(ts.wrapping_sub(first));
        let fits = |ms: &u64| {
            let expected = (Nanos::from_millis(*ms) * ticks).0;
            expected.abs_diff(span.0) <= expected / 4
        };
        self.tick =
            TICKS_MS.iter().position(fits).map_or(Tick::Unusable, |i| Tick::Checked(i as u8));
    }
}
