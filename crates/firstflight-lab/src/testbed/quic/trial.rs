//! A trial on a real QUIC stack in virtual time, measured as the simulator measures it.

use crate::arms::NamedArm;
use crate::outcome::{Outcome, Queueing};
use crate::record::Recording;
use crate::scenario::{Hosts, Scenario};
use crate::testbed::{Info, Testbed};
use firstflight::controller::Stats;
use firstflight_path::Error;
use firstflight_quic::Plan;
use firstflight_rig::{self as rig, Control, Setup};
use firstflight_sim::{Observer, quic};

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
        recording: Option<&mut Recording>,
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
        let outcome = rig::run(&setup, recording.map(|recording| recording as &mut dyn Observer));
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
    let stats = outcome.status.map_or(Stats::default(), |status| status.stats);
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
