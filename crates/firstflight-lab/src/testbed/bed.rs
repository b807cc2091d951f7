//! What a testbed is: its name, what it can do, and how it runs trials.

use crate::arms::{DEFAULT_ARMS, NamedArm, Sender};
use crate::flows::{Access, App, Arrangement, SharingFlow, Together};
use crate::outcome::Outcome;
use crate::record::Recording;
use crate::scenario::{Hosts, Scenario};
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_sim::tcp;
use std::fmt;

/// Protocol of a testbed's senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// QUIC or TCP, as the scenario's hosts say.
    Both,
    /// QUIC only.
    Quic,
    /// TCP only.
    Tcp,
}

/// Name and abilities of a testbed.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in options and results, such as `sim`.
    pub name: &'static str,
    /// Short description for a list: `The simulator`.
    pub summary: &'static str,
    /// The same as a place, for a sentence: `in the simulator`.
    pub place: &'static str,
    /// Stacks of sender and receiver; `None` where they are the simulator's own code.
    pub stacks: Option<&'static str>,
    /// The arms to run where none are named.
    pub arms: &'static str,
    /// The transports that it has.
    pub speaks: Speaks,
    /// Trials take the time that they measure and need the machine for themselves.
    pub in_real_time: bool,
    /// Its hosts draw by themselves, from the seed or from the system: a little, so a comparison repeats
    /// only where the path has chance or trials run in real time.
    pub hosts_draw: bool,
    /// It runs controllers of the running kernel, [`Sender::Kernel`].
    pub kernel_arms: bool,
    /// It runs controllers that come with a QUIC stack, [`Sender::Stack`].
    pub stack_arms: bool,
    /// It runs programs of others, [`Sender::Programs`].
    pub programs: bool,
    /// It runs startups that are not ours, [`Sender::Own`].
    pub own_startups: bool,
    /// Its loss detection is chosen by an arm (`detection=`, `early=`); elsewhere the stack has
    /// its own.
    pub chooses_detection: bool,
    /// It tells senders how many bytes arrived marked, and marks ECT(1).
    pub counts_marks: bool,
    /// Its receiver acknowledges as the path says (`ack=`).
    pub obeys_ack_every: bool,
    /// Its receiver is a kernel with settings, [`Scenario::receiver`].
    pub kernel_receiver: bool,
}

impl Info {
    /// A testbed of real stacks that runs arms of ours and leaves everything else to the stacks:
    /// what most testbeds are.
    pub const REAL_STACKS: Info = Info {
        name: "",
        summary: "",
        place: "",
        stacks: None,
        arms: DEFAULT_ARMS,
        speaks: Speaks::Both,
        in_real_time: false,
        hosts_draw: true,
        kernel_arms: false,
        stack_arms: false,
        programs: false,
        own_startups: false,
        chooses_detection: false,
        counts_marks: false,
        obeys_ack_every: false,
        kernel_receiver: false,
    };

    /// The hosts of a testbed that leaves no choice; `None` where there is one.
    pub fn only_hosts(&self) -> Option<Hosts> {
        (self.speaks == Speaks::Tcp).then(|| tcp::Host::default().into())
    }

    /// Refuses what the testbed cannot do.
    ///
    /// # Errors
    /// One line.
    pub fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::new(format!("arm `{}`: {why}", arm.label)));
        let detects = arm
            .parts()
            .is_some_and(|arm| arm.sender.detection.is_some() || arm.sender.early.is_some());
        if detects && !self.chooses_detection {
            return refused(
                "a real stack detects losses in its own way: leave `detection` and `early` out, or use the simulator",
            );
        }
        if arm.parts().is_some_and(|arm| arm.sender.acks.is_some()) && !self.obeys_ack_every {
            return refused(
                "`acks` asks the simulator's receiver: on this testbed the stack acknowledges as it does",
            );
        }
        if !self.counts_marks && arm.parts().is_some_and(|arm| arm.avoidance.counts_marks()) {
            return refused(
                "a real stack does not tell our controllers how many bytes arrived marked, nor sends ECT(1): use the simulator",
            );
        }
        match &arm.sender {
            Sender::Kernel(_) if !self.kernel_arms => return Err(arm.elsewhere()),
            Sender::Stack(_) if !self.stack_arms => return Err(arm.elsewhere()),
            Sender::Programs(_) if !self.programs => return Err(arm.elsewhere()),
            Sender::Own { .. } if !self.own_startups => {
                return refused("a startup of your own runs on the testbed `sim` only");
            }
            _ => {}
        }
        if scenario.path.acks().is_some() && !self.obeys_ack_every {
            return Err(Error::new(format!(
                "path `{}`: `ack=` is for the simulator's receiver; on the testbed `{}` the stack acknowledges as it does",
                scenario.path, self.name
            )));
        }
        if !scenario.receiver.is_empty() && !self.kernel_receiver {
            return Err(Error::new(format!(
                "testbed `{}`: its receiver is no kernel and has no settings",
                self.name
            )));
        }
        match (self.speaks, &scenario.host) {
            (Speaks::Quic, Hosts::Tcp(_)) => Err(Error::new(format!(
                "testbed `{}` speaks QUIC: leave `--transport tcp` out, or use `--on sim`",
                self.name
            ))),
            (Speaks::Tcp, Hosts::Quic(_)) => {
                Err(Error::new(format!("testbed `{}` speaks TCP", self.name)))
            }
            _ => Ok(()),
        }
    }
}

