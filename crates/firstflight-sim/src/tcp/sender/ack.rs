//! Processing of an ACK, in the order of steps of [`firstflight::detection`].

use super::marker::{Delivered, Heard, Marker, opens};
use super::{Episode, Sender};
use crate::instrumented::{Combined, Company};
use crate::tcp::{AckPacket, tick_start};
use firstflight::detection::delivered::DuplicateCredit;
use firstflight::detection::dupack::Header;
use firstflight::detection::early_retransmit::{Act, Clock, Flight};
use firstflight::detection::f_rto::{self, Verdict};
use firstflight::detection::limited_transmit::Room;
use firstflight::detection::rack::Facts;
use firstflight::detection::reordering::INITIAL_REORDERING;
use firstflight::detection::tlp::{self, Outcome};
use firstflight::detection::undo::Proof;
use firstflight::detection::{Flags, Id, Losses, Scoreboard, SendOrder, mark_head};
use firstflight::{Ack, Nanos, Seq, Time};

/// The data that one ACK newly delivers.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Bytes delivered, each counted once.
    bytes: u64,
    /// Departure time of the latest delivered segment that was sent once.
    sent_once: Option<Time>,
    /// Whether the acknowledgement number passes a retransmission.
    repeat: bool,
    /// Ordinal of the latest delivered transmission.
    ordinal: Option<u64>,
    /// Whether anything was SACKed.
    sacked: bool,
    /// Whether it delivers data sent before the last timeout, and whether some of that was never
    /// retransmitted.
    fresh: bool,
    fresh_original: bool,
    /// The lowest delivered segment that was sent once and lies below data that earlier ACKs
    /// delivered.
    late: Option<Seq>,
}

