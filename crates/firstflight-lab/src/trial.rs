//! One trial as a result row.

use crate::arms::NamedArm;
use crate::outcome::{Outcome, Queueing};
use crate::scenario::Scenario;
use firstflight::{Exit, Nanos};
use firstflight_sim::{Drops, Episode};
use serde::Serialize;

/// How startup ended, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExitRow {
    /// Why.
    pub reason: &'static str,
    /// When, since the first data byte was sent.
    pub time_ms: f64,
    /// Round trips completed.
    pub rounds: u32,
    /// Window when the end was detected, before any reduction.
    pub cwnd: u64,
    /// Window right after.
    pub cwnd_after: u64,
    /// Bytes in flight just before.
    pub inflight: u64,
    /// `cwnd` over rate times idle RTT.
    pub bdp_ratio: f64,
    /// The number that decided, in the algorithm's own unit.
    pub estimate: Option<u64>,
}

/// One recovery episode, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Entry.
    pub start_ms: f64,
    /// Exit; null if the trial ended inside.
    pub end_ms: Option<f64>,
    /// Window just before.
    pub cwnd_before: u64,
    /// Bytes in flight just before.
    pub inflight: u64,
    /// Acknowledged in it.
    pub acked_bytes: u64,
    /// Declared lost in it.
    pub lost_bytes: u64,
    /// Longest time without sending in it.
    pub silence_ms: f64,
    /// Window at its end.
    pub cwnd_after: u64,
    /// Time from entry until the last hole was filled at the sender.
    pub repaired_ms: Option<f64>,
}

/// What the flow's packets waited at the bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueRow {
    /// Median over delivered packets.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
}

/// Data packets that the path dropped, by what dropped them (ground truth), as in `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DropsRow {
    /// The queue had no room.
    pub queue: u64,
    /// Independent loss, loss in bursts, hand-overs.
    pub random: u64,
    /// The policer's bucket was empty.
    pub policer: u64,
    /// CoDel or PIE.
    pub aqm: u64,
    /// Anything else.
    pub other: u64,
}

impl DropsRow {
    fn of(drops: &Drops) -> DropsRow {
        let Drops { queue, random, policer, aqm, other } = *drops;
        DropsRow { queue, random, policer, aqm, other }
    }
}

/// One trial, as in `--json`. Times count from the first data byte sent; what does not apply, or is not
/// known on the testbed, is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRow {
    /// Name the arm was asked for by.
    pub arm: String,
    /// The arm in full.
    pub arm_full: String,
    /// The path's canonical text.
    pub path: String,
    /// Where it ran.
    pub testbed: &'static str,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Every byte was delivered within the limit.
    pub complete: bool,
    /// Completion time: until the last byte was delivered in order at the receiver.
    pub ttlb_ms: Option<f64>,
    /// The sender's clock: until every byte was acknowledged there.
    pub acked_ms: Option<f64>,
    /// The bound on it that no sender beats.
    pub ideal_ms: Option<f64>,
    /// `ttlb_ms / ideal_ms`.
    pub vs_ideal: Option<f64>,
    /// Object bytes delivered in order at the receiver, by the end of the trial.
    pub delivered_bytes: Option<u64>,
    /// The same over the time until the last was delivered; over the whole trial, if a limit stopped it.
    pub goodput_mbps: Option<f64>,
    /// Data packets sent, repeats and probes included.
    pub packets_sent: Option<u64>,
    /// Declared lost and truly dropped.
    pub packets_lost: Option<u64>,
    /// `packets_lost / packets_sent`.
    pub loss_ratio: Option<f64>,
    /// Object bytes sent again.
    pub retransmitted_bytes: Option<u64>,
    /// Packets that carried a repeat.
    pub retransmissions: Option<u64>,
    /// Of these, dropped by the path.
    pub lost_retransmissions: Option<u64>,
    /// Retransmission or probe timeouts.
    pub rtos: Option<u64>,
    /// Recovery episodes opened by loss.
    pub recoveries: Option<u64>,
    /// Of these, cut short by a timeout.
    pub recoveries_timed_out: Option<u64>,
    /// Of these, with no more in flight at entry than the threshold allows.
    pub recoveries_below_ssthresh: Option<u64>,
    /// Episodes that ended by an ACK with the window below the threshold.
    pub slow_starts_after_recovery: Option<u64>,
    /// Declared lost and acknowledged later.
    pub spurious_losses: Option<u64>,
    /// Data packets that the path dropped, by cause; null where the testbed does not tell.
    pub drops: Option<DropsRow>,
    /// Rate times idle RTT plus queue; null for an unlimited queue.
    pub full_bdp_bytes: Option<u64>,
    /// How startup ended.
    pub exit: Option<ExitRow>,
    /// Recovery episodes.
    pub episodes: Option<Vec<EpisodeRow>>,
    /// Waiting times, ms.
    pub queue_ms: QueueRow,
}

