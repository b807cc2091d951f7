//! The events of a flow that its observer receives.

use super::{Bursts, Flow};
use crate::ahead::Ahead;
use crate::observe::{Cause, Observer, Snapshot};
use firstflight::state::{Packet, State};
use firstflight::{Ack, Event, Exit, Time};

impl<E: Bursts> Flow<E> {
    /// Passes on the events that the controller has received since the last call.
    #[cold]
    pub(super) fn pass_on<O: Observer, F: Ahead<E::Sent>>(
        &mut self,
        now: Time,
        left: Option<(Packet, [Option<Time>; 2])>,
        forward: &mut F,
        observer: &mut O,
    ) {
        while let Some(mut record) = self.ends.next_record() {
            let inflight = match record.event {
                Event::Congestion(_) | Event::Spurious { .. } | Event::Mss { .. } => {
                    self.ends.inflight()
                }
                _ => record.state.inflight,
            };
            record.state = State {
                inflight,
                queue: forward.queued_bytes(now.0),
                min_rtt: self.ends.min_rtt(),
                delivered: self.delivered(),
                ..record.state
            };
            if let (Some((packet, arrives)), Event::Sent(_)) = (left, &record.event) {
                (record.packet, record.arrives) = (Some(packet), arrives);
            }
            observer.on_told(record);
        }
    }

    #[inline]
    pub(super) fn watch<O: Observer, F: Ahead<E::Sent>>(
        &mut self,
        now: Time,
        event: Cause,
        ack: Option<&Ack>,
        forward: &mut F,
        observer: &mut O,
    ) {
        if !observer.watches() {
            return;
        }
        if observer.listens() {
            self.pass_on(now, None, forward, observer);
        }
        let controller = self.ends.controller();
        let state = State {
            inflight: self.ends.inflight(),
            queue: forward.queued_bytes(now.0),
            ..State::of(controller, ack)
        };
        let snapshot = self.snapshot(now, event, controller.exit(), state);
        observer.on_event(&snapshot, &|visit| controller.signals(visit));
    }

    /// Adds the state that the flow knows and its controller does not.
    #[inline]
    fn snapshot(&self, now: Time, event: Cause, exit: Option<Exit>, state: State) -> Snapshot {
        let (min_rtt, delivered) = (self.ends.min_rtt(), self.delivered());
        Snapshot { flow: self.id, now, event, state: State { min_rtt, delivered, ..state }, exit }
    }
}
