//! The three ways in which BEST reads a rate off the ACKs of one round, and the RTT floor they are multiplied with.
//!
//! Each is wrong in its own way, which is why [`Best`](super::Best) compares them: spacing is far too high when the return path
//! compresses ACKs, chunks are too low while the window is small, the receiver's clock is coarse.
//!
//! Follows: ours. State: 24 bytes (RTT floor), 80 (arrivals), 48 (receiver's clock). Departures: see [`super`].

use crate::signal::rate_histogram::{FineRate, RateHistogram};
use crate::units::{Nanos, Time};

/// BEST pair-1: intervals shorter than this are merged until they are not (`COALESCE`); time stamps of single ACKs are no finer on real
/// hosts.
pub(super) const COALESCE: Nanos = Nanos::from_micros(20);
/// BEST chunk-2: the shortest gap that can begin a burst of a slotted return path.
const BURST_GAP: Nanos = Nanos::from_micros(500);
/// BEST clock-1: a train on the receiver's clock has to span this many ticks (`TS_MIN`); one tick of rounding is then 6 %.
const TS_MIN: u32 = 16;
/// BEST clock-2: a train breaks where the clock advances by more ticks than this.
const TS_BREAK: u32 = 2;
/// BEST clock-3: RTTs over which the length of a tick is checked against the local clock.
const TICK_CHECK_RTTS: u64 = 10;
/// Tick lengths that stacks use, in milliseconds. The first is assumed until checked.
const TICKS_MS: [u64; 3] = [1, 4, 10];

/// An RTT in 32 bits of nanoseconds. Above 4.29 s it saturates, which makes estimates smaller, never larger.
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

/// BEST rtt-1: the smallest RTT of the last 7.5 to 10 seconds, four buckets of 2.5 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RttFloor {
    buckets: [ShortRtt; 4],
    begun: Time,
}

impl RttFloor {
    const BUCKET: Nanos = Nanos::from_millis(2_500);

    pub(super) const EMPTY: RttFloor = RttFloor { buckets: [ShortRtt::NONE; 4], begun: Time(0) };

    pub(super) fn update(&mut self, now: Time, rtt: Nanos) {
        let passed = now.since(self.begun).0 / Self::BUCKET.0;
        if passed > 0 {
            let kept = usize::try_from(passed).map_or(0, |passed| 4usize.saturating_sub(passed));
            self.buckets.copy_within(..kept, 4 - kept);
            self.buckets[..4 - kept].fill(ShortRtt::NONE);
            self.begun += Self::BUCKET * passed;
        }
        self.buckets[0] = self.buckets[0].min(ShortRtt::new(rtt));
    }

    pub(super) fn get(&self) -> Option<Nanos> {
        self.buckets.into_iter().min().and_then(ShortRtt::get)
    }
}

/// Bytes since an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    start: Time,
    bytes: u64,
}

impl Interval {
    fn restart(&mut self, now: Time) {
        *self = Interval { start: now, bytes: 0 };
    }

    fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Finds the period at which a return path releases bursts of ACKs, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bursts {
    /// Average gap inside a burst; zero before the first.
    intra: Nanos,
    /// When the last one began. The clock's origin until there was one: further back than any period.
    begun: Time,
    /// Average time between bursts; zero if none repeated, which is also what a path without bursts has.
    period: Nanos,
}

impl Bursts {
    const EMPTY: Bursts = Bursts { intra: Nanos::ZERO, begun: Time(0), period: Nanos::ZERO };

    fn on_gap(&mut self, now: Time, gap: Nanos, rtt_min: Nanos) {
        if gap < BURST_GAP.max(self.intra * 8) {
            self.intra = average(self.intra, gap);
            return;
        }
        let interval = now.since(self.begun);
        // Longer pauses are the window waiting for its next round trip, not the path collecting ACKs.
        if interval <= Nanos(rtt_min.0 / 4) {
            self.period = average(self.period, interval);
        }
        self.begun = now;
    }
}

/// A moving average of weight 1/8; the first sample counts fully.
fn average(old: Nanos, new: Nanos) -> Nanos {
    if old == Nanos::ZERO { new } else { Nanos(old.0 - old.0 / 8) + Nanos(new.0 / 8) }
}

/// Rates from the arrival times of ACKs: pairs (`P`) and chunks (`C`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrivals {
    pair: Interval,
    open_chunk: Interval,
    last: Option<Time>,
    bursts: Bursts,
    /// Largest chunk rate of the round; zero if no chunk closed.
    pub(super) chunk: FineRate,
}

