//! The shortcuts of a flow. Everything in the simulator that exists only for speed is in a module
//! `fast` or in [`alike`](crate::alike):
//!
//! * A settled controller ([`instrumented`](crate::instrumented)) gives the same answer until its
//!   next ACK, so a sender sends bursts without a query for each packet.
//! * A receiver runs ahead of the clock: it takes a packet as soon as it has left, with its time of
//!   arrival, and a burst in runs that are acknowledged together.
//! * Packets that the pacer releases before any other event of the flow leave in one step.
//! * Several flows take turns without a look at what cannot happen before their next event
//!   (`sharing`).
//! * Arms that behave alike share a simulation ([`run_alike`](crate::run_alike)).
//!
//! The plain path is packet by packet and event by event, and takes an observer that
//! [watches](Observer::watches) through it. `tests/it/fast.rs` holds both equal.

use super::{Bursts, Due, Flow, due};
use crate::ahead::{Ahead, Toward};
use crate::back::{Back, Way};
use crate::observe::Observer;
use crate::pool::Plain;
use firstflight::Time;
use firstflight_path::Flight;

/// Whether receivers may run ahead of the clock on these paths: see [`Flow::goes_ahead_until`].
pub(crate) fn goes_ahead<S, A: Plain>(forward: &Toward<S, A>, back: &Way<A>) -> bool {
    match (forward, back) {
        (Toward::Link(link), Way::Link(_)) => link.keeps_order() && link.propagation() > 0,
        _ => false,
    }
}

impl<E: Bursts> Flow<E> {
    /// The receiver runs ahead of the clock: a packet that will arrive before `limit` is processed
    /// as soon as it has left, with its time of arrival. The receiver's behaviour depends only on
    /// which packets arrive and when, and the sender learns of it only when the acknowledgement
    /// arrives. So the result is the same, and the packet is neither put on the wire nor an event
    /// of its own. Requires a forward path that keeps the order, and that nobody inspects the
    /// receiver in the meantime.
    pub(crate) fn goes_ahead_until(&mut self, limit: u64) {
        debug_assert!(self.access.is_none(), "a way of its own keeps no order");
        self.ahead = limit;
    }

    /// No other flow shares its path before `limit`, and the fate of each packet is known when it
    /// leaves: packets that the pacer releases before any other event of the flow leave in one
    /// step.
    pub(crate) fn is_alone_until(&mut self, limit: u64) {
        self.alone = limit;
    }

    /// Whether its receiver runs ahead of the clock.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// Sends bursts until the window, the pacer or the data ends them; `now` moves on to releases of
    /// the pacer that no other event of the flow precedes. Returns whether nothing more may leave;
    /// otherwise packets must be polled.
    #[inline(always)]
    pub(super) fn send_bursts<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: &mut u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> bool {
        let mut next = self.ends.burst(Time(*now), self.most_sent - self.sent);
        while let Some(burst) = next {
            if burst > 0 {
                if !self.fly(*now, burst, forward, back, observer) {
                    for _ in 0..burst {
                        let sent = self.ends.next_of_burst(Time(*now));
                        self.leave(*now, &sent, forward, back, observer);
                    }
                }
                self.ends.end_burst(Time(*now), burst);
            }
            if self.sent >= self.most_sent || !self.ends.is_blocked(Time(*now)) {
                return false;
            }
            self.note_sender();
            if self.due.release >= self.undisturbed() {
                return true;
            }
            // This flow has no other event before its pacer releases the next packet.
            *now = self.due.release;
            self.audit.on_event(*now);
            next = if self.ends.release(Time(*now)) {
                Some(1)
            } else {
                self.ends.burst(Time(*now), self.most_sent - self.sent)
            };
        }
        false
    }

    /// Until this time the flow has no event except releases by its pacer, ns; 0 if other flows
    /// share its path.
    #[inline(always)]
    fn undisturbed(&self) -> u64 {
        let Due { data, acks, held_ack, timer, app, .. } = self.due;
        self.alone.min(data).min(acks).min(held_ack).min(timer).min(app)
    }

