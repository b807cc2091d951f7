//! The testbed `sim`: the simulator. It supports everything, and runs A/B tests and published
//! experiments.

use super::bed::{Info, Testbed, Windows};
use crate::arms::{NamedArm, Sender};
use crate::flows::{Flows, Together};
use crate::outcome::Outcome;
#[cfg(feature = "s2n")]
use crate::own::OwnStartup;
use crate::record::Recording;
use crate::scenario::{Hosts, Scenario};
use firstflight::arm::SenderParams;
use firstflight::detection::ecn::Ecn;
use firstflight::detection::presets::Early;
use firstflight::{AnyController, Arm, Begin, Nanos, Seq, Time};
use firstflight_path::Error;
#[cfg(feature = "s2n")]
use firstflight_rig::{Own, s2n_startup};
use firstflight_sim::instrumented::Core;
use firstflight_sim::{
    App, Arrangement, FlowPlan, Observer, Setup, Shared, Simulated, quic, run, run_alike,
    run_flows, tcp,
};
use std::borrow::Cow;
#[cfg(feature = "s2n")]
use std::sync::Arc;
#[cfg(feature = "s2n")]
use std::sync::atomic::AtomicBool;

/// The simulator.
pub struct Sim;

/// The simulator.
pub static BED: Sim = Sim;

static INFO: Info = Info {
    name: "sim",
    summary: "The simulator",
    place: "in the simulator",
    hosts_draw: false,
    own_startups: true,
    chooses_detection: true,
    counts_marks: true,
    obeys_ack_every: true,
    ecn: &[Ecn::Rfc9000, Ecn::QuicGo, Ecn::Off],
    windows: Windows::All,
    ..Info::REAL_STACKS
};

impl Testbed for Sim {
    fn info(&self) -> &Info {
        &INFO
    }

    fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        let arm = &*steered(scenario, arm, 0)?;
        INFO.check(scenario, arm)?;
        scenario.hosts_of(arm).map(|_| ())
    }

    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        let arm = &*steered(scenario, arm, seed)?;
        let observer = recording.map(|recording| recording as &mut dyn Observer);
        scenario.simulate(arm, seed, observer).map(Outcome::from)
    }

    fn run_each(
        &self,
        scenario: &Scenario,
        arms: &[NamedArm],
        seed: u64,
    ) -> Result<Vec<Outcome>, Error> {
        let arms = arms.iter().map(|arm| steered(scenario, arm, seed).map(Cow::into_owned));
        let outcomes = scenario.simulate_each(&arms.collect::<Result<Vec<_>, _>>()?, seed)?;
        Ok(outcomes.into_iter().map(Outcome::from).collect())
    }

    fn run_flows(&self, scenario: &Scenario, flows: &Flows<'_>) -> Result<Together, Error> {
        scenario.run_flows(flows, None).map(Together::from)
    }

    fn check_flows(&self, _scenario: &Scenario, _flows: &Flows<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A controller of s2n-quic as a startup that never ends, if this build has it; any other arm
/// unchanged.
#[cfg(feature = "s2n")]
fn steered<'a>(
    scenario: &Scenario,
    arm: &'a NamedArm,
    seed: u64,
) -> Result<Cow<'a, NamedArm>, Error> {
    let own = match &arm.sender {
        Sender::Stack(stack) => Own::from_name(stack.name),
        _ => None,
    };
    let Some(own @ (Own::S2nCubic | Own::S2nBbr)) = own else { return Ok(Cow::Borrowed(arm)) };
    let Hosts::Quic(host) = scenario.host else {
        return Err(Error::new(format!(
            "arm `{}`: s2n-quic's controllers are QUIC's: leave `--transport tcp` out",
            arm.label
        )));
    };
    let (datagram, window) = (host.datagram as u16, scenario.config().initial_window);
    let broken = Arc::new(AtomicBool::new(false));
    let sets = Arc::clone(&broken);
    let make = move || {
        s2n_startup::startup(own, datagram, window, seed, &sets)
            .expect("one of s2n-quic's, and a window of at most a thousand packets")
    };
    let own = OwnStartup::new(own.name(), broken, make);
    // The other parts never act: no loss opens an episode, and no threshold is reached.
    NamedArm::with_own(&arm.label, own, "/reno/immediate").map(Cow::Owned)
}

