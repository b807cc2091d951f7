//! Early retransmit: a lower duplicate threshold for flights too small to ever produce three
//! duplicate ACKs.
//!
//! With two or three segments outstanding and nothing new to send, the first segment counts as lost
//! when all others have arrived. Two guards prevent it from acting on mere reordering. Guard A: a
//! connection that has seen reordering beyond three segments does not use it. Guard B: it waits a
//! quarter of an RTT, in which the missing segment may still arrive.
//!
//! Follows RFC 5827 (April 2010) in the segment form, with the guards of the 2011 experiments
//! ("stop if reordering > 3", "delay RTT/4"). State: 40 bytes with its counters. RACK's reordering
//! window subsumes guard B; never run both. Departures: D1 (Linux) it does not act while a
//! retransmission is outstanding or inside an episode. D2 with guard B it acts at once if waiting
//! cannot help: the ACK carries ECE, there is no RTT sample, or the timeout is due first.

use super::Episode;
use crate::options::OptionValue;
use crate::units::{Nanos, Time};
use core::fmt;

/// LINUX er-delay: the shortest delay of guard B.
pub const MIN_DELAY: Nanos = Nanos::from_millis(2);
/// RFC5827 3-small: early retransmit handles flights of fewer segments than this; larger flights
/// use the ordinary threshold.
pub const MAX_SEGMENTS: u64 = 4;

/// OURS er-guard-a: which reordering switches early retransmit off for the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Guard {
    /// None.
    #[default]
    Off,
    /// A degree above three.
    Degree,
    /// Any reordering event, as in the first kernel version.
    Any,
}

/// Guard B: when to act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum When {
    /// On the ACK that meets the threshold.
    #[default]
    AtOnce,
    /// A quarter of an RTT later.
    Delayed,
}

/// Measure of the flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Segments as they were sent, a lone FIN included.
    #[default]
    Segments,
    /// Bytes: an application that writes tiny segments may have more than four in flight.
    Bytes,
}

/// With SACK: how many segments must have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// All but one.
    #[default]
    AllButOne,
    /// Any one, as in later kernels (`oseg >= sacked + 1`).
    Relaxed,
}

/// The variant of early retransmit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Guard A.
    pub guard: Guard,
    /// Guard B.
    pub when: When,
    /// Segments or bytes.
    pub measure: Measure,
    /// All but one, or any one.
    pub threshold: Threshold,
}

impl Options {
    /// No guard.
    pub const NAIVE: Options = Options {
        guard: Guard::Off,
        when: When::AtOnce,
        measure: Measure::Segments,
        threshold: Threshold::AllButOne,
    };
    /// Guard A.
    pub const A: Options = Options { guard: Guard::Degree, ..Options::NAIVE };
    /// Guard B.
    pub const B: Options = Options { when: When::Delayed, ..Options::NAIVE };
    /// Both guards.
    pub const AB: Options = Options { guard: Guard::Degree, when: When::Delayed, ..Options::NAIVE };
}

/// Early retransmit by the names of the 2011 experiments: without a guard, with either, or with
/// both. Other combinations have no name in an arm.
impl OptionValue for Options {
    fn parse(text: &str) -> Option<Options> {
        NAMES.iter().find(|(name, _)| *name == text).map(|&(_, options)| options)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            NAMES.iter().find(|(_, options)| options == self).map_or("custom", |&(name, _)| name),
        )
    }
}

const NAMES: [(&str, Options); 4] =
    [("naive", Options::NAIVE), ("a", Options::A), ("b", Options::B), ("ab", Options::AB)];

/// Inputs of the rule, after the scoreboard update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Outstanding segments, SACKed ones included.
    pub segments: u64,
    /// Outstanding bytes.
    pub bytes: u64,
    /// SACKed segments.
    pub sacked_segments: u64,
    /// SACKed bytes.
    pub sacked_bytes: u64,
    /// Duplicate ACKs since `una` last advanced.
    pub dupacks: u32,
    /// Whether the connection uses SACK.
    pub sack: bool,
    /// Whether new data is queued and the receiver's window allows a segment of it.
    pub new_data: bool,
    /// Whether a retransmission is outstanding.
    pub repeat_outstanding: bool,
    /// The congestion state.
    pub episode: Episode,
    /// The connection's reordering degree.
    pub reordering: super::reordering::Reordering,
    /// Segment size.
    pub mss: u64,
}

/// The clock of guard B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Current time.
    pub now: Time,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Nanos>,
    /// When the retransmission timeout is due.
    pub rto: Option<Time>,
    /// Whether the ACK carries ECE.
    pub ece: bool,
}

/// Action to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Mark the head lost and open an episode.
    Now,
    /// Wait until this time.
    Wait(Time),
}

