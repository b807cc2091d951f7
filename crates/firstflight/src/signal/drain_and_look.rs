//! Drain and look: whose queue is it?
//!
//! A raised RTT may come from the sender's own queue, from another flow's queue, or from noise. The
//! sender reduces its window to what the path holds without a queue, waits until its own queue must
//! be gone, and observes the RTT again for half a round trip.
//!
//! Follows: ours; prior art is BBR's drain. State: 40 bytes.

use crate::event::Ack;
use crate::units::{Nanos, Seq, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// Until everything sent before the landing is acknowledged.
    Drain {
        until: Seq,
    },
    Look {
        until: Time,
    },
}

/// Result of the observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The RTT fell: the queue was the sender's.
    Ours,
    /// The RTT stayed high although none of the sender's own queue can be left.
    Others {
        /// The window before the landing, bytes.
        before: u64,
        /// RTT above the minimum that looked like a queue.
        rise: Nanos,
    },
}

/// Judges one landing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainAndLook {
    state: State,
    before: u64,
    rise: Nanos,
    /// Smallest RTT seen while looking.
    least: Nanos,
}

impl Default for DrainAndLook {
    fn default() -> Self {
        DrainAndLook { state: State::Idle, before: 0, rise: Nanos::ZERO, least: Nanos::MAX }
    }
}

impl DrainAndLook {
    /// The window was `before` and has landed; packets starting with `until` leave after the
    /// landing. The RTT was `rise` above the minimum.
    pub fn begin(&mut self, until: Seq, before: u64, rise: Nanos) {
        *self = DrainAndLook { state: State::Drain { until }, before, rise, least: Nanos::MAX };
    }

    /// Whether a landing is being judged; the window does not change meanwhile.
    pub fn is_active(&self) -> bool {
        self.state != State::Idle
    }

    /// The window before the landing, while the queue is still draining.
    pub fn draining_from(&self) -> Option<u64> {
        matches!(self.state, State::Drain { .. }).then_some(self.before)
    }

    /// Stops without a finding. Returns the window before the landing, if a landing was being
    /// judged.
    pub fn abort(&mut self) -> Option<u64> {
        let active = self.is_active();
        self.state = State::Idle;
        active.then_some(self.before)
    }

    /// Processes one ACK. `rtt` is its RTT or the part of it that may indicate a queue, `min` the
    /// smallest RTT, and `slack` the excess over `min` that the landing itself may leave.
    pub fn on_ack(
        &mut self,
        ack: &Ack,
        rtt: Option<Nanos>,
        min: Nanos,
        slack: Nanos,
    ) -> Option<Finding> {
        match self.state {
            State::Idle => None,
            State::Drain { until } => {
                if ack.una >= until {
                    self.state = State::Look { until: ack.now + Nanos(min.0 / 2) };
                    self.least = rtt.unwrap_or(Nanos::MAX);
                }
                None
            }
            State::Look { until } => {
                self.least = self.least.min(rtt.unwrap_or(Nanos::MAX));
                if ack.now < until || self.least == Nanos::MAX {
                    return None;
                }
                self.state = State::Idle;
                // PLUMB 4-look: more than half of the rise remains.
                let stayed = self.least - min > Nanos(self.rise.0 / 2) + slack;
                let (before, rise) = (self.before, self.rise);
                Some(if stayed { Finding::Others { before, rise } } else { Finding::Ours })
            }
        }
    }
}
