//! The testbed `quic`: a trial on a real QUIC stack in virtual time, measured as the simulator measures it.

use crate::arms::NamedArm;
use crate::error::Bad;
use crate::record::Recorder;
use crate::trace::{Packet, Received, ranges};
use crate::trial::Ground;
use firstflight::controller::Stats;
use firstflight::{Nanos, Time, Told};
use firstflight_quic::rig::{self, Control, Note, Setup, Watch};
use firstflight_quic::{Event as Happened, Plan};
use firstflight_sim::{Episode, Event, Hosts, Measure, Observer, Outcome, Snapshot, Stop};

/// Runs one trial. With a recorder every event is kept.
///
/// # Errors
/// If the path cannot carry the packets, the hosts are not QUIC hosts, or a stack fails.
pub fn run(ground: &Ground, arm: &NamedArm, seed: u64, recorder: Option<&mut Recorder>) -> Result<Outcome, Bad> {
    let Hosts::Quic(host) = ground.host else {
        return Err(Bad("testbed `quic` speaks QUIC: leave `--transport tcp` out, or use `--on sim`".into()));
    };
    let setup = Setup {
        path: &ground.path,
        control: Control::Noq(Plan { initial_window: Some(ground.iw), oracle_exit: ground.oracle_exit(), ..Plan::new(arm.arm) }),
        datagram: host.datagram as u16,
        ack_packet: host.ack_packet,
        object: ground.bytes,
        limit: ground.limit,
        seed,
        path_index: ground.path_index,
    };
    let outcome = match recorder {
        Some(recorder) => rig::run(&setup, Some(&mut Scribe { recorder, min_rtt: None })),
        None => rig::run(&setup, None),
    };
    let outcome = outcome.map_err(|fault| Bad(format!("testbed `quic`, arm {}: {fault}", arm.label)))?;
    Ok(measured(outcome))
}

/// An episode under the simulator's name.
pub(crate) fn episode(episode: &rig::Episode) -> Episode {
    Episode {
        start: episode.start,
        end: episode.end,
        cwnd_before: episode.cwnd_before,
        inflight: episode.inflight,
        acked: episode.acked,
        lost: episode.lost,
        silence: episode.silence,
        cwnd_after: episode.cwnd_after,
        // Which bytes a packet repeats is the stack's secret.
        repaired: None,
    }
}

/// The same measures under the simulator's names. What only an endpoint of our own can count is listed as unknown.
fn measured(outcome: rig::Outcome) -> Outcome {
    let stats = outcome.account.map_or(Stats::default(), |account| account.stats);
    Outcome {
        stop: if outcome.complete { Stop::Complete } else { Stop::TimeLimit },
        acked_after: outcome.acked_after,
        delivered_after: outcome.delivered_after,
        delivered: outcome.delivered,
        packets_sent: outcome.packets_sent,
        packets_lost: outcome.packets_lost,
        packets_dropped: outcome.packets_dropped,
        drops: firstflight_sim::Drops::default(),
        spurious_losses: outcome.spurious_losses,
        retransmitted_bytes: outcome.retransmitted_bytes,
        lost_retransmissions: outcome.lost_retransmissions,
        retransmissions: outcome.retransmissions,
        rtos: outcome.probe_timeouts,
        probes: 0,
        recoveries: u64::from(stats.loss_episodes),
        recoveries_below_ssthresh: outcome.recoveries_below_ssthresh,
        recoveries_timed_out: 0,
        slow_starts_after_recovery: u64::from(stats.slow_starts_after_recovery),
        undone: u64::from(stats.undone),
        early_retransmits: 0,
        early_retransmits_spurious: 0,
        exit: outcome.exit,
        episodes: outcome.episodes.iter().map(episode).collect(),
        queue_us: outcome.queue_us,
        cwnd_max: outcome.cwnd_max,
        parts: Vec::new(),
        unknown: &[Measure::Drops, Measure::RecoveriesTimedOut],
    }
}

/// Writes notes of the rig as snapshots of the simulator.
pub(crate) struct Scribe<'a> {
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) min_rtt: Option<Nanos>,
}

impl Scribe<'_> {
    fn snapshot(&mut self, note: &Note, now: Time, event: Event, seen: (u64, u64)) -> Snapshot {
        let told = if let Some(Told::Ack(ack)) = &note.told { Some(ack) } else { None };
        let ack = note.ack.as_ref().or(told);
        self.min_rtt = ack.and_then(|ack| ack.min_rtt).or(self.min_rtt);
        let controller = &note.controller;
        Snapshot {
            flow: 0,
            now,
            event,
            cwnd: controller.cwnd(),
            ssthresh: controller.ssthresh(),
            inflight: note.inflight,
            pacing_rate: controller.pacing_rate().map(|rate| rate.0),
            rtt: ack.and_then(|ack| ack.rtt),
            min_rtt: self.min_rtt,
            delivered: seen.0,
            lost: ack.map_or(0, |ack| ack.lost),
            queue: seen.1,
            phase: controller.phase(),
            exit: controller.exit(),
        }
    }

    /// What a log has beside snapshots.
    fn log(&mut self, note: &Note, begin: Time, seen: (u64, u64)) {
        if let (Some(built), Some(tracer)) = (note.begin, self.recorder.tracer()) {
            tracer.begin_with(note.now, built.config, built.nxt.0, built.plan.oracle_exit, begin);
        }
        let Some(told) = note.told else { return };
        let snapshot = self.snapshot(note, note.now, Event::Told, seen);
        let Some(tracer) = self.recorder.tracer() else { return };
        let packet = note.packet.map(|packet| Packet {
            number: packet.position,
            bytes: packet.bytes,
            stream: None,
            repeat: Some(packet.repeat),
            dropped: packet.arrives[0].is_none(),
        });
        if let Some(packet) = note.packet {
            for at in packet.arrives.into_iter().flatten() {
                tracer.receives(at, Received::Data { number: packet.position, bytes: packet.bytes, stream: None });
            }
        }
        let controller = &note.controller;
        tracer.note(told, packet, (ranges(&note.acked), ranges(&note.lost)), &snapshot, &|visit| controller.signals(visit));
    }
}

impl Watch for Scribe<'_> {
    fn on_note(&mut self, note: &Note, begin: Time, delivered: u64, queue: u64) {
        let event = match note.event {
            Happened::Begin | Happened::Restart | Happened::Told => return self.log(note, begin, (delivered, queue)),
            Happened::Sent { .. } => Event::Sent,
            Happened::Ack => Event::Ack,
            Happened::Timer => Event::Timer,
            Happened::Lost { .. } | Happened::Acked { .. } | Happened::Spurious => return,
        };
        if note.now < begin {
            return;
        }
        let snapshot = self.snapshot(note, Time(note.now.0 - begin.0), event, (delivered, queue));
        let controller = &note.controller;
        self.recorder.on_event(&snapshot, &|visit| controller.signals(visit));
    }

    fn on_answer(&mut self, now: Time, bytes: u64) {
        if let Some(tracer) = self.recorder.tracer() {
            tracer.acknowledges(now, bytes);
        }
    }
}
