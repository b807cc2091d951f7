//! One trial as a result row. This is the only place that defines the measures and how they are
//! computed.

use crate::arms::NamedArm;
use crate::measures::record;
use crate::outcome::{Limits, Outcome, Queueing};
use crate::scenario::Scenario;
use firstflight::detection::ecn::Failure;
use firstflight::{Exit, Nanos};
use firstflight_sim::{Drops, Episode};

/// Nanoseconds as milliseconds.
pub fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Input of a row.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Name of the testbed.
    pub testbed: &'static str,
    /// Object and path of the transfer.
    pub scenario: &'a Scenario,
    /// The sender's arm.
    pub arm: &'a NamedArm,
    /// Seed of the path's draws.
    pub seed: u64,
    /// The lower bound for any sender, if known.
    pub ideal: Option<Nanos>,
    /// Measurements of the testbed.
    pub outcome: &'a Outcome,
}

record! {
    /// The end of startup, as in `--json`.
    #[derive(serde::Deserialize)]
    ExitRow of ((exit, bdp, capped) = (&Exit, u64, Option<bool>));

    /// why startup ended; `-` if the object ended first
    reason: &'static str, "", None = exit.reason.name() => ("exit_reason", "exit", "");
    /// when startup ended, after the first byte was sent
    time_ms: f64, "ms", None = ms(exit.since_first_send.0) => ("exit_ms", "exit time", "ms");
    /// round trips completed by then
    rounds: u32, "", None = exit.rounds;
    /// window when the end was detected, *before* any reduction
    cwnd: u64, "bytes", None = exit.detect_cwnd;
    /// window right after the end
    cwnd_after: u64, "bytes", None = exit.cwnd;
    /// bytes in flight just before
    inflight: u64, "bytes", None = exit.inflight;
    /// window when startup ended, before any reduction, over the BDP; above 1 the rest is in the queue
    bdp_ratio: f64, "", None = exit.detect_cwnd as f64 / bdp.max(1) as f64 => ("exit_bdp", "cwnd at exit", "BDP");
    /// the value that triggered the exit, in the algorithm's own unit (ns or bytes)
    estimate: Option<u64>, "", None = exit.estimate;
    /// whether the sender's largest pacing rate (`@(maxrate=)`) was in force when startup ended; null without one
    capped: Option<bool>, "", None = capped;
}

record! {
    /// For how long each reason kept the sender from sending, as shares of the time until every byte
    /// was acknowledged (or until the limit), as in `--json`.
    #[derive(serde::Deserialize)]
    LimitedRow of ((limits, whole) = (&Limits, u64));

    /// the congestion window, or the recovery policy, was full
    cwnd: Option<f64>, "", None = share(limits.cwnd, whole);
    /// the pacer waited, at the controller's own rate
    pacing: Option<f64>, "", None = share(limits.pacing, whole);
    /// the pacer waited, at the sender's largest rate (`@(maxrate=)`)
    maxrate: Option<f64>, "", None = share(limits.max_rate, whole);
    /// the receiver allowed no more data (`rwnd=`): `rwnd_limited` of Linux
    rwnd: Option<f64>, "", None = share(limits.rwnd, whole);
    /// the send buffer was full: `sndbuf_limited` of Linux
    sndbuf: Option<f64>, "", None = share(limits.sndbuf, whole);
    /// everything that the application had written was sent, which includes the wait for the last ACKs
    app: Option<f64>, "", None = share(limits.app, whole);
}

/// A part of a time, without a unit.
fn share(part: Option<Nanos>, whole: u64) -> Option<f64> {
    part.map(|part| part.0 as f64 / whole.max(1) as f64)
}

record! {
    /// One recovery episode, as in `--json`.
    #[derive(serde::Deserialize)]
    EpisodeRow of (episode = &Episode);

    /// start
    start_ms: f64, "ms", None = ms(episode.start.0);
    /// end; null if the trial ended during the episode
    end_ms: Option<f64>, "ms", None = episode.end.map(|end| ms(end.0));
    /// window just before
    cwnd_before: u64, "bytes", None = episode.cwnd_before;
    /// bytes in flight just before
    inflight: u64, "bytes", None = episode.inflight;
    /// bytes acknowledged by all ACKs of the episode, including the first and the last
    acked_bytes: u64, "bytes", None = episode.acked;
    /// bytes declared lost by the same ACKs
    lost_bytes: u64, "bytes", Low = episode.lost;
    /// the longest time without sending during the episode
    silence_ms: f64, "ms", Low = ms(episode.silence.0);
    /// window at the end
    cwnd_after: u64, "bytes", None = episode.cwnd_after;
    /// time from the start until the last hole was filled at the sender
    repaired_ms: Option<f64>, "ms", Low = episode.repaired.map(|at| ms(at.since(episode.start).0));
}