/// Event counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times the head was declared lost.
    pub fired: u32,
    /// Delays started.
    pub delayed: u32,
    /// Delays that ended without action.
    pub cancelled: u32,
    /// Retransmissions by this rule that were later reported as duplicates.
    pub later_dsacked: u32,
}

/// Early retransmit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyRetransmit {
    options: Options,
    timer: Option<Time>,
    counts: Counts,
}

impl EarlyRetransmit {
    /// Creates the state of a connection with these options.
    pub fn new(options: Options) -> EarlyRetransmit {
        EarlyRetransmit { options, ..EarlyRetransmit::default() }
    }

    /// End of the delay, if one is running.
    pub fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether all but the first segment have arrived and nothing forbids early retransmit.
    pub fn eligible(&self, flight: &Flight) -> bool {
        let forbidden = match self.options.guard {
            Guard::Off => false,
            Guard::Degree => flight.reordering.degree() > 3,
            Guard::Any => flight.reordering.seen(),
        };
        // RFC5827 3-new: only if no new segment may be sent; otherwise limited transmit is better.
        // LINUX er-quiet: not during a retransmission or an episode (D1).
        if forbidden
            || flight.new_data
            || flight.repeat_outstanding
            || flight.episode != Episode::None
        {
            return false;
        }
        match self.options.measure {
            Measure::Segments => self.met_in_segments(flight),
            Measure::Bytes => Self::met_in_bytes(flight),
        }
    }

    /// RFC5827 3.2-1: a flight of 2 needs one, a flight of 3 two; a flight of 1 never qualifies,
    /// and 4 or more need the ordinary three.
    fn met_in_segments(&self, flight: &Flight) -> bool {
        if !(2..MAX_SEGMENTS).contains(&flight.segments) {
            return false;
        }
        let needed = flight.segments - 1;
        match (flight.sack, self.options.threshold) {
            (false, _) => u64::from(flight.dupacks) >= needed,
            (true, Threshold::AllButOne) => flight.sacked_segments == needed,
            (true, Threshold::Relaxed) => (1..=needed).contains(&flight.sacked_segments),
        }
    }

    /// RFC5827 3.1-1: the same with the flight rounded up to segments.
    fn met_in_bytes(flight: &Flight) -> bool {
        let mss = flight.mss.max(1);
        if flight.bytes <= mss || flight.bytes >= mss.saturating_mul(MAX_SEGMENTS) {
            return false;
        }
        if flight.sack {
            flight.sacked_bytes >= flight.bytes - mss && flight.sacked_bytes < flight.bytes
        } else {
            u64::from(flight.dupacks) >= flight.bytes.div_ceil(mss) - 1
        }
    }

    /// Updates the timer after an ACK. `advanced`: it moved `una`, which ends any delay.
    pub fn on_ack(&mut self, flight: &Flight, clock: &Clock, advanced: bool) -> Act {
        if advanced {
            self.cancel();
        }
        if !self.eligible(flight) {
            self.cancel();
            return Act::Nothing;
        }
        if let Some(at) = self.timer {
            return Act::Wait(at);
        }
        let Some(at) = self.delay(clock) else {
            self.counts.fired = self.counts.fired.saturating_add(1);
            return Act::Now;
        };
        self.counts.delayed = self.counts.delayed.saturating_add(1);
        self.timer = Some(at);
        Act::Wait(at)
    }

    /// LINUX er-guard-b: time to act, a quarter of an RTT later; `None`: at once.
    fn delay(&self, clock: &Clock) -> Option<Time> {
        let srtt = clock.srtt.filter(|_| self.options.when == When::Delayed && !clock.ece)?;
        let at = clock.now + Nanos(srtt.0 / 4).max(MIN_DELAY);
        // OURS er-rto: the delay must never push the repair past the timeout.
        if clock.rto.is_some_and(|rto| rto <= at) { None } else { Some(at) }
    }

    /// The delay is over. Returns `true` if the hole remains: the caller marks the head lost and
    /// opens an episode (by timer).
    pub fn on_timer(&mut self, flight: &Flight) -> bool {
        if self.timer.is_none() || !self.eligible(flight) {
            self.cancel();
            return false;
        }
        self.timer = None;
        self.counts.fired = self.counts.fired.saturating_add(1);
        true
    }

    /// New data was sent, `una` moved, the hole was filled or the timeout fired: the delay ends,
    /// and the rest of the timeout applies again.
    pub fn cancel(&mut self) {
        if self.timer.take().is_some() {
            self.counts.cancelled = self.counts.cancelled.saturating_add(1);
        }
    }

    /// A retransmission caused by this rule was reported as a duplicate.
    pub fn on_dsack(&mut self) {
        self.counts.later_dsacked = self.counts.later_dsacked.saturating_add(1);
    }
}
