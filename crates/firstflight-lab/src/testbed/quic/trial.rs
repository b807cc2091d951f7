//! A trial on a real QUIC stack in virtual time, with the same measurements as the simulator.

use crate::arms::{NamedArm, Sender};
use crate::conform::judge::{Judge, Seen, Verdict};
use crate::flows::{Flows, SharingFlow, Together};
use crate::outcome::{Outcome, Queueing};
use crate::record::Recording;
use crate::scenario::{Hosts, Scenario};
use crate::stacks::StackArm;
use crate::testbed::bed::{Info, Testbed, objects_of};
use firstflight::{AnyController, Begin, Event, Nanos, Recorder};
use firstflight_path::random::between;
use firstflight_path::{Error, Purpose, Stream};
use firstflight_quic::{Plan, SharedState};
use firstflight_rig::{self as rig, Control, Own, OwnControl, Setup};
use firstflight_sim::{Observer, quic};
use std::sync::{Arc, Mutex, PoisonError};

/// Real QUIC stacks in virtual time.
pub struct Quic {
    info: Info,
}

impl Quic {
    pub(super) const fn new(info: Info) -> Quic {
        Quic { info: Info { stacks: Some(rig::STACKS), ..info } }
    }
}

impl Testbed for Quic {
    fn info(&self) -> &Info {
        &self.info
    }

    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        let (control, host) = control(scenario, arm)?;
        let setup = setup(scenario, control, host, seed);
        let outcome = rig::run(&setup, recording.map(|recording| recording as &mut dyn Observer));
        let outcome = outcome
            .map_err(|fault| Error::new(format!("testbed `quic`, arm {}: {fault}", arm.label)))?;
        Ok(measured(&outcome))
    }

    /// Each flow has its own endpoints. Starts are delayed as in the simulator; timers are those of
    /// the stacks.
    fn run_flows(&self, scenario: &Scenario, together: &Flows<'_>) -> Result<Together, Error> {
        let &Flows { flows, seed, sample, jitter, ref arrangement } = together;
        let host = hosts(scenario)?;
        let draws = Stream::new(seed, scenario.path_index, Purpose::FlowStart);
        let jitter = if flows.len() > 1 { jitter.0 } else { 0 };
        let objects = objects_of(self.info.name, together)?;
        let stop = |place: u64| arrangement.access.get(place as usize)?.stop;
        let plan = |(place, (flow, object)): (u64, (&SharingFlow, Option<u64>))| {
            let late = between(draws.branch(place).value(flow.start.0), 0, jitter);
            let start = Nanos(flow.start.0.saturating_add(late));
            let control = control(scenario, &flow.arm)?.0;
            Ok(rig::FlowPlan { control, object, start, stop: stop(place) })
        };
        let plans = (0..).zip(flows.iter().zip(objects)).map(plan);
        let plans = plans.collect::<Result<Vec<_>, Error>>()?;
        let shared = rig::Shared {
            path: &scenario.path,
            datagram: host.datagram as u16,
            ack_packet: host.ack_packet,
            limit: scenario.limit,
            seed,
            path_index: scenario.path_index,
            sample,
            queue_every: arrangement.queue_every,
            whole: arrangement.whole,
        };
        let done = rig::run_flows(&shared, &plans)
            .map_err(|fault| Error::new(format!("testbed `quic`: {fault}")))?;
        Ok(Together {
            flows: done
                .flows
                .iter()
                .map(|flow| flow.as_ref().map(measured).unwrap_or_default())
                .collect(),
            starts: done.starts,
            delivered: done.delivered,
            counted: done.counted,
            queue: done.queue,
            ..Together::default()
        })
    }

    fn check_flows(&self, scenario: &Scenario, flows: &Flows<'_>) -> Result<(), Error> {
        let host = hosts(scenario)?;
        // A queue that decides after the offer is only supported by the simulator.
        scenario.path.open(
            scenario.host.packet_bytes(),
            host.ack_packet,
            0,
            scenario.path_index,
        )?;
        objects_of(self.info.name, flows).map(|_| ())
    }

    /// Every stack paces all of its controllers.
    fn paced(&self, scenario: &Scenario, arm: &NamedArm) -> bool {
        arm.parts().is_none_or(|arm| arm.configure(scenario.config()).paced)
    }
}