record! {
    /// Waiting time of the flow's packets at the bottleneck, ms.
    #[derive(serde::Deserialize)]
    QueueRow of (queueing = Option<&Queueing>);

    /// median over delivered packets
    p50: Option<f64>, "ms", Low = queueing.map(|all| all.p50_us as f64 / 1e3);
    /// 99th percentile of the waiting time at the bottleneck, which other flows also experience
    /// (within 0.8 %)
    p99: Option<f64>, "ms", Low = queueing.map(|all| all.p99_us as f64 / 1e3) => ("queue_p99_ms", "queueing delay p99", "ms");
    /// longest
    max: Option<f64>, "ms", Low = queueing.map(|all| all.max_us as f64 / 1e3);
}

record! {
    /// Data packets dropped by the path, by cause (ground truth), as in `--json`.
    #[derive(Copy, Eq, serde::Deserialize)]
    DropsRow of (drops = &Drops);

    /// the queue had no room
    queue: u64, "", Low = drops.queue;
    /// independent loss, loss in bursts, handovers
    random: u64, "", None = drops.random;
    /// the policer's bucket was empty
    policer: u64, "", Low = drops.policer;
    /// active queue management
    aqm: u64, "", Low = drops.aqm;
    /// anything else
    other: u64, "", None = drops.other;
}

