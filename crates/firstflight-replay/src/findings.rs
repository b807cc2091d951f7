//! Findings about the path from the ACKs, in words that a person can act on.

use crate::followed::Followed;
use crate::shown::{Shown, mbps, ms};
use crate::signals::Signals;
use firstflight::Nanos;
use firstflight_log::step::Unsure;
use serde::Serialize;

/// A finding about a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Kind: `coarse`, `ack_grid`, `ack_bursts`, `aggregation`, `grants`, `receiver_clock`,
    /// `policer`, `shallow_buffer`, `own_queue`, `foreign_queue`, `app_limited`,
    /// `receiver_limited`, `closed_window`, `keep_alives`, `marks`, `lower_bound`, `segment_size`,
    /// `window_scale`.
    pub kind: &'static str,
    /// The value, in the unit that the text names.
    pub value: f64,
    /// Description in one or two sentences.
    pub text: String,
}

/// All findings about a connection.
pub fn findings(followed: &Followed, shown: &Shown) -> Vec<Finding> {
    let signals = &followed.signals;
    let found = [
        coarse(followed),
        lower_bound(shown),
        grid(signals, followed.min_rtt).or_else(|| bursts(signals)),
        aggregation(signals, followed.mss),
        grants(signals, shown),
        receiver_clock(signals, shown),
        policer(followed, shown),
        queue(signals),
        app_limited(followed),
        receiver_limited(signals),
        closed_window(signals),
        keep_alives(signals),
        marks(signals),
        segment_size(followed),
        window_scale(signals),
    ];
    found.into_iter().flatten().collect()
}

fn finding(kind: &'static str, value: f64, text: String) -> Finding {
    Finding { kind, value, text }
}

