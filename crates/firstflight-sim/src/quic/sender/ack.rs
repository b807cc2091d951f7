//! Processing of ACKs and of the timer: acknowledged packets, losses, and the record for the
//! controller.

use super::Sender;
use crate::instrumented::{Combined, Company};
use crate::quic::loss::{Carries, State, detect};
use crate::quic::{AckPacket, Receiver};
use firstflight::{Ack, Congestion, Nanos, Seq, Time, Timeout};

/// The last packet of a group, and its departure time.
#[derive(Clone, Copy, Debug)]
struct Run {
    last: u64,
    sent: Time,
}

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Processes an ACK. Returns the record given to the controller, or `None` if the ACK contained
    /// nothing new.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, packet: AckPacket, receiver: &mut Receiver) -> Option<Ack> {
        let mut ack = Ack::blank(now);
        self.hear(now, packet, receiver, &mut ack).then_some(ack)
    }

    /// Like [`Sender::on_ack`], with the record in `ack`, which must be the default. Returns
    /// whether the ACK contained anything new.
    #[inline(always)]
    pub(in crate::quic) fn hear(
        &mut self,
        now: Time,
        packet: AckPacket,
        receiver: &mut Receiver,
        ack: &mut Ack,
    ) -> bool {
        // The nearest position in the log: ACKs may overtake each other, but not by 2^31 packets.
        let new = packet.log_end.wrapping_sub(self.log_seen as u32) as i32;
        if new <= 0 {
            return false;
        }
        (ack.now, ack.inflight_before) = (now, self.inflight);
        let mark = self.controller.recovery_mark().map_or(0, |mark| mark.0);
        if let Some(largest) =
            self.acknowledge_run(u64::from(new.unsigned_abs()), mark, receiver, ack)
        {
            self.measure(now, packet, largest, ack);
            ack.flight = self.inflight;
            // No packet below the largest acknowledged one is in flight, so none can be lost.
            (self.loss_time, self.lost_this_pass, self.hole_this_pass) = (None, 0, 0);
            if self.inflight == 0 {
                self.idle_since = Some(now);
            }
            self.tell(ack);
            if self.sent.base() < self.oldest {
                self.forget_settled(now);
            }
            return true;
        }
        self.hear_each(now, packet, new, mark, receiver, ack);
        true
    }

    /// Processes any ACK.
    #[inline(never)]
    fn hear_each(
        &mut self,
        now: Time,
        packet: AckPacket,
        new: i32,
        mark: u64,
        receiver: &mut Receiver,
        ack: &mut Ack,
    ) {
        self.plain_from = self.sent.end();
        let mut largest: Option<u64> = None;
        for _ in 0..new {
            let Some(logged) = receiver.log.pop() else { break };
            let number = logged.number(self.sent.end());
            let before = ack.acked;
            let news = self.acknowledge(number, mark, ack);
            if let Some(ecn) = &mut self.ecn {
                if let Some(bytes) = news {
                    ecn.on_acked(number, bytes, logged.marked());
                }
            } else if logged.marked() {
                ack.ce = true;
                *ack.detail.ce_bytes.get_or_insert(0) += ack.acked - before;
            }
            largest = largest.max(Some(number));
        }
        self.log_seen += u64::from(new.unsigned_abs());
        ack.tx_acked = largest;
        let advances = largest > self.largest_acked;
        if let Some(marked) = self.ecn.as_mut().and_then(|ecn| ecn.on_ack(advances)) {
            (ack.ce, ack.detail.ce_bytes) = (true, Some(marked));
        }
        if let Some(number) =
            largest.filter(|&number| self.largest_acked.is_none_or(|before| number > before))
        {
            // RFC9002 5.1-2: a sample only if the largest acknowledged is newly acknowledged.
            let sent = self.sent.get(number).at;
            self.measure(now, packet, Run { last: number, sent }, ack);
        } else {
            self.end_probing(ack);
        }
        ack.flight = self.inflight;
        self.settle(now, ack);
        self.forget_settled(now);
    }

    /// The largest acknowledged is newly acknowledged.
    #[inline(always)]
    fn measure(&mut self, now: Time, packet: AckPacket, run: Run, ack: &mut Ack) {
        let rtt = now.since(run.sent);
        self.largest_acked = Some(run.last);
        ack.rtt = Some(rtt);
        self.rtt.on_sample(
            rtt,
            Nanos(u64::from(packet.ack_delay)),
            Some(Nanos(self.host.max_ack_delay)),
        );
        if self.host.receive_ts {
            self.clean(now, packet, rtt, ack);
        }
        self.end_probing(ack);
    }

    /// Takes out of the controller's RTT sample what the receiver and the return path delayed this ACK
    /// beyond the least so far: the sample then varies with the one-way delay of the forward path.
    /// The clocks of the hosts need not agree, and loss detection keeps the RTT as measured.
    #[inline(never)]
    fn clean(&mut self, now: Time, packet: AckPacket, rtt: Nanos, ack: &mut Ack) {
        let back = ((now.0 / 1_000) as u32).wrapping_sub(packet.received);
        self.least_back = self.least_back.min(back);
        ack.rtt = Some(rtt - Nanos::from_micros(u64::from(back - self.least_back)));
        // The clock of a receiver in milliseconds, as TCP's.
        ack.detail.receiver_ts = Some(packet.received / 1_000);
    }

    #[inline(always)]
    fn end_probing(&mut self, ack: &Ack) {
        if ack.acked > 0 {
            self.probe_count = 0;
        }
        self.note_probe_timeout();
    }

    /// Processes the usual ACK as one run: it acknowledges the oldest packets in flight, in order,
    /// which carried the next bytes of the object and are unmarked. Returns `None` for any other
    /// ACK and changes nothing.
    #[inline(always)]
    fn acknowledge_run(
        &mut self,
        count: u64,
        mark: u64,
        receiver: &mut Receiver,
        ack: &mut Ack,
    ) -> Option<Run> {
        let first = self.oldest;
        let (end, chunk) = (first + count, self.acked.low());
        // No packet above it was acknowledged, so none above it is lost.
        let news = self.largest_acked.is_none_or(|largest| largest < first);
        if !(news
            && self.ecn.is_none()
            && self.acked.is_whole()
            && end <= self.sent.end()
            && receiver.log.begins_with(first, count)
            && (first >= mark || end <= mark))
        {
            return None;
        }
        let mut sent = Time::default();
        let plain = first >= self.plain_from && self.next_chunk - chunk == self.sent.end() - first;
        if plain {
            debug_assert!(
                self.sent.get(first).is_plain(chunk),
                "{first} with {chunk} is not plain"
            );
            sent = self.sent.get(end - 1).at;
        } else {
            for place in 0..count {
                let packet = self.sent.get(first + place);
                if !packet.is_plain(chunk + place) {
                    return None;
                }
                sent = packet.at;
            }
        }
        receiver.log.skip(count);
        self.log_seen += count;
        self.acked.extend(count);
        if L::records() {
            for number in first..end {
                self.controller.recorder().on_acked(number);
            }
        }
        self.oldest = end;
        if self.sent.base() == first {
            self.sent.skip(count);
        } else {
            // Lost packets before it are still stored.
            for number in first..end {
                self.sent.get_mut(number).set_state(State::Acked);
            }
        }
        let bytes = self.pieces.datagrams(chunk, count);
        self.inflight -= bytes;
        ack.acked = bytes;
        if first >= mark {
            ack.acked_fresh = bytes;
        }
        ack.tx_acked = Some(end - 1);
        Some(Run { last: end - 1, sent })
    }

    /// Declares losses, gives the controller its record, and reports persistent congestion if the
    /// losses amount to it.
    fn settle(&mut self, now: Time, ack: &mut Ack) {
        let persistent = self.find_losses(now, ack);
        debug_assert_eq!(
            self.inflight + ack.acked + ack.lost,
            ack.inflight_before,
            "what left the flight was acknowledged or lost: {ack:?}"
        );
        self.report(ack);
        if persistent {
            self.rtt.on_persistent_congestion();
            self.controller.on_congestion(&Congestion {
                now,
                timeout: Timeout::PersistentCongestion,
                nxt: Seq(self.sent.end()),
                inflight_before: self.inflight,
            });
        }
    }

    /// The packet `number` arrived. Returns its bytes if this is news.
    fn acknowledge(&mut self, number: u64, mark: u64, ack: &mut Ack) -> Option<u64> {
        if number < self.sent.base() {
            return None;
        }
        let packet = self.sent.get_mut(number);
        if packet.state() == State::Skipped {
            self.caught = true;
            return None;
        }
        let (chunk, state, loss) =
            (packet.chunk(self.next_chunk), packet.state(), packet.loss(self.late.losses()));
        packet.set_state(State::Acked);
        let bytes = self.pieces.datagram(chunk);
        match state {
            State::Acked | State::Skipped => return None,
            State::Lost => {
                // The loss was declared before; it now counts as spurious.
                self.counters.spurious_losses += 1;
                self.late.on_late_ack(loss);
            }
            State::InFlight => {
                self.inflight -= bytes;
                ack.acked += bytes;
                if number >= mark {
                    ack.acked_fresh += bytes;
                }
            }
        }
        self.acked.insert(chunk);
        self.controller.recorder().on_acked(number);
        Some(bytes)
    }

    /// RFC 9002 section 6.1 for the packets in flight below the largest acknowledged one. Returns
    /// whether they show persistent congestion.
    fn find_losses(&mut self, now: Time, ack: &mut Ack) -> bool {
        let Some(largest) = self.largest_acked else { return false };
        let pieces = self.pieces;
        let end = self.next_chunk;
        let Sender {
            sent,
            repeats,
            acked,
            inflight,
            counters,
            late,
            hole_this_pass,
            plain_from,
            controller,
            ecn,
            ..
        } = self;
        *hole_this_pass = 0;
        let losses_before = late.losses();
        *plain_from = sent.end();
        let pass = detect(
            sent,
            self.oldest.max(sent.base()),
            largest,
            now,
            self.rtt.loss_delay(),
            self.first_sample_at,
            |number, packet| {
                let chunk = packet.chunk(end);
                let bytes = pieces.datagram(chunk);
                ack.lost += bytes;
                ack.tx_lost = Some(number);
                controller.recorder().on_lost(number);
                if let Some(ecn) = ecn {
                    ecn.on_lost(number);
                }
                *inflight -= bytes;
                packet.set_loss(late.on_lost());
                counters.packets_lost += u64::from(packet.dropped());
                // The original of a probe may already be queued for retransmission; one
                // retransmission is enough.
                let waiting = packet.carries() == Carries::Probe && repeats.contains(&chunk);
                if !acked.contains(chunk) && !waiting {
                    repeats.push(chunk);
                    *hole_this_pass = (*hole_this_pass).max(chunk + 1);
                }
            },
        );
        self.loss_time = pass.loss_time;
        self.lost_this_pass = self.late.losses() - losses_before;
        while self.oldest < self.sent.end() && self.sent.get(self.oldest).state() != State::InFlight
        {
            self.oldest += 1;
        }
        if self.inflight == 0 {
            self.idle_since = Some(now);
        }
        // RFC9002 7.6.1: three probe timeouts without backoff.
        pass.span > Nanos::ZERO
            && pass.span > self.rtt.persistent_duration(Nanos(self.host.max_ack_delay))
    }

    #[inline(never)]
    fn report(&mut self, ack: &mut Ack) {
        self.tell(ack);
    }

    #[inline(always)]
    fn tell(&mut self, ack: &mut Ack) {
        ack.una = Seq(self.largest_acked.map_or(0, |largest| largest + 1));
        ack.nxt = Seq(self.sent.end());
        ack.tx_next = self.sent.end();
        ack.inflight = self.inflight;
        ack.srtt = self.rtt.srtt();
        ack.sent = self.bytes_sent;
        ack.cwnd_limited = !self.unfilled;
        ack.app_limited = self.app_limited;
        if self.controller.on_ack(ack) {
            self.late.open(self.lost_this_pass);
        }
        self.controller.on_stream(ack.now, self.hole_this_pass, self.acked.low());
        // RFC9438 4.9: all losses of the episode were acknowledged after all.
        if let Some(proof) = self.late.proof() {
            self.controller.recorder().on_proof(proof);
            self.controller.on_spurious(ack.now);
            self.late.discard();
        }
    }

    /// Removes settled packets from the front of the ring; lost ones are kept for two probe
    /// timeouts, to recognise a false alarm.
    fn forget_settled(&mut self, now: Time) {
        let rtt = self.rtt;
        let keep = || rtt.pto(Nanos(self.host.max_ack_delay)) * 2;
        while let Some(packet) = self.sent.front() {
            let settled = match packet.state() {
                State::Acked => true,
                State::Lost | State::Skipped => now.since(packet.at) > keep(),
                State::InFlight => false,
            };
            if !settled {
                break;
            }
            self.sent.pop();
        }
        self.oldest = self.oldest.max(self.sent.base());
    }

    /// The timer fires: time-threshold losses are declared, or probes become due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.loss_time.is_some_and(|due| due <= now) {
            let mut ack =
                Ack { inflight_before: self.inflight, flight: self.inflight, ..Ack::blank(now) };
            self.settle(now, &mut ack);
            return Some(ack);
        }
        // RFC9002 6.2: a probe timeout marks nothing lost.
        self.counters.rtos += 1;
        self.probe_count += 1;
        self.note_probe_timeout();
        self.probes_owed = self.host.probes;
        self.probed = self.oldest;
        None
    }
}