record! {
    /// One trial, as in `--json`. Times count from the first data byte sent; values that do not
    /// apply or that the testbed does not know are null.
    #[derive(serde::Deserialize)]
    TrialRow of (trial = &Trial<'_>);

    /// name of the arm as requested
    arm: String, "", None = trial.arm.label.clone();
    /// the arm in full
    arm_full: String, "", None = trial.arm.full();
    /// the path's canonical text
    path: String, "", None = trial.scenario.path.to_string();
    /// the testbed
    testbed: &'static str, "", None = trial.testbed;
    /// seed of the path's draws
    seed: u64, "", None = trial.seed;
    /// every byte was delivered within the limit
    complete: bool, "", High = trial.outcome.complete;
    /// from the first byte sent until the last byte is delivered in order at the receiver
    /// (completion time); null if this did not happen within the limit
    ttlb_ms: Option<f64>, "ms", Low = trial.outcome.delivered_after.map(|time| ms(time.0)) => ("ttlb_ms", "completion time", "ms");
    /// completion time at the sender: from the first byte sent until every byte is acknowledged.
    /// Includes the return path and, after an odd last packet, the receiver's delayed ACK (up to 25 ms with QUIC, 40 ms with TCP); null if this did
    /// not happen within the limit
    acked_ms: Option<f64>, "ms", Low = trial.outcome.acked_after.map(|time| ms(time.0));
    /// the lower bound on `ttlb_ms` for any sender on this path: the one-way delay from sender to receiver plus object bytes, without headers, over
    /// the bottleneck's rate.
    /// The return path does not count. If the rate varies, the bound is the time in which the link, with an unlimited queue, delivers an object
    /// offered all at once; if handovers vary the delay (`return=leo`), it uses the shortest delay. Null behind a policer
    ideal_ms: Option<f64>, "ms", None = trial.ideal.map(|ideal| ms(ideal.0));
    /// completion time over the lower bound for any sender: one-way delay plus bytes over bottleneck rate
    /// (`ttlb_ms / ideal_ms`), never below 1. A sender that knew the path and never waited would reach 1.045 with large objects: headers are 64 bytes
    /// (QUIC) or 52 (TCP) of a packet of 1500
    vs_ideal: Option<f64>, "", Low = trial.ttlb().zip(trial.ideal).map(|(ttlb, ideal)| ms(ttlb.0) / ms(ideal.0)) => ("vs_ideal", "vs ideal", "");
    /// object bytes delivered in order at the receiver by the end of the trial, whether it was complete or stopped by the limit
    delivered_bytes: Option<u64>, "bytes", High = trial.outcome.delivered;
    /// object bytes over the time until the last byte is delivered in order at the receiver
    /// (`delivered_bytes` / `ttlb_ms`); for a trial stopped by the limit, over the whole time until then
    goodput_mbps: Option<f64>, "Mbit/s", High = trial.goodput_mbps() => ("goodput_mbps", "goodput", "Mbit/s");
    /// data packets sent, including retransmissions and probes
    packets_sent: Option<u64>, "", Low = trial.outcome.counters.packets_sent;
    /// packets declared lost by the sender *and* truly dropped by the path
    packets_lost: Option<u64>, "", Low = trial.outcome.counters.packets_lost;
    /// packets declared lost and truly dropped, over all packets sent
    loss_ratio: Option<f64>, "", Low = trial.loss_ratio() => ("loss_ratio", "loss", "%");
    /// object bytes retransmitted, for any reason
    retransmitted_bytes: Option<u64>, "bytes", Low = trial.outcome.counters.retransmitted_bytes => ("retransmitted_bytes", "retransmitted", "bytes");
    /// packets that carried a retransmission, including probes
    retransmissions: Option<u64>, "", Low = trial.outcome.counters.retransmissions;
    /// packets that carried a retransmission and were dropped by the path (ground truth)
    lost_retransmissions: Option<u64>, "", Low = trial.outcome.counters.lost_retransmissions;
    /// probe timeouts (QUIC) or retransmission timeouts (TCP), including backoffs
    rtos: Option<u64>, "", Low = trial.outcome.counters.rtos;
    /// recovery episodes opened by loss
    recoveries: Option<u64>, "", Low = trial.outcome.counters.recoveries;
    /// recovery episodes that a timeout cut short
    recoveries_timed_out: Option<u64>, "", Low = trial.outcome.counters.recoveries_timed_out;
    /// recovery episodes opened by loss with no more in flight at entry than the threshold allows
    recoveries_below_ssthresh: Option<u64>, "", Low = trial.outcome.counters.recoveries_below_ssthresh;
    /// recovery episodes ended by an ACK while the window was below the threshold
    slow_starts_after_recovery: Option<u64>, "", Low = trial.outcome.counters.slow_starts_after_recovery;
    /// packets declared lost and acknowledged later
    spurious_losses: Option<u64>, "", Low = trial.outcome.counters.spurious_losses;
    /// the reason that kept the sender from sending for the longest time: `cwnd`, `pacing`, `maxrate`, `rwnd`, `sndbuf` or `app`; null if the
    /// testbed does not know all of them
    limited_by: Option<&'static str>, "", None = trial.outcome.limited.and_then(|limits| limits.longest()) => ("limited_by", "limited by", "");
    /// for how long each reason kept the sender from sending
    limited: Option<LimitedRow>, "", None = trial.outcome.limited.as_ref().map(|limits| LimitedRow::of((limits, trial.outcome.ended_after.map_or(0, |time| time.0))));
    /// why a sender with `@(ecn=)` stopped using ECN: `missing`, `too_few`, `too_many`, `lost` or `mangled`; null if it did not
    ecn_failure: Option<&'static str>, "", None = trial.outcome.ecn_failure.map(Failure::name);
    /// from the client's first packet to the server's first data, where the path has a handshake (`hello=`); null otherwise.
    /// All other times count from the first data
    handshake_ms: Option<f64>, "ms", None = trial.outcome.handshake.map(|time| ms(time.0)) => ("handshake_ms", "handshake", "ms");
    /// data packets that the path dropped, by cause (ground truth, `sim` only).
    /// A drop counts whether or not the sender notices it, under the first cause
    drops: Option<DropsRow>, "", None = trial.outcome.drops.as_ref().map(DropsRow::of);
    /// BDP plus queue capacity: the capacity of path and queue together; null if the queue is
    /// unlimited
    full_bdp_bytes: Option<u64>, "bytes", None = trial.scenario.path.full_bdp_bytes();
    /// how startup ended
    exit: Option<ExitRow>, "", None = trial.outcome.exit.as_ref().map(|exit| ExitRow::of((exit, trial.scenario.path.bdp_bytes(), trial.outcome.exit_capped)));
    /// recovery episodes
    episodes: Option<Vec<EpisodeRow>>, "", None = trial.outcome.episodes.as_ref().map(|all| all.iter().map(EpisodeRow::of).collect());
    /// waiting time of the flow's delivered packets at the bottleneck
    queue_ms: QueueRow, "", None = QueueRow::of(trial.outcome.queueing.as_ref());
    /// round trips per minute (RPM) under this load: a minute over the idle RTT plus the mean queueing delay of the
    /// shortest 95 % of the flow's delivered packets. `Loaded_Responsiveness` of draft-ietf-ippm-responsiveness, whose
    /// probes on the loading connection would meet this queue; here startup counts, too, and time in the server does not
    loaded_responsiveness: Option<f64>, "RPM", High = trial.round_trips_per_minute() => ("loaded_responsiveness", "responsiveness", "RPM");
}

impl Trial<'_> {
    fn ttlb(&self) -> Option<Nanos> {
        self.outcome.delivered_after
    }

    fn goodput_mbps(&self) -> Option<f64> {
        let ended = self.outcome.delivered_after.or(self.outcome.ended_after);
        self.outcome
            .delivered
            .zip(ended)
            .map(|(bytes, time)| bytes as f64 * 8e3 / time.0.max(1) as f64)
    }

    fn round_trips_per_minute(&self) -> Option<f64> {
        let queueing = self.outcome.queueing.as_ref()?;
        queueing.round_trips_per_minute(Nanos(self.scenario.path.rtt()))
    }

    fn loss_ratio(&self) -> Option<f64> {
        self.outcome
            .counters
            .packets_lost
            .zip(self.outcome.counters.packets_sent)
            .map(|(lost, sent)| lost as f64 / sent.max(1) as f64)
    }
}
