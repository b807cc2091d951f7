//! The summary of one connection: the path as its ACKs show it, and how well the exit window of
//! each startup would have fitted.

use crate::findings::{Finding, findings};
use crate::followed::Followed;
use crate::identify::Identity;
use crate::run::{Left, Run};
use crate::shown::{Shown, mbps, ms};
use firstflight::startup::ExitReason;
use firstflight_log::quality::{Quality, Trust};
use serde::Serialize;

/// An exit window below this share of the BDP is too small. The rate is known within a few percent,
/// the round trip more precisely, and ACKs of two packets blur the window by one packet; a fifth is
/// more than all of these together.
pub const EARLY_BELOW: f64 = 0.8;
/// At twice the BDP, the queue at the bottleneck is as long as the path itself.
pub const LATE_ABOVE: f64 = 2.0;

/// Quality of a startup's exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Exit with a window that does not fill the path.
    Early,
    /// Exit with a window that fills the path, and a queue no longer than the path.
    Right,
    /// Exit only after packet loss, or with a window of more than twice the BDP.
    Late,
    /// No exit within the trace.
    Silent,
}

impl Verdict {
    /// All verdicts, in the order of tables.
    pub const ALL: [Verdict; 4] = [Verdict::Early, Verdict::Right, Verdict::Late, Verdict::Silent];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Early => "early",
            Verdict::Right => "right",
            Verdict::Late => "late",
            Verdict::Silent => "silent",
        }
    }
}

/// One startup on one connection. Values that do not apply are null.
#[derive(Clone, Debug, Serialize)]
pub struct StartupRow {
    /// Name of the arm as requested.
    pub arm: String,
    /// Full text of the arm.
    pub arm_full: String,
    /// Verdict.
    pub verdict: Verdict,
    /// The trace states that this arm ran, and the replay repeated its exact inputs.
    pub exact: bool,
    /// Reason for the exit.
    pub reason: Option<&'static str>,
    /// Time of the exit since the first data byte was sent.
    pub time_ms: Option<f64>,
    /// Number of the ACK at which it exited, counted from 0.
    pub ack: Option<u64>,
    /// Number of round trips completed.
    pub rounds: Option<u32>,
    /// Window at detection, before any reduction.
    pub cwnd: Option<u64>,
    /// Window at detection over the path's BDP.
    pub bdp_ratio: Option<f64>,
    /// Bytes that were really in flight.
    pub inflight: Option<u64>,
    /// Bytes in flight over its window: the share of the allowed window that the sender used.
    pub used_ratio: Option<f64>,
    /// The value that decided.
    pub estimate: Option<f64>,
    /// Its unit: `ms` or `bytes`.
    pub estimate_unit: Option<&'static str>,
    /// Delivery rate over the preceding round trip.
    pub rate_then_mbps: Option<f64>,
    /// Ratio of that rate to the best sustained rate of the connection.
    pub rate_ratio: Option<f64>,
    /// The threshold it had set, if it sets one before the exit.
    pub aim_bytes: Option<u64>,
    /// Ratio of that threshold to the path's BDP.
    pub aim_ratio: Option<f64>,
    /// Time at which it set the threshold.
    pub aim_ms: Option<f64>,
    /// Window at the end of the trace.
    pub cwnd_end: u64,
}

/// The real sender's reports about itself.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderRow {
    /// The arm that ran, if the trace is our own.
    pub arm: Option<String>,
    /// Why the recorded startup exited, as the trace states it; null if firstflight did not write
    /// the trace.
    pub reason: Option<&'static str>,
    /// Time of the exit: as recorded, or of its first threshold.
    pub time_ms: Option<f64>,
    /// Window at the exit.
    pub cwnd: Option<u64>,
    /// Largest window.
    pub cwnd_max: Option<u64>,
    /// First threshold.
    pub ssthresh: Option<u64>,
    /// Highest pacing rate.
    pub pacing_mbps: Option<f64>,
    /// Highest bandwidth estimate.
    pub bandwidth_mbps: Option<f64>,
}

/// One connection. Times count from the first data byte sent; bytes are payload as windows count
/// them.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionRow {
    /// Name.
    pub name: String,
    /// Group in a population.
    pub group: Option<String>,
    /// Program that wrote the trace.
    pub origin: String,
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Time from the first byte sent to the last event.
    pub duration_ms: f64,
    /// Number of ACKs that acknowledged data.
    pub acks: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Payload of a full packet, bytes.
    pub mss: u64,
    /// Assumed initial window, bytes.
    pub initial_window: u64,
    /// The sender paced its first flight; null if this is unknown.
    pub paced: Option<bool>,
    /// Quality of the capture; null for logs, whose vantage is known.
    pub capture: Option<Quality>,
    /// Smallest RTT.
    pub min_rtt_ms: Option<f64>,
    /// Median RTT.
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of the RTT.
    pub rtt_p95_ms: Option<f64>,
    /// Best sustained delivery rate: over four round trips, or 100 ms.
    pub best_rate_mbps: Option<f64>,
    /// The same rate including headers, as a link's rate does.
    pub best_rate_wire_mbps: Option<f64>,
    /// Start of the window with that rate.
    pub best_rate_at_ms: Option<f64>,
    /// Neither queue nor loss was seen, so the path may carry more than the sender ever used.
    pub rate_is_lower_bound: bool,
    /// Best sustained rate times minimum RTT.
    pub bdp_bytes: Option<u64>,
    /// Maximum bytes in flight.
    pub inflight_max: u64,
    /// Share of the sent bytes declared lost; null if the log cannot record losses.
    pub loss_ratio: Option<f64>,
    /// Number of times that losses proved spurious.
    pub spurious: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Queueing delay of a full queue: RTT at losses minus the minimum; null if no loss came with a
    /// queue.
    pub buffer_ms: Option<f64>,
    /// Maximum queueing delay.
    pub queue_max_ms: Option<f64>,
    /// The real sender's reports about itself.
    pub sender: SenderRow,
    /// The replayed startups.
    pub startups: Vec<StartupRow>,
    /// Findings about the path.
    pub findings: Vec<Finding>,
    /// The identified startup, if identification was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identified: Option<Identity>,
}

