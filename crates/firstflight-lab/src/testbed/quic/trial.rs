//! A trial on a real QUIC stack in virtual time, measured as the simulator measures it.

use crate::arms::NamedArm;
use crate::outcome::{Outcome, Queueing};
use crate::record::Recorder;
use crate::scenario::{Hosts, Scenario};
use crate::testbed::{Info, Testbed};
use firstflight::controller::Stats;
use firstflight::{Event, Nanos, Time};
use firstflight_log::trace::{State, ranges};
use firstflight_path::Error;
use firstflight_quic::{Happened, Plan};
use firstflight_rig::{self as rig, Control, Note, Setup, Watch};
use firstflight_sim::{Cause, Observer, Snapshot, quic};

/// Real QUIC stacks in virtual time.
pub struct Quic;

static INFO: Info = Info { stacks: Some(rig::STACKS), ..super::INFO };

impl Testbed for Quic {
    fn info(&self) -> &Info {
        &INFO
    }

    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recorder: Option<&mut Recorder>,
    ) -> Result<Outcome, Error> {
        let (plan, host) = plan(scenario, arm)?;
        let setup = Setup {
            path: &scenario.path,
            control: Control::Noq(plan),
            datagram: host.datagram as u16,
            ack_packet: host.ack_packet,
            object: scenario.bytes,
            limit: scenario.limit,
            seed,
            path_index: scenario.path_index,
        };
        let outcome = match recorder {
            Some(recorder) => rig::run(&setup, Some(&mut Scribe { recorder, min_rtt: None })),
            None => rig::run(&setup, None),
        };
        let outcome = outcome
            .map_err(|fault| Error::new(format!("testbed `quic`, arm {}: {fault}", arm.label)))?;
        Ok(measured(&outcome))
    }
}

/// What the stack's controller is built from, and the sizes of the hosts.
///
/// # Errors
/// One line for what no QUIC stack runs.
pub(in crate::testbed) fn plan(
    scenario: &Scenario,
    arm: &NamedArm,
) -> Result<(Plan, quic::Host), Error> {
    let Hosts::Quic(host) = scenario.host else {
        return Err(Error::new(
            "testbed `quic` speaks QUIC: leave `--transport tcp` out, or use `--on sim`",
        ));
    };
    let plan = Plan {
        initial_window: Some(scenario.iw),
        oracle_exit: scenario.oracle_exit(),
        ..Plan::new(*arm.arm()?)
    };
    Ok((plan, host))
}

/// What only an endpoint of our own can count stays unknown.
fn measured(outcome: &rig::Outcome) -> Outcome {
    let stats = outcome.account.map_or(Stats::default(), |account| account.stats);
    Outcome {
        complete: outcome.complete || outcome.delivered_after.is_some(),
        acked_after: outcome.complete.then_some(outcome.acked_after),
        ended_after: Some(outcome.acked_after),
        delivered_after: outcome.delivered_after,
        delivered: Some(outcome.delivered),
        packets_sent: Some(outcome.packets_sent),
        packets_lost: Some(outcome.packets_lost),
        spurious_losses: Some(outcome.spurious_losses),
        retransmitted_bytes: Some(outcome.retransmitted_bytes),
        retransmissions: Some(outcome.retransmissions),
        lost_retransmissions: Some(outcome.lost_retransmissions),
        rtos: Some(outcome.probe_timeouts),
        recoveries: Some(u64::from(stats.loss_episodes)),
        recoveries_below_ssthresh: Some(outcome.recoveries_below_ssthresh),
        slow_starts_after_recovery: Some(u64::from(stats.slow_starts_after_recovery)),
        exit: outcome.exit,
        episodes: Some(outcome.episodes.clone()),
        queueing: Some(Queueing::of(&outcome.queue_us)),
        ..Outcome::default()
    }
}

/// Writes notes of the rig as snapshots of the simulator.
pub(in crate::testbed) struct Scribe<'a> {
    pub recorder: &'a mut Recorder,
    pub min_rtt: Option<Nanos>,
}

impl Scribe<'_> {
    fn snapshot(&mut self, note: &Note, now: Time, event: Cause, seen: (u64, u64)) -> Snapshot {
        let told = if let Some(Event::Ack(ack)) = &note.told { Some(ack) } else { None };
        let ack = note.ack.as_ref().or(told);
        self.min_rtt = ack.and_then(|ack| ack.min_rtt).or(self.min_rtt);
        let controller = &note.controller;
        Snapshot {
            flow: 0,
            now,
            event,
            state: State {
                inflight: note.inflight,
                min_rtt: self.min_rtt,
                delivered: seen.0,
                queue: seen.1,
                ..State::of(controller, ack)
            },
            exit: controller.exit(),
        }
    }

    /// What a log has beside snapshots.
    fn log(&mut self, note: &Note, begin: Time, seen: (u64, u64)) {
        if let (Some(built), Some(tracer)) = (note.begin, self.recorder.tracer()) {
            tracer.begin_with(note.now, built.config, built.nxt.0, built.plan.oracle_exit, begin);
        }
        let Some(told) = note.told else { return };
        let snapshot = self.snapshot(note, note.now, Cause::Told, seen);
        let Some(tracer) = self.recorder.tracer() else { return };
        if let Some(packet) = &note.packet {
            tracer.departs(packet, note.arrives);
        }
        let (numbers, controller) = ((ranges(&note.acked), ranges(&note.lost)), &note.controller);
        tracer.note(told, note.packet, numbers, (snapshot.state, snapshot.exit), &|visit| {
            controller.signals(visit);
        });
    }
}

impl Watch for Scribe<'_> {
    fn on_note(&mut self, note: &Note, begin: Time, delivered: u64, queue: u64) {
        let event = match note.event {
            Happened::Begin | Happened::Restart | Happened::Told => {
                return self.log(note, begin, (delivered, queue));
            }
            Happened::Sent { .. } => Cause::Sent,
            Happened::Ack => Cause::Ack,
            Happened::Timer => Cause::Timer,
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
