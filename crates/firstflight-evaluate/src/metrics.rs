//! The metrics that there are: name, unit, which end is worse, definition, and what a run needs for
//! them. How each is read from the samples of a run stands in `metric.rs`.

use firstflight_lab::nearest;
use firstflight_path::Error;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDoc {
    /// Its name in the battery, with its unit at the end.
    pub name: &'static str,
    /// Unit, empty for a share or an index.
    pub unit: &'static str,
    /// Less is worse.
    pub high_is_good: bool,
    /// Differences are of logarithms: a margin of 0.05 is five percent.
    pub logarithm: bool,
    /// It compares with a run of these flows alone.
    pub harm: bool,
    /// It counts from the scenario's event.
    pub event: bool,
    /// The definition.
    pub doc: &'static str,
}

const PLAIN: MetricDoc = MetricDoc {
    name: "",
    unit: "",
    high_is_good: false,
    logarithm: false,
    harm: false,
    event: false,
    doc: "",
};

const fn of(name: &'static str, unit: &'static str, doc: &'static str) -> MetricDoc {
    MetricDoc { name, unit, doc, ..PLAIN }
}

const fn good(metric: MetricDoc) -> MetricDoc {
    MetricDoc { high_is_good: true, ..metric }
}

const fn times(metric: MetricDoc) -> MetricDoc {
    MetricDoc { logarithm: true, ..metric }
}

const fn harm(metric: MetricDoc) -> MetricDoc {
    MetricDoc { harm: true, ..metric }
}

const fn after_event(metric: MetricDoc) -> MetricDoc {
    MetricDoc { event: true, ..metric }
}

/// Every metric. Bytes are those delivered in order; a window is a horizon of the rule.
pub const METRICS: &[MetricDoc] = &[
    good(of(
        "util",
        "",
        "goodput of the flows over the bottleneck's rate; where the rate varies, over its mean in the window",
    )),
    good(of("x_mbps", "Mbit/s", "goodput of the flows together")),
    of("loss", "", "packets that the path dropped, of those sent"),
    of(
        "queue_p50_ms",
        "ms",
        "what waits at the bottleneck over its rate (in an outage the rate before), over time: median",
    ),
    of(
        "queue_p95_ms",
        "ms",
        "the same: 95 % of the time it is not longer. What a packet of somebody else would wait",
    ),
    of("queue_p99_ms", "ms", "the same for 99 %"),
    of("standing_ms", "ms", "the same for 10 %: the queue that never drains"),
    good(of("jain", "", "Jain's index of the flows' goodput; 1 is equal")),
    times(of(
        "conv_s",
        "s",
        "from the newcomer's start until all flows stay within 0.8 to 1.25 of an equal share for 5 s, in bins of the longer of 1 s and 5 RTT",
    )),
    of(
        "starved",
        "",
        "1 if some flow stays below a tenth of its equal share in three consecutive windows of the longer of 5 s and 50 RTT, from 5 s after its start",
    ),
    of("gap_s", "s", "the longest time in which a flow delivers nothing, to a tenth of a second"),
    of("ratio", "", "goodput per flow of the role over that of all others"),
    of(
        "rtt_p95_ms",
        "ms",
        "idle round trip of the flows plus the queueing delay at its 95th percentile",
    ),
    harm(of(
        "harm_x",
        "",
        "what the flows lose of the goodput that they have alone: (alone - now) / alone",
    )),
    harm(of("harm_fct", "", "what `fct_ms` grows: (now - alone) / now")),
    harm(of("harm_rtt", "", "what their round trip grows at p95: (now - alone) / now")),
    harm(of("harm_kept", "", "what they lose of 1 - loss: (alone - now) / alone")),
    after_event(of(
        "t90_s",
        "s",
        "from the event until goodput stays at nine tenths of its later mean for 5 s, in windows of the longer of 1 s and 5 RTT; to the end if it never does",
    )),
    after_event(of(
        "overshoot_ms",
        "ms",
        "99th percentile of the queueing delay in the 10 s after the event",
    )),
    after_event(of(
        "overshoot_loss",
        "",
        "packets dropped of those sent in the 10 s after the event",
    )),
    times(of(
        "fct_ms",
        "ms",
        "completion time from the first byte sent to the last delivered, geometric mean of the flows; one that does not get there is as late as the end",
    )),
    of(
        "frame_p95_ms",
        "ms",
        "media: from when a frame is written until all of it is at the receiver, in order; 95 % of those written in the window are not later, and one that never gets there is as late as the end",
    ),
    of("frame_late", "", "share of those frames that are later than 150 ms"),
    harm(of("harm_frame", "", "what `frame_p95_ms` grows: (now - alone) / now")),
    of("unfinished", "", "share of the flows with an end that did not get there"),
    of(
        "spurious",
        "",
        "packets declared lost that the path had not dropped, of those sent, over the whole run",
    ),
    of("timeouts", "", "probe or retransmission timeouts per flow, over the whole run"),
    good(of(
        "closed",
        "",
        "share of the flows whose sender closed the connection, since its receiver acknowledged a packet number that was skipped",
    )),
    of("rate_pps", "packets/s", "packets that a flow sends"),
    of("packets_per_rtt", "", "the same in an idle round trip"),
    times(of(
        "ect0_rate_pps",
        "packets/s",
        "`rate_pps` where marks have to be answered as losses (RFC 3168); of an algorithm that sends ECT(1) unknown",
    )),
    good(of(
        "packets_10_rtt",
        "",
        "packets per idle round trip from the 10th to the 20th round trip of a flow",
    )),
    times(of(
        "gain",
        "",
        "what a receiver gains that lies: packets sent in the first ten idle round trips of a flow, over those with an honest receiver",
    )),
    good(of(
        "backoff",
        "",
        "after the last ACK: the smallest ratio of a gap between two expiries of the timer to the one before, from the third gap on, while gaps are below 60 s; packets within a millisecond of the first are one expiry, those of the first idle round trip none",
    )),
    of(
        "silent_packets",
        "",
        "packets sent after the last ACK over the window then, in packets, plus two; below 1 is as it should be",
    ),
    of("in_recovery", "", "1 if a recovery episode was open when the last ACK had come"),
    of(
        "breaker",
        "",
        "1 if a flow of the role would trip a circuit breaker: more than a tenth of its packets lost in each of three consecutive windows of 5 s, or over 60 s in at least half of whose windows it sent",
    ),
];

/// The metric of that name.
pub(crate) fn metric_named(name: &str) -> Result<&'static MetricDoc, Error> {
    METRICS.iter().find(|metric| metric.name == name).ok_or_else(|| {
        let meant = nearest(name, METRICS.iter().map(|metric| metric.name));
        let meant = meant.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        Error::new(format!("no metric `{name}`{meant}"))
    })
}

/// It is read from the times of single packets.
pub(crate) fn needs_sends(metric: &str) -> bool {
    matches!(metric, "backoff" | "silent_packets" | "in_recovery")
}

/// It compares with a run in which all receivers are honest.
pub(crate) fn needs_honest(metric: &str) -> bool {
    metric == "gain"
}