/// The state just before an ACK.
#[derive(Clone, Copy, Debug)]
struct Before {
    una: u64,
    pipe: u64,
    fack: Seq,
    min_rtt: Option<Nanos>,
    /// The end of the data sent at the last timeout, while the timeout recovery lasts.
    loss_end: Option<Seq>,
}

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// An ACK arrives. Returns the record given to the controller, or `None` if the ACK contained
    /// nothing new.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, packet: &AckPacket) -> Option<Ack> {
        let mut ack = Ack::blank(now);
        self.hear(now, packet, &mut ack).then_some(ack)
    }

    /// Like [`Sender::on_ack`], with the record in `ack`, which must be the default. Returns
    /// whether the ACK contained anything new.
    #[inline(always)]
    pub(in crate::tcp) fn hear(&mut self, now: Time, packet: &AckPacket, ack: &mut Ack) -> bool {
        self.hear_run(now, packet, ack)
            || self.hear_any(now, packet).map(|any| *ack = any).is_some()
    }

    /// Processes the usual ACK as one run: it only moves `una`, over whole segments sent once,
    /// while no segment is SACKed, lost or retransmitted and no test or probe is pending. The
    /// result is that of [`Sender::hear_any`] without the steps that do nothing in this case.
    /// Returns `false` for any other ACK and changes nothing.
    #[inline(always)]
    fn hear_run(&mut self, now: Time, packet: &AckPacket, ack: &mut Ack) -> bool {
        let quiet = packet.count == 0
            && packet.marks == self.marks_seen
            && self.host.preset.sack
            && self.episode == Episode::None
            && self.rto.loss_end().is_none()
            && !self.undo.awaits_advance()
            && !self.tlp.is_outstanding()
            && self.early.is_none()
            && !self.f_rto.is_some_and(|test| test.holds_repeats())
            && self.board.ledger().is_clean();
        let Marker::Rack(rack) = &mut self.marker else { return false };
        if !quiet {
            return false;
        }
        let Some(run) = self.board.run(packet.ack) else { return false };
        if !rack.follows(run.sent, Seq(packet.ack), Seq(self.board.una())) {
            return false;
        }
        // With a clean ledger, the pipe equals the outstanding data.
        (ack.now, ack.inflight_before) = (now, self.board.ledger().outstanding());
        // The ACK acknowledges new data: see `take_window`.
        (self.peer_window, self.right_edge) = (packet.window, packet.ack + packet.window);
        self.peer_stamp = self.peer_stamp.max(Some(packet.stamp));
        if L::records() {
            for ordinal in run.ordinals.clone() {
                self.controller.recorder().on_acked(ordinal);
            }
        }
        let bytes = self.board.pop_run(packet.ack, &run);
        let rtt = now.since(run.sent);
        self.rtt.on_sample(rtt);
        self.rto.on_sample();
        rack.on_run(
            &self.board,
            now,
            run.sent,
            &Facts {
                una: Seq(packet.ack),
                nxt: Seq(self.board.nxt()),
                dsack: false,
                ends_recovery: false,
                episode: Episode::None,
                sacked_segments: 0,
                min_rtt: self.rtt.min(),
                srtt: self.rtt.srtt(),
            },
        );
        self.reordering_at = None;
        self.advance(now);
        ack.rtt = Some(rtt);
        (ack.acked, ack.acked_fresh) = (bytes, bytes);
        ack.tx_acked = Some(run.ordinals.end - 1);
        ack.detail.receiver_ts = self.host.timestamps.then_some(packet.stamp);
        self.tell(ack, &Losses::default());
        true
    }

    /// The receiver's window, as Linux takes it (`tcp_may_update_window`): an ACK of new data sets
    /// the right edge, even if it moves back; then no new data may leave beyond it (RFC 9293
    /// section 3.8.6). An ACK of the same data may be old, so it may only open the window or close
    /// it.
    #[inline]
    fn take_window(&mut self, packet: &AckPacket) {
        let (una, edge) = (self.board.una(), packet.ack + packet.window);
        let same = packet.ack == una && (edge > self.right_edge || packet.window == 0);
        if packet.ack > una || same {
            self.right_edge = edge;
        }
        self.peer_window = packet.window;
    }

    /// Processes any ACK.
    #[inline(never)]
    fn hear_any(&mut self, now: Time, packet: &AckPacket) -> Option<Ack> {
        let before = Before {
            una: self.board.una(),
            pipe: self.inflight(),
            fack: self.board.ledger().fack(),
            min_rtt: self.rtt.min(),
            loss_end: self.rto.loss_end(),
        };
        let header = Header {
            ack: Seq(packet.ack),
            una: Seq(before.una),
            outstanding: !self.board.is_empty(),
            carries_data: false,
            window_changed: packet.window != self.peer_window,
        };
        self.take_window(packet);
        self.peer_stamp = self.peer_stamp.max(Some(packet.stamp));

        let mut news = News::default();
        let dsack = self.note_dsack(packet, &mut news);
        if packet.count > 0 {
            self.take_sacks(now, packet, &before, &mut news);
        }
        let advanced = packet.ack > before.una;
        if advanced {
            self.take_cumulative(now, packet, &before, &mut news);
        }
        let duplicate = if self.host.preset.sack { news.sacked } else { header.is_duplicate() };
        if let (Some(linux), Some(late)) = (&mut self.linux, news.late) {
            linux.reordering.on_delivered(late, 1, self.board.ledger().fack(), self.mss);
        }
        self.count_delivered(packet.ack - before.una.min(packet.ack), duplicate, &mut news);
        let rtt = self.sample(now, packet, advanced, &news);
        let ended = advanced && self.advance(now);
        if advanced || duplicate || packet.count > 0 {
            self.prove(now, packet, advanced, &before);
        }
        let mut ack =
            Ack { rtt, acked: news.bytes, inflight_before: before.pipe, ..Ack::blank(now) };
        ack.acked_fresh = self.test_timeout(now, packet, &news, Heard { advanced, duplicate });

        let mut losses = self.mark(now, Heard { advanced, duplicate }, dsack, ended);
        self.repair_early(now, advanced, &mut losses);
        let repaired = self.settle_probe(packet, header.is_duplicate());
        if duplicate && opens_limited(self.episode, &losses) {
            self.transmit_limited();
        }

        ack.ce = packet.marks > self.marks_seen;
        // As Accurate ECN counts: in packets, each of which the sender takes to be of full size.
        ack.detail.ce_bytes = ack.ce.then(|| {
            let marked = u64::from(packet.marks - self.marks_seen) * u64::from(self.host.mss);
            marked.min(ack.acked)
        });
        self.marks_seen = packet.marks.max(self.marks_seen);
        ack.tx_acked = news.ordinal;
        ack.detail.repeat_acked = news.repeat;
        ack.detail.receiver_ts = self.host.timestamps.then_some(packet.stamp);
        ack.lost = losses.bytes + repaired;
        // `tcp_may_raise_cwnd`: after reordering by more than three segments, SACKs grow the
        // window, too. For the controller, `una` has moved.
        ack.detail.sack_advances = news.sacked
            && ack.lost == 0
            && !self.controller.core().in_recovery()
            && self.linux.is_some_and(|linux| linux.reordering.degree() > INITIAL_REORDERING);
        if ack.acked == 0 && !advanced && ack.lost == 0 && !ack.ce {
            return None;
        }
        self.report(&mut ack, &losses);
        Some(ack)
    }

    /// Whether the ACK carries a DSACK that may widen the reordering window.
    fn note_dsack(&mut self, packet: &AckPacket, news: &mut News) -> bool {
        let Some(linux) = &mut self.linux else { return packet.dsack };
        (linux.waits, linux.believes) = (false, false);
        let Some(range) = packet.duplicate() else { return false };
        linux.dsacks += 1;
        // Reports in excess of the retransmissions are due to copies that the path made.
        linux.believes = linux.dsacks <= self.counters.retransmissions;
        if !linux.believes {
            return false;
        }
        news.bytes += self.mss;
        let of_probe = self.tlp.is_outstanding() && range.from == self.probe_start;
        self.marker.has_seen_reordering() && !of_probe
    }

    /// Step 2: the SACK blocks. The cost of a block is proportional to its new part: a run known
    /// before is skipped.
    fn take_sacks(&mut self, now: Time, packet: &AckPacket, before: &Before, news: &mut News) {
        let mut blocks = packet.blocks;
        let blocks = &mut blocks[usize::from(packet.dsack)..usize::from(packet.count)];
        if self.linux.is_some() {
            // In order of sequence, because the RTT of the last one counts.
            blocks.sort_unstable_by_key(|block| block.from);
        }
        for block in &*blocks {
            if block.from < packet.ack {
                continue;
            }
            let mut id = self.board.find(Seq(block.from));
            // Whole segments only: a segment that starts before the block is not in it.
            if self.board.holds(id) && self.board.start(id).0 < block.from {
                id = id.next();
            }
            let end = self.board.find(Seq(block.to));
            loop {
                id = self.board.unsacked_from(id);
                if id >= end {
                    break;
                }
                self.deliver(now, id, None, before, news);
                self.board.mark_sacked(id);
                self.marker.on_sacked(&self.board, id);
                news.bytes += self.board.len(id);
                news.sacked = true;
                id = id.next();
            }
        }
    }

    /// The time that an ACK's timestamp echoes, to its tick.
    #[inline]
    fn echo(&self, packet: &AckPacket) -> Option<Time> {
        self.host.timestamps.then(|| tick_start(packet.echo))
    }

    /// Step 2: the acknowledgement number.
    #[inline]
    fn take_cumulative(&mut self, now: Time, packet: &AckPacket, before: &Before, news: &mut News) {
        let echo = self.echo(packet);
        while !self.board.is_empty() && self.board.end(self.board.first()).0 <= packet.ack {
            let head = self.board.first();
            if !self.board.flags(head).has(Flags::SACKED) {
                self.deliver(now, head, echo, before, news);
                news.bytes += self.board.len(head);
            }
            news.repeat |= self.board.tx_count(head) > 1;
            self.marker.on_acked(&self.board, head);
            self.board.pop();
        }
        self.board.forget_old();
    }

    #[inline]
    fn deliver(&mut self, now: Time, id: Id, echo: Option<Time>, before: &Before, news: &mut News) {
        let (sent, once) = (self.board.last_tx(id), self.board.tx_count(id) == 1);
        if once {
            news.sent_once = news.sent_once.max(Some(sent));
        }
        let ordinal = self.board.ordinal(id);
        news.ordinal = news.ordinal.max(Some(ordinal));
        self.controller.recorder().on_acked(ordinal);
        if let Some(end) = before.loss_end {
            let old = self.board.start(id) < end;
            news.fresh |= old;
            news.fresh_original |= old && once;
        }
        // The timestamp is a whole tick: an echo of the tick in which the segment left does not
        // prove an earlier copy.
        let echo = echo.map(|echo| {
            if echo.0 / crate::tcp::TICK < sent.0 / crate::tcp::TICK { echo } else { sent }
        });
        let delivered =
            Delivered { now, id, echo, min_rtt: before.min_rtt, fack: before.fack, mss: self.mss };
        if once && self.board.start(id) < before.fack {
            news.late = news.late.min(Some(self.board.start(id))).or(Some(self.board.start(id)));
        }
        self.marker.on_delivered(&self.board, &delivered);
    }

    /// Without SACK a duplicate ACK stands for a segment, which is deducted when `una` passes it.
    #[inline]
    fn count_delivered(&mut self, advance: u64, duplicate: bool, news: &mut News) {
        if !self.host.preset.sack {
            let credit: &mut DuplicateCredit = &mut self.credit;
            news.bytes = if advance > 0 {
                credit.on_advance(advance)
            } else if duplicate {
                credit.on_duplicate(self.mss)
            } else {
                0
            };
        }
    }

    /// Step 1 (D1): the sample for the controller; the estimator also takes samples that only a
    /// timestamp can provide.
    #[inline]
    fn sample(
        &mut self,
        now: Time,
        packet: &AckPacket,
        advanced: bool,
        news: &News,
    ) -> Option<Nanos> {
        // RFC6298 3-1: data that `una` passes thanks to a retransmission may have waited at the
        // receiver for as long as the gap existed.
        if let Some(sent) = news.sent_once.filter(|_| !news.repeat) {
            let rtt = now.since(sent);
            self.rtt.on_sample(rtt);
            self.rto.on_sample();
            return Some(rtt);
        }
        // RFC7323 4.1: the timestamp identifies the copy that the ACK answers.
        if advanced && let Some(echo) = self.echo(packet) {
            self.rtt.on_sample(now.since(echo));
            self.rto.on_sample();
        }
        None
    }

    /// `una` moved: timers restart, and a recovery may be over. Returns whether one ended.
    #[inline(always)]
    fn advance(&mut self, now: Time) -> bool {
        let una = self.board.una();
        let outstanding = !self.board.is_empty();
        let timeout_over = self.rto.on_advance(now, self.rtt.rto(), Seq(una), outstanding);
        self.dupacks = 0;
        self.limited.on_advance();
        self.tail_at = now;
        self.window.follow(|| self.controller.cwnd());
        if !outstanding {
            self.idle_since = Some(now);
        }
        let ended = match self.episode {
            Episode::None => false,
            // RFC6582 3.2-recover, as in the controller.
            Episode::Fast => {
                una > self.recover_end
                    || (una == self.recover_end && (self.host.preset.sack || !outstanding))
            }
            Episode::Timeout => timeout_over,
        };
        if ended {
            self.episode = Episode::None;
            self.owed.head = false;
        }
        ended
    }

    /// Step 3: DSACKs and timestamps may prove that the last episode was a false alarm.
    fn prove(&mut self, now: Time, packet: &AckPacket, advanced: bool, before: &Before) {
        let mut proof = None;
        let reported = packet
            .duplicate()
            .filter(|_| self.linux.is_none_or(|linux| linux.believes))
            .map(|range| (range, self.repeats.report(range.from)));
        if let Some((range, None)) = reported
            && self.linux.is_some()
            && range.to <= before.una
        {
            // Below `una` the kernel does not know which segments were retransmitted; it counts the
            // DSACK.
            proof = self.undo.on_dsack(Seq(range.from));
        }
        if let Some((range, _)) = reported {
            self.note_both_copies(Seq(range.from));
        }
        if let Some((range, Some(repeat))) = reported {
            self.board.on_duplicate(Seq(range.from));
            proof = self.undo.on_dsack(Seq(range.from));
            // A second copy of a probe's segment shows no reordering.
            if !(self.tlp.is_outstanding() && range.from == self.probe_start) {
                self.marker.on_needless_repeat(&repeat, self.mss);
                if let Some(early) = self.early.as_mut().filter(|_| repeat.early) {
                    early.on_dsack();
                }
            }
        }
        let mut partial = false;
        if advanced
            && let Some(found) = self.undo.on_advance(Seq(self.board.una()), self.echo(packet))
        {
            partial = self.episode == Episode::Fast && self.note_late_original(before);
            let waits = partial && self.repeats_out() > 0;
            if waits {
                self.undo.put_off();
            } else {
                proof = proof.or(Some(found));
            }
            if let Some(linux) = &mut self.linux {
                linux.waits = waits;
            }
        }
        if let Some(proof) = proof {
            self.take_back(now, proof);
            if partial {
                self.board.remark(|flags| flags.without(Flags::LOST));
                // LINUX undo-unlisted: RACK takes what it marks off its list (`tcp_rack_detect_loss`), and
                // an undo that clears the mark does not put it back (`tcp_undo_cwnd_reduction`). So no rewind.
            }
        }
    }

    /// Number of segments with a retransmission in flight that is not considered lost
    /// (`retrans_out`). A copy sent by a probe does not count.
    fn repeats_out(&self) -> u64 {
        let none = Flags::SACKED.with(Flags::LOST).with(Flags::REPEATED).bits();
        let out = |&id: &Id| self.board.tx_count(id) > 1 && self.board.flags(id).bits() & none == 0;
        (self.board.first().0..self.board.next().0).map(Id).filter(out).count() as u64
    }

    /// LINUX reordering-both: a duplicate of a retransmitted segment that is SACKed shows that the
    /// original was late (`tcp_sacktag_one`).
    fn note_both_copies(&mut self, start: Seq) {
        let id = self.board.find(start);
        let known = self.board.holds(id)
            && self.board.start(id) == start
            && self.board.tx_count(id) > 1
            && self.board.flags(id).has(Flags::SACKED);
        let fack = self.board.ledger().fack();
        if let Some(linux) = self.linux.as_mut().filter(|_| known)
            && linux.reordering.on_delivered(start, 1, fack, self.mss).is_some()
            && let Some(rack) = self.marker.rack()
        {
            rack.see_reordering();
        }
    }

    /// A timestamp shows that the segment at `una` was late, not lost: reordering. Returns whether
    /// this sender follows Linux in this respect.
    fn note_late_original(&mut self, before: &Before) -> bool {
        let Some(linux) = &mut self.linux else { return false };
        let fack = self.board.ledger().fack();
        linux.reordering.on_delivered(Seq(before.una), 1, fack, self.mss);
        if let Some(rack) = self.marker.rack() {
            rack.see_reordering();
        }
        true
    }

    /// The last episode was a false alarm: the controller restores the window, and segments marked
    /// by a timeout are no longer lost.
    fn take_back(&mut self, now: Time, proof: Proof) {
        // Even if the window cannot be restored (a timeout inside an episode), there is no reason
        // to continue retransmitting.
        if self.undo.is_open() {
            self.controller.recorder().on_proof(proof);
            self.controller.on_spurious(now);
        }
        self.undo.discard();
        if self.episode == Episode::Timeout {
            self.counters.spurious_timeouts += 1;
            self.board.remark(|flags| flags.without(Flags::LOST.with(Flags::REPEATED)));
            self.marker.rewind(&self.board);
            self.owed.head = false;
        }
        if let Some(test) = &mut self.f_rto {
            test.stop();
        }
        self.episode = Episode::None;
    }

    /// Step 3: F-RTO. Returns the bytes that may grow the window.
    fn test_timeout(
        &mut self,
        now: Time,
        packet: &AckPacket,
        news: &News,
        Heard { advanced, duplicate }: Heard,
    ) -> u64 {
        let new_data = self.new_len().is_some();
        let Some(test) = self.f_rto.as_mut().filter(|test| test.holds_repeats()) else {
            return news.bytes;
        };
        let verdict = test.on_ack(&f_rto::Facts {
            ack: Seq(packet.ack),
            advanced,
            duplicate,
            fack: self.board.ledger().fack(),
            fresh: news.fresh,
            fresh_original: news.fresh_original,
            nxt: Seq(self.board.nxt()),
            new_data,
        });
        match verdict {
            Verdict::None | Verdict::Ordinary { cap: None } => {}
            Verdict::SendNew => self.owed.f_rto = 2,
            Verdict::Spurious => {
                // After the ACK that ends timeout recovery there are no marks left to undo.
                self.counters.spurious_timeouts += u64::from(self.episode != Episode::Timeout);
                self.take_back(now, Proof::FRto);
            }
            Verdict::Ordinary { cap: Some(segments) } => {
                // D6: the window after the growth of this ACK stays within the cap.
                return news
                    .bytes
                    .min((segments * self.mss).saturating_sub(self.controller.cwnd()));
            }
        }
        news.bytes
    }

    /// Step 4: the segments that are now lost.
    #[inline]
    fn mark(&mut self, now: Time, heard: Heard, dsack: bool, ends_recovery: bool) -> Losses {
        if heard.duplicate {
            self.dupacks = self.dupacks.saturating_add(1);
        }
        if self.holds_recovery() {
            return Losses::default();
        }
        let facts = Facts {
            una: Seq(self.board.una()),
            nxt: Seq(self.board.nxt()),
            dsack,
            ends_recovery,
            episode: self.episode,
            sacked_segments: self.board.ledger().sacked_segments(),
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
        };
        if self.linux.is_some_and(|linux| linux.waits) {
            self.marker.note(&facts);
            return Losses::default();
        }
        let (losses, deadline) = self.marker.detect(&mut self.board, now, heard, &facts, self.mss);
        self.reordering_at = deadline;
        // RFC6582 3.2-3: a partial ACK shows the next hole, which is retransmitted at once; the
        // data it delivered has already been counted.
        self.owed.head |=
            !self.host.preset.sack && self.episode == Episode::Fast && !losses.is_empty();
        losses
    }

    /// RFC6582 3.2-recover: without SACK, duplicate ACKs at the end of a recovery may answer
    /// unnecessary retransmissions. They mark nothing, and neither does the ACK that reached the
    /// end.
    fn holds_recovery(&self) -> bool {
        !self.host.preset.sack
            && self.episode == Episode::Fast
            && self.board.una() >= self.recover_end
    }

    pub(super) fn flight(&self) -> Flight {
        let ledger = self.board.ledger();
        Flight {
            segments: self.board.segments(),
            bytes: ledger.outstanding(),
            sacked_segments: ledger.sacked_segments(),
            sacked_bytes: ledger.sacked(),
            dupacks: self.dupacks,
            sack: self.host.preset.sack,
            new_data: self.new_len().is_some(),
            repeat_outstanding: ledger.repeated() > 0,
            episode: self.episode,
            reordering: self.marker.reordering(),
            mss: self.mss,
        }
    }

    /// Step 5: early retransmit.
    fn repair_early(&mut self, now: Time, advanced: bool, losses: &mut Losses) {
        let Some(mut early) = self.early else { return };
        let flight = Flight {
            episode: if losses.is_empty() { self.episode } else { Episode::Fast },
            ..self.flight()
        };
        let clock = Clock { now, srtt: self.rtt.srtt(), rto: self.rto.deadline(), ece: false };
        if early.on_ack(&flight, &clock, advanced) == Act::Now {
            self.mark_early(losses);
        }
        self.early = Some(early);
    }

    pub(super) fn mark_early(&mut self, losses: &mut Losses) {
        let head = self.board.first();
        mark_head(&mut self.board, losses);
        self.early_head = Some(head);
        self.counters.early_retransmits += 1;
        self.counters.early_retransmits_spurious += u64::from(!self.board.was_dropped(head));
    }

    /// Processes the ACK for an outstanding probe. Returns the bytes of a loss that the probe
    /// repaired.
    fn settle_probe(&mut self, packet: &AckPacket, duplicate: bool) -> u64 {
        if !self.tlp.is_outstanding() {
            return 0;
        }
        let facts = tlp::Facts {
            ack: Seq(packet.ack),
            dsack_of_probe: packet.duplicate().is_some_and(|range| range.from == self.probe_start),
            any_block: packet.count > 0,
            duplicate,
        };
        if self.tlp.on_ack(&facts) == Outcome::Repaired { self.probe_len } else { 0 }
    }

    /// Step 5: limited transmit.
    fn transmit_limited(&mut self) {
        // D3: with RACK the pipe admits the same segment.
        if self.marker.is_rack() {
            return;
        }
        let room = Room {
            cwnd: self.controller.cwnd(),
            flight: self.board.ledger().outstanding(),
            pipe: self.inflight(),
            mss: self.mss,
            new_len: self.new_len().unwrap_or_default(),
        };
        if self.limited.on_duplicate(self.dupacks, &room) {
            self.owed.limited = true;
        }
    }

    /// Completes the record and gives it to the controller; opens the sender's episode if the
    /// record opens one.
    #[inline(never)]
    pub(super) fn report(&mut self, ack: &mut Ack, losses: &Losses) {
        self.tell(ack, losses);
    }

    #[inline(always)]
    fn tell(&mut self, ack: &mut Ack, losses: &Losses) {
        let ledger = self.board.ledger();
        (ack.una, ack.nxt) = (Seq(self.board.una()), Seq(self.board.nxt()));
        (ack.flight, ack.sacked) = (ledger.outstanding(), ledger.sacked());
        ack.inflight = self.inflight();
        (ack.srtt, ack.sent) = (self.rtt.srtt(), self.bytes_sent);
        ack.tx_lost = losses.latest;
        ack.detail.unrepaired = self.board.is_unrepaired();
        ack.tx_next = self.board.next_sent();
        if self.episode == Episode::Timeout {
            ack.detail.lost_again = self.rto.allows_episode(losses);
        }
        if self.episode == Episode::Fast {
            ack.detail.lost_again = losses.lost_again(self.first_of_episode);
            if !ack.detail.lost_again && self.board.lost_end() <= self.recover_end {
                // Originals from before the episode, even if a retransmission of one is in flight.
                ack.tx_lost =
                    ack.tx_lost.map(|latest| latest.min(self.first_of_episode.saturating_sub(1)));
            }
            let new_data = self.new_len().is_some();
            ack.detail.rescue_next = self.next_seg.rescue_next(&mut self.board, new_data);
        }
        (ack.cwnd_limited, ack.app_limited) = (self.cwnd_limited, self.app_limited);
        self.name_losses();
        self.controller.on_ack(ack);
        let opened = self.controller.loss_episodes() != self.loss_episodes;
        if opened || opens(losses, self.episode) {
            self.open(ack, losses);
        }
        if ack.ce {
            // A cut in response to ECN marks is never undone.
            self.undo.discard();
        }
        let lost_end = self.board.take_lost_end();
        self.controller.on_stream(ack.now, lost_end, ack.una.0);
    }

    /// Tells the recorder which transmissions were declared lost.
    #[inline]
    pub(super) fn name_losses(&mut self) {
        if L::records() {
            for ordinal in self.board.take_losses() {
                self.controller.recorder().on_lost(ordinal);
            }
        }
    }

    /// Starts an episode in the detectors.
    fn open(&mut self, ack: &Ack, losses: &Losses) {
        let episodes = self.controller.loss_episodes();
        let by_controller = episodes != self.loss_episodes;
        self.loss_episodes = episodes;
        (self.recover_end, self.first_of_episode) = (self.board.nxt(), self.board.next_sent());
        self.episode = Episode::Fast;
        self.next_seg.open(&self.board, ack.nxt);
        if let Some(test) = &mut self.f_rto {
            test.stop();
        }
        if let Some(early) = &mut self.early {
            early.cancel();
        }
        // D4: a loss that a probe repaired leaves nothing to retransmit and nothing to undo.
        if by_controller && ack.lost == losses.bytes {
            self.watch_for_proof(ack.una);
        } else {
            self.undo.discard();
        }
        self.tlp.forget();
    }

    /// Starts watching for proof against the episode, also from retransmissions that are in flight
    /// already. LINUX undo-init: a SACKed retransmission, or one considered lost, is not in flight;
    /// the copy of a probe is in flight while its fate is open (`tcp_init_undo`,
    /// `tcp_any_retrans_done`).
    pub(super) fn watch_for_proof(&mut self, una: Seq) {
        let (repeats, undelivered) = if self.linux.is_some() {
            let out = self.repeats_out();
            let head = !self.board.is_empty() && self.board.tx_count(self.board.first()) > 1;
            (out + u64::from(self.tlp.is_repeat_outstanding()), out > 0 || head)
        } else {
            (self.board.repeats_open(), self.board.has_undelivered_repeat())
        };
        self.undo.carry(u32::try_from(repeats).unwrap_or(u32::MAX), undelivered);
        self.undo.open(una);
    }
}

/// Limited transmit applies only before an episode.
fn opens_limited(episode: Episode, losses: &Losses) -> bool {
    episode == Episode::None && losses.is_empty()
}
