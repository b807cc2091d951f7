//! Plumb's measurements by the receiver's clock, if there is one: the same as by the sender's
//! clock, without the delay of the return path.

use crate::event::{Ack, Context};
use crate::signal::bunches::Bunches;
use crate::signal::receiver_clock::{ReceiverClock, TICK};
use crate::signal::sounding::{Estimate, Sounding};
use crate::units::Nanos;

/// PLUMB 8-grain: least number of ticks per round trip; on a shorter path the clock is too coarse.
const TICKS: u64 = 20;

/// The receiver's side of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocked {
    clock: ReceiverClock,
    sounding: Sounding,
    bunches: Bunches,
    /// The smallest RTT by this clock.
    min: Nanos,
    /// Upper bound of the current ACK's RTT rise on the forward path.
    rise: Nanos,
    /// Whether the current ACK had a usable timestamp.
    read: bool,
    /// Whether the receiver acknowledged several packets at once, so that its clock is no better
    /// than the sender's.
    bunched: bool,
}

impl Clocked {
    pub(super) fn new() -> Clocked {
        Clocked {
            clock: ReceiverClock::default(),
            sounding: Sounding::by_ticks(TICK),
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
        // A timestamp may be a tick too early.
        self.rise = arrival.rtt - self.min + TICK;
        if reading.begins {
            self.sounding.on_rtt(arrival.rtt);
            self.bunches.on_arrival(arrival, Nanos(min.0 / 4), mss);
            self.sounding.on_arrival(arrival, min, round, mss);
        }
        self.bunched |= self.bunches.verdict() == Some(true);
    }

    /// A round begins: bunches are judged again.
    pub(super) fn next_round(&mut self) {
        self.bunched = self.bunches.verdict().unwrap_or(self.bunched);
        self.bunches.next_round();
    }

    /// Whether the clock is usable and arrivals do not come in bunches.
    pub(super) fn is_of_use(&self) -> bool {
        self.read && !self.bunched
    }

    /// The estimate in round `round`.
    pub(super) fn estimate(&self, round: u32) -> Option<Estimate> {
        self.sounding.estimate(round).filter(|_| self.is_of_use())
    }

    /// PLUMB 8-forward: the current ACK's RTT without the delay added by the return path.
    pub(super) fn forward(&self, rtt: Nanos, min: Nanos) -> Nanos {
        rtt.min(min + self.rise)
    }

    /// Upper bound of the spread of RTTs that no queue of the sender's own can have raised.
    pub(super) fn spread(&self) -> Nanos {
        if self.read { self.sounding.spread() + TICK } else { Nanos::MAX }
    }

    pub(super) fn forget(&mut self) {
        self.sounding.forget();
    }
}
