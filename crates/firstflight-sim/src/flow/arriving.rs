//! Arrival of a flow's data, on time or ahead of the clock, and the return of its ACKs.

use super::{Bursts, Flow, Timed, due};
use crate::back::{Back, Leaving};
use crate::observe::Observer;
use firstflight::Time;

impl<E: Bursts> Flow<E> {
    /// Delivers the packets that arrive by `now` to the receiver.
    #[inline(always)]
    pub(super) fn take_data<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        back: &mut B,
        observer: &mut O,
    ) {
        while let Some(data) = self.data.arrive(now) {
            self.audit.on_arrived(now, data.at);
            if let Some(app) = self.app.as_mut().filter(|app| app.is_media())
                && let Some((number, marked)) = self.ends.arriving(&data.what)
            {
                app.on_arrived(Time(now), number, marked);
            }
            let ack = self.ends.on_data(Time(now), &data.what);
            self.taken(now, ack, back, observer);
        }
        self.due.data = self.data.next();
        self.due.held_ack = due(self.ends.ack_due());
    }

    /// Follow-up work after a packet has reached the receiver.
    #[inline(always)]
    pub(super) fn taken<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        ack: Option<E::Ack>,
        back: &mut B,
        observer: &mut O,
    ) {
        if self.due.missing && self.ends.has_all() {
            (self.due.missing, self.delivered_at) = (false, Some(Time(now)));
        }
        if let Some(app) = &mut self.app {
            app.on_delivered(Time(now), self.ends.delivered());
        }
        if let Some(packet) = ack {
            self.return_ack(now, packet, back, observer);
        }
    }

    #[inline(never)]
    pub(super) fn return_ack<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        packet: E::Ack,
        back: &mut B,
        observer: &mut O,
    ) {
        self.give_back(now, packet, back, observer);
    }

    /// The receiver sends an ACK.
    #[inline(always)]
    pub(super) fn give_back<B: Back<E::Ack>, O: Observer>(
        &mut self,
        now: u64,
        packet: E::Ack,
        back: &mut B,
        observer: &mut O,
    ) {
        if observer.listens() {
            observer.on_acknowledgement(self.id, Time(now), self.ends.ack_len(&packet));
        }
        let leaving = self.leaving(packet);
        back.send(now, leaving, |at| self.hear(at, packet));
        if self.copies > 0 {
            self.copy_ack(now, packet, back);
        }
    }

    #[inline(always)]
    fn leaving(&self, packet: E::Ack) -> Leaving<E::Ack> {
        let (len, pure) = (self.ends.ack_len(&packet), E::is_pure(&packet));
        Leaving { flow: self.id, len, pure, opens: false, packet }
    }

    // Built again for each copy, so that the usual ACK, which has no copies, need not stay in
    // memory.
    #[cold]
    fn copy_ack<B: Back<E::Ack>>(&mut self, now: u64, packet: E::Ack, back: &mut B) {
        for _ in 0..self.copies {
            let leaving = self.leaving(packet);
            back.send(now, leaving, |at| self.hear(at, packet));
        }
    }

    /// An ACK will arrive at `at`, as far as the path knows; the flow's own delay is added here.
    #[inline(always)]
    pub fn hear(&mut self, at: u64, packet: E::Ack) {
        let mut at = at.saturating_add(self.extra.1);
        if let Some(access) = &mut self.access {
            at = access.ack(at);
        }
        self.due.acks = self.due.acks.min(at);
        self.acks.send(Timed { at, what: packet });
    }
}
