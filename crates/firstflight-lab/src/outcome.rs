//! Measurements of a trial, on any testbed.

use firstflight::detection::ecn::Failure;
use firstflight::{Exit, Nanos};
pub use firstflight_sim::Counters;
use firstflight_sim::{Drops, Episode, Stop};
use hdrhistogram::Histogram;

/// Measurements of one trial. A measure is `None` if the testbed cannot know it or it does not
/// apply: a testbed fills in its measurements and takes the rest from [`Outcome::default`].
/// Definitions are those of `docs/metrics.md`.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Whether every byte was delivered in order at the receiver within the limit.
    pub complete: bool,
    /// Completion time: from the first byte sent until the last byte was delivered in order at the
    /// receiver.
    pub delivered_after: Option<Nanos>,
    /// Completion time at the sender: from the first byte sent until every byte was acknowledged.
    pub acked_after: Option<Nanos>,
    /// Time from the first byte sent until the trial ended, by the last acknowledgement or by the
    /// limit.
    pub ended_after: Option<Nanos>,
    /// Object bytes delivered in order at the receiver.
    pub delivered: Option<u64>,
    /// Counters of the sender.
    pub counters: Counters<Option<u64>>,
    /// Data packets dropped by the path, by cause.
    pub drops: Option<Drops>,
    /// Exit from slow start, if it happened and was observed.
    pub exit: Option<Exit>,
    /// True if the sender's largest pacing rate capped it at that exit; `None` without such a rate.
    pub exit_capped: Option<bool>,
    /// Why the sender stopped using ECN (`@(ecn=)`).
    pub ecn_failure: Option<Failure>,
    /// For how long each reason kept the sender from sending.
    pub limited: Option<Limits>,
    /// Time from the client's first packet to the server's first data (`hello=` on the path).
    pub handshake: Option<Nanos>,
    /// Recovery episodes.
    pub episodes: Option<Vec<Episode>>,
    /// Queueing delay of the flow's delivered packets at the bottleneck.
    pub queueing: Option<Queueing>,
    /// Whether the sender closed the connection because its receiver acknowledged a packet number
    /// that was skipped.
    pub closed: Option<bool>,
    /// Reasons to doubt this trial, one sentence each.
    pub warnings: Vec<String>,
}

/// For how long each reason kept the sender from sending, from its first byte to the end of the
/// trial; `None` if the testbed does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The congestion window, or the recovery policy, was full.
    pub cwnd: Option<Nanos>,
    /// The pacer waited, at the controller's rate.
    pub pacing: Option<Nanos>,
    /// The pacer waited, at the sender's largest rate.
    pub max_rate: Option<Nanos>,
    /// The receiver allowed no more data.
    pub rwnd: Option<Nanos>,
    /// The send buffer was full.
    pub sndbuf: Option<Nanos>,
    /// Everything written was sent.
    pub app: Option<Nanos>,
}

impl Limits {
    /// The reason with the longest time, the first of several; `None` unless all are known.
    pub fn longest(&self) -> Option<&'static str> {
        let Limits { cwnd, pacing, max_rate, rwnd, sndbuf, app } = *self;
        let all = [
            ("cwnd", cwnd?),
            ("pacing", pacing?),
            ("maxrate", max_rate?),
            ("rwnd", rwnd?),
            ("sndbuf", sndbuf?),
            ("app", app?),
        ];
        all.into_iter().rev().max_by_key(|(_, time)| *time).map(|(name, _)| name)
    }
}

impl From<firstflight_sim::Limited> for Limits {
    fn from(limited: firstflight_sim::Limited) -> Limits {
        let firstflight_sim::Limited { cwnd, pacing, max_rate, rwnd, sndbuf, app } = limited;
        Limits {
            cwnd: Some(cwnd),
            pacing: Some(pacing),
            max_rate: Some(max_rate),
            rwnd: Some(rwnd),
            sndbuf: Some(sndbuf),
            app: Some(app),
        }
    }
}

