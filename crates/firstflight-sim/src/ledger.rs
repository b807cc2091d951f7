//! The recovery episodes of one sender, as a trial reports them. Nothing here is looked at by any
//! rule.

use crate::outcome::Episode;
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Ack, Nanos, Time};

/// Episodes with what became of their holes. Positions are bytes or chunks of the stream, whichever
/// the transport counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The last episode has not ended: asked with every packet sent, so it is here and not with
    /// the episode.
    open: bool,
    /// Loss and mark episodes of the controller that are in `episodes`.
    known: u32,
    episodes: Vec<Episode>,
    /// Episodes with holes, and one past the highest position of each that was declared lost in it
    /// and until the next one.
    holes: Vec<(usize, u64)>,
}

impl Ledger {
    /// All episodes so far.
    pub(crate) fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// A packet left; the one before left at `last`.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, last: Time) {
        if self.open
            && let Some(episode) = self.episodes.last_mut()
        {
            episode.silence = episode.silence.max(now.since(last.max(episode.start)));
        }
    }

    /// Something up to `end` was declared lost; 0 is nothing.
    #[inline]
    pub(crate) fn add_hole(&mut self, end: u64) {
        let Some(episode) = self.episodes.len().checked_sub(1).filter(|_| end > 0) else { return };
        match self.holes.last_mut().filter(|(last, _)| *last == episode) {
            Some((_, highest)) => *highest = end.max(*highest),
            None => self.holes.push((episode, end)),
        }
    }

    /// A timeout ends the episode that is open.
    pub(crate) fn on_timeout(&mut self, now: Time, cwnd: u64) {
        if core::mem::take(&mut self.open)
            && let Some(episode) = self.episodes.last_mut()
        {
            (episode.end, episode.cwnd_after) = (Some(now), cwnd);
        }
    }

    /// The controller has heard of an ACK, with the window that it had before. Returns whether an
    /// episode opened.
    #[inline]
    pub(crate) fn on_ack<S: Startup>(
        &mut self,
        ack: &Ack,
        cwnd_before: u64,
        controller: &Controller<S, AnyAvoidance, AnyRecovery>,
    ) -> bool {
        let stats = controller.stats();
        let opened = stats.loss_episodes + stats.ecn_episodes != self.known;
        if self.open
            && let Some(episode) = self.episodes.last_mut()
        {
            episode.acked += ack.acked;
            episode.lost += ack.lost;
            if opened || !controller.in_recovery() {
                self.open = false;
                episode.end = Some(ack.now);
                episode.cwnd_after = if opened { cwnd_before } else { controller.cwnd() };
            }
        }
        if opened {
            self.begin(ack, cwnd_before, controller.cwnd());
            self.known = stats.loss_episodes + stats.ecn_episodes;
        }
        opened
    }

    #[cold]
    fn begin(&mut self, ack: &Ack, cwnd_before: u64, cwnd_after: u64) {
        self.open = true;
        self.episodes.push(Episode {
            start: ack.now,
            end: None,
            cwnd_before,
            inflight: ack.inflight_before,
            acked: ack.acked,
            lost: ack.lost,
            silence: Nanos::ZERO,
            cwnd_after,
            repaired: None,
        });
    }

    /// Everything below `filled` is acknowledged: which episodes have no hole left.
    #[inline]
    pub(crate) fn on_filled(&mut self, now: Time, filled: u64) {
        if self.holes.is_empty() {
            return;
        }
        let Ledger { holes, episodes, .. } = self;
        holes.retain(|&(episode, end)| {
            let open = filled < end;
            if !open {
                episodes[episode].repaired = Some(now);
            }
            open
        });
    }
}
