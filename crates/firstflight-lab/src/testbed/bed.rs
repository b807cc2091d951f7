//! The interface of a testbed: its name, its abilities, and how it runs trials.

use crate::arms::{DEFAULT_ARMS, NamedArm, Sender};
use crate::flows::{Access, App, Flows, SharingFlow, Together};
use crate::outcome::Outcome;
use crate::record::Recording;
use crate::scenario::{Hosts, Scenario};
use firstflight::arm::SenderParams;
use firstflight::detection::ecn::Ecn;
use firstflight::{Advice, HintSource, Nanos};
use firstflight_path::{Error, Rwnd};
use firstflight_sim::quic::LEAST_DATAGRAM;
use firstflight_sim::tcp;
use std::fmt;

/// Protocol of a testbed's senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// QUIC or TCP, depending on the scenario's hosts.
    Both,
    /// QUIC only.
    Quic,
    /// TCP only.
    Tcp,
}

/// Receive windows that a testbed supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Windows that never limit the sender.
    Unlimited,
    /// And windows of a fixed size.
    Fixed,
    /// And windows that the receiver tunes, and applications that read slowly.
    All,
}

/// Name and abilities of a testbed.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in options and results, such as `sim`.
    pub name: &'static str,
    /// Short description for a list: `The simulator`.
    pub summary: &'static str,
    /// The testbed as a phrase for a sentence: `in the simulator`.
    pub place: &'static str,
    /// Stacks of sender and receiver; `None` if they are the simulator's own code.
    pub stacks: Option<&'static str>,
    /// The arms to run by default.
    pub arms: &'static str,
    /// The transports that it supports.
    pub speaks: Speaks,
    /// Whether trials run in real time and need the machine for themselves.
    pub in_real_time: bool,
    /// Whether its hosts make their own random draws, from the seed or from the system. The effect
    /// is small, so a comparison repeats trials only if the path is random or trials run in real
    /// time.
    pub hosts_draw: bool,
    /// Whether it runs controllers of the running kernel, [`Sender::Kernel`].
    pub kernel_arms: bool,
    /// Whether it runs controllers that come with a QUIC stack, [`Sender::Stack`].
    pub stack_arms: bool,
    /// Whether it runs external programs, [`Sender::Programs`].
    pub programs: bool,
    /// Whether it runs user-defined startups, [`Sender::Own`].
    pub own_startups: bool,
    /// Whether an arm selects the loss detection (`detection=`, `early=`); otherwise the stack has
    /// its own.
    pub chooses_detection: bool,
    /// Whether it reports marked bytes to senders, and marks ECT(1).
    pub counts_marks: bool,
    /// Whether its receiver acknowledges as the path specifies (`ack=`).
    pub obeys_ack_every: bool,
    /// The uses of ECN that an arm selects (`ecn=`).
    pub ecn: &'static [Ecn],
    /// The receive windows that it supports (`rwnd=`, `read=`).
    pub windows: Windows,
    /// Whether its receiver is a kernel with settings, [`Scenario::receiver`].
    pub kernel_receiver: bool,
}