impl Arrivals {
    pub(super) const EMPTY: Arrivals = Arrivals {
        pair: Interval { start: Time(0), bytes: 0 },
        open_chunk: Interval { start: Time(0), bytes: 0 },
        last: None,
        bursts: Bursts::EMPTY,
        chunk: FineRate::ZERO,
    };

    /// The path may have changed: the release period is learned anew, intervals start over.
    pub(super) fn forget(&mut self) {
        *self = Arrivals { last: self.last, ..Arrivals::EMPTY };
        if let Some(last) = self.last {
            self.skip(last);
        }
    }

    /// The average time between bursts of the return path, if it has any.
    pub(super) fn period(&self) -> Nanos {
        self.bursts.period
    }

    /// An ACK whose bytes say nothing about the path's rate: what follows is measured from here.
    pub(super) fn skip(&mut self, now: Time) {
        self.pair.restart(now);
        self.open_chunk.restart(now);
        self.last = Some(now);
    }

    pub(super) fn on_ack(&mut self, now: Time, acked: u64, rtt_min: Nanos, pairs: &mut RateHistogram) {
        // BEST chunk-1: a chunk spans a sixteenth of an RTT and a release period, or the burst that closes one would look like a rate.
        let chunk_span = Nanos(rtt_min.0 / 16).max(self.bursts.period.min(Nanos(rtt_min.0 / 4)));
        let Some((last, gap)) = self.last.map(|last| (last, now.since(last))) else {
            self.skip(now);
            return;
        };
        if gap > Nanos(rtt_min.0 / 8) {
            // BEST pair-2: after a silence of an eighth of an RTT the ACK only starts the clock: its bytes were not delivered during the
            // silence.
            if self.open_chunk.bytes > 0 {
                let span = last.since(self.open_chunk.start).max(chunk_span);
                self.chunk = self.chunk.max(FineRate::from_bytes_over(self.open_chunk.bytes, span));
            }
            self.pair.restart(now);
            self.open_chunk.restart(now);
        } else {
            self.pair.add(acked);
            let span = now.since(self.pair.start);
            if span >= COALESCE {
                pairs.add(FineRate::from_bytes_over(self.pair.bytes, span));
                self.pair.restart(now);
            }
            self.open_chunk.add(acked);
            let span = now.since(self.open_chunk.start);
            if span >= chunk_span {
                self.chunk = self.chunk.max(FineRate::from_bytes_over(self.open_chunk.bytes, span));
                self.open_chunk.restart(now);
            }
        }
        self.bursts.on_gap(now, gap, rtt_min);
        self.last = Some(now);
    }
}

/// How long a tick of the receiver's clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// No time stamp seen yet.
    Unseen,
    /// 1 ms, not checked yet; the check began with this one.
    Assumed { since: Time, first: u32 },
    /// Checked: one of [`TICKS_MS`], by index.
    Checked(u8),
    /// No length that stacks use: rates cannot be read off this clock.
    Unusable,
}

/// ACKs whose time stamps follow each other closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Train {
    first: u32,
    last: u32,
    /// Without those of the first ACK; saturates at 4 GiB.
    bytes: u32,
}

/// Rates on the receiver's clock (`R`): immune to whatever the return path does to the spacing of ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiverClock {
    train: Option<Train>,
    tick: Tick,
    /// Largest train rate of the round; zero if no train was long enough.
    pub(super) best: FineRate,
}

impl ReceiverClock {
    pub(super) const EMPTY: ReceiverClock = ReceiverClock { train: None, tick: Tick::Unseen, best: FineRate::ZERO };

    /// The length of a tick in milliseconds, once it was checked and made sense.
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
            self.best = self.best.max(FineRate::from_bytes_over(u64::from(train.bytes), Nanos::from_millis(tick_ms) * u64::from(ticks)));
        }
    }

    /// The estimation starts over; the clock itself stays as it is.
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
        self.tick = TICKS_MS.iter().position(fits).map_or(Tick::Unusable, |i| Tick::Checked(i as u8));
    }
}
