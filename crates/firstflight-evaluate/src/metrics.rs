//! All metrics: name, unit, direction, definition and requirements. `metric.rs` computes them from the
//! samples of a run.

use firstflight_lab::nearest;
use firstflight_path::Error;

/// The description of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDoc {
    /// Name in the battery, with its unit at the end.
    pub name: &'static str,
    /// Name in words.
    pub words: &'static str,
    /// Unit; empty for a share or an index.
    pub unit: &'static str,
    /// Whether a lower value is worse.
    pub high_is_good: bool,
    /// Whether logarithms are compared: a margin of 0.05 is five percent.
    pub logarithm: bool,
    /// Whether the metric compares with a run of these flows alone.
    pub harm: bool,
    /// Whether it starts at the scenario's event.
    pub event: bool,
    /// The definition.
    pub doc: &'static str,
}

const PLAIN: MetricDoc = MetricDoc {
    name: "",
    words: "",
    unit: "",
    high_is_good: false,
    logarithm: false,
    harm: false,
    event: false,
    doc: "",
};

const fn of(
    name: &'static str,
    words: &'static str,
    unit: &'static str,
    doc: &'static str,
) -> MetricDoc {
    MetricDoc { name, words, unit, doc, ..PLAIN }
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

/// Every metric. Bytes are bytes delivered in order; the window is the rule's horizon.
pub const METRICS: &[MetricDoc] = &[
    good(of(
        "util",
        "use of the bottleneck",
        "",
        "goodput of the flows over the bottleneck's rate; where the rate varies, over its mean in the window",
    )),
    good(of("x_mbps", "goodput", "Mbit/s", "goodput of the flows together")),
    of("loss", "packet loss", "", "fraction of sent packets that the path dropped"),
    of(
        "queue_p50_ms",
        "median queueing delay",
        "ms",
        "bytes queued at the bottleneck over its rate (in an outage, the rate before it), over time: median",
    ),
    of(
        "queue_p95_ms",
        "queueing delay p95",
        "ms",
        "its 95th percentile: the queueing delay that other traffic experiences",
    ),
    of("queue_p99_ms", "queueing delay p99", "ms", "its 99th percentile"),
    of("standing_ms", "standing queue", "ms", "its 10th percentile: the standing queue"),
    good(of("jain", "Jain's fairness index", "", "Jain's index of the flows' goodput; 1 is equal")),
    times(of(
        "conv_s",
        "time to fair shares",
        "s",
        "from the newcomer's start until all flows stay within 0.8 to 1.25 of an equal share for 5 s, in bins of 1 s or 5 RTTs, whichever is longer",
    )),
    of(
        "starved",
        "starvation",
        "",
        "1 if a flow stays below a tenth of its equal share in three consecutive windows, each of 5 s or 50 RTTs, whichever is longer, starting 5 s after its start",
    ),
    of(
        "gap_s",
        "longest pause in delivery",
        "s",
        "the longest time in which a flow delivers nothing, with a resolution of 0.1 s",
    ),
    of(
        "ratio",
        "goodput relative to other flows",
        "",
        "goodput per flow of the role divided by that of all other flows",
    ),
    of(
        "rtt_p95_ms",
        "round trip p95",
        "ms",
        "idle round trip of the flows plus the queueing delay at its 95th percentile",
    ),
    harm(of(
        "harm_x",
        "lost goodput",
        "",
        "loss of goodput compared with the same flows alone: (alone - now) / alone",
    )),
    harm(of(
        "harm_fct",
        "added completion time",
        "",
        "increase of `fct_ms` compared with the same flows alone: (now - alone) / now",
    )),
    harm(of(
        "harm_rtt",
        "added round trip p95",
        "",
        "increase of their p95 round trip: (now - alone) / now",
    )),
    harm(of(
        "harm_kept",
        "added packet loss",
        "",
        "decrease of their 1 - loss: (alone - now) / alone",
    )),
    after_event(of(
        "t90_s",
        "time to regain nine tenths of the goodput",
        "s",
        "from the event until goodput stays at nine tenths of its later mean for 5 s, in windows of 1 s or 5 RTTs, whichever is longer; until the end of the run if it never does",
    )),
    after_event(of(
        "overshoot_ms",
        "queueing delay p99 after the event",
        "ms",
        "99th percentile of the queueing delay in the 10 s after the event",
    )),
    after_event(of(
        "overshoot_loss",
        "packet loss after the event",
        "",
        "fraction of packets sent in the 10 s after the event that were dropped",
    )),
    times(of(
        "fct_ms",
        "completion time",
        "ms",
        "completion time from the first byte sent to the last delivered, geometric mean of the flows; an unfinished flow counts until the end of the run",
    )),
    of(
        "frame_p95_ms",
        "frame delay p95",
        "ms",
        "media: 95th percentile of the time from writing a frame until all of it has arrived in order, for frames written in the window; a lost frame counts until the end of the run",
    ),
    of("frame_late", "late frames", "", "fraction of these frames that take longer than 150 ms"),
    harm(of(
        "harm_frame",
        "added frame delay p95",
        "",
        "increase of `frame_p95_ms`: (now - alone) / now",
    )),
    of("unfinished", "unfinished flows", "", "fraction of the finite flows that did not finish"),
    of(
        "spurious",
        "spurious losses",
        "",
        "fraction of sent packets that were declared lost although the path had not dropped them, over the whole run",
    ),
    of(
        "timeouts",
        "timeouts per flow",
        "",
        "probe or retransmission timeouts per flow, over the whole run",
    ),
    good(of(
        "closed",
        "connections closed for false acknowledgements",
        "",
        "fraction of the flows whose sender closed the connection because its receiver acknowledged a skipped packet number",
    )),
    of("rate_pps", "packet rate", "packets/s", "packets per second sent by a flow"),
    of(
        "packets_per_rtt",
        "packets per round trip",
        "",
        "packets per idle round trip sent by a flow",
    ),
    times(of(
        "ect0_rate_pps",
        "packet rate under classic marks",
        "packets/s",
        "`rate_pps` where marks count as losses (RFC 3168); unknown for an algorithm that sends ECT(1)",
    )),
    good(of(
        "packets_10_rtt",
        "packets per round trip after ten round trips",
        "",
        "packets per idle round trip from the 10th to the 20th round trip of a flow",
    )),
    times(of(
        "gain",
        "gain of a lying receiver",
        "",
        "gain of a lying receiver: packets sent in a flow's first ten idle round trips, divided by those sent to an honest receiver",
    )),
    good(of(
        "backoff",
        "timer backoff",
        "",
        "after the last ACK: the smallest ratio of an interval between timer expiries to the previous one, starting with the third interval, while intervals are below 60 s; packets within a millisecond of the first count as one expiry, packets in the first idle round trip do not count",
    )),
    of(
        "silent_packets",
        "packets sent into silence",
        "",
        "packets sent after the last ACK, divided by (the window at that time in packets, plus two); should be below 1",
    ),
    of("in_recovery", "open recovery", "", "1 if a recovery episode was open at the last ACK"),
    of(
        "breaker",
        "tripped circuit breaker",
        "",
        "1 if a flow of the role would trip a circuit breaker: more than a tenth of its packets lost in each of three consecutive 5 s windows, or over 60 s if it sent in at least half of their windows",
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

/// Whether the metric needs the times of individual packets.
pub(crate) fn needs_sends(metric: &str) -> bool {
    matches!(metric, "backoff" | "silent_packets" | "in_recovery")
}

/// Whether the metric compares with a run in which all receivers are honest.
pub(crate) fn needs_honest(metric: &str) -> bool {
    metric == "gain"
}