fn verdict(left: Option<&Left>, ratio: Option<f64>) -> Verdict {
    let Some(left) = left else { return Verdict::Silent };
    let ratio = ratio.unwrap_or(1.0);
    if ratio < EARLY_BELOW {
        Verdict::Early
    } else if matches!(left.exit.reason, ExitReason::Loss | ExitReason::Timeout)
        || ratio > LATE_ABOVE
    {
        Verdict::Late
    } else {
        Verdict::Right
    }
}

fn startup(run: &Run, followed: &Followed, shown: &Shown) -> StartupRow {
    let left = run.left.as_ref();
    let start = followed.opening.start;
    let of_bdp = |bytes: u64| shown.bdp.filter(|bdp| *bdp > 0.0).map(|bdp| bytes as f64 / bdp);
    let ratio = left.and_then(|left| of_bdp(left.exit.detect_cwnd));
    let in_time = |reason| {
        matches!(
            reason,
            ExitReason::Delay | ExitReason::Train | ExitReason::CssDone | ExitReason::LssTrigger
        )
    };
    let estimate =
        left.and_then(|left| Some((left.exit.estimate? as f64, in_time(left.exit.reason))));
    let rate = left.and_then(|left| left.rate);
    StartupRow {
        arm: run.named.label.clone(),
        arm_full: run.named.arm.to_string(),
        verdict: verdict(left, ratio),
        exact: run.exact,
        reason: left.map(|left| left.exit.reason.name()),
        time_ms: left.map(|left| ms(left.exit.at.since(start).0)),
        ack: left.map(|left| left.ack),
        rounds: left.map(|left| left.exit.rounds),
        cwnd: left.map(|left| left.exit.detect_cwnd),
        bdp_ratio: ratio,
        inflight: left.map(|left| left.exit.inflight),
        used_ratio: left
            .map(|left| left.exit.inflight as f64 / left.exit.detect_cwnd.max(1) as f64),
        estimate: estimate.map(|(value, is_time)| if is_time { value / 1e6 } else { value }),
        estimate_unit: estimate.map(|(_, is_time)| if is_time { "ms" } else { "bytes" }),
        rate_then_mbps: rate.map(mbps),
        rate_ratio: rate.zip(shown.rate).map(|(then, best)| then / best),
        aim_bytes: run.aim.map(|aim| aim.ssthresh),
        aim_ratio: run.aim.and_then(|aim| of_bdp(aim.ssthresh)),
        aim_ms: run.aim.map(|aim| ms(aim.at.since(start).0)),
        cwnd_end: run.cwnd,
    }
}

impl ConnectionRow {
    /// Whether its capture is in doubt.
    pub fn is_doubtful(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.trust == Trust::Doubtful)
    }

    /// The row of a connection that was followed to its end.
    pub fn of(followed: &Followed) -> ConnectionRow {
        let shown = Shown::of(followed);
        let opening = &followed.opening;
        let start = opening.start;
        let sender = &followed.sender;
        let (reason, left) = match (sender.recorded, sender.left) {
            (Some(recorded), _) => {
                (Some(recorded.reason.name()), Some((recorded.at, recorded.detect_cwnd)))
            }
            (None, left) => (None, left),
        };
        ConnectionRow {
            name: opening.name.clone(),
            group: opening.group.clone(),
            origin: opening.origin.clone(),
            transport: opening.transport.name(),
            duration_ms: ms(followed.end.since(start).0),
            acks: followed.acks,
            bytes: followed.delivered,
            mss: followed.mss,
            initial_window: followed.initial_window(),
            paced: opening.paced,
            capture: followed.quality.clone(),
            min_rtt_ms: shown.min_rtt_ms,
            rtt_p50_ms: shown.whole(followed.rtts.quantile(0.5)),
            rtt_p95_ms: shown.whole(followed.rtts.quantile(0.95)),
            best_rate_mbps: shown.rate.map(mbps),
            best_rate_wire_mbps: shown.rate.map(|rate| mbps(rate * shown.wire)),
            best_rate_at_ms: shown.rate_at.map(ms),
            rate_is_lower_bound: shown.lower_bound,
            bdp_bytes: shown.bdp.map(|bdp| bdp as u64),
            inflight_max: followed.inflight_most,
            loss_ratio: followed.loss(),
            spurious: followed.spurious,
            timeouts: followed.timeouts,
            buffer_ms: shown.buffer_ms,
            queue_max_ms: shown.queue_max_ms,
            sender: SenderRow {
                arm: opening.ran.as_ref().map(|ran| ran.arm.clone()),
                reason,
                time_ms: left.map(|(at, _)| ms(at.since(start).0)),
                cwnd: left.map(|(_, cwnd)| cwnd),
                cwnd_max: Some(sender.cwnd_most).filter(|cwnd| *cwnd > 0),
                ssthresh: sender.ssthresh,
                pacing_mbps: sender.pacing.map(|rate| rate as f64 / 1e6),
                bandwidth_mbps: sender.bandwidth.map(|rate| rate as f64 / 1e6),
            },
            startups: followed.runs.iter().map(|run| startup(run, followed, &shown)).collect(),
            findings: findings(followed, &shown),
            identified: followed.identity.clone(),
        }
    }
}