/// Waiting times of delivered packets at the bottleneck, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// Median.
    pub p50_us: u64,
    /// 99th percentile, within 0.8 %.
    pub p99_us: u64,
    /// Longest.
    pub max_us: u64,
    /// Sum of the shortest 95 % of them, and their number.
    pub trimmed: (u64, u64),
}

impl Queueing {
    /// From a histogram in microseconds; zeros if nothing was delivered.
    pub fn of(us: &Histogram<u32>) -> Queueing {
        if us.is_empty() {
            return Queueing::default();
        }
        Queueing {
            p50_us: us.value_at_quantile(0.5),
            p99_us: us.value_at_quantile(0.99),
            max_us: us.max(),
            trimmed: trimmed(us),
        }
    }

    /// Round trips per minute on a path with this idle RTT; `None` if nothing was delivered.
    pub fn round_trips_per_minute(&self, rtt: Nanos) -> Option<f64> {
        let (sum_us, count) = self.trimmed;
        let mean_ms = rtt.0 as f64 / 1e6 + sum_us as f64 / 1e3 / count.max(1) as f64;
        (count > 0).then(|| 60_000.0 / mean_ms)
    }
}

/// Sum and number of the shortest 95 % of the values, at least one: the one-sided trimmed mean of
/// draft-ietf-ippm-responsiveness.
fn trimmed(us: &Histogram<u32>) -> (u64, u64) {
    let most = (us.len() * 95 / 100).max(1);
    us.iter_recorded().fold((0, 0), |(sum, count), step| {
        let taken = step.count_since_last_iteration().min(most - count);
        let value = us.median_equivalent(step.value_iterated_to());
        (sum + taken * value, count + taken)
    })
}

/// The simulator knows all measures.
impl From<firstflight_sim::Outcome> for Outcome {
    fn from(outcome: firstflight_sim::Outcome) -> Outcome {
        Outcome {
            complete: outcome.complete(),
            delivered_after: outcome.delivered_after,
            acked_after: (outcome.stop == Stop::Complete).then_some(outcome.acked_after),
            ended_after: Some(outcome.acked_after),
            delivered: Some(outcome.delivered),
            counters: outcome.counters.into(),
            drops: Some(outcome.drops),
            exit: outcome.exit,
            exit_capped: outcome.exit_capped,
            ecn_failure: outcome.ecn_failure,
            handshake: outcome.handshake,
            limited: Some(outcome.limited.into()),
            queueing: Some(Queueing::of(&outcome.queue_us)),
            episodes: Some(outcome.episodes),
            closed: Some(outcome.stop == Stop::Closed),
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queueing(us: impl IntoIterator<Item = u64>) -> Queueing {
        let mut all = Histogram::new(3).expect("a histogram");
        us.into_iter().for_each(|us| all.record(us).expect("in range"));
        Queueing::of(&all)
    }

    #[test]
    fn an_idle_path_of_thirty_ms_has_two_thousand_round_trips_per_minute() {
        let idle = queueing([0; 50]).round_trips_per_minute(Nanos::from_millis(30));
        assert_eq!(idle, Some(2_000.0));
    }

    #[test]
    fn the_longest_twentieth_does_not_count() {
        let rtt = Nanos::from_millis(20);
        let usual = queueing([1_000; 100]).round_trips_per_minute(rtt);
        let peaks = queueing([[1_000; 95].as_slice(), &[900_000; 5]].concat());
        assert_eq!(peaks.round_trips_per_minute(rtt), usual, "peaks of 0.9 s in 5 of 100 packets");
        let more = queueing([[1_000; 94].as_slice(), &[900_000; 6]].concat());
        assert!(more.round_trips_per_minute(rtt) < usual, "a sixth peak is within the 95 %");
    }

    #[test]
    fn without_packets_there_is_no_rate() {
        assert_eq!(queueing([]).round_trips_per_minute(Nanos::from_millis(30)), None);
    }
}