fn setup(scenario: &Scenario, control: Control, host: quic::Host, seed: u64) -> Setup<'_> {
    Setup {
        path: &scenario.path,
        control,
        datagram: host.datagram as u16,
        ack_packet: host.ack_packet,
        object: scenario.bytes,
        limit: scenario.limit,
        seed,
        path_index: scenario.path_index,
    }
}

/// The stack that sends, its controller, and the sizes of the hosts.
fn control(scenario: &Scenario, arm: &NamedArm) -> Result<(Control, quic::Host), Error> {
    let Sender::Stack(stack) = &arm.sender else {
        return plan(scenario, arm).map(|(plan, host)| (Control::Noq(plan), host));
    };
    let own = Own::from_name(stack.name).ok_or_else(|| {
        Error::new(format!(
            "arm `{}`: this build has no such stack; `cargo build --release --features s2n` has it, with Rust 1.95 or newer",
            arm.label
        ))
    })?;
    let beside = Plan::parse(BESIDE).map_err(|refused| Error::new(refused.0))?;
    let control = Control::Own(OwnControl { own, initial_window: scenario.iw, beside });
    hosts(scenario).map(|host| (control, host))
}

/// Runs a connection with a stack's own controller; an arm of ours receives the same calls, and
/// `judge` compares both.
pub(crate) fn beside(
    stack: &'static StackArm,
    against: &NamedArm,
    scenario: &Scenario,
    seed: u64,
    judge: Judge,
) -> Result<Verdict, Error> {
    let named = NamedArm { label: stack.name.to_owned(), sender: Sender::Stack(stack) };
    let (control, host) = control(scenario, &named)?;
    let Control::Own(own) = control else { return Err(named.elsewhere()) };
    let (beside, _) = plan(scenario, against)?;
    let own = Control::Own(OwnControl { beside, ..own });
    let setup = setup(scenario, own, host, seed);
    let state = SharedState::default();
    let compares = Arc::new(Mutex::new(Compares { judge, state: state.clone() }));
    rig::run_beside(&setup, state, compares.clone())
        .map_err(|fault| Error::new(format!("controller `{}`: {fault}", stack.name)))?;
    let mut compares = compares.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(compares.judge.verdict())
}

/// Compares one of ours with the response of the stack's own controller to each event.
#[derive(Debug)]
struct Compares {
    judge: Judge,
    state: SharedState,
}

impl Compares {
    fn seen(&self) -> Seen {
        let said = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Seen { cwnd: said.cwnd, ssthresh: said.ssthresh }
    }
}

impl Recorder<AnyController> for Compares {
    fn on_begin(&mut self, begin: &Begin) {
        let seen = self.seen();
        self.judge.begin(&begin.controller(), seen);
    }

    fn on_event(&mut self, event: &Event, beside: &AnyController) {
        let seen = self.seen();
        self.judge.step(event, beside, seen);
    }
}

/// Placeholder for the arm that receives the same calls as a stack's own controller, without
/// controlling anything.
const BESIDE: &str = "slowstart/cubic/immediate";

fn hosts(scenario: &Scenario) -> Result<quic::Host, Error> {
    match scenario.host {
        Hosts::Quic(host) => Ok(host),
        Hosts::Tcp(_) => Err(Error::new(
            "testbed `quic` speaks QUIC: leave `--transport tcp` out, or use `--on sim`",
        )),
    }
}

/// The configuration of the stack's controller, and the sizes of the hosts.
///
/// # Errors
/// A one-line message for arms that no QUIC stack runs.
pub(in crate::testbed) fn plan(
    scenario: &Scenario,
    arm: &NamedArm,
) -> Result<(Plan, quic::Host), Error> {
    let host = hosts(scenario)?;
    let plan = Plan {
        initial_window: Some(scenario.iw),
        oracle_exit: scenario.oracle_exit(),
        ..Plan::new(*arm.arm()?)
    };
    Ok((plan, host))
}

/// The outcome; values that only our own endpoint can count stay unknown.
fn measured(outcome: &rig::Outcome) -> Outcome {
    Outcome {
        complete: outcome.complete || outcome.delivered_after.is_some(),
        acked_after: outcome.complete.then_some(outcome.acked_after),
        ended_after: Some(outcome.acked_after),
        delivered_after: outcome.delivered_after,
        delivered: Some(outcome.delivered),
        counters: outcome.counters,
        exit: outcome.exit,
        episodes: outcome.status.map(|_| outcome.episodes.clone()),
        queueing: Some(Queueing::of(&outcome.queue_us)),
        ..Outcome::default()
    }
}
