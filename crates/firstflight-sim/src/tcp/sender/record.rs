//! What a trial reports about its sender: counters and recovery episodes. Nothing here is looked at
//! by any rule.

use crate::ledger::Ledger;
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::detection::Id;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Ack, Time};

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
    pub ledger: Ledger,
    pub counters: Counters,
    /// The segment that early retransmit has just declared lost.
    pub early_head: Option<Id>,
}

impl Record {
    /// The retransmission timer expired; the controller has not heard of it yet.
    pub(super) fn on_timeout<S: Startup>(
        &mut self,
        now: Time,
        controller: &Controller<S, AnyAvoidance, AnyRecovery>,
        lost_end: u64,
    ) {
        self.ledger.add_hole(lost_end);
        self.counters.rtos += 1;
        self.counters.recoveries_timed_out += u64::from(controller.in_recovery());
        self.ledger.on_timeout(now, controller.cwnd());
    }

    /// The controller has heard of an ACK. `lost_end`: the highest end of what was declared lost
    /// since the last one, 0 if nothing was.
    #[inline]
    pub(super) fn on_ack<S: Startup>(
        &mut self,
        ack: &Ack,
        cwnd_before: u64,
        controller: &Controller<S, AnyAvoidance, AnyRecovery>,
        lost_end: u64,
    ) {
        self.counters.cwnd_max = self.counters.cwnd_max.max(cwnd_before).max(controller.cwnd());
        self.ledger.on_ack(ack, cwnd_before, controller);
        self.ledger.add_hole(lost_end);
        self.ledger.on_filled(ack.now, ack.una.0);
    }
}