#[cfg(not(feature = "s2n"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
fn steered<'a>(
    _scenario: &Scenario,
    arm: &'a NamedArm,
    _seed: u64,
) -> Result<Cow<'a, NamedArm>, Error> {
    Ok(Cow::Borrowed(arm))
}

impl Scenario {
    /// The hosts with this arm's loss detection and ACK settings, if it specifies them.
    ///
    /// # Errors
    /// If these hosts do not support them.
    pub fn hosts_of(&self, arm: &NamedArm) -> Result<Hosts, Error> {
        let refused = |why: &str| Err(Error::new(format!("arm `{}`: {why}", arm.label)));
        let sender = arm.parts().map_or_else(SenderParams::default, |arm| arm.sender);
        let SenderParams { acks: asks, receive_ts, ecn, .. } = sender;
        let host = match (asks, self.host) {
            (_, Hosts::Tcp(_)) if receive_ts => {
                return refused(
                    "`receivets` is QUIC's: TCP has timestamps; leave `--transport tcp` out",
                );
            }
            (None, Hosts::Quic(host)) => quic::Host { receive_ts, ..host }.into(),
            (None, host) => host,
            (Some(_), Hosts::Tcp(_)) => {
                return refused("`acks` is QUIC's (ACK_FREQUENCY): leave `--transport tcp` out");
            }
            (Some(_), _) if self.path.receive_aggregation().is_some() => {
                return refused(
                    "`acks` has no effect if the receiving host merges packets (`gro=`)",
                );
            }
            (_, Hosts::Quic(host)) => quic::Host { asks_acks: asks, receive_ts, ..host }.into(),
        };
        let host = match (ecn, host) {
            (None, host) => host,
            (Some(_), Hosts::Tcp(_)) => {
                return refused("`ecn` is QUIC's (RFC 9000): leave `--transport tcp` out");
            }
            (ecn, Hosts::Quic(host)) => quic::Host { ecn, ..host }.into(),
        };
        if sender.detection.is_none() && sender.early.is_none() && sender.rto_max.is_none() {
            return Ok(host);
        }
        let Hosts::Tcp(host) = host else {
            return refused(
                "`detection`, `early` and `rtomax` are TCP's: they go with `--transport tcp`",
            );
        };
        let preset = sender.detection.copied().unwrap_or(host.preset);
        let rto_max = sender.rto_max.or(host.rto_max);
        if sender.early.is_some() && preset.early_retransmit == Early::Off {
            return refused(&format!(
                "detection `{}` has no early retransmit: it goes with `detection=linux26`",
                preset.name
            ));
        }
        let early_retransmit = sender.early.or(host.early_retransmit);
        Ok(tcp::Host { preset, rto_max, early_retransmit, ..host }.into())
    }

    /// The pacer's bucket of an arm, bytes.
    pub(crate) fn pacer_burst(&self, arm: &Arm) -> u64 {
        u64::from(arm.sender.burst.unwrap_or(self.burst)) * self.host.mss()
    }

    /// Runs one trial in the simulator and returns all measurements.
    ///
    /// # Errors
    /// If the simulator cannot run the arm, if the path cannot carry the host's packets, or if a
    /// user-defined startup failed.
    pub fn simulate(
        &self,
        arm: &NamedArm,
        seed: u64,
        observer: Option<&mut dyn Observer>,
    ) -> Result<firstflight_sim::Outcome, Error> {
        self.simulate_app(arm, App::Bulk(self.bytes), seed, observer)
    }

