//! Active queue management that decides about each packet when it is offered: CoDel and PIE. RED
//! has its own file.
//!
//! Follows RFC 8289 (CoDel, January 2018) and RFC 8033 (PIE, February 2017). CoDel decides when a
//! packet is dequeued, a time that a first-in-first-out link knows at the offer. PIE decides when a
//! packet is enqueued. State: under 100 bytes each.
//!
//! Departures of CoDel in a [`crate::Link`] (a [`crate::ForwardPath`] runs the queue and has none):
//! D1 RFC8289 5.6: the RFC spares a packet if at most one packet waits behind it. Packets that
//! arrive later are not known at the offer. Instead the target is at least the time of one
//! 1500-byte packet at the nominal rate, and the last packet of a standing queue may be dropped.
//! Departures of PIE:
//! D1 RFC8033 5.2: the departure rate is not estimated; the delay follows from the state of the
//! link. D2 RFC8033 5.3, 5.4: the optional deactivation and de-randomization are not implemented.
//! D3 RFC8033 4.2: the probability decays when two samples of the delay are 0, as the section says;
//! the appendix requires less than half the target.

use crate::direction;
use crate::fate::Verdict;
use crate::random::{Coin, Stream};
use crate::red::Red;

/// Pending drop that the next dequeued packet resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Nothing,
    /// The drop that entered the dropping state, and its time.
    Entry(u64),
    /// A further drop, and its time.
    Drop(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Codel {
    target: u64,
    interval: u64,
    marks: bool,
    /// Time at which the delay will have been above the target for an interval.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    count: u64,
    last_count: u64,
    behind: Behind,
}

impl Codel {
    pub(crate) fn new(target: u64, interval: u64, marks: bool, packet_time: u64) -> Self {
        Self {
            target: target.max(packet_time),
            interval,
            marks,
            first_above: None,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
            behind: Behind::Nothing,
        }
    }

    /// Like [`Codel::dequeue`], for a packet that is or is not ECN-capable, in a queue that may
    /// hold both kinds.
    pub(crate) fn dequeue_as(&mut self, now: u64, waited: u64, marks: bool) -> Verdict {
        self.marks = marks;
        self.dequeue(now, waited)
    }

    /// RFC8289 5.5: leaves the dropping state when the queue is empty.
    pub(crate) fn rest(&mut self) {
        (self.dropping, self.first_above, self.behind) = (false, None, Behind::Nothing);
    }

    /// Counts drops that something other than CoDel caused.
    pub(crate) fn count_drops(&mut self, drops: u64) {
        self.count += drops;
    }

    /// Decides about the packet that is dequeued at `now` after waiting `waited`.
    pub(crate) fn dequeue(&mut self, now: u64, waited: u64) -> Verdict {
        let behind = std::mem::replace(&mut self.behind, Behind::Nothing);
        if let Behind::Entry(at) | Behind::Drop(at) = behind
            && at != now
        {
            // Nothing waited behind the drop: the queue ran empty, which ends the dropping state
            // and the time above the target.
            (self.dropping, self.first_above) = (false, None);
            return self.decide(now, waited);
        }
        match behind {
            Behind::Nothing => self.decide(now, waited),
            // RFC8289 5.5: the packet behind the entering drop is sent in any case; it only updates
            // the time above the target.
            Behind::Entry(_) => {
                self.above(now, waited);
                Verdict::Pass
            }
            // RFC8289 5.5: the packet behind a drop schedules the next drop if it is still late.
            Behind::Drop(_) => {
                if self.above(now, waited) {
                    self.drop_next = self.law(self.drop_next);
                }
                self.decide(now, waited)
            }
        }
    }

    fn decide(&mut self, now: u64, waited: u64) -> Verdict {
        let late = self.above(now, waited);
        if !self.dropping {
            return if late { self.enter(now) } else { Verdict::Pass };
        }
        if !late {
            self.dropping = false;
            return Verdict::Pass;
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count += 1;
        if self.marks {
            self.drop_next = self.law(self.drop_next);
            return Verdict::Mark;
        }
        self.behind = Behind::Drop(now);
        Verdict::Drop
    }

    fn enter(&mut self, now: u64) -> Verdict {
        self.dropping = true;
        // RFC8289 5.5: soon after the previous dropping state, the drop rate resumes where it was.
        let before = self.count - self.last_count;
        let recently = now.saturating_sub(self.drop_next) < 16 * self.interval;
        self.count = if before > 1 && recently { before } else { 1 };
        self.drop_next = self.law(now);
        self.last_count = self.count;
        if self.marks {
            return Verdict::Mark;
        }
        self.behind = Behind::Entry(now);
        Verdict::Drop
    }

    /// RFC8289 5.6: whether the delay has been above the target for an interval.
    fn above(&mut self, now: u64, waited: u64) -> bool {
        if waited < self.target {
            self.first_above = None;
            return false;
        }
        // The first late packet starts the interval; only a packet at its end counts as late.
        now >= *self.first_above.get_or_insert(now.saturating_add(self.interval))
    }

    /// RFC8289 5.6: the next drop comes an interval divided by the square root of the count later.
    fn law(&self, t: u64) -> u64 {
        let square = u128::from(self.interval) * u128::from(self.interval);
        t.saturating_add((square / u128::from(self.count.max(1))).isqrt() as u64)
    }
}

/// Probabilities of PIE are in units of 1e-15.
const ONE: i64 = 1_000_000_000_000_000;
const T_UPDATE: u64 = 15_000_000;
const MAX_BURST: u64 = 150_000_000;
const MEAN_PACKET: u64 = 1500;

#[derive(Clone, Debug)]
pub(crate) struct Pie {
    target: u64,
    marks: bool,
    draws: Stream,
    probability: i64,
    delay_before: u64,
    burst: u64,
    next_update: u64,
}

impl Pie {
    pub(crate) fn new(target: u64, marks: bool, draws: Stream) -> Self {
        Self {
            target,
            marks,
            draws,
            probability: 0,
            delay_before: 0,
            burst: MAX_BURST,
            next_update: T_UPDATE,
        }
    }

    /// Decides about a packet that arrives at `now`, with `waiting` bytes in front of it that the
    /// link finishes at `busy_until`.
    pub(crate) fn enqueue(
        &mut self,
        now: u64,
        ordinal: u64,
        waiting: u64,
        busy_until: u64,
    ) -> Verdict {
        while self.next_update <= now {
            let at = self.next_update;
            if self.probability == 0
                && self.delay_before == 0
                && busy_until <= at
                && self.burst == MAX_BURST
            {
                // Updates do not change an empty queue: skip to the last update before now.
                self.next_update = now - (now - at) % T_UPDATE;
            }
            self.update(busy_until.saturating_sub(self.next_update));
            self.next_update = self.next_update.saturating_add(T_UPDATE);
        }
        // RFC8033 4.1: no drops within the burst allowance, at a small delay and probability, or
        // with at most two packets waiting.
        let small = self.delay_before < self.target / 2 && self.probability < ONE / 5;
        if self.burst > 0 || small || waiting <= 2 * MEAN_PACKET {
            return Verdict::Pass;
        }
        let coin = Coin::new((self.probability / 1_000_000) as u64);
        match coin.falls(self.draws.value(ordinal)) {
            false => Verdict::Pass,
            // RFC8033 5.1: above 10 % marking no longer suffices.
            true if self.marks && self.probability < ONE / 10 => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    /// RFC8033 4.2: the probability follows the distance from the target and the trend of the
    /// delay, in smaller steps the smaller it is.
    fn update(&mut self, delay: u64) {
        let since = |earlier: u64| {
            i64::try_from(delay).unwrap_or(i64::MAX / 4)
                - i64::try_from(earlier).unwrap_or(i64::MAX / 4)
        };
        // alpha = 1/8 and beta = 5/4 per second, in 1e-15 per ns.
        let change = since(self.target)
            .saturating_mul(125_000)
            .saturating_add(since(self.delay_before).saturating_mul(1_250_000));
        let gentler = match self.probability {
            p if p < ONE / 1_000_000 => 2048,
            p if p < ONE / 100_000 => 512,
            p if p < ONE / 10_000 => 128,
            p if p < ONE / 1_000 => 32,
            p if p < ONE / 100 => 8,
            p if p < ONE / 10 => 2,
            _ => 1,
        };
        let mut change = change / gentler;
        // RFC8033 5.5: no leaps upwards once the probability is high.
        if self.probability >= ONE / 10 {
            change = change.min(ONE / 50);
        }
        self.probability = self.probability.saturating_add(change).clamp(0, ONE);
        // RFC8033 4.2: the probability decays by 2 % per update while the queue is idle.
        if delay == 0 && self.delay_before == 0 {
            self.probability = self.probability / 50 * 49;
        }
        // RFC8033 4.4: burst allowance, renewed once the queue is at rest.
        self.burst = self.burst.saturating_sub(T_UPDATE);
        if self.probability == 0 && delay < self.target / 2 && self.delay_before < self.target / 2 {
            self.burst = MAX_BURST;
        }
        self.delay_before = delay;
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Manager {
    Codel(Codel),
    Pie(Pie),
    Red(Box<Red>),
}

impl Manager {
    /// `None` for management that decides later ([`direction::Aqm::is_driven`]).
    pub(crate) fn new(
        aqm: direction::Aqm,
        marks: bool,
        packet_time: u64,
        draws: Stream,
    ) -> Option<Self> {
        Some(match aqm {
            direction::Aqm::Codel { target, interval } => {
                Self::Codel(Codel::new(target, interval, marks, packet_time))
            }
            direction::Aqm::Pie { target } => Self::Pie(Pie::new(target, marks, draws)),
            direction::Aqm::Red(red) => {
                Self::Red(Box::new(Red::new(red, marks, packet_time, draws)))
            }
            direction::Aqm::FqCodel(_) | direction::Aqm::DualPi2(_) => return None,
        })
    }
}
