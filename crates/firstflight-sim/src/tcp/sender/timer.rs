//! The sender's only timer: when it is armed, and what happens when it fires.

use super::{Episode, Sender};
use crate::instrumented::{Combined, Company};
use firstflight::detection::reordering::{INITIAL_REORDERING, Reordering};
use firstflight::detection::rto::{self, Response};
use firstflight::detection::tlp::Tail;
use firstflight::detection::{Armed, Losses, Scoreboard, SendOrder};
use firstflight::{Ack, Congestion, Seq, Time, Timeout};

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Step 6: at most one timer, and exactly one while data is outstanding.
    #[inline]
    pub(super) fn arm(&mut self) {
        let rto = self.rto.deadline();
        let probe = if self.uses_probes() { self.probe_at(rto) } else { None };
        let early = self.early.and_then(|early| early.deadline());
        self.timer = Armed::choose(!self.board.is_empty(), self.reordering_at, early, probe, rto);
    }

    #[inline]
    fn probe_at(&self, rto: Option<Time>) -> Option<Time> {
        self.tlp.deadline(&Tail {
            now: self.tail_at,
            srtt: self.rtt.srtt(),
            segments: self.board.segments(),
            sack: self.host.preset.sack,
            sacked_segments: self.board.ledger().sacked_segments(),
            episode: self.episode,
            max_ack_delay: self.host.max_ack_delay,
            rto,
        })
    }

    /// The timer fires. Returns the record given to the controller, if there is one.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        match self.timer.take()? {
            Armed::Reordering(_) => {
                let (losses, deadline) = self.marker.on_timer(&mut self.board, now);
                self.reordering_at = deadline;
                self.rto.restart(now, self.rtt.rto());
                self.lose(now, &losses)
            }
            Armed::EarlyRetransmit(_) => {
                let flight = self.flight();
                let mut losses = Losses::default();
                if self.early.as_mut().is_some_and(|early| early.on_timer(&flight)) {
                    self.mark_early(&mut losses);
                }
                self.lose(now, &losses)
            }
            Armed::Probe(_) => {
                self.owed.probe = true;
                None
            }
            Armed::Rto(_) => {
                self.time_out(now);
                None
            }
        }
    }

    /// A timer found losses: reports them in a record that acknowledges nothing.
    fn lose(&mut self, now: Time, losses: &Losses) -> Option<Ack> {
        if losses.is_empty() {
            return None;
        }
        // Data that is lost now was in flight before.
        let inflight_before = self.inflight() + losses.bytes;
        let mut ack = Ack { inflight_before, lost: losses.bytes, ..Ack::blank(now) };
        self.report(&mut ack, losses);
        Some(ack)
    }

    fn time_out(&mut self, now: Time) {
        if let Some(linux) = &mut self.linux {
            linux.waits = false;
            // `tcp_enter_loss`: with this many SACKs, the degree of reordering was overestimated.
            let sacked = self.board.ledger().sacked_segments();
            if self.episode == Episode::None && sacked >= u64::from(INITIAL_REORDERING) {
                linux.reordering = Reordering::default();
            }
        }
        let inflight_before = self.inflight();
        let (una, nxt) = (Seq(self.board.una()), Seq(self.board.nxt()));
        let earlier = match self.episode {
            Episode::None => None,
            Episode::Fast => Some(Seq(self.recover_end)),
            Episode::Timeout => self.rto.loss_end(),
        };
        let sent = rto::Sent { nxt, tx_next: self.board.next_sent() };
        let response = self.rto.on_expiry(now, self.rtt.rto(), self.episode, sent);
        let reneged = rto::Rto::is_reneged(&self.board);
        self.rto.mark(&mut self.board, self.marker.rack(), now);
        if reneged {
            self.marker.rewind(&self.board);
        }
        let lost_end = self.board.take_lost_end();
        self.controller.on_hole(lost_end);
        let timeout = match response {
            Response::Cut => Timeout::Rto,
            // D5: the episode has already reduced the window.
            Response::KeepTarget | Response::Again => Timeout::RtoAgain,
        };
        self.name_losses();
        self.controller.on_congestion(&Congestion { now, timeout, nxt, inflight_before });
        self.episode = Episode::Timeout;
        self.reordering_at = None;
        self.owed = super::Owed { head: true, ..super::Owed::default() };
        self.dupacks = 0;
        self.tlp.forget();
        if let Some(early) = &mut self.early {
            early.cancel();
        }
        if let Some(test) = &mut self.f_rto {
            test.on_timeout(una, earlier, nxt);
        }
        match response {
            Response::Cut if self.f_rto.is_some() => self.watch_for_proof(una),
            Response::Again if self.f_rto.is_some() => {}
            // Without the test nothing is undone; inside an episode, the earlier loss remains
            // genuine.
            Response::Cut | Response::Again | Response::KeepTarget => self.undo.discard(),
        }
    }
}
