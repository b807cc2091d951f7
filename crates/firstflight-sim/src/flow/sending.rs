//! Departure of a flow's data: packet by packet, or as a burst that is known to arrive in runs.

use super::{Bursts, Flow, Timed, due};
use crate::ahead::{Ahead, Outgoing};
use crate::back::Back;
use crate::observe::{Cause, Observer};
use crate::wire::NEVER;
use firstflight::Time;
use firstflight::state::Packet;
use firstflight_path::Fate;

impl<E: Bursts> Flow<E> {
    #[inline]
    pub(super) fn note_sender(&mut self) {
        (self.due.release, self.due.timer) =
            (due(self.ends.release_at()), self.late.of(due(self.ends.timer_at())));
        if self.sent >= self.most_sent {
            // The flow may send no more packets, so its sender waits for nothing.
            (self.due.release, self.due.timer) = (NEVER, NEVER);
        }
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
        if !observer.watches() && self.send_bursts(&mut now, forward, back, observer) {
            return;
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

    /// Sends a packet. Returns its fate, if it is known.
    #[inline(always)]
    pub(super) fn leave<O: Observer, F: Ahead<E::Sent>, B: Back<E::Ack>>(
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
            ect: self.ends.ect(),
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