/// A number with three significant digits.
fn say(value: f64) -> String {
    match value.abs() {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn coarse(followed: &Followed) -> Option<Finding> {
    let interval = ms(followed.opening.stated.coarse?.0);
    let text = format!(
        "Each row covers {} ms: fine enough to describe the path, too coarse for exits from slow start.",
        say(interval)
    );
    Some(finding("coarse", interval, text))
}

fn lower_bound(shown: &Shown) -> Option<Finding> {
    let rate = mbps(shown.rate? * shown.wire);
    if !shown.lower_bound {
        return None;
    }
    let text = format!(
        "No standing queue and no loss was seen: the path carries at least {} Mbit/s, possibly more. Exits are judged against the observed rate.",
        say(rate)
    );
    Some(finding("lower_bound", rate, text))
}

fn grid(signals: &Signals, min_rtt: Option<Nanos>) -> Option<Finding> {
    let (period, sharpness) = signals.grid(min_rtt?)?;
    let per_burst = signals.burst_acks.quantile(0.5)?;
    let text = format!(
        "ACKs arrive every {} ms in bursts (half of them {} or more; sharpness {sharpness:.2}): delay-based exits will be early on this path, and \
         rates derived from ACK spacing describe the return path, not the forward path.",
        say(ms(period)),
        say(per_burst)
    );
    Some(finding("ack_grid", ms(period), text))
}

/// Finds bursts of ACKs that follow no grid.
fn bursts(signals: &Signals) -> Option<Finding> {
    let (interval, per_burst) =
        (signals.intervals.quantile(0.5)?, signals.burst_acks.quantile(0.5)?);
    let (near, typical) = (signals.gaps.quantile(0.5)?, signals.gaps.quantile(0.98)?);
    if signals.intervals.len() < 24
        || per_burst < 4.0
        || typical < 8.0 * near.max(1.0)
        || interval < 1e6
    {
        return None;
    }
    let text = format!(
        "ACKs come in bursts of {} about every {} ms, {} us apart within a burst: estimates from ACK spacing measure the burst, not the path.",
        say(per_burst),
        say(interval / 1e6),
        say(near / 1e3)
    );
    Some(finding("ack_bursts", interval / 1e6, text))
}

fn aggregation(signals: &Signals, mss: u64) -> Option<Finding> {
    let (half, most) = (signals.acked.quantile(0.5)?, signals.acked.quantile(0.99)?);
    let packets = half / mss.max(1) as f64;
    if packets < 3.5 {
        return None;
    }
    let text = format!(
        "One ACK covers {} packets at the median and {} at the 99th percentile: aggregation at the receiver, ACK thinning on the path, or an ACK \
         frequency extension. HyStart's train rule and ACK-pair estimates see few samples; HyStart++ counts them (8 per round).",
        say(packets),
        say(most / mss.max(1) as f64)
    );
    Some(finding("aggregation", packets, text))
}

/// Finds a return channel whose grants grow with demand: the number of ACKs per second grows by a
/// steady factor while the RTT is inflated with little data in flight.
fn grants(signals: &Signals, shown: &Shown) -> Option<Finding> {
    let (bdp, min) = (shown.bdp?, shown.min_rtt_ms?);
    let starved = |index: usize| {
        let second = signals.seconds[index];
        second.acks >= 5 && ms(second.rtt) > 1.3 * min && (second.inflight as f64) < 0.5 * bdp
    };
    let grows = |index: usize| {
        let factor =
            signals.seconds[index].acks as f64 / signals.seconds[index - 1].acks.max(1) as f64;
        (1.15..2.6).contains(&factor)
    };
    let length =
        (1..signals.seconds.len()).take_while(|&index| starved(index) && grows(index)).count();
    if length < 3 {
        return None;
    }
    let (first, last) = (signals.seconds[0].acks.max(1), signals.seconds[length].acks);
    let factor = (last as f64 / first as f64).powf(1.0 / length as f64);
    let text = format!(
        "For {length} s ACKs per second grew by {factor:.2} each ({first} to {last}) while the RTT rose to {} ms with the path mostly empty: the return \
         channel received its capacity grants step by step. During this time, RTT and ACK rate reflect the return channel, not the forward path.",
        say(ms(signals.seconds[length].rtt))
    );
    Some(finding("grants", factor, text))
}

fn receiver_clock(signals: &Signals, shown: &Shown) -> Option<Finding> {
    let (tick, rate) = (signals.clock.tick()?, signals.clock.rate()?);
    let best = shown.rate?;
    let text = format!(
        "By the receiver's clock (ticks of {} ms), payload arrived at up to {} Mbit/s; by ACK arrivals at the sender, at up to {} Mbit/s.{}",
        say(tick / 1e6),
        say(mbps(rate)),
        say(mbps(best)),
        if (rate / best - 1.0).abs() > 0.25 {
            " The return path distorts what the sender sees."
        } else {
            ""
        }
    );
    Some(finding("receiver_clock", mbps(rate), text))
}

/// Finds a token bucket: losses without a queue before them, and a higher rate before the first
/// loss than at any time after it.
fn policer(followed: &Followed, shown: &Shown) -> Option<Finding> {
    let signals = &followed.signals;
    let first = signals.first_loss?;
    let min = followed.min_rtt?;
    let loss = followed.lost as f64 / followed.sent.max(1) as f64;
    let queue = signals.loss_rtt.quantile(0.5)? - min.0 as f64;
    if queue > (min.0 as f64 * 0.2).max(2e6) || followed.lost < 10 * followed.mss {
        return None;
    }
    let span = Nanos((min * 4).0.max(100_000_000));
    let start = followed.opening.start;
    // The window covers over half of the time after the loss, because a shorter one may contain a
    // bucket that filled while the sender was quiet.
    let after =
        followed.meter.best(first + min, span.max(Nanos(followed.end.since(first).0 / 2)))?;
    // The window covers half of the time before the first loss, which includes the burst that the
    // bucket let through.
    let before =
        followed.meter.recent(first, Nanos((first.since(start).0 / 2).clamp(min.0, span.0)))?;
    if before > 1.4 * after.rate && followed.end.since(first) > span * 4 {
        let bucket = followed
            .meter
            .recent(first, first.since(start))
            .map_or(0.0, |mean| (mean - after.rate).max(0.0) * ms(first.since(start).0) / 1e3);
        let text = format!(
            "Losses came without a queue before them, and {} Mbit/s before the first one became {} after it: a policer near {} Mbit/s with a bucket of \
             about {} kB. Pacing below that rate avoids the losses; no startup that waits for delay will see it.",
            say(mbps(before)),
            say(mbps(after.rate)),
            say(mbps(after.rate * shown.wire)),
            say(bucket / 1e3)
        );
        return Some(finding("policer", mbps(after.rate * shown.wire), text));
    }
    let text = format!(
        "{} % were lost while the queue stood at {} ms or less: a shallow buffer, a policer with a small bucket, or random losses.",
        say(loss * 100.0),
        say((queue / 1e6).max(0.0))
    );
    Some(finding("shallow_buffer", loss * 100.0, text))
}

/// If more than this share of the RTT at the first loss is queueing delay, the connection itself
/// filled the queue.
const OWN_QUEUE: f64 = 0.5;
/// If the share is lower than this, the queue was already full.
const FOREIGN_QUEUE: f64 = 0.15;

/// Finds the origin of the queue at the first loss.
fn queue(signals: &Signals) -> Option<Finding> {
    signals.first_loss?;
    let risen = signals.before_loss.risen()?;
    let percent = risen * 100.0;
    if risen >= OWN_QUEUE {
        let text = format!(
            "Before the first loss, queueing delay reached {} % of the RTT: this connection filled the bottleneck buffer itself, and an earlier exit avoids the loss.",
            say(percent)
        );
        return Some(finding("own_queue", percent, text));
    }
    if risen <= FOREIGN_QUEUE {
        let text = format!(
            "Before the first loss, the RTT varied by only {} % of its maximum: other flows had already filled the buffer, or the buffer is too small to show; an earlier exit avoids little loss.",
            say(percent)
        );
        return Some(finding("foreign_queue", percent, text));
    }
    None
}

fn app_limited(followed: &Followed) -> Option<Finding> {
    let signals = &followed.signals;
    let share =
        signals.app_limited_ns as f64 / followed.end.since(followed.opening.start).0.max(1) as f64;
    if share < 0.1 {
        return None;
    }
    let text = format!(
        "The sender had nothing to send for {} % of the time ({} periods): rates then reflect the application, and startups pause.",
        say(share * 100.0),
        signals.app_limited_stretches
    );
    Some(finding("app_limited", share * 100.0, text))
}

fn receiver_limited(signals: &Signals) -> Option<Finding> {
    let share = signals.receiver_limited as f64 / signals.acks.max(1) as f64;
    if share < 0.05 {
        return None;
    }
    let text = format!(
        "At {} % of the ACKs the receive window was full: it limited the sender, not the congestion window. Increase the receive buffer first.",
        say(share * 100.0)
    );
    Some(finding("receiver_limited", share * 100.0, text))
}

fn closed_window(signals: &Signals) -> Option<Finding> {
    let probes = signals.window_probes;
    let text = format!(
        "The receiver closed its window, and the sender probed it {probes} times: the receiving application reads slowly; these probes are not losses."
    );
    (probes > 0).then(|| finding("closed_window", probes as f64, text))
}

fn keep_alives(signals: &Signals) -> Option<Finding> {
    let count = signals.keep_alives;
    let text = format!("{count} keep-alive segments of an idle connection are left out.");
    (count > 0).then(|| finding("keep_alives", count as f64, text))
}

fn marks(signals: &Signals) -> Option<Finding> {
    let marks = signals.marks;
    let text = format!(
        "The receiver reported {marks} congestion mark{}: the path marks packets instead of dropping them.",
        if marks == 1 { "" } else { "s" }
    );
    (marks > 0).then(|| finding("marks", marks as f64, text))
}

fn segment_size(followed: &Followed) -> Option<Finding> {
    let mss = followed.mss;
    let text = format!(
        "The trace has no SYN that states the segment size; {mss} bytes is the size of most full segments. Windows in segments are uncertain."
    );
    followed
        .signals
        .unsure
        .contains(&Unsure::SegmentSize)
        .then(|| finding("segment_size", mss as f64, text))
}

fn window_scale(signals: &Signals) -> Option<Finding> {
    let least = signals.unsure.iter().find_map(|unsure| match unsure {
        Unsure::WindowScale { least } => Some(*least),
        Unsure::SegmentSize => None,
    })?;
    let factor = 1_u32 << least;
    let bound = if least > 0 {
        format!(" The bytes in flight imply a factor of at least {factor}.")
    } else {
        String::new()
    };
    let text = format!(
        "The window scale factor of the receiver is in the handshake, which the trace lacks, so the receive window is unknown.{bound}"
    );
    Some(finding("window_scale", f64::from(factor), text))
}
