//! Turns a comparison into a report page.

use crate::compare::{Comparison, ExperimentRow};
use crate::record::Recording;
use crate::report::{
    Episode, Exit, Fact, Ideal, Level, Loss, Note, Path, Phase, Point, Report, Series, looks,
};
use crate::table::table;
use crate::trial::ms;
use firstflight::ExitReason;

impl Comparison {
    /// The report. The charts are empty unless the comparison kept its events
    /// ([`Keep::Events`](crate::compare::Keep::Events)).
    pub fn report(&self, command: &str) -> Report {
        let plan = &self.plan;
        let resolved = plan.resolved();
        let path = &plan.scenario.path;
        let what = resolved.path_name.clone().unwrap_or_else(|| resolved.path.clone());
        let mut notes: Vec<Note> = self
            .warnings
            .iter()
            .map(|text| Note { level: Level::Warning, text: text.clone() })
            .collect();
        notes.push(Note { level: Level::Info, text: hosts(&resolved) });
        if plan.repeat > 1 {
            notes.push(Note {
                level: Level::Info,
                text: "Each repeat adds up to half a millisecond to the round trip, so that no result hangs on one alignment of packets and timers.".into(),
            });
        }
        Report {
            title: format!(
                "{} over {what}",
                crate::table::figure(plan.scenario.bytes as f64, "bytes")
            ),
            finding: self.finding(),
            command: command.to_owned(),
            version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
            testbed: resolved.testbed.into(),
            place: plan.testbed.info().place.into(),
            path: Path {
                text: resolved.path.clone(),
                name: resolved.path_name.clone(),
                source: (!path.source().is_empty()).then(|| path.source().to_owned()),
                rate_mbps: self.ideal().map(|_| resolved.rate_mbps),
                rtt_ms: resolved.rtt_ms,
                queue_bytes: resolved.queue_bytes,
                bdp_bytes: Some(resolved.bdp_bytes),
                full_bdp_bytes: path.full_bdp_bytes(),
            },
            workload_bytes: plan.scenario.bytes,
            seed: plan.seed,
            repeat: plan.repeat,
            notes,
            table: table(self),
            series: self
                .records
                .iter()
                .enumerate()
                .zip(looks(plan.arms.iter().map(|arm| arm.label.as_str())))
                .map(|((arm, record), look)| Series { look, ..self.series(arm, record) })
                .collect(),
            ideal: self
                .ideal()
                .map(|(start, rate)| Ideal { t0_ms: ms(start.0), rate_mbps: rate as f64 / 1e6 }),
            provenance: vec![
                Fact {
                    name: "Hosts".into(),
                    value: format!(
                        "datagram {} B, ACK delay up to {} ms",
                        resolved.datagram_bytes, resolved.max_ack_delay_ms
                    ),
                },
                Fact {
                    name: "Stop".into(),
                    value: format!("after {} s of simulated time", resolved.limit_s),
                },
            ],
        }
    }

    fn series(&self, arm: usize, record: &Recording) -> Series {
        let row = &self.trials(arm)[0];
        let mut points: Vec<Point> = record
            .moments()
            .iter()
            .map(|moment| {
                let state = &moment.state;
                Point {
                    t_ms: ms(state.now.0),
                    cwnd: state.cwnd,
                    ssthresh: state.ssthresh,
                    inflight: state.inflight,
                    delivered_bytes: state.delivered,
                    queue_bytes: state.queue,
                }
            })
            .collect();
        // A recording holds the sender's events; the last byte arrives between two of them.
        if let Some(t_ms) = row.ttlb_ms {
            let place = points.partition_point(|point| point.t_ms < t_ms);
            if let Some(before) = place.checked_sub(1).map(|before| &points[before]) {
                let arrival = Point { t_ms, delivered_bytes: self.plan.scenario.bytes, ..*before };
                points.insert(place, arrival);
            }
        }
        let losses = record.moments().iter().filter(|moment| moment.state.lost > 0);
        Series {
            arm: self.plan.arms[arm].label.clone(),
            look: 0,
            points,
            phases: record
                .phases()
                .into_iter()
                .map(|(start, end, phase)| Phase {
                    start_ms: ms(start.0),
                    end_ms: ms(end.0),
                    name: phase.name().into(),
                })
                .collect(),
            losses: losses
                .map(|moment| Loss { t_ms: ms(moment.state.now.0), bytes: moment.state.lost })
                .collect(),
            exit: row.exit.as_ref().map(|exit| Exit {
                reason: exit.reason.into(),
                because: ExitReason::from_name(exit.reason)
                    .map_or(String::new(), |reason| reason.because().into()),
                time_ms: exit.time_ms,
                cwnd: exit.cwnd,
                bdp_ratio: Some(exit.bdp_ratio),
            }),
            episodes: row
                .episodes
                .iter()
                .flatten()
                .map(|episode| Episode {
                    start_ms: episode.start_ms,
                    end_ms: episode.end_ms,
                    cwnd_before: episode.cwnd_before,
                    cwnd_after: episode.cwnd_after,
                    silence_ms: episode.silence_ms,
                    lost_bytes: episode.lost_bytes,
                })
                .collect(),
            episodes_total: 0,
        }
    }
}

/// Describes the sending and receiving hosts.
fn hosts(experiment: &ExperimentRow) -> String {
    let ExperimentRow { packet_bytes, iw, burst, detection, .. } = experiment;
    let acks = match experiment.ack_every {
        Some(packets) => format!("an ACK every {packets} packets"),
        None => format!("an ACK every {} ms", experiment.max_ack_delay_ms),
    };
    match (experiment.stacks, experiment.transport) {
        (Some(stacks), _) => {
            format!(
                "Not simulated: {stacks}, {packet_bytes}-byte packets, initial window {iw} packets unless an arm says otherwise."
            )
        }
        (None, "tcp") => format!(
            "Simulated TCP, loss detection {detection}: {packet_bytes}-byte packets, initial window {iw} packets, not paced unless an arm says \
             otherwise, {acks}, one round trip of handshake before the first byte."
        ),
        (None, _) => format!(
            "Simulated QUIC: {packet_bytes}-byte packets, initial window {iw} packets and pacer bucket {burst} packets unless an arm says otherwise, \
             {acks}, one round trip of handshake before the first byte."
        ),
    }
}
