//! What a trial reports about its sender: counters and recovery episodes. Nothing here is looked at by any rule.

use crate::outcome::Episode as EpisodeRecord;
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::detection::Id;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Ack, Nanos, Time};

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments the path dropped.
    pub packets_dropped: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Their bytes.
    pub retransmitted_bytes: u64,
    /// Of these, segments that the path dropped.
    pub lost_retransmissions: u64,
    /// Expiries of the retransmission timer, backoffs included.
    pub rtos: u64,
    /// Timeouts proven needless, by F-RTO or otherwise.
    pub spurious_timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Fast recoveries opened.
    pub recoveries: u64,
    /// Of these, with a pipe not above the threshold at entry, in whole segments.
    pub recoveries_below_ssthresh: u64,
    /// Of these, cut short by a timeout.
    pub recoveries_timed_out: u64,
    /// Episodes proven to be false alarms.
    pub undone: u64,
    /// Heads declared lost by early retransmit.
    pub early_retransmits: u64,
    /// Of these, not dropped by the path.
    pub early_retransmits_spurious: u64,
    /// Largest window, bytes.
    pub cwnd_max: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub counters: Counters,
    pub episodes: Vec<EpisodeRecord>,
    /// The segment that early retransmit has just declared lost.
    pub early_head: Option<Id>,
    /// Episodes with holes, and the highest end of what was declared lost in each and until the next one.
    holes: Vec<(usize, u64)>,
    /// Loss and mark episodes of the controller that are in `episodes`.
    known: u32,
}

impl Record {
    fn open(&mut self) -> Option<&mut EpisodeRecord> {
        self.episodes.last_mut().filter(|episode| episode.end.is_none())
    }

    fn add_hole(&mut self, end: u64) {
        let Some(episode) = self.episodes.len().checked_sub(1).filter(|_| end > 0) else { return };
        match self.holes.last_mut().filter(|(last, _)| *last == episode) {
            Some((_, highest)) => *highest = end.max(*highest),
            None => self.holes.push((episode, end)),
        }
    }

    /// A segment left; the one before left at `last`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, last: Time) {
        if let Some(episode) = self.open() {
            episode.silence = episode.silence.max(now.since(last.max(episode.start)));
        }
    }

    /// The retransmission timer expired; the controller has not heard of it yet.
    pub fn on_timeout<S: Startup>(&mut self, now: Time, controller: &Controller<S, AnyAvoidance, AnyRecovery>, lost_end: u64) {
        self.add_hole(lost_end);
        self.counters.rtos += 1;
        self.counters.recoveries_timed_out += u64::from(controller.in_recovery());
        if let Some(episode) = self.open() {
            (episode.end, episode.cwnd_after) = (Some(now), controller.cwnd());
        }
    }

    /// The controller has heard of an ACK. `lost_end`: the highest end of what was declared lost since the last one, 0 if nothing was.
    #[inline]
    pub fn on_ack<S: Startup>(
        &mut self,
        ack: &Ack,
        cwnd_before: u64,
        controller: &Controller<S, AnyAvoidance, AnyRecovery>,
        lost_end: u64,
    ) {
        let cwnd = controller.cwnd();
        self.counters.cwnd_max = self.counters.cwnd_max.max(cwnd_before).max(cwnd);
        let stats = controller.stats();
        let opened = stats.loss_episodes + stats.ecn_episodes != self.known;
        if let Some(episode) = self.open() {
            episode.acked += ack.acked;
            episode.lost += ack.lost;
            if opened || !controller.in_recovery() {
                episode.end = Some(ack.now);
                episode.cwnd_after = if opened { cwnd_before } else { cwnd };
            }
        }
        if opened {
            self.known = stats.loss_episodes + stats.ecn_episodes;
            self.episodes.push(EpisodeRecord {
                start: ack.now,
                end: None,
                cwnd_before,
                inflight: ack.inflight_before,
                acked: ack.acked,
                lost: ack.lost,
                silence: Nanos::ZERO,
                cwnd_after: cwnd,
                repaired: None,
            });
        }
        self.add_hole(lost_end);
        while let Some(&(episode, _)) = self.holes.first().filter(|(_, end)| ack.una.0 >= *end) {
            self.episodes[episode].repaired = Some(ack.now);
            self.holes.remove(0);
        }
    }
}