    /// Like [`Scenario::simulate`], with an application, such as responses with pauses or a video, in
    /// place of the scenario's object.
    ///
    /// # Errors
    /// Errors of [`Scenario::simulate`].
    pub fn simulate_app(
        &self,
        arm: &NamedArm,
        app: App,
        seed: u64,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<firstflight_sim::Outcome, Error> {
        let parts = if matches!(app, App::Bulk(_)) {
            INFO.check(self, arm)?;
            arm.parts().ok_or_else(|| arm.elsewhere())?
        } else {
            arm.parts().ok_or_else(|| {
                Error::new(format!(
                    "arm `{}`: responses and videos are carried by the simulator only",
                    arm.label
                ))
            })?
        };
        let setup = self.setup(self.hosts_of(arm)?, parts, seed);
        if let Some(observer) = observer.as_deref_mut() {
            observer.on_begin(&self.begin(parts), Time(0));
        }
        if let Sender::Own { own, rest } = &arm.sender {
            let rest = self.advised(rest);
            let controller = own.controller(&rest, self.config(), self.oracle_exit(), Time(0));
            let outcome = carry(&setup, app, controller, observer)?;
            if own.is_broken() {
                return Err(Error::new(format!("arm `{}`: its startup broke", arm.label)));
            }
            return Ok(outcome);
        }
        let told = self.advised(parts).with_oracle(self.oracle_exit());
        let controller = told.controller(self.config(), Time(0), Seq(0));
        carry(&setup, app, controller, observer)
    }

    /// Runs one trial of each arm, with the results of [`Scenario::simulate`]. Arms that behave
    /// alike share a simulation ([`run_alike`]).
    ///
    /// # Errors
    /// Errors of [`Scenario::simulate`].
    pub fn simulate_each(
        &self,
        arms: &[NamedArm],
        seed: u64,
    ) -> Result<Vec<firstflight_sim::Outcome>, Error> {
        let mut outcomes: Vec<Option<firstflight_sim::Outcome>> =
            arms.iter().map(|_| None).collect();
        for first in 0..arms.len() {
            if outcomes[first].is_some() {
                continue;
            }
            let Some((setup, _)) = self.ours(&arms[first], seed)? else {
                outcomes[first] = Some(self.simulate(&arms[first], seed, None)?);
                continue;
            };
            let (mut places, mut controllers) = (Vec::new(), Vec::new());
            for (place, arm) in arms.iter().enumerate().skip(first) {
                if outcomes[place].is_none()
                    && let Ok(Some((other, controller))) = self.ours(arm, seed)
                    && (other.host, other.pacer_burst) == (setup.host, setup.pacer_burst)
                {
                    places.push(place);
                    controllers.push(controller);
                }
            }
            for (place, outcome) in places.into_iter().zip(run_alike(&setup, &controllers)?) {
                outcomes[place] = Some(outcome);
            }
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// The trial of an arm whose startup is ours; `None` if it is user-defined.
    fn ours(&self, arm: &NamedArm, seed: u64) -> Result<Option<(Setup<'_>, AnyController)>, Error> {
        INFO.check(self, arm)?;
        let host = self.hosts_of(arm)?;
        let parts = arm.parts().ok_or_else(|| arm.elsewhere())?;
        if matches!(arm.sender, Sender::Own { .. }) {
            return Ok(None);
        }
        let told = self.advised(parts).with_oracle(self.oracle_exit());
        let controller = told.controller(self.config(), Time(0), Seq(0));
        Ok(Some((self.setup(host, parts, seed), controller)))
    }

    fn setup(&self, host: Hosts, parts: &Arm, seed: u64) -> Setup<'_> {
        let &Scenario { ref path, bytes: object, limit, path_index, .. } = self;
        let pacer_burst = self.pacer_burst(parts);
        Setup { path, host, pacer_burst, object, limit, seed, path_index }
    }

    /// Arguments that build the controller of this arm.
    fn begin(&self, arm: &Arm) -> Begin {
        let arm = self.advised(arm);
        let (config, oracle_exit) = (arm.configure(self.config()), self.oracle_exit());
        Begin { now: Time(0), arm, config, nxt: Seq(0), oracle_exit }
    }
}

/// Runs one flow that has the path to itself; an object ignores that of `setup`.
fn carry<S: Simulated>(
    setup: &Setup<'_>,
    app: App,
    controller: Core<S>,
    observer: Option<&mut dyn Observer>,
) -> Result<firstflight_sim::Outcome, Error> {
    if let App::Bulk(object) = app {
        return run(&Setup { object, ..*setup }, controller, observer);
    }
    let &Setup { path, host, pacer_burst, limit, seed, path_index, .. } = setup;
    let shared = Shared { path, host, limit, seed, path_index, sample: None, jitter: Nanos::ZERO };
    let (start, rtt_extra) = (Nanos::ZERO, Nanos::ZERO);
    let plan = FlowPlan { controller, pacer_burst, app, start, rtt_extra };
    let mut done = run_flows(&shared, vec![plan], &Arrangement::default(), observer)?;
    Ok(done.flows.swap_remove(0))
}