/// Nanoseconds as milliseconds.
pub fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// What a row is made of.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Name of the testbed.
    pub testbed: &'static str,
    /// What was transferred over what.
    pub scenario: &'a Scenario,
    /// Who sent.
    pub arm: &'a NamedArm,
    /// Seed of the path's draws.
    pub seed: u64,
    /// The bound that no sender beats, where there is one.
    pub ideal: Option<Nanos>,
}

impl ExitRow {
    fn of(exit: &Exit, bdp: u64) -> ExitRow {
        ExitRow {
            reason: exit.reason.name(),
            time_ms: ms(exit.since_first_send.0),
            rounds: exit.rounds,
            cwnd: exit.detect_cwnd,
            cwnd_after: exit.cwnd,
            inflight: exit.inflight,
            bdp_ratio: exit.detect_cwnd as f64 / bdp as f64,
            estimate: exit.estimate,
        }
    }
}

impl EpisodeRow {
    fn of(episode: &Episode) -> EpisodeRow {
        EpisodeRow {
            start_ms: ms(episode.start.0),
            end_ms: episode.end.map(|end| ms(end.0)),
            cwnd_before: episode.cwnd_before,
            inflight: episode.inflight,
            acked_bytes: episode.acked,
            lost_bytes: episode.lost,
            silence_ms: ms(episode.silence.0),
            cwnd_after: episode.cwnd_after,
            repaired_ms: episode.repaired.map(|at| ms(at.since(episode.start).0)),
        }
    }
}

impl QueueRow {
    fn of(queueing: Option<Queueing>) -> QueueRow {
        let ms = |read: fn(&Queueing) -> u64| queueing.as_ref().map(|queueing| read(queueing) as f64 / 1e3);
        QueueRow { p50: ms(|all| all.p50_us), p99: ms(|all| all.p99_us), max: ms(|all| all.max_us) }
    }
}

impl TrialRow {
    /// The row of one outcome.
    pub fn new(trial: &Trial<'_>, outcome: &Outcome) -> TrialRow {
        let Trial { testbed, scenario, arm, seed, ideal } = *trial;
        let ttlb_ms = outcome.delivered_after.map(|time| ms(time.0));
        let ended = outcome.delivered_after.or(outcome.ended_after);
        TrialRow {
            arm: arm.label.clone(),
            arm_full: arm.full(),
            path: scenario.path.to_string(),
            testbed,
            seed,
            complete: outcome.complete,
            ttlb_ms,
            acked_ms: outcome.acked_after.map(|time| ms(time.0)),
            ideal_ms: ideal.map(|ideal| ms(ideal.0)),
            vs_ideal: ttlb_ms.zip(ideal).map(|(ttlb, ideal)| ttlb / ms(ideal.0)),
            delivered_bytes: outcome.delivered,
            goodput_mbps: outcome.delivered.zip(ended).map(|(bytes, time)| bytes as f64 * 8e3 / time.0.max(1) as f64),
            packets_sent: outcome.packets_sent,
            packets_lost: outcome.packets_lost,
            loss_ratio: outcome.packets_lost.zip(outcome.packets_sent).map(|(lost, sent)| lost as f64 / sent.max(1) as f64),
            retransmitted_bytes: outcome.retransmitted_bytes,
            retransmissions: outcome.retransmissions,
            lost_retransmissions: outcome.lost_retransmissions,
            rtos: outcome.rtos,
            recoveries: outcome.recoveries,
            recoveries_timed_out: outcome.recoveries_timed_out,
            recoveries_below_ssthresh: outcome.recoveries_below_ssthresh,
            slow_starts_after_recovery: outcome.slow_starts_after_recovery,
            spurious_losses: outcome.spurious_losses,
            drops: outcome.drops.as_ref().map(DropsRow::of),
            full_bdp_bytes: scenario.path.full_bdp_bytes(),
            exit: outcome.exit.as_ref().map(|exit| ExitRow::of(exit, scenario.path.bdp_bytes().max(1))),
            episodes: outcome.episodes.as_ref().map(|episodes| episodes.iter().map(EpisodeRow::of).collect()),
            queue_ms: QueueRow::of(outcome.queueing),
        }
    }
}