/// Where trials run. [`Plan`](crate::Plan) asks `available` and `check` before the first trial,
/// then runs trials side by side: one in real time takes turns by itself.
pub trait Testbed: Send + Sync {
    /// What it is called, and what it can do.
    fn info(&self) -> &Info;

    /// This build and this machine have it.
    ///
    /// # Errors
    /// One line that says what is missing and how to get it.
    fn available(&self) -> Result<(), Error> {
        Ok(())
    }

    /// It can run this. What [`Info`] says is checked already where this is not overridden.
    ///
    /// # Errors
    /// One line.
    fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        self.info().check(scenario, arm)
    }

    /// A pacer releases the packets of this arm.
    fn paced(&self, scenario: &Scenario, arm: &NamedArm) -> bool {
        arm.parts().is_some_and(|arm| arm.configure(scenario.config()).paced)
    }

    /// Runs one trial that [`check`](Testbed::check) allows. The seed keys every draw of the path;
    /// a recording keeps every event. Measures that nobody could take stay `None`, and what a
    /// reader should doubt goes into [`Outcome::warnings`].
    ///
    /// # Errors
    /// One line if the path cannot carry the packets, or the testbed failed.
    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error>;

    /// Runs one trial of each arm with the same seed, none of them recorded: what
    /// [`run`](Testbed::run) gives for one after the other, and that is what it does where it is not
    /// overridden.
    ///
    /// # Errors
    /// Those of [`Testbed::run`].
    fn run_each(
        &self,
        scenario: &Scenario,
        arms: &[NamedArm],
        seed: u64,
    ) -> Result<Vec<Outcome>, Error> {
        arms.iter().map(|arm| self.run(scenario, arm, seed, None)).collect()
    }

    /// Runs flows through one bottleneck, each of an arm that [`check`](Testbed::check) allows, until
    /// all that end are through or the limit is reached. The scenario's object does not count, each
    /// flow has its own. What each has delivered is noted every `sample`; starts are late by up to
    /// `jitter`, by a draw of the seed, where the testbed's own clock is not late by itself.
    ///
    /// # Errors
    /// One line if [`check_flows`](Testbed::check_flows) refuses them, or the testbed failed.
    fn run_flows(
        &self,
        scenario: &Scenario,
        flows: &[SharingFlow],
        _seed: u64,
        (_sample, _jitter): (Nanos, Nanos),
        arrangement: &Arrangement,
    ) -> Result<Together, Error> {
        self.check_flows(scenario, flows, arrangement)?;
        Err(Error::new(format!("testbed `{}` runs no several flows", self.info().name)))
    }

    /// It can run these flows with what each has of its own.
    ///
    /// # Errors
    /// One line if the testbed carries one flow at a time, which is what one does where this is not
    /// overridden, or not what these carry.
    fn check_flows(
        &self,
        _scenario: &Scenario,
        _flows: &[SharingFlow],
        _arrangement: &Arrangement,
    ) -> Result<(), Error> {
        Err(Error::new(format!("testbed `{}` carries one flow at a time", self.info().name)))
    }
}

/// Flows as real stacks carry them: objects that are all there from the start, or that do not end
/// (`None`), all at the same distance, on ways that are the path's alone. The phases that
/// [`Access::jitter`] breaks are broken by the stacks' timers.
///
/// # Errors
/// One line for what only the simulator carries.
#[cfg_attr(
    not(any(feature = "quic", all(feature = "linux", target_os = "linux"))),
    expect(dead_code, reason = "this build has the simulator only")
)]
pub(super) fn objects_of(
    testbed: &str,
    flows: &[SharingFlow],
    arrangement: &Arrangement,
) -> Result<Vec<Option<u64>>, Error> {
    let object = |flow: &SharingFlow| match flow.app {
        App::Bulk(bytes) if flow.rtt_extra == Nanos::ZERO => Ok(Some(bytes)),
        App::Endless if flow.rtt_extra == Nanos::ZERO => Ok(None),
        _ => Err(Error::new(format!(
            "testbed `{testbed}`: flows of the same distance that carry `bulk`; the simulator has others"
        ))),
    };
    let plain = |access: &Access| {
        let &Access { jitter, stop, packets, .. } = access;
        *access == Access { jitter, stop, packets, ..Access::default() }
    };
    if !arrangement.access.iter().all(plain) {
        return Err(Error::new(format!(
            "testbed `{testbed}`: no flow has an access of its own here; the simulator has others"
        )));
    }
    flows.iter().map(object).collect()
}

impl fmt::Debug for dyn Testbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}
