//! The receiver's clock: when a packet arrived, whatever the return path did to its ACK.
//!
//! An ACK that carries the receiver's time (TCP timestamps, RFC 7323) gives the one-way delay of
//! the forward path, up to a constant. An [`Arrival`] of this clock is what the sender would see if
//! the return path always had its smallest delay.
//!
//! Follows: ours; prior art is BEST and delay-based transports (RFC 6817). State: 40 bytes.

use super::sounding::Arrival;
use crate::event::{Ack, SoFar};
use crate::units::{Nanos, Time};

/// The tick of nearly all stacks. If the ticks have another length, this is detected and the clock
/// is not used.
pub const TICK: Nanos = Nanos::from_millis(1);

/// The receiver's clock of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverClock {
    state: State,
    /// Timestamp, arrival and RTT of the first ACK with a timestamp.
    stamp: u32,
    began: Time,
    rtt: Nanos,
    /// Offset by which the clock reads earlier than at the first ACK, because the return path has been
    /// faster since.
    back: Nanos,
    /// Ticks since the first one.
    ticks: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unseen,
    Read,
    /// Its ticks are not milliseconds.
    Wrong,
}

impl ReceiverClock {
    /// Processes an ACK. `None` if it has no time stamp or no RTT, or if the clock is unusable.
    pub fn on_ack(&mut self, ack: &Ack, so_far: &SoFar) -> Option<Reading> {
        let (stamp, sample) = (ack.detail.receiver_ts?, Arrival::of(ack, so_far)?);
        match self.state {
            State::Wrong => return None,
            State::Read => {}
            State::Unseen => {
                let (state, began, rtt) = (State::Read, sample.at, sample.rtt);
                *self = ReceiverClock { state, stamp, began, rtt, ..*self };
                return None;
            }
        }
        let ticks = stamp.wrapping_sub(self.stamp);
        let begins = ticks > self.ticks;
        let by_clock = self.began + TICK * u64::from(ticks);
        // PLUMB 8-clock: an ACK never arrives before it leaves.
        self.back = self.back.max(by_clock.since(sample.at));
        let at = Time(by_clock.0.saturating_sub(self.back.0));
        // PLUMB 8-tick: the return delay cannot be negative. A clock with other ticks soon violates
        // this.
        if self.back > self.rtt + TICK || at + TICK < sample.sent() {
            self.state = State::Wrong;
            return None;
        }
        self.ticks = self.ticks.max(ticks);
        let rtt = at.since(sample.sent());
        Some(Reading { arrival: Arrival { at, rtt, delivered: sample.delivered }, begins })
    }
}

/// An ACK's arrival by the receiver's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The arrival, up to one tick too early.
    pub arrival: Arrival,
    /// Whether it is the first of its tick: `at` is then exact except for the time since the
    /// previous ACK.
    pub begins: bool,
}
