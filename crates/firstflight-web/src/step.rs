//! A single ACK or timer.

use crate::events::{Line, lines};
use crate::signals::with_signals;
use firstflight_lab::Comparison;
use firstflight_lab::record::Moment;
use firstflight_lab::trial::ms;
use serde::Serialize;
use serde_json::{Map, Value};

/// The sender right after one event.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    arm: usize,
    /// Index of the event, from 0.
    index: usize,
    /// Number of events.
    of: usize,
    t_ms: f64,
    event: &'static str,
    phase: &'static str,
    cwnd: u64,
    ssthresh: Option<u64>,
    inflight: u64,
    delivered_bytes: u64,
    queue_bytes: u64,
    lost_bytes: u64,
    pacing_mbps: Option<f64>,
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    signals: Map<String, Value>,
    /// The events at that time.
    events: Vec<Line>,
}

impl Step {
    /// The last event of an arm up to `at_ms`, plus `by`.
    pub(crate) fn of(comparison: &Comparison, arm: usize, at_ms: f64, by: i64) -> Option<Step> {
        let record = comparison.records.get(arm)?;
        let moments: Vec<&Moment> = with_signals(record).collect();
        let last = moments.len().checked_sub(1)?;
        // The page received the time as a float: half a nanosecond of tolerance.
        let until = moments.partition_point(|moment| ms(moment.state.now.0) <= at_ms + 0.5e-6);
        let here = until.saturating_sub(1) as i64;
        let index = here.saturating_add(by).clamp(0, last as i64) as usize;
        let state = &moments[index].state;
        let t_ms = ms(state.now.0);
        let signals = record.names().iter().zip(&moments[index].signals);
        Some(Step {
            arm,
            index,
            of: moments.len(),
            t_ms,
            event: state.event.name(),
            phase: state.phase.name(),
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            inflight: state.inflight,
            delivered_bytes: state.delivered,
            queue_bytes: state.queue,
            lost_bytes: state.lost,
            pacing_mbps: state.pacing_rate.map(|rate| rate as f64 * 8e-6),
            rtt_ms: state.rtt.map(|rtt| ms(rtt.0)),
            min_rtt_ms: state.min_rtt.map(|rtt| ms(rtt.0)),
            signals: signals
                .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.into())))
                .collect(),
            events: lines(comparison, arm)
                .into_iter()
                .filter(|line| line.t_ms.total_cmp(&t_ms).is_eq())
                .collect(),
        })
    }
}
