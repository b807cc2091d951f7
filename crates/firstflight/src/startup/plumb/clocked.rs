//! What Plumb reads by the receiver's clock, where there is one: the same as by its own, without
//! what the way back adds.

use crate::event::{Ack, Context};
use crate::signal::bunches::Bunches;
use crate::signal::receiver_clock::{ReceiverClock, TICK};
use crate::signal::sounding::{Estimate, Sounding};
use crate::units::Nanos;

/// PLUMB 8-grain: ticks that a round trip must have; on a shorter path they are too long to tell
/// anything.
const TICKS: u64 = 20;

/// The receiver's side of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocked {
    clock: ReceiverClock,
    sounding: Sounding,
    bunches: Bunches,
    /// The smallest RTT by this clock.
    min: Nanos,
    /// At most so much of the RTT of the present ACK was spent on the way there.
    rise: Nanos,
    /// The present ACK was read.
    read: bool,
    /// The receiver acknowledged several at once: its clock knows no more than ours.
    bunched: bool,
}

impl Clocked {
    pub(super) fn new(version: u8) -> Clocked {
        Clocked {
            clock: ReceiverClock::default(),
            sounding: Sounding::by_ticks(version, TICK),
            bunches: Bunches::default(),
            min: Nanos::MAX,
            rise: Nanos::MAX,
            read: false,
            bunched: false,
        }
    }

    /// One ACK of startup in round `round`; `min` is the smallest RTT.
    pub(super) fn on_ack(&mut self, ack: &Ack, min: Nanos, round: u32, cx: &Context) {
        let (mss, reading) = (cx.mss, self.clock.on_ack(ack, &cx.so_far));
        let reading = reading.filter(|_| min >= TICK * TICKS);
        self.read = reading.is_some();
        self.rise = Nanos::MAX;
        let Some(reading) = reading else { return };
        let arrival = reading.arrival;
        self.min = self.min.min(arrival.rtt);
        // A stamp may be a tick too early.
        self.rise = arrival.rtt - self.min + TICK;
        if reading.begins {
            self.sounding.on_rtt(arrival.rtt);
            self.bunches.on_arrival(arrival, Nanos(min.0 / 4), mss);
            self.sounding.on_arrival(arrival, min, round, mss);
        }
        self.bunched |= self.bunches.verdict() == Some(true);
    }

    /// A round begins: it is judged anew.
    pub(super) fn next_round(&mut self) {
        self.bunched = self.bunches.verdict().unwrap_or(self.bunched);
        self.bunches.next_round();
    }

    /// The clock is read, and its arrivals are single ones.
    pub(super) fn is_of_use(&self) -> bool {
        self.read && !self.bunched
    }

    /// What it measures in round `round`.
    pub(super) fn estimate(&self, round: u32) -> Option<Estimate> {
        self.sounding.estimate(round).filter(|_| self.is_of_use())
    }

    /// PLUMB 8-forward: this RTT of the present ACK without what the way back has added.
    pub(super) fn forward(&self, rtt: Nanos, min: Nanos) -> Nanos {
        rtt.min(min + self.rise)
    }

    /// How far the RTTs lie apart that no queue of ours can have raised, at most.
    pub(super) fn spread(&self) -> Nanos {
        if self.read { self.sounding.spread() + TICK } else { Nanos::MAX }
    }

    pub(super) fn forget(&mut self) {
        self.sounding.forget();
    }
}