impl Info {
    /// A testbed of real stacks that runs our arms and leaves everything else to the stacks, as
    /// most testbeds do.
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
        ecn: &[],
        windows: Windows::Unlimited,
        kernel_receiver: false,
    };

    /// The hosts of a testbed that supports only one kind; `None` if there is a choice.
    pub fn only_hosts(&self) -> Option<Hosts> {
        (self.speaks == Speaks::Tcp).then(|| tcp::Host::default().into())
    }

    /// Refuses a receive window that the testbed does not have.
    fn check_window(&self, scenario: &Scenario) -> Result<(), Error> {
        let path = &scenario.path;
        let why = match (self.windows, path.rwnd()) {
            (_, None) | (Windows::All, _) => return Ok(()),
            (Windows::Fixed, Some(Rwnd::Fixed(_))) if path.read_bps().is_none() => return Ok(()),
            (Windows::Fixed, Some(Rwnd::Fixed(_))) => {
                "the receiving stack's application reads at once"
            }
            (Windows::Fixed, Some(_)) => "the receiving stack does not tune its window",
            (Windows::Unlimited, Some(_)) => {
                "its receiver has a window that never limits the sender"
            }
        };
        Err(Error::new(format!(
            "path `{path}`: on the testbed `{}`, {why}: leave `rwnd` and `read` out, or use `--on sim`",
            self.name
        )))
    }

    /// Refuses arms and scenarios that the testbed cannot run.
    ///
    /// # Errors
    /// A one-line message with the reason.
    pub fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        self.check_sender(scenario, arm)?;
        match &arm.sender {
            Sender::Kernel { .. } if !self.kernel_arms => return Err(arm.elsewhere()),
            Sender::Stack(_) if !self.stack_arms => return Err(arm.elsewhere()),
            Sender::Programs(_) if !self.programs => return Err(arm.elsewhere()),
            Sender::Own { .. } if !self.own_startups => {
                return Err(Error::new(format!(
                    "arm `{}`: a startup of your own runs on the testbed `sim` only",
                    arm.label
                )));
            }
            _ => {}
        }
        if scenario.path.acks().is_some() && !self.obeys_ack_every {
            return Err(Error::new(format!(
                "path `{}`: `ack=` is for the simulator's receiver; on the testbed `{}`, the stack decides when to acknowledge",
                scenario.path, self.name
            )));
        }
        self.check_window(scenario)?;
        if let (Some(mtu), Hosts::Quic(host)) = (scenario.path.mtu(), scenario.host)
            && mtu < u64::from(LEAST_DATAGRAM + host.lower)
        {
            return Err(Error::new(format!(
                "path `{}`: QUIC sends datagrams of at least {LEAST_DATAGRAM} B, which are IP packets of {} B: use a larger `mtu`, or `--transport tcp`",
                scenario.path,
                LEAST_DATAGRAM + host.lower
            )));
        }
        if !scenario.receiver.is_empty() && !self.kernel_receiver {
            return Err(Error::new(format!(
                "testbed `{}`: its receiver is not a kernel and has no settings",
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

    /// Refuses options of an arm's sender, and advice, that the testbed cannot carry.
    fn check_sender(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::new(format!("arm `{}`: {why}", arm.label)));
        let sender = arm.parts().map_or_else(SenderParams::default, |arm| arm.sender);
        let detects = sender.detection.is_some() || sender.early.is_some();
        if detects && !self.chooses_detection {
            return refused(
                "a real stack detects losses in its own way: leave `detection` and `early` out, or use the simulator",
            );
        }
        if sender.acks.is_some() && !self.obeys_ack_every {
            return refused(
                "`acks` configures the simulator's receiver; on this testbed, the stack decides when to acknowledge",
            );
        }
        if matches!(scenario.host, Hosts::Quic(_)) && sender.rto_max.is_some() {
            return refused(
                "`rtomax` is TCP's: it goes with `--transport tcp`; QUIC's timeout has no bound",
            );
        }
        if let Some(ecn) = sender.ecn
            && !self.ecn.contains(&ecn)
        {
            return refused(&match self.ecn {
                [] => "`ecn` is for QUIC in the simulator and on the testbed `quic`".to_owned(),
                own => format!(
                    "on this testbed, the stack validates ECN in its own way: {}, or use `--on sim`",
                    own.iter()
                        .map(|ecn| format!("`ecn={}`", ecn.name()))
                        .collect::<Vec<_>>()
                        .join(" or ")
                ),
            });
        }
        if sender.receive_ts && !self.obeys_ack_every {
            return refused(
                "`receivets` configures the simulator's receiver; no stack on this testbed reports when packets arrived",
            );
        }
        let advised = scenario.path.scone_bps().is_some();
        if advised && !self.obeys_ack_every {
            return Err(Error::new(format!(
                "path `{}`: on the testbed `{}`, no stack receives advice: leave `scone` out and use `@(hint=scone:RATE,advice=exit)`",
                scenario.path, self.name
            )));
        }
        if scenario.path.hello().is_some() && !self.obeys_ack_every {
            return Err(Error::new(format!(
                "path `{}`: on the testbed `{}`, the stack has a handshake and a certificate of its own: leave `hello` out, or use `--on sim`",
                scenario.path, self.name
            )));
        }
        let own = sender.hint.filter(|_| sender.advice != Advice::Off);
        if advised && own.is_some_and(|hint| hint.source != HintSource::Scone) {
            return refused(
                "a sender has one hint, its own or the path's (`scone=`): leave one of them out, or `advice=`",
            );
        }
        if !self.counts_marks && arm.parts().is_some_and(|arm| arm.avoidance.counts_marks()) {
            return refused(
                "a real stack does not report to our controllers how many bytes arrived marked, nor sends ECT(1): use the simulator",
            );
        }
        Ok(())
    }
}

/// A place to run trials. [`Plan`](crate::Plan) calls `available` and `check` before the first
/// trial, then runs trials in parallel; a real-time testbed must serialize them itself.
pub trait Testbed: Send + Sync {
    /// Name and abilities.
    fn info(&self) -> &Info;

    /// Checks that this build and this machine support it.
    ///
    /// # Errors
    /// A one-line message that states what is missing and how to get it.
    fn available(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks that it can run this. The default checks what [`Info`] states.
    ///
    /// # Errors
    /// A one-line message if it cannot.
    fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        self.info().check(scenario, arm)
    }

    /// Whether a pacer releases the packets of this arm.
    fn paced(&self, scenario: &Scenario, arm: &NamedArm) -> bool {
        arm.parts().is_some_and(|arm| arm.configure(scenario.config()).paced)
    }

    /// Runs one trial that [`check`](Testbed::check) allows. The seed keys every draw of the path;
    /// a recording keeps every event. Unknown measures stay `None`, and reasons to doubt the result
    /// go into [`Outcome::warnings`].
    ///
    /// # Errors
    /// A one-line message if the path cannot carry the packets, or the testbed failed.
    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error>;

    /// Runs one trial of each arm with the same seed, without recordings. The results are those of
    /// consecutive calls of [`run`](Testbed::run), which is the default implementation.
    ///
    /// # Errors
    /// Errors of [`Testbed::run`].
    fn run_each(
        &self,
        scenario: &Scenario,
        arms: &[NamedArm],
        seed: u64,
    ) -> Result<Vec<Outcome>, Error> {
        arms.iter().map(|arm| self.run(scenario, arm, seed, None)).collect()
    }

    /// Runs flows through one bottleneck, each of an arm that [`check`](Testbed::check) allows,
    /// until all finite flows have finished or the limit is reached. Each flow has its own object;
    /// the scenario's is ignored.
    ///
    /// # Errors
    /// A one-line message if [`check_flows`](Testbed::check_flows) refuses them, or the testbed
    /// failed.
    fn run_flows(&self, scenario: &Scenario, flows: &Flows<'_>) -> Result<Together, Error> {
        self.check_flows(scenario, flows)?;
        Err(Error::new(format!("testbed `{}` cannot run several flows", self.info().name)))
    }

    /// Checks that it can run these flows with their individual settings.
    ///
    /// # Errors
    /// A one-line message if the testbed carries only one flow at a time, as in the default
    /// implementation, or does not support the flows' traffic.
    fn check_flows(&self, _scenario: &Scenario, _flows: &Flows<'_>) -> Result<(), Error> {
        Err(Error::new(format!("testbed `{}` carries one flow at a time", self.info().name)))
    }
}

/// Flows as real stacks carry them: objects that are available from the start, or that do not end
/// (`None`), all with the same RTT, over links that are the path's only. Phase effects, which
/// [`Access::jitter`] would break, are broken by the stacks' timers.
///
/// # Errors
/// A one-line message for settings that only the simulator supports.
#[cfg_attr(
    not(any(feature = "quic", all(feature = "linux", target_os = "linux"))),
    expect(dead_code, reason = "this build has the simulator only")
)]
pub(super) fn objects_of(testbed: &str, together: &Flows<'_>) -> Result<Vec<Option<u64>>, Error> {
    let object = |flow: &SharingFlow| match flow.app {
        App::Bulk(bytes) if flow.rtt_extra == Nanos::ZERO => Ok(Some(bytes)),
        App::Endless if flow.rtt_extra == Nanos::ZERO => Ok(None),
        _ => Err(Error::new(format!(
            "testbed `{testbed}`: all flows need the same distance and carry `bulk`; the simulator supports others"
        ))),
    };
    let plain = |access: &Access| {
        let &Access { jitter, stop, packets, .. } = access;
        *access == Access { jitter, stop, packets, ..Access::default() }
    };
    if !together.arrangement.access.iter().all(plain) {
        return Err(Error::new(format!(
            "testbed `{testbed}`: flows cannot have their own access links here; the simulator supports them"
        )));
    }
    together.flows.iter().map(object).collect()
}

impl fmt::Debug for dyn Testbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}
