//! Departure of a flow's data: packet by packet, or as a burst that is known to arrive in runs.

use super::{Due, Ends, Flow, Timed, due};
use crate::ahead::{Ahead, Outgoing};
use crate::back::Back;
use crate::observe::{Cause, Observer};
use crate::wire::NEVER;
use firstflight::Time;
use firstflight::state::Packet;
use firstflight_path::{Fate, Flight};

impl<E: Ends> Flow<E> {
    #[inline]
    pub(super) fn note_sender(&mut self) {
        (self.due.release, self.due.timer) =
            (due(self.ends.release_at()), self.late.of(due(self.ends.timer_at())));
        if self.sent >= self.most_sent {
            // The flow may send no more packets, so its sender waits for nothing.
            (self.due.release, self.due.timer) = (NEVER, NEVER);
        }
    }

    /// Until this time the flow has no event except releases by its pacer, ns; 0 if other flows
    /// share its path.
    #[inline(always)]
    fn undisturbed(&self) -> u64 {
        let Due { data, acks, held_ack, timer, app, .. } = self.due;
        self.alone.min(data).min(acks).min(held_ack).min(timer).min(app)
    }

    /// Sends as much as window, pacer and data allow.
    #[inline(never)]
    pub fn pump<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) {
        self.send_out(now, forward, back, observer);
    }

    #[inline(always)]
    pub(super) fn send_out<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        mut now: u64,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) {
        let mut next = if observer.watches() {
            None
        } else {
            self.ends.burst(Time(now), self.most_sent - self.sent)
        };
        while let Some(burst) = next {
            if burst > 0 {
                if !self.fly(now, burst, forward, back, observer) {
                    for _ in 0..burst {
                        let sent = self.ends.next_of_burst(Time(now));
                        self.leave(now, &sent, forward, back, observer);
                    }
                }
                self.ends.end_burst(Time(now), burst);
            }
            if self.sent >= self.most_sent || !self.ends.is_blocked(Time(now)) {
                break;
            }
            self.note_sender();
            if self.due.release >= self.undisturbed() {
                return;
            }
            // This flow has no other event before its pacer releases the next packet.
            now = self.due.release;
            self.audit.on_event(now);
            next = if self.ends.release(Time(now)) {
                Some(1)
            } else {
                self.ends.burst(Time(now), self.most_sent - self.sent)
            };
        }
        while self.sent < self.most_sent {
            let Some(sent) = self.ends.poll(Time(now)) else { break };
            let fate = self.leave(now, &sent, forward, back, observer);
            if observer.listens() {
                let arrives = match fate {
                    Some(Fate::Deliver { at, .. }) => [Some(at), None],
                    Some(Fate::Duplicate { at, again, .. }) => [Some(at), Some(again)],
                    Some(Fate::Drop(_)) | None => [None; 2],
                };
                let arrives = arrives.map(|at| at.map(|at| Time(at.saturating_add(self.extra.0))));
                let ends = &self.ends;
                let packet = Packet {
                    number: ends.number(&sent),
                    bytes: u64::from(ends.data_len(&sent)),
                    stream: Some((ends.offset(&sent), ends.payload(&sent))),
                    repeat: Some(ends.is_repeat(&sent)),
                    dropped: matches!(fate, Some(Fate::Drop(_))),
                };
                self.pass_on(Time(now), Some((packet, arrives)), forward, observer);
            }
            self.watch(Time(now), Cause::Sent, None, forward, observer);
        }
        if observer.listens() {
            self.pass_on(Time(now), None, forward, observer);
        }
        self.note_sender();
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

    /// Sends a packet. Returns its fate, if it is known.
    #[inline(always)]
    fn leave<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        sent: &E::Sent,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> Option<Fate> {
        self.sent += 1;
        let len = self.ends.data_len(sent);
        let Some((at, waited)) = forward.carry(now, len) else {
            return self.leave_as_it_may(now, sent, forward, back, observer);
        };
        self.note_left(now, sent);
        if at.saturating_add(self.extra.0) < self.ahead {
            self.take_one_ahead(sent, (at, waited, false), back, observer);
        } else {
            self.waits.add(waited);
            self.send(sent, at, false);
        }
        Some(Fate::Deliver { at, waited, marked: false })
    }

    /// Like [`Flow::leave`], if the packet's arrival is not known in advance.
    #[inline(never)]
    fn leave_as_it_may<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
        &mut self,
        now: u64,
        sent: &E::Sent,
        forward: &mut F,
        back: &mut B,
        observer: &mut O,
    ) -> Option<Fate> {
        let len = self.ends.data_len(sent);
        let fate = forward.send(now, len, || Outgoing {
            flow: self.id,
            bucket: self.bucket,
            len,
            codepoint: self.codepoint,
            l4s: self.l4s,
            sent: *sent,
        });
        self.note_left(now, sent);
        match fate {
            Some(Fate::Deliver { at, waited, marked })
                if at.saturating_add(self.extra.0) < self.ahead =>
            {
                self.take_one_ahead(sent, (at, waited, marked), back, observer);
            }
            Some(fate) => self.land(sent, Time(now), fate),
            None => {}
        }
        fate
    }

    /// Tells the application that a packet left.
    #[inline(always)]
    fn note_left(&mut self, now: u64, sent: &E::Sent) {
        if let Some(app) = &mut self.app {
            app.on_sent(Time(now), self.ends.offset(sent));
            app.on_left(Time(now), self.ends.number(sent));
        }
    }

    /// The receiver takes a packet ahead of the clock; the tuple is its arrival time, its waiting
    /// time, and whether it is marked.
    #[inline(always)]
    fn take_one_ahead<O: Observer, B: Back<E::Ack>>(
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

    /// The fate of a packet that left at `left` is known.
    #[inline]
    pub(crate) fn land(&mut self, sent: &E::Sent, left: Time, fate: Fate) {
        match fate {
            Fate::Deliver { at, waited, marked } => {
                self.waits.add(waited);
                self.send(sent, at, marked);
            }
            Fate::Duplicate { at, again, waited, marked } => {
                self.waits.add(waited);
                self.send(sent, at, marked);
                self.send(sent, again, marked);
            }
            Fate::Drop(cause) => {
                self.drops.add(cause);
                if let Some(app) = &mut self.app {
                    app.on_dropped(self.ends.offset(sent));
                }
                self.ends.on_dropped(sent, left);
            }
        }
    }

    #[inline]
    fn send(&mut self, sent: &E::Sent, at: u64, marked: bool) {
        let mut at = at.saturating_add(self.extra.0);
        if let Some(access) = &mut self.access {
            at = access.data(at);
        }
        self.audit.on_taken(at);
        self.due.data = self.due.data.min(at);
        let marked = marked && !self.hides_marks;
        self.data.send(Timed { at, what: self.ends.packet(sent, marked) });
    }
}
