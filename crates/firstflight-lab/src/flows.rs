//! Flows that share one bottleneck: when each starts, what it carries, and its outcome.

use crate::arms::{NamedArm, Sender};
use crate::outcome::Outcome;
use crate::own::Own;
use crate::scenario::Scenario;
use firstflight::startup::AnyStartup;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Error;
pub use firstflight_sim::JITTER;
pub use firstflight_sim::{Access, Arrangement, Counted, Lie};
pub use firstflight_sim::{App, Response, SharedOutcome, fairness_ppm};
use firstflight_sim::{FlowPlan, Mixed, Observer, Part, Shared, run_flows};

/// One flow of several.
#[derive(Clone, Debug)]
pub struct SharingFlow {
    /// The sender.
    pub arm: NamedArm,
    /// The traffic.
    pub app: App,
    /// Departure time of its first data, unless its handshake has to wait (see
    /// [`FlowPlan::start`]).
    pub start: Nanos,
    /// RTT in addition to the path's.
    pub rtt_extra: Nanos,
}

/// Flows of one trial, and the measurements to take of them.
#[derive(Clone, Debug)]
pub struct Flows<'a> {
    /// The flows.
    pub flows: &'a [SharingFlow],
    /// Seed of every random draw.
    pub seed: u64,
    /// Interval at which the bytes that each flow has delivered are recorded; `None` records
    /// nothing.
    pub sample: Option<Nanos>,
    /// Starts and timers are delayed by up to this, drawn from the seed, unless the testbed's own
    /// clock causes delays; zero keeps all flows in step.
    pub jitter: Nanos,
    /// Individual settings per flow, and more samples.
    pub arrangement: Arrangement,
}

impl Flows<'_> {
    /// Flows without samples or individual settings, with the usual [`JITTER`].
    pub fn new(flows: &[SharingFlow], seed: u64) -> Flows<'_> {
        Flows { flows, seed, sample: None, jitter: JITTER, arrangement: Arrangement::default() }
    }
}

impl Scenario {
    /// Runs flows together in the simulator until all have finished or the limit is reached. Each
    /// flow has its own object; the scenario's is ignored.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets, or an arm cannot share it.
    pub fn run_flows(
        &self,
        together: &Flows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<SharedOutcome, Error> {
        let &Scenario { ref path, host, limit, path_index, .. } = self;
        let &Flows { flows, seed, sample, jitter, ref arrangement } = together;
        let shared = Shared { path, host, limit, seed, path_index, sample, jitter };
        let own = |flow: &SharingFlow| matches!(flow.arm.sender, Sender::Own { .. });
        if !flows.iter().any(own) {
            let plans = flows.iter().map(|flow| self.flow_plan(flow));
            return run_flows(&shared, plans.collect::<Result<_, _>>()?, arrangement, observer);
        }
        let plans = flows.iter().map(|flow| self.mixed_plan(flow)).collect::<Result<_, Error>>()?;
        let done = run_flows::<Mixed>(&shared, plans, arrangement, observer)?;
        let broken = flows
            .iter()
            .find(|flow| matches!(&flow.arm.sender, Sender::Own { own, .. } if own.is_broken()));
        match broken {
            Some(flow) => Err(Error::new(format!("arm `{}`: its startup broke", flow.arm.label))),
            None => Ok(done),
        }
    }

    /// The plan of a flow that shares the path with flows whose startups are not all ours.
    fn mixed_plan(&self, flow: &SharingFlow) -> Result<FlowPlan<Mixed>, Error> {
        let ours = Own::default();
        let (own, rest) = if let Sender::Own { own, rest } = &flow.arm.sender {
            (&**own, rest)
        } else {
            self.flow_plan(flow)?;
            (&ours, flow.arm.arm()?)
        };
        let now = Time(flow.start.0);
        Ok(FlowPlan {
            controller: own.controller(&self.advised(rest), self.config(), self.oracle_exit(), now),
            pacer_burst: self.pacer_burst(rest),
            app: flow.app.clone(),
            start: flow.start,
            rtt_extra: flow.rtt_extra,
        })
    }

    fn flow_plan(&self, flow: &SharingFlow) -> Result<FlowPlan<AnyStartup>, Error> {
        let refused = |why: &str| Err(Error::new(format!("arm `{}`: {why}", flow.arm.label)));
        let arm = match &flow.arm.sender {
            Sender::Arm(arm) => arm,
            Sender::Kernel { .. } => {
                return refused("the kernel's own controllers run on the testbed `linux` only");
            }
            Sender::Stack(_) => {
                return refused("the QUIC stacks' own controllers run on the testbed `quic` only");
            }
            Sender::Programs(_) => return refused("programs run on the testbed `linux` only"),
            Sender::Own { .. } => return refused("a part of your own has the path for itself"),
        };
        if arm.sender.detection.is_some() || arm.sender.early.is_some() {
            return refused(
                "flows that share a path share their hosts: `--detection` goes for all",
            );
        }
        if arm.sender.acks.is_some() {
            return refused("flows that share a path share their hosts: leave `acks` out");
        }
        if arm.sender.ecn.is_some() || arm.sender.rto_max.is_some() {
            return refused(
                "flows that share a path share their hosts: leave `ecn` and `rtomax` out",
            );
        }
        if arm.sender.receive_ts {
            return refused("flows that share a path share their hosts: leave `receivets` out");
        }
        Ok(FlowPlan {
            controller: self.advised(arm).with_oracle(self.oracle_exit()).controller(
                self.config(),
                Time(flow.start.0),
                Seq(0),
            ),
            pacer_burst: self.pacer_burst(arm),
            app: flow.app.clone(),
            start: flow.start,
            rtt_extra: flow.rtt_extra,
        })
    }
}

/// Outcome of flows that shared a path, on any testbed.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// One per flow, in the order given. Times count from each flow's first packet.
    pub flows: Vec<Outcome>,
    /// For applications with parts: the parts of each flow.
    pub parts: Vec<Vec<Part>>,
    /// Departure time of the first data of each flow; `None` if the trial stopped before.
    pub starts: Vec<Option<Time>>,
    /// Bytes delivered in order by each flow at each multiple of the sampling time, including time
    /// zero.
    pub delivered: Vec<Vec<u64>>,
    /// Bytes sent and lost by each flow at the same times, if the arrangement requests them and the
    /// testbed knows them.
    pub counted: Vec<Vec<Counted>>,
    /// Bytes waiting at the bottleneck at each multiple of the arrangement's sampling time,
    /// including time zero.
    pub queue: Vec<u64>,
}

impl Together {
    /// Bytes delivered by each flow between two samples.
    pub fn between(&self, from: usize, to: usize) -> Vec<u64> {
        let at = |sample: usize| self.delivered.get(sample).or(self.delivered.last());
        match (at(from), at(to)) {
            (Some(from), Some(to)) => {
                from.iter().zip(to).map(|(from, to)| to.saturating_sub(*from)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The simulator knows all of them.
impl From<SharedOutcome> for Together {
    fn from(done: SharedOutcome) -> Together {
        Together {
            parts: done.flows.iter().map(|flow| flow.parts.clone()).collect(),
            flows: done.flows.into_iter().map(Outcome::from).collect(),
            starts: done.starts,
            delivered: done.delivered,
            counted: done.counted,
            queue: done.queue,
        }
    }
}