    /// Sends a burst whose packets the receiver processes ahead of the clock, in runs that are
    /// acknowledged together. Returns whether it did; if anything could happen between two of the
    /// packets, nothing is changed.
    #[inline(always)]
    fn fly<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        burst: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> bool {
        if self.app.is_some() || self.ahead <= now {
            return false;
        }
        let Some(hold) = self.ends.runs() else { return false };
        let Some(mut flight) = forward.flight(now, self.ends.burst_len(), burst) else {
            return false;
        };
        let serving = flight.serving(burst);
        let latest = flight.latest(serving).saturating_add(self.extra.0);
        // No ACK, held back now or later, leaves before the last of the packets has arrived.
        if latest >= self.ahead.min(self.due.held_ack) || serving >= hold.0 {
            return false;
        }
        self.sent += burst;
        let mut left = burst;
        let (mut waited, mut at) = self.next_arrival(&mut flight);
        let shortest = waited;
        loop {
            let run = left.min(self.ends.until_ack());
            let first = at;
            for _ in 1..run {
                (waited, at) = self.next_arrival(&mut flight);
            }
            if let Some(packet) = self.ends.on_run(Time(now), run, Time(first), Time(at)) {
                self.give_back(at, packet, back, observer);
            }
            left -= run;
            if left == 0 {
                break;
            }
            (waited, at) = self.next_arrival(&mut flight);
        }
        self.waits.bound(shortest, waited);
        forward.take_off(&flight, burst);
        self.ends.take_burst(Time(now), burst);
        if self.due.missing && self.ends.has_all() {
            (self.due.missing, self.delivered_at) = (false, Some(Time(at)));
        }
        self.due.held_ack = due(self.ends.ack_due());
        true
    }

    /// Waiting time of the next packet of a flight, us, and its arrival time.
    #[inline(always)]
    fn next_arrival(&mut self, flight: &mut Flight) -> (u64, u64) {
        let (waited, at) = flight.next_arrival();
        let at = at + self.extra.0;
        self.audit.on_taken(at);
        self.audit.on_arrived(at, at);
        (self.waits.count(waited), at)
    }

    /// The receiver takes a packet ahead of the clock; the tuple is its arrival time, its waiting
    /// time, and whether it is marked.
    #[inline(always)]
    pub(super) fn take_one_ahead<O: Observer, B: Back<E::Ack>>(
        &mut self,
        sent: &E::Sent,
        (at, waited, marked): (u64, u64, bool),
        back: &mut B,
        observer: &mut O,
    ) {
        let at = at.saturating_add(self.extra.0);
        self.waits.add(waited);
        self.audit.on_taken(at);
        let marked = marked && !self.hides_marks;
        self.until(at, back, observer);
        let ack = self.ends.on_sent_data(Time(at), sent, marked);
        self.taken(at, ack, back, observer);
        self.due.held_ack = due(self.ends.ack_due());
    }

    /// Processes the packets on the wire ahead of the clock, see [`Flow::goes_ahead_until`].
    #[cold]
    pub(super) fn take_ahead<B: Back<E::Ack>, O: Observer>(
        &mut self,
        back: &mut B,
        observer: &mut O,
    ) {
        while self.due.data < self.ahead {
            if let Some(data) = self.data.arrive(self.due.data) {
                self.until(data.at, back, observer);
                let ack = self.ends.on_data(Time(data.at), &data.what);
                self.taken(data.at, ack, back, observer);
                self.due.held_ack = due(self.ends.ack_due());
            }
            self.due.data = self.data.next();
        }
    }

    /// Processes the receiver's events before the packet that arrives at `now`, ahead of the clock.
    /// At the same instant, data comes first.
    #[inline(always)]
    pub(super) fn until<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        back: &mut B,
        observer: &mut O,
    ) {
        while self.due.held_ack < now {
            self.acknowledge_held(back, observer);
        }
        self.audit.on_arrived(now, now);
    }

    #[inline(never)]
    fn acknowledge_held<B: Back<E::Ack>, O: Observer>(&mut self, back: &mut B, observer: &mut O) {
        let held = self.due.held_ack;
        let packet = self.ends.acknowledge(Time(held));
        self.return_ack(held, packet, back, observer);
        self.due.held_ack = due(self.ends.ack_due());
    }
}
