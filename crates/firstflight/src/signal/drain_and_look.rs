//! Drain and look: whose queue is it?
//!
//! A raised RTT may be the sender's own queue, somebody else's, or noise. The sender lands at what
//! the path holds without a queue, waits until the queue of its own must be gone, and looks at the
//! RTT again for half a round trip.
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

/// What the look showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The RTT fell: the queue was the sender's.
    Ours,
    /// It stayed up although nothing of ours can be left.
    Others {
        /// The window before the landing, bytes.
        before: u64,
        /// RTT over the smallest that looked like a queue.
        rise: Nanos,
    },
}

/// One landing at a time.
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
    /// The window was `before` and has landed; packets from `until` on leave after that. The RTT
    /// was `rise` above the smallest.
    pub fn begin(&mut self, until: Seq, before: u64, rise: Nanos) {
        *self = DrainAndLook { state: State::Drain { until }, before, rise, least: Nanos::MAX };
    }

    /// A landing is being judged: the window stands still.
    pub fn is_active(&self) -> bool {
        self.state != State::Idle
    }

    /// The window before the landing, while it still drains.
    pub fn draining_from(&self) -> Option<u64> {
        matches!(self.state, State::Drain { .. }).then_some(self.before)
    }

    /// Ends it without a finding. Returns the window before the landing, if one was being judged.
    pub fn abort(&mut self) -> Option<u64> {
        let active = self.is_active();
        self.state = State::Idle;
        active.then_some(self.before)
    }

    /// One ACK, with its RTT or what of it may stand for a queue. `min` is the smallest RTT, `slack`
    /// the RTT that the landing itself may keep above it.
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
                // PLUMB 4-look: more than half of the rise is still there.
                let stayed = self.least - min > Nanos(self.rise.0 / 2) + slack;
                let (before, rise) = (self.before, self.rise);
                Some(if stayed { Finding::Others { before, rise } } else { Finding::Ours })
            }
        }
    }
}
