//! Feeds a controller with the events of a log.

use super::Controller;
use crate::avoidance::Avoidance;
use crate::event::Event;
use crate::recovery::Policy;
use crate::startup::Startup;

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    /// Passes one event to it.
    pub fn tell(&mut self, event: &Event) {
        match event {
            Event::HandshakeRtt { now, rtt } => self.on_handshake_rtt(*now, *rtt),
            Event::Ready(ready) => self.before_send(ready),
            Event::Sent(sent) => self.on_sent(sent),
            Event::Ack(ack, _) => self.on_ack(ack),
            Event::Congestion(congestion) => self.on_congestion(congestion),
            Event::Spurious { .. } => self.on_spurious(),
            Event::Mss { mss, .. } => self.set_mss(*mss),
        }
    }
}
